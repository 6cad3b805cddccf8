//! Counts that stop instead of overflowing.

use super::{AtomicU64, Ordering::Relaxed};

/// A count that has come this far is *saturated*: it stays here or above, and means "that many or more".
pub(crate) const SATURATED: u64 = 1 << 63;

/// What may be added without a look at the count before: far fewer threads than 2^31 add at the same time, so that nothing overflows
/// between one that comes to [`SATURATED`] and the one that finds it there.
const SMALL: u64 = 1 << 32;

/// Adds `n`. What it was before; the caller minds whether that, or what it is now, is saturated ([`is_saturated`]).
///
/// Relaxed: whatever else is needed of the same thread's order is seen to by who calls. Model: loom-tests/tests/count.rs.
#[inline(always)]
pub(crate) fn add(count: &AtomicU64, n: u64) -> u64 {
    if super::twin!(StoreBlindly) {
        let old = count.load(Relaxed);
        count.store(old + n, Relaxed);
        return old;
    }
    if n <= SMALL { count.fetch_add(n, Relaxed) } else { add_much(count, n) }
}

/// Adds `n`, and sees to it that the count does not go on at the end. Whether it is saturated now.
#[inline(always)]
pub(crate) fn add_and_hold(count: &AtomicU64, n: u64) -> bool {
    let saturated = is_saturated(add(count, n), n);
    if saturated {
        hold(count);
    }
    saturated
}

/// The same where no other thread adds. Whether it is saturated now.
#[inline(always)]
pub(crate) fn add_alone(count: &AtomicU64, n: u64) -> bool {
    let sum = count.load(Relaxed).saturating_add(n).min(SATURATED);
    count.store(sum, Relaxed);
    sum == SATURATED
}

#[cold]
#[inline(never)]
fn add_much(count: &AtomicU64, n: u64) -> u64 {
    let mut old = count.load(Relaxed);
    loop {
        let new = if old >= SATURATED { old } else { old.saturating_add(n).min(SATURATED) };
        match count.compare_exchange(old, new, Relaxed, Relaxed) {
            Ok(_) => return old,
            Err(now) => old = now,
        }
        super::retry();
    }
}

/// Whether an add of `n` to what was `old` came to the end.
#[inline(always)]
pub(crate) fn is_saturated(old: u64, n: u64) -> bool {
    old.saturating_add(n) >= SATURATED
}

/// After an add for which [`is_saturated`] holds: keeps the count from going on. (Whatever others add meanwhile is lost, and says
/// nothing any more.)
#[cold]
pub(crate) fn hold(count: &AtomicU64) {
    count.store(SATURATED, Relaxed);
}

/// The sum of counts: `u64::MAX` if one of them is saturated, or all together.
#[inline(always)]
pub(crate) fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, |sum, n| if n >= SATURATED { u64::MAX } else { sum.saturating_add(n) })
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;

    #[test]
    fn to_the_end() {
        let count = AtomicU64::new(0);
        assert_eq!(add(&count, SMALL), 0);
        assert_eq!(add(&count, SATURATED - SMALL - 1), SMALL);
        assert!(!is_saturated(SMALL, SATURATED - SMALL - 1));
        for n in [1, 5, SMALL, SMALL + 1, u64::MAX] {
            let old = add(&count, n);
            assert!(is_saturated(old, n), "{old} {n}");
            hold(&count);
            assert_eq!(count.load(Relaxed), SATURATED);
        }
        assert_eq!(add(&count, u64::MAX), SATURATED);
        assert_eq!(sum([3, 4].into_iter()), 7);
        assert_eq!(sum([3, SATURATED, 4].into_iter()), u64::MAX);
        assert_eq!(sum([SATURATED - 1, SATURATED - 1, 2].into_iter()), u64::MAX);
    }
}

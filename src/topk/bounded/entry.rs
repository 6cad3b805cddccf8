//! What is in a slot: a key, and what it has.
//!
//! ```text
//! low:   fingerprint (64)
//! high:  name (22) | open (1) | carried (1) | before, as a float of 5 and 3 bits (8) | count since then (32)
//! ```
//!
//! One that was *carried* over from the pane before has had nothing before, and has a head start there instead: it counts for its rank, and for nothing else.

use crate::sync::Pair;

const COUNT_BITS: u32 = 32;
const BEFORE_BITS: u32 = 8;
const CARRIED: u64 = 1 << (COUNT_BITS + BEFORE_BITS);
const OPEN: u64 = CARRIED << 1;
const NAME_SHIFT: u32 = COUNT_BITS + BEFORE_BITS + 2;

/// A count that has come this far means "that many or more".
pub(super) const MOST: u64 = (1 << COUNT_BITS) - 1;

/// Names are less than that.
pub(super) const NAMES: u64 = 1 << (64 - NAME_SHIFT);

/// What it has had before is known by the sketch alone.
const UNKNOWN: u64 = (1 << BEFORE_BITS) - 1;

/// A key with its counts. Its *rank* in the bucket is what it had before, as far as that is known, or its head start, and the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry(pub(super) Pair);

impl Entry {
    /// `name`: not 0. A key that has had nothing before has had exactly that.
    pub(super) fn new(lo: u64, name: u64, count: u64) -> Entry {
        Entry(Pair { low: lo, high: name << NAME_SHIFT | count.min(MOST) })
    }

    /// One that has had up to `before`; more of it may come to light as long as it is open.
    pub(super) fn open(lo: u64, name: u64, before: u64) -> Entry {
        Entry(Pair { low: lo, high: name << NAME_SHIFT | OPEN | encode(before) << COUNT_BITS })
    }

    /// One that was in the pane before, and has come in this one no times yet.
    pub(super) fn carried(lo: u64, name: u64, head_start: u64) -> Entry {
        Entry(Pair {
            low: lo,
            high: name << NAME_SHIFT | CARRIED | encode(head_start.min(MOST)) << COUNT_BITS,
        })
    }

    /// The same with what has come to light.
    pub(super) fn closed(self, before: u64) -> Entry {
        let mask = UNKNOWN << COUNT_BITS | OPEN;
        let high = self.0.high & !mask | encode(before.max(self.before())) << COUNT_BITS;
        Entry(Pair { high, ..self.0 })
    }

    pub(super) fn plus(self, n: u64) -> Entry {
        let count = self.count().saturating_add(n).min(MOST);
        Entry(Pair { high: self.0.high & !MOST | count, ..self.0 })
    }

    pub(super) fn is_empty(self) -> bool {
        self.0.high == 0
    }

    pub(super) fn lo(self) -> u64 {
        self.0.low
    }

    pub(super) fn name(self) -> u64 {
        self.0.high >> NAME_SHIFT
    }

    /// All but key and name.
    pub(super) fn nameless(self) -> u64 {
        self.0.high & ((1 << NAME_SHIFT) - 1)
    }

    /// .. with these, if there can be such a one.
    pub(super) fn named(lo: u64, name: u64, nameless: u64) -> Option<Entry> {
        let fits = nameless >> NAME_SHIFT == 0 && nameless & (OPEN | CARRIED) != OPEN | CARRIED;
        fits.then_some(Entry(Pair { low: lo, high: name << NAME_SHIFT | nameless }))
    }

    pub(super) fn is_open(self) -> bool {
        self.0.high & OPEN != 0
    }

    /// What it was seen since it has the slot.
    pub(super) fn count(self) -> u64 {
        self.0.high & MOST
    }

    /// .. and before, at most; but for what may come to light. (Or its head start.)
    fn before(self) -> u64 {
        decode(self.0.high >> COUNT_BITS & UNKNOWN)
    }

    /// It only rises, in a slot.
    pub(super) fn rank(self) -> u64 {
        self.before().saturating_add(self.count())
    }

    /// What it has at most, if that is known here.
    pub(super) fn upper(self) -> Option<u64> {
        if self.count() == MOST {
            return None;
        }
        if self.0.high & CARRIED != 0 {
            return Some(self.count());
        }
        let known = !self.is_open() && self.before() != u64::MAX;
        known.then(|| self.rank())
    }

    /// Whether the two are of one admission: each is of a greater rank than what the slot had before, so that no two begin alike.
    pub(super) fn is_same_admission(self, other: Entry) -> bool {
        self.0.low == other.0.low && self.0.high >> COUNT_BITS == other.0.high >> COUNT_BITS
    }
}

/// Rounded up, by an eighth at most.
fn encode(n: u64) -> u64 {
    if n < 16 {
        return n;
    }
    let shift = 60 - u64::from(n.leading_zeros());
    let code = ((shift + 1) << 3) + (n >> shift) - 8;
    (code + u64::from(n & ((1 << shift) - 1) != 0)).min(UNKNOWN)
}

/// (Without a branch but for what is unknown: all slots of a bucket are decoded for most adds of keys without one.)
#[inline(always)]
fn decode(code: u64) -> u64 {
    let exponent = code >> 3;
    let float = (code & 7 | u64::from(exponent > 0) << 3) << exponent.saturating_sub(1);
    if code == UNKNOWN { u64::MAX } else { float }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;

    #[test]
    fn floats_are_rounded_up() {
        assert!((0..UNKNOWN).all(|code| encode(decode(code)) == code));
        assert!((0..UNKNOWN).all(|code| decode(code) < decode(code + 1)));
        let near = |n: u64| [n - 1, n, n + 1];
        for n in (1..63).map(|bits| 1_u64 << bits).chain([9, 100, 999, 123_456, u64::MAX - 1]).flat_map(near)
        {
            let up = decode(encode(n));
            assert!(up >= n && (up == u64::MAX && n > 1 << 33 || up <= n + n / 8), "{n} {up}");
        }
    }

    #[test]
    fn parts() {
        let (one, other) = (Entry::new(7, 5, 3), Entry::open(7, NAMES - 1, 100));
        assert_eq!((one.lo(), one.name(), one.count(), one.upper()), (7, 5, 3, Some(3)));
        assert_eq!((other.name(), other.is_open(), other.count(), other.upper()), (NAMES - 1, true, 0, None));
        let closed = other.plus(9).closed(110);
        assert_eq!((closed.count(), closed.is_open(), closed.name()), (9, false, NAMES - 1));
        assert!((119..=119 + 14).contains(&closed.rank()) && closed.upper() == Some(closed.rank()));
        assert!(other.closed(0).rank() >= other.rank(), "it only rises");
        assert_eq!(one.plus(u64::MAX).upper(), None);
        assert_eq!(Entry::open(7, 1, u64::MAX).closed(0).upper(), None);
        assert!(Entry(Pair::default()).is_empty() && !Entry::new(0, 1, 0).is_empty());
        assert!(other.plus(4).is_same_admission(other) && !closed.is_same_admission(other));
        let carried = Entry::carried(7, 5, 100).plus(3);
        assert!((103..=103 + 13).contains(&carried.rank()) && !carried.is_open() && !carried.is_empty());
        assert_eq!((carried.count(), carried.upper(), carried.name()), (3, Some(3), 5));
        assert_eq!(carried.plus(u64::MAX).upper(), None);
        for entry in [one, other, closed, carried] {
            assert_eq!(Entry::named(7, entry.name(), entry.nameless()), Some(entry));
        }
        assert_eq!(Entry::named(7, 1, OPEN | CARRIED), None);
        assert_eq!(Entry::named(7, 1, 1 << NAME_SHIFT), None);
    }
}

//! Counts that many threads add to and that are rarely read; switches.

use crossbeam_utils::CachePadded;
use std::{
    cell::Cell,
    sync::atomic::{
        AtomicBool, AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

const SHARDS: usize = 8;

/// A sum spread over cache lines, so that threads that add do not wait for each other's line.
///
/// Relaxed throughout: a count orders nothing. (std's atomics in models as well: a count is not part of a protocol.)
#[derive(Debug, Default)]
pub(crate) struct Counter([CachePadded<AtomicU64>; SPREAD]);

/// (loom's stacks are small.)
const SPREAD: usize = if cfg!(windlass_loom) { 1 } else { SHARDS };

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        self.0[shard() % SPREAD].fetch_add(n, Relaxed);
    }

    pub(crate) fn sum(&self) -> u64 {
        self.0.iter().fold(0, |sum, shard| sum.wrapping_add(shard.load(Relaxed)))
    }
}

/// On or off, by threads that need not agree. Relaxed, like a count, and std's in models as well.
#[derive(Debug, Default)]
pub(crate) struct Switch(AtomicBool);

impl Switch {
    pub(crate) fn get(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// What it was before.
    pub(crate) fn set(&self, on: bool) -> bool {
        self.0.swap(on, Relaxed)
    }
}

/// Which of 8 shards is this thread's. Threads take them in turn, each for its life.
pub(crate) fn shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static MINE: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    MINE.with(|mine| {
        if mine.get() == usize::MAX {
            mine.set(NEXT.fetch_add(1, Relaxed) % SHARDS);
        }
        mine.get()
    })
}

/// How many threads can have a number of their own.
pub(crate) const OWN: usize = if cfg!(windlass_loom) { 0 } else { 64 };

/// A number below [`OWN`] that no other thread has as long as this one lives, if there is one left. So what is kept by that number is
/// written without atomic read-modify-writes; whoever has it next sees all of that.
///
/// (loom runs all threads of a model on one.)
#[inline(always)]
pub(crate) fn own() -> Option<usize> {
    /// Given back when the thread ends.
    struct Own(usize);

    static TAKEN: AtomicU64 = AtomicU64::new(0);

    impl Own {
        fn take() -> Own {
            // Acquire; pairs with the release below, of whoever had it before.
            let lowest =
                |taken: u64| Some(taken | !taken & taken.wrapping_add(1)).filter(|_| taken != u64::MAX);
            let taken = TAKEN.fetch_update(Acquire, Relaxed, lowest);
            Own(taken.map_or(usize::MAX, |taken| taken.trailing_ones() as usize))
        }
    }

    impl Drop for Own {
        fn drop(&mut self) {
            if self.0 < OWN {
                TAKEN.fetch_and(!(1 << self.0), Release);
            }
        }
    }

    thread_local! {
        static MINE: Own = Own::take();
    }
    MINE.try_with(|mine| mine.0).ok().filter(|&mine| mine < OWN)
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use std::thread;

    /// What is counted by load and store in one's own place is all there, over many threads' lives.
    #[test]
    fn places_of_ones_own() {
        let counts: Vec<AtomicU64> = (0..OWN).map(|_| AtomicU64::new(0)).collect();
        let shared = AtomicU64::new(0);
        let (lives, adds) = (25, 2000);
        for _ in 0..lives {
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..adds {
                            match own() {
                                Some(mine) => counts[mine].store(counts[mine].load(Relaxed) + 1, Relaxed),
                                None => drop(shared.fetch_add(1, Relaxed)),
                            }
                        }
                    });
                }
            });
        }
        let sum: u64 = counts.iter().chain([&shared]).map(|count| count.load(Relaxed)).sum();
        assert_eq!(sum, 4 * lives * adds);
    }
}

//! Counts that many threads add to and that are rarely read; switches.

use crossbeam_utils::CachePadded;
use std::{
    cell::Cell,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
};

const SHARDS: usize = 8;

/// A sum spread over cache lines, so that threads that add do not wait for each other's line.
///
/// Relaxed throughout: a count orders nothing. (std's atomics in models as well: a count is not part of a protocol.)
#[derive(Debug, Default)]
pub(crate) struct Counter([CachePadded<AtomicU64>; SHARDS]);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        self.0[shard()].fetch_add(n, Relaxed);
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

//! The counts of all keys together, one for each pane.

use crate::sync::{AtomicU64, OWN, Ordering::Relaxed, own, saturating, shard};
use std::ops::Range;

/// Threads that have no place of their own are spread over so many counts.
const SHARED: usize = if cfg!(windlass_loom) { 1 } else { 8 };

/// More than a cache line between those of one thread and the next, and before the first: what the allocator puts there is read by every add.
const GAP: usize = 9;

/// So that they cost next to nothing, each thread has its own, for which it needs no atomic read-modify-write.
pub(crate) struct Totals {
    counts: Box<[AtomicU64]>,
    stride: usize,
}

impl Totals {
    pub(super) fn new(panes: usize) -> Totals {
        let stride = (panes + GAP).next_multiple_of(8);
        Totals { counts: (0..GAP + stride * (OWN + SHARED)).map(|_| AtomicU64::new(0)).collect(), stride }
    }

    /// Whether it is saturated now.
    #[inline(always)]
    pub(super) fn add(&self, pane: usize, n: u64) -> bool {
        if let Some(own) = own() {
            return saturating::add_alone(&self.lanes()[own * self.stride + pane], n);
        }
        saturating::add_and_hold(&self.lanes()[(OWN + shard() % SHARED) * self.stride + pane], n)
    }

    #[inline(always)]
    fn lanes(&self) -> &[AtomicU64] {
        &self.counts[GAP..]
    }

    pub(super) fn sum(&self, panes: Range<usize>) -> u64 {
        let shards = self.lanes().chunks(self.stride);
        saturating::sum(shards.flat_map(|shard| &shard[panes.clone()]).map(|count| count.load(Relaxed)))
    }

    pub(super) fn bytes(panes: usize) -> u64 {
        (GAP * size_of::<AtomicU64>()) as u64
            + ((OWN + SHARED) * (panes + GAP).next_multiple_of(8) * size_of::<AtomicU64>()) as u64
    }
}

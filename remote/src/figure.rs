//! A figure that many add to.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Relaxed everywhere: each is a figure by itself, and orders nothing.
#[derive(Debug, Default)]
pub(crate) struct Figure(AtomicU64);

impl Figure {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

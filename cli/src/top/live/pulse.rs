//! What the counting thread tells of itself.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::super::FIGURES;
use crate::stop::Stop;

/// The figures of the report as they are. Relaxed, all of them: figures to look at, of which each may be a batch older than the next.
pub(in super::super) struct Pulse {
    told: [AtomicU64; FIGURES.len()],
    skipped: AtomicU64,
    memory: AtomicU64,
    stop: Stop,
}

/// .. those of one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) events: u64,
    /// Panes that are over.
    pub(super) panes: u64,
    pub(super) late: u64,
    pub(super) uncounted: u64,
    pub(super) refused: u64,
    pub(super) duplicates: u64,
    pub(super) denied: u64,
    pub(super) skipped: u64,
    /// Bytes.
    pub(super) memory: u64,
}

impl Pulse {
    pub(super) fn new(stop: Stop) -> Pulse {
        Pulse { told: Default::default(), skipped: AtomicU64::new(0), memory: AtomicU64::new(0), stop }
    }

    pub(in super::super) fn tell(&self, told: [u64; FIGURES.len()], skipped: u64, memory: u64) {
        for (figure, value) in self.told.iter().zip(told) {
            figure.store(value, Relaxed);
        }
        self.skipped.store(skipped, Relaxed);
        self.memory.store(memory, Relaxed);
    }

    pub(super) fn read(&self) -> Told {
        let [events, panes, late, uncounted, refused, duplicates, denied] =
            self.told.each_ref().map(|figure| figure.load(Relaxed));
        let (skipped, memory) = (self.skipped.load(Relaxed), self.memory.load(Relaxed));
        Told { events, panes, late, uncounted, refused, duplicates, denied, skipped, memory }
    }

    /// Who asks the run to end.
    pub(in super::super) fn stop(&self) -> &Stop {
        &self.stop
    }
}

//! What a command tells of itself as it goes on: the figures of its report.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use windlass::metrics::{Page, Source};

/// A figure of a report.
pub(crate) struct Figure {
    /// Behind `windlass_command_`; of one that only rises without `_total`.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) rises: bool,
}

impl Figure {
    /// One that only rises.
    pub(crate) const fn count(name: &'static str, help: &'static str) -> Figure {
        Figure { name, help, rises: true }
    }

    /// One that may fall.
    pub(crate) const fn level(name: &'static str, help: &'static str) -> Figure {
        Figure { name, help, rises: false }
    }
}

pub(super) struct Board {
    figures: &'static [Figure],
    values: Mutex<Values>,
    read: OnceLock<Arc<AtomicU64>>,
}

struct Values {
    told: Vec<u64>,
    skipped: u64,
}

impl Board {
    pub(super) fn new(figures: &'static [Figure]) -> Board {
        let values = Values { told: vec![0; figures.len()], skipped: 0 };
        Board { figures, values: Mutex::new(values), read: OnceLock::new() }
    }

    pub(super) fn reads(&self, read: Arc<AtomicU64>) {
        // (Once.)
        let _ = self.read.set(read);
    }

    pub(super) fn tell(&self, values: &[u64]) {
        let told = &mut self.lock().told;
        told.clear();
        told.extend_from_slice(values);
    }

    pub(super) fn skipped(&self, records: u64) {
        self.lock().skipped = records;
    }

    /// (Nothing under the lock can panic.)
    fn lock(&self) -> MutexGuard<'_, Values> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for Board {
    fn measure(&self, page: &mut Page) {
        let (told, skipped) = {
            let values = self.lock();
            (values.told.clone(), values.skipped)
        };
        for (Figure { name, help, rises }, value) in self.figures.iter().zip(told) {
            match rises {
                true => page.counter(&format!("windlass_command_{name}_total"), help, &[], value),
                false => page.gauge(&format!("windlass_command_{name}"), help, &[], value),
            }
        }
        let help = "Records that gave no event.";
        page.counter("windlass_command_skipped_records_total", help, &[], skipped);
        // Relaxed: a figure.
        let read = self.read.get().map_or(0, |read| read.load(Relaxed));
        page.counter(
            "windlass_command_read_bytes_total",
            "Bytes read, of gzip as they are packed.",
            &[],
            read,
        );
    }
}

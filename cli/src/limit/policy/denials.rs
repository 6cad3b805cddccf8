//! How many events each limit was the first to deny.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use windlass::metrics::{Page, Source};

use super::file::Limit;

/// In the order of the policy. Written by whoever judges, and looked at by others meanwhile.
pub(super) struct Denials(Vec<(String, AtomicU64)>);

impl Denials {
    /// None yet.
    pub(super) fn of(limits: &[Limit]) -> Denials {
        Denials(limits.iter().map(|limit| (limit.name.clone(), AtomicU64::new(0))).collect())
    }

    /// Relaxed, all of them: figures.
    pub(super) fn add(&self, limit: &str) {
        if let Some((_, count)) = self.0.iter().find(|(name, _)| name == limit) {
            count.fetch_add(1, Relaxed);
        }
    }

    pub(super) fn counts(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|(_, count)| count.load(Relaxed))
    }

    /// Those of the runs before.
    pub(super) fn put_back(&self, counts: &[u64]) {
        self.0.iter().zip(counts).for_each(|((_, count), &saved)| count.store(saved, Relaxed));
    }
}

impl Source for Denials {
    fn measure(&self, page: &mut Page) {
        let help = "Events that a limit of --policy was the first to deny.";
        for (limit, count) in &self.0 {
            let name = "windlass_command_denied_by_limit_events_total";
            page.counter(name, help, &[("limit", limit)], count.load(Relaxed));
        }
    }
}

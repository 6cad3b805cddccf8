//! How much memory there may be.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// Bytes in use, and how many there may be.
///
/// Relaxed throughout: a count orders nothing. (std's atomics in models as well.)
#[derive(Debug)]
pub(crate) struct Budget {
    used: AtomicU64,
    limit: u64,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Arc<Budget> {
        Arc::new(Budget { used: AtomicU64::new(0), limit })
    }

    /// Bytes of all that is allocated and not yet freed.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// What may still be allocated.
    pub(crate) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used())
    }

    /// `None` if that would be more than there may be.
    pub(crate) fn take(self: &Arc<Self>, bytes: u64) -> Option<Share> {
        let more = |used: u64| used.checked_add(bytes).filter(|&used| used <= self.limit);
        self.used.fetch_update(Relaxed, Relaxed, more).ok()?;
        Some(Share { budget: self.clone(), bytes })
    }
}

/// Part of a budget; given back when it is dropped.
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Relaxed);
    }
}

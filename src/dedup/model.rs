//! What `loom-tests` sees of the rule of deduplication.

use super::{Refresh, rule};
use crate::table::Decision;

/// The shipped rule, with stamps for ticks.
#[derive(Clone, Copy)]
pub struct Rule(rule::Rule);

impl Rule {
    /// Of a window and a lateness in ticks.
    pub fn new(window: u64, lateness: u64, refresh: Refresh) -> Rule {
        Rule(rule::Rule { window, reach: window + lateness, max_jump: u64::MAX, refresh, granule: 1 })
    }

    /// What may be evicted.
    pub fn evict_within(&self) -> u64 {
        self.0.evict_within()
    }

    pub(crate) fn horizon_at(&self, now: u64, horizon: u64) -> Option<u64> {
        self.0.horizon_at(now, horizon).ok()?
    }

    pub(crate) fn observe(&self, now: u64) -> impl Fn(Option<u64>, u64) -> Decision<u64> {
        self.0.observe(now)
    }

    pub(crate) fn forget(&self, now: u64) -> impl Fn(Option<u64>, u64) -> Decision<bool> {
        self.0.forget(now)
    }
}

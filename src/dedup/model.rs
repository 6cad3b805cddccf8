//! What `loom-tests` sees of the rule of deduplication.

use super::{Refresh, rule};
use crate::table::model::{Stop, Table};

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
}

impl<const BUCKETS: usize, const CELLS: usize> Table<BUCKETS, CELLS> {
    /// `Dedup::observe_at`: whether the id is fresh.
    pub fn observe(&self, rule: &Rule, key: u64, now: u64) -> Result<bool, Stop> {
        if let Ok(Some(target)) = rule.0.horizon_at(now, self.horizon()) {
            self.advance(target);
        }
        self.change(key, rule.0.observe(now)).map(|first| first == 0)
    }

    /// `Dedup::forget_at`: whether the id was there.
    pub fn forget(&self, rule: &Rule, key: u64, now: u64) -> bool {
        self.change(key, rule.0.forget(now)).unwrap_or(false)
    }
}

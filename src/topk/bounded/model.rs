//! What `loom-tests` sees of candidates and sketch: the shipped slots, in the smallest sizes.

use super::{pane::Tables, plan::Plan, slots::Bucket};
use crate::sync::{Budget, Portable};

/// One bucket of two slots, before a sketch of so many cells.
pub struct Hot {
    tables: Tables,
}

impl Hot {
    /// Keys share a cell by chance if there are few.
    #[allow(clippy::panic)] // in models
    pub fn new(cells: u64) -> Hot {
        let plan = Plan { tables: 1, buckets: 1, lines: cells, names: 0, parts: 1 };
        let tables = Tables::new(&plan, &Budget::new(u64::MAX)).unwrap_or_else(|| panic!("no memory"));
        Hot { tables }
    }

    fn bucket(&self) -> Bucket<'_> {
        self.tables.slots.bucket(0)
    }

    /// Counts a key `n` times. Its name is its number.
    pub fn add(&self, key: u64, n: u64) {
        self.bucket().add(Portable, key, n, &self.tables.sketch, || Some(key));
    }

    /// How often it was seen at least, and at most.
    pub fn bounds(&self, key: u64) -> (u64, u64) {
        let sketched = || self.tables.sketch.estimate(key).upper;
        match self.bucket().find(Portable, key) {
            Some(entry) => {
                (entry.count(), entry.upper().unwrap_or_else(|| entry.count().saturating_add(sketched())))
            }
            None => (0, self.bucket().bar(Portable).min(sketched())),
        }
    }

    /// The keys that have slots, in order.
    pub fn keys(&self) -> Vec<u64> {
        let mut keys: Vec<u64> = self.bucket().entries(Portable).map(|entry| entry.lo()).collect();
        keys.sort_unstable();
        keys
    }
}

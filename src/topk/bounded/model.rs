//! What `loom-tests` sees of candidates and sketch: the shipped slots, in the smallest sizes.

use super::{
    entry::Entry,
    pane::Tables,
    plan::Plan,
    sketch::Sketch,
    slots::{Bucket, Carried},
};
use crate::sync::{Budget, Portable};

/// One bucket of two slots, before a sketch of so many lines, of two cells each.
pub struct Hot {
    tables: Tables,
    carried: Carried,
}

impl Hot {
    /// Nothing was counted yet.
    #[allow(clippy::panic)] // in models
    #[must_use]
    pub fn new(lines: u64) -> Hot {
        let plan = Plan { tables: 1, buckets: 1, lines, names: 0, parts: 1 };
        let tables = Tables::new(&plan, &Budget::new(u64::MAX)).unwrap_or_else(|| panic!("no memory"));
        Hot { tables, carried: Carried::default() }
    }

    /// The same, and the bucket begins with these keys.
    #[must_use]
    pub fn carried(lines: u64, keys: [u64; 2]) -> Hot {
        Hot { carried: keys.map(|key| Some(Entry::carried(key, key, 90))), ..Hot::new(lines) }
    }

    fn bucket(&self) -> Bucket<'_> {
        self.tables.slots.bucket(0)
    }

    /// Counts a key `n` times. Its name is its number.
    pub fn add(&self, key: u64, n: u64) {
        self.bucket().add(Portable, key, n, &self.tables.sketch, || Some(key), || self.carried);
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

    /// Whether two keys have the same cell of a line.
    pub fn share(a: u64, b: u64) -> bool {
        Sketch::cell_of(a) == Sketch::cell_of(b)
    }

    /// The keys that have slots, in order.
    pub fn keys(&self) -> Vec<u64> {
        let mut keys: Vec<u64> = self.bucket().entries(Portable).map(|entry| entry.lo()).collect();
        keys.sort_unstable();
        keys
    }
}

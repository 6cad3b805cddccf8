//! One list of what several shards know.
//!
//! A key has been seen as often as the shards that have told of it say, or more. Of one that has not told of it, it had no more than that shard's tail. All is
//! kept as sums and maxima that stop at the end: they come out the same in every order.

use super::{
    Export, TopKey, TopRow, TopSnapshot,
    bounded::guess,
    snapshot::Trace,
    sums::{Sum, Sums},
};
use crate::time::Tick;
use std::fmt;

/// Where keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Each key is on one shard, and on no other: by its hash, as a rule.
    Split,
    /// A key may be on several: each has counted a part.
    Shared,
}

/// Merges the exports of any number of shards into one list, with bounds.
///
/// ```
/// use windlass::{Aggregator, Export, Keys, Seed, Tick, TopK, Window};
///
/// let shards = [0, 1].map(|_| TopK::builder(Window::last_n(60), Window::last_n(10), 2).capacity(100).seed(Seed(1)).build());
/// let [a, b] = shards;
/// let (a, b) = (a?, b?);
/// a.add_at("/", 3, Tick(5));
/// b.add_at("/", 4, Tick(7));
/// b.add_at("/login", 5, Tick(7));
///
/// let mut all = Aggregator::new(2, Keys::Shared);
/// all.merge(&a.export_at(Tick(9)))?;
/// all.merge(&Export::from_bytes(&b.export_at(Tick(9)).to_bytes())?)?; // from another machine
/// let list = all.list();
/// let rows: Vec<_> = list.rows.iter().map(|row| (row.key.to_string(), row.count)).collect();
/// assert_eq!(rows, [("/".into(), 7), ("/login".into(), 5)]);
/// assert!(list.certified && list.total == 12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Guarantees
/// The order in which exports are merged does not matter, nor whether aggregators are merged first ([`Aggregator::merge_all`]): the list is the same to the last bit. Its bounds
/// hold if those of the exports do; and, with [`Keys::Split`], if each key is on one shard. It is certified if its keys, their order and
/// their counts follow from them. Else more rows of each shard may do: those of one with a greater `k`.
///
/// # Cost
/// Merging takes time in proportion to rows, a list in proportion to keys; memory for each different key.
#[derive(Clone, Debug)]
pub struct Aggregator {
    k: usize,
    keys: Keys,
    /// Of the first export, which the others have to agree with.
    grid: Option<Grid>,
    as_of: Tick,
    total: u128,
    /// Of all shards: their sum, and the greatest.
    tails: u128,
    tail: u64,
    rows: Sums,
    exports: u64,
}

/// A row, before it is known to be in the list.
struct TopRowOf<'a> {
    key: &'a TopKey,
    count: u64,
    lower: u64,
    upper: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grid {
    pane: u64,
    first: u64,
    end: u64,
    counts_events: bool,
    seed_id: u64,
}

/// Exports that cannot be merged: what differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// `pane`, `interval`, `seed` or `keys`.
    pub field: &'static str,
    /// What it is.
    pub value: String,
    /// What those that were merged before have.
    pub expected: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { field, value, expected } = self;
        write!(f, "{field}: {value} cannot be merged with {expected}")
    }
}

impl std::error::Error for Mismatch {}

impl Aggregator {
    /// For lists of `k` keys.
    #[must_use]
    pub fn new(k: usize, keys: Keys) -> Aggregator {
        Aggregator {
            k,
            keys,
            grid: None,
            as_of: Tick(0),
            total: 0,
            tails: 0,
            tail: 0,
            rows: Sums::new(),
            exports: 0,
        }
    }

    /// Adds what a shard tells. Each shard's is to be merged once.
    ///
    /// # Errors
    /// What was merged before has other panes, another interval or another seed. Nothing has changed then.
    pub fn merge(&mut self, export: &Export) -> Result<(), Mismatch> {
        self.agree(Grid {
            pane: export.pane,
            first: export.first,
            end: export.end,
            counts_events: export.counts_events,
            seed_id: export.seed_id,
        })?;
        self.as_of = self.as_of.max(export.as_of);
        self.total += u128::from(export.total);
        self.tails += u128::from(export.tail);
        self.tail = self.tail.max(export.tail);
        self.exports += 1;
        // (Of keys that may be on several shards most are there by now.)
        if self.rows.len() == 0 || self.keys == Keys::Split {
            self.rows.reserve(export.rows.len());
        }
        let tails = u128::from(export.tail);
        for row in &export.rows {
            self.rows.add(&row.key, Sum { lower: row.lower, upper: row.upper, tails });
        }
        Ok(())
    }

    /// Adds what another has been told, of other shards.
    ///
    /// # Errors
    /// As with [`Aggregator::merge`]; or keys are elsewhere with the other.
    pub fn merge_all(&mut self, other: &Aggregator) -> Result<(), Mismatch> {
        if self.keys != other.keys {
            let told = |keys| format!("{keys:?}");
            return Err(Mismatch { field: "keys", value: told(other.keys), expected: told(self.keys) });
        }
        if let Some(grid) = other.grid {
            self.agree(grid)?;
        }
        self.as_of = self.as_of.max(other.as_of);
        self.total += other.total;
        self.tails += other.tails;
        self.tail = self.tail.max(other.tail);
        self.exports += other.exports;
        other.rows.each().for_each(|(key, more)| self.rows.add(key, more));
        Ok(())
    }

    fn agree(&mut self, grid: Grid) -> Result<(), Mismatch> {
        let own = *self.grid.get_or_insert(grid);
        let mismatch = |field, value, expected| Err(Mismatch { field, value, expected });
        let pane = |grid: Grid| format!("{} {}", grid.pane, if grid.counts_events { "events" } else { "ns" });
        if (own.pane, own.counts_events) != (grid.pane, grid.counts_events) {
            return mismatch("pane", pane(grid), pane(own));
        }
        let interval = |grid: Grid| format!("panes {}..{}", grid.first, grid.end);
        if (own.first, own.end) != (grid.first, grid.end) {
            return mismatch("interval", interval(grid), interval(own));
        }
        let seed = |grid: Grid| format!("{:016x}", grid.seed_id);
        if own.seed_id != grid.seed_id {
            return mismatch("seed", seed(grid), seed(own));
        }
        Ok(())
    }

    /// Exports that were merged.
    #[must_use]
    pub fn exports(&self) -> u64 {
        self.exports
    }

    /// The list over all shards. Before the first export: an empty one of an empty interval, not certified.
    #[must_use]
    pub fn list(&self) -> TopSnapshot {
        let Some(grid) = self.grid else { return TopSnapshot::unknown() };
        let mut rows: Vec<TopRowOf<'_>> = self.rows.each().map(|(key, sum)| self.row(key, sum)).collect();
        let unseen = match self.keys {
            Keys::Split => self.tail,
            Keys::Shared => clamp(self.tails),
        };
        let order = |a: &TopRowOf<'_>, b: &TopRowOf<'_>| b.count.cmp(&a.count).then_with(|| a.key.cmp(b.key));
        let (mut tail, mut doubtful) = (unseen, unseen);
        if self.k < rows.len() {
            rows.select_nth_unstable_by(self.k, order);
            for row in rows.drain(self.k..) {
                tail = tail.max(row.upper);
                doubtful = doubtful.max(if row.upper > row.lower { row.upper } else { 0 });
            }
        }
        rows.sort_unstable_by(order);
        let none_missing = match self.k.checked_sub(1).and_then(|last| rows.get(last)) {
            Some(last) => doubtful < last.lower,
            None => tail == 0,
        };
        let row = |TopRowOf { key, count, lower, upper }| TopRow {
            key: TopKey::clone(key),
            count,
            lower,
            upper,
            trace: Trace::default(),
        };
        TopSnapshot {
            as_of: self.as_of,
            start: Tick(grid.first.saturating_mul(grid.pane)),
            end: Tick(grid.end.saturating_mul(grid.pane)),
            total: clamp(self.total),
            certified: none_missing && rows.iter().all(|row| row.lower == row.upper),
            tail,
            rows: rows.into_iter().map(row).collect(),
        }
    }

    fn row<'a>(&self, key: &'a TopKey, sum: Sum) -> TopRowOf<'a> {
        let others = match self.keys {
            Keys::Split => 0,
            Keys::Shared => self.tails.saturating_sub(sum.tails),
        };
        let upper = sum.upper.saturating_add(clamp(others));
        TopRowOf { key, count: guess(sum.lower, upper), lower: sum.lower, upper }
    }
}

fn clamp(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

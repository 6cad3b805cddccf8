//! What a shard tells of its keys, to be merged with what others tell.

use super::{TopKey, bounded::Found};
use crate::{
    count::Panes,
    hash::Seed,
    time::{Tick, Window},
};
use std::ops::Range;

/// What one structure knows of the hottest keys of a window, for an [`Aggregator`](crate::Aggregator): made by
/// [`TopK::export_at`](crate::TopK::export_at) and [`BoundedTopK::export_at`](crate::BoundedTopK::export_at), sent as bytes
/// ([`Export::to_bytes`]).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Export {
    /// The tick for which it was asked.
    pub as_of: Tick,
    /// How often all keys were seen.
    pub total: u64,
    /// No key that is not in `rows` was seen more often than this.
    pub tail: u64,
    /// The keys, the hottest first.
    pub rows: Vec<ExportRow>,
    /// Rows that there could have been.
    pub capacity: u32,
    /// Keys in a list of the structure.
    pub k: u32,
    pub(super) pane: u64,
    pub(super) first: u64,
    pub(super) end: u64,
    pub(super) counts_events: bool,
    pub(super) seed_id: u64,
}

/// A key of an export: it was seen `lower` times or more, and `upper` times at most.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportRow {
    /// The key.
    pub key: TopKey,
    /// It was seen that often, or more.
    pub lower: u64,
    /// It was not seen more often.
    pub upper: u64,
}

/// Rows for each key of a list: so that a key is among those of most shards if it is hot over all of them.
const ROWS_FOR_KEY: usize = 10;

impl Export {
    /// Rows that there can be.
    pub const MAX_ROWS: usize = 1 << 20;

    pub(super) fn rows_for(k: usize) -> usize {
        k.saturating_mul(ROWS_FOR_KEY).min(Export::MAX_ROWS)
    }

    /// `kept`: whether all of the panes are.
    pub(super) fn new(
        found: Found,
        (grid, panes): (Panes, Range<u64>),
        kept: bool,
        as_of: Tick,
        k: usize,
        seed: Seed,
    ) -> Export {
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let row = |row: super::TopRow| ExportRow {
            key: row.key,
            lower: row.lower,
            upper: if kept { row.upper } else { u64::MAX },
        };
        Export {
            as_of,
            total: found.total,
            tail: if kept { found.tail } else { u64::MAX },
            rows: found.rows.into_iter().map(row).collect(),
            capacity: narrow(Export::rows_for(k)),
            k: narrow(k),
            pane: grid.pane,
            first: panes.start,
            end: panes.end,
            counts_events: grid.counts_events,
            seed_id: seed.id(),
        }
    }

    /// Cuts it to so many rows. What is cut off is in the tail.
    pub fn truncate(&mut self, rows: usize) {
        if rows < self.rows.len() {
            let cut = self.rows.split_off(rows);
            self.tail = cut.iter().map(|row| row.upper).fold(self.tail, u64::max);
        }
        self.capacity = self.capacity.min(u32::try_from(rows).unwrap_or(u32::MAX));
    }

    /// The length of a pane.
    #[must_use]
    pub fn pane(&self) -> Window {
        Panes { pane: self.pane, window: 1, counts_events: self.counts_events }.of_window(1)
    }

    /// The numbers of its panes, counted from tick 0.
    #[must_use]
    pub fn panes(&self) -> Range<u64> {
        self.first..self.end
    }

    /// The first tick of its first pane.
    #[must_use]
    pub fn start(&self) -> Tick {
        Tick(self.first.saturating_mul(self.pane))
    }

    /// The tick after its last pane's last.
    #[must_use]
    pub fn end(&self) -> Tick {
        Tick(self.end.saturating_mul(self.pane))
    }

    /// Whether it was made with this seed.
    #[must_use]
    pub fn is_of(&self, seed: Seed) -> bool {
        self.seed_id == seed.id()
    }
}

//! What `loom-tests` sees of the panes: the shipped ring, columns and questions, in a filter that checks its own promise.

use super::{Arrays, Ask, Bloom, Contains, Grid, Insert, Observe, PaneRing, PutBack, Rotation, Rows, Words};
use crate::{hash::KeyHash, mem::Slab, sync::Budget};
use std::sync::{Mutex, PoisonError};

/// How columns lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panes {
    /// `Rows<1, 1>`: a word for a key.
    Rows,
    /// `Rows<1, 2>`: two words, in two rows.
    TwoRows,
    /// An array for each.
    Arrays,
    /// .. with a seed for each turn.
    Seeded,
}

enum Columns {
    Rows(Rows<1, 1>),
    TwoRows(Rows<1, 2>),
    Arrays(Arrays),
}

macro_rules! with_columns {
    ($filter:expr, $columns:ident => $body:expr) => {
        match &$filter.columns {
            Columns::Rows($columns) => $body,
            Columns::TwoRows($columns) => $body,
            Columns::Arrays($columns) => $body,
        }
    };
}

/// A filter of a row or two. Odd keys have the second; a key below 16 has a bit of its own in each of its words.
pub struct Filter {
    panes: Panes,
    ring: PaneRing,
    columns: Columns,
    /// The latest tick that a call has brought which moves the ring. (std's mutex: it orders nothing for loom.)
    newest: Mutex<u64>,
}

impl Filter {
    /// So many columns and rows, panes of so many ticks.
    #[allow(clippy::panic)] // in models
    pub fn new(panes: Panes, columns: usize, rows: u64, pane: u64, rotation: Rotation) -> Filter {
        let budget = Budget::new(u64::MAX);
        let mut take = |len| Slab::new(len, &budget);
        let made = match panes {
            Panes::Rows => Rows::new(rows, columns, 1, &mut take).map(Columns::Rows),
            Panes::TwoRows => Rows::new(rows, columns, 2, &mut take).map(Columns::TwoRows),
            _ => Arrays::new(rows, columns, 2, panes == Panes::Seeded, &mut take).map(Columns::Arrays),
        };
        // In models a chunk is one row.
        let grid = Grid { columns, pane, chunks: rows, max_jump: u64::MAX, rotation };
        Filter {
            panes,
            ring: PaneRing::new(grid, Words::new(columns).unwrap_or_else(|| panic!("no memory"))),
            columns: made.unwrap_or_else(|| panic!("no memory")),
            newest: Mutex::new(0),
        }
    }

    /// What a snapshot and its restoration make of it, while others go on.
    #[allow(clippy::panic)] // in models
    pub fn copy(&self) -> Filter {
        let grid = *self.ring.grid();
        let copy = Filter::new(self.panes, grid.columns, grid.chunks, grid.pane, grid.rotation);
        let (from, columns) = (&self.ring, &self.columns);
        let ring = match (columns, &copy.columns) {
            (Columns::Rows(from_columns), Columns::Rows(to)) => copied(from, from_columns, to),
            (Columns::TwoRows(from_columns), Columns::TwoRows(to)) => copied(from, from_columns, to),
            (Columns::Arrays(from_columns), Columns::Arrays(to)) => copied(from, from_columns, to),
            _ => None,
        };
        let ring = ring.unwrap_or_else(|| panic!("no such ring"));
        // Looked at last: what was brought meanwhile excuses.
        Filter { ring, newest: Mutex::new(self.brought(0)), ..copy }
    }

    /// In a copy: a key that was put in at `tick` is there if its pane is.
    #[track_caller]
    pub fn check_copied(&self, key: u64, tick: u64) {
        let pane = tick / self.ring.grid().pane;
        let is_live = self.panes(0).iter().any(|&(first, last)| first <= pane && pane <= last);
        assert!(self.contains(key, 0) || !is_live, "key {key} is lost in the copy, and its pane is live");
    }

    /// For how many ticks whatever is put in stays.
    pub fn span(&self) -> u64 {
        Grid::span(self.ring.grid().columns, self.ring.grid().pane)
    }

    /// Puts a key in. Whether it was seen.
    pub fn insert(&self, key: u64, now: u64) -> bool {
        self.brought(now);
        self.ask::<Insert>(key, now)
    }

    /// Puts a key in if it was not seen. Whether it was.
    pub fn observe(&self, key: u64, now: u64) -> bool {
        self.brought(now);
        self.ask::<Observe>(key, now)
    }

    /// Whether a key was seen.
    pub fn contains(&self, key: u64, now: u64) -> bool {
        self.ask::<Contains>(key, now)
    }

    /// A key that was put in at `tick` is found at `now`, unless it need not be.
    #[track_caller]
    pub fn check(&self, key: u64, tick: u64, now: u64) {
        let found = self.contains(key, now);
        // Looked at last: what was brought meanwhile excuses.
        let newest = self.brought(0).max(now);
        let kept = newest < tick + self.span();
        assert!(found || !kept, "key {key} of tick {tick} is lost at {newest}, seen from {now}");
    }

    /// Moves on and clears up to `budget` chunks. Whether there is more.
    pub fn maintain(&self, now: u64, budget: u64) -> bool {
        self.brought(now);
        with_columns!(self, columns => self.ring.maintain(now, budget, columns))
    }

    /// Moves on, with all the clearing that it takes.
    pub fn advance(&self, now: u64) {
        self.maintain(now, u64::MAX);
    }

    /// The panes (first, last) of live columns, the newest first.
    pub fn panes(&self, now: u64) -> Vec<(u64, u64)> {
        self.ring.panes(now).1.map(|pane| (pane.first, pane.last)).collect()
    }

    /// How often the ring moved.
    pub fn rotations(&self) -> u64 {
        self.ring.rotations()
    }

    /// How many panes came into the column of the one before.
    pub fn late(&self) -> u64 {
        self.ring.late()
    }

    /// Chunks cleared.
    pub fn cleared(&self) -> u64 {
        self.ring.cleared()
    }

    /// The latest tick of all, this one included.
    fn brought(&self, now: u64) -> u64 {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        *newest = now.max(*newest);
        *newest
    }

    fn ask<A: Ask>(&self, key: u64, now: u64) -> bool {
        let hash = KeyHash { hi: key << 63, lo: key | (!key & 63) << 8 | key << 32 };
        with_columns!(self, columns => A::ask(&self.ring, columns, &columns.spot(hash), now))
    }
}

fn copied<C: Bloom>(from: &PaneRing, columns: &C, to: &C) -> Option<PaneRing> {
    let (grid, begun) = (*from.grid(), from.begin_to_keep());
    let back = PutBack::new(grid.columns, begun.turn(grid.columns), begun.live())?;
    for block in 0..columns.blocks() {
        let mut words = Vec::new();
        from.read(columns, begun, block..block + 1, |word| words.push(word));
        back.put(to, block, words.into_iter());
    }
    back.finish(to, grid, Words::new(grid.columns)?, &from.keep(begun))
}

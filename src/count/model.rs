//! What `loom-tests` sees of the counters: the shipped generations, rows and stock, in the smallest sizes.

use super::{
    Added,
    core::Core,
    saved::taken_rows,
    stock::Stock,
    table::{Size, Table},
};
use crate::{
    codec::{Header, Kind, Reader, Writer},
    hash::{KeyHash, Seed},
    pane::Spans,
    sync::{
        AtomicU64,
        Ordering::{Acquire, Release},
        epoch, saturating,
    },
    time::Tick,
};
use std::{sync::Arc, time::Duration};

/// Panes of one tick, two to a generation. Of one home row a neighbourhood has two, and so have the outer ones.
pub struct Counter {
    core: Core<()>,
    window: u64,
}

impl Counter {
    /// A window of so many panes, and so many kept; tables that grow or not.
    #[allow(clippy::panic)] // in models
    pub fn new(window: u64, kept: u64, grows: bool) -> Counter {
        let size = Size::for_keys(1, 1);
        let spans = Spans { pane: 1, panes: 2, kept, max_jump: u64::MAX };
        let stock = Stock::new(size, 24, grows.then_some(u64::MAX)).unwrap_or_else(|| panic!("no memory"));
        Counter { core: Core::new(spans, size, stock, ()), window }
    }

    /// Adds 1. Whether it was counted.
    pub fn add(&self, key: u64, now: u64) -> bool {
        self.adds(key, 1, now).is_some()
    }

    /// Adds `n`: what was counted in that pane before, unless it was not counted.
    pub fn adds(&self, key: u64, n: u64, now: u64) -> Option<u64> {
        let guard = epoch::pin();
        match self.core.add(hash(key), n, now, &guard) {
            Ok(before) => Some(before),
            Err(Added::Late) => None,
            Err(other) => unreachable!("{other:?}"),
        }
    }

    /// In the pane of `now` and those before it that make up the window.
    pub fn count(&self, key: u64, now: u64) -> u64 {
        self.core.count(hash(key), (now + 1).saturating_sub(self.window)..now + 1, &epoch::pin())
    }

    /// Of all keys.
    pub fn total(&self, now: u64) -> u64 {
        self.core.total((now + 1).saturating_sub(self.window)..now + 1, &epoch::pin())
    }

    /// Moves on and clears.
    pub fn maintain(&self, now: u64) {
        self.core.maintain(now, 100);
    }

    /// Lets the epoch move on.
    pub fn collect(&self) {
        epoch::collect();
    }

    /// What a snapshot and its restoration make of it, while others go on.
    #[allow(clippy::panic)] // in models
    pub fn copy(&self, kept: u64) -> Counter {
        let mut bytes = Vec::new();
        let header = Header {
            kind: Kind::Counter,
            counts_events: true,
            seed: Seed(0),
            wall: Duration::ZERO,
            now: Tick(0),
            settings: Vec::new(),
        };
        let copy = Counter::new(self.window, kept, true);
        let written = Writer::begin(&mut bytes, &header).and_then(|mut writer| {
            self.core.save(&mut writer)?;
            writer.finish()
        });
        written.unwrap_or_else(|error| panic!("{error}"));
        let restored = Reader::begin(&bytes[..], Kind::Counter).and_then(|mut reader| {
            copy.core.load(&mut reader, true)?;
            reader.finish()
        });
        restored.unwrap_or_else(|error| panic!("{error}"));
        copy
    }

    /// All rows of the tables are found from these keys.
    #[track_caller]
    pub fn check_rows(&self, keys: &[u64]) {
        let guard = epoch::pin();
        for generation in self.core.time.all(&guard) {
            let rows: u64 = generation.table.chain(&guard).map(|table| table.taken(u64::MAX)).sum();
            let found =
                keys.iter().filter(|key| generation.table.find(hash(**key), &guard).is_some()).count();
            assert_eq!(rows, found as u64, "a row that its key does not find");
        }
    }

    /// Generations opened, tables used again.
    pub fn opened(&self) -> (u64, u64) {
        (self.core.stock.counts.opened.sum(), self.core.stock.counts.recycled.sum())
    }
}

/// A table of a generation, and the stock that it goes to.
pub struct Shelf {
    table: Arc<Table>,
    /// Whether it has not left.
    there: AtomicU64,
    stock: Stock,
}

impl Default for Shelf {
    #[allow(clippy::panic)] // in models
    fn default() -> Shelf {
        let stock = Stock::new(Size::for_keys(1, 1), 24, None).unwrap_or_else(|| panic!("no memory"));
        Shelf { table: stock.take(None), there: AtomicU64::new(1), stock }
    }
}

impl Shelf {
    /// Adds 1 to a key, if the table has not left.
    pub fn add(&self, key: u64) {
        let guard = epoch::pin();
        if self.there.load(Acquire) == 1
            && let Some(row) = self.table.claim(hash(key), &guard, &self.stock)
        {
            saturating::add(row.cell(0), 1);
        }
    }

    /// What a snapshot reads of a key, while it lets others do something before its counts are read. `None`: the table has left.
    pub fn copy(&self, key: u64, meanwhile: impl Fn()) -> Option<u64> {
        let guard = epoch::pin();
        if self.there.load(Acquire) == 0 {
            return None;
        }
        meanwhile();
        let rows = taken_rows(&self.table, 0..self.table.all());
        let sum = rows.filter(|row| row.1 == key).map(|(.., row)| saturating::sum(row.counts(0..1))).sum();
        drop(guard);
        Some(sum)
    }

    /// The table leaves.
    pub fn leave(&self) {
        let _guard = epoch::pin();
        self.there.store(0, Release);
        self.stock.left(&self.table);
    }

    /// Clears what has left, if that may be: the table for its next use.
    pub fn cleared(&self) -> Option<Cleared> {
        epoch::collect();
        epoch::collect();
        self.stock.maintain(100, Some(&*self.table));
        let ready = self.stock.counts.recycled.sum() > 0;
        ready.then(|| Cleared(self.stock.take(None)))
    }
}

/// A table that is used again.
pub struct Cleared(Arc<Table>);

impl Cleared {
    /// A key's count there.
    pub fn count(&self, key: u64) -> u64 {
        let guard = epoch::pin();
        self.0.find(hash(key), &guard).map_or(0, |row| saturating::sum(row.counts(0..1)))
    }
}

fn hash(key: u64) -> KeyHash {
    KeyHash { hi: 0, lo: key }
}

//! Lists of the hottest keys, and where the newest one hangs.

use super::TopKey;
use crate::{
    hash::KeyHash,
    sync::{
        AtomicU64,
        Ordering::Relaxed,
        epoch::{self, Root},
        retry, twin,
    },
    time::Tick,
};
use std::{fmt, sync::Arc};

/// The hottest keys of a window, as they were found at one time. It never changes.
///
/// What counts for a key while others add: its count lies between the adds that had ended when the list was begun and those that had
/// begun when it was done. `certified` says of the counts so understood: these are the hottest keys, in this order, and no other has as many.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TopSnapshot {
    /// The tick for which it was asked.
    pub as_of: Tick,
    /// The first tick of its first pane.
    pub start: Tick,
    /// The tick after its last pane's last.
    pub end: Tick,
    /// How often all keys were seen.
    pub total: u64,
    /// Whether the list is exact: keys, order and counts.
    pub certified: bool,
    /// No key that is missing was seen more often than this.
    pub tail: u64,
    /// The hottest first; of equals the one with the lesser key.
    pub rows: Vec<TopRow>,
}

/// A key of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopRow {
    /// The key.
    pub key: TopKey,
    /// How often it was seen. `u64::MAX`: 2^63 times or more.
    pub count: u64,
    /// It was seen that often, or more.
    pub lower: u64,
    /// It was not seen more often.
    pub upper: u64,
    /// By which it is found again where it came from.
    pub(super) trace: Trace,
}

/// A key's hash, where it is known. Rows are equal without it: it says nothing about them.
#[derive(Clone, Copy, Default)]
pub(super) struct Trace(pub(super) Option<KeyHash>);

impl PartialEq for Trace {
    fn eq(&self, _: &Trace) -> bool {
        true
    }
}

impl Eq for Trace {}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "known" } else { "unknown" })
    }
}

impl TopSnapshot {
    /// Of a window of which nothing is known.
    pub(super) fn unknown() -> TopSnapshot {
        TopSnapshot {
            as_of: Tick(0),
            start: Tick(0),
            end: Tick(0),
            total: 0,
            certified: false,
            tail: u64::MAX,
            rows: Vec::new(),
        }
    }

    /// Ticks since it was asked for.
    #[must_use]
    pub fn age(&self, now: Tick) -> u64 {
        now.0.saturating_sub(self.as_of.0)
    }
}

/// Where the newest of what several make hangs, for all to read.
pub(super) struct Board<T: Send + Sync + 'static> {
    /// How many were begun. Relaxed: numbers, of which each is given once.
    begun: AtomicU64,
    shown: Root<Shown<T>>,
}

struct Shown<T> {
    number: u64,
    what: Arc<T>,
}

impl<T: Send + Sync + 'static> Board<T> {
    pub(super) fn new(first: T) -> Board<T> {
        let first = Shown { number: 0, what: Arc::new(first) };
        Board { begun: AtomicU64::new(0), shown: Root::new(first) }
    }

    /// The number of one that is begun now.
    pub(super) fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Relaxed) + 1
    }

    /// Shows it, unless one is shown that was begun later (twin `ShowBlindly`).
    pub(super) fn show(&self, number: u64, what: Arc<T>) {
        let (guard, mut new) = (epoch::pin(), Some(Shown { number, what }));
        while let Some(mine) = new.take() {
            let shown = self.shown.get(&guard);
            if shown.number > number && !twin!(ShowBlindly) {
                return;
            }
            if let Err(same) = self.shown.exchange(shown, mine, &guard) {
                new = same;
                retry();
            }
        }
    }

    /// What is shown.
    #[inline]
    pub(super) fn get(&self) -> Arc<T> {
        self.shown.get(&epoch::pin()).what.clone()
    }
}

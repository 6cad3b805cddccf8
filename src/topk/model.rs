//! What `loom-tests` sees of the hottest keys: the shipped add, list, upkeep and board, in the smallest sizes.

use super::{TopK, builder::made, lower::Step, snapshot::Board};
use crate::{
    count::Added,
    hash::{Key, KeyHash, Seed},
    sync::{Ordering::Relaxed, epoch},
    time::Tick,
};
use std::sync::Arc;

/// Panes of one tick, two to a generation, in the smallest tables; a window of so many.
pub struct Top {
    top: TopK,
}

/// Of a list: its keys with their counts, and whether it is certified.
pub type Told = (Vec<(u64, u64)>, bool);

/// All keys have one home row.
struct One(u64);

impl Key for One {
    fn key_hash(&self, _: Seed) -> KeyHash {
        KeyHash { hi: 0, lo: self.0 }
    }

    fn with_bytes<R>(&self, f: impl FnOnce(u32, &[u8]) -> R) -> R {
        f(1, &self.0.to_le_bytes())
    }
}

/// .. and no bytes.
struct Nameless(u64);

impl Key for Nameless {
    fn key_hash(&self, _: Seed) -> KeyHash {
        KeyHash { hi: 0, lo: self.0 }
    }

    fn with_bytes<R>(&self, f: impl FnOnce(u32, &[u8]) -> R) -> R {
        f(2, &[])
    }
}

impl Top {
    /// Lists of `k`. Panes that begin have this threshold.
    pub fn new(window: u64, k: usize, threshold: u64) -> Top {
        Top::with_room(window, k, threshold, 1 << 20)
    }

    /// .. with so many bytes for keys: 32 are enough for one, or for two without a name.
    #[allow(clippy::panic)] // in models
    pub fn with_room(window: u64, k: usize, threshold: u64, bytes: u64) -> Top {
        let top = made(window, k, bytes).unwrap_or_else(|error| panic!("{error}"));
        top.next.store(threshold, Relaxed);
        Top { top }
    }

    /// Panes that begin from now on have this threshold.
    pub fn set_threshold(&self, threshold: u64) {
        self.top.next.store(threshold, Relaxed);
    }

    /// Adds `n`. Whether it was counted.
    pub fn add(&self, key: u64, n: u64, now: u64) -> bool {
        self.top.add_at(One(key), n, Tick(now)) == Added::Counted
    }

    /// .. of a key without bytes. In lists it is 0.
    pub fn add_nameless(&self, key: u64, n: u64, now: u64) -> bool {
        self.top.add_at(Nameless(key), n, Tick(now)) == Added::Counted
    }

    /// The list over the window, from the candidates alone.
    pub fn list(&self, now: u64) -> Told {
        let (list, _) = self.top.list(self.top.panes.current(Tick(now)), Tick(now), false);
        (list.rows.iter().map(|row| (row.key.number().unwrap_or(0), row.count)).collect(), list.certified)
    }

    /// Lowers the thresholds of the window to this.
    pub fn lower(&self, to: u64, now: u64) {
        self.top.next.store(to, Relaxed);
        self.top.lower(self.top.panes.current(Tick(now)));
    }

    /// A step of that. Whether it was the last.
    pub fn step(&self) -> bool {
        self.top.step(100) == Step::Done
    }

    /// Moves time on.
    pub fn move_on(&self, now: u64) {
        self.top.core.maintain(now, 0);
    }

    /// Lets the epoch move on.
    pub fn collect(&self) {
        epoch::collect();
    }
}

/// The board, of numbers.
pub struct Numbers(Board<u64>);

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers(Board::new(0))
    }
}

impl Numbers {
    /// Begins one.
    pub fn begin(&self) -> u64 {
        self.0.begin()
    }

    /// Shows it, unless a later one is shown.
    pub fn show(&self, number: u64) {
        self.0.show(number, Arc::new(number));
    }

    /// What is shown.
    pub fn get(&self) -> u64 {
        *self.0.get()
    }
}

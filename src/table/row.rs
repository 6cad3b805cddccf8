//! Rows that may be wider than a bucket, and whose cells may have flags.

use super::{
    call::{Call, Found, Step},
    entry::{Entry, Flag, High},
    group::{Decision, Ground, least},
};
use crate::sync::{AtomicPair, Wide, twin};
use std::array;

/// One reading of a row. A place in it is the number of a cell, counted over its buckets.
pub(super) struct Row<'a, const CELLS: usize> {
    cells: &'a [[AtomicPair; CELLS]],
    /// What was loaded first, in order.
    seen: &'a [[High; CELLS]],
    /// The key's own bucket.
    home: usize,
    /// There is no wider one.
    pub(super) widest: bool,
}

/// A cell for a new key.
enum Claim {
    Cell(usize),
    Again,
    NoRoom,
}

impl<'a, const CELLS: usize> Row<'a, CELLS> {
    #[inline(always)]
    pub(super) fn read(
        wide: impl Wide,
        cells: &'a [[AtomicPair; CELLS]],
        home: usize,
        widest: bool,
        room: &'a mut [[High; CELLS]],
    ) -> Self {
        for (cells, seen) in cells.iter().zip(&mut *room) {
            *seen = array::from_fn(|i| High(wide.high(&cells[i])));
        }
        Row { cells, seen: &room[..cells.len()], home, widest }
    }

    /// Steps 1 (what remains of it) to 3, once.
    #[inline]
    pub(super) fn attempt<R>(
        &self,
        call: &Call<'_, impl Wide>,
        decide: &impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Step<R> {
        match self.find(call) {
            Found::At(cell, entry) if entry.state() > call.horizon() || !twin!(ForgetCell) => {
                return call.revise(cell, entry, decide);
            }
            Found::Moved => return Step::Again,
            _ => {}
        }
        let gone = call.horizon();
        let (next, answer) = match decide(None, gone) {
            Decision::Publish(next, answer) => (next, answer),
            Decision::Keep(answer) => return Step::Done(answer),
        };
        let i = match self.claim(call, gone) {
            Claim::Cell(i) => i,
            Claim::Again => return Step::Again,
            Claim::NoRoom => return Step::NoRoom,
        };
        if self.at(i).has(Flag::Sealed) && !twin!(IgnoreSeal) {
            return Step::Again;
        }
        if !call.publish(self.cell(i), self.entry(call.wide, i), next, None, gone) {
            return Step::Again;
        }
        if self.at(i).state() > gone {
            call.ground.evicted.add(1);
        }
        Step::Done(answer)
    }

    /// The cell that a new key may take: the least of the row, once it is gone or may be evicted.
    fn claim(&self, call: &Call<'_, impl Wide>, gone: u64) -> Claim {
        if twin!(AnyGoneCell)
            && let Some(i) = self.seen.as_flattened().iter().position(|high| high.state() <= gone)
        {
            return Claim::Cell(i);
        }
        let (home, least) = (self.least_in(self.home), self.least());
        if self.at(home).state() <= gone {
            if least != home && !twin!(HomeFirst) {
                let high = self.at(least);
                if high.has(Flag::Sealed) || !self.change(call.wide, least, high.raised(gone)) {
                    return Claim::Again;
                }
            }
            return Claim::Cell(home);
        }
        let state = self.at(least).state();
        // Nothing is evicted before the whole group is in use.
        if state <= gone || (self.widest && evictable(state, gone, call.ground)) {
            Claim::Cell(least)
        } else {
            Claim::NoRoom
        }
    }

    /// In the key's bucket, else in the other of its pair, else in the group: what is further out may be a remnant.
    fn find(&self, call: &Call<'_, impl Wide>) -> Found<'a> {
        // (With i its bits rise: 0 is the bucket, 1 the other of the pair.)
        for i in 0..self.cells.len() {
            let bucket = self.home ^ if twin!(OuterFirst) { self.cells.len() - 1 - i } else { i };
            match call.find(&self.cells[bucket]) {
                Found::Nowhere => {}
                found => return found,
            }
        }
        Found::Nowhere
    }

    /// The place of the least state, the first of equals.
    pub(super) fn least(&self) -> usize {
        (0..self.seen.len()).map(|bucket| self.least_in(bucket)).reduce(|a, b| self.first(a, b)).unwrap_or(0)
    }

    #[inline(always)]
    fn least_in(&self, bucket: usize) -> usize {
        let (i, _) = least(self.seen[bucket].map(High::state));
        bucket * CELLS + i
    }

    /// Of two places in order, that of the lesser state.
    fn first(&self, a: usize, b: usize) -> usize {
        if self.at(b).state() < self.at(a).state() { b } else { a }
    }

    pub(super) fn is_sealed(&self) -> bool {
        self.seen[self.home].iter().any(|high| high.has(Flag::Sealed))
    }

    /// The cell with the flag.
    #[inline(always)]
    pub(super) fn position(&self, flag: Flag) -> Option<usize> {
        let all = self.seen.as_flattened();
        let any = High(all.iter().fold(0, |any, high| any | high.0)).has(flag);
        any.then(|| all.iter().position(|high| high.has(flag)))?
    }

    /// Gives a cell that is as it was seen another state or other flags.
    pub(super) fn change(&self, wide: impl Wide, i: usize, high: High) -> bool {
        let old = self.entry(wide, i);
        wide.cas(self.cell(i), old, Entry::new(old.key(), high))
    }

    /// The state that was seen, and the key of then or a later one: with a later one a CAS fails.
    fn entry(&self, wide: impl Wide, i: usize) -> Entry {
        Entry::new(wide.low(self.cell(i)), self.at(i))
    }

    #[inline(always)]
    fn cell(&self, i: usize) -> &'a AtomicPair {
        &self.cells.as_flattened()[i]
    }

    #[inline(always)]
    pub(super) fn at(&self, i: usize) -> High {
        self.seen.as_flattened()[i]
    }
}

/// At a full group: whether the least state may be given up early.
#[cold]
fn evictable(state: u64, gone: u64, ground: &Ground) -> bool {
    let within = ground.evict_within.map_or(0, |within| if twin!(EvictYoung) { u64::MAX } else { within });
    state < gone.saturating_add(within)
}

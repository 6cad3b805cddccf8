//! Rows that may be wider than a bucket, and whose cells may have flags.

use super::{
    call::{Call, Found, Step},
    entry::{Entry, Flag, High},
    group::{Decision, Ground},
};
use crate::sync::{AtomicPair, Wide, twin};
use std::ops::Range;

/// One reading of a row. A place in it is the number of a cell, counted over its buckets.
pub(super) struct Row<'a, const CELLS: usize> {
    cells: &'a [AtomicPair],
    /// What was loaded first, in order.
    seen: &'a [High],
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
    pub(super) fn read(
        wide: impl Wide,
        cells: &'a [[AtomicPair; CELLS]],
        home: usize,
        widest: bool,
        room: &'a mut [[High; CELLS]],
    ) -> Self {
        let cells = cells.as_flattened();
        let seen = &mut room.as_flattened_mut()[..cells.len()];
        for (cell, seen) in cells.iter().zip(&mut *seen) {
            *seen = High(wide.high(cell));
        }
        Row { cells, seen, home, widest }
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
        if !call.publish(&self.cells[i], self.entry(call.wide, i), next, None, gone) {
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
            && let Some(i) = self.seen.iter().position(|high| high.state() <= gone)
        {
            return Claim::Cell(i);
        }
        let (home, least) = (self.least_of(self.own()), self.least());
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

    /// In the key's bucket, else in its pair, else in the group: what is further out may be a remnant.
    fn find(&self, call: &Call<'_, impl Wide>) -> Found<'a> {
        let pair = self.home & !1;
        let pair = pair * CELLS..self.cells.len().min((pair + 2) * CELLS);
        let mut rows = [self.own(), pair, 0..self.cells.len()];
        if twin!(OuterFirst) {
            rows.reverse();
        }
        for row in rows {
            match call.find(&self.cells[row]) {
                Found::Nowhere => {}
                found => return found,
            }
        }
        Found::Nowhere
    }

    /// The place of the least state, the first of equals.
    pub(super) fn least(&self) -> usize {
        self.least_of(0..self.seen.len())
    }

    fn least_of(&self, places: Range<usize>) -> usize {
        let start = places.start;
        let states = self.seen[places].iter().enumerate().map(|(i, high)| (high.state(), i));
        states.min().map_or(start, |(_, i)| start + i)
    }

    pub(super) fn is_sealed(&self) -> bool {
        self.seen[self.own()].iter().any(|high| high.has(Flag::Sealed))
    }

    /// The cell with the flag.
    pub(super) fn position(&self, flag: Flag) -> Option<usize> {
        self.seen.iter().position(|high| high.has(flag))
    }

    /// Gives a cell that is as it was seen another state or other flags.
    pub(super) fn change(&self, wide: impl Wide, i: usize, high: High) -> bool {
        let old = self.entry(wide, i);
        wide.cas(&self.cells[i], old, Entry::new(old.key(), high))
    }

    /// The state that was seen, and the key of then or a later one: with a later one a CAS fails.
    fn entry(&self, wide: impl Wide, i: usize) -> Entry {
        Entry::new(wide.low(&self.cells[i]), self.at(i))
    }

    fn own(&self) -> Range<usize> {
        self.home * CELLS..(self.home + 1) * CELLS
    }

    pub(super) fn at(&self, i: usize) -> High {
        self.seen[i]
    }
}

/// At a full group: whether the least state may be given up early.
#[cold]
fn evictable(state: u64, gone: u64, ground: &Ground) -> bool {
    let within = ground.evict_within.map_or(0, |within| if twin!(EvictYoung) { u64::MAX } else { within });
    state < gone.saturating_add(within)
}

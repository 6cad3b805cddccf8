//! Rows that may be wider than a bucket, and whose cells may have flags.

use super::{
    call::{Call, Found, Published, Step},
    entry::{Entry, Flag, High},
    group::{Decision, Ground, least},
    id::Id,
};
use crate::sync::{AtomicPair, Wide, twin};
use std::array;

/// One reading of a row. A place in it is the number of a cell, counted over its buckets.
pub(super) struct Row<'a, const BUCKETS: usize, const CELLS: usize> {
    cells: &'a [[AtomicPair; CELLS]; BUCKETS],
    /// What was loaded first, in order.
    seen: [[High; CELLS]; BUCKETS],
    /// The place of each bucket's least state.
    least: [usize; BUCKETS],
    /// All flags.
    any: High,
    /// The key's own bucket.
    home: usize,
    /// What it gets when it overflows, unless there is no wider one.
    flag: Option<Flag>,
    /// A flag on the way here is about to go.
    closing: bool,
}

/// A cell for a new key.
enum Claim {
    Cell(usize),
    Again,
    NoRoom,
}

impl<'a, const BUCKETS: usize, const CELLS: usize> Row<'a, BUCKETS, CELLS> {
    #[inline(always)]
    pub(super) fn read(
        wide: impl Wide,
        cells: &'a [[AtomicPair; CELLS]; BUCKETS],
        home: usize,
        flag: Option<Flag>,
        closing: bool,
    ) -> Self {
        let (mut seen, mut least_, mut any) = ([[High(0); CELLS]; BUCKETS], [0; BUCKETS], 0);
        for bucket in 0..BUCKETS {
            let highs: [u64; CELLS] = array::from_fn(|i| wide.high(&cells[bucket][i]));
            // (Here, where they are in registers.)
            any = highs.iter().fold(any, |any, high| any | high);
            let (i, _) = least(highs.map(|high| High(high).state()));
            least_[bucket] = bucket * CELLS + i;
            seen[bucket] = highs.map(High);
        }
        Row { cells, seen, least: least_, any: High(any), home, flag, closing }
    }

    /// What is to be done here, or why the row must be left.
    #[inline(always)]
    pub(super) fn visit<R>(
        &self,
        call: &Call<'_, impl Wide, impl Id>,
        decide: impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Step<R> {
        if self.any.has(Flag::Sealed) && !twin!(IgnoreSeal) {
            return Step::Sealed;
        }
        if let Some(flag) = self.flag
            && self.any.has(flag)
        {
            return Step::Wider(self.any.has(Flag::Closing) && self.is_closing(flag));
        }
        self.attempt(call, decide)
    }

    /// Whether its keys look at the next wider row.
    pub(super) fn is_overflown(&self) -> bool {
        self.flag.is_some_and(|flag| self.any.has(flag))
    }

    /// Whether this flag is about to go. (There may be marks beside others.)
    #[cold]
    fn is_closing(&self, flag: Flag) -> bool {
        self.seen.as_flattened().iter().any(|high| high.has(flag) && high.has(Flag::Closing))
    }

    /// Steps 1 (what remains of it) to 3, once.
    #[inline(always)]
    fn attempt<R>(
        &self,
        call: &Call<'_, impl Wide, impl Id>,
        decide: impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Step<R> {
        match self.find(call) {
            (bucket, Found::At(..)) if self.barred(bucket) => return Step::Closing,
            (_, Found::At(cell, entry)) if !call.forgets(entry) => {
                return call.revise(cell, entry, decide);
            }
            (_, Found::Doubtful(cell, entry)) => return call.bury(cell, entry),
            (_, Found::Moved) => return Step::Again,
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
        if self.barred(i / CELLS) {
            return Step::Closing;
        }
        let old = self.entry(call.wide, i);
        match call.publish(self.cell(i), old, next, None, false, gone) {
            Published::Done => {}
            Published::Lost => return Step::Again,
            Published::NoBytes => return Step::NoBytes,
        }
        // What was driven out before has been counted then.
        if old.state() > gone && call.id.evicts(old) {
            call.ground.evicted.add(1);
        }
        Step::Done(answer)
    }

    /// The cell that a new key may take: the least of the row, once it is gone or may be evicted.
    #[inline(always)]
    fn claim(&self, call: &Call<'_, impl Wide, impl Id>, gone: u64) -> Claim {
        if twin!(AnyGoneCell)
            && let Some(i) = self.seen.as_flattened().iter().position(|high| high.state() <= gone)
        {
            return Claim::Cell(i);
        }
        let (home, least) = (self.least[self.home], self.least());
        // An empty cell is taken: raised, it would be one of key 0, and hide the cell of that key further out.
        let empty = self.at(least).state() == 0 && !twin!(RaiseEmpty);
        if self.at(home).state() <= gone && !empty {
            let raised = least == home || twin!(HomeFirst) || self.raise(call, least, gone);
            return if raised { Claim::Cell(home) } else { Claim::Again };
        }
        let state = self.at(least).state();
        // Nothing is evicted before the whole group is in use.
        if state <= gone || (self.flag.is_none() && evictable(state, gone, call.ground)) {
            Claim::Cell(least)
        } else {
            Claim::NoRoom
        }
    }

    /// Raises the state of a cell that is gone to the horizon.
    #[inline(always)]
    fn raise<I: Id>(&self, call: &Call<'_, impl Wide, I>, i: usize, gone: u64) -> bool {
        let old = self.entry(call.wide, i);
        call.wide.cas(self.cell(i), old, Entry::new(I::raised(old.key()), old.high().raised(gone)))
    }

    /// In the key's bucket, else in the other of its pair, else in the group: what is further out may be a remnant. And in
    /// which.
    #[inline(always)]
    pub(super) fn find(&self, call: &Call<'_, impl Wide, impl Id>) -> (usize, Found<'a>) {
        // (With i its bits rise: 0 is the bucket, 1 the other of the pair.)
        let mut found = (self.home, Found::Nowhere);
        for i in 0..BUCKETS {
            let bucket = self.home ^ if twin!(OuterFirst) { BUCKETS - 1 - i } else { i };
            found = (bucket, call.find(&self.cells[bucket], found.1));
            if matches!(found.1, Found::At(..) | Found::Moved) {
                break;
            }
        }
        found
    }

    /// Whether a cell in there may not change: whoever takes the flag away has not waited for this call.
    fn barred(&self, bucket: usize) -> bool {
        self.closing && bucket != self.home && !twin!(UseWhileClosing)
    }

    /// Flags the row. Whether it was as it was seen.
    pub(super) fn overflow(&self, wide: impl Wide, flag: Flag) -> bool {
        let least = if twin!(FlagAnyCell) { 0 } else { self.least() };
        let old = self.entry(wide, least);
        wide.cas(self.cell(least), old, Entry::new(old.key(), old.high().with(flag).without(Flag::Closing)))
    }

    /// The place of the least state, the first of equals.
    #[inline(always)]
    fn least(&self) -> usize {
        self.least.into_iter().fold(0, |a, b| self.first(a, b))
    }

    /// Of two places in order, that of the lesser state.
    #[inline(always)]
    fn first(&self, a: usize, b: usize) -> usize {
        if self.at(b).state() < self.at(a).state() { b } else { a }
    }

    /// The state that was seen, and the key of then or a later one: with a later one a CAS fails.
    #[inline(always)]
    fn entry(&self, wide: impl Wide, i: usize) -> Entry {
        Entry::new(wide.low(self.cell(i)), self.at(i))
    }

    #[inline(always)]
    fn cell(&self, i: usize) -> &'a AtomicPair {
        &self.cells.as_flattened()[i]
    }

    #[inline(always)]
    fn at(&self, i: usize) -> High {
        self.seen.as_flattened()[i]
    }
}

/// At a full group: whether the least state may be given up early.
#[cold]
fn evictable(state: u64, gone: u64, ground: &Ground) -> bool {
    let within = ground.evict_within();
    state < gone.saturating_add(if twin!(EvictYoung) && within > 0 { u64::MAX } else { within })
}

//! One call on one key: what all rows have in common.

#[cfg(windlass_loom)]
use super::group::Basis;
use super::{
    arena::NotPut,
    entry::{Entry, Flag},
    group::{Decision, Ground},
    id::{self, Id, Is},
};
use crate::sync::{AtomicPair, Wide, twin};

#[derive(Clone, Copy)]
pub(super) struct Call<'a, W, I> {
    pub(super) wide: W,
    pub(super) id: I,
    pub(super) ground: &'a Ground,
    /// For a twin.
    #[cfg(windlass_loom)]
    early: Option<u64>,
    #[cfg(windlass_loom)]
    basis: Basis,
}

/// How an attempt ended.
pub(super) enum Step<R> {
    Done(R),
    Again,
    NoRoom,
    /// The row has overflowed; whether its flag is about to go.
    Wider(bool),
    /// The key's cell is not in its bucket, and a flag on the way there is about to go.
    Closing,
    Sealed,
    /// There is no memory for the key's bytes.
    NoBytes,
}

/// Where a key was found.
pub(super) enum Found<'a> {
    /// Here, live or gone.
    At(&'a AtomicPair, Entry),
    Nowhere,
    /// Not among those that can be told; this one has to be buried.
    Doubtful(&'a AtomicPair, Entry),
    /// The cell changed between two looks at it.
    Moved,
}

impl<'a, W: Wide, I: Id> Call<'a, W, I> {
    #[inline(always)]
    pub(super) fn new(wide: W, id: I, ground: &'a Ground) -> Self {
        Call {
            wide,
            id,
            ground,
            #[cfg(windlass_loom)]
            early: twin!(HorizonFirst).then(|| ground.horizon()),
            #[cfg(windlass_loom)]
            basis: Basis::Nothing,
        }
    }

    #[cfg(windlass_loom)]
    pub(super) fn on(self, basis: Basis) -> Self {
        Call { basis, ..self }
    }

    /// After the cells: whoever sees one reused has acquired it from the thread that reused it, and so sees a horizon at least
    /// as high as that thread did.
    #[inline(always)]
    pub(super) fn horizon(&self) -> u64 {
        #[cfg(windlass_loom)]
        if let Some(horizon) = self.early {
            return horizon;
        }
        self.ground.horizon()
    }

    /// Looks for the key's cell. After the states were loaded. `found`: what was found further in.
    #[inline(always)]
    pub(super) fn find<'c>(&self, cells: &'c [AtomicPair], mut found: Found<'c>) -> Found<'c> {
        let mut left = self.candidates(cells);
        while let Some(cell) = cells.get((left.trailing_zeros() / 2) as usize) {
            left &= left - 1;
            let entry = self.wide.load(cell);
            if !self.id.may_be(entry.key()) {
                return Found::Moved;
            }
            match self.id.is(entry, |state| state <= self.horizon()) {
                // The doubtful one may be the key's later cell, and this what it left behind.
                Is::Yes
                    if matches!(found, Found::Doubtful(..))
                        && entry.state() <= self.horizon()
                        && !twin!(TakeTheRemnant) => {}
                Is::Yes => return Found::At(cell, entry),
                Is::No => {}
                Is::Doubtful if twin!(LeaveTheDead) => {}
                Is::Doubtful => found = Found::Doubtful(cell, entry),
            }
        }
        found
    }

    /// Every other bit for a cell that may be the key's. All are looked at, without a branch: which one it is nobody can predict if keys are many, and a branch
    /// that is mispredicted holds up the next call's miss.
    #[inline(always)]
    fn candidates(&self, cells: &[AtomicPair]) -> u32 {
        self.wide.with_low(cells, I::MASK, self.id.mark())
    }

    /// From here on nobody changes this cell who takes it for a key's: whoever saw it alive fails.
    #[cold]
    #[inline(never)]
    pub(super) fn bury<R>(&self, cell: &AtomicPair, entry: Entry) -> Step<R> {
        // (What is sealed stays as it is.)
        if !entry.high().has(Flag::Sealed) {
            self.wide.cas(cell, entry, id::buried(entry));
        }
        Step::Again
    }

    /// Never, but in a twin.
    #[inline(always)]
    pub(super) fn forgets(&self, entry: Entry) -> bool {
        twin!(ForgetCell) && entry.state() <= self.horizon()
    }

    /// Steps 2 and 3 for a key that has a cell.
    #[inline(always)]
    pub(super) fn revise<R>(
        &self,
        cell: &AtomicPair,
        entry: Entry,
        decide: impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Step<R> {
        self.revise_by(self.horizon(), cell, entry, decide)
    }

    /// The whole of it for a key that lives in one of these cells of its bucket. `None`: nothing is done.
    ///
    /// A key that lives has no other cell, and who would give it one has to find this one gone. So other states do not matter, nor
    /// flags, but for a seal, which is on this cell as well: they are not even looked at. (One horizon for both: what is gone by a later
    /// one may live outside.)
    #[inline(always)]
    pub(super) fn revise_at_home<R>(
        &self,
        cells: &[AtomicPair],
        decide: impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Option<R> {
        // The exchange, which is not begun ahead, would wait for the comparison of all. Who came first is often hot, and then the processor foretells this branch.
        let cell = match cells.first() {
            Some(first) if self.id.may_be(self.wide.low(first)) => first,
            _ => cells.get((self.candidates(cells).trailing_zeros() / 2) as usize)?,
        };
        let entry = self.wide.load(cell);
        let gone = self.horizon();
        let is_its = self.id.may_be(entry.key()) && self.id.is(entry, |state| state <= gone) == Is::Yes;
        if entry.state() <= gone || entry.high().has(Flag::Sealed) || !is_its && !twin!(TakenAtHome) {
            return None;
        }
        if let Step::Done(answer) = self.revise_by(gone, cell, entry, decide) { Some(answer) } else { None }
    }

    #[inline(always)]
    fn revise_by<R>(
        &self,
        gone: u64,
        cell: &AtomicPair,
        entry: Entry,
        decide: impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Step<R> {
        let state = Some(entry.state()).filter(|&state| state > gone);
        let (next, answer) = match decide(state, gone) {
            Decision::Publish(next, answer) => (next, answer),
            Decision::Keep(answer) => {
                // "Gone" counts only if the cell is as it was: the horizon may have passed the state seen, not a later one.
                let passed = state.is_none() && !twin!(GoneAtFirstSight);
                return if passed && self.wide.load(cell) != entry {
                    Step::Again
                } else {
                    Step::Done(answer)
                };
            }
        };
        if entry.high().has(Flag::Sealed) && !twin!(IgnoreSeal) {
            return Step::Again;
        }
        match self.publish(cell, entry, next, state, true, gone) {
            Published::Done => Step::Done(answer),
            Published::Lost => Step::Again,
            Published::NoBytes => Step::NoBytes,
        }
    }

    /// The one CAS. A cell keeps the flags that it has. `own`: the cell is the key's; `state`: what was decided on.
    #[inline(always)]
    #[cfg_attr(not(windlass_loom), allow(unused_variables))]
    pub(super) fn publish(
        &self,
        cell: &AtomicPair,
        old: Entry,
        next: u64,
        state: Option<u64>,
        own: bool,
        gone: u64,
    ) -> Published {
        let low = match self.id.low(next, own.then_some(old)) {
            Ok(low) => low,
            // Its slice is over: passed by the horizon, or driven out by who knew a higher one than this was decided on.
            Err(NotPut::Gone) if gone < self.horizon() => return Published::Lost,
            Err(_) => return Published::NoBytes,
        };
        #[cfg(windlass_loom)]
        let name = self.id.name();
        let done = self.wide.cas(cell, old, Entry::new(low, old.high().raised(next)));
        // Linearized. In models: no atomic operation stands between the CAS and this check.
        #[cfg(windlass_loom)]
        if done {
            self.ground.truth.published(
                name,
                state,
                self.basis,
                old.state(),
                next,
                gone,
                self.ground.evict_within,
            );
        }
        if done {
            self.id.is_put(next, own.then_some(old));
            return Published::Done;
        }
        Published::Lost
    }
}

/// How a publication ended.
pub(super) enum Published {
    Done,
    /// The cell is not as it was seen.
    Lost,
    /// There is no memory for the key's bytes.
    NoBytes,
}

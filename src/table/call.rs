//! One call on one key: what all rows have in common.

#[cfg(windlass_loom)]
use super::group::Basis;
use super::{
    entry::{Entry, Flag},
    group::{Decision, Ground},
};
use crate::sync::{AtomicPair, Wide, twin};

#[derive(Clone, Copy)]
pub(super) struct Call<'a, W> {
    pub(super) wide: W,
    pub(super) key: u64,
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
}

/// Where a key was found.
pub(super) enum Found<'a> {
    /// Here, live or gone.
    At(&'a AtomicPair, Entry),
    Nowhere,
    /// The cell changed between two looks at it.
    Moved,
}

impl<'a, W: Wide> Call<'a, W> {
    #[inline(always)]
    pub(super) fn new(wide: W, key: u64, ground: &'a Ground) -> Self {
        Call {
            wide,
            key,
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

    /// Looks for the key's cell. After the states were loaded.
    #[inline(always)]
    pub(super) fn find<'c>(&self, cells: &'c [AtomicPair]) -> Found<'c> {
        for cell in cells {
            if self.wide.low(cell) == self.key {
                let entry = self.wide.load(cell);
                if entry.key() != self.key {
                    return Found::Moved;
                }
                // An empty cell has the fingerprint 0 as well.
                if entry.state() != 0 {
                    return Found::At(cell, entry);
                }
            }
        }
        Found::Nowhere
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
        let gone = self.horizon();
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
        let open = !entry.high().has(Flag::Sealed) || twin!(IgnoreSeal);
        if open && self.publish(cell, entry, next, state, gone) { Step::Done(answer) } else { Step::Again }
    }

    /// The one CAS. A cell keeps the flags that it has. `state` is what was decided on.
    #[inline(always)]
    #[cfg_attr(not(windlass_loom), allow(unused_variables))]
    pub(super) fn publish(
        &self,
        cell: &AtomicPair,
        old: Entry,
        next: u64,
        state: Option<u64>,
        gone: u64,
    ) -> bool {
        let done = self.wide.cas(cell, old, Entry::new(self.key, old.high().raised(next)));
        // Linearized. In models: no atomic operation stands between the CAS and this check.
        #[cfg(windlass_loom)]
        if done {
            self.ground.truth.published(
                self.key,
                state,
                self.basis,
                old.state(),
                next,
                gone,
                self.ground.evict_within,
            );
        }
        done
    }
}

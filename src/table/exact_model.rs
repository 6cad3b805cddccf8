//! What `loom-tests` sees of keys that are told apart by their bytes: the shipped tables and arena.

use super::{Decision, model::Tables};
use crate::{
    hash::KeyHash,
    sync::{Portable, epoch},
};
use std::ops::Deref;

/// A key: what its hash says of it, and its bytes.
pub type Name = (u64, &'static [u8]);

/// [`Tables`] whose keys are told apart by their bytes, in slices of so many states. Several may share a tag: what is left
/// of a hash without its bits 3 to 34.
pub struct Exact<const BUCKETS: usize, const CELLS: usize>(Tables<BUCKETS, CELLS>);

impl<const BUCKETS: usize, const CELLS: usize> Deref for Exact<BUCKETS, CELLS> {
    type Target = Tables<BUCKETS, CELLS>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<const BUCKETS: usize, const CELLS: usize> Exact<BUCKETS, CELLS> {
    /// With these entries, put in in order. Slices of `slice` states, a power of two, of which four are alive.
    pub fn new(slice: u64, entries: &[(Name, u64)]) -> Self {
        let exact = Self::planned(slice, 0);
        for &(key, state) in entries {
            assert_eq!(exact.update(key, |_, _| Some(state)), Some((None, true)));
        }
        exact
    }

    /// Empty. `lead`: see `Plan::bytes`.
    pub(crate) fn planned(slice: u64, lead: u64) -> Self {
        Exact(Tables::planned(slice, Some(lead)))
    }

    /// At a full group evicts states less than `within` above the horizon, and drives out slices.
    pub fn evicting(self, within: u64) -> Self {
        Exact(self.0.evicting(within))
    }

    /// See `Table::update`. `None`: no room.
    pub fn update(
        &self,
        key: Name,
        decide: impl Fn(Option<u64>, u64) -> Option<u64> + Copy,
    ) -> Option<(Option<u64>, bool)> {
        let answer = self.change(key, |state, gone| match decide(state, gone) {
            Some(next) => Decision::Publish(next, (state, true)),
            None => Decision::Keep((state, false)),
        });
        answer.map(|(answer, _)| answer)
    }

    /// `Pinned::update_exact`: the answer, and by what the key is known from then on.
    pub(crate) fn change<R>(
        &self,
        (hash, bytes): Name,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Option<(R, u64)> {
        let (guard, hash) = (epoch::pin(), KeyHash { hi: 0, lo: hash });
        self.0.0.pinned(Portable, &guard).update_exact(hash, (7, bytes), None, decide).ok()
    }

    /// `Pinned::update_known`.
    pub(crate) fn change_known<R>(
        &self,
        low: u64,
        state: u64,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Option<R> {
        let (guard, hash) = (epoch::pin(), KeyHash { hi: 0, lo: low });
        self.0.0.pinned(Portable, &guard).update_known(hash, state, decide).ok()
    }

    /// Every state up to here is gone.
    pub(crate) fn horizon(&self) -> u64 {
        self.0.0.horizon()
    }

    /// The key's live state.
    pub fn get(&self, key: Name) -> Option<u64> {
        self.update(key, |_, _| None)?.0
    }

    /// Inserts an absent key. Whether it did.
    pub fn insert(&self, key: Name, now: u64) -> bool {
        self.update(key, |state, gone| state.is_none().then_some(now.max(gone + 1))).is_some_and(|r| r.1)
    }

    /// Raises the state of a live key to `now`, and leaves an absent one alone. Whether it was there.
    pub fn refresh(&self, key: Name, now: u64) -> bool {
        self.update(key, |state, _| state.map(|state| now.max(state + 1))).is_some_and(|r| r.1)
    }

    /// An exact counter in the state: one more.
    pub fn increment(&self, key: Name) {
        assert_eq!(self.update(key, |state, gone| Some(state.unwrap_or(gone) + 1)).map(|r| r.1), Some(true));
    }

    /// Makes the first group's rows narrow again: only while no other call is under way.
    pub fn narrow(&self) {
        let guard = epoch::pin();
        let table = self.0.0.pinned(Portable, &guard).newest();
        table.groups[0].close(Portable, table.hint(0), self.0.0.horizon());
        table.groups[0].open(Portable, table.hint(0), self.0.0.horizon());
    }

    /// Lets go of the slices that the horizon has passed.
    pub fn retire(&self) {
        self.0.0.retire(&epoch::pin());
    }

    /// Lets go of the oldest slice, as where there is no memory.
    pub fn drive_out(&self) {
        self.0.0.drive_out(&epoch::pin());
    }

    /// Keys that were driven out or evicted.
    pub fn evicted(&self) -> u64 {
        self.0.0.evicted()
    }
}

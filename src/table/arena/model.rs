//! What `loom-tests` sees of the arena: the shipped code with two shards, and chunks of 4 and 8 words.

pub use super::NotPut;
use super::Reference;
use crate::sync::{Budget, epoch};
use std::sync::Arc;

/// An arena with a budget of its own. Each call is pinned by itself.
pub struct Arena {
    arena: super::Arena,
    budget: Arc<Budget>,
}

impl Arena {
    /// Slices of one state each, in `slots` slots.
    pub fn new(slots: usize, bytes: u64) -> Arena {
        let budget = Budget::new(bytes);
        Arena { arena: super::Arena::new(0, slots, &budget), budget }
    }

    /// The reference.
    pub fn put(&self, slice: u64, bytes: &[u8]) -> Result<u32, NotPut> {
        self.arena.put(slice, 7, bytes, &epoch::pin()).map(|at| at.0)
    }

    /// Whether these are the record's bytes; `None`: it has gone.
    pub fn holds(&self, slice: u64, at: u32, bytes: &[u8]) -> Option<bool> {
        self.arena.holds(slice, Reference(at), 7, bytes, &epoch::pin())
    }

    /// Copies a record into another slice.
    pub fn carry(&self, from: u64, at: u32, to: u64) -> Result<u32, NotPut> {
        self.arena.carry(from, Reference(at), to, &epoch::pin()).map(|at| at.0)
    }

    /// Lets go of the slices up to `horizon`.
    pub fn retire(&self, horizon: u64) -> usize {
        self.arena.retire(horizon, &epoch::pin())
    }

    /// The slice's segment was there, and its memory went while this call was pinned. `meanwhile` is called in between.
    pub fn vanishes(&self, slice: u64, meanwhile: impl FnOnce()) -> bool {
        let guard = epoch::pin();
        let found = self
            .arena
            .slot(slice)
            .get(&guard)
            .is_some_and(|segment| segment.slice == slice && !segment.is_gone());
        meanwhile();
        found && self.used() == 0
    }

    /// Records in the oldest segment.
    pub fn entries(&self) -> Option<u64> {
        self.arena.oldest(&epoch::pin()).map(|(_, entries)| entries)
    }

    /// Bytes that the budget has given out.
    pub fn used(&self) -> u64 {
        self.budget.used()
    }

    /// Helps to free what was let go.
    pub fn collect(&self) {
        epoch::collect();
    }
}

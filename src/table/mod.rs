//! L2, engine one: entries (fingerprint, state) in buckets of cells. One cache miss and at most one CAS an operation, but for
//! buckets that overflow; nothing is ever deleted: an entry whose state lies behind the horizon is gone, and its cell is taken over.
//!
//! `entry` is the word, `group` the protocol, `geometry` where a key lives, and [`KeyTable`] the whole: table pointer,
//! horizon, counts.

#[cfg_attr(not(test), allow(dead_code))] // until structures with exact keys use it
mod arena;
mod call;
mod closing;
mod entry;
mod geometry;
mod group;
#[cfg(windlass_loom)]
pub(crate) mod model;
mod row;
#[cfg(all(test, not(windlass_loom)))]
mod speed;
mod sweep;
#[cfg(windlass_loom)]
pub(crate) mod truth;

use crate::{
    error::ConfigError,
    hash::KeyHash,
    sync::{AnyWide, AtomicPtr, Ordering::Relaxed, Wide, epoch, retry, with_wide},
};
pub(crate) use geometry::Geometry;
use geometry::{Group, Table};
use group::Ground;
pub(crate) use group::{Decision, Stop};

/// A table of (key, state) with a horizon, shared by all threads.
pub(crate) struct KeyTable {
    root: epoch::Root<Table>,
    geometry: Geometry,
    wide: AnyWide,
    ground: Ground,
    /// Where the present table lies, for prefetches alone: they may be wrong, so they need no pin and can come first.
    hint: AtomicPtr<Group>,
}

/// The answer to a call on a full bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl KeyTable {
    /// See [`Ground::evict_within`].
    pub(crate) fn new(geometry: Geometry, evict_within: Option<u64>) -> Result<KeyTable, ConfigError> {
        let table = Table::new(geometry)?;
        Ok(KeyTable {
            hint: AtomicPtr::new(table.address()),
            root: epoch::Root::new(table),
            geometry,
            wide: AnyWide::detect(),
            ground: Ground::new(evict_within),
        })
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    pub(crate) fn wide(&self) -> AnyWide {
        self.wide
    }

    /// Every state up to here is gone.
    #[inline]
    pub(crate) fn horizon(&self) -> u64 {
        self.ground.horizon()
    }

    /// Raises the horizon.
    pub(crate) fn advance(&self, horizon: u64) {
        self.ground.advance(horizon);
    }

    /// Asks for the bucket of a key that will be updated soon.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: KeyHash) {
        let group = self.hint.load(Relaxed).wrapping_add(self.geometry.group(hash));
        Group::prefetch(group, hash.lo);
    }

    /// The present table, for some calls: keep it for a batch at most.
    #[inline]
    pub(crate) fn pin<W: Wide>(&self, wide: W) -> Pinned<'_, W> {
        Pinned { keys: self, wide, guard: epoch::pin() }
    }

    /// Publishes a fresh table and reclaims the present one when the last call that can see it has ended. Calls under way
    /// move over at the seal of their bucket.
    pub(crate) fn reset(&self) -> Result<(), ConfigError> {
        let fresh = Table::new(self.geometry)?;
        self.hint.store(fresh.address(), Relaxed);
        // The new table first, then the seals: whoever meets a seal has acquired it, and finds the new table.
        self.root.replace(fresh, |old| with_wide!(self.wide, wide => old.seal(wide)));
        Ok(())
    }

    /// Upkeep: goes on with the sweep by `budget` groups, and helps to give back the memory of replaced tables.
    pub(crate) fn maintain(&self, budget: usize) {
        with_wide!(self.wide, wide => self.pin(wide).table().sweep(wide, self.horizon(), budget));
        epoch::collect();
    }

    /// The share of the upkeep that falls to a call which moves the horizon, some 1024 to 2048 times a window: one sweep
    /// or two over the table in that time.
    pub(crate) fn maintain_a_share(&self) {
        with_wide!(self.wide, wide => self.pin(wide).table().sweep_a_share(wide, self.horizon()));
    }

    /// How many keys `live(state)` holds for, over every group or over about `sample` of them and scaled up.
    pub(crate) fn count(&self, sample: Option<usize>, live: impl Fn(u64) -> bool) -> u64 {
        with_wide!(self.wide, wide => {
            let of = |group: &Group| group.states(wide).filter(|&state| live(state)).count() as u64;
            self.pin(wide).table().sum(sample, of)
        })
    }

    /// How often a bucket has overflowed.
    pub(crate) fn overflows(&self) -> u64 {
        self.ground.overflows.sum()
    }

    /// How many buckets look further than at their own cells.
    pub(crate) fn overflown_buckets(&self) -> u64 {
        with_wide!(self.wide, wide => self.pin(wide).table().overflown())
    }

    pub(crate) fn evicted(&self) -> u64 {
        self.ground.evicted.sum()
    }
}

/// A table that stays while this is held.
pub(crate) struct Pinned<'a, W> {
    keys: &'a KeyTable,
    wide: W,
    guard: epoch::Guard,
}

impl<W: Wide> Pinned<'_, W> {
    #[inline(always)]
    fn table(&self) -> &Table {
        self.keys.root.get(&self.guard)
    }

    /// Asks for all that a later update of the key is likely to look at.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: KeyHash) {
        let (group, table) = (self.keys.geometry.group(hash), self.table());
        Group::prefetch(&raw const table.groups[group], hash.lo);
        table.groups[group].prefetch_pair(hash.lo, &table.overflown[group]);
    }

    /// See [`Group::update`].
    #[inline(always)]
    pub(crate) fn update<R>(
        &self,
        hash: KeyHash,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<R, Full> {
        loop {
            let (group, table) = (self.keys.geometry.group(hash), self.table());
            let overflown = move || &table.overflown[group];
            match table.groups[group].update(self.wide, hash.lo, overflown, &self.keys.ground, decide) {
                Ok(answer) => return Ok(answer),
                Err(Stop::Full) => return Err(Full),
                Err(Stop::Sealed) => retry(), // the table has been replaced: the same pin protects the new one
            }
        }
    }
}

//! L2, engine one: entries (fingerprint, state) in buckets of cells. One cache miss and at most one CAS an operation, but for
//! buckets that overflow; nothing is ever deleted: an entry whose state lies behind the horizon is gone, and its cell is taken over.
//!
//! `entry` is the word, `id` what it says of a key, `arena` where bytes of keys are, `group` the protocol, `geometry` where a
//! key lives, `chain` how a larger or smaller table takes the place of another, `size` when, and [`KeyTable`] the whole: root,
//! horizon, counts.

mod arena;
mod batch;
mod call;
mod chain;
mod closing;
mod entry;
#[cfg(windlass_loom)]
mod exact_model;
mod geometry;
mod group;
mod id;
#[cfg(windlass_loom)]
pub(crate) mod model;
mod row;
mod size;
mod snapshot;
#[cfg(all(test, not(windlass_loom)))]
mod speed;
mod sweep;
mod tables;
#[cfg(all(test, not(windlass_loom)))]
mod tests;
#[cfg(windlass_loom)]
pub(crate) mod truth;

use crate::{
    error::ConfigError,
    hash::KeyHash,
    mem::Part,
    sync::{
        AnyWide, AtomicPtr, AtomicU8, AtomicU64, Flagpole,
        Ordering::Relaxed,
        Wide,
        epoch::{self, Stacked},
        with_wide,
    },
};
pub(crate) use arena::{Ahead, Arena, NotPut, Reference};
pub(crate) use geometry::Geometry;
use geometry::Spot;
pub(crate) use group::Decision;
use group::{Around, Basis, Ground, Group, Stop};
use id::{Bytes, Exact, Hashed, Id, Known};
use size::Sizes;
use std::{cell::Cell, sync::Mutex};
use tables::Table;

/// Bytes that a key may have.
pub(crate) const MAX_LEN: usize = Arena::MAX_LEN;

/// A table of (key, state) with a horizon, shared by all threads.
pub(crate) struct KeyTable<const BUCKETS: usize = 8, const CELLS: usize = 8> {
    /// The newest table. Others may lie below it.
    root: epoch::Root<Table<BUCKETS, CELLS>>,
    geometry: Geometry,
    wide: AnyWide,
    ground: Ground,
    sizes: Sizes<BUCKETS, CELLS>,
    /// If keys are told apart by their bytes.
    bytes: Option<Bytes>,
    /// Tells when the memory of what was driven out last has come back: until then no more is.
    driven_out: Mutex<Option<Flagpole>>,
    /// As a rule no state is further than this above the horizon when it is published.
    span: u64,
    /// The only table, if there will never be another one.
    only: Option<Part<Group<BUCKETS, CELLS>>>,
    /// Where the newest table lies, and its factor, for prefetches alone: they may be wrong, so they need no pin and can come
    /// first.
    hint: (AtomicPtr<Group<BUCKETS, CELLS>>, AtomicU64),
}

/// There is no room for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// What a table is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) geometry: Geometry,
    /// As a rule no state is further than this above the horizon when it is published.
    pub(crate) span: u64,
    /// See [`Ground`].
    pub(crate) evict_within: Option<u64>,
    /// How many bytes there may be, so that tables grow and shrink. `None`: the first one stays.
    pub(crate) limit: Option<u64>,
    /// Keys are told apart by their bytes. The number, a power of two less one, is the distance below a multiple of that power at
    /// which a state still belongs to the slice of that multiple.
    pub(crate) bytes: Option<u64>,
}

/// In how many slices the bytes of keys come and go while a state passes through the span.
const SLICES: u64 = if cfg!(windlass_loom) { 1 } else { 16 };

/// Slots for slices: twice as many as can be alive, as what lies far ahead must not take the place of what lives.
const SLOTS: usize = if cfg!(windlass_loom) { 4 } else { 64 };

/// Bits of a key from here on choose no bucket, and none of them alone a group.
const SPARE_BITS: u32 = 35;

impl<const BUCKETS: usize, const CELLS: usize> KeyTable<BUCKETS, CELLS> {
    pub(crate) fn new(plan: Plan) -> Result<Self, ConfigError> {
        let sizes = Sizes::new(plan.limit);
        let table = Self::first(plan.geometry, &sizes)?;
        Ok(Self::with(plan, sizes, table))
    }

    fn with(plan: Plan, sizes: Sizes<BUCKETS, CELLS>, table: Table<BUCKETS, CELLS>) -> Self {
        let Plan { geometry, span, evict_within, limit, bytes } = plan;
        let bytes = bytes.map(|lead| {
            let shift = (span / SLICES).max(lead + 1).ilog2();
            Bytes::new(Arena::new(shift, SLOTS, &sizes.budget), lead)
        });
        let keys = KeyTable {
            hint: (AtomicPtr::new(table.address()), AtomicU64::new(table.factor as u64)),
            root: epoch::Root::new(table),
            geometry,
            wide: AnyWide::detect(),
            ground: Ground::new(evict_within),
            sizes,
            bytes,
            driven_out: Mutex::default(),
            span,
            only: None,
        };
        if limit.is_none() {
            keys.ground.begin_to_evict();
        }
        keys
    }

    fn first(
        geometry: Geometry,
        sizes: &Sizes<BUCKETS, CELLS>,
    ) -> Result<Table<BUCKETS, CELLS>, ConfigError> {
        Table::new(geometry.parts(), 1, &sizes.budget).ok_or_else(|| {
            let bytes = geometry::bytes::<BUCKETS, CELLS>(geometry.parts() as u64);
            ConfigError::new("capacity", format_args!("{bytes} bytes"), "what the system can allocate")
        })
    }

    /// Of a table that is never reset: if it has no limit to grow to, calls go there without a pin, for a key that is where it
    /// should be. ([`Call::revise_at_home`] needs none: it neither brings a key to life nor changes a cell outside of its bucket.)
    pub(crate) fn for_good(self) -> Self {
        let groups = self.root.get(&epoch::pin()).groups.share();
        KeyTable { only: Some(groups).filter(|_| !self.sizes.vary), ..self }
    }

    pub(crate) fn wide(&self) -> AnyWide {
        self.wide
    }

    /// Whether keys are told apart by their bytes.
    #[inline(always)]
    pub(crate) fn is_exact(&self) -> bool {
        self.bytes.is_some()
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
    #[allow(clippy::cast_possible_truncation)] // it was a usize
    pub(crate) fn prefetch(&self, hash: KeyHash) {
        let (groups, factor) = (self.hint.0.load(Relaxed), self.hint.1.load(Relaxed));
        let group = groups.wrapping_add(self.geometry.spot(hash).group(factor as usize));
        Group::prefetch(group, hash.lo);
    }

    /// [`Pinned::update`] without a pin. `None`: nothing is done.
    #[inline(always)]
    pub(crate) fn update_at_home<R>(
        &self,
        wide: impl Wide,
        hash: KeyHash,
        decide: impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Option<R> {
        let group = self.only.as_ref()?.get(self.geometry.spot(hash).group(1))?;
        group.update_at_home(wide, Hashed(hash.lo), &self.ground, decide)
    }

    /// For some calls: hold the guard for a batch at most.
    #[inline(always)]
    pub(crate) fn pinned<'g, W: Wide>(
        &'g self,
        wide: W,
        guard: &'g epoch::Guard,
    ) -> Pinned<'g, W, BUCKETS, CELLS> {
        let newest = self.root.get(guard);
        Pinned { keys: self, wide, guard, newest, alone: newest.below().get(guard).is_none() }
    }

    /// Publishes a fresh table of the first size and reclaims those there are when the last call that can see them has ended. Calls
    /// under way move over at the seal of their bucket.
    pub(crate) fn reset(&self) -> Result<(), ConfigError> {
        let fresh = Self::first(self.geometry, &self.sizes)?;
        // The new table first, then the seals: whoever meets a seal has acquired it, and finds the new table.
        self.root.replace(fresh, |old| with_wide!(self.wide, wide => old.seal(wide)));
        with_wide!(self.wide, wide => self.pinned(wide, &epoch::pin()).refresh_hint());
        Ok(())
    }

    /// Upkeep of `budget` groups: goes on with the sweep, empties an old table, prepares a larger one, and helps to give back the
    /// memory of those that have been replaced. Whether there is more that can be done now.
    pub(crate) fn maintain(&self, budget: usize) -> bool {
        with_wide!(self.wide, wide => {
            let prepares = {
                let guard = epoch::pin();
                let pinned = self.pinned(wide, &guard);
                pinned.newest.sweep(wide, self.horizon(), budget);
                pinned.look_after(budget)
            };
            // Pinned for a while only: until then no memory comes back.
            let (mut left, mut more) = (budget, true);
            while more && left > 0 {
                more = self.pinned(wide, &epoch::pin()).empty(left.min(STRETCH));
                left -= left.min(STRETCH);
            }
            self.retire(&epoch::pin());
            epoch::collect();
            prepares || more
        })
    }

    /// The share of the upkeep that falls to a call which moves the horizon, some 1024 to 2048 times a window: one sweep
    /// or two over the table in that time.
    pub(crate) fn maintain_a_share(&self) {
        with_wide!(self.wide, wide => {
            let guard = epoch::pin();
            let pinned = self.pinned(wide, &guard);
            if pinned.newest.sweep_a_share(wide, self.horizon()) {
                pinned.adjust(pinned.newest);
            }
            pinned.empty_the_dead();
            self.retire(&guard);
        });
    }

    /// Lets go of the bytes of what is gone; and of the oldest when memory runs out, if that is the policy.
    fn retire(&self, guard: &epoch::Guard) {
        if let Some(bytes) = &self.bytes {
            bytes.retire(self.horizon(), guard);
            let (left, used) = (self.sizes.budget.left(), self.sizes.budget.used());
            // (To add up the arena's own takes a while.)
            if self.ground.evict_within.is_some() && left < used / 8 && left < bytes.arena.bytes(guard) / 8 {
                self.drive_out(guard);
            }
        }
    }

    /// With a policy of eviction, and no memory for bytes of keys: lets the oldest go, unless they are young, or memory is on its way. Who
    /// has them in hand keeps them.
    fn drive_out(&self, guard: &epoch::Guard) {
        // Who finds it locked need not: another is at it.
        let (Some(bytes), Some(within)) = (&self.bytes, self.ground.evict_within) else { return };
        let Ok(mut driven_out) = self.driven_out.try_lock() else { return };
        if driven_out.as_ref().is_some_and(|freed| !freed.is_raised()) {
            epoch::collect();
            return;
        }
        let horizon = self.horizon();
        if let Some((last, keys)) = bytes.arena.oldest(guard)
            // As for cells: no call that sees this horizon publishes a state there.
            && last < horizon.saturating_add(within).saturating_add(bytes.lead())
            && bytes.arena.retire(last, guard) > 0
        {
            *driven_out = Some(epoch::when_all_ended());
            // Those that the horizon has passed went in time. (Which they are their cells would tell; here, as if they came evenly.)
            let (length, ahead) =
                (bytes.arena.length(), last.saturating_sub(horizon.saturating_add(bytes.lead())));
            let early = (u128::from(keys) * u128::from(ahead.min(length))).div_ceil(u128::from(length));
            self.ground.evicted.add(u64::try_from(early).unwrap_or(keys));
        }
    }

    /// How many keys `live(state)` holds for, over every group or over about `sample` of them and scaled up.
    pub(crate) fn count(&self, sample: Option<usize>, live: impl Fn(u64) -> bool) -> u64 {
        with_wide!(self.wide, wide => self.pinned(wide, &epoch::pin()).count(sample, live))
    }

    /// How often a bucket has overflowed.
    pub(crate) fn overflows(&self) -> u64 {
        self.ground.overflows.sum()
    }

    pub(crate) fn evicted(&self) -> u64 {
        self.ground.evicted.sum()
    }

    /// Plain figures of the tables.
    pub(crate) fn figures(&self) -> Figures {
        let guard = epoch::pin();
        let newest = self.root.get(&guard);
        Figures {
            capacity: newest.capacity(),
            buckets: (newest.groups.len() * BUCKETS) as u64,
            overflown_buckets: newest.overflown(),
            tables: 1 + newest.older(&guard).count() as u64,
            grown: self.sizes.grown.sum(),
            shrunk: self.sizes.shrunk.sum(),
            forwarded: self.sizes.forwarded.sum(),
        }
    }

    /// Bytes of all tables.
    pub(crate) fn bytes(&self) -> u64 {
        self.sizes.budget.used()
    }
}

/// See [`KeyTable::figures`].
pub(crate) struct Figures {
    /// Keys that the newest table is meant for.
    pub(crate) capacity: u64,
    pub(crate) buckets: u64,
    /// .. that look further than at their own cells.
    pub(crate) overflown_buckets: u64,
    pub(crate) tables: u64,
    pub(crate) grown: u64,
    pub(crate) shrunk: u64,
    /// Keys that were put from an old table into a newer one by upkeep.
    pub(crate) forwarded: u64,
}

/// For how many groups upkeep stays pinned: some tenths of a millisecond.
const STRETCH: usize = 64;

/// The tables as a call or a batch finds them: none that it may see goes.
pub(crate) struct Pinned<'g, W, const BUCKETS: usize = 8, const CELLS: usize = 8> {
    keys: &'g KeyTable<BUCKETS, CELLS>,
    wide: W,
    guard: &'g epoch::Guard,
    /// The newest table when this was made. If it is not any more, rows that matter are sealed, or will be.
    newest: &'g Table<BUCKETS, CELLS>,
    /// Nothing lay below it, hence never will.
    alone: bool,
}

impl<'g, W: Wide, const BUCKETS: usize, const CELLS: usize> Pinned<'g, W, BUCKETS, CELLS> {
    /// Every state up to here is gone.
    #[inline(always)]
    pub(crate) fn horizon(&self) -> u64 {
        self.keys.horizon()
    }

    /// The newest table now.
    fn newest(&self) -> &'g Table<BUCKETS, CELLS> {
        self.keys.root.get(self.guard)
    }

    /// Asks for all that a later update of the key is likely to look at.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: KeyHash) {
        let spot = self.keys.geometry.spot(hash);
        self.newest.prefetch(spot);
        if !self.alone
            && let Some(older) = self.newest.below().get(self.guard)
        {
            older.prefetch(spot);
        }
    }

    /// Asks for the bytes that a key will be compared with soon. After [`Pinned::prefetch`], when that has been.
    #[inline(always)]
    pub(crate) fn prefetch_bytes(&self, hash: KeyHash) {
        if let Some(keys) = &self.keys.bytes {
            let tag = id::tag(hash.lo);
            let spot = self.keys.geometry.spot(KeyHash { lo: tag, ..hash });
            let of_key = |low: u64| id::tag(low) == tag;
            if let Some(entry) = self.newest.group(spot).find_at_home(self.wide, tag, of_key) {
                keys.prefetch(entry, self.guard);
            }
        }
    }

    /// Changes a key that is told apart by its hash. See [`Group::update`].
    #[inline(always)]
    pub(crate) fn update<R>(
        &self,
        hash: KeyHash,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<R, Full> {
        self.update_id(hash.hi, Hashed(hash.lo), decide)
    }

    /// .. by its label and bytes, of which there are no more than [`MAX_LEN`]. `ahead`: for one of many calls. And the low word of
    /// the cell that was published, if one was.
    pub(crate) fn update_exact<R>(
        &self,
        hash: KeyHash,
        key: (u32, &[u8]),
        ahead: Option<&Ahead<'g>>,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<(R, u64), Full> {
        let Some(keys) = &self.keys.bytes else { return self.update(hash, decide).map(|r| (r, hash.lo)) };
        let put = Cell::new(None);
        let id = Exact::new(hash.lo, key, keys, self.guard, &put).with(ahead);
        self.update_id(hash.hi, id, decide).map(|answer| (answer, id.published()))
    }

    /// .. by what it had when its state was `state`: the low word of its cell, in `hash.lo`. Not if it has another one by now.
    pub(crate) fn update_known<R>(
        &self,
        hash: KeyHash,
        state: u64,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<R, Full> {
        let Some(keys) = &self.keys.bytes else { return self.update(hash, decide) };
        self.update_id(hash.hi, Known::new(hash.lo, state, keys, self.guard), decide)
    }

    /// After calls with `ahead`, under the same guard.
    pub(crate) fn give_back(&self, ahead: &Ahead<'g>) {
        if let Some(keys) = &self.keys.bytes {
            keys.arena.give_back(ahead);
        }
    }

    #[inline(always)]
    fn update_id<R>(
        &self,
        hi: u64,
        id: impl Id,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<R, Full> {
        self.update_spot(self.keys.geometry.spot(KeyHash { hi, lo: id.key() }), id, decide)
    }

    #[inline(always)]
    fn update_spot<R>(
        &self,
        spot: Spot,
        id: impl Id,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<R, Full> {
        if self.alone
            && let Ok(answer) = self.update_in(self.newest, spot, id, Basis::Nothing, decide)
        {
            return Ok(answer);
        }
        self.update_over_tables(spot, id, decide)
    }

    /// In one table. See [`Group::update`].
    #[inline(always)]
    #[cfg_attr(not(windlass_loom), allow(unused_variables))]
    fn update_in<R>(
        &self,
        table: &Table<BUCKETS, CELLS>,
        spot: Spot,
        id: impl Id,
        basis: Basis,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<R, Stop> {
        let group = spot.group(table.factor);
        let around = In {
            pinned: self,
            table,
            group,
            #[cfg(windlass_loom)]
            basis,
        };
        table.groups[group].update(self.wide, id, around, &self.keys.ground, decide)
    }

    /// After the newest table has changed. (Of two that come together one may be late; so what it stored is looked at again.)
    fn refresh_hint(&self) {
        loop {
            let newest = self.newest();
            self.keys.hint.0.store(newest.address(), Relaxed);
            self.keys.hint.1.store(newest.factor as u64, Relaxed);
            if std::ptr::eq(self.newest(), newest) {
                return;
            }
        }
    }
}

/// A group in its table.
struct In<'a, W, const BUCKETS: usize, const CELLS: usize> {
    pinned: &'a Pinned<'a, W, BUCKETS, CELLS>,
    table: &'a Table<BUCKETS, CELLS>,
    group: usize,
    #[cfg(windlass_loom)]
    basis: Basis,
}

impl<W, const BUCKETS: usize, const CELLS: usize> Clone for In<'_, W, BUCKETS, CELLS> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W, const BUCKETS: usize, const CELLS: usize> Copy for In<'_, W, BUCKETS, CELLS> {}

impl<W: Wide, const BUCKETS: usize, const CELLS: usize> Around for In<'_, W, BUCKETS, CELLS> {
    fn overflown(&self) -> &AtomicU8 {
        self.table.hint(self.group)
    }

    fn overflows(self, key: u64) {
        self.pinned.overflows(self.table, key);
    }

    #[cfg(windlass_loom)]
    fn basis(self) -> Basis {
        self.basis
    }
}

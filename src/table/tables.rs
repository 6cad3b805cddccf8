//! One table: an array of groups, and what it lies on.

use super::{
    geometry::{self, Spot},
    group::Group,
    sweep::Sweep,
};
use crate::{
    mem::{Part, Slab, Zeroable},
    sync::{
        AtomicU8, AtomicU64, Budget, Flagpole,
        Ordering::Relaxed,
        Wide,
        epoch::{self, Guard, Link, Stacked},
    },
};
use std::{
    ops::Range,
    sync::{Arc, Mutex, OnceLock},
};

pub(super) struct Table<const BUCKETS: usize, const CELLS: usize> {
    /// Groups for each part.
    pub(super) factor: usize,
    pub(super) groups: Part<Group<BUCKETS, CELLS>>,
    /// For each group, a bit for each bucket that may have overflowed.
    overflown: Slab<AtomicU8>,
    /// The table that was in use before, until what lives in it has come up.
    below: Link<Self>,
    sweep: Sweep,
    /// So many of the groups have been emptied into the newest table.
    pub(super) emptied: Mutex<usize>,
    /// Tells when every call has ended that found this table on top; set after another has come on top of it.
    ended: OnceLock<Flagpole>,
    /// Where the horizon must stand so that next to nothing in it lives. Known when another has come on top.
    dead_at: AtomicU64,
}

impl<const BUCKETS: usize, const CELLS: usize> Stacked for Table<BUCKETS, CELLS> {
    #[inline(always)]
    fn below(&self) -> &Link<Self> {
        &self.below
    }
}

impl<const BUCKETS: usize, const CELLS: usize> Table<BUCKETS, CELLS> {
    /// `None` if the memory is not to be had.
    pub(super) fn new(parts: usize, factor: usize, budget: &Arc<Budget>) -> Option<Self> {
        let groups = parts.checked_mul(factor)?;
        Some(Table {
            factor,
            groups: Part::all(Slab::new(groups, budget)?),
            overflown: Slab::new(groups, budget)?,
            below: Link::none(),
            sweep: Sweep::default(),
            emptied: Mutex::default(),
            ended: OnceLock::new(),
            dead_at: AtomicU64::new(0),
        })
    }

    pub(super) fn address(&self) -> *mut Group<BUCKETS, CELLS> {
        self.groups.as_ptr().cast_mut()
    }

    /// Keys for which it is meant.
    pub(super) fn capacity(&self) -> u64 {
        geometry::capacity::<BUCKETS, CELLS>(self.groups.len() as u64)
    }

    #[inline(always)]
    pub(super) fn group(&self, spot: Spot) -> &Group<BUCKETS, CELLS> {
        &self.groups[spot.group(self.factor)]
    }

    /// The hint of a group: a bit for each bucket that may have overflowed.
    #[inline(always)]
    pub(super) fn hint(&self, group: usize) -> &AtomicU8 {
        &self.overflown[group]
    }

    /// Asks for all that a later update of the key is likely to look at.
    #[inline(always)]
    pub(super) fn prefetch(&self, spot: Spot) {
        let group = spot.group(self.factor);
        Group::prefetch(&raw const self.groups[group], spot.key);
        self.groups[group].prefetch_pair(spot.key, &self.overflown[group]);
    }

    /// The tables below it, newest first.
    pub(super) fn older<'g>(&'g self, guard: &'g Guard) -> impl Iterator<Item = &'g Self> {
        std::iter::successors(self.below.get(guard), |table| table.below.get(guard))
    }

    /// Of a table that is not on top: begins to wait for the calls for which it was. (Only by who empties: others would wait.)
    pub(super) fn freeze(&self) -> bool {
        self.ended.get_or_init(epoch::when_all_ended);
        self.is_frozen()
    }

    /// Whether nothing in it changes any more, since all these calls have ended.
    ///
    /// Acquire, by the flag: what they did is seen after that.
    pub(super) fn is_frozen(&self) -> bool {
        self.ended.get().is_some_and(Flagpole::is_raised)
    }

    /// Of a table that is not on top: whether next to nothing in it lives. As a rule no state is further than `span` above the
    /// horizon when it is published.
    pub(super) fn is_dead(&self, horizon: u64, span: u64) -> bool {
        let now = horizon.saturating_add(span);
        // Relaxed: it does not matter whose is taken.
        self.dead_at.compare_exchange(0, now, Relaxed, Relaxed).is_err_and(|dead_at| horizon >= dead_at)
    }

    /// Goes on with the sweep by `budget` groups.
    pub(super) fn sweep(&self, wide: impl Wide, gone: u64, budget: usize) {
        self.sweep.go_on(wide, &self.groups, &self.overflown, gone, budget);
    }

    /// .. by a 1024th of all.
    pub(super) fn sweep_a_share(&self, wide: impl Wide, gone: u64) -> bool {
        self.sweep.go_on_by_a_share(wide, &self.groups, &self.overflown, gone)
    }

    /// Takes the memory of these groups from the system.
    pub(super) fn touch(&mut self, groups: Range<usize>) {
        self.groups.touch(groups.clone());
        self.overflown.touch(groups);
    }

    pub(super) fn seal(&self, wide: impl Wide) {
        for group in self.groups.iter() {
            group.seal(wide);
        }
    }

    /// Buckets that may have overflowed.
    pub(super) fn overflown(&self) -> u64 {
        self.overflown.iter().map(|bits| u64::from(bits.load(Relaxed).count_ones())).sum()
    }

    /// The sum of `of` over every group, or over about `sample` of them and scaled up.
    pub(super) fn sum(
        &self,
        sample: Option<usize>,
        of: impl Fn(usize, &Group<BUCKETS, CELLS>) -> u64,
    ) -> u64 {
        let groups = self.groups.len();
        let step = sample.map_or(1, |n| groups.div_ceil(n.max(1)).max(1));
        let sum: u64 = self.groups.iter().enumerate().step_by(step).map(|(i, group)| of(i, group)).sum();
        if step == 1 { sum } else { sum * groups as u64 / groups.div_ceil(step) as u64 }
    }
}

// SAFETY: 0 is a value, and it needs no drop (outside of models).
#[allow(unsafe_code)]
unsafe impl Zeroable for AtomicU8 {
    #[cfg(windlass_loom)]
    fn zero() -> Self {
        AtomicU8::new(0)
    }
}

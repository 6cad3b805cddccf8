//! How large the tables are: when a larger or smaller one is laid on top.
//!
//! A table is crowded when it holds a quarter more than it is meant for, which calls find out from time to time when a bucket
//! overflows, and upkeep by looking at a sample. Then one of twice the size comes on top, or the largest that the budget has room for
//! beside the tables there are. A table that holds less than a quarter of what it is meant for gives way to a smaller one.

use super::{Pinned, SPARE_BITS, geometry, tables::Table};
use crate::sync::{AtomicU64, Budget, Counter, Ordering::Relaxed, Switch, Wide, epoch::Stacked};
use std::{
    ptr,
    sync::{Arc, Mutex},
};

/// What is needed to change the size.
pub(super) struct Sizes<const BUCKETS: usize, const CELLS: usize> {
    /// Whether there may be other sizes than the first.
    pub(super) vary: bool,
    pub(super) budget: Arc<Budget>,
    /// A table in preparation. Whoever needs it takes it as it is.
    spare: Mutex<Option<Spare<BUCKETS, CELLS>>>,
    has_spare: Switch,
    /// The horizon when a full group was found in a table that is not crowded: the keys in it have been made to meet there. Relaxed:
    /// who does not see it looks once more.
    calm_at: AtomicU64,
    pub(super) grown: Counter,
    pub(super) shrunk: Counter,
    pub(super) forwarded: Counter,
}

struct Spare<const BUCKETS: usize, const CELLS: usize> {
    table: Table<BUCKETS, CELLS>,
    /// So many of its groups have their memory.
    touched: usize,
}

/// Groups that are looked at to find out how crowded a table is: some 800 keys at capacity, so 4 % off. And so many where it seems
/// to be: 1 %.
const SAMPLE: [usize; 2] = [32, 256];

/// While all buckets of a table overflow, so many looks at how crowded it is.
const CHECKS: usize = 256;

impl<const BUCKETS: usize, const CELLS: usize> Sizes<BUCKETS, CELLS> {
    /// `limit`: how many bytes there may be in all tables; `None`: no other tables.
    pub(super) fn new(limit: Option<u64>) -> Self {
        Sizes {
            vary: limit.is_some(),
            budget: Budget::new(limit.unwrap_or(u64::MAX)),
            spare: Mutex::default(),
            has_spare: Switch::default(),
            calm_at: AtomicU64::new(u64::MAX),
            grown: Counter::default(),
            shrunk: Counter::default(),
            forwarded: Counter::default(),
        }
    }
}

impl<W: Wide, const BUCKETS: usize, const CELLS: usize> Pinned<'_, W, BUCKETS, CELLS> {
    /// A bucket of `newest` has overflowed, where this key lives: from time to time a look at how crowded it is.
    pub(super) fn overflows(&self, newest: &Table<BUCKETS, CELLS>, key: u64) {
        let one_in = (newest.groups.len() * BUCKETS / CHECKS).next_power_of_two() as u64;
        if self.keys.sizes.vary && (key >> SPARE_BITS).is_multiple_of(one_in) {
            self.adjust(newest);
        }
    }

    /// At a full group: whether it is worth another attempt.
    pub(super) fn make_room(&self, newest: &Table<BUCKETS, CELLS>) -> bool {
        let sizes = &self.keys.sizes;
        if !ptr::eq(self.newest(), newest) {
            return true;
        }
        let gone = self.keys.ground.horizon();
        if self.can_grow(newest) && sizes.calm_at.load(Relaxed) != gone {
            let live = self.live(newest, SAMPLE[0]);
            if 4 * live < 3 * newest.capacity() {
                // Not to be found out again for each of them.
                sizes.calm_at.store(gone, Relaxed);
            } else if self.grow(newest, live) {
                return true;
            }
        }
        self.keys.ground.begin_to_evict()
    }

    /// Lays a larger or smaller table on top where it is time to.
    pub(super) fn adjust(&self, newest: &Table<BUCKETS, CELLS>) {
        if !self.keys.sizes.vary || !ptr::eq(self.newest(), newest) {
            return;
        }
        let mut live = self.live(newest, SAMPLE[0]);
        if is_crowded(newest, live) {
            live = self.live(newest, SAMPLE[1]);
        }
        self.adjust_to(newest, live);
    }

    fn adjust_to(&self, newest: &Table<BUCKETS, CELLS>, live: u64) {
        if is_crowded(newest, live) {
            self.grow(newest, live);
        } else if 4 * live < newest.capacity()
            && newest.factor > 1
            && newest.below().get(self.guard).is_none()
        {
            let factor = self.factor_for(2 * live);
            if factor < newest.factor && self.lay(newest, self.table(factor)) {
                self.keys.sizes.shrunk.add(1);
            }
        }
    }

    /// Upkeep, by one look at how crowded the table is: another size where it is time to, else what [`Pinned::prepare`] does.
    pub(super) fn look_after(&self, groups: usize) -> bool {
        if !self.keys.sizes.vary {
            return false;
        }
        let newest = self.newest();
        let live = self.live(newest, SAMPLE[1]);
        self.adjust_to(newest, live);
        ptr::eq(self.newest(), newest) && self.prepare(newest, live, groups)
    }

    /// When the table will soon be crowded a larger one is made ready, its memory touched, some groups at a time, and
    /// laid on top. Whether there is more to do.
    fn prepare(&self, newest: &Table<BUCKETS, CELLS>, live: u64, groups: usize) -> bool {
        let sizes = &self.keys.sizes;
        let Ok(mut spare) = sizes.spare.try_lock() else { return false };
        // (A caller grows it when it holds a quarter more than it is meant for.)
        if spare.is_none() && 8 * live > 9 * newest.capacity() {
            let factor = self.larger(newest, newest.factor.saturating_mul(2));
            // A call in need that comes while this one is busy must find room as well.
            let factor = factor.filter(|&factor| sizes.budget.left() / 2 >= self.bytes(factor));
            *spare = factor.and_then(|factor| self.table(factor)).map(|table| Spare { table, touched: 0 });
        }
        let wanted =
            |table: &Table<BUCKETS, CELLS>| table.factor > newest.factor && 4 * live > 3 * newest.capacity();
        let ready = match spare.as_mut() {
            Some(spare) if wanted(&spare.table) => spare.touch(groups),
            _ => {
                *spare = None;
                false
            }
        };
        let table = if ready { spare.take() } else { None };
        sizes.has_spare.set(spare.is_some());
        let more = spare.is_some();
        drop(spare);
        if self.lay(newest, table.map(|spare| spare.table)) {
            sizes.grown.add(1);
        }
        more
    }

    /// Keys that are not gone, by a sample.
    fn live(&self, table: &Table<BUCKETS, CELLS>, sample: usize) -> u64 {
        let gone = self.keys.ground.horizon();
        table.sum(Some(sample), |_, group| {
            group.states(self.wide).filter(|&state| state > gone).count() as u64
        })
    }

    fn grow(&self, newest: &Table<BUCKETS, CELLS>, live: u64) -> bool {
        let sizes = &self.keys.sizes;
        let spare = sizes.spare.try_lock().ok().and_then(|mut spare| spare.take());
        sizes.has_spare.set(false);
        let table =
            spare.map(|spare| spare.table).filter(|table| table.factor > newest.factor).or_else(|| {
                let factor = newest.factor.saturating_mul(2).max(self.factor_for(live.saturating_mul(8) / 5));
                self.table(self.larger(newest, factor)?)
            });
        let done = self.lay(newest, table);
        sizes.grown.add(u64::from(done));
        done || !ptr::eq(self.newest(), newest)
    }

    /// Lays one of twice the size on top, or the largest that there is room for, however many live.
    pub(super) fn enlarge(&self) -> bool {
        let newest = self.newest();
        let factor = self.larger(newest, newest.factor.saturating_mul(2)).filter(|_| self.keys.sizes.vary);
        factor.is_some_and(|factor| self.lay(newest, self.table(factor)))
    }

    /// The factor of one table for all that lives in those there are.
    pub(super) fn factor_for_all(&self) -> usize {
        let gone = self.horizon();
        self.newest().factor.max(self.factor_for(self.count(Some(SAMPLE[1]), |state| state > gone)))
    }

    /// Lays a table on top of `newest`, if that still is on top.
    pub(super) fn lay(&self, newest: &Table<BUCKETS, CELLS>, table: Option<Table<BUCKETS, CELLS>>) -> bool {
        let done = table.is_some_and(|table| self.keys.root.push(newest, table, self.guard).is_ok());
        if done {
            self.keys.ground.at_ceiling.set(false);
            self.refresh_hint();
        }
        done
    }

    pub(super) fn table(&self, factor: usize) -> Option<Table<BUCKETS, CELLS>> {
        Table::new(self.keys.geometry.parts(), factor, &self.keys.sizes.budget)
    }

    fn bytes(&self, factor: usize) -> u64 {
        geometry::bytes::<BUCKETS, CELLS>(self.keys.geometry.parts() as u64).saturating_mul(factor as u64)
    }

    /// The smallest factor of a table meant for so many keys.
    fn factor_for(&self, keys: u64) -> usize {
        let one = geometry::capacity::<BUCKETS, CELLS>(self.keys.geometry.parts() as u64).max(1);
        usize::try_from(keys.div_ceil(one)).unwrap_or(usize::MAX).max(1)
    }

    /// This factor, or the largest that there is room for; `None` if that is not a quarter more than there is.
    fn larger(&self, newest: &Table<BUCKETS, CELLS>, factor: usize) -> Option<usize> {
        let room = usize::try_from(self.keys.sizes.budget.left() / self.bytes(1)).unwrap_or(usize::MAX);
        let factor = factor.min(room);
        (factor >= newest.factor + newest.factor.div_ceil(4)).then_some(factor)
    }

    fn can_grow(&self, newest: &Table<BUCKETS, CELLS>) -> bool {
        let sizes = &self.keys.sizes;
        sizes.vary && (sizes.has_spare.get() || self.larger(newest, usize::MAX).is_some())
    }
}

fn is_crowded<const BUCKETS: usize, const CELLS: usize>(table: &Table<BUCKETS, CELLS>, live: u64) -> bool {
    4 * live > 5 * table.capacity()
}

impl<const BUCKETS: usize, const CELLS: usize> Spare<BUCKETS, CELLS> {
    /// Takes the memory of so many more groups from the system. Whether that was all.
    fn touch(&mut self, groups: usize) -> bool {
        let end = self.touched.saturating_add(groups).min(self.table.groups.len());
        self.table.touch(self.touched..end);
        self.touched = end;
        end == self.table.groups.len()
    }
}

//! What `loom-tests` sees of the table: the shipped protocol in small geometries.

use super::{
    Geometry, KeyTable, Plan,
    entry::{Entry, Flag, High},
    group::{Around, Decision, Ground, Group, OVERFLOWN},
    id::Hashed,
};
pub use super::{
    arena::model::{Arena, NotPut},
    exact_model::{Exact, Name},
    group::Stop,
};
use crate::{
    hash::KeyHash,
    mem::Zeroable,
    sync::{
        AtomicPair, AtomicU8,
        Ordering::{Relaxed, SeqCst},
        Portable, Wide, epoch,
    },
};

/// A key and its state.
pub type Cell = (u64, u64);

/// One group and its horizon. Key `k` lives in bucket `k % BUCKETS`.
pub struct Table<const BUCKETS: usize, const CELLS: usize> {
    group: Group<BUCKETS, CELLS>,
    overflown: AtomicU8,
    ground: Ground,
}

impl<const BUCKETS: usize, const CELLS: usize> Table<BUCKETS, CELLS> {
    /// A table that holds these cells. Rows whose keys stand outside of them have their flags.
    pub fn new(buckets: [[Cell; CELLS]; BUCKETS], horizon: u64) -> Self {
        let mut group = Group::zero();
        for (cell, &(key, state)) in group.cells_mut().zip(buckets.as_flattened()) {
            *cell = AtomicPair::new(Entry::new(key, High(state)));
        }
        let table = Table { group, overflown: AtomicU8::new(0), ground: Ground::default() };
        for (bucket, cells) in buckets.iter().enumerate() {
            for &(key, state) in cells.iter().filter(|cell| cell.1 > 0) {
                table.ground.truth.known(key, state);
                table.widen(key, bucket);
            }
        }
        table.ground.advance(horizon);
        table
    }

    /// Flags the rows of `key` as far as that it is found in `bucket`.
    fn widen(&self, key: u64, bucket: usize) {
        let home = Group::<BUCKETS, CELLS>::bucket_of(key);
        for (width, &flag) in OVERFLOWN.iter().enumerate().take(Group::<BUCKETS, CELLS>::WIDEST) {
            let row = Group::<BUCKETS, CELLS>::row(home, width);
            if row.contains(&bucket) {
                return;
            }
            let cells = self.group.buckets[row].as_flattened();
            let load = |cell: &AtomicPair| Portable.load(cell);
            let Some(least) = cells.iter().min_by_key(|cell| load(cell).state()) else { return };
            if !cells.iter().any(|cell| load(cell).high().has(flag)) {
                let old = load(least);
                assert!(Portable.cas(least, old, Entry::new(old.key(), old.high().with(flag))));
            }
            self.overflown.fetch_or(1 << home, SeqCst);
        }
    }

    /// At a full group, evicts states less than `within` above the horizon.
    pub fn evicting(mut self, within: u64) -> Self {
        self.ground.evict_within = Some(within);
        self.ground.begin_to_evict();
        self
    }

    /// Raises the horizon.
    pub fn advance(&self, horizon: u64) {
        self.ground.advance(horizon);
    }

    /// The state that was decided on, and whether it was changed. See `Group::update`.
    pub fn update(
        &self,
        key: u64,
        decide: impl Fn(Option<u64>, u64) -> Option<u64> + Copy,
    ) -> Result<(Option<u64>, bool), Stop> {
        self.change(key, |state, gone| match decide(state, gone) {
            Some(next) => Decision::Publish(next, (state, true)),
            None => Decision::Keep((state, false)),
        })
    }

    /// The key's live state.
    pub fn get(&self, key: u64) -> Option<u64> {
        self.update(key, |_, _| None).ok()?.0
    }

    /// An exact counter in the state: one more.
    pub fn increment(&self, key: u64) -> Result<(), Stop> {
        self.update(key, |state, gone| Some(state.unwrap_or(gone) + 1)).map(|_| ())
    }

    /// One more, if it lives at home: without a pin. Whether it does.
    pub fn increment_at_home(&self, key: u64) -> bool {
        let next = |state: Option<u64>, gone| Decision::Publish(state.unwrap_or(gone) + 1, ());
        self.change_at_home(key, next).is_some()
    }

    /// Inserts an absent key. Whether it did.
    pub fn insert(&self, key: u64, now: u64) -> Result<bool, Stop> {
        self.update(key, |state, gone| state.is_none().then_some(now.max(gone + 1))).map(|r| r.1)
    }

    /// Freezes every key.
    pub fn seal(&self) {
        self.group.seal(Portable);
    }

    /// First half of making rows narrow again.
    pub fn close(&self) {
        self.group.close(Portable, &self.overflown, self.ground.horizon());
    }

    /// The second: only after every call has ended that began before the first.
    pub fn open(&self) {
        self.group.open(Portable, &self.overflown, self.ground.horizon());
    }

    /// How many rows have overflowed: buckets, pairs.
    pub fn overflown(&self) -> [usize; 2] {
        [Flag::Pair, Flag::Group]
            .map(|flag| self.group.cells().filter(|cell| Portable.load(cell).high().has(flag)).count())
    }

    /// How many buckets the hint says have overflowed.
    pub fn hinted(&self) -> u32 {
        self.overflown.load(Relaxed).count_ones()
    }

    /// All (key, state) as they lie there.
    pub fn cells(&self) -> Vec<Cell> {
        self.group.cells().map(|c| Portable.load(c)).map(|e| (e.key(), e.state())).collect()
    }

    /// Every state up to here is gone.
    pub(crate) fn horizon(&self) -> u64 {
        self.ground.horizon()
    }

    /// `Group::update_at_home`.
    pub(crate) fn change_at_home<R>(
        &self,
        key: u64,
        decide: impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Option<R> {
        self.group.update_at_home(Portable, Hashed(key), &self.ground, decide)
    }

    /// `Group::update`.
    pub(crate) fn change<R>(
        &self,
        key: u64,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<R, Stop> {
        self.group.update(Portable, Hashed(key), Hint(&self.overflown), &self.ground, decide)
    }
}

#[derive(Clone, Copy)]
struct Hint<'a>(&'a AtomicU8);

impl Around for Hint<'_> {
    fn overflown(&self) -> &AtomicU8 {
        self.0
    }

    fn overflows(self, _: u64) {}
}

/// Tables of one part, of which the first has one group. Key `k` lives in bucket `k % BUCKETS`, in larger tables in the group that its
/// high bits choose.
pub struct Tables<const BUCKETS: usize, const CELLS: usize>(pub(super) KeyTable<BUCKETS, CELLS>);

impl<const BUCKETS: usize, const CELLS: usize> Tables<BUCKETS, CELLS> {
    /// Empty.
    #[allow(clippy::panic)] // in a model
    pub(super) fn planned(span: u64, bytes: Option<u64>) -> Self {
        let geometry = Geometry::of_parts(1);
        let plan = Plan { geometry, span, evict_within: None, limit: None, bytes };
        Tables(KeyTable::new(plan).unwrap_or_else(|e| panic!("{e}")))
    }

    /// With these entries, put in in order.
    pub fn new(entries: &[Cell]) -> Self {
        let tables = Tables::planned(100, None);
        for &(key, state) in entries {
            assert_eq!(tables.update(key, |_, _| Some(state)), Some((None, true)));
        }
        tables
    }

    /// At a full group, evicts states less than `within` above the horizon.
    pub fn evicting(mut self, within: u64) -> Self {
        self.0.ground.evict_within = Some(within);
        self.0.ground.begin_to_evict();
        self
    }

    /// Raises the horizon.
    pub fn advance(&self, horizon: u64) {
        self.0.advance(horizon);
    }

    /// See `Table::update`. `None`: full.
    pub fn update(
        &self,
        key: u64,
        decide: impl Fn(Option<u64>, u64) -> Option<u64> + Copy,
    ) -> Option<(Option<u64>, bool)> {
        let hash = KeyHash { hi: 0, lo: key };
        let answer =
            self.0.pinned(Portable, &epoch::pin()).update(hash, |state, gone| match decide(state, gone) {
                Some(next) => Decision::Publish(next, (state, true)),
                None => Decision::Keep((state, false)),
            });
        answer.ok()
    }

    /// The key's live state.
    pub fn get(&self, key: u64) -> Option<u64> {
        self.update(key, |_, _| None)?.0
    }

    /// An exact counter in the state: one more.
    pub fn increment(&self, key: u64) {
        assert_eq!(self.update(key, |state, gone| Some(state.unwrap_or(gone) + 1)).map(|r| r.1), Some(true));
    }

    /// Inserts an absent key. Whether it did.
    pub fn insert(&self, key: u64, now: u64) -> bool {
        self.update(key, |state, gone| state.is_none().then_some(now.max(gone + 1))).is_some_and(|r| r.1)
    }

    /// Lays a table of `factor` groups on top. Whether this thread did.
    pub fn resize(&self, factor: usize) -> bool {
        let guard = epoch::pin();
        let pinned = self.0.pinned(Portable, &guard);
        pinned.lay(pinned.newest(), pinned.table(factor))
    }

    /// Empties the oldest table and takes it out: only after every call has ended that began before the newest came on top.
    /// Whether there is another one.
    pub fn empty(&self) -> bool {
        self.0.pinned(Portable, &epoch::pin()).empty(usize::MAX)
    }

    /// How many tables there are.
    pub fn tables(&self) -> usize {
        usize::try_from(self.0.figures().tables).unwrap_or(0)
    }

    /// What a snapshot has: entries, and the horizon.
    pub fn snapshot(&self) -> (Vec<Cell>, u64) {
        self.0.read_entries()
    }

    /// How many keys are not gone.
    pub fn live(&self) -> u64 {
        let gone = self.0.horizon();
        self.0.count(None, |state| state > gone)
    }
}

/// A pointer whose target can be replaced under readers: `sync::epoch::Root`.
pub struct Root<T: Send + Sync + 'static>(epoch::Root<T>);

impl<T: Send + Sync + 'static> Root<T> {
    /// Pointing to `target`.
    pub fn new(target: T) -> Self {
        Root(epoch::Root::new(target))
    }

    /// Calls `f` with the target, which stays until it returns. `f` gives `None` to be called again with the target of then.
    pub fn read<R>(&self, mut f: impl FnMut(&T) -> Option<R>) -> R {
        let guard = epoch::pin();
        loop {
            if let Some(result) = f(self.0.get(&guard)) {
                return result;
            }
            crate::sync::retry();
        }
    }

    /// Replaces the target; the old one is shown to `last` and freed when nobody reads it.
    pub fn replace(&self, new: T, last: impl FnOnce(&T)) {
        self.0.replace(new, last);
    }

    /// Helps to free what was replaced.
    pub fn collect(&self) {
        epoch::collect();
    }
}

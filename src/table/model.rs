//! What `loom-tests` sees of the table: the shipped protocol in small geometries.

pub use super::group::Stop;
use super::{
    entry::{Entry, Flag},
    group::{Decision, Ground, Group},
};
use crate::{
    mem::Zeroable,
    sync::{AtomicPair, Portable, Wide, epoch},
};

/// A key and its state.
pub type Cell = (u64, u64);

/// One group and its horizon. Key `k` lives in bucket `k % BUCKETS`.
pub struct Table<const BUCKETS: usize, const CELLS: usize, const SPILL: usize> {
    group: Group<BUCKETS, CELLS, SPILL>,
    ground: Ground,
}

impl<const BUCKETS: usize, const CELLS: usize, const SPILL: usize> Table<BUCKETS, CELLS, SPILL> {
    /// A table that holds these cells. A spill line that holds something has all buckets' cells flagged.
    pub fn new(buckets: [[Cell; CELLS]; BUCKETS], spill: [Cell; SPILL], horizon: u64) -> Self {
        let flagged = spill.iter().any(|&(_, state)| state > 0);
        let mut group = Group::zero();
        let home = buckets.iter().flatten().map(|&(key, state)| match Entry::new(key, state) {
            entry if flagged => entry.with(Flag::Spilled),
            entry => entry,
        });
        let spilled = spill.iter().map(|&(key, state)| Entry::new(key, state));
        for (cell, entry) in group.cells_mut().zip(home.chain(spilled)) {
            *cell = AtomicPair::new(entry);
        }
        if flagged {
            group.mark_spilled();
        }
        let table = Table { group, ground: Ground::default() };
        for (key, state) in buckets.into_iter().flatten().chain(spill).filter(|c| c.1 > 0) {
            table.group.truth.known(key, state);
        }
        table.ground.advance(horizon);
        table
    }

    /// At a full bucket, evicts states less than `within` above the horizon.
    pub fn evicting(mut self, within: u64) -> Self {
        self.ground.evict_within = Some(within);
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
        decide: impl Fn(Option<u64>, u64) -> Option<u64>,
    ) -> Result<(Option<u64>, bool), Stop> {
        self.group.update(Portable, self.bucket(key), key, &self.ground, |state, gone| {
            match decide(state, gone) {
                Some(next) => Decision::Publish(next, (state, true)),
                None => Decision::Keep((state, false)),
            }
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

    /// Inserts an absent key. Whether it did.
    pub fn insert(&self, key: u64, now: u64) -> Result<bool, Stop> {
        self.update(key, |state, gone| state.is_none().then_some(now.max(gone + 1))).map(|r| r.1)
    }

    /// Freezes every key.
    pub fn seal(&self) {
        self.group.seal(Portable);
    }

    /// Asks the buckets to give up the spill line.
    pub fn close(&self) {
        self.group.close(Portable, self.ground.horizon());
    }

    /// Takes it from them: only after every call has ended that began before `close`.
    pub fn open(&self) {
        self.group.open(Portable, self.ground.horizon());
    }

    /// Whether any bucket has it.
    pub fn spilled(&self) -> bool {
        self.group.cells().take(BUCKETS * CELLS).any(|cell| Portable.load(cell).has(Flag::Spilled))
    }

    /// All (key, state) as they lie there.
    pub fn cells(&self) -> Vec<Cell> {
        self.group.cells().map(|c| Portable.load(c)).map(|e| (e.key(), e.state())).collect()
    }

    /// Every state up to here is gone.
    pub(crate) fn horizon(&self) -> u64 {
        self.ground.horizon()
    }

    /// `Group::update`.
    pub(crate) fn change<R>(
        &self,
        key: u64,
        decide: impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Result<R, Stop> {
        self.group.update(Portable, self.bucket(key), key, &self.ground, decide)
    }

    #[allow(clippy::cast_possible_truncation)]
    fn bucket(&self, key: u64) -> usize {
        key as usize % BUCKETS
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
        let pin = self.0.pin();
        loop {
            if let Some(result) = f(pin.get()) {
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

//! Many events in one call: all are hashed and their memory asked for ahead of the work.

use super::{Added, WindowedCounter};
use crate::{
    hash::{Key, KeyHash},
    sync::epoch,
    time::Tick,
};

/// How many events ahead of its turn the row of one is asked for.
const AHEAD: usize = 16;

/// For so many events no memory comes back.
const PINNED: usize = 64;

/// What became of the events of a batch: how many of each kind. See [`Added`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// [`Added::Counted`].
    pub counted: u64,
    /// [`Added::NoRoom`], [`Added::TooLong`].
    pub refused: u64,
    /// [`Added::Late`].
    pub late: u64,
    /// [`Added::Jump`].
    pub jumps: u64,
}

impl Tally {
    #[cold]
    pub(crate) fn miss(&mut self, added: Added) {
        match added {
            Added::Counted => self.counted += 1,
            Added::NoRoom | Added::TooLong => self.refused += 1,
            Added::Late => self.late += 1,
            Added::Jump => self.jumps += 1,
        }
    }
}

impl WindowedCounter {
    /// Counts each of `keys` once, now.
    ///
    /// A batch hashes and asks for memory ahead of its work: several times as fast as single calls out of cache.
    pub fn add_batch<K: Key>(&self, keys: &[K]) -> Tally {
        let (first, step) = (self.clock.arrivals(keys.len() as u64), self.clock.step());
        let tick = |i: usize| Tick(first.0.saturating_add(step.saturating_mul(i as u64)));
        self.add_each(keys.len(), |i| (&keys[i], 1, tick(i)))
    }

    /// Counts each of `keys` once, at `now`.
    pub fn add_batch_at<K: Key>(&self, keys: &[K], now: Tick) -> Tally {
        self.add_each(keys.len(), |i| (&keys[i], 1, now))
    }

    /// Counts events: how often, and when.
    pub fn add_events<K: Key>(&self, events: &[(K, u64, Tick)]) -> Tally {
        self.add_each(events.len(), |i| (&events[i].0, events[i].1, events[i].2))
    }

    /// Counts `n` events in order, wherever they lie: `event(i)` gives the key, how often, and the tick of the i-th. It is called once for
    /// each, up to 16 ahead of its turn.
    pub fn add_each<K: Key>(&self, n: usize, event: impl Fn(usize) -> (K, u64, Tick)) -> Tally {
        let mut tally = Tally::default();
        let mut ahead = [(KeyHash { hi: 0, lo: 0 }, 0, Tick(0)); AHEAD];
        let fetch = |i: usize| {
            let (key, n, tick) = event(i);
            let hash = key.key_hash(self.seed);
            self.core.prefetch(hash);
            (hash, n, tick)
        };
        for (i, slot) in ahead.iter_mut().enumerate().take(n) {
            *slot = fetch(i);
        }
        let mut i = 0;
        while i < n {
            let (guard, newest) = (epoch::pin(), self.core.opened_last());
            let (mut sums, end) = (self.core.sums(), n.min(i + PINNED));
            // What leaves when a generation is opened cannot come back before this is unpinned.
            while i < end && self.core.opened_last() == newest {
                let (hash, n_times, now) = ahead[i % AHEAD];
                if i + AHEAD < n {
                    ahead[i % AHEAD] = fetch(i + AHEAD);
                }
                match self.core.add_summed(hash, n_times, now.0, &mut sums, &guard) {
                    Ok(_) => tally.counted += 1,
                    Err(other) => tally.miss(other),
                }
                i += 1;
            }
        }
        tally
    }

    /// How often each of `keys` was seen in the pane of `now` and those before it that make up the window. `counts` is cleared and gets one
    /// number for each.
    pub fn count_batch_at<K: Key>(&self, keys: &[K], now: Tick, counts: &mut Vec<u64>) {
        counts.clear();
        counts.reserve(keys.len());
        let panes = self.panes.current(now);
        let mut ahead = [KeyHash { hi: 0, lo: 0 }; AHEAD];
        for start in (0..keys.len()).step_by(PINNED) {
            let guard = epoch::pin();
            let fetch = |i: usize| {
                let hash = keys[i].key_hash(self.seed);
                self.core.prefetch_all(hash, panes.clone(), &guard);
                hash
            };
            if start == 0 {
                for (i, slot) in ahead.iter_mut().enumerate().take(keys.len()) {
                    *slot = fetch(i);
                }
            }
            for i in start..keys.len().min(start + PINNED) {
                let hash = ahead[i % AHEAD];
                if i + AHEAD < keys.len() {
                    ahead[i % AHEAD] = fetch(i + AHEAD);
                }
                counts.push(self.core.count_fetched(hash, panes.clone(), &guard));
            }
        }
    }
}

//! Many events in one call: all are hashed and their memory asked for ahead of the work.

use super::TopK;
use crate::{
    count::{Added, Tally},
    hash::{Key, KeyHash},
    sync::epoch,
    time::Tick,
};

/// How many events ahead of its turn the row of one is asked for.
const AHEAD: usize = 16;

/// For so many events no memory comes back.
const PINNED: usize = 64;

impl TopK {
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
        let mut ahead: [Option<(KeyHash, K, u64, Tick)>; AHEAD] = [const { None }; AHEAD];
        let fetch = |i: usize| {
            let (key, n, tick) = event(i);
            let hash = key.key_hash(self.seed);
            self.core.prefetch(hash);
            Some((hash, key, n, tick))
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
                let next = if i + AHEAD < n { fetch(i + AHEAD) } else { None };
                let Some((hash, key, times, now)) = std::mem::replace(&mut ahead[i % AHEAD], next) else {
                    break;
                };
                match self.core.enter(now.0, &guard) {
                    Ok(place) => {
                        sums.add(&place, times);
                        match self.add_in(&place, &key, hash, times, &guard) {
                            Added::Counted => tally.counted += 1,
                            other => tally.miss(other),
                        }
                    }
                    Err(missed) => tally.miss(missed),
                }
                i += 1;
            }
        }
        tally
    }
}

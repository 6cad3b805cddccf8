//! Many calls in one: all are hashed and their memory asked for ahead of the work.

use super::{
    Entry, FifoIndex, Place, Places, PushRefused, Pushed, entry, place,
    queue::{Front, Keys, Named},
};
use crate::{
    hash::{Key, KeyHash},
    sync::{
        Wide,
        epoch::{self, Guard},
        with_wide,
    },
    time::Tick,
};

/// How many calls ahead of its turn the bucket of one is asked for.
const AHEAD: usize = 16;

/// .. and how many its entry, when the bucket has come.
const SOON: usize = AHEAD / 2;

/// For so many calls no memory comes back.
const PINNED: usize = 32;

impl<V: Clone + Send + Sync + 'static> FifoIndex<V> {
    /// Puts entries at the tail in order, all at `now`. `outcomes` is cleared and gets one for each.
    pub fn push_batch_at<K: Key>(
        &self,
        entries: impl IntoIterator<Item = (K, V)>,
        now: Tick,
        outcomes: &mut Vec<Result<Pushed, PushRefused>>,
    ) {
        outcomes.clear();
        let mut entries = entries.into_iter();
        let mut some = Vec::with_capacity(PINNED);
        with_wide!(self.table.wide(), wide => loop {
            // (Whatever gives them may take its time: it is not asked while memory is held back.)
            some.extend(entries.by_ref().take(PINNED).map(|(key, value)| {
                let hash = key.key_hash(self.seed);
                self.table.prefetch(hash);
                (hash, key, value)
            }));
            if some.is_empty() {
                return;
            }
            let guard = epoch::pin();
            let places = self.places(wide, &guard);
            outcomes.extend(some.drain(..).map(|(hash, key, value)| {
                let pushed = key.with_bytes(|kind, bytes| {
                    let named = Named { hash, bytes: (kind, bytes) };
                    self.queue.push(&places, wide, named, value, now.0, &guard)
                });
                self.counted(pushed)
            }));
        });
    }

    /// Puts entries at the tail in order, now. `outcomes` is cleared and gets one for each.
    pub fn push_batch<K: Key>(
        &self,
        entries: impl IntoIterator<Item = (K, V)>,
        outcomes: &mut Vec<Result<Pushed, PushRefused>>,
    ) {
        self.push_batch_at(entries, self.clock.now(), outcomes);
    }

    /// The rank of each of `keys`: see [`FifoIndex::rank`]. `ranks` is cleared and gets one for each.
    pub fn rank_batch<K: Key>(&self, keys: &[K], ranks: &mut Vec<Option<u64>>) {
        ranks.clear();
        ranks.reserve(keys.len());
        with_wide!(self.table.wide(), wide => self.each(wide, keys, |places, named, guard| {
            ranks.push(self.queue.rank(places, named, guard).map(|(_, rank)| rank));
        }));
    }

    /// Number, rank, value and time of each of `keys`: see [`FifoIndex::find`]. `places` is cleared and gets one for each.
    pub fn find_batch<K: Key>(&self, keys: &[K], places: &mut Vec<Option<Place<V>>>) {
        places.clear();
        places.reserve(keys.len());
        with_wide!(self.table.wide(), wide => self.each(wide, keys, |keys, named, guard| {
            places.push(self.queue.rank(keys, named, guard).map(place));
        }));
    }

    /// Takes up to `n` entries out, the oldest first. `entries` is cleared and gets them.
    pub fn pop_batch(&self, n: usize, entries: &mut Vec<Entry<V>>) {
        entries.clear();
        with_wide!(self.table.wide(), wide => {
            while entries.len() < n {
                let guard = epoch::pin();
                let places = self.places(wide, &guard);
                for _ in entries.len()..n.min(entries.len() + PINNED) {
                    match self.queue.front(&places, wide, Front::Take, |_| true, &guard) {
                        Some(found) => entries.push(entry(found)),
                        None => return,
                    }
                }
            }
        });
    }

    /// Calls `f` for each of `keys`, whose buckets and entries are on their way by then.
    #[inline(always)]
    fn each<W: Wide, K: Key>(
        &self,
        wide: W,
        keys: &[K],
        mut f: impl FnMut(&Places<'_, W>, Named<'_>, &Guard),
    ) {
        let mut ahead = [KeyHash { hi: 0, lo: 0 }; AHEAD];
        let fetch = |i: usize| {
            let hash = keys[i].key_hash(self.seed);
            self.table.prefetch(hash);
            hash
        };
        for (i, slot) in ahead.iter_mut().enumerate().take(keys.len()) {
            *slot = fetch(i);
        }
        for start in (0..keys.len()).step_by(PINNED) {
            let guard = epoch::pin();
            let places = self.places(wide, &guard);
            for i in start..keys.len().min(start + PINNED) {
                let hash = ahead[i % AHEAD];
                if i + AHEAD < keys.len() {
                    ahead[i % AHEAD] = fetch(i + AHEAD);
                }
                if i + SOON < keys.len()
                    && let Some(state) = places.state(ahead[(i + SOON) % AHEAD])
                {
                    self.queue.log.prefetch(state - 1, &guard);
                }
                keys[i].with_bytes(|kind, bytes| f(&places, Named { hash, bytes: (kind, bytes) }, &guard));
            }
        }
    }
}

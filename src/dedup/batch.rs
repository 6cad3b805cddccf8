//! Many observations in one call: all are hashed and their memory asked for ahead of the work.

use super::{Dedup, Outcome};
use crate::{
    hash::{Key, KeyHash},
    sync::{Wide, epoch, with_wide},
    table::{Ahead, Pinned},
    time::Tick,
};

/// How many events of a batch are on their way from memory: enough to keep a core's line buffers busy.
const AHEAD: usize = 16;

/// For how many events a batch holds its pin: long enough to be free, short enough not to hold back memory.
const PINNED: usize = 64;

/// .. and how many its key's bytes, where they are compared: the bucket, which says where they lie, has to be here by then.
const SOON: usize = AHEAD / 2;

/// Observes the i-th event of a batch.
trait Observe {
    /// What is to be done for an event of which the bucket is here.
    #[inline(always)]
    fn prepare<W: Wide>(&self, _: &Pinned<'_, W>, _: KeyHash) {}

    /// `ahead`: for all events under one pin.
    fn observe<'g, W: Wide>(
        &self,
        dedup: &Dedup,
        table: &Pinned<'g, W>,
        ahead: &Ahead<'g>,
        i: usize,
        hash: KeyHash,
        now: Tick,
    ) -> Outcome;
}

struct ByHash;

impl Observe for ByHash {
    #[inline(always)]
    fn observe<'g, W: Wide>(
        &self,
        dedup: &Dedup,
        table: &Pinned<'g, W>,
        _: &Ahead<'g>,
        _: usize,
        hash: KeyHash,
        now: Tick,
    ) -> Outcome {
        dedup.observe_pinned(table, hash, now)
    }
}

/// Of the i-th key.
struct ByBytes<F>(F);

impl<K: Key, F: Fn(usize) -> K> Observe for ByBytes<F> {
    #[inline(always)]
    fn prepare<W: Wide>(&self, table: &Pinned<'_, W>, hash: KeyHash) {
        table.prefetch_bytes(hash);
    }

    #[inline(always)]
    fn observe<'g, W: Wide>(
        &self,
        dedup: &Dedup,
        table: &Pinned<'g, W>,
        ahead: &Ahead<'g>,
        i: usize,
        hash: KeyHash,
        now: Tick,
    ) -> Outcome {
        dedup.observe_exact(table, hash, self.0(i), Some(ahead), now)
    }
}

impl Dedup {
    /// Observes `keys` in order, now. `outcomes` is cleared and gets one outcome for each.
    ///
    /// A batch hashes and asks for memory ahead of its work: about three times as fast as single calls out of cache.
    pub fn observe_batch<K: Key>(&self, keys: &[K], outcomes: &mut Vec<Outcome>) {
        let (first, step) = (self.clock.arrivals(keys.len() as u64), self.clock.step());
        let tick = |i: usize| Tick(first.0.saturating_add(step.saturating_mul(i as u64)));
        self.observe_into(keys.len(), |i| &keys[i], tick, outcomes);
    }

    /// Observes `keys` in order, all at `now`. `outcomes` is cleared and gets one outcome for each.
    pub fn observe_batch_at<K: Key>(&self, keys: &[K], now: Tick, outcomes: &mut Vec<Outcome>) {
        self.observe_into(keys.len(), |i| &keys[i], |_| now, outcomes);
    }

    /// Observes events in order, each at its own tick. `outcomes` is cleared and gets one outcome for each.
    pub fn observe_events<K: Key>(&self, events: &[(K, Tick)], outcomes: &mut Vec<Outcome>) {
        self.observe_into(events.len(), |i| &events[i].0, |i| events[i].1, outcomes);
    }

    fn observe_into<'k, K: Key + 'k>(
        &self,
        n: usize,
        key: impl Fn(usize) -> &'k K,
        tick: impl Fn(usize) -> Tick,
        outcomes: &mut Vec<Outcome>,
    ) {
        outcomes.clear();
        outcomes.reserve(n);
        self.observe_each(n, |i| (key(i), tick(i)), outcomes);
    }

    /// Observes `n` events in order, wherever they lie: `event(i)` gives the key and the tick of the i-th. It is called once
    /// for each, up to 16 ahead of its turn, and once more then with [`super::Identity::Bytes`]. `outcomes` is extended by
    /// one outcome for each, and must take them all; nothing is allocated here.
    pub fn observe_each<K: Key>(
        &self,
        n: usize,
        event: impl Fn(usize) -> (K, Tick),
        outcomes: &mut impl Extend<Outcome>,
    ) {
        let hashed = |i| {
            let (key, tick) = event(i);
            (key.key_hash(self.seed), tick)
        };
        if self.table.is_exact() {
            self.run(n, hashed, &ByBytes(|i| event(i).0), outcomes);
        } else {
            self.run(n, hashed, &ByHash, outcomes);
        }
    }

    #[inline(always)]
    fn run(
        &self,
        n: usize,
        event: impl Fn(usize) -> (KeyHash, Tick),
        observe: &impl Observe,
        outcomes: &mut impl Extend<Outcome>,
    ) {
        // A rolling look ahead: while one event is judged, the bucket of the one `AHEAD` after it is on its way.
        with_wide!(self.table.wide(), wide => {
            let mut ahead = [(KeyHash { hi: 0, lo: 0 }, Tick(0)); AHEAD];
            for start in (0..n).step_by(PINNED) {
                let guard = epoch::pin();
                let (table, room) = (self.table.pinned(wide, &guard), Ahead::default());
                let fetch = |i: usize| {
                    let (hash, now) = event(i);
                    table.prefetch(hash);
                    (hash, now)
                };
                if start == 0 {
                    for (i, slot) in ahead.iter_mut().enumerate().take(n) {
                        *slot = fetch(i);
                    }
                }
                outcomes.extend((start..n.min(start + PINNED)).map(|i| {
                    let (hash, now) = ahead[i % AHEAD];
                    if i + AHEAD < n {
                        ahead[i % AHEAD] = fetch(i + AHEAD);
                    }
                    observe.prepare(&table, ahead[(i + SOON) % AHEAD].0);
                    observe.observe(self, &table, &room, i, hash, now)
                }));
                table.give_back(&room);
            }
        });
    }
}

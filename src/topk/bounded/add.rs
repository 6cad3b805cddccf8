//! The way of an add, alone and in batches: a pane, its total, and a slot or the sketch.

use super::{
    BoundedTopK,
    pane::{Pane, Tables},
    slots::Carried,
};
use crate::{
    count::{Added, Tally},
    hash::{Key, KeyHash},
    pane::{Keep, Missed},
    sync::{
        Wide,
        epoch::{self, Guard},
        with_wide,
    },
    time::Tick,
};
use std::sync::Arc;

/// How many events ahead of its turn the memory of one is asked for.
const AHEAD: usize = 16;

/// For so many events no memory comes back.
const PINNED: usize = 64;

impl BoundedTopK {
    /// Counts a key `n` times at `now`. ([`Added::NoRoom`] it never says: there are bounds for every key.)
    #[inline]
    pub fn add_at(&self, key: impl Key, n: u64, now: Tick) -> Added {
        let (hash, guard) = (key.key_hash(self.seed), epoch::pin());
        let added = match self.time.enter(now.0, &guard, self) {
            Ok(place) => {
                place.generation.prefetch(hash);
                // First: no key has more than all together.
                let total = |tables: &Tables, n| tables.add_to_total(n);
                with_wide!(self.pool.wide(), wide => {
                    self.add_in(wide, place.generation, &key, hash, n, (&guard, total));
                });
                Added::Counted
            }
            Err(missed) => self.miss(missed),
        };
        drop(guard);
        self.pool.help();
        added
    }

    /// Counts a key `n` times now, by the structure's clock.
    #[inline]
    pub fn add(&self, key: impl Key, n: u64) -> Added {
        self.add_at(key, n, self.clock.arrivals(1))
    }

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
        with_wide!(self.pool.wide(), wide => self.each(wide, n, event))
    }

    fn each<K: Key>(&self, wide: impl Wide, n: usize, event: impl Fn(usize) -> (K, u64, Tick)) -> Tally {
        let mut tally = Tally::default();
        let mut ahead: [Option<(KeyHash, K, u64, Tick)>; AHEAD] = [const { None }; AHEAD];
        let hashed = |i: usize| {
            let (key, n, tick) = event(i);
            Some((key.key_hash(self.seed), key, n, tick))
        };
        for (i, slot) in ahead.iter_mut().enumerate().take(n) {
            *slot = hashed(i);
        }
        for from in (0..n).step_by(PINNED) {
            let guard = epoch::pin();
            let (mut newest, mut sums) = (None::<&Pane>, Sums::default());
            for i in from..n.min(from + PINNED) {
                let next = if i + AHEAD < n { hashed(i + AHEAD) } else { None };
                // Most come in the pane of the last one.
                if let (Some(pane), Some((hash, ..))) = (newest, &next) {
                    pane.prefetch(*hash);
                }
                let Some((hash, key, times, now)) = std::mem::replace(&mut ahead[i % AHEAD], next) else {
                    break;
                };
                match self.time.enter(now.0, &guard, self) {
                    Ok(place) => {
                        newest = Some(place.generation);
                        let total = |tables, n| sums.add(tables, n);
                        self.add_in(wide, place.generation, &key, hash, times, (&guard, total));
                        tally.counted += 1;
                    }
                    Err(missed) => tally.miss(self.miss(missed)),
                }
            }
            drop(sums);
            drop(guard);
            self.pool.help();
        }
        tally
    }

    /// `total`: adds to that of the pane.
    #[inline(always)]
    fn add_in<'g>(
        &self,
        wide: impl Wide,
        pane: &'g Pane,
        key: &impl Key,
        hash: KeyHash,
        n: u64,
        (guard, total): (&Guard, impl FnOnce(&'g Tables, u64)),
    ) {
        let Some(tables) = &pane.tables else { return pane.add_unkept(n) };
        total(tables, n);
        let name = || tables.names.put(key, hash, self.seed);
        let bucket = tables.slots.of(hash.hi);
        let carry = || self.carry(wide, (pane, tables), bucket, guard);
        tables.slots.bucket(bucket).add(wide, hash.lo, n, &tables.sketch, name, carry);
    }

    /// What a bucket of this pane begins with, from the pane before.
    #[cold]
    #[inline(never)]
    fn carry(
        &self,
        wide: impl Wide,
        (pane, tables): (&Pane, &Tables),
        bucket: usize,
        guard: &Guard,
    ) -> Carried {
        let before =
            self.time.with(0..pane.first, guard).last().and_then(|(before, ..)| before.tables.as_ref());
        before.map_or_else(Carried::default, |before| {
            before.slots.bucket(bucket).carry(wide, |entry| tables.names.copy(&before.names, entry.name()))
        })
    }

    #[cold]
    #[inline(never)]
    fn miss(&self, missed: Missed) -> Added {
        let (count, answer) = match missed {
            Missed::Late => (&self.late, Added::Late),
            Missed::Jump => (&self.jumps, Added::Jump),
        };
        count.add(1);
        answer
    }
}

/// What a batch adds to the total of a pane, in one sum. (It comes after its adds: until the batch ends none of them has to be known.)
#[derive(Default)]
struct Sums<'g> {
    of: Option<&'g Tables>,
    sum: u64,
}

impl<'g> Sums<'g> {
    #[inline(always)]
    fn add(&mut self, tables: &'g Tables, n: u64) {
        if !self.of.is_some_and(|of| std::ptr::eq(of, tables)) {
            self.put();
            self.of = Some(tables);
        }
        self.sum = self.sum.saturating_add(n);
    }

    fn put(&mut self) {
        if let Some(tables) = self.of {
            tables.add_to_total(std::mem::take(&mut self.sum));
        }
    }
}

impl Drop for Sums<'_> {
    fn drop(&mut self) {
        self.put();
    }
}

impl Keep<Pane> for BoundedTopK {
    fn open(&self, first: u64, _: Option<&Pane>) -> Pane {
        self.pool.open(first)
    }

    /// Whoever has listed the pane has the same tables.
    fn unused(&self, _: Pane) {}

    fn left(&self, pane: Arc<Pane>) {
        self.pool.left(&pane);
    }
}

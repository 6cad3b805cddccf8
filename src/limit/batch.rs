//! Many calls in one: all are hashed and their memory asked for ahead of the work.

use super::{admission::Admission, algorithm::with_judge, keyed::KeyedLimiter};
use crate::{
    hash::{Key, KeyHash},
    sync::{epoch, with_wide},
    time::Tick,
};

/// How many calls ahead of its turn the bucket of one is asked for.
const AHEAD: usize = 16;

/// For so many calls no memory comes back.
const PINNED: usize = 256;

impl KeyedLimiter {
    /// Takes a permit for each of `keys`, in order, now. `admissions` is cleared and gets one for each.
    ///
    /// A batch hashes and asks for memory ahead of its work: several times as fast as single calls out of cache.
    pub fn check_batch<K: Key>(&self, keys: &[K], admissions: &mut Vec<Admission>) {
        self.check_batch_at(keys, self.arrivals(keys.len()), admissions);
    }

    /// Takes a permit for each of `keys`, in order, at `now`. `admissions` is cleared and gets one for each.
    pub fn check_batch_at<K: Key>(&self, keys: &[K], now: Tick, admissions: &mut Vec<Admission>) {
        admissions.clear();
        admissions.reserve(keys.len());
        self.check_each(keys.len(), |i| (&keys[i], 1, now), admissions);
    }

    /// Makes `n` calls in order, wherever they lie: `call(i)` gives the key, the cost and the tick of the i-th. It is called once for
    /// each, up to 16 ahead of its turn. `admissions` is extended by one for each; nothing is allocated here.
    pub fn check_each<K: Key>(
        &self,
        n: usize,
        call: impl Fn(usize) -> (K, u64, Tick),
        admissions: &mut impl Extend<Admission>,
    ) {
        let hashed = |i| {
            let (key, cost, tick) = call(i);
            (key.key_hash(self.seed()), cost, tick)
        };
        with_judge!(self.judges(), judge => with_wide!(self.table().wide(), wide => {
            let mut ahead = [(KeyHash { hi: 0, lo: 0 }, 0, Tick(0)); AHEAD];
            for start in (0..n).step_by(PINNED) {
                let guard = epoch::pin();
                let table = self.table().pinned(wide, &guard);
                let fetch = |i: usize| {
                    let call = hashed(i);
                    table.prefetch(call.0);
                    call
                };
                if start == 0 {
                    for (i, slot) in ahead.iter_mut().enumerate().take(n) {
                        *slot = fetch(i);
                    }
                }
                admissions.extend((start..n.min(start + PINNED)).map(|i| {
                    let (hash, cost, now) = ahead[i % AHEAD];
                    if i + AHEAD < n {
                        ahead[i % AHEAD] = fetch(i + AHEAD);
                    }
                    self.check_pinned(judge, &table, hash, cost, now)
                }));
            }
        }));
    }
}

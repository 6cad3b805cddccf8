//! Many calls in one: all are hashed and their memory asked for ahead of the work.

use super::{admission::Admission, algorithm::with_judge, judge::Judge, keyed::KeyedLimiter};
use crate::{hash::Key, sync::with_wide, time::Tick};

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
    /// each, up to 24 ahead of its turn. `admissions` is extended by one for each; nothing is allocated here.
    pub fn check_each<K: Key>(
        &self,
        n: usize,
        call: impl Fn(usize) -> (K, u64, Tick),
        admissions: &mut impl Extend<Admission>,
    ) {
        let hashed = |i| {
            let (key, cost, tick) = call(i);
            (key.key_hash(self.seed()), (cost, tick))
        };
        if self.has_changed() {
            return admissions.extend((0..n).map(|i| {
                let (hash, (cost, now)) = hashed(i);
                self.check_changed(hash, cost, now)
            }));
        }
        with_judge!(self.judges(), judge => with_wide!(self.table().wide(), wide => self.table().in_turn(
            wide,
            n,
            hashed,
            |_, _| (),
            |table, _, _, (hash, (cost, now))| self.judged(judge, cost, now, |at| {
                match judge.check_at_home(&(self.table(), wide), hash, cost, at) {
                    Some(answer) => answer.into(),
                    None => self.told(judge.check(table, hash, cost, at), || self.share(judge, hash, cost, at)),
                }
            }),
            admissions,
        )));
    }
}

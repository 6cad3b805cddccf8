//! Many questions in one call: all are hashed and their memory asked for ahead of the work.

use super::{RotatingBloom, columns::with_columns, verdict};
use crate::{
    hash::{Key, KeyHash},
    pane::{Ask, Bloom, Contains, Insert, Observe, PaneRing},
    time::Tick,
    verdict::Verdict,
};

/// How many events of a batch are on their way from memory while as many are judged.
const BLOCK: usize = 16;

impl RotatingBloom {
    /// Puts `keys` in, in order, at `now`. `seen` is cleared and gets for each whether it was there before.
    ///
    /// A batch hashes and asks for memory ahead of its work: several times as fast as single calls out of cache.
    pub fn insert_batch_at<K: Key>(&self, keys: &[K], now: Tick, seen: &mut Vec<bool>) {
        start(seen, keys.len());
        self.insert_each(keys.len(), |i| (&keys[i], now), seen);
    }

    /// Observes `keys` in order, at `now`. `verdicts` is cleared and gets one for each.
    pub fn observe_batch_at<K: Key>(&self, keys: &[K], now: Tick, verdicts: &mut Vec<Verdict>) {
        start(verdicts, keys.len());
        self.observe_each(keys.len(), |i| (&keys[i], now), verdicts);
    }

    /// Asks for `keys` at `now`. `seen` is cleared and gets for each whether it is there.
    pub fn contains_batch_at<K: Key>(&self, keys: &[K], now: Tick, seen: &mut Vec<bool>) {
        start(seen, keys.len());
        self.contains_each(keys.len(), |i| (&keys[i], now), seen);
    }

    /// Puts `keys` in, in order, now.
    pub fn insert_batch<K: Key>(&self, keys: &[K], seen: &mut Vec<bool>) {
        start(seen, keys.len());
        let tick = self.ticks(keys.len());
        self.insert_each(keys.len(), |i| (&keys[i], tick(i)), seen);
    }

    /// Observes `keys` in order, now.
    pub fn observe_batch<K: Key>(&self, keys: &[K], verdicts: &mut Vec<Verdict>) {
        start(verdicts, keys.len());
        let tick = self.ticks(keys.len());
        self.observe_each(keys.len(), |i| (&keys[i], tick(i)), verdicts);
    }

    /// Asks for `keys` now.
    pub fn contains_batch<K: Key>(&self, keys: &[K], seen: &mut Vec<bool>) {
        self.contains_batch_at(keys, self.clock.now(), seen);
    }

    /// Puts `n` ids in, in order, wherever they lie: `event(i)` gives the key and the tick of the i-th. It is called once for each, up to
    /// 32 ahead of its turn. `seen` is extended by an answer for each; nothing is allocated here.
    pub fn insert_each<K: Key>(
        &self,
        n: usize,
        event: impl Fn(usize) -> (K, Tick),
        seen: &mut impl Extend<bool>,
    ) {
        self.each::<Insert, _, _>(n, event, |seen| seen, seen);
    }

    /// Observes `n` ids in the same way.
    pub fn observe_each<K: Key>(
        &self,
        n: usize,
        event: impl Fn(usize) -> (K, Tick),
        verdicts: &mut impl Extend<Verdict>,
    ) {
        self.each::<Observe, _, _>(n, event, verdict, verdicts);
    }

    /// Asks for `n` ids in the same way.
    pub fn contains_each<K: Key>(
        &self,
        n: usize,
        event: impl Fn(usize) -> (K, Tick),
        seen: &mut impl Extend<bool>,
    ) {
        self.each::<Contains, _, _>(n, event, |seen| seen, seen);
    }

    /// The ticks of `n` arrivals.
    fn ticks(&self, n: usize) -> impl Fn(usize) -> Tick {
        let (first, step) = (self.clock.arrivals(n as u64), self.clock.step());
        move |i| Tick(first.0.saturating_add(step.saturating_mul(i as u64)))
    }

    #[inline(always)]
    fn each<A: Ask, K: Key, R>(
        &self,
        n: usize,
        event: impl Fn(usize) -> (K, Tick),
        answer: impl Fn(bool) -> R,
        answers: &mut impl Extend<R>,
    ) {
        let hashed = |i| {
            let (key, tick) = event(i);
            (key.key_hash(self.seed), tick.0)
        };
        with_columns!(&self.columns, columns => {
            run::<A, _, _>(&self.ring, columns, n, hashed, answer, answers);
        });
    }
}

/// While one block of events is judged, the rows of the next are on their way.
#[inline(never)]
fn run<A: Ask, C: Bloom, R>(
    ring: &PaneRing,
    columns: &C,
    n: usize,
    event: impl Fn(usize) -> (KeyHash, u64),
    answer: impl Fn(bool) -> R,
    answers: &mut impl Extend<R>,
) {
    let nothing = (columns.spot(KeyHash { hi: 0, lo: 0 }), 0);
    let mut blocks = [[nothing; BLOCK]; 2];
    let (mut start, mut fetched, mut turn) = (0, 0, 0);
    loop {
        let next = n.saturating_sub(start).min(BLOCK);
        for (i, slot) in blocks[turn % 2].iter_mut().enumerate().take(next) {
            let (hash, now) = event(start + i);
            let spot = columns.spot(hash);
            columns.prefetch(&spot, ring.look(now));
            *slot = (spot, now);
        }
        turn += 1;
        let here = blocks[turn % 2].iter().take(fetched);
        answers.extend(here.map(|(spot, now)| answer(A::ask(ring, columns, spot, *now))));
        if next == 0 {
            return;
        }
        (start, fetched) = (start + next, next);
    }
}

fn start<R>(answers: &mut Vec<R>, n: usize) {
    answers.clear();
    answers.reserve(n);
}

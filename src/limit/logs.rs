//! Sliding logs for many clients: a pool of rings, and in the table which of them is a client's.
//!
//! A client's state is (age, ring): the time up to which its ring may hold stamps, in units of a quarter of the window or more, and the
//! ring's number. So an entry changes a few times a window, and dies when its newest stamp can have.
//!
//! **Order.** Before a stamp is put into a ring, first the ring's own age is raised to it, then the entry's. So a ring lives no less long
//! than any entry that leads to it, and an entry no less long than the stamps. Whoever finds an entry gone knows a horizon beyond
//! all stamps of its ring, and counts, by the rule of lateness, as coming after all of them have expired: a new ring owes them nothing.
//!
//! **Reuse.** A ring whose age the horizon has passed is marked as dead, by a CAS on that age, and goes back to the pool when every call has
//! ended that may still look at it (an epoch). Its old stamps have expired for whoever gets it, so nothing is cleared. For the same
//! reason no call can take a ring from the pool, and another bring it back, while a third is about to take it: the pool's list
//! needs no counter against ABA. Models, with the epoch and without: loom-tests/tests/epoch.rs.

pub(super) mod kept;

use super::{
    admission::Answer,
    judge::{Clients, Judge},
    ring::{LogRule, MICROS, Ring},
};
use crate::{
    error::ConfigError,
    hash::KeyHash,
    mem::{Line, Slab, WORDS, physical_memory},
    origin::MAX_STAMP,
    sync::{
        AtomicU64, Budget,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
        epoch, retry, twin,
    },
    table::{Decision, Full},
};
use std::sync::Arc;

/// Of a state, for the ring's number.
const RING_BITS: u32 = 28;
const RING: u64 = (1 << RING_BITS) - 1;

/// 2^58 ns in these are ages of 31 bits.
const LEAST_UNIT_BITS: u32 = 27;

pub(crate) struct Logs {
    pool: Arc<Pool>,
    rule: LogRule,
    /// Microseconds that entries outlive their stamps by: the window of the first rule, and no later one is longer.
    window: u64,
    /// Nanoseconds, a power of two.
    unit: u64,
}

/// Where rings are.
struct Pool {
    words: Slab<Line>,
    /// Words of a ring: its own age (see [`Life`]), its head, its floor, and its slots.
    stride: usize,
    rings: u64,
    /// From here on no ring has been used yet.
    unused: AtomicU64,
    /// The first of those that came back, plus 1. The next one is in its age.
    free: AtomicU64,
    /// Where the sweep for dead ones goes on.
    hand: AtomicU64,
}

const OF_A_RING: usize = 3;

/// The first word of a ring.
enum Life {
    Used { age: u64 },
    Other,
}

const FREE: u64 = 1;
const USED: u64 = 2;
const DEAD: u64 = 3;

impl Life {
    fn of(word: u64) -> Life {
        if word & 3 == USED { Life::Used { age: word >> 2 } } else { Life::Other }
    }

    fn used(age: u64) -> u64 {
        age << 2 | USED
    }
}

impl Pool {
    /// The words of a ring.
    #[allow(clippy::cast_possible_truncation)] // it was allocated
    fn words(&self, ring: u64) -> &[AtomicU64] {
        &self.words.words()[ring as usize * self.stride..][..self.stride]
    }

    fn life(&self, ring: u64) -> &AtomicU64 {
        &self.words(ring)[0]
    }

    /// A ring of the caller's own. The caller is pinned.
    fn take(&self) -> Option<u64> {
        loop {
            // Acquire: with the words of the ring as they came back.
            let first = self.free.load(Acquire);
            let Some(ring) = first.checked_sub(1) else { break };
            let next = self.life(ring).load(Acquire) >> 2;
            if self.free.compare_exchange(first, next, AcqRel, Acquire).is_ok() {
                return Some(ring);
            }
            retry();
        }
        let mut ring = self.unused.load(Relaxed);
        while ring < self.rings {
            match self.unused.compare_exchange(ring, ring + 1, AcqRel, Relaxed) {
                Ok(_) => return Some(ring),
                Err(other) => ring = other,
            }
        }
        None
    }

    /// Marks a ring as dead that was found like this; then it goes to the pool when nobody can look at it any more. Of several that find the
    /// same one does: a ring must not come back twice.
    fn retire(self: &Arc<Self>, ring: u64, found: u64) -> bool {
        let is_ours = self.life(ring).compare_exchange(found, DEAD, AcqRel, Relaxed).is_ok();
        if is_ours && twin!(PutAtOnce) {
            self.put(ring);
        } else if is_ours {
            let pool = self.clone();
            epoch::later(move || pool.put(ring));
        }
        is_ours
    }

    fn put(&self, ring: u64) {
        loop {
            let first = self.free.load(Acquire);
            self.life(ring).store(first << 2 | FREE, Release);
            if self.free.compare_exchange(first, ring + 1, AcqRel, Acquire).is_ok() {
                return;
            }
            retry();
        }
    }

    /// Looks at so many rings for those that the horizon has passed: all of it, and not its age alone, as restored ones may be any number.
    fn sweep(self: &Arc<Self>, share: u64, gone: u64) {
        let used = self.unused.load(Relaxed);
        if used == 0 {
            return;
        }
        let start = self.hand.fetch_add(share, Relaxed);
        let mut retired = false;
        for ring in start..start.saturating_add(share.min(used)) {
            let ring = ring % used;
            let word = self.life(ring).load(Acquire);
            if let Life::Used { age } = Life::of(word)
                && age << RING_BITS | ring <= gone
            {
                retired |= self.retire(ring, word);
            }
        }
        if retired {
            // Else they would wait in this thread for others to go with.
            epoch::collect();
        }
    }
}

impl Logs {
    /// Rings for so many clients.
    pub(super) fn new(rule: LogRule, clients: usize) -> Result<Logs, ConfigError> {
        let (rings, stride) = (rings(clients), OF_A_RING as u64 + rule.limit);
        let bytes = Self::bytes_for(rule, clients);
        let error = |limit: &dyn std::fmt::Display| {
            Err(ConfigError::new(
                "clients",
                format_args!("{clients} logs of {} stamps ({bytes} bytes)", rule.limit),
                limit,
            ))
        };
        if rings > RING {
            return error(&format_args!("{} clients", RING / 5 * 4));
        }
        if bytes > physical_memory().unwrap_or(u64::MAX) {
            return error(&"what the machine has memory for");
        }
        let lines = usize::try_from(bytes.div_ceil(8)).map(|words| words.div_ceil(WORDS));
        let words = lines.ok().and_then(|lines| Slab::new(lines, &Budget::new(u64::MAX)));
        let (Some(words), Ok(stride)) = (words, usize::try_from(stride)) else {
            return error(&"what the system can allocate");
        };
        let zero = || AtomicU64::new(0);
        let pool = Pool { words, stride, rings, unused: zero(), free: zero(), hand: zero() };
        let unit = 1_u64 << (rule.window * MICROS / 4).max(1).ilog2().max(LEAST_UNIT_BITS);
        Ok(Logs { pool: Arc::new(pool), rule, window: rule.window, unit })
    }

    #[cfg(windlass_loom)]
    #[allow(clippy::panic)] // in a model
    pub(super) fn of_units(rule: LogRule, clients: usize, unit: u64) -> Logs {
        match Logs::new(rule, clients) {
            Ok(logs) => Logs { unit, ..logs },
            Err(error) => panic!("{error}"),
        }
    }

    /// The same rings, by a rule of no more permits, and no longer.
    pub(super) fn changed(&self, rule: LogRule) -> Logs {
        Logs { pool: self.pool.clone(), rule, ..*self }
    }

    /// Bytes of the rings for so many clients.
    pub(super) fn bytes_for(rule: LogRule, clients: usize) -> u64 {
        rings(clients).saturating_mul(OF_A_RING as u64 + rule.limit).saturating_mul(8)
    }

    fn ring(&self, ring: u64) -> Ring<'_> {
        let words = self.pool.words(ring);
        Ring { rule: self.rule, head: &words[1], floor: &words[2], slots: &words[OF_A_RING..] }
    }

    fn age(&self, at: u64) -> u64 {
        at / self.unit + 1
    }

    /// The time that a horizon stands for: a ring of that age has only stamps that have expired by then.
    fn time_of(&self, gone: u64) -> u64 {
        if gone == 0 { 0 } else { (gone >> RING_BITS) * self.unit + self.window * MICROS }
    }

    /// A client's ring, and the time at which a call counts that is charged there; or an answer, for those that are not: they need not prolong
    /// the life of ring and entry. `answers` is told whether that would be needed. `None`: the client has no ring.
    fn find(
        &self,
        table: &impl Clients,
        hash: KeyHash,
        at: u64,
        answers: impl Fn(Ring<'_>, u64, bool) -> Option<Answer>,
    ) -> Result<Option<Sought<'_>>, Full> {
        loop {
            let (state, gone) = table.update(hash, |state, gone| Decision::Keep((state, gone)))?;
            let Some(state) = state else { return Ok(None) };
            let (at, number) = (at.max(self.time_of(gone)), state & RING);
            let ring = self.ring(number);
            // In this order: whoever sees that the ring is another's by now has acquired the horizon with which it was taken away.
            let life = Life::of(self.pool.life(number).load(Acquire));
            let is_ours = matches!(life, Life::Used { .. }) && table.horizon() < state;
            if is_ours {
                let age = self.age(at);
                let ages = state >> RING_BITS < age;
                if let Some(answer) = answers(ring, at, ages) {
                    return Ok(Some(Sought::Answer(answer)));
                }
                if !ages || twin!(StampFirst) || self.prolong(table, hash, number, age)? {
                    return Ok(Some(Sought::Ring(ring, at)));
                }
            }
            retry();
        }
    }

    /// Raises the ring's age, then the entry's. `false`: by now the client has another ring, or none.
    fn prolong(&self, table: &impl Clients, hash: KeyHash, number: u64, age: u64) -> Result<bool, Full> {
        let life = self.pool.life(number);
        loop {
            let word = life.load(Acquire);
            match Life::of(word) {
                Life::Used { age: own } if own >= age => break,
                Life::Used { .. } => {
                    if life.compare_exchange(word, Life::used(age), AcqRel, Acquire).is_ok() {
                        break;
                    }
                }
                Life::Other => return Ok(false),
            }
            retry();
        }
        table.update(hash, |state, _| match state {
            Some(state) if state & RING == number && state >> RING_BITS < age => {
                Decision::Publish(age << RING_BITS | number, true)
            }
            state => Decision::Keep(state.is_some_and(|state| state & RING == number)),
        })
    }

    /// Gives a client a ring. `None`: another call has, or time has moved on.
    fn begin(&self, table: &impl Clients, hash: KeyHash, at: u64) -> Result<Option<Sought<'_>>, Full> {
        let age = self.age(at.max(self.time_of(table.horizon())));
        let ring = self.pool.take().or_else(|| {
            self.pool.sweep(EMERGENCY, table.horizon());
            epoch::collect();
            self.pool.take()
        });
        let Some(number) = ring else { return Err(Full) };
        // Release: with the entry.
        self.pool.life(number).store(Life::used(age), Release);
        let begun = table.update(hash, |state, gone| {
            let at = at.max(self.time_of(gone));
            if state.is_some() || self.age(at) > age {
                return Decision::Keep(None);
            }
            Decision::Publish(age << RING_BITS | number, Some(at))
        });
        if !matches!(begun, Ok(Some(_))) {
            // (The sweep may have, if time has moved on.)
            self.pool.retire(number, Life::used(age));
        }
        Ok(begun?.map(|at| Sought::Ring(self.ring(number), at)))
    }

    /// As if the client had never come.
    fn answer_of_fresh(&self, at: u64, cost: u64, gone: u64) -> Answer {
        let full = (at.max(self.time_of(gone)) / MICROS + self.rule.window) * MICROS;
        let reset_after = if cost == 0 { 0 } else { full - at };
        Answer::Allowed { remaining: self.rule.limit - cost, reset_after, delay: 0 }
    }
}

/// For models: rings without clients.
#[cfg(windlass_loom)]
impl Logs {
    /// All of them have been used and are back, the first one first.
    pub(super) fn all_back(self) -> Logs {
        while self.pool.take().is_some() {}
        (0..self.pool.rings).rev().for_each(|ring| self.pool.put(ring));
        self
    }

    /// As `begin` takes one. The caller is pinned.
    pub(super) fn take_ring(&self) -> Option<u64> {
        let ring = self.pool.take()?;
        self.pool.life(ring).store(Life::used(1), Release);
        Some(ring)
    }

    /// Rings as these were when they were new.
    pub(super) fn like(&self) -> Logs {
        #[allow(clippy::cast_possible_truncation)] // they were allocated
        Logs::of_units(self.rule, self.pool.rings as usize, self.unit)
    }

    /// As `sweep` sends all back that the horizon has passed, when every call has ended that may look at them.
    pub(super) fn hand_over(&self, gone: u64) {
        for ring in 0..self.pool.unused.load(Relaxed) {
            let life = self.pool.life(ring);
            let word = life.load(Acquire);
            if let Life::Used { age } = Life::of(word)
                && age << RING_BITS | ring <= gone
                && life.compare_exchange(word, DEAD, AcqRel, Relaxed).is_ok()
            {
                self.pool.put(ring);
            }
        }
    }

    /// As `sweep` and `begin` send one back.
    pub(super) fn retire_ring(&self, ring: u64) -> bool {
        self.pool.retire(ring, Life::used(1))
    }
}

/// For clients, and a quarter more for those that are on their way back.
fn rings(clients: usize) -> u64 {
    let clients = clients as u64;
    let spare = if cfg!(windlass_loom) { 0 } else { clients / 4 + 64 };
    clients.saturating_add(spare)
}

/// Rings looked at when there seems to be none left.
const EMERGENCY: u64 = 1024;

enum Sought<'a> {
    /// .. and the time at which the call counts.
    Ring(Ring<'a>, u64),
    Answer(Answer),
}

impl Judge for &Logs {
    fn burst(self) -> u64 {
        self.rule.limit
    }

    fn check(self, table: &impl Clients, hash: KeyHash, cost: u64, at: u64) -> Result<Answer, Full> {
        if cost == 0 {
            return self.peek(table, hash, cost, at);
        }
        // A denial writes nothing, here neither.
        let denied = |ring: Ring<'_>, now: u64, ages: bool| {
            let answer = ages.then(|| ring.peek(now / MICROS, cost, at));
            answer.filter(|answer| !matches!(answer, Answer::Allowed { .. }))
        };
        loop {
            let sought = match self.find(table, hash, at, denied)? {
                Some(sought) => Some(sought),
                None => self.begin(table, hash, at)?,
            };
            match sought {
                Some(Sought::Answer(answer)) => return Ok(answer),
                Some(Sought::Ring(ring, now)) => return Ok(ring.take(now / MICROS, cost, at)),
                None => retry(),
            }
        }
    }

    fn peek(self, table: &impl Clients, hash: KeyHash, cost: u64, at: u64) -> Result<Answer, Full> {
        let peek = |ring: Ring<'_>, now: u64, _: bool| Some(ring.peek(now / MICROS, cost, at));
        match self.find(table, hash, at, peek)? {
            Some(Sought::Answer(answer)) => Ok(answer),
            _ => Ok(self.answer_of_fresh(at, cost, table.horizon())),
        }
    }

    fn forget(self, table: &impl Clients, hash: KeyHash, at: u64) -> bool {
        // (An answer that nobody sees: whether there was something.)
        let forget = |ring: Ring<'_>, now: u64, _: bool| {
            let retry_after = u64::from(ring.forget(now / MICROS));
            Some(Answer::Denied { retry_after })
        };
        let forgotten = Answer::Denied { retry_after: 1 };
        matches!(self.find(table, hash, at, forget), Ok(Some(Sought::Answer(answer))) if answer == forgotten)
    }

    fn gone_at(self, at: u64) -> u64 {
        let ages = at.saturating_sub(self.window * MICROS) / self.unit;
        if ages == 0 { 0 } else { ages << RING_BITS | RING }
    }

    fn is_fresh(self, state: u64, at: u64) -> bool {
        self.time_of(state) <= at
    }

    fn last(self) -> u64 {
        // (What was late for the horizon may be later than all stamps.)
        ((2 * self.age(MAX_STAMP)) << RING_BITS) | RING
    }

    fn memory(self) -> u64 {
        self.window * MICROS + self.unit
    }

    fn bytes(self) -> u64 {
        self.pool.rings * self.pool.stride as u64 * 8
    }

    fn maintain_a_share(self, gone: u64) {
        self.pool.sweep(self.pool.unused.load(Relaxed) / 128 + 1, gone);
    }

    fn maintain(self, gone: u64) {
        self.pool.sweep(self.pool.unused.load(Relaxed), gone);
        epoch::collect();
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;

    /// A table in which another call has always come first.
    struct Taken;

    impl Clients for Taken {
        fn update<R>(
            &self,
            _: KeyHash,
            decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
        ) -> Result<R, Full> {
            match decide(Some(1 << RING_BITS), 0) {
                Decision::Keep(answer) | Decision::Publish(_, answer) => Ok(answer),
            }
        }

        fn horizon(&self) -> u64 {
            0
        }
    }

    /// Of a horizon within an age, which only a snapshot can bring, what lies behind it stays: its client would look for a ring for ever.
    #[test]
    #[allow(clippy::unwrap_used)]
    fn a_horizon_within_an_age() {
        let logs = Logs::new(LogRule { limit: 1, window: 10 }, 1).unwrap();
        let pool = &logs.pool;
        let rings: Vec<u64> = (0..3).map(|_| pool.take().unwrap()).collect();
        for &ring in &rings {
            pool.life(ring).store(Life::used(5), Release);
        }
        let dead = || {
            rings
                .iter()
                .map(|&ring| matches!(Life::of(pool.life(ring).load(Acquire)), Life::Other))
                .collect::<Vec<_>>()
        };
        pool.sweep(pool.rings, 5 << RING_BITS | rings[0]);
        assert_eq!(dead(), [true, false, false]);
        pool.sweep(pool.rings, 5 << RING_BITS | RING);
        assert_eq!(dead(), [true; 3]);
    }

    /// A call that lost takes its ring back to the pool, and the sweep comes by before it is there.
    #[test]
    #[allow(clippy::unwrap_used)]
    fn a_ring_comes_back_once() {
        let logs = Logs::new(LogRule { limit: 1, window: 10 }, 1).unwrap();
        let pool = &logs.pool;
        // Pinned: nothing comes back meanwhile.
        let guard = epoch::pin();
        for _ in 0..3 {
            assert!(logs.begin(&Taken, KeyHash { hi: 0, lo: 1 }, 1_000_000).unwrap().is_none());
        }
        pool.sweep(pool.rings, u64::MAX);
        drop(guard);
        // Until they are there, however long other tests of this process hold it up.
        while pool.free.load(Acquire) == 0 {
            epoch::collect();
            std::thread::yield_now();
        }
        (0..1000).for_each(|_| epoch::collect());
        let taken: Vec<u64> = (0..2 * pool.rings).map_while(|_| pool.take()).collect();
        let mut once = taken.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), taken.len(), "{taken:?}");
        assert!(taken.len() as u64 <= pool.rings);
    }
}

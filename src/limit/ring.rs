//! A sliding log: the stamps of the last N permits, in a ring.
//!
//! **Shape.** Permit number i has its stamp in slot `i % N`. (A limit may become less than N; of the slots only the last ones count then.) A call of cost c that comes at t passes if the permit N - c + 1 before the next
//! one is no longer in (t - T, t], that is if the c-th oldest stamp has expired. It takes the slots of the c oldest.
//!
//! ```text
//! slot:  63                        16   15 .. 14   13 .. 0
//!       +----------------------------+-----------+----------+
//!       |  stamp (48, microseconds)  |    lap    |   more   |
//!       +----------------------------+-----------+----------+
//! ```
//! `lap` tells whether slot i % N has permit i already or still the one a lap before, and `more` how many permits of the same call follow.
//!
//! **One CAS.** A call is admitted by the CAS on the slot of the next permit, `head`. That slot says how many more there are, so whoever comes
//! next fills in those, and moves `head` past them, before anything else. All that a call goes by it has read while `head` stood
//! still; and as a slot's stamps only rise, a CAS from what was read then succeeds only if nobody came between.
//!
//! Lock-free: an attempt fails only because another call was admitted. Model: loom-tests/tests/limit.rs, with its twins.

use super::admission::Answer;
use crate::sync::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
    retry, twin,
};

/// How many permits in how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogRule {
    pub(super) limit: u64,
    /// Microseconds.
    pub(super) window: u64,
}

/// Bits of `more`, and so of a limit.
const MORE_BITS: u32 = 14;
const LAP_BITS: u32 = 2;
const STAMP_SHIFT: u32 = MORE_BITS + LAP_BITS;

/// The last stamp, after 8.9 years: then time stands still.
pub(super) const LAST: u64 = (1 << (u64::BITS - STAMP_SHIFT)) - 1;

pub(crate) const MICROS: u64 = 1000;

impl LogRule {
    pub(super) const MOST: u64 = (1 << MORE_BITS) - 1;

    /// `limit` in `window` ns, which counts in whole microseconds. `None`: too many.
    pub(super) fn new(limit: u64, window: u64) -> Option<LogRule> {
        (limit <= Self::MOST).then_some(LogRule { limit, window: window.div_ceil(MICROS) })
    }
}

/// What a slot holds.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Slot(u64);

impl Slot {
    fn new(stamp: u64, lap: u64, more: u64) -> Slot {
        Slot(stamp << STAMP_SHIFT | lap << MORE_BITS | more)
    }

    fn stamp(self) -> u64 {
        self.0 >> STAMP_SHIFT
    }

    fn lap(self) -> u64 {
        self.0 >> MORE_BITS & ((1 << LAP_BITS) - 1)
    }

    fn more(self) -> u64 {
        self.0 & ((1 << MORE_BITS) - 1)
    }
}

/// The words of a ring, as many slots as a limit had when it was made or more: the number of the next permit, the number before which all were given back, and the slots.
#[derive(Clone, Copy)]
pub(crate) struct Ring<'a> {
    pub(super) rule: LogRule,
    pub(super) head: &'a AtomicU64,
    pub(super) floor: &'a AtomicU64,
    pub(super) slots: &'a [AtomicU64],
}

/// What a call goes by.
struct Seen {
    head: u64,
    /// The slot of the next permit, as it still is.
    next: Slot,
    /// When the call counts.
    at: u64,
    /// The last permit's stamp.
    newest: u64,
    /// Of the permits of a lap, oldest first, so many have expired.
    expired: u64,
    /// The stamp with which a call of its cost would pass.
    oldest: u64,
}

impl Ring<'_> {
    /// Takes `cost`, 1 to the limit, at `at` in microseconds. `nanos`: when that is for the caller.
    pub(crate) fn take(&self, at: u64, cost: u64, nanos: u64) -> Answer {
        loop {
            let seen = self.look(at, cost);
            let answer = self.answer(&seen, cost, nanos);
            if !matches!(answer, Answer::Allowed { .. }) {
                return answer;
            }
            let new = Slot::new(seen.at, self.lap(seen.head), cost - 1);
            let slot = self.slot(seen.head);
            if twin!(StoreBlindly) {
                slot.store(new.0, Release);
            } else if slot.compare_exchange(seen.next.0, new.0, AcqRel, Acquire).is_err() {
                retry();
                continue;
            }
            self.finish(seen.head, new);
            return answer;
        }
    }

    /// What [`Ring::take`] would answer; of cost 0 how things stand.
    pub(crate) fn peek(&self, at: u64, cost: u64, nanos: u64) -> Answer {
        self.answer(&self.look(at, cost), cost, nanos)
    }

    /// Gives back all permits. Whether there were any.
    pub(crate) fn forget(&self, at: u64) -> bool {
        let seen = self.look(at, 0);
        seen.expired < self.rule.limit && self.floor.fetch_max(seen.head, AcqRel) < seen.head
    }

    /// The times of its last permits in microseconds, the oldest first, as far as it has slots; and how many of the oldest were given back.
    ///
    /// **While permits are taken** slots are overwritten, by later ones: what is found in a permit's slot is its own time, or that of one which was taken
    /// later. So each time is no earlier than its permit's, and no later than that of a permit behind it (twin `HeadAfterwards`). None of those that were taken before is missing,
    /// and none counts for less long than it did. (Wait-free. The floor first, then the head: what is there by then is behind it. Acquire, both: with what
    /// the slots had.) Model: loom-tests/tests/limit.rs.
    pub(super) fn saved(&self, times: &mut Vec<u64>) -> u64 {
        let early: Vec<Slot> = match twin!(HeadAfterwards) {
            true => self.slots.iter().map(|slot| Slot(slot.load(Acquire))).collect(),
            false => Vec::new(),
        };
        let floor = self.floor.load(Acquire);
        let head = self.head.load(Acquire);
        let size = self.slots.len() as u64;
        let first = head - head.min(size);
        times.clear();
        let mut next = u64::MAX;
        for number in (first..head).rev() {
            let early = usize::try_from(number % size).ok().and_then(|slot| early.get(slot));
            next = next.min(early.copied().unwrap_or_else(|| self.read(number)).stamp());
            times.push(next);
        }
        times.reverse();
        floor.saturating_sub(first)
    }

    /// Puts back what [`Ring::saved`] has given, into a ring that nobody has used: no more than it has slots.
    pub(super) fn put_back(&self, times: &[u64], given_back: u64) {
        for (number, &time) in (0..).zip(times) {
            // Relaxed, all: nobody knows the ring as yet.
            self.slot(number).store(Slot::new(time, self.lap(number), 0).0, Relaxed);
        }
        self.head.store(times.len() as u64, Relaxed);
        self.floor.store(given_back, Relaxed);
    }

    fn answer(&self, seen: &Seen, cost: u64, nanos: u64) -> Answer {
        let nanos = nanos.min(LAST * MICROS);
        if cost > seen.expired {
            let passes = (seen.oldest + self.rule.window) * MICROS;
            return Answer::Denied { retry_after: passes.saturating_sub(nanos) };
        }
        let remaining = seen.expired - cost;
        let newest = if cost == 0 { seen.newest } else { seen.at };
        let full = (newest + self.rule.window) * MICROS;
        let reset_after = if remaining == self.rule.limit { 0 } else { full.saturating_sub(nanos) };
        Answer::Allowed { remaining, reset_after, delay: 0 }
    }

    /// Reads while the head stands still.
    fn look(&self, at: u64, cost: u64) -> Seen {
        loop {
            let head = self.head.load(Acquire);
            let next = self.read(head);
            if next.lap() == self.lap(head) {
                self.finish(head, next);
                continue;
            }
            let newest = if head == 0 { 0 } else { self.read(head - 1).stamp() };
            // A time before that of the last permit counts as that.
            let at = at.max(newest).min(LAST);
            let floor = self.floor.load(Acquire);
            let (size, limit) = (self.slots.len() as u64, self.rule.limit);
            let first = head + (size - limit);
            let is_expired = |i: u64| {
                let number = first + i;
                // The permit that has the slot now is a lap behind.
                number < size || number - size < floor || self.read(number).stamp() + self.rule.window <= at
            };
            let expired = partition(limit, is_expired);
            let oldest = self.read(first + cost.max(1) - 1).stamp();
            if self.head.load(Acquire) == head {
                return Seen { head, next, at, newest, expired, oldest };
            }
            retry();
        }
    }

    /// Fills in what a call that was admitted at `head` has taken beside its first slot, and moves the head past it. By that call, or whoever
    /// comes first.
    fn finish(&self, head: u64, first: Slot) {
        for i in 1..=first.more() {
            let slot = self.slot(head + i);
            let old = Slot(slot.load(Acquire));
            // As long as the head stands there the slot has this lap or the one before; and then the CAS fails if it gets another.
            if self.head.load(Acquire) != head {
                return;
            }
            if old.lap() != self.lap(head + i) {
                let new = Slot::new(first.stamp(), self.lap(head + i), first.more() - i);
                let _ = slot.compare_exchange(old.0, new.0, AcqRel, Acquire);
            }
        }
        let _ = self.head.compare_exchange(head, head + first.more() + 1, AcqRel, Acquire);
    }

    #[allow(clippy::cast_possible_truncation)] // less than a limit
    fn slot(&self, number: u64) -> &AtomicU64 {
        &self.slots[(number % self.slots.len() as u64) as usize]
    }

    fn read(&self, number: u64) -> Slot {
        Slot(self.slot(number).load(Acquire))
    }

    /// The lap of a permit: 1 for the first ones, as slots are 0 before.
    fn lap(&self, number: u64) -> u64 {
        (number / self.slots.len() as u64 + 1) & ((1 << LAP_BITS) - 1)
    }
}

/// How many of `n` the predicate holds for, which holds for the first ones.
fn partition(n: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;

    /// A call is admitted, stalls, and goes on when others have filled in what it took, and taken it again.
    #[test]
    fn a_late_finish_changes_nothing() {
        let zero = || AtomicU64::new(0);
        let (head, floor, slots) = (zero(), zero(), [zero(), zero()]);
        let rule = LogRule { limit: 2, window: 10 };
        let ring = Ring { rule, head: &head, floor: &floor, slots: &slots };
        let allowed = |at, cost| matches!(ring.take(at, cost, at * MICROS), Answer::Allowed { .. });

        // As `take` does until it stalls.
        let first = Slot::new(100, ring.lap(0), 1);
        ring.slot(0).store(first.0, Release);
        assert!(!allowed(105, 1), "it counts, for both");
        assert!(allowed(120, 1) && allowed(125, 1));
        let there = [ring.read(0), ring.read(1)];
        ring.finish(0, first);
        assert!(there == [ring.read(0), ring.read(1)]);
        assert_eq!([allowed(131, 1), allowed(131, 1), allowed(135, 1)], [true, false, true]);
    }
}

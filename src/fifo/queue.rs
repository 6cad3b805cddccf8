//! The protocol: how entries are put in, moved and popped.
//!
//! An entry is a number, a slot, and the table's state of its key, which is the number and 1. All that is said of it is the slot's word, and
//! each change of that is one CAS; what the table knows may be out of date, never ahead.
//!
//! ```text
//!            +-> skipped                          by a pop that does not wait
//!   empty ---+                 +-> hole           another push of the key was first, or there is no room
//!            +-> written ------+
//!                              +-> live ----+---> popped
//!                                           +---> removed
//!                                           +---> moved to a later number
//! ```
//!
//! **Push.** Take a number. Fill its slot: *written*. Publish the number in the table, over an entry of the key of which nothing is
//! left; one that lives stays, and the new slot becomes a hole, or it is moved (twin `PublishOver`: a key is there twice). Then *live*:
//! that is when the key is there, and no later. Each step can be done by whoever comes upon it: whoever has seen the number in the table may say
//! live, and before another number of the key is published that has been done.
//!
//! **Move.** First the old slot: *moved to* the new number, by a CAS. It excludes the pop of the old entry (twin `MoveBlindly`: popped twice), and from
//! there on the key is at the new number: who comes upon the old one goes on there. Then the new number is published, and live.
//! The head does not go past the old one before that (twin `PassMoved`: the key is gone for a moment).
//!
//! **Pop.** At the head: what is live becomes *popped*, and who did that has it. What is written is finished (twin `PassWritten`: it is lost). What is empty
//! is closed, if numbers after it have been given out: its push takes another. If it is the last, nothing is there.
//! What is over is passed; the head moves by one, by a CAS, by anyone. So values come in the order of their numbers.
//!
//! **Remove.** What is live becomes *removed*, by a CAS, and who did that has it (twin `RemoveBlindly`: another has it, too). What is on its way to a later
//! number is removed there, once it has arrived. The slot is a hole to ranks. It is not called one: a push whose slot is a hole has been closed, and
//! puts its entry in again (twin `RemoveAsHole`: so what was taken out comes back).
//!
//! **States rise**: a number is only published over lesser ones of its key, and the table's horizon is the head or less. Who finds a later number in
//! the table, or the horizon past its own, has been closed or takes another.
//!
//! **Rank.** The number, then the slot, then the head (twin `HeadFirst`: more before it than there are). The slot was live after the
//! number was read, so the key was there; the head, if it is not past it, says how many were before it at that moment, less the holes.
//!
//! Orderings: what is read goes number, slot, head, all Acquire; what is written goes slot, table, slot, head, all Release. Models:
//! loom-tests/tests/fifo.rs.

use super::{
    entry::{EntryKey, OnPresent, PushRefused, Pushed, Record},
    log::Log,
};
use crate::{
    hash::KeyHash,
    sync::{Look, Number, Run, Wide, epoch::Guard, retry, twin},
    table::{Decision, Full},
};

/// The table, as the queue sees it.
pub(super) trait Keys {
    /// See [`crate::table::Pinned::update`].
    fn update<R>(
        &self,
        hash: KeyHash,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<R, Full>;

    /// The state of a key.
    fn state(&self, hash: KeyHash) -> Option<u64> {
        self.update(hash, |state, _| Decision::Keep(state)).ok().flatten()
    }

    /// The head has come to `head`: states up to that are gone, some time.
    fn passed(&self, head: u64);
}

/// A key as a call brings it: hash, kind, bytes.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) hash: KeyHash,
    pub(super) bytes: (u32, &'a [u8]),
}

pub(super) struct Queue<V: Send + Sync + 'static> {
    pub(super) log: Log<V>,
    pub(super) on_present: OnPresent,
}

/// What is said of a slot that is filled.
pub(super) const WRITTEN: u64 = 0;
pub(super) const LIVE: u64 = 1;
const HOLE: u64 = 2;
const POPPED: u64 = 3;
const REMOVED: u64 = 4;
/// .. and the number to which it was moved.
pub(super) const MOVED: u64 = 5;

/// An entry that is there.
pub(super) struct Found<'g, V> {
    pub(super) number: u64,
    pub(super) record: &'g Record<V>,
}

/// What a number finds that is to be published.
#[derive(Clone, Copy)]
enum Seen {
    Mine,
    /// A later one of the key has been published, or the head is past this one, or it was to be moved and has been popped.
    Later,
    Live(u64),
    /// In the table, but not yet live.
    Written(u64),
    MovedTo(u64),
    /// Another key.
    Foreign,
}

/// How a slot that was filled has ended.
#[derive(Clone, Copy)]
enum Settled {
    /// Live, or what comes after that; whether the key was moved there (which is known to its push).
    Live(bool),
    Closed,
    Present(u64),
    Refused(PushRefused),
}

fn is_hole<V>(run: &Run<Record<V>>, number: u64) -> bool {
    matches!(run.look(number), Some(Look::Filled(HOLE, _)))
}

/// What to do at the head.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Front {
    Look,
    Take,
}

impl<V: Clone + Send + Sync + 'static> Queue<V> {
    pub(super) fn new(log: Log<V>, on_present: OnPresent) -> Queue<V> {
        Queue { log, on_present }
    }

    /// The entry of a key.
    #[inline(always)]
    pub(super) fn find<'g>(
        &'g self,
        keys: &impl Keys,
        key: Named<'_>,
        guard: &'g Guard,
    ) -> Option<Found<'g, V>> {
        let state = keys.state(key.hash)?;
        let (mut number, mut moved) = (state - 1, false);
        loop {
            // What has gone has been popped, or was moved on, and then popped: the table was asked before.
            let Some(Look::Filled(word, record)) = self.log.look(number, guard) else { return None };
            match word {
                LIVE => return record.key.is(key.bytes).then_some(Found { number, record }),
                // Not published as yet, but nothing else can become of it.
                WRITTEN if moved => return record.key.is(key.bytes).then_some(Found { number, record }),
                // Published. Four steps at most.
                WRITTEN => drop(self.log.change(number, WRITTEN, LIVE, guard)),
                HOLE | POPPED | REMOVED => return None,
                to => (number, moved) = (to - MOVED, true),
            }
        }
    }

    /// Puts an entry in.
    #[inline(always)]
    pub(super) fn push(
        &self,
        keys: &impl Keys,
        wide: impl Wide,
        key: Named<'_>,
        mut value: V,
        stamp: u64,
        guard: &Guard,
    ) -> Result<Pushed, PushRefused> {
        loop {
            let (number, has_room) = match self.take(keys, wide, key, stamp, guard) {
                Ok(taken) => taken,
                Err(answer) => return answer,
            };
            let (at, stamp) = (number.value(), number.stamp());
            let (kind, bytes) = key.bytes;
            let record = Record { hash: key.hash, stamp, key: EntryKey::new(kind, bytes), value };
            let run = self.log.open(at, guard).map(|segment| &segment.run);
            let filled = match run {
                Some(run) => run.fill(number, record, WRITTEN).map(|record| (run, record)),
                None => Err(record),
            };
            value = match filled {
                Ok((run, record)) => match self.settle(keys, at, (run, record), has_room, guard) {
                    Settled::Live(false) => return Ok(Pushed::New(at)),
                    Settled::Live(true) => return Ok(Pushed::Moved(at)),
                    Settled::Present(there) => return Ok(Pushed::Present(there)),
                    Settled::Refused(refused) => return Err(refused),
                    // Others may be looking at the one that is there.
                    Settled::Closed => record.value.clone(),
                },
                Err(record) => record.value,
            };
            retry();
        }
    }

    /// A number for a push, and whether there is room for another entry; or its answer.
    #[inline(always)]
    fn take(
        &self,
        keys: &impl Keys,
        wide: impl Wide,
        key: Named<'_>,
        stamp: u64,
        guard: &Guard,
    ) -> Result<(Number, bool), Result<Pushed, PushRefused>> {
        if self.on_present == OnPresent::Keep
            && let Some(found) = self.find(keys, key, guard)
        {
            return Err(Ok(Pushed::Present(found.number)));
        }
        if let Some(number) = self.log.take(wide, stamp, false) {
            return Ok((number, true));
        }
        // What is over may stand at the head, where a removal and a pop went by each other.
        let head = self.log.head();
        self.front(keys, wide, Front::Look, |_| true, guard);
        if self.log.head() > head
            && let Some(number) = self.log.take(wide, stamp, false)
        {
            return Ok((number, true));
        }
        // What is moved takes the room that it has.
        let moves = self.on_present == OnPresent::MoveToTail && self.find(keys, key, guard).is_some();
        let number = moves.then(|| self.log.take(wide, stamp, true)).flatten();
        number.map(|number| (number, false)).ok_or(Err(PushRefused::Full))
    }

    /// Brings a slot that was written to its end. (By its run: the segment may go meanwhile.) Unless it `has_room` only in the place of
    /// another.
    #[inline(always)]
    fn settle(
        &self,
        keys: &impl Keys,
        number: u64,
        (run, record): (&Run<Record<V>>, &Record<V>),
        has_room: bool,
        guard: &Guard,
    ) -> Settled {
        let (mine, mut moved) = (number + 1, false);
        loop {
            let may = has_room || moved;
            let seen = keys.update(record.hash, |state, gone| match state {
                None if mine > gone && may => Decision::Publish(mine, Seen::Mine),
                None => Decision::Keep(Seen::Later),
                Some(state) if state == mine => Decision::Keep(Seen::Mine),
                Some(state) if state > mine => Decision::Keep(Seen::Later),
                Some(state) => match self.at(state - 1, number, record, guard) {
                    Some(seen) => Decision::Keep(seen),
                    None if may => Decision::Publish(mine, Seen::Mine),
                    None => Decision::Keep(Seen::Later),
                },
            });
            match seen {
                Ok(Seen::Mine) => {
                    let live = run.change(number, WRITTEN, LIVE) || !is_hole(run, number);
                    return if live { Settled::Live(moved) } else { Settled::Closed };
                }
                Ok(Seen::Later) => return self.close(run, number, Settled::Closed, moved, guard),
                Ok(Seen::Live(there)) if self.on_present == OnPresent::Keep => {
                    return self.close(run, number, Settled::Present(there), moved, guard);
                }
                Ok(Seen::Live(there)) => {
                    // Only its own push comes here: to others the slot is at the head, or its key has been moved there.
                    if self.log.change(there, LIVE, MOVED + number, guard) {
                        self.log.add_hole(there, guard);
                        moved = true;
                    }
                    moved |= twin!(MoveBlindly);
                }
                Ok(Seen::Written(there)) => drop(self.log.change(there, WRITTEN, LIVE, guard)),
                Ok(Seen::MovedTo(there)) => self.finish(keys, there, guard),
                Ok(Seen::Foreign) => {
                    return self.close(run, number, Settled::Refused(PushRefused::Collision), moved, guard);
                }
                Err(Full) => {
                    return self.close(run, number, Settled::Refused(PushRefused::Full), moved, guard);
                }
            }
        }
    }

    /// What keeps `number` from being published over `there`. `None`: nothing.
    #[cold]
    #[inline(never)]
    fn at(&self, there: u64, number: u64, record: &Record<V>, guard: &Guard) -> Option<Seen> {
        if twin!(PublishOver) {
            return None;
        }
        let Some(Look::Filled(word, other)) = self.log.look(there, guard) else { return None };
        match word {
            LIVE if other.key != record.key => Some(Seen::Foreign),
            LIVE => Some(Seen::Live(there)),
            WRITTEN => Some(Seen::Written(there)),
            HOLE | POPPED | REMOVED => None,
            to if to - MOVED == number => None,
            to => Some(Seen::MovedTo(to - MOVED)),
        }
    }

    /// A slot that was written gets no further. How it has ended: as said, unless another has brought it to life.
    #[cold]
    fn close(
        &self,
        run: &Run<Record<V>>,
        number: u64,
        ended: Settled,
        moved: bool,
        guard: &Guard,
    ) -> Settled {
        if run.change(number, WRITTEN, HOLE) {
            self.log.add_hole(number, guard);
            return ended;
        }
        if is_hole(run, number) { ended } else { Settled::Live(moved) }
    }

    /// Brings another's slot to its end, if it is not.
    #[cold]
    pub(super) fn finish(&self, keys: &impl Keys, number: u64, guard: &Guard) {
        if let Some(run) = self.log.segment(number, guard).map(|segment| &segment.run)
            && let Some(Look::Filled(WRITTEN, record)) = run.look(number)
        {
            self.settle(keys, number, (run, record), true, guard);
        }
    }

    /// The oldest entry that lives, if it is `wanted`; taken out, or only looked at.
    #[inline(always)]
    pub(super) fn front<'g>(
        &'g self,
        keys: &impl Keys,
        wide: impl Wide,
        what: Front,
        wanted: impl Fn(&Record<V>) -> bool,
        guard: &'g Guard,
    ) -> Option<Found<'g, V>> {
        loop {
            let number = self.log.head();
            // After the head: if it is as far as the tail, there was nothing at this moment.
            let tail = self.log.tail(wide);
            if number >= tail {
                return None;
            }
            let look = self.log.look(number, guard);
            if look.is_none() && self.log.head() != number {
                continue;
            }
            match look {
                // The last one that was given out, and its push is not done: nothing was there when the tail was read.
                None | Some(Look::Empty) if tail == number + 1 => return None,
                None | Some(Look::Empty) => drop(self.log.skip(number, guard)),
                Some(Look::Filled(LIVE, record)) => {
                    if !wanted(record) {
                        return None;
                    }
                    if what == Front::Look {
                        return Some(Found { number, record });
                    }
                    if self.log.change(number, LIVE, POPPED, guard) {
                        self.pass(keys, number, false, guard);
                        return Some(Found { number, record });
                    }
                }
                Some(Look::Filled(WRITTEN, _)) if !twin!(PassWritten) => self.finish(keys, number, guard),
                Some(Look::Filled(word, _)) => {
                    if let Some(to) = word.checked_sub(MOVED).filter(|_| !twin!(PassMoved)) {
                        self.finish(keys, to, guard);
                    }
                    self.pass(keys, number, word != POPPED, guard);
                }
                Some(Look::Skipped) => self.pass(keys, number, true, guard),
            }
        }
    }

    /// Takes the entry of a key out, if it is `wanted`.
    pub(super) fn remove<'g>(
        &'g self,
        keys: &impl Keys,
        wide: impl Wide,
        key: Named<'_>,
        wanted: impl Fn(&Record<V>) -> bool,
        guard: &'g Guard,
    ) -> Option<Found<'g, V>> {
        loop {
            let found = self.find(keys, key, guard)?;
            if !wanted(found.record) {
                return None;
            }
            let removed = if twin!(RemoveAsHole) { HOLE } else { REMOVED };
            if self.log.change(found.number, LIVE, removed, guard) || twin!(RemoveBlindly) {
                self.log.add_hole(found.number, guard);
                if self.log.head() == found.number {
                    // The head goes on to what lives.
                    self.front(keys, wide, Front::Look, |_| true, guard);
                }
                return Some(found);
            }
            // It has been moved, or is being moved to where it was found.
            self.finish(keys, found.number, guard);
            retry();
        }
    }

    #[inline(always)]
    fn pass(&self, keys: &impl Keys, number: u64, is_hole: bool, guard: &Guard) {
        if self.log.pass(number, is_hole, guard) {
            keys.passed(number + 1);
        }
    }

    /// How many entries are before a number. `None`: the head is past it.
    #[inline(always)]
    pub(super) fn rank_of(&self, number: u64, guard: &Guard) -> Option<u64> {
        self.ahead(number, self.log.head(), guard)
    }

    #[inline(always)]
    fn ahead(&self, number: u64, head: u64, guard: &Guard) -> Option<u64> {
        let ahead = number.checked_sub(head)?;
        Some(match self.log.holes() {
            0 => ahead,
            _ => ahead.saturating_sub(self.log.holes_between(head, number, guard)),
        })
    }

    /// An entry and how many are before it.
    #[inline(always)]
    pub(super) fn rank<'g>(
        &'g self,
        keys: &impl Keys,
        key: Named<'_>,
        guard: &'g Guard,
    ) -> Option<(Found<'g, V>, u64)> {
        let early = twin!(HeadFirst).then(|| self.log.head());
        let found = self.find(keys, key, guard)?;
        let rank = match early {
            Some(head) => self.ahead(found.number, head, guard)?,
            None => self.rank_of(found.number, guard)?,
        };
        Some((found, rank))
    }

    /// The first entry that lives of those from `number` on, up to the tail.
    pub(super) fn next<'g>(
        &'g self,
        wide: impl Wide,
        mut number: u64,
        guard: &'g Guard,
    ) -> Option<Found<'g, V>> {
        let tail = self.log.tail(wide);
        loop {
            number = number.max(self.log.head());
            if number >= tail {
                return None;
            }
            if let Some(Look::Filled(LIVE, record)) = self.log.look(number, guard) {
                return Some(Found { number, record });
            }
            number += 1;
        }
    }

    /// The entry with so many before it.
    pub(super) fn at_rank<'g>(
        &'g self,
        wide: impl Wide,
        rank: u64,
        guard: &'g Guard,
    ) -> Option<Found<'g, V>> {
        let (head, tail) = (self.log.head(), self.log.tail(wide));
        let number = match self.log.holes() {
            0 => head.checked_add(rank)?,
            _ => self.log.nth(head, tail, rank, guard)?,
        };
        self.next(wide, number, guard)
    }

    /// The entry with a number, if it lives.
    pub(super) fn entry<'g>(&'g self, number: u64, guard: &'g Guard) -> Option<&'g Record<V>> {
        match self.log.look(number, guard) {
            Some(Look::Filled(LIVE, record)) => Some(record),
            _ => None,
        }
    }

    /// How many entries have a stamp less than this.
    pub(super) fn count_before(&self, wide: impl Wide, stamp: u64, guard: &Guard) -> u64 {
        let (mut from, mut to) = (self.log.head(), self.log.tail(wide));
        loop {
            // (It may have passed them meanwhile.)
            from = from.max(self.log.head());
            if from >= to {
                break;
            }
            let middle = from + (to - from) / 2;
            // Of those without a stamp it is that of the next.
            let with = (middle..to).find_map(|number| match self.log.look(number, guard) {
                Some(Look::Filled(_, record)) => Some((number, record.stamp)),
                _ => None,
            });
            match with {
                Some((number, at)) if at < stamp => from = number + 1,
                _ => to = middle,
            }
        }
        self.rank_of(from, guard).unwrap_or(0)
    }
}

//! The bytes of keys and values: put into segments one after another, given back segment by segment. Nothing is allocated
//! or freed for a single one.
//!
//! **Shape.** States are divided into *slices* of `2^shift`; each slice has a *segment*, in a ring of slots (slot = slice modulo the
//! ring's length). A segment has 8 *shards*, so that threads do not meet; a shard is a linear space of 8-byte words, in *chunks* that are
//! allocated as the space is taken: four of 4 KiB, four of 8 KiB, and so on. A *record* is one word (length, label) and the bytes,
//! in whole words. A [`Reference`] is 32 bits, shard and address; which slice it belongs to is told by the state that stands beside it.
//!
//! **Going.** A segment is let go as a whole, through the epoch, when the horizon has passed its slice's last state, or when a later
//! slice needs its slot. **One rule carries it: the slice number in a slot only rises.** A lookup compares it, so a reference
//! whose segment has gone is recognised and never followed. What is let go leaves its number behind: else a call that is late could bring the
//! slice back, and old references would point to new bytes. (Twins `IgnoreSlice`, `ForgetSlice`.)
//!
//! **Guarantees.** Any reference may be asked for, with any slice: the answer is then "gone", or that these are not the bytes. A
//! reference that [`Arena::put`] gave, and that came by a release and an acquire (a cell of the table), is found until its segment goes.
//! Calls that hold a [`Guard`] may go on reading a segment that has gone meanwhile. Lock-free but for the system's allocator: a range
//! is taken by one CAS on the shard's cursor, which fails only because another thread's succeeded (twin `CursorByStore`).
//!
//! **Memory**: a 16-byte key takes 24 bytes; in general 8, and the length rounded up to 8. On top of that comes
//!
//! - what the last chunk of a shard has left: at most 4 KiB, or a third of the shard; from 256 KiB on little more than a fifth
//!   (a record for which that is too short asks for a chunk of up to twice its size);
//! - what a chunk has left when the next record does not fit: less than that record. Short keys lose next to nothing;
//! - uncharged, 9 KiB for each segment.
//!
//! Chunks are charged to the budget when they are allocated and given back when they are freed: when the epoch has moved on, which is
//! some calls after [`Arena::retire`]. So a budget needs room for a slice or two more than are alive. From 2 MiB on (a shard that has taken 8 MiB)
//! chunks ask for huge pages. Where all chunks together take 16 MiB and there may be 32 more, those of up to 1 MiB are cut from
//! regions of 2 MiB, which ask for huge pages and come back when all that was cut from them has. Else they are what the allocator gives.
//!
//! **Limits**: [`Arena::MAX_LEN`] bytes in a record; 2.5 GiB in a shard, 20 in a segment; the slices that are above the horizon at one time must
//! not be more than the ring has slots, else the later one wins and the earlier is gone before its time.

mod memory;
mod place;
mod record;
mod segment;

#[cfg(windlass_loom)]
pub(crate) mod model;
#[cfg(all(test, not(windlass_loom)))]
mod speed;
#[cfg(all(test, not(windlass_loom)))]
mod tests;

use crate::sync::{
    Budget,
    epoch::{Guard, Link},
    prefetch, retry, twin,
};
use memory::Memory;
use record::{Head, Word};
use segment::Segment;
use std::{cell::Cell, ptr, sync::Arc};

/// Records in segments, one for each slice of states. Shared by all threads.
pub(crate) struct Arena {
    /// A power of two of them.
    ring: Box<[Link<Segment>]>,
    shift: u32,
    memory: Memory,
}

/// Where a record lies in the segment of its slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reference(pub(crate) u32);

/// Words that are taken at a time for several records: 32 of 16 bytes.
const AHEAD: usize = 96;

/// Room taken ahead by one thread: see [`Arena::put_ahead`].
#[derive(Default)]
pub(crate) struct Ahead<'g> {
    /// Where it was taken, and the reference of its first word.
    from: Cell<Option<(&'g Segment, u32)>>,
    /// What is left of it.
    left: Cell<&'g [Word]>,
    puts: Cell<u64>,
}

/// Why a record was not put. Nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(windlass_loom), allow(unreachable_pub))] // models name it
pub enum NotPut {
    /// More than [`Arena::MAX_LEN`] bytes.
    TooLong,
    /// No memory may be had, or the segment is full.
    NoRoom,
    /// The slice is over: let go, or its slot taken by a later one. Or what was to be carried has gone.
    Gone,
}

/// Asks for what will be written soon, behind `room`. Where a record is written to memory that has to come from afar, the exchange that
/// publishes it waits for that.
#[inline(always)]
fn soon(room: &[Word]) {
    prefetch(room.as_ptr().wrapping_add(SOON));
}

/// Words: four lines.
const SOON: usize = 32;

impl Arena {
    pub(crate) const MAX_LEN: usize = Head::MAX_LEN;

    /// For slices of `2^shift` states (`shift` below 64), of which at most `alive` have states above the horizon at one time.
    pub(crate) fn new(shift: u32, alive: usize, budget: &Arc<Budget>) -> Arena {
        let slots = alive.max(1).next_power_of_two();
        let ring = (0..slots).map(|_| Link::none()).collect();
        Arena { ring, shift: shift % u64::BITS, memory: Memory::new(budget) }
    }

    /// The slice of a state.
    #[inline(always)]
    pub(crate) fn slice(&self, state: u64) -> u64 {
        state >> self.shift
    }

    /// Puts a record into the slice's segment. `label` is compared along with the bytes.
    #[inline(always)]
    pub(crate) fn put(
        &self,
        slice: u64,
        label: u32,
        bytes: &[u8],
        guard: &Guard,
    ) -> Result<Reference, NotPut> {
        let head = Head::new(label, bytes.len()).ok_or(NotPut::TooLong)?;
        let (at, room) = self.take(slice, head.words(), guard)?;
        record::write(room, head, bytes);
        soon(room);
        Ok(at)
    }

    /// .. of a number and bytes. (Its own bytes are the number's, little endian, and those.)
    pub(crate) fn put_two(
        &self,
        slice: u64,
        label: u32,
        number: u64,
        bytes: &[u8],
        guard: &Guard,
    ) -> Result<Reference, NotPut> {
        let head = Head::new(label, bytes.len().saturating_add(8)).ok_or(NotPut::TooLong)?;
        let (at, room) = self.take(slice, head.words(), guard)?;
        record::write_two(room, head, number, bytes);
        Ok(at)
    }

    /// The same for one of several records by one thread: most of them into room that was taken with the first. Under one guard, and
    /// with [`Arena::give_back`] in the end.
    #[inline(always)]
    pub(crate) fn put_ahead<'g>(
        &'g self,
        ahead: &Ahead<'g>,
        slice: u64,
        label: u32,
        bytes: &[u8],
        guard: &'g Guard,
    ) -> Result<Reference, NotPut> {
        let head = Head::new(label, bytes.len()).ok_or(NotPut::TooLong)?;
        if let Some((from, first)) = ahead.from.get()
            && from.slice == slice
            && let Some((room, left)) = ahead.left.get().split_at_checked(head.words())
            // Not let go meanwhile.
            && self.slot(slice).get(guard).is_some_and(|segment| ptr::eq(segment, from))
        {
            #[allow(clippy::cast_possible_truncation)] // no more than AHEAD
            let at = first + (AHEAD - room.len() - left.len()) as u32;
            record::write(room, head, bytes);
            soon(left);
            ahead.left.set(left);
            ahead.puts.set(ahead.puts.get() + 1);
            return Ok(Reference(at));
        }
        self.put_anew(ahead, slice, head, bytes, guard)
    }

    /// .. where more room has to be taken: for several records, or for this one alone if it is too long, or there is not so much.
    #[cold]
    #[inline(never)]
    fn put_anew<'g>(
        &'g self,
        ahead: &Ahead<'g>,
        slice: u64,
        head: Head,
        bytes: &[u8],
        guard: &'g Guard,
    ) -> Result<Reference, NotPut> {
        self.give_back(ahead);
        let words = head.words();
        if words <= AHEAD
            && let Ok((segment, at, room)) = self.take_in(slice, AHEAD, guard)
        {
            record::write(room, head, bytes);
            ahead.from.set(Some((segment, at.0)));
            ahead.left.set(&room[words..]);
            ahead.puts.set(1);
            return Ok(at);
        }
        let (at, room) = self.take(slice, words, guard)?;
        record::write(room, head, bytes);
        Ok(at)
    }

    /// Gives back what is left of the room that was taken ahead.
    #[allow(clippy::cast_possible_truncation)] // no more than AHEAD
    pub(crate) fn give_back(&self, ahead: &Ahead<'_>) {
        let left = ahead.left.take().len();
        if let Some((segment, first)) = ahead.from.take() {
            segment.give_back(Reference(first + AHEAD as u32), left as u32, ahead.puts.take());
        }
    }

    /// Whether these are the record's label and bytes. `None`: it has gone.
    #[inline(always)]
    pub(crate) fn holds(
        &self,
        slice: u64,
        at: Reference,
        label: u32,
        bytes: &[u8],
        guard: &Guard,
    ) -> Option<bool> {
        let words = self.words(slice, at, guard)?;
        Some(Head::new(label, bytes.len()).is_some_and(|head| record::is(words, head, bytes)))
    }

    /// Whether two records have one label and the same bytes, each in its slice. `None`: one of them has gone.
    pub(crate) fn same(&self, a: (u64, Reference), b: (u64, Reference), guard: &Guard) -> Option<bool> {
        let (a, b) = (self.words(a.0, a.1, guard)?, self.words(b.0, b.1, guard)?);
        Some(record::same(a, b))
    }

    /// Whether the record has not gone.
    pub(crate) fn is_there(&self, slice: u64, at: Reference, guard: &Guard) -> bool {
        self.words(slice, at, guard).is_some()
    }

    /// Replaces what is in `out` with the record's bytes, and gives its label. `None`: it has gone.
    pub(crate) fn read(&self, slice: u64, at: Reference, out: &mut Vec<u8>, guard: &Guard) -> Option<u32> {
        let (head, record) = record::whole(self.words(slice, at, guard)?)?;
        Some(record::read(head, record, out))
    }

    /// The number of one that was put by [`Arena::put_two`]. `None`: it has gone.
    pub(crate) fn number(&self, slice: u64, at: Reference, guard: &Guard) -> Option<u64> {
        record::number(self.words(slice, at, guard)?)
    }

    /// Puts the record into the segment of another slice as well: for an entry whose state has risen. Within one slice it stays
    /// where it is.
    pub(crate) fn carry(
        &self,
        from: u64,
        at: Reference,
        to: u64,
        guard: &Guard,
    ) -> Result<Reference, NotPut> {
        let found = self.words(from, at, guard).and_then(record::whole);
        let (head, record) = found.ok_or(NotPut::Gone)?;
        if from == to {
            return Ok(at);
        }
        let (at, room) = self.take(to, head.words(), guard)?;
        record::copy(record, room);
        Ok(at)
    }

    /// Asks for a record of up to 32 bytes that will be compared soon.
    #[inline]
    pub(crate) fn prefetch(&self, slice: u64, at: Reference, guard: &Guard) {
        if let Some(words) = self.words(slice, at, guard) {
            prefetch(words.as_ptr());
            // It may end on the next line.
            prefetch(words.as_ptr().wrapping_add(4));
        }
    }

    /// A record of the slice is nobody's any more, or (`back`) somebody's again. Whether the slice is there.
    #[cold]
    #[inline(never)]
    pub(crate) fn orphan(&self, slice: u64, back: bool, guard: &Guard) -> bool {
        let segment = self.segments(guard).find(|segment| segment.slice == slice);
        segment.inspect(|segment| segment.orphan(back)).is_some()
    }

    /// Lets go of the segments that the horizon has passed. How many.
    pub(crate) fn retire(&self, horizon: u64, guard: &Guard) -> usize {
        let retire = |slot: &&Link<Segment>| {
            let Some(segment) = slot.get(guard).filter(|segment| !segment.is_gone()) else { return false };
            // The number stays, so that the slice does not come back.
            let number = (!twin!(ForgetSlice)).then(|| Segment::gone(segment.slice));
            self.last_state(segment.slice) <= horizon && slot.exchange(Some(segment), number, guard).is_ok()
        };
        let count = self.ring.iter().filter(retire).count();
        self.memory.trim();
        count
    }

    /// The oldest segment's last state, and how many records there are somebody's.
    pub(crate) fn oldest(&self, guard: &Guard) -> Option<(u64, u64)> {
        let segment = self.segments(guard).min_by_key(|segment| segment.slice)?;
        Some((self.last_state(segment.slice), segment.entries()))
    }

    /// States of a slice.
    pub(crate) fn length(&self) -> u64 {
        1 << self.shift
    }

    /// Bytes of all chunks; not of those that were let go and wait for the epoch.
    pub(crate) fn bytes(&self, guard: &Guard) -> u64 {
        self.segments(guard).map(|segment| segment.bytes(guard)).sum()
    }

    fn segments<'g>(&'g self, guard: &'g Guard) -> impl Iterator<Item = &'g Segment> {
        self.ring.iter().filter_map(|slot| slot.get(guard)).filter(|segment| !segment.is_gone())
    }

    fn last_state(&self, slice: u64) -> u64 {
        slice << self.shift | ((1 << self.shift) - 1)
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // the low bits
    fn slot(&self, slice: u64) -> &Link<Segment> {
        &self.ring[slice as usize & (self.ring.len() - 1)]
    }

    #[inline(always)]
    fn words<'g>(&'g self, slice: u64, at: Reference, guard: &'g Guard) -> Option<&'g [Word]> {
        let segment = self.slot(slice).get(guard)?;
        if segment.slice != slice && !twin!(IgnoreSlice) {
            return None;
        }
        segment.words(at, guard)
    }

    /// A range of so many words.
    #[inline(always)]
    fn take<'g>(
        &'g self,
        slice: u64,
        words: usize,
        guard: &'g Guard,
    ) -> Result<(Reference, &'g [Word]), NotPut> {
        self.take_in(slice, words, guard).map(|(_, at, room)| (at, room))
    }

    /// .. and in which segment.
    #[inline(always)]
    fn take_in<'g>(
        &'g self,
        slice: u64,
        words: usize,
        guard: &'g Guard,
    ) -> Result<(&'g Segment, Reference, &'g [Word]), NotPut> {
        let segment = match self.slot(slice).get(guard) {
            Some(segment) if segment.slice == slice => segment,
            _ => self.open(slice, guard).ok_or(NotPut::Gone)?,
        };
        let none = || if segment.is_gone() { NotPut::Gone } else { NotPut::NoRoom };
        let (at, room) = segment.take(words, &self.memory, guard).ok_or_else(none)?;
        Ok((segment, at, room))
    }

    /// The slice's segment, in the place of an older one. `None`: a later one is there.
    #[cold]
    #[inline(never)]
    fn open<'g>(&'g self, slice: u64, guard: &'g Guard) -> Option<&'g Segment> {
        let slot = self.slot(slice);
        loop {
            let present = slot.get(guard);
            match present {
                Some(segment) if segment.slice == slice => return present,
                Some(segment) if segment.slice > slice => return None,
                _ => {}
            }
            if slot.exchange(present, Some(Segment::new(slice)), guard).is_err() {
                retry(); // another thread's came first
            }
        }
    }
}

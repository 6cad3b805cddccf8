//! One slice's segment: shards, each a linear space of words of which ranges are handed out; its chunks come as they are needed.

use super::{
    Reference,
    memory::{Chunk, Memory},
    place::{self, CHUNKS, PLACE_BITS, Place},
    record::Word,
};
use crate::sync::{
    AtomicU64, CachePadded,
    Ordering::Relaxed,
    epoch::{Guard, Link},
    retry, shard, twin,
};
use std::array;

/// A thread writes to its own shard, as long as there are no more threads than that.
const SHARDS: usize = if cfg!(windlass_loom) { 2 } else { 8 };

const _: () = assert!(SHARDS.ilog2() + PLACE_BITS <= u32::BITS);

pub(super) struct Segment {
    pub(super) slice: u64,
    /// Records that are nobody's any more, of those that were put here. Relaxed: a count.
    orphans: AtomicU64,
    /// None: let go.
    shards: Option<Box<[Shard; SHARDS]>>,
}

impl Segment {
    pub(super) fn new(slice: u64) -> Segment {
        Segment {
            slice,
            orphans: AtomicU64::new(0),
            shards: Some(Box::new(array::from_fn(|_| Shard::new()))),
        }
    }

    /// What remains of a slice that was let go: its number.
    pub(super) fn gone(slice: u64) -> Segment {
        Segment { slice, orphans: AtomicU64::new(0), shards: None }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.shards.is_none()
    }

    /// A range of that many words, all 0. `None`: no room.
    #[inline(always)]
    pub(super) fn take<'g>(
        &'g self,
        words: usize,
        memory: &Memory,
        guard: &'g Guard,
    ) -> Option<(Reference, &'g [Word])> {
        if self.is_gone() {
            return None;
        }
        let mine = shard() % SHARDS;
        match self.take_from(mine, words, memory, guard) {
            None => self.take_anywhere(mine, words, memory, guard),
            taken => taken,
        }
    }

    /// For a shard that gets no more memory: what the others have left.
    #[cold]
    #[inline(never)]
    fn take_anywhere<'g>(
        &'g self,
        first: usize,
        words: usize,
        memory: &Memory,
        guard: &'g Guard,
    ) -> Option<(Reference, &'g [Word])> {
        let shards = (first..first + SHARDS).map(|shard| shard % SHARDS);
        memory.look(|| shards.clone().find_map(|shard| self.take_from(shard, words, memory, guard)))
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // shard < SHARDS
    fn take_from<'g>(
        &'g self,
        shard: usize,
        words: usize,
        memory: &Memory,
        guard: &'g Guard,
    ) -> Option<(Reference, &'g [Word])> {
        let (place, room) = self.shards.as_deref()?[shard].take(words, memory, guard)?;
        Some((Reference((shard as u32) << PLACE_BITS | place.0), room))
    }

    /// Takes back what is left of a range, if nothing was taken behind it since, and counts what was put there.
    pub(super) fn give_back(&self, end: Reference, left: u32, puts: u64) {
        let shard = (end.0 >> PLACE_BITS) as usize;
        if let Some(shard) = self.shards.as_deref().and_then(|shards| shards.get(shard)) {
            shard.give_back(Place(end.0 & ((1 << PLACE_BITS) - 1)), left, puts);
        }
    }

    /// The words from `at` to the end of its chunk. `None` if it was never handed out, or all is gone.
    #[inline(always)]
    pub(super) fn words<'g>(&'g self, at: Reference, guard: &'g Guard) -> Option<&'g [Word]> {
        let shard = self.shards.as_deref()?.get((at.0 >> PLACE_BITS) as usize)?;
        shard.words(Place(at.0 & ((1 << PLACE_BITS) - 1)), guard)
    }

    /// Leaves so many words in the last chunk of each shard, as if the rest had been taken.
    #[cfg(all(test, not(windlass_loom)))]
    pub(super) fn fill_but(&self, words: u32) {
        for shard in self.shards.iter().flat_map(|shards| shards.iter()) {
            shard.cursor.store((1 << PLACE_BITS) - u64::from(words), Relaxed);
        }
    }

    /// How many records there are that are somebody's.
    pub(super) fn entries(&self) -> u64 {
        let shards = self.shards.iter().flat_map(|shards| shards.iter());
        let all: u64 = shards.map(|shard| shard.cursor.load(Relaxed) / ENTRY).sum();
        all.saturating_sub(self.orphans.load(Relaxed))
    }

    /// One record less, or (`back`) one more.
    pub(super) fn orphan(&self, back: bool) {
        self.orphans.fetch_add(if back { u64::MAX } else { 1 }, Relaxed);
    }

    /// Bytes of all chunks.
    pub(super) fn bytes(&self, guard: &Guard) -> u64 {
        let shards = self.shards.iter().flat_map(|shards| shards.iter());
        let chunks = shards.flat_map(|shard| &shard.chunks).filter_map(|chunk| chunk.get(guard));
        chunks.map(|chunk| size_of_val::<[Word]>(chunk) as u64).sum()
    }
}

struct Shard {
    /// Where the next range begins, and above that how many there were. On a line of its own: lookups do not read it.
    ///
    /// Relaxed: it gives each range to one thread, and orders nothing. Only that thread writes to the range, and what is read from it
    /// comes by way of the cell. Model: loom-tests/tests/arena.rs.
    cursor: CachePadded<AtomicU64>,
    /// Each is opened once and then stays.
    chunks: [Link<Chunk>; CHUNKS],
}

/// One range in a cursor.
const ENTRY: u64 = 1 << 32;

impl Shard {
    fn new() -> Shard {
        Shard { cursor: CachePadded::new(AtomicU64::new(0)), chunks: array::from_fn(|_| Link::none()) }
    }

    #[inline(always)]
    fn words<'g>(&'g self, from: Place, guard: &'g Guard) -> Option<&'g [Word]> {
        self.chunks.get(from.chunk())?.get(guard)?.get(from.offset()..)
    }

    /// The chunk comes before the range: where there is no memory for it, no range is lost and none counted.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // a cursor's low half
    fn take<'g>(&'g self, words: usize, memory: &Memory, guard: &'g Guard) -> Option<(Place, &'g [Word])> {
        let mut cursor = self.cursor.load(Relaxed);
        loop {
            let next = Place(cursor as u32);
            let (place, room) = match self.words(next, guard).and_then(|rest| rest.get(..words)) {
                Some(room) => (next, room),
                None => self.open(next, words, memory, guard)?,
            };
            let taken = (cursor / ENTRY + 1) * ENTRY + u64::from(place.behind(words).0);
            if twin!(CursorByStore) {
                self.cursor.store(taken, Relaxed);
                return Some((place, room));
            }
            match self.cursor.compare_exchange(cursor, taken, Relaxed, Relaxed) {
                Ok(_) => return Some((place, room)),
                Err(other) => cursor = other,
            }
            retry();
        }
    }

    /// See [`Segment::give_back`]. A range counts as one record when it is taken.
    #[allow(clippy::cast_possible_truncation)] // a cursor's low half
    fn give_back(&self, end: Place, left: u32, puts: u64) {
        let cursor = self.cursor.load(Relaxed);
        let more = puts.saturating_sub(1) * ENTRY;
        let fewer = cursor.wrapping_add(more).wrapping_sub(u64::from(left));
        let is_last = cursor as u32 == end.0;
        if !is_last || self.cursor.compare_exchange(cursor, fewer, Relaxed, Relaxed).is_err() {
            self.cursor.fetch_add(more, Relaxed);
        }
    }

    /// Room in a chunk of zeros, this thread's or another's.
    #[cold]
    #[inline(never)]
    fn open<'g>(
        &'g self,
        from: Place,
        words: usize,
        memory: &Memory,
        guard: &'g Guard,
    ) -> Option<(Place, &'g [Word])> {
        let place = from.with_room(words)?;
        let chunk = &self.chunks[place.chunk()];
        if chunk.get(guard).is_none() {
            // If another thread's came first, this one goes.
            memory.open(place::len(place.chunk()), |new| drop(chunk.exchange(None, Some(new), guard)));
        }
        Some((place, self.words(place, guard)?.get(..words)?))
    }
}

//! Where entries are: numbers, and segments of slots for them, in a ring.
//!
//! Number n is in slot n mod S of segment n / S, and that in place (n / S) mod R of the ring. When the head has passed a segment it
//! goes as a whole, through the epoch, and leaves its number behind, in a segment without slots: else a push that has stalled would open it
//! once more, and put its entry where nobody looks (twin `ForgetSegment`). Numbers are only given out as long as there is a place in the
//! ring for their segment.
//!
//! *Holes* are numbers between head and tail that are nobody's any more. Each segment has a bit for each of its slots, and their sum; so the
//! holes between two numbers are two popcounts, and a sum over segments. As long as there are none, one word says so.

use super::entry::Record;
use crate::{
    mem::filled,
    sync::{
        AtomicU64, Budget, CachePadded, Look, Number, Numbers,
        Ordering::{AcqRel, Acquire, Relaxed},
        Run, Share, Wide,
        epoch::{Guard, Link},
        prefetch, twin,
    },
};
use std::sync::Arc;

pub(super) struct Log<V: Send + Sync + 'static> {
    ring: Box<[Link<Segment<V>>]>,
    /// A segment has 2^bits slots.
    bits: u32,
    pub(super) capacity: u64,
    /// The number of the oldest entry. On a line of its own: every rank reads it.
    head: CachePadded<AtomicU64>,
    tail: CachePadded<Numbers>,
    /// Holes between head and tail. Relaxed: a count, which may be behind by the calls under way, and for them fall below 0; never ahead.
    holes: CachePadded<AtomicU64>,
    /// Of segments, also of those that wait until calls under way have ended.
    memory: Arc<Budget>,
}

pub(super) struct Segment<V> {
    pub(super) run: Run<Record<V>>,
    /// A bit for each hole, and how many there are. Relaxed: counts.
    bitmap: Box<[AtomicU64]>,
    holes: AtomicU64,
    /// Given back when it is freed. None: it is gone, or there was no more when it had to be opened.
    _memory: Option<Share>,
}

impl<V> Segment<V> {
    fn new(first: u64, slots: usize, memory: Option<Share>) -> Segment<V> {
        let words = (0..slots.div_ceil(64)).map(|_| AtomicU64::new(0));
        Segment {
            run: Run::new(first, slots),
            bitmap: words.collect(),
            holes: AtomicU64::new(0),
            _memory: memory,
        }
    }

    /// How many of the slots `from..to` are holes.
    fn holes(&self, from: u64, to: u64) -> u64 {
        let all = self.holes.load(Relaxed);
        if all == 0 || to - from == (self.bitmap.len() * 64) as u64 {
            return all;
        }
        words(from, to)
            .map(|(i, mask)| self.bitmap.get(i).map_or(0, |word| (word.load(Relaxed) & mask).count_ones()))
            .map(u64::from)
            .sum()
    }

    /// The slot of the `n`-th that is no hole, of those from `from` on; or how many there are.
    fn nth(&self, from: u64, slots: u64, mut n: u64) -> Result<u64, u64> {
        let mut before = 0;
        for (i, mask) in words(from, slots) {
            let mut live = !self.bitmap.get(i).map_or(0, |word| word.load(Relaxed)) & mask;
            let there = u64::from(live.count_ones());
            if n < there {
                while n > 0 {
                    live &= live - 1;
                    n -= 1;
                }
                return Ok(i as u64 * 64 + u64::from(live.trailing_zeros()));
            }
            n -= there;
            before += there;
        }
        Err(before)
    }
}

/// The words of a bitmap with bits of `from..to`, and a mask of these.
#[allow(clippy::cast_possible_truncation)] // slots of a segment
fn words(from: u64, to: u64) -> impl Iterator<Item = (usize, u64)> {
    (from / 64..to.div_ceil(64)).map(move |i| {
        let low = u64::MAX << from.saturating_sub(i * 64);
        let high = u64::MAX >> (i * 64 + 64).saturating_sub(to);
        (i as usize, low & high)
    })
}

impl<V: Send + Sync + 'static> Log<V> {
    /// For so many segments. `None` if there is no memory for it.
    pub(super) fn ring(segments: usize) -> Option<Box<[Link<Segment<V>>]>> {
        filled(segments, Link::none)
    }

    /// `ring`: a power of two of segments, 2 at least. `memory`: bytes of segments.
    pub(super) fn new(bits: u32, ring: Box<[Link<Segment<V>>]>, capacity: u64, memory: u64) -> Log<V> {
        Log {
            memory: Budget::new(memory),
            ring,
            bits,
            capacity,
            head: CachePadded::new(AtomicU64::new(0)),
            tail: CachePadded::new(Numbers::new()),
            holes: CachePadded::new(AtomicU64::new(0)),
        }
    }

    /// Of one that is empty: the next number.
    pub(super) fn begin_at(&mut self, number: u64) {
        self.head = CachePadded::new(AtomicU64::new(number));
        self.tail = CachePadded::new(Numbers::from(number));
    }

    /// Bytes of a segment.
    pub(super) fn segment_bytes(bits: u32) -> u64 {
        let slots = 1 << bits;
        Run::<Record<V>>::bytes(slots) + slots as u64 / 8 + size_of::<Segment<V>>() as u64
    }

    /// .. and of a ring of so many.
    pub(super) fn ring_bytes(ring: usize) -> u64 {
        (ring * size_of::<Link<Segment<V>>>()) as u64
    }

    /// Acquire; pairs with the release of `pass`: what was popped before is seen.
    #[inline(always)]
    pub(super) fn head(&self) -> u64 {
        self.head.load(Acquire)
    }

    #[inline(always)]
    pub(super) fn tail(&self, wide: impl Wide) -> u64 {
        self.tail.next(wide)
    }

    /// Holes between head and tail.
    #[inline(always)]
    pub(super) fn holes(&self) -> u64 {
        u64::try_from(self.holes.load(Relaxed).cast_signed()).unwrap_or(0)
    }

    pub(super) fn len(&self, wide: impl Wide) -> u64 {
        let head = self.head();
        (self.tail(wide) - head).saturating_sub(self.holes())
    }

    /// The next number, if there is room. `moves`: it is for an entry that is there, and has room.
    #[inline(always)]
    pub(super) fn take(&self, wide: impl Wide, stamp: u64, moves: bool) -> Option<Number> {
        self.tail.take(wide, stamp, |next| {
            // The head before the holes: there are never fewer than it is told.
            let head = self.head();
            // (It may have passed `next` meanwhile; then another has taken that.)
            let live = next.saturating_sub(head).saturating_sub(self.holes());
            let ahead = (next >> self.bits).saturating_sub(head >> self.bits);
            let room = (moves || live < self.capacity) && ahead < self.ring.len() as u64 - 1;
            // A number in a segment that may have to be opened, and one that has been given out before.
            room && self.memory.left() >= 2 * Self::segment_bytes(self.bits)
        })
    }

    #[inline(always)]
    fn link(&self, number: u64) -> &Link<Segment<V>> {
        #[allow(clippy::cast_possible_truncation)] // less than the ring's length
        &self.ring[(number >> self.bits) as usize & (self.ring.len() - 1)]
    }

    /// The segment of a number. `None`: it has gone, or is not there yet.
    #[inline(always)]
    pub(super) fn segment<'g>(&'g self, number: u64, guard: &'g Guard) -> Option<&'g Segment<V>> {
        let segment = self.link(number).get(guard)?;
        (segment.run.first() == self.first(number) && !segment.run.is_gone()).then_some(segment)
    }

    /// The first number of a number's segment.
    fn first(&self, number: u64) -> u64 {
        number >> self.bits << self.bits
    }

    /// The segment of a number that has been given out. `None`: it has gone.
    #[inline(always)]
    pub(super) fn open<'g>(&'g self, number: u64, guard: &'g Guard) -> Option<&'g Segment<V>> {
        self.segment(number, guard).or_else(|| self.open_new(number, guard))
    }

    #[cold]
    #[inline(never)]
    fn open_new<'g>(&'g self, number: u64, guard: &'g Guard) -> Option<&'g Segment<V>> {
        let (link, first) = (self.link(number), self.first(number));
        loop {
            let old = link.get(guard);
            match old {
                Some(segment) if segment.run.first() == first => {
                    return Some(segment).filter(|segment| !segment.run.is_gone());
                }
                Some(segment) if segment.run.first() > first => return None,
                // What was here has been passed, since its place was given out again.
                _ => {
                    let memory = self.memory.take(Self::segment_bytes(self.bits));
                    let _ = link.exchange(old, Some(Segment::new(first, 1 << self.bits, memory)), guard);
                }
            }
        }
    }

    /// Asks for the slot of a number.
    #[inline(always)]
    pub(super) fn prefetch(&self, number: u64, guard: &Guard) {
        if let Some(at) = self.segment(number, guard).and_then(|segment| segment.run.address(number)) {
            prefetch(at);
        }
    }

    /// What is in the slot of a number. `None`: it has gone, or is not there yet.
    #[inline(always)]
    pub(super) fn look<'g>(&'g self, number: u64, guard: &'g Guard) -> Option<Look<'g, Record<V>>> {
        self.segment(number, guard)?.run.look(number)
    }

    /// See [`Run::change`].
    #[inline(always)]
    pub(super) fn change(&self, number: u64, from: u64, to: u64, guard: &Guard) -> bool {
        self.segment(number, guard).is_some_and(|segment| segment.run.change(number, from, to))
    }

    /// Closes an empty slot. Whether it was this call that did.
    pub(super) fn skip(&self, number: u64, guard: &Guard) -> bool {
        let done = self.open(number, guard).is_some_and(|segment| segment.run.skip(number));
        if done {
            self.add_hole(number, guard);
        }
        done
    }

    /// By who has made the number a hole.
    #[cold]
    pub(super) fn add_hole(&self, number: u64, guard: &Guard) {
        if let Some(segment) = self.segment(number, guard) {
            let slot = number - segment.run.first();
            #[allow(clippy::cast_possible_truncation)] // slots of a segment
            segment.bitmap[(slot / 64) as usize].fetch_or(1 << (slot % 64), Relaxed);
            segment.holes.fetch_add(1, Relaxed);
        }
        self.holes.fetch_add(1, Relaxed);
    }

    /// Moves the head past a number of which nothing is left. Whether it was this call that did.
    #[inline(always)]
    pub(super) fn pass(&self, number: u64, is_hole: bool, guard: &Guard) -> bool {
        // Before the head, so that no room is taken for it twice: who sees the head there sees a hole less.
        if is_hole {
            self.holes.fetch_sub(1, Relaxed);
        }
        // Release: who sees the head there sees that all before it is over.
        if self.head.compare_exchange(number, number + 1, AcqRel, Acquire).is_err() {
            if is_hole {
                self.holes.fetch_add(1, Relaxed);
            }
            return false;
        }
        if self.first(number + 1) > number {
            self.let_go(number, guard);
        }
        true
    }

    /// Lets go of the segment of a number that was its last.
    #[cold]
    #[inline(never)]
    fn let_go(&self, number: u64, guard: &Guard) {
        let Some(segment) = self.segment(number, guard) else { return };
        let rest = (!twin!(ForgetSegment)).then(|| Segment::new(self.first(number), 0, None));
        // (Nobody else takes it out: who needs its place finds the head past it.)
        let _ = self.link(number).exchange(Some(segment), rest, guard);
    }

    /// Segments there are.
    pub(super) fn segments(&self, guard: &Guard) -> u64 {
        let there = self.ring.iter().filter_map(|link| link.get(guard));
        there.filter(|segment| !segment.run.is_gone()).count() as u64
    }

    pub(super) fn bytes(&self) -> u64 {
        Self::ring_bytes(self.ring.len()) + self.memory.used()
    }

    /// How many of the numbers `from..to` are holes. (Of a segment that has gone meanwhile all.)
    #[cold]
    #[inline(never)]
    pub(super) fn holes_between(&self, from: u64, to: u64, guard: &Guard) -> u64 {
        self.pieces(from, to)
            .map(|(first, from, to)| {
                let there = self.segment(first, guard);
                let gone = || if self.head() > first { to - from } else { 0 };
                there.map_or_else(gone, |segment| segment.holes(from, to).min(to - from))
            })
            .sum()
    }

    /// The number of the `n`-th of the numbers `from..to` that is no hole.
    pub(super) fn nth(&self, from: u64, to: u64, mut n: u64, guard: &Guard) -> Option<u64> {
        for (first, from, to) in self.pieces(from, to) {
            match self.segment(first, guard) {
                Some(segment) => match segment.nth(from, to, n) {
                    Ok(slot) => return Some(first + slot),
                    Err(fewer) => n -= fewer,
                },
                None if self.head() > first => {}
                None if n < to - from => return Some(first + from + n),
                None => n -= to - from,
            }
        }
        None
    }

    /// Numbers by segments: the first of the segment, and which of its slots.
    fn pieces(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, u64, u64)> + use<V> {
        let (bits, slots) = (self.bits, 1 << self.bits);
        let segments = from >> bits..to.div_ceil(slots);
        segments.map(move |segment| {
            let first = segment << bits;
            (first, from.saturating_sub(first), to.saturating_sub(first).min(slots))
        })
    }
}

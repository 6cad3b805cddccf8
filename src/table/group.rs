//! The protocol: buckets in which a new key may only take the least cell.
//!
//! A bucket is a row of cells, each an [`Entry`] (fingerprint, state) in one atomic word. To change key K:
//!
//! 1. Load the cells in order, then the horizon. A state at or below the horizon is gone.
//! 2. Decide: K's next state, or an answer that changes nothing.
//! 3. If K has a cell, live or gone, CAS that one. Else CAS the *least* cell (by state, then by place), if what it holds is
//!    gone. Whoever loses starts again.
//!
//! **The one rule**: the state in a cell only rises. A new state is above K's last one, and above the horizon, hence above
//! whatever is gone. So no (key, state) comes twice into a cell (no ABA), and what is gone stays gone.
//!
//! **Why one key never gets two cells.** Let two calls append, one to cell a and one to cell b, and let neither have seen the
//! other's entry. Write `a1, b1` for the states that the first call saw, `a2, b2` for those of the second. The first took a
//! as its least: `(a1, a) < (b1, b)`; the second took b: `(b2, b) < (a2, a)`. The first read b before the second wrote it,
//! and what the second replaced there was b2, so `b1 <= b2`; in the same way `a2 <= a1`. Together:
//! `(a1, a) < (b1, b) <= (b2, b) < (a2, a) <= (a1, a)`, a contradiction. So a successful append has seen every other append
//! before it: its one CAS vouches for all cells. No head, no version, no second CAS. (A CAS on "the first free cell" does not:
//! callers that know different horizons disagree about which one that is.)
//!
//! **Overflow.** A row comes in three widths: the key's bucket, its pair of buckets, its group. A row without a gone cell gets a
//! flag, on its least cell, and from then on its keys look at the next wider row as well. An append is a CAS on the least cell,
//! and so is the flag: by the proof above an append that comes after it has seen it. Who sees a flag reads the wider row anew,
//! and so sees every append that came before it. In the wider row a key still takes its own bucket's least cell, if that is
//! gone; the least cell of all is then first raised to the horizon, which is as good as taking it: an append elsewhere in
//! the row that has not been seen here must have seen this one, hence this horizon, and by that the bucket's own cell is gone.
//!
//! **Closing.** A row that has overflowed once would look further for ever. When nothing of its keys is live outside of it,
//! the flag is marked `closing`. A call that meets the mark takes it away before it does anything else. When every call that
//! began before the mark has ended (an epoch), and the mark is still there, and still nothing is live outside, flag and mark go.
//! What its keys left outside (remnants) is gone for everyone, and a cell further in goes before one further out.
//!
//! **Sealing** flags every cell of a group: no CAS that expects an open cell succeeds any more.
//!
//! Lock-free: an attempt fails only because another thread's CAS succeeded. Models, with a negative twin for each rule:
//! loom-tests/tests/{bucket, horizon, overflow, closing, seal}.rs.

use super::entry::{Entry, Flag};
use crate::{
    mem::Zeroable,
    sync::{
        AtomicPair, AtomicU8, AtomicU64, CachePadded, Counter,
        Ordering::{Acquire, Relaxed, Release},
        Wide, prefetch, retry, twin,
    },
};
use std::{iter, mem::MaybeUninit, ops::Range, slice};

/// `BUCKETS` (a power of two) buckets of `CELLS` cells.
///
/// A bucket of 8 cells is 128 bytes: two cache lines that prefetchers fetch together.
#[repr(C, align(128))]
pub(crate) struct Group<const BUCKETS: usize, const CELLS: usize> {
    buckets: [[AtomicPair; CELLS]; BUCKETS],
    #[cfg(windlass_loom)]
    pub(crate) truth: super::truth::Truth,
}

/// What to do about a key, given its state.
pub(crate) enum Decision<R> {
    /// Nothing changes.
    Keep(R),
    /// The key's next state: above the state and the horizon that were shown, [`Entry::MAX_STATE`] at most.
    Publish(u64, R),
}

/// Why nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(windlass_loom), allow(unreachable_pub))] // models name it
pub enum Stop {
    /// No room for a key that is new to the bucket. A key that is there is never told this.
    Full,
    /// The bucket is sealed: the table has been replaced.
    Sealed,
}

/// What a table's groups have in common.
#[derive(Default)]
pub(crate) struct Ground {
    /// Every state up to here is gone: it counts as absent for every caller and may be overwritten. It only rises. Read by
    /// every call and raised about a thousand times per window: on a line of its own.
    horizon: CachePadded<AtomicU64>,
    /// At a full bucket: overwrite the least state if it is less than this far above the horizon, instead of saying `Full`.
    /// No caller may publish a state below that bound, so the cell's state rises all the same.
    pub(super) evict_within: Option<u64>,
    /// How often a bucket has overflowed.
    pub(crate) spills: Counter,
    pub(crate) evicted: Counter,
}

impl Ground {
    pub(crate) fn new(evict_within: Option<u64>) -> Ground {
        Ground { evict_within, ..Ground::default() }
    }

    /// Acquire; pairs with the release in [`Ground::advance`]: whoever sees the horizon sees what came before its raising.
    #[inline(always)]
    pub(crate) fn horizon(&self) -> u64 {
        self.horizon.load(Acquire)
    }

    pub(crate) fn advance(&self, horizon: u64) {
        self.horizon.fetch_max(horizon, Release);
    }
}

enum Step<R> {
    Done(R),
    Again,
    NoRoom,
}

/// A cell for a new key.
enum Claim {
    Cell(usize),
    Again,
    NoRoom,
}

/// The flag of a row that has overflowed into the next wider one, by the row's width.
const OVERFLOWN: [Flag; 2] = [Flag::Pair, Flag::Group];

/// One reading of a row. A place in it is the number of a cell, counted over its buckets.
struct Row<'a, const CELLS: usize> {
    cells: &'a [[AtomicPair; CELLS]],
    /// In the order in which they were loaded.
    seen: &'a [[Entry; CELLS]],
    /// The key's own bucket.
    home: usize,
    /// No row is wider.
    widest: bool,
    /// The horizon, loaded last.
    gone: u64,
    #[cfg(windlass_loom)]
    truth: &'a super::truth::Truth,
}

impl<const BUCKETS: usize, const CELLS: usize> Group<BUCKETS, CELLS> {
    pub(crate) const BUCKETS: usize = BUCKETS;

    const WIDEST: usize = match BUCKETS {
        1 => 0,
        2 => 1,
        _ => 2,
    };

    /// The bucket of a key in its group. It is part of the key, so that a cell tells whose it is.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // the low bits
    pub(crate) fn bucket_of(key: u64) -> usize {
        const { assert!(BUCKETS.is_power_of_two() && BUCKETS <= 8) };
        key as usize & (BUCKETS - 1)
    }

    /// The buckets of a row.
    fn row(bucket: usize, width: usize) -> Range<usize> {
        let buckets = [1, 2, BUCKETS][width];
        let first = bucket & !(buckets - 1);
        first..first + buckets
    }

    /// Changes `key` as `decide(state, horizon)` says. `decide` may be called several times; the last answer
    /// counts. The state is `None` for a key that is absent or gone. `overflown` has a bit for each bucket that may have overflowed:
    /// a hint for the sweep, it orders nothing.
    #[inline(always)]
    pub(crate) fn update<R>(
        &self,
        wide: impl Wide,
        key: u64,
        overflown: &AtomicU8,
        ground: &Ground,
        decide: impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Result<R, Stop> {
        let bucket = &self.buckets[Self::bucket_of(key)];
        let early = twin!(HorizonFirst).then(|| ground.horizon());
        let mut room = MaybeUninit::uninit();
        // Acquire; pairs with the release of the CAS that wrote the entry.
        let seen = wide.load_all(bucket, &mut room);
        if !seen.iter().fold(false, |any, e| any | e.flagged()) {
            // After the cells: whoever sees one reused has acquired it from the thread that reused it, and so sees a horizon
            // at least as high as that thread did.
            let gone = early.unwrap_or_else(|| ground.horizon());
            let row = Row {
                cells: slice::from_ref(bucket),
                seen: slice::from_ref(seen),
                home: 0,
                widest: Self::WIDEST == 0,
                gone,
                #[cfg(windlass_loom)]
                truth: &self.truth,
            };
            if let Step::Done(answer) = row.attempt::<false, R>(wide, key, ground, &decide) {
                return Ok(answer);
            }
        }
        self.update_again(wide, key, overflown, ground, early, &decide)
    }

    /// The same without haste: for rows that have overflowed or are full, and for whoever lost a race.
    #[cold]
    #[inline(never)]
    fn update_again<R>(
        &self,
        wide: impl Wide,
        key: u64,
        overflown: &AtomicU8,
        ground: &Ground,
        early: Option<u64>,
        decide: &impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Result<R, Stop> {
        let bucket = Self::bucket_of(key);
        // Every narrower row was flagged when it was last read, and not closing. Its flag stays as long as this call does.
        let mut width = 0;
        loop {
            let buckets = Self::row(bucket, width);
            let home = bucket - buckets.start;
            let cells = &self.buckets[buckets];
            let mut room = [const { MaybeUninit::uninit() }; BUCKETS];
            let seen = load_row(wide, cells, &mut room);
            if seen[home].iter().any(|e| e.has(Flag::Sealed)) && !twin!(IgnoreSeal) {
                return Err(Stop::Sealed);
            }
            if width < Self::WIDEST
                && let Some(i) = seen.as_flattened().iter().position(|e| e.has(OVERFLOWN[width]))
            {
                let flag = seen.as_flattened()[i];
                if flag.has(Flag::Closing) && !twin!(UseWhileClosing) {
                    wide.cas(&cells.as_flattened()[i], flag, flag.without(Flag::Closing));
                } else {
                    width += 1;
                }
                continue;
            }
            let gone = early.unwrap_or_else(|| ground.horizon());
            let row = Row {
                cells,
                seen,
                home,
                widest: width == Self::WIDEST,
                gone,
                #[cfg(windlass_loom)]
                truth: &self.truth,
            };
            match row.attempt::<true, R>(wide, key, ground, decide) {
                Step::Done(answer) => return Ok(answer),
                Step::Again => retry(),
                Step::NoRoom if row.widest => return Err(Stop::Full),
                Step::NoRoom if twin!(WiderWithoutFlag) => width += 1,
                Step::NoRoom => {
                    let least = if twin!(FlagAnyCell) { 0 } else { row.least::<true>(0..row.places()) };
                    let old = row.at(least);
                    let new = old.with(OVERFLOWN[width]).without(Flag::Closing);
                    if wide.cas(row.cell(least), old, new) && width == 0 {
                        ground.spills.add(1);
                        // After the flag: see `open`.
                        overflown.fetch_or(1 << bucket, Relaxed);
                    }
                }
            }
        }
    }

    /// From here on no key of the group changes.
    pub(crate) fn seal(&self, wide: impl Wide) {
        for cell in self.cells() {
            loop {
                let seen = wide.load(cell);
                // Release: whoever finds the seal sees what was done before it (the table's successor).
                if seen.has(Flag::Sealed) || wide.cas(cell, seen, seen.with(Flag::Sealed)) {
                    break;
                }
                retry();
            }
        }
    }

    /// Asks for what `close` and `open` will look at, mostly.
    pub(super) fn prefetch_overflown(&self, overflown: &AtomicU8) {
        for bucket in bits(overflown.load(Relaxed)) {
            for bucket in Self::row(bucket, Self::WIDEST.min(1)) {
                prefetch(&raw const self.buckets[bucket]);
            }
        }
    }

    /// First half of making rows narrow again: marks the flags of those that have nothing live further out. Whether there are any.
    pub(super) fn close(&self, wide: impl Wide, overflown: &AtomicU8, gone: u64) -> bool {
        let mut any = false;
        for bucket in bits(overflown.load(Relaxed)) {
            match self.widest_flag(wide, bucket) {
                Some((width, cell, flag)) if !self.has_strangers(wide, bucket, width, gone) => {
                    any |= flag.has(Flag::Closing) || wide.cas(cell, flag, flag.with(Flag::Closing));
                }
                Some(_) => {}
                None => self.forget(wide, bucket, overflown),
            }
        }
        any
    }

    /// Second half, when every call has ended that began before the first: takes the flags away whose mark nobody has
    /// minded.
    pub(super) fn open(&self, wide: impl Wide, overflown: &AtomicU8, gone: u64) {
        for bucket in bits(overflown.load(Relaxed)) {
            if let Some((width, cell, flag)) = self.widest_flag(wide, bucket)
                && flag.has(Flag::Closing)
                // A call from before the mark may have put a key out there since.
                && !self.has_strangers(wide, bucket, width, gone)
                && wide.cas(cell, flag, flag.without(OVERFLOWN[width]).without(Flag::Closing))
            {
                self.forget(wide, bucket, overflown);
            }
        }
    }

    /// The flag that makes the row of `bucket` as wide as it is, and where it is.
    fn widest_flag(&self, wide: impl Wide, bucket: usize) -> Option<(usize, &AtomicPair, Entry)> {
        (0..Self::WIDEST).rev().find_map(|width| {
            let cells = self.buckets[Self::row(bucket, width)].as_flattened();
            cells.iter().map(|cell| (width, cell, wide.load(cell))).find(|(.., e)| e.has(OVERFLOWN[width]))
        })
    }

    /// Whether a key of this row lives in the next wider one.
    fn has_strangers(&self, wide: impl Wide, bucket: usize, width: usize, gone: u64) -> bool {
        let row = Self::row(bucket, width);
        Self::row(bucket, width + 1).filter(|b| !row.contains(b)).any(|b| {
            self.buckets[b].iter().map(|cell| wide.load(cell)).any(|e| {
                row.contains(&Self::bucket_of(e.key())) && e.state() > gone
            })
        })
    }

    /// Takes away the hint, unless there is a flag. The hint first: who flags the bucket anew sets it after that.
    fn forget(&self, wide: impl Wide, bucket: usize, overflown: &AtomicU8) {
        overflown.fetch_and(!(1 << bucket), Relaxed);
        if self.widest_flag(wide, bucket).is_some() {
            overflown.fetch_or(1 << bucket, Relaxed);
        }
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = &AtomicPair> {
        self.buckets.as_flattened().iter()
    }

    #[cfg(windlass_loom)]
    pub(super) fn cells_mut(&mut self) -> impl Iterator<Item = &mut AtomicPair> {
        self.buckets.as_flattened_mut().iter_mut()
    }

    /// All states of the group. A count, not a snapshot.
    pub(crate) fn states(&self, wide: impl Wide) -> impl Iterator<Item = u64> {
        self.cells().map(move |cell| wide.load(cell).state())
    }

    /// Asks for the other bucket of the pair as well, if the key's bucket has overflowed.
    #[inline(always)]
    pub(crate) fn prefetch_pair(&self, wide: impl Wide, key: u64) {
        let bucket = Self::bucket_of(key);
        if self.buckets[bucket].iter().fold(false, |any, cell| any | wide.load(cell).flagged()) {
            prefetch(&raw const self.buckets[bucket ^ (BUCKETS > 1) as usize]);
        }
    }

    /// Where the key's bucket in a group at `group` would lie.
    #[inline(always)]
    pub(crate) fn bucket_address(group: *const Self, key: u64) -> *const impl Sized {
        group.cast::<[AtomicPair; CELLS]>().wrapping_add(Self::bucket_of(key))
    }
}

fn load_row<'a, const CELLS: usize>(
    wide: impl Wide,
    cells: &[[AtomicPair; CELLS]],
    room: &'a mut [MaybeUninit<[Entry; CELLS]>],
) -> &'a [[Entry; CELLS]] {
    for (bucket, room) in cells.iter().zip(&mut *room) {
        wide.load_all(bucket, room);
    }
    // SAFETY: there is room for the whole group, and that of as many buckets as there are in `cells` was written.
    #[allow(unsafe_code)]
    unsafe {
        slice::from_raw_parts(room.as_ptr().cast(), cells.len().min(room.len()))
    }
}

/// The places of the ones.
fn bits(mut bits: u8) -> impl Iterator<Item = usize> {
    iter::from_fn(move || {
        let bit = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (bit < 8).then_some(bit)
    })
}

impl<const CELLS: usize> Row<'_, CELLS> {
    /// Steps 2 and 3, once. Without `WIDER` the row is the key's own bucket, and no cell of it has a flag.
    #[inline(always)]
    fn attempt<const WIDER: bool, R>(
        &self,
        wide: impl Wide,
        key: u64,
        ground: &Ground,
        decide: &impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Step<R> {
        let gone = self.gone;
        let own = self.find::<WIDER>(key);
        let state = own.map(|i| self.at(i).state()).filter(|&state| state > gone);
        let (next, answer) = match decide(state, gone) {
            Decision::Publish(next, answer) => (next, answer),
            Decision::Keep(answer) => {
                // "Gone" counts only if the cell is as it was: the horizon may have passed the state seen, not a later one.
                let passed = own.filter(|_| state.is_none());
                if passed.is_some_and(|i| wide.load(self.cell(i)) != self.at(i) && !twin!(GoneAtFirstSight)) {
                    return Step::Again;
                }
                return Step::Done(answer);
            }
        };
        let target = match own {
            Some(i) if state.is_some() || !twin!(ForgetCell) => i,
            _ => match self.claim::<WIDER>(wide, ground) {
                Claim::Cell(i) => i,
                Claim::Again => return Step::Again,
                Claim::NoRoom => return Step::NoRoom,
            },
        };
        let old = self.at(target);
        if WIDER && old.has(Flag::Sealed) && !twin!(IgnoreSeal) {
            return Step::Again;
        }
        if !wide.cas(self.cell(target), old, Entry::new(key, next).flagged_as(old)) {
            return Step::Again;
        }
        if own.is_none() && old.state() > gone {
            ground.evicted.add(1);
        }
        // Linearized. In models: no atomic operation stands between the CAS and this check.
        #[cfg(windlass_loom)]
        self.truth.published(key, state, old.state(), next, gone, ground.evict_within);
        Step::Done(answer)
    }

    /// The cell that a new key may take: the least of the row, once it is gone or may be evicted.
    #[inline(always)]
    fn claim<const WIDER: bool>(&self, wide: impl Wide, ground: &Ground) -> Claim {
        if twin!(MarkGoesFirst)
            && let Some(i) = self.seen.as_flattened().iter().position(|e| e.state() % 2 == 1)
        {
            return Claim::Cell(i);
        }
        let home = self.least::<WIDER>(self.own());
        let least = if WIDER { self.least::<true>(0..self.places()) } else { home };
        if self.at(home).state() <= self.gone {
            if WIDER && least != home && !twin!(HomeFirst) {
                let old = self.at(least);
                if old.has(Flag::Sealed) || !wide.cas(self.cell(least), old, old.raised(self.gone)) {
                    return Claim::Again;
                }
            }
            return Claim::Cell(home);
        }
        let state = self.at(least).state();
        // Nothing is evicted before the whole group is in use.
        if state <= self.gone || (self.widest && self.evictable(state, ground)) {
            Claim::Cell(least)
        } else {
            Claim::NoRoom
        }
    }

    /// The one cell of `key`, live or gone.
    #[inline(always)]
    fn find<const WIDER: bool>(&self, key: u64) -> Option<usize> {
        if WIDER {
            return self.find_further(key);
        }
        match self.seen[0].iter().position(|e| e.key() == key) {
            // An empty cell: that has the fingerprint 0 as well.
            Some(i) if self.seen[0][i].state() == 0 => self.find_further(key),
            found => found,
        }
    }

    /// In the key's bucket, else in its pair, else in the group: what is further out may be a remnant.
    fn find_further(&self, key: u64) -> Option<usize> {
        let own = self.own();
        let pair = self.home & !1;
        let pair = pair * CELLS..self.places().min((pair + 2) * CELLS);
        let all = 0..self.places();
        let rows = if twin!(OuterFirst) { [all, pair, own] } else { [own, pair, all] };
        rows.into_iter().find_map(|row| {
            let is_key = |e: &Entry| e.key() == key && e.state() != 0;
            let start = row.start;
            self.seen.as_flattened()[row].iter().position(is_key).map(|i| start + i)
        })
    }

    /// The place of the least state, the first of equals.
    #[inline(always)]
    fn least<const WIDER: bool>(&self, places: Range<usize>) -> usize {
        if twin!(AnyGoneCell) {
            return places.clone().find(|&i| self.at(i).state() <= self.gone).unwrap_or(places.start);
        }
        if WIDER {
            return places.clone().min_by_key(|&i| self.at(i).state()).unwrap_or(places.start);
        }
        // By halves, the lower one on the left: comparisons need not wait for each other, and of equals the first stays.
        let state = |i: usize| self.seen[0][i].high;
        let first = |a: usize, b: usize| if state(b) < state(a) { b } else { a };
        match CELLS {
            8 => first(first(first(0, 1), first(2, 3)), first(first(4, 5), first(6, 7))),
            _ => (1..CELLS).fold(0, first),
        }
    }

    /// At a full group: whether the least state may be given up early.
    #[cold]
    fn evictable(&self, state: u64, ground: &Ground) -> bool {
        let within =
            ground.evict_within.map_or(0, |within| if twin!(EvictYoung) { u64::MAX } else { within });
        state < self.gone.saturating_add(within)
    }

    fn own(&self) -> Range<usize> {
        self.home * CELLS..(self.home + 1) * CELLS
    }

    #[inline(always)]
    fn places(&self) -> usize {
        self.seen.len() * CELLS
    }

    #[inline(always)]
    fn at(&self, i: usize) -> Entry {
        self.seen.as_flattened()[i]
    }

    #[inline(always)]
    fn cell(&self, i: usize) -> &AtomicPair {
        &self.cells.as_flattened()[i]
    }
}

// SAFETY: nothing but `AtomicPair`s, of which 0 is a value and which need no drop (outside of models).
#[allow(unsafe_code)]
unsafe impl<const BUCKETS: usize, const CELLS: usize> Zeroable for Group<BUCKETS, CELLS> {
    #[cfg(windlass_loom)]
    fn zero() -> Self {
        Group {
            buckets: std::array::from_fn(|_| std::array::from_fn(|_| AtomicPair::new(Entry::EMPTY))),
            truth: super::truth::Truth::default(),
        }
    }
}

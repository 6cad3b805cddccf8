//! The protocol: buckets in which a new key may only take the least cell.
//!
//! A bucket is a row of cells, each an [`Entry`] (fingerprint, state) in one atomic word. To change key K:
//!
//! 1. Load the states of all cells, then look for K among the keys, then load the horizon. A state at or below it is gone.
//! 2. Decide: K's next state, or an answer that changes nothing.
//! 3. If K has a cell, live or gone, CAS that one. Else CAS the *least* cell (by state, then by place), if what it holds is
//!    gone. Whoever loses starts again.
//!
//! **The one rule**: the state in a cell only rises. A new state is above K's last one, and above the horizon, hence above
//! whatever is gone. So no (key, state) comes twice into a cell (no ABA), what is gone stays gone, and a key that was read after
//! a state belongs to that state or to a later one.
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

use super::entry::{Entry, Flag, High};
use crate::{
    mem::Zeroable,
    sync::{
        AtomicPair, AtomicU8, AtomicU64, CachePadded, Counter,
        Ordering::{Acquire, Relaxed, Release},
        Wide, prefetch, retry, twin,
    },
};
use std::{array, iter, ops::Range, slice};

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
    /// The key's next state: above the state and the horizon that were shown, [`High::MAX_STATE`] at most.
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

/// Where a key was found.
enum Found {
    /// At this place, live or gone.
    At(usize, Entry),
    Nowhere,
    /// The cell changed between two looks at it.
    Moved,
}

/// One reading of a row. A place in it is the number of a cell, counted over its buckets.
struct Row<'a, const CELLS: usize> {
    cells: &'a [[AtomicPair; CELLS]],
    /// What was loaded first, in order.
    seen: &'a [[High; CELLS]],
    /// The key's own bucket.
    home: usize,
    /// No row is wider.
    widest: bool,
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
    /// a hint for prefetches and the sweep, it orders nothing.
    #[inline(always)]
    pub(crate) fn update<'a, R>(
        &self,
        wide: impl Wide,
        key: u64,
        overflown: &impl Fn() -> &'a AtomicU8,
        ground: &Ground,
        decide: impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Result<R, Stop> {
        let bucket = &self.buckets[Self::bucket_of(key)];
        let early = twin!(HorizonFirst).then(|| ground.horizon());
        // Acquire; pairs with the release of the CAS that wrote the entry.
        let seen = array::from_fn(|i| High(wide.high(&bucket[i])));
        if seen.iter().fold(0, |all, high: &High| all | high.0) <= High::MAX_STATE {
            let row = Row {
                cells: slice::from_ref(bucket),
                seen: slice::from_ref(&seen),
                home: 0,
                widest: Self::WIDEST == 0,
                #[cfg(windlass_loom)]
                truth: &self.truth,
            };
            if let Step::Done(answer) = row.attempt::<false, R>(wide, key, ground, early, &decide) {
                return Ok(answer);
            }
        }
        self.update_again(wide, key, overflown, ground, early, &decide)
    }

    /// The same without haste: for rows that have overflowed or are full, and for whoever lost a race.
    #[cold]
    #[inline(never)]
    fn update_again<'a, R>(
        &self,
        wide: impl Wide,
        key: u64,
        overflown: &impl Fn() -> &'a AtomicU8,
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
            let mut room = [[High(0); CELLS]; BUCKETS];
            for (bucket, seen) in cells.iter().zip(&mut room) {
                *seen = array::from_fn(|i| High(wide.high(&bucket[i])));
            }
            let seen = &room[..cells.len()];
            if seen[home].iter().any(|high| high.has(Flag::Sealed)) && !twin!(IgnoreSeal) {
                return Err(Stop::Sealed);
            }
            let row = Row {
                cells,
                seen,
                home,
                widest: width == Self::WIDEST,
                #[cfg(windlass_loom)]
                truth: &self.truth,
            };
            if !row.widest
                && let Some(i) = seen.as_flattened().iter().position(|high| high.has(OVERFLOWN[width]))
            {
                if row.at(i).has(Flag::Closing) && !twin!(UseWhileClosing) {
                    row.change(wide, i, row.at(i).without(Flag::Closing));
                } else {
                    width += 1;
                }
                continue;
            }
            match row.attempt::<true, R>(wide, key, ground, early, decide) {
                Step::Done(answer) => return Ok(answer),
                Step::Again => retry(),
                Step::NoRoom if row.widest => return Err(Stop::Full),
                Step::NoRoom if twin!(WiderWithoutFlag) => width += 1,
                Step::NoRoom => {
                    let least = if twin!(FlagAnyCell) { 0 } else { row.least::<true>(0..row.places()) };
                    let flagged = row.at(least).with(OVERFLOWN[width]).without(Flag::Closing);
                    if row.change(wide, least, flagged) && width == 0 {
                        ground.spills.add(1);
                        // After the flag: see `forget`.
                        overflown().fetch_or(1 << bucket, Relaxed);
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
                let (key, high) = (seen.key(), seen.high());
                // Release: whoever finds the seal sees what was done before it (the table's successor).
                if high.has(Flag::Sealed) || wide.cas(cell, seen, Entry::new(key, high.with(Flag::Sealed))) {
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
                Some(flag) if !self.has_strangers(wide, bucket, flag.width, gone) => {
                    any |= flag.high().has(Flag::Closing) || flag.change(wide, flag.high().with(Flag::Closing));
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
            if let Some(flag) = self.widest_flag(wide, bucket)
                && flag.high().has(Flag::Closing)
                // A call from before the mark may have put a key out there since.
                && !self.has_strangers(wide, bucket, flag.width, gone)
                && flag.change(wide, flag.high().without(OVERFLOWN[flag.width]).without(Flag::Closing))
            {
                self.forget(wide, bucket, overflown);
            }
        }
    }

    /// The flag that makes the row of `bucket` as wide as it is.
    fn widest_flag(&self, wide: impl Wide, bucket: usize) -> Option<Place<'_>> {
        (0..Self::WIDEST).rev().find_map(|width| {
            let cells = self.buckets[Self::row(bucket, width)].as_flattened();
            let cell = cells.iter().find(|cell| High(wide.high(cell)).has(OVERFLOWN[width]))?;
            let entry = wide.load(cell);
            // (Only a sweep takes flags away, and there is one at a time.)
            Some(Place { width, cell, entry })
        })
    }

    /// Whether a key of this row lives in the next wider one.
    fn has_strangers(&self, wide: impl Wide, bucket: usize, width: usize, gone: u64) -> bool {
        let row = Self::row(bucket, width);
        Self::row(bucket, width + 1).filter(|b| !row.contains(b)).any(|b| {
            self.buckets[b].iter().map(|cell| wide.load(cell)).any(|e| {
                e.state() > gone && row.contains(&Self::bucket_of(e.key()))
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

    /// Asks for the cells of a key that will be updated soon.
    #[inline(always)]
    pub(crate) fn prefetch(group: *const Self, key: u64) {
        prefetch(group.cast::<[AtomicPair; CELLS]>().wrapping_add(Self::bucket_of(key)));
    }

    /// And for the rest of a row that has overflowed, as far as that is likely to be looked at.
    #[inline(always)]
    pub(crate) fn prefetch_pair(&self, key: u64, overflown: &AtomicU8) {
        let bucket = Self::bucket_of(key);
        if overflown.load(Relaxed) & 1 << bucket != 0 {
            prefetch(&raw const self.buckets[(bucket ^ 1) % BUCKETS]);
        }
    }
}

/// A flag, and where it is.
struct Place<'a> {
    /// Of the row that has overflowed.
    width: usize,
    cell: &'a AtomicPair,
    entry: Entry,
}

impl Place<'_> {
    fn high(&self) -> High {
        self.entry.high()
    }

    fn change(&self, wide: impl Wide, high: High) -> bool {
        wide.cas(self.cell, self.entry, Entry::new(self.entry.key(), high))
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
    /// What remains of step 1, and steps 2 and 3, once. Without `WIDER` the row is the key's own bucket, and no cell of it has a
    /// flag.
    #[inline(always)]
    fn attempt<const WIDER: bool, R>(
        &self,
        wide: impl Wide,
        key: u64,
        ground: &Ground,
        early: Option<u64>,
        decide: &impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Step<R> {
        let own = match self.find::<WIDER>(wide, key) {
            Found::At(i, entry) => Some((i, entry)),
            Found::Nowhere => None,
            Found::Moved => return Step::Again,
        };
        // After the cells: whoever sees one reused has acquired it from the thread that reused it, and so sees a horizon at
        // least as high as that thread did.
        let gone = early.unwrap_or_else(|| ground.horizon());
        let state = own.map(|(_, entry)| entry.state()).filter(|&state| state > gone);
        let (next, answer) = match decide(state, gone) {
            Decision::Publish(next, answer) => (next, answer),
            Decision::Keep(answer) => {
                // "Gone" counts only if the cell is as it was: the horizon may have passed the state seen, not a later one.
                let passed = own.filter(|_| state.is_none());
                if passed.is_some_and(|(i, e)| wide.load(self.cell(i)) != e && !twin!(GoneAtFirstSight)) {
                    return Step::Again;
                }
                return Step::Done(answer);
            }
        };
        let (target, old) = match own {
            Some(found) if state.is_some() || !twin!(ForgetCell) => found,
            _ => match self.claim::<WIDER>(wide, ground, gone) {
                // The key of then or a later one: with a later one the CAS fails.
                Claim::Cell(i) => (i, Entry::new(wide.low(self.cell(i)), self.at(i))),
                Claim::Again => return Step::Again,
                Claim::NoRoom => return Step::NoRoom,
            },
        };
        // A flag that has come since the row was read is for another attempt; here a cell keeps those that it has.
        if old.high().has(Flag::Sealed) && !twin!(IgnoreSeal) {
            return Step::Again;
        }
        if !wide.cas(self.cell(target), old, Entry::new(key, old.high().raised(next))) {
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
    fn claim<const WIDER: bool>(&self, wide: impl Wide, ground: &Ground, gone: u64) -> Claim {
        if twin!(AnyGoneCell)
            && let Some(i) = (0..self.places()).find(|&i| self.at(i).state() <= gone)
        {
            return Claim::Cell(i);
        }
        if twin!(MarkGoesFirst)
            && let Some(i) = (0..self.places()).find(|&i| self.at(i).state() % 2 == 1)
        {
            return Claim::Cell(i);
        }
        let home = self.least::<WIDER>(self.own());
        let least = if WIDER { self.least::<true>(0..self.places()) } else { home };
        if self.at(home).state() <= gone {
            if WIDER && least != home && !twin!(HomeFirst) {
                let high = self.at(least);
                if high.has(Flag::Sealed) || !self.change(wide, least, high.raised(gone)) {
                    return Claim::Again;
                }
            }
            return Claim::Cell(home);
        }
        let state = self.at(least).state();
        // Nothing is evicted before the whole group is in use.
        if state <= gone || (self.widest && evictable(state, gone, ground)) {
            Claim::Cell(least)
        } else {
            Claim::NoRoom
        }
    }

    /// The cell of `key`. In its bucket, else in its pair, else in the group: what is further out may be a remnant.
    #[inline(always)]
    fn find<const WIDER: bool>(&self, wide: impl Wide, key: u64) -> Found {
        if !WIDER {
            return self.find_in(wide, key, 0..CELLS);
        }
        let pair = self.home & !1;
        let pair = pair * CELLS..self.places().min((pair + 2) * CELLS);
        let rows = [self.own(), pair, 0..self.places()];
        for i in 0..3 {
            let row = rows[if twin!(OuterFirst) { 2 - i } else { i }].clone();
            match self.find_in(wide, key, row) {
                Found::Nowhere => {}
                found => return found,
            }
        }
        Found::Nowhere
    }

    #[inline(always)]
    fn find_in(&self, wide: impl Wide, key: u64, places: Range<usize>) -> Found {
        for i in places {
            if wide.low(self.cell(i)) == key {
                let entry = wide.load(self.cell(i));
                if entry.key() != key {
                    return Found::Moved;
                }
                // An empty cell has the fingerprint 0 as well.
                if entry.state() != 0 {
                    return Found::At(i, entry);
                }
            }
        }
        Found::Nowhere
    }

    /// The place of the least state, the first of equals.
    #[inline(always)]
    fn least<const WIDER: bool>(&self, places: Range<usize>) -> usize {
        if WIDER || CELLS > 8 {
            return places.clone().min_by_key(|&i| self.at(i).state()).unwrap_or(places.start);
        }
        // In pairs: comparisons need not wait for each other. With its place below it a state of 60 bits is unique.
        let mut states: [u64; CELLS] = array::from_fn(|i| self.seen[0][i].0 << 3 | i as u64);
        let mut n = CELLS;
        while n > 1 {
            let half = n.div_ceil(2);
            for i in 0..n / 2 {
                states[i] = states[i].min(states[i + half]);
            }
            n = half;
        }
        (states[0] & 7) as usize
    }

    /// Gives a cell that is as it was seen another state or other flags.
    fn change(&self, wide: impl Wide, i: usize, high: High) -> bool {
        let key = wide.low(self.cell(i));
        wide.cas(self.cell(i), Entry::new(key, self.at(i)), Entry::new(key, high))
    }

    fn own(&self) -> Range<usize> {
        self.home * CELLS..(self.home + 1) * CELLS
    }

    #[inline(always)]
    fn places(&self) -> usize {
        self.seen.len() * CELLS
    }

    #[inline(always)]
    fn at(&self, i: usize) -> High {
        self.seen.as_flattened()[i]
    }

    #[inline(always)]
    fn cell(&self, i: usize) -> &AtomicPair {
        &self.cells.as_flattened()[i]
    }
}

/// At a full group: whether the least state may be given up early.
#[cold]
fn evictable(state: u64, gone: u64, ground: &Ground) -> bool {
    let within = ground.evict_within.map_or(0, |within| if twin!(EvictYoung) { u64::MAX } else { within });
    state < gone.saturating_add(within)
}

// SAFETY: nothing but `AtomicPair`s, of which 0 is a value and which need no drop (outside of models).
#[allow(unsafe_code)]
unsafe impl<const BUCKETS: usize, const CELLS: usize> Zeroable for Group<BUCKETS, CELLS> {
    #[cfg(windlass_loom)]
    fn zero() -> Self {
        Group {
            buckets: array::from_fn(|_| array::from_fn(|_| AtomicPair::new(Entry::EMPTY))),
            truth: super::truth::Truth::default(),
        }
    }
}

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
//! **At home.** A key that lives in its own bucket has no other cell, and whoever would give it one has to find it gone first. So a call
//! that expects to find it there may look at its cell and the horizon alone. It needs no pin: it brings nothing to life, and changes no
//! cell outside of the bucket.
//!
//! **Overflow.** A row comes in three widths: the key's bucket, its pair of buckets, its group. A row without a gone cell gets a
//! flag, on its least cell, and from then on its keys look at the next wider row as well. An append is a CAS on the least cell,
//! and so is the flag: by the proof above an append that comes after it has seen it. Who sees a flag reads the wider row anew,
//! and so sees every append that came before it. In the wider row a key still takes its own bucket's least cell, if that is
//! gone; the least cell of all is then first raised to the horizon, which is as good as taking it: an append elsewhere in
//! the row that has not been seen here must have seen this one, hence this horizon, and by that the bucket's own cell is gone.
//!
//! **Closing.** A row that has overflowed once would look further for ever. When nothing of its keys is live outside of it,
//! the flag is marked `closing`. A call that has met the mark takes it away before it changes a cell outside of the key's bucket.
//! When every call that began before the mark has ended (an epoch), and the mark is still there, and still nothing is live outside,
//! flag and mark go. What the row's keys left outside (remnants) is gone for everyone, and a cell further in goes before one
//! further out. A late call that still reads the wider row agrees with the others about the bucket, and brings nothing to life elsewhere.
//!
//! **Sealing** flags every cell of a row, or of a group: no CAS that expects an open cell succeeds any more.
//!
//! Lock-free: an attempt fails only because another thread's CAS succeeded. Models, with a negative twin for each rule:
//! loom-tests/tests/{bucket, horizon, overflow, closing, seal}.rs.

use super::{
    call::{Call, Found, Published, Step},
    entry::{Entry, Flag, High},
    id::Id,
    row::Row,
};
use crate::{
    mem::Zeroable,
    sync::{
        AtomicPair, AtomicU8, AtomicU64, CachePadded, Counter,
        Ordering::{Acquire, Relaxed, Release},
        Switch, Wide, prefetch, retry, twin,
    },
};
use std::{array, ops::Range};

/// `BUCKETS` (a power of two) buckets of `CELLS` cells.
///
/// A bucket of 8 cells is 128 bytes: two cache lines that prefetchers fetch together.
#[repr(C, align(128))]
pub(crate) struct Group<const BUCKETS: usize, const CELLS: usize> {
    pub(super) buckets: [[AtomicPair; CELLS]; BUCKETS],
}

/// What a group lies in.
pub(crate) trait Around: Copy {
    /// A bit for each bucket of the group that may have overflowed: for prefetches and the sweep, it orders nothing.
    fn overflown(&self) -> &AtomicU8;

    /// The bucket of this key has overflowed.
    fn overflows(self, key: u64);

    /// For models: what a change goes by beside the cells here.
    #[cfg(windlass_loom)]
    fn basis(self) -> Basis {
        Basis::Nothing
    }
}

/// For models: what a change of a key goes by.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(windlass_loom), allow(dead_code))]
pub(crate) enum Basis {
    Nothing,
    /// The key's state in an older table, unless it has one here.
    Below(Option<u64>),
    /// The same state once more.
    Forwarded,
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
    /// No memory for the bytes of a key.
    NoBytes,
}

/// What the groups of all tables of a structure have in common.
#[derive(Default)]
pub(crate) struct Ground {
    /// Every state up to here is gone: it counts as absent for every caller and may be overwritten. It only rises. Read by
    /// every call and raised about a thousand times per window: on a line of its own.
    horizon: CachePadded<AtomicU64>,
    /// At a full bucket: overwrite the least state if it is less than this far above the horizon, instead of saying `Full`.
    /// No caller may publish a state below that bound, so the cell's state rises all the same.
    pub(super) evict_within: Option<u64>,
    /// .. but only while this is set.
    pub(super) at_ceiling: Switch,
    /// How often a bucket has overflowed.
    pub(crate) overflows: Counter,
    pub(crate) evicted: Counter,
    #[cfg(windlass_loom)]
    pub(crate) truth: super::truth::Truth,
}

impl Ground {
    pub(crate) fn new(evict_within: Option<u64>) -> Ground {
        Ground { evict_within, ..Ground::default() }
    }

    /// What may be evicted at a full group: states less than this far above the horizon.
    #[cold]
    pub(super) fn evict_within(&self) -> u64 {
        self.evict_within.filter(|_| self.at_ceiling.get()).unwrap_or(0)
    }

    /// There will be no more room than there is. Whether entries are evicted from now on that were not before.
    pub(super) fn begin_to_evict(&self) -> bool {
        self.evict_within.is_some() && !self.at_ceiling.set(true)
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

/// The flag of a row that has overflowed into the next wider one, by the row's width.
pub(super) const OVERFLOWN: [Flag; 2] = [Flag::Pair, Flag::Group];

impl<const BUCKETS: usize, const CELLS: usize> Group<BUCKETS, CELLS> {
    pub(super) const WIDEST: usize = match BUCKETS {
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
    pub(super) fn row(bucket: usize, width: usize) -> Range<usize> {
        let buckets = [1, 2, BUCKETS][width];
        let first = bucket & !(buckets - 1);
        first..first + buckets
    }

    /// Changes `key` as `decide(state, horizon)` says. `decide` may be called several times; the last answer
    /// counts. The state is `None` for a key that is absent or gone.
    #[inline(always)]
    pub(crate) fn update<I: Id, R>(
        &self,
        wide: impl Wide,
        id: I,
        around: impl Around,
        ground: &Ground,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<R, Stop> {
        // (By value, all the way: what is only needed in the end must not be kept in memory.)
        let call = Call::new(wide, id, ground);
        #[cfg(windlass_loom)]
        let call = call.on(around.basis());
        let cells = &self.buckets[Self::bucket_of(id.key())];
        // Acquire; pairs with the release of the CAS that wrote the entry.
        let seen: [u64; CELLS] = array::from_fn(|i| wide.high(&cells[i]));
        let any = seen.iter().fold(0, |any, high| any | high);
        if any <= High::MAX_STATE {
            let least = I::EAGER.then(|| least(seen));
            let step = match call.find(cells, Found::Nowhere) {
                Found::At(cell, entry) if !call.forgets(entry) => call.revise(cell, entry, decide),
                Found::Moved => Step::Again,
                Found::Doubtful(cell, entry) => call.bury(cell, entry),
                _ => Self::append(call, cells, seen, least, decide),
            };
            if let Step::Done(answer) = step {
                return Ok(answer);
            }
        }
        self.update_again(call, High(any), around, decide)
    }

    /// [`Group::update`] for a key that lives in its own bucket: shorter, and lost time for others. `None`: nothing is done.
    #[inline(always)]
    pub(super) fn update_at_home<R>(
        &self,
        wide: impl Wide,
        id: impl Id,
        ground: &Ground,
        decide: impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Option<R> {
        Call::new(wide, id, ground).revise_at_home(&self.buckets[Self::bucket_of(id.key())], decide)
    }

    /// A new key in a bucket without flags.
    #[inline(always)]
    fn append<R>(
        call: Call<'_, impl Wide, impl Id>,
        cells: &[AtomicPair; CELLS],
        states: [u64; CELLS],
        known: Option<(usize, u64)>,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Step<R> {
        let gone = call.horizon();
        let (next, answer) = match decide(None, gone) {
            Decision::Publish(next, answer) => (next, answer),
            Decision::Keep(answer) => return Step::Done(answer),
        };
        let (i, state) = if twin!(AnyGoneCell) {
            states.into_iter().enumerate().find(|&(_, state)| state <= gone).unwrap_or((0, u64::MAX))
        } else if twin!(MarkGoesFirst) && states.iter().any(|state| state % 2 == 1) {
            states.into_iter().enumerate().find(|&(_, state)| state % 2 == 1).unwrap_or_default()
        } else {
            known.unwrap_or_else(|| least(states))
        };
        if state > gone && !twin!(MarkGoesFirst) {
            return Step::NoRoom;
        }
        // The key of then or a later one: with a later one the CAS fails.
        let old = Entry::new(call.wide.low(&cells[i]), High(state));
        match call.publish(&cells[i], old, next, None, false, gone) {
            Published::Done => Step::Done(answer),
            Published::Lost => Step::Again,
            Published::NoBytes => Step::NoBytes,
        }
    }

    /// The same for rows that have overflowed or are full, and for whoever lost a race. `any`: the bucket's flags as last seen.
    #[cold]
    #[inline(never)]
    fn update_again<R>(
        &self,
        call: Call<'_, impl Wide, impl Id>,
        any: High,
        around: impl Around,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<R, Stop> {
        // Every narrower row was flagged when it was last read. If no flag was closing, they stay as long as this call does.
        let (mut width, mut closing) = (usize::from(any.has(Flag::Pair) && !any.has(Flag::Closing)), false);
        loop {
            call.id.is_not_put();
            let step = match width {
                0 => self.visit::<1, _, _, R>(call, width, closing, around, decide),
                1 => self.visit::<2, _, _, R>(call, width, closing, around, decide),
                _ => self.visit::<BUCKETS, _, _, R>(call, width, closing, around, decide),
            };
            match step {
                Step::Done(answer) => return Ok(answer),
                Step::Again => retry(),
                Step::NoRoom => return Err(Stop::Full),
                Step::Sealed => return Err(Stop::Sealed),
                Step::NoBytes => return Err(Stop::NoBytes),
                Step::Wider(closing_) => {
                    closing |= closing_;
                    width += 1;
                }
                Step::Closing => {
                    self.keep_open(call.wide, Self::bucket_of(call.id.key()));
                    (width, closing) = (0, false);
                }
            }
        }
    }

    /// An attempt in the row of `N` buckets. One that is full is flagged.
    ///
    /// (Not inlined: in the loop above the compiler would prepare for all of them.)
    #[inline(never)]
    fn visit<const N: usize, W: Wide, I: Id, R>(
        &self,
        call: Call<'_, W, I>,
        width: usize,
        closing: bool,
        around: impl Around,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Step<R> {
        let Some((row, flag)) = self.read::<N, _, _>(call, width, closing) else { return Step::NoRoom };
        match (row.visit(&call, decide), flag) {
            (Step::NoRoom, Some(_)) if twin!(WiderWithoutFlag) => Step::Wider(false),
            (Step::NoRoom, Some(_)) if closing && !twin!(UseWhileClosing) => Step::Closing,
            (Step::NoRoom, Some(flag)) if row.overflow(call.wide, flag) => {
                if width == 0 {
                    call.ground.overflows.add(1);
                    // After the flag. Pairs with `forget`: it comes later and so sees the flag, or the hint comes later.
                    around.overflown().fetch_or(1 << Self::bucket_of(call.id.key()), Release);
                    around.overflows(call.id.key());
                }
                Step::Wider(false)
            }
            (Step::NoRoom, Some(_)) => Step::Again,
            (step, _) => step,
        }
    }

    /// From here on no key of the group changes.
    pub(crate) fn seal(&self, wide: impl Wide) {
        seal(wide, self.buckets.as_flattened());
    }

    /// From here on this key does not change. Flags belong to cells: a row that is sealed stays as wide as it is.
    pub(super) fn seal_row(&self, wide: impl Wide, key: u64) {
        for width in 0..=Self::WIDEST {
            let cells = self.buckets[Self::row(Self::bucket_of(key), width)].as_flattened();
            seal(wide, cells);
            let has = |flag| cells.iter().any(|cell| High(wide.high(cell)).has(flag));
            if !OVERFLOWN.get(width).is_some_and(|&flag| has(flag)) {
                return;
            }
        }
    }

    /// The state of a key, live or gone, sealed or not.
    pub(super) fn look(&self, wide: impl Wide, id: impl Id, ground: &Ground) -> Option<u64> {
        let call = Call::new(wide, id, ground);
        let mut width = 0;
        loop {
            let found = match width {
                0 => self.look_at::<1, _, _>(call, width),
                1 => self.look_at::<2, _, _>(call, width),
                _ => self.look_at::<BUCKETS, _, _>(call, width),
            };
            match found {
                None => width += 1,
                Some(Found::At(_, entry)) => return Some(entry.state()),
                // One that is doubtful is gone, or was driven out.
                Some(Found::Nowhere | Found::Doubtful(..)) => return None,
                Some(Found::Moved) => {
                    retry();
                    width = 0;
                }
            }
        }
    }

    /// Looks for a key in the row of `N` buckets. `None`: it has overflowed.
    #[inline(never)]
    fn look_at<const N: usize, W: Wide, I: Id>(
        &self,
        call: Call<'_, W, I>,
        width: usize,
    ) -> Option<Found<'_>> {
        match self.read::<N, _, _>(call, width, false) {
            Some((row, _)) if row.is_overflown() => None,
            Some((row, _)) => Some(row.find(&call).1),
            None => Some(Found::Nowhere),
        }
    }

    /// A reading of the row of `N` buckets, and the flag that it gets when it overflows.
    #[inline(always)]
    fn read<const N: usize, W: Wide, I: Id>(
        &self,
        call: Call<'_, W, I>,
        width: usize,
        closing: bool,
    ) -> Option<(Row<'_, N, CELLS>, Option<Flag>)> {
        let bucket = Self::bucket_of(call.id.key());
        let home = bucket & (N - 1);
        let cells = self.buckets[bucket - home..].first_chunk::<N>()?;
        let flag = OVERFLOWN.get(width).copied().filter(|_| width < Self::WIDEST);
        Some((Row::read(call.wide, cells, home, flag, closing), flag))
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = &AtomicPair> {
        self.buckets.as_flattened().iter()
    }

    #[cfg(windlass_loom)]
    pub(super) fn cells_mut(&mut self) -> impl Iterator<Item = &mut AtomicPair> {
        self.buckets.as_flattened_mut().iter_mut()
    }

    /// All entries of the group. No snapshot.
    pub(super) fn entries(&self, wide: impl Wide) -> impl Iterator<Item = Entry> {
        self.cells().map(move |cell| wide.load(cell))
    }

    /// All states of the group. A count, not a snapshot.
    pub(crate) fn states(&self, wide: impl Wide) -> impl Iterator<Item = u64> {
        self.entries(wide).map(Entry::state)
    }

    /// Asks for the cells of a key that will be updated soon.
    #[inline(always)]
    pub(crate) fn prefetch(group: *const Self, key: u64) {
        prefetch(group.cast::<[AtomicPair; CELLS]>().wrapping_add(Self::bucket_of(key)));
    }

    /// The first cell of a key's own bucket whose low word is one that `wanted` takes.
    #[inline(always)]
    pub(super) fn find_at_home(
        &self,
        wide: impl Wide,
        key: u64,
        wanted: impl Fn(u64) -> bool,
    ) -> Option<Entry> {
        let cells = &self.buckets[Self::bucket_of(key)];
        cells.iter().find(|cell| wanted(wide.low(cell))).map(|cell| wide.load(cell))
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

fn seal(wide: impl Wide, cells: &[AtomicPair]) {
    for cell in cells {
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

/// The place of the least state, the first of equals, and the state.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // three bits
pub(super) fn least<const CELLS: usize>(states: [u64; CELLS]) -> (usize, u64) {
    const { assert!(CELLS <= 8) };
    // With its place below it a state, which has 60 bits, is like no other. By halves: comparisons need not wait for each other.
    let mut ranks: [u64; CELLS] = array::from_fn(|i| states[i] << 3 | i as u64);
    let mut n = CELLS;
    while n > 1 {
        let half = n.div_ceil(2);
        for i in 0..n / 2 {
            ranks[i] = ranks[i].min(ranks[i + half]);
        }
        n = half;
    }
    ((ranks[0] & 7) as usize, ranks[0] >> 3)
}

// SAFETY: nothing but `AtomicPair`s, of which 0 is a value and which need no drop (outside of models).
#[allow(unsafe_code)]
unsafe impl<const BUCKETS: usize, const CELLS: usize> Zeroable for Group<BUCKETS, CELLS> {
    #[cfg(windlass_loom)]
    fn zero() -> Self {
        Group { buckets: array::from_fn(|_| array::from_fn(|_| AtomicPair::new(Entry::EMPTY))) }
    }
}

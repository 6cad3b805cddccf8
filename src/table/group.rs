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
//! **Overflow.** The buckets of a group share a *spill line*. A bucket that is full flags each of its cells; once all are
//! flagged, its row is its cells and the spill line after them. An append that does not know of the spill line expects a
//! cell without the flag, so it came before the flag and is seen by whoever has seen all cells flagged.
//!
//! **Closing.** A bucket that has spilled once would look at the spill line for ever. When nothing in there is live, its first
//! cell is flagged `closing`: from then on its calls look there still, but put nothing there (one that has to takes the flag
//! away again). When every call that began before has ended (an epoch), the spilled flags go, the first cell's last.
//!
//! **Sealing** flags every cell of a group: no CAS that expects an open cell succeeds any more.
//!
//! Lock-free: an attempt fails only because another thread's CAS succeeded. Models, with a negative twin for each rule:
//! loom-tests/tests/{bucket, horizon, overflow, closing, seal}.rs.

use super::entry::{Entry, Flag};
use crate::{
    mem::Zeroable,
    sync::{
        AtomicPair, AtomicU64, CachePadded, Counter,
        Ordering::{Acquire, Relaxed, Release},
        Wide, prefetch, retry, twin,
    },
};
use std::mem::MaybeUninit;

/// `BUCKETS` buckets of `CELLS` cells, and `SPILL` cells for what does not fit into one of them.
///
/// A bucket of 8 cells is 128 bytes: two cache lines that prefetchers fetch together.
#[repr(C, align(128))]
pub(crate) struct Group<const BUCKETS: usize, const CELLS: usize, const SPILL: usize> {
    buckets: [[AtomicPair; CELLS]; BUCKETS],
    spill: [AtomicPair; SPILL],
    /// A bit for each bucket that may have the spilled flag. A hint for the sweep: it orders nothing.
    spilled: AtomicU64,
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
    /// How often a bucket has overflowed into its group's spill line.
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
    /// The bucket needs the spill line that it is about to give up.
    Reopen,
}

/// A cell for a new key.
enum Claim {
    Cell(usize),
    Again,
    NoRoom,
}

/// One reading of a row: a bucket's cells, and the spill line if the bucket has it.
struct Row<'a, const CELLS: usize, const SPILL: usize> {
    cells: &'a [AtomicPair; CELLS],
    spill: &'a [AtomicPair; SPILL],
    /// In the order in which they were loaded.
    seen: &'a [Entry; CELLS],
    seen_spill: &'a [Entry],
    /// The horizon, loaded last.
    gone: u64,
    #[cfg(windlass_loom)]
    truth: &'a super::truth::Truth,
}

impl<const BUCKETS: usize, const CELLS: usize, const SPILL: usize> Group<BUCKETS, CELLS, SPILL> {
    pub(crate) const BUCKETS: usize = BUCKETS;

    /// Changes `key` in `bucket` as `decide(state, horizon)` says. `decide` may be called several times; the last answer
    /// counts. The state is `None` for a key that is absent or gone.
    #[inline(always)]
    pub(crate) fn update<R>(
        &self,
        wide: impl Wide,
        bucket: usize,
        key: u64,
        ground: &Ground,
        decide: impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Result<R, Stop> {
        let cells = &self.buckets[bucket];
        let early = twin!(HorizonFirst).then(|| ground.horizon());
        let mut room = MaybeUninit::uninit();
        // Acquire; pairs with the release of the CAS that wrote the entry.
        let seen = wide.load_all(cells, &mut room);
        if !seen[0].flagged() {
            // After the cells: whoever sees one reused has acquired it from the thread that reused it, and so sees a horizon
            // at least as high as that thread did.
            let gone = early.unwrap_or_else(|| ground.horizon());
            if let Step::Done(answer) =
                self.row(cells, seen, &[], gone).attempt::<false, R>(wide, key, ground, &decide)
            {
                return Ok(answer);
            }
        }
        self.update_again(wide, bucket, key, ground, early, &decide)
    }

    #[inline(always)]
    fn row<'a>(
        &'a self,
        cells: &'a [AtomicPair; CELLS],
        seen: &'a [Entry; CELLS],
        seen_spill: &'a [Entry],
        gone: u64,
    ) -> Row<'a, CELLS, SPILL> {
        Row {
            cells,
            spill: &self.spill,
            seen,
            seen_spill,
            gone,
            #[cfg(windlass_loom)]
            truth: &self.truth,
        }
    }

    /// The same without haste: for buckets that are flagged or full, and for whoever lost a race.
    #[cold]
    #[inline(never)]
    fn update_again<R>(
        &self,
        wide: impl Wide,
        bucket: usize,
        key: u64,
        ground: &Ground,
        early: Option<u64>,
        decide: &impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Result<R, Stop> {
        let cells = &self.buckets[bucket];
        loop {
            let (mut room, mut spill_room) = (MaybeUninit::uninit(), MaybeUninit::uninit());
            let seen = wide.load_all(cells, &mut room);
            if seen[0].has(Flag::Sealed) && !twin!(IgnoreSeal) {
                return Err(Stop::Sealed);
            }
            let spilled = seen[0].has(Flag::Spilled);
            let mut seen_spill: &[Entry] = &[];
            if spilled {
                // Some cells flagged and others not: the bucket is on its way to the spill line. Helping comes first.
                let open = seen.iter().position(|e| !e.has(Flag::Spilled));
                if let Some(i) = open.filter(|_| !seen[0].has(Flag::Closing) && !twin!(SpillEarly)) {
                    wide.cas(&cells[i], seen[i], seen[i].with(Flag::Spilled));
                    continue;
                }
                seen_spill = wide.load_all(&self.spill, &mut spill_room);
            }
            let gone = early.unwrap_or_else(|| ground.horizon());
            match self.row(cells, seen, seen_spill, gone).attempt::<true, R>(wide, key, ground, decide) {
                Step::Done(answer) => return Ok(answer),
                Step::Again => retry(),
                Step::NoRoom if !spilled && SPILL > 0 => {
                    if wide.cas(&cells[0], seen[0], seen[0].with(Flag::Spilled)) {
                        self.spilled.fetch_or(1 << bucket, Relaxed);
                        ground.spills.add(1);
                    }
                }
                Step::Reopen => {
                    wide.cas(&cells[0], seen[0], seen[0].without(Flag::Closing));
                }
                Step::NoRoom => return Err(Stop::Full),
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

    /// Asks for what `close` and `open` look at first.
    pub(super) fn prefetch_hint(&self) {
        prefetch(&raw const self.spilled);
    }

    /// First half of giving up the spill line: flags the first cells of the buckets that have it, if nothing in it is live.
    pub(super) fn close(&self, wide: impl Wide, gone: u64) {
        let spilled = self.spilled.load(Relaxed);
        if spilled == 0 || self.spill.iter().any(|cell| wide.load(cell).state() > gone) {
            return;
        }
        for cells in self.each(spilled) {
            let first = wide.load(&cells[0]);
            if first.has(Flag::Spilled) && !first.has(Flag::Closing) && !first.has(Flag::Sealed) {
                wide.cas(&cells[0], first, first.with(Flag::Closing));
            }
        }
    }

    /// Second half, when every call has ended that began before the first: takes the flags away.
    pub(super) fn open(&self, wide: impl Wide, gone: u64) {
        for (bucket, cells) in self.buckets.iter().enumerate() {
            if self.spilled.load(Relaxed) & 1 << bucket == 0 || !wide.load(&cells[0]).has(Flag::Closing) {
                continue;
            }
            // Before the last step: a caller who flags the bucket anew sets the bit after that.
            self.spilled.fetch_and(!(1 << bucket), Relaxed);
            if !self.empty_spill(wide, gone) || !self.take_flags(wide, cells) {
                self.spilled.fetch_or(1 << bucket, Relaxed);
            }
        }
    }

    /// Takes gone keys out of the spill line: who still sees one live (by a horizon of before) must not change it there.
    /// `false`: something in it is live, or moves.
    fn empty_spill(&self, wide: impl Wide, gone: u64) -> bool {
        self.spill.iter().all(|cell| {
            let entry = wide.load(cell);
            let keyless = entry.state() == 0 || entry.has(Flag::Spilled);
            entry.state() <= gone && (keyless || wide.cas(cell, entry, Entry::ghost(gone)))
        })
    }

    /// The other cells, then the first; unless somebody takes its closing flag away.
    fn take_flags(&self, wide: impl Wide, cells: &[AtomicPair; CELLS]) -> bool {
        cells.iter().rev().all(|cell| {
            loop {
                let entry = wide.load(cell);
                if entry.has(Flag::Sealed) || !wide.load(&cells[0]).has(Flag::Closing) {
                    return false;
                }
                let plain = entry.without(Flag::Spilled).without(Flag::Closing);
                if entry == plain || wide.cas(cell, entry, plain) {
                    return true;
                }
            }
        })
    }

    fn each(&self, bits: u64) -> impl Iterator<Item = &[AtomicPair; CELLS]> {
        self.buckets.iter().enumerate().filter(move |(i, _)| bits & 1 << i != 0).map(|(_, cells)| cells)
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = &AtomicPair> {
        self.buckets.iter().flatten().chain(&self.spill)
    }

    #[cfg(windlass_loom)]
    pub(super) fn mark_spilled(&self) {
        self.spilled.store((1 << BUCKETS) - 1, Relaxed);
    }

    #[cfg(windlass_loom)]
    pub(super) fn cells_mut(&mut self) -> impl Iterator<Item = &mut AtomicPair> {
        self.buckets.iter_mut().flatten().chain(&mut self.spill)
    }

    /// How many of the buckets look at the spill line.
    pub(crate) fn spilled_buckets(&self) -> u64 {
        self.spilled.load(Relaxed).count_ones().into()
    }

    /// All states of the group. A count, not a snapshot.
    pub(crate) fn states(&self, wide: impl Wide) -> impl Iterator<Item = u64> {
        self.cells().map(move |cell| wide.load(cell).state())
    }

    /// Asks for the spill line as well, if `bucket` looks there.
    #[inline(always)]
    pub(crate) fn prefetch_spill(&self, wide: impl Wide, bucket: usize) {
        if wide.load(&self.buckets[bucket][0]).flagged() {
            prefetch(&raw const self.spill);
        }
    }

    /// Where `bucket` of a group at `group` would lie.
    #[inline(always)]
    pub(crate) fn bucket_address(group: *const Self, bucket: usize) -> *const impl Sized {
        group.cast::<[AtomicPair; CELLS]>().wrapping_add(bucket)
    }
}

impl<const CELLS: usize, const SPILL: usize> Row<'_, CELLS, SPILL> {
    /// Steps 2 and 3, once. Without `FLAGGED` the first cell has no flag, and cells that have one are left alone.
    #[inline(always)]
    fn attempt<const FLAGGED: bool, R>(
        &self,
        wide: impl Wide,
        key: u64,
        ground: &Ground,
        decide: &impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Step<R> {
        let gone = self.gone;
        let own = self.find(key);
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
            _ => match self.claim::<FLAGGED>(wide, ground) {
                Claim::Cell(i) => i,
                Claim::Again => return Step::Again,
                Claim::NoRoom => return Step::NoRoom,
            },
        };
        let old = self.at(target);
        // A flag that came since the first cell was loaded: only a row with the spill line knows what to do about that one.
        let aware = FLAGGED && !self.seen_spill.is_empty();
        let taboo = if aware {
            old.has(Flag::Sealed) && !twin!(IgnoreSeal)
        } else {
            old.flagged() && !twin!(IgnoreSeal)
        };
        if taboo {
            return Step::Again;
        }
        if target >= CELLS && own.is_none() && self.seen[0].has(Flag::Closing) && !twin!(SpillWhileClosing) {
            return Step::Reopen;
        }
        let new = Entry::new(key, next);
        let new = if target < CELLS { new.flagged_as(old) } else { new };
        if !wide.cas(self.cell(target), old, new) {
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
    fn claim<const FLAGGED: bool>(&self, wide: impl Wide, ground: &Ground) -> Claim {
        if twin!(MarkGoesFirst)
            && let Some(i) = self.seen.iter().position(|e| e.state() % 2 == 1)
        {
            return Claim::Cell(i);
        }
        let home = self.least::<FLAGGED>();
        let state = self.at(home).state();
        let least = if FLAGGED { self.least_spilled().filter(|&i| self.at(i).state() < state) } else { None };
        if state <= self.gone {
            // Spill cells are for buckets that have no gone cell; but the least of the row stands there. It is raised to the
            // horizon. That is as good as taking it: an append to the spill line that has not been seen here must have seen
            // this one, hence this horizon, and by that the bucket's own cell is gone.
            if let Some(i) = least.filter(|_| !twin!(HomeFirst)) {
                let old = self.at(i);
                if old.has(Flag::Sealed) || !wide.cas(self.cell(i), old, Entry::ghost(self.gone)) {
                    return Claim::Again;
                }
            }
            return Claim::Cell(home);
        }
        let least = least.unwrap_or(home);
        let state = self.at(least).state();
        // Nothing is evicted before the spill line is in use.
        let last_resort = SPILL == 0 || !self.seen_spill.is_empty();
        if state <= self.gone || (last_resort && self.evictable(state, ground)) {
            Claim::Cell(least)
        } else {
            Claim::NoRoom
        }
    }

    /// The one cell of `key`, live or gone.
    #[inline(always)]
    fn find(&self, key: u64) -> Option<usize> {
        match self.seen.iter().position(|e| e.key() == key) {
            Some(i) if self.seen[i].state() != 0 => Some(i),
            None if self.seen_spill.is_empty() => None,
            // Flagged, or an empty cell: that has the fingerprint 0 as well.
            _ => self.find_further(key),
        }
    }

    fn find_further(&self, key: u64) -> Option<usize> {
        let is_key = |e: &Entry| e.key() == key && e.state() != 0;
        self.seen.iter().position(is_key).or_else(|| {
            let spilled = self.seen_spill.iter().position(|e| is_key(e) && !e.has(Flag::Spilled))?;
            Some(CELLS + spilled)
        })
    }

    /// The bucket's own cell of the least state, the first of equals.
    #[inline(always)]
    fn least<const FLAGGED: bool>(&self) -> usize {
        if twin!(AnyGoneCell) {
            return (0..CELLS).find(|&i| self.at(i).state() <= self.gone).unwrap_or(0);
        }
        // (With its flags a cell's word only rises as well, so the comparison may include them.)
        let state = |i: usize| if FLAGGED { self.at(i).state() } else { self.seen[i].high };
        // By halves, the lower one on the left: comparisons need not wait for each other, and of equals the first stays.
        let first = |a: usize, b: usize| if state(b) < state(a) { b } else { a };
        match CELLS {
            8 => first(first(first(0, 1), first(2, 3)), first(first(4, 5), first(6, 7))),
            _ => (1..CELLS).fold(0, first),
        }
    }

    /// The same of the spill line, if the row has it.
    #[inline(always)]
    fn least_spilled(&self) -> Option<usize> {
        let least = |a: usize, b: usize| if self.at(b).state() < self.at(a).state() { b } else { a };
        (CELLS..CELLS + self.seen_spill.len()).reduce(least)
    }

    #[inline(always)]
    fn at(&self, i: usize) -> Entry {
        if i < CELLS { self.seen[i] } else { self.seen_spill[i - CELLS] }
    }

    /// At a full bucket: whether the least state may be given up early.
    #[cold]
    fn evictable(&self, state: u64, ground: &Ground) -> bool {
        let within =
            ground.evict_within.map_or(0, |within| if twin!(EvictYoung) { u64::MAX } else { within });
        state < self.gone.saturating_add(within)
    }

    #[inline(always)]
    fn cell(&self, i: usize) -> &AtomicPair {
        if i < CELLS { &self.cells[i] } else { &self.spill[i - CELLS] }
    }
}

// SAFETY: nothing but `AtomicPair`s and an `AtomicU64`, of which 0 is a value and which need no drop (outside of models).
#[allow(unsafe_code)]
unsafe impl<const BUCKETS: usize, const CELLS: usize, const SPILL: usize> Zeroable
    for Group<BUCKETS, CELLS, SPILL>
{
    #[cfg(windlass_loom)]
    fn zero() -> Self {
        let cell = |_| AtomicPair::new(Entry::EMPTY);
        Group {
            buckets: std::array::from_fn(|_| std::array::from_fn(cell)),
            spill: std::array::from_fn(cell),
            spilled: AtomicU64::new(0),
            truth: super::truth::Truth::default(),
        }
    }
}

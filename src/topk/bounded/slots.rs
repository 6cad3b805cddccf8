//! Candidates: slots in buckets, with the keys that were seen most, and exact counts of what they were seen since they have theirs.
//!
//! ```text
//! a bucket: head | slot | slot | ..        each a word of 128 bits
//! head:     bar (64), turn (64)
//! ```
//! **The way of an add.** If the key has a slot, its count rises, by a CAS of the slot: key and count are one word, so no count is ever credited to
//! another (twin `CreditBlindly`). Else, if the *least* slot, by rank and then by place, is empty, the key takes it. Else the add goes to the
//! sketch; and if then the sketch says that the key has clearly more than the least slot's has (the sketch's noise counts against it), it takes that. What the
//! displaced one has been seen is first put into the sketch (twin `DisplaceFirst`). So the sketch has only what slots have not: it is little, and nothing that is hot.
//!
//! **One slot for a key.** Ranks only rise, and a key takes the least slot or none: by the proof in `table::group` no key has two (twin
//! `AnyLesser`). A bucket that is full stays full.
//!
//! **Bounds.** A key has been seen as often as its slot says, or more. What it has beyond that is in the sketch. How much the sketch had when the
//! key came is kept in the slot: without that a bound would grow with the sketch's noise as long as the pane lasts. But another add of the same key may have
//! gone to the sketch meanwhile. So whoever adds to the sketch takes a *turn* at the head afterwards, and then looks for the key once more; if it
//! has a slot by now, the add is counted there as well. And whoever has taken a slot takes a turn, and then looks at the sketch once more, for the bound; until
//! then the slot is *open*, and has none of its own. Of the two whoever comes second sees the other. (Twin `NoTurn`: the noise that the first has made keeps the second out, and
//! what it has added is in no bound.)
//!
//! **Carried over.** The bucket of a pane begins with what the one of the pane before has seen most, if that had no room for all its keys. They have their counts of then as head
//! starts, which displace nobody and keep newcomers out that have only noise: so hot keys have slots, and exact counts, from their first add in a pane on. They take slots as if they were added (twin
//! `CarryBlindly`).
//!
//! **The bar**: no key that has no slot in the bucket has been seen more often than that. Whoever leaves a key without a slot raises it before that ends.
//!
//! Lock-free: an attempt fails only because another thread's CAS succeeded. Models: loom-tests/tests/bounded.rs.

use super::{entry::Entry, sketch::Sketch};
use crate::{
    mem::Slab,
    pane::below,
    sync::{AtomicPair, Budget, Pair, Wide, prefetch, retry, twin},
};
use std::{array, cmp::Reverse, sync::Arc};

/// Slots of a bucket. With its head it is two cache lines, which prefetchers fetch together.
pub(super) const SLOTS: usize = if cfg!(windlass_loom) { 2 } else { 7 };

const WORDS: usize = SLOTS + 1;

/// Slots of a bucket that keys are carried over to.
const CARRIED: usize = if cfg!(windlass_loom) { 2 } else { 6 };

pub(super) struct Slots {
    /// Of each bucket the head, then the slots.
    words: Slab<AtomicPair>,
    buckets: u64,
}

/// A bucket, and its number.
#[derive(Clone, Copy)]
pub(super) struct Bucket<'t>(&'t [AtomicPair]);

/// Keys that are carried over from one pane to the next.
pub(super) type Carried = [Option<Entry>; SLOTS];

/// What a look at a bucket comes to.
enum Look {
    /// The key's.
    Found(usize, Entry),
    /// The key has none. This is the least.
    Least(usize, Entry),
}

impl Slots {
    /// `None`: there may not be so much memory.
    pub(super) fn new(buckets: u64, budget: &Arc<Budget>) -> Option<Slots> {
        let words = usize::try_from(buckets).ok()?.checked_mul(WORDS)?;
        Some(Slots { words: Slab::new(words, budget)?, buckets })
    }

    pub(super) fn bytes(buckets: u64) -> u64 {
        buckets.saturating_mul((WORDS * size_of::<AtomicPair>()) as u64)
    }

    /// The bucket of a key, by half of its hash.
    #[inline(always)]
    pub(super) fn of(&self, hi: u64) -> usize {
        #[allow(clippy::cast_possible_truncation)] // it was allocated
        let bucket = below(hi, self.buckets) as usize;
        bucket
    }

    #[inline(always)]
    pub(super) fn bucket(&self, bucket: usize) -> Bucket<'_> {
        Bucket(&self.words[bucket * WORDS..][..WORDS])
    }

    /// Buckets.
    pub(super) fn len(&self) -> usize {
        self.words.len() / WORDS
    }

    pub(super) fn each(&self) -> impl ExactSizeIterator<Item = Bucket<'_>> {
        self.words.chunks(WORDS).map(Bucket)
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, hi: u64) {
        let first = self.words.as_ptr().wrapping_add(self.of(hi) * WORDS);
        prefetch(first);
        prefetch(first.wrapping_add(WORDS / 2));
    }

    /// For one thread, when no other uses it: clears words from this one on. Where to go on, or `None` if all are clear.
    pub(super) fn clear(&self, wide: impl Wide, from: usize, most: usize) -> Option<usize> {
        let to = self.words.len().min(from.saturating_add(most));
        for word in &self.words[from.min(to)..to] {
            let old = wide.load(word);
            // (There is no other way to change one, and nobody else does.)
            if old != Pair::default() {
                wide.cas(word, old, Pair::default());
            }
        }
        (to < self.words.len()).then_some(to)
    }
}

impl Bucket<'_> {
    /// Counts a key. `name`: gives it one, if there is room. (It takes an empty slot without; it displaces none.) `carry`: what the
    /// bucket begins with.
    #[inline(always)]
    pub(super) fn add(
        self,
        wide: impl Wide,
        lo: u64,
        n: u64,
        sketch: &Sketch,
        name: impl FnMut() -> Option<u64>,
        carry: impl FnOnce() -> Carried,
    ) {
        // Most adds are of keys that have a slot, which nobody can predict: so no branch for each. (The head is none.)
        let at = (wide.with_low(self.0, u64::MAX, lo) & !1).trailing_zeros() as usize / 2;
        if let Some(slot) = self.0.get(at) {
            let old = Entry(wide.load(slot));
            if old.lo() == lo && !old.is_empty() && self.credit(wide, at, old, n) {
                return;
            }
        }
        if wide.high(&self.0[1]) == 0 {
            self.begin(wide, carry());
        }
        self.add_further(wide, lo, n, sketch, name);
    }

    /// Those that are carried over take their slots as if they were added, no times: so each has one, whoever else brings it.
    #[cold]
    #[inline(never)]
    fn begin(self, wide: impl Wide, carried: Carried) {
        for new in carried.into_iter().flatten() {
            if twin!(CarryBlindly) {
                let _ = (1..=SLOTS).find(|&at| wide.cas(&self.0[at], Pair::default(), new.0));
                continue;
            }
            loop {
                match self.look(wide, new.lo()) {
                    Look::Least(at, old) if old.is_empty() => {
                        if wide.cas(&self.0[at], old.0, new.0) {
                            break;
                        }
                    }
                    _ => break,
                }
                retry();
            }
        }
    }

    /// What the same bucket of the next pane begins with, if this one had no room for all: the keys that were seen most since they have their slots, with that for
    /// a head start.
    pub(super) fn carry(self, wide: impl Wide, name: impl Fn(Entry) -> Option<u64>) -> Carried {
        let mut all = [None; SLOTS];
        if self.bar(wide) == 0 {
            return all;
        }
        let mut entries: [Entry; SLOTS] = array::from_fn(|at| Entry(wide.load(&self.0[at + 1])));
        entries.sort_unstable_by_key(|entry| Reverse(entry.count()));
        let hot =
            entries.into_iter().filter(|entry| entry.count() >= 2 && entry.name() != super::names::NONE);
        for (place, entry) in all.iter_mut().take(CARRIED).zip(hot) {
            *place = name(entry).map(|name| Entry::carried(entry.lo(), name, entry.count()));
        }
        all
    }

    #[inline(never)]
    fn add_further(
        self,
        wide: impl Wide,
        lo: u64,
        n: u64,
        sketch: &Sketch,
        mut name: impl FnMut() -> Option<u64>,
    ) {
        let (mut is_sketched, mut named) = (false, None);
        if self.is_full(wide) {
            // Then it has no empty slot to take, and the look before the turn can be spared.
            self.sketch(wide, lo, n, sketch);
            is_sketched = true;
        }
        loop {
            match self.look(wide, lo) {
                Look::Found(at, old) => {
                    if self.credit(wide, at, old, n) {
                        return;
                    }
                }
                Look::Least(at, old) if old.is_empty() => {
                    named = named.or_else(&mut name);
                    let new = Entry::new(lo, named.unwrap_or(super::names::NONE), n);
                    if wide.cas(&self.0[at], old.0, new.0) {
                        return;
                    }
                }
                Look::Least(mut at, mut old) => {
                    if !is_sketched {
                        self.sketch(wide, lo, n, sketch);
                        is_sketched = true;
                        if !twin!(NoTurn) {
                            continue;
                        }
                    }
                    // After the turn: of two adds of a key the later one sees both.
                    let estimate = sketch.estimate(lo);
                    if twin!(AnyLesser) {
                        let entry = |at: usize| Entry(wide.load(&self.0[at]));
                        at = (1..=SLOTS).find(|&at| entry(at).rank() < estimate.upper).unwrap_or(at);
                        old = entry(at);
                    }
                    let enough = old.rank().saturating_add(estimate.noise);
                    let displaces = estimate.upper > enough && old.count() < super::entry::MOST;
                    if displaces {
                        named = named.or_else(&mut name);
                    }
                    let Some(name) = named.filter(|_| displaces) else {
                        return self.raise(wide, estimate.upper);
                    };
                    if self.displace(wide, at, old, Entry::open(lo, name, estimate.upper), sketch) {
                        return;
                    }
                }
            }
            retry();
        }
    }

    /// Whether it was counted.
    #[inline(always)]
    fn credit(self, wide: impl Wide, at: usize, old: Entry, n: u64) -> bool {
        let slot = &self.0[at];
        if twin!(CreditBlindly) {
            let now = Entry(wide.load(slot));
            return wide.cas(slot, now.0, now.plus(n).0);
        }
        wide.cas(slot, old.0, old.plus(n).0)
    }

    /// Whether the new one has the slot. What it was seen is in the sketch.
    fn displace(self, wide: impl Wide, at: usize, old: Entry, new: Entry, sketch: &Sketch) -> bool {
        // What it has been seen beside that is there. (If the exchange fails that is too much, which does no harm.)
        if !twin!(DisplaceFirst) {
            sketch.add(old.lo(), old.count());
        }
        let sketched = sketch.estimate(old.lo()).upper;
        self.raise(wide, old.upper().map_or(sketched, |upper| upper.min(sketched)));
        if !wide.cas(&self.0[at], old.0, new.0) {
            return false;
        }
        if twin!(DisplaceFirst) {
            sketch.add(old.lo(), old.count());
        }
        self.turn(wide);
        let before = sketch.estimate(new.lo()).upper;
        loop {
            let now = Entry(wide.load(&self.0[at]));
            // Another may have the slot by now.
            if !now.is_same_admission(new) || wide.cas(&self.0[at], now.0, now.closed(before).0) {
                return true;
            }
            retry();
        }
    }

    /// All slots: the key's, or the least of them by rank and by place.
    fn look(self, wide: impl Wide, lo: u64) -> Look {
        let entries: [Entry; SLOTS] = array::from_fn(|i| Entry(wide.load(&self.0[i + 1])));
        // No branch for each: nobody can predict them.
        let (mut own, mut least, mut least_rank) = (SLOTS, 0, u64::MAX);
        for (i, entry) in entries.iter().enumerate() {
            own = if entry.lo() == lo && !entry.is_empty() { own.min(i) } else { own };
            // An empty one is of a lesser rank than any.
            let rank = if entry.is_empty() { 0 } else { entry.rank().saturating_add(1) };
            least = if rank < least_rank { i } else { least };
            least_rank = least_rank.min(rank);
        }
        match entries.get(own) {
            Some(&entry) => Look::Found(own + 1, entry),
            None => Look::Least(least + 1, entries[least]),
        }
    }

    /// Slots are taken in order, and none is given back.
    #[inline(always)]
    fn is_full(self, wide: impl Wide) -> bool {
        !twin!(NoTurn) && wide.high(&self.0[SLOTS]) != 0
    }

    /// Counts it in the sketch, and says so to whoever comes later.
    fn sketch(self, wide: impl Wide, lo: u64, n: u64, sketch: &Sketch) {
        sketch.add(lo, n);
        self.turn(wide);
    }

    /// Acquire and release: whoever takes a turn after another sees what that did before it.
    fn turn(self, wide: impl Wide) {
        if twin!(NoTurn) {
            return;
        }
        loop {
            let old = wide.load(&self.0[0]);
            if wide.cas(&self.0[0], old, Pair { high: old.high.wrapping_add(1), ..old }) {
                return;
            }
            retry();
        }
    }

    fn raise(self, wide: impl Wide, bar: u64) {
        loop {
            let old = wide.load(&self.0[0]);
            if old.low >= bar || wide.cas(&self.0[0], old, Pair { low: bar, ..old }) {
                return;
            }
            retry();
        }
    }

    /// For one thread, when no other uses it, as `put_bar`: what is in a slot, from 0.
    pub(super) fn put(self, wide: impl Wide, slot: usize, entry: Entry) {
        if let Some(place) = self.0.get(slot + 1) {
            wide.cas(place, wide.load(place), entry.0);
        }
    }

    pub(super) fn put_bar(self, wide: impl Wide, bar: u64) {
        self.raise(wide, bar);
    }

    /// No key without a slot has more.
    pub(super) fn bar(self, wide: impl Wide) -> u64 {
        wide.low(&self.0[0])
    }

    pub(super) fn entries(self, wide: impl Wide) -> impl Iterator<Item = Entry> {
        self.0.iter().skip(1).map(move |slot| Entry(wide.load(slot))).filter(|entry| !entry.is_empty())
    }

    /// The key's slot.
    pub(super) fn find(self, wide: impl Wide, lo: u64) -> Option<Entry> {
        self.entries(wide).find(|entry| entry.lo() == lo)
    }
}

//! The protocol: buckets with a log head, and the spill line that a group of them shares.
//!
//! A bucket is a head and some slots, each an [`Entry`]. The head is the newest entry *and* the head of the bucket's log:
//! every change of any key in the bucket is one CAS of the head, and that CAS is its linearization point. To change key K:
//!
//! 1. Load the head, then the slots (and the spill line if the head says so), then the horizon. K's state is the head's if
//!    the head is K, else the greatest among the slots with K's fingerprint. At or below the horizon it is gone.
//! 2. Decide: the next state, or an answer that changes nothing.
//! 3. If the head holds another key's live entry, see to it that a slot holds it: raise its copy, or take a gone slot.
//! 4. CAS the head to (K, next). Whoever loses starts again.
//!
//! **The one rule**: the states of a key only rise, and a new one is above the horizon. So copies that stalled helpers
//! leave are below the truth, the greatest is the latest, what is gone stays gone, and no (key, state) comes twice (no ABA).
//!
//! Every attempt that fails does so because another thread's step landed, and between two publishes in a bucket only as
//! many steps can land as there are places: lock-free. Models, with a negative twin for each rule:
//! loom-tests/tests/{bucket, horizon, overflow, seal}.rs.

use super::entry::Entry;
use std::mem::MaybeUninit;
use crate::{
    mem::Zeroable,
    sync::{AtomicPair, AtomicU64, CachePadded, Counter, Ordering::Relaxed, Wide, retry, twin},
};

/// `BUCKETS` buckets of a head and `HOME` slots, and `SPILL` slots for what does not fit into one of them.
///
/// A bucket of 8 entries is 128 bytes: two cache lines that prefetchers fetch together.
#[repr(C, align(128))]
pub(crate) struct Group<const BUCKETS: usize, const HOME: usize, const SPILL: usize> {
    buckets: [Bucket<HOME>; BUCKETS],
    spill: [AtomicPair; SPILL],
    #[cfg(windlass_loom)]
    pub(crate) truth: super::truth::Truth,
}

#[repr(C)]
struct Bucket<const HOME: usize> {
    head: AtomicPair,
    slots: [AtomicPair; HOME],
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
pub(crate) enum Stop {
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
    pub(crate) horizon: CachePadded<AtomicU64>,
    /// At a full bucket: drop the least state less than this far above the horizon, instead of saying `Full`. No caller may
    /// publish a state below that bound, so a key that comes again comes with a greater one.
    pub(crate) evict_within: Option<u64>,
    /// Buckets that have overflowed.
    pub(crate) spilled: Counter,
    pub(crate) evicted: Counter,
}

enum Step<R> {
    Done(R),
    Again,
    Full,
}

enum Room {
    /// A slot to move to, where one is needed.
    Free(Option<usize>),
    Again,
    None,
}

/// One reading of a bucket.
struct View<'a, const BUCKETS: usize, const HOME: usize, const SPILL: usize> {
    group: &'a Group<BUCKETS, HOME, SPILL>,
    bucket: &'a Bucket<HOME>,
    /// As it stands there, with the bucket's flags.
    head_word: Entry,
    /// Without them.
    head: Entry,
    /// The slots, and the spill line after them if the head has the flag: in the order in which they were loaded. Every scan
    /// goes in that one direction.
    seen: &'a [Entry],
    /// The horizon, loaded last.
    gone: u64,
}

impl<const BUCKETS: usize, const HOME: usize, const SPILL: usize> Group<BUCKETS, HOME, SPILL> {
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
        let home = &self.buckets[bucket];
        // Head first: all that was published before it is seen below (Acquire; pairs with the release of its CAS).
        let head = wide.load(&home.head);
        if !head.flagged() {
            let early = twin!(HorizonFirst).then(|| ground.horizon.load(Relaxed));
            let mut room = MaybeUninit::uninit();
            let seen = wide.load_all(&home.slots, &mut room);
            // After the slots: whoever sees a slot reused has acquired it from the thread that reused it, and so sees a
            // horizon at least as high as that thread did. Relaxed is enough for that.
            let gone = early.unwrap_or_else(|| ground.horizon.load(Relaxed));
            let view = View { group: self, bucket: home, head_word: head, head, seen, gone };
            if let Step::Done(answer) = view.attempt::<false, R>(wide, key, ground, &decide) {
                return Ok(answer);
            }
        }
        self.update_again(wide, home, key, ground, &decide)
    }

    /// The same without haste: buckets that are flagged or short of room, and whoever lost a race.
    #[cold]
    #[inline(never)]
    fn update_again<R>(
        &self,
        wide: impl Wide,
        bucket: &Bucket<HOME>,
        key: u64,
        ground: &Ground,
        decide: &impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Result<R, Stop> {
        loop {
            let head = wide.load(&bucket.head);
            if head.sealed() && !twin!(IgnoreSeal) {
                return Err(Stop::Sealed);
            }
            let early = twin!(HorizonFirst).then(|| ground.horizon.load(Relaxed));
            let spill: &[AtomicPair] = if head.spilled() { &self.spill } else { &[] };
            let mut seen = [Entry::EMPTY; MAX_PLACES];
            for (entry, cell) in seen.iter_mut().zip(bucket.slots.iter().chain(spill)) {
                *entry = wide.load(cell);
            }
            let gone = early.unwrap_or_else(|| ground.horizon.load(Relaxed));
            let seen = &seen[..HOME + spill.len()];
            let view = View { group: self, bucket, head_word: head, head: head.plain(), seen, gone };
            match view.attempt::<true, R>(wide, key, ground, decide) {
                Step::Done(answer) => return Ok(answer),
                Step::Full => return Err(Stop::Full),
                Step::Again => retry(),
            }
        }
    }

    /// From here on no key of `bucket` changes: its entry stays in the head, so a full bucket can be sealed too. Stalled
    /// movers may still write slots, but only states that were published before: the greatest stays the greatest.
    pub(crate) fn seal(&self, wide: impl Wide, bucket: usize) {
        let head = &self.buckets[bucket].head;
        loop {
            let old = wide.load(head);
            // Release: whoever finds the seal sees what was done before it (the table's successor).
            if old.sealed() || wide.cas(head, old, old.with_sealed()) {
                return;
            }
            retry();
        }
    }

    /// All entries of the group, each key once with its greatest state, in no order. A count, not a snapshot: what moves
    /// meanwhile is found in its old place or in its new one.
    pub(crate) fn entries(&self, wide: impl Wide, into: &mut Vec<Entry>) {
        into.clear();
        for bucket in &self.buckets {
            let cells = std::iter::once(&bucket.head).chain(&bucket.slots);
            into.extend(cells.map(|cell| wide.load(cell).plain()));
        }
        into.extend(self.spill.iter().map(|cell| wide.load(cell)));
        into.sort_unstable_by_key(|e| (e.key(), std::cmp::Reverse(e.state())));
        into.dedup_by_key(|e| e.key());
    }

    /// Where `bucket` of a group at `group` would lie.
    #[inline(always)]
    pub(crate) fn bucket_address(group: *const Self, bucket: usize) -> *const impl Sized {
        group.cast::<Bucket<HOME>>().wrapping_add(bucket)
    }

}

impl<const BUCKETS: usize, const HOME: usize, const SPILL: usize> View<'_, BUCKETS, HOME, SPILL> {
    /// Steps 1 to 4, once. Makes room only with `THOROUGH`.
    #[inline(always)]
    fn attempt<const THOROUGH: bool, R>(
        &self,
        wide: impl Wide,
        key: u64,
        ground: &Ground,
        decide: &impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Step<R> {
        let &View { group: _, bucket, head_word, head, seen, gone } = self;
        let state = if head.key() == key { head.state() } else { self.greatest(key) };
        let state = (state > gone).then_some(state);

        let (next, answer) = match decide(state, gone) {
            Decision::Publish(next, answer) => (next, answer),
            Decision::Keep(answer) => {
                // Not only for the absent: meanwhile the flag may have come and the greatest copy left for the spill line,
                // while a smaller one still lies at home.
                let settled = head.key() == key && state.is_some();
                if !settled && wide.load(&bucket.head) != head_word {
                    return Step::Again;
                }
                return Step::Done(answer);
            }
        };

        let moves = head.key() != key && head.state() > gone;
        let (mut to, mut moved) = (None, 0); // the last copy of the head's entry, and the greatest state among its copies
        if moves && self.first(head.key()).is_some() {
            (to, moved) = (self.last(head.key()), self.greatest(head.key()));
        }
        // What leaves the head needs a slot, and a key that enters the bucket has to leave one free: else a bucket arises
        // in which no key can change. Spill slots are nobody's reserve, other buckets take them too.
        let needed = u32::from(moves && to.is_none()) + u32::from(state.is_none() && !twin!(NoReserve));
        let free = self.free();
        let short = match needed {
            0 => false,
            1 => free == 0,
            _ => free & free.wrapping_sub(1) == 0,
        };
        if short {
            if !THOROUGH {
                return Step::Again;
            }
            match self.make_room(wide, needed, ground) {
                Room::Free(slot) => to = to.or(slot),
                // (A key that is there is not refused: it had a slot kept free for it.)
                Room::None if state.is_none() => return Step::Full,
                Room::Again | Room::None => return Step::Again,
            }
        }
        if moves && moved < head.state() && !twin!(NoMove) {
            let to = to.unwrap_or(free.trailing_zeros() as usize);
            if !self.cas(wide, to, head) {
                return Step::Again;
            }
        }
        let mut new = Entry::new(key, next).after(head_word);
        if twin!(DropFlag) && head_word.spilled() && seen[HOME..].iter().all(|e| e.state() <= gone) {
            new = new.plain();
        }
        if !wide.cas(&bucket.head, head_word, new) {
            return Step::Again;
        }
        // Linearized. No atomic operation stands between the CAS and this check, which is for models.
        #[cfg(windlass_loom)]
        self.group.truth.published(key, state, next, gone, ground.evict_within);
        Step::Done(answer)
    }

    /// In a bucket in which fewer than `needed` slots are gone: one that can be taken, if there are as many of those, else a
    /// step towards it.
    #[cold]
    #[inline(never)]
    fn make_room(
        &self,
        wide: impl Wide,
        needed: u32,
        ground: &Ground,
    ) -> Room {
        let &View { group: _, bucket, head_word, head: _, seen, gone } = self;
        let stays = |i: usize| self.live(i) && (self.last(seen[i].key()) == Some(i) || twin!(KeepCopies));

        // Gone slots, then copies: of an entry that several movers have copied the last one stays. As scans go upward, one
        // that finds an earlier copy taken finds the last one afterwards.
        let mut free = (0..HOME).filter(|&i| !self.live(i)).chain((0..HOME).filter(|&i| self.live(i) && !stays(i)));
        let first = free.next();
        if usize::from(first.is_some()) + free.count() >= needed as usize {
            if let Some(to) = first.filter(|&to| self.live(to))
                && let Some(last) = self.last(seen[to].key())
                && seen[last].state() < seen[to].state()
                && !self.cas(wide, last, seen[to])
            {
                return Room::Again; // before a copy is taken, the last one must be at least as great
            }
            return Room::Free(first);
        }

        if !head_word.spilled() && SPILL > 0 {
            // The flag first: whoever overwrites the copy at home, or reads after that, has seen it.
            if wide.cas(&bucket.head, head_word, head_word.with_spilled()) {
                ground.spilled.add(1);
            }
            return Room::Again;
        }
        if let Some(to) = (HOME..seen.len()).find(|&i| !self.live(i)) {
            // What goes out is the least state: in a sliding window that is the entry that will be gone first. The copy at home
            // is then free to be taken.
            if let Some(out) = (0..HOME).filter(|&i| stays(i)).min_by_key(|&i| seen[i].state()) {
                self.cas(wide, to, seen[out]);
            }
            return Room::Again;
        }
        if let Some(within) = ground.evict_within {
            let evictable = |&i: &usize| seen[i].state() < gone.saturating_add(within) || twin!(EvictYoung);
            if let Some(oldest) = (0..HOME).filter(evictable).min_by_key(|&i| seen[i].state()) {
                if self.cas(wide, oldest, Entry::EMPTY) {
                    ground.evicted.add(1);
                }
                return Room::Again;
            }
        }
        // Full counts only if the head did not move meanwhile, like absent.
        if wide.load(&bucket.head) == head_word { Room::None } else { Room::Again }
    }

    #[inline(always)]
    fn live(&self, i: usize) -> bool {
        let state = self.seen[i].state();
        state > self.gone && !(twin!(MarkGoesFirst) && state % 2 == 1)
    }

    /// The gone slots at home, as bits.
    #[inline(always)]
    fn free(&self) -> u32 {
        (0..HOME).rev().fold(0, |bits, i| bits + bits + u32::from(!self.live(i)))
    }

    /// Where the first copy of `key` stands, live or gone.
    #[inline(always)]
    fn first(&self, key: u64) -> Option<usize> {
        self.seen.iter().position(|e| e.key() == key)
    }

    /// The greatest state of `key` in a slot, 0 if it is in none.
    #[inline(always)]
    fn greatest(&self, key: u64) -> u64 {
        match self.first(key) {
            None => 0,
            Some(first) => {
                self.seen[first..].iter().fold(0, |max, e| if e.key() == key { max.max(e.state()) } else { max })
            }
        }
    }

    /// Where the last live copy of `key` stands.
    #[inline(always)]
    fn last(&self, key: u64) -> Option<usize> {
        let mut copies = (0..self.seen.len()).filter(|&i| self.live(i) && self.seen[i].key() == key);
        if twin!(KeepFirstCopy) { copies.next() } else { copies.next_back() }
    }

    /// CASes place `i` from what was seen there.
    #[inline(always)]
    fn cas(&self, wide: impl Wide, i: usize, new: Entry) -> bool {
        let cell = if i < HOME { &self.bucket.slots[i] } else { &self.group.spill[i - HOME] };
        wide.cas(cell, self.seen[i], new)
    }
}

/// Room for `HOME + SPILL` of any geometry.
const MAX_PLACES: usize = 32;

// SAFETY: nothing but `AtomicPair`s, of which 0 is a value and which do not need drop (outside of models).
#[allow(unsafe_code)]
unsafe impl<const BUCKETS: usize, const HOME: usize, const SPILL: usize> Zeroable for Group<BUCKETS, HOME, SPILL> {
    #[cfg(windlass_loom)]
    fn zero() -> Self {
        let cells = || AtomicPair::new(Entry::EMPTY);
        Group {
            buckets: std::array::from_fn(|_| Bucket { head: cells(), slots: std::array::from_fn(|_| cells()) }),
            spill: std::array::from_fn(|_| cells()),
            truth: super::truth::Truth::default(),
        }
    }
}

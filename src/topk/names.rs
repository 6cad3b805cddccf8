//! What a generation has beside its rows: the bytes of their keys, the thresholds of its panes, and what was refused.
//!
//! ```text
//! a row's note:  marked (1) | of the key's hash (31) | name (32)
//!
//! name: 0: none yet; all ones: refused; one less: a number; else where the key's bytes are, and 1
//! ```
//! **Names.** The first add of a key in a generation puts its bytes into the arena (a segment for each generation) and the
//! reference into the note, by a CAS from 0. A `u64` needs none: its hash is a bijection, and the row has the fingerprint. All adds of the key then agree on it, also where there is no room for the bytes: a key is counted in
//! a generation, or refused, but not now this and now that (twin `NameTwice`).

use crate::{
    codec::RestoreError,
    count::{Extra, Room, Row},
    hash::{Key, KeyHash, Seed, is_number, number_of, read_number},
    sync::{
        AtomicU64, Budget, CachePadded,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
        epoch::{self, Guard},
        saturating, twin,
    },
    table::{Arena, NotPut, Reference},
};
use std::{ops::Range, sync::Arc};

/// What the generations have in common.
pub(crate) struct Means {
    arena: Arena,
    budget: Arc<Budget>,
    /// Whether the budget is that of the rows as well.
    shared: bool,
    /// Panes of a generation.
    panes: u64,
    seed: Seed,
}

/// Bytes of keys that a generation may have at least, if it does not grow. (Each thread begins with a chunk of its own.)
const LEAST_BYTES: u64 = 1 << 20;

impl Means {
    /// Keys may take as many bytes as rows do.
    pub(super) fn new(room: &Room) -> Means {
        let each = room.table.max(LEAST_BYTES);
        let own = || Budget::new(each.saturating_mul(room.generations.saturating_add(2)));
        let budget = room.budget.clone().unwrap_or_else(own);
        let alive = usize::try_from(room.generations).unwrap_or(1).saturating_add(1);
        Means {
            arena: Arena::new(0, alive, &budget),
            budget,
            shared: room.budget.is_some(),
            panes: room.panes,
            seed: room.seed,
        }
    }

    /// Keys may take so many bytes, for models.
    #[cfg(windlass_loom)]
    pub(super) fn of_bytes(room: &Room, bytes: u64) -> Means {
        let budget = Budget::new(bytes);
        let arena = Arena::new(0, 4, &budget);
        Means { arena, budget, shared: false, panes: room.panes, seed: room.seed }
    }

    pub(super) fn seed(&self) -> Seed {
        self.seed
    }

    /// Bytes of keys that rows do not count.
    pub(super) fn bytes(&self) -> u64 {
        if self.shared { 0 } else { self.budget.used() }
    }

    /// Bytes of keys.
    pub(super) fn key_bytes(&self, guard: &Guard) -> u64 {
        self.arena.bytes(guard)
    }

    /// A key's kind; and its bytes, into `bytes`. `lo`: its fingerprint. `None`: its generation has left.
    pub(super) fn read(&self, name: Name, lo: u64, bytes: &mut Vec<u8>, guard: &Guard) -> Option<u32> {
        match name {
            Name::Number => Some(read_number(lo, self.seed, bytes)),
            Name::Put { slice, at } => {
                let kind = self.arena.read(slice, at, bytes, guard)?;
                bytes.drain(..size_of::<u64>());
                Some(kind)
            }
        }
    }

    /// The half of its hash that is not in its row. `None`: its generation has left.
    pub(super) fn hi(&self, name: Name, lo: u64, guard: &Guard) -> Option<u64> {
        match name {
            Name::Number => Some(number_of(lo, self.seed).key_hash(self.seed).hi),
            Name::Put { slice, at } => self.arena.number(slice, at, guard),
        }
    }
}

/// Where a key is to be found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Name {
    /// In its fingerprint.
    Number,
    /// Its bytes are here.
    Put { slice: u64, at: Reference },
}

pub(crate) struct Names {
    /// Of the arena: the generation's number.
    slice: u64,
    /// (Padded: every add reads its pane's threshold. It is not to wait for what is written beside it.)
    panes: Box<[CachePadded<Pane>]>,
}

#[derive(Default)]
struct Pane {
    /// 0: it has not begun. From the first add on, which sets it by a CAS, all agree, unless it is lowered (`lower`).
    threshold: AtomicU64,
    /// While that is lowered: what it was.
    bound: AtomicU64,
    /// Relaxed: a count.
    refused: AtomicU64,
}

/// Of a note: the row is marked.
pub(super) const LISTED: u64 = 1 << 63;
/// The name in a note.
pub(super) const NAME: u64 = 0xffff_ffff;
/// The name of keys that are refused.
pub(super) const REFUSED: u64 = NAME;
/// The name of all numbers. (References end well below that.)
pub(super) const NUMBER: u64 = NAME - 1;

/// Whose adds count.
#[inline(always)]
pub(super) fn is_named(note: u64) -> bool {
    // Neither 0 nor all ones.
    (note + 1) & NAME > 1
}

impl Extra for Names {
    type Means = Means;

    fn open(means: &Means, first: u64, panes: usize) -> Names {
        Names { slice: first / means.panes, panes: (0..panes).map(|_| CachePadded::default()).collect() }
    }

    fn left(&self, means: &Means) {
        means.arena.retire(self.slice, &epoch::pin());
    }
}

impl Names {
    /// What a count of the pane has to come to for its row to be marked. `next`: for a pane that begins.
    #[inline(always)]
    pub(super) fn threshold(&self, pane: usize, next: &AtomicU64) -> u64 {
        match self.panes[pane].threshold.load(Relaxed) {
            0 => self.begin(pane, next.load(Relaxed).max(1)),
            threshold => threshold,
        }
    }

    #[cold]
    fn begin(&self, pane: usize, next: u64) -> u64 {
        let threshold = &self.panes[pane].threshold;
        if twin!(BeginTwice) {
            threshold.store(next, Relaxed);
            return next;
        }
        threshold.compare_exchange(0, next, Relaxed, Relaxed).map_or_else(|other| other, |_| next)
    }

    /// What a key may have in these panes at most whose row is not marked.
    pub(super) fn unmarked(&self, panes: Range<usize>) -> u64 {
        let most = self.panes[panes].iter().map(|pane| {
            // Acquire, in this order: who finds one that is lowered finds what it was (see `lower`); or, when that is over, the marks.
            let threshold = pane.threshold.load(Acquire);
            threshold.max(pane.bound.load(Acquire)).saturating_sub(1)
        });
        saturating::sum(most)
    }

    /// From now on adds go by this threshold, where it was greater; and what is not marked has less than that was.
    pub(super) fn lower(&self, panes: Range<usize>, to: u64) {
        for pane in &self.panes[panes] {
            let threshold = pane.threshold.load(Relaxed);
            if threshold > to {
                pane.bound.store(threshold, Relaxed);
                pane.threshold.store(to, Release);
            }
        }
    }

    /// All rows are marked that came to the lower threshold.
    pub(super) fn lowered(&self, panes: Range<usize>) {
        // Release: see `unmarked`.
        self.panes[panes].iter().for_each(|pane| pane.bound.store(0, Release));
    }

    /// Adds that were refused.
    pub(super) fn refused(&self, panes: Range<usize>) -> u64 {
        saturating::sum(self.panes[panes].iter().map(|pane| pane.refused.load(Relaxed)))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn refuse(&self, pane: usize, n: u64) {
        saturating::add_and_hold(&self.panes[pane].refused, n);
    }

    /// Gives a row its key's name. The row's note from then on.
    #[cold]
    #[inline(never)]
    pub(super) fn name(
        &self,
        row: Row<'_>,
        key: &impl Key,
        hash: KeyHash,
        means: &Means,
        guard: &Guard,
    ) -> u64 {
        let put = key.with_bytes(|kind, bytes| {
            if is_number(hash, kind, bytes, means.seed) {
                return Ok(NUMBER);
            }
            means.arena.put_two(self.slice, kind, hash.hi, bytes, guard).map(|at| u64::from(at.0) + 1)
        });
        let name = match put {
            Ok(name) => hash.hi >> 1 & !(LISTED | NAME) | name,
            Err(NotPut::TooLong | NotPut::NoRoom) => REFUSED,
            // The generation has left, and so has what is added to it now.
            Err(NotPut::Gone) => return LISTED | 1,
        };
        if twin!(NameTwice) {
            row.note().store(name, Release);
            return name;
        }
        // Release: whoever acquires the name finds the bytes. Acquire: another's.
        match row.note().compare_exchange(0, name, AcqRel, Acquire) {
            Ok(_) => name,
            Err(other) => other,
        }
    }

    /// For snapshots: the bytes of a key, in a generation that nobody has seen. Its name.
    pub(super) fn put(&self, means: &Means, kind: u32, hi: u64, bytes: &[u8]) -> Result<u64, RestoreError> {
        let put = means.arena.put_two(self.slice, kind, hi, bytes, &epoch::pin());
        let no_memory = |_| RestoreError::Memory {
            needed: means.budget.used().saturating_add(bytes.len() as u64),
            limit: means.budget.used().saturating_add(means.budget.left()),
        };
        put.map(|at| u64::from(at.0) + 1).map_err(no_memory)
    }

    /// .. what a pane has.
    pub(super) fn put_pane(&self, pane: usize, threshold: u64, refused: u64) {
        self.panes[pane].threshold.store(threshold, Relaxed);
        self.panes[pane].refused.store(refused, Relaxed);
    }

    /// What the count of a pane has to come to, if it has begun. Relaxed: whoever takes a snapshot marks by the one that it has found.
    pub(super) fn threshold_now(&self, pane: usize) -> u64 {
        self.panes[pane].threshold.load(Relaxed)
    }

    /// The name of a row, if it has one, and what the note has of the hash.
    pub(super) fn name_of(&self, row: Row<'_>) -> Option<(Name, u32)> {
        // Acquire; pairs with the release in `name`.
        self.name_of_note(row.note().load(Acquire))
    }

    /// .. of a note that was loaded with Acquire.
    pub(super) fn name_of_note(&self, note: u64) -> Option<(Name, u32)> {
        #[allow(clippy::cast_possible_truncation)] // the halves
        let (at, hi) = (Reference((note & NAME).wrapping_sub(1) as u32), ((note & !LISTED) >> 32) as u32);
        let name = if note & NAME == NUMBER { Name::Number } else { Name::Put { slice: self.slice, at } };
        is_named(note).then_some((name, hi))
    }
}

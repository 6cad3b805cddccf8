//! What a generation has beside its rows: the bytes of their keys, the thresholds of its panes, and what was refused.
//!
//! ```text
//! a row's note:  marked (1) | of the key's hash (31) | name (32)
//!
//! name: 0: none yet; all ones: refused; else where the key's bytes are, and 1
//! ```
//! **Names.** The first add of a key in a generation puts its bytes into the arena (a segment for each generation) and the
//! reference into the note, by a CAS from 0. All adds of the key then agree on it, also where there is no room for the bytes: a key is counted in
//! a generation, or refused, but not now this and now that (twin `NameTwice`).

use crate::{
    count::{Extra, Room, Row},
    hash::{Key, KeyHash},
    sync::{
        AtomicU64, Budget,
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
        }
    }

    /// Keys may take so many bytes, for models.
    #[cfg(windlass_loom)]
    pub(super) fn of_bytes(room: &Room, bytes: u64) -> Means {
        let budget = Budget::new(bytes);
        Means { arena: Arena::new(0, 4, &budget), budget, shared: false, panes: room.panes }
    }

    /// Bytes of keys that rows do not count.
    pub(super) fn bytes(&self) -> u64 {
        if self.shared { 0 } else { self.budget.used() }
    }

    /// Bytes of keys.
    pub(super) fn key_bytes(&self, guard: &Guard) -> u64 {
        self.arena.bytes(guard)
    }

    /// A key's kind; and its bytes, into `bytes`. `None`: its generation has left.
    pub(super) fn read(&self, name: Name, bytes: &mut Vec<u8>, guard: &Guard) -> Option<u32> {
        let kind = self.arena.read(name.slice, name.at, bytes, guard)?;
        bytes.drain(..size_of::<u64>());
        Some(kind)
    }

    /// The half of its hash that is not in its row. `None`: its generation has left.
    pub(super) fn hi(&self, name: Name, guard: &Guard) -> Option<u64> {
        self.arena.number(name.slice, name.at, guard)
    }
}

/// Where a key's bytes are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    slice: u64,
    at: Reference,
}

pub(crate) struct Names {
    /// Of the arena: the generation's number.
    slice: u64,
    /// Of each pane. 0: it has not begun. From the first add on, which sets it by a CAS, all agree, unless it is lowered (`lower`).
    thresholds: Box<[AtomicU64]>,
    /// While one is lowered: what it was.
    bounds: Box<[AtomicU64]>,
    /// In each pane. Relaxed: counts.
    refused: Box<[AtomicU64]>,
}

/// Of a note: the row is marked.
pub(super) const LISTED: u64 = 1 << 63;
/// The name in a note.
const NAME: u64 = 0xffff_ffff;
/// The name of keys that are refused.
const REFUSED: u64 = NAME;

/// Whose adds count.
#[inline(always)]
pub(super) fn is_named(note: u64) -> bool {
    // Neither 0 nor all ones.
    (note + 1) & NAME > 1
}

impl Extra for Names {
    type Means = Means;

    fn open(means: &Means, first: u64, panes: usize) -> Names {
        let zeros = || (0..panes).map(|_| AtomicU64::new(0)).collect();
        Names { slice: first / means.panes, thresholds: zeros(), bounds: zeros(), refused: zeros() }
    }

    fn left(&self, means: &Means) {
        means.arena.retire(self.slice, &epoch::pin());
    }
}

impl Names {
    /// What a count of the pane has to come to for its row to be marked. `next`: for a pane that begins.
    #[inline(always)]
    pub(super) fn threshold(&self, pane: usize, next: &AtomicU64) -> u64 {
        match self.thresholds[pane].load(Relaxed) {
            0 => self.begin(pane, next.load(Relaxed).max(1)),
            threshold => threshold,
        }
    }

    #[cold]
    fn begin(&self, pane: usize, next: u64) -> u64 {
        let threshold = &self.thresholds[pane];
        if twin!(BeginTwice) {
            threshold.store(next, Relaxed);
            return next;
        }
        threshold.compare_exchange(0, next, Relaxed, Relaxed).map_or_else(|other| other, |_| next)
    }

    /// What a key may have in these panes at most whose row is not marked.
    pub(super) fn unmarked(&self, panes: Range<usize>) -> u64 {
        let most = panes.map(|pane| {
            // Acquire, in this order: who finds one that is lowered finds what it was (see `lower`); or, when that is over, the marks.
            let threshold = self.thresholds[pane].load(Acquire);
            threshold.max(self.bounds[pane].load(Acquire)).saturating_sub(1)
        });
        saturating::sum(most)
    }

    /// From now on adds go by this threshold, where it was greater; and what is not marked has less than that was.
    pub(super) fn lower(&self, panes: Range<usize>, to: u64) {
        for pane in panes {
            let threshold = self.thresholds[pane].load(Relaxed);
            if threshold > to {
                self.bounds[pane].store(threshold, Relaxed);
                self.thresholds[pane].store(to, Release);
            }
        }
    }

    /// All rows are marked that came to the lower threshold.
    pub(super) fn lowered(&self, panes: Range<usize>) {
        // Release: see `unmarked`.
        self.bounds[panes].iter().for_each(|bound| bound.store(0, Release));
    }

    /// Adds that were refused.
    pub(super) fn refused(&self, panes: Range<usize>) -> u64 {
        saturating::sum(self.refused[panes].iter().map(|refused| refused.load(Relaxed)))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn refuse(&self, pane: usize, n: u64) {
        let refused = &self.refused[pane];
        if saturating::is_saturated(saturating::add(refused, n), n) {
            saturating::hold(refused);
        }
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
        let put = key.with_bytes(|kind, bytes| means.arena.put_two(self.slice, kind, hash.hi, bytes, guard));
        let name = match put {
            // (References end well below that.)
            Ok(at) => hash.hi >> 1 & !(LISTED | NAME) | (u64::from(at.0) + 1),
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

    /// The name of a row, if it has one, and what the note has of the hash.
    pub(super) fn name_of(&self, row: Row<'_>) -> Option<(Name, u32)> {
        // Acquire; pairs with the release in `name`.
        let note = row.note().load(Acquire);
        #[allow(clippy::cast_possible_truncation)] // the halves
        let at = Reference((note & NAME).wrapping_sub(1) as u32);
        is_named(note).then_some((Name { slice: self.slice, at }, ((note & !LISTED) >> 32) as u32))
    }
}

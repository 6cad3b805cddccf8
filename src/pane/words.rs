//! What threads share of a ring, as words: in memory, or in a file that outlives the process.

use crate::{
    mem::{Line, Slab, WORDS},
    sync::{AtomicU64, Budget},
};

/// Two lines: processors fetch them together.
const APART: usize = 2;
const HOT: usize = 0;
const CLAIMED: usize = APART;
const DONE: usize = 2 * APART;
const LABELS: usize = 3 * APART;

pub(crate) struct Words(Slab<Line>);

impl Words {
    /// How many lines a ring of so many columns needs.
    pub(crate) fn lines(columns: usize) -> usize {
        LABELS + (2 * columns).div_ceil(WORDS)
    }

    /// In memory. `None` if there is none.
    pub(crate) fn new(columns: usize) -> Option<Words> {
        Slab::new(Words::lines(columns), &Budget::new(u64::MAX)).map(Words)
    }

    /// In these lines, as many as `lines` tells.
    #[cfg(all(feature = "mmap", unix, not(windlass_loom)))]
    pub(crate) fn over(lines: Slab<Line>) -> Words {
        Words(lines)
    }

    /// There is nothing to do before this tick, and the current column's label covers all before it. Only rises. Whoever has loaded it
    /// (Acquire) and then loads the index finds the column that it was stored for (Release), or a later one.
    #[inline(always)]
    pub(super) fn due(&self) -> &AtomicU64 {
        &self.0[HOT][0]
    }

    /// A [`super::View`]. Loaded with Acquire: whoever finds a column current finds it clean.
    #[inline(always)]
    pub(super) fn index(&self) -> &AtomicU64 {
        &self.0[HOT][1]
    }

    /// Chunks claimed over all time. A column in its first turn needs none.
    pub(super) fn claimed(&self) -> &AtomicU64 {
        &self.0[CLAIMED][0]
    }

    /// .. and reported clean.
    pub(super) fn done(&self) -> &AtomicU64 {
        &self.0[DONE][0]
    }

    /// The pane in which a column became current. This and the next only rise, by `fetch_max`: a thread that stalls before it changes nothing.
    pub(super) fn first(&self, column: usize) -> &AtomicU64 {
        self.label(2 * column)
    }

    /// A column's label: the last pane of which something may be in it.
    pub(super) fn last(&self, column: usize) -> &AtomicU64 {
        self.label(2 * column + 1)
    }

    fn label(&self, at: usize) -> &AtomicU64 {
        &self.0[LABELS + at / WORDS][at % WORDS]
    }
}

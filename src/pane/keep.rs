//! A ring and its columns as a snapshot has them, taken while calls go on.
//!
//! A snapshot begins with a view. It reads the words of the columns that are live by it, in any order, and then looks at the ring once
//! more (`Kept`). What it keeps is the ring as it is *then*: of the columns that it has read, those that are still live in the same turn; of those that
//! became current meanwhile nothing but their labels.
//!
//! - What was put in before it began is in a column that it has read, or had gone by then. If a word was read as cleared, the retirement of its
//!   column is seen at the end, as in `is_at` (twin `KeepAsBegun`: the column counts as live, and what was in it is lost).
//! - A column that took over meanwhile may have been read half old and half new. Its bits are left out (twin `KeepRetired`: what has expired counts
//!   as seen for another window).
//! - What is put in meanwhile may be there or not, or with some of its bits, which make the column as much fuller.
//!
//! Chunks that were claimed count as cleared, since what is not live is not kept. So a ring that nobody uses goes on exactly as it was.

use super::{Bloom, PaneRing, View, Words, ring::Grid};
use crate::sync::{
    Ordering::{Acquire, Relaxed},
    fence, retry, twin,
};
use std::ops::Range;

/// A ring, as it was when its columns had been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The number of the current column's turn.
    pub(crate) turn: u64,
    /// Chunks of the next column that were cleared.
    pub(crate) cleared: u64,
    /// Before this tick there is nothing to do; 0: it has no time.
    pub(crate) due: u64,
    /// First and last pane of the columns that were live, the newest first.
    pub(crate) labels: Vec<(u64, u64)>,
}

impl PaneRing {
    /// The view by which columns are to be read.
    pub(crate) fn begin_to_keep(&self) -> View {
        self.view()
    }

    /// What the ring is when they have been.
    pub(crate) fn keep(&self, begun: View) -> Kept {
        // Pairs with the stores that clear: whoever has read one of them sees that its column had been retired.
        fence(Acquire);
        loop {
            // Acquire, and before the index: the column that is found is the one that it was stored for, or a later one.
            let due = self.words.due().load(Acquire);
            let view = if twin!(KeepAsBegun) { begun } else { self.view() };
            let count = self.grid().columns;
            let label = |i| {
                let pane = self.pane(view.back(i, count));
                (pane.first, pane.last)
            };
            let labels = (0..view.live()).map(label).collect();
            let chunks = self.grid().chunks;
            let before = self.needed(view).saturating_sub(chunks);
            // Relaxed: how much there is to do, and no more.
            let cleared = self.words.claimed().load(Relaxed).saturating_sub(before).min(chunks);
            let cleared = if view.live() == count { 0 } else { cleared };
            // Labels were read with Acquire: one of a later turn comes with an index in which this one is not live.
            fence(Acquire);
            if self.index_is(view) || twin!(KeepAsBegun) {
                return Kept { turn: view.turn(count), cleared, due, labels };
            }
            retry();
        }
    }

    /// Calls `put` with the words of the live columns in these blocks: block by block, in each the newest first.
    pub(crate) fn read<C: Bloom>(
        &self,
        columns: &C,
        begun: View,
        blocks: Range<u64>,
        mut put: impl FnMut(u64),
    ) {
        let count = self.grid().columns;
        for block in blocks {
            for i in 0..begun.live() {
                // Relaxed: see `keep`.
                columns.words(begun.back(i, count), block).iter().for_each(|word| put(word.load(Relaxed)));
            }
        }
    }
}

/// For rings in files.
#[cfg(all(feature = "mmap", unix, not(windlass_loom)))]
impl PaneRing {
    /// Makes one whole whose threads have all ended, wherever they were: chunks that were claimed and not reported are cleared. (All else is
    /// as if they had stalled.) `false`: it is none that they could have left.
    pub(crate) fn mend<C: Bloom>(&self, columns: &C) -> bool {
        let (view, count, chunks) = (self.view(), self.grid().columns, self.grid().chunks);
        let is_whole = View::of(view.turn(count), view.live(), count).is_some() && view.column() < count;
        if !is_whole || chunks.checked_mul(view.turn(count) + 2).is_none() {
            return false;
        }
        let needed = self.needed(view);
        let claimed = self.words.claimed().load(Relaxed);
        let before = needed.saturating_sub(chunks);
        if view.live() == count || !(before..=needed).contains(&claimed) {
            return claimed == before && self.words.done().load(Relaxed) == claimed;
        }
        // The next one, which is not live.
        let next = view.back(count - 1, count);
        (0..claimed - before).for_each(|chunk| columns.clear(next, chunk));
        self.words.done().store(claimed, Relaxed);
        true
    }

    /// The first tick of the newest pane that it knows of.
    pub(crate) fn newest_start(&self) -> u64 {
        self.pane(self.view().column()).last.saturating_mul(self.grid().pane)
    }
}

/// Columns that were read by this view, on their way into others. (Nobody else has seen those.)
#[derive(Clone, Copy, Debug)]
pub(crate) struct PutBack {
    columns: usize,
    turn: u64,
    live: usize,
}

impl PutBack {
    /// `None`: there is no such view.
    pub(crate) fn new(columns: usize, turn: u64, live: usize) -> Option<PutBack> {
        View::of(turn, live, columns)?;
        Some(PutBack { columns, turn, live })
    }

    /// Words of a block for which there are `each` of a column.
    pub(crate) fn words(self, each: usize) -> usize {
        self.live * each
    }

    /// The reverse of [`PaneRing::read`].
    pub(crate) fn put<C: Bloom>(self, columns: &C, block: u64, words: impl Iterator<Item = u64>) {
        let Some(begun) = View::of(self.turn, self.live, self.columns) else { return };
        let places = (0..self.live).flat_map(|i| columns.words(begun.back(i, self.columns), block));
        // (What is 0 stays untouched, and takes no memory.)
        places.zip(words).filter(|(_, word)| *word != 0).for_each(|(place, word)| place.store(word, Relaxed));
    }

    /// The ring that goes with the columns that have been put. `None`: it cannot be.
    pub(crate) fn finish<C: Bloom>(
        self,
        columns: &C,
        grid: Grid,
        words: Words,
        kept: &Kept,
    ) -> Option<PaneRing> {
        let view = View::of(kept.turn, kept.labels.len(), self.columns)?;
        let is_right = |&(first, last): &(u64, u64)| first <= last && last <= u64::MAX / grid.pane;
        if kept.turn < self.turn || kept.cleared > grid.chunks || !kept.labels.iter().all(is_right) {
            return None;
        }
        // All chunks that have ever been cleared are counted.
        grid.chunks.checked_mul(kept.turn + 2)?;
        let oldest = (kept.turn + 1).saturating_sub(kept.labels.len() as u64);
        for i in 0..self.live {
            if self.turn - (i as u64) < oldest && !twin!(KeepRetired) {
                let column = View::of(self.turn, self.live, self.columns)?.back(i, self.columns);
                (0..grid.chunks).for_each(|chunk| columns.clear(column, chunk));
            }
        }
        for (i, &(first, last)) in kept.labels.iter().enumerate() {
            let column = view.back(i, self.columns);
            words.first(column).store(first, Relaxed);
            words.last(column).store(last, Relaxed);
        }
        let ring = PaneRing::put_back(grid, words, view, kept.due);
        let cleared = if view.live() == self.columns { 0 } else { kept.cleared };
        let before = ring.needed(view).checked_sub(grid.chunks);
        // In its first turn a column needs none.
        let cleared = before.map_or(0, |before| before + cleared);
        [ring.words.claimed(), ring.words.done()].iter().for_each(|count| count.store(cleared, Relaxed));
        Some(ring)
    }
}

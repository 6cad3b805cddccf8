//! A Count-Min sketch of one pane: what its keys have at most, of adds that no slot has counted.
//!
//! All cells of a key lie on one cache line, a few for each row to choose from (the layout of Caffeine's frequency sketch). A cell has 32 bits, so that
//! there are twice as many as with 64. What does not fit into one *spills*: a cell that has come to `FULL` stays there or above, and what else
//! would be added to it goes to a count that all cells of its row have in common. So nothing is lost, and a full cell still says something.

use crate::{
    hash::mix,
    mem::Slab,
    pane::below,
    sync::{AtomicU32, AtomicU64, Budget, Ordering::Relaxed, prefetch, saturating},
};
use std::{ops::Range, sync::Arc};

/// Rows: cells of a key.
const ROWS: usize = if cfg!(windlass_loom) { 1 } else { 2 };

/// Cells of a row on a line.
const CELLS: usize = if cfg!(windlass_loom) { 2 } else { 8 };

/// Cells of a line.
pub(super) const LINE: usize = ROWS * CELLS;

/// A cell that has come this far spills.
const FULL: u32 = if cfg!(windlass_loom) { 1 << 10 } else { 1 << 31 };

/// What is added without a look at the cell before. (Fewer than 2^15 threads add at one time, so that it does not overflow.)
const SMALL: u64 = if cfg!(windlass_loom) { 1 << 5 } else { 1 << 16 };

/// Keys of one bucket are to have different lines.
const APART: u64 = 0x736b_6574_6368_2121; // "sketch!!"

pub(super) struct Sketch {
    cells: Slab<AtomicU32>,
    /// Lines.
    lines: u64,
    spilled: [AtomicU64; ROWS],
}

/// Where a key's cells are.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    first: usize,
    cells: u64,
}

/// What is said of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    /// It has no more than that of adds that are in the sketch.
    pub(super) upper: u64,
    /// How much of that may well be others'.
    pub(super) noise: u64,
}

impl Sketch {
    /// `None`: there may not be so much memory.
    pub(super) fn new(lines: u64, budget: &Arc<Budget>) -> Option<Sketch> {
        let cells = usize::try_from(lines).ok()?.checked_mul(LINE)?;
        Some(Sketch {
            cells: Slab::new(cells, budget)?,
            lines,
            spilled: std::array::from_fn(|_| AtomicU64::new(0)),
        })
    }

    pub(super) fn bytes(lines: u64) -> u64 {
        lines.saturating_mul((LINE * size_of::<AtomicU32>()) as u64)
    }

    /// By a key's fingerprint.
    #[inline(always)]
    pub(super) fn spot(&self, lo: u64) -> Spot {
        let hash = mix(lo ^ APART);
        #[allow(clippy::cast_possible_truncation)] // it was allocated
        let line = below(hash, self.lines) as usize;
        Spot { first: line * LINE, cells: hash }
    }

    /// Which of the first row's cells is a key's, for models.
    #[cfg(windlass_loom)]
    #[allow(clippy::cast_possible_truncation)] // less than CELLS
    pub(super) fn cell_of(lo: u64) -> usize {
        mix(lo ^ APART) as usize % CELLS
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, lo: u64) {
        prefetch(self.cells.as_ptr().wrapping_add(self.spot(lo).first));
    }

    #[inline(always)]
    fn cell(&self, spot: Spot, row: usize) -> &AtomicU32 {
        #[allow(clippy::cast_possible_truncation)] // less than CELLS
        let which = (spot.cells >> (8 * row)) as usize % CELLS;
        &self.cells[spot.first + row * CELLS + which]
    }

    /// Relaxed, here and in `estimate`: what a call has added is seen by whoever comes after it at the bucket's head, see `slots`.
    pub(super) fn add(&self, lo: u64, n: u64) {
        let spot = self.spot(lo);
        for row in 0..ROWS {
            let spills = add_to(self.cell(spot, row), n);
            if spills > 0 {
                self.spill(row, spills);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn spill(&self, row: usize, n: u64) {
        saturating::add_and_hold(&self.spilled[row], n);
    }

    pub(super) fn estimate(&self, lo: u64) -> Estimate {
        let spot = self.spot(lo);
        let (mut upper, mut sum) = (u64::MAX, 0_u64);
        for row in 0..ROWS {
            let value = self.cell(spot, row).load(Relaxed);
            let count = if value < FULL {
                u64::from(value)
            } else {
                // After the cell: what an add that has ended has spilled is there.
                saturating::sum([u64::from(value), self.spilled[row].load(Relaxed)].into_iter())
            };
            upper = upper.min(count);
            let first = spot.first + row * CELLS;
            let others = self.cells[first..first + CELLS].iter().map(|cell| u64::from(cell.load(Relaxed)));
            sum = sum.saturating_add(others.sum::<u64>().saturating_sub(count));
        }
        let cells = (LINE - ROWS).max(1) as u64;
        Estimate { upper, noise: sum / cells }
    }

    /// Cells.
    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(super) fn values(&self, cells: Range<usize>) -> impl Iterator<Item = u32> {
        self.cells[cells].iter().map(|cell| cell.load(Relaxed))
    }

    /// What has not fit into the cells of each row.
    pub(super) fn spilled(&self) -> [u64; ROWS] {
        std::array::from_fn(|row| self.spilled[row].load(Relaxed))
    }

    /// For one thread, when no other uses it, as `put_spilled`.
    pub(super) fn put_cell(&self, cell: usize, value: u32) {
        // (More would be as good as full, and might overflow.)
        self.cells[cell].store(value.min(FULL + (FULL >> 1)), Relaxed);
    }

    pub(super) fn put_spilled(&self, row: usize, value: u64) {
        self.spilled[row].store(value, Relaxed);
    }

    /// For one thread, when no other uses it: clears cells from this one on. Where to go on, or `None` if all are clear.
    pub(super) fn clear(&self, from: usize, most: usize) -> Option<usize> {
        let to = self.cells.len().min(from.saturating_add(most));
        self.cells[from.min(to)..to].iter().for_each(|cell| cell.store(0, Relaxed));
        self.spilled.iter().for_each(|spilled| spilled.store(0, Relaxed));
        (to < self.cells.len()).then_some(to)
    }
}

/// What did not fit.
fn add_to(cell: &AtomicU32, n: u64) -> u64 {
    if n > SMALL {
        return add_much(cell, n);
    }
    #[allow(clippy::cast_possible_truncation)] // small
    let small = n as u32;
    if cell.fetch_add(small, Relaxed) < FULL {
        return 0;
    }
    // It was full before, and is so without this.
    cell.fetch_sub(small, Relaxed);
    n
}

#[cold]
#[inline(never)]
fn add_much(cell: &AtomicU32, n: u64) -> u64 {
    let mut old = cell.load(Relaxed);
    loop {
        if old >= FULL {
            return n;
        }
        let fits = n.min(u64::from(FULL - old));
        #[allow(clippy::cast_possible_truncation)] // no more than FULL
        let new = old + fits as u32;
        match cell.compare_exchange(old, new, Relaxed, Relaxed) {
            Ok(_) => return n - fits,
            Err(now) => old = now,
        }
        crate::sync::retry();
    }
}

#[cfg(all(test, not(windlass_loom)))]
#[allow(clippy::expect_used)] // clippy knows tests only by their attribute
mod tests {
    use super::*;

    fn sketch(lines: u64) -> Sketch {
        Sketch::new(lines, &Budget::new(u64::MAX)).expect("memory")
    }

    #[test]
    fn never_less_than_the_truth() {
        let sketch = sketch(8);
        for key in 0..2000_u64 {
            sketch.add(mix(key), key % 7);
        }
        assert!((0..2000_u64).all(|key| sketch.estimate(mix(key)).upper >= key % 7));
    }

    /// In steps of every size: nothing is lost when cells are full.
    #[test]
    fn full_cells_spill() {
        for step in [SMALL, SMALL + 1, 1 << 30, (1 << 31) + 5, 1 << 40] {
            let (sketch, mut sum) = (sketch(1), 0);
            while sum < 5 << 31 {
                sketch.add(9, step);
                sum += step;
                let upper = sketch.estimate(9).upper;
                assert!(upper >= sum && upper <= sum + SMALL, "{step}: {upper}, {sum}");
            }
        }
        let sketch = sketch(1);
        (0..3).for_each(|_| sketch.add(9, u64::MAX));
        assert_eq!(sketch.estimate(9).upper, u64::MAX);
        assert_eq!((sketch.clear(0, 3), sketch.clear(3, 100)), (Some(3), None));
        assert_eq!(sketch.estimate(9).upper, 0);
    }
}

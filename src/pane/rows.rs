//! Panes side by side: a row holds a block of every pane, in as few cache lines as they take, and a key has one or a few rows. So one
//! look at a row asks all panes.

use super::{
    Bloom, Clear, Seen, View,
    block::{Mask, Places, remix, zero},
};
use crate::{
    hash::KeyHash,
    mem::{Line, Slab, WORDS},
    sync::{AtomicU64, prefetch},
};

/// Rows with blocks of W words, R of them for a key.
pub(crate) struct Rows<const W: usize, const R: usize> {
    lines: Slab<Line>,
    rows: u64,
    /// Panes in a row: 64 at most.
    columns: usize,
    words_per_row: usize,
    /// Bits that a key sets in each of its rows.
    probes: u32,
}

/// Where a key is: the first words of its rows, and its bits there.
#[derive(Clone, Copy)]
pub(crate) struct Spot<const W: usize, const R: usize>([(usize, Mask<W>); R]);

/// Rows cleared at a time.
const CHUNK: u64 = if cfg!(windlass_loom) { 1 } else { 16 };

impl<const W: usize, const R: usize> Rows<W, R> {
    pub(crate) const MAX_COLUMNS: usize = 64;

    /// In lines that `take` gives. `None` if it has none.
    pub(crate) fn new(
        rows: u64,
        columns: usize,
        probes: u32,
        take: &mut impl FnMut(usize) -> Option<Slab<Line>>,
    ) -> Option<Self> {
        let lines_per_row = Self::lines_per_row(columns);
        let lines = usize::try_from(rows).ok()?.checked_mul(lines_per_row)?;
        #[allow(clippy::cast_possible_truncation)] // a few rows
        let probes = probes / R as u32;
        Some(Rows { lines: take(lines)?, rows, columns, words_per_row: lines_per_row * WORDS, probes })
    }

    pub(crate) fn lines_per_row(columns: usize) -> usize {
        (columns * W).div_ceil(WORDS)
    }

    #[inline(always)]
    fn block(&self, first: usize, column: usize) -> &[AtomicU64] {
        &self.lines.words()[first + column * W..][..W]
    }

    #[inline(always)]
    fn line(&self, first: usize) -> &[AtomicU64; WORDS] {
        &self.lines[first / WORDS]
    }

    /// The first word of a row.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // it was allocated
    fn row(&self, row: u64) -> usize {
        row as usize * self.words_per_row
    }

    /// In which columns all bits of the key are set.
    #[inline(always)]
    fn hits(&self, spot: &Spot<W, R>) -> u64 {
        if self.words_per_row > WORDS {
            return self.hits_in_lines(spot);
        }
        let places = self.places(spot, 0);
        if places.is_any() { places.blocks() } else { 0 }
    }

    /// In a line of each of its rows.
    #[inline(always)]
    fn places(&self, spot: &Spot<W, R>, line: usize) -> Places<W> {
        let places = |all: Places<W>, &(first, ref mask): &(usize, Mask<W>)| {
            all.and(mask.places(self.line(first + line)))
        };
        spot.0.iter().fold(Places::ALL, places)
    }

    #[inline(never)]
    fn hits_in_lines(&self, spot: &Spot<W, R>) -> u64 {
        let lines = (0..self.words_per_row).step_by(WORDS);
        lines.fold(0, |hits, i| hits | self.places(spot, i).blocks() << (i / W))
    }

    /// The columns that are live.
    #[inline(always)]
    fn live(&self, view: View) -> u64 {
        let (live, end) = (view.live(), view.column() + 1);
        if live == self.columns || live == 0 {
            return if live == 0 { 0 } else { u64::MAX };
        }
        let ones = |n: usize| (1_u64 << n) - 1;
        if end >= live {
            (ones(live)) << (end - live)
        } else {
            // Those before the first column are the last.
            ones(end) | ones(live - end) << (self.columns + end - live)
        }
    }
}

impl<const W: usize, const R: usize> Clear for Rows<W, R> {
    fn clear(&self, column: usize, chunk: u64) {
        for row in chunk * CHUNK..self.rows.min((chunk + 1) * CHUNK) {
            self.block(self.row(row), column).iter().for_each(zero);
        }
    }
}

impl<const W: usize, const R: usize> Bloom for Rows<W, R> {
    type Spot = Spot<W, R>;

    #[inline(always)]
    fn spot(&self, hash: KeyHash) -> Self::Spot {
        let (mut place, mut bits) = (hash.hi, hash.lo);
        let at = |place, bits| (self.row(super::below(place, self.rows)), Mask::new(bits, self.probes));
        let mut spot = [at(place, bits); R];
        let mut i = 1;
        while i < R {
            place = remix(place);
            // 32 bits are enough for five probes.
            bits = if i % 2 == 1 && self.probes <= 5 { bits.rotate_left(32) } else { remix(bits) };
            spot[i] = at(place, bits);
            i += 1;
        }
        Spot(spot)
    }

    #[inline(always)]
    fn prefetch(&self, spot: &Self::Spot, _: View) {
        for &(first, _) in &spot.0 {
            let words = self.lines.words().as_ptr().wrapping_add(first);
            prefetch(words);
            if self.words_per_row > WORDS {
                (WORDS..self.words_per_row)
                    .step_by(WORDS)
                    .for_each(|word| prefetch(words.wrapping_add(word)));
            }
        }
    }

    #[inline(always)]
    fn seen(&self, spot: &Self::Spot, view: View) -> Seen {
        let mut hits = self.hits(spot);
        if hits == 0 {
            return Seen { at_all: false, in_current: false };
        }
        hits &= self.live(view);
        Seen { at_all: hits != 0, in_current: hits >> view.column() & 1 != 0 }
    }

    #[inline(always)]
    fn set(&self, spot: &Self::Spot, view: View) -> bool {
        let set = |all, &(first, ref mask): &(usize, Mask<W>)| {
            let block = self.block(first, view.column());
            all & if R == 1 { mask.set(block) } else { mask.add(block) }
        };
        spot.0.iter().fold(true, set)
    }

    fn is_in(&self, spot: &Self::Spot, column: usize, _: u64) -> bool {
        self.hits(spot) >> column & 1 != 0
    }

    fn blocks(&self) -> u64 {
        self.rows
    }

    fn words(&self, column: usize, block: u64) -> &[AtomicU64] {
        self.block(self.row(block), column)
    }

    fn chunks(rows: u64) -> u64 {
        rows.div_ceil(CHUNK)
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use crate::{
        hash::{Key, Seed},
        sync::Budget,
    };

    /// Rows for 10^9 ids at 1 %: whatever bits of a row's number one looks at, all their values are as frequent, and so for
    /// the second row. (The memory is never touched.)
    #[test]
    fn a_billion_ids() {
        const ROWS: u64 = 48_000_000;
        const BINS: usize = 256;
        let budget = Budget::new(u64::MAX);
        let Some(rows) = Rows::<1, 2>::new(ROWS, 8, 8, &mut |len| Slab::new(len, &budget)) else { return };
        let mut bins = [[0_u32; BINS]; 6];
        let n = 200_000_u64;
        for id in 0..n {
            let Spot(rows) = rows.spot(id.key_hash(Seed(3)));
            for ((first_word, _), bins) in rows.iter().zip(bins.chunks_mut(3)) {
                let row = first_word / WORDS;
                bins[0][(row as u128 * BINS as u128 / u128::from(ROWS)) as usize] += 1;
                bins[1][row % BINS] += 1;
                bins[2][row / BINS % BINS] += 1;
            }
            assert_ne!(rows[0].0, rows[1].0);
        }
        for bins in bins {
            // Chi-square with 255 degrees of freedom: 255 +- 22.6.
            let mean = n as f64 / BINS as f64;
            let chi: f64 = bins.iter().map(|&n| (f64::from(n) - mean).powi(2) / mean).sum();
            assert!((160.0..350.0).contains(&chi), "{chi}");
        }
    }
}

//! Rows of a table that are to be found again.
//!
//! A bit for each row, and one for each word of those. A bit is only ever set, so who sets it again does no harm. Relaxed: who has
//! set a bit, or found it set, is seen by whoever comes after that to have done so.

use crate::sync::{AtomicU64, Ordering::Relaxed};

pub(super) struct Marks {
    rows: Box<[AtomicU64]>,
    words: Box<[AtomicU64]>,
}

impl Marks {
    pub(super) fn new(rows: u64) -> Marks {
        let zeros = |n: u64| (0..n).map(|_| AtomicU64::new(0)).collect();
        Marks { rows: zeros(rows.div_ceil(64)), words: zeros(rows.div_ceil(64 * 64)) }
    }

    #[allow(clippy::cast_possible_truncation)] // there is a row of that number
    pub(super) fn set(&self, row: u64) {
        let word = row / 64;
        for (bits, bit) in [(&self.rows, row), (&self.words, word)] {
            let (bits, bit) = (&bits[bit as usize / 64], 1 << (bit % 64));
            if bits.load(Relaxed) & bit == 0 {
                bits.fetch_or(bit, Relaxed);
            }
        }
    }

    /// None is set any more. For one thread, when no other uses them.
    pub(super) fn clear(&self) {
        for (at, word) in self.words.iter().enumerate() {
            #[allow(clippy::cast_possible_truncation)] // they are in memory
            ones(at, word).for_each(|word| self.rows[word as usize].store(0, Relaxed));
            word.store(0, Relaxed);
        }
    }

    /// All that are set.
    pub(super) fn each(&self) -> impl Iterator<Item = u64> {
        let words = self.words.iter().enumerate().flat_map(|(at, word)| ones(at, word));
        #[allow(clippy::cast_possible_truncation)] // they are in memory
        words.flat_map(|word| ones(word as usize, &self.rows[word as usize]))
    }
}

/// The numbers of the bits of the `at`-th word.
fn ones(at: usize, word: &AtomicU64) -> impl Iterator<Item = u64> + use<> {
    let mut left = word.load(Relaxed);
    std::iter::from_fn(move || {
        let bit = (left != 0).then(|| left.trailing_zeros())?;
        left &= left - 1;
        Some(at as u64 * 64 + u64::from(bit))
    })
}

//! A block: the bits of one pane in one place, of which a key sets a few.

use crate::{
    mem::{Line, WORDS},
    sync::{
        AtomicU64,
        Ordering::{Relaxed, Release},
        twin, words_with,
    },
};

/// The bits of a key within a block of W words (1, 2, 4 or 8).
#[derive(Clone, Copy)]
pub(super) struct Mask<const W: usize>([u64; W]);

/// How a word is cleared. Whoever sees it clear sees that its column had been retired. Model: loom-tests/tests/pane.rs.
#[inline(always)]
pub(super) fn zero(word: &AtomicU64) {
    word.store(0, if twin!(RelaxedClear) { Relaxed } else { Release });
}

/// The other half of a product with an odd number: of bits of which the highest are used.
#[inline(always)]
pub(super) fn remix(bits: u64) -> u64 {
    (bits ^ bits >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl<const W: usize> Mask<W> {
    /// `probes` bits, some of which may coincide; by the highest of `bits`, six to nine for each.
    #[inline(always)]
    pub(super) fn new(mut bits: u64, probes: u32) -> Mask<W> {
        let each = 6 + W.ilog2();
        let mut mask = [0; W];
        let mut left = probes;
        loop {
            for _ in 0..left.min(64 / each) {
                bits = bits.rotate_left(each);
                #[allow(clippy::cast_possible_truncation)] // three bits at most
                let word = (bits >> 6) as usize % W;
                mask[word] |= 1 << (bits % 64);
            }
            left = left.saturating_sub(64 / each);
            if left == 0 {
                return Mask(mask);
            }
            bits = remix(bits);
        }
    }

    /// In which of the blocks of a line all of them are set: a bit for each.
    ///
    /// Relaxed, as everywhere here: what the ring's index says is what counts, and it is looked at again before "absent" is said.
    #[inline(always)]
    pub(super) fn blocks_with(&self, line: &Line) -> u64 {
        let mut words = words_with(line, &self.0);
        if W == 1 {
            return words.into();
        }
        let mut n = 1;
        while n < W {
            words &= words >> n;
            n *= 2;
        }
        (0..WORDS / W).fold(0, |blocks, i| blocks | u64::from(words >> (i * W) & 1) << i)
    }

    /// Sets them. Whether all were set before: with one word, exactly one of several calls finds that they were not.
    #[inline(always)]
    pub(super) fn set(&self, block: &[AtomicU64]) -> bool {
        block.iter().zip(&self.0).fold(true, |all, (word, &mask)| {
            // What is set already is not written again.
            let is_set = word.load(Relaxed) & mask == mask || word.fetch_or(mask, Relaxed) & mask == mask;
            all & is_set
        })
    }
}

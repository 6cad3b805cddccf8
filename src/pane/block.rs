//! A block: the bits of one pane in one place, of which a key sets a few.

use crate::{
    mem::WORDS,
    sync::{
        AtomicU64,
        Ordering::{Relaxed, Release},
        halves_with, twin,
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

/// Other bits, from these.
#[inline(always)]
pub(super) fn remix(bits: u64) -> u64 {
    let product = (bits ^ bits >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 32
}

impl<const W: usize> Mask<W> {
    /// `probes` bits, some of which may coincide; by six to nine of the bits of `source` for each, from the lowest.
    #[inline(always)]
    pub(super) fn new(source: u64, probes: u32) -> Mask<W> {
        // 0 is the hash of a likely id (a u64 that equals the seed), and would set one bit.
        let mut source = source ^ 0xd1b5_4a32_d192_ed03;
        let mut mask = Mask([0; W]);
        let most = (u64::BITS - 1) / Self::EACH;
        if probes <= most {
            mask.add_bits(source, probes);
            return mask;
        }
        let mut left = probes;
        while left > 0 {
            mask.add_bits(source, left.min(most));
            left = left.saturating_sub(most);
            source = remix(source);
        }
        mask
    }

    /// Bits of a hash that one probe takes.
    const EACH: u32 = 6 + W.ilog2();

    /// The loop counts by a bit behind the last that is used, so that it stays short. (It is a good part of a call.)
    #[inline(always)]
    fn add_bits(&mut self, source: u64, probes: u32) {
        let end = 1 << (Self::EACH * probes % u64::BITS);
        let mut bits = source & (end - 1) | end;
        while bits != 1 {
            #[allow(clippy::cast_possible_truncation)] // three bits at most
            let (bit, word) = (1 << (bits % 64), (bits >> 6) as usize % W);
            // All words, so that they stay in registers: one that is chosen would have to be written to memory and read again, by each probe.
            for (i, mask) in self.0.iter_mut().enumerate() {
                *mask |= if i == word { bit } else { 0 };
            }
            bits >>= Self::EACH;
        }
    }

    /// Where in a line all of them are set. Of several rows these may be combined by `&`.
    ///
    /// Relaxed, as everywhere here: what the ring's index says is what counts, and it is looked at again before "absent" is said.
    #[inline(always)]
    pub(super) fn places(&self, line: &[AtomicU64; WORDS]) -> Places<W> {
        Places(halves_with(line, &self.0))
    }

    /// Sets them. Whether all were set before: with one word, exactly one of several calls that set one finds that they were not.
    #[inline(always)]
    pub(super) fn set(&self, block: &[AtomicU64]) -> bool {
        if W == 1 {
            let (word, mask) = (&block[0], self.0[0]);
            return word.fetch_or(mask, Relaxed) & mask == mask;
        }
        self.add(block)
    }

    /// Sets them, where others may find in the same moment that they were not. (Costs less.) Whether all were set before.
    #[inline(always)]
    pub(super) fn add(&self, block: &[AtomicU64]) -> bool {
        block.iter().zip(&self.0).fold(true, |all, (word, &mask)| {
            // What is set already is not written again.
            let is_set = word.load(Relaxed) & mask == mask;
            if !is_set {
                word.fetch_or(mask, Relaxed);
            }
            all & is_set
        })
    }
}

/// Where in a line a mask was found: see [`halves_with`].
#[derive(Clone, Copy)]
pub(super) struct Places<const W: usize>(u32);

impl<const W: usize> Places<W> {
    pub(super) const ALL: Places<W> = Places(u32::MAX);

    #[inline(always)]
    pub(super) fn and(self, other: Places<W>) -> Places<W> {
        Places(self.0 & other.0)
    }

    /// A bit for each word that has all of its bits.
    #[inline(always)]
    fn words(self) -> u32 {
        self.0 & self.0 >> 1 & 0x5555
    }

    /// Whether there is such a word.
    #[inline(always)]
    pub(super) fn is_any(self) -> bool {
        self.words() != 0
    }

    /// A bit for each block of the line. (Without a branch: in which of several lines there is one nobody can predict.)
    #[inline(always)]
    pub(super) fn blocks(self) -> u64 {
        let mut words = self.words();
        for step in 0..3 {
            // The even bits, closer together.
            words = (words | words >> (1 << step)) & [0x3333, 0x0f0f, 0x00ff][step];
        }
        let mut step = 1;
        while step < W {
            words &= words >> step;
            step *= 2;
        }
        (0..WORDS.div_ceil(W)).fold(0, |blocks, i| blocks | u64::from(words >> (i * W) & 1) << i)
    }
}

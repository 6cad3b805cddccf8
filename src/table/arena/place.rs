//! Where a record lies in its shard: in which chunk, and where in it.
//!
//! Chunks grow with the shard: four of each size, then four of twice that, up to the largest. So the last chunk is at most half of what
//! stands before it (but for the first four), and soon no more than a quarter.

/// Words of the smallest chunks: 4 KiB.
const BASE: usize = if cfg!(windlass_loom) { 4 } else { 512 };

/// Chunks of each size.
const EACH: usize = 4;

/// So often the size doubles: the largest chunks are 32 MiB.
const DOUBLINGS: usize = if cfg!(windlass_loom) { 1 } else { 13 };

pub(super) const CHUNKS: usize = if cfg!(windlass_loom) { 8 } else { 128 };

/// Every place fits in so many bits.
pub(super) const PLACE_BITS: u32 = CHUNKS.ilog2() + OFFSET_BITS;

const OFFSET_BITS: u32 = (BASE << DOUBLINGS).ilog2();

/// A word of a shard: the chunk's number, and below that the word's in the chunk. Behind the last word of a largest chunk comes the first of
/// the next.
///
/// (A linear address would reach further with 32 bits, but its chunk follows from its leading bit: slower, by how much in ARCHITECTURE.md.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(pub(super) u32);

impl Place {
    #[allow(clippy::cast_possible_truncation)] // chunk <= CHUNKS
    fn first_of(chunk: usize) -> Place {
        Place((chunk as u32) << OFFSET_BITS)
    }

    /// `CHUNKS` or more behind the last.
    #[inline(always)]
    pub(super) fn chunk(self) -> usize {
        (self.0 >> OFFSET_BITS) as usize
    }

    #[inline(always)]
    pub(super) fn offset(self) -> usize {
        (self.0 & ((1 << OFFSET_BITS) - 1)) as usize
    }

    /// Behind so many words of its chunk.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // they are there
    pub(super) fn behind(self, words: usize) -> Place {
        Place(self.0 + words as u32)
    }

    /// The first place from here on with `words` in one chunk.
    pub(super) fn with_room(self, words: usize) -> Option<Place> {
        if self.chunk() < CHUNKS && self.offset() + words <= len(self.chunk()) {
            return Some(self);
        }
        (self.chunk() + 1..CHUNKS).find(|&chunk| len(chunk) >= words).map(Place::first_of)
    }
}

/// Words of a chunk.
pub(super) fn len(chunk: usize) -> usize {
    BASE << (chunk / EACH).min(DOUBLINGS)
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;

    #[test]
    fn chunks_grow_in_proportion() {
        let mut before = 0;
        for chunk in 0..CHUNKS {
            let most = if chunk < 16 { before / 2 } else { before / 15 * 4 };
            assert!(chunk < 4 || len(chunk) <= most);
            before += len(chunk);
        }
        assert_eq!((len(0), len(CHUNKS - 1)), (4096 / 8, (32 << 20) / 8));
        assert!(before * 8 > 2 << 30, "bytes of a shard");
    }

    #[test]
    fn a_range_lies_in_one_chunk() {
        let from = |chunk, offset| Place::first_of(chunk).behind(offset);
        let found = |from: Place, words| from.with_room(words).map(|p| (p.chunk(), p.offset()));
        assert_eq!(found(from(0, 0), 512), Some((0, 0)));
        assert_eq!(found(from(0, 500), 12), Some((0, 500)));
        assert_eq!(found(from(0, 500), 13), Some((1, 0)));
        assert_eq!(found(from(0, 512), 1), Some((1, 0)));
        // Past the chunks that are too small.
        assert_eq!(found(from(0, 7), 513), Some((4, 0)));
        assert_eq!(found(from(2, 7), 8193), Some((20, 0)));
        // At the end of a largest one, of the last, and behind.
        assert_eq!(found(from(60, len(60)), 1), Some((61, 0)));
        let end = from(CHUNKS - 1, len(CHUNKS - 1));
        assert_eq!(found(from(CHUNKS - 1, 0), len(CHUNKS - 1)), Some((CHUNKS - 1, 0)));
        assert_eq!(found(from(CHUNKS - 1, 1), len(CHUNKS - 1)), None);
        assert_eq!((end, found(end, 1)), (Place(1 << PLACE_BITS), None));
        assert_eq!(found(from(0, 0), len(CHUNKS - 1) + 1), None);
    }
}

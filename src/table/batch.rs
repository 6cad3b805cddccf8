//! Many calls in order: while one has its turn, the bucket of another is on its way.

use super::{KeyTable, Pinned, arena::Ahead};
use crate::{
    hash::KeyHash,
    sync::{Wide, epoch},
};

/// How many calls of a batch are on their way from memory: enough to keep a core's line buffers busy.
const AHEAD: usize = 16;

/// So many keys are hashed together, still further ahead: the exchange of a turn waits for every load before it, and so what the caller reads to make the calls
/// comes from memory for all of these in the time for one.
const BLOCK: usize = 8;

/// Calls that are hashed, and have not had their turn.
const HASHED: usize = (AHEAD + BLOCK).next_power_of_two();

/// .. and how many their keys' bytes, where they are compared: the bucket, which says where they lie, has to be here by then.
const SOON: usize = AHEAD / 2;

/// For how many calls a batch holds its pin: long enough to be free, short enough not to hold back memory.
const PINNED: usize = 64;

impl<const BUCKETS: usize, const CELLS: usize> KeyTable<BUCKETS, CELLS> {
    /// Makes `n` calls in order. `call(i)` is asked once for each, up to 24 ahead of its turn: for the key's hash, and for whatever
    /// `turn` needs. `soon` is for a key whose bucket is here. `turn` gets the i-th key and what came with it, and what all calls
    /// under one pin share; `answers` is extended by what it gives.
    #[inline(always)]
    pub(crate) fn in_turn<W: Wide, C: Copy, R>(
        &self,
        wide: W,
        n: usize,
        call: impl Fn(usize) -> (KeyHash, C),
        soon: impl Fn(&Pinned<'_, W, BUCKETS, CELLS>, KeyHash),
        turn: impl for<'g> Fn(&Pinned<'g, W, BUCKETS, CELLS>, &Ahead<'g>, usize, (KeyHash, C)) -> R,
        answers: &mut impl Extend<R>,
    ) {
        if n == 0 {
            return;
        }
        let mut ahead = [call(0); HASHED];
        for start in (0..n).step_by(PINNED) {
            let guard = epoch::pin();
            let (table, room) = (self.pinned(wide, &guard), Ahead::default());
            if start == 0 {
                table.prefetch(ahead[0].0);
                for (i, slot) in ahead.iter_mut().enumerate().take(n.min(AHEAD)).skip(1) {
                    *slot = call(i);
                    table.prefetch(slot.0);
                }
            }
            answers.extend((start..n.min(start + PINNED)).map(|i| {
                if i.is_multiple_of(BLOCK) {
                    for later in i + AHEAD..n.min(i + AHEAD + BLOCK) {
                        ahead[later % HASHED] = call(later);
                    }
                }
                // (In the end there are no more: those of before, which are here.)
                table.prefetch(ahead[(i + AHEAD) % HASHED].0);
                soon(&table, ahead[(i + SOON) % HASHED].0);
                turn(&table, &room, i, ahead[i % HASHED])
            }));
            table.give_back(&room);
        }
    }
}

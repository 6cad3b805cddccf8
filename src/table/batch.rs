//! Many calls in order: while one has its turn, the bucket of another is on its way.

use super::{KeyTable, Pinned, arena::Ahead};
use crate::{
    hash::KeyHash,
    sync::{Wide, epoch},
};

/// How many calls of a batch are on their way from memory: enough to keep a core's line buffers busy.
const AHEAD: usize = 16;

/// .. and how many their keys' bytes, where they are compared: the bucket, which says where they lie, has to be here by then.
const SOON: usize = AHEAD / 2;

/// For how many calls a batch holds its pin: long enough to be free, short enough not to hold back memory.
const PINNED: usize = 64;

impl<const BUCKETS: usize, const CELLS: usize> KeyTable<BUCKETS, CELLS> {
    /// Makes `n` calls in order. `call(i)` is asked once for each, up to 16 ahead of its turn: for the key's hash, and for whatever
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
        let mut ahead = [call(0); AHEAD];
        for start in (0..n).step_by(PINNED) {
            let guard = epoch::pin();
            let (table, room) = (self.pinned(wide, &guard), Ahead::default());
            let fetch = |i: usize| {
                let call = call(i);
                table.prefetch(call.0);
                call
            };
            if start == 0 {
                table.prefetch(ahead[0].0);
                for (i, slot) in ahead.iter_mut().enumerate().take(n).skip(1) {
                    *slot = fetch(i);
                }
            }
            answers.extend((start..n.min(start + PINNED)).map(|i| {
                let this = ahead[i % AHEAD];
                if i + AHEAD < n {
                    ahead[i % AHEAD] = fetch(i + AHEAD);
                }
                soon(&table, ahead[(i + SOON) % AHEAD].0);
                turn(&table, &room, i, this)
            }));
            table.give_back(&room);
        }
    }
}

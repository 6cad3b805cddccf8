//! Panes apart: an array of cache lines for each. A key has one line in each of them, so a question costs a line for every pane; but
//! there may be any number of panes, and each may have its own seed.

use super::{
    Bloom, Clear, Seen, View,
    block::{Mask, zero},
};
use crate::{
    hash::{KeyHash, mix},
    mem::{Line, Slab, WORDS},
    sync::{AtomicU64, prefetch},
};

pub(crate) struct Arrays {
    panes: Box<[Slab<Line>]>,
    lines: u64,
    probes: u32,
    /// Each turn of a column has a seed of its own.
    seeded: bool,
}

/// Lines cleared at a time.
const CHUNK: u64 = if cfg!(windlass_loom) { 1 } else { 16 };

impl Arrays {
    /// In lines that `take` gives. `None` if it has none.
    pub(crate) fn new(
        lines: u64,
        columns: usize,
        probes: u32,
        seeded: bool,
        take: &mut impl FnMut(usize) -> Option<Slab<Line>>,
    ) -> Option<Arrays> {
        let len = usize::try_from(lines).ok()?;
        let panes = (0..columns).map(|_| take(len)).collect::<Option<_>>()?;
        Some(Arrays { panes, lines, probes, seeded })
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // it was allocated
    fn find(&self, hash: KeyHash) -> (usize, Mask<WORDS>) {
        (super::below(hash.hi, self.lines) as usize, Mask::new(hash.lo, self.probes))
    }

    /// Where a key is in a turn of a column.
    #[inline(always)]
    fn in_turn(&self, spot: &Spot, turn: u64) -> (usize, Mask<WORDS>) {
        if !self.seeded {
            return (spot.line, spot.mask);
        }
        let seed = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.find(KeyHash { hi: mix(spot.hash.hi ^ seed), lo: mix(spot.hash.lo ^ seed.rotate_left(32)) })
    }

    #[inline(always)]
    fn is_here(&self, spot: &Spot, column: usize, turn: u64) -> bool {
        let (line, mask) = self.in_turn(spot, turn);
        mask.places(&self.panes[column][line]).blocks() != 0
    }
}

/// A key, and where it is if panes have no seeds of their own.
#[derive(Clone, Copy)]
pub(crate) struct Spot {
    hash: KeyHash,
    line: usize,
    mask: Mask<WORDS>,
}

impl Clear for Arrays {
    #[allow(clippy::cast_possible_truncation)] // it was allocated
    fn clear(&self, column: usize, chunk: u64) {
        let (from, to) = (chunk * CHUNK, self.lines.min((chunk + 1) * CHUNK));
        self.panes[column][from as usize..to as usize].iter().flat_map(|line| line.iter()).for_each(zero);
    }
}

impl Bloom for Arrays {
    type Spot = Spot;

    #[inline(always)]
    fn spot(&self, hash: KeyHash) -> Spot {
        let (line, mask) = self.find(hash);
        Spot { hash, line, mask }
    }

    #[inline(always)]
    fn prefetch(&self, spot: &Spot, view: View) {
        for i in 0..view.live() {
            let line = self.in_turn(spot, view.turn(self.panes.len()) - i as u64).0;
            prefetch(&raw const self.panes[view.back(i, self.panes.len())][line]);
        }
    }

    #[inline(always)]
    fn seen(&self, spot: &Spot, view: View) -> Seen {
        let (columns, turn) = (self.panes.len(), view.turn(self.panes.len()));
        let is_here = |i: usize| self.is_here(spot, view.back(i, columns), turn - i as u64);
        let in_current = view.live() > 0 && is_here(0);
        Seen { at_all: in_current || (1..view.live()).any(is_here), in_current }
    }

    #[inline(always)]
    fn set(&self, spot: &Spot, view: View) -> bool {
        let (line, mask) = self.in_turn(spot, view.turn(self.panes.len()));
        mask.set(&*self.panes[view.column()][line])
    }

    fn is_in(&self, spot: &Spot, column: usize, turn: u64) -> bool {
        self.is_here(spot, column, turn)
    }

    fn blocks(&self) -> u64 {
        self.lines
    }

    #[allow(clippy::cast_possible_truncation)] // it was allocated
    fn words(&self, column: usize, block: u64) -> &[AtomicU64] {
        &*self.panes[column][block as usize]
    }

    fn chunks(lines: u64) -> u64 {
        lines.div_ceil(CHUNK)
    }
}

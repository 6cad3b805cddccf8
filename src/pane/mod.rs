//! Engine two: panes of time in columns, of which the oldest is cleared ahead of its next use.

mod arrays;
mod ask;
mod block;
mod generations;
mod keep;
#[cfg(windlass_loom)]
pub(crate) mod model;
mod ring;
mod rows;
mod words;

pub(crate) use arrays::Arrays;
pub(crate) use ask::{Ask, Contains, Insert, Observe};
pub(crate) use generations::{Generations, Keep, Missed, Place, Spans};
pub(crate) use keep::{Kept, PutBack};
pub use ring::Rotation;
pub(crate) use ring::{Clear, Grid, Pane, PaneRing, View};
pub(crate) use rows::Rows;
pub(crate) use words::Words;

use crate::{hash::KeyHash, sync::AtomicU64};

/// Columns of bits, in which a key has a few in each.
pub(crate) trait Bloom: Clear {
    /// Where a key is.
    type Spot: Copy;

    fn spot(&self, hash: KeyHash) -> Self::Spot;

    /// Asks for the memory of a key.
    fn prefetch(&self, spot: &Self::Spot, view: View);

    /// Whether the live columns have the key.
    fn seen(&self, spot: &Self::Spot, view: View) -> Seen;

    /// Puts the key into the current column. Whether all its bits were there.
    fn set(&self, spot: &Self::Spot, view: View) -> bool;

    /// Whether a column has the key, in a turn of it.
    fn is_in(&self, spot: &Self::Spot, column: usize, turn: u64) -> bool;

    /// How many blocks a column has.
    fn blocks(&self) -> u64;

    /// The words of one of them.
    fn words(&self, column: usize, block: u64) -> &[AtomicU64];

    /// In how many chunks so many blocks are cleared.
    fn chunks(blocks: u64) -> u64
    where
        Self: Sized;
}

/// Where a key was seen.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    /// In any live column.
    pub(crate) at_all: bool,
    pub(crate) in_current: bool,
}

/// A number below `n` by multiply-shift: the high half of the product.
#[inline(always)]
pub(crate) fn below(hash: u64, n: u64) -> u64 {
    #[allow(clippy::cast_possible_truncation)] // the high half
    let high = ((u128::from(hash) * u128::from(n)) >> 64) as u64;
    high
}

//! How much has been given back, by key: what a hold has to know to be given back itself, a while later.
//!
//! A bucket's state is how far its line reaches, and a hold a piece of it. What others give back meanwhile moves the piece forward, and
//! time is over it the sooner. So it counts what was given back at its key since it was charged, or more: each key has a cell, which it
//! may share.
//!
//! ```text
//! who gives back:   begun += n   state comes down   done += n
//! who holds:        done, then charges  ..  state, then begun: begun - done is no less than what came down between
//! ```
//! Model: loom-tests/tests/sets.rs.

use crate::{
    hash::KeyHash,
    sync::{
        AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
        twin,
    },
};

#[derive(Default)]
struct Cell {
    begun: AtomicU64,
    done: AtomicU64,
}

/// Sums that wrap, a power of two of them, or none if nobody holds anything.
#[derive(Default)]
pub(crate) struct Refunds(Box<[Cell]>);

impl Refunds {
    pub(crate) fn new(cells: usize) -> Refunds {
        Refunds((0..cells.next_power_of_two()).map(|_| Cell::default()).collect())
    }

    /// Bits of the fingerprint that choose neither the bucket nor, often, the group.
    #[allow(clippy::cast_possible_truncation)] // bits of a hash
    fn cell(&self, hash: KeyHash) -> Option<&Cell> {
        self.0.get((hash.lo >> 16) as usize & self.0.len().wrapping_sub(1))
    }

    /// What has been given back, for a snapshot: all that had come down in the states that were read before, or more.
    ///
    /// Relaxed: the CAS on the state released it, and whoever has loaded that finds it here.
    pub(crate) fn saved(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|cell| cell.begun.load(Relaxed))
    }

    /// Into cells that are new. What had only begun is done: nobody will go on with it.
    pub(crate) fn put_back<E>(&mut self, mut next: impl FnMut() -> Result<u64, E>) -> Result<(), E> {
        for cell in &mut self.0 {
            let sum = next()?;
            *cell = Cell { begun: AtomicU64::new(sum), done: AtomicU64::new(sum) };
        }
        Ok(())
    }

    /// Before a hold is charged.
    pub(crate) fn done(&self, hash: KeyHash) -> u64 {
        // Acquire; pairs with the release in `around`: what is counted here was down before the state is loaded for the charge.
        self.cell(hash).map_or(0, |cell| cell.done.load(Acquire))
    }

    /// Calls what gives back, `most` at most. It is told what others have, at the time at which it asks, since there was `before`.
    pub(crate) fn around<R>(
        &self,
        hash: KeyHash,
        most: u64,
        before: Option<u64>,
        give_back: impl FnOnce(&dyn Fn() -> u64) -> R,
    ) -> R {
        let Some(cell) = self.cell(hash) else { return give_back(&|| u64::MAX) };
        // Relaxed: the CAS on the state releases it, and whoever has loaded that state with Acquire finds it here.
        if !twin!(CountAfterwards) {
            cell.begun.fetch_add(most, Relaxed);
        }
        let given = give_back(&|| match before {
            _ if twin!(IgnoreOthers) => 0,
            Some(before) => cell.begun.load(Relaxed).wrapping_sub(before).wrapping_sub(most),
            None => u64::MAX,
        });
        if twin!(CountAfterwards) {
            cell.begun.fetch_add(most, Relaxed);
        }
        cell.done.fetch_add(most, Release);
        given
    }
}

//! The state of a limiter that needs no table.

use crate::{
    sync::{
        AtomicU64, CachePadded,
        Ordering::{AcqRel, Acquire, Release},
        retry, twin,
    },
    table::Decision,
};

/// One state, which only rises, on a cache line of its own.
#[derive(Default)]
pub(crate) struct Word(CachePadded<AtomicU64>);

impl Word {
    /// Acquire; pairs with the release in `update`: who knows the state knows what it was decided by.
    pub(super) fn load(&self) -> u64 {
        self.0.load(Acquire)
    }

    pub(super) fn of(state: u64) -> Word {
        Word(CachePadded::new(AtomicU64::new(state)))
    }

    /// See [`update`].
    #[inline(always)]
    pub(crate) fn update<R>(&self, decide: impl Fn(Option<u64>, u64) -> Decision<R>) -> R {
        update(&self.0, decide)
    }
}

/// Decides on a state, and again if another call comes first. Lock-free.
///
/// AcqRel: whoever goes on by an admission has seen what came before those that it counts. Model: loom-tests/tests/limit.rs.
#[inline(always)]
pub(super) fn update<R>(word: &AtomicU64, decide: impl Fn(Option<u64>, u64) -> Decision<R>) -> R {
    let mut state = word.load(Acquire);
    loop {
        let (next, answer) = match decide(Some(state).filter(|&state| state > 0), 0) {
            Decision::Keep(answer) => return answer,
            Decision::Publish(next, answer) => (next, answer),
        };
        if twin!(StoreBlindly) {
            word.store(next, Release);
            return answer;
        }
        match word.compare_exchange(state, next, AcqRel, Acquire) {
            Ok(_) => return answer,
            Err(other) => state = other,
        }
        retry();
    }
}

//! Where chunks come from: a budget, of which nobody is refused because others only try their luck.

use super::record::Word;
use crate::{
    mem::Slab,
    sync::{AtomicU64, Budget, Ordering::AcqRel, retry, twin},
};
use std::sync::Arc;

pub(super) struct Memory {
    budget: Arc<Budget>,
    /// How many threads are opening a chunk; above that, how many chunks were opened.
    openings: AtomicU64,
}

/// One chunk opened.
const OPENED: u64 = 1 << 32;

/// For so long, about 20 us, another thread may take to open a chunk. If it stalls, who finds no room is told so.
const LOOKS: usize = 100;

impl Memory {
    pub(super) fn new(budget: &Arc<Budget>) -> Memory {
        Memory { budget: budget.clone(), openings: AtomicU64::new(0) }
    }

    /// Calls `install` with a chunk of zeros, if there may be one more.
    pub(super) fn open(&self, words: usize, install: impl FnOnce(Slab<Word>)) {
        // Without this look those who cannot open one would make each other look again.
        if self.budget.left() < (words * size_of::<Word>()) as u64 {
            return;
        }
        self.openings.fetch_add(1, AcqRel);
        let mut done = 0;
        if let Some(chunk) = Slab::new(words, &self.budget) {
            install(chunk);
            done = OPENED;
        }
        self.openings.fetch_add(done.wrapping_sub(1), AcqRel);
    }

    /// Calls `take` until it finds something, or finds nothing while nobody opened a chunk. Between taking its share of the budget and
    /// installing the chunk a thread holds what others could use, also if its chunk comes too late and it gives the share
    /// back.
    pub(super) fn look<R>(&self, take: impl Fn() -> Option<R>) -> Option<R> {
        for _ in 0..LOOKS {
            let before = self.openings();
            if let Some(taken) = take() {
                return Some(taken);
            }
            let nobody_was = before.is_multiple_of(OPENED) && self.openings() == before;
            if nobody_was || twin!(RefuseAtOnce) {
                break;
            }
            retry();
        }
        None
    }

    /// An exchange and no load, to see the last value: nothing else orders the announcement in `open` and the share of the budget
    /// that follows. AcqRel here and there: who sees that another has ended finds its chunk, or its share given back. Model:
    /// loom-tests/tests/arena.rs. (A machine that shows the share before the announcement may refuse a put of the last chunk.)
    fn openings(&self) -> u64 {
        self.openings.fetch_add(0, AcqRel)
    }
}

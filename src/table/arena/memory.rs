//! Where chunks come from: a budget, of which nobody is refused because others only try their luck.

use super::record::Word;
use crate::{
    mem::{Part, Slab},
    sync::{AtomicU64, Budget, Ordering::AcqRel, Share, retry, twin},
};
use std::{
    ops::Deref,
    sync::{Arc, Mutex},
};

pub(super) struct Memory {
    budget: Arc<Budget>,
    /// How many threads are opening a chunk; above that, how many chunks were opened.
    openings: AtomicU64,
    /// Bytes of all chunks: a count.
    chunks: Arc<Budget>,
    /// What chunks are cut from, and how many of its words have been given out.
    region: Mutex<Option<(Arc<Slab<Word>>, usize)>>,
}

/// Words for a part of a segment.
pub(super) struct Chunk {
    words: Part<Word>,
    _count: Option<Share>,
}

impl Deref for Chunk {
    type Target = [Word];

    #[inline(always)]
    fn deref(&self) -> &[Word] {
        &self.words
    }
}

/// Words of a region, a huge page: so that most records are found without a miss of the TLB. It comes back when all chunks that were cut from it
/// have, those of two slices or three.
const REGION_BYTES: u64 = 2 << 20;
const REGION: usize = (2 << 20) / size_of::<Word>();

/// So many regions there must be in chunks, and room for so many in the budget, before one is taken.
const WORTH: [u64; 2] = [8, 16];

/// One chunk opened.
const OPENED: u64 = 1 << 32;

/// For so long, about 20 us, another thread may take to open a chunk. If it stalls, who finds no room is told so.
const LOOKS: usize = 100;

impl Memory {
    pub(super) fn new(budget: &Arc<Budget>) -> Memory {
        Memory {
            budget: budget.clone(),
            openings: AtomicU64::new(0),
            chunks: Budget::new(u64::MAX),
            region: Mutex::default(),
        }
    }

    /// Calls `install` with a chunk of zeros, if there may be one more.
    pub(super) fn open(&self, words: usize, install: impl FnOnce(Chunk)) {
        // Without this look those who cannot open one would make each other look again.
        if self.budget.left() < (words * size_of::<Word>()) as u64 {
            return;
        }
        self.openings.fetch_add(1, AcqRel);
        let mut done = 0;
        if let Some(chunk) = self.chunk(words) {
            install(chunk);
            done = OPENED;
        }
        self.openings.fetch_add(done.wrapping_sub(1), AcqRel);
    }

    fn chunk(&self, words: usize) -> Option<Chunk> {
        let alone = || Slab::new(words, &self.budget).map(Part::all);
        Some(Chunk {
            words: self.cut(words).or_else(alone)?,
            _count: self.chunks.take((words * size_of::<Word>()) as u64),
        })
    }

    /// From a region, where they are worth it.
    fn cut(&self, words: usize) -> Option<Part<Word>> {
        if words > REGION / 2 || !self.is_worth_regions() {
            return None;
        }
        // Who finds it taken does without: nobody waits here.
        let mut place = self.region.try_lock().ok()?;
        if let Some((region, taken)) = place.as_mut()
            && let Some(part) = Part::of(region, *taken..*taken + words)
        {
            *taken += words;
            return Some(part);
        }
        let region = Arc::new(Slab::new(REGION, &self.budget)?);
        let part = Part::of(&region, 0..words);
        *place = Some((region, words));
        part
    }

    /// Gives the region back when it is not worth it any more.
    pub(super) fn trim(&self) {
        if !self.is_worth_regions()
            && let Ok(mut place) = self.region.try_lock()
        {
            *place = None;
        }
    }

    fn is_worth_regions(&self) -> bool {
        let have = [self.chunks.used(), self.budget.left()];
        !cfg!(windlass_loom) && have.iter().zip(WORTH).all(|(&have, n)| have / n >= REGION_BYTES)
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

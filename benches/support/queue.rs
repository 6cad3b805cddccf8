//! What takes part in the benchmark of queues, and the stream that it goes through.
//!
//! Entries have numbers from 0 on; key and value follow from the number. At any time the `live` last ones are there: pushes and pops take turns.
//! Reads ask for entries all over the queue, but for its ends: so each finds its own, also if threads take calls slightly out of order.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use super::{
    memory,
    mix::{below, mix},
    race, resident,
};

/// How large the group is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) live: u64,
    /// Calls in an iteration: of each 40 one is a push, one a pop.
    pub(crate) calls: u64,
}

/// By how many calls a thread may be behind another.
const DRIFT: u64 = 4096;

/// Entries at both ends that are not asked for: more than are pushed or popped in the drift.
const ENDS: u64 = 1000;

/// A call; numbers count from the first of the iteration.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Read(u64),
    Push(u64),
    Pop,
}

pub(crate) fn key(number: u64) -> u64 {
    mix(number)
}

/// A queue that tells ranks. The value of an entry is its number.
pub(crate) trait Contender: Sync + Sized + 'static {
    const NAME: &'static str;
    type Scratch: Default;

    fn new(capacity: u64) -> Self;

    fn push(&self, key: u64, value: u64);

    fn pop(&self) -> Option<u64>;

    /// Rank and value.
    fn read(&self, key: u64) -> Option<(u64, u64)>;

    /// Makes the calls. `first`: the number from which theirs count.
    #[inline(always)]
    fn take(&self, calls: &[Call], first: u64, _: &mut Self::Scratch) -> Taken {
        let mut taken = Taken::default();
        for call in calls {
            match *call {
                Call::Read(number) => taken.found(first + number, self.read(key(first + number))),
                Call::Push(number) => self.push(key(first + number), first + number),
                Call::Pop => taken.popped += self.pop().unwrap_or_else(|| panic!("{}: empty", Self::NAME)),
            }
        }
        taken
    }

    /// The memory it holds, if it knows better than the allocator.
    fn memory_bytes(&self) -> Option<u64> {
        None
    }
}

/// What calls have answered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    /// The sum of the ranks.
    pub(crate) ranks: u64,
    /// .. of the values that were popped.
    pub(crate) popped: u64,
    /// Reads that did not find their own value.
    pub(crate) wrong: u64,
}

impl Taken {
    #[inline(always)]
    pub(crate) fn found(&mut self, number: u64, found: Option<(u64, u64)>) {
        let (rank, value) = found.unwrap_or((0, u64::MAX));
        self.ranks += rank;
        self.wrong += u64::from(value != number);
    }
}

/// A queue that can run iteration after iteration.
pub(crate) trait Course {
    /// Runs an iteration; returns the time that it took. Panics if an answer is wrong.
    fn iterate(&mut self, threads: usize) -> Duration;

    /// Bytes that it holds with all entries, and by how much the process has grown.
    fn bytes(&self) -> (u64, Option<u64>);
}

/// One function of the group.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) prepare: fn(Load) -> Box<dyn Course>,
}

impl Entry {
    pub(crate) const fn of<C: Contender>() -> Entry {
        Entry { name: C::NAME, prepare: |load| Box::new(Run::<C>::prepare(load)) }
    }
}

struct Run<C> {
    load: Load,
    contender: C,
    calls: Vec<Call>,
    /// What an iteration pushes and pops; the sum of the ranks, if the calls come in order.
    moved: u64,
    ranks: u64,
    /// The number of the oldest entry.
    first: u64,
    bytes: (u64, Option<u64>),
}

impl<C: Contender> Run<C> {
    fn prepare(load: Load) -> Run<C> {
        let (calls, moved, ranks) = calls(load);
        let before = resident::bytes();
        let (contender, allocated) = memory::held_by(|| {
            let contender = C::new(load.live + ENDS);
            (0..load.live).for_each(|number| contender.push(key(number), number));
            contender
        });
        let resident = resident::bytes().zip(before).map(|(now, before)| now.saturating_sub(before));
        let bytes = (contender.memory_bytes().unwrap_or(allocated), resident);
        Run { load, contender, calls, moved, ranks, first: 0, bytes }
    }
}

/// The calls of an iteration, how many of them pop, and the sum of the ranks.
fn calls(load: Load) -> (Vec<Call>, u64, u64) {
    let (mut popped, mut ranks) = (0, 0);
    let calls = (0..load.calls).map(|i| match i % 40 {
        19 => Call::Push(load.live + popped),
        39 => {
            popped += 1;
            Call::Pop
        }
        _ => {
            let rank = ENDS + below(mix(i), load.live - 2 * ENDS);
            ranks += rank;
            Call::Read(popped + rank)
        }
    });
    (calls.collect(), popped, ranks)
}

impl<C: Contender> Course for Run<C> {
    fn iterate(&mut self, threads: usize) -> Duration {
        let (popped, first) = (AtomicU64::new(0), self.first);
        let (time, ranks) = race::run(&self.calls, threads, DRIFT, |calls, scratch| {
            let taken = self.contender.take(calls, first, scratch);
            assert_eq!(taken.wrong, 0, "{}: values of others", C::NAME);
            popped.fetch_add(taken.popped, Relaxed);
            taken.ranks
        });
        self.first += self.moved;
        let right: u64 = (first..self.first).sum();
        assert_eq!(popped.into_inner(), right, "{}: other values were popped", C::NAME);
        // Out of order by the drift at most, and batches by themselves.
        let off = if threads == 1 && !C::NAME.ends_with("_batch") { 0 } else { DRIFT / 40 + 32 };
        let off = self.load.calls * off;
        assert!(
            ranks.abs_diff(self.ranks) <= off,
            "{}: ranks sum up to {ranks}, not {}",
            C::NAME,
            self.ranks
        );
        time
    }

    fn bytes(&self) -> (u64, Option<u64>) {
        self.bytes
    }
}

//! What takes part: [`Contender`] is one structure under one way of calling it, [`Course`] is a contender on its way
//! along the stream, prefilled and ready for the next timed part.

use std::time::Duration;

use super::{keys::Event, memory, race, stream::Shape};

/// A structure that says of each event whether its id is new.
pub(crate) trait Contender: Sync + Sized {
    /// The benchmark's function name.
    const NAME: &'static str;
    /// Who forgets the ids that leave the window.
    const UPKEEP: Upkeep;
    /// How far the number of fresh ids may be from the right one, in parts per million.
    const TOLERANCE_PPM: u64 = 0;
    /// What a thread keeps from one chunk to the next.
    type Scratch: Default;

    /// An empty one. `room` is the number of ids to make room for beforehand.
    fn new(shape: &Shape, room: usize) -> Self;

    /// Offers the events in order; returns how many were fresh.
    fn observe(&self, events: &[Event], scratch: &mut Self::Scratch) -> u64;

    /// Drops an id that has left the window ([`Upkeep::Harness`] only).
    fn forget(&mut self, _key: [u8; 16]) {}

    /// The memory it holds, if it knows better than the allocator.
    fn memory_bytes(&self) -> Option<u64> {
        None
    }
}

/// Who forgets the ids that leave the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upkeep {
    /// The structure itself, as part of the timed work.
    Itself(&'static str),
    /// Nobody while the clock runs. After every iteration the harness removes what has left the window.
    Harness,
    /// Nobody, and removals would leave tombstones behind: every iteration begins with a new structure.
    Rebuild,
}

/// One function of a benchmark group.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) upkeep: Upkeep,
    pub(crate) prepare: fn(Shape) -> Box<dyn Course>,
    pub(crate) facts: fn(Shape) -> Facts,
}

/// What is said about a contender before it is timed.
pub(crate) struct Facts {
    pub(crate) bytes_per_live_id: f64,
    pub(crate) fresh: u64,
    pub(crate) expected: u64,
}

/// A prefilled contender that can run iteration after iteration.
pub(crate) trait Course {
    /// Offers the next events of the stream from so many threads; returns the time that took. Panics if the number of
    /// fresh ids is wrong.
    fn iterate(&mut self, threads: usize) -> Duration;
}

impl Entry {
    pub(crate) const fn of<C: Contender + 'static>() -> Entry {
        Entry {
            name: C::NAME,
            upkeep: C::UPKEEP,
            prepare: |shape| Box::new(Run::<C>::prepare(shape)),
            facts: facts::<C>,
        }
    }
}

struct Run<C> {
    shape: Shape,
    contender: C,
    /// The number of the first event that has not been offered.
    next: u64,
    events: Vec<Event>,
}

impl<C: Contender> Run<C> {
    fn prepare(shape: Shape) -> Run<C> {
        let room = match C::UPKEEP {
            Upkeep::Itself(_) => shape.expiring_room(),
            Upkeep::Harness | Upkeep::Rebuild => shape.growing_room(),
        };
        Run { contender: prefilled(&shape, room), next: shape.window, events: Vec::new(), shape }
    }

    /// Makes the structure what it was before the last iteration: the ids of one window, no more.
    fn settle(&mut self) {
        match C::UPKEEP {
            Upkeep::Itself(_) => {}
            Upkeep::Harness => {
                let edge = self.next - self.shape.window;
                self.shape
                    .new_ids(edge - self.shape.timed..edge)
                    .for_each(|(key, _)| self.contender.forget(key));
            }
            Upkeep::Rebuild => {
                self.contender = prefilled(&self.shape, self.shape.growing_room());
                self.next = self.shape.window;
            }
        }
    }
}

impl<C: Contender> Course for Run<C> {
    fn iterate(&mut self, threads: usize) -> Duration {
        if self.next > self.shape.window {
            self.settle();
        }
        let end = self.next + self.shape.timed;
        let expected = self.shape.write(self.next..end, &mut self.events);
        let (elapsed, fresh) = offer(&self.contender, &self.events, threads, self.shape.drift());
        self.next = end;
        check::<C>(&self.shape, fresh, expected, threads);
        elapsed
    }
}

/// The time that it took, and how many were fresh.
fn offer<C: Contender>(contender: &C, events: &[Event], threads: usize, drift: u64) -> (Duration, u64) {
    race::run(events, threads, drift, |events, scratch| contender.observe(events, scratch))
}

/// A contender that has seen the first window of the stream. (Without its duplicates, which nothing would be left of.)
fn prefilled<C: Contender>(shape: &Shape, room: usize) -> C {
    let threads = if C::UPKEEP == Upkeep::Rebuild { 2 } else { 1 }; // done again and again, so it should be quick
    let contender = C::new(shape, room);
    let (mut ids, mut events) = (shape.new_ids(0..shape.window), Vec::new());
    let (mut fresh, mut expected) = (0, 0);
    loop {
        events.clear();
        events.extend(ids.by_ref().take(100_000));
        if events.is_empty() {
            break;
        }
        expected += events.len() as u64;
        fresh += offer(&contender, &events, threads, shape.drift()).1;
    }
    check::<C>(shape, fresh, expected, threads);
    contender
}

fn check<C: Contender>(shape: &Shape, fresh: u64, expected: u64, threads: usize) {
    let (group, name) = (shape.group, C::NAME);
    assert!(
        fresh.abs_diff(expected) * 1_000_000 <= expected * C::TOLERANCE_PPM,
        "{group}/{name}/{threads}t answers wrongly: {fresh} fresh ids instead of {expected} (allowed: {} ppm off)",
        C::TOLERANCE_PPM
    );
}

/// Memory with room for one window, and the answers of the first timed part.
fn facts<C: Contender>(shape: Shape) -> Facts {
    let room = match C::UPKEEP {
        Upkeep::Itself(_) => shape.expiring_room(),
        Upkeep::Harness | Upkeep::Rebuild => shape.live_ids(),
    };
    let (contender, allocated) = memory::held_by(|| prefilled::<C>(&shape, room));
    #[allow(clippy::cast_precision_loss)]
    let bytes_per_live_id =
        contender.memory_bytes().unwrap_or(allocated) as f64 / shape.new_ids(0..shape.window).count() as f64;

    let mut events = Vec::new();
    let expected = shape.write(shape.window..shape.window + shape.timed, &mut events);
    let (_, fresh) = offer(&contender, &events, 1, shape.drift());
    check::<C>(&shape, fresh, expected, 1);
    Facts { bytes_per_live_id, fresh, expected }
}

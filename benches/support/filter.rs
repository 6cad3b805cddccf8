//! What takes part: [`Filter`] is one filter under one way of calling it, [`Course`] is a filter on its way along a stream of new keys.

use std::time::Duration;

use windlass::Tick;

use super::{
    keys::{Event, key},
    race,
};

/// How large a group is. All numbers are events; each brings a new key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// The benchmark group.
    pub(crate) group: &'static str,
    /// How many events an id is guaranteed to be found.
    pub(crate) window: u64,
    /// Timed in one iteration, summed over the threads: the time of a pane or many.
    pub(crate) timed: u64,
    /// Over how many the error is measured.
    pub(crate) judged: u64,
    /// The share of new keys that may be taken for seen: what the rival was measured to have.
    pub(crate) error: f64,
}

impl Load {
    /// No thread works on an event further than this behind the newest that any thread has taken.
    fn drift(&self) -> u64 {
        self.window / 16
    }
}

/// A structure that says of each event whether its key was there before.
pub(crate) trait Filter: Sync + Sized + 'static {
    /// The benchmark's function name.
    const NAME: &'static str;
    /// What is timed puts nothing in.
    const ASKS_ONLY: bool = false;
    /// What a thread keeps from one chunk to the next.
    type Scratch: Default;

    fn new(load: &Load) -> Self;

    /// Takes the events in order; returns how many were taken for seen.
    fn take(&self, events: &[Event], scratch: &mut Self::Scratch) -> u64;

    /// Puts keys in, outside the timing.
    fn fill(&self, events: &[Event], scratch: &mut Self::Scratch) {
        self.take(events, scratch);
    }

    fn contains(&self, event: &Event) -> bool;

    fn bytes(&self) -> u64;

    /// Its layout, in words.
    fn describe(&self) -> String;
}

/// What was found out about a filter before it is timed.
pub(crate) struct Facts {
    pub(crate) layout: String,
    pub(crate) bytes: u64,
    pub(crate) taken: u64,
    pub(crate) judged: u64,
}

#[allow(clippy::cast_precision_loss)]
impl Facts {
    /// The share of new keys that were taken for seen.
    pub(crate) fn error(&self) -> f64 {
        self.taken as f64 / self.judged as f64
    }

    /// What chance may do to it: three standard errors.
    pub(crate) fn chance(&self) -> f64 {
        3.0 * (self.taken as f64).sqrt() / self.judged as f64
    }
}

/// A filled filter that can run iteration after iteration.
pub(crate) trait Course {
    /// Offers the next events from so many threads; returns the time that took. Panics if answers are wrong.
    fn iterate(&mut self, threads: usize) -> Duration;

    fn facts(&self) -> &Facts;
}

/// One function of a group.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) prepare: fn(Load) -> Box<dyn Course>,
}

impl Entry {
    pub(crate) const fn of<F: Filter>() -> Entry {
        Entry { name: F::NAME, prepare: |load| Box::new(Run::<F>::prepare(load)) }
    }
}

struct Run<F> {
    load: Load,
    filter: F,
    facts: Facts,
    /// The number of the first event that has not been put in.
    next: u64,
    /// .. and the number of the first key that was only asked for.
    asked: u64,
    events: Vec<Event>,
}

/// How many events are made at a time, where it is not timed.
const PORTION: u64 = 1 << 20;
/// Numbers of keys that are never put in.
const NEVER: u64 = 1 << 48;

impl<F: Filter> Run<F> {
    fn prepare(load: Load) -> Run<F> {
        let filter = F::new(&load);
        let facts = Facts { layout: filter.describe(), bytes: filter.bytes(), taken: 0, judged: load.judged };
        let mut run = Run { load, filter, facts, next: 0, asked: NEVER, events: Vec::new() };
        while run.next < load.window {
            let end = load.window.min(run.next + PORTION);
            run.events.clear();
            run.events.extend((run.next..end).map(|i| (key(i), Tick(i))));
            race::run(&run.events, 2, load.drift(), |events, scratch| {
                run.filter.fill(events, scratch);
                0
            });
            run.next = end;
        }
        let mut left = load.judged;
        while left > 0 {
            let n = left.min(PORTION);
            run.facts.taken += run.offer(n, 1).1;
            left -= n;
        }
        run.check_present();
        run
    }

    /// The time, and how many were taken for seen.
    fn offer(&mut self, n: u64, threads: usize) -> (Duration, u64) {
        self.events.clear();
        if F::ASKS_ONLY {
            let now = Tick(self.next - 1);
            self.events.extend((self.asked..self.asked + n).map(|i| (key(i), now)));
            self.asked += n;
        } else {
            self.events.extend((self.next..self.next + n).map(|i| (key(i), Tick(i))));
            self.next += n;
        }
        let take = |events: &[Event], scratch: &mut F::Scratch| self.filter.take(events, scratch);
        race::run(&self.events, threads, self.load.drift(), take)
    }

    /// None of a sample of the keys that were put in last is missing.
    fn check_present(&self) {
        // Threads put keys in out of order, and the rival's panes end between them.
        let sure = self.load.window / 8 * 7;
        let now = Tick(self.next - 1);
        for i in (self.next - sure..self.next).step_by(usize::try_from(sure / 1000).unwrap_or(1)) {
            let found = self.filter.contains(&(key(i), now));
            assert!(found, "{}/{} misses key {i} at {now}", self.load.group, F::NAME);
        }
    }
}

impl<F: Filter> Course for Run<F> {
    fn iterate(&mut self, threads: usize) -> Duration {
        let (elapsed, taken) = self.offer(self.load.timed, threads);
        self.check_present();
        #[allow(clippy::cast_precision_loss)]
        let (expected, taken) = (self.facts.error() * self.load.timed as f64, taken as f64);
        // While a thread that clears is stalled by the system the other one goes on in the pane before, which gets fuller: twice the
        // ids in one pane are five times the error. On a busy machine that is often, with panes of less than a millisecond.
        let (least, most) = if threads == 1 { (0.6, 1.4) } else { (0.0, 30.0) };
        let chance = 6.0 * expected.sqrt() + 3.0;
        let (group, name) = (self.load.group, F::NAME);
        assert!(
            (least * expected - chance..=most * expected + chance).contains(&taken),
            "{group}/{name}/{threads}t takes {taken} new keys for seen instead of about {expected:.0}"
        );
        elapsed
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }
}

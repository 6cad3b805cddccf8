//! What takes part: [`Contender`] counts keys under one way of calling it, [`Course`] runs it window after window.
//!
//! **A window** of events is an iteration: 6 panes of time, so that the windowed ones open panes, let others go, and begin once with rows for all keys that
//! come, all of it timed. Before the first that is timed every key has come, and all memory has been used.

use std::{cmp::Reverse, collections::HashMap, rc::Rc, time::Duration};

use super::{memory, race, resident, zipf};

/// A key, and ticks from the start of its heat.
pub(crate) type Event = (u64, u64);

/// Panes of a window.
pub(crate) const PANES: u64 = 6;
/// Keys of a list.
pub(crate) const K: usize = 100;
/// Ticks from one event to the next: nanoseconds.
pub(crate) const STEP: u64 = 100;
/// How far apart threads may be, in events.
const DRIFT: u64 = 4096;
/// Windows before the first that is timed.
const BEFORE: u64 = 3;

/// How large a group is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// The benchmark group.
    pub(crate) group: &'static str,
    pub(crate) keys: u64,
    /// In a heat, and heats in a window.
    pub(crate) events: u64,
    pub(crate) heats: u64,
}

impl Load {
    pub(crate) fn operations(&self) -> u64 {
        self.events * self.heats
    }

    /// Ticks of a window.
    pub(crate) fn window(&self) -> u64 {
        self.operations() * STEP
    }

    /// Ticks of a pane.
    pub(crate) fn pane(&self) -> u64 {
        assert!(self.operations().is_multiple_of(PANES), "{}: panes of whole events", self.group);
        self.window() / PANES
    }
}

/// What comes, and how often that is.
pub(crate) struct Stream {
    /// Of a heat: the same in every one.
    pub(crate) events: Vec<Event>,
    /// How often keys come in a window: the hottest, and some others.
    right: Vec<(u64, u64)>,
}

impl Stream {
    pub(crate) fn of(load: &Load) -> Stream {
        let mut counts = vec![0; usize::try_from(load.keys).expect("in memory")];
        let draw = |(key, i): (u64, u64)| {
            counts[usize::try_from(key).expect("in memory")] += load.heats;
            (zipf::key(key), i * STEP)
        };
        let events = zipf::draws(load.keys, load.events).zip(0..).map(draw).collect();
        let mut all: Vec<(u64, u64)> = (0..load.keys).map(zipf::key).zip(counts).collect();
        all.sort_by_key(|&(key, count)| (Reverse(count), key));
        let some = all.into_iter().enumerate().filter(|(i, _)| i % 997 == 0 || *i < 2 * K);
        Stream { events, right: some.map(|(_, it)| it).collect() }
    }
}

/// Something that counts keys. Time is given with every event.
pub(crate) trait Contender: Sync + Sized + 'static {
    /// The benchmark's function name.
    const NAME: &'static str;
    /// How many threads it can take, of those that are asked for.
    const THREADS: usize = 2;
    /// Whether it counts what is in the window, or all that ever came.
    const FORGETS: bool;
    /// Whether counts may be off.
    const ROUGH: bool = false;

    /// Whether calls that stalled for whole panes have left it with nothing but a sum of one: then there is nothing to check.
    fn has_stalled(&self) -> bool {
        false
    }

    /// What a thread keeps from one chunk to the next.
    type Scratch<'c>: Default;

    fn new(load: &Load) -> Self;

    /// Counts the events in order, from `start` on; returns how many were.
    fn take<'c>(&'c self, events: &[Event], start: u64, scratch: &mut Self::Scratch<'c>) -> u64;

    /// How often a key came.
    fn count(&self, key: u64, now: u64) -> u64;

    /// The hottest keys, if it knows them; and upkeep.
    fn top(&self, _now: u64) -> Option<Vec<(u64, u64)>> {
        None
    }

    /// The memory it holds, if it knows better than the allocator.
    fn memory_bytes(&self) -> Option<u64> {
        None
    }
}

/// One function of a group.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) threads: usize,
    pub(crate) prepare: fn(Load, &Rc<Stream>) -> Box<dyn Course>,
}

/// A contender that can run iteration after iteration.
pub(crate) trait Course {
    /// Runs a window with so many threads; returns the time that took. Panics if counts are wrong after it.
    fn iterate(&mut self, threads: usize) -> Duration;

    /// Bytes it holds, and by how much the process has grown meanwhile.
    fn bytes(&self) -> (u64, Option<u64>);
}

impl Entry {
    pub(crate) const fn of<C: Contender>() -> Entry {
        Entry {
            name: C::NAME,
            threads: C::THREADS,
            prepare: |load, stream| Box::new(Run::<C>::prepare(load, stream)),
        }
    }
}

struct Run<C> {
    load: Load,
    contender: C,
    stream: Rc<Stream>,
    bytes: (u64, Option<u64>),
    windows: u64,
}

impl<C: Contender> Run<C> {
    fn prepare(load: Load, stream: &Rc<Stream>) -> Run<C> {
        let before = resident::bytes();
        let (contender, allocated) = memory::held_by(|| {
            let contender = C::new(&load);
            warm(&contender, &load);
            contender
        });
        let bytes = contender.memory_bytes().unwrap_or(allocated);
        let resident = resident::bytes().zip(before).map(|(now, before)| now.saturating_sub(before));
        let stream = stream.clone();
        let mut run = Run { load, contender, stream, bytes: (bytes, resident), windows: BEFORE };
        // By now the thresholds of lists are those of all keys once.
        run.iterate(1);
        run
    }

    fn check(&self, threads: usize) {
        let (load, name) = (&self.load, C::NAME);
        let now = (self.windows + 1) * load.window() - 1;
        let times = if C::FORGETS { 1 } else { self.windows - BEFORE + 1 };
        let extra = if C::FORGETS { 0 } else { BEFORE };
        if self.contender.has_stalled() {
            println!("  {name}: calls have stalled for panes; its counts are not checked");
            return;
        }
        let off = |is: u64, right: u64| if C::ROUGH { is.abs_diff(right) > right / 20 } else { is != right };
        let checked = if C::ROUGH { 20 } else { self.stream.right.len() };
        for &(key, count) in self.stream.right.iter().take(checked) {
            let (is, right) = (self.contender.count(key, now), times * count + extra);
            assert!(!off(is, right), "{}/{name}/{threads}t: {is} instead of {right} of {key}", load.group);
        }
        if let Some(top) = self.contender.top(now) {
            let hottest = self.stream.right.iter().take(K).map(|&(key, count)| (key, times * count + extra));
            let hottest: HashMap<u64, u64> = hottest.collect();
            let least = hottest.values().copied().min().unwrap_or(0);
            let found = top.iter().filter(|(_, count)| *count >= least || C::ROUGH).count();
            assert!(
                top.len() >= K.min(self.stream.right.len()) && found == top.len(),
                "{}/{name}: the list",
                load.group
            );
        }
    }
}

/// Every key once in each window, so that all memory is used.
fn warm<C: Contender>(contender: &C, load: &Load) {
    let mut scratch = C::Scratch::default();
    for window in 0..BEFORE {
        for key in 0..load.keys {
            let after = u128::from(load.window()) * u128::from(key) / u128::from(load.keys);
            let now = window * load.window() + u64::try_from(after).unwrap_or(0);
            assert_eq!(contender.take(&[(zipf::key(key), 0)], now, &mut scratch), 1);
        }
        contender.top((window + 1) * load.window() - 1);
    }
}

impl<C: Contender> Course for Run<C> {
    fn iterate(&mut self, threads: usize) -> Duration {
        let (mut elapsed, mut counted) = (Duration::ZERO, 0);
        for heat in 0..self.load.heats {
            let start = self.windows * self.load.window() + heat * self.load.events * STEP;
            let contender = &self.contender;
            let (time, in_heat) = race::run(&self.stream.events, threads, DRIFT, |events, scratch| {
                contender.take(events, start, scratch)
            });
            (elapsed, counted) = (elapsed + time, counted + in_heat);
        }
        assert_eq!(counted, self.load.operations(), "{}/{}/{threads}t", self.load.group, C::NAME);
        self.check(threads);
        self.windows += 1;
        elapsed
    }

    fn bytes(&self) -> (u64, Option<u64>) {
        self.bytes
    }
}

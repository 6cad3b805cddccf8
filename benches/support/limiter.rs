//! What takes part: [`Contender`] is a limiter under one way of calling it, [`Course`] runs it through heats.
//!
//! **A heat** begins with every client as if it had never come, and in the first window of the clock after a long time. Before it is timed each
//! client takes some permits, at the end of the window before and at the start of this one; so all of them are known, and have something to
//! lose. What is timed are calls of cost 1. The same clients come in every heat in the same order: what is to be granted is the same.

use std::{collections::HashSet, time::Duration};

use super::{
    memory,
    plain::{Algorithm, Plain, Terms},
    race, resident, zipf,
};

/// A client's key, and nanoseconds from the start of the heat.
pub(crate) type Event = (u64, u64);

/// How large a group is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// The benchmark group.
    pub(crate) group: &'static str,
    pub(crate) clients: u64,
    pub(crate) terms: Terms,
    /// Of the sliding log, which keeps a stamp for each permit.
    pub(crate) log_terms: Terms,
    /// Sixteenths of its permits that each client takes before the window of the heat, and at its start.
    pub(crate) taken: [u64; 2],
    /// Calls in a heat, and nanoseconds between two of them.
    pub(crate) calls: u64,
    pub(crate) step: u64,
    /// Heats in an iteration.
    pub(crate) heats: u64,
}

impl Load {
    pub(crate) fn terms_of(&self, algorithm: Algorithm) -> Terms {
        if algorithm == Algorithm::Log { self.log_terms } else { self.terms }
    }

    /// The ticks and costs of the calls that are not timed.
    fn beforehand(&self, algorithm: Algorithm, start: u64) -> impl Iterator<Item = Part> {
        let permits = self.terms_of(algorithm).permits;
        let [before, at_start] = self.taken.map(|taken| permits * taken / 16);
        let parts = [Part { start: start - 1000, cost: before }, Part { start, cost: at_start }];
        parts.into_iter().filter(|part| part.cost > 0)
    }

    /// Nanoseconds by which a thread may be behind another.
    pub(crate) fn lateness(&self) -> u64 {
        DRIFT * self.step
    }
}

/// In events.
const DRIFT: u64 = 4096;

/// Calls of one cost, from `start` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) start: u64,
    pub(crate) cost: u64,
}

/// A limiter. Time is given with every call.
pub(crate) trait Contender: Sync + Sized + 'static {
    /// The benchmark's function name.
    const NAME: &'static str;
    const ALGORITHM: Algorithm;
    /// What a thread keeps from one chunk to the next.
    type Scratch: Default;

    fn new(load: &Load) -> Self;

    /// Makes the calls in order; returns how many were allowed.
    fn take(&self, events: &[Event], part: Part, scratch: &mut Self::Scratch) -> u64;

    /// All upkeep that is due. Not timed.
    fn maintain(&self, _now: u64) {}

    /// The memory it holds, if it knows better than the allocator.
    fn memory_bytes(&self) -> Option<u64> {
        None
    }
}

/// One function of a group.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) prepare: fn(Load) -> Box<dyn Course>,
}

/// What is said about a contender before it is timed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Held by the limiter when it knows all clients, and by how much the process has grown meanwhile.
    pub(crate) bytes: u64,
    pub(crate) resident: Option<u64>,
    /// Calls that are to be allowed in a heat.
    pub(crate) allowed: u64,
}

/// A limiter that can run iteration after iteration.
pub(crate) trait Course {
    /// Runs the heats of an iteration with so many threads; returns the time that took. Panics if the number of calls
    /// that were allowed is wrong.
    fn iterate(&mut self, threads: usize) -> Duration;

    fn facts(&self) -> Facts;
}

impl Entry {
    pub(crate) const fn of<C: Contender>() -> Entry {
        Entry { name: C::NAME, prepare: |load| Box::new(Run::<C>::prepare(load)) }
    }
}

struct Run<C> {
    load: Load,
    contender: C,
    clients: Vec<Event>,
    events: Vec<Event>,
    facts: Facts,
    /// By how many calls two threads may be off.
    tolerance: u64,
    heat: u64,
}

impl<C: Contender> Run<C> {
    fn prepare(load: Load) -> Run<C> {
        let clients: Vec<Event> = (0..load.clients).map(|client| (zipf::key(client), 0)).collect();
        let events: Vec<Event> = zipf::draws(load.clients, load.calls)
            .zip(0..)
            .map(|(client, i)| (zipf::key(client), i * load.step))
            .collect();
        let before = resident::bytes();
        let (contender, allocated) = memory::held_by(|| {
            let contender = C::new(&load);
            warm(&contender, &load, &clients, 0, 1);
            contender
        });
        let bytes = contender.memory_bytes().unwrap_or(allocated);
        let resident = resident::bytes().zip(before).map(|(now, before)| now.saturating_sub(before));
        let (allowed, tolerance) = right(&load, C::ALGORITHM, &clients, &events);
        let facts = Facts { bytes, resident, allowed };
        Run { contender, clients, events, facts, tolerance, heat: 0, load }
    }
}

/// The first tick of a heat. (Whatever is known in windows of the clock has been forgotten.)
fn start(load: &Load, algorithm: Algorithm, heat: u64) -> u64 {
    4 * (heat + 1) * load.terms_of(algorithm).per
}

/// Lets every client take what it is to have taken before.
fn warm<C: Contender>(contender: &C, load: &Load, clients: &[Event], heat: u64, threads: usize) {
    let start = start(load, C::ALGORITHM, heat);
    contender.maintain(start - load.terms_of(C::ALGORITHM).per);
    for part in load.beforehand(C::ALGORITHM, start) {
        let (_, allowed) =
            race::run(clients, threads, DRIFT, |events, scratch| contender.take(events, part, scratch));
        assert_eq!(allowed, load.clients, "{}/{}: before heat {heat} begins", load.group, C::NAME);
    }
}

impl<C: Contender> Course for Run<C> {
    fn iterate(&mut self, threads: usize) -> Duration {
        let Run { load, contender, .. } = self;
        let (mut elapsed, mut off) = (Duration::ZERO, 0);
        for _ in 0..load.heats {
            self.heat += 1;
            warm(contender, load, &self.clients, self.heat, 2);
            let part = Part { start: start(load, C::ALGORITHM, self.heat), cost: 1 };
            let (time, allowed) = race::run(&self.events, threads, DRIFT, |events, scratch| {
                contender.take(events, part, scratch)
            });
            elapsed += time;
            off = allowed.abs_diff(self.facts.allowed).max(off);
        }
        let tolerance = if threads == 1 { 0 } else { self.tolerance };
        assert!(
            off <= tolerance,
            "{}/{}/{threads}t answers wrongly: in a heat {} calls are to be allowed, it is off by {off} (allowed: {tolerance})",
            load.group,
            C::NAME,
            self.facts.allowed,
        );
        elapsed
    }

    fn facts(&self) -> Facts {
        self.facts
    }
}

/// How many calls of a heat are to be allowed, and by how many that may be off with two threads.
///
/// If no permit comes back in a heat each client gets those that are left, in any order. Else a client that is denied something gets what
/// has come back until its last call, and a call that comes late, by up to the drift, may find or miss what has come back meanwhile.
fn right(load: &Load, algorithm: Algorithm, clients: &[Event], events: &[Event]) -> (u64, u64) {
    let (mut plain, start) = (Plain::new(algorithm, load.terms_of(algorithm)), start(load, algorithm, 0));
    for part in load.beforehand(algorithm, start) {
        assert!(clients.iter().all(|(key, _)| plain.allows(*key, part.cost, part.start)), "{}", load.group);
    }
    let (mut allowed, mut limited) = (0, HashSet::new());
    for (key, after) in events {
        if plain.allows(*key, 1, start + after) {
            allowed += 1;
        } else {
            limited.insert(*key);
        }
    }
    let interval = plain.terms.interval();
    let comes_back =
        matches!(algorithm, Algorithm::Gcra | Algorithm::Sliding) && load.calls * load.step >= interval;
    let of_a_client = if comes_back { 2 * (load.lateness() / interval + 1) } else { 0 };
    (allowed, (limited.len() as u64 + 2) * of_a_client)
}

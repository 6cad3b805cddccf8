//! The structures, and work for them.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use windlass::{
    Admission, Dedup, FifoIndex, HashRing, KeyedLimiter, Node, Quota, Refused, RotatingBloom, Tick, TopK,
    Verdict, Window,
};

use crate::{failure::Failure, generate::Random};

/// Calls at a time.
pub(super) const BATCH: usize = 1024;

pub(super) const NAMES: [&str; 6] = ["dedup", "filter", "limit", "top", "rank", "ring"];

/// A structure, for several threads.
pub(super) trait Subject: Sync {
    fn worker<'a>(&'a self, thread: u64) -> Box<dyn Worker + 'a>;

    /// Calls by which it comes to be as it is measured.
    fn warm(&self) -> u64;

    /// Whether it is as it should be after so many calls.
    fn is_right(&self, _calls: u64) -> bool {
        true
    }

    fn memory_bytes(&self) -> u64;
}

/// A thread's part of the work, a batch at a time.
pub(super) trait Worker {
    /// Makes the arguments of the next calls.
    fn prepare(&mut self);

    fn call(&mut self);

    /// Answers that are wrong.
    fn check(&mut self) -> u64;
}

/// The structure of this name, with so many keys.
pub(super) fn of(name: &str, keys: u64, threads: usize) -> Result<Box<dyn Subject>, Failure> {
    let size = usize::try_from(keys).unwrap_or(usize::MAX);
    let alone = threads == 1;
    Ok(match name {
        "dedup" => {
            let dedup = Dedup::builder(Window::last_n(keys)).capacity(size).build().map_err(Failure::bad)?;
            Box::new(Ids { seen: dedup, keys, threads: threads as u64, alone, now: AtomicU64::new(0) })
        }
        "filter" => {
            let filter = RotatingBloom::builder(Window::last_n(keys)).build().map_err(Failure::bad)?;
            Box::new(Ids { seen: filter, keys, threads: threads as u64, alone, now: AtomicU64::new(0) })
        }
        "limit" => {
            // So many that none is denied: each call writes.
            let quota = Quota::new(100_000_000, Duration::from_secs(1));
            let limiter = KeyedLimiter::builder(quota).clients(size).build().map_err(Failure::bad)?;
            Box::new(Limits { limiter, keys })
        }
        "top" => {
            let (window, pane) = (Window::last_n(8 << 32), Window::last_n(1 << 32));
            let top = TopK::builder(window, pane, 10).capacity(size).build().map_err(Failure::bad)?;
            Box::new(Counts { top, keys })
        }
        "rank" => {
            let queue = FifoIndex::builder().capacity(size).build().map_err(Failure::bad)?;
            for key in 0..keys {
                queue.push_at(key, (), Tick(0)).map_err(Failure::bad)?;
            }
            Box::new(Queue { queue, keys })
        }
        _ => {
            // A key is routed by arithmetic alone: it is nodes that fit the cache or do not.
            let nodes = (keys / 1000).clamp(10, 4000);
            let nodes = (0..nodes).zip(0..).map(|(number, id)| Node::new(id, format!("node-{number}")));
            let ring = HashRing::builder().nodes(nodes).build().map_err(Failure::bad)?;
            Box::new(Ring { ring })
        }
    })
}

/// Keys, each as often as any other.
struct Uniform {
    random: Random,
    keys: u64,
    batch: Vec<u64>,
}

impl Uniform {
    fn new(keys: u64, thread: u64) -> Uniform {
        Uniform { random: Random::new(thread), keys, batch: Vec::new() }
    }

    fn prepare(&mut self) {
        self.batch.clear();
        self.batch.extend((0..BATCH).map(|_| self.random.below(self.keys)));
    }
}

/// Who tells repeats: exactly, or with errors.
trait Seen: Sync {
    /// The share of new ids that may be taken for seen, in percent.
    const ERRORS: u64;

    /// Whether each was fresh.
    fn observe(&self, events: &[(u64, Tick)], fresh: &mut Vec<bool>);

    fn memory_bytes(&self) -> u64;
}

impl Seen for Dedup {
    const ERRORS: u64 = 0;

    fn observe(&self, events: &[(u64, Tick)], fresh: &mut Vec<bool>) {
        struct Fresh<'a>(&'a mut Vec<bool>);
        impl Extend<Result<Verdict, Refused>> for Fresh<'_> {
            fn extend<I: IntoIterator<Item = Result<Verdict, Refused>>>(&mut self, verdicts: I) {
                self.0.extend(
                    verdicts.into_iter().map(|verdict| verdict.is_ok_and(|verdict| verdict.is_fresh())),
                );
            }
        }
        self.observe_each(events.len(), |i| events[i], &mut Fresh(fresh));
    }

    fn memory_bytes(&self) -> u64 {
        self.memory_bytes()
    }
}

impl Seen for RotatingBloom {
    /// (One is expected.)
    const ERRORS: u64 = 3;

    fn observe(&self, events: &[(u64, Tick)], fresh: &mut Vec<bool>) {
        struct Fresh<'a>(&'a mut Vec<bool>);
        impl Extend<Verdict> for Fresh<'_> {
            fn extend<I: IntoIterator<Item = Verdict>>(&mut self, verdicts: I) {
                self.0.extend(verdicts.into_iter().map(|verdict| verdict.is_fresh()));
            }
        }
        self.observe_each(events.len(), |i| events[i], &mut Fresh(fresh));
    }

    fn memory_bytes(&self) -> u64 {
        self.memory_bytes()
    }
}

/// Ids of which every other one comes again, in a window of the last events.
struct Ids<S> {
    seen: S,
    keys: u64,
    threads: u64,
    /// There is one thread.
    alone: bool,
    /// Events so far. Relaxed: numbers, of which each is given once.
    now: AtomicU64,
}

impl<S: Seen> Subject for Ids<S> {
    fn worker<'a>(&'a self, thread: u64) -> Box<dyn Worker + 'a> {
        // Repeats are less than half a window old.
        let distance = (self.keys / 4 / self.threads).max(1);
        Box::new(IdsWorker {
            ids: self,
            random: Random::new(thread),
            first: thread << 48,
            new: 0,
            before: 0,
            distance,
            events: Vec::new(),
            repeats: Vec::new(),
            fresh: Vec::new(),
            passed: VecDeque::new(),
            errors: 0,
        })
    }

    fn warm(&self) -> u64 {
        2 * self.keys
    }

    fn memory_bytes(&self) -> u64 {
        self.seen.memory_bytes()
    }
}

struct IdsWorker<'a, S> {
    ids: &'a Ids<S>,
    random: Random,
    /// Its ids are those from this one on.
    first: u64,
    /// New ids so far, and those of the batches before this one.
    new: u64,
    before: u64,
    distance: u64,
    events: Vec<(u64, Tick)>,
    /// Whether each is a repeat.
    repeats: Vec<bool>,
    fresh: Vec<bool>,
    /// Whether the last new ids were let through, as far back as repeats go.
    passed: VecDeque<bool>,
    /// New ids that were taken for seen.
    errors: u64,
}

impl<S: Seen> Worker for IdsWorker<'_, S> {
    fn prepare(&mut self) {
        let now = self.ids.now.fetch_add(BATCH as u64, Relaxed);
        self.events.clear();
        self.repeats.clear();
        self.fresh.clear();
        self.before = self.new;
        // Of those that came in batches before.
        let back = self.distance.min(self.passed.len() as u64);
        for tick in now..now + BATCH as u64 {
            let is_repeat = back > 0 && self.random.below(2) == 0;
            let id = if is_repeat { self.before - 1 - self.random.below(back) } else { self.new };
            self.new += u64::from(!is_repeat);
            self.events.push((self.first + id, Tick(tick)));
            self.repeats.push(is_repeat);
        }
    }

    fn call(&mut self) {
        self.ids.seen.observe(&self.events, &mut self.fresh);
    }

    /// New ids are fresh, but for a stated share. Repeats are not, unless they were no repeats, as their first was taken for seen; and, where other threads
    /// go on meanwhile, time may have gone on by a window.
    fn check(&mut self) -> u64 {
        let mut wrong = u64::from(self.fresh.len() != self.events.len());
        for ((event, is_repeat), is_fresh) in self.events.iter().zip(&self.repeats).zip(&self.fresh) {
            if *is_repeat {
                let back = self.before - (event.0 - self.first);
                let at = self.passed.len().checked_sub(usize::try_from(back).unwrap_or(usize::MAX));
                let first = at.and_then(|at| self.passed.get_mut(at));
                let had_passed = first.map(|passed| std::mem::replace(passed, *passed || *is_fresh));
                wrong += u64::from(self.ids.alone && had_passed == Some(true) && *is_fresh);
            } else {
                self.errors += u64::from(!is_fresh);
            }
        }
        let new = self.repeats.iter().zip(&self.fresh).filter(|(is_repeat, _)| !**is_repeat);
        self.passed.extend(new.map(|(_, is_fresh)| *is_fresh));
        let kept = usize::try_from(self.distance).unwrap_or(usize::MAX);
        self.passed.drain(..self.passed.len().saturating_sub(kept));
        // (Many threads turn a small filter's panes faster than they can be cleared: then ids are kept longer, as documented, and errors are more.)
        let allowed = match S::ERRORS {
            0 => Some(0),
            percent => self.ids.alone.then(|| percent * self.new / 100 + 20),
        };
        let is_too_much = allowed.is_some_and(|allowed| self.errors > allowed);
        wrong + u64::from(is_too_much)
    }
}

/// Clients within their limits.
struct Limits {
    limiter: KeyedLimiter,
    keys: u64,
}

impl Subject for Limits {
    fn worker<'a>(&'a self, thread: u64) -> Box<dyn Worker + 'a> {
        let uniform = Uniform::new(self.keys, thread);
        Box::new(LimitsWorker { limiter: &self.limiter, uniform, admissions: Vec::new() })
    }

    fn warm(&self) -> u64 {
        2 * self.keys
    }

    fn memory_bytes(&self) -> u64 {
        self.limiter.memory_bytes()
    }
}

struct LimitsWorker<'a> {
    limiter: &'a KeyedLimiter,
    uniform: Uniform,
    admissions: Vec<Admission>,
}

impl Worker for LimitsWorker<'_> {
    fn prepare(&mut self) {
        self.uniform.prepare();
        self.admissions.clear();
    }

    fn call(&mut self) {
        let keys = &self.uniform.batch;
        self.limiter.check_each(keys.len(), |i| (keys[i], 1, Tick(1)), &mut self.admissions);
    }

    fn check(&mut self) -> u64 {
        (BATCH - self.admissions.iter().filter(|admission| admission.is_allowed()).count()) as u64
    }
}

/// Keys that are counted.
struct Counts {
    top: TopK,
    keys: u64,
}

impl Subject for Counts {
    fn worker<'a>(&'a self, thread: u64) -> Box<dyn Worker + 'a> {
        Box::new(CountsWorker { top: &self.top, uniform: Uniform::new(self.keys, thread), counted: 0 })
    }

    fn warm(&self) -> u64 {
        2 * self.keys
    }

    fn is_right(&self, calls: u64) -> bool {
        self.top.total_at(Tick(1)) == calls
    }

    fn memory_bytes(&self) -> u64 {
        self.top.memory_bytes()
    }
}

struct CountsWorker<'a> {
    top: &'a TopK,
    uniform: Uniform,
    counted: u64,
}

impl Worker for CountsWorker<'_> {
    fn prepare(&mut self) {
        self.uniform.prepare();
    }

    fn call(&mut self) {
        let keys = &self.uniform.batch;
        self.counted = self.top.add_each(keys.len(), |i| (keys[i], 1, Tick(1))).counted;
    }

    fn check(&mut self) -> u64 {
        BATCH as u64 - self.counted
    }
}

/// Keys that wait, and ask how many are ahead.
struct Queue {
    queue: FifoIndex<()>,
    keys: u64,
}

impl Subject for Queue {
    fn worker<'a>(&'a self, thread: u64) -> Box<dyn Worker + 'a> {
        let uniform = Uniform::new(self.keys, thread);
        Box::new(QueueWorker { queue: &self.queue, uniform, ranks: Vec::new() })
    }

    fn warm(&self) -> u64 {
        0
    }

    fn memory_bytes(&self) -> u64 {
        self.queue.memory_bytes()
    }
}

struct QueueWorker<'a> {
    queue: &'a FifoIndex<()>,
    uniform: Uniform,
    ranks: Vec<Option<u64>>,
}

impl Worker for QueueWorker<'_> {
    fn prepare(&mut self) {
        self.uniform.prepare();
    }

    fn call(&mut self) {
        self.queue.rank_batch(&self.uniform.batch, &mut self.ranks);
    }

    fn check(&mut self) -> u64 {
        let keys = self.uniform.batch.iter().copied().map(Some);
        u64::from(!keys.eq(self.ranks.iter().copied()))
    }
}

/// Keys and their nodes.
struct Ring {
    ring: HashRing,
}

impl Subject for Ring {
    fn worker<'a>(&'a self, thread: u64) -> Box<dyn Worker + 'a> {
        Box::new(RingWorker { ring: &self.ring, uniform: Uniform::new(u64::MAX, thread), owners: Vec::new() })
    }

    fn warm(&self) -> u64 {
        1 << 16
    }

    fn memory_bytes(&self) -> u64 {
        self.ring.placement().memory_bytes()
    }
}

struct RingWorker<'a> {
    ring: &'a HashRing,
    uniform: Uniform,
    owners: Vec<u32>,
}

impl Worker for RingWorker<'_> {
    fn prepare(&mut self) {
        self.uniform.prepare();
    }

    fn call(&mut self) {
        self.ring.route_batch(&self.uniform.batch, &mut self.owners);
    }

    /// Some of them, one by one.
    fn check(&mut self) -> u64 {
        let some = self.uniform.batch.iter().zip(&self.owners).step_by(16);
        let wrong = some.filter(|(key, owner)| self.ring.route(**key) != Some(**owner)).count();
        (wrong + usize::from(self.owners.len() != BATCH)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_answers_are_right_and_wrong_ones_are_noticed() {
        for name in NAMES {
            let subject = of(name, 20_000, 1).unwrap();
            let mut worker = subject.worker(0);
            for _ in 0..100 {
                worker.prepare();
                worker.call();
                assert_eq!(worker.check(), 0, "{name}");
            }
            assert!(subject.is_right(100 * BATCH as u64) && subject.memory_bytes() > 0, "{name}");
            // Without a call the answers are none, or those of the batch before.
            let wrong: u64 = (0..10)
                .map(|_| {
                    worker.prepare();
                    worker.check()
                })
                .sum();
            assert!(wrong > 0 || !subject.is_right(101 * BATCH as u64), "{name}");
        }
    }

    #[test]
    fn repeats_that_are_let_through_are_noticed() {
        let dedup = Dedup::builder(Window::last_n(20_000)).capacity(20_000).build().unwrap();
        let ids = Ids { seen: dedup, keys: 20_000, threads: 1, alone: true, now: AtomicU64::new(0) };
        let (mut worker, mut wrong) = (ids.worker(0), [0; 2]);
        for round in 0..20 {
            if round == 10 {
                ids.seen.reset().unwrap();
            }
            worker.prepare();
            worker.call();
            wrong[round / 10] += worker.check();
        }
        assert!(wrong[0] == 0 && wrong[1] > 0, "{wrong:?}");
    }
}

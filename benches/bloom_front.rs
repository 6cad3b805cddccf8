//! Does a rotating Bloom filter in front of `Dedup` make it faster, out of cache?
//!
//! ```text
//! cargo bench --bench bloom_front
//! WINDLASS_BENCH_QUICK=1 cargo bench --bench bloom_front      small, in seconds
//! ```
//!
//! Groups `bloom_front_0`, `_50` and `_99` by the percentage of repeats; 16-byte keys, batches of 512.
//!
//! - `dedup_batch`: `Dedup` alone.
//! - `front_batch`: the filter, then `Dedup`. "Not there" is certain, but the id has still to be written down, and "there" has to be
//!   asked again: to stay exact every event goes through both.
//! - `dedup_contains`, `front_contains`: questions that write nothing. Here what the filter does not know needs no second question.
//!
//! Time is the number of new ids, so that as many are live whatever the share of repeats. After every iteration the number of fresh (or
//! absent) ids is compared with the right one.

#![allow(clippy::expect_used, clippy::panic)] // a benchmark that cannot go on, or whose answers are wrong, ends there

mod support {
    pub(crate) mod host;
    pub(crate) mod keys;
    pub(crate) mod mix;
    pub(crate) mod race;
    pub(crate) mod ratios;
    pub(crate) mod request;
}

use std::time::{Duration, SystemTime};

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use support::{
    host,
    keys::{Event, key},
    mix::{below, mix},
    race,
    ratios::{self, Demand, Measured},
    request::{Request, THREADS},
};
use windlass::{Dedup, Outcome, RotatingBloom, Seed, Tick, Verdict, Window};

const GROUPS: [(&str, u64); 3] = [("bloom_front_0", 0), ("bloom_front_50", 50), ("bloom_front_99", 99)];
const FUNCTIONS: [&str; 4] = ["dedup_batch", "front_batch", "dedup_contains", "front_contains"];
const RATIOS: [Demand; 2] = [
    Demand { ours: "front_batch", theirs: Some("dedup_batch"), at_least: [None, None] },
    Demand { ours: "front_contains", theirs: Some("dedup_contains"), at_least: [None, None] },
];

struct Pair {
    dedup: Dedup,
    filter: RotatingBloom,
    window: u64,
    /// The number of the first id that has not been put in.
    next: u64,
    events: Vec<Event>,
}

#[derive(Default)]
struct Scratch {
    outcomes: Vec<Outcome>,
    seen: Vec<bool>,
}

impl Pair {
    fn new(window: u64) -> Pair {
        let capacity = usize::try_from(window + window / 16).expect("it is to be allocated");
        let lateness = Window::last_n(window / 16);
        let dedup =
            Dedup::builder(Window::last_n(window)).lateness(lateness).capacity(capacity).seed(Seed(1));
        let filter =
            RotatingBloom::builder(Window::last_n(window)).lateness(lateness).error(0.01).seed(Seed(1));
        let (dedup, filter) = (dedup.build().expect("valid"), filter.build().expect("valid"));
        let mut pair = Pair { dedup, filter, window, next: 0, events: Vec::new() };
        while pair.next < window {
            pair.write(0, 100_000);
            pair.race(1, Pair::both);
        }
        pair
    }

    /// So many events, of which a share repeat ids that are well inside the window; returns how many bring new ones.
    fn write(&mut self, repeats: u64, n: u64) -> u64 {
        self.events.clear();
        let before = self.next;
        for i in 0..n {
            let random = mix(self.next ^ mix(i));
            if before > 0 && below(random, 100) < repeats {
                let back = self.window / 8 + below(mix(random), self.window / 4);
                self.events.push((key(before.saturating_sub(back)), Tick(self.next)));
            } else {
                self.events.push((key(self.next), Tick(self.next)));
                self.next += 1;
            }
        }
        self.next - before
    }

    fn race(&self, threads: usize, take: fn(&Pair, &[Event], &mut Scratch) -> u64) -> (Duration, u64) {
        race::run(&self.events, threads, self.window / 16, |events, scratch| take(self, events, scratch))
    }

    fn alone(&self, events: &[Event], scratch: &mut Scratch) -> u64 {
        self.dedup.observe_events(events, &mut scratch.outcomes);
        scratch.outcomes.iter().map(|outcome| u64::from(*outcome == Ok(Verdict::Fresh))).sum()
    }

    fn both(&self, events: &[Event], scratch: &mut Scratch) -> u64 {
        scratch.seen.clear();
        self.filter.insert_each(events.len(), |i| (&events[i].0, events[i].1), &mut scratch.seen);
        self.alone(events, scratch)
    }

    fn ask_alone(&self, events: &[Event], _: &mut Scratch) -> u64 {
        events.iter().map(|(key, now)| u64::from(!self.dedup.contains_at(key, *now))).sum()
    }

    fn ask_both(&self, events: &[Event], scratch: &mut Scratch) -> u64 {
        scratch.seen.clear();
        self.filter.contains_each(events.len(), |i| (&events[i].0, events[i].1), &mut scratch.seen);
        let is_absent = |((key, now), &seen): (&Event, &bool)| !seen || !self.dedup.contains_at(key, *now);
        events.iter().zip(&scratch.seen).map(|event| u64::from(is_absent(event))).sum()
    }

    fn iterate(&mut self, function: &str, threads: usize, repeats: u64, n: u64) -> Duration {
        let next = self.next;
        let expected = self.write(repeats, n);
        let (elapsed, fresh) = match function {
            "dedup_batch" => self.race(threads, Pair::alone),
            "front_batch" => self.race(threads, Pair::both),
            "dedup_contains" => self.race(threads, Pair::ask_alone),
            _ => self.race(threads, Pair::ask_both),
        };
        assert_eq!(fresh, expected, "{function}/{threads}t: fresh or absent ids");
        if function.ends_with("contains") {
            // Nothing was put in. (The ticks of the next questions are these again.)
            self.next = next;
        }
        elapsed
    }
}

fn main() {
    let started = SystemTime::now();
    let request = Request::from_environment();
    let results = request.results_folder();
    let (window, timed) = if request.quick { (100_000, 50_000) } else { (8_000_000, 1_000_000) };
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(50))
        .measurement_time(Duration::from_millis(if request.quick { 50 } else { 1000 }))
        .output_directory(&results)
        .configure_from_args();
    let wanted = |(group, _): &(&str, u64)| FUNCTIONS.iter().any(|function| request.wants(group, function));
    if !request.only_lists && GROUPS.iter().any(wanted) {
        println!("{window} live ids; {}", host::describe());
    }
    for (name, repeats) in GROUPS {
        let mut group = criterion.benchmark_group(name);
        group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(timed));
        for function in FUNCTIONS {
            let mut pair = None; // prepared when the filter lets it through
            for (threads, id) in THREADS {
                group.bench_function(BenchmarkId::new(function, id), |bencher| {
                    let pair = pair.get_or_insert_with(|| {
                        let pair = Pair::new(window);
                        println!(
                            "\n  {} and {} bytes",
                            pair.dedup.memory_bytes(),
                            pair.filter.memory_bytes()
                        );
                        pair
                    });
                    bencher.iter_custom(|iterations| {
                        (0..iterations).map(|_| pair.iterate(function, threads, repeats, timed)).sum()
                    });
                });
            }
        }
        group.finish();
        let measured = Measured { results: &results, since: started, group: name, operations: timed };
        ratios::print(&measured, &FUNCTIONS, &RATIOS);
    }
    criterion.final_summary();
}

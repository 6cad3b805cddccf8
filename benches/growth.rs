//! From a thousand live ids to 50 million and back, by two writers that know what each answer must be; how long calls take
//! meanwhile, and how much memory.
//!
//! ```text
//! cargo bench --bench growth
//! ```
//!
//! Every call is timed (a reading of the clock is in it) and every answer checked. Three of four events are new ids, one is a
//! repeat of an id of the last three quarters of a window, and now and then one is an id that was forgotten a window ago. Time is
//! that of the events, in 1024 steps a window, the same for both writers. Once without and once with a maintainer.

#![allow(clippy::expect_used, clippy::panic)] // a benchmark

use hdrhistogram::Histogram;
use std::{
    fs,
    sync::{Arc, Barrier},
    time::{Duration, Instant},
};
use windlass::{Clock, Dedup, Maintainer, Seed, Tick, Verdict};

const WINDOW: u64 = 60_000_000_000;
const STEPS: usize = 1024;
const WRITERS: usize = 2;

/// A stretch of time: its name, how many windows it lasts, how many new ids come in a window at its end.
type Phase = (&'static str, usize, u64);

fn phases() -> Vec<Phase> {
    let most = if std::env::var_os("WINDLASS_BENCH_QUICK").is_some() { 200_000 } else { 50_000_000 };
    vec![("few", 2, 1000), ("rise", 1, most), ("many", 2, most), ("fall", 1, 1000), ("few again", 2, 1000)]
}

/// New ids of one writer in each step, and the name of the phase.
fn steps() -> Vec<(&'static str, usize)> {
    let (mut steps, mut rate) = (Vec::new(), 1000.0_f64);
    for (name, windows, to) in phases() {
        // By the same factor from step to step.
        #[allow(clippy::cast_precision_loss)]
        let factor = (to as f64 / rate).powf(1.0 / (windows * STEPS) as f64);
        for _ in 0..windows * STEPS {
            rate *= factor;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            steps.push((name, (rate / (STEPS * WRITERS) as f64).ceil() as usize));
        }
    }
    steps
}

fn tick(step: usize) -> Tick {
    Tick((step as u64 + 1) * (WINDOW / STEPS as u64))
}

struct Writer<'a> {
    number: u64,
    dedup: &'a Dedup,
    /// Where each step's ids begin.
    begins: Vec<u64>,
    calls: Histogram<u64>,
    last: Instant,
}

impl Writer<'_> {
    fn name(&self, id: u64) -> u64 {
        id << 1 | self.number
    }

    fn observe(&mut self, id: u64, step: usize, expected: Verdict) {
        let verdict = self.dedup.observe_at(self.name(id), tick(step));
        let now = Instant::now();
        self.calls.saturating_record(u64::try_from((now - self.last).as_nanos()).unwrap_or(u64::MAX));
        self.last = now;
        assert_eq!(verdict, Ok(expected), "id {id} in step {step}");
    }

    fn step(&mut self, step: usize, new: usize) {
        let begin = self.begins.last().copied().unwrap_or(0);
        let first = self.begins.len().saturating_sub(STEPS * 3 / 4);
        let recent = self.begins.get(first).copied().unwrap_or(0);
        // Forgotten: of two windows ago, each once.
        let mut old = step.checked_sub(2 * STEPS).map_or(0..0, |old| self.begins[old]..self.begins[old + 1]);
        let mut random = step as u64 + 1;
        self.last = Instant::now();
        for id in begin..begin + new as u64 {
            self.observe(id, step, Verdict::Fresh);
            if id % 3 == 0 && recent < begin {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let known = recent + (random >> 16) % (begin - recent);
                let admitted = self.begins.partition_point(|&begin| begin <= known) - 1;
                self.observe(known, step, Verdict::Duplicate { first_seen: Some(tick(admitted)) });
            }
            if id % 64 == 0
                && let Some(id) = old.next()
            {
                self.observe(id, step, Verdict::Fresh);
            }
        }
        self.begins.push(begin + new as u64);
    }
}

fn status(file: &str, field: &str) -> u64 {
    let status = fs::read_to_string(file).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// Up to 100 s.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 100_000_000_000, 3).expect("valid")
}

/// Megabytes of this process.
fn resident() -> u64 {
    status("/proc/self/status", "VmRSS:") / 1024
}

fn switches() -> u64 {
    ["voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"]
        .map(|field| status("/proc/thread-self/status", field))
        .iter()
        .sum()
}

/// What a writer found in a phase.
struct Found {
    phase: &'static str,
    calls: Histogram<u64>,
    busy: Duration,
    switches: u64,
    /// Megabytes: at most, and at the end.
    memory: (u64, u64),
    bytes: (u64, u64),
    tables: u64,
}

fn run(maintained: bool) {
    let (clock, hand) = Clock::manual(tick(0));
    let dedup = Dedup::builder(Duration::from_nanos(WINDOW)).capacity(1000).max_memory(16 << 30);
    let dedup = Arc::new(dedup.seed(Seed(1)).clock(clock).build().expect("valid"));
    let maintainer = Maintainer::start(Duration::from_millis(5)).expect("a thread");
    if maintained {
        maintainer.add(&dedup);
    }
    let first = dedup.memory_bytes();
    let (steps, together, before) = (steps(), Barrier::new(WRITERS), resident());
    let found: Vec<Vec<Found>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..WRITERS as u64)
            .map(|number| {
                let (dedup, steps, together, hand) = (&*dedup, &steps, &together, &hand);
                scope.spawn(move || {
                    let calls = || histogram();
                    let mut writer =
                        Writer { number, dedup, begins: vec![0], calls: calls(), last: Instant::now() };
                    let mut found: Vec<Found> = Vec::new();
                    for (step, &(phase, new)) in steps.iter().enumerate() {
                        if number == 0 {
                            hand.set(tick(step));
                        }
                        if new < 10 {
                            // Real time for upkeep, of which there is little where events are few.
                            std::thread::sleep(Duration::from_micros(200));
                        }
                        together.wait();
                        if found.last().is_none_or(|last| last.phase != phase) {
                            found.push(Found {
                                phase,
                                calls: calls(),
                                busy: Duration::ZERO,
                                switches: 0,
                                memory: (0, 0),
                                bytes: (0, 0),
                                tables: 0,
                            });
                        }
                        let (begun, switched) = (Instant::now(), switches());
                        writer.step(step, new);
                        let last = found.last_mut().expect("pushed");
                        last.busy += begun.elapsed();
                        last.switches += switches() - switched;
                        last.calls.add(&writer.calls).expect("alike");
                        writer.calls.reset();
                        let (memory, bytes) = (resident().saturating_sub(before), dedup.memory_bytes() >> 20);
                        last.memory = (last.memory.0.max(memory), memory);
                        last.bytes = (last.bytes.0.max(bytes), bytes);
                        last.tables = last.tables.max(dedup.stats().tables);
                        together.wait();
                    }
                    found
                })
            })
            .collect();
        handles.into_iter().map(|handle| handle.join().expect("a wrong answer")).collect()
    });
    println!("\n{}", if maintained { "with a maintainer" } else { "by the calls alone" });
    println!(
        "{:<10} {:>12} {:>6} {:>7} {:>7} {:>8} {:>9} {:>9} {:>9} {:>7} {:>14} {:>14}",
        "",
        "calls",
        "M/s",
        "p50",
        "p99",
        "p99.9",
        "p99.99",
        "longest",
        "switches",
        "tables",
        "MB peak, end",
        "RSS peak, end"
    );
    for i in 0..found[0].len() {
        let mut calls = histogram();
        found.iter().for_each(|found| calls.add(&found[i].calls).expect("alike"));
        let one = &found[0][i];
        let busy = found.iter().map(|found| found[i].busy).max().unwrap_or_default();
        let at = |quantile| micros(calls.value_at_quantile(quantile));
        #[allow(clippy::cast_precision_loss)]
        let rate = calls.len() as f64 / busy.as_secs_f64() / 1e6;
        println!(
            "{:<10} {:>12} {rate:>6.1} {:>7} {:>7} {:>8} {:>9} {:>9} {:>9} {:>7} {:>14} {:>14}",
            one.phase,
            calls.len(),
            at(0.5),
            at(0.99),
            at(0.999),
            at(0.9999),
            micros(calls.max()),
            found.iter().map(|found| found[i].switches).sum::<u64>(),
            found.iter().map(|found| found[i].tables).max().unwrap_or(0),
            format!("{}, {}", one.bytes.0, one.bytes.1),
            format!("{}, {}", one.memory.0, one.memory.1),
        );
    }
    // Upkeep alone, a window after the last event.
    let begun = Instant::now();
    hand.set(tick(steps.len() + STEPS));
    while maintained && dedup.memory_bytes() > first && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(1));
    }
    if !maintained {
        for _ in 0..1000 {
            while dedup.maintain_at(tick(steps.len() + STEPS), 256) {}
        }
    }
    let stats = dedup.stats();
    println!(
        "a window later, by upkeep alone: {} bytes, RSS {} MB, {} live; {} times larger, {} times smaller, {} ids forwarded",
        stats.memory_bytes,
        resident().saturating_sub(before),
        stats.live,
        stats.grown,
        stats.shrunk,
        stats.forwarded
    );
}

#[allow(clippy::cast_precision_loss)]
fn micros(nanos: u64) -> String {
    format!("{:.2}", nanos as f64 / 1000.0)
}

fn main() {
    println!("times in us a call; two writers; every answer checked");
    run(false);
    run(true);
}

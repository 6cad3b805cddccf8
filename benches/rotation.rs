//! How long do single inserts take while panes rotate, beside the same inserts when the calls neither rotate nor clear?
//!
//! ```text
//! cargo bench --bench rotation
//! WINDLASS_BENCH_QUICK=1 cargo bench --bench rotation      small, in seconds
//! ```
//!
//! Every call is timed (a reading of the clock is in it, and nothing is subtracted). Keys are `u64` and all new; the window is the last N
//! events, in 8 panes. "Rotating": calls rotate and clear, as they do by default. "None": one long pane as far as calls can see; after as
//! many events as a pane has, all threads stop and the ring is moved on, outside the timing. So both find as many bits set, and write as many.
//!
//! Memory is touched before: two windows' events are not timed.

#![allow(clippy::expect_used, clippy::panic)] // a benchmark

mod support {
    pub(crate) mod host;
}

use hdrhistogram::Histogram;
use std::{
    sync::Barrier,
    time::{Duration, Instant},
};
use windlass::{RotatingBloom, Rotation, Seed, Tick, Window};

/// How large, in ids of the window, and how many panes are timed.
struct Load {
    name: &'static str,
    window: u64,
    panes: u64,
}

const FULL: [Load; 3] = [
    Load { name: "in L2", window: 140_000, panes: 400 },
    Load { name: "beyond L2", window: 4_000_000, panes: 24 },
    Load { name: "beyond L3", window: 64_000_000, panes: 4 },
];
const QUICK: [Load; 3] = [
    Load { name: "in L2", window: 20_000, panes: 40 },
    Load { name: "beyond L2", window: 40_000, panes: 20 },
    Load { name: "beyond L3", window: 80_000, panes: 10 },
];

/// What is demanded of the 99.9th percentile.
const AT_MOST: f64 = 2.0;

struct Found {
    calls: Histogram<u64>,
    busy: Duration,
    rotations: u64,
    late: u64,
}

fn filter(load: &Load, rotating: bool) -> RotatingBloom {
    let rotation = if rotating { Rotation::ByCalls } else { Rotation::Scheduled };
    let builder = RotatingBloom::builder(Window::last_n(load.window)).error(0.003);
    builder.rotation(rotation).seed(Seed(1)).build().expect("valid")
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 100_000_000_000, 3).expect("valid")
}

/// Inserts a pane's keys after another; times the calls of those after the first `untimed` panes.
fn run(load: &Load, threads: u64, rotating: bool) -> Found {
    let bloom = filter(load, rotating);
    let pane = bloom.plan().pane.ticks().unwrap_or(1);
    let untimed = 2 * bloom.plan().panes as u64;
    let together = Barrier::new(usize::try_from(threads).expect("few"));
    let before = (0..threads).map(|thread| {
        let (bloom, together) = (&bloom, &together);
        move || {
            let (mut calls, mut busy, mut at_start) = (histogram(), Duration::ZERO, (0, 0));
            for number in 0..untimed + load.panes {
                together.wait();
                if thread == 0 && !rotating {
                    bloom.advance_to(Tick(number * pane));
                }
                if thread == 0 && number == untimed {
                    let stats = bloom.stats();
                    at_start = (stats.rotations, stats.late);
                }
                together.wait();
                let begun = Instant::now();
                let mut last = begun;
                // Threads take turns by the event, so that their ticks stay close.
                for event in (number * pane + thread..(number + 1) * pane)
                    .step_by(usize::try_from(threads).unwrap_or(1))
                {
                    std::hint::black_box(bloom.insert_at(event, Tick(event)));
                    let now = Instant::now();
                    if number >= untimed {
                        calls.saturating_record(u64::try_from((now - last).as_nanos()).unwrap_or(u64::MAX));
                    }
                    last = now;
                }
                if number >= untimed {
                    busy += begun.elapsed();
                }
            }
            (calls, busy, at_start)
        }
    });
    let found: Vec<_> = std::thread::scope(|scope| {
        let handles: Vec<_> = before.map(|work| scope.spawn(work)).collect();
        handles.into_iter().map(|handle| handle.join().expect("it ran")).collect()
    });
    let end = (untimed + load.panes) * pane;
    for event in (end - load.window..end).step_by(101) {
        assert!(bloom.contains_at(event, Tick(end - 1)), "{}: event {event} is missing", load.name);
    }
    let stats = bloom.stats();
    let mut calls = histogram();
    found.iter().for_each(|(more, ..)| calls.add(more).expect("alike"));
    Found {
        calls,
        busy: found.iter().map(|found| found.1).max().unwrap_or_default(),
        rotations: stats.rotations - found[0].2.0,
        late: stats.late - found[0].2.1,
    }
}

fn main() {
    let quick = !std::env::args().any(|argument| argument == "--bench")
        || std::env::var_os("WINDLASS_BENCH_QUICK").is_some_and(|value| value != "0");
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    println!("{}", support::host::describe());
    println!("times in ns a call; a reading of the clock is in each\n");
    println!(
        "| | threads | panes | M/s | p50 | p99 | p99.9 | longest, us | rotations | a pane, ms | late | p99.9 / none (at most {AT_MOST}) |"
    );
    println!("|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for load in if quick { &QUICK } else { &FULL } {
        if !load.name.contains(&wanted) {
            continue;
        }
        for threads in [1, 2] {
            let none = run(load, threads, false);
            let rotating = run(load, threads, true);
            line(load, threads, "none", &none, None);
            line(load, threads, "rotating", &rotating, Some(&none));
        }
    }
}

#[allow(clippy::cast_precision_loss)]
fn line(load: &Load, threads: u64, panes: &str, found: &Found, none: Option<&Found>) {
    let at = |found: &Found, quantile| found.calls.value_at_quantile(quantile);
    let ratio =
        none.map_or(String::new(), |none| format!("{:.2}", at(found, 0.999) as f64 / at(none, 0.999) as f64));
    // "None" is moved on by hand.
    let rotations = none.map_or(0, |_| found.rotations);
    println!(
        "| {}, {} ids | {threads} | {panes} | {:.1} | {} | {} | {} | {} | {rotations} | {:.1} | {} | {ratio} |",
        load.name,
        load.window,
        found.calls.len() as f64 / found.busy.as_secs_f64() / 1e6,
        at(found, 0.5),
        at(found, 0.99),
        at(found, 0.999),
        found.calls.max() / 1000,
        found.busy.as_secs_f64() * 1e3 / load.panes as f64,
        found.late,
    );
}

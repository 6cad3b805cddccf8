//! How long do single adds take while panes change, beside the same adds in one pane that does not end?
//!
//! Every call is timed (a reading of the clock is in it, and nothing is subtracted). Memory is used before: what is timed comes after
//! enough windows for that. "Changing": the events' time goes on, a pane after another, and with each sixth a new generation, in which all keys need
//! a row, while the table of one that has left is cleared by the calls. "None": the same keys in the same order, all at one time, and all known.

use std::{
    sync::Barrier,
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;

use super::{
    counter::{Contender, Event, Load},
    counters::{Counting, Exact, SINGLE},
    request::Request,
};

const GROUP: &str = "pane_changes";

/// What is demanded of the 99.9th percentile.
const AT_MOST: f64 = 2.0;

/// Windows before those that are timed, and those.
const UNTIMED: u64 = 4;
const TIMED: u64 = 2;

struct Found {
    calls: Histogram<u64>,
    busy: Duration,
}

pub(crate) fn run(load: &Load, events: &[Event], request: &Request) {
    let all: [(&str, Measure); 2] = [
        (Exact::<SINGLE>::NAME, measure::<Exact<SINGLE>>),
        (Counting::<SINGLE>::NAME, measure::<Counting<SINGLE>>),
    ];
    let wanted: Vec<_> = all.iter().filter(|(name, _)| request.wants(GROUP, name)).collect();
    if wanted.is_empty() {
        return;
    }
    println!("\n{GROUP}: {} keys, ns an add; a reading of the clock is in each\n", load.keys);
    println!(
        "| | threads | panes | M/s | p50 | p99 | p99.9 | p99.99 | longest, us | p99.9 / none (at most {AT_MOST}) |"
    );
    println!("|---|--:|---|--:|--:|--:|--:|--:|--:|--:|");
    for (name, measure) in wanted {
        for threads in [1, 2] {
            let none = measure(load, events, threads, false);
            let changing = measure(load, events, threads, true);
            line(name, threads, "none", &none, None);
            line(name, threads, "changing", &changing, Some(&none));
        }
    }
}

type Measure = fn(&Load, &[Event], usize, bool) -> Found;

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 100_000_000_000, 3).expect("valid")
}

fn measure<C: Contender>(load: &Load, events: &[Event], threads: usize, changing: bool) -> Found {
    let (contender, together) = (C::new(load), Barrier::new(threads));
    let found: Vec<Found> = std::thread::scope(|scope| {
        let work = |thread| {
            let (contender, together) = (&contender, &together);
            move || {
                let (mut calls, mut busy, mut scratch) = (histogram(), Duration::ZERO, C::Scratch::default());
                for window in 0..UNTIMED + TIMED {
                    if together.wait().is_leader() && window > 0 {
                        contender.top(if changing { window * load.window() - 1 } else { 0 });
                    }
                    together.wait();
                    let start = if changing { window * load.window() } else { 0 };
                    let begun = Instant::now();
                    let mut last = begun;
                    // Threads take turns by the event, so that their ticks stay close.
                    for &(key, after) in events.iter().skip(thread).step_by(threads) {
                        let event = [(key, if changing { after } else { 0 })];
                        assert_eq!(contender.take(&event, start, &mut scratch), 1);
                        let now = Instant::now();
                        if window >= UNTIMED {
                            calls.saturating_record(
                                u64::try_from((now - last).as_nanos()).unwrap_or(u64::MAX),
                            );
                        }
                        last = now;
                    }
                    if window >= UNTIMED {
                        busy += begun.elapsed();
                    }
                }
                Found { calls, busy }
            }
        };
        let handles: Vec<_> = (0..threads).map(|thread| scope.spawn(work(thread))).collect();
        handles.into_iter().map(|handle| handle.join().expect("it ran")).collect()
    });
    let (now, windows) =
        if changing { ((UNTIMED + TIMED) * load.window() - 1, 1) } else { (0, UNTIMED + TIMED) };
    let hottest = events.iter().filter(|(key, _)| *key == events[0].0).count() as u64;
    assert_eq!(contender.count(events[0].0, now), windows * hottest, "{}", C::NAME);
    let mut calls = histogram();
    found.iter().for_each(|found| calls.add(&found.calls).expect("alike"));
    Found { calls, busy: found.iter().map(|found| found.busy).max().unwrap_or_default() }
}

#[allow(clippy::cast_precision_loss)]
fn line(name: &str, threads: usize, panes: &str, found: &Found, none: Option<&Found>) {
    let at = |found: &Found, quantile| found.calls.value_at_quantile(quantile);
    let ratio =
        none.map_or(String::new(), |none| format!("{:.2}", at(found, 0.999) as f64 / at(none, 0.999) as f64));
    println!(
        "| {name} | {threads} | {panes} | {:.1} | {} | {} | {} | {} | {} | {ratio} |",
        found.calls.len() as f64 / found.busy.as_secs_f64() / 1e6,
        at(found, 0.5),
        at(found, 0.99),
        at(found, 0.999),
        at(found, 0.9999),
        found.calls.max() / 1000,
    );
}

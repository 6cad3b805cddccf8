//! What does it cost to ask a structure for its figures?
//!
//! ```text
//! cargo bench --bench stats
//! WINDLASS_BENCH_QUICK=1 cargo bench --bench stats      small, in seconds
//! ```
//!
//! Each structure is filled in the way of a busy one, and `stats()` is timed, with other memory read between two of them, so that they find the cache as
//! somebody does who asks once a second. Nobody waits for `stats()`; asked once a second, at most that share of a core's work is lost. Demanded is less than 1 %.

#![allow(clippy::expect_used, clippy::panic)] // a benchmark

mod support {
    pub(crate) mod host;
}

use std::{
    env,
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};
use windlass::{
    BloomBuilder, BoundedTopK, Dedup, FifoIndex, HashRing, KeyedLimiter, Layout, LimitRule, LimitSet, Node,
    Quota, RotatingBloom, Seed, Tick, TopK, Window, WindowedCounter, WindowedTotal,
};

/// Of a second, at most.
const AT_MOST: f64 = 0.01;

/// A structure in use: a call for the i-th event, and a look at its figures.
struct Subject {
    name: &'static str,
    /// Events before it is looked at.
    events: u64,
    call: Box<dyn Fn(u64)>,
    look: Box<dyn Fn()>,
}

fn subject<T: 'static, S: 'static>(
    name: &'static str,
    events: u64,
    structure: T,
    call: impl Fn(&T, u64) + 'static,
    look: fn(&T) -> S,
) -> Subject {
    let structure = Arc::new(structure);
    let other = structure.clone();
    Subject {
        name,
        events,
        call: Box::new(move |i| call(&structure, i)),
        look: Box::new(move || drop(black_box(look(&other)))),
    }
}

/// All of them, with some `n` keys in the window.
fn subjects(n: u64) -> Vec<Subject> {
    let keys = usize::try_from(n).expect("small");
    let (window, pane, seed) = (Window::last_n(n), Window::last_n(n / 8), Seed(1));
    let quota = Quota::new(10, Duration::from_secs(1));
    let filter = |name, builder: BloomBuilder| {
        let filter = builder.expected_ids(n).seed(seed).build().expect("valid");
        let call = |filter: &RotatingBloom, i| {
            black_box(filter.insert_at(i, Tick(i)));
        };
        subject(name, 2 * n, filter, call, RotatingBloom::stats)
    };
    let bloom = || RotatingBloom::builder(window);
    let set = LimitSet::builder()
        .limit(LimitRule::keyed("user", quota).clients(keys))
        .limit(LimitRule::keyed("tenant", quota).clients(keys))
        .reservations(keys);
    let nodes = (0..100).map(|id| Node::new(id, format!("node {id}")));
    vec![
        subject(
            "dedup",
            2 * n,
            Dedup::builder(window).capacity(keys).seed(seed).build().expect("valid"),
            |dedup, i| {
                let _ = black_box(dedup.observe_at(i, Tick(i)));
            },
            Dedup::stats,
        ),
        filter("bloom, 1 %", bloom().error(0.01)),
        filter("bloom, 0.1 %", bloom().error(0.001)),
        filter("bloom, 64 panes", bloom().error(0.01).panes(64)),
        filter("bloom, arrays", bloom().error(0.01).layout(Layout::SeededArrays)),
        filter("bloom, 1024", bloom().error(0.01).panes(1024).layout(Layout::SeededArrays)),
        subject(
            "limiter",
            2 * n,
            KeyedLimiter::builder(quota).clients(keys).seed(seed).build().expect("valid"),
            move |limiter, i| {
                black_box(limiter.check_at(i % n, 1, Tick(i * 1000)));
            },
            KeyedLimiter::stats,
        ),
        subject(
            "limit set",
            n,
            set.seed(seed).build().expect("valid"),
            move |set, i| {
                let _ = black_box(set.check_at(&[i % n, i % 1000], 1, Tick(i * 1000)));
            },
            LimitSet::stats,
        ),
        subject(
            "counter",
            2 * n,
            WindowedCounter::builder(window, pane).capacity(keys).seed(seed).build().expect("valid"),
            |counter, i| {
                black_box(counter.add_at(i, 1, Tick(i)));
            },
            WindowedCounter::stats,
        ),
        subject(
            "total",
            n,
            WindowedTotal::builder(window, pane).build().expect("valid"),
            |total, i| {
                black_box(total.add_at(1, Tick(i)));
            },
            WindowedTotal::stats,
        ),
        subject(
            "top-K",
            2 * n,
            TopK::builder(window, pane, 100).capacity(keys).seed(seed).build().expect("valid"),
            |top, i| {
                black_box(top.add_at(i, 1, Tick(i)));
            },
            TopK::stats,
        ),
        subject(
            "top-K, bounded",
            2 * n,
            BoundedTopK::builder(window, pane, 100).memory(64 * n).seed(seed).build().expect("valid"),
            |top, i| {
                black_box(top.add_at(i, 1, Tick(i)));
            },
            BoundedTopK::stats,
        ),
        subject(
            "queue",
            2 * n,
            FifoIndex::builder().capacity(keys).seed(seed).build::<u64>().expect("valid"),
            move |queue, i| {
                let _ = black_box(queue.push_at(i, i, Tick(i)));
                if i >= n / 2 {
                    drop(black_box(queue.pop()));
                }
            },
            FifoIndex::stats,
        ),
        subject(
            "ring, 100 nodes",
            0,
            HashRing::builder().nodes(nodes).build().expect("valid"),
            |ring, i| {
                black_box(ring.route(i));
            },
            HashRing::stats,
        ),
    ]
}

fn main() {
    let as_a_test = !env::args().any(|argument| argument == "--bench");
    let quick = as_a_test || env::var_os("WINDLASS_BENCH_QUICK").is_some_and(|value| value != "0");
    let (n, rounds) = if quick { (20_000, 5) } else { (1_000_000, 51) };
    println!("{}\n{n} keys in the window", support::host::describe());
    println!("{:16} {:>12} {:>12}", "", "stats()", "of a second");
    let elsewhere = vec![1_u64; if quick { 1 << 17 } else { 1 << 24 }];
    let mut within = true;
    for subject in subjects(n) {
        (0..subject.events).for_each(&subject.call);
        let cost = median(rounds, || {
            black_box(elsewhere.iter().step_by(8).sum::<u64>());
            let begun = Instant::now();
            (subject.look)();
            begun.elapsed()
        });
        let share = cost.as_secs_f64();
        within &= share < AT_MOST;
        println!("{:16} {:>9.1} us {:>10.4} %", subject.name, 1e6 * share, 100.0 * share);
    }
    println!("{} less than {} % of a second each", if within { "PASS" } else { "FAIL" }, 100.0 * AT_MOST);
}

fn median(rounds: usize, look: impl Fn() -> Duration) -> Duration {
    let mut all: Vec<Duration> = (0..rounds).map(|_| look()).collect();
    all.sort_unstable();
    all[rounds / 2]
}

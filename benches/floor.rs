//! How near is each call to what the machine allows?
//!
//! ```text
//! cargo bench --bench floor
//! cargo bench --bench floor -- Dedup TopK               of these
//! WINDLASS_BENCH_QUICK=1 cargo bench --bench floor      small, in seconds
//! ```
//!
//! A call cannot be faster than what it has to do to memory: read a line, add to a word, exchange 16 bytes. That alone, for as many random keys in as many
//! bytes, is the floor; beside it the structure's own call, in turn with it. Single calls beside single touches, which the processor is free to overlap, and
//! batches beside touches whose lines have been asked for. Every answer is checked.

#![allow(clippy::expect_used, clippy::panic)] // a benchmark whose answers are wrong ends there

mod support {
    pub(crate) mod host;
    #[allow(dead_code, reason = "bloom.rs takes the rest")]
    pub(crate) mod lines;
    #[allow(dead_code, reason = "others take the rest")]
    pub(crate) mod mix;
}

use std::{
    env,
    hint::black_box,
    ops::Range,
    sync::{
        Barrier,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use support::{
    lines::{Lines, Touch, touch},
    mix::{below, mix},
};
use windlass::{
    Added, Admission, BoundedTopK, Dedup, FifoIndex, HashRing, KeyedLimiter, Node, Quota, Refused,
    RotatingBloom, Seed, Tick, TopK, Verdict, Window, WindowedCounter,
};

/// Events of a batch.
const BATCH: usize = 512;

/// A structure in use. Both calls say how many answers were as they should be.
struct Subject {
    name: &'static str,
    /// What it must do for a call.
    touch: Touch,
    bytes: u64,
    single: Box<Calls>,
    batch: Box<Calls>,
}

/// Makes calls with keys.
type Calls = dyn Fn(&[u64]) -> usize + Sync;

/// Counts what it is extended by.
struct Right<F>(usize, F);

impl<T, F: Fn(T) -> bool> Extend<T> for Right<F> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, answers: I) {
        self.0 += answers.into_iter().filter_map(|answer| (self.1)(answer).then_some(())).count();
    }
}

fn is_fresh(verdict: Result<Verdict, Refused>) -> bool {
    verdict.is_ok_and(Verdict::is_fresh)
}

/// The next ids of all threads, as many as there are keys, a batch's at a time.
fn new_ids<'a>(keys: &'a [u64], next: &'a AtomicU64) -> impl Iterator<Item = Range<u64>> + 'a {
    keys.chunks(BATCH).map(|keys| {
        let n = keys.len() as u64;
        let first = next.fetch_add(n, Relaxed);
        first..first + n
    })
}

fn dedups(n: u64) -> [Subject; 2] {
    let keys = usize::try_from(n).expect("small");
    let build = || -> &'static Dedup {
        let dedup = Dedup::builder(Window::last_n(n)).capacity(keys).seed(Seed(1)).build().expect("valid");
        for i in 0..n {
            assert!(is_fresh(dedup.observe_at(i, Tick(i))), "a new id");
        }
        Box::leak(Box::new(dedup))
    };
    let known = build();
    let is_known = |verdict: Result<Verdict, Refused>| verdict.is_ok_and(|verdict| !verdict.is_fresh());
    let repeats = Subject {
        name: "Dedup, a duplicate",
        touch: Touch::Read,
        bytes: known.memory_bytes(),
        single: Box::new(move |keys| {
            keys.iter().filter(|key| is_known(known.observe_at(**key, Tick(n - 1)))).count()
        }),
        batch: Box::new(move |keys| {
            let mut right = Right(0, is_known);
            for keys in keys.chunks(BATCH) {
                known.observe_each(keys.len(), |i| (keys[i], Tick(n - 1)), &mut right);
            }
            right.0
        }),
    };
    let (fresh, next): (_, &'static AtomicU64) = (build(), Box::leak(Box::new(AtomicU64::new(n))));
    let new = Subject {
        name: "Dedup, a new id",
        touch: Touch::Exchange,
        bytes: fresh.memory_bytes(),
        single: Box::new(move |keys| {
            new_ids(keys, next).flatten().filter(|&id| is_fresh(fresh.observe_at(id, Tick(id)))).count()
        }),
        batch: Box::new(move |keys| {
            let mut right = Right(0, is_fresh);
            for ids in new_ids(keys, next) {
                let first = ids.start;
                let id = |i: usize| (first + i as u64, Tick(first + i as u64));
                fresh.observe_each(ids.count(), id, &mut right);
            }
            right.0
        }),
    };
    [repeats, new]
}

/// Questions to a full window, and new ids.
fn filters(n: u64) -> [Subject; 2] {
    let build = || -> &'static RotatingBloom {
        let filter = RotatingBloom::builder(Window::last_n(n)).error(0.01).seed(Seed(1));
        let filter = filter.build().expect("valid");
        for i in 0..n {
            filter.insert_at(i, Tick(i));
        }
        Box::leak(Box::new(filter))
    };
    let known = build();
    let (fresh, next): (_, &'static AtomicU64) = (build(), Box::leak(Box::new(AtomicU64::new(n))));
    let repeats = Subject {
        name: "RotatingBloom, a duplicate",
        touch: Touch::Read,
        bytes: known.memory_bytes(),
        single: Box::new(move |keys| keys.iter().filter(|key| known.insert_at(**key, Tick(n - 1))).count()),
        batch: Box::new(move |keys| {
            let mut right = Right(0, |verdict: Verdict| !verdict.is_fresh());
            for keys in keys.chunks(BATCH) {
                known.observe_each(keys.len(), |i| (keys[i], Tick(n - 1)), &mut right);
            }
            right.0
        }),
    };
    // One in a hundred is taken for seen; more where two threads turn the panes of a small window faster than they can be cleared.
    let but_for_errors = |fresh: usize, of: usize| if 2 * fresh >= of { of } else { fresh };
    let new = Subject {
        name: "RotatingBloom, a new id",
        touch: Touch::Add,
        bytes: fresh.memory_bytes(),
        single: Box::new(move |keys| {
            let right = new_ids(keys, next).flatten().filter(|&id| !fresh.insert_at(id, Tick(id))).count();
            but_for_errors(right, keys.len())
        }),
        batch: Box::new(move |keys| {
            let mut right = Right(0, Verdict::is_fresh);
            for ids in new_ids(keys, next) {
                let first = ids.start;
                let id = |i: usize| (first + i as u64, Tick(first + i as u64));
                fresh.observe_each(ids.count(), id, &mut right);
            }
            but_for_errors(right.0, keys.len())
        }),
    };
    [repeats, new]
}

/// All within their limits, and all beyond.
fn limiters(n: u64) -> [Subject; 2] {
    [
        ("KeyedLimiter, allowed", 1 << 40, Touch::Exchange, true),
        ("KeyedLimiter, denied", 1, Touch::Read, false),
    ]
    .map(|(name, permits, touch, allows)| {
        let quota = Quota::new(permits, Duration::from_secs(1 << 20));
        let clients = usize::try_from(n).expect("small");
        let limiter = KeyedLimiter::builder(quota).clients(clients).seed(Seed(1)).build().expect("valid");
        for key in 0..n {
            assert!(limiter.check_at(key, 1, Tick(1)).is_allowed(), "the first call");
        }
        let limiter: &'static KeyedLimiter = Box::leak(Box::new(limiter));
        let is_right = move |admission: Admission| admission.is_allowed() == allows;
        Subject {
            name,
            touch,
            bytes: limiter.memory_bytes(),
            single: Box::new(move |keys| {
                keys.iter().filter(|key| is_right(limiter.check_at(**key, 1, Tick(1)))).count()
            }),
            batch: Box::new(move |keys| {
                let mut right = Right(0, is_right);
                for keys in keys.chunks(BATCH) {
                    limiter.check_each(keys.len(), |i| (keys[i], 1, Tick(1)), &mut right);
                }
                right.0
            }),
        }
    })
}

/// A structure that counts keys that it knows.
macro_rules! counts {
    ($name:literal, $touch:expr, $n:expr, $built:expr) => {{
        let counts = Box::leak(Box::new($built.expect("valid")));
        for key in 0..$n {
            assert_eq!(counts.add_at(key, 1, Tick(1)), Added::Counted, "there is room");
        }
        let counts = &*counts;
        Subject {
            name: $name,
            touch: $touch,
            bytes: counts.memory_bytes(),
            single: Box::new(move |keys| {
                keys.iter().filter(|key| counts.add_at(**key, 1, Tick(1)) == Added::Counted).count()
            }),
            batch: Box::new(move |keys| {
                let all = keys.chunks(BATCH);
                all.map(|keys| counts.add_each(keys.len(), |i| (keys[i], 1, Tick(1))).counted as usize).sum()
            }),
        }
    }};
}

#[allow(clippy::cast_possible_truncation)] // counts of a batch
fn counters(n: u64) -> [Subject; 3] {
    let (keys, window, pane) =
        (usize::try_from(n).expect("small"), Window::last_n(6 << 32), Window::last_n(1 << 32));
    let counter = WindowedCounter::builder(window, pane).capacity(keys).seed(Seed(1)).build();
    let top = TopK::builder(window, pane, 100).capacity(keys).seed(Seed(1)).build();
    let bounded = BoundedTopK::builder(window, pane, 100).memory((40 * n).max(1 << 18)).seed(Seed(1)).build();
    [
        counts!("WindowedCounter, add", Touch::Add, n, counter),
        counts!("TopK, add", Touch::Add, n, top),
        counts!("BoundedTopK, add", Touch::Exchange, n, bounded),
    ]
}

fn queue(n: u64) -> Subject {
    let queue = FifoIndex::builder().capacity(usize::try_from(n).expect("small")).seed(Seed(1));
    let queue = Box::leak(Box::new(queue.build().expect("valid")));
    for key in 0..n {
        assert!(queue.push_at(key, (), Tick(0)).is_ok(), "there is room");
    }
    let queue: &'static FifoIndex<()> = queue;
    Subject {
        name: "FifoIndex, rank",
        touch: Touch::ReadTwo,
        bytes: queue.memory_bytes(),
        single: Box::new(move |keys| keys.iter().filter(|key| queue.rank(**key) == Some(**key)).count()),
        batch: Box::new(move |keys| {
            let (mut ranks, mut right) = (Vec::with_capacity(BATCH), 0);
            for keys in keys.chunks(BATCH) {
                queue.rank_batch(keys, &mut ranks);
                right += keys.iter().zip(&ranks).filter(|(key, rank)| **rank == Some(**key)).count();
            }
            right
        }),
    }
}

fn ring(nodes: u32) -> Subject {
    let all = (0..nodes).map(|id| Node::new(id, format!("node {id}")));
    let ring = HashRing::builder().nodes(all).build().expect("valid");
    let ring: &'static HashRing = Box::leak(Box::new(ring));
    let is_right = move |owner: u32| owner < nodes;
    Subject {
        name: "HashRing, route",
        touch: Touch::ReadTwo,
        bytes: ring.placement().memory_bytes(),
        single: Box::new(move |keys| {
            keys.iter().filter(|key| ring.route(**key).is_some_and(is_right)).count()
        }),
        batch: Box::new(move |keys| {
            let (mut owners, mut right) = (Vec::with_capacity(BATCH), 0);
            for keys in keys.chunks(BATCH) {
                ring.route_batch(keys, &mut owners);
                right += owners.iter().filter(|owner| is_right(**owner)).count();
            }
            right
        }),
    }
}

/// Calls a second by all threads, each of which makes all calls of its keys.
fn rate(keys: &[Vec<u64>], call: &(dyn Fn(&[u64]) + Sync)) -> f64 {
    let ready = Barrier::new(keys.len());
    let spans: Vec<(Instant, Instant)> = thread::scope(|scope| {
        let start = |keys| {
            let ready = &ready;
            scope.spawn(move || {
                ready.wait();
                let begun = Instant::now();
                call(keys);
                (begun, Instant::now())
            })
        };
        let threads: Vec<_> = keys.iter().map(|keys| start(keys)).collect();
        threads.into_iter().map(|thread| thread.join().expect("answers are right")).collect()
    });
    let begun = spans.iter().map(|span| span.0).min().expect("a thread");
    let ended = spans.iter().map(|span| span.1).max().expect("a thread");
    keys.iter().map(Vec::len).sum::<usize>() as f64 / (ended - begun).as_secs_f64()
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    let as_a_test = !env::args().any(|argument| argument == "--bench");
    let only: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let quick = as_a_test || env::var_os("WINDLASS_BENCH_QUICK").is_some_and(|value| value != "0");
    let (sizes, calls, rounds) =
        if quick { (vec![10_000], 10_000, 1) } else { (vec![10_000, 4_000_000], 1 << 20, 7) };
    println!("{}", support::host::describe());
    println!("million calls a second; in brackets the share of what the machine allows; medians of {rounds}");
    for n in sizes {
        println!("\n{n} keys (a ring of {} nodes)", n / 1000);
        println!(
            "{:28}{:26}{:>9}{:>17}{:>17}{:>17}{:>17}",
            "", "at least", "MB", "single, 1t", "2t", "batches, 1t", "2t"
        );
        let subjects = dedups(n)
            .into_iter()
            .chain(filters(n))
            .chain(limiters(n))
            .chain(counters(n))
            .chain([queue(n), ring(u32::try_from(n / 1000).expect("small"))]);
        let is_asked =
            |subject: &Subject| only.is_empty() || only.iter().any(|name| subject.name.contains(name));
        for subject in subjects.filter(is_asked) {
            let lines = Lines::of_bytes(subject.bytes);
            print!("{:28}{:26}{:>9.1}", subject.name, subject.touch.word(), subject.bytes as f64 / 1e6);
            for batches in [false, true] {
                for threads in [1, 2] {
                    let keys: Vec<Vec<u64>> = (0..threads)
                        .map(|thread| (0..calls).map(|i| below(mix(thread << 40 | i), n)).collect())
                        .collect();
                    let own = if batches { &subject.batch } else { &subject.single };
                    let call = |keys: &[u64]| assert_eq!(own(keys), keys.len(), "{}", subject.name);
                    let floor = |keys: &[u64]| {
                        black_box(touch(&lines, subject.touch, keys, batches));
                    };
                    let (mut ours, mut floors) = (Vec::new(), Vec::new());
                    // The first round warms up.
                    for round in 0..=rounds {
                        let (own, floor) = (rate(&keys, &call), rate(&keys, &floor));
                        if round > 0 {
                            ours.push(own);
                            floors.push(floor);
                        }
                    }
                    let (own, floor) = (median(ours), median(floors));
                    print!("{:>17}", format!("{:.1} ({:.2})", own / 1e6, own / floor));
                }
            }
            println!();
        }
    }
}

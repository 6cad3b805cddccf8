//! Many threads are granted together what one would be.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use crate::common::{Random, Together, algorithms::ALGORITHMS};
use std::{
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};
use windlass::{Admission, Algorithm, KeyedLimiter, KeyedLimiterBuilder, Limiter, Quota, Seed, Tick};

const THREADS: usize = 4;
const SECOND: u64 = 1_000_000_000;

/// Runs all threads to their ends; `run` is told which it is.
fn threads<R: Send>(run: impl Fn(usize) -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let run = &run;
        let all: Vec<_> = (0..THREADS).map(|i| scope.spawn(move || run(i))).collect();
        all.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

fn limiter(algorithm: Algorithm, quota: Quota) -> Limiter {
    Limiter::builder(quota).algorithm(algorithm).build().expect("valid")
}

fn keyed(algorithm: Algorithm, quota: Quota) -> KeyedLimiterBuilder {
    KeyedLimiter::builder(quota).algorithm(algorithm).clients(1000).seed(Seed(7))
}

fn granted(admissions: impl IntoIterator<Item = Admission>) -> u64 {
    admissions.into_iter().filter(Admission::is_allowed).count() as u64
}

/// Calls of each thread, at each of the ticks, in lockstep: what is granted at each.
fn rounds(ticks: &[u64], check: impl Fn(Tick) -> u64 + Sync) -> Vec<u64> {
    let together = Together::new(THREADS);
    let each = threads(|_| {
        let round = |&tick: &u64| {
            together.wait();
            check(Tick(tick))
        };
        ticks.iter().map(round).collect::<Vec<u64>>()
    });
    (0..ticks.len()).map(|round| each.iter().map(|granted| granted[round]).sum()).collect()
}

/// Forward for the most part; by quarters of a window, and by odd parts of it.
fn ticks() -> Vec<u64> {
    let (mut random, mut now) = (Random(7), 5 * SECOND);
    (0..60)
        .map(|_| {
            now = match random.below(6) {
                0 => now,
                1 => now - random.below(SECOND / 10),
                2 => now + SECOND / 4,
                _ => now + random.below(SECOND / 2),
            };
            now
        })
        .collect()
}

const CALLS: u64 = 300;

/// At every tick, and as time moves: by one limiter, by a client of many, singly and in batches.
#[test]
fn as_one_would_be() {
    let (quota, ticks) = (Quota::new(500, Duration::from_secs(1)), ticks());
    for algorithm in ALGORITHMS {
        let alone = limiter(algorithm, quota);
        let all = THREADS as u64 * CALLS;
        let expected: Vec<u64> =
            ticks.iter().map(|&tick| granted((0..all).map(|_| alone.check_at(1, Tick(tick))))).collect();
        assert_eq!(expected[0], 500);
        let one = limiter(algorithm, quota);
        let total = rounds(&ticks, |now| granted((0..CALLS).map(|_| one.check_at(1, now))));
        assert_eq!(total, expected, "{algorithm:?}");
        let many = || keyed(algorithm, quota).lateness(Duration::from_secs(60)).build().expect("valid");
        let limiter = many();
        let total = rounds(&ticks, |now| granted((0..CALLS).map(|_| limiter.check_at("client", 1, now))));
        assert_eq!(total, expected, "{algorithm:?}, keyed");
        let limiter = many();
        let total = rounds(&ticks, |now| {
            let mut admissions = Vec::new();
            let batches = [1, 99, 200].map(|n| {
                limiter.check_batch_at(&vec!["client"; n], now, &mut admissions);
                granted(admissions.iter().copied())
            });
            batches.iter().sum()
        });
        assert_eq!(total, expected, "{algorithm:?}, in batches");
    }
}

/// Of any cost: no more than there is, and what is left is what nobody got.
#[test]
fn any_cost() {
    let quota = Quota::new(10_000, Duration::from_secs(60));
    for algorithm in [Algorithm::Gcra, Algorithm::LeakyQueue, Algorithm::FixedWindow, Algorithm::SlidingLog] {
        let one = limiter(algorithm, quota);
        let many = keyed(algorithm, quota).build().expect("valid");
        let now = Tick(SECOND);
        let taken = threads(|thread| {
            let (mut random, mut taken) = (Random(thread as u64), [0, 0]);
            for _ in 0..500 {
                let cost = 1 + random.below(20);
                taken[0] += if one.check_at(cost, now).is_allowed() { cost } else { 0 };
                taken[1] += if many.check_at("client", cost, now).is_allowed() { cost } else { 0 };
            }
            taken
        });
        for (i, left) in [one.check_at(0, now), many.check_at("client", 0, now)].into_iter().enumerate() {
            let Admission::Allowed { remaining, .. } = left else { panic!("{left:?}") };
            assert_eq!(taken.iter().map(|taken| taken[i]).sum::<u64>(), 10_000 - remaining, "{algorithm:?}");
            assert!(remaining < 20, "{algorithm:?}: {remaining} left");
        }
    }
}

/// Each of many clients gets what it is due, no more and no less, while the table grows and shrinks around them.
#[test]
fn while_the_table_grows() {
    const CLIENTS: u64 = 5000;
    for algorithm in ALGORITHMS.into_iter().filter(|&algorithm| algorithm != Algorithm::SlidingLog) {
        let limiter = keyed(algorithm, Quota::new(3, Duration::from_secs(60)));
        let limiter = limiter.clients(10).max_memory(64 << 20).build().expect("valid");
        let together = Together::new(THREADS);
        for round in 1..4 {
            // All are fresh again, by any of the algorithms.
            let now = Tick(round * 600 * SECOND);
            let each = threads(|thread| {
                let mut clients: Vec<u64> = (0..CLIENTS).flat_map(|client| [client, client]).collect();
                Random(thread as u64 + round).shuffle(&mut clients);
                together.wait();
                let mut got = vec![0_u64; usize::try_from(CLIENTS).expect("few")];
                let mut admissions = Vec::new();
                for part in clients.chunks(100) {
                    if thread % 2 == 0 {
                        limiter.check_batch_at(part, now, &mut admissions);
                    } else {
                        admissions.clear();
                        admissions.extend(part.iter().map(|&client| limiter.check_at(client, 1, now)));
                    }
                    for (&client, admission) in part.iter().zip(&admissions) {
                        got[usize::try_from(client).expect("few")] += u64::from(admission.is_allowed());
                    }
                }
                got
            });
            for client in 0..usize::try_from(CLIENTS).expect("few") {
                let got: u64 = each.iter().map(|got| got[client]).sum();
                assert_eq!(got, 3, "{algorithm:?}: client {client} in round {round}");
            }
            // Between the rounds most go.
            for _ in 0..50 {
                limiter.maintain_at(Tick(now.0 + 300 * SECOND), usize::MAX);
                thread::yield_now();
            }
        }
        let stats = limiter.stats();
        assert!(stats.grown > 0, "{stats:?}");
        assert_eq!((stats.unknown, stats.jumps), (0, 0));
    }
}

/// Whoever is forgotten gets all once more: so no more than that is granted, and no less than all once.
#[test]
fn forgotten_in_between() {
    const PERMITS: u64 = 50;
    for algorithm in ALGORITHMS {
        let quota = Quota::new(PERMITS, Duration::from_secs(60));
        let one = limiter(algorithm, quota);
        let many = keyed(algorithm, quota).build().expect("valid");
        let forgotten = [AtomicU64::new(0), AtomicU64::new(0)];
        let now = Tick(SECOND);
        let got = threads(|thread| {
            let mut got = [0_u64, 0];
            for i in 0..2000 {
                if thread == 0 && i % 100 == 50 {
                    forgotten[0].fetch_add(one.forget_at(now).into(), SeqCst);
                    forgotten[1].fetch_add(many.forget_at("client", now).into(), SeqCst);
                }
                got[0] += u64::from(one.check_at(1, now).is_allowed());
                got[1] += u64::from(many.check_at("client", 1, now).is_allowed());
            }
            got
        });
        let left = [one.check_at(0, now), many.check_at("client", 0, now)];
        for (i, left) in left.into_iter().enumerate() {
            let Admission::Allowed { remaining, .. } = left else { panic!("{left:?}") };
            let (times, total) = (forgotten[i].load(SeqCst), got.iter().map(|got| got[i]).sum::<u64>());
            assert!(times > 0, "{algorithm:?}");
            let what = format!("{algorithm:?}: {total} granted, {times} times forgotten, {remaining} left");
            assert!(total + remaining <= PERMITS * (times + 1), "{what}");
            assert!(total + remaining >= PERMITS, "{what}");
        }
    }
}

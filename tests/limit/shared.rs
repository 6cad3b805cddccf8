//! Clients for which there is no room, and which share cells.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use crate::common::Together;
use std::{collections::HashMap, thread, time::Duration};
use windlass::{
    Admission, Algorithm, KeyedLimiter, KeyedLimiterBuilder, LimitRule, LimitSet, OnUnknown, Quota, Seed,
    Tick,
};

const NOW: Tick = Tick(1_000_000_000_000);

/// A small table, full of clients that are known for long.
fn full(algorithm: Algorithm, cells: usize) -> KeyedLimiter {
    let limiter = builder(algorithm, OnUnknown::Share(cells)).build().expect("valid");
    // Those that come first are known; 20,000 fill any table of one.
    for key in 0..20_000_u64 {
        limiter.check_at(1_000_000 + key, 1, NOW);
    }
    assert!(limiter.stats().unknown > 15_000);
    limiter
}

fn builder(algorithm: Algorithm, on_unknown: OnUnknown) -> KeyedLimiterBuilder {
    let quota = Quota::new(10, Duration::from_secs(60));
    KeyedLimiter::builder(quota).algorithm(algorithm).clients(1).seed(Seed(7)).on_unknown(on_unknown)
}

const ALGORITHMS: [Algorithm; 5] = [
    Algorithm::Gcra,
    Algorithm::TokenBucket,
    Algorithm::LeakyQueue,
    Algorithm::FixedWindow,
    Algorithm::SlidingCounter,
];

/// Nobody gets more than its quota, and all that share a cell together no more than one.
#[test]
fn never_more_than_the_limit() {
    for algorithm in ALGORITHMS {
        for cells in [1, 4096, 1 << 16] {
            let limiter = full(algorithm, cells);
            let soon = Tick(NOW.0 + 1_000_000_000);
            let (mut granted, unknown) = (HashMap::new(), limiter.stats().unknown);
            for call in 0..2000_u64 {
                let client = call % 50;
                let answer = limiter.check_at(client, 1, soon);
                *granted.entry(client).or_insert(0) += u64::from(answer.is_allowed());
            }
            assert_eq!(limiter.stats().unknown, unknown + 2000, "{algorithm:?}");
            assert!(granted.values().all(|&granted| granted <= 10), "{algorithm:?}: {granted:?}");
            let all: u64 = granted.values().sum();
            let of_all = match cells {
                // Those of before have taken it.
                1 => 0..=0,
                // Some 5 of 10 each.
                4096 => 100..=400,
                // Three quarters have a cell of their own.
                _ => 450..=500,
            };
            assert!(of_all.contains(&all), "{algorithm:?}: {all} of {cells}");
        }
    }
}

/// In batches it is the same.
#[test]
fn in_batches() {
    let (single, batch) = (full(Algorithm::Gcra, 100), full(Algorithm::Gcra, 100));
    let keys: Vec<u64> = (0..500).map(|call| call % 40).collect();
    let later = Tick(NOW.0 + 60_000_000_000);
    let singly: Vec<Admission> = keys.iter().map(|&key| single.check_at(key, 1, later)).collect();
    let mut together = Vec::new();
    batch.check_batch_at(&keys, later, &mut together);
    assert_eq!(singly, together);
}

/// Threads together get what one would.
#[test]
fn by_threads() {
    let limiter = full(Algorithm::Gcra, 1 << 16);
    let (later, together) = (Tick(NOW.0 + 1_000_000), Together::new(3));
    let before = limiter.stats().unknown;
    let granted: u64 = (0..20_u64)
        .map(|client| {
            let calls = || {
                together.wait();
                (0..100).filter(|_| limiter.check_at(client, 1, later).is_allowed()).count() as u64
            };
            let granted: u64 = thread::scope(|scope| {
                let threads: Vec<_> = (0..3).map(|_| scope.spawn(calls)).collect();
                threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
            });
            assert!(granted <= 10, "{client}: {granted}");
            granted
        })
        .sum();
    // But for what others had taken of their cells.
    assert!(granted >= 180, "{granted}");
    assert_eq!(limiter.stats().unknown, before + 20 * 300);
}

#[test]
fn settings() {
    for (algorithm, cells) in
        [(Algorithm::Gcra, 0), (Algorithm::Gcra, usize::MAX), (Algorithm::SlidingLog, 10)]
    {
        let error = builder(algorithm, OnUnknown::Share(cells)).build().expect_err("refused");
        assert_eq!(error.field, "on_unknown");
    }
    let rule = LimitRule::keyed("a", Quota::new(1, Duration::from_secs(1)))
        .clients(1)
        .on_unknown(OnUnknown::Share(10));
    assert_eq!(LimitSet::builder().limit(rule).build().expect_err("refused").field, "on_unknown");
    let with = builder(Algorithm::Gcra, OnUnknown::Share(1000));
    let bytes = with.memory_bytes().expect("valid");
    assert_eq!(bytes, builder(Algorithm::Gcra, OnUnknown::Deny).memory_bytes().expect("valid") + 8000);
    assert_eq!(with.build().expect("valid").memory_bytes(), bytes);
}

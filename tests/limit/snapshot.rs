//! Written, and restored.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute
#![allow(clippy::cast_possible_truncation)] // indices

use crate::common::{
    self, Random, Running, Together,
    algorithms::ALGORITHMS,
    snapshot::{Parts, golden},
};
use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};
use windlass::{
    Admission, Algorithm, Inherit, KeyedLimiter, KeyedLimiterBuilder, Limiter, LimiterBuilder, OnUnknown,
    Quota, RestoreError, Seed, Tick,
};

const WALL: Duration = Duration::from_secs(1_700_000_000);
const SECOND: u64 = 1_000_000_000;

fn written(limiter: &KeyedLimiter, now: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    limiter.snapshot_at(&mut bytes, Tick(now), WALL).expect("memory");
    bytes
}

fn restored(builder: &KeyedLimiterBuilder, bytes: &[u8]) -> KeyedLimiter {
    builder.clone().restore(bytes, WALL).unwrap_or_else(|error| panic!("{error}")).structure
}

fn refused(builder: &KeyedLimiterBuilder, bytes: &[u8]) -> RestoreError {
    builder.clone().restore(bytes, WALL).expect_err("refused")
}

fn written_one(limiter: &Limiter, now: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    limiter.snapshot_at(&mut bytes, Tick(now), WALL).expect("memory");
    bytes
}

fn restored_one(builder: &LimiterBuilder, bytes: &[u8]) -> Limiter {
    builder.clone().restore(bytes, WALL).unwrap_or_else(|error| panic!("{error}")).structure
}

fn remaining(limiter: &Limiter, now: Tick) -> u64 {
    let Admission::Allowed { remaining, .. } = limiter.peek_at(0, now) else { panic!("of cost 0") };
    remaining
}

fn of(algorithm: Algorithm, quota: Quota) -> KeyedLimiterBuilder {
    KeyedLimiter::builder(quota).algorithm(algorithm).clients(1000).seed(Seed(7))
}

fn per_minute(permits: u64) -> Quota {
    Quota::new(permits, Duration::from_secs(60))
}

/// The rest of a real stream is judged by the restored one as by the first, wherever it is cut; and so is each client's by its own.
fn the_rest(file: &str, view: &str, quota: Quota) {
    let Some(data) = common::data() else { return };
    let events = common::streams::read(&data, file, view);
    let stream: Vec<(Tick, &str)> = common::streams::ordered_by(&events, "raw", |event| &event.client)
        .into_iter()
        .map(|(ms, client)| (Tick::from_millis(ms).expect("in range"), client))
        .collect();
    for algorithm in ALGORITHMS {
        let builder = of(algorithm, quota).clients(20_000).lateness(Duration::from_secs(60));
        let one = Limiter::builder(Quota::new(quota.permits() * 20, quota.per())).algorithm(algorithm);
        let (whole, mut other) =
            (builder.clone().build().expect("valid"), builder.clone().build().expect("valid"));
        let (sole, mut other_sole) =
            (one.clone().build().expect("valid"), one.clone().build().expect("valid"));
        let (mut denied, mut restarts) = ([0, 0], 0);
        for (i, &(now, client)) in stream.iter().enumerate() {
            let expected = whole.check_at(client, 1, now);
            assert_eq!(other.check_at(client, 1, now), expected, "{view}, {algorithm:?}: event {i}");
            let expected_of_one = sole.check_at(1, now);
            assert_eq!(other_sole.check_at(1, now), expected_of_one, "{view}, {algorithm:?}: event {i}");
            denied[0] += u32::from(!expected.is_allowed());
            denied[1] += u32::from(!expected_of_one.is_allowed());
            if i % (stream.len() / 7) == 1000 {
                other = restored(&builder, &written(&other, 0));
                other_sole = restored_one(&one, &written_one(&other_sole, 0));
                restarts += 1;
            }
        }
        assert!(denied[0] > 0 && restarts >= 6, "{algorithm:?}: {denied:?}, {restarts} restarts");
    }
}

#[test]
fn the_rest_of_nasa() {
    the_rest("nasa-http-1995-08-01-0000-0959.tsv", "nasa", per_minute(3));
}

#[test]
fn the_rest_of_zeek() {
    the_rest("zeek-dns-171520-172114.jsonl", "zeek-dns-arrival", Quota::new(5, Duration::from_secs(10)));
}

/// A call to both; and quotas that change for both.
struct Twins {
    builder: KeyedLimiterBuilder,
    whole: KeyedLimiter,
    other: KeyedLimiter,
}

impl Twins {
    fn new(builder: KeyedLimiterBuilder) -> Twins {
        let build = || builder.clone().build().expect("valid");
        Twins { whole: build(), other: build(), builder }
    }

    fn restart(&mut self) {
        self.other = restored(&self.builder, &written(&self.other, 0));
    }

    fn check(&self, client: u64, cost: u64, now: u64) -> Admission {
        let answer = self.whole.check_at(client, cost, Tick(now));
        assert_eq!(self.other.check_at(client, cost, Tick(now)), answer, "{client} at {now}");
        answer
    }

    fn both<R: PartialEq + std::fmt::Debug>(&self, call: impl Fn(&KeyedLimiter) -> R) -> R {
        let answer = call(&self.whole);
        assert_eq!(call(&self.other), answer);
        answer
    }
}

/// All that can happen to a limiter, with restarts between, against one that is never restarted.
#[test]
fn restarts_change_nothing() {
    let mut seen = HashMap::new();
    for (algorithm, seed) in ALGORITHMS.into_iter().flat_map(|algorithm| [(algorithm, 1), (algorithm, 2)]) {
        let mut random = Random(seed);
        // (Of windows the time stays; of logs it gets no longer, and there are no more.)
        let log = algorithm == Algorithm::SlidingLog;
        let mut twins = Twins::new(of(algorithm, per_minute(20)).lateness(Duration::from_secs(5)));
        let mut now = 1_000_000 * SECOND;
        for _ in 0..4000 {
            now += random.below(3 * SECOND);
            let client = random.below(30);
            let quota = per_minute(1 + random.below(if log { 20 } else { 60 }));
            let inherit =
                if random.below(2) == 0 && matches!(algorithm, Algorithm::Gcra | Algorithm::TokenBucket) {
                    Inherit::Proportional
                } else {
                    Inherit::AsIs
                };
            let what = match random.below(60) {
                0 => twins.both(|limiter| limiter.set_quota_at(quota, inherit, Tick(now)).is_ok()),
                1 => twins.both(|limiter| {
                    limiter.set_quota_for_at(client, quota, Inherit::AsIs, Tick(now)).is_ok()
                }),
                2 => twins.both(|limiter| limiter.clear_quota_for_at(client, Inherit::AsIs, Tick(now))),
                3..6 => twins.both(|limiter| limiter.forget_at(client, Tick(now))),
                6 => {
                    twins.restart();
                    assert_eq!(twins.both(|limiter| limiter.quota()), twins.whole.quota());
                    assert_eq!(twins.other.stats().overrides, twins.whole.stats().overrides);
                    true
                }
                // Late, at times.
                _ => {
                    let late = random.below(4 * SECOND) * u64::from(random.below(4) == 0);
                    twins.check(client, 1 + random.below(3), now - late).is_allowed()
                }
            };
            *seen.entry((algorithm, what)).or_insert(0) += 1;
        }
        for client in 0..30 {
            twins.both(|limiter| limiter.quota_for(client));
            twins.check(client, 0, now);
        }
    }
    assert!(seen.len() == 12 && seen.values().all(|&n| n > 100), "{seen:?}");
}

/// The time that passes between is the system's; nothing is stamped anew.
#[test]
fn what_was_taken_is_as_long_ago_as_it_is() {
    for algorithm in [Algorithm::Gcra, Algorithm::SlidingLog] {
        let (builder, start) = (of(algorithm, per_minute(60)), 7 * SECOND);
        let limiter = builder.clone().build().expect("valid");
        for i in 0..60 {
            assert!(limiter.check_at("a", 1, Tick(start + i)).is_allowed());
        }
        let bytes = written(&limiter, start + 10 * SECOND);
        for (wall, since) in [
            (WALL, 10),
            (WALL + Duration::from_secs(49), 59),
            (WALL + Duration::from_secs(51), 61),
            // The system's clock was set back meanwhile: as if no time had passed.
            (WALL - Duration::from_secs(3600), 10),
        ] {
            let restored = builder.clone().restore(&bytes[..], wall).expect("restored");
            assert_eq!(restored.resumed, Tick(start + since * SECOND));
            assert_eq!(restored.elapsed, wall.saturating_sub(WALL));
            let Admission::Allowed { remaining, .. } = restored.structure.peek_at("a", 0, restored.resumed)
            else {
                panic!("of cost 0");
            };
            let expected =
                if algorithm == Algorithm::Gcra { since.min(60) } else { u64::from(since > 60) * 60 };
            assert_eq!(remaining, expected, "{algorithm:?} after {since}");
        }
        // Its own clock begins there.
        let restored = builder.clone().restore(&bytes[..], WALL + Duration::from_secs(60)).expect("restored");
        assert!(restored.structure.check("a", 60).is_allowed(), "{algorithm:?}");
    }
}

/// However long it was away: the first call is no jump.
#[test]
fn no_jump() {
    let builder = of(Algorithm::Gcra, per_minute(60)).max_jump(Duration::from_secs(10));
    let limiter = builder.clone().build().expect("valid");
    assert!(limiter.check_at("a", 60, Tick(SECOND)).is_allowed());
    assert!(!limiter.check_at("a", 1, Tick(100 * SECOND)).is_allowed());
    let hour = Duration::from_secs(3600);
    let restored = builder.restore(&written(&limiter, SECOND)[..], WALL + hour).expect("restored");
    assert!(restored.structure.check_at("a", 60, restored.resumed).is_allowed());
    assert_eq!(restored.structure.stats().jumps, 0);
}

/// What clients have taken that the table does not know is in the cells that they share.
#[test]
fn shared_cells() {
    let builder = of(Algorithm::Gcra, per_minute(10)).clients(1).on_unknown(OnUnknown::Share(1000));
    let twins = {
        let mut twins = Twins::new(builder.clone());
        for client in 0..20_000 {
            twins.check(client, 1, SECOND);
        }
        assert!(twins.whole.stats().unknown > 15_000);
        twins.restart();
        twins
    };
    let mut denied = 0;
    for client in 0..3000 {
        denied += u32::from(!twins.check(client, 5, 2 * SECOND).is_allowed());
    }
    assert!(denied > 1000, "{denied}");
    let bytes = written(&twins.whole, 0);
    for on_unknown in [OnUnknown::Deny, OnUnknown::Share(999)] {
        let error = refused(&builder.clone().on_unknown(on_unknown), &bytes).to_string();
        assert!(error.contains("shared cells 1000"), "{error}");
    }
}

/// A setting that differs is told, with both values.
#[test]
fn other_settings() {
    let builder = of(Algorithm::Gcra, per_minute(10)).lateness(Duration::from_secs(1));
    let limiter = builder.clone().build().expect("valid");
    assert!(limiter.check_at("a", 1, Tick(SECOND)).is_allowed());
    // (A quota that it was changed to is nothing to the builder.)
    limiter.set_quota_at(per_minute(77), Inherit::AsIs, Tick(SECOND)).expect("valid");
    let bytes = written(&limiter, SECOND);
    assert_eq!(restored(&builder, &bytes).quota(), per_minute(77));
    let with = |algorithm, quota| of(algorithm, quota).lateness(Duration::from_secs(1));
    for (builder, name, theirs, ours) in [
        (with(Algorithm::FixedWindow, per_minute(10)), "algorithm", "gcra", "fixed window"),
        (with(Algorithm::Gcra, per_minute(11)), "quota", "10/m", "11/m"),
        (with(Algorithm::Gcra, per_minute(10).burst(9)), "quota", "10/m", "10/m burst 9"),
        (builder.clone().lateness(Duration::ZERO), "lateness", "1000000000 ns", "0 ns"),
        (builder.clone().seed(Seed(8)), "seed", "(its own)", "another"),
    ] {
        match refused(&builder, &bytes) {
            RestoreError::Setting { name: found, snapshot, builder } => {
                assert_eq!((found.as_str(), snapshot.as_str(), builder.as_str()), (name, theirs, ours));
            }
            other => panic!("{other}"),
        }
    }
    let error = refused(&builder.clone().clients(100_000), &bytes);
    assert!(matches!(&error, RestoreError::Setting { name, .. } if name == "clients"), "{error}");
    // The same quota, said in another way.
    restored(&with(Algorithm::Gcra, per_minute(10).burst(10)), &bytes);
    let one = Limiter::builder(per_minute(10));
    assert!(matches!(one.restore(&bytes[..], WALL), Err(RestoreError::Kind { .. })));
}

/// With a limit the table may be of another size.
#[test]
fn tables_that_grow() {
    let builder = of(Algorithm::Gcra, per_minute(10)).clients(100).max_memory(64 << 20);
    let mut twins = Twins::new(builder);
    for client in 0..50_000 {
        twins.check(client, 1 + client % 10, SECOND);
    }
    twins.restart();
    assert!(twins.whole.stats().grown > 0);
    for client in 0..51_000 {
        twins.check(client, 5, 2 * SECOND);
    }
}

/// Threads check while it is written, and then with what was restored: nobody gets more than the quota over both lives, as far as it was granted before
/// the snapshot began.
#[test]
fn while_threads_check() {
    const CLIENTS: u64 = 64;
    for algorithm in ALGORITHMS {
        let builder = of(algorithm, per_minute(50)).clients(100);
        for round in 0..5 {
            let limiter = builder.clone().build().expect("valid");
            let granted: Vec<AtomicU64> = (0..CLIENTS).map(|_| AtomicU64::new(0)).collect();
            let (running, together) = (Running::new(), Together::new(3));
            let (bytes, before) = thread::scope(|scope| {
                let _stop = running.until_here();
                for thread in 0..2 {
                    let (limiter, granted, running, together) = (&limiter, &granted, &running, &together);
                    scope.spawn(move || {
                        let mut random = Random(round * 2 + thread);
                        together.wait();
                        while running.goes_on() {
                            let client = random.below(CLIENTS);
                            if limiter.check_at(client, 1, Tick(SECOND)).is_allowed() {
                                granted[client as usize].fetch_add(1, SeqCst);
                            }
                        }
                    });
                }
                together.wait();
                while granted.iter().map(|n| n.load(SeqCst)).sum::<u64>() < 500 {
                    std::hint::spin_loop();
                }
                let before: Vec<u64> = granted.iter().map(|n| n.load(SeqCst)).collect();
                (written(&limiter, SECOND), before)
            });
            let limiter = restored(&builder, &bytes);
            for (client, before) in (0..CLIENTS).zip(before) {
                let more = (0..60).filter(|_| limiter.check_at(client, 1, Tick(SECOND)).is_allowed()).count();
                assert!(before + more as u64 <= 50, "{algorithm:?}: {client}: {before} and {more}");
            }
        }
    }
}

/// Logs whose rings go from client to client while they are written.
#[test]
fn while_rings_change_hands() {
    let quota = Quota::new(4, Duration::from_secs(1));
    let builder = of(Algorithm::SlidingLog, quota).clients(200);
    for round in 0..4 {
        let limiter = builder.clone().build().expect("valid");
        let (clock, running, together) = (AtomicU64::new(10 * SECOND), Running::new(), Together::new(3));
        let snapshots: Vec<(Vec<u8>, u64, Vec<u64>)> = thread::scope(|scope| {
            let _stop = running.until_here();
            for thread in 0..2 {
                let (limiter, clock, running, together) = (&limiter, &clock, &running, &together);
                scope.spawn(move || {
                    let mut random = Random(round * 2 + thread);
                    together.wait();
                    while running.goes_on() {
                        // Some 100 clients at a time. (Time goes slowly enough for those that were there when a snapshot began.)
                        let step = if random.below(16) == 0 { SECOND / 4000 } else { 0 };
                        let now = clock.fetch_add(step, SeqCst);
                        let client = ((now / (SECOND / 10)) << 8) | random.below(8);
                        limiter.check_at(client, 1, Tick(now));
                    }
                });
            }
            together.wait();
            let mut all = Vec::new();
            for number in 0..30_u64 {
                // Clients of this snapshot's own, with all their permits taken before it.
                let now = clock.load(SeqCst);
                let taken: Vec<u64> = (0..4)
                    .map(|client| 1 << 40 | number << 8 | client)
                    .filter(|&client| limiter.check_at(client, 4, Tick(now)).is_allowed())
                    .collect();
                all.push((written(&limiter, now), now, taken));
            }
            all
        });
        let mut compared = 0;
        for (bytes, now, taken) in snapshots {
            let limiter = restored(&builder, &bytes);
            for client in taken {
                match limiter.check_at(client, 1, Tick(now)) {
                    // The horizon has passed it: then it comes after all that it had taken has expired.
                    Admission::Allowed { reset_after, .. } => {
                        assert!(reset_after >= Duration::from_secs(2), "{reset_after:?}");
                    }
                    _ => compared += u64::from(limiter.stats().unknown == 0),
                }
            }
        }
        assert!(compared > 0);
    }
}

fn filled(algorithm: Algorithm) -> (KeyedLimiterBuilder, KeyedLimiter) {
    let share = if algorithm == Algorithm::SlidingLog { OnUnknown::Deny } else { OnUnknown::Share(3) };
    let builder = of(algorithm, per_minute(10)).clients(1).on_unknown(share);
    let limiter = builder.clone().build().expect("valid");
    for client in 0..200_u64 {
        limiter.check_at(client, 1 + client % 10, Tick((1000 + client) * SECOND / 10));
    }
    let now = Tick(121 * SECOND);
    limiter.set_quota_for_at(3_u64, per_minute(5), Inherit::AsIs, now).expect("valid");
    limiter.set_quota_at(per_minute(7), Inherit::AsIs, now).expect("valid");
    (builder, limiter)
}

/// Whatever the bytes are: an error, or a limiter that answers.
#[test]
fn damaged() {
    for algorithm in ALGORITHMS {
        let (builder, limiter) = filled(algorithm);
        let bytes = written(&limiter, 121 * SECOND);
        restored(&builder, &bytes);
        for cut in 0..bytes.len() {
            assert!(builder.clone().restore(&bytes[..cut], WALL).is_err(), "cut at {cut}");
        }
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1 << (at % 8);
            assert!(builder.clone().restore(&other[..], WALL).is_err(), "flipped at {at}");
        }
        // With checksums that are right.
        let parts = Parts::of(&bytes);
        let (mut random, mut errors, mut good) = (Random(3), 0, 0);
        for _ in 0..3000 {
            let mut other = parts.clone();
            for _ in 0..=random.below(3) {
                other.flip(random.below(64) as usize, random.below(1 << 16) as usize, 1 << random.below(8));
            }
            match builder.clone().restore(&other.bytes()[..], WALL) {
                Err(_) => errors += 1,
                Ok(restored) => {
                    good += 1;
                    let limiter = restored.structure;
                    for client in 0..30_u64 {
                        for now in [0, 121 * SECOND, 200 * SECOND, u64::MAX / 64] {
                            let _ = limiter.peek_at(client, 1, Tick(now));
                            limiter.check_at(client, 1 + client % 3, Tick(now));
                        }
                        limiter.forget_at(client, Tick(300 * SECOND));
                    }
                    let _ = limiter.set_quota_at(per_minute(3), Inherit::AsIs, Tick(300 * SECOND));
                    limiter.check_at(1_u64, 1, Tick(301 * SECOND));
                    let _ = limiter.stats();
                }
            }
        }
        assert!(errors > 100 && good > 100, "{algorithm:?}: {errors} errors, {good} restored");
    }
}

/// Wherever the contents are wrong, it is said what is.
#[test]
fn wrong_contents() {
    const OVERRIDES: u32 = 2;
    const TERMS: u32 = 4;
    const RINGS: u32 = 0x110;
    const RING_HORIZON: u32 = 0x111;
    let wrong = |algorithm, section, at, value, expected: &str| {
        let (builder, limiter) = filled(algorithm);
        let bytes = Parts::of(&written(&limiter, 121 * SECOND)).set(section, at, value).bytes();
        match refused(&builder, &bytes) {
            RestoreError::Damaged { part, .. } => assert_eq!(part, expected),
            other => panic!("{expected}: {other}"),
        }
    };
    let (gcra, log) = (Algorithm::Gcra, Algorithm::SlidingLog);
    // hash (16), quota (25), state
    wrong(gcra, OVERRIDES, 16, 0, "quota of a client");
    wrong(gcra, OVERRIDES, 41, 1 << 60, "state");
    // whether they have changed (1), quota (25), interval, course
    wrong(gcra, TERMS, 1, 0, "change of quota");
    wrong(gcra, TERMS, 26, 3, "change of quota");
    wrong(gcra, TERMS, 34, u64::MAX, "change of quota");
    // ring, number of times, given back, times
    wrong(log, RINGS, 0, 1 << 30, "ring");
    wrong(log, RINGS, 8, 11, "number of times");
    wrong(log, RINGS, 16, 11, "times given back");
    wrong(log, RINGS, 24, 1 << 48, "time of a permit");
    wrong(log, RING_HORIZON, 0, u64::MAX, "horizon");
    // Two entries that lead to one ring: part (8), number (4), key (8), state (8), key, state.
    let (builder, limiter) = filled(log);
    let parts = Parts::of(&written(&limiter, 121 * SECOND));
    let entries = &parts.frames.iter().find(|frame| frame.0 == 0x101).expect("entries").1;
    let state = u64::from_le_bytes(entries[20..28].try_into().expect("8 bytes"));
    let error = refused(&builder, &parts.clone().set(0x101, 36, state).bytes()).to_string();
    assert!(error.contains("of two clients"), "{error}");
    let error = refused(&builder, &parts.set(0x101, 36, state | ((1 << 28) - 1)).bytes()).to_string();
    assert!(error.contains("where there are"), "{error}");
}

/// What this version has written is read for ever.
#[test]
fn golden_files() {
    for algorithm in ALGORITHMS {
        let (builder, _) = filled(algorithm);
        let name = format!("limiter-v1-{algorithm:?}.wls").to_lowercase();
        let bytes = golden(&name, || written(&filled(algorithm).1, 121 * SECOND));
        let (old, new) = (restored(&builder, &bytes), filled(algorithm).1);
        assert_eq!((old.quota(), old.quota_for(3_u64)), (per_minute(7), per_minute(5)));
        for client in 0..300_u64 {
            let now = Tick((1220 + client) * SECOND / 10);
            assert_eq!(old.check_at(client, 2, now), new.check_at(client, 2, now), "{algorithm:?}: {client}");
        }
    }
}

/// One for all: a change of its quota is in it.
#[test]
fn one_for_all() {
    for algorithm in ALGORITHMS {
        let builder = Limiter::builder(per_minute(10)).algorithm(algorithm);
        let (whole, mut other) =
            (builder.clone().build().expect("valid"), builder.clone().build().expect("valid"));
        let mut random = Random(5);
        let mut now = 100 * SECOND;
        for i in 0..3000 {
            now += random.below(4 * SECOND);
            if i % 17 == 0 {
                other = restored_one(&builder, &written_one(&other, now));
            }
            if i % 50 == 49 {
                let quota = per_minute(1 + random.below(10));
                let set = |limiter: &Limiter| limiter.set_quota_at(quota, Inherit::AsIs, Tick(now)).is_ok();
                assert_eq!(set(&whole), set(&other));
                assert_eq!(whole.quota(), other.quota());
            }
            if i % 70 == 69 {
                assert_eq!(whole.forget_at(Tick(now)), other.forget_at(Tick(now)));
            }
            let cost = 1 + random.below(2);
            assert_eq!(
                whole.check_at(cost, Tick(now)),
                other.check_at(cost, Tick(now)),
                "{algorithm:?}: {i}"
            );
        }
        let bytes = written_one(&whole, now);
        for cut in 0..bytes.len() {
            assert!(builder.clone().restore(&bytes[..cut], WALL).is_err(), "cut at {cut}");
        }
        let error = Limiter::builder(per_minute(9)).algorithm(algorithm).restore(&bytes[..], WALL);
        assert!(matches!(error, Err(RestoreError::Setting { name, .. }) if name == "quota"));
    }
}

/// While threads take permits of one log its times are read: of those before none is missing.
#[test]
fn one_log_while_threads_take() {
    let quota = Quota::new(1000, Duration::from_secs(1));
    let builder = Limiter::builder(quota).algorithm(Algorithm::SlidingLog);
    let limiter = builder.clone().build().expect("valid");
    let (clock, running, together) = (AtomicU64::new(10 * SECOND), Running::new(), Together::new(3));
    thread::scope(|scope| {
        let _stop = running.until_here();
        for _ in 0..2 {
            scope.spawn(|| {
                together.wait();
                while running.goes_on() {
                    limiter.check_at(1, Tick(clock.fetch_add(SECOND / 900, SeqCst)));
                }
            });
        }
        together.wait();
        let mut compared = 0;
        while compared < 300 {
            // How things stand, were nothing taken from now on, at a time that no call has reached by the end of the snapshot.
            let soon = Tick(clock.load(SeqCst) + SECOND / 2);
            let before = remaining(&limiter, soon);
            let other = restored_one(&builder, &written_one(&limiter, soon.0));
            if clock.load(SeqCst) > soon.0 {
                continue;
            }
            let after = remaining(&other, soon);
            assert!(after <= before, "{after}, where there were {before}");
            compared += 1;
        }
    });
}

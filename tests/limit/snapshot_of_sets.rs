//! Sets of limits, written and restored.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute
#![allow(clippy::cast_possible_truncation)] // indices

use crate::common::{
    Random, Running, Together,
    snapshot::{Parts, golden},
};
use std::{thread, time::Duration};
use windlass::{
    Algorithm, LimitRule, LimitSet, LimitSetBuilder, Quota, Reservation, Reserved, RestoreError, Seed,
    SetAdmission, Settled, Tick,
};

const WALL: Duration = Duration::from_secs(1_700_000_000);
const SECOND: u64 = 1_000_000_000;
const LEASE: Duration = Duration::from_secs(30);

fn per_minute(permits: u64) -> Quota {
    Quota::new(permits, Duration::from_secs(60))
}

fn builder() -> LimitSetBuilder {
    LimitSet::builder()
        .limit(LimitRule::keyed("user", per_minute(10)).clients(100))
        .limit(LimitRule::keyed("tenant", per_minute(40)).clients(50).algorithm(Algorithm::SlidingCounter))
        .limit(LimitRule::global("all", per_minute(300)))
        .limit(LimitRule::global("windows", per_minute(400)).algorithm(Algorithm::FixedWindow))
        .reservations(200)
        .lateness(Duration::from_secs(1))
        .seed(Seed(7))
}

fn build() -> LimitSet {
    builder().build().expect("valid")
}

fn written(set: &LimitSet, now: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    set.snapshot_at(&mut bytes, Tick(now), WALL).expect("memory");
    bytes
}

fn restored(builder: LimitSetBuilder, bytes: &[u8]) -> LimitSet {
    builder.restore(bytes, WALL).unwrap_or_else(|error| panic!("{error}")).structure
}

/// What was answered, without names that belong to a set.
fn told(answer: SetAdmission<'_>) -> String {
    format!("{answer:?}")
}

/// All that can happen to a set, with restarts between and tickets that survive them, against one that is never restarted.
#[test]
fn restarts_change_nothing() {
    let (mut settled, mut denied, mut restarts) = (0, 0, 0);
    for seed in 0..4 {
        let (whole, mut other, mut random) = (build(), build(), Random(seed));
        let mut now = 1_000_000 * SECOND;
        let mut tickets: Vec<(Reservation, Reservation)> = Vec::new();
        for i in 0..4000 {
            now += random.below(SECOND);
            let keys = [random.below(30), 100 + random.below(8)];
            let (cost, at) = (1 + random.below(4), Tick(now));
            match random.below(20) {
                0..5 => {
                    match (whole.reserve_at(&keys, cost, LEASE, at), other.reserve_at(&keys, cost, LEASE, at))
                    {
                        (Reserved::Held(one), Reserved::Held(two)) => tickets.push((one, two)),
                        (Reserved::Refused(one), Reserved::Refused(two)) => {
                            assert_eq!(told(one), told(two), "{i}")
                        }
                        (one, two) => panic!("{i}: {one:?}, {two:?}"),
                    }
                }
                5..10 if !tickets.is_empty() => {
                    let (one, two) = tickets.swap_remove(random.below(tickets.len() as u64) as usize);
                    let actual = random.below(6);
                    let answer = whole.settle_at(one, actual, at);
                    assert_eq!(other.settle_at(two, actual, at), answer, "{i}");
                    settled += u32::from(matches!(answer, Settled::Settled { .. }));
                }
                10 => {
                    let (name, quota) = [("user", 5), ("tenant", 60), ("all", 200), ("windows", 300)][i % 4];
                    let quota = per_minute(quota + random.below(10));
                    let set = |set: &LimitSet| set.set_quota_at(name, quota, at).is_ok();
                    assert_eq!(set(&whole), set(&other));
                }
                11 => {
                    other = restored(builder(), &written(&other, now));
                    restarts += 1;
                    assert!(whole.limits().eq(other.limits()));
                    assert_eq!(whole.stats().holds, other.stats().holds);
                }
                _ => {
                    let answer = whole.check_at(&keys, cost, at);
                    denied += u32::from(!answer.is_allowed());
                    assert_eq!(told(other.check_at(&keys, cost, at)), told(answer), "{i}");
                }
            }
        }
    }
    assert!(settled > 500 && denied > 100 && restarts > 500, "{settled} {denied} {restarts}");
}

/// A setting that differs is told, with both values.
#[test]
fn other_settings() {
    let bytes = written(&build(), SECOND);
    let rule = |name: &str, permits| LimitRule::keyed(name, per_minute(permits)).clients(100);
    let of = |rule: LimitRule| LimitSet::builder().limit(rule).seed(Seed(7));
    let one = written(&of(rule("user", 10)).build().expect("valid"), SECOND);
    for (builder, bytes, name, theirs, ours) in [
        (of(rule("user", 10)), &bytes, "limits", "4", "1"),
        (builder().lateness(Duration::ZERO), &bytes, "lateness", "1000000000 ns", "0 ns"),
        (builder().reservations(0), &bytes, "reservations", "200", "0"),
        (builder().seed(Seed(8)), &bytes, "seed", "(its own)", "another"),
        (of(rule("users", 10)), &one, "limit 1", "user", "users"),
        (of(rule("user", 11)), &one, "quota of limit 1", "10/m", "11/m"),
        (of(rule("user", 10).clients(10_000)), &one, "clients of limit 1", "100", "10000"),
        (
            of(rule("user", 10).algorithm(Algorithm::FixedWindow)),
            &one,
            "algorithm of limit 1",
            "gcra",
            "fixed window",
        ),
        (of(LimitRule::global("user", per_minute(10))), &one, "clients of limit 1", "100", "0"),
    ] {
        match builder.restore(&bytes[..], WALL) {
            Err(RestoreError::Setting { name: found, snapshot, builder }) => {
                assert_eq!((found.as_str(), snapshot.as_str(), builder.as_str()), (name, theirs, ours));
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// Holds are made and settled while it is written: of all that were charged before it began none is given back twice, or without having been charged.
#[test]
fn while_holds_are_made_and_settled() {
    let builder = || {
        LimitSet::builder()
            .limit(LimitRule::keyed("user", per_minute(1_000)).clients(100))
            .limit(LimitRule::global("all", per_minute(50_000)))
            .reservations(5_000)
            .seed(Seed(7))
    };
    let (mut good, mut lost) = (0, 0);
    for round in 0..30 {
        let set = builder().build().expect("valid");
        let now = Tick(SECOND);
        let hold = |user: u64, estimate| match set.reserve_at(&[user], estimate, LEASE, now) {
            Reserved::Held(ticket) => Some(ticket),
            _ => None,
        };
        // Those from before: of one user for each thread and one for both.
        let before: Vec<Reservation> = (0..100).filter_map(|i| hold(i % 10, 5)).collect();
        assert_eq!(before.len(), 100);
        let (running, together) = (Running::new(), Together::new(3));
        let (bytes, tickets) = thread::scope(|scope| {
            let stop = running.until_here();
            let threads: Vec<_> = (0..2)
                .map(|thread| {
                    let (set, hold, running, together) = (&set, &hold, &running, &together);
                    scope.spawn(move || {
                        let mut random = Random(round * 2 + thread);
                        let mut kept = Vec::new();
                        together.wait();
                        while running.goes_on() {
                            let Some(ticket) = hold(random.below(10), 1) else { continue };
                            if random.below(8) > 0 || kept.len() > 500 {
                                assert!(matches!(set.cancel_at(ticket, now), Settled::Settled { .. }));
                            } else {
                                kept.push(ticket);
                            }
                        }
                        kept
                    })
                })
                .collect();
            together.wait();
            (0..round).for_each(|_| thread::yield_now());
            let bytes = written(&set, SECOND);
            drop(stop);
            let tickets: Vec<_> =
                threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect();
            (bytes, tickets)
        });
        let set = restored(builder(), &bytes);
        // All from before are good. (Of those that are settled meanwhile some charges are left.)
        for ticket in before {
            assert_eq!(set.cancel_at(ticket, now), Settled::Settled { uncharged: 0 });
        }
        for ticket in tickets {
            match set.cancel_at(ticket, now) {
                Settled::Settled { .. } => good += 1,
                _ => lost += 1,
            }
        }
        // Never more than there is.
        for user in 0..10_u64 {
            let more = (0..1_100).filter(|_| set.check_at(&[user], 1, now).is_allowed()).count();
            assert!(more <= 1_000, "{user}: {more}");
        }
    }
    // (Which of them is a matter of who came first.)
    assert!(good + lost > 0);
}

fn filled() -> LimitSet {
    let set = build();
    for i in 0..300_u64 {
        let (keys, now) = ([i % 30, 100 + i % 8], Tick((1000 + i) * SECOND / 10));
        if i % 3 == 0 {
            let _ = set.reserve_at(&keys, 2, LEASE, now);
        } else {
            let _ = set.check_at(&keys, 1, now);
        }
    }
    set.set_quota_at("user", per_minute(12), Tick(130 * SECOND)).expect("valid");
    set
}

/// Whatever the bytes are: an error, or a set that answers.
#[test]
fn damaged() {
    let bytes = written(&filled(), 130 * SECOND);
    restored(builder(), &bytes);
    for cut in 0..bytes.len() {
        assert!(builder().restore(&bytes[..cut], WALL).is_err(), "cut at {cut}");
    }
    let parts = Parts::of(&bytes);
    let (mut random, mut errors, mut good) = (Random(3), 0, 0);
    for _ in 0..1000 {
        let mut other = parts.clone();
        for _ in 0..=random.below(3) {
            other.flip(random.below(64) as usize, random.below(1 << 16) as usize, 1 << random.below(8));
        }
        match builder().restore(&other.bytes()[..], WALL) {
            Err(_) => errors += 1,
            Ok(restored) => {
                good += 1;
                let set = restored.structure;
                for i in 0..20_u64 {
                    let (keys, now) = ([i, 100 + i % 8], Tick((130 + i) * SECOND));
                    let _ = set.check_at(&keys, 1, now);
                    if let Reserved::Held(ticket) = set.reserve_at(&keys, 1, LEASE, now) {
                        let _ = set.settle_at(ticket, i % 3, now);
                    }
                }
                let _ = set.set_quota_at("tenant", per_minute(3), Tick(300 * SECOND));
                let _ = set.stats();
            }
        }
    }
    assert!(errors > 100 && good > 100, "{errors} errors, {good} restored");
}

/// What this version has written is read for ever.
#[test]
fn golden_files() {
    let bytes = golden("limitset-v1.wls", || written(&filled(), 130 * SECOND));
    let (old, new) = (restored(builder(), &bytes), filled());
    assert_eq!(old.stats().holds, new.stats().holds);
    assert!(old.stats().holds > 10);
    for i in 0..300_u64 {
        let (keys, now) = ([i % 40, 100 + i % 8], Tick((1310 + i) * SECOND / 10));
        assert_eq!(told(old.check_at(&keys, 2, now)), told(new.check_at(&keys, 2, now)), "{i}");
    }
}

//! Several limits in one decision.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use crate::common::{Random, Together};
use std::{sync::Mutex, thread, time::Duration};
use windlass::{
    Admission, Algorithm, Clock, KeyHash, LimitRule, LimitSet, LimitSetBuilder, OnUnknown, Quota,
    Reservation, Reserved, Seed, SetAdmission, Settled, Tick,
};

const SECOND: u64 = 1_000_000_000;
const MINUTE: Duration = Duration::from_secs(60);

fn quota(text: &str) -> Quota {
    text.parse().expect("valid")
}

fn at(seconds: u64) -> Tick {
    Tick(1000 * SECOND + seconds * SECOND)
}

fn keyed(name: &str, text: &str) -> LimitRule {
    LimitRule::keyed(name, quota(text)).clients(1000)
}

fn global(name: &str, text: &str) -> LimitRule {
    LimitRule::global(name, quota(text))
}

fn set(rules: impl IntoIterator<Item = LimitRule>) -> LimitSetBuilder {
    rules.into_iter().fold(LimitSet::builder(), LimitSetBuilder::limit).seed(Seed(7)).reservations(1000)
}

fn built(rules: impl IntoIterator<Item = LimitRule>) -> LimitSet {
    set(rules).build().expect("valid")
}

/// What is left of a limit.
fn left(set: &LimitSet, keys: &[&str], name: &str, now: Tick) -> u64 {
    let mut each = set.peek_each_at(keys, 0, now);
    match each.find(|(limit, _)| *limit == name) {
        Some((_, Admission::Allowed { remaining, .. })) => remaining,
        other => panic!("{name}: {other:?}"),
    }
}

fn held(reserved: Reserved<'_>) -> Reservation {
    match reserved {
        Reserved::Held(ticket) => ticket,
        other => panic!("{other:?}"),
    }
}

#[test]
fn names_the_limit_and_when_all_pass() {
    let set = built([keyed("user", "2/10s"), keyed("tenant", "3/30s"), global("all", "100/s")]);
    let check = |user, now| set.check_at(&[user, "acme"], 1, now);
    let allowed = |tightest, remaining, seconds| SetAdmission::Allowed {
        tightest,
        remaining,
        reset_after: Duration::from_secs(seconds),
    };
    let denied = |limit, seconds| SetAdmission::Denied { limit, retry_after: Duration::from_secs(seconds) };
    assert_eq!(check("ann", at(0)), allowed("user", 1, 10));
    assert_eq!(check("ann", at(0)), allowed("user", 0, 20));
    assert_eq!(check("ann", at(0)), denied("user", 5));
    assert_eq!(check("bob", at(0)), allowed("tenant", 0, 30));
    // Both refuse: the first is named, and the last one's time.
    assert_eq!(check("ann", at(1)), denied("user", 9));
    assert_eq!(check("bob", at(1)), denied("tenant", 9));
    assert!(!check("bob", Tick(at(10).0 - 1)).is_allowed());
    assert!(check("bob", at(10)).is_allowed());
    // What cannot be.
    assert_eq!(set.check_at(&["ann", "acme"], 3, at(10)), SetAdmission::Never { limit: "user" });
    assert_eq!(set.check_at(&["ann"], 1, at(10)), SetAdmission::Never { limit: "tenant" });
}

/// A refusal is charged by none of the limits, wherever it comes from.
#[test]
fn a_refusal_costs_nothing() {
    for algorithm in
        [Algorithm::Gcra, Algorithm::TokenBucket, Algorithm::FixedWindow, Algorithm::SlidingCounter]
    {
        for refuses in 0..3 {
            let text = |i| if i == refuses { "2/60s" } else { "1000/60s" };
            let set = built([
                keyed("0", text(0)).algorithm(algorithm),
                global("1", text(1)).algorithm(algorithm),
                keyed("2", text(2)).algorithm(algorithm),
            ]);
            let keys = ["a", "b"];
            let granted = (0..10).filter(|_| set.check_at(&keys, 1, at(0)).is_allowed()).count();
            assert_eq!(granted, 2);
            for limit in 0..3 {
                let remaining = if limit == refuses { 0 } else { 998 };
                assert_eq!(left(&set, &keys, &limit.to_string(), at(0)), remaining, "{algorithm:?}");
            }
        }
    }
}

#[test]
fn what_cannot_be_built() {
    let error = |builder: LimitSetBuilder| builder.build().expect_err("refused");
    assert_eq!(error(LimitSet::builder()).field, "limits");
    assert_eq!(error(set((0..9).map(|i| global(&i.to_string(), "1/s")))).field, "limits");
    assert!(set((0..8).map(|i| global(&i.to_string(), "1/s"))).build().is_ok());
    let twice = error(set([global("a", "1/s"), keyed("b", "1/s"), keyed("a", "2/s")]));
    assert_eq!((twice.field, twice.value.as_str()), ("name", "\"a\""));
    assert_eq!(error(set([global("", "1/s")])).field, "name");
    for algorithm in [Algorithm::SlidingLog, Algorithm::LeakyQueue] {
        let refused = error(set([keyed("log", "1/s").algorithm(algorithm)]));
        assert_eq!(refused.field, "algorithm");
        assert!(refused.value.contains("\"log\""), "{refused}");
    }
    let wide = LimitRule::global("w", Quota::new(1 << 50, Duration::from_secs(3600)));
    assert_eq!(error(set([wide.algorithm(Algorithm::FixedWindow)])).field, "quota");
    let empty = LimitRule::global("z", Quota::new(0, MINUTE));
    let refused = error(set([empty]));
    assert!(refused.field == "quota" && refused.value.contains("\"z\""), "{refused}");
    assert_eq!(error(set([keyed("k", "1/s").clients(0)])).field, "clients");
    assert_eq!(error(set([global("a", "1/s")]).clock(Clock::events())).field, "clock");
}

/// A set decides as its limits would one by one, if there is no refusal.
#[test]
fn one_limit_is_a_limiter() {
    for text in ["100/60s", "7/10s", "10000/s", "2000/s", "3/s burst 9", "1/366d", "1000000/s"] {
        let (set, mut random, mut now) = (built([keyed("only", text)]), Random(3), 5000 * SECOND);
        let alone =
            windlass::KeyedLimiter::builder(quota(text)).clients(1000).seed(Seed(7)).build().expect("valid");
        let step = u64::try_from(quota(text).per().as_nanos()).expect("in range") / quota(text).permits() * 2;
        for _ in 0..2000.min((1 << 57) / step) {
            // (In whole microseconds, as a set has no finer ones.)
            now += random.below(step.max(2000)) / 1000 * 1000;
            let expected = alone.check_at("k", 1, Tick(now));
            match (set.check_at(&["k"], 1, Tick(now)), expected) {
                (
                    SetAdmission::Allowed { remaining, reset_after, .. },
                    Admission::Allowed { remaining: other, reset_after: reset, .. },
                ) => {
                    assert_eq!((remaining, reset_after), (other, reset), "{text}");
                }
                (SetAdmission::Denied { retry_after, .. }, Admission::Denied { retry_after: other }) => {
                    assert_eq!(retry_after, other, "{text}");
                }
                (ours, other) => panic!("{text}: {ours:?}, {other:?}"),
            }
        }
    }
}

#[test]
fn unknown_clients() {
    let full = |policy| {
        let rule = LimitRule::keyed("few", quota("5/60s")).clients(1).on_unknown(policy);
        let set = built([global("all", "1000/60s"), rule]);
        // All places taken.
        let known = (0..2000_u64).filter(|&key| set.check_at(&[key], 1, at(0)).is_allowed()).count() as u64;
        let Some((_, Admission::Allowed { remaining, .. })) = set.peek_each_at(&[0_u64], 0, at(0)).next()
        else {
            panic!("no answer")
        };
        (known, 1000 - remaining)
    };
    // Those who are not known are refused, and the other limit is not charged.
    let (known, charged) = full(OnUnknown::Deny);
    assert!(known < 1000 && known == charged, "{known} {charged}");
    // .. or pass by the other limit alone.
    assert_eq!(full(OnUnknown::Allow), (1000, 1000));
}

#[test]
fn holds() {
    for algorithm in [Algorithm::Gcra, Algorithm::FixedWindow, Algorithm::SlidingCounter] {
        let set = built([
            keyed("user", "100/60s").algorithm(algorithm),
            global("all", "1000/60s").algorithm(algorithm),
        ]);
        let keys = ["ann"];
        let both = |now| [left(&set, &keys, "user", now), left(&set, &keys, "all", now)];
        // In the middle of no window.
        let now = at(20);
        let lease = Duration::from_secs(10);
        let ticket = held(set.reserve_at(&keys, 60, lease, now));
        assert_eq!(ticket.estimate(), 60);
        assert_eq!(both(now), [40, 940], "{algorithm:?}");
        let Reserved::Refused(SetAdmission::Denied { limit, .. }) = set.reserve_at(&keys, 60, lease, now)
        else {
            panic!("more than there is")
        };
        assert_eq!((limit, both(now)), ("user", [40, 940]));
        // Less.
        assert_eq!(set.settle_at(ticket, 25, now), Settled::Settled { uncharged: 0 });
        assert_eq!(both(now), [75, 975], "{algorithm:?}");
        // Once.
        assert_eq!(set.settle_at(ticket, 0, now), Settled::Before);
        assert_eq!(set.cancel_at(ticket, now), Settled::Before);
        assert_eq!(both(now), [75, 975]);
        // As it was thought; nothing at all.
        let [exact, none] = [(); 2].map(|()| held(set.reserve_at(&keys, 10, lease, now)));
        assert_eq!(set.settle_at(exact, 10, now), Settled::Settled { uncharged: 0 });
        assert_eq!(set.cancel_at(none, now), Settled::Settled { uncharged: 0 });
        assert_eq!(both(now), [65, 965]);
        // More: 165 of 100.
        let ticket = held(set.reserve_at(&keys, 65, lease, now));
        let Settled::Settled { uncharged } = set.settle_at(ticket, 130, now) else { panic!("settled") };
        assert_eq!(uncharged, if algorithm == Algorithm::Gcra { 0 } else { 65 });
        assert_eq!(both(now), [0, 835]);
        assert!(!set.check_at(&keys, 1, Tick(now.0 + 39 * SECOND)).is_allowed(), "{algorithm:?}");
        assert_eq!(set.stats().holds, 0);
        assert_eq!(set.stats().unreturned, 0);
    }
}

/// Whose lease has run out stays charged.
#[test]
fn expired_holds() {
    let set = built([keyed("user", "100/100s")]);
    let hold = || held(set.reserve_at(&["ann"], 20, Duration::from_secs(10), at(0)));
    let (kept, late, other) = (hold(), hold(), hold());
    assert_eq!(set.stats().holds, 3);
    assert_eq!(set.cancel_at(kept, Tick(at(10).0 - 1)), Settled::Settled { uncharged: 0 });
    assert_eq!(set.cancel_at(late, at(10)), Settled::Expired);
    assert_eq!(set.settle_at(other, 5, at(5000)), Settled::Expired);
    // (10 of the 60 came back by themselves, and may have been of the hold that was cancelled: of that one 10 more.)
    assert_eq!(left(&set, &["ann"], "user", at(10)), 60);
    // Time does not go back either.
    assert_eq!(set.settle_at(other, 5, at(5)), Settled::Expired);
    assert_eq!(set.stats().holds, 0);
}

#[test]
fn no_room_for_holds() {
    let none = set([global("all", "100/60s")]).reservations(0).build().expect("valid");
    assert!(matches!(none.reserve_at::<&str>(&[], 1, MINUTE, at(0)), Reserved::NoRoom));
    assert_eq!(left(&none, &[], "all", at(0)), 100);
    let few = set([global("all", "100000/60s")]).reservations(1).build().expect("valid");
    let mut open = Vec::new();
    while let Reserved::Held(ticket) = few.reserve_at::<&str>(&[], 1, MINUTE, at(0)) {
        open.push(ticket);
        assert!(open.len() < 10_000);
    }
    assert_eq!(
        left(&few, &[], "all", at(0)),
        100_000 - open.len() as u64,
        "those without room are not charged"
    );
    // A ticket is that of its set.
    let other = built([global("all", "100/60s")]);
    assert_eq!(other.cancel_at(open[0], at(0)), Settled::Expired);
    // When their leases are over there is room again.
    assert!(matches!(few.reserve_at::<&str>(&[], 1, MINUTE, at(61)), Reserved::Held(_)));
}

/// The short forms go by the clock.
#[test]
fn by_the_clock() {
    let (clock, hand) = Clock::manual(at(0));
    let set = set([keyed("user", "2/10s")]).clock(clock).build().expect("valid");
    assert!(set.check(&["ann"], 1).is_allowed());
    let ticket = held(set.reserve(&["ann"], 1, MINUTE));
    assert!(!set.check(&["ann"], 1).is_allowed());
    assert_eq!(set.cancel(ticket), Settled::Settled { uncharged: 0 });
    assert!(set.check(&["ann"], 1).is_allowed());
    hand.set(at(100));
    assert_eq!(set.settle(held(set.reserve(&["ann"], 2, MINUTE)), 1), Settled::Settled { uncharged: 0 });
}

const THREADS: usize = 3;

/// One round: who was admitted, by whom others were refused.
#[derive(Default)]
struct Seen {
    admitted: Vec<(u64, u64, u64)>,
    refused: Vec<(String, u64)>,
}

/// At each tick three threads make calls in any order, of any cost, some of them holds that are settled at once. When they have ended, charged is what was
/// admitted, to the last permit; no limit has admitted more than it has; none has refused that had room for all calls under way.
#[test]
fn random_schedules() {
    const USERS: u64 = 4;
    const MOST: u64 = 3;
    for (seed, algorithm) in
        [Algorithm::Gcra, Algorithm::FixedWindow, Algorithm::SlidingCounter].into_iter().enumerate()
    {
        let (user, tenant, all) = (60, 90, 120);
        let set = set([
            keyed("user", "60/60s").algorithm(algorithm),
            keyed("tenant", "90/60s").algorithm(algorithm),
            global("all", "120/60s").algorithm(algorithm),
        ])
        .build()
        .expect("valid");
        for round in 0..40 {
            // Long after the round before, in the middle of a window.
            let now = Tick((1000 + round * 600 + 30) * SECOND);
            let (together, seen) = (Together::new(THREADS), Mutex::new(Seen::default()));
            thread::scope(|scope| {
                for thread in 0..THREADS {
                    let (together, seen, set) = (&together, &seen, &set);
                    scope.spawn(move || {
                        let mut random = Random(seed as u64 * 1000 + round * 10 + thread as u64);
                        let mut ours = Seen::default();
                        together.wait();
                        for _ in 0..100 {
                            let (user, cost) = (random.below(USERS), 1 + random.below(MOST));
                            let keys = [set.seed().hash(user), set.seed().hash(100 + user % 2)];
                            let answer = if random.below(3) > 0 {
                                set.check_at(&keys, cost, now)
                            } else {
                                match set.reserve_at(&keys, cost, MINUTE, now) {
                                    Reserved::Refused(refused) => refused,
                                    Reserved::NoRoom => panic!("no room"),
                                    Reserved::Held(ticket) => {
                                        let actual = random.below(cost + 1);
                                        assert_eq!(
                                            set.settle_at(ticket, actual, now),
                                            Settled::Settled { uncharged: 0 }
                                        );
                                        ours.admitted.push((user, user % 2, actual));
                                        continue;
                                    }
                                }
                            };
                            match answer {
                                SetAdmission::Allowed { .. } => ours.admitted.push((user, user % 2, cost)),
                                SetAdmission::Denied { limit, .. } => {
                                    ours.refused.push((limit.to_owned(), user))
                                }
                                SetAdmission::Never { limit } => panic!("{limit}"),
                            }
                        }
                        let mut seen = seen.lock().expect("no panic");
                        seen.admitted.append(&mut ours.admitted);
                        seen.refused.append(&mut ours.refused);
                    });
                }
            });
            let seen = seen.into_inner().expect("no panic");
            let sum = |of: &dyn Fn(u64) -> bool| {
                seen.admitted.iter().filter(|(user, ..)| of(*user)).map(|(.., cost)| cost).sum::<u64>()
            };
            let rest = |key: u64, limit: &str| {
                let keys: [KeyHash; 2] = [set.seed().hash(key), set.seed().hash(100 + key % 2)];
                let found = set.peek_each_at(&keys, 0, now).find(|(name, _)| *name == limit);
                let Some((_, Admission::Allowed { remaining, .. })) = found else { panic!("{found:?}") };
                remaining
            };
            for key in 0..USERS {
                assert_eq!(rest(key, "user"), user - sum(&|user| user == key), "{algorithm:?} {round}");
            }
            for key in 0..2 {
                assert_eq!(
                    rest(key, "tenant"),
                    tenant - sum(&|user| user % 2 == key),
                    "{algorithm:?} {round}"
                );
            }
            assert_eq!(rest(0, "all"), all - sum(&|_| true), "{algorithm:?} {round}");
            assert!(!seen.refused.is_empty());
            // (What is left in the end was there all the time but for what calls and holds had in hand.)
            for (limit, user) in &seen.refused {
                let left = rest(*user, limit);
                assert!(left < THREADS as u64 * MOST, "{algorithm:?}: {limit} refused, and has {left}");
            }
        }
        assert_eq!(set.stats().unreturned, 0);
    }
}

/// Three threads, as time goes on: what a bucket admits in all is what it had, and what came in that time.
#[test]
fn never_beyond_any_limit() {
    let set = set([keyed("user", "100/10s"), global("all", "150/10s")])
        .lateness(Duration::from_secs(100))
        .build()
        .expect("valid");
    let (span, together) = (20 * SECOND, Together::new(THREADS));
    let admitted: Vec<u64> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS as u64)
            .map(|thread| {
                let (set, together) = (&set, &together);
                scope.spawn(move || {
                    let (mut random, mut sum) = (Random(thread), [0; 2]);
                    together.wait();
                    for step in 0..2000 {
                        let now = Tick(at(0).0 + span / 2000 * step);
                        let user = usize::from(random.below(2) == 1);
                        if set.check_at(&[user as u64], 1, now).is_allowed() {
                            sum[user] += 1;
                        }
                    }
                    sum
                })
            })
            .collect();
        let sums: Vec<[u64; 2]> =
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
        (0..2).map(|user| sums.iter().map(|sum| sum[user]).sum()).collect()
    });
    assert!(admitted.iter().all(|&user| user <= 300), "{admitted:?}");
    let all: u64 = admitted.iter().sum();
    assert!((440..=450).contains(&all), "{admitted:?}");
}

/// A bucket that is in use gets back all that a hold was too much, however long it took.
#[test]
fn long_holds_of_a_busy_client() {
    let set = built([keyed("tokens", "1000/100s")]);
    assert!(set.check_at(&["ann"], 900, at(0)).is_allowed());
    let mut used = 900;
    for second in 1..=60 {
        let ticket = held(set.reserve_at(&["ann"], 20, MINUTE, at(second)));
        // 10 come back each second, of 20 were 10.
        assert_eq!(set.settle_at(ticket, 10, at(second)), Settled::Settled { uncharged: 0 });
        used = used - 10 + 10;
        assert_eq!(left(&set, &["ann"], "tokens", at(second)), 1000 - used);
    }
    // Two for half a minute: 300 came back meanwhile, and all that they were too much.
    let (one, two) = (
        held(set.reserve_at(&["ann"], 40, MINUTE, at(61))),
        held(set.reserve_at(&["ann"], 40, MINUTE, at(61))),
    );
    assert_eq!(set.settle_at(two, 10, at(91)), Settled::Settled { uncharged: 0 });
    assert_eq!(set.cancel_at(one, at(91)), Settled::Settled { uncharged: 0 });
    assert_eq!(left(&set, &["ann"], "tokens", at(91)), 1000 - (900 - 10 + 10 - 300));
}

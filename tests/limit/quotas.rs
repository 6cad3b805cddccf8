//! Quotas that change while a limiter is in use, against plain twins.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use crate::common::{Random, Together, algorithms::ALGORITHMS, limit::is_bucket};
use proptest::prelude::*;
use std::{
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};
use windlass::{
    Admission, Algorithm, ConfigError, Inherit, KeyedLimiter, LimitRule, LimitSet, Limiter, OnUnknown, Quota,
    Reserved, Seed, SetAdmission, Settled, Tick,
};

const SECOND: u64 = 1_000_000_000;
const INHERIT: [Inherit; 2] = [Inherit::AsIs, Inherit::Proportional];

fn quota(text: &str) -> Quota {
    text.parse().expect("valid")
}

fn at(seconds: u64) -> Tick {
    Tick(1_000_000 * SECOND + seconds * SECOND)
}

fn one(algorithm: Algorithm, text: &str) -> Limiter {
    Limiter::builder(quota(text)).algorithm(algorithm).build().expect("valid")
}

fn many(algorithm: Algorithm, text: &str) -> KeyedLimiter {
    let builder = KeyedLimiter::builder(quota(text)).algorithm(algorithm);
    builder.clients(100).seed(Seed(7)).build().expect("valid")
}

fn left(admission: Admission) -> u64 {
    match admission {
        Admission::Allowed { remaining, .. } => remaining,
        other => panic!("{other:?}"),
    }
}

/// Oracle O11 (the documentation of bucket4j): 40 of 100 left, and the capacity becomes 200, or 20. Its "proportional" is ours; its "additive" of a
/// growing bucket is our `AsIs`. A shrinking one it fills up to what there was left: ours owes what was used. Its "as is" (what is left stays
/// left) is none of ours: who has never come would not have all permits.
#[test]
fn oracle_o11() {
    for (to, proportional, as_is) in [("200/60s", 80, 140), ("20/60s", 8, 0)] {
        for algorithm in ALGORITHMS.into_iter().filter(|&algorithm| is_bucket(algorithm)) {
            for (inherit, wanted) in [(Inherit::Proportional, proportional), (Inherit::AsIs, as_is)] {
                let (one, many) = (one(algorithm, "100/60s"), many(algorithm, "100/60s"));
                assert!(one.check_at(60, at(0)).is_allowed() && many.check_at(1, 60, at(0)).is_allowed());
                one.set_quota_at(quota(to), inherit, at(0)).expect("possible");
                many.set_quota_at(quota(to), inherit, at(0)).expect("possible");
                assert_eq!((one.quota(), many.quota()), (quota(to), quota(to)));
                assert_eq!(left(one.peek_at(0, at(0))), wanted, "{algorithm:?} {inherit:?} {to}");
                assert_eq!(left(many.peek_at(1, 0, at(0))), wanted);
                assert_eq!(
                    left(many.peek_at(2, 0, at(0))),
                    quota(to).capacity(),
                    "a client that is not known"
                );
            }
        }
    }
    // What is owed is worked off at the new pace: 40 of them and one more, a permit in 3 s.
    let one = one(Algorithm::Gcra, "100/60s");
    assert!(one.check_at(60, at(0)).is_allowed());
    one.set_quota_at(quota("20/60s"), Inherit::AsIs, at(0)).expect("possible");
    assert_eq!(one.check_at(1, at(0)), Admission::Denied { retry_after: Duration::from_secs(41 * 3) });
    assert!(!one.check_at(1, Tick(at(123).0 - 1000)).is_allowed());
    assert!(one.check_at(1, at(123)).is_allowed());
}

/// What a client does, or somebody does to its limiter.
#[derive(Clone, Debug)]
enum Step {
    Check(u64),
    Wait(u64),
    Set(u64, Inherit),
}

fn steps(inherit: &'static [Inherit], most: u64) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..=most + 1).prop_map(Step::Check),
        4 => prop_oneof![0..SECOND, 0..20 * SECOND].prop_map(Step::Wait),
        2 => (1..=most, prop::sample::select(inherit)).prop_map(|(n, inherit)| Step::Set(n, inherit)),
    ];
    prop::collection::vec(step, 1..60)
}

/// One limiter and one for many clients, which have to say the same.
struct Both(Limiter, KeyedLimiter);

impl Both {
    fn new(algorithm: Algorithm, quota: Quota) -> Both {
        let one = Limiter::builder(quota).algorithm(algorithm).build().expect("valid");
        let many = KeyedLimiter::builder(quota).algorithm(algorithm).clients(10).seed(Seed(7));
        Both(one, many.build().expect("valid"))
    }

    fn check(&self, cost: u64, now: u64) -> Admission {
        let answer = self.0.check_at(cost, Tick(now));
        assert_eq!(self.1.check_at("ann", cost, Tick(now)), answer);
        answer
    }

    fn set(&self, quota: Quota, inherit: Inherit, now: u64) -> Result<(), ConfigError> {
        let set = self.0.set_quota_at(quota, inherit, Tick(now));
        assert_eq!(self.1.set_quota_at(quota, inherit, Tick(now)), set);
        set
    }
}

/// A bucket of real numbers. It is told what was decided where that depends on what is rounded off.
struct Bucket {
    used: f64,
    rate: f64,
    burst: f64,
    now: u64,
}

impl Bucket {
    fn new(quota: Quota, now: u64) -> Bucket {
        Bucket { used: 0.0, rate: pace(quota), burst: of(quota.capacity()), now }
    }

    fn go_to(&mut self, now: u64) {
        self.used = (self.used - of(now - self.now) * self.rate).max(0.0);
        self.now = now;
    }

    fn set(&mut self, quota: Quota, inherit: Inherit) {
        let burst = of(quota.capacity());
        if inherit == Inherit::Proportional {
            self.used *= burst / self.burst;
        }
        (self.rate, self.burst) = (pace(quota), burst);
    }
}

#[allow(clippy::cast_precision_loss)] // small numbers
fn of(n: u64) -> f64 {
    n as f64
}

fn pace(quota: Quota) -> f64 {
    of(quota.permits()) / quota.per().as_secs_f64() / of(SECOND)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    /// Buckets: never more than the real numbers say, and no less but for what is rounded off.
    #[test]
    fn buckets(
        algorithm in prop::sample::select(&[Algorithm::Gcra, Algorithm::TokenBucket, Algorithm::LeakyQueue][..]),
        seconds in prop::sample::select(&[1_u64, 7, 60][..]),
        pers in prop::collection::vec(1_u64..100, 60),
        steps in steps(&INHERIT, 40),
    ) {
        let first = Quota::new(20, Duration::from_secs(seconds));
        let (both, mut now) = (Both::new(algorithm, first), at(0).0);
        let mut twin = Bucket::new(first, now);
        // Of a permit, by each change; and of time, for each step that a clock took then.
        let mut slack = 1e-6;
        both.check(0, now);
        for (step, per) in steps.into_iter().zip(pers) {
            match step {
                Step::Wait(nanos) => now += nanos,
                Step::Set(permits, inherit) => {
                    let quota = Quota::new(permits, Duration::from_secs(per)).burst(permits.div_ceil(2));
                    twin.go_to(now);
                    if both.set(quota, inherit, now).is_ok() {
                        // What is used, and what is off, is a share of other permits.
                        if inherit == Inherit::Proportional {
                            slack *= of(quota.capacity()) / twin.burst;
                        }
                        twin.set(quota, inherit);
                        slack += twin.burst / 256.0 + 1e-6;
                    }
                }
                Step::Check(cost) => {
                    twin.go_to(now);
                    let (next, slack) = (twin.used + of(cost), slack + 2000.0 * twin.rate * 40.0);
                    match both.check(cost, now) {
                        Admission::Allowed { .. } if cost == 0 => {}
                        Admission::Allowed { .. } => {
                            prop_assert!(next <= twin.burst + 1e-6, "{next} of {}", twin.burst);
                            twin.used = next;
                        }
                        Admission::Denied { retry_after } => {
                            prop_assert!(next > twin.burst - slack, "{next} of {}, {slack}", twin.burst);
                            // Then it passes, and not any sooner.
                            let then = now + u64::try_from(retry_after.as_nanos()).expect("soon");
                            prop_assert!(both.0.peek_at(cost, Tick(then)).is_allowed());
                            prop_assert!(!both.0.peek_at(cost, Tick(then - 1)).is_allowed());
                        }
                        Admission::Never => prop_assert!(of(cost) > twin.burst),
                    }
                }
            }
        }
    }

    /// Windows and logs count permits: exactly.
    #[test]
    fn windows(
        algorithm in prop::sample::select(
            &[Algorithm::FixedWindow, Algorithm::SlidingCounter, Algorithm::SlidingLog][..]),
        steps in steps(&[Inherit::AsIs], 40),
    ) {
        const PER: u64 = 10 * SECOND;
        let first = Quota::new(40, Duration::from_nanos(PER));
        let (both, mut now, mut limit) = (Both::new(algorithm, first), at(0).0, 40);
        let mut taken: Vec<(u64, u64)> = Vec::new();
        for step in steps {
            match step {
                // (Logs count in microseconds.)
                Step::Wait(nanos) => now += nanos / 1000 * 1000,
                Step::Set(permits, inherit) => {
                    both.set(Quota::new(permits, Duration::from_nanos(PER)), inherit, now).expect("possible");
                    limit = permits;
                }
                Step::Check(cost) => {
                    let sum = |from: u64, to: u64| -> u64 {
                        taken.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, cost)| cost).sum()
                    };
                    let start = now / PER * PER;
                    let used = match algorithm {
                        Algorithm::FixedWindow => sum(start, u64::MAX),
                        Algorithm::SlidingLog => sum(now - PER + 1, u64::MAX),
                        _ => {
                            let covered = u128::from(sum(start - PER, start)) * u128::from(PER - (now - start));
                            sum(start, u64::MAX) + u64::try_from(covered.div_ceil(u128::from(PER))).expect("small")
                        }
                    };
                    match both.check(cost, now) {
                        Admission::Allowed { remaining, .. } => {
                            prop_assert!(cost == 0 || used + cost <= limit, "{used} + {cost} of {limit}");
                            prop_assert_eq!(remaining, limit.saturating_sub(used + cost));
                            taken.extend((cost > 0).then_some((now, cost)));
                        }
                        Admission::Denied { retry_after } => {
                            prop_assert!(used + cost > limit, "{used} + {cost} of {limit}");
                            let then = now + u64::try_from(retry_after.as_nanos()).expect("soon");
                            prop_assert!(both.0.peek_at(cost, Tick(then)).is_allowed());
                            prop_assert!(!both.0.peek_at(cost, Tick(then - 1)).is_allowed());
                        }
                        Admission::Never => prop_assert!(cost > limit),
                    }
                }
            }
        }
    }
}

/// Threads take what they can, while another changes the quota all the time: together no more than the larger one, and what is charged is what
/// was admitted.
#[test]
fn charges_are_what_was_admitted() {
    for algorithm in ALGORITHMS {
        let (one, many) = (one(algorithm, "1000/60s"), many(algorithm, "1000/60s"));
        let (admitted, together) = ([AtomicU64::new(0), AtomicU64::new(0)], Together::new(4));
        let quotas = [quota("300/60s"), quota("450/60s")];
        for quota in quotas {
            one.set_quota_at(quota, Inherit::AsIs, at(0)).expect("possible");
            many.set_quota_at(quota, Inherit::AsIs, at(0)).expect("possible");
        }
        thread::scope(|scope| {
            for i in 0..3 {
                let (one, many, admitted, together) = (&one, &many, &admitted, &together);
                scope.spawn(move || {
                    let mut random = Random(i);
                    together.wait();
                    for _ in 0..400 {
                        let cost = 1 + random.next() % 3;
                        for (answer, sum) in [one.check_at(cost, at(0)), many.check_at("ann", cost, at(0))]
                            .iter()
                            .zip(admitted)
                        {
                            sum.fetch_add(if answer.is_allowed() { cost } else { 0 }, SeqCst);
                        }
                    }
                });
            }
            together.wait();
            for i in 0..400 {
                one.set_quota_at(quotas[i % 2], Inherit::AsIs, at(0)).expect("possible");
                many.set_quota_at(quotas[i % 2], Inherit::AsIs, at(0)).expect("possible");
            }
        });
        one.set_quota_at(quota("1000/60s"), Inherit::AsIs, at(0)).expect("possible");
        many.set_quota_at(quota("1000/60s"), Inherit::AsIs, at(0)).expect("possible");
        let [of_one, of_ann] = admitted.map(AtomicU64::into_inner);
        assert!(
            (298..=450).contains(&of_one) && (298..=450).contains(&of_ann),
            "{algorithm:?} {of_one} {of_ann}"
        );
        assert_eq!(left(one.peek_at(0, at(0))), 1000 - of_one, "{algorithm:?}");
        assert_eq!(left(many.peek_at("ann", 0, at(0))), 1000 - of_ann, "{algorithm:?}");
    }
}

/// A pace twenty times as slow, and clients are remembered for as long; and one that is faster again.
#[test]
fn remembered_for_as_long_as_it_takes() {
    for inherit in INHERIT {
        let many = many(Algorithm::Gcra, "10/s");
        assert!(many.check_at(1, 10, at(0)).is_allowed());
        many.set_quota_at(quota("10/h"), inherit, at(0)).expect("possible");
        assert!(many.check_at(2, 10, at(1)).is_allowed());
        for seconds in (0..3000).step_by(60) {
            // Others move time on.
            many.check_at(100 + seconds, 1, at(seconds));
            many.maintain_at(at(seconds), 1000);
        }
        assert_eq!([1, 2].map(|client| left(many.peek_at(client, 0, at(3000)))), [8, 8], "{inherit:?}");
        many.set_quota_at(quota("10/s"), inherit, at(3000)).expect("possible");
        assert_eq!([1, 2].map(|client| left(many.peek_at(client, 0, at(3001)))), [10, 10], "{inherit:?}");
    }
}

/// What comes late, from before the change, is answered as at the change; a batch and shared cells go by the new quota as well.
#[test]
fn late_calls_batches_and_shared_cells() {
    let builder =
        KeyedLimiter::builder(quota("10/10s")).clients(1).seed(Seed(7)).lateness(Duration::from_secs(5));
    let many = builder.on_unknown(OnUnknown::Share(1)).build().expect("valid");
    for client in 0..20_000_u64 {
        many.check_at(1_000_000 + client, 10, at(0));
    }
    let unknown = many.stats().unknown;
    assert!(!many.check_at("unknown", 1, at(0)).is_allowed(), "shared with others, who have taken all");
    // Two of ten are back.
    many.set_quota_at(quota("50/10s"), Inherit::AsIs, at(2)).expect("possible");
    assert!(many.check_at(1_000_000, 42, at(1)).is_allowed(), "as at 2");
    assert!(!many.check_at(1_000_000, 1, at(2)).is_allowed());
    assert!(many.check_at("unknown", 42, at(2)).is_allowed());
    assert!(!many.check_at("another", 1, at(2)).is_allowed());
    assert_eq!(many.stats().unknown, unknown + 3);
    let mut admissions = Vec::new();
    many.check_batch_at(&[1_000_001_u64; 43], at(2), &mut admissions);
    assert_eq!(admissions.iter().filter(|answer| answer.is_allowed()).count(), 42);
}

fn refused(limiter: &Limiter, to: Quota, inherit: Inherit) -> ConfigError {
    let before = (limiter.quota(), limiter.peek_at(0, at(5)));
    let error = limiter.set_quota_at(to, inherit, at(5)).expect_err("it is set");
    assert_eq!((limiter.quota(), limiter.peek_at(0, at(5))), before, "something has changed");
    error
}

#[test]
fn errors_change_nothing() {
    for algorithm in ALGORITHMS {
        let one = one(algorithm, "100/60s");
        assert!(one.check_at(60, at(0)).is_allowed());
        for (to, limit) in [
            (Quota::new(0, Duration::from_secs(1)), "1 permit at least"),
            (Quota::new(1, Duration::ZERO), "a time of 1 ns at least"),
        ] {
            for inherit in INHERIT {
                let error = refused(&one, to, inherit);
                assert_eq!((error.field, error.limit.as_str()), ("quota", limit), "{algorithm:?}");
            }
        }
        assert_eq!(refused(&one, quota("10/s burst 10").burst(0), Inherit::AsIs).field, "burst");
        let _ = refused(&one, Quota::new(u64::MAX, Duration::from_secs(60)), Inherit::AsIs);
        if !is_bucket(algorithm) {
            let error = refused(&one, quota("50/60s"), Inherit::Proportional);
            assert_eq!(
                error.to_string(),
                "inherit: Proportional is out of range: AsIs, for windows and logs: they count permits, and not shares"
            );
        }
    }
    for algorithm in [Algorithm::FixedWindow, Algorithm::SlidingCounter] {
        let error = refused(&one(algorithm, "100/60s"), quota("100/30s"), Inherit::AsIs);
        assert_eq!(
            error.to_string(),
            "quota: 100/30s is out of range: a time of 60s, as before: its windows are counted"
        );
    }
    let log = one(Algorithm::SlidingLog, "100/60s");
    for to in ["101/60s", "1/61s"] {
        let error = refused(&log, quota(to), Inherit::AsIs);
        assert_eq!(error.limit, "100 permits and 60000000 us at most, for which its logs were made");
    }
    let bucket = one(Algorithm::Gcra, "100/60s");
    let error = refused(&bucket, quota("100000/60s"), Inherit::AsIs);
    assert!(error.limit.contains("would not last a year"), "{error}");
    bucket
        .set_quota_at(quota("100000/60s"), Inherit::Proportional, at(5))
        .expect("shares of the same minute");
    let error = refused(&bucket, quota("1000000/60s"), Inherit::Proportional);
    let most: u64 = error.limit.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
    assert!(error.limit.ends_with("permits at once at most, for a share to be kept"), "{error}");
    bucket
        .set_quota_at(Quota::new(most, Duration::from_secs(60)), Inherit::Proportional, at(5))
        .expect("most");
    let many = KeyedLimiter::builder(quota("10/s")).clients(10).max_jump(Duration::from_secs(1));
    let many = many.build().expect("valid");
    many.check_at(1, 1, at(0));
    assert_eq!(many.set_quota_at(quota("20/s"), Inherit::AsIs, at(100)).expect_err("a jump").field, "now");
    assert_eq!(
        many.set_quota_for_at(1, quota("20/s"), Inherit::AsIs, at(100)).expect_err("a jump").field,
        "now"
    );
    assert_eq!((many.quota(), many.quota_for(1)), (quota("10/s"), quota("10/s")));
}

/// The greatest limit that a message names is one, and what is changed as often as one likes does not get any worse.
#[test]
fn limits_of_windows_and_many_changes() {
    for algorithm in [Algorithm::FixedWindow, Algorithm::SlidingCounter] {
        let one = one(algorithm, "100/60s");
        let minute = Duration::from_secs(60);
        let error = refused(&one, Quota::new(1 << 40, minute), Inherit::AsIs);
        let most: u64 = error.limit.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
        one.set_quota_at(Quota::new(most, minute), Inherit::AsIs, at(0)).expect("most");
        assert!(one.check_at(most, at(0)).is_allowed());
        assert!(!one.check_at(1, at(0)).is_allowed());
    }
    let one = one(Algorithm::Gcra, "100/60s");
    assert!(one.check_at(50, at(0)).is_allowed());
    for i in 0..100_000 {
        let to = Quota::new(1 + i * 7 % 1013, Duration::from_secs(60));
        one.set_quota_at(to, Inherit::Proportional, at(0)).expect("possible");
    }
    one.set_quota_at(quota("100/60s"), Inherit::Proportional, at(0)).expect("possible");
    assert_eq!(left(one.peek_at(0, at(0))), 50);
}

#[test]
fn quotas_of_single_clients() {
    for algorithm in ALGORITHMS {
        let many = many(algorithm, "100/60s");
        assert!(many.check_at("ann", 60, at(0)).is_allowed());
        many.set_quota_for_at("ann", quota("200/60s"), Inherit::Proportional, at(0)).expect("valid");
        many.set_quota_for_at("eve", quota("1/60s"), Inherit::AsIs, at(0)).expect("valid");
        assert_eq!(many.stats().overrides, 2);
        assert_eq!(["ann", "eve", "bob"].map(|key| many.quota_for(key).permits()), [200, 1, 100]);
        assert_eq!(["ann", "eve", "bob"].map(|key| left(many.peek_at(key, 0, at(0)))), [80, 1, 100]);
        // Whatever the others get.
        many.set_quota_at(quota("50/60s"), Inherit::AsIs, at(0)).expect("possible");
        assert_eq!(["ann", "eve", "bob"].map(|key| left(many.peek_at(key, 0, at(0)))), [80, 1, 50]);
        assert_eq!(many.check_at("ann", 201, at(0)), Admission::Never);
        assert_eq!(many.check_at("eve", 2, at(0)), Admission::Never);
        assert!(many.check_at("eve", 1, at(0)).is_allowed() && !many.check_at("eve", 1, at(0)).is_allowed());
        let mut admissions = Vec::new();
        many.check_batch_at(&["ann"; 90], at(0), &mut admissions);
        assert_eq!(admissions.iter().filter(|answer| answer.is_allowed()).count(), 80);
        // Back to that of all: half of it used, of which it had used all up to the change.
        many.set_quota_for_at("eve", quota("1/60s"), Inherit::AsIs, at(0)).expect("the same");
        assert!(many.clear_quota_for_at("eve", Inherit::Proportional, at(0)));
        assert!(!many.clear_quota_for_at("eve", Inherit::Proportional, at(0)));
        assert_eq!(left(many.peek_at("eve", 0, at(0))), 0, "{algorithm:?}: all of it was used");
        let error = many.set_quota_for_at("bob", Quota::new(0, Duration::from_secs(1)), Inherit::AsIs, at(0));
        assert_eq!(error.expect_err("no permits").field, "quota");
        assert_eq!((many.stats().overrides, many.quota_for("bob")), (1, quota("50/60s")));
        assert!(many.forget_at("ann", at(0)));
        assert_eq!(left(many.peek_at("ann", 0, at(0))), 200);
    }
}

/// Threads give quotas to clients of one shard and of others, while calls go on: none is lost, and none gives more than it has.
#[test]
fn many_quotas_at_once() {
    const EACH: u64 = 300;
    let (many, together) = (many(Algorithm::Gcra, "1/60s"), Together::new(4));
    let admitted: Vec<AtomicU64> = (0..3 * EACH).map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        for i in 0..3 {
            let (many, together) = (&many, &together);
            scope.spawn(move || {
                together.wait();
                for client in i * EACH..(i + 1) * EACH {
                    many.set_quota_for_at(client, quota("3/60s"), Inherit::AsIs, at(0)).expect("valid");
                }
            });
        }
        together.wait();
        for client in (0..3 * EACH).chain(0..3 * EACH) {
            let allowed = many.check_at(client, 1, at(0)).is_allowed();
            admitted[usize::try_from(client).expect("small")].fetch_add(u64::from(allowed), SeqCst);
        }
    });
    assert_eq!(many.stats().overrides, 3 * EACH);
    for (client, admitted) in (0..).zip(admitted) {
        let (admitted, left) = (admitted.into_inner(), left(many.peek_at(client as u64, 0, at(0))));
        // By the old quota one at most, which may not count.
        assert!((3..=4).contains(&(admitted + left)), "{admitted} and {left}");
    }
}

#[test]
fn of_a_set() {
    let set = LimitSet::builder()
        .limit(LimitRule::keyed("user", quota("100/60s")).clients(1000))
        .limit(LimitRule::global("all", quota("1000/60s")).algorithm(Algorithm::FixedWindow));
    let set = set.seed(Seed(7)).reservations(10).build().expect("valid");
    let left = |now| -> Vec<u64> {
        set.peek_each_at(&["ann"], 0, now).map(|(_, admission)| left(admission)).collect()
    };
    let Reserved::Held(ticket) = set.reserve_at(&["ann"], 60, Duration::from_secs(100), at(0)) else {
        panic!("there is room")
    };
    assert_eq!(left(at(0)), [40, 940]);
    set.set_quota_at("user", quota("200/60s"), at(0)).expect("possible");
    set.set_quota_at("all", quota("100/60s"), at(0)).expect("possible");
    assert_eq!(left(at(0)), [140, 40]);
    let names = |set: &LimitSet| -> Vec<String> {
        set.limits().map(|(name, quota, _)| format!("{name} {quota}")).collect()
    };
    assert_eq!(names(&set), ["user 200/m", "all 100/m"]);
    // Of what was held by the old quotas 50 permits come back, of each.
    assert_eq!(set.settle_at(ticket, 10, at(0)), Settled::Settled { uncharged: 0 });
    assert_eq!(left(at(0)), [190, 90]);
    let denied = set.check_at(&["ann"], 95, at(0));
    assert!(matches!(denied, SetAdmission::Denied { limit: "all", .. }), "{denied:?}");
    assert_eq!(left(at(0)), [190, 90], "a refused call leaves nothing charged");
    assert!(matches!(set.check_at(&["ann"], 101, at(0)), SetAdmission::Never { limit: "all" }));
    let error = set.set_quota_at("none", quota("1/s"), at(0)).expect_err("no such limit");
    assert_eq!(error.to_string(), r#"limit: "none" is out of range: one of ["user", "all"]"#);
    let error = set.set_quota_at("all", quota("100/s"), at(0)).expect_err("other windows");
    assert_eq!((error.field, error.value.as_str()), ("quota", r#"100/s of "all""#));
    assert_eq!(left(at(0)), [190, 90]);
}

/// Threads call a set whose quotas change: what stays charged is what was admitted, of each limit.
#[test]
fn of_a_set_in_use() {
    for algorithm in [Algorithm::Gcra, Algorithm::FixedWindow, Algorithm::SlidingCounter] {
        let rule = |name| LimitRule::global(name, quota("1000/60s")).algorithm(algorithm);
        let set = LimitSet::builder()
            .limit(LimitRule::keyed("user", quota("1000/60s")).algorithm(algorithm).clients(10))
            .limit(rule("tenant"))
            .limit(rule("all"));
        let set = set.seed(Seed(7)).reservations(10).build().expect("valid");
        let (admitted, together) = (AtomicU64::new(0), Together::new(4));
        thread::scope(|scope| {
            for i in 0..3 {
                let (set, admitted, together) = (&set, &admitted, &together);
                scope.spawn(move || {
                    let mut random = Random(i);
                    together.wait();
                    for _ in 0..300 {
                        let cost = 1 + random.next() % 3;
                        if set.check_at(&["ann"], cost, at(0)).is_allowed() {
                            admitted.fetch_add(cost, SeqCst);
                        }
                    }
                });
            }
            together.wait();
            for (i, name) in (0..300_u64).zip(["user", "tenant", "all"].into_iter().cycle()) {
                set.set_quota_at(name, Quota::new(300 + i % 50, Duration::from_secs(60)), at(0))
                    .expect("possible");
            }
        });
        for name in ["user", "tenant", "all"] {
            set.set_quota_at(name, quota("1000/60s"), at(0)).expect("possible");
        }
        assert_eq!(set.stats().unreturned, 0);
        let admitted = admitted.into_inner();
        for (name, admission) in set.peek_each_at(&["ann"], 0, at(0)) {
            assert_eq!(left(admission), 1000 - admitted, "{algorithm:?} {name}");
        }
    }
}

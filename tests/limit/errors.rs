//! Bad quotas and settings are told in one line; after that nothing fails, whatever the ticks, the costs and the clients.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use crate::common::{algorithms::ALGORITHMS, limit::is_bucket};
use proptest::prelude::*;
use std::time::Duration;
use windlass::{
    Admission, Algorithm, Clock, ConfigError, KeyedLimiter, KeyedLimiterBuilder, Limiter, OnUnknown, Quota,
    Seed, Tick, Window,
};

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

/// By a limiter and by one for many clients, which say the same.
fn refused(algorithm: Algorithm, quota: Quota) -> ConfigError {
    let one = Limiter::builder(quota).algorithm(algorithm).build().map(|_| ());
    let many = KeyedLimiter::builder(quota).algorithm(algorithm).clients(10).build().map(|_| ());
    assert_eq!(one, many);
    let error = one.expect_err("it was built");
    assert_eq!(error.to_string().lines().count(), 1);
    error
}

fn ten() -> KeyedLimiterBuilder {
    KeyedLimiter::builder(Quota::new(10, SECOND)).clients(10).seed(Seed(7))
}

#[track_caller]
fn says(builder: KeyedLimiterBuilder, text: &str) {
    let error = builder.build().map(|_| ()).expect_err("it was built");
    assert!(error.to_string().starts_with(text), "{error}");
}

#[test]
fn quotas() {
    for algorithm in ALGORITHMS {
        for (quota, text) in [
            (Quota::new(0, SECOND), "quota: 0/s is out of range: 1 permit at least"),
            (Quota::new(1, Duration::ZERO), "quota: 1/0ns is out of range: a time of 1 ns at least"),
            (Quota::new(1, 367 * DAY), "quota: 1/367d is out of range: a time of 366 days at most"),
        ] {
            assert_eq!(refused(algorithm, quota).to_string(), text);
        }
        for per in [366 * DAY + Duration::from_nanos(1), 36_525 * DAY, Duration::MAX] {
            assert_eq!(refused(algorithm, Quota::new(1, per)).field, "quota");
        }
        let _ = refused(algorithm, Quota::new(u64::MAX, SECOND));
        assert!(Limiter::builder(Quota::new(1, 366 * DAY)).algorithm(algorithm).build().is_ok());
    }
}

#[test]
fn bursts() {
    for algorithm in ALGORITHMS {
        let with = |burst| Quota::new(10, SECOND).burst(burst);
        assert_eq!(refused(algorithm, with(0)).field, "burst");
        if is_bucket(algorithm) {
            // 2^56 ns at 10/s.
            let most = (1 << 56) / 100_000_000;
            assert!(Limiter::builder(with(most)).algorithm(algorithm).build().is_ok());
            for burst in [most + 1, u64::MAX] {
                assert_eq!(refused(algorithm, with(burst)).field, "quota");
            }
        } else {
            for burst in [1, 9, 11, u64::MAX] {
                let error = refused(algorithm, with(burst)).to_string();
                let limit = "10, the quota's, or none: a window has no burst of its own";
                assert_eq!(error, format!("burst: {burst} is out of range: {limit}"));
            }
            assert!(Limiter::builder(with(10)).algorithm(algorithm).build().is_ok());
        }
    }
}

/// The greatest quota that the message names does fit, and one more does not.
#[test]
fn beyond_the_word() {
    for algorithm in [Algorithm::FixedWindow, Algorithm::SlidingCounter, Algorithm::SlidingLog] {
        for per in [Duration::from_micros(1), Duration::from_millis(1), SECOND, 60 * SECOND, DAY, 366 * DAY] {
            let error = refused(algorithm, Quota::new(u64::MAX, per));
            let most = error.limit.strip_suffix(" permits at most with this algorithm and time");
            let most: u64 = most.expect("the limit's text").parse().expect("a number");
            assert!(Limiter::builder(Quota::new(most, per)).algorithm(algorithm).build().is_ok(), "{error}");
            assert_eq!(refused(algorithm, Quota::new(most + 1, per)).limit, error.limit);
            match (algorithm, per) {
                (Algorithm::SlidingCounter, SECOND) => assert_eq!(most, 8191),
                (Algorithm::SlidingCounter, per) if per == 60 * SECOND => assert_eq!(most, 65_535),
                (Algorithm::SlidingLog, _) => assert_eq!(most, 16_383),
                _ => {}
            }
        }
    }
    // A permit in 4 ns.
    for algorithm in [Algorithm::Gcra, Algorithm::TokenBucket, Algorithm::LeakyQueue] {
        let fits = Quota::new(250_000_000, SECOND);
        assert!(Limiter::builder(fits).algorithm(algorithm).build().is_ok());
        let error = refused(algorithm, Quota::new(250_000_001, SECOND));
        assert!(error.limit.starts_with("a permit in 4 ns at most"), "{error}");
    }
}

#[test]
fn settings() {
    let max = Window::MAX_TICKS;
    says(ten().clients(0), "clients: 0 is out of range: 1 to ");
    says(ten().clients(usize::MAX), &format!("clients: {} is out of range: 1 to ", usize::MAX));
    says(ten().clients(1000).max_memory(1000), "max_memory: 1000 bytes is out of range: ");
    for (lateness, nanos) in
        [(Duration::from_nanos(max + 1), u128::from(max) + 1), (Duration::MAX, Duration::MAX.as_nanos())]
    {
        says(ten().lateness(lateness), &format!("lateness: {nanos} ns is out of range: 0 to {max} ns"));
        says(ten().max_jump(lateness), &format!("max_jump: {nanos} ns is out of range: 1 to {max} ns"));
    }
    says(ten().max_jump(Duration::ZERO), &format!("max_jump: 0 ns is out of range: 1 to {max} ns"));
    says(ten().clock(Clock::events()), "clock: a clock of events is out of range: one of time");
    let one = Limiter::builder(Quota::new(10, SECOND)).clock(Clock::events()).build();
    assert_eq!(one.map(|_| ()).expect_err("events").field, "clock");
    says(
        ten().algorithm(Algorithm::SlidingLog).max_memory(1 << 30),
        "max_memory: 1073741824 bytes is out of range: none, for sliding logs",
    );
    for algorithm in ALGORITHMS {
        let lateness = Duration::from_nanos(max);
        let builder = KeyedLimiter::builder(Quota::new(1, 366 * DAY)).algorithm(algorithm).clients(10);
        let limiter = builder.lateness(lateness).max_jump(lateness).build().expect("valid");
        assert!(limiter.check_at(1_u64, 1, Tick(0)).is_allowed());
        assert!(!limiter.check_at(1_u64, 1, Tick(0)).is_allowed());
    }
}

const FRESH: Duration = Duration::ZERO;

/// When the table is full those it knows are not affected; the others are answered by the policy, and counted.
#[test]
fn a_full_table() {
    for algorithm in ALGORITHMS {
        for on_unknown in [OnUnknown::Deny, OnUnknown::Allow] {
            let builder = ten().algorithm(algorithm).clients(1).on_unknown(on_unknown);
            let (limiter, now) = (builder.build().expect("valid"), Tick(0));
            let unknown = match on_unknown {
                OnUnknown::Share(_) => unreachable!(),
                OnUnknown::Allow => Admission::Allowed { remaining: 0, reset_after: FRESH, delay: FRESH },
                OnUnknown::Deny => Admission::Denied { retry_after: SECOND / 10 },
            };
            let (mut known, mut refused) = (Vec::new(), 0);
            for client in 0..1000_u64 {
                match limiter.check_at(client, 1, now) {
                    Admission::Allowed { remaining: 9, .. } => known.push(client),
                    other => {
                        assert_eq!(other, unknown);
                        refused += 1;
                    }
                }
            }
            assert!(known.len() < 200 && refused > 0);
            assert_eq!(limiter.stats().unknown, refused);
            for &client in &known {
                for left in (0..9).rev() {
                    let admission = limiter.check_at(client, 1, now);
                    assert!(matches!(admission, Admission::Allowed { remaining, .. } if remaining == left));
                }
                assert!(!limiter.check_at(client, 1, now).is_allowed());
            }
            assert_eq!(limiter.stats().unknown, refused);
            // There is room again when they are as good as new. (Of a log when the epoch has moved on, which other tests may hold back for a while.)
            let later = Tick(60_000_000_000);
            let has_room = |_| {
                limiter.maintain_at(later, 100);
                let admission = limiter.check_at(5000_u64, 1, later);
                std::thread::yield_now();
                matches!(admission, Admission::Allowed { remaining: 9, .. })
            };
            assert!((0..1_000_000).any(has_room), "{algorithm:?}, {on_unknown:?}");
        }
    }
}

/// A tick that jumps too far is answered as an unknown client's, counted, and changes nothing.
#[test]
fn jumps() {
    for algorithm in ALGORITHMS {
        let limiter = ten().algorithm(algorithm).max_jump(60 * SECOND).build().expect("valid");
        let now = Tick(100_000_000_000);
        assert!(limiter.check_at(1_u64, 10, now).is_allowed());
        let denied = limiter.check_at(1_u64, 10, now);
        let unknown = Admission::Denied { retry_after: SECOND / 10 };
        for tick in [Tick(now.0 + 61_000_000_000), Tick(u64::MAX)] {
            assert_eq!(limiter.check_at(1_u64, 1, tick), unknown, "known");
            assert_eq!(limiter.check_at(2_u64, 1, tick), unknown, "not known");
            assert_eq!(limiter.peek_at(1_u64, 1, tick), unknown);
            assert_eq!(limiter.check_at(1_u64, 11, tick), Admission::Never);
            limiter.maintain_at(tick, 10);
        }
        assert_eq!(limiter.check_at(1_u64, 10, now), denied);
        assert_eq!((limiter.stats().jumps, limiter.stats().late), (4, 0));
        assert!(limiter.check_at(1_u64, 10, Tick(now.0 + 60_000_000_000)).is_allowed());
    }
}

/// The times of a sliding log end before those of the others, and did wrap there: whoever came later got all, each time.
#[test]
fn at_the_end_of_time() {
    for algorithm in ALGORITHMS {
        let limiter = Limiter::builder(Quota::new(10, SECOND)).algorithm(algorithm).build().expect("valid");
        assert!(limiter.check_at(1, Tick(0)).is_allowed());
        for years in [8, 9, 10, 100] {
            let now = Tick(years * 366 * 86_400_000_000_000);
            let granted = (0..100).filter(|_| limiter.check_at(1, now).is_allowed()).count();
            assert!(granted <= 10, "{algorithm:?}: {granted} after {years} years");
        }
        let granted = (0..100).filter(|i| limiter.check_at(1, Tick(u64::MAX - i)).is_allowed()).count();
        assert_eq!(granted, 0, "{algorithm:?}: time stands still");
    }
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..20_u64,
        (0..64_u32, -1..2_i64).prop_map(|(bits, more)| (1_u64 << bits).saturating_add_signed(more)),
        Just(u64::MAX),
        any::<u64>(),
    ]
}

/// Remaining, reset, retry, delay: no more than there can be.
fn is_in_range(admission: Admission, cost: u64, burst: u64, many: bool) -> bool {
    match admission {
        Admission::Allowed { remaining, .. } => {
            cost <= burst && remaining <= burst - if many { 0 } else { cost }
        }
        Admission::Denied { retry_after } => cost <= burst && retry_after > Duration::ZERO,
        Admission::Never => cost > burst,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_overflows(
        algorithm in prop::sample::select(ALGORITHMS.to_vec()),
        permits in number(),
        nanos in number(),
        burst in prop::option::of(number()),
        lateness in prop_oneof![Just(0), number()],
        calls in prop::collection::vec((0..6_u8, number(), number()), 1..40),
    ) {
        let quota = Quota::new(permits, Duration::from_nanos(nanos));
        let quota = burst.map_or(quota, |burst| quota.burst(burst));
        let burst = burst.unwrap_or(permits);
        let Ok(one) = Limiter::builder(quota).algorithm(algorithm).build() else { return Ok(()) };
        let many = KeyedLimiter::builder(quota).algorithm(algorithm).clients(10);
        let many = many.lateness(Duration::from_nanos(lateness)).build();
        let mut last = Tick(0);
        for (kind, number, cost) in calls {
            let now = if number % 3 == 0 { last } else { Tick(number) };
            let cost = if kind % 2 == 0 { cost } else { cost % burst.saturating_add(2) };
            last = now;
            match kind {
                0 | 1 => {
                    prop_assert!(is_in_range(one.check_at(cost, now), cost, burst, false));
                    if let Ok(many) = &many {
                        prop_assert!(is_in_range(many.check_at(cost % 3, cost, now), cost, burst, true));
                    }
                }
                2 | 3 => {
                    prop_assert!(is_in_range(one.peek_at(cost, now), cost, burst, false));
                    if let Ok(many) = &many {
                        prop_assert!(is_in_range(many.peek_at(cost % 3, cost, now), cost, burst, true));
                    }
                }
                4 => {
                    one.forget_at(now);
                    if let Ok(many) = &many {
                        many.forget_at(cost % 3, now);
                    }
                }
                _ => {
                    if let Ok(many) = &many {
                        many.maintain_at(now, 10);
                        prop_assert!(many.stats().clients <= 3);
                    }
                }
            }
        }
    }

    /// What is read is what is written; what cannot be read is told in one line. (Control characters are escaped.)
    #[test]
    fn any_quota_text(text in prop_oneof![
        any::<String>(),
        "[0-9]{0,20} ?/ ?[0-9]{0,20} ?(ns|us|ms|s|m|min|h|d)?( ?burst ?[0-9]{0,20})?",
        "[-+0-9/.a-z ]{0,30}",
    ]) {
        match text.parse::<Quota>() {
            Ok(quota) => {
                prop_assert_eq!(quota.to_string().parse(), Ok(quota));
                for algorithm in ALGORITHMS {
                    let _ = Limiter::builder(quota).algorithm(algorithm).build();
                }
            }
            Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
        }
    }
}

#[test]
fn quota_texts() {
    for text in ["10/0s", "-1/s", "0/s", "10/s burst 0", "1/-1s", "10/367d", "18446744073709551616/s"] {
        let error = text.parse::<Quota>().expect_err(text);
        assert!(["quota", "burst"].contains(&error.field), "{error}");
    }
}

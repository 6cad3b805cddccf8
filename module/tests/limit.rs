//! `WL.LIMIT`.

use crate::common::{loaded, text, until_followed};
use proptest::{
    prelude::*,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};
use redis::Value;
use std::time::Duration;
use windlass::{Admission, Algorithm, Limiter, Quota, Tick};

const ALGORITHMS: [(&str, Algorithm); 6] = [
    ("GCRA", Algorithm::Gcra),
    ("BUCKET", Algorithm::TokenBucket),
    ("QUEUE", Algorithm::LeakyQueue),
    ("FIXED", Algorithm::FixedWindow),
    ("SLIDING", Algorithm::SlidingCounter),
    ("LOG", Algorithm::SlidingLog),
];

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_nanos().div_ceil(1000)).expect("in range")
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).expect("in range")
}

#[test]
fn answers() {
    let Some(mut server) = loaded(&[]) else { return };
    let mut at = |at: u64, words: &str| server.numbers(&format!("WL.AT {at} LIMIT {words}"));
    // Whether it may, the most at once, what is left, when to come again, when all is there again, how long to wait.
    assert_eq!(at(1_000_000, "g GCRA 2 1000"), [1, 2, 1, 0, 500_000, 0]);
    assert_eq!(at(1_100_000, "g gcra 2 1000"), [1, 2, 0, 0, 900_000, 0]);
    assert_eq!(at(1_200_000, "g GCRA 2 1000 PEEK"), [0, 2, 0, 300_000, 800_000, 0]);
    assert_eq!(at(1_200_000, "g GCRA 2 1000"), [0, 2, 0, 300_000, 800_000, 0]);
    assert_eq!(at(1_500_000, "g GCRA 2 1000"), [1, 2, 0, 0, 1_000_000, 0]);
    assert_eq!(at(1_500_000, "g GCRA 2 1000 COST 3")[..3], [-1, 2, 0]);
    assert_eq!(at(1_500_000, "g GCRA 2 1000 COST 0"), [1, 2, 0, 0, 1_000_000, 0]);
    assert_eq!(at(9_000_000, "b BUCKET 10 1000 BURST 20 COST 15"), [1, 20, 5, 0, 1_500_000, 0]);
    assert_eq!(at(9_000_000, "f FIXED 10 1000 COST 4"), [1, 10, 6, 0, 1_000_000, 0]);
    assert_eq!(at(9_000_000, "l LOG 10 1000 COST 4"), [1, 10, 6, 0, 1_000_000, 0]);
    assert_eq!(at(9_000_000, "q QUEUE 2 1000")[5], 0);
    assert_eq!(at(9_000_000, "q QUEUE 2 1000")[5], 500_000);
    // Looking makes no key, and nor does what is never allowed.
    assert_eq!(at(1, "p SLIDING 5 1000 PEEK"), [1, 5, 4, 0, 1_999_999, 0]);
    assert_eq!(at(1, "p SLIDING 5 1000 COST 6")[0], -1);
    assert_eq!(server.told("EXISTS p"), Value::Int(0));
    assert_eq!(text(&server.told("TYPE g")), "wlm-limit");
}

#[test]
fn what_is_refused() {
    let Some(mut server) = loaded(&[]) else { return };
    server.told("WL.DEDUP d 1000 a");
    server.told("WL.LIMIT l GCRA 10 100000");
    for (words, why) in [
        ("WL.LIMIT l GCRA 10", "wrong number of arguments"),
        ("WL.LIMIT l LEAKY 10 1000", "the algorithm is one of"),
        ("WL.LIMIT l GCRA 0 1000", "limit is not"),
        ("WL.LIMIT l GCRA 10 0", "window-ms is not"),
        ("WL.LIMIT l GCRA 10 1000 BURST", "syntax error"),
        ("WL.LIMIT l GCRA 10 1000 BURST 0", "BURST is not"),
        ("WL.LIMIT l GCRA 10 1000 COST -1", "COST is not"),
        ("WL.LIMIT l GCRA 10 1000 ENDS", "syntax error"),
        ("WL.LIMIT l FIXED 10 100000", "the key is a limit by GCRA"),
        ("WL.LIMIT l FIXED 10 100000 PEEK", "the key is a limit by GCRA"),
        ("WL.LIMIT n FIXED 10 100000 BURST 5", "a window has no burst of its own"),
        ("WL.LIMIT n LOG 100000 100000", "16383 permits at most"),
        ("WL.LIMIT n GCRA 9000000000000000000 1", "quota"),
        ("WL.LIMIT d GCRA 10 1000", "WRONGTYPE"),
        ("WL.LIMIT d GCRA 10 1000 PEEK", "WRONGTYPE"),
    ] {
        let refused = server.refused(words);
        assert!(refused.contains(why), "{words}: {refused}");
    }
    assert_eq!(server.told("EXISTS n"), Value::Int(0));
}

/// A key is gone when it makes no difference, and not before.
#[test]
fn keys_end() {
    let Some(mut server) = loaded(&[]) else { return };
    for (name, _) in ALGORITHMS {
        assert_eq!(server.numbers(&format!("WL.LIMIT {name} {name} 1 60000"))[0], 1);
        let Value::Int(left) = server.told(&format!("PTTL {name}")) else { panic!("a number") };
        assert!((0..=120_001).contains(&left), "{name}: {left}");
        assert_eq!(server.numbers(&format!("WL.LIMIT {name} {name} 1 60000 PEEK"))[0], 0);
    }
    server.told("WL.LIMIT short GCRA 1 30");
    crate::servers::until("it is gone", || server.told("EXISTS short") == Value::Int(0));
    // By logical time keys stay.
    server.told("WL.AT 5 LIMIT logical GCRA 1 30");
    assert_eq!(server.told("PTTL logical"), Value::Int(-1));
}

/// Another quota counts from then on, with what has been used.
#[test]
fn other_quotas() {
    let Some(mut server) = loaded(&[]) else { return };
    let mut replica = server.follower(&[]);
    assert_eq!(server.numbers("WL.AT 1000000 LIMIT k GCRA 100 60000 COST 60")[2], 40);
    assert_eq!(server.numbers("WL.AT 1000000 LIMIT k GCRA 200 60000 COST 1")[..3], [1, 200, 139]);
    assert_eq!(server.numbers("WL.AT 1000000 LIMIT k GCRA 50 60000 COST 1")[0], 0);
    until_followed(&server, &replica);
    assert_eq!(server.digest("k"), replica.digest("k"));
}

/// When a key ends, a replica is told; by logical time none does.
#[test]
fn replicas_know_when_keys_end() {
    let Some(mut server) = loaded(&[]) else { return };
    let mut replica = server.follower(&[]);
    // (Words of commands as keys.)
    for key in ["l", "ENDS", "PEEK", "COST"] {
        server.told(&format!("WL.LIMIT {key} GCRA 2 600000000 COST 2"));
        server.told(&format!("WL.AT 5 LIMIT at-{key} GCRA 2 600000000 COST 2"));
    }
    until_followed(&server, &replica);
    for key in ["l", "ENDS", "PEEK", "COST"] {
        let ends = server.told(&format!("PEXPIRETIME {key}"));
        assert!(matches!(ends, Value::Int(1..)), "{ends:?}");
        assert_eq!(replica.told(&format!("PEXPIRETIME {key}")), ends, "{key}");
        assert_eq!(replica.told(&format!("PEXPIRETIME at-{key}")), Value::Int(-1), "{key}");
        assert_eq!(server.digest(key), replica.digest(key), "{key}");
    }
}

#[test]
fn as_the_core_decides() {
    let Some(mut server) = loaded(&[]) else { return };
    let mut replica = server.follower(&[]);
    let quotas = (
        prop_oneof![1..=5_u64, 1..=100_u64, 1..=5000_u64],
        prop_oneof![Just(1000_u64), Just(60_000), 2..100_000_u64],
        prop::option::of(1..=200_u64),
        prop::sample::select(&ALGORITHMS[..]),
    );
    let quotas =
        quotas.prop_filter_map("the core can count it", |(permits, millis, burst, (name, algorithm))| {
            let of_bucket =
                matches!(algorithm, Algorithm::Gcra | Algorithm::TokenBucket | Algorithm::LeakyQueue);
            let quota = Quota::new(permits, Duration::from_millis(millis));
            let burst = burst.filter(|_| of_bucket);
            let quota = burst.map_or(quota, |burst| quota.burst(burst));
            Limiter::builder(quota)
                .algorithm(algorithm)
                .build()
                .ok()
                .map(|core| (quota, name, std::sync::Arc::new(core)))
        });
    let calls = prop::collection::vec(
        (prop_oneof![3 => Just(1_u64), 1 => 0..40_u64, 1 => 40..1100_u64], 0..600_u64),
        1..60,
    );
    let config = ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let servers = std::cell::RefCell::new((&mut server, &mut replica, 0));
    let ran = runner.run(&(quotas, calls), |((quota, name, core), calls)| {
        let (server, replica, case) = &mut *servers.borrow_mut();
        *case += 1;
        let (key, mut at) = (format!("case-{case}"), 1_795_348_800_123_457_u64);
        let millis = u64::try_from(quota.per().as_millis()).expect("in range");
        let mut kept = false;
        for (cost, step) in calls {
            at += millis * step;
            let cost = if cost > 40 { (quota.capacity() * cost).div_ceil(1000) } else { cost };
            let words = format!("{} {millis} BURST {} COST {cost}", quota.permits(), quota.capacity());
            let told = server.numbers(&format!("WL.AT {at} LIMIT {key} {name} {words}"));
            let admission = core.check_at(cost, Tick(at * 1000));
            let Admission::Allowed { remaining: left, reset_after: reset, .. } =
                core.peek_at(0, Tick(at * 1000))
            else {
                panic!("cost 0")
            };
            kept |= admission.is_allowed() && cost > 0;
            let (code, retry, delay) = match admission {
                Admission::Allowed { delay, .. } => (1, 0, micros(delay)),
                Admission::Denied { retry_after } => (0, micros(retry_after), 0),
                Admission::Never => (-1, 0, 0),
            };
            prop_assert_eq!(
                told,
                vec![code, whole(quota.capacity()), whole(left), retry, micros(reset), delay],
                "{} {} {} at {}",
                name,
                quota,
                cost,
                at
            );
        }
        if kept {
            until_followed(server, replica);
            prop_assert_eq!(server.digest(&key), replica.digest(&key));
        }
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
}

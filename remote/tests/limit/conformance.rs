//! The scripts against the core: the same answers to the same calls, field by field, by logical time.

use super::{connect, in_micros};
use crate::{
    algorithms::ALGORITHMS,
    servers::{Server, available},
};
use proptest::{prelude::*, test_runner::TestRunner};
use std::{
    collections::HashMap,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};
use tokio::runtime::Runtime;
use windlass::{KeyedLimiter, LimitRule, LimitSet, Limiter, Tick};
use windlass_remote::{
    Admission, Algorithm, Quota, Remote, RemoteLimitRule, RemoteLimitSet, RemoteLimiter, SetAdmission,
};

/// Today, and not at the beginning of a window.
const BEGIN: u64 = 1_795_348_800_123_457;

/// In microseconds. (The core's time goes on for nine, less four times the quota's, from the first call on.)
const FOUR_YEARS: i64 = 4 * 366 * 86_400_000_000;

fn quota() -> impl Strategy<Value = (Quota, Algorithm)> {
    let algorithm = prop::sample::select(&ALGORITHMS[..]);
    let permits = prop_oneof![1..=5_u64, 1..=100_u64, 1..=7000_u64];
    let per = prop_oneof![
        Just(1_000_000_u64),
        Just(60_000_000),
        Just(86_400_000_000),
        Just(366 * 86_400_000_000),
        2_000..10_000_000_u64,
    ];
    let burst = prop::option::of(prop_oneof![Just(1), 1..=20_u64, 1..=20_000_u64]);
    (permits, per, burst, algorithm).prop_filter_map(
        "the core can count it",
        |(permits, per, burst, algorithm)| {
            let quota = Quota::new(permits, Duration::from_micros(per));
            let of_bucket =
                matches!(algorithm, Algorithm::Gcra | Algorithm::TokenBucket | Algorithm::LeakyQueue);
            let quota = match burst.filter(|_| of_bucket) {
                Some(burst) => quota.burst(burst),
                None => quota,
            };
            Limiter::builder(quota).algorithm(algorithm).build().ok().map(|_| (quota, algorithm))
        },
    )
}

/// Client, share of the burst, time since the call before as a share of the quota's time; both in thousandths, roughly.
fn calls() -> impl Strategy<Value = Vec<(u8, u64, i64)>> {
    let cost = prop_oneof![4 => Just(0), 3 => 1..400_u64, 1 => 400..1100_u64];
    let step = prop_oneof![4 => 0..30_i64, 2 => 0..600_i64, 1 => 600..2500_i64];
    prop::collection::vec((0..3_u8, cost, step), 1..80)
}

struct Call {
    client: Vec<u8>,
    cost: u64,
    at: u64,
}

impl Call {
    fn tick(&self) -> Tick {
        Tick(self.at * 1000)
    }
}

/// Calls at times that begin where they do, and may go back if `back`, but not behind the first.
fn course(quota: Quota, steps: &[(u8, u64, i64)], back: bool) -> Vec<Call> {
    let per = i64::try_from(quota.per().as_micros()).expect("in range");
    let mut at = i64::try_from(BEGIN).expect("in range");
    let begin = at;
    let calls = steps.iter().enumerate().map(|(i, &(client, cost, step))| {
        let span = per / 1000 * step + step.min(per % 1000);
        let goes_back = back && step % 7 == 3;
        at = (if goes_back { at - span / 2 } else { at + span }).clamp(begin, begin + FOUR_YEARS);
        // One permit, or a share of all of them.
        let cost = if cost == 0 { u64::from(i % 11 > 0) } else { (quota.capacity() * cost).div_ceil(1000) };
        Call { client: vec![b'c', client], cost, at: u64::try_from(at).expect("in range") }
    });
    calls.collect()
}

async fn asked(limiter: &RemoteLimiter, calls: &[Call]) -> Vec<Admission> {
    let calls: Vec<(&[u8], u64, u64)> =
        calls.iter().map(|call| (call.client.as_slice(), call.cost, call.at)).collect();
    let answers = limiter.check_at(&calls, false).await;
    answers.into_iter().map(|answer| answer.expect("an answer")).collect()
}

fn remote_limiter(remote: &Remote, quota: Quota, algorithm: Algorithm) -> RemoteLimiter {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let namespace = format!("case-{}", NEXT.fetch_add(1, Relaxed));
    RemoteLimiter::builder(remote, &namespace, quota).algorithm(algorithm).build().expect("valid")
}

fn run<S: Strategy>(
    cases: u32,
    strategy: &S,
    test: impl Fn(&Runtime, &Remote, S::Value) -> Result<(), TestCaseError>,
) {
    if !available() {
        return;
    }
    let runtime = Runtime::new().expect("threads");
    let server = Server::start(&[]);
    let remote = runtime.block_on(connect(&server.address()));
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(strategy, |value| test(&runtime, &remote, value));
    if let Err(error) = result {
        panic!("{error}");
    }
}

fn same_as_keyed(cases: u32) {
    run(cases, &(quota(), calls()), |runtime, remote, ((quota, algorithm), steps)| {
        let calls = course(quota, &steps, false);
        let core = KeyedLimiter::builder(quota).algorithm(algorithm).clients(100).build().expect("valid");
        let expected: Vec<Admission> = calls
            .iter()
            .map(|call| in_micros(core.check_at(call.client.as_slice(), call.cost, call.tick())))
            .collect();
        let found = runtime.block_on(asked(&remote_limiter(remote, quota, algorithm), &calls));
        for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let Call { client, cost, at } = &calls[i];
            prop_assert_eq!(
                found,
                expected,
                "{} {:?}: call {}, {:?} {} at {}",
                quota,
                algorithm,
                i,
                client,
                cost,
                at
            );
        }
        Ok(())
    });
}

fn same_when_time_goes_back(cases: u32) {
    run(cases, &(quota(), calls()), |runtime, remote, ((quota, algorithm), steps)| {
        let calls = course(quota, &steps, true);
        let mut each: HashMap<&[u8], Limiter> = HashMap::new();
        let mut expected = Vec::new();
        for call in &calls {
            let limiter = each.entry(&call.client).or_insert_with(|| {
                let limiter = Limiter::builder(quota).algorithm(algorithm).build().expect("valid");
                // Its time begins with that of all of them.
                limiter.check_at(0, Tick(BEGIN * 1000));
                limiter
            });
            expected.push(in_micros(limiter.check_at(call.cost, call.tick())));
        }
        let found = runtime.block_on(asked(&remote_limiter(remote, quota, algorithm), &calls));
        for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
            prop_assert_eq!(found, expected, "{} {:?}: call {}", quota, algorithm, i);
        }
        Ok(())
    });
}

/// Who is denied passes at the time that it is told, and not a microsecond earlier; and looking changes nothing.
fn the_promise(cases: u32) {
    run(cases, &(quota(), calls()), |runtime, remote, ((quota, algorithm), steps)| {
        let limiter = remote_limiter(remote, quota, algorithm);
        for call in course(quota, &steps, true) {
            let peek = |at| runtime.block_on(limiter.check_at(&[(&call.client, call.cost, at)], true));
            let peeked = peek(call.at).remove(0).expect("an answer");
            if let Admission::Denied { retry_after } = peeked {
                let passes = call.at + u64::try_from(retry_after.as_micros()).expect("in range");
                let early = peek(passes - 1).remove(0).expect("an answer");
                prop_assert_eq!(early, Admission::Denied { retry_after: Duration::from_micros(1) });
                prop_assert!(peek(passes).remove(0).expect("an answer").is_allowed());
            }
            let found = runtime.block_on(asked(&limiter, &[call])).remove(0);
            prop_assert_eq!(found, peeked);
        }
        Ok(())
    });
}

fn set_rules() -> impl Strategy<Value = Vec<(Quota, Algorithm, bool)>> {
    let rule =
        (quota(), any::<bool>()).prop_filter_map("a set can have it", |((quota, algorithm), keyed)| {
            let builder = LimitSet::builder().limit(LimitRule::global("a", quota).algorithm(algorithm));
            builder.build().ok().map(|_| (quota, algorithm, keyed))
        });
    prop::collection::vec(rule, 1..4)
}

fn same_sets(cases: u32) {
    let next = AtomicU32::new(0);
    run(cases, &(set_rules(), calls()), |runtime, remote, (rules, steps)| {
        let namespace = format!("set-{}", next.fetch_add(1, Relaxed));
        let (mut core, mut tier) = (LimitSet::builder(), RemoteLimitSet::builder(remote, &namespace));
        for (i, &(quota, algorithm, keyed)) in rules.iter().enumerate() {
            let name = format!("limit-{i}");
            let (own, other) = match keyed {
                true => (LimitRule::keyed(&name, quota).clients(100), RemoteLimitRule::keyed(&name, quota)),
                false => (LimitRule::global(&name, quota), RemoteLimitRule::global(&name, quota)),
            };
            core = core.limit(own.algorithm(algorithm));
            tier = tier.limit(other.algorithm(algorithm));
        }
        let (core, tier) = (core.build().expect("valid"), tier.build().expect("valid"));
        let shortest = rules.iter().map(|(quota, ..)| *quota).min_by_key(|quota| quota.capacity());
        for call in course(shortest.expect("one at least"), &steps, false) {
            let keys = [call.client.as_slice(); 3];
            let expected = match core.check_at(&keys, call.cost, call.tick()) {
                SetAdmission::Allowed { tightest, remaining, reset_after } => {
                    let all = Admission::Allowed { remaining, reset_after, delay: Duration::ZERO };
                    (Some(tightest), in_micros(all))
                }
                SetAdmission::Denied { limit, retry_after } => {
                    (Some(limit), in_micros(Admission::Denied { retry_after }))
                }
                SetAdmission::Never { limit } => (Some(limit), Admission::Never),
            };
            let found = runtime.block_on(tier.check_at("group", &keys, call.cost, call.at));
            let found = match found.expect("an answer") {
                SetAdmission::Allowed { tightest, remaining, reset_after } => {
                    (Some(tightest), Admission::Allowed { remaining, reset_after, delay: Duration::ZERO })
                }
                SetAdmission::Denied { limit, retry_after } => {
                    (Some(limit), Admission::Denied { retry_after })
                }
                SetAdmission::Never { limit } => (Some(limit), Admission::Never),
            };
            prop_assert_eq!(found, expected, "{:?}, cost {} at {}", &rules, call.cost, call.at);
        }
        Ok(())
    });
}

#[test]
fn keyed() {
    same_as_keyed(150);
}

#[test]
fn time_goes_back() {
    same_when_time_goes_back(150);
}

#[test]
fn promises() {
    the_promise(20);
}

#[test]
fn sets() {
    same_sets(40);
}

#[test]
#[ignore = "long: ./check full"]
fn many() {
    same_as_keyed(3000);
    same_when_time_goes_back(3000);
    the_promise(500);
    same_sets(1000);
}

//! Fast paths: permits taken ahead, and permits reported afterwards.

use super::connect;
use crate::servers::{Server, available, until_async};
use std::{sync::Arc, time::Duration};
use tokio::sync::Barrier;
use windlass_remote::{Admission, Algorithm, DecidedBy, ErrorKind, LimiterDown, Mode, Quota, RemoteLimiter};

/// So long that no test sees its end, nor anything given back.
const LONG: Duration = Duration::from_secs(365 * 86_400);

/// The longest time between reports.
const HOUR: Duration = Duration::from_secs(3600);

/// What four processes were granted of one client's, each with four tasks that call `calls` times; and how often the engine was asked. All
/// have called once before one calls again: else one may be done before another begins, and tell it of all.
async fn hammer(
    server: &Server,
    namespace: &str,
    (algorithm, quota): (Algorithm, Quota),
    mode: Mode,
    calls: usize,
) -> (Vec<u64>, u64, Vec<RemoteLimiter>) {
    let mut limiters = Vec::new();
    for _ in 0..4 {
        let remote = connect(&server.address()).await;
        let limiter = RemoteLimiter::builder(&remote, namespace, quota).algorithm(algorithm).mode(mode);
        limiters.push((limiter.build().expect("valid"), remote));
    }
    let all_begun = Arc::new(Barrier::new(16));
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let (limiter, all_begun) = (limiters[task % 4].0.clone(), all_begun.clone());
            tokio::spawn(async move {
                let mut allowed = 0;
                for call in 0..calls {
                    if call == 1 {
                        all_begun.wait().await;
                    }
                    allowed += u64::from(limiter.check("ann", 1).await.expect("an answer").is_allowed());
                    tokio::task::yield_now().await;
                }
                allowed
            })
        })
        .collect();
    let mut each = vec![0; 4];
    for (task, handle) in tasks.into_iter().enumerate() {
        each[task % 4] += handle.await.expect("no failure");
    }
    let asked = limiters.iter().map(|(_, remote)| remote.stats().calls).sum();
    (each, asked, limiters.into_iter().map(|(limiter, _)| limiter).collect())
}

const COUNTED: [Algorithm; 5] = [
    Algorithm::Gcra,
    Algorithm::TokenBucket,
    Algorithm::FixedWindow,
    Algorithm::SlidingCounter,
    Algorithm::SlidingLog,
];

#[tokio::test(flavor = "multi_thread")]
async fn leases_never_go_over() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    for algorithm in COUNTED {
        let mode = Mode::Lease { permits: 20, hold: LONG };
        let by = (algorithm, Quota::new(1000, LONG));
        let (each, asked, limiters) = hammer(&server, &format!("lease-{algorithm:?}"), by, mode, 200).await;
        let all: u64 = each.iter().sum();
        assert!(all <= 1000, "{algorithm:?}: {each:?}");
        assert!(all > 1000 - 4 * 20, "{algorithm:?}, at most 20 unspent in each: {each:?}");
        assert!(asked < 4 * 1000 / 20 * 2, "{algorithm:?}: asked {asked} times for {all}");
        let here: u64 = limiters.iter().map(|limiter| limiter.stats().allowed_here).sum();
        assert!(here >= all / 2, "{algorithm:?}: {here} of {all} without asking");
    }
}

#[tokio::test]
async fn a_lease_ends() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let build = |namespace: &str, quota, algorithm, hold| {
        let builder = RemoteLimiter::builder(&remote, namespace, quota).algorithm(algorithm);
        builder.mode(Mode::Lease { permits: 5, hold }).build().expect("valid")
    };
    // With its time.
    let limiter = build("hold", Quota::new(100, LONG), Algorithm::Gcra, Duration::from_millis(50));
    assert_eq!(limiter.check("ann", 1).await.expect("an answer").by, DecidedBy::Engine);
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert_eq!(limiter.check("ann", 1).await.expect("an answer").by, DecidedBy::Engine);
    assert_eq!(limiter.stats().unspent, 4);
    // Of a window with that: by the engine's clock no permit is spent in the next one.
    let window = Duration::from_millis(200);
    let limiter = build("window", Quota::new(5, window), Algorithm::FixedWindow, LONG);
    for _ in 0..10 {
        let peek = limiter.peek("ann", 0).await.expect("an answer");
        let first = limiter.check("ann", 1).await.expect("an answer");
        assert!(first.is_allowed() && first.by == DecidedBy::Engine, "{peek:?} {first:?}");
        let Admission::Allowed { reset_after, remaining, .. } = first.admission else { panic!("allowed") };
        assert_eq!(remaining, 4, "what is held counts as there");
        tokio::time::sleep(reset_after + Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn leases_for_more() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let mode = Mode::Lease { permits: 4, hold: LONG };
    let limiter =
        RemoteLimiter::builder(&remote, "more", Quota::new(10, LONG)).algorithm(Algorithm::SlidingLog);
    let limiter = limiter.mode(mode).build().expect("valid");
    // 4 are taken, 3 held; 6 more than 3, and nothing is left over of them.
    assert!(limiter.check("ann", 1).await.expect("an answer").is_allowed());
    assert!(limiter.check("ann", 6).await.expect("an answer").is_allowed());
    assert!(!limiter.check("ann", 4).await.expect("an answer").is_allowed());
    for _ in 0..3 {
        let held = limiter.check("ann", 1).await.expect("an answer");
        assert!(held.is_allowed() && held.by == DecidedBy::Here, "{held:?}");
    }
    assert!(!limiter.check("ann", 1).await.expect("an answer").is_allowed());
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_stay_within_their_bound() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    for algorithm in COUNTED {
        let (limit, quota) = (400_u64, (algorithm, Quota::new(400, LONG)));
        // Nobody reports in the test's time, and so many are called that every process could have all.
        let every = HOUR;
        for near in [0, limit / 2, limit * 9 / 10, limit] {
            let namespace = format!("report-{algorithm:?}-{near}");
            let (each, _, limiters) =
                hammer(&server, &namespace, quota, Mode::Report { every, near }, 250).await;
            let all: u64 = each.iter().sum();
            let bound = limit + 4 * (limit - near);
            assert!(all <= bound, "{algorithm:?}, near {near}: {each:?}");
            if near == 0 {
                assert!(all > limit + limit / 2, "{algorithm:?}: without it it is far too much: {each:?}");
            } else if near == limit {
                assert!(all <= limit, "{algorithm:?}: exact: {each:?}");
            }
            assert!(all >= limit, "{algorithm:?}, near {near}: {each:?}");
            // What was granted has all been charged in the end.
            for limiter in &limiters {
                limiter.flush().await.expect("it is there");
            }
            let told: u64 =
                limiters.iter().map(|limiter| limiter.stats().reported + limiter.stats().allowed).sum();
            assert_eq!(told, all, "{algorithm:?}, near {near}");
            let peek = limiters[0].peek("ann", 1).await.expect("an answer");
            assert!(!peek.is_allowed(), "{algorithm:?}, near {near}: {peek:?}");
        }
    }
}

/// Four processes that report in turn, each right before it is called as often as it ever is between two reports: so what one was told is as old as can be when it goes by it, and
/// the others have yet to report as much as they can. What all are granted beyond the limit.
async fn in_turn(server: &Server, namespace: &str, algorithm: Algorithm, near: u64) -> u64 {
    const LIMIT: u64 = 400;
    let mut limiters = Vec::new();
    for _ in 0..4 {
        let remote = connect(&server.address()).await;
        let builder =
            RemoteLimiter::builder(&remote, namespace, Quota::new(LIMIT, LONG)).algorithm(algorithm);
        // Nobody reports but when it is told to.
        limiters.push(builder.mode(Mode::Report { every: HOUR, near }).build().expect("valid"));
    }
    let mut granted = 0;
    for turn in 0..60 {
        let limiter = &limiters[turn % 4];
        limiter.flush().await.expect("it is there");
        for _ in 0..BETWEEN_REPORTS {
            granted += u64::from(limiter.check("ann", 1).await.expect("an answer").is_allowed());
        }
    }
    assert!(granted >= LIMIT, "{algorithm:?}, near {near}: {granted}");
    granted - LIMIT
}

/// Of each process.
const BETWEEN_REPORTS: u64 = 10;

/// With `near` twice as large as what all grant between two reports nothing is admitted beyond the limit; with half of that it is not enough.
#[tokio::test]
async fn near_is_twice_what_all_grant() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let all = 4 * BETWEEN_REPORTS;
    for algorithm in COUNTED {
        for (near, beyond) in [(2 * all, 0), (all, 10), (0, 30)] {
            let namespace = format!("near-{algorithm:?}-{near}");
            assert_eq!(
                in_turn(&server, &namespace, algorithm, near).await,
                beyond,
                "{algorithm:?}, near {near}"
            );
        }
    }
}

#[tokio::test]
async fn reports_come_by_themselves() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let build = |mode| {
        let builder = RemoteLimiter::builder(&remote, "tick", Quota::new(100, LONG));
        builder.algorithm(Algorithm::SlidingLog).mode(mode).build().expect("valid")
    };
    let reporting = build(Mode::Report { every: Duration::from_millis(20), near: 10 });
    let asking = build(Mode::Ask);
    for _ in 0..50 {
        assert!(reporting.check("ann", 1).await.expect("an answer").is_allowed());
    }
    let asked = remote.stats().calls;
    assert!(asked < 25, "{asked}");
    until_async("they are reported", || async {
        let peek = asking.peek("ann", 0).await.expect("an answer");
        matches!(peek, Admission::Allowed { remaining: 50, .. })
    })
    .await;
    // Near the limit it asks.
    for _ in 0..60 {
        reporting.check("ann", 1).await.expect("an answer");
    }
    let peek = asking.peek("ann", 0).await.expect("an answer");
    assert!(matches!(peek, Admission::Allowed { remaining: 0, .. }), "{peek:?}");
    let stats = reporting.stats();
    assert_eq!(stats.allowed + stats.allowed_here, 100, "{stats:?}");
}

#[tokio::test]
async fn what_could_not_be_reported_is_reported_later() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let mode = Mode::Report { every: HOUR, near: 0 };
    let limiter =
        RemoteLimiter::builder(&remote, "later", Quota::new(10, LONG)).algorithm(Algorithm::SlidingLog);
    let limiter = limiter.mode(mode).down(LimiterDown::Deny).build().expect("valid");
    for _ in 0..5 {
        assert!(limiter.check("ann", 1).await.expect("an answer").is_allowed());
    }
    server.stall();
    // It goes on with what it knows there is, and tells nobody.
    assert!(limiter.flush().await.expect_err("nobody answers").kind().is_outage());
    for _ in 0..5 {
        assert!(limiter.check("ann", 1).await.expect("known").is_allowed());
    }
    assert!(limiter.check("ann", 1).await.expect_err("nobody answers").kind().is_outage());
    server.go_on();
    until_async("it has been told", || async { limiter.flush().await.is_ok() }).await;
    assert_eq!(limiter.stats().reported, 9);
    // (The first report may have come through after all: then it has been charged twice, which denies and never admits.)
    let peek = limiter.peek("ann", 0).await.expect("an answer");
    assert!(matches!(peek, Admission::Allowed { remaining: 0, .. }), "{peek:?}");
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let lease = |permits, hold| Mode::Lease { permits, hold };
    let report = |every, near| Mode::Report { every, near };
    for mode in [
        lease(0, LONG),
        lease(11, LONG),
        lease(1, Duration::ZERO),
        report(Duration::ZERO, 0),
        report(HOUR, 11),
    ] {
        let error = RemoteLimiter::builder(&remote, "a", Quota::new(10, LONG)).mode(mode).build();
        let error = error.expect_err("refused");
        assert!(error.kind() == ErrorKind::Config && error.to_string().contains("mode"), "{error}");
    }
    let queue = RemoteLimiter::builder(&remote, "a", Quota::new(10, LONG)).algorithm(Algorithm::LeakyQueue);
    let error = queue.mode(lease(1, LONG)).build().expect_err("refused");
    assert!(error.to_string().contains("queue"), "{error}");
}

//! One decision after another, and many at the same time, by the engine's clock.

use super::connect;
use crate::{
    algorithms::ALGORITHMS,
    servers::{Cluster, Server, available},
};
use std::time::Duration;
use windlass_remote::{Admission, Algorithm, DecidedBy, ErrorKind, LimiterDown, Quota, RemoteLimiter};

/// So long that no test sees its end, nor anything given back.
const LONG: Duration = Duration::from_secs(365 * 86_400);

#[tokio::test]
async fn the_limit_and_no_more() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    for (i, algorithm) in ALGORITHMS.into_iter().enumerate() {
        let limiter = RemoteLimiter::builder(&remote, &format!("a{i}"), Quota::new(5, LONG));
        let limiter = limiter.algorithm(algorithm).denied(0).build().expect("valid");
        for left in (0..5).rev() {
            let decision = limiter.check("ann", 1).await.expect("an answer");
            assert_eq!(decision.by, DecidedBy::Engine);
            let Admission::Allowed { remaining, reset_after, .. } = decision.admission else {
                panic!("{algorithm:?}: {decision:?}")
            };
            assert_eq!(remaining, left, "{algorithm:?}");
            assert!(reset_after > Duration::ZERO && reset_after <= LONG * 2, "{algorithm:?}");
        }
        let Admission::Denied { retry_after } = limiter.check("ann", 1).await.expect("an answer").admission
        else {
            panic!("{algorithm:?}: a sixth")
        };
        assert!(retry_after > Duration::ZERO && retry_after <= LONG * 2, "{algorithm:?}: {retry_after:?}");
        assert!(limiter.check("bob", 5).await.expect("an answer").is_allowed(), "{algorithm:?}");
        let all: Vec<_> = limiter.check_batch(&[("eve", 2), ("eve", 6), ("eve", 3), ("eve", 1)]).await;
        let all: Vec<Admission> =
            all.into_iter().map(|answer| answer.expect("an answer").admission).collect();
        assert!(all[0].is_allowed() && all[2].is_allowed() && all[1] == Admission::Never, "{algorithm:?}");
        assert!(matches!(all[3], Admission::Denied { .. }), "{algorithm:?}: {all:?}");
        assert_eq!(limiter.peek("ann", 6).await.expect("an answer"), Admission::Never);
        assert!(!limiter.peek("ann", 1).await.expect("an answer").is_allowed());
        assert!(limiter.forget("ann").await.expect("an answer"));
        assert!(!limiter.forget("ann").await.expect("an answer"));
        assert!(limiter.check("ann", 5).await.expect("an answer").is_allowed(), "{algorithm:?}");
    }
    // Nothing stays for ever.
    let keys = server.cli(&["--raw", "KEYS", "wl:l*"]);
    assert!(keys.lines().count() >= 18, "{keys}");
    for key in keys.lines() {
        let left: i64 = server.cli(&["PTTL", key]).trim().parse().expect("a number");
        assert!(left > 0 && left <= 2 * 365 * 86_400_000 + 1, "{key}: {left}");
    }
}

#[tokio::test]
async fn time_gives_it_back() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    for (i, algorithm) in ALGORITHMS.into_iter().enumerate() {
        let quota = Quota::new(2, Duration::from_millis(300));
        let limiter = RemoteLimiter::builder(&remote, &format!("b{i}"), quota).algorithm(algorithm);
        let limiter = limiter.denied(0).build().expect("valid");
        // (The first call of a window may come at its end.)
        let mut denied = None;
        while denied.is_none() {
            if let Admission::Denied { retry_after } =
                limiter.check("ann", 1).await.expect("an answer").admission
            {
                denied = Some(retry_after);
            }
        }
        tokio::time::sleep(denied.expect("denied")).await;
        let again = limiter.check("ann", 1).await.expect("an answer");
        assert!(again.is_allowed(), "{algorithm:?}: {denied:?}, then {again:?}");
    }
    // And then the keys go.
    crate::servers::until("they have gone", || server.cli(&["DBSIZE"]).trim() == "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once() {
    if !available() {
        return;
    }
    let cluster = Cluster::start(Duration::from_secs(5));
    for (i, algorithm) in ALGORITHMS.into_iter().enumerate() {
        let mut tasks = Vec::new();
        // Four processes, as far as they know.
        for _ in 0..4 {
            let remote = connect(&cluster.address()).await;
            let limiter = RemoteLimiter::builder(&remote, &format!("c{i}"), Quota::new(100, LONG));
            let limiter = limiter.algorithm(algorithm).build().expect("valid");
            tasks.extend((0..4).map(|_| {
                let limiter = limiter.clone();
                tokio::spawn(async move {
                    let mut allowed = 0_u64;
                    for client in (0..8).cycle().take(8 * 15) {
                        let decision = limiter.check(format!("client-{client}"), 1).await.expect("an answer");
                        allowed += u64::from(decision.is_allowed());
                    }
                    allowed
                })
            }));
        }
        let mut allowed = 0;
        for task in tasks {
            allowed += task.await.expect("no failure");
        }
        assert_eq!(allowed, 8 * 100, "{algorithm:?}");
    }
}

#[tokio::test]
async fn who_is_denied_need_not_ask() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let limiter = RemoteLimiter::builder(&remote, "d", Quota::new(3, LONG)).build().expect("valid");
    assert!(limiter.check("ann", 2).await.expect("an answer").is_allowed());
    assert_eq!(limiter.check("ann", 2).await.expect("an answer").by, DecidedBy::Engine);
    let before = remote.stats().calls;
    for _ in 0..100 {
        let decision = limiter.check("ann", 2).await.expect("an answer");
        assert!(!decision.is_allowed() && decision.by == DecidedBy::Here, "{decision:?}");
    }
    assert_eq!(remote.stats().calls, before);
    assert_eq!(limiter.stats().denied_here, 100);
    // One that costs less may pass.
    assert!(limiter.check("ann", 1).await.expect("an answer").is_allowed());
    assert!(!limiter.check("ann", 1).await.expect("an answer").is_allowed());
    assert!(limiter.forget("ann").await.expect("an answer"));
    assert!(limiter.check("ann", 3).await.expect("an answer").is_allowed());
}

#[tokio::test]
async fn without_the_engine() {
    if !available() {
        return;
    }
    let mut server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let limiter = |down| {
        let builder =
            RemoteLimiter::builder(&remote, "e", Quota::new(10, LONG)).algorithm(Algorithm::FixedWindow);
        builder.down(down).build().expect("valid")
    };
    let (deny, allow) = (limiter(LimiterDown::Deny), limiter(LimiterDown::Allow));
    let share = limiter(LimiterDown::LocalShare { instances: 4 });
    server.kill();
    let error = deny.check("ann", 1).await.expect_err("nobody is there");
    assert!(error.kind().is_outage(), "{error}");
    for _ in 0..20 {
        let decision = allow.check("ann", 1).await.expect("allowed");
        assert!(decision.is_allowed() && decision.by == DecidedBy::Alone);
    }
    let mut allowed = 0;
    for _ in 0..20 {
        let decision = share.check("ann", 1).await.expect("an answer");
        assert_eq!(decision.by, DecidedBy::Alone);
        allowed += usize::from(decision.is_allowed());
    }
    assert_eq!(allowed, 3, "a quarter of 10, rounded up");
    assert!(share.check("bob", 4).await.expect_err("more than the share").kind().is_outage());
    let stats = share.stats();
    assert_eq!(stats.allowed_alone + stats.denied_alone, 20);
    server.restart(&[]);
    crate::servers::until_async("it is back", || async {
        share.check("ann", 1).await.is_ok_and(|decision| decision.by == DecidedBy::Engine)
    })
    .await;
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let error = RemoteLimiter::builder(&remote, "a b", Quota::new(1, LONG)).build().expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Config);
    let share = LimiterDown::LocalShare { instances: 0 };
    let error =
        RemoteLimiter::builder(&remote, "a", Quota::new(1, LONG)).down(share).build().expect_err("refused");
    assert!(error.to_string().contains("instances"), "{error}");
    // What somebody else has put there.
    for (i, algorithm) in ALGORITHMS.into_iter().enumerate() {
        let limiter = RemoteLimiter::builder(&remote, &format!("f{i}"), Quota::new(5, LONG));
        let limiter = limiter.algorithm(algorithm).build().expect("valid");
        limiter.check("ann", 1).await.expect("an answer");
        let keys = server.cli(&["--raw", "KEYS", &format!("wl:l*:f{i}:ann")]);
        let key = keys.trim();
        server.cli(&["DEL", key]);
        server.cli(&["SADD", key, "x"]);
        let error = limiter.check("ann", 1).await.expect_err("of another type");
        assert_eq!(
            (error.kind(), error.key()),
            (ErrorKind::WrongType, Some(key.as_bytes())),
            "{algorithm:?} {error}"
        );
        server.cli(&["DEL", key]);
        let (command, value) = if algorithm == Algorithm::SlidingLog { ("RPUSH", "x") } else { ("SET", "x") };
        server.cli(&[command, key, value]);
        let error = limiter.check("ann", 1).await.expect_err("not a state");
        assert_eq!(error.kind(), ErrorKind::WrongType, "{algorithm:?} {error}");
    }
}

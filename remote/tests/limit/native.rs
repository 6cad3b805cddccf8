//! Where scripts are refused.

use super::connect;
use crate::{
    pretender::Pretender,
    servers::{Server, available},
};
use std::time::Duration;
use windlass_remote::{
    Admission, Algorithm, ErrorKind, Mode, Quota, Remote, RemoteLimitRule, RemoteLimitSet, RemoteLimiter,
};

/// A user who may not run scripts.
async fn without_scripts(server: &Server) -> Remote {
    server.cli(&["ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "-@scripting"]);
    let remote = connect(&format!("redis://app:secret@{}", server.at())).await;
    assert!(!remote.capabilities().scripts);
    remote
}

#[tokio::test]
async fn windows_are_counted() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = without_scripts(&server).await;
    let window = Duration::from_millis(1500);
    let limiter =
        RemoteLimiter::builder(&remote, "a", Quota::new(3, window)).algorithm(Algorithm::FixedWindow);
    let limiter = limiter.denied(0).build().expect("valid");
    assert_eq!(
        limiter.peek("ann", 1).await.expect("an answer"),
        Admission::Allowed { remaining: 2, reset_after: window, delay: Duration::ZERO }
    );
    for left in [2, 1, 0] {
        let admission = limiter.check("ann", 1).await.expect("an answer").admission;
        let Admission::Allowed { remaining, reset_after, .. } = admission else { panic!("{admission:?}") };
        assert!(remaining == left && reset_after <= window, "{admission:?}");
    }
    let Admission::Denied { retry_after } = limiter.check("ann", 2).await.expect("an answer").admission
    else {
        panic!("a fourth")
    };
    // Refusals are counted, and make nothing last longer.
    let counted = server.cli(&["GET", "wl:ln:a:ann"]);
    assert_eq!(counted.trim(), "5");
    assert!(retry_after <= window && retry_after > Duration::ZERO);
    tokio::time::sleep(retry_after + Duration::from_millis(50)).await;
    assert!(limiter.check("ann", 3).await.expect("an answer").is_allowed());
    assert!(limiter.forget("ann").await.expect("an answer"));
    assert!(limiter.check("ann", 3).await.expect("an answer").is_allowed());
}

#[tokio::test]
async fn at_once() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let quota = Quota::new(100, Duration::from_secs(3600));
    let limiter = RemoteLimiter::builder(&remote, "b", quota).algorithm(Algorithm::FixedWindow);
    let limiter = limiter.denied(0).without_scripts().build().expect("valid");
    let calls: Vec<(&str, u64)> = (0..300).map(|_| ("ann", 1)).collect();
    let (one, other) = tokio::join!(limiter.check_batch(&calls), limiter.check_batch(&calls));
    let allowed =
        one.into_iter().chain(other).filter(|answer| answer.as_ref().expect("an answer").is_allowed());
    assert_eq!(allowed.count(), 100);
    // Another type under the key: said, and nothing is done.
    server.cli(&["SADD", "wl:ln:b:bob", "x"]);
    let error = limiter.check("bob", 1).await.expect_err("of another type");
    assert_eq!((error.kind(), error.key()), (ErrorKind::WrongType, Some(&b"wl:ln:b:bob"[..])), "{error}");
}

#[tokio::test]
async fn bounded_increments() {
    let server = Pretender::start().await;
    let remote = connect(&format!("redis://127.0.0.1:{}", server.port)).await;
    assert!(remote.capabilities().increx && !remote.capabilities().scripts);
    let window = Duration::from_millis(1500);
    let limiter =
        RemoteLimiter::builder(&remote, "a", Quota::new(5, window)).algorithm(Algorithm::FixedWindow);
    let limiter = limiter.denied(0).build().expect("valid");
    let remaining = async |cost| match limiter.check("ann", cost).await.expect("an answer").admission {
        Admission::Allowed { remaining, reset_after, .. } => {
            assert!(reset_after <= window && reset_after > Duration::ZERO);
            Some(remaining)
        }
        Admission::Denied { retry_after } => {
            assert!(retry_after <= window && retry_after > Duration::ZERO);
            None
        }
        Admission::Never => panic!("it could be had"),
    };
    assert_eq!(remaining(2).await, Some(3));
    let begun = tokio::time::Instant::now();
    // Here refusals are not counted.
    assert_eq!((remaining(4).await, remaining(4).await, remaining(3).await), (None, None, Some(0)));
    assert_eq!((remaining(1).await, remaining(0).await), (None, Some(0)));
    tokio::time::sleep_until(begun + window + Duration::from_millis(50)).await;
    assert_eq!(remaining(5).await, Some(0));
    let asked = server.asked("INCREX");
    assert_eq!(asked[0], "INCREX wl:ln:a:ann BYINT 2 UBOUND 5 PX 1500 ENX");
    assert_eq!((asked.len(), server.asked("INCRBY").len()), (6, 0));
}

#[tokio::test]
async fn nothing_else_is_there() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = without_scripts(&server).await;
    let quota = Quota::new(3, Duration::from_secs(1));
    let builder = || RemoteLimiter::builder(&remote, "a", quota);
    let lease = Mode::Lease { permits: 1, hold: Duration::from_secs(1) };
    for builder in [builder(), builder().algorithm(Algorithm::FixedWindow).mode(lease)] {
        assert_eq!(builder.build().expect_err("refused").kind(), ErrorKind::Unsupported);
    }
    let set = RemoteLimitSet::builder(&remote, "a").limit(RemoteLimitRule::global("a", quota)).build();
    assert_eq!(set.expect_err("refused").kind(), ErrorKind::Unsupported);
}

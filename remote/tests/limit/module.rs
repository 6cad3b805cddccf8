//! By windlass' module: the same answers as by script.

use super::connect;
use crate::{
    algorithms::ALGORITHMS,
    module::with_module,
    servers::{Server, available},
};
use std::time::Duration;
use windlass_remote::{Admission, ErrorKind, Mode, Quota, RemoteLimiter};

#[tokio::test]
async fn the_same_answers() {
    if !available() {
        return;
    }
    let server = Server::start(&with_module(&[]));
    let remote = connect(&server.address()).await;
    assert!(remote.capabilities().module);
    // Of so long that no permit comes back meanwhile.
    let day = Duration::from_secs(86_400);
    for algorithm in ALGORITHMS {
        let quota = Quota::new(6, 30 * day);
        let name = format!("{algorithm:?}");
        let builder = || RemoteLimiter::builder(&remote, &name, quota).algorithm(algorithm).denied(0);
        let script = builder().build().expect("valid");
        let module = builder().by_module().build().expect("valid");
        for (client, cost) in
            [("a", 1), ("a", 0), ("b", 6), ("a", 4), ("a", 2), ("b", 1), ("a", 7), ("a", 1), ("a", 1)]
        {
            let by_script = script.check(client, cost).await.expect("an answer").admission;
            let by_module = module.check(client, cost).await.expect("an answer").admission;
            let near = |a: Duration, b: Duration| a.abs_diff(b) < Duration::from_secs(60);
            let same = match (by_script, by_module) {
                (
                    Admission::Allowed { remaining, reset_after, delay },
                    Admission::Allowed { remaining: left, reset_after: reset, delay: wait },
                ) => remaining == left && near(reset_after, reset) && near(delay, wait),
                (Admission::Denied { retry_after }, Admission::Denied { retry_after: retry }) => {
                    near(retry_after, retry)
                }
                (Admission::Never, Admission::Never) => true,
                _ => false,
            };
            assert!(same, "{algorithm:?}, {client}, {cost}: {by_script:?}, {by_module:?}");
        }
        assert!(!module.peek("b", 1).await.expect("an answer").is_allowed());
        assert!(module.forget("b").await.expect("an answer"));
        assert!(module.peek("b", 6).await.expect("an answer").is_allowed());
        let batch = module.check_batch(&[("c", 3), ("c", 3), ("c", 1)]).await;
        let allowed = batch.into_iter().map(|answer| answer.expect("an answer").is_allowed());
        assert_eq!(allowed.collect::<Vec<_>>(), [true, true, false]);
    }
}

#[tokio::test]
async fn what_it_cannot() {
    if !available() {
        return;
    }
    let server = Server::start(&with_module(&[]));
    let remote = connect(&server.address()).await;
    let quota = Quota::new(6, Duration::from_secs(60));
    let lease = Mode::Lease { permits: 2, hold: Duration::from_secs(1) };
    let refused = RemoteLimiter::builder(&remote, "a", quota).mode(lease).by_module().build();
    assert_eq!(refused.expect_err("refused").kind(), ErrorKind::Config);
    let quota = Quota::new(6, Duration::from_micros(60));
    let refused = RemoteLimiter::builder(&remote, "a", quota).by_module().build();
    assert_eq!(refused.expect_err("refused").kind(), ErrorKind::Config);

    let plain = Server::start(&[]);
    let remote = connect(&plain.address()).await;
    let quota = Quota::new(6, Duration::from_secs(60));
    let refused = RemoteLimiter::builder(&remote, "a", quota).by_module().build();
    assert_eq!(refused.expect_err("refused").kind(), ErrorKind::Unsupported);
}

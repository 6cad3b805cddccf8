//! Several limits in one decision.

use super::connect;
use crate::servers::{Cluster, Server, available};
use std::{sync::Arc, time::Duration};
use windlass_remote::{
    Algorithm, DecidedBy, ErrorKind, Quota, RemoteLimitRule, RemoteLimitSet, SetAdmission,
};

/// So long that no test sees its end, nor anything given back.
const LONG: Duration = Duration::from_secs(365 * 86_400);

#[tokio::test]
async fn all_or_none() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let set = RemoteLimitSet::builder(&remote, "api")
        .limit(RemoteLimitRule::keyed("user", Quota::new(2, LONG)).algorithm(Algorithm::SlidingLog))
        .limit(RemoteLimitRule::keyed("token", Quota::new(9, LONG)))
        .limit(RemoteLimitRule::global("tenant", Quota::new(3, LONG)))
        .build()
        .expect("valid");
    let refused_by = async |group: &str, user: &str| match set.check(group, &[user, "t"], 1).await {
        Ok(decision) => match decision.admission {
            SetAdmission::Denied { limit, .. } => Some(limit.to_owned()),
            _ => None,
        },
        Err(error) => panic!("{error}"),
    };
    assert_eq!(refused_by("acme", "ann").await, None);
    assert_eq!(refused_by("acme", "ann").await, None);
    assert_eq!(refused_by("acme", "ann").await.as_deref(), Some("user"));
    assert_eq!(refused_by("acme", "bob").await, None);
    for _ in 0..5 {
        assert_eq!(refused_by("acme", "bob").await.as_deref(), Some("tenant"), "and nothing was charged");
    }
    // 3 of 9 were taken of the token, no more.
    let standing = set.peek("acme", &["eve", "t"], 0).await.expect("an answer");
    assert!(
        matches!(standing.admission, SetAdmission::Allowed { tightest: "tenant", remaining: 0, .. }),
        "{standing:?}"
    );
    let left = server.cli(&["--raw", "KEYS", "wl:{api:acme}:l*"]);
    assert_eq!(left.lines().count(), 4, "{left}");
    assert_eq!(refused_by("other", "ann").await, None, "another group");
    let never = set.check("acme", &["ann", "t"], 3).await.expect("an answer");
    assert_eq!(never.admission, SetAdmission::Never { limit: "user" });
    let never = set.check("acme", &["ann"], 1).await.expect("an answer");
    assert_eq!((never.admission, never.by), (SetAdmission::Never { limit: "token" }, DecidedBy::Here));
}

#[tokio::test]
async fn batches() {
    if !available() {
        return;
    }
    let mut server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let builder = || {
        RemoteLimitSet::builder(&remote, "api")
            .limit(RemoteLimitRule::keyed("user", Quota::new(2, LONG)))
            .limit(RemoteLimitRule::global("tenant", Quota::new(3, LONG)))
    };
    let (deny, allow) =
        (builder().build().expect("valid"), builder().allow_when_down().build().expect("valid"));
    let calls: [(&str, &[&str], u64); 8] = [
        ("acme", &["ann"], 1),
        ("acme", &["ann"], 1),
        ("other", &["ann"], 2),
        ("acme", &["ann"], 1),
        ("acme", &["ann"], 3),
        ("acme", &[], 1),
        ("acme", &["bob"], 1),
        ("acme", &["bob"], 1),
    ];
    let answers: Vec<String> = deny
        .check_batch(&calls)
        .await
        .into_iter()
        .map(|decision| match decision.expect("an answer").admission {
            SetAdmission::Allowed { tightest, remaining, .. } => format!("{tightest} {remaining}"),
            SetAdmission::Denied { limit, .. } => format!("not by {limit}"),
            SetAdmission::Never { limit } => format!("never by {limit}"),
        })
        .collect();
    let expected = [
        "user 1",
        "user 0",
        "user 0",
        "not by user",
        "never by user",
        "never by user",
        "tenant 0",
        "not by tenant",
    ];
    assert_eq!(answers, expected);
    assert_eq!(remote.stats().pipelines, 2, "one, and the script");
    server.kill();
    for answer in deny.check_batch(&calls[..2]).await {
        assert!(answer.expect_err("down").kind().is_outage());
    }
    for answer in allow.check_batch(&calls[..2]).await {
        assert_eq!(answer.expect("allowed").by, DecidedBy::Alone);
    }
    assert!(deny.check_batch::<&str, &str>(&[]).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once() {
    if !available() {
        return;
    }
    let cluster = Cluster::start(Duration::from_secs(5));
    let remote = connect(&cluster.address()).await;
    let set = RemoteLimitSet::builder(&remote, "api")
        .limit(RemoteLimitRule::keyed("user", Quota::new(40, LONG)))
        .limit(RemoteLimitRule::global("tenant", Quota::new(100, LONG)).algorithm(Algorithm::FixedWindow))
        .build()
        .expect("valid");
    let set = Arc::new(set);
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let set = Arc::clone(&set);
            tokio::spawn(async move {
                let mut allowed = 0_u64;
                for group in 0..6 {
                    for _ in 0..12 {
                        let (group, user) = (format!("{{{group}}}"), format!("{}", task % 4));
                        let decision = set.check(group, &[user], 1).await.expect("an answer");
                        allowed += u64::from(matches!(decision.admission, SetAdmission::Allowed { .. }));
                    }
                }
                allowed
            })
        })
        .collect();
    let mut allowed = 0;
    for task in tasks {
        allowed += task.await.expect("no failure");
    }
    assert_eq!(allowed, 6 * 100);
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    if !available() {
        return;
    }
    let mut server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let quota = Quota::new(1, LONG);
    let refused = |rules: Vec<RemoteLimitRule>, part: &str| {
        let builder = RemoteLimitSet::builder(&remote, "a");
        let error = rules.into_iter().fold(builder, |builder, rule| builder.limit(rule)).build();
        let error = error.expect_err("refused");
        assert!(error.kind() == ErrorKind::Config && error.to_string().contains(part), "{error}");
    };
    refused(vec![], "limits");
    refused((0..9).map(|i| RemoteLimitRule::global(i.to_string(), quota)).collect(), "limits");
    refused(vec![RemoteLimitRule::global("a", quota), RemoteLimitRule::keyed("a", quota)], "no other limit");
    refused(vec![RemoteLimitRule::global("a:b", quota)], "name");
    refused(vec![RemoteLimitRule::global("a", quota).algorithm(Algorithm::LeakyQueue)], "queue");

    let builder = || RemoteLimitSet::builder(&remote, "a").limit(RemoteLimitRule::global("a", quota));
    let (deny, allow) =
        (builder().build().expect("valid"), builder().allow_when_down().build().expect("valid"));
    server.kill();
    assert!(deny.check("g", &[""], 1).await.expect_err("down").kind().is_outage());
    let alone = allow.check("g", &[""], 1).await.expect("allowed");
    assert!(alone.by == DecidedBy::Alone && matches!(alone.admission, SetAdmission::Allowed { .. }));
}

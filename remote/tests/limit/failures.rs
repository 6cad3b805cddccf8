//! Answers that are lost, scripts that are forgotten, slots that move.

use super::connect;
use crate::{
    proxy::Proxy,
    servers::{Cluster, Server, available, skipped, until_async},
};
use std::time::Duration;
use windlass_remote::{
    Admission, Algorithm, DecidedBy, ErrorKind, LimiterDown, Mode, Quota, Remote, RemoteLimitRule,
    RemoteLimitSet, RemoteLimiter, SetAdmission,
};

/// So long that no test sees its end, nor anything given back.
const LONG: Duration = Duration::from_secs(365 * 86_400);

fn remaining(admission: Admission) -> Option<u64> {
    if let Admission::Allowed { remaining, .. } = admission { Some(remaining) } else { None }
}

/// A lost answer may have been charged, and is not asked for again.
#[tokio::test]
async fn what_was_lost_is_charged_once() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let proxy = Proxy::to(server.port).await;
    let remote = connect(&format!("redis://127.0.0.1:{}", proxy.port)).await;
    let lease = Mode::Lease { permits: 3, hold: LONG };
    let report = Mode::Report { every: Duration::from_secs(3600), near: 10 };
    for (i, (mode, down, charged)) in [
        (Mode::Ask, LimiterDown::Deny, 1),
        (Mode::Ask, LimiterDown::LocalShare { instances: 1 }, 1),
        (lease, LimiterDown::Deny, 3),
        (report, LimiterDown::Deny, 1),
    ]
    .into_iter()
    .enumerate()
    {
        let limiter = RemoteLimiter::builder(&remote, &format!("a{i}"), Quota::new(10, LONG));
        let limiter = limiter.algorithm(Algorithm::SlidingLog).mode(mode).down(down).build().expect("valid");
        limiter.check("ann", 0).await.expect("an answer");
        proxy.lose_next();
        match limiter.check("ann", 1).await {
            Err(error) => {
                assert_eq!((error.kind(), error.may_be_done()), (ErrorKind::Unreachable, true), "{error}");
                assert_eq!(down, LimiterDown::Deny);
            }
            Ok(decision) => assert!(decision.by == DecidedBy::Alone && decision.is_allowed(), "{decision:?}"),
        }
        let left = limiter.peek("ann", 0).await.expect("an answer");
        assert_eq!(remaining(left), Some(10 - charged), "{mode:?} {down:?}");
    }
}

/// A connection that the server closed in silence is found out before anything is sent on it: what may not be sent twice is sent on another, with no doubt.
#[tokio::test]
async fn closed_between_calls() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let limiter = RemoteLimiter::builder(&remote, "a", Quota::new(100, LONG)).build().expect("valid");
    for taken in 1..=20 {
        let answer = limiter.check("ann", 1).await.expect("an answer");
        assert_eq!(remaining(answer.admission), Some(100 - taken));
        server.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
    }
    assert!(remote.stats().again > 0 && remote.stats().failed == 0, "{remote:?}");
}

/// A server that does not know a script is told, and charges once.
#[tokio::test]
async fn scripts_are_forgotten() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let limiter = RemoteLimiter::builder(&remote, "a", Quota::new(50, LONG)).build().expect("valid");
    for round in 1..=3_u64 {
        server.cli(&["SCRIPT", "FLUSH"]);
        let calls = [("ann", 1); 10];
        for (i, answer) in (1..).zip(limiter.check_batch(&calls).await) {
            let left = remaining(answer.expect("an answer").admission);
            assert_eq!(left, Some(50 - (round - 1) * 10 - i), "round {round}");
        }
    }
    assert!(remote.stats().scripts >= 3);
}

/// A slot is on its way to another node, and then there: with scripts and without, singly and in sets.
#[tokio::test]
async fn slots_move() {
    if !available() {
        return;
    }
    let cluster = Cluster::start(Duration::from_secs(5));
    let remote = connect(&cluster.address()).await;
    let build = |namespace: &str| {
        let builder = RemoteLimiter::builder(&remote, namespace, Quota::new(10, LONG));
        builder.algorithm(Algorithm::FixedWindow)
    };
    let (script, native) =
        (build("a").build().expect("valid"), build("b").without_scripts().build().expect("valid"));
    let set = RemoteLimitSet::builder(&remote, "c")
        .limit(RemoteLimitRule::keyed("user", Quota::new(10, LONG)))
        .limit(RemoteLimitRule::global("all", Quota::new(10, LONG)))
        .build()
        .expect("valid");
    let left = async |which: usize| match which {
        0 => remaining(script.check("ann", 1).await.expect("an answer").admission),
        1 => remaining(native.check("ann", 1).await.expect("an answer").admission),
        _ => match set.check("g", &["ann"], 1).await.expect("an answer").admission {
            SetAdmission::Allowed { remaining, .. } => Some(remaining),
            _ => None,
        },
    };
    for (which, key) in ["wl:lf:a:ann", "wl:ln:b:ann", "wl:{c:g}:lt:all:"].into_iter().enumerate() {
        let first = &cluster.servers[0];
        let slot = first.cli(&["CLUSTER", "KEYSLOT", key]).trim().to_owned();
        let from = cluster.primary_of(slot.parse().expect("a number"));
        let to = cluster.primary_of((slot.parse::<u16>().expect("a number") + 8192) % 16384);
        assert_ne!(from, to);
        let name = |server: usize| cluster.servers[server].cli(&["CLUSTER", "MYID"]).trim().to_owned();
        let (old, new) = (&cluster.servers[from], &cluster.servers[to]);
        new.cli(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &name(from)]);
        old.cli(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &name(to)]);
        let redirected = remote.stats().redirected;
        if which == 2 {
            // Of several keys that are not all there neither node can decide (TRYAGAIN), until the slot has moved.
            let error = set.check("g", &["ann"], 1).await.expect_err("not yet");
            assert!(error.kind().is_outage() && error.to_string().contains("TRYAGAIN"), "{error}");
        } else {
            // It is not there any more: asked for at the new one (ASK), and charged there, once.
            assert_eq!(left(which).await, Some(9), "{key}");
            assert_eq!(left(which).await, Some(8), "{key}");
        }
        assert!(remote.stats().redirected > redirected, "{key}");
        for server in [new, old].into_iter().chain(&cluster.servers) {
            server.cli(&["CLUSTER", "SETSLOT", &slot, "NODE", &name(to)]);
        }
        let before = if which == 2 { 10 } else { 8 };
        if which == 2 {
            // (For a while it is not asked again.)
            until_async("it has moved", || async { set.peek("g", &["ann"], 1).await.is_ok() }).await;
        }
        assert_eq!(left(which).await, Some(before - 1), "{key}: moved");
        assert_eq!(left(which).await, Some(before - 2), "{key}");
    }
}

/// Where slots move at once (Valkey from 9.0 on) there is no time in which several keys cannot be decided together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_move_at_once() {
    const LIMIT: u64 = 300;
    if !available() {
        return;
    }
    if !Server::start(&[]).cli(&["COMMAND", "INFO", "cluster|migrateslots"]).contains("migrateslots") {
        skipped("slots that move at once");
        return;
    }
    let cluster = Cluster::start(Duration::from_secs(5));
    let connecting = Remote::builder(&cluster.address()).timeout(Duration::from_secs(20)).connect();
    let remote = connecting.await.expect("it is there");
    let set = RemoteLimitSet::builder(&remote, "c")
        .limit(RemoteLimitRule::keyed("user", Quota::new(LIMIT, LONG)))
        .limit(RemoteLimitRule::global("all", Quota::new(LIMIT, LONG)).algorithm(Algorithm::SlidingLog))
        .build()
        .expect("valid");
    let slot: u16 = cluster.servers[0].cli(&["CLUSTER", "KEYSLOT", "{c:g}"]).trim().parse().expect("a slot");
    let (from, to) = (cluster.primary_of(slot), cluster.primary_of((slot + 8192) % 16384));
    let name = cluster.servers[to].cli(&["CLUSTER", "MYID"]).trim().to_owned();
    let mut allowed = 0;
    for round in 0..2 * LIMIT {
        if round == LIMIT / 3 {
            let slot = slot.to_string();
            let words = ["CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", &slot, &slot, "NODE", &name];
            assert_eq!(cluster.servers[from].cli(&words).trim(), "OK");
        }
        if round == LIMIT * 2 / 3 {
            until_async("it has moved", || async { cluster.primary_of(slot) == to }).await;
        }
        let decision = set.check("g", &["ann"], 1).await.expect("an answer");
        allowed += u64::from(matches!(decision.admission, SetAdmission::Allowed { .. }));
    }
    assert_eq!(allowed, LIMIT);
    assert!(remote.stats().redirected > 0);
}

//! The engine is not there, or cannot take writes.

use super::{HASTE, LONG, asking, connect, hasty};
use crate::{
    proxy::Proxy,
    servers::{Server, available, until_async},
};
use std::time::Instant;
use windlass::Verdict;
use windlass_remote::{Down, ErrorKind, Level, Observed, RemoteDedup};

const DUPLICATE: Verdict = Verdict::Duplicate { first_seen: None };
const FRESH: Verdict = Verdict::Fresh;

/// It says nothing: each policy, within a deadline, then at once; and afterwards all is as it was.
#[tokio::test]
async fn each_policy() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    // Three processes.
    let mut dedups = Vec::new();
    for down in [Down::Deny, Down::Allow, Down::LocalShare, Down::LocalShare] {
        let remote = hasty(&server.address()).await;
        dedups.push(RemoteDedup::builder(&remote, "test", LONG).down(down).alone(3).build().unwrap());
    }
    let [deny, allow, share, other] = &dedups[..] else { unreachable!() };
    assert_eq!(share.observe("before").await, Ok(Observed::Decided(FRESH)));
    server.stall();

    let begun = Instant::now();
    let error = deny.observe("a").await.expect_err("down");
    assert_eq!((error.kind(), error.node()), (ErrorKind::Timeout, Some(&*server.at())), "{error}");
    assert!(error.may_be_done() && error.key() == Some(b"wl:d:test:a"), "{error}");
    assert!(begun.elapsed() < HASTE * 3, "{:?}", begun.elapsed());
    // Known to be down: all of these together take less than a few deadlines would.
    let begun = Instant::now();
    for _ in 0..1000 {
        assert_eq!(deny.observe("a").await.expect_err("down").kind(), ErrorKind::Timeout);
        if begun.elapsed() > HASTE * 5 {
            panic!("each waits for its deadline");
        }
    }

    for _ in 0..2 {
        assert_eq!(allow.observe("a").await, Ok(Observed::Alone(FRESH)));
    }
    for one in [share, other] {
        assert_eq!(one.observe("a").await, Ok(Observed::Alone(FRESH)), "each process by itself");
        assert_eq!(one.observe("a").await, Ok(Observed::Alone(DUPLICATE)));
    }
    assert_eq!(share.observe("before").await, Ok(Observed::Decided(DUPLICATE)), "known here");
    let batch = share.observe_batch(&["b", "b", "c", "d", "a"]).await;
    let answers: Vec<_> = batch.iter().map(|answer| answer.as_ref().ok()).collect();
    let (fresh, duplicate) = (Observed::Alone(FRESH), Observed::Alone(DUPLICATE));
    assert_eq!(
        answers,
        [Some(&fresh), Some(&duplicate), Some(&fresh), None, Some(&duplicate)],
        "there was room for three"
    );
    assert_eq!((share.stats().waiting, share.stats().admitted_alone), (3, 3));

    server.go_on();
    // The first answer begins it.
    until_async("it has been told", async || {
        drop(share.observe("x").await);
        share.stats().waiting == 0
    })
    .await;
    until_async("it answers", async || deny.contains("b").await == Ok(true)).await;
    assert_eq!(deny.observe("c").await, Ok(Observed::Decided(DUPLICATE)));
    assert_eq!(share.observe("b").await, Ok(Observed::Alone(DUPLICATE)), "still known here");
    until_async("and by the other", async || other.replay().await == 0).await;
    // `a`: of the one that asked in vain (it was carried out after all), or one of the two was first: the others are conflicts.
    let conflicts = share.stats().conflicts + other.stats().conflicts;
    assert!((1..=2).contains(&conflicts), "{conflicts}");
    assert_eq!((share.stats().replayed, other.stats().replayed), (3, 1));
}

/// What is known here is not admitted again by a process alone; of what is not, it knows as little as of others' ids: once.
#[tokio::test]
async fn alone_without_what_is_known() {
    if !available() {
        return;
    }
    let mut server = Server::start(&[]);
    let remote = hasty(&server.address()).await;
    let build = |namespace: &str, known| {
        let builder = RemoteDedup::builder(&remote, namespace, LONG).down(Down::LocalShare);
        builder.known(known).build().unwrap()
    };
    let (knows, none) = (build("knows", 1000), build("none", 0));
    for dedup in [&knows, &none] {
        assert_eq!(dedup.observe("a").await, Ok(Observed::Decided(FRESH)));
    }
    server.kill();
    assert_eq!(knows.observe("a").await, Ok(Observed::Decided(DUPLICATE)));
    assert_eq!(none.observe("a").await, Ok(Observed::Alone(FRESH)));
    assert_eq!(none.observe("a").await, Ok(Observed::Alone(DUPLICATE)));
}

/// One connection hangs while the server answers on another: that is no reason to keep others from it.
#[tokio::test]
async fn a_connection_hangs() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let proxy = Proxy::to(server.port).await;
    let remote = hasty(&format!("redis://127.0.0.1:{}", proxy.port)).await;
    let dedup = asking(&remote);
    let confirmed = RemoteDedup::builder(&remote, "other", LONG).level(Level::Confirmed).build().unwrap();
    assert!(dedup.observe("before").await.is_ok() && confirmed.observe("before").await.is_ok());
    proxy.hold_next();
    let held = tokio::spawn({
        let dedup = dedup.clone();
        async move { dedup.observe("a").await }
    });
    until_async("it is held", async || proxy.lost() == 1).await;
    assert!(confirmed.observe("b").await.is_ok(), "on a connection of its own");
    let error = held.await.expect("no task fails").expect_err("its answer never came");
    assert!(error.kind() == ErrorKind::Timeout && error.may_be_done(), "{error}");
    assert_eq!(dedup.observe("c").await, Ok(Observed::Decided(FRESH)), "at once, on a new connection");
}

/// Its process is gone, and another takes its place.
#[tokio::test]
async fn gone_and_back() {
    if !available() {
        return;
    }
    let mut server = Server::start(&[]);
    let remote = hasty(&server.address()).await;
    let dedup = asking(&remote);
    assert!(dedup.observe("a").await.expect("there").is_fresh());
    server.kill();
    let begun = Instant::now();
    let error = dedup.observe("a").await.expect_err("gone");
    assert_eq!((error.kind(), error.node()), (ErrorKind::Unreachable, Some(&*server.at())), "{error}");
    assert!(begun.elapsed() < HASTE * 3, "{:?}", begun.elapsed());
    server.restart(&[]);
    until_async("it is found again", async || dedup.observe("b").await.is_ok()).await;
    assert_eq!(dedup.observe("b").await, Ok(Observed::Decided(DUPLICATE)));
}

/// Writes are refused: said at once, and the policies hold for it.
#[tokio::test]
async fn no_writes() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let (dedup, allow) = (asking(&remote), RemoteDedup::builder(&remote, "test", LONG).down(Down::Allow));
    let allow = allow.build().unwrap();
    for (set, unset, kind) in [
        (["maxmemory", "1"], ["maxmemory", "0"], ErrorKind::OutOfMemory),
        (["min-replicas-to-write", "1"], ["min-replicas-to-write", "0"], ErrorKind::NoReplicas),
    ] {
        server.cli(&["CONFIG", "SET", set[0], set[1]]);
        let error = dedup.observe("a").await.expect_err("refused");
        assert_eq!((error.kind(), error.node()), (kind, Some(&*server.at())), "{error}");
        assert!(!error.may_be_done() && error.key() == Some(b"wl:d:test:a"));
        assert_eq!(allow.observe("a").await, Ok(Observed::Alone(FRESH)));
        server.cli(&["CONFIG", "SET", unset[0], unset[1]]);
        assert!(dedup.observe(set[0]).await.expect("all is well again").is_fresh());
    }
    let replica = server.replica(&[]);
    let at_replica = asking(&hasty(&replica.address()).await);
    let begun = Instant::now();
    let error = at_replica.observe("r").await.expect_err("refused");
    assert_eq!((error.kind(), error.node()), (ErrorKind::ReadOnly, Some(&*replica.at())), "{error}");
    assert!(begun.elapsed() < HASTE * 3, "{:?}", begun.elapsed());

    // And something else under the name.
    server.cli(&["LPUSH", "wl:d:test:list", "x"]);
    for dedup in [&dedup, &RemoteDedup::builder(&remote, "test", LONG).by_script().build().unwrap(), &allow] {
        let error = dedup.observe("list").await.expect_err("refused");
        assert_eq!((error.kind(), error.node()), (ErrorKind::WrongType, Some(&*server.at())), "{error}");
        assert_eq!(error.key(), Some(&b"wl:d:test:list"[..]));
    }
}

/// Confirmed by a replica; not, while it hangs; and by asking again with the token.
#[tokio::test]
async fn confirmed() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let replica = server.replica(&[]);
    let remote = connect(&server.address()).await;
    let dedup = RemoteDedup::builder(&remote, "test", LONG).level(Level::Confirmed).build().unwrap();
    let batch = dedup.observe_batch(&["a", "b", "a"]).await;
    let decided = |verdict| Ok(Observed::Decided(verdict));
    assert_eq!(batch, [decided(FRESH), decided(FRESH), decided(DUPLICATE)]);

    replica.stall();
    let remote = hasty(&server.address()).await;
    let hasty = RemoteDedup::builder(&remote, "test", LONG).level(Level::Confirmed).build().unwrap();
    let begun = Instant::now();
    let waiting = tokio::spawn({
        let hasty = hasty.clone();
        async move { hasty.observe("c").await }
    });
    until_async("it is there", async || hasty.contains("c").await == Ok(true)).await;
    // Others on the same server do not wait along.
    assert_eq!(asking(&remote).observe("c").await, decided(DUPLICATE));
    assert!(!waiting.is_finished());
    let answer = waiting.await.expect("no task fails");
    let Ok(Observed::Unconfirmed(token)) = answer else { panic!("nobody can have confirmed it: {answer:?}") };
    assert!(begun.elapsed() < HASTE * 3, "{:?}", begun.elapsed());
    assert_eq!(hasty.observe_as("c", token).await, Ok(Observed::Unconfirmed(token)), "still not");

    replica.go_on();
    until_async("it is confirmed", async || dedup.observe_as("c", token).await == decided(FRESH)).await;
    assert_eq!(dedup.observe("c").await, decided(DUPLICATE));
    assert!(replica.cli(&["EXISTS", "wl:d:test:c"]).contains('1'));
    // Asking again has not made the window longer.
    let left: u64 = server.cli(&["PTTL", "wl:d:test:c"]).trim().parse().expect("a number");
    assert!(left < 3_600_000 - 300, "{left}");
}

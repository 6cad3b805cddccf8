//! `RemoteCounter`.

use crate::servers::{Cluster, Server, available, until};
use proptest::{prelude::*, test_runner::TestRunner};
use std::{
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};
use tokio::runtime::Runtime;
use windlass::{Tick, WindowedCounter};
use windlass_remote::{ErrorKind, Remote, RemoteCounter};

/// Today.
const BEGIN: u64 = 1_795_348_800_123_457;

/// What the core answers to the same calls.
#[test]
fn conformance() {
    if !available() {
        return;
    }
    let runtime = Runtime::new().expect("threads");
    let server = Server::start(&[]);
    let remote = runtime.block_on(Remote::connect(&server.address())).expect("it is there");
    let next = AtomicU32::new(0);
    // A key, how often, and microseconds since the call before.
    let call = (0..3_u8, 0..5_u32, prop_oneof![0..400_u64, 0..3000_u64, 0..20_000_u64]);
    let strategy = (1..700_u64, 1..12_u64, prop::collection::vec(call, 1..60));
    let config = ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(&strategy, |(pane, panes, calls)| {
        let (window, pane) = (Duration::from_micros(pane * panes), Duration::from_micros(pane));
        let core = WindowedCounter::builder(window, pane).capacity(1000).build().expect("valid");
        let name = format!("case-{}", next.fetch_add(1, Relaxed));
        let tier = RemoteCounter::new(&remote, &name, window, pane).expect("valid");
        let mut at = BEGIN;
        for (key, n, step) in calls {
            at += step;
            let (key, now) = ([key, b'{'], Tick(at * 1000));
            if n > 0 {
                core.add_at(key.as_slice(), n.into(), now);
                runtime.block_on(tier.add_at(&key, n, at)).expect("an answer");
            }
            let count = |complete| runtime.block_on(tier.count_at(&key, complete, at)).expect("an answer");
            prop_assert_eq!(count(false), core.count_at(key.as_slice(), now));
            prop_assert_eq!(count(true), core.count_complete_at(key.as_slice(), now));
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once() {
    if !available() {
        return;
    }
    let cluster = Cluster::start(Duration::from_secs(5));
    let (window, pane) = (Duration::from_secs(3600), Duration::from_secs(60));
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let address = cluster.address();
            tokio::spawn(async move {
                let remote = Remote::connect(&address).await.expect("it is there");
                let counter = RemoteCounter::new(&remote, "a", window, pane).expect("valid");
                let keys: Vec<(String, u32)> = (0..500).map(|i| (format!("key-{}", i % 50), 2)).collect();
                for answer in counter.add_batch(&keys).await {
                    answer.expect("an answer");
                }
                counter.add("one", 1).await.expect("an answer");
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no failure");
    }
    let remote = Remote::connect(&cluster.address()).await.expect("it is there");
    let counter = RemoteCounter::new(&remote, "a", window, pane).expect("valid");
    assert_eq!(counter.count("key-7").await.expect("an answer"), 4 * 20);
    assert_eq!(counter.count("one").await.expect("an answer"), 4);
    assert_eq!(counter.count("none").await.expect("an answer"), 0);
}

#[tokio::test]
async fn it_goes_by_itself() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = Remote::connect(&server.address()).await.expect("it is there");
    let pane = Duration::from_millis(20);
    let counter = RemoteCounter::new(&remote, "a", pane * 3, pane).expect("valid");
    for _ in 0..30 {
        counter.add("ann", 1).await.expect("an answer");
        tokio::time::sleep(pane / 2).await;
        let panes: u64 = server.cli(&["HLEN", "wl:c:a:ann"]).trim().parse().expect("a number");
        assert!(panes <= 4, "{panes}");
    }
    until("it has gone", || server.cli(&["DBSIZE"]).trim() == "0");
    assert_eq!(counter.count("ann").await.expect("an answer"), 0);
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = Remote::connect(&server.address()).await.expect("it is there");
    let second = Duration::from_secs(1);
    for (window, pane, field) in [
        (second, Duration::ZERO, "pane"),
        (second, Duration::from_nanos(1500), "pane"),
        (second, second * 2, "window"),
        (second, Duration::from_millis(300), "window"),
        (second * 1025, second, "window"),
    ] {
        let error = RemoteCounter::new(&remote, "a", window, pane).expect_err("refused");
        assert!(error.kind() == ErrorKind::Config && error.to_string().contains(field), "{error}");
    }
    let counter = RemoteCounter::new(&remote, "a", second, second).expect("valid");
    server.cli(&["SET", "wl:c:a:x", "1"]);
    assert_eq!(counter.add("x", 1).await.expect_err("of another type").kind(), ErrorKind::WrongType);
    assert_eq!(counter.count("x").await.expect_err("of another type").kind(), ErrorKind::WrongType);
}

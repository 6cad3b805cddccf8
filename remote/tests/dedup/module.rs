//! What is the module's own: few commands, keys that many ids share, outages, and what it cannot.

use super::{By, LONG, connect, fresh, hasty};
use crate::{
    module::with_module,
    servers::{Cluster, Server, available, until, until_async},
};
use std::{collections::HashMap, time::Duration};
use windlass::Verdict;
use windlass_remote::{Down, ErrorKind, Level, Member, Observed, Remote, RemoteDedup, RemoteRing, Token};

const DUPLICATE: Verdict = Verdict::Duplicate { first_seen: None };
const FRESH: Verdict = Verdict::Fresh;

fn by_module(remote: &Remote, known: usize) -> RemoteDedup {
    RemoteDedup::builder(remote, "test", LONG).known(known).by_module().build().expect("valid")
}

fn ids(range: std::ops::Range<u32>) -> Vec<String> {
    range.map(|i| format!("id {i}")).collect()
}

fn keys(server: &Server) -> Vec<String> {
    let mut keys: Vec<String> = server.cli(&["KEYS", "*"]).split_whitespace().map(str::to_owned).collect();
    keys.sort();
    keys
}

#[tokio::test]
async fn a_batch_is_few_commands() {
    if !available() {
        return;
    }
    let server = Server::start(&with_module(&[]));
    let remote = connect(&server.address()).await;
    let dedup = by_module(&remote, 0);
    assert!(fresh(dedup.observe_batch(&ids(0..1000)).await).into_iter().all(|fresh| fresh));
    assert_eq!((remote.stats().calls, remote.stats().pipelines), (32, 1));
    let keys = keys(&server);
    assert_eq!(keys.len(), 32);
    assert!(keys.iter().all(|key| key.starts_with("wl:dm:test:{") && key.ends_with('}')), "{keys:?}");
    // 300 that were there, each several times, among new ones.
    let batch: Vec<String> = ids(700..1300).into_iter().chain(ids(900..1100)).collect();
    let expected: Vec<bool> = (0..800).map(|i| (300..600).contains(&i)).collect();
    assert_eq!(fresh(dedup.observe_batch(&batch).await), expected);
    assert_eq!(
        [dedup.contains("id 1299").await, dedup.contains("id 1300").await, dedup.contains("").await],
        [Ok(true), Ok(false), Ok(false)]
    );
    let stats = dedup.stats();
    assert_eq!((stats.fresh, stats.duplicates, stats.within_batch, stats.own), (1300, 300, 200, 0));
}

/// A replica has the same, and knows the tokens when it takes over.
#[tokio::test]
async fn a_replica_takes_over() {
    if !available() {
        return;
    }
    let mut server = Server::start(&with_module(&[]));
    let replica = server.replica(&with_module(&[]));
    let remote = connect(&server.address()).await;
    let dedup = by_module(&remote, 0);
    let token = Token::new();
    for id in ids(0..50) {
        assert!(dedup.observe_as(&id, token).await.expect("an answer").is_fresh());
    }
    for batch in 1..10 {
        fresh(dedup.observe_batch(&ids(batch * 30..batch * 30 + 60)).await);
    }
    // An answer of its own is sent to replicas as well, so that it can be confirmed.
    let confirmed = RemoteDedup::builder(&remote, "test", LONG).level(Level::Confirmed).by_module();
    let confirmed = confirmed.build().expect("valid");
    assert_eq!(confirmed.observe_as("id 7", token).await, Ok(Observed::Decided(FRESH)));
    assert_eq!(confirmed.stats().own, 1);
    until("the replica has all", || {
        replica.figure("replication", "slave_repl_offset")
            >= server.figure("replication", "master_repl_offset")
    });
    let digests = |server: &Server| -> Vec<String> {
        keys(server).iter().map(|key| server.cli(&["DEBUG", "DIGEST-VALUE", key])).collect()
    };
    assert_eq!(digests(&server).len(), 32);
    assert_eq!(digests(&server), digests(&replica));
    server.kill();
    replica.cli(&["REPLICAOF", "NO", "ONE"]);
    let dedup = by_module(&connect(&replica.address()).await, 0);
    assert!(fresh(dedup.observe_batch(&ids(0..330)).await).into_iter().all(|fresh| !fresh));
    assert_eq!(dedup.observe_as("id 3", token).await, Ok(Observed::Decided(FRESH)), "its own");
    assert_eq!(dedup.observe_as("id 60", token).await, Ok(Observed::Decided(DUPLICATE)));
    assert_eq!(dedup.observe("id 330").await, Ok(Observed::Decided(FRESH)));
}

/// In a cluster every primary has its share of the keys.
#[tokio::test]
async fn keys_are_spread() {
    if !available() {
        return;
    }
    let cluster = Cluster::start_with(Duration::from_secs(5), &with_module(&[]));
    let remote = connect(&cluster.address()).await;
    let dedup = by_module(&remote, 0);
    assert!(fresh(dedup.observe_batch(&ids(0..1000)).await).into_iter().all(|fresh| fresh));
    assert_eq!((remote.stats().calls, remote.stats().pipelines), (32, 3), "one to each");
    let mut sizes: Vec<usize> =
        cluster.primaries().iter().map(|&at| keys(&cluster.servers[at]).len()).collect();
    sizes.sort_unstable();
    assert!(sizes[0] >= 10 && sizes.iter().sum::<usize>() == 32, "{sizes:?}");
    // Slots move, and with them what is in them; meanwhile and afterwards nothing is admitted twice.
    let primaries = cluster.primaries();
    let moving = tokio::task::spawn_blocking(cluster.reshard(primaries[0], primaries[1], 3000));
    let mut times: HashMap<String, u32> = HashMap::new();
    while !moving.is_finished() {
        let batch = ids(500..3000);
        for (id, fresh) in batch.iter().zip(fresh(dedup.observe_batch(&batch).await)) {
            *times.entry(id.clone()).or_default() += u32::from(fresh);
        }
    }
    moving.await.expect("it moves");
    assert!(fresh(dedup.observe_batch(&ids(0..3000)).await).into_iter().all(|fresh| !fresh));
    assert!(
        times
            .iter()
            .all(|(id, &times)| times == u32::from(id[3..].parse::<u32>().expect("a number") >= 1000))
    );
}

/// What a process admits while the engine is down it tells it afterwards, with what is left of the window.
#[tokio::test]
async fn alone() {
    if !available() {
        return;
    }
    let server = Server::start(&with_module(&[]));
    let window = Duration::from_secs(20);
    let build = async || {
        let builder = RemoteDedup::builder(&hasty(&server.address()).await, "test", window).known(0);
        builder.down(Down::LocalShare).by_module().build().expect("valid")
    };
    let (one, other) = (build().await, build().await);
    assert_eq!(one.observe("before").await, Ok(Observed::Decided(FRESH)));
    let begun = std::time::Instant::now();
    server.stall();
    // (What waits in the sockets is carried out later, and is of these tokens.)
    assert_eq!(one.observe("x").await, Ok(Observed::Alone(FRESH)));
    assert_eq!(other.observe("y").await, Ok(Observed::Alone(FRESH)));
    let answers = one.observe_batch(&["a", "b", "a", "before"]).await;
    let alone = |verdict| Ok(Observed::Alone(verdict));
    assert_eq!(answers, [alone(FRESH), alone(FRESH), alone(DUPLICATE), alone(FRESH)]);
    assert_eq!(other.observe("a").await, alone(FRESH));
    server.go_on();
    for dedup in [&one, &other] {
        until_async("it has been told", async || dedup.replay().await == 0).await;
    }
    // `a` of one of both, and `before`; and what was carried out after all.
    let (replayed, conflicts) =
        (one.stats().replayed + other.stats().replayed, one.stats().conflicts + other.stats().conflicts);
    assert_eq!(replayed, 6);
    assert!((2..=4).contains(&conflicts), "{conflicts}");
    let third = build().await;
    for id in ["a", "b", "before", "x", "y"] {
        assert_eq!(third.observe(id).await, Ok(Observed::Decided(DUPLICATE)), "{id}");
    }
    // It ends when it would have ended here, and up to a sixteenth of that later.
    until_async("it is over", async || third.contains("b").await == Ok(false)).await;
    assert!(begun.elapsed() > window, "{:?}", begun.elapsed());
}

/// It is full, and says so.
#[tokio::test]
async fn refusals() {
    if !available() {
        return;
    }
    let server = Server::start(&with_module(&[]));
    let remote = connect(&server.address()).await;
    let dedup = by_module(&remote, 0);
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let error = dedup.observe("a").await.expect_err("refused");
    assert_eq!((error.kind(), error.node()), (ErrorKind::OutOfMemory, Some(&*server.at())), "{error}");
    assert!(!error.may_be_done() && error.key().is_some_and(|key| key.starts_with(b"wl:dm:test:{")));
    server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(dedup.observe("a").await, Ok(Observed::Decided(FRESH)));
    // Of another window.
    let other = RemoteDedup::builder(&remote, "test", LONG / 2).by_module().build().expect("valid");
    let error = other.observe("a").await.expect_err("refused");
    assert!(error.to_string().contains("window-ms"), "{error}");
}

#[tokio::test]
async fn what_it_cannot() {
    if !available() {
        return;
    }
    let server = Server::start(&with_module(&[]));
    let remote = connect(&server.address()).await;
    let year = RemoteDedup::builder(&remote, "a", Duration::from_secs(366 * 86_400));
    assert!(year.by_module().build().expect("valid").observe("a").await.expect("an answer").is_fresh());
    let longer = RemoteDedup::builder(&remote, "a", Duration::from_secs(366 * 86_400 + 1)).by_module();
    let error = longer.build().expect_err("refused");
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains("366 days"), "{error}");
    let ring = RemoteRing::new([Member::new("a", &remote)], |remote| {
        By::Module.of(RemoteDedup::builder(remote, "a", LONG))
    });
    assert_eq!(ring.expect_err("refused").kind(), ErrorKind::Config);

    let plain = Server::start(&[]);
    let refused = RemoteDedup::builder(&connect(&plain.address()).await, "a", LONG).by_module().build();
    assert_eq!(refused.expect_err("refused").kind(), ErrorKind::Unsupported);
}

//! The failure table: what happens when servers are lost. Minutes: `./check full`.

use super::{By, HASTE, LONG, fresh, hasty};
use crate::{
    module::with_module,
    servers::{Cluster, Sentinels, Server, available, until_async},
};
use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};
use windlass::Verdict;
use windlass_remote::{Eviction, Level, Observed, Remote, RemoteDedup};

const FRESH: Observed = Observed::Decided(Verdict::Fresh);

/// Outlasts a failover.
async fn patient(address: &str) -> Remote {
    let builder =
        Remote::builder(address).timeout(Duration::from_secs(20)).retry_after(Duration::from_millis(200));
    builder.connect().await.expect("it is there")
}

/// Of a primary with a replica: brings new ids in batches, each of `size` bytes, until it is told to stop or gets an error. Those that it was told
/// are fresh, and those that are not surely so.
async fn bring(
    dedup: RemoteDedup,
    go_on: Arc<AtomicBool>,
    size: usize,
    task: usize,
) -> (Vec<String>, Vec<String>) {
    let (mut sure, mut unsure) = (Vec::new(), Vec::new());
    for round in 0.. {
        if !go_on.load(SeqCst) {
            break;
        }
        let ids: Vec<String> = (0..100).map(|i| format!("{task}-{round}-{i}-{:0size$}", 0)).collect();
        let answers = dedup.observe_batch(&ids).await;
        let failed = answers.iter().any(Result::is_err);
        for (id, answer) in ids.into_iter().zip(answers) {
            match answer {
                Ok(FRESH) => sure.push(id),
                _ => unsure.push(id),
            }
        }
        if failed {
            break;
        }
    }
    (sure, unsure)
}

/// Loads a primary by four tasks, does something to the replica after a while, kills the primary after another, and makes the replica one. How many of the ids
/// that were surely fresh are so again; how many there were.
async fn killed(by: By, level: Level, stalled: bool) -> (usize, usize, usize) {
    let settings = with_module(&["--repl-timeout", "600", "--client-output-buffer-limit", "replica 0 0 0"]);
    let mut server = Server::start(&settings);
    let replica = server.replica(&with_module(&[]));
    let go_on = Arc::new(AtomicBool::new(true));
    let mut tasks = Vec::new();
    for task in 0..4 {
        let remote = hasty(&server.address()).await;
        let dedup = by.of(RemoteDedup::builder(&remote, "test", LONG)).level(level).known(0).build().unwrap();
        // Long ids: what is in the sockets' buffers still arrives after the primary's death.
        tasks.push(tokio::spawn(bring(dedup, Arc::clone(&go_on), 500, task)));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    if stalled {
        replica.stall();
        tokio::time::sleep(Duration::from_secs(4)).await;
    } else {
        // In step, but for what is on its way: on a crowded machine it can be seconds behind for a while.
        let offset = |server: &Server, field| server.figure("replication", field).unwrap_or(0);
        until_async("the replica is in step", async || {
            offset(&server, "master_repl_offset") < offset(&replica, "slave_repl_offset") + (64 << 10)
        })
        .await;
    }
    server.kill();
    go_on.store(false, SeqCst);
    if stalled {
        replica.go_on();
    }
    let (mut sure, mut unsure) = (Vec::new(), Vec::new());
    for task in tasks {
        let (own, others) = task.await.expect("no task fails");
        sure.extend(own);
        unsure.extend(others);
    }
    until_async("it has read what had been sent", async || {
        let info = replica.cli(&["INFO", "replication"]);
        info.contains("master_link_status:down")
    })
    .await;
    replica.cli(&["REPLICAOF", "NO", "ONE"]);
    let remote = patient(&replica.address()).await;
    let dedup = by.of(RemoteDedup::builder(&remote, "test", LONG)).known(0).build().unwrap();
    let again = fresh(dedup.observe_batch(&sure).await).into_iter().filter(|&fresh| fresh).count();
    (again, sure.len(), unsure.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: ./check full"]
async fn a_primary_is_killed() {
    if !available() {
        return;
    }
    for by in [By::Native, By::Module] {
        let (again, sure, _) = killed(by, Level::Fast, false).await;
        println!("{by:?}, healthy replica, fast: {again} of {sure} admitted again");
        // What was on its way when it died.
        assert!(again * 100 < sure, "{again} of {sure}");

        let (again, sure, _) = killed(by, Level::Fast, true).await;
        println!("{by:?}, stalled replica, fast: {again} of {sure} admitted again");
        assert!(again > 0, "what the replica never got is lost: else this test tests nothing");

        for stalled in [false, true] {
            let (again, sure, unsure) = killed(by, Level::Confirmed, stalled).await;
            println!(
                "{by:?}, stalled: {stalled}, confirmed: {again} of {sure} admitted again, {unsure} unconfirmed"
            );
            assert!(again == 0 && sure > 100, "{again} of {sure}");
        }
    }
}

/// In a cluster: a primary dies under load, its replica takes over, no call takes longer than its deadline, and nothing that came afterwards is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: ./check full"]
async fn a_primary_of_a_cluster_is_killed() {
    if !available() {
        return;
    }
    for stalls in [false, true] {
        // The others go on: nothing but the dead one's silence tells that there is a new map.
        let settings = ["--cluster-require-full-coverage", "no"];
        let mut cluster = Cluster::start_with(Duration::from_secs(1), &settings);
        let remote = hasty(&cluster.address()).await;
        let dedup = super::asking(&remote);
        let primary = cluster.primary_of(0);
        let replica = cluster.replica_of(primary);
        assert!(fresh(dedup.observe_batch(&ids(0..3000)).await).into_iter().all(|fresh| fresh));
        let begun = Instant::now();
        if stalls {
            cluster.servers[primary].stall();
        } else {
            cluster.servers[primary].kill();
        }
        let mut longest = Duration::ZERO;
        let mut number = 3000;
        let whole = loop {
            let asked = Instant::now();
            let answers = dedup.observe_batch(&ids(number..number + 30)).await;
            longest = longest.max(asked.elapsed());
            number += 30;
            let failed = answers.iter().flat_map(|answer| answer.as_ref().err()).next();
            match failed {
                None if begun.elapsed() > Duration::from_millis(500) => break begun.elapsed(),
                Some(error) => assert!(error.kind().is_outage(), "{error}"),
                None => {}
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "no failover: {failed:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        println!("cluster, stalls: {stalls}: all answered again after {whole:?}; longest call {longest:?}");
        assert!(longest < HASTE * 2, "{longest:?}: the deadline is {HASTE:?}");
        assert!(cluster.servers[replica].cli(&["INFO", "replication"]).contains("role:master"));
        // Nothing was lost: the replica had it all.
        assert!(fresh(dedup.observe_batch(&ids(0..3000)).await).into_iter().all(|fresh| !fresh));
    }
}

/// The same with sentinels, and a call that outlasts it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: ./check full"]
async fn sentinels_name_another() {
    if !available() {
        return;
    }
    let mut sentinels = Sentinels::start(Duration::from_secs(1));
    let remote = patient(&sentinels.address()).await;
    // By script: the new primary has not seen it.
    let dedup = RemoteDedup::builder(&remote, "test", LONG).known(0).by_script().build().unwrap();
    assert!(fresh(dedup.observe_batch(&ids(0..1000)).await).into_iter().all(|fresh| fresh));
    sentinels.primary.kill();
    let begun = Instant::now();
    let answer = dedup.observe("after").await.expect("it outlasts the failover");
    println!("sentinels: answered after {:?}", begun.elapsed());
    assert!(answer.is_fresh());
    assert!(sentinels.replica.cli(&["INFO", "replication"]).contains("role:master"));
    assert!(remote.stats().scripts > 1, "NOSCRIPT of the new one");
    assert!(fresh(dedup.observe_batch(&ids(0..1000)).await).into_iter().all(|fresh| !fresh));
}

/// Slots move while tasks bring the same ids: nothing is admitted twice, nothing fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: ./check full"]
async fn slots_move_under_load() {
    if !available() {
        return;
    }
    for by in [By::Native, By::Module] {
        slots_move(by).await;
    }
}

async fn slots_move(by: By) {
    let cluster = Cluster::start_with(Duration::from_secs(5), &with_module(&[]));
    let go_on = Arc::new(AtomicBool::new(true));
    let rounds = Arc::new(AtomicU64::new(0));
    let mut tasks = Vec::new();
    for task in 0..4 {
        let remote = patient(&cluster.address()).await;
        let dedup = by.of(RemoteDedup::builder(&remote, "test", LONG)).known(0).build().unwrap();
        let (go_on, rounds) = (Arc::clone(&go_on), Arc::clone(&rounds));
        tasks.push(tokio::spawn(async move {
            let mut admitted = Vec::new();
            // All bring the same, each at its own pace.
            for round in 0.. {
                if !go_on.load(SeqCst) {
                    break;
                }
                let ids = ids(round * 100..round * 100 + 150);
                for (id, answer) in ids.iter().zip(dedup.observe_batch(&ids).await) {
                    if answer.unwrap_or_else(|error| panic!("task {task}: {error}")).is_fresh() {
                        admitted.push(id.clone());
                    }
                }
                rounds.fetch_max(round, SeqCst);
            }
            (admitted, remote.stats().redirected)
        }));
    }
    let primaries = cluster.primaries();
    for (from, to) in [(0, 1), (1, 2)] {
        let moving = cluster.reshard(primaries[from], primaries[to], 500);
        tokio::task::spawn_blocking(moving).await.expect("it moves");
    }
    go_on.store(false, SeqCst);
    let (mut all, mut redirected) = (Vec::new(), 0);
    for task in tasks {
        let (admitted, own) = task.await.expect("no task fails");
        all.extend(admitted);
        redirected += own;
    }
    let different: HashSet<&String> = all.iter().collect();
    println!("{by:?}, slots moved: {} ids, {redirected} redirections", all.len());
    assert_eq!(different.len(), all.len(), "admitted twice");
    assert_eq!(all.len() as u64, rounds.load(SeqCst) * 100 + 150);
    assert!(redirected > 0, "they did not meet");
}

/// A server that evicts forgets ids within their window; that is why it is refused.
#[tokio::test]
#[ignore = "long: ./check full"]
async fn eviction_admits_again() {
    if !available() {
        return;
    }
    let server = Server::start(&["--maxmemory", "8mb", "--maxmemory-policy", "allkeys-lru"]);
    let builder =
        Remote::builder(&server.address()).eviction(Eviction::Accept).timeout(Duration::from_secs(20));
    let dedup = super::asking(&builder.connect().await.expect("accepted"));
    let ids = ids(0..100_000);
    assert!(fresh(dedup.observe_batch(&ids).await).into_iter().all(|fresh| fresh));
    let again = fresh(dedup.observe_batch(&ids).await).into_iter().filter(|&fresh| fresh).count();
    println!("eviction: {again} of 100000 admitted again");
    assert!(again > 1000, "{again}");
    // One that does not says that it is full, and forgets nothing.
    let server = Server::start(&["--maxmemory", "8mb"]);
    let dedup = super::asking(&patient(&server.address()).await);
    let first = dedup.observe_batch(&ids).await;
    let admitted: Vec<&String> =
        ids.iter().zip(&first).filter(|(_, answer)| answer.is_ok()).map(|(id, _)| id).collect();
    assert!(admitted.len() < ids.len() && admitted.len() > 1000);
    server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    assert!(fresh(dedup.observe_batch(&admitted).await).into_iter().all(|fresh| !fresh));
}

fn ids(range: std::ops::Range<u64>) -> Vec<String> {
    range.map(|i| format!("id {i}")).collect()
}

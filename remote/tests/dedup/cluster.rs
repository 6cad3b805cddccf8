//! A cluster.

use super::{By, HASTE, LONG, connect, fresh, hasty};
use crate::{
    module::with_module,
    servers::{Cluster, available, until_async},
};
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};
use windlass_remote::{ErrorKind, Remote, RemoteDedup};

/// 64 tasks of four instances bring the same 10,000 ids, each in an order of its own, singly and in batches.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_is_fresh_once() {
    if !available() {
        return;
    }
    let cluster = Cluster::start_with(Duration::from_secs(5), &with_module(&[]));
    once(By::Native, &cluster).await;
    // The ids lie on all three.
    let sizes: Vec<u64> = cluster
        .servers
        .iter()
        .map(|server| server.cli(&["DBSIZE"]).trim().parse().expect("a number"))
        .collect();
    assert!(sizes.iter().filter(|&&size| size > IDS / 5).count() >= 3, "{sizes:?}");

    once(By::Module, &cluster).await;
}

const IDS: u64 = 10_000;

async fn once(by: By, cluster: &Cluster) {
    let mut instances = Vec::new();
    for known in [0, 0, 65_536, 1000] {
        let remote = Remote::builder(&cluster.address())
            .timeout(Duration::from_secs(20))
            .connect()
            .await
            .expect("there");
        let dedup = by.of(RemoteDedup::builder(&remote, "test", LONG)).known(known).build().unwrap();
        instances.push((dedup, remote));
    }
    let mut tasks = Vec::new();
    for (task, (dedup, _)) in (0..64u64).zip(instances.iter().cycle()) {
        let dedup = dedup.clone();
        tasks.push(tokio::spawn(async move {
            // A permutation: both factors are prime to 10,000.
            let ids: Vec<String> =
                (0..IDS).map(|i| format!("id {}", (i * 7919 + task * 157) % IDS)).collect();
            let mut admitted = Vec::new();
            let mut note = |ids: &[String], answers: Vec<bool>| {
                admitted
                    .extend(ids.iter().zip(answers).filter(|(_, fresh)| *fresh).map(|(id, _)| id.clone()));
            };
            let (singly, batches) = ids.split_at(50);
            for id in singly {
                note(std::slice::from_ref(id), vec![dedup.observe(id).await.expect("an answer").is_fresh()]);
            }
            for batch in batches.chunks(199) {
                note(batch, fresh(dedup.observe_batch(batch).await));
            }
            admitted
        }));
    }
    let mut times: HashMap<String, u32> = HashMap::new();
    for task in tasks {
        for id in task.await.expect("no task fails") {
            *times.entry(id).or_default() += 1;
        }
    }
    assert_eq!(times.len() as u64, IDS, "each id is admitted");
    assert!(times.values().all(|&times| times == 1), "and once");
    let sum = |figure: fn(&RemoteDedup) -> u64| instances.iter().map(|(dedup, _)| figure(dedup)).sum::<u64>();
    assert_eq!(sum(|dedup| dedup.stats().fresh), IDS);
    assert_eq!(sum(|dedup| dedup.stats().duplicates + dedup.stats().known), 63 * IDS);
    assert!(instances[2].0.stats().known > 0);
}

/// Slots that nobody serves, and slots that are somebody's.
#[tokio::test]
async fn missing_slots() {
    if !available() {
        return;
    }
    let cluster = Cluster::start_with(Duration::from_secs(5), &["--cluster-require-full-coverage", "no"]);
    let remote = hasty(&cluster.address()).await;
    let dedup = super::asking(&remote);
    // `wl:d:test:a` has one slot, which its server gives up.
    let keyslot = |key: &str| {
        cluster.servers[0].cli(&["CLUSTER", "KEYSLOT", key]).trim().parse::<u16>().expect("a slot")
    };
    let slot = keyslot("wl:d:test:a");
    let owner = cluster.primary_of(slot);
    for server in &cluster.servers {
        server.cli(&["CLUSTER", "DELSLOTS", &slot.to_string()]);
    }
    let begun = Instant::now();
    let error = dedup.observe("a").await.expect_err("nobody serves it");
    assert_eq!((error.kind(), error.key()), (ErrorKind::MissingSlots, Some(&b"wl:d:test:a"[..])), "{error}");
    assert!(error.node().is_some());
    assert!(begun.elapsed() < HASTE * 3, "{:?}", begun.elapsed());
    // Others are as they were, also those of the server that has given up this one.
    for own in [true, false] {
        let is_own = |id: &str| cluster.primary_of(keyslot(&format!("wl:d:test:{id}"))) == owner;
        let other = (0..).map(|i| format!("other {i}")).find(|id| is_own(id) == own);
        assert!(dedup.observe(other.expect("there is one")).await.expect("served").is_fresh());
    }
    // And this one is, once somebody serves it.
    cluster.servers[owner].cli(&["CLUSTER", "ADDSLOTS", &slot.to_string()]);
    until_async("it is served again", async || dedup.observe("a").await.is_ok()).await;
}

/// A slot is moved while its keys are asked for: the way of ASK and MOVED, command by command within a batch.
#[tokio::test]
async fn a_slot_moves() {
    if !available() {
        return;
    }
    let cluster = Cluster::start(Duration::from_secs(5));
    // With the least rights that this needs.
    for server in &cluster.servers {
        server.cli(&[
            "ACL",
            "SETUSER",
            "app",
            "on",
            ">pw",
            "~wl:*",
            "+set",
            "+info",
            "+asking",
            "+cluster|slots",
        ]);
    }
    let remote = connect(&cluster.address().replace("://", "://app:pw@")).await;
    let dedup = super::asking(&remote);
    let ids: Vec<String> = (0..3000).map(|i| i.to_string()).collect();
    assert!(fresh(dedup.observe_batch(&ids).await).into_iter().all(|fresh| fresh));
    // One slot that has at least two of the ids: one key moves before the question, one does not.
    let mut of_slot: HashMap<u16, Vec<&String>> = HashMap::new();
    for id in &ids {
        of_slot.entry(crc_slot(&format!("wl:d:test:{id}"))).or_default().push(id);
    }
    let (&slot, own) = of_slot
        .iter()
        .filter(|(_, ids)| ids.len() >= 2)
        .min_by_key(|(slot, _)| **slot)
        .expect("there is one");
    let from = &cluster.servers[cluster.primary_of(slot)];
    let to = cluster.servers.iter().find(|server| {
        server.port != from.port && server.cli(&["INFO", "replication"]).contains("role:master")
    });
    let to = to.expect("another primary");
    let (slot, name) = (slot.to_string(), |server: &crate::servers::Server| {
        server.cli(&["CLUSTER", "MYID"]).trim().to_owned()
    });
    to.cli(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &name(from)]);
    from.cli(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &name(to)]);
    let moved = format!("wl:d:test:{}", own[0]);
    let answer = from.cli(&["MIGRATE", "127.0.0.1", &to.port.to_string(), &moved, "0", "5000"]);
    assert!(answer.contains("OK"), "{answer}");

    // What was moved, what was not, what is new in the slot, and others.
    let new =
        (0..).map(|i| format!("new {i}")).find(|id| crc_slot(&format!("wl:d:test:{id}")).to_string() == slot);
    let new = new.expect("there is one");
    let before = remote.stats().redirected;
    let batch = [own[0].as_str(), own[1], &new, "other", &new, own[0]];
    assert_eq!(fresh(dedup.observe_batch(&batch).await), [false, false, true, true, false, false]);
    assert_eq!(remote.stats().redirected - before, 2, "ASK, for what is there already or new");
    assert_eq!(fresh(dedup.observe_batch(&batch).await), [false; 6]);

    // The rest of the move.
    for key in [&moved, &format!("wl:d:test:{}", own[1])] {
        from.cli(&["MIGRATE", "127.0.0.1", &to.port.to_string(), key, "0", "5000"]);
    }
    for server in [to, from] {
        server.cli(&["CLUSTER", "SETSLOT", &slot, "NODE", &name(to)]);
    }
    assert_eq!(fresh(dedup.observe_batch(&batch).await), [false; 6], "MOVED");
    let redirected = remote.stats().redirected;
    assert_eq!(fresh(dedup.observe_batch(&batch).await), [false; 6]);
    assert_eq!(remote.stats().redirected, redirected, "it knows the way");
}

/// CRC-16/XMODEM modulo 16384, of keys without a tag.
fn crc_slot(key: &str) -> u16 {
    let crc = key.bytes().fold(0u16, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    });
    crc % 16384
}

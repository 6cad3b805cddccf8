//! `RemoteTopK`.

use crate::servers::{Cluster, Server, available, until_async};
use std::{collections::HashMap, sync::Arc, time::Duration};
use windlass::{Clock, Keys, Seed, Tick, TopK, TopSnapshot};
use windlass_remote::{ErrorKind, Remote, RemoteTopK};

const SECOND: u64 = 1_000_000_000;
const K: usize = 10;

fn top(k: usize) -> TopK {
    let (window, pane) = (Duration::from_secs(10), Duration::from_secs(1));
    TopK::builder(window, pane, k).capacity(5000).seed(Seed(5)).build().expect("valid")
}

/// Every key by its exact count.
fn exact(counts: &HashMap<String, u64>, k: usize) -> Vec<(String, u64)> {
    let mut rows: Vec<(String, u64)> = counts.iter().map(|(key, count)| (key.clone(), *count)).collect();
    rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    rows.truncate(k);
    rows
}

fn rows(list: &TopSnapshot) -> Vec<(String, u64)> {
    list.rows.iter().map(|row| (row.key.to_string(), row.count)).collect()
}

/// Pseudo-random numbers (SplitMix64), the same every time.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Three processes that each see a part of a skewed stream, over three primaries: merged it is the exact list.
#[tokio::test]
async fn hot_keys_of_all() {
    if !available() {
        return;
    }
    let cluster = Cluster::start(Duration::from_secs(5));
    for (name, keys) in [("shared", Keys::Shared), ("split", Keys::Split)] {
        let (mut counts, mut state) = (HashMap::new(), 11);
        let shards = [top(100), top(100), top(100)];
        for _ in 0..60_000 {
            // Among the first 2, 4, .. 4096 keys about as often each: the n-th about as often as 1 / n.
            let n = random(&mut state) % (2 << (random(&mut state) % 12));
            let key = format!("key-{n}");
            let shard = if keys == Keys::Split { n } else { random(&mut state) } % 3;
            shards[usize::try_from(shard).expect("3")].add_at(key.as_str(), 1, Tick(3 * SECOND));
            *counts.entry(key).or_insert(0) += 1;
        }
        let mut members = Vec::new();
        for shard in &shards {
            let remote = Remote::connect(&cluster.address()).await.expect("it is there");
            let member = RemoteTopK::new(&remote, name, K, keys).expect("valid");
            member.publish(&shard.export_complete_at(Tick(5 * SECOND))).await.expect("it is there");
            members.push(member);
        }
        for member in &members {
            let merged = member.merged().await.expect("an answer");
            assert_eq!((merged.merged, merged.missing), (3, 0), "{name}");
            assert_eq!(rows(&merged.list), exact(&counts, K), "{name}");
            assert!(merged.list.certified && merged.list.total == 60_000, "{name}: {:?}", merged.list);
        }
    }
}

#[tokio::test]
async fn of_the_same_interval() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = Remote::connect(&server.address()).await.expect("it is there");
    let member = || RemoteTopK::new(&remote, "a", 3, Keys::Shared).expect("valid");
    let (one, other) = (member(), member());
    let empty = one.merged().await.expect("an answer");
    assert_eq!((empty.merged, empty.missing, empty.list.rows.len()), (0, 0, 0));
    assert!(!empty.list.certified);
    let (a, b) = (top(3), top(3));
    a.add_at("x", 5, Tick(SECOND));
    b.add_at("x", 7, Tick(SECOND));
    let at = |seconds: u64| Tick(seconds * SECOND);
    let told = async || {
        let merged = one.merged().await.expect("an answer");
        (merged.list.end.0 / SECOND, rows(&merged.list), merged.merged, merged.missing)
    };
    one.publish(&a.export_complete_at(at(4))).await.expect("it is there");
    assert_eq!(told().await, (4, vec![("x".into(), 5)], 1, 0));
    other.publish(&b.export_complete_at(at(4))).await.expect("it is there");
    assert_eq!(told().await, (4, vec![("x".into(), 12)], 2, 0));
    // One is a pane ahead: the list is that which both have.
    one.publish(&a.export_complete_at(at(5))).await.expect("it is there");
    assert_eq!(told().await, (4, vec![("x".into(), 12)], 2, 0));
    other.publish(&b.export_complete_at(at(5))).await.expect("it is there");
    assert_eq!(told().await, (5, vec![("x".into(), 12)], 2, 0));
    // It is so far ahead that there is none.
    one.publish(&a.export_complete_at(at(6))).await.expect("it is there");
    one.publish(&a.export_complete_at(at(7))).await.expect("it is there");
    assert_eq!(told().await, (7, vec![("x".into(), 5)], 1, 1));
    // With another seed they cannot be merged.
    let odd = TopK::builder(Duration::from_secs(10), Duration::from_secs(1), 3).capacity(100).seed(Seed(6));
    let odd = odd.build().expect("valid");
    other.publish(&odd.export_complete_at(at(7))).await.expect("it is there");
    let error = one.merged().await.expect_err("another seed");
    assert!(error.kind() == ErrorKind::Protocol && error.to_string().contains("seed"), "{error}");
}

/// Processes publish by themselves, and one that has ended is forgotten.
#[tokio::test]
async fn who_has_ended_is_forgotten() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = Remote::connect(&server.address()).await.expect("it is there");
    let life = Duration::from_millis(300);
    let start = |n: u64| {
        let member =
            RemoteTopK::new(&remote, "a", 3, Keys::Shared).expect("valid").life(life).expect("valid");
        let (clock, _hand) = Clock::manual(Tick(5 * SECOND));
        let top = Arc::new(top(3));
        top.add_at("x", n, Tick(SECOND));
        tokio::spawn(async move {
            let export = || top.export_complete_at(clock.now());
            member.publish_each(Duration::from_millis(20), export).await
        })
    };
    let (one, other) = (start(1), start(2));
    let reader = RemoteTopK::new(&remote, "a", 3, Keys::Shared).expect("valid");
    let merged = async || reader.merged().await.expect("an answer");
    until_async("both are there", || async { rows(&merged().await.list) == [("x".into(), 3)] }).await;
    other.abort();
    until_async("it is forgotten", || async { rows(&merged().await.list) == [("x".into(), 1)] }).await;
    assert_eq!(server.cli(&["SCARD", "wl:{a:}:t:members"]).trim(), "1");
    one.abort();
    until_async("nothing is left", || async { server.cli(&["DBSIZE"]).trim() == "0" }).await;
}

//! What a user must be allowed, as `docs/distributed.md` says it, and no more.

use crate::{
    module::with_module,
    servers::{Server, available},
};
use std::time::Duration;
use windlass::{Keys, Seed, Tick, TopK};
use windlass_remote::{
    Algorithm, Down, Quota, Remote, RemoteCounter, RemoteDedup, RemoteFifo, RemoteLimitRule, RemoteLimitSet,
    RemoteLimiter, RemoteRoom, RemoteTopK,
};

/// A row of the table of rights.
fn rights(row: &str) -> Vec<String> {
    let text = include_str!("../../docs/distributed.md");
    let (_, text) = text.split_once("\n## Rights\n").expect("the heading");
    let row = text.lines().find(|line| line.starts_with(&format!("| {row} |"))).expect("there is one");
    let words = row.split(|c: char| c.is_whitespace() || "`;()".contains(c));
    words.filter(|word| word.starts_with('+')).map(|word| word.replace('\\', "")).collect()
}

async fn user(server: &Server, name: &str, row: &str) -> Remote {
    let mut command = vec!["ACL", "SETUSER", name, "on", ">secret", "~wl:*", "+info"];
    let rights = rights(row);
    command.extend(rights.iter().map(String::as_str).filter(|right| *right != "+increx"));
    assert_eq!(server.cli(&command).trim(), "OK", "{command:?}");
    Remote::connect(&format!("redis://{name}:secret@{}", server.at())).await.expect("allowed")
}

#[tokio::test]
async fn as_documented() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let (hour, quota) = (Duration::from_secs(3600), Quota::new(10, Duration::from_secs(3600)));

    let remote = user(&server, "scripts", "limits by scripts").await;
    for algorithm in
        [Algorithm::Gcra, Algorithm::FixedWindow, Algorithm::SlidingCounter, Algorithm::SlidingLog]
    {
        let limiter =
            RemoteLimiter::builder(&remote, "a", quota).algorithm(algorithm).build().expect("valid");
        for cost in [1, 10, 9] {
            limiter.check("ann", cost).await.expect("allowed");
        }
        assert!(limiter.forget("ann").await.expect("allowed"));
    }
    let set = RemoteLimitSet::builder(&remote, "b").limit(RemoteLimitRule::global("all", quota));
    set.build().expect("valid").check("g", &[""], 1).await.expect("allowed");

    let loaded = Server::start(&with_module(&[]));
    let remote = user(&loaded, "ids", "ids by the module").await;
    let dedup = RemoteDedup::builder(&remote, "a", hour).known(0).down(Down::LocalShare).by_module();
    let dedup = dedup.build().expect("valid");
    assert!(dedup.observe("x").await.expect("allowed").is_fresh());
    assert!(dedup.contains("x").await.expect("allowed"));
    // What is told after an outage, as it is told.
    assert!(
        loaded.cli(&["ACL", "DRYRUN", "ids", "WL.CLAIM", "wl:dm:a:{10}", "1000", "1000", "x"]).contains("OK")
    );
    let remote = user(&loaded, "clients", "limits by the module").await;
    let limiter = RemoteLimiter::builder(&remote, "a", quota).by_module().build().expect("valid");
    limiter.check("ann", 1).await.expect("allowed");
    assert!(limiter.forget("ann").await.expect("allowed"));

    let remote = user(&server, "native", "limits without").await;
    assert!(!remote.capabilities().scripts);
    let limiter = RemoteLimiter::builder(&remote, "a", quota).algorithm(Algorithm::FixedWindow);
    let limiter = limiter.build().expect("valid");
    limiter.check("ann", 1).await.expect("allowed");
    limiter.peek("ann", 1).await.expect("allowed");
    assert!(limiter.forget("ann").await.expect("allowed"));

    let remote = user(&server, "counts", "counts").await;
    let counter = RemoteCounter::new(&remote, "a", hour, hour).expect("valid");
    counter.add("x", 1).await.expect("allowed");
    assert_eq!(counter.count("x").await.expect("allowed"), 1);

    let remote = user(&server, "hot", "hot keys").await;
    let hot = RemoteTopK::new(&remote, "a", 3, Keys::Split).expect("valid");
    let top = TopK::builder(hour, hour, 3).capacity(10).seed(Seed(1)).build().expect("valid");
    hot.publish(&top.export_at(Tick(1))).await.expect("allowed");
    assert_eq!(hot.merged().await.expect("allowed").merged, 1);

    let remote = user(&server, "queue", "queues").await;
    let queue = RemoteFifo::new(&remote, "a").expect("valid");
    for key in ["a", "b", "c"] {
        queue.push(key, "").await.expect("allowed");
    }
    assert_eq!(queue.rank("c").await.expect("allowed"), Some(2));
    assert_eq!(queue.find("c").await.expect("allowed").map(|place| place.rank), Some(2));
    queue.get("c").await.expect("allowed");
    queue.pop().await.expect("allowed");
    queue.remove("b").await.expect("allowed");
    assert_eq!(queue.len().await.expect("allowed"), 1);

    let remote = user(&server, "room", "waiting rooms").await;
    let room = RemoteRoom::new(&remote, "a", Duration::from_millis(1)).expect("valid");
    room.arrive_at(&[b"a", b"b"], 5_000_000).await.expect("allowed");
    assert_eq!(room.arrive_at(&[b"b"], 5_001_000).await.expect("allowed").ranks, [Some(0)]);
    room.arrive("c").await.expect("allowed");
}

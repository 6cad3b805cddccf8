//! `RemoteFifo`.

use crate::servers::{Cluster, Server, available};
use proptest::{prelude::*, test_runner::TestRunner};
use std::{
    collections::HashSet,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};
use tokio::runtime::Runtime;
use windlass::{FifoIndex, Tick};
use windlass_remote::{ErrorKind, OnPresent, Pushed, Remote, RemoteFifo};

#[derive(Clone, Debug)]
enum Step {
    Push(u8, u8),
    Pop,
    Rank(u8),
    Get(u8),
    Find(u8),
    Len,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || 0..12_u8;
    let step = prop_oneof![
        5 => (key(), any::<u8>()).prop_map(|(key, value)| Step::Push(key, value)),
        3 => Just(Step::Pop),
        2 => key().prop_map(Step::Rank),
        1 => key().prop_map(Step::Get),
        2 => key().prop_map(Step::Find),
        1 => Just(Step::Len),
    ];
    prop::collection::vec(step, 1..100)
}

/// Keys of any bytes.
fn key(n: u8) -> [u8; 3] {
    [n, b'}', 0xff]
}

/// What the core answers to the same steps.
fn same_as_the_core(cases: u32) {
    if !available() {
        return;
    }
    let runtime = Runtime::new().expect("threads");
    let server = Server::start(&[]);
    let remote = runtime.block_on(Remote::connect(&server.address())).expect("it is there");
    let next = AtomicU32::new(0);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let strategy = (steps(), any::<bool>(), prop::collection::vec(0..1000_u64, 100));
    let result = TestRunner::new(config).run(&strategy, |(steps, moves, times)| {
        let on_present = if moves { OnPresent::MoveToTail } else { OnPresent::Keep };
        let core = FifoIndex::<()>::builder().capacity(1000).on_present(on_present);
        let core = core.build::<Vec<u8>>().expect("valid");
        let name = format!("case-{}", next.fetch_add(1, Relaxed));
        let tier = RemoteFifo::new(&remote, &name).expect("valid").on_present(on_present);
        runtime.block_on(async {
            for (step, time) in steps.iter().zip(times) {
                match *step {
                    Step::Push(n, value) => {
                        let expected = core.push_at(key(n).as_slice(), vec![value], Tick(time * 1000));
                        let found = tier.push_at(&key(n), &[value], time).await.expect("an answer");
                        prop_assert_eq!(Ok(found), expected);
                    }
                    Step::Pop => {
                        let expected =
                            core.pop().map(|e| (e.seq, e.key.as_bytes().to_vec(), e.value, e.pushed_at));
                        let found = tier.pop().await.expect("an answer");
                        prop_assert_eq!(found.map(|e| (e.seq, e.key, e.value, e.pushed_at)), expected);
                    }
                    Step::Rank(n) => {
                        let found = tier.rank(key(n)).await.expect("an answer");
                        prop_assert_eq!(found, core.rank(key(n).as_slice()));
                    }
                    Step::Get(n) => {
                        let found = tier.get(key(n)).await.expect("an answer");
                        prop_assert_eq!(found, core.get(key(n).as_slice()));
                    }
                    Step::Find(n) => {
                        let expected = core.find(key(n).as_slice());
                        let expected = expected.map(|p| (p.seq, p.rank, p.value, p.pushed_at));
                        let found = tier.find(key(n)).await.expect("an answer");
                        prop_assert_eq!(found.map(|p| (p.seq, p.rank, p.value, p.pushed_at)), expected);
                    }
                    Step::Len => prop_assert_eq!(tier.len().await.expect("an answer"), core.len()),
                }
            }
            Ok(())
        })
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn conformance() {
    same_as_the_core(40);
}

#[test]
#[ignore = "long: ./check full"]
fn long_conformance() {
    same_as_the_core(1000);
}

#[tokio::test]
async fn out_of_the_middle() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = Remote::connect(&server.address()).await.expect("it is there");
    let queue = RemoteFifo::new(&remote, "a").expect("valid");
    let entries: Vec<(String, String)> = (0..1500).map(|i| (format!("key-{i}"), format!("{i}"))).collect();
    let pushed = queue.push_batch(&entries).await.expect("an answer");
    assert_eq!(pushed, (0..1500).map(Pushed::New).collect::<Vec<_>>());
    assert_eq!(queue.push("key-7", "").await.expect("an answer"), Pushed::Present(7));
    let removed = queue.remove("key-7").await.expect("an answer").expect("it is there");
    assert_eq!((removed.seq, removed.value.as_slice()), (7, &b"7"[..]));
    assert!(removed.pushed_at > Tick(1_600_000_000_000_000_000), "{removed:?}");
    assert_eq!(queue.remove("key-7").await.expect("an answer"), None);
    let ranks = queue.rank_batch(&["key-6", "key-7", "key-8"]).await;
    let ranks: Vec<Option<u64>> = ranks.into_iter().map(|rank| rank.expect("an answer")).collect();
    assert_eq!(ranks, [Some(6), None, Some(7)]);
    let first: Vec<u64> =
        queue.pop_batch(10).await.expect("an answer").into_iter().map(|entry| entry.seq).collect();
    assert_eq!(first, [0, 1, 2, 3, 4, 5, 6, 8, 9, 10]);
    assert_eq!(queue.len().await.expect("an answer"), 1489);
    // What is taken out leaves nothing behind.
    assert_eq!(server.cli(&["HLEN", "wl:{a:}:q:values"]).trim(), "1489");
    assert!(!queue.is_empty().await.expect("an answer"));
    assert_eq!(queue.pop_batch(0).await.expect("an answer"), []);

    server.cli(&["SET", "wl:{b:}:q:order", "x"]);
    let other = RemoteFifo::new(&remote, "b").expect("valid");
    let error = other.len().await.expect_err("of another type");
    assert_eq!((error.kind(), error.key()), (ErrorKind::WrongType, Some(&b"wl:{b:}:q:order"[..])));
    assert_eq!(other.push("a", "").await.expect_err("of another type").kind(), ErrorKind::WrongType);
    assert_eq!(RemoteFifo::new(&remote, "a:b").expect_err("refused").kind(), ErrorKind::Config);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_once_in_order() {
    if !available() {
        return;
    }
    let cluster = Cluster::start(Duration::from_secs(5));
    let mut pushing = Vec::new();
    for task in 0..4 {
        let remote = Remote::connect(&cluster.address()).await.expect("it is there");
        let queue = RemoteFifo::new(&remote, "a").expect("valid");
        pushing.push(tokio::spawn(async move {
            for i in 0..200 {
                // Half of them are another task's as well.
                queue.push(format!("{}", (task / 2) * 1000 + i), "").await.expect("an answer");
            }
        }));
    }
    let remote = Remote::connect(&cluster.address()).await.expect("it is there");
    let popping: Vec<_> = (0..3)
        .map(|_| {
            let queue = RemoteFifo::new(&remote, "a").expect("valid");
            tokio::spawn(async move {
                let mut popped = Vec::new();
                for _ in 0..80 {
                    popped.extend(queue.pop().await.expect("an answer").map(|entry| entry.seq));
                }
                popped
            })
        })
        .collect();
    for task in pushing {
        task.await.expect("no failure");
    }
    let mut all = Vec::new();
    for task in popping {
        let popped = task.await.expect("no failure");
        assert!(popped.is_sorted());
        all.extend(popped);
    }
    let queue = RemoteFifo::new(&remote, "a").expect("valid");
    while let Some(entry) = queue.pop().await.expect("an answer") {
        all.push(entry.seq);
    }
    let numbers: HashSet<u64> = all.iter().copied().collect();
    assert!(numbers.len() == all.len() && all.len() >= 400, "{} of {}", numbers.len(), all.len());
    assert_eq!(numbers.iter().max().map(|most| most + 1), Some(all.len() as u64), "no gaps");
}

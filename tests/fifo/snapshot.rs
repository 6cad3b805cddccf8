//! Written, and restored.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use crate::common::{
    Running, Together,
    snapshot::{Parts, golden},
};
use proptest::prelude::*;
use std::{
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};
use windlass::{FifoBuilder, FifoIndex, Namespaced, OnPresent, Pushed, RestoreError, Seed, Tick};

const WALL: Duration = Duration::from_secs(1_700_000_000);

type Index = FifoIndex<Vec<u8>>;

fn written(index: &Index, now: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    index.snapshot_at(&mut bytes, Tick(now), WALL).expect("memory");
    bytes
}

fn restored(builder: &FifoBuilder, bytes: &[u8]) -> Index {
    builder.clone().restore(bytes, WALL).unwrap_or_else(|error| panic!("{error}")).structure
}

fn refused(builder: &FifoBuilder, bytes: &[u8]) -> RestoreError {
    builder.clone().restore::<Vec<u8>>(bytes, WALL).map(drop).expect_err("refused")
}

fn all(index: &Index) -> Vec<(u64, Vec<u8>, Vec<u8>, u64)> {
    index.iter().map(|e| (e.seq, e.key.as_bytes().to_vec(), e.value, e.pushed_at.0)).collect()
}

/// Keys and values of all sizes and kinds, numbers and times; the seed is the snapshot's, and time goes on.
#[test]
fn everything_comes_back() {
    let builder = FifoIndex::builder().capacity(1000);
    let index: Index = builder.clone().build().expect("valid");
    for i in 0..300_u64 {
        index.push_at(i, vec![7; usize::try_from(i).expect("small") * 1000], Tick(i)).expect("room");
        index.push_at(format!("a key of some length, number {i}"), Vec::new(), Tick(i)).expect("room");
    }
    index.push_at(Namespaced("orders", "4711"), b"in a namespace".to_vec(), Tick(300)).expect("room");
    for _ in 0..101 {
        index.pop().expect("there");
    }
    let bytes = written(&index, 1000);
    let again =
        builder.clone().restore::<Vec<u8>>(&bytes[..], WALL + Duration::from_nanos(50)).expect("restored");
    assert_eq!((again.resumed, again.entries), (Tick(1050), 500));
    let again = again.structure;
    assert_eq!(all(&again), all(&index));
    assert_eq!(again.get(Namespaced("orders", "4711")), Some(b"in a namespace".to_vec()));
    assert_eq!(again.rank(100_u64), index.rank(100_u64));
    assert_eq!(again.seed(), index.seed());
    assert_eq!(again.push_at("next", Vec::new(), Tick(5)), Ok(Pushed::New(601)));
    assert!(again.find("next").expect("there").pushed_at == Tick(300), "times never go back");
    // With another limit: as many as there is room for, or it says so.
    assert_eq!(all(&restored(&builder.clone().max_memory(1 << 20), &bytes)), all(&index));
    assert!(matches!(
        refused(&builder.clone().capacity(100), &bytes),
        RestoreError::Full { entries: 64..500, .. }
    ));
    assert!(
        matches!(refused(&builder.seed(Seed(1)), &bytes), RestoreError::Setting { name, .. } if name == "seed")
    );
}

#[test]
fn an_empty_one_goes_on_where_it_was() {
    let builder = FifoIndex::builder().capacity(10);
    let index: Index = builder.clone().build().expect("valid");
    assert_eq!(restored(&builder, &written(&index, 0)).push("a", Vec::new()), Ok(Pushed::New(0)));
    for i in 0..100_u64 {
        index.push(i, Vec::new()).expect("room");
        index.pop().expect("there");
    }
    let again = restored(&builder, &written(&index, 0));
    assert!(again.is_empty() && again.pop().is_none() && again.rank(5_u64).is_none());
    assert_eq!(again.push("a", Vec::new()), Ok(Pushed::New(100)));
    assert_eq!((again.rank("a"), again.len()), (Some(0), 1));
}

/// While threads push, move and pop: of what was answered before it began nothing is missing that was not popped, and each key is there once, in the order of
/// its numbers.
#[test]
fn while_callers_go_on() {
    const KEYS: u64 = 2000;
    let builder = FifoIndex::builder().capacity(100_000).on_present(OnPresent::MoveToTail);
    let index: Index = builder.clone().build().expect("valid");
    // These are moved again and again, and popped by nobody for good.
    for key in 0..KEYS {
        index.push(key, key.to_le_bytes().to_vec()).expect("room");
    }
    let (moving, begin, pushed) = (Running::new(), Together::new(3), AtomicU64::new(KEYS));
    let snapshots = thread::scope(|scope| {
        scope.spawn(|| {
            let _stop = moving.until_here();
            begin.wait();
            for i in 0..60_000_u64 {
                let key = i * 7 % KEYS;
                index.push(key, key.to_le_bytes().to_vec()).expect("room");
            }
        });
        scope.spawn(|| {
            begin.wait();
            while moving.goes_on() {
                let next = pushed.load(SeqCst);
                index.push(next, next.to_le_bytes().to_vec()).expect("room");
                pushed.store(next + 1, SeqCst);
                // Only those that are not moved: at the head now and then.
                let _ = index.pop_if(|key, _, _| key.as_u64().is_some_and(|key| key >= KEYS));
                if next % 256 == 0 {
                    thread::yield_now();
                }
                if index.len() > 90_000 {
                    break;
                }
            }
        });
        begin.wait();
        let mut snapshots = Vec::new();
        while snapshots.is_empty() || moving.goes_on() && snapshots.len() < 20 {
            snapshots.push(written(&index, 0));
        }
        snapshots
    });
    for bytes in snapshots {
        let again = restored(&builder, &bytes);
        let entries = all(&again);
        assert!(entries.is_sorted_by(|a, b| a.0 < b.0));
        for (_, key, value, _) in &entries {
            assert_eq!(key, value, "torn");
        }
        assert!((0..KEYS).all(|key| again.rank(key).is_some()), "missing");
        let mut keys: Vec<_> = entries.into_iter().map(|entry| entry.1).collect();
        let n = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), n, "twice");
    }
}

/// Checksums that are right, and a content that no queue has.
#[test]
fn contents_that_cannot_be() {
    let builder = FifoIndex::builder().capacity(10);
    let index: Index = builder.clone().build().expect("valid");
    index.push_at("a", b"value".to_vec(), Tick(1)).expect("room");
    index.push_at("b", b"value".to_vec(), Tick(2)).expect("room");
    let parts = Parts::of(&written(&index, 5));
    let second = 48 + 6; // an entry
    let problem = |parts: Parts| refused(&builder, &parts.bytes()).to_string();
    assert!(problem(parts.clone().set(1, 0, u64::MAX)).contains("number"));
    assert!(problem(parts.clone().set(1, second, 0)).contains("0, where 1 is the least"));
    assert!(problem(parts.clone().set(1, 40, u64::MAX)).contains("the section ends before it"));
    assert!(problem(parts.clone().set(2, 0, 1)).contains("1, where 2 is the least"));
    // Holes for which there is no room.
    assert!(matches!(
        refused(&builder, &parts.clone().set(1, second, 1 << 50).set(2, 0, 1 << 51).bytes()),
        RestoreError::Full { entries: 1, .. }
    ));
    assert!(matches!(
        refused(&builder, &parts.set(2, 0, 1 << 50).bytes()),
        RestoreError::Full { entries: 2, .. }
    ));
    let none = |_: &[u8]| None::<u64>;
    let error = builder.restore_with(&written(&index, 5)[..], WALL, none).map(drop).expect_err("no value");
    assert!(error.to_string().contains("value: not one"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_content_at_all(flips in prop::collection::vec((any::<usize>(), any::<usize>(), 1..=255_u8), 1..6)) {
        let builder = FifoIndex::builder().capacity(50).seed(Seed(7));
        let index: Index = builder.clone().build().expect("valid");
        for i in 0..40_u64 {
            let _ = index.push_at(i, vec![1; 9], Tick(i));
        }
        let _ = (index.pop(), index.pop());
        let mut parts = Parts::of(&written(&index, 50));
        for (frame, at, by) in flips {
            parts.flip(frame, at, by);
        }
        if let Ok(restored) = builder.restore::<Vec<u8>>(&parts.bytes()[..], WALL) {
            let index = restored.structure;
            for i in 0..100_u64 {
                let _ = (index.push_at(i, Vec::new(), Tick(i)), index.rank(i), index.find(i));
            }
            let there = index.len();
            prop_assert_eq!(std::iter::from_fn(|| index.pop()).count() as u64, there);
            prop_assert!(!written(&index, 0).is_empty());
        }
    }
}

/// Files of each version of the format, restored by all later ones.
#[test]
fn golden_files() {
    let builder = FifoIndex::builder().capacity(100).seed(Seed(7)).on_present(OnPresent::MoveToTail);
    let bytes = golden("fifo-v1.wls", || {
        let index: Index = builder.clone().build().expect("valid");
        for i in 0..10_u64 {
            index.push_at(format!("key-{i}"), vec![1; 3], Tick(i)).expect("room");
        }
        index.push_at("key-5", b"moved".to_vec(), Tick(20)).expect("room");
        index.push_at(42_u64, vec![2; 300], Tick(21)).expect("room");
        assert!(index.pop().is_some());
        written(&index, 30)
    });
    let restored = builder.restore::<Vec<u8>>(&bytes[..], WALL + Duration::from_nanos(1)).expect("for ever");
    assert_eq!((restored.resumed, restored.entries), (Tick(31), 10));
    let index = restored.structure;
    assert_eq!((index.rank("key-0"), index.rank("key-1"), index.rank("key-5")), (None, Some(0), Some(8)));
    assert_eq!((index.get("key-5"), index.get(42_u64)), (Some(b"moved".to_vec()), Some(vec![2; 300])));
    assert_eq!(index.push_at("next", Vec::new(), Tick(31)), Ok(Pushed::New(12)));
}

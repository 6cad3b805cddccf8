//! What is refused, and the answers at the edges.

#![allow(clippy::expect_used)] // clippy knows tests only by their attribute

use std::thread;
use windlass::{FifoIndex, KeyHash, Namespaced, OnPresent, PushRefused, Pushed, Seed, Tick};

#[test]
fn an_empty_index() {
    let index = FifoIndex::builder().capacity(10).build::<u64>().expect("valid");
    assert_eq!((index.pop(), index.peek(), index.pop_until(Tick(u64::MAX))), (None, None, None));
    assert_eq!((index.rank("a"), index.get("a"), index.find("a")), (None, None, None));
    assert_eq!((index.key_at(0), index.at_rank(0), index.iter().next()), (None, None, None));
    assert_eq!((index.len(), index.is_empty(), index.count_before(Tick(9))), (0, true, 0));
    assert_eq!(index.key_at(u64::MAX), None);
    assert_eq!(index.at_rank(u64::MAX), None);
    assert_eq!(index.iter_from(u64::MAX).next(), None);
    let (mut entries, mut ranks) = (Vec::new(), Vec::new());
    index.pop_batch(5, &mut entries);
    index.rank_batch::<u64>(&[], &mut ranks);
    assert_eq!((entries.len(), ranks.len()), (0, 0));
}

#[test]
fn settings() {
    let error = FifoIndex::builder().capacity(0).build::<u8>().expect_err("none");
    assert_eq!((error.field, error.value.as_str()), ("capacity", "0"));
    let error = FifoIndex::builder().capacity(usize::MAX).build::<u8>().expect_err("too many");
    assert_eq!(error.field, "capacity");
    let error = FifoIndex::builder().capacity(1000).max_memory(1000).build::<u8>().expect_err("too little");
    assert_eq!((error.field, error.value.as_str()), ("max_memory", "1000 bytes"));
}

#[test]
fn unknown_and_popped_keys() {
    let index = FifoIndex::builder().capacity(10).build().expect("valid");
    index.push("a", 1).expect("room");
    index.push("b", 2).expect("room");
    assert_eq!((index.rank("a"), index.rank("b"), index.rank("c")), (Some(0), Some(1), None));
    let entry = index.pop().expect("two");
    assert_eq!((entry.seq, entry.key.as_str(), entry.value), (0, Some("a"), 1));
    assert_eq!((index.rank("a"), index.get("a"), index.rank("b")), (None, None, Some(0)));
    assert_eq!((index.key_at(0), index.key_at(1).expect("there").as_bytes()), (None, &b"b"[..]));
    // It can come again.
    assert_eq!(index.push("a", 3), Ok(Pushed::New(2)));
    assert_eq!(index.find("a").map(|place| (place.seq, place.rank, place.value)), Some((2, 1, 3)));
}

#[test]
fn full() {
    let index = FifoIndex::builder().capacity(3).build().expect("valid");
    for key in 0..3_u64 {
        assert_eq!(index.push(key, key), Ok(Pushed::New(key)));
    }
    assert_eq!(index.push(3_u64, 3), Err(PushRefused::Full));
    assert_eq!(index.push(1_u64, 3), Ok(Pushed::Present(1)));
    assert_eq!((index.stats().refused, index.len(), index.rank(3_u64)), (1, 3, None));
    assert_eq!(index.pop().map(|entry| entry.value), Some(0));
    assert_eq!(index.push(3_u64, 3), Ok(Pushed::New(3)));
    assert_eq!(index.push(4_u64, 3), Err(PushRefused::Full));
}

#[test]
fn full_and_moved() {
    let index = FifoIndex::builder().capacity(3).on_present(OnPresent::MoveToTail).build().expect("valid");
    for key in 0..3_u64 {
        assert_eq!(index.push(key, key), Ok(Pushed::New(key)));
    }
    assert_eq!(index.push(0_u64, 7), Ok(Pushed::Moved(3)));
    assert_eq!(index.push(9_u64, 7), Err(PushRefused::Full));
    assert_eq!((index.rank(0_u64), index.rank(1_u64), index.get(0_u64)), (Some(2), Some(0), Some(7)));
    let popped: Vec<u64> =
        std::iter::from_fn(|| index.pop()).filter_map(|entry| entry.key.as_u64()).collect();
    assert_eq!(popped, [1, 2, 0]);
    // Moved without end, with pops in between.
    index.push(0_u64, 0).expect("room");
    for _ in 0..100_000 {
        assert!(matches!(index.push(0_u64, 0), Ok(Pushed::Moved(_))));
        assert_eq!(index.peek().and_then(|entry| entry.key.as_u64()), Some(0));
    }
    assert_eq!((index.len(), index.stats().holes), (1, 0));
}

/// Holes take room until the head has passed them.
#[test]
fn full_of_holes() {
    let index = FifoIndex::builder().capacity(100).on_present(OnPresent::MoveToTail).build().expect("valid");
    index.push(0_u64, 0).expect("room");
    let moves = (0..10_000).take_while(|_| index.push(1_u64, 0).is_ok()).count();
    assert!((100..10_000).contains(&moves), "{moves}");
    assert_eq!((index.len(), index.rank(1_u64)), (2, Some(1)));
    assert_eq!(index.pop().and_then(|entry| entry.key.as_u64()), Some(0));
    assert_eq!(index.pop().and_then(|entry| entry.key.as_u64()), Some(1));
    assert_eq!(index.push(1_u64, 0).map(|pushed| matches!(pushed, Pushed::New(_))), Ok(true));
}

/// Two keys with one hash: the second is told so, and never taken for the first.
#[test]
fn collisions() {
    #[derive(Clone, Copy)]
    struct Same(&'static str);
    impl windlass::Key for Same {
        fn key_hash(&self, _: Seed) -> KeyHash {
            KeyHash { hi: 1, lo: 1 }
        }
        fn with_bytes<R>(&self, f: impl FnOnce(u32, &[u8]) -> R) -> R {
            f(0, self.0.as_bytes())
        }
    }
    let index = FifoIndex::builder().capacity(3).build().expect("valid");
    assert_eq!(index.push(Same("a"), 1), Ok(Pushed::New(0)));
    assert_eq!(index.push(Same("b"), 2), Err(PushRefused::Collision));
    assert_eq!((index.get(Same("a")), index.get(Same("b")), index.stats().collisions), (Some(1), None, 1));
    assert_eq!((index.len(), index.stats().holes), (1, 1));
    assert_eq!(index.pop().map(|entry| entry.value), Some(1));
    assert!(index.push(Same("b"), 2).is_ok());
    assert_eq!((index.get(Same("a")), index.rank(Same("b")), index.stats().holes), (None, Some(0), 1));
    assert!(index.pop().is_some());
    assert_eq!(index.stats().holes, 0);
}

#[test]
fn keys_of_all_kinds() {
    let index = FifoIndex::builder().capacity(100).seed(Seed(1)).build().expect("valid");
    let long = "k".repeat(1000);
    index.push("4711", 0).expect("room");
    index.push(4711_u64, 1).expect("room");
    index.push(Namespaced("orders", "4711"), 2).expect("room");
    index.push(Namespaced("refunds", "4711"), 3).expect("room");
    index.push(KeyHash { hi: 5, lo: 6 }, 4).expect("room");
    index.push(&long, 5).expect("room");
    index.push("", 6).expect("room");
    for length in [20, 21, 22, 23] {
        index.push(&long[..length], length).expect("room");
    }
    let values: Vec<usize> = index.iter().map(|entry| entry.value).collect();
    assert_eq!(values, [0, 1, 2, 3, 4, 5, 6, 20, 21, 22, 23]);
    assert_eq!(index.get(Namespaced("refunds", "4711")), Some(3));
    assert_eq!(
        (index.get("4711"), index.get(4711_u64), index.get(""), index.get(&long)),
        (Some(0), Some(1), Some(6), Some(5))
    );
    let keys: Vec<_> = index.iter().map(|entry| entry.key).collect();
    assert_eq!((keys[0].as_str(), keys[1].as_u64(), keys[1].as_str()), (Some("4711"), Some(4711), None));
    assert_eq!((keys[2].kind(), keys[4].kind(), keys[5].as_str()), (4, 2, Some(&*long)));
    assert_eq!(format!("{:?} {:?}", keys[0], keys[1]), "\"4711\" 4711");
    let sum: usize = [20, 21, 22, 23].into_iter().filter_map(|n| index.get(&long[..n])).sum();
    assert_eq!(sum, 86);
}

#[test]
fn time() {
    let index = FifoIndex::builder().capacity(100).build().expect("valid");
    for (key, at) in [(0_u64, 10), (1, 20), (2, 15), (3, 30)] {
        index.push_at(key, (), Tick(at)).expect("room");
    }
    // That of 15 came after 20.
    let times: Vec<u64> = index.iter().map(|entry| entry.pushed_at.0).collect();
    assert_eq!(times, [10, 20, 20, 30]);
    let before: Vec<u64> = [0, 10, 11, 20, 21, 30, 31].map(|at| index.count_before(Tick(at))).into();
    assert_eq!(before, [0, 0, 1, 1, 3, 3, 4]);
    assert_eq!(index.pop_until(Tick(9)), None);
    assert_eq!(index.pop_if(|key, (), at| key.as_u64() == Some(1) || at > Tick(10)), None);
    assert_eq!(index.len(), 4);
    let popped: Vec<u64> =
        std::iter::from_fn(|| index.pop_until(Tick(20))).filter_map(|entry| entry.key.as_u64()).collect();
    assert_eq!((popped, index.len()), (vec![0, 1, 2], 1));
    assert_eq!(index.pop_if(|key, (), at| (key.as_u64(), at) == (Some(9), Tick(30))), None);
    assert_eq!(index.count_before(Tick(31)), 1);
}

/// With a limit in bytes it grows past what it was made for, says when that is used up, and goes on when there is room again.
#[test]
fn a_limit_in_bytes() {
    let index = FifoIndex::builder().capacity(1000).max_memory(8 << 20).build().expect("valid");
    let pushed = (0..1_000_000_u64).take_while(|&key| index.push(key, key).is_ok()).count() as u64;
    assert!((20_000..80_000).contains(&pushed), "{pushed}");
    assert!(index.memory_bytes() <= 8 << 20, "{}", index.memory_bytes());
    assert_eq!((index.len(), index.rank(pushed - 1)), (pushed, Some(pushed - 1)));
    for key in 0..pushed {
        assert_eq!(index.pop().map(|entry| entry.value), Some(key));
    }
    // (Calls of other tests may hold back what has been passed.)
    for key in 0..pushed * 3 {
        let room = (0..10_000_000).any(|_| index.push(key, key).is_ok() || (thread::yield_now(), false).1);
        assert!(room, "{key}: no room");
        assert_eq!(index.pop().map(|entry| entry.value), Some(key));
    }
    assert!(index.memory_bytes() <= 8 << 20, "{}", index.memory_bytes());
}

//! Many threads.

#![allow(clippy::expect_used)] // clippy knows tests only by their attribute

use crate::common::{Running, Together};
use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering::Relaxed, Ordering::SeqCst},
    },
    thread,
};
use windlass::{FifoIndex, OnPresent, Pushed};

/// Every value comes out once, and in the order of its number.
#[test]
fn each_value_is_popped_once_and_in_order() {
    const PUSHERS: u64 = 2;
    const EACH: u64 = 100_000;
    let index = FifoIndex::builder().capacity(1000).build().expect("valid");
    let together = Together::new(4);
    let left = AtomicI64::new((PUSHERS * EACH).cast_signed());
    let (popped, numbers) = thread::scope(|scope| {
        let pushers: Vec<_> = (0..PUSHERS)
            .map(|pusher| {
                let (index, together) = (&index, &together);
                scope.spawn(move || {
                    together.wait();
                    let mut numbers = Vec::new();
                    for i in 0..EACH {
                        let value = i * PUSHERS + pusher;
                        let pushed = loop {
                            match index.push(value, value) {
                                Ok(pushed) => break pushed,
                                Err(_) => thread::yield_now(),
                            }
                        };
                        assert!(matches!(pushed, Pushed::New(_)));
                        numbers.push((pushed.seq(), value));
                    }
                    numbers
                })
            })
            .collect();
        let poppers: Vec<_> = (0..2)
            .map(|_| {
                let (index, together, left) = (&index, &together, &left);
                scope.spawn(move || {
                    together.wait();
                    let mut popped: Vec<(u64, u64)> = Vec::new();
                    while left.load(Relaxed) > 0 {
                        match index.pop() {
                            Some(entry) => {
                                assert_eq!(entry.key.as_u64(), Some(entry.value));
                                assert!(popped.last().is_none_or(|last| last.0 < entry.seq), "out of order");
                                popped.push((entry.seq, entry.value));
                                left.fetch_sub(1, Relaxed);
                            }
                            None => thread::yield_now(),
                        }
                    }
                    popped
                })
            })
            .collect();
        let numbers: Vec<_> = pushers.into_iter().flat_map(|t| t.join().expect("no panic")).collect();
        let popped: Vec<_> = poppers.into_iter().flat_map(|t| t.join().expect("no panic")).collect();
        (popped, numbers)
    });
    let numbers: HashMap<u64, u64> = numbers.into_iter().collect();
    let popped: HashMap<u64, u64> = popped.into_iter().collect();
    assert_eq!(popped.len() as u64, PUSHERS * EACH, "popped twice, or lost");
    assert_eq!(popped, numbers);
    assert_eq!((index.len(), index.stats().holes), (0, 0));
}

/// While threads push, move and pop few keys: ranks are in their bounds, no key is there twice, nothing is popped and moved.
fn few_keys(on_present: OnPresent) {
    const KEYS: u64 = 12;
    const EACH: u64 = 60_000;
    let index = FifoIndex::builder().capacity(5000).on_present(on_present).build().expect("valid");
    let together = Together::new(3);
    let running = Running::new();
    let balance = AtomicI64::new(0);
    thread::scope(|scope| {
        let stop = running.until_here();
        let writers: Vec<_> = (0..2_u64)
            .map(|writer| {
                let (index, together, balance) = (&index, &together, &balance);
                scope.spawn(move || {
                    together.wait();
                    for i in 0..EACH {
                        let key = (i * 7 + writer) % KEYS;
                        if i % 3 == writer {
                            if let Some(entry) = index.pop() {
                                assert!(entry.key.as_u64().is_some_and(|key| key < KEYS));
                                balance.fetch_sub(1, SeqCst);
                            }
                        } else if let Ok(Pushed::New(_)) = index.push(key, i) {
                            balance.fetch_add(1, SeqCst);
                        }
                    }
                })
            })
            .collect();
        let (index, together, running) = (&index, &together, &running);
        let reader = scope.spawn(move || {
            together.wait();
            while running.goes_on() {
                for key in 0..KEYS {
                    // Two pushes may be under way.
                    assert!(index.rank(key).is_none_or(|rank| rank < KEYS + 2), "above the length");
                }
                let there: Vec<u64> = index.iter().map(|entry| entry.seq).collect();
                assert!(there.is_sorted(), "out of order");
            }
        });
        for writer in writers {
            writer.join().expect("no panic");
        }
        drop(stop);
        reader.join().expect("no panic");
    });
    let there: Vec<u64> = index.iter().filter_map(|entry| entry.key.as_u64()).collect();
    let keys: HashSet<u64> = there.iter().copied().collect();
    assert_eq!(there.len(), keys.len(), "a key is there twice");
    assert_eq!((there.len() as u64).cast_signed(), balance.load(SeqCst), "lost, or popped twice");
    assert_eq!(index.len(), there.len() as u64);
    for (at, key) in there.into_iter().enumerate() {
        assert_eq!(index.rank(key), Some(at as u64));
    }
}

#[test]
fn few_keys_that_are_kept() {
    few_keys(OnPresent::Keep);
}

#[test]
fn few_keys_that_move() {
    few_keys(OnPresent::MoveToTail);
}

/// There are never more entries than the capacity, also while they are moved and popped: of what has been put in, less what may have been taken out.
#[test]
fn never_more_than_the_capacity() {
    const CAPACITY: u32 = 4;
    let index = FifoIndex::builder()
        .capacity(CAPACITY as usize)
        .on_present(OnPresent::MoveToTail)
        .build()
        .expect("valid");
    let (together, put_in, popping) = (Together::new(3), AtomicI64::new(0), AtomicI64::new(0));
    thread::scope(|scope| {
        for thread in 0..3_u64 {
            let (index, together, put_in, popping) = (&index, &together, &put_in, &popping);
            scope.spawn(move || {
                together.wait();
                for i in 0..60_000_u64 {
                    if (i + thread).is_multiple_of(4) {
                        popping.fetch_add(1, SeqCst);
                        if index.pop().is_none() {
                            popping.fetch_sub(1, SeqCst);
                        }
                    } else if let Ok(Pushed::New(_)) = index.push((i * 5 + thread) % 6, ()) {
                        put_in.fetch_add(1, SeqCst);
                        let put_in = put_in.load(SeqCst);
                        let left = put_in - popping.load(SeqCst);
                        assert!(left <= i64::from(CAPACITY), "{left} entries");
                    }
                }
            });
        }
    });
    assert_eq!(index.len().cast_signed(), put_in.load(SeqCst) - popping.load(SeqCst));
    assert_eq!(index.iter().count() as i64, put_in.load(SeqCst) - popping.load(SeqCst));
}

/// Counts how many of it there are.
struct Alive(Arc<AtomicI64>);

impl Alive {
    fn new(count: &Arc<AtomicI64>) -> Alive {
        count.fetch_add(1, SeqCst);
        Alive(count.clone())
    }
}

impl Clone for Alive {
    fn clone(&self) -> Alive {
        Alive::new(&self.0)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        let before = self.0.fetch_sub(1, SeqCst);
        assert!(before > 0, "dropped twice");
    }
}

/// Each value is dropped once, and none is left when the index is gone and its last segments have been freed.
#[test]
fn values_are_dropped_once() {
    let count = Arc::new(AtomicI64::new(0));
    {
        let index =
            FifoIndex::builder().capacity(100).on_present(OnPresent::MoveToTail).build().expect("valid");
        let together = Together::new(2);
        thread::scope(|scope| {
            for thread in 0..2_u64 {
                let (index, together, count) = (&index, &together, &count);
                scope.spawn(move || {
                    together.wait();
                    for i in 0..20_000_u64 {
                        let _ = index.push((i + thread) % 150, Alive::new(count));
                        if i % 2 == 0 {
                            drop(index.pop());
                        }
                    }
                });
            }
        });
        let there = index.iter().count() as i64;
        assert!(count.load(SeqCst) >= there);
        // What has been passed goes.
        while index.pop().is_some() {}
    }
    // The rest when all threads of the tests have moved on.
    let other = FifoIndex::builder().capacity(1).build::<u8>().expect("valid");
    for _ in 0..10_000_000 {
        if count.load(SeqCst) == 0 {
            return;
        }
        other.maintain_at(windlass::Tick(0), 1);
        thread::yield_now();
    }
    assert_eq!(count.load(SeqCst), 0, "leaked");
}

/// Short histories of one key: every result has a place in some order of the calls that keeps to what came before what.
#[test]
fn one_key_is_linearizable() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Did {
        Pushed(Result<Pushed, ()>),
        Popped(Option<u64>),
        Removed(Option<u64>),
        Got(Option<u64>),
    }
    type History = Vec<(u64, u64, u64, Did)>;

    /// What is there: the number and the value.
    fn explains(calls: &mut History, there: Option<(u64, u64)>, on_present: OnPresent) -> bool {
        if calls.is_empty() {
            return true;
        }
        let earliest_end = calls.iter().map(|call| call.1).min().expect("one");
        for i in 0..calls.len() {
            let (begin, _, value, did) = calls[i];
            if begin > earliest_end {
                continue;
            }
            let next = match (did, there) {
                (Did::Pushed(Ok(Pushed::New(seq))), None) => Some(Some((seq, value))),
                (Did::Pushed(Ok(Pushed::Moved(seq))), Some(_)) if on_present == OnPresent::MoveToTail => {
                    Some(Some((seq, value)))
                }
                (Did::Pushed(Ok(Pushed::Present(seq))), Some((old, _))) if seq == old => Some(there),
                (Did::Popped(None) | Did::Removed(None) | Did::Got(None), None) => Some(None),
                (Did::Popped(Some(value)) | Did::Removed(Some(value)), Some((_, old))) if value == old => {
                    Some(None)
                }
                (Did::Got(Some(value)), Some((_, old))) if value == old => Some(there),
                _ => None,
            };
            if let Some(next) = next {
                let call = calls.remove(i);
                if explains(calls, next, on_present) {
                    return true;
                }
                calls.insert(i, call);
            }
        }
        false
    }

    for on_present in [OnPresent::Keep, OnPresent::MoveToTail] {
        let index = FifoIndex::builder().capacity(64).on_present(on_present).build().expect("valid");
        let (together, clock) = (Together::new(3), AtomicU64::new(0));
        let histories: Vec<Vec<History>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..3_u64)
                .map(|thread| {
                    let (index, together, clock) = (&index, &together, &clock);
                    scope.spawn(move || {
                        let mut histories = Vec::new();
                        for round in 0..1500_u64 {
                            while thread == 0 && index.pop().is_some() {}
                            together.wait();
                            let mut history = History::new();
                            for i in 0..3 {
                                let value = round * 100 + thread * 10 + i;
                                let begin = clock.fetch_add(1, SeqCst);
                                let did = match (round + thread * 5 + i * 3) % 5 {
                                    0 | 1 => Did::Pushed(index.push("key", value).map_err(|_| ())),
                                    2 => Did::Popped(index.pop().map(|entry| entry.value)),
                                    3 => Did::Removed(index.remove("key").map(|entry| entry.value)),
                                    _ => Did::Got(index.get("key")),
                                };
                                history.push((begin, clock.fetch_add(1, SeqCst), value, did));
                            }
                            histories.push(history);
                            together.wait();
                        }
                        histories
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        for round in 0..1500 {
            let mut calls: History = histories.iter().flat_map(|thread| thread[round].clone()).collect();
            let all = calls.clone();
            assert!(explains(&mut calls, None, on_present), "no order explains {all:?}");
        }
    }
}

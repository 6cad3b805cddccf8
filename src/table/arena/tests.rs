//! The arena against a plain map, with references that are made up, and under threads.

use super::{Ahead, Arena, NotPut, Reference};
use crate::sync::{
    AtomicU64, Budget,
    Ordering::{Acquire, Relaxed, Release},
    epoch::{self, Guard},
};
use proptest::prelude::*;
use std::{collections::HashMap, sync::Arc, thread};

const UNLIMITED: u64 = u64::MAX;

/// Bytes that tell which they are.
fn bytes(id: u64, len: usize) -> Vec<u8> {
    (0..len as u64)
        .map(|i| (id.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(i) >> 7).to_le_bytes()[0])
        .collect()
}

fn read(arena: &Arena, slice: u64, at: Reference, guard: &Guard) -> Option<(u32, Vec<u8>)> {
    let mut out = vec![9; 3];
    arena.read(slice, at, &mut out, guard).map(|label| (label, out))
}

/// Waits until all that was let go is freed: other tests may be pinned for a while.
fn until_freed(budget: &Budget, bytes: u64) {
    while budget.used() > bytes {
        epoch::collect();
        thread::yield_now();
    }
    assert_eq!(budget.used(), bytes);
}

#[test]
fn is_shared() {
    fn shared<T: Send + Sync>() {}
    shared::<Arena>();
}

#[test]
fn a_record_from_put_to_retire() {
    let budget = Budget::new(UNLIMITED);
    let (arena, guard) = (Arena::new(4, 2, &budget), epoch::pin());
    assert_eq!((arena.slice(0), arena.slice(15), arena.slice(16)), (0, 0, 1));
    assert_eq!(arena.oldest(&guard), None);
    let at = arena.put(1, 7, b"order-4711", &guard).unwrap();
    let other = arena.put(1, 7, b"order-4712", &guard).unwrap();
    assert_ne!(at, other);
    assert_eq!(arena.holds(1, at, 7, b"order-4711", &guard), Some(true));
    for (label, bytes) in [(8, &b"order-4711"[..]), (7, b"order-4712"), (7, b"order-471"), (7, b"")] {
        assert_eq!(arena.holds(1, at, label, bytes, &guard), Some(false));
    }
    assert_eq!(arena.holds(1, at, 7, &[0; Arena::MAX_LEN + 1], &guard), Some(false));
    assert_eq!(read(&arena, 1, at, &guard), Some((7, b"order-4711".to_vec())));
    assert_eq!((arena.oldest(&guard), arena.bytes(&guard)), (Some((31, 2)), budget.used()));

    assert_eq!(arena.carry(1, at, 1, &guard), Ok(at));
    let carried = arena.carry(1, at, 2, &guard).unwrap();
    assert_eq!(arena.retire(30, &guard), 0);
    assert_eq!(arena.retire(31, &guard), 1);
    assert_eq!(arena.retire(31, &guard), 0);
    assert_eq!(arena.oldest(&guard), Some((47, 1)));
    assert_eq!(read(&arena, 2, carried, &guard), Some((7, b"order-4711".to_vec())));
    assert_eq!(arena.holds(1, at, 7, b"order-4711", &guard), None);
    assert_eq!(read(&arena, 1, at, &guard), None);
    assert_eq!(arena.carry(1, at, 2, &guard), Err(NotPut::Gone));
    let left = arena.bytes(&guard);
    drop(guard);
    until_freed(&budget, left);
    drop(arena);
    assert_eq!(budget.used(), 0);
}

/// What was let go, or has lost its slot, does not come back.
#[test]
fn slices_only_rise() {
    let (arena, guard) = (Arena::new(0, 2, &Budget::new(UNLIMITED)), epoch::pin());
    let at = arena.put(1, 0, b"one", &guard).unwrap();
    assert_eq!(arena.retire(1, &guard), 1);
    assert_eq!(arena.put(1, 0, b"two", &guard), Err(NotPut::Gone));
    assert_eq!(arena.holds(1, at, 0, b"two", &guard), None);
    // Two live slices meet in one slot: the later one wins.
    let three = arena.put(3, 0, b"3", &guard).unwrap();
    let five = arena.put(5, 0, b"5", &guard).unwrap();
    assert_eq!(arena.put(3, 0, b"3", &guard), Err(NotPut::Gone));
    assert_eq!(arena.carry(5, five, 3, &guard), Err(NotPut::Gone));
    assert_eq!(arena.holds(3, three, 0, b"3", &guard), None);
    assert_eq!(arena.holds(5, five, 0, b"5", &guard), Some(true));
    // The other slot does not mind, and the last slice is one like others.
    assert!(arena.put(2, 0, b"2", &guard).is_ok());
    let last = arena.put(u64::MAX, 0, b"last", &guard).unwrap();
    assert_eq!(arena.holds(u64::MAX, last, 0, b"last", &guard), Some(true));
    assert_eq!(arena.retire(u64::MAX, &guard), 2);
    assert_eq!(arena.oldest(&guard), None);
}

#[test]
fn any_length() {
    let (arena, guard) = (Arena::new(0, 1, &Budget::new(UNLIMITED)), epoch::pin());
    let lens = [0, 1, 7, 8, 9, 16, 511 * 8, 511 * 8 + 1, 4096, 9000, Arena::MAX_LEN, 3, Arena::MAX_LEN];
    let put = |(id, len): (usize, &usize)| {
        let bytes = bytes(id as u64, *len);
        (arena.put(0, u32::MAX, &bytes, &guard).unwrap(), bytes)
    };
    let all: Vec<_> = lens.iter().enumerate().map(put).collect();
    for (at, bytes) in all {
        assert_eq!(arena.holds(0, at, u32::MAX, &bytes, &guard), Some(true));
        assert_eq!(read(&arena, 0, at, &guard), Some((u32::MAX, bytes)));
    }
    assert_eq!(arena.put(0, 0, &[0; Arena::MAX_LEN + 1], &guard), Err(NotPut::TooLong));
    // A long one alone skips the small chunks, and takes none of them.
    assert_eq!(arena.oldest(&guard), Some((0, lens.len() as u64)));
    let (arena, kib) = (Arena::new(0, 1, &Budget::new(UNLIMITED)), 1024);
    arena.put(0, 0, &[1; Arena::MAX_LEN], &guard).unwrap();
    assert_eq!(arena.bytes(&guard), 128 * kib);
}

/// Whatever is asked for: nothing panics, and empty memory holds nothing.
#[test]
fn references_that_are_made_up() {
    let (arena, guard) = (Arena::new(0, 4, &Budget::new(UNLIMITED)), epoch::pin());
    let real = arena.put(5, 0, &[0xff; 200], &guard).unwrap();
    let made_up = (0..32).flat_map(|bit| [1 << bit, u32::MAX << bit, (1 << bit) - 1, real.0 ^ 1 << bit]);
    let near = (0..600).map(|i| real.0.wrapping_add(i));
    for at in made_up.chain(near).map(Reference).filter(|&at| at != real) {
        for slice in [0, 1, 5, 9, u64::MAX] {
            for bytes in [&[][..], &[0; 8], &[0xff; 8], &[0; Arena::MAX_LEN]] {
                assert_ne!(arena.holds(slice, at, 0, bytes, &guard), Some(true));
            }
            let _ = (
                read(&arena, slice, at, &guard),
                arena.carry(slice, at, slice + u64::from(slice < 9), &guard),
            );
            arena.prefetch(slice, at, &guard);
        }
    }
    assert_eq!(read(&arena, 5, real, &guard), Some((0, vec![0xff; 200])));
}

/// Records of 24 bytes until there is no room.
fn fill(arena: &Arena, slice: u64) -> u64 {
    let guard = epoch::pin();
    let put = |&i: &u64| arena.put(slice, 0, &bytes(i, 16), &guard).is_ok();
    (0..).take_while(put).count() as u64
}

/// Every word of the budget is used, also what other threads have left in their chunks; and who finds no room changes nothing.
#[test]
fn a_budget() {
    let budget = Budget::new(5 * 4096);
    let arena = Arena::new(0, 1, &budget);
    thread::scope(|scope| {
        for _ in 0..3 {
            let put = || arena.put(1, 0, b"a thread's first", &epoch::pin()).is_ok();
            assert!(scope.spawn(put).join().unwrap());
        }
    });
    // Every 4 KiB hold 170 records of 24 bytes.
    assert_eq!(fill(&arena, 1) + 3, 5 * 170);
    let guard = epoch::pin();
    let state = || (budget.used(), arena.oldest(&guard), arena.bytes(&guard));
    let full = (5 * 4096, Some((1, 5 * 170)), 5 * 4096);
    assert_eq!(state(), full);
    assert_eq!(arena.put(1, 0, &[0; 9], &guard), Err(NotPut::NoRoom));
    assert_eq!(state(), full);
    assert!(arena.put(1, 0, &[0; 8], &guard).is_ok(), "4 KiB leave 16 bytes");
    // Given back when the epoch has moved on; until then the next slice is without.
    assert_eq!(arena.put(2, 0, &[0; 9], &guard), Err(NotPut::NoRoom));
    drop(guard);
    until_freed(&budget, 0);
    assert_eq!(fill(&arena, 2), 5 * 170);
}

/// The end of all shards' chunks, by a cursor put there: a real one would take 20 GiB.
#[test]
fn a_full_segment() {
    let (arena, guard) = (Arena::new(0, 1, &Budget::new(UNLIMITED)), epoch::pin());
    arena.put(0, 0, b"", &guard).unwrap();
    arena.slot(0).get(&guard).unwrap().fill_but(3 * 8193);
    let mut last = Vec::new();
    while let Ok(at) = arena.put(0, 0, &bytes(last.len() as u64, Arena::MAX_LEN), &guard) {
        last.push(at);
    }
    assert_eq!(arena.put(0, 0, &[1; Arena::MAX_LEN], &guard), Err(NotPut::NoRoom));
    assert_eq!(last.len(), 3 * 8);
    for (i, &at) in last.iter().enumerate() {
        assert_eq!(arena.holds(0, at, 0, &bytes(i as u64, Arena::MAX_LEN), &guard), Some(true));
    }
}

#[derive(Clone, Debug)]
enum Op {
    /// So far above the horizon's slice.
    Put {
        ahead: u64,
        label: u32,
        len: usize,
    },
    /// Any slice at all.
    PutAnywhere {
        slice: u64,
    },
    Carry {
        which: usize,
        ahead: u64,
    },
    Advance {
        states: u64,
    },
    Retire,
}

const SHIFT: u32 = 3;
const ALIVE: u64 = 4;

fn op() -> impl Strategy<Value = Op> {
    let len = prop_oneof![
        6 => 0..40usize,
        1 => prop::sample::select(vec![0, 1, 7, 8, 9, 4096, Arena::MAX_LEN]),
    ];
    prop_oneof![
        8 => (0..ALIVE, 0..3u32, len).prop_map(|(ahead, label, len)| Op::Put { ahead, label, len }),
        1 => (0..40u64).prop_map(|slice| Op::PutAnywhere { slice }),
        3 => (any::<usize>(), 0..ALIVE).prop_map(|(which, ahead)| Op::Carry { which, ahead }),
        2 => (0..12u64).prop_map(|states| Op::Advance { states }),
        1 => Just(Op::Retire),
    ]
}

/// What an arena is, in plain words.
#[derive(Default)]
struct Plain {
    /// For each slot: the slice, and whether it is there or was let go.
    slots: HashMap<u64, (u64, bool)>,
    records: HashMap<(u64, u32), (u32, Vec<u8>)>,
}

impl Plain {
    /// What a put into `slice` must do, if there is memory.
    fn open(&mut self, slice: u64) -> Result<(), NotPut> {
        match self.slots.insert(slice % ALIVE, (slice, true)) {
            Some(old) if old.0 > slice || old == (slice, false) => {
                self.slots.insert(slice % ALIVE, old);
                Err(NotPut::Gone)
            }
            _ => Ok(()),
        }
    }

    fn is_there(&self, slice: u64) -> bool {
        self.slots.get(&(slice % ALIVE)) == Some(&(slice, true))
    }

    fn retire(&mut self, horizon: u64) -> usize {
        let passed = |slot: &&mut (u64, bool)| slot.1 && (slot.0 << SHIFT) + (1 << SHIFT) - 1 <= horizon;
        self.slots.values_mut().filter(passed).map(|slot| slot.1 = false).count()
    }
}

/// In the arena and in the plain map: the same. Memory may be short, but must not be so without need.
fn same(
    plain: &mut Plain,
    slice: u64,
    record: (u32, Vec<u8>),
    put: Result<Reference, NotPut>,
    budget: &Budget,
) -> Result<(), TestCaseError> {
    let expected = plain.open(slice);
    match put {
        Ok(at) => {
            prop_assert_eq!(expected, Ok(()));
            prop_assert!(plain.records.insert((slice, at.0), record).is_none(), "two at one place");
        }
        // Chunks of no more than this were asked for.
        Err(NotPut::NoRoom) => prop_assert!(expected.is_ok() && budget.left() < 256 << 10),
        Err(why) => prop_assert_eq!(expected, Err(why)),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 100 } else { 1000 }))]

    #[test]
    fn like_a_plain_map(
        ops in prop::collection::vec(op(), 1..200),
        limit in prop_oneof![Just(UNLIMITED), (0..600u64).prop_map(|kib| kib << 10)],
    ) {
        let budget = Budget::new(limit);
        let arena = Arena::new(SHIFT, usize::try_from(ALIVE).unwrap(), &budget);
        let (mut plain, mut horizon) = (Plain::default(), 0);
        for (i, op) in ops.into_iter().enumerate() {
            let guard = epoch::pin();
            match op {
                Op::Put { ahead, label, len } => {
                    let (slice, bytes) = (arena.slice(horizon) + ahead, bytes(i as u64, len));
                    let put = arena.put(slice, label, &bytes, &guard);
                    same(&mut plain, slice, (label, bytes), put, &budget)?;
                }
                Op::PutAnywhere { slice } => {
                    let put = arena.put(slice, 1, b"anywhere", &guard);
                    same(&mut plain, slice, (1, b"anywhere".to_vec()), put, &budget)?;
                }
                Op::Carry { which, ahead } => {
                    let mut all: Vec<_> = plain.records.iter().map(|(key, record)| (*key, record.clone())).collect();
                    all.sort();
                    if all.is_empty() {
                        continue;
                    }
                    let ((from, at), record) = all.swap_remove(which % all.len());
                    let to = arena.slice(horizon) + ahead;
                    let carried = arena.carry(from, Reference(at), to, &guard);
                    if !plain.is_there(from) {
                        prop_assert_eq!(carried, Err(NotPut::Gone));
                    } else if from == to {
                        prop_assert_eq!(carried, Ok(Reference(at)));
                    } else {
                        same(&mut plain, to, record, carried, &budget)?;
                    }
                }
                Op::Advance { states } => horizon += states,
                Op::Retire => prop_assert_eq!(arena.retire(horizon, &guard), plain.retire(horizon)),
            }
        }
        let guard = epoch::pin();
        for (&(slice, at), (label, bytes)) in &plain.records {
            let there = plain.is_there(slice);
            let at = Reference(at);
            prop_assert_eq!(arena.holds(slice, at, *label, bytes, &guard), there.then_some(true));
            let altered = arena.holds(slice, at, label ^ 1 << 31, bytes, &guard);
            prop_assert_eq!(altered, there.then_some(false));
            prop_assert_eq!(read(&arena, slice, at, &guard), there.then(|| (*label, bytes.clone())));
        }
        let oldest = plain.slots.values().filter(|slot| slot.1).map(|slot| slot.0).min();
        let entries = |slice| plain.records.keys().filter(|key| key.0 == slice).count() as u64;
        prop_assert_eq!(
            arena.oldest(&guard),
            oldest.map(|slice| ((slice << SHIFT) + (1 << SHIFT) - 1, entries(slice)))
        );
        prop_assert!(budget.used() <= limit);
        arena.retire(u64::MAX, &guard);
        prop_assert_eq!(arena.bytes(&guard), 0);
        drop(guard);
        until_freed(&budget, 0);
    }
}

/// Writers publish in cells, readers compare, and the horizon follows.
#[test]
fn threads() {
    const WRITERS: u64 = 3;
    const SHIFT: u32 = 9;
    const EVENTS: u64 = 30_000;
    let budget = Budget::new(64 << 20);
    let arena = Arena::new(SHIFT, 16, &budget);
    // The newest of each writer: its state above, its reference below.
    let cells: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let (clock, done, seen) = (AtomicU64::new(1), AtomicU64::new(0), AtomicU64::new(0));
    let record = |state: u64| bytes(state, usize::try_from(state % 41).unwrap());
    thread::scope(|scope| {
        for cell in &cells {
            scope.spawn(|| {
                // On a busy machine until the reader has had its turn.
                let goes_on = |&event: &u64| event < EVENTS || seen.load(Relaxed) == 0;
                for _ in (0..100 * EVENTS).take_while(goes_on) {
                    let (guard, state) = (epoch::pin(), clock.fetch_add(1, Relaxed));
                    match arena.put(arena.slice(state), 3, &record(state), &guard) {
                        Ok(at) => cell.store(state << 32 | u64::from(at.0), Release),
                        // Put off for so long that the horizon has passed it.
                        Err(why) => assert_eq!(why, NotPut::Gone),
                    }
                }
                done.fetch_add(1, Relaxed);
            });
        }
        scope.spawn(|| {
            while done.load(Relaxed) < WRITERS {
                for cell in &cells {
                    let guard = epoch::pin();
                    let [state, at] =
                        [cell.load(Acquire)].map(|cell| [cell >> 32, cell & u64::from(u32::MAX)])[0];
                    let at = Reference(u32::try_from(at).unwrap());
                    if state > 0 {
                        let slice = arena.slice(state);
                        let found = arena.holds(slice, at, 3, &record(state), &guard);
                        assert_ne!(found, Some(false));
                        assert!(
                            read(&arena, slice, at, &guard).is_none_or(|found| found == (3, record(state)))
                        );
                        seen.fetch_add(u64::from(found.is_some()), Relaxed);
                    }
                }
            }
        });
        scope.spawn(|| {
            while done.load(Relaxed) < WRITERS {
                arena.retire(clock.load(Relaxed).saturating_sub(4 << SHIFT), &epoch::pin());
                thread::yield_now();
            }
        });
    });
    assert!(seen.into_inner() > 0);
    drop(arena);
    until_freed(&budget, 0);
}

/// Many threads put until there is no room: what was put is what fits, to the last record, and all of it is there.
#[test]
fn threads_that_share_a_budget() {
    const THREADS: u64 = 12;
    for _ in 0..20 {
        let budget = Budget::new(16 * 4096);
        let arena = Arena::new(0, 1, &budget);
        let put = |thread: u64| {
            let guard = epoch::pin();
            let put = |i| {
                arena.put(1, 0, &bytes(thread << 32 | i, 16), &guard).ok().map(|at| (thread << 32 | i, at))
            };
            (0..).map_while(put).collect::<Vec<_>>()
        };
        let all: Vec<_> = thread::scope(|scope| {
            let put = &put;
            let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || put(thread))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let (put, used) = (all.len() as u64 + fill(&arena, 1), budget.used());
        assert_eq!(used, 16 * 4096);
        // 170 in 4 KiB, 341 in 8.
        assert!((used / 4096 * 170..=used / 24).contains(&put), "{put} records in {used} bytes");
        let guard = epoch::pin();
        assert!(all.iter().all(|&(id, at)| arena.holds(1, at, 0, &bytes(id, 16), &guard) == Some(true)));
    }
}

#[test]
fn a_budget_is_shared_by_arenas() {
    let budget = Budget::new(4096);
    let (one, two) = (Arena::new(0, 1, &budget), Arena::new(0, 1, &budget));
    let guard = epoch::pin();
    assert!(one.put(0, 0, b"", &guard).is_ok());
    assert_eq!(two.put(0, 0, b"", &guard), Err(NotPut::NoRoom));
    drop(one);
    assert!(two.put(0, 0, b"", &guard).is_ok());
    assert_eq!(Arc::strong_count(&budget), 3, "the test's, the arena's, the chunk's");
}

/// Room taken ahead is used in order, given back, and leaves no hole.
#[test]
fn several_at_once() {
    let (arena, guard) = (Arena::new(0, 4, &Budget::new(UNLIMITED)), epoch::pin());
    let (alone, ahead) = (Arena::new(0, 4, &Budget::new(UNLIMITED)), Ahead::default());
    let record = |i: u32| vec![i.to_le_bytes()[0]; [16, 0, 7, 300, 40, 500][i as usize % 6]];
    let mut put = Vec::new();
    for i in 0..1000 {
        let slice = u64::from(i) / 90;
        let at = arena.put_ahead(&ahead, slice, i, &record(i), &guard).expect("room");
        alone.put(slice, i, &record(i), &guard).expect("room");
        put.push((slice, at));
        if i % 64 == 0 {
            arena.give_back(&ahead);
        }
    }
    arena.give_back(&ahead);
    arena.give_back(&ahead);
    let alive = |slice: u64| slice > 1000 / 90 - 4;
    for (i, &(slice, at)) in (0..).zip(&put) {
        let holds = arena.holds(slice, at, i, &record(i), &guard);
        assert_eq!(holds, alive(slice).then_some(true), "{i}");
    }
    assert_eq!(arena.oldest(&guard), alone.oldest(&guard), "as many as were put");
    // What was given back is used again: no more chunks than one by one, but for a few words at the ends.
    assert!(arena.bytes(&guard) <= alone.bytes(&guard) + 4 * 4096);
}

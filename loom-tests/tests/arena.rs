//! The arena: references into segments that go. Protocol: `src/table/arena/`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::bounded;
use loom::{
    sync::{
        Arc,
        atomic::{
            AtomicU64,
            Ordering::{self, Acquire, Relaxed, Release},
        },
    },
    thread,
};
use windlass::model::{Arena, NotPut, Twin, with};

/// Enough for all.
const PLENTY: u64 = 1 << 20;

/// In the place of a table's cell: a reference is published by a release, and acquired. 0: none.
struct Cell(AtomicU64);

impl Cell {
    fn new() -> Cell {
        Cell(AtomicU64::new(0))
    }

    fn publish(&self, at: u32, release: Ordering) {
        self.0.store(u64::from(at) + 1, release);
    }

    fn get(&self) -> Option<u32> {
        u32::try_from(self.0.load(Acquire).checked_sub(1)?).ok()
    }
}

/// One slot. A reader has found slice 1 while that is let go and its slot used again, at the same place.
fn a_slot_used_again() {
    bounded(10, || {
        let arena = Arc::new(Arena::new(1, PLENTY));
        let at = arena.put(1, b"old").unwrap();
        let a2 = arena.clone();
        let reader = thread::spawn(move || (a2.holds(1, at, b"old"), a2.holds(1, at, b"new")));
        assert_eq!(arena.retire(1), 1);
        assert_eq!(arena.put(2, b"new"), Ok(at));
        let (old, new) = reader.join().unwrap();
        assert!(old != Some(false) && new != Some(true), "other bytes");
        assert_eq!(arena.holds(2, at, b"new"), Some(true));
    });
}

#[test]
fn own_bytes_or_gone() {
    a_slot_used_again();
}

#[test]
#[should_panic(expected = "other bytes")]
fn twin_the_slice_is_not_compared() {
    with(Twin::IgnoreSlice, a_slot_used_again);
}

/// A late call puts into a slice that is let go: whoever has a reference to the old segment does not find the new bytes.
fn a_slice_that_was_let_go() {
    bounded(10, || {
        let arena = Arc::new(Arena::new(1, PLENTY));
        let at = arena.put(1, b"old").unwrap();
        let (a2, a3) = (arena.clone(), arena.clone());
        let reader = thread::spawn(move || a2.holds(1, at, b"old"));
        let late = thread::spawn(move || a3.put(1, b"new"));
        assert_eq!(arena.retire(1), 1);
        assert_ne!(reader.join().unwrap(), Some(false), "other bytes");
        let refused = late.join().unwrap().err();
        assert_ne!(arena.holds(1, at, b"new"), Some(true), "other bytes");
        assert!(refused.is_none_or(|why| why == NotPut::Gone));
    });
}

#[test]
fn a_slice_does_not_come_back() {
    a_slice_that_was_let_go();
}

#[test]
#[should_panic(expected = "other bytes")]
fn twin_no_number_is_left() {
    with(Twin::ForgetSlice, a_slice_that_was_let_go);
}

/// Two slots for slices 1, 2 and 3: of two that meet in one, the later wins, whoever comes first.
#[test]
fn the_later_slice_wins() {
    bounded(10, || {
        let arena = Arc::new(Arena::new(2, PLENTY));
        let a2 = arena.clone();
        let early = thread::spawn(move || a2.put(1, b"one"));
        let three = arena.put(3, b"three").unwrap();
        let two = arena.put(2, b"two").unwrap();
        if let Err(refused) = early.join().unwrap() {
            assert_eq!(refused, NotPut::Gone);
        }
        assert_eq!(arena.holds(3, three, b"three"), Some(true));
        assert_eq!(arena.holds(2, two, b"two"), Some(true));
        assert_eq!(arena.put(1, b"one"), Err(NotPut::Gone));
    });
}

/// Each finds the bytes that were put.
#[track_caller]
fn all_there<const N: usize>(arena: &Arena, records: [(u32, &[u8]); N]) {
    let found = records.map(|(at, bytes)| arena.holds(1, at, bytes));
    assert_eq!(found, [Some(true); N], "a record is lost");
    assert_eq!(arena.entries(), Some(N as u64));
}

/// Two put into a slice that has neither segment nor chunk; one needs a larger chunk.
fn a_segment_opened_by_two() {
    bounded(100, || {
        let arena = Arc::new(Arena::new(1, PLENTY));
        let a2 = arena.clone();
        let b = thread::spawn(move || {
            (a2.put(1, b"b").unwrap(), a2.put(1, b"b of 25 bytes, in 5 words").unwrap())
        });
        let a = arena.put(1, b"a of 11 ..").unwrap();
        let (b, long) = b.join().unwrap();
        all_there(&arena, [(a, b"a of 11 .."), (b, b"b"), (long, b"b of 25 bytes, in 5 words")]);
    });
}

#[test]
fn no_record_is_lost() {
    a_segment_opened_by_two();
}

/// Three come to the end of a chunk.
#[test]
fn no_record_is_lost_by_three() {
    bounded(100, || {
        let arena = Arc::new(Arena::new(1, PLENTY));
        let first = arena.put(1, b"").unwrap();
        let (a2, a3) = (arena.clone(), arena.clone());
        let b = thread::spawn(move || a2.put(1, b"b").unwrap());
        let c = thread::spawn(move || a3.put(1, b"c").unwrap());
        let a = arena.put(1, b"a").unwrap();
        all_there(&arena, [(first, b""), (a, b"a"), (b.join().unwrap(), b"b"), (c.join().unwrap(), b"c")]);
    });
}

#[test]
#[should_panic(expected = "a record is lost")]
fn twin_a_range_without_cas() {
    with(Twin::CursorByStore, a_segment_opened_by_two);
}

/// Memory for one chunk, which two open at one time: there is room for both.
fn the_last_chunk() {
    bounded(10, || {
        let arena = Arc::new(Arena::new(1, 32));
        let a2 = arena.clone();
        let b = thread::spawn(move || a2.put(1, b"b"));
        let a = arena.put(1, b"a");
        let both = [(a, b"a"), (b.join().unwrap(), b"b")];
        assert!(both.iter().all(|(at, _)| at.is_ok()), "refused, and there is room");
        assert_eq!(both.map(|(at, bytes)| arena.holds(1, at.unwrap(), bytes)), [Some(true); 2]);
        assert_eq!(arena.put(1, b"c"), Err(NotPut::NoRoom));
        assert_eq!((arena.used(), arena.entries()), (32, Some(2)));
    });
}

#[test]
fn nobody_is_refused_who_has_room() {
    the_last_chunk();
}

#[test]
#[should_panic(expected = "refused, and there is room")]
fn twin_refused_at_once() {
    with(Twin::RefuseAtOnce, the_last_chunk);
}

/// A reader of a record that is being published.
fn a_record_published(release: Ordering) {
    bounded(3, move || {
        let (arena, cell) = (Arc::new(Arena::new(1, PLENTY)), Arc::new(Cell::new()));
        let (a2, c2) = (arena.clone(), cell.clone());
        let reader = thread::spawn(move || c2.get().map(|at| a2.holds(1, at, b"bytes")));
        cell.publish(arena.put(1, b"bytes").unwrap(), release);
        assert!(matches!(reader.join().unwrap(), None | Some(Some(true))), "published before it was written");
    });
}

#[test]
fn whoever_has_the_reference_sees_the_record() {
    a_record_published(Release);
}

#[test]
#[should_panic(expected = "published before it was written")]
fn twin_published_without_a_release() {
    a_record_published(Relaxed);
}

/// An entry is refreshed, which carries its record on, while its old slice is let go.
#[test]
fn carried_while_the_slice_goes() {
    bounded(5, || {
        let arena = Arc::new(Arena::new(2, PLENTY));
        let at = arena.put(1, b"bytes").unwrap();
        let a2 = arena.clone();
        let carried = thread::spawn(move || {
            let to = a2.carry(1, at, 2)?;
            assert_eq!(a2.holds(2, to, b"bytes"), Some(true));
            Ok::<u32, NotPut>(to)
        });
        assert_eq!(arena.retire(1), 1);
        match carried.join().unwrap() {
            Ok(to) => assert_eq!(arena.holds(2, to, b"bytes"), Some(true)),
            Err(refused) => assert_eq!(refused, NotPut::Gone),
        }
    });
}

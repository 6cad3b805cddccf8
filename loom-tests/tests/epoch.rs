//! What waits for others to end, with the real crossbeam-epoch on loom's atomics: the pointer to a table, the segments of an arena,
//! the rings of sliding logs, the tables of counters, thresholds. Code: `src/sync/epoch.rs`, `src/table/arena/`, `src/limit/logs.rs`,
//! `src/count/stock.rs`, `src/topk/lower.rs`.
//!
//! Needs `--cfg crossbeam_loom` as well: a build of its own.
#![cfg(all(windlass_loom, crossbeam_loom))]
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

mod common;
use common::{EMPTY, bounded, bounded_by_less, bounded_by_two};
use loom::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};
use windlass::model::{Arena, Fifo, Limiters, Rings, Root, Shelf, Table, Top, Twin, with};

/// Tells when it is dropped.
struct Probe(Arc<AtomicBool>);

impl Drop for Probe {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// A reader while the target is replaced. (What it finds is asserted outside of the model: crossbeam's thread-local state
/// does not survive a panic inside.)
fn a_reader_and_a_replacement() {
    let violated = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = violated.clone();
    bounded(10, move || {
        let dropped = Arc::new(AtomicBool::new(false));
        let root = Arc::new(Root::new(Probe(dropped.clone())));
        let (r2, d2, seen) = (root.clone(), dropped.clone(), seen.clone());
        let reader = thread::spawn(move || {
            let late = r2.read(|probe| {
                let first = Arc::ptr_eq(&probe.0, &d2);
                thread::yield_now();
                Some(first && d2.load(Relaxed))
            });
            seen.fetch_or(late, Relaxed);
        });
        root.replace(Probe(Arc::new(AtomicBool::new(false))), |_| {});
        for _ in 0..3 {
            root.collect();
        }
        reader.join().unwrap();
    });
    assert!(!violated.load(Relaxed), "used after it was dropped");
}

#[test]
fn a_replaced_target_outlives_its_readers() {
    a_reader_and_a_replacement();
}

#[test]
#[should_panic(expected = "used after it was dropped")]
fn twin_dropped_at_once() {
    with(Twin::DropAtOnce, a_reader_and_a_replacement);
}

/// A late reader while the segment that it has found is let go. (Whether its memory goes meanwhile is seen by the budget: it must not be
/// touched to tell.)
fn a_late_reader_and_a_segment() {
    let violated = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = violated.clone();
    bounded(10, move || {
        let arena = Arc::new(Arena::new(1, 1 << 20));
        arena.put(1, b"bytes").unwrap();
        let (a2, seen) = (arena.clone(), seen.clone());
        let reader = thread::spawn(move || seen.fetch_or(a2.vanishes(1, thread::yield_now), Relaxed));
        arena.retire(1);
        for _ in 0..3 {
            arena.collect();
        }
        reader.join().unwrap();
    });
    assert!(!violated.load(Relaxed), "freed under its reader");
}

#[test]
fn a_segment_outlives_its_readers() {
    a_late_reader_and_a_segment();
}

#[test]
#[should_panic(expected = "freed under its reader")]
fn twin_a_segment_dropped_at_once() {
    with(Twin::DropAtOnce, a_late_reader_and_a_segment);
}

/// A late reader of an entry of the queue that is popped meanwhile, and its segment let go. (The twin is that of segments above: here the pop
/// itself would go on in what is freed.)
fn a_late_reader_and_an_entry() {
    let violated = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = violated.clone();
    bounded(10, move || {
        let dropped = Arc::new(AtomicBool::new(false));
        let fifo = Arc::new(Fifo::new(false, 0, 1));
        // (Handed out are copies of the pointer: only the first is the value.)
        let value = Arc::new(Probe(dropped.clone()));
        fifo.push(1, value).unwrap();
        let (f2, mut popping) = (fifo.clone(), None);
        // (It goes when the entry has been found: the twin frees it, and nobody may look for it then.)
        let late = fifo.meanwhile(1, || {
            popping = Some(thread::spawn(move || {
                drop(f2.pop());
                for _ in 0..3 {
                    f2.collect();
                }
            }));
            thread::yield_now();
            dropped.load(Relaxed)
        });
        seen.fetch_or(late, Relaxed);
        popping.unwrap().join().unwrap();
    });
    assert!(!violated.load(Relaxed), "dropped under its reader");
}

#[test]
fn an_entry_outlives_its_readers() {
    a_late_reader_and_an_entry();
}

/// The same, and the reader reads.
#[test]
fn a_late_reader_finds_its_bytes_or_none() {
    bounded(10, || {
        let arena = Arc::new(Arena::new(1, 1 << 20));
        let at = arena.put(1, b"bytes").unwrap();
        let a2 = arena.clone();
        let reader = thread::spawn(move || a2.holds(1, at, b"bytes"));
        arena.retire(1);
        for _ in 0..3 {
            arena.collect();
        }
        assert_ne!(reader.join().unwrap(), Some(false));
    });
}

/// An add stalls while its table leaves, is cleared, and is about to be used again.
fn a_stalled_add_and_a_table_used_again() {
    let violated = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let used_again = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (seen, again) = (violated.clone(), used_again.clone());
    bounded_by_two(10, move || {
        let shelf = Arc::new(Shelf::default());
        let s2 = shelf.clone();
        let adder = thread::spawn(move || s2.add(1));
        shelf.leave();
        let cleared = shelf.cleared();
        again.fetch_or(cleared.is_some(), Relaxed);
        adder.join().unwrap();
        seen.fetch_or(cleared.is_some_and(|table| table.count(1) > 0), Relaxed);
    });
    assert!(used_again.load(Relaxed), "never used again");
    assert!(!violated.load(Relaxed), "counted in another generation");
}

#[test]
fn a_table_is_cleared_when_its_calls_have_ended() {
    a_stalled_add_and_a_table_used_again();
}

#[test]
#[should_panic(expected = "counted in another generation")]
fn twin_cleared_at_once() {
    with(Twin::ClearAtOnce, a_stalled_add_and_a_table_used_again);
}

/// A table leaves while a snapshot is read, is cleared, and is about to be used again: the snapshot has all of it, or knows that it has left.
fn a_snapshot_and_a_table_used_again() {
    let violated = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let used_again = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (seen, again) = (violated.clone(), used_again.clone());
    bounded_by_two(10, move || {
        let shelf = Arc::new(Shelf::default());
        (0..3).for_each(|_| shelf.add(1));
        let s2 = shelf.clone();
        let reader = thread::spawn(move || s2.copy(1, thread::yield_now));
        shelf.leave();
        again.fetch_or(shelf.cleared().is_some(), Relaxed);
        let read = reader.join().unwrap();
        seen.fetch_or(read.is_some_and(|count| count != 3), Relaxed);
    });
    assert!(used_again.load(Relaxed), "never used again");
    assert!(!violated.load(Relaxed), "a count is missing");
}

#[test]
fn a_snapshot_keeps_its_table() {
    a_snapshot_and_a_table_used_again();
}

#[test]
#[should_panic(expected = "a count is missing")]
fn twin_cleared_under_a_snapshot() {
    with(Twin::ClearAtOnce, a_snapshot_and_a_table_used_again);
}

/// Two rings are taken and one of them is sent back, while another caller is about to take one: it must not find the list as it was
/// (ABA), and the other ring twice in use.
fn rings_that_come_back() {
    let violated = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = violated.clone();
    bounded_by_two(10, move || {
        let rings = Arc::new(Rings::new(2));
        let others = rings.clone();
        let other = thread::spawn(move || others.take(1));
        let mut used = rings.take(2);
        if used.len() == 2 {
            assert!(rings.retire(used.remove(0)));
        }
        rings.collect();
        rings.collect();
        used.extend(other.join().unwrap());
        used.extend(rings.take(2));
        used.sort_unstable();
        used.dedup_by(|a, b| {
            seen.fetch_or(a == b, Relaxed);
            false
        });
    });
    assert!(!violated.load(Relaxed), "a ring is used twice");
}

#[test]
fn a_ring_that_comes_back_is_used_once() {
    rings_that_come_back();
}

#[test]
#[should_panic(expected = "a ring is used twice")]
fn twin_a_ring_comes_back_at_once() {
    with(Twin::PutAtOnce, rings_that_come_back);
}

/// The only ring goes to another client while a call of the first one's is in it: what that takes is not charged to the other.
fn a_call_in_a_ring_that_goes() {
    const NOW: u64 = 1_000_000;
    let violated = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = violated.clone();
    bounded_by_two(10, move || {
        // Two in 10 microseconds; ages are in units of 4.1.
        let limiters = Arc::new(Limiters::of_logs(2, 10, 1, 12));
        let table = Arc::new(Table::<1, 2>::new([[EMPTY; 2]], 0));
        limiters.take(&table, 1, NOW).unwrap();
        let (limiters2, table2) = (limiters.clone(), table.clone());
        let stalled = thread::spawn(move || limiters2.take(&table2, 1, NOW + 1));
        let one = limiters.take(&table, 2, NOW + 40);
        let _ = stalled.join().unwrap();
        let another = limiters.take(&table, 2, NOW + 40);
        seen.fetch_or(one == Ok(true) && another == Ok(false), Relaxed);
    });
    assert!(!violated.load(Relaxed), "charged to another client");
}

#[test]
fn a_ring_goes_when_its_calls_have_ended() {
    a_call_in_a_ring_that_goes();
}

#[test]
#[should_panic(expected = "charged to another client")]
fn twin_a_ring_goes_at_once() {
    with(Twin::PutAtOnce, a_call_in_a_ring_that_goes);
}

/// An add that goes by a threshold stalls while that is lowered: it marks nothing, and the look at all rows may have passed its row before.
/// (It takes a minute with the preemptions that the twin needs.)
fn an_add_and_a_lower_threshold(preemptions_less: usize) {
    let violated = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let certified = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (seen, once) = (violated.clone(), certified.clone());
    bounded_by_less(preemptions_less, 10, move || {
        let top = Arc::new(Top::new(1, 1, 9));
        top.add(2, 4, 0);
        top.add(1, 1, 0);
        let t2 = top.clone();
        let stalled = thread::spawn(move || t2.add(1, 4, 0));
        top.lower(2, 0);
        for _ in 0..3 {
            top.collect();
        }
        top.step();
        assert!(stalled.join().unwrap());
        let (rows, certified) = top.list(0);
        once.fetch_or(certified, Relaxed);
        seen.fetch_or(certified && rows != [(1, 5)], Relaxed);
    });
    assert!(certified.load(Relaxed), "never certified");
    assert!(!violated.load(Relaxed), "certified, and the hottest is missing");
}

#[test]
fn a_threshold_is_lowered_when_its_calls_have_ended() {
    an_add_and_a_lower_threshold(1);
}

#[test]
#[should_panic(expected = "certified, and the hottest is missing")]
fn twin_lowered_at_once() {
    with(Twin::LowerAtOnce, || an_add_and_a_lower_threshold(0));
}

//! Counters: nothing is lost and nothing counted twice, while rows are taken, tables linked, and generations come and go. Protocol:
//! `src/pane/generations.rs`, `src/count/`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::{bounded, bounded_by_two};
use loom::{
    sync::{
        Arc,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Release},
        },
    },
    thread,
};
use windlass::model::{Counter, Twin, with};

/// In another thread.
fn beside<R: 'static>(c: &Arc<Counter>, run: impl FnOnce(&Counter) -> R + 'static) -> thread::JoinHandle<R> {
    let c = c.clone();
    thread::spawn(move || run(&c))
}

fn counter(window: u64, kept: u64) -> Arc<Counter> {
    Arc::new(Counter::new(window, kept, true))
}

// --- rows ---

/// Two bring one new key, and a third key its neighbour.
fn one_new_key() {
    bounded(30, || {
        let c = counter(2, 3);
        // The generation is there.
        c.add(7, 0);
        let other = beside(&c, |c| c.add(1, 0));
        assert!(c.add(1, 0));
        assert!(other.join().unwrap());
        assert_eq!(c.count(1, 0), 2, "an add is lost");
        assert_eq!((c.count(7, 0), c.total(0)), (1, 3));
    });
}

#[test]
fn one_row_for_a_key() {
    one_new_key();
}

#[test]
#[should_panic(expected = "an add is lost")]
fn twin_a_row_passed_over() {
    with(Twin::PassOver, one_new_key);
}

#[test]
#[should_panic(expected = "an add is lost")]
fn twin_stored_blindly() {
    with(Twin::StoreBlindly, one_new_key);
}

/// Two new keys for the last row near, so one of them goes outside; and both are brought twice.
#[test]
fn the_last_row() {
    bounded(500, || {
        let c = counter(2, 3);
        c.add(7, 0);
        let other = beside(&c, |c| {
            c.add(2, 0);
            c.add(1, 0);
        });
        c.add(1, 0);
        c.add(2, 1);
        other.join().unwrap();
        assert_eq!((c.count(1, 1), c.count(2, 1), c.count(7, 1)), (2, 2, 1), "an add is lost");
    });
}

/// All rows are taken: two link a further table.
fn a_further_table() {
    bounded(150, || {
        let c = counter(2, 3);
        (11..15).for_each(|key| assert!(c.add(key, 0)));
        let other = beside(&c, |c| c.add(1, 0));
        assert!(c.add(1, 0));
        assert!(other.join().unwrap());
        assert_eq!(c.count(1, 0), 2, "an add is lost");
        (11..15).for_each(|key| assert_eq!(c.count(key, 0), 1));
    });
}

#[test]
fn one_further_table() {
    a_further_table();
}

#[test]
#[should_panic(expected = "an add is lost")]
fn twin_linked_twice() {
    with(Twin::LinkTwice, a_further_table);
}

// --- generations ---

/// Two bring the first events of a generation.
fn a_new_generation() {
    bounded(500, || {
        let c = counter(4, 5);
        c.add(1, 1);
        let other = beside(&c, |c| c.add(1, 3));
        assert!(c.add(1, 2));
        assert!(other.join().unwrap());
        assert_eq!(c.count(1, 3), 3, "an add is lost");
        assert_eq!((c.count(1, 2), c.total(3)), (2, 3));
    });
}

#[test]
fn one_new_generation() {
    a_new_generation();
}

#[test]
#[should_panic(expected = "an add is lost")]
fn twin_opened_blindly() {
    with(Twin::OpenBlindly, a_new_generation);
}

/// Three, one of them late.
#[test]
fn three_and_two_generations() {
    bounded_by_two(2000, || {
        let c = counter(4, 5);
        c.add(1, 1);
        let others = [2, 0].map(|now| beside(&c, move |c| c.add(1, now)));
        assert!(c.add(1, 3));
        others.into_iter().for_each(|other| assert!(other.join().unwrap()));
        assert_eq!((c.count(1, 3), c.total(3)), (4, 4), "an add is lost");
    });
}

/// Two open different generations, one of them an old one that had no event yet.
#[test]
fn two_generations_at_once() {
    bounded(500, || {
        let c = counter(6, 7);
        c.add(1, 4);
        let late = beside(&c, |c| c.add(1, 1));
        assert!(c.add(1, 6));
        assert!(late.join().unwrap());
        assert_eq!((c.count(1, 6), c.count(1, 5)), (3, 2), "an add is lost");
    });
}

/// A reader finds what had ended before it began, and no more than was begun in all, while the generations change.
#[test]
fn a_reader_between() {
    bounded(500, || {
        let c = counter(4, 5);
        let ended = Arc::new(AtomicU64::new(0));
        c.add(1, 1);
        let (c2, e2) = (c.clone(), ended.clone());
        let reader = thread::spawn(move || {
            let at_least = 1 + e2.load(Acquire);
            let first = c2.count(1, 3);
            let second = c2.count(1, 3);
            assert!(at_least <= first && first <= second && second <= 3, "{at_least} {first} {second}");
        });
        c.add(1, 2);
        ended.store(1, Release);
        c.add(1, 3);
        ended.store(2, Release);
        reader.join().unwrap();
    });
}

/// The adds of a pane find what it held before: exactly one comes upon the threshold.
fn a_threshold() {
    bounded(10, || {
        let c = counter(2, 3);
        c.add(1, 0);
        let crosses = |before: Option<u64>| before.unwrap() < 3 && before.unwrap() + 2 >= 3;
        let others = beside(&c, move |c| crosses(c.adds(1, 2, 0)));
        let mine = crosses(c.adds(1, 2, 0));
        assert!(mine ^ others.join().unwrap(), "not one that crosses");
    });
}

#[test]
fn one_crosses() {
    a_threshold();
}

#[test]
#[should_panic(expected = "not one that crosses")]
fn twin_crossed_blindly() {
    with(Twin::StoreBlindly, a_threshold);
}

// --- leaving ---

/// An add stalls until its generation has left. It is late then, or counts where nobody looks; the generation does not come back.
fn left_behind() {
    bounded(100, || {
        let c = counter(2, 3);
        c.add(1, 0);
        let late = beside(&c, |c| c.add(1, 1));
        c.add(1, 8);
        late.join().unwrap();
        assert_eq!(c.opened().0, 2, "a generation came back");
        assert_eq!((c.count(1, 8), c.count(1, 9)), (1, 1));
    });
}

#[test]
fn what_has_left_stays_away() {
    left_behind();
}

#[test]
#[should_panic(expected = "a generation came back")]
fn twin_newest_first() {
    with(Twin::NewestFirst, left_behind);
}

/// Tables that have left are cleared by upkeep and by calls, and used again beside readers: nothing of before is in them.
#[test]
fn used_again() {
    bounded(300, || {
        let c = counter(2, 3);
        c.add(1, 0);
        c.add(2, 4);
        let upkeep = beside(&c, |c| c.maintain(4));
        // A new key: its call clears a block as well.
        c.add(3, 5);
        upkeep.join().unwrap();
        c.maintain(5);
        assert_eq!(c.opened(), (2, 1));
        let reader = beside(&c, |c| c.count(1, 6));
        c.add(4, 6);
        assert_eq!(reader.join().unwrap(), 0, "a count of before");
        assert_eq!((c.count(4, 6), c.count(3, 6), c.count(2, 6), c.count(1, 6)), (1, 1, 0, 0));
    });
}

// --- snapshots ---

/// Three keys of one neighbourhood come, two of them while a snapshot is taken, and a generation is opened.
fn beside_a_snapshot() {
    bounded(300, || {
        let c = counter(2, 3);
        c.add(7, 0);
        let snapshot = beside(&c, |c| c.copy(3));
        c.add(1, 0);
        c.add(2, 0);
        c.add(7, 2);
        let copy = snapshot.join().unwrap();
        copy.check_rows(&[7, 1, 2]);
        assert_eq!(copy.count(7, 1), 1, "an add is lost in the copy");
        assert!(copy.count(1, 1) <= 1 && copy.count(2, 1) <= 1, "counted twice");
        assert!(copy.count(1, 1) + copy.count(2, 1) < copy.total(1), "a total that lacks what keys have");
        // It goes on.
        for key in [7, 1, 2] {
            let before = copy.count(key, 1);
            assert!(copy.add(key, 1));
            assert_eq!(copy.count(key, 1), before + 1);
        }
        copy.check_rows(&[7, 1, 2]);
    });
}

#[test]
fn a_snapshot_of_rows_that_come() {
    beside_a_snapshot();
}

#[test]
#[should_panic(expected = "a row that its key does not find")]
fn twin_rows_read_upwards() {
    with(Twin::RowsUpwards, beside_a_snapshot);
}

#[test]
#[should_panic(expected = "a row that its key does not find")]
fn twin_rows_read_with_relaxed() {
    with(Twin::RelaxedRow, beside_a_snapshot);
}

/// A generation leaves while a snapshot is taken: what is kept of one is all of it. (It leaves by upkeep, which clears nothing here: in this build
/// nothing waits for the end of calls.)
#[test]
fn a_snapshot_while_a_generation_leaves() {
    bounded_by_two(20, || {
        let c = counter(2, 2);
        c.add(7, 1);
        let snapshot = beside(&c, |c| c.copy(2));
        c.maintain(5);
        let copy = snapshot.join().unwrap();
        // In the pane of 1 it is there, or the copy knows of a pane by which it has left.
        assert!(copy.count(7, 1) >= 1 || !copy.add(7, 1), "an add is lost in the copy");
    });
}

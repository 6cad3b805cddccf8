//! The hottest keys: a list that is certified is right, whoever stalls where. Protocol: `src/topk/`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::{bounded, bounded_by_one, bounded_by_two};
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
use windlass::model::{Numbers, Told, Top, Twin, with};

/// In another thread.
fn beside<R: 'static>(top: &Arc<Top>, run: impl FnOnce(&Top) -> R + 'static) -> thread::JoinHandle<R> {
    let top = top.clone();
    thread::spawn(move || run(&top))
}

fn told(rows: &[(u64, u64)]) -> Told {
    (rows.to_vec(), true)
}

// --- the threshold ---

/// Adds of one key come upon the threshold together: it is in the list, once.
fn three_cross() {
    bounded_by_two(50, || {
        let top = Arc::new(Top::new(2, 1, 3));
        top.add(1, 1, 0);
        let others = [1, 2].map(|n| beside(&top, move |top| top.add(1, n, 0)));
        assert!(top.add(1, 1, 0));
        assert!(others.into_iter().all(|other| other.join().unwrap()));
        assert_eq!(top.list(0), told(&[(1, 5)]), "a hot key is missing");
    });
}

#[test]
fn a_threshold_is_seen_once() {
    three_cross();
}

#[test]
#[should_panic(expected = "a hot key is missing")]
fn twin_stored_blindly() {
    with(Twin::StoreBlindly, three_cross);
}

/// One add makes the count as great as the threshold and stalls; another comes after it and ends. A list that is made then, and is certified, has the key.
fn one_crosses_and_stalls() {
    bounded(200, || {
        let top = Arc::new(Top::new(2, 1, 3));
        // What would be in a list in its place.
        top.add(2, 5, 0);
        top.add(1, 2, 0);
        let ended = Arc::new(AtomicU64::new(0));
        let e2 = ended.clone();
        let after = beside(&top, move |top| {
            top.add(1, 20, 0);
            e2.store(1, Release);
        });
        let e3 = ended.clone();
        let reader = beside(&top, move |top| {
            let before = e3.load(Acquire);
            let (rows, certified) = top.list(0);
            assert!(
                before == 0 || !certified || rows.first().is_some_and(|row| row.0 == 1 && row.1 >= 20),
                "certified, and the hottest is missing"
            );
        });
        top.add(1, 2, 0);
        after.join().unwrap();
        reader.join().unwrap();
    });
}

#[test]
fn a_stalled_add_hides_no_key() {
    one_crosses_and_stalls();
}

#[test]
#[should_panic(expected = "certified, and the hottest is missing")]
fn twin_marked_by_one_alone() {
    with(Twin::MarkOnce, one_crosses_and_stalls);
}

#[test]
#[should_panic(expected = "certified, and the hottest is missing")]
fn twin_a_mark_relied_on() {
    with(Twin::RelaxedNote, one_crosses_and_stalls);
}

/// Two begin a pane and would give it different thresholds: all go by one.
fn a_pane_begins() {
    bounded_by_one(50, || {
        let top = Arc::new(Top::new(1, 1, 9));
        // In the pane before it, of the same generation: both have rows.
        top.add(1, 1, 0);
        top.add(3, 1, 0);
        top.move_on(1);
        let other = beside(&top, |top| {
            top.set_threshold(2);
            top.add(1, 6, 1)
        });
        // By 9 it is no candidate.
        assert!(top.add(3, 8, 1));
        assert!(other.join().unwrap());
        let (rows, certified) = top.list(1);
        assert!(!certified || rows == [(3, 8)], "certified by a threshold that others had not");
    });
}

#[test]
fn one_threshold_for_a_pane() {
    a_pane_begins();
}

#[test]
#[should_panic(expected = "certified by a threshold that others had not")]
fn twin_a_pane_begins_twice() {
    with(Twin::BeginTwice, a_pane_begins);
}

// --- rows and names ---

/// Two bring a new key, and there is room for one name: both count it, or neither does.
fn one_new_key() {
    bounded(50, || {
        let top = Arc::new(Top::with_room(2, 1, 1, 32));
        top.add_nameless(1, 1, 0);
        let other = beside(&top, |top| top.add_nameless(2, 2, 0));
        let counted = top.add_nameless(2, 2, 0);
        assert_eq!(other.join().unwrap(), counted, "counted, and refused");
        let (rows, _) = top.list(0);
        assert_eq!(rows, [(0, if counted { 4 } else { 1 })], "counted, and refused");
    });
}

#[test]
fn one_name_for_a_key() {
    one_new_key();
}

#[test]
#[should_panic(expected = "counted, and refused")]
fn twin_named_twice() {
    with(Twin::NameTwice, one_new_key);
}

/// Two rows of one word are marked at the same time.
#[test]
fn two_marks() {
    bounded(100, || {
        let top = Arc::new(Top::new(2, 2, 2));
        top.add(1, 1, 0);
        top.add(2, 1, 0);
        let other = beside(&top, |top| top.add(1, 5, 0));
        assert!(top.add(2, 4, 0));
        assert!(other.join().unwrap());
        assert_eq!(top.list(0), told(&[(1, 6), (2, 5)]), "a mark is lost");
    });
}

/// Adds while panes and generations change: nothing is missing afterwards.
#[test]
fn panes_that_change() {
    bounded_by_one(100, || {
        let top = Arc::new(Top::new(3, 1, 2));
        top.add(1, 2, 1);
        let other = beside(&top, |top| top.add(1, 1, 2));
        assert!(top.add(1, 1, 2));
        assert!(other.join().unwrap());
        // (What is no candidate has 1 at most in each of two panes.)
        assert_eq!(top.list(2), told(&[(1, 4)]), "an add is lost");
    });
}

/// A list while a key comes and another goes on: what had ended is in it.
#[test]
fn a_list_between() {
    bounded_by_two(200, || {
        let top = Arc::new(Top::new(2, 2, 1));
        top.add(1, 2, 0);
        let ended = Arc::new(AtomicU64::new(0));
        let e2 = ended.clone();
        let reader = beside(&top, move |top| {
            let ended = e2.load(Acquire);
            let (rows, certified) = top.list(0);
            let count = |key| rows.iter().find(|row| row.0 == key).map_or(0, |row| row.1);
            assert!(certified, "all are candidates");
            assert!((2 + ended.min(1)..=3).contains(&count(1)), "{rows:?}");
            assert!((ended / 2..=1).contains(&count(2)), "{rows:?}");
        });
        top.add(1, 1, 0);
        ended.store(1, Release);
        top.add(2, 1, 0);
        ended.store(2, Release);
        reader.join().unwrap();
    });
}

// --- the board ---

/// Two show what they have made, under a reader: it never goes back.
fn two_show() {
    bounded(50, || {
        let board = Arc::new(Numbers::default());
        let (b2, b3) = (board.clone(), board.clone());
        let reader = thread::spawn(move || {
            let first = b2.get();
            let second = b2.get();
            assert!(first <= second, "an older list came back");
        });
        let other = thread::spawn(move || b3.show(b3.begin()));
        board.show(board.begin());
        other.join().unwrap();
        reader.join().unwrap();
        assert_eq!(board.get(), 2, "an older list came back");
    });
}

#[test]
fn the_newest_is_shown() {
    two_show();
}

#[test]
#[should_panic(expected = "an older list came back")]
fn twin_shown_blindly() {
    with(Twin::ShowBlindly, two_show);
}

//! A snapshot while callers go on: of what was there before it began nothing is missing, but what the horizon that it tells has passed, and nothing is in it
//! that never was. Protocol: `src/table/snapshot.rs`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::{bounded, bounded_by_two};
use loom::{
    sync::{
        Arc,
        atomic::{
            AtomicBool,
            Ordering::{Acquire, Release},
        },
    },
    thread,
};
use windlass::model::{Tables, Twin, with};

type One<const CELLS: usize> = Tables<1, CELLS>;

/// Such keys do no share of the emptying by themselves.
const fn key(k: u64) -> u64 {
    1 << 35 | k
}

/// What is in the snapshot of a key that had this state before: that or a later one, or the horizon has passed it.
fn is_there((entries, horizon): &(Vec<(u64, u64)>, u64), key: u64, state: u64) {
    let kept = entries.iter().any(|&(k, s)| k == key && s >= state);
    assert!(kept || *horizon >= state, "a key is missing");
}

/// The horizon passes a key, and another takes its cell.
fn taken_over() {
    bounded(20, || {
        let t = Arc::new(One::<1>::new(&[(key(5), 10)]));
        let t2 = t.clone();
        let reader = thread::spawn(move || t2.snapshot());
        t.advance(10);
        assert!(t.insert(key(6), 20));
        let snapshot = reader.join().unwrap();
        is_there(&snapshot, key(5), 10);
        for &(k, s) in &snapshot.0 {
            assert!([(key(5), 10), (key(6), 20)].contains(&(k, s)), "never there");
        }
        is_there(&t.snapshot(), key(6), 20);
    });
}

#[test]
fn what_was_taken_over_was_gone() {
    taken_over();
}

#[test]
#[should_panic(expected = "a key is missing")]
fn twin_the_horizon_before_the_cells() {
    with(Twin::HorizonFirst, taken_over);
}

#[test]
#[should_panic(expected = "never there")]
fn twin_a_key_beside_another_state() {
    with(Twin::ReadByHalves, taken_over);
}

/// An old table is emptied into the newest, and taken out.
fn emptied() {
    bounded(15, || {
        let t = Arc::new(One::<2>::new(&[(key(5), 10)]));
        assert!(t.resize(2));
        let t2 = t.clone();
        let reader = thread::spawn(move || t2.snapshot());
        assert!(!t.empty());
        is_there(&reader.join().unwrap(), key(5), 10);
        is_there(&t.snapshot(), key(5), 10);
    });
}

#[test]
fn nothing_is_missed_that_comes_up() {
    emptied();
}

#[test]
#[should_panic(expected = "a key is missing")]
fn twin_the_tables_below_afterwards() {
    with(Twin::BelowAfterwards, emptied);
}

/// A caller brings a key up and changes it, while another table comes on top of both.
#[test]
fn a_key_that_rises_while_tables_come() {
    bounded_by_two(50, || {
        let t = Arc::new(One::<3>::new(&[(key(5), 10), (key(9), 10)]));
        let (t2, t3) = (t.clone(), t.clone());
        let reader = thread::spawn(move || t2.snapshot());
        let grows = thread::spawn(move || assert!(t3.resize(2)));
        t.increment(key(5));
        assert!(t.insert(key(6), 20));
        let snapshot = reader.join().unwrap();
        is_there(&snapshot, key(5), 10);
        is_there(&snapshot, key(9), 10);
        for &(k, s) in &snapshot.0 {
            let ever = [(5, 10), (5, 11), (9, 10), (6, 20)];
            assert!(ever.map(|(k, s)| (key(k), s)).contains(&(k, s)), "never there");
        }
        grows.join().unwrap();
        is_there(&t.snapshot(), key(5), 11);
        is_there(&t.snapshot(), key(6), 20);
    });
}

/// What was inserted before the snapshot began, by another thread, is in it.
#[test]
fn whoever_was_answered_is_in_it() {
    bounded(10, || {
        let t = Arc::new(One::<2>::new(&[]));
        let (t2, done) = (t.clone(), Arc::new(AtomicBool::new(false)));
        let done2 = done.clone();
        let reader = thread::spawn(move || {
            let answered = done2.load(Acquire);
            (answered, t2.snapshot())
        });
        assert!(t.insert(key(5), 10));
        done.store(true, Release);
        let (answered, snapshot) = reader.join().unwrap();
        if answered {
            is_there(&snapshot, key(5), 10);
        }
    });
}

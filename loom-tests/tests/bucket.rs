//! A bucket of cells: one winner, nothing lost, exact counters. Protocol: `src/table/group.rs`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::{EMPTY, bounded};
use loom::{sync::Arc, thread};
use windlass::model::{Table, Twin, with};

type One<const CELLS: usize> = Table<1, CELLS>;

/// Two callers that know different horizons insert one key: for the one the first cell is gone, for the other it is not.
fn one_winner() {
    bounded(100, || {
        let t = Arc::new(One::<3>::new([[(9, 3), (8, 2), EMPTY]], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.insert(5, 10));
        let b = thread::spawn(move || t3.insert(5, 11));
        t.advance(3);
        let (a, b) = (a.join().unwrap(), b.join().unwrap());
        assert!((a == Ok(true)) ^ (b == Ok(true)), "{a:?} {b:?}");
        assert!(t.get(5).is_some());
    });
}

#[test]
fn one_winner_for_one_key() {
    one_winner();
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_the_first_gone_cell() {
    with(Twin::AnyGoneCell, one_winner);
}

/// Appends of different keys go on while two callers insert one key.
#[test]
fn one_winner_among_other_appends() {
    bounded(100, || {
        let t = Arc::new(One::<4>::new([[(9, 1), EMPTY, EMPTY, EMPTY]], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.insert(5, 10).unwrap());
        let b = thread::spawn(move || t3.insert(5, 12).unwrap());
        assert_eq!(t.insert(6, 11), Ok(true));
        assert!(a.join().unwrap() ^ b.join().unwrap());
        assert!([5, 6, 9].iter().all(|&k| t.get(k).is_some()));
    });
}

#[test]
fn no_increment_is_lost() {
    bounded(100, || {
        let t = Arc::new(One::<3>::new([[(9, 1), (5, 1), EMPTY]], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.increment(5).unwrap());
        let b = thread::spawn(move || t3.increment(9).unwrap());
        t.increment(5).unwrap();
        t.increment(6).unwrap();
        a.join().unwrap();
        b.join().unwrap();
        assert_eq!([5, 9, 6].map(|k| t.get(k)), [Some(3), Some(2), Some(1)]);
    });
}

/// A full bucket refuses new keys, never one that is there.
#[test]
fn no_increment_is_refused_at_capacity() {
    bounded(100, || {
        let t = Arc::new(One::<2>::new([[(9, 1), EMPTY]], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.increment(9).unwrap());
        let b = thread::spawn(move || t3.increment(5).is_ok());
        let six = t.increment(6).is_ok();
        t.increment(9).unwrap();
        a.join().unwrap();
        let five = b.join().unwrap();
        assert!(five ^ six, "one cell, two new keys");
        assert_eq!(t.get(9), Some(3));
        assert_eq!([5, 6].map(|k| t.get(k)), [five, six].map(|ok| ok.then_some(1)));
    });
}

/// The fingerprint 0 is a key like any other, although empty cells have it too.
#[test]
fn fingerprint_zero() {
    bounded(10, || {
        let t = Arc::new(One::<3>::new([[(9, 1), EMPTY, EMPTY]], 0));
        let t2 = t.clone();
        let a = thread::spawn(move || t2.insert(0, 10).unwrap());
        assert_eq!(t.insert(6, 11), Ok(true));
        let first = t.insert(0, 12).unwrap();
        assert!(first ^ a.join().unwrap());
        assert!(t.get(0).is_some() && t.get(9) == Some(1));
    });
}

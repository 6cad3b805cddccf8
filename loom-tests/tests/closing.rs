//! A bucket gives up the spill line. Protocol: `src/table/group.rs` ("Closing"), `src/table/sweep.rs`.
#![cfg(windlass_loom)]

mod common;
use common::{EMPTY, bounded};
use loom::{sync::Arc, thread};
use windlass::model::{Table, Twin, with};

type One = Table<1, 2, 2>;

/// A full bucket whose spill line holds nothing live.
fn full() -> One {
    One::new([[(9, 6), (8, 7)]], [(7, 2), EMPTY], 2)
}

/// A caller from before the first half, one from after it, and one when a cell at home is gone. With `epoch` the second
/// half waits until the one from before has ended.
fn given_up(epoch: bool) {
    bounded(10, move || {
        let t = Arc::new(full());
        let (t2, t3) = (t.clone(), t.clone());
        let before = thread::spawn(move || t2.insert(5, 10) == Ok(true));
        t.close();
        let mut wins = 0;
        let mut before = Some(before);
        if epoch {
            wins += usize::from(before.take().unwrap().join().unwrap());
        }
        let after = thread::spawn(move || t3.insert(5, 11) == Ok(true));
        t.open();
        t.advance(6);
        wins += usize::from(t.insert(5, 12) == Ok(true));
        wins += usize::from(after.join().unwrap());
        wins += before.map_or(0, |b| usize::from(b.join().unwrap()));
        assert_eq!(wins, 1);
        assert!(t.get(5).is_some() && t.get(8) == Some(7));
    });
}

#[test]
fn one_winner_while_the_spill_line_is_given_up() {
    given_up(true);
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_without_the_epoch() {
    given_up(false);
}

/// The bucket is full when the first half has been, and a new key comes: it takes the line back.
fn taken_back() {
    bounded(20, || {
        let t = Arc::new(full());
        t.close();
        let t2 = t.clone();
        let after = thread::spawn(move || t2.insert(5, 11).unwrap());
        t.open();
        t.advance(6);
        let first = t.insert(5, 12).unwrap();
        assert!(first ^ after.join().unwrap());
        assert!(t.get(5).is_some() && t.get(8) == Some(7));
    });
}

#[test]
fn a_full_bucket_takes_the_spill_line_back() {
    taken_back();
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_spills_while_closing() {
    with(Twin::SpillWhileClosing, taken_back);
}

/// A key in the spill line is gone by the horizon of the one who gives it up, and live by that of a caller who changes it.
#[test]
fn a_key_that_dies_meanwhile() {
    bounded(20, || {
        let t = Arc::new(One::new([[(9, 6), (8, 7)]], [(5, 4), EMPTY], 2));
        let t2 = t.clone();
        t.advance(4);
        t.close();
        let after = thread::spawn(move || t2.increment(5).is_ok());
        t.open();
        t.advance(6);
        let fresh = t.insert(5, 12).unwrap();
        let counted = after.join().unwrap();
        assert!(fresh || counted);
        assert!(t.get(5).is_some() && t.get(8) == Some(7));
    });
}

/// In the end the bucket is without flags.
#[test]
fn the_flags_go() {
    bounded(1, || {
        let t = One::new([[(9, 6), EMPTY]], [(7, 2), EMPTY], 2);
        assert!(t.spilled());
        t.close();
        t.open();
        assert!(!t.spilled());
        assert_eq!(t.insert(5, 10), Ok(true));
        assert_eq!(t.insert(4, 10), Ok(true), "spills again");
        assert!(t.spilled() && [9, 5, 4].iter().all(|&k| t.get(k).is_some()));
    });
}

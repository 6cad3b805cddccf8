//! Slices are driven out for want of memory while a larger table is laid on top: of a key that stands below another call may bring it
//! up, revise it, or bring it anew. Every change is checked where it happens against a map that never forgets. Protocols:
//! `src/table/chain.rs`, `src/table/id.rs`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::{bounded, bounded_by_two};
use loom::{sync::Arc, thread};
use windlass::model::{Exact, Name, Twin, with};

/// All of one tag. (With this one keys do no share of the emptying by themselves.)
const TAG: u64 = 1 << 35;
const FIVE: Name = (TAG, b"five");
const NINE: Name = (TAG, b"nine");

/// One bucket in the first table, slices of two states. What is less than 6 above the horizon may be driven out.
type One<const CELLS: usize> = Exact<1, CELLS>;

/// FIVE at 2 was driven out or not; whoever was told so, it has one cell.
fn one_cell<const CELLS: usize>(t: &One<CELLS>, was_there: bool, wins: &[bool]) {
    let wins = wins.iter().filter(|&&win| win).count();
    assert!(wins <= 1, "winners");
    assert!(was_there || wins == 1, "neither there nor new");
    assert!(t.get(FIVE).is_some(), "lost");
    // (Who revises it at the same time may save it after it was counted.)
    let evicted = t.evicted();
    assert!((wins as u64..=1).contains(&evicted), "evicted {evicted}");
}

/// A call may still work on the old table when FIVE's slice goes and another brings it anew.
fn while_it_grows() {
    bounded(100, || {
        let t = Arc::new(One::<1>::new(2, &[(FIVE, 2)]).evicting(6));
        let t2 = t.clone();
        let refresh = thread::spawn(move || t2.refresh(FIVE, 8));
        assert!(t.resize(2));
        t.drive_out();
        let fresh = t.insert(FIVE, 9);
        one_cell(&t, refresh.join().unwrap(), &[fresh]);
        assert_eq!(t.live(), 1, "two cells");
    });
}

#[test]
fn one_cell_while_the_table_grows() {
    while_it_grows();
}

#[test]
#[should_panic(expected = "not monotone")]
fn twin_brought_anew_while_the_row_below_is_open() {
    with(Twin::NoSeal, while_it_grows);
}

#[test]
#[should_panic(expected = "evicted 8")]
fn twin_looked_at_before_the_seal() {
    with(Twin::SealAfterLook, while_it_grows);
}

/// Two bring it anew, beside a key that is young and stays.
#[test]
fn one_winner_below() {
    bounded_by_two(100, || {
        let t = Arc::new(One::<2>::new(2, &[(FIVE, 2), (NINE, 7)]).evicting(6));
        assert!(t.resize(2));
        let t2 = t.clone();
        let other = thread::spawn(move || t2.insert(FIVE, 9));
        t.drive_out();
        let fresh = t.insert(FIVE, 10);
        one_cell(&t, false, &[fresh, other.join().unwrap()]);
        assert_eq!((t.get(NINE), t.live()), (Some(7), 2), "two cells");
    });
}

/// It has been put into the new table, or will be, while one call revises it and another brings it anew.
fn while_it_comes_up() {
    bounded_by_two(100, || {
        let t = Arc::new(One::<2>::new(2, &[(FIVE, 2)]).evicting(6));
        assert!(t.resize(2));
        let t2 = t.clone();
        let refresh = thread::spawn(move || t2.refresh(FIVE, 8));
        assert!(!t.empty());
        t.drive_out();
        let fresh = t.insert(FIVE, 9);
        one_cell(&t, refresh.join().unwrap(), &[fresh]);
        assert_eq!((t.live(), t.tables()), (1, 1), "two cells");
    });
}

#[test]
fn one_cell_when_it_comes_up() {
    while_it_comes_up();
}

#[test]
#[should_panic(expected = "not monotone")]
fn twin_the_driven_out_is_left() {
    with(Twin::LeaveTheDead, while_it_comes_up);
}

/// The table below is emptied when the slice has gone, or while it goes.
#[test]
fn emptied_while_it_is_driven_out() {
    bounded(50, || {
        let t = Arc::new(One::<2>::new(2, &[(FIVE, 2)]).evicting(6));
        assert!(t.resize(2));
        let t2 = t.clone();
        let emptier = thread::spawn(move || t2.empty());
        t.drive_out();
        let fresh = t.insert(FIVE, 9);
        assert!(!emptier.join().unwrap());
        one_cell(&t, false, &[fresh]);
        assert_eq!((t.live(), t.tables()), (1, 1), "two cells");
    });
}

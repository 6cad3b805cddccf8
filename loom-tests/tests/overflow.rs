//! Overflow: a full bucket and the spill line that its group shares. Protocol: `src/table/group.rs`.
#![cfg(windlass_loom)]

mod common;
use common::{EMPTY, bounded};
use loom::{sync::Arc, thread};
use windlass::{
    Refresh,
    model::{Rule, Table, Twin, with},
};

type One<const SPILL: usize> = Table<1, 2, SPILL>;
type Two<const SPILL: usize> = Table<2, 1, SPILL>;

/// Two callers bring one key to a bucket that is full, or not any more: the horizon passes one of its entries meanwhile.
fn one_winner() {
    bounded(100, || {
        let t = Arc::new(One::<1>::new([[(8, 6), (9, 3)]], [EMPTY], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.insert(5, 10));
        let b = thread::spawn(move || t3.insert(5, 11));
        t.advance(3);
        let (a, b) = (a.join().unwrap(), b.join().unwrap());
        assert!((a == Ok(true)) ^ (b == Ok(true)), "{a:?} {b:?}");
        assert!(t.get(5).is_some() && t.get(8) == Some(6));
    });
}

#[test]
fn one_winner_while_a_bucket_spills() {
    one_winner();
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_spills_before_all_cells_are_flagged() {
    with(Twin::SpillEarly, one_winner);
}

/// The same, where the bucket has spilled before: the spill line has the least cell.
fn one_winner_again() {
    bounded(100, || {
        let t = Arc::new(One::<2>::new([[(8, 6), (9, 3)]], [(7, 5), EMPTY], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.insert(5, 10));
        let b = thread::spawn(move || t3.insert(5, 11));
        t.advance(3);
        let (a, b) = (a.join().unwrap(), b.join().unwrap());
        assert!((a == Ok(true)) ^ (b == Ok(true)), "{a:?} {b:?}");
        assert!([5, 8, 7].iter().all(|&k| t.get(k).is_some()));
    });
}

#[test]
fn one_winner_in_a_spilled_bucket() {
    one_winner_again();
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_a_gone_cell_at_home_before_the_least() {
    with(Twin::HomeFirst, one_winner_again);
}

/// Both buckets of a group want the last spill cell. One may be refused; no key of either is lost.
#[test]
fn two_buckets_share_a_spill_line() {
    bounded(100, || {
        let t = Arc::new(Two::<1>::new([[(2, 1)], [(3, 1)]], [EMPTY], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.insert(4, 10));
        let b = thread::spawn(move || t3.increment(2));
        let five = t.insert(5, 10);
        let four = a.join().unwrap();
        b.join().unwrap().unwrap();
        assert!(four.is_ok() ^ five.is_ok());
        assert_eq!([2, 3].map(|k| t.get(k)), [Some(2), Some(1)]);
        assert_eq!(t.get(4), four.is_ok().then_some(10));
        assert_eq!(t.get(5), five.is_ok().then_some(10));
    });
}

/// Spilled keys change like others: exact counters over home and spill line.
#[test]
fn no_increment_is_lost_or_refused() {
    bounded(100, || {
        let t = Arc::new(One::<1>::new([[(9, 3), (8, 3)]], [(7, 3)], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || (t2.increment(7).unwrap(), t2.increment(9).unwrap()));
        let b = thread::spawn(move || t3.increment(8).unwrap());
        t.increment(8).unwrap();
        t.increment(7).unwrap();
        a.join().unwrap();
        b.join().unwrap();
        assert_eq!([7, 8, 9].map(|k| t.get(k)), [Some(5), Some(5), Some(4)]);
    });
}

/// An entry at home and one in the spill line die while three callers insert.
#[test]
fn one_winner_while_spilled_entries_die() {
    bounded(100, || {
        let t = Arc::new(One::<1>::new([[(9, 6), (8, 3)]], [(5, 2)], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || {
            t2.advance(2);
            t2.insert(5, 10)
        });
        let b = thread::spawn(move || {
            t3.advance(3);
            t3.insert(5, 11)
        });
        let other = t.insert(4, 12);
        let (p, q) = (a.join().unwrap(), b.join().unwrap());
        assert!(p != Ok(true) || q != Ok(true));
        assert!(!(p == Ok(true) || q == Ok(true)) || t.get(5).is_some());
        assert_eq!(t.get(9), Some(6));
        assert_eq!(t.get(4), other.is_ok().then_some(12));
    });
}

/// A key in the spill line is never absent to a reader, nor is one at home while its bucket spills.
#[test]
fn a_reader_never_misses_a_spilled_key() {
    bounded(100, || {
        let t = Arc::new(One::<2>::new([[(9, 1), (8, 1)]], [EMPTY; 2], 0));
        let t2 = t.clone();
        let reader = thread::spawn(move || {
            assert!([8, 9].iter().all(|&k| t2.get(k).is_some()));
            let five = t2.get(5);
            assert!(five.is_none() || t2.get(5).is_some(), "a live key was missed");
        });
        assert_eq!(t.insert(5, 10), Ok(true));
        assert_eq!(t.insert(4, 10), Ok(true));
        reader.join().unwrap();
        assert!([8, 9, 5, 4].iter().all(|&k| t.get(k).is_some()));
    });
}

/// 9 was admitted at 10; at 20 its cell is reused. A call with 9 whose clock says 7 finds the bucket full, by the horizon
/// that it may still go by, and the spill line empty.
fn a_late_call() {
    bounded(10, || {
        let rule = Rule::new(5, 2, Refresh::Never);
        let t = Arc::new(One::<1>::new([[(9, 20), (8, 22)]], [EMPTY], 0));
        let t2 = t.clone();
        let late = thread::spawn(move || t2.observe(&rule, 9, 7));
        assert_eq!(t.observe(&rule, 3, 20), Ok(true));
        let _ = late.join().unwrap();
    });
}

#[test]
fn a_late_call_does_not_spill_into_the_past() {
    a_late_call();
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_the_horizon_before_the_cells() {
    with(Twin::HorizonFirst, a_late_call);
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_relaxed_cells() {
    with(Twin::RelaxedCells, a_late_call);
}

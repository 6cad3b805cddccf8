//! Overflow: a full bucket, its pair, its group. Protocol: `src/table/group.rs`, `src/table/row.rs`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::{EMPTY, bounded};
use loom::{sync::Arc, thread};
use windlass::{
    Refresh,
    model::{Rule, Table, Twin, with},
};

/// The pair is all there is. Odd keys live in the second bucket.
type Pair<const CELLS: usize> = Table<2, CELLS>;

/// Pairs of one group: 0, 1 and 2, 3.
type Four = Table<4, 1>;

/// Two callers bring one key to a bucket that is full, or not any more: the horizon passes one of its entries meanwhile.
fn one_winner() {
    bounded(100, || {
        let t = Arc::new(Pair::<2>::new([[EMPTY; 2], [(7, 6), (9, 3)]], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.insert(5, 10));
        let b = thread::spawn(move || t3.insert(5, 11));
        t.advance(3);
        let (a, b) = (a.join().unwrap(), b.join().unwrap());
        assert!((a == Ok(true)) ^ (b == Ok(true)), "{a:?} {b:?}");
        assert!(t.get(5).is_some() && t.get(7) == Some(6), "a live key was missed");
    });
}

#[test]
fn one_winner_while_a_bucket_overflows() {
    one_winner();
}

#[test]
#[should_panic(expected = "a live key was missed")]
fn twin_wider_without_a_flag() {
    with(Twin::WiderWithoutFlag, one_winner);
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_the_flag_on_any_cell() {
    with(Twin::FlagAnyCell, one_winner);
}

/// The same, where the bucket has overflowed before: the least cell is in the other bucket.
fn one_winner_again() {
    bounded(100, || {
        let t = Arc::new(Pair::<2>::new([[(11, 5), (2, 1)], [(7, 6), (9, 3)]], 1));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.insert(5, 10));
        let b = thread::spawn(move || t3.insert(5, 11));
        t.advance(3);
        let (a, b) = (a.join().unwrap(), b.join().unwrap());
        assert!((a == Ok(true)) ^ (b == Ok(true)), "{a:?} {b:?}");
        assert!([5, 7, 11].iter().all(|&k| t.get(k).is_some()));
    });
}

#[test]
fn one_winner_in_a_bucket_that_has_overflowed() {
    one_winner_again();
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_a_gone_cell_at_home_before_the_least() {
    with(Twin::HomeFirst, one_winner_again);
}

/// Bucket and pair are full, or not any more: two flags, and then anywhere in the group.
fn one_winner_in_the_group() {
    bounded(100, || {
        let t = Arc::new(Four::new([[(4, 6)], [(5, 3)], [EMPTY], [(7, 9)]], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.insert(8, 10));
        let b = thread::spawn(move || t3.insert(8, 11));
        t.advance(3);
        let (a, b) = (a.join().unwrap(), b.join().unwrap());
        assert!((a == Ok(true)) ^ (b == Ok(true)), "{a:?} {b:?}");
        assert!([8, 4, 7].iter().all(|&k| t.get(k).is_some()), "a live key was missed");
    });
}

#[test]
fn one_winner_while_a_pair_overflows() {
    one_winner_in_the_group();
}

#[test]
#[should_panic(expected = "a live key was missed")]
fn twin_the_group_without_a_flag() {
    with(Twin::WiderWithoutFlag, one_winner_in_the_group);
}

/// The key 0 is further out than an empty cell, which a call of another key might raise to the horizon.
fn an_empty_cell() {
    bounded(10, || {
        let t = Arc::new(Four::new([[(8, 2)], [(5, 6)], [EMPTY], [(0, 7)]], 2));
        let t2 = t.clone();
        let zero = thread::spawn(move || (t2.insert(0, 11), t2.insert(0, 11)));
        assert_eq!(t.insert(4, 10), Ok(true));
        assert_eq!(zero.join().unwrap(), (Ok(false), Ok(false)));
    });
}

#[test]
fn the_key_0_is_found_behind_empty_cells() {
    an_empty_cell();
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_an_empty_cell_is_raised() {
    with(Twin::RaiseEmpty, an_empty_cell);
}

/// Both buckets of a pair have overflowed, one of them into the group. A key of each, twice.
#[test]
fn buckets_of_one_pair_of_different_widths() {
    bounded(100, || {
        let t = Arc::new(Four::new([[(4, 6)], [(5, 3)], [(8, 4)], [EMPTY]], 0));
        assert_eq!(t.overflown(), [1, 1]);
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.insert(12, 10));
        let b = thread::spawn(move || t3.insert(9, 11));
        t.advance(3);
        let (a, b) = (a.join().unwrap(), b.join().unwrap());
        assert_eq!((t.insert(12, 12), t.insert(9, 12)), (Ok(a.is_err()), Ok(b.is_err())));
        assert!([4, 8, 9, 12].iter().all(|&k| t.get(k).is_some()));
    });
}

/// Both buckets want the last cell. One is refused; no key of either is lost.
#[test]
fn two_buckets_share_a_pair() {
    bounded(100, || {
        let t = Arc::new(Pair::<2>::new([[(2, 1), (4, 1)], [(3, 1), EMPTY]], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.insert(6, 10));
        let b = thread::spawn(move || t3.increment(2));
        let five = t.insert(5, 10);
        let six = a.join().unwrap();
        b.join().unwrap().unwrap();
        assert!(six.is_ok() ^ five.is_ok());
        assert_eq!([2, 3, 4].map(|k| t.get(k)), [Some(2), Some(1), Some(1)]);
        assert_eq!(t.get(6), six.is_ok().then_some(10));
        assert_eq!(t.get(5), five.is_ok().then_some(10));
    });
}

/// Keys outside of their bucket change like others: exact counters.
#[test]
fn no_increment_is_lost_or_refused() {
    bounded(100, || {
        let t = Arc::new(Pair::<1>::new([[(7, 3)], [(9, 3)]], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || (t2.increment(7).unwrap(), t2.increment(9).unwrap()));
        let b = thread::spawn(move || t3.increment(9).unwrap());
        t.increment(9).unwrap();
        t.increment(7).unwrap();
        a.join().unwrap();
        b.join().unwrap();
        assert_eq!([7, 9].map(|k| t.get(k)), [Some(5), Some(6)]);
    });
}

/// An entry at home and one outside die while three callers insert.
#[test]
fn one_winner_while_entries_die() {
    bounded(100, || {
        let t = Arc::new(Pair::<2>::new([[(5, 2), (2, 9)], [(9, 6), (7, 3)]], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || {
            t2.advance(2);
            t2.insert(5, 10)
        });
        let b = thread::spawn(move || {
            t3.advance(3);
            t3.insert(5, 11)
        });
        let other = t.insert(3, 12);
        let (p, q) = (a.join().unwrap(), b.join().unwrap());
        assert!(p != Ok(true) || q != Ok(true));
        assert!(!(p == Ok(true) || q == Ok(true)) || t.get(5).is_some());
        assert_eq!([9, 2].map(|k| t.get(k)), [Some(6), Some(9)]);
        assert_eq!(t.get(3), other.is_ok().then_some(12));
    });
}

/// A key that is outside is never absent to a reader, nor is one at home while its bucket overflows.
#[test]
fn a_reader_never_misses_a_key() {
    bounded(100, || {
        let t = Arc::new(Pair::<2>::new([[EMPTY; 2], [(9, 1), (7, 1)]], 0));
        let t2 = t.clone();
        let reader = thread::spawn(move || {
            assert!([7, 9].iter().all(|&k| t2.get(k).is_some()));
            let five = t2.get(5);
            assert!(five.is_none() || t2.get(5).is_some(), "a live key was missed");
        });
        assert_eq!(t.insert(5, 10), Ok(true));
        assert_eq!(t.insert(3, 10), Ok(true));
        reader.join().unwrap();
        assert!([7, 9, 5, 3].iter().all(|&k| t.get(k).is_some()));
        assert_eq!((t.overflown(), t.hinted()), ([1, 0], 1));
    });
}

/// 9 was admitted at 10; at 20 its cell is reused. A call with 9 whose clock says 7 finds the bucket full, by the horizon
/// that it may still go by, and the other empty.
fn a_late_call() {
    bounded(10, || {
        let rule = Rule::new(5, 2, Refresh::Never);
        let t = Arc::new(Pair::<2>::new([[EMPTY; 2], [(9, 20), (7, 22)]], 0));
        let t2 = t.clone();
        let late = thread::spawn(move || t2.observe(&rule, 9, 7));
        assert_eq!(t.observe(&rule, 3, 20), Ok(true));
        let _ = late.join().unwrap();
    });
}

#[test]
fn a_late_call_does_not_overflow_into_the_past() {
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

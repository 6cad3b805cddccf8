//! Keys that are told apart by their bytes, of which several have one tag: cells that may have been a key's, slices that
//! go, growth. Every change is checked where it happens against a map that never forgets. Protocol: `src/table/id.rs`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::bounded;
use loom::{sync::Arc, thread};
use windlass::model::{Exact, Name, Twin, with};

/// One bucket of so many cells in the first table.
type One<const CELLS: usize> = Exact<1, CELLS>;

/// All of one tag. (With this one keys do no share of the emptying by themselves.)
const TAG: u64 = 1 << 35;
const FIVE: Name = (TAG, b"five");
const NINE: Name = (TAG, b"nine");
const SIX: Name = (TAG, b"six");

/// All states of a model in one slice.
const ONE_SLICE: u64 = 64;

/// The horizon passes a key while one call refreshes it that saw it alive, and another admits it anew: it has one cell.
fn admitted_anew() {
    bounded(50, || {
        let t = Arc::new(One::<2>::new(ONE_SLICE, &[(FIVE, 6)]));
        let t2 = t.clone();
        let stalled = thread::spawn(move || t2.refresh(FIVE, 20));
        t.advance(6);
        let fresh = t.insert(FIVE, 10);
        assert!(stalled.join().unwrap() || fresh);
        assert!(t.get(FIVE).is_some());
        assert_eq!(t.live(), 1, "two cells");
    });
}

#[test]
fn one_cell_when_a_key_dies_under_a_refresh() {
    admitted_anew();
}

#[test]
#[should_panic(expected = "the state was")]
fn twin_the_dead_is_forgotten() {
    with(Twin::ForgetCell, admitted_anew);
}

/// .. and comes back by two, beside another key of its tag.
#[test]
fn one_winner_when_a_key_dies() {
    bounded(30, || {
        let t = Arc::new(One::<3>::new(ONE_SLICE, &[(NINE, 9), (FIVE, 6)]));
        let t2 = t.clone();
        let other = thread::spawn(move || t2.insert(FIVE, 11));
        t.advance(7);
        assert!(t.insert(FIVE, 10) ^ other.join().unwrap(), "winners");
        assert!(t.get(FIVE).is_some_and(|state| state >= 10) && t.get(NINE) == Some(9));
        assert_eq!(t.live(), 2, "two cells");
    });
}

/// The same with all three: one that refreshes, one that admits, and the horizon.
#[test]
fn one_cell_of_three() {
    bounded(100, || {
        let t = Arc::new(One::<2>::new(ONE_SLICE, &[(FIVE, 6)]));
        let (t2, t3) = (t.clone(), t.clone());
        let stalled = thread::spawn(move || t2.refresh(FIVE, 7));
        let other = thread::spawn(move || t3.insert(FIVE, 11));
        t.advance(7);
        let _ = (stalled.join().unwrap(), other.join().unwrap());
        t.insert(FIVE, 12);
        assert_eq!(t.live(), 1, "two cells");
    });
}

/// Two callers insert one key whose tag a live key has.
#[test]
fn one_winner_beside_a_key_of_its_tag() {
    bounded(20, || {
        let t = Arc::new(One::<3>::new(ONE_SLICE, &[(NINE, 1)]));
        let t2 = t.clone();
        let a = thread::spawn(move || t2.insert(FIVE, 10));
        assert!(t.insert(FIVE, 11) ^ a.join().unwrap());
        assert!(t.get(FIVE).is_some() && t.get(NINE) == Some(1) && t.get(SIX).is_none());
        assert_eq!(t.live(), 2, "two cells");
    });
}

/// .. and whose bucket has a dead one, which may have been either.
#[test]
fn two_keys_and_the_dead_of_their_tag() {
    bounded(20, || {
        let t = Arc::new(One::<3>::new(ONE_SLICE, &[(NINE, 9), (SIX, 3)]));
        let t2 = t.clone();
        let six = thread::spawn(move || t2.insert(SIX, 10));
        t.advance(3);
        let five = t.insert(FIVE, 11);
        // (Alive as long as the horizon was not seen.)
        if !six.join().unwrap() {
            assert!(t.insert(SIX, 12));
        }
        assert!(five && [FIVE, SIX, NINE].iter().all(|&key| t.get(key).is_some()));
        assert_eq!(t.live(), 3, "two cells");
    });
}

/// Two callers insert one key while a third lays a larger table on top.
#[test]
fn one_winner_while_the_table_grows() {
    bounded(100, || {
        let t = Arc::new(One::<2>::new(ONE_SLICE, &[(NINE, 1)]));
        let t2 = t.clone();
        let a = thread::spawn(move || t2.insert(FIVE, 10));
        assert!(t.resize(2));
        assert!(t.insert(FIVE, 11) ^ a.join().unwrap());
        assert!([NINE, FIVE].iter().all(|&key| t.get(key).is_some()));
    });
}

/// What lives long is put into the new table while it changes, and its slice with it.
#[test]
fn emptying_against_updates() {
    bounded(100, || {
        let t = Arc::new(One::<2>::new(2, &[(NINE, 1), (FIVE, 1)]));
        assert!(t.resize(2));
        let t2 = t.clone();
        let a = thread::spawn(move || t2.increment(FIVE));
        assert!(!t.empty());
        a.join().unwrap();
        assert_eq!(t.tables(), 1);
        assert_eq!([FIVE, NINE].map(|key| t.get(key)), [Some(2), Some(1)]);
        assert_eq!(t.live(), 2);
    });
}

/// A slice is let go and its slot used again, at the same place, while a late call looks there for the key that is there now.
#[test]
fn a_late_look_at_a_slot_used_again() {
    bounded(50, || {
        let t = Arc::new(One::<2>::new(1, &[(FIVE, 4)]));
        let t2 = t.clone();
        let other = thread::spawn(move || {
            t2.advance(4);
            t2.retire();
            // Four slots: it is that of slice 4.
            t2.insert(NINE, 8)
        });
        assert!(t.insert(NINE, 11) ^ other.join().unwrap(), "winners");
        assert!(t.get(FIVE).is_none() && t.get(NINE).is_some());
        assert_eq!(t.live(), 1, "two cells");
    });
}

/// The same where the key comes back by itself.
fn late_look_for_what_came_back() {
    bounded(50, || {
        let t = Arc::new(One::<2>::new(1, &[(FIVE, 4)]));
        let t2 = t.clone();
        let late = thread::spawn(move || t2.refresh(FIVE, 9));
        t.advance(4);
        t.retire();
        let fresh = t.insert(FIVE, 8);
        assert!(late.join().unwrap() || fresh);
        assert!(t.get(FIVE).is_some());
        assert_eq!(t.live(), 1, "two cells");
    });
}

#[test]
fn one_cell_when_a_slice_goes() {
    late_look_for_what_came_back();
}

#[test]
#[should_panic(expected = "decided on")]
fn twin_the_gone_is_left() {
    with(Twin::LeaveTheDead, late_look_for_what_came_back);
}

/// Of the pair's first bucket, and in hashes of their own.
const OTHER: [Name; 4] =
    [(1 << 40, b"ant"), (2 << 40, b"bat"), (3 << 40, b"cat"), (4 << 40 | 1, b"dog in the second")];

/// A key has a cell at home, the slice of which has gone, and one that it left behind further out, the slice of which has not: a
/// late call may still change the former.
fn left_behind() {
    bounded(20, || {
        let [ant, bat, cat, dog] = OTHER;
        let t = Arc::new(Exact::<2, 2>::new(2, &[(ant, 2), (bat, 2), (FIVE, 3), (dog, 1)]));
        t.advance(3);
        t.narrow();
        // At home, which is full then; the third takes the dog's place.
        assert!(t.insert(FIVE, 4) && t.insert(ant, 5) && t.insert(cat, 6));
        let t2 = t.clone();
        let late = thread::spawn(move || t2.refresh(FIVE, 7));
        t.advance(4);
        // Four slots: that of the key's slice.
        assert!(t.refresh(ant, 12));
        let fresh = t.insert(FIVE, 10);
        assert!(late.join().unwrap() || fresh);
        assert!(t.get(FIVE).is_some());
        assert_eq!(t.live(), 3, "two cells");
    });
}

#[test]
fn one_cell_where_another_was_left_behind() {
    left_behind();
}

#[test]
#[should_panic(expected = "decided on")]
fn twin_what_was_left_behind_is_taken() {
    with(Twin::TakeTheRemnant, left_behind);
}

/// The cell of a dead key is raised into the slice of another one of its tag, which lies at the same place there.
fn raised() {
    bounded(1, || {
        let [ant, bat, cat, _] = OTHER;
        let t = Exact::<2, 2>::new(4, &[(ant, 2), (bat, 3), (FIVE, 1)]);
        assert!(t.refresh(ant, 4) && t.refresh(bat, 5) && t.insert(NINE, 7));
        t.advance(5);
        assert!(t.insert(cat, 8));
        assert!(!t.insert(NINE, 9) && t.get(FIVE).is_none());
        assert_eq!(t.live(), 2, "two cells");
    });
}

#[test]
fn what_is_raised_is_nobodys() {
    raised();
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_raised_with_its_reference() {
    with(Twin::RaiseNamed, raised);
}

/// The oldest slice is driven out, while one call refreshes a key of it and another observes it: it has one cell.
fn driven_out() {
    bounded(50, || {
        let t = Arc::new(One::<2>::new(2, &[(FIVE, 2)]).evicting(6));
        let t2 = t.clone();
        let refresh = thread::spawn(move || t2.refresh(FIVE, 6));
        t.drive_out();
        let fresh = t.insert(FIVE, 7);
        let was_there = refresh.join().unwrap();
        assert!(fresh || was_there);
        assert!(t.get(FIVE).is_some());
        assert_eq!(t.live(), 1, "two cells");
        // What was refreshed before is not lost.
        assert!(t.evicted() <= 1 && (!fresh || t.evicted() == 1), "{} dropped", t.evicted());
    });
}

#[test]
fn one_cell_when_a_slice_is_driven_out() {
    driven_out();
}

#[test]
#[should_panic(expected = "not monotone")]
fn twin_the_driven_out_is_left() {
    with(Twin::LeaveTheDead, driven_out);
}

/// What is young is not driven out.
#[test]
fn the_young_stay() {
    bounded(1, || {
        let t = Arc::new(One::<2>::new(2, &[(FIVE, 2), (NINE, 5)]).evicting(5));
        t.drive_out();
        t.drive_out();
        assert_eq!((t.get(FIVE), t.get(NINE), t.evicted()), (None, Some(5), 1));
    });
}

//! Rows that have overflowed become narrow again. Protocol: `src/table/group.rs` ("Closing"), `src/table/{closing, sweep}.rs`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::{EMPTY, bounded};
use loom::{sync::Arc, thread};
use windlass::model::{Table, Twin, with};

/// The pair is all there is. Odd keys live in the second bucket.
type Pair<const CELLS: usize> = Table<2, CELLS>;

/// Pairs of one group: 0, 1 and 2, 3.
type Four = Table<4, 1>;

/// A full bucket; 7, which it put outside, is gone.
fn full() -> Pair<1> {
    Pair::new([[(7, 2)], [(9, 6)]], 2)
}

/// A caller from before the first half, one from after it, and one when the cell at home is gone. With `epoch` the second
/// half waits until the one from before has ended.
fn made_narrow(epoch: bool) {
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
        assert!(t.get(5).is_some());
    });
}

#[test]
fn one_winner_while_a_row_becomes_narrow() {
    made_narrow(true);
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_without_the_epoch() {
    made_narrow(false);
}

/// The bucket is full when the first half has been, and a new key comes: the row stays wide.
fn kept_wide() {
    bounded(20, || {
        let t = Arc::new(full());
        t.close();
        let t2 = t.clone();
        let after = thread::spawn(move || t2.insert(5, 11).unwrap());
        t.open();
        t.advance(6);
        let first = t.insert(5, 12).unwrap();
        assert!(first ^ after.join().unwrap());
        assert!(t.get(5).is_some());
    });
}

#[test]
fn a_full_bucket_keeps_its_row_wide() {
    kept_wide();
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_goes_outside_while_closing() {
    with(Twin::UseWhileClosing, kept_wide);
}

/// The same one step further: bucket and pair have overflowed, and the pair's flag goes.
fn kept_as_wide_as_the_group() {
    bounded(20, || {
        let t = Arc::new(Four::new([[(4, 6)], [(5, 7)], [(12, 2)], [EMPTY]], 2));
        t.close();
        let t2 = t.clone();
        let after = thread::spawn(move || t2.insert(8, 11).unwrap());
        t.open();
        t.advance(6);
        let first = t.insert(8, 12).unwrap();
        assert!(first ^ after.join().unwrap());
        assert!(t.get(8).is_some() && t.get(5) == Some(7));
    });
}

#[test]
fn a_full_pair_keeps_its_row_wide() {
    kept_as_wide_as_the_group();
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_goes_into_the_group_while_closing() {
    with(Twin::UseWhileClosing, kept_as_wide_as_the_group);
}

/// A call that has read the wider row takes a cell at home; by then the row is narrow, and another call does as well.
#[test]
fn one_winner_at_home() {
    bounded(20, || {
        let t = Arc::new(Pair::<2>::new([[(7, 2), EMPTY], [(9, 6), (11, 3)]], 2));
        t.close();
        let (t2, t3) = (t.clone(), t.clone());
        let wide = thread::spawn(move || t2.insert(5, 11).unwrap());
        let other = thread::spawn(move || t3.advance(3));
        t.open();
        let first = t.insert(5, 12).unwrap();
        assert!(first ^ wide.join().unwrap());
        other.join().unwrap();
        assert!(t.get(5).is_some() && t.get(9) == Some(6));
    });
}

/// A call for a key that lives at home begins before the first half, and ends whenever it likes: nobody waits for it. Meanwhile the key
/// dies, and another may take its cell.
fn changed_at_home_without_a_pin() {
    bounded(10, || {
        let t = Arc::new(full());
        let t2 = t.clone();
        let unpinned = thread::spawn(move || t2.increment_at_home(9));
        t.close();
        t.open();
        t.advance(6);
        assert_eq!(t.insert(5, 12), Ok(true));
        let counted = unpinned.join().unwrap();
        assert_eq!(t.get(9), counted.then_some(7));
        assert_eq!(t.get(5), Some(12));
    });
}

#[test]
fn who_stays_at_home_needs_no_pin() {
    changed_at_home_without_a_pin();
}

#[test]
#[should_panic(expected = "decided on")]
fn twin_takes_what_another_has_taken() {
    with(Twin::TakenAtHome, changed_at_home_without_a_pin);
}

/// A key that is outside is gone by the horizon of the one who takes the flag, and live by that of a caller who changes it.
#[test]
fn a_key_that_dies_meanwhile() {
    bounded(20, || {
        let t = Arc::new(Pair::<1>::new([[(5, 4)], [(9, 6)]], 2));
        let t2 = t.clone();
        t.advance(4);
        t.close();
        let after = thread::spawn(move || t2.increment(5).is_ok());
        t.open();
        t.advance(6);
        let fresh = t.insert(5, 12).unwrap();
        let counted = after.join().unwrap();
        assert!(fresh || counted);
        assert!(t.get(5).is_some());
    });
}

/// 5 has left a remnant outside, is at home now, and the row is wide again.
fn a_remnant() {
    bounded(5, || {
        let t = Arc::new(Pair::<2>::new([[(5, 2), (7, 8)], [(5, 10), (9, 6)]], 2));
        let t2 = t.clone();
        let again = thread::spawn(move || t2.insert(5, 12));
        assert_eq!(t.insert(3, 11), Ok(true));
        assert_eq!(again.join().unwrap(), Ok(false));
        assert_eq!(t.get(5), Some(10));
    });
}

#[test]
fn the_cell_at_home_counts() {
    a_remnant();
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_the_cell_furthest_out_counts() {
    with(Twin::OuterFirst, a_remnant);
}

/// A bucket overflows while the sweep forgets that it had: it stays known.
#[test]
fn the_hint_comes_back() {
    bounded(10, || {
        let t = Arc::new(Pair::<1>::new([[(7, 2)], [EMPTY]], 2));
        t.close();
        let t2 = t.clone();
        let other = thread::spawn(move || (t2.insert(5, 10), t2.insert(3, 11)));
        t.open();
        let wide = t.overflown() == [1, 0];
        t.close();
        let _ = other.join().unwrap();
        assert!(wide || t.overflown() == [1, 0], "overflowed again");
        assert_eq!(t.hinted(), 1, "forgotten");
        assert!([5, 3].iter().all(|&k| t.get(k).is_some()));
    });
}

/// The flag of one bucket is closing, that of the other and their pair's are not.
#[test]
fn a_mark_of_the_other_bucket() {
    bounded(10, || {
        let t = Arc::new(Four::new([[(5, 2)], [(9, 60)], [EMPTY], [EMPTY]], 2));
        t.close();
        let t2 = t.clone();
        let other = thread::spawn(move || t2.insert(4, 11));
        assert_eq!(t.insert(8, 10), Ok(true));
        assert_eq!(other.join().unwrap(), Ok(true));
        assert_eq!(t.overflown(), [2, 1]);
        t.open();
        assert_eq!(t.overflown(), [2, 1], "the other bucket's flag goes after the pair's");
        assert!([4, 8, 9].iter().all(|&k| t.get(k).is_some()));
    });
}

/// In the end the rows are without flags.
#[test]
fn the_flags_go() {
    bounded(1, || {
        let t = Four::new([[EMPTY], [(5, 7)], [(12, 2)], [EMPTY]], 2);
        for narrower in [[1, 0], [0, 0]] {
            assert!(t.hinted() == 1 && t.overflown() != narrower);
            t.close();
            t.open();
            assert_eq!(t.overflown(), narrower);
        }
        assert_eq!(t.hinted(), 0);
        for key in [4, 8, 12] {
            assert_eq!(t.insert(key, 10), Ok(true), "overflows again");
        }
        assert_eq!((t.overflown(), t.hinted()), ([1, 1], 1));
        assert!([4, 8, 12, 5].iter().all(|&k| t.get(k).is_some()));
    });
}

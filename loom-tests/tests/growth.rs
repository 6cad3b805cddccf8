//! A larger or smaller table is laid on top of another while callers go on, and the old one is emptied. Every change is checked
//! where it happens against a map that never forgets. Protocol: `src/table/chain.rs`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::bounded;
use loom::{sync::Arc, thread};
use windlass::model::{Tables, Twin, with};

/// One bucket of so many cells in the first table.
type One<const CELLS: usize> = Tables<1, CELLS>;

/// Such keys do no share of the emptying by themselves, so that the models say who does.
const fn key(k: u64) -> u64 {
    1 << 35 | k
}

/// Two callers insert one key while a third lays a larger table on top.
fn one_winner() {
    bounded(100, || {
        let t = Arc::new(One::<2>::new(&[(key(9), 1)]));
        let t2 = t.clone();
        let a = thread::spawn(move || t2.insert(key(5), 10));
        assert!(t.resize(2));
        assert!(t.insert(key(5), 11) ^ a.join().unwrap());
        assert!([9, 5].iter().all(|&k| t.get(key(k)).is_some()));
    });
}

#[test]
fn one_winner_while_the_table_grows() {
    one_winner();
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_put_up_while_the_row_below_is_open() {
    with(Twin::NoSeal, one_winner);
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_looked_at_before_the_seal() {
    with(Twin::SealAfterLook, one_winner);
}

/// The same with a caller more, none of them the one that lays.
#[test]
fn one_winner_of_three() {
    bounded(1000, || {
        let t = Arc::new(One::<1>::new(&[]));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.insert(key(5), 10));
        let b = thread::spawn(move || t3.insert(key(5), 11));
        assert!(t.resize(2));
        assert!(a.join().unwrap() ^ b.join().unwrap());
        assert!(t.get(key(5)).is_some());
    });
}

/// States that change, as counters do: none is lost.
#[test]
fn no_increment_is_lost_while_the_table_grows() {
    bounded(100, || {
        let t = Arc::new(One::<2>::new(&[(key(9), 1), (key(5), 1)]));
        let t2 = t.clone();
        let a = thread::spawn(move || t2.increment(key(5)));
        assert!(t.resize(2));
        t.increment(key(5));
        t.increment(key(9));
        a.join().unwrap();
        assert_eq!([5, 9].map(|k| t.get(key(k))), [Some(3), Some(2)]);
    });
}

/// A writer may still work on either old table.
#[test]
fn no_increment_is_lost_over_two_growths() {
    bounded(100, || {
        let t = Arc::new(One::<1>::new(&[(key(5), 1)]));
        let t2 = t.clone();
        let a = thread::spawn(move || {
            t2.increment(key(5));
            t2.increment(key(5));
        });
        assert!(t.resize(2));
        t.increment(key(5));
        assert!(t.resize(3));
        t.increment(key(5));
        a.join().unwrap();
        assert_eq!(t.get(key(5)), Some(5));
        assert_eq!(t.tables(), 3);
    });
}

/// What lives long is put into the new table while it changes.
#[test]
fn emptying_against_updates() {
    bounded(100, || {
        let t = Arc::new(One::<2>::new(&[(key(8), 1), (key(5), 1)]));
        assert!(t.resize(2));
        let t2 = t.clone();
        let a = thread::spawn(move || t2.increment(key(5)));
        assert!(!t.empty());
        a.join().unwrap();
        assert_eq!(t.tables(), 1);
        assert_eq!([5, 8].map(|k| t.get(key(k))), [Some(2), Some(1)]);
        assert_eq!(t.live(), 2);
    });
}

/// The table between may hold a newer state than the oldest, which is emptied.
fn past_a_table_between() {
    bounded(5, || {
        let t = Arc::new(One::<1>::new(&[(key(5), 1)]));
        assert!(t.resize(2));
        let t2 = t.clone();
        let a = thread::spawn(move || t2.increment(key(5)));
        assert!(t.resize(3));
        a.join().unwrap();
        assert!(t.empty());
        assert!(!t.empty());
        assert_eq!(t.get(key(5)), Some(2));
    });
}

#[test]
fn emptying_past_a_table_between() {
    past_a_table_between();
}

#[test]
#[should_panic(expected = "forwarded 1, the state was 2")]
fn twin_blind_to_the_table_between() {
    with(Twin::ForwardBlindly, past_a_table_between);
}

/// A reader goes from the newest to the oldest while an entry goes the other way.
fn never_missed() {
    bounded(20, || {
        let t = Arc::new(One::<1>::new(&[(key(9), 1)]));
        assert!(t.resize(2));
        let t2 = t.clone();
        let reader = thread::spawn(move || assert!(t2.get(key(9)).is_some(), "missed"));
        assert!(!t.empty());
        reader.join().unwrap();
    });
}

#[test]
fn a_reader_never_misses_a_key_that_comes_up() {
    never_missed();
}

#[test]
#[should_panic(expected = "missed")]
fn twin_absent_at_first_sight() {
    with(Twin::AbsentAtFirstSight, never_missed);
}

/// The same while the key is refreshed up there, and the horizon passes what is left below.
fn never_missed_when_refreshed() {
    bounded(100, || {
        let t = Arc::new(One::<1>::new(&[(key(9), 1)]));
        assert!(t.resize(2));
        let t2 = t.clone();
        let reader = thread::spawn(move || assert!(t2.get(key(9)).is_some(), "missed"));
        t.increment(key(9));
        t.advance(1);
        reader.join().unwrap();
    });
}

#[test]
fn a_reader_never_misses_a_key_that_is_refreshed() {
    never_missed_when_refreshed();
}

#[test]
#[should_panic(expected = "missed")]
fn twin_gone_at_first_sight() {
    with(Twin::AbsentAtFirstSight, never_missed_when_refreshed);
}

/// A writer has been stalled since before the larger table came. With `epoch` nobody empties the old one before it has ended.
fn stalled_writer(epoch: bool) {
    bounded(20, move || {
        let t = Arc::new(One::<1>::new(&[(key(9), 1)]));
        let t2 = t.clone();
        let mut stalled = Some(thread::spawn(move || t2.insert(key(5), 10)));
        assert!(t.resize(2));
        t.advance(1);
        let mut wins = 0;
        if epoch {
            wins += usize::from(stalled.take().unwrap().join().unwrap());
        }
        assert!(!t.empty());
        wins += usize::from(t.insert(key(5), 11));
        wins += stalled.map_or(0, |stalled| usize::from(stalled.join().unwrap()));
        assert_eq!(wins, 1);
        assert!(t.get(key(5)).is_some());
    });
}

#[test]
fn a_stalled_writer_against_the_end_of_its_table() {
    stalled_writer(true);
}

#[test]
#[should_panic(expected = "said absent")]
fn twin_without_the_epoch() {
    stalled_writer(false);
}

/// Expiry is the migration: a table in which nothing lives any more is taken out while calls go on.
#[test]
fn a_dead_table_goes_while_calls_go_on() {
    bounded(50, || {
        let t = Arc::new(One::<1>::new(&[(key(5), 1)]));
        assert!(t.resize(2));
        let t2 = t.clone();
        let a = thread::spawn(move || t2.insert(key(5), 50));
        t.advance(100);
        assert!(!t.empty());
        assert!(t.insert(key(5), 60) ^ a.join().unwrap());
        assert_eq!((t.get(key(5)), t.tables()), (Some(101), 1));
    });
}

/// The horizon passes an entry while it is put into the new table and its key comes anew: what is dead does not come back.
fn death() {
    bounded(100, || {
        let t = Arc::new(One::<1>::new(&[(key(5), 1)]));
        assert!(t.resize(2));
        let t2 = t.clone();
        let other = thread::spawn(move || {
            t2.advance(1);
            t2.insert(key(5), 4);
            t2.advance(4);
            t2.insert(key(7), 6)
        });
        let _ = t.empty();
        assert!(other.join().unwrap());
        assert_eq!(t.get(key(5)), None);
        assert_eq!(t.get(key(7)), Some(6));
    });
}

#[test]
fn emptying_against_death() {
    death();
}

#[test]
#[should_panic(expected = "a cell fell from 4 to 1")]
fn twin_the_dead_come_back() {
    with(Twin::ForwardDead, death);
}

/// A larger table on top, then a smaller one again.
#[test]
fn growing_and_shrinking() {
    bounded(100, || {
        let t = Arc::new(One::<2>::new(&[(key(5), 1)]));
        assert!(t.resize(2));
        let high = key(7) | 1 << 63;
        t.increment(high);
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.increment(high));
        assert!(t.resize(1));
        a.join().unwrap();
        let b = thread::spawn(move || t3.increment(high));
        assert!(t.empty());
        assert!(!t.empty());
        b.join().unwrap();
        assert_eq!([key(5), high].map(|k| t.get(k)), [Some(1), Some(3)]);
    });
}

/// Two lay a table at once: one of them does.
#[test]
fn one_of_two_lays() {
    bounded(5, || {
        let t = Arc::new(One::<1>::new(&[(key(5), 1)]));
        let t2 = t.clone();
        let a = thread::spawn(move || t2.resize(2));
        let mine = t.resize(3);
        let (done, tables) = (usize::from(a.join().unwrap()) + usize::from(mine), t.tables());
        assert!(done >= 1 && tables == 1 + done);
        assert_eq!(t.get(key(5)), Some(1));
    });
}

/// A full group in which the least is evicted, while a larger table is laid on top.
#[test]
fn eviction_while_the_table_grows() {
    bounded(100, || {
        let t = Arc::new(One::<1>::new(&[(key(9), 1)]).evicting(5));
        let t2 = t.clone();
        let a = thread::spawn(move || t2.insert(key(5), 10));
        assert!(t.resize(2));
        assert!(t.insert(key(5), 11) ^ a.join().unwrap());
        assert!(t.get(key(5)).is_some());
    });
}

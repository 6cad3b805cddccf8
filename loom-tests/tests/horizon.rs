//! Death and reuse of cells: callers that stall, clocks that differ, refreshing, forgetting, eviction. Every change is
//! checked where it happens against a map that never forgets. Protocol: `src/table/group.rs`, `src/dedup/rule.rs`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::{EMPTY, bounded};
use loom::{sync::Arc, thread};
use windlass::{
    Refresh,
    model::{Beginning, Rule, Stop, Table, Twin, with},
};

type One<const CELLS: usize> = Table<1, CELLS>;

/// The window of the tests, and their lateness.
const WINDOW: u64 = 5;
const LATENESS: u64 = 2;

fn rule() -> Rule {
    Rule::new(WINDOW, LATENESS, Refresh::Never)
}

fn touching() -> Rule {
    Rule::new(WINDOW, LATENESS, Refresh::OnDuplicate)
}

/// The state of an id admitted at `tick`.
const fn at(tick: u64) -> u64 {
    Rule::admitted(tick)
}

/// 9 was admitted at 10. One call read its clock at 11 and stalls; others go on to 20, where 9 is gone and its cell is
/// reused; a third caller's clock still says 10.
fn stalled_callers() {
    bounded(100, || {
        let t = Arc::new(One::<2>::new([[(9, at(10)), EMPTY]], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let stalled = thread::spawn(move || t2.observe(&rule(), 3, 11));
        let late = thread::spawn(move || t3.observe(&rule(), 9, 10));
        let _ = t.observe(&rule(), 3, 20);
        let _ = t.observe(&rule(), 4, 20);
        let _ = (stalled.join().unwrap(), late.join().unwrap());
    });
}

#[test]
fn a_stalled_call_neither_mints_nor_repeats_a_state() {
    stalled_callers();
}

#[test]
#[should_panic(expected = "not monotone")]
fn twin_a_late_call_keeps_its_own_time() {
    with(Twin::OwnTime, stalled_callers);
}

/// The first call of all, and one that asks for its id by a clock that is more than a window ahead: it is not there, or is gone.
fn asking_before_the_first() {
    bounded(10, || {
        let t = Arc::new(Beginning::new(rule()));
        let (t2, t3) = (t.clone(), t.clone());
        let asks = thread::spawn(move || t2.contains(9, 17));
        let second = thread::spawn(move || t3.observe(9, 12));
        let first = t.observe(9, 10);
        assert!(!asks.join().unwrap(), "by no time");
        assert!((first == Ok(true)) ^ (second.join().unwrap() == Ok(true)));
        assert!(t.contains(9, 12));
    });
}

#[test]
fn asks_before_the_first() {
    asking_before_the_first();
}

#[test]
#[should_panic(expected = "by no time")]
fn twin_asks_by_no_time() {
    with(Twin::AsksBeforeTime, asking_before_the_first);
}

/// The window runs out for two entries while three callers whose clocks differ come, two of them with one id.
#[test]
fn one_winner_per_window_while_cells_die() {
    bounded(1000, || {
        let t = Arc::new(One::<3>::new([[(9, at(12)), (5, at(8)), EMPTY]], at(5)));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.observe(&rule(), 5, 14));
        let b = thread::spawn(move || t3.observe(&rule(), 5, 15));
        let six = t.observe(&rule(), 6, 16);
        let wins = [a.join().unwrap(), b.join().unwrap()].iter().filter(|r| **r == Ok(true)).count();
        assert_eq!(wins, 1);
        assert!(t.get(9).is_some());
        assert_eq!(six, Ok(true));
        assert_eq!(t.get(6), Some(at(16)));
    });
}

/// A key whose cell is gone is taken up there, not in another cell: someone who still sees it live may be changing it.
fn taken_up_where_it_stands() {
    bounded(100, || {
        let t = Arc::new(One::<3>::new([[EMPTY, (5, 6), (9, 8)]], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.increment(5).unwrap());
        let b = thread::spawn(move || t3.insert(5, 20).unwrap());
        t.advance(6);
        a.join().unwrap();
        b.join().unwrap();
        assert!(t.get(5).is_some_and(|s| s > 6));
    });
}

#[test]
fn a_key_keeps_its_cell() {
    taken_up_where_it_stands();
}

#[test]
#[should_panic(expected = "the state was")]
fn twin_another_cell_for_a_gone_key() {
    with(Twin::ForgetCell, taken_up_where_it_stands);
}

#[test]
fn refresh_against_reuse() {
    bounded(1000, || {
        let t = Arc::new(One::<2>::new([[(9, at(10)), (5, at(10))]], at(5)));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.observe(&touching(), 5, 14));
        let b = thread::spawn(move || (t3.observe(&touching(), 9, 13), t3.observe(&touching(), 5, 15)));
        let _ = t.observe(&rule(), 6, 18);
        let (first, (_, second)) = (a.join().unwrap(), b.join().unwrap());
        // Whoever was not refused left 5 live, at 14 or later, though 18 had been seen.
        assert!((first.is_err() && second.is_err()) || t.get(5).is_some_and(|s| s >= at(14)));
    });
}

/// A live key is never absent to a reader while it changes and others come and go.
#[test]
fn a_reader_never_misses_a_live_key() {
    bounded(100, || {
        let t = Arc::new(One::<3>::new([[(9, 6), (5, 7), (4, 2)]], 3));
        let (t2, t3) = (t.clone(), t.clone());
        let reader = thread::spawn(move || {
            let (first, second) = (t2.get(9).unwrap(), t2.get(9).unwrap());
            assert!(first <= second && t2.get(5).is_some());
        });
        let a = thread::spawn(move || t3.increment(9).unwrap());
        assert_eq!(t.insert(3, 9), Ok(true));
        t.increment(9).unwrap();
        reader.join().unwrap();
        a.join().unwrap();
        assert_eq!([9, 5, 3].map(|k| t.get(k)), [Some(8), Some(7), Some(9)]);
    });
}

/// The horizon passes the state that a reader has loaded, while the key moves on: it is not absent.
fn a_second_look() {
    bounded(10, || {
        let t = Arc::new(One::<2>::new([[(9, 6), EMPTY]], 3));
        let t2 = t.clone();
        let reader = thread::spawn(move || assert!(t2.get(9).is_some(), "a live key was missed"));
        t.increment(9).unwrap();
        t.advance(6);
        reader.join().unwrap();
    });
}

#[test]
fn a_reader_looks_again_at_a_gone_cell() {
    a_second_look();
}

#[test]
#[should_panic(expected = "a live key was missed")]
fn twin_gone_at_first_sight() {
    with(Twin::GoneAtFirstSight, a_second_look);
}

/// Who has seen one id sees what its admission came after.
fn causality() {
    bounded(10, || {
        let t = Arc::new(One::<3>::new([[(9, 6), EMPTY, EMPTY]], 3));
        let t2 = t.clone();
        let reader = thread::spawn(move || {
            assert!(t2.get(6).is_none() || t2.get(5).is_some(), "an earlier key was missed");
        });
        assert_eq!(t.insert(5, 10), Ok(true));
        assert_eq!(t.insert(6, 11), Ok(true));
        reader.join().unwrap();
    });
}

#[test]
fn admissions_are_seen_in_order() {
    causality();
}

#[test]
#[should_panic(expected = "an earlier key was missed")]
fn twin_relaxed_cells() {
    with(Twin::RelaxedCells, causality);
}

/// One winner for each forgetting.
#[test]
fn forget_is_one_more_state() {
    bounded(100, || {
        let t = Arc::new(One::<3>::new([[(9, at(10)), EMPTY, EMPTY]], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || (t2.forget(&rule(), 9, 10), t2.observe(&rule(), 9, 10)));
        let b = thread::spawn(move || t3.observe(&rule(), 5, 10));
        let again = t.observe(&rule(), 9, 10);
        let (forgot, second) = a.join().unwrap();
        assert!(forgot);
        assert!((again == Ok(true)) ^ (second == Ok(true)));
        assert_eq!(b.join().unwrap(), Ok(true));
        assert_eq!(t.get(9), Some(at(11)));
    });
}

/// A mark keeps the stamp of what it forgets, and its cell until it is gone.
fn forget_and_append() {
    bounded(10, || {
        let t = Arc::new(One::<2>::new([[(9, at(10)), EMPTY]], 0));
        let t2 = t.clone();
        let a = thread::spawn(move || t2.observe(&rule(), 5, 9));
        assert!(t.forget(&rule(), 9, 10));
        let _ = t.observe(&rule(), 9, 10);
        let _ = a.join().unwrap();
    });
}

#[test]
fn a_mark_keeps_its_cell() {
    forget_and_append();
}

#[test]
#[should_panic(expected = "a cell fell")]
fn twin_the_mark_goes_first() {
    with(Twin::MarkGoesFirst, forget_and_append);
}

/// A full bucket that may evict: 9 is old enough, 8 is as young as an event may be.
fn eviction() {
    bounded(100, || {
        let rule = Rule::new(WINDOW, LATENESS, Refresh::Never);
        let t = Arc::new(One::<2>::new([[(9, at(12)), (8, at(17))]], 0).evicting(rule.evict_within()));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.observe(&rule, 5, 17));
        let b = thread::spawn(move || t3.observe(&rule, 9, 16));
        let six = t.observe(&rule, 6, 18);
        let (five, nine) = (a.join().unwrap(), b.join().unwrap());
        // Room for one: the others find nothing that is old enough.
        assert!([five, six, nine].iter().filter(|r| **r == Ok(true)).count() <= 1);
        assert!([five, six, nine].iter().all(|r| *r != Err(Stop::Sealed)));
        assert_eq!(t.get(8), Some(at(17)), "evicted too young");
    });
}

#[test]
fn evicts_what_is_old() {
    eviction();
}

#[test]
#[should_panic(expected = "a cell fell")]
fn twin_evicts_the_young() {
    with(Twin::EvictYoung, eviction);
}

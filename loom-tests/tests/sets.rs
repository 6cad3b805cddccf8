//! Sets of limits: all or nothing, what is given back, holds. Protocol: `src/limit/set/{admit,refunds,hold,snapshot}.rs`, `src/limit/tat.rs`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::{EMPTY, bounded};
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
use windlass::model::{Holding, Reserving, Table, Twin, Words, with};

/// The time of the tests, well after that of empty states.
const NOW: u64 = 1_000_000;

/// Two callers want the last permit of each of two limits.
fn the_last_of_both() {
    bounded(20, || {
        let words = Arc::new(Words::new(2, 1, 10));
        let other = words.clone();
        let other = thread::spawn(move || other.admit(&[0, 1], true, NOW));
        let ours = words.admit(&[0, 1], false, NOW);
        assert!(ours ^ other.join().unwrap(), "one permit, and nobody got it, or both");
        assert_eq!([0, 1].map(|word| words.room(word, NOW)), [0, 0]);
    });
}

#[test]
fn one_of_two_goes_through() {
    the_last_of_both();
}

#[test]
#[should_panic(expected = "nobody got it")]
fn twin_charges_in_the_other_order() {
    with(Twin::OtherOrder, the_last_of_both);
}

/// Three callers, each a client of its own, and one permit for all of them.
fn one_for_all() {
    bounded(20, || {
        let words = Arc::new(Words::new(4, 1, 10));
        let others = [1, 2].map(|client| {
            let words = words.clone();
            thread::spawn(move || words.admit(&[client, 3], false, NOW))
        });
        let ours = words.admit(&[0, 3], false, NOW);
        let [a, b] = others.map(|other| other.join().unwrap());
        let admitted = [ours, a, b].map(u64::from);
        assert_eq!(admitted.iter().sum::<u64>(), 1, "one permit for all");
        let left = [0, 1, 2].map(|client| 1 - words.room(client, NOW));
        assert_eq!(left, admitted, "charged is what was admitted");
        assert_eq!(words.room(3, NOW), 0);
    });
}

#[test]
fn a_refused_call_leaves_nothing_charged() {
    one_for_all();
}

#[test]
#[should_panic(expected = "charged is what was admitted")]
fn twin_keeps_the_charge() {
    with(Twin::KeepTheCharge, one_for_all);
}

/// What is not promised: a call is refused for the sake of one that is itself refused.
#[test]
#[should_panic(expected = "refused for nothing")]
fn a_refusal_may_come_from_a_call_that_is_refused_itself() {
    bounded(20, || {
        let words = Arc::new(Words::new(2, 1, 10));
        let (a, b) = (words.clone(), words.clone());
        let both = thread::spawn(move || a.admit(&[0, 1], false, NOW));
        let second = thread::spawn(move || b.admit(&[1], false, NOW));
        let first = words.admit(&[0], false, NOW);
        let (both, second) = (both.join().unwrap(), second.join().unwrap());
        assert!(first || both || !second, "refused for nothing");
    });
}

/// A call is charged by the first limit, and stalls; time gives that back, and it is taken again. Then the call is refused by the second.
fn overtaken() {
    bounded(20, || {
        let words = Arc::new(Words::new(2, 1, 10));
        let stalled = words.clone();
        let stalled = thread::spawn(move || stalled.admit(&[0, 1], false, NOW));
        let second = words.admit(&[1], false, NOW);
        let first = words.admit(&[0], false, NOW + 10);
        let stalled = stalled.join().unwrap();
        assert!(second ^ stalled, "one permit of the second limit");
        let again = words.admit(&[0], false, NOW + 10);
        assert!(!(first && again), "beyond the limit");
    });
}

#[test]
fn a_stalled_call_gives_back_what_is_there() {
    overtaken();
}

#[test]
#[should_panic(expected = "beyond the limit")]
fn twin_gives_all_back() {
    with(Twin::GiveAllBack, overtaken);
}

#[test]
#[should_panic(expected = "beyond the limit")]
fn twin_goes_by_the_time_before() {
    with(Twin::TimeBefore, overtaken);
}

/// Two holds, the first one cancelled at once; another call takes its place. Then the second one is cancelled, which by then is over.
fn two_holds() {
    bounded(5, || {
        // Two permits, one comes back each 10.
        let words = Arc::new(Words::new(1, 2, 20));
        let (first, second) = (words.hold(0, NOW).unwrap(), words.hold(0, NOW).unwrap());
        let other = words.clone();
        let other = thread::spawn(move || other.cancel(first, NOW));
        let call = words.admit(&[0], false, NOW + 5);
        words.cancel(second, NOW + 12);
        other.join().unwrap();
        let most = if call { 1 } else { 2 };
        assert!(words.room(0, NOW + 12) <= most, "given back twice");
    });
}

#[test]
fn holds_give_back_what_is_there() {
    two_holds();
}

#[test]
#[should_panic(expected = "given back twice")]
fn twin_ignores_others() {
    with(Twin::IgnoreOthers, two_holds);
}

#[test]
#[should_panic(expected = "given back twice")]
fn twin_counts_afterwards() {
    with(Twin::CountAfterwards, two_holds);
}

/// Two settle the same hold, while a third moves time past its end or not.
fn settling() {
    bounded(20, || {
        let numbers = Arc::new(Holding(Table::<1, 2>::new([[EMPTY; 2]], 0)));
        numbers.open(7, 100).unwrap();
        let (a, b) = (numbers.clone(), numbers.clone());
        let a = thread::spawn(move || a.close(7, 50));
        let b = thread::spawn(move || b.advance(100));
        let ours = numbers.close(7, 60);
        let other = a.join().unwrap();
        b.join().unwrap();
        assert!(!(ours && other), "settled twice");
        assert!(!numbers.close(7, 60), "settled once more");
    });
}

#[test]
fn a_hold_is_settled_once() {
    settling();
}

#[test]
#[should_panic(expected = "settled twice")]
fn twin_settles_blindly() {
    with(Twin::SettleBlindly, settling);
}

/// A hold is made while a snapshot is read. There it is as if it had not been, or its charge stays: nothing comes back that is not charged.
fn made_under_a_snapshot() {
    bounded(20, || {
        let set = Arc::new(Reserving::new(2, 20));
        assert!(set.admit(NOW));
        let (copied, answered) = (set.clone(), Arc::new(AtomicBool::new(false)));
        let before = answered.clone();
        let copied = thread::spawn(move || (before.load(Acquire), copied.copy()));
        let ticket = set.reserve(NOW).unwrap();
        answered.store(true, Release);
        let (answered, copy) = copied.join().unwrap();
        let is_good = copy.cancel(ticket, NOW);
        assert!(copy.room(NOW) <= 1, "given back, and was not charged");
        assert!(is_good || !answered, "a ticket of before is good for nothing");
        assert!(set.cancel(ticket, NOW) && set.room(NOW) == 1);
    });
}

#[test]
fn a_hold_that_is_made_meanwhile() {
    made_under_a_snapshot();
}

#[test]
#[should_panic(expected = "given back, and was not charged")]
fn twin_the_number_afterwards() {
    with(Twin::NumberAfterwards, made_under_a_snapshot);
}

/// A hold is cancelled while a snapshot is read: there it is not given back and open.
fn settled_under_a_snapshot() {
    bounded(20, || {
        let set = Arc::new(Reserving::new(2, 20));
        assert!(set.admit(NOW));
        let ticket = set.reserve(NOW).unwrap();
        let copied = set.clone();
        let copied = thread::spawn(move || copied.copy());
        assert!(set.cancel(ticket, NOW));
        let copy = copied.join().unwrap();
        copy.cancel(ticket, NOW);
        assert!(copy.room(NOW) <= 1, "given back twice");
    });
}

#[test]
fn a_hold_that_is_settled_meanwhile() {
    settled_under_a_snapshot();
}

#[test]
#[should_panic(expected = "given back twice")]
fn twin_the_holds_first() {
    with(Twin::HoldsFirst, settled_under_a_snapshot);
}

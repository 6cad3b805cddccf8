//! Claims of keys that are told apart by their bytes: a ticket knows its key by where the bytes lie, and they may go, be put
//! elsewhere, or be driven out meanwhile. Every change is checked where it happens against a map that never forgets. Protocol:
//! `src/table/id.rs`; the rule: `src/dedup/rule.rs`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::bounded;
use loom::{sync::Arc, thread};
use windlass::{
    Refresh,
    model::{Exact, ExactTicket, Name, Rule, Twin, with},
};

/// One bucket of so many cells in the first table.
type One<const CELLS: usize> = Exact<1, CELLS>;

/// All of one tag. (With this one keys do no share of the emptying by themselves.)
const TAG: u64 = 1 << 35;
const FIVE: Name = (TAG, b"five");
const NINE: Name = (TAG, b"nine");

fn rule() -> Rule {
    Rule::new(5, 2, Refresh::Never)
}

/// Slices of so many ticks; FIVE was claimed at 10, until 12.
fn claimed<const CELLS: usize>(slice: u64) -> (Arc<One<CELLS>>, ExactTicket) {
    let t = One::for_rule(&rule(), slice);
    let ticket = t.claim(&rule(), FIVE, 10, 2).unwrap();
    (Arc::new(t), ticket)
}

fn count(yes: &[bool]) -> usize {
    yes.iter().filter(|&&yes| yes).count()
}

/// The lease has run out, and its owner comes to commit; two others claim the id, and one of them commits. In slices of so many
/// ticks: in one the bytes stay where they are, else they are put elsewhere.
fn takeover(slice: u64) {
    bounded(1000, move || {
        let (t, ticket) = claimed::<2>(slice);
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.claim(&rule(), FIVE, 12, 2).is_some_and(|new| t2.commit(new)));
        let b = thread::spawn(move || t3.claim(&rule(), FIVE, 13, 2));
        let ours = t.commit(ticket);
        let (theirs, other) = (a.join().unwrap(), b.join().unwrap());
        assert_eq!(count(&[ours, theirs, other.is_some()]), 1, "who owns it");
        assert!(other.is_none_or(|new| t.commit(new)), "a claim was lost");
        assert_eq!((t.observe(&rule(), FIVE, 14), t.live()), (Some(false), 1));
    });
}

#[test]
fn one_owns_it_when_a_lease_runs_out() {
    takeover(16);
}

#[test]
fn one_owns_it_also_in_another_slice() {
    takeover(1);
}

#[test]
#[should_panic(expected = "who owns it")]
fn twin_commits_anyones_claim() {
    with(Twin::CommitAny, || takeover(16));
}

/// The same with the claim in a table on which a larger one lies.
fn takeover_above(slice: u64) {
    bounded(20, move || {
        let (t, ticket) = claimed::<2>(slice);
        assert!(t.resize(2));
        let t2 = t.clone();
        let a = thread::spawn(move || t2.claim(&rule(), FIVE, 12, 2).is_some_and(|new| t2.commit(new)));
        let ours = t.commit(ticket);
        assert_eq!(count(&[ours, a.join().unwrap()]), 1, "who owns it");
        assert_eq!((t.observe(&rule(), FIVE, 14), t.live()), (Some(false), 1));
    });
}

#[test]
fn one_owns_it_when_a_table_lies_above() {
    takeover_above(16);
}

#[test]
fn one_owns_it_also_in_another_slice_above() {
    takeover_above(1);
}

#[test]
#[should_panic(expected = "decided on")]
fn twin_known_by_the_place() {
    with(Twin::KnownByPlace, || takeover_above(1));
}

/// An owner and its copy, one of which gives up, while the table with the claim is emptied into a larger one.
#[test]
fn commit_and_abort_while_it_comes_up() {
    bounded(100, || {
        let (t, ticket) = claimed::<2>(16);
        assert!(t.resize(2));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.abort(ticket));
        let b = thread::spawn(move || t3.commit(ticket));
        assert!(!t.empty());
        let (aborted, committed) = (a.join().unwrap(), b.join().unwrap());
        assert!(aborted != committed);
        assert_eq!(t.observe(&rule(), FIVE, 11), Some(aborted));
        assert_eq!((t.tables(), t.live()), (1, 1));
    });
}

/// What was given up is claimed anew by another, in a later slice; a copy of the old ticket decides nothing.
#[test]
fn abort_and_claim_in_another_slice() {
    bounded(100, || {
        let (t, ticket) = claimed::<2>(1);
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.claim(&rule(), FIVE, 11, 2));
        let b = thread::spawn(move || t3.commit(ticket));
        let aborted = t.abort(ticket);
        let (theirs, committed) = (a.join().unwrap(), b.join().unwrap());
        assert!(aborted != committed && (aborted || theirs.is_none()));
        if let Some(new) = theirs {
            assert!(!t.abort(ticket) && !t.commit(ticket) && t.commit(new));
        }
        assert_eq!(t.live(), 1, "two cells");
    });
}

/// The window of a claim runs out: its slice is let go, and its slot used again at the same place, for another key of its tag. A late
/// ticket is lost, whatever it finds there.
#[test]
fn a_late_ticket_and_a_slot_used_again() {
    bounded(100, || {
        let (t, ticket) = claimed::<2>(1);
        let t2 = t.clone();
        let other = thread::spawn(move || {
            // Four slots: 14 has that of 10.
            t2.advance(Rule::admitted(11));
            t2.retire();
            t2.claim(&rule(), NINE, 14, 2).unwrap()
        });
        let ours = t.commit(ticket);
        let theirs = other.join().unwrap();
        assert!(!t.commit(ticket) && !t.abort(ticket), "who owns it");
        assert!(t.commit(theirs));
        assert!(ours || t.observe(&rule(), FIVE, 14) == Some(true));
        assert_eq!(t.observe(&rule(), NINE, 14), Some(false));
    });
}

/// The slice of a claim whose lease has run out is driven out, while its owner commits and another claims the id.
fn driven_out() {
    bounded(100, || {
        let t = One::<2>::for_rule(&rule(), 1).evicting(rule().evict_within());
        let ticket = t.claim(&rule(), FIVE, 10, 2).unwrap();
        // From here on what was claimed at 10 is not young.
        t.advance(Rule::admitted(7));
        let t = Arc::new(t);
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.claim(&rule(), FIVE, 13, 2));
        let b = thread::spawn(move || t3.drive_out());
        let ours = t.commit(ticket);
        let theirs = a.join().unwrap();
        b.join().unwrap();
        // If it was claimed anew before, nothing is lost with the slice.
        assert!(t.evicted() == 1 || (t.evicted() == 0 && theirs.is_some()), "not counted");
        // Both, if it was committed, then driven out, then claimed. Whoever has lost it knows it.
        assert!(ours || theirs.is_some());
        assert!(!t.commit(ticket) && !t.abort(ticket));
        assert!(theirs.is_none_or(|new| t.commit(new)));
        assert_eq!(t.live(), u64::from(theirs.is_some()), "two cells");
    });
}

#[test]
fn one_owns_it_when_a_slice_is_driven_out() {
    driven_out();
}

#[test]
#[should_panic(expected = "not monotone")]
fn twin_the_driven_out_is_left() {
    with(Twin::LeaveTheDead, driven_out);
}

/// A commit whose bytes are driven out over a growth needs no room, and drives out nothing more.
#[test]
fn a_lost_ticket_drives_nothing_out() {
    bounded(20, || {
        let t = One::<2>::for_rule(&rule(), 1).evicting(rule().evict_within());
        let ticket = t.claim(&rule(), FIVE, 10, 2).unwrap();
        assert_eq!(t.observe(&rule(), NINE, 11), Some(true));
        t.advance(Rule::admitted(8));
        assert!(t.resize(2));
        let t = Arc::new(t);
        let t2 = t.clone();
        let other = thread::spawn(move || t2.commit(ticket));
        t.drive_out();
        other.join().unwrap();
        assert_eq!((t.evicted(), t.get(FIVE)), (1, None));
        assert!(t.get(NINE).is_some());
    });
}

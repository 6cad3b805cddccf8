//! Claims: of all who want an id one gets it, and of all who think that it is theirs one is right. Every change is checked where it
//! happens against a map that never forgets. The rule: `src/dedup/rule.rs`, the states: `src/dedup/state.rs`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::{EMPTY, bounded};
use loom::{sync::Arc, thread};
use windlass::{
    Refresh,
    model::{Rule, Table, Ticket, Twin, with},
};

type One<const CELLS: usize> = Table<1, CELLS>;

fn rule() -> Rule {
    Rule::new(5, 2, Refresh::Never)
}

/// A table in which 9 was claimed at 10, until 12, and the ticket.
fn claimed<const CELLS: usize>() -> (Arc<One<CELLS>>, Ticket) {
    let claim = Rule::claimed(10, 2);
    let mut cells = [EMPTY; CELLS];
    cells[0] = (9, claim);
    (Arc::new(One::new([cells], 0)), Ticket::new(9, claim))
}

fn count(yes: &[bool]) -> usize {
    yes.iter().filter(|&&yes| yes).count()
}

/// Two claim it, one observes it.
#[test]
fn one_gets_it() {
    bounded(1000, || {
        let t = Arc::new(One::<2>::new([[EMPTY; 2]], 0));
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.claim(&rule(), 9, 10, 2).unwrap());
        let b = thread::spawn(move || t3.observe(&rule(), 9, 11).unwrap());
        let ours = t.claim(&rule(), 9, 10, 3).unwrap();
        let (theirs, fresh) = (a.join().unwrap(), b.join().unwrap());
        assert_eq!(count(&[ours.is_some(), theirs.is_some(), fresh]), 1);
        for ticket in [ours, theirs].into_iter().flatten() {
            assert!(t.commit(ticket));
            assert_eq!(t.get(9), Some(Rule::admitted(10)));
        }
    });
}

/// The lease has run out, and its owner comes to commit; another claims the id and commits, a third observes it.
fn takeover() {
    bounded(1000, || {
        let (t, ticket) = claimed::<2>();
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.claim(&rule(), 9, 12, 2).unwrap().is_some_and(|new| t2.commit(new)));
        let b = thread::spawn(move || t3.observe(&rule(), 9, 13).unwrap());
        let ours = t.commit(ticket);
        let (theirs, fresh) = (a.join().unwrap(), b.join().unwrap());
        assert_eq!(count(&[ours, theirs, fresh]), 1, "who owns it");
        assert_eq!(t.observe(&rule(), 9, 14), Ok(false));
    });
}

#[test]
fn one_owns_it_when_a_lease_runs_out() {
    takeover();
}

#[test]
#[should_panic(expected = "who owns it")]
fn twin_commits_anyones_claim() {
    with(Twin::CommitAny, takeover);
}

/// The same, where the owner gives it up.
fn late_abort() {
    bounded(100, || {
        let (t, ticket) = claimed::<2>();
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.claim(&rule(), 9, 12, 2).unwrap());
        let b = thread::spawn(move || t3.observe(&rule(), 5, 12).unwrap());
        t.abort(ticket);
        let theirs = a.join().unwrap();
        assert!(theirs.is_some_and(|new| t.commit(new)), "a claim was lost");
        assert!(b.join().unwrap());
    });
}

#[test]
fn a_late_abort_leaves_the_new_claim_alone() {
    late_abort();
}

#[test]
#[should_panic(expected = "not monotone")]
fn twin_aborts_blindly() {
    with(Twin::AbortBlindly, late_abort);
}

/// What was given up is fresh for one, at times before and after that of the claim.
#[test]
fn abort_against_observations() {
    bounded(1000, || {
        let (t, ticket) = claimed::<2>();
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.observe(&rule(), 9, 11).unwrap());
        let b = thread::spawn(move || t3.observe(&rule(), 9, 9).unwrap());
        assert!(t.abort(ticket));
        let fresh = [a.join().unwrap(), b.join().unwrap(), t.observe(&rule(), 9, 10).unwrap()];
        assert_eq!(count(&fresh), 1);
        assert!(!t.commit(ticket) && !t.abort(ticket));
    });
}

/// What was given up is claimed anew, in the same tick.
#[test]
fn abort_and_claim_again() {
    bounded(1000, || {
        let (t, ticket) = claimed::<2>();
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.claim(&rule(), 9, 10, 2).unwrap());
        let b = thread::spawn(move || t3.commit(ticket));
        assert!(t.abort(ticket) != b.join().unwrap());
        let ours = t.claim(&rule(), 9, 10, 2).unwrap();
        let theirs = a.join().unwrap();
        let committed = t.commit(ticket);
        assert_eq!(count(&[ours.is_some(), theirs.is_some(), committed]), 1);
        assert!([ours, theirs].into_iter().flatten().all(|new| new != ticket && t.commit(new)));
    });
}

/// Copies of one ticket: one of them decides.
#[test]
fn commit_against_abort() {
    bounded(100, || {
        let (t, ticket) = claimed::<2>();
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.abort(ticket));
        let b = thread::spawn(move || t3.commit(ticket));
        let (ours, aborted, again) = (t.commit(ticket), a.join().unwrap(), b.join().unwrap());
        assert!(ours == again && ours != aborted);
        assert_eq!(t.observe(&rule(), 9, 11), Ok(aborted));
    });
}

#[test]
fn forget_against_commit() {
    bounded(100, || {
        let (t, ticket) = claimed::<2>();
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.forget(&rule(), 9, 11));
        let b = thread::spawn(move || t3.observe(&rule(), 5, 11).unwrap());
        t.commit(ticket);
        assert!(a.join().unwrap() && b.join().unwrap());
        assert!(!t.commit(ticket));
        assert_eq!(t.observe(&rule(), 9, 11), Ok(true));
    });
}

/// The window of a claim runs out, and its only cell is wanted by others.
#[test]
fn commit_against_reuse() {
    bounded(100, || {
        let (t, ticket) = claimed::<1>();
        let (t2, t3) = (t.clone(), t.clone());
        let a = thread::spawn(move || t2.observe(&rule(), 3, 20));
        let b = thread::spawn(move || t3.claim(&rule(), 9, 11, 2));
        t.commit(ticket);
        let (three, nine) = (a.join().unwrap(), b.join().unwrap());
        // Late as it is, the second comes at the horizon, and may be the first to take the cell.
        assert!(three == Ok(true) || matches!(nine, Ok(Some(_))));
        if let Ok(Some(new)) = nine {
            assert!(three.is_err() && t.commit(new) && !t.commit(ticket));
        }
    });
}

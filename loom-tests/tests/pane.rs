//! The ring of panes: what is promised is found, whoever moves, clears, stalls or asks. Protocol: `src/pane/ring.rs`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::{bounded, bounded_by_two};
use loom::{sync::Arc, thread};
use windlass::{
    Rotation::{self, ByCalls, Hybrid, Scheduled},
    model::{
        Filter,
        Panes::{self, Arrays, Rows, Seeded, TwoRows},
        Twin, with,
    },
};

// Three columns, panes of 2 ticks: a lead of 1 tick, a span of 3. Pane p begins at 2 p and expires at 2 p + 5.

/// Key 1 is in pane 0.
fn young(panes: Panes, rows: u64, rotation: Rotation) -> Arc<Filter> {
    let f = Filter::new(panes, 3, rows, 2, rotation);
    f.insert(1, 0);
    Arc::new(f)
}

/// .. 2 in pane 1, 3 in pane 2: all columns are live, and at tick 5 the first of them goes.
fn full(panes: Panes, rows: u64, rotation: Rotation) -> Arc<Filter> {
    let f = young(panes, rows, rotation);
    for (key, tick) in [(2, 2), (3, 4)] {
        f.advance(tick);
        f.insert(key, tick);
    }
    f
}

/// .. which is done: at tick 6 the ring can move.
fn cleared(panes: Panes, rotation: Rotation) -> Arc<Filter> {
    let f = full(panes, 1, rotation);
    f.advance(5);
    assert_eq!(f.cleared(), 1);
    f
}

/// In another thread.
fn beside<R: 'static>(f: &Arc<Filter>, run: impl FnOnce(&Filter) -> R + 'static) -> thread::JoinHandle<R> {
    let f = f.clone();
    thread::spawn(move || run(&f))
}

// --- nothing is lost while the ring moves and is cleared ---

/// Two retire and clear by their calls.
fn two_clear(least: usize, panes: Panes, rows: u64) {
    bounded(least, move || {
        let f = full(panes, rows, ByCalls);
        let other = beside(&f, |f| f.insert(4, 5));
        f.insert(5, 5);
        other.join().unwrap();
        f.insert(6, 6);
        assert_eq!((f.rotations(), f.cleared()), (3, rows));
        for (key, tick) in [(3, 4), (4, 5), (5, 5), (6, 6)] {
            f.check(key, tick, 6);
        }
    });
}

#[test]
fn two_clear_rows() {
    two_clear(1000, Rows, 1);
}

#[test]
fn two_clear_two_rows() {
    two_clear(1000, Rows, 2);
}

#[test]
fn two_clear_arrays() {
    two_clear(1000, Arrays, 1);
}

/// A call moves on, onto a column that was cleared, and so does upkeep.
#[test]
fn onto_a_cleared_column() {
    bounded(2000, || {
        let f = cleared(Rows, ByCalls);
        let other = beside(&f, |f| f.maintain(6, 0));
        f.insert(5, 6);
        other.join().unwrap();
        assert_eq!(f.rotations(), 3);
        f.check(3, 4, 6);
        f.check(5, 6, 8);
    });
}

/// .. onto the first that is free, in every mode.
fn with_upkeep(least: usize, panes: Panes, rotation: Rotation) {
    bounded(least, move || {
        let f = young(panes, 1, rotation);
        let upkeep = beside(&f, |f| f.maintain(2, 0));
        f.insert(5, 2);
        upkeep.join().unwrap();
        f.check(1, 0, 2);
        f.check(5, 2, 4);
    });
}

#[test]
fn with_upkeep_by_calls() {
    with_upkeep(2000, Arrays, ByCalls);
    with_upkeep(2000, Seeded, ByCalls);
}

#[test]
fn with_upkeep_hybrid() {
    with_upkeep(2000, Rows, Hybrid);
}

#[test]
fn with_upkeep_scheduled() {
    with_upkeep(400, Rows, Scheduled);
    with_upkeep(400, Seeded, Scheduled);
}

/// Two see to the ring, a third puts in.
#[test]
fn three_threads() {
    bounded(3000, || {
        let f = young(Rows, 1, Scheduled);
        let upkeep = [2, 3].map(|tick| beside(&f, move |f| f.maintain(tick, 0)));
        f.insert(4, 1);
        for thread in upkeep {
            thread.join().unwrap();
        }
        assert_eq!(f.rotations(), 1);
        f.check(4, 1, 3);
    });
}

/// Upkeep clears what it has retired, while a call goes on.
fn upkeep_clears(least: usize, rotation: Rotation) {
    bounded(least, move || {
        let f = full(Rows, 1, rotation);
        let upkeep = beside(&f, |f| f.maintain(5, 1));
        f.insert(5, 6);
        upkeep.join().unwrap();
        f.check(3, 4, 6);
        f.check(5, 6, 8);
    });
}

#[test]
fn upkeep_clears_hybrid() {
    upkeep_clears(500, Hybrid);
}

#[test]
fn upkeep_clears_scheduled() {
    upkeep_clears(500, Scheduled);
}

// --- clocks that differ ---

/// Two begin one pane.
fn one_column_each() {
    bounded(10_000, || {
        let f = young(Rows, 1, ByCalls);
        let other = beside(&f, |f| f.insert(3, 2));
        f.insert(2, 2);
        other.join().unwrap();
        assert_eq!(f.rotations(), 1, "two columns for one pane");
        assert_eq!(f.panes(2), [(1, 1), (0, 0)]);
        f.check(2, 2, 4);
        f.check(3, 2, 4);
    });
}

#[test]
fn a_pane_has_one_column() {
    one_column_each();
}

#[test]
#[should_panic(expected = "two columns for one pane")]
fn twin_the_label_comes_late() {
    with(Twin::LabelLate, one_column_each);
}

/// Clocks that differ by so many panes.
fn apart(least: usize, rotation: Rotation, early: u64, late: u64) {
    bounded(least, move || {
        let f = young(Rows, 1, rotation);
        let other = beside(&f, move |f| f.insert(3, early));
        f.insert(2, late);
        other.join().unwrap();
        assert!(f.rotations() <= 2, "more columns than panes");
        assert!(f.panes(late).iter().all(|&(first, last)| first <= last));
        f.check(3, early, late);
        f.check(2, late, late + 2);
    });
}

#[test]
fn clocks_a_pane_apart() {
    apart(10_000, ByCalls, 2, 4);
}

#[test]
fn clocks_panes_apart() {
    apart(10_000, ByCalls, 2, 9);
}

#[test]
fn clocks_apart_hybrid() {
    apart(10_000, Hybrid, 5, 7);
}

/// The one that moves the ring is behind a caller.
fn a_scheduler_behind() {
    bounded(400, || {
        let f = young(Rows, 1, Scheduled);
        let scheduler = beside(&f, |f| f.advance(5));
        f.insert(2, 7);
        scheduler.join().unwrap();
        f.check(2, 7, 9);
    });
}

#[test]
fn a_caller_ahead_of_the_scheduler() {
    a_scheduler_behind();
}

#[test]
#[should_panic(expected = "is lost")]
fn twin_a_due_time_of_another_column() {
    with(Twin::RaiseLoosely, a_scheduler_behind);
}

/// A caller goes on with a column, and finds its key there, that is left and retired meanwhile.
fn a_scheduler_ahead() {
    bounded(400, || {
        let f = young(Rows, 1, Scheduled);
        let scheduler = beside(&f, |f| f.advance(5));
        f.insert(1, 3);
        scheduler.join().unwrap();
        f.check(1, 3, 5);
    });
}

#[test]
fn a_caller_behind_the_scheduler() {
    a_scheduler_ahead();
}

#[test]
#[should_panic(expected = "is lost")]
fn twin_retired_by_an_old_label() {
    with(Twin::RaiseLoosely, a_scheduler_ahead);
}

// --- threads that stall ---

/// A writer stalls while a ring of two columns goes round. Its bits may come into a newer pane.
#[test]
fn a_stalled_writer() {
    bounded_by_two(200, || {
        let f = Arc::new(Filter::new(Rows, 2, 2, 2, Scheduled));
        f.insert(1, 0);
        let writer = beside(&f, |f| f.insert(3, 1));
        f.advance(2);
        f.advance(4);
        f.insert(4, 4);
        writer.join().unwrap();
        assert_eq!((f.rotations(), f.cleared()), (2, 2));
        f.check(4, 4, 4);
    });
}

/// A clearer stalls: the ring stays, nobody waits, and what comes meanwhile is kept.
fn a_late_clearer() {
    bounded(500, || {
        let f = full(Rows, 1, Hybrid);
        let clearer = beside(&f, |f| f.maintain(5, 1));
        f.insert(4, 8);
        clearer.join().unwrap();
        f.advance(9);
        f.advance(10);
        f.check(4, 8, 10);
    });
}

#[test]
fn a_stalled_clearer() {
    a_late_clearer();
}

#[test]
#[should_panic(expected = "is lost")]
fn twin_the_label_stays() {
    with(Twin::KeepLabel, a_late_clearer);
}

/// One of two clearers stalls before its store.
fn a_clearer_of_two() {
    bounded(2000, || {
        let f = full(Rows, 1, ByCalls);
        let other = beside(&f, |f| f.maintain(5, 1));
        f.maintain(5, 1);
        f.insert(4, 6);
        other.join().unwrap();
        f.check(4, 6, 6);
    });
}

#[test]
fn one_clearer() {
    a_clearer_of_two();
}

#[test]
#[should_panic(expected = "is lost")]
fn twin_two_clearers() {
    with(Twin::ClearTwice, a_clearer_of_two);
}

// --- questions ---

/// A key is put into a newer pane, and its old one is retired and cleared, while somebody asks.
fn across_a_clear(least: usize, panes: Panes) {
    bounded(least, move || {
        // Panes of 4 ticks: a span of 7.
        let f = Filter::new(panes, 3, 1, 4, ByCalls);
        f.insert(1, 3);
        f.insert(2, 4);
        let f = Arc::new(f);
        let reader = beside(&f, |f| f.contains(1, 8));
        f.insert(1, 8);
        f.maintain(11, 1);
        assert!(reader.join().unwrap(), "absent, and was never gone");
    });
}

#[test]
fn never_absent_in_rows() {
    across_a_clear(200, Rows);
}

#[test]
fn never_absent_in_arrays() {
    across_a_clear(200, Arrays);
}

#[test]
fn never_absent_in_seeded_arrays() {
    across_a_clear(200, Seeded);
}

#[test]
#[should_panic(expected = "absent, and was never gone")]
fn twin_absent_at_once() {
    with(Twin::AbsentAtOnce, || across_a_clear(200, Rows));
}

#[test]
#[should_panic(expected = "absent, and was never gone")]
fn twin_cleared_with_relaxed() {
    with(Twin::RelaxedClear, || across_a_clear(200, Rows));
}

/// Who asks for a time ahead of the ring's, or behind it, finds what that time may.
#[test]
fn readers_ahead_and_behind() {
    bounded(400, || {
        let f = young(Rows, 1, ByCalls);
        f.insert(2, 2);
        let reader = beside(&f, |f| {
            f.check(2, 2, 0);
            f.check(2, 2, 4);
        });
        f.insert(3, 4);
        reader.join().unwrap();
        f.check(2, 2, 0);
        f.check(3, 4, 6);
        assert!(!f.contains(1, 5) && !f.contains(2, 7), "found after it expired");
    });
}

// --- snapshots ---

/// A snapshot is taken while the oldest pane goes and is cleared.
fn beside_a_clear(least: usize, panes: Panes) {
    bounded_by_two(least, move || {
        let f = full(panes, 1, ByCalls);
        let snapshot = beside(&f, Filter::copy);
        f.insert(4, 5);
        let copy = snapshot.join().unwrap();
        for (key, tick) in [(1, 0), (2, 2), (3, 4)] {
            copy.check_copied(key, tick);
            copy.check(key, tick, tick);
        }
    });
}

#[test]
fn a_snapshot_while_a_pane_is_cleared() {
    beside_a_clear(50, Rows);
    beside_a_clear(50, Arrays);
}

#[test]
#[should_panic(expected = "is lost in the copy, and its pane is live")]
fn twin_kept_as_it_was_begun() {
    with(Twin::KeepAsBegun, || beside_a_clear(50, Rows));
}

#[test]
#[should_panic(expected = "is lost in the copy, and its pane is live")]
fn twin_kept_what_was_cleared_with_relaxed() {
    with(Twin::RelaxedClear, || beside_a_clear(50, Rows));
}

/// .. and its column takes over.
fn beside_a_move() {
    bounded_by_two(200, || {
        let f = full(Rows, 1, ByCalls);
        let snapshot = beside(&f, Filter::copy);
        f.insert(4, 5);
        f.insert(5, 6);
        let copy = snapshot.join().unwrap();
        for (key, tick) in [(1, 0), (2, 2), (3, 4)] {
            copy.check_copied(key, tick);
            copy.check(key, tick, tick);
        }
        assert!(!copy.contains(1, 6), "found after it expired");
        // It goes on, with all that it needs for that.
        copy.insert(6, 6);
        copy.insert(7, 8);
        copy.check(3, 4, 6);
        copy.check(6, 6, 8);
        copy.check(7, 8, 10);
    });
}

#[test]
fn a_snapshot_while_a_column_takes_over() {
    beside_a_move();
}

#[test]
#[should_panic(expected = "found after it expired")]
fn twin_kept_what_was_retired() {
    with(Twin::KeepRetired, beside_a_move);
}

// --- who is told that a key is new ---

/// Two bring one key, at a tick in the pane that is or begins.
fn winners(least: usize, panes: Panes, tick: u64) {
    bounded(least, move || {
        let f = young(panes, 2, ByCalls);
        let other = beside(&f, move |f| !f.insert(2, tick));
        let mine = !f.insert(2, tick);
        let theirs = other.join().unwrap();
        assert!(mine || theirs, "new to nobody");
        assert!(!(mine && theirs) || panes != Rows, "new to two");
        f.check(2, tick, tick + 2);
    });
}

#[test]
fn one_winner_in_a_word() {
    winners(5, Rows, 0);
    winners(10_000, Rows, 2);
}

#[test]
fn a_winner_in_two_rows() {
    winners(5, TwoRows, 0);
}

#[test]
fn a_winner_in_arrays() {
    winners(5, Arrays, 0);
    winners(5, Seeded, 0);
}

#[test]
fn one_winner_of_three() {
    bounded(200, || {
        let f = young(Rows, 1, ByCalls);
        let others = [0, 1].map(|_| beside(&f, |f| !f.observe(2, 0)));
        let mine = !f.observe(2, 0);
        let won = others.map(|other| other.join().unwrap());
        assert_eq!([mine, won[0], won[1]].iter().filter(|&&won| won).count(), 1, "not one winner");
    });
}

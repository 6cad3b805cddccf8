//! Candidates of bounded memory: no count is another's, no key has two slots, bounds hold whoever stalls where. Protocol:
//! `src/topk/bounded/{slots,saved}.rs`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::{bounded, bounded_by_two};
use loom::{
    sync::{
        Arc,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Release},
        },
    },
    thread,
};
use windlass::model::{Hot, Twin, with};

/// In another thread.
fn beside<R: 'static>(hot: &Arc<Hot>, run: impl FnOnce(&Hot) -> R + 'static) -> thread::JoinHandle<R> {
    let hot = hot.clone();
    thread::spawn(move || run(&hot))
}

/// What was seen lies between the bounds.
fn check(hot: &Hot, truth: &[(u64, u64)]) {
    let all = || truth.iter().map(|&(key, n)| (hot.bounds(key), n));
    assert!(all().all(|((lower, _), n)| lower <= n), "counted for another key");
    assert!(all().all(|((_, upper), n)| n <= upper), "an add is in no bound");
    let keys = hot.keys();
    assert!(keys.is_sorted_by(|a, b| a < b), "two slots for a key");
}

// --- counts ---

/// A key is displaced while it is added to: neither has the other's.
fn displaced_while_added_to() {
    bounded(30, || {
        let hot = Arc::new(Hot::new(8));
        hot.add(1, 1);
        hot.add(2, 9);
        let other = beside(&hot, |hot| hot.add(1, 7));
        hot.add(3, 5);
        other.join().unwrap();
        check(&hot, &[(1, 8), (2, 9), (3, 5)]);
    });
}

#[test]
fn no_count_is_anothers() {
    displaced_while_added_to();
}

#[test]
#[should_panic(expected = "counted for another key")]
fn twin_credited_blindly() {
    with(Twin::CreditBlindly, displaced_while_added_to);
}

/// Two add to a key that has a slot, a third beside them.
#[test]
fn no_add_is_lost() {
    bounded_by_two(50, || {
        let hot = Arc::new(Hot::new(8));
        let others = [2, 4].map(|n| beside(&hot, move |hot| hot.add(1, n)));
        hot.add(1, 1);
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(hot.bounds(1), (7, 7), "an add is lost");
    });
}

// --- one slot ---

/// Two bring a key, and know different estimates of it: it gets one slot.
fn two_bring_it() {
    bounded(50, || {
        let hot = Arc::new(Hot::new(8));
        hot.add(1, 5);
        hot.add(2, 3);
        let other = beside(&hot, |hot| hot.add(3, 4));
        hot.add(3, 4);
        other.join().unwrap();
        check(&hot, &[(1, 5), (2, 3), (3, 8)]);
    });
}

#[test]
fn one_slot_for_a_key() {
    two_bring_it();
}

#[test]
#[should_panic(expected = "two slots for a key")]
fn twin_any_lesser_slot() {
    with(Twin::AnyLesser, two_bring_it);
}

/// .. where there are empty ones.
#[test]
fn one_empty_slot_for_a_key() {
    bounded_by_two(50, || {
        let hot = Arc::new(Hot::new(8));
        let others = [1, 2].map(|key| beside(&hot, move |hot| hot.add(key, 1)));
        hot.add(2, 2);
        for other in others {
            other.join().unwrap();
        }
        assert_eq!((hot.keys(), hot.bounds(1), hot.bounds(2)), (vec![1, 2], (1, 1), (3, 3)));
    });
}

/// Two begin a bucket with what is carried over, and add a key of those, and another.
fn two_begin() {
    bounded(50, || {
        let hot = Arc::new(Hot::carried(8, [1, 2]));
        let other = beside(&hot, |hot| hot.add(2, 4));
        hot.add(3, 5);
        other.join().unwrap();
        check(&hot, &[(1, 0), (2, 4), (3, 5)]);
    });
}

#[test]
fn what_is_carried_over_has_one_slot() {
    two_begin();
}

#[test]
#[should_panic(expected = "two slots for a key")]
fn twin_carried_blindly() {
    with(Twin::CarryBlindly, two_begin);
}

// --- bounds ---

/// One add of a key gets a slot, and the noise that this makes keeps another of it out, which had looked for the key before.
fn sketched_while_it_comes() {
    bounded(80, || {
        // In the other cell than the one that is displaced.
        let key = (3..40).find(|&key| !Hot::share(2, key)).unwrap();
        let hot = Arc::new(Hot::new(1));
        hot.add(1, 90);
        hot.add(2, 30);
        let other = beside(&hot, move |hot| hot.add(key, 1));
        // (That is told without rounding.)
        hot.add(key, 32);
        other.join().unwrap();
        check(&hot, &[(1, 90), (2, 30), (key, 33)]);
    });
}

#[test]
fn of_two_one_sees_the_other() {
    sketched_while_it_comes();
}

#[test]
#[should_panic(expected = "an add is in no bound")]
fn twin_without_a_turn() {
    with(Twin::NoTurn, sketched_while_it_comes);
}

/// A key is displaced under a reader: what it was seen is in the sketch by then.
fn displaced_under_a_reader() {
    bounded(50, || {
        let hot = Arc::new(Hot::new(8));
        hot.add(1, 3);
        hot.add(2, 9);
        let reader = beside(&hot, |hot| check(hot, &[(1, 3), (2, 9)]));
        hot.add(3, 5);
        reader.join().unwrap();
        check(&hot, &[(1, 3), (2, 9), (3, 5)]);
    });
}

#[test]
fn the_displaced_has_bounds() {
    displaced_under_a_reader();
}

#[test]
#[should_panic(expected = "an add is in no bound")]
fn twin_displaced_first() {
    with(Twin::DisplaceFirst, displaced_under_a_reader);
}

#[test]
#[should_panic(expected = "an add is in no bound")]
fn twin_displaced_without_order() {
    with(Twin::RelaxedCells, displaced_under_a_reader);
}

/// Adds that end one after the other, under a reader, while another displaces and comes back.
#[test]
fn bounds_between() {
    bounded_by_two(200, || {
        let hot = Arc::new(Hot::new(8));
        hot.add(1, 3);
        hot.add(2, 4);
        let ended = Arc::new(AtomicU64::new(0));
        let e2 = ended.clone();
        let reader = beside(&hot, move |hot| {
            let ended = e2.load(Acquire);
            let (lower, upper) = hot.bounds(3);
            assert!(lower <= 5 + 6 && upper >= ended, "an add is in no bound");
        });
        let other = beside(&hot, |hot| hot.add(1, 4));
        hot.add(3, 5);
        ended.store(5, Release);
        hot.add(3, 6);
        ended.store(11, Release);
        reader.join().unwrap();
        other.join().unwrap();
        check(&hot, &[(1, 7), (2, 4), (3, 11)]);
    });
}

// --- snapshots ---

/// A key is displaced while a snapshot is read: there it has its bounds as well.
fn displaced_under_a_snapshot() {
    bounded(50, || {
        let hot = Arc::new(Hot::new(8));
        hot.add(1, 3);
        hot.add(2, 9);
        let copied = beside(&hot, Hot::copy);
        hot.add(3, 5);
        let copy = copied.join().unwrap();
        let bounds = |key| copy.bounds(key);
        assert!([(1, 3), (2, 9)].iter().all(|&(key, n)| bounds(key).1 >= n), "an add is in no bound");
        assert!(
            [(1, 3), (2, 9), (3, 5)].iter().all(|&(key, n)| bounds(key).0 <= n),
            "counted for another key"
        );
        check(&hot.copy(), &[(1, 3), (2, 9), (3, 5)]);
    });
}

#[test]
fn a_snapshot_has_the_displaced() {
    displaced_under_a_snapshot();
}

#[test]
#[should_panic(expected = "an add is in no bound")]
fn twin_the_sketch_first() {
    with(Twin::SketchFirst, displaced_under_a_snapshot);
}

#[test]
#[should_panic(expected = "an add is in no bound")]
fn twin_the_bar_first() {
    with(Twin::BarFirst, displaced_under_a_snapshot);
}

/// A key is displaced, and takes another slot, while its bucket is read: it is there once.
fn comes_back_under_a_snapshot() {
    bounded_by_two(100, || {
        let hot = Arc::new(Hot::new(8));
        hot.add(1, 3);
        hot.add(2, 4);
        let copied = beside(&hot, Hot::copy);
        hot.add(3, 5);
        hot.add(1, 9);
        let copy = copied.join().unwrap();
        let keys = copy.keys();
        assert!(keys.is_sorted_by(|a, b| a < b), "two slots for a key");
        let most = [(1, 12), (2, 4), (3, 5)];
        assert!(most.iter().all(|&(key, n)| copy.bounds(key).0 <= n), "counted for another key");
        let least = [(1, 3), (2, 4)];
        assert!(least.iter().all(|&(key, n)| copy.bounds(key).1 >= n), "an add is in no bound");
    });
}

#[test]
fn a_snapshot_has_a_key_once() {
    comes_back_under_a_snapshot();
}

#[test]
#[should_panic(expected = "there already")]
fn twin_both_are_kept() {
    with(Twin::KeepBoth, comes_back_under_a_snapshot);
}

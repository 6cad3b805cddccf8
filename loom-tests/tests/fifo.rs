//! The queue that tells ranks: pushes, moves, pops and questions against each other. Protocol: `src/fifo/queue.rs`.
#![allow(clippy::panic, clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::{bounded, bounded_by_two};
use loom::{sync::Arc, thread};
use windlass::{
    Pushed,
    model::{Fifo, Twin, with},
};

/// What is left, the oldest first.
fn drained(fifo: &Fifo<u64>) -> Vec<u64> {
    std::iter::from_fn(|| fifo.pop()).take(8).collect()
}

/// Two push, and one of them pops: each value comes out once.
fn each_once() {
    bounded(50, || {
        let fifo = Arc::new(Fifo::new(false, 1, 1));
        let other = fifo.clone();
        let other = thread::spawn(move || {
            other.push(2, 20).unwrap();
            other.pop()
        });
        fifo.push(1, 10).unwrap();
        let popped = other.join().unwrap();
        let mut all: Vec<u64> = popped.into_iter().chain(drained(&fifo)).collect();
        all.sort_unstable();
        assert_eq!(all, [10, 20], "lost, or popped twice");
        assert!(popped.is_some());
        assert_eq!(fifo.length(), 0);
    });
}

#[test]
fn each_value_is_popped_once() {
    each_once();
}

#[test]
#[should_panic(expected = "lost, or popped twice")]
fn twin_passes_what_is_almost_there() {
    with(Twin::PassWritten, each_once);
}

/// Three pop: each entry comes out once, the older ones to those who come first.
#[test]
fn one_pop_for_each() {
    bounded_by_two(50, || {
        let fifo = Arc::new(Fifo::new(false, 1, 1));
        fifo.push(1, 10).unwrap();
        fifo.push(2, 20).unwrap();
        let (a, b) = (fifo.clone(), fifo.clone());
        let a = thread::spawn(move || a.pop());
        let b = thread::spawn(move || b.pop());
        let mine = fifo.pop();
        let mut all: Vec<u64> = [mine, a.join().unwrap(), b.join().unwrap()].into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, [10, 20], "lost, or popped twice");
        assert_eq!((fifo.pop(), fifo.length()), (None, 0));
    });
}

/// Two pushes and a pop beside: what was put in first comes out first.
#[test]
fn values_come_in_order() {
    bounded(20, || {
        let fifo = Arc::new(Fifo::new(false, 1, 1));
        let other = fifo.clone();
        let other = thread::spawn(move || [other.pop(), other.pop()]);
        fifo.push(1, 10).unwrap();
        fifo.push(2, 20).unwrap();
        let mut all: Vec<u64> = other.join().unwrap().into_iter().flatten().collect();
        all.extend(drained(&fifo));
        assert_eq!(all, [10, 20], "out of order, or lost");
    });
}

/// Two push one key: one does it, and the other is told so.
fn one_key() {
    bounded(20, || {
        let fifo = Arc::new(Fifo::new(false, 1, 1));
        let other = fifo.clone();
        let other = thread::spawn(move || other.push(1, 11).unwrap());
        let mine = fifo.push(1, 10).unwrap();
        let theirs = other.join().unwrap();
        let value = fifo.get(1).unwrap();
        assert_eq!(drained(&fifo), [value], "a key is there twice");
        match (mine, theirs) {
            (Pushed::New(seq), Pushed::Present(same)) => assert_eq!((seq, value), (same, 10)),
            (Pushed::Present(same), Pushed::New(seq)) => assert_eq!((seq, value), (same, 11)),
            other => panic!("a key is there twice: {other:?}"),
        }
    });
}

#[test]
fn one_key_is_put_in_once() {
    one_key();
}

#[test]
#[should_panic(expected = "a key is there twice")]
fn twin_publishes_over_what_lives() {
    with(Twin::PublishOver, one_key);
}

/// .. and one of them pops: all that was put in comes out.
#[test]
fn one_key_and_a_pop() {
    bounded(50, || {
        let fifo = Arc::new(Fifo::new(false, 1, 1));
        let other = fifo.clone();
        let other = thread::spawn(move || (other.push(1, 11).unwrap(), other.pop()));
        let mine = fifo.push(1, 10).unwrap();
        let (theirs, popped) = other.join().unwrap();
        let put_in = [mine, theirs].iter().filter(|pushed| matches!(pushed, Pushed::New(_))).count();
        let out: Vec<u64> = popped.into_iter().chain(drained(&fifo)).collect();
        assert_eq!(out.len(), put_in, "{mine:?} {theirs:?} {out:?}");
        assert!(popped.is_some());
    });
}

/// An entry is moved while it is popped: one of the two, not both.
fn moved_or_popped() {
    bounded(20, || {
        let fifo = Arc::new(Fifo::new(true, 1, 1));
        fifo.push(1, 10).unwrap();
        let other = fifo.clone();
        let other = thread::spawn(move || other.pop());
        let mine = fifo.push(1, 11).unwrap();
        let popped = other.join().unwrap();
        let left = drained(&fifo);
        match mine {
            Pushed::New(_) => assert_eq!((popped, left), (Some(10), vec![11])),
            Pushed::Moved(_) => {
                assert_ne!(popped, Some(10), "both popped and moved");
                assert_eq!(popped.into_iter().chain(left).collect::<Vec<_>>(), [11]);
            }
            Pushed::Present(_) => panic!("kept"),
        }
    });
}

#[test]
fn an_entry_is_moved_or_popped() {
    moved_or_popped();
}

#[test]
#[should_panic(expected = "both popped and moved")]
fn twin_moves_what_was_popped() {
    with(Twin::MoveBlindly, moved_or_popped);
}

/// Two move one key: it is there once, and each is told that it was there.
#[test]
fn two_moves() {
    bounded(20, || {
        let fifo = Arc::new(Fifo::new(true, 1, 1));
        fifo.push(1, 10).unwrap();
        let other = fifo.clone();
        let other = thread::spawn(move || other.push(1, 12).unwrap());
        let mine = fifo.push(1, 11).unwrap();
        let theirs = other.join().unwrap();
        let (Pushed::Moved(mine), Pushed::Moved(theirs)) = (mine, theirs) else {
            panic!("not moved: {mine:?} {theirs:?}")
        };
        assert_eq!(drained(&fifo), [if mine > theirs { 11 } else { 12 }]);
    });
}

/// While a key moves it is there, also when the head goes past where it was.
fn there_while_it_moves() {
    bounded(20, || {
        let fifo = Arc::new(Fifo::new(true, 2, 1));
        fifo.push(1, 10).unwrap();
        fifo.push(2, 20).unwrap();
        let other = fifo.clone();
        let other = thread::spawn(move || (other.peek(), other.get(1)));
        fifo.push(1, 11).unwrap();
        let (first, value) = other.join().unwrap();
        assert!(first.is_some());
        assert!(value.is_some(), "gone for a moment");
        assert_eq!(drained(&fifo), [20, 11]);
    });
}

#[test]
fn a_key_that_moves_is_there() {
    there_while_it_moves();
}

#[test]
#[should_panic(expected = "gone for a moment")]
fn twin_passes_what_is_being_moved() {
    with(Twin::PassMoved, there_while_it_moves);
}

/// A key comes when those before it have gone: none is before it.
fn none_before() {
    bounded(20, || {
        let fifo = Arc::new(Fifo::new(false, 1, 1));
        fifo.push(1, 10).unwrap();
        let other = fifo.clone();
        let other = thread::spawn(move || (other.rank(1), other.rank(2)));
        assert_eq!(fifo.pop(), Some(10));
        fifo.push(2, 20).unwrap();
        let (first, second) = other.join().unwrap();
        assert!(first.is_none_or(|rank| rank == 0), "more before it than there are");
        assert!(second.is_none_or(|rank| rank == 0), "more before it than there are");
        assert_eq!((fifo.rank(1), fifo.rank(2), fifo.length()), (None, Some(0), 1));
    });
}

#[test]
fn a_rank_is_in_its_bounds() {
    none_before();
}

#[test]
#[should_panic(expected = "more before it than there are")]
fn twin_the_head_first() {
    with(Twin::HeadFirst, none_before);
}

/// Ranks while the key before moves away, and one is popped: less each time.
#[test]
fn a_rank_falls() {
    bounded_by_two(20, || {
        let fifo = Arc::new(Fifo::new(true, 2, 1));
        for key in [1, 2] {
            fifo.push(key, key * 10).unwrap();
        }
        let other = fifo.clone();
        let other = thread::spawn(move || [other.rank(2), other.rank(2)]);
        fifo.push(1, 11).unwrap();
        assert_eq!((fifo.rank(1), fifo.rank(2), fifo.length()), (Some(1), Some(0), 2));
        let [first, second] = other.join().unwrap();
        assert!(first <= Some(1) && second <= first && second.is_some(), "{first:?} {second:?}");
    });
}

/// A push that has its number stalls, and is passed over: it takes another, and nothing is lost.
fn a_push_stalls(bits: u32) {
    bounded(20, move || {
        let fifo = Arc::new(Fifo::new(false, bits, 8));
        let other = fifo.clone();
        let other = thread::spawn(move || {
            other.push(2, 20).unwrap();
            [other.pop(), other.pop()]
        });
        fifo.push(1, 10).unwrap();
        let theirs = other.join().unwrap();
        let mut all: Vec<u64> = theirs.into_iter().flatten().chain(drained(&fifo)).collect();
        all.sort_unstable();
        assert_eq!(all, [10, 20], "lost");
        assert_eq!((fifo.length(), fifo.get(1), fifo.get(2)), (0, None, None));
    });
}

#[test]
fn a_push_that_stalls_takes_another_number() {
    a_push_stalls(1);
    a_push_stalls(2);
}

#[test]
#[should_panic(expected = "lost")]
fn twin_fills_what_was_passed_over() {
    with(Twin::FillBlindly, || a_push_stalls(2));
}

#[test]
#[should_panic(expected = "lost")]
fn twin_opens_a_segment_that_has_gone() {
    with(Twin::ForgetSegment, || a_push_stalls(1));
}

/// Segments come and go under a reader.
#[test]
fn segments_come_and_go() {
    bounded_by_two(20, || {
        let fifo = Arc::new(Fifo::new(false, 0, 1));
        fifo.push(1, 10).unwrap();
        let other = fifo.clone();
        let other = thread::spawn(move || (other.get(1), other.rank(2)));
        fifo.push(2, 20).unwrap();
        assert_eq!(fifo.pop(), Some(10));
        assert_eq!(fifo.pop(), Some(20));
        fifo.push(1, 11).unwrap();
        let (value, rank) = other.join().unwrap();
        assert!(value.is_none_or(|value| value == 10 || value == 11));
        assert!(rank.is_none_or(|rank| rank <= 1));
        assert_eq!(drained(&fifo), [11]);
    });
}

/// While a snapshot is read an entry is moved to where it does not come.
fn read_beside_a_move() {
    bounded(20, || {
        let fifo = Arc::new(Fifo::new(true, 1, 1));
        fifo.push(1, 10).unwrap();
        fifo.push(2, 20).unwrap();
        let other = fifo.clone();
        let reader = thread::spawn(move || other.snapshot());
        fifo.push(1, 11).unwrap();
        let entries = reader.join().unwrap();
        assert!(entries.iter().any(|entry| [(1, 10), (1, 11)].contains(entry)), "an entry is missing");
        assert!(entries.contains(&(2, 20)));
        assert_eq!(fifo.snapshot(), [(2, 20), (1, 11)]);
    });
}

#[test]
fn a_snapshot_beside_a_move() {
    read_beside_a_move();
}

#[test]
#[should_panic(expected = "an entry is missing")]
fn twin_what_was_moved_is_left_out() {
    with(Twin::LeaveOutTheMoved, read_beside_a_move);
}

/// .. and the head comes past where it was.
fn read_behind_the_head() {
    bounded(20, || {
        let fifo = Arc::new(Fifo::new(true, 1, 1));
        fifo.push(1, 10).unwrap();
        fifo.push(2, 20).unwrap();
        let other = fifo.clone();
        let reader = thread::spawn(move || other.snapshot());
        fifo.push(1, 11).unwrap();
        assert_eq!(fifo.pop(), Some(20));
        let entries = reader.join().unwrap();
        assert!(entries.iter().any(|entry| [(1, 10), (1, 11)].contains(entry)), "an entry is missing");
        assert_eq!(fifo.snapshot(), [(1, 11)]);
    });
}

#[test]
fn a_snapshot_that_the_head_overtakes() {
    read_behind_the_head();
}

#[test]
#[should_panic(expected = "an entry is missing")]
fn twin_overtaken_unawares() {
    with(Twin::BeOvertaken, read_behind_the_head);
}

/// An entry is removed while it is popped: one of the two has it.
fn removed_or_popped() {
    bounded(20, || {
        let fifo = Arc::new(Fifo::new(false, 1, 1));
        fifo.push(1, 10).unwrap();
        fifo.push(2, 20).unwrap();
        let other = fifo.clone();
        let other = thread::spawn(move || (other.pop(), other.rank(2)));
        let mine = fifo.remove(1);
        let (popped, rank) = other.join().unwrap();
        match mine {
            Some(value) => assert_eq!((value, popped), (10, Some(20)), "both have it"),
            None => assert_eq!(popped, Some(10)),
        }
        assert!(rank.is_none_or(|rank| rank == 0), "{rank:?}");
        let left = if mine.is_some() { vec![] } else { vec![20] };
        assert_eq!(fifo.length(), left.len() as u64);
        assert_eq!(drained(&fifo), left);
    });
}

#[test]
fn an_entry_is_removed_or_popped() {
    removed_or_popped();
}

#[test]
#[should_panic(expected = "both have it")]
fn twin_removes_what_was_popped() {
    with(Twin::RemoveBlindly, removed_or_popped);
}

/// A key is removed as soon as it is seen: its push has put it in once.
fn removed_at_once() {
    bounded(20, || {
        let fifo = Arc::new(Fifo::new(false, 1, 1));
        let other = fifo.clone();
        let other = thread::spawn(move || (other.remove(1), other.remove(1)));
        assert!(matches!(fifo.push(1, 10).unwrap(), Pushed::New(_)));
        let (first, second) = other.join().unwrap();
        let out: Vec<u64> = [first, second].into_iter().flatten().chain(drained(&fifo)).collect();
        assert_eq!(out, [10], "it comes back");
        assert_eq!((fifo.length(), fifo.get(1)), (0, None));
    });
}

#[test]
fn what_is_removed_at_once_is_gone() {
    removed_at_once();
}

#[test]
#[should_panic(expected = "it comes back")]
fn twin_removed_as_if_closed() {
    with(Twin::RemoveAsHole, removed_at_once);
}

/// An entry is removed while it is moved: it is taken out where it was, or where it comes to.
#[test]
fn an_entry_is_removed_while_it_moves() {
    bounded(20, || {
        let fifo = Arc::new(Fifo::new(true, 1, 1));
        fifo.push(1, 10).unwrap();
        let other = fifo.clone();
        let other = thread::spawn(move || other.remove(1));
        let mine = fifo.push(1, 11).unwrap();
        let removed = other.join().unwrap();
        let left = drained(&fifo);
        match (mine, removed) {
            (Pushed::Moved(_), Some(11)) => assert_eq!(left, []),
            (Pushed::New(_), Some(10)) => assert_eq!(left, [11]),
            other => panic!("{other:?}, {left:?}"),
        }
        assert_eq!((fifo.length(), fifo.get(1)), (0, None));
    });
}

/// .. and while it is put in again.
#[test]
fn an_entry_is_removed_while_it_is_kept() {
    bounded(20, || {
        let fifo = Arc::new(Fifo::new(false, 1, 1));
        fifo.push(1, 10).unwrap();
        let other = fifo.clone();
        let other = thread::spawn(move || other.push(1, 11).unwrap());
        assert_eq!(fifo.remove(1), Some(10));
        let left = match other.join().unwrap() {
            Pushed::New(_) => vec![11],
            Pushed::Present(_) => vec![],
            Pushed::Moved(_) => panic!("moved"),
        };
        assert_eq!(drained(&fifo), left);
    });
}

/// Two remove one entry: one has it, and the one behind it comes next.
#[test]
fn two_remove_one() {
    bounded(20, || {
        let fifo = Arc::new(Fifo::new(false, 1, 1));
        fifo.push(1, 10).unwrap();
        fifo.push(2, 20).unwrap();
        let other = fifo.clone();
        let other = thread::spawn(move || other.remove(1));
        let all: Vec<u64> = [fifo.remove(1), other.join().unwrap()].into_iter().flatten().collect();
        assert_eq!((all, fifo.rank(2), fifo.length()), (vec![10], Some(0), 1));
        assert_eq!(drained(&fifo), [20]);
    });
}

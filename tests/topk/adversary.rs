//! Streams that are made to be missed: what is certified is right.

use super::{
    common::Random,
    plain::{Grid, Plain, add, check},
};
use windlass::{Tick, TopK};

const GRID: Grid = Grid { pane: 100, panes: 12, lateness: 0 };

/// Events (key, how often) of each pane, in order. A list of every kind is asked for in the middle of each pane and at its end. How many were
/// certified, of those that upkeep had made.
fn run(top: &TopK, k: usize, panes: impl Iterator<Item = Vec<(u64, u64)>>) -> (u64, u64) {
    let (mut plain, mut upkeep) = (Plain::default(), (0, 0));
    for (pane, events) in panes.enumerate() {
        let start = pane as u64 * GRID.pane;
        let (begin, end) = (start, start + GRID.pane - 1);
        for (i, &(key, n)) in events.iter().enumerate() {
            let now = begin + i as u64 * (GRID.pane - 1) / events.len() as u64;
            add(top, &mut plain, &GRID, key, n, now);
            if i == events.len() / 2 && pane % 3 == 0 {
                assert!(check(&top.top_at(Tick(now)), &plain.counts(GRID.current(now)), k));
            }
        }
        top.maintain_at(Tick(end), 2);
        let list = top.snapshot();
        assert_eq!(list.as_of, Tick(end), "due");
        upkeep.0 += u64::from(check(&list, &plain.counts(GRID.current(end)), k));
        upkeep.1 += 1;
        let complete = top.top_complete_at(Tick(end + 1));
        assert!(check(&complete, &plain.counts(GRID.complete(end + 1)), k), "pane {pane}");
    }
    upkeep
}

fn top(k: usize) -> TopK {
    GRID.builder(k).capacity(5000).refresh_every(windlass::Window::last_n(50)).build().expect("valid")
}

/// In each pane others are hot; and in each the counts are less than in the one before, and then more.
#[test]
fn a_hot_set_that_goes_round() {
    let top = top(10);
    let hot = |pane: u64| 50 * (1 + pane.abs_diff(30) % 30);
    let events = |pane| {
        let hot_ones = (0..10).map(move |i| (pane * 10 + i, hot(pane) + i));
        hot_ones.chain((0..300).map(|i| (100_000 + i, 1))).collect()
    };
    let (certified, lists) = run(&top, 10, (0..90).map(events));
    assert!(certified >= lists / 2, "{certified} of {lists}");
    assert!(top.stats().threshold > 1);
}

/// The counts fall by a factor of a hundred, all at once: lists are scanned until upkeep has lowered the thresholds, and not after.
#[test]
fn counts_that_fall() {
    let top = top(10);
    let events = |pane: u64| {
        let n = if pane < 15 { 1000 } else { 10_u64 };
        (0..40).map(|i| (pane / 3 * 7 + i, n + i)).collect()
    };
    let (certified, lists) = run(&top, 10, (0..60).map(events));
    let scans = top.stats().scans;
    assert!(certified >= lists - 20 && scans > 0, "{certified} of {lists}, {scans} scans");
    assert!(scans < 30, "{scans} scans");
}

#[test]
fn all_are_equal() {
    let events = |_| (0..200).map(|key| (key * 7919 % 200, 3)).collect();
    assert_eq!(run(&top(10), 10, (0..40).map(events)), (40, 40));
    // .. as many as the list has; and one less.
    let events = |_| (0..10).map(|key| (key, 3)).collect();
    assert_eq!(run(&top(10), 10, (0..40).map(events)), (40, 40));
    let events = |_| (0..9).map(|key| (key, 3)).collect();
    assert_eq!(run(&top(10), 10, (0..40).map(events)), (40, 40));
}

/// Of what is not marked a key may have exactly as many as the last of the list: that is not enough for a certificate, so it is scanned, and a
/// lesser key comes in.
#[test]
fn the_last_has_as_many_as_the_tail() {
    let top = GRID.builder(2).capacity(1000).build().expect("valid");
    let mut plain = Plain::default();
    // A list with 240 at its end: from the next pane on the threshold is 10.
    for key in [8, 9] {
        add(&top, &mut plain, &GRID, key, 240, 0);
    }
    assert!(top.refresh_at(Tick(0)).certified);
    assert_eq!(top.stats().threshold, 10);
    // 9 in each of 12 panes, without a mark: 108. And two that are seen, with 108 and 300.
    for pane in 1..=12 {
        add(&top, &mut plain, &GRID, 5, 9, pane * 100);
    }
    add(&top, &mut plain, &GRID, 7, 108, 1200);
    add(&top, &mut plain, &GRID, 6, 300, 1200);
    let list = top.top_at(Tick(1200));
    assert!(check(&list, &plain.counts(GRID.current(1200)), 2));
    assert_eq!(list.rows.iter().map(|row| row.key.number()).collect::<Vec<_>>(), [Some(6), Some(5)]);
    assert_eq!((list.tail, top.stats().scans), (108, 1));
    // One more, and there is no need to look.
    add(&top, &mut plain, &GRID, 7, 1, 1200);
    assert!(check(&top.top_at(Tick(1200)), &plain.counts(GRID.current(1200)), 2));
    assert_eq!(top.stats().scans, 1);
}

/// In every pane one key is just behind the list, and over the window it is the first.
#[test]
fn always_second() {
    let events = |pane: u64| {
        let others = (0..10).map(|i| (1000 + pane * 10 + i, 101));
        others.chain([(7, 100)]).chain((0..100).map(|i| (5000 + i, 1))).collect()
    };
    let top = top(10);
    run(&top, 10, (0..50).map(events));
    assert_eq!(top.top_at(Tick(4999)).rows[0].key.number(), Some(7));
}

#[test]
fn uniform() {
    let mut random = Random(5);
    let mut events = |_| (0..400).map(|_| (random.below(3000), 1)).collect();
    run(&top(25), 25, (0..40).map(&mut events));
}

/// Far more keys than rows: what was refused is known to each list, so none is certified that could be wrong; and those are certified
/// that cannot.
#[test]
fn keys_beyond_rows() {
    let (grid, k) = (GRID, 5);
    let top = grid.builder(k).capacity(50).build().expect("valid");
    let (mut plain, mut random, mut certified) = (Plain::default(), Random(11), [0, 0]);
    for pane in 0..60 {
        // The hot ones come first, or last, when there is no room.
        let hot: Vec<_> = (0..5).map(|i| (i + pane / 20 * 5, 4000 + 100 * i)).collect();
        let cold = (0..300).map(|_| (100 + random.below(2000), 1 + random.below(3)));
        let first = pane / 20 % 2 == 0;
        let events: Vec<_> =
            if first { hot.into_iter().chain(cold).collect() } else { cold.chain(hot).collect() };
        let end = pane * grid.pane + 99;
        for (key, n) in events {
            add(&top, &mut plain, &grid, key, n, end);
        }
        let counts = plain.counts(grid.current(end));
        for list in [top.top_at(Tick(end)), (*top.refresh_at(Tick(end))).clone()] {
            certified[usize::from(check(&list, &counts, k))] += 1;
        }
    }
    assert!(top.stats().counter.refused > 1000);
    assert!(certified.iter().all(|&n| n > 10), "{certified:?}");
}

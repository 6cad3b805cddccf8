//! The rotating Bloom filter, many threads: one winner for each id and pane, and nothing missed while panes move on.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst},
    thread,
};

use crate::common::{Random, Together, blocks::LAYOUTS};
use windlass::{Layout, RotatingBloom, Rotation, Seed, Tick, Window};

const THREADS: usize = 8;
const IDS: u64 = 10_000;

/// 7 panes of 1000 ticks, and an 8th. (An id that is the seed has a hash of 0, and so one bit: none of these is.)
fn build(layout: Layout, rotation: Rotation) -> RotatingBloom {
    let builder = RotatingBloom::builder(Window::last_n(7_000)).pane(Window::last_n(1_000)).layout(layout);
    let builder = builder.expected_ids(7 * IDS).error(1e-9).rotation(rotation).seed(Seed(1 << 50));
    builder.build().expect("valid")
}

/// The ids in an order of the thread's own.
fn order(seed: usize) -> Vec<u64> {
    let mut order: Vec<u64> = (0..IDS).collect();
    if !seed.is_multiple_of(3) {
        Random(seed as u64).shuffle(&mut order);
    }
    order
}

/// How many of the ids that all threads offer at once are new, in all; `at` is the tick of the n-th of a thread.
fn new(bloom: &RotatingBloom, round: u64, at: impl Fn(usize) -> Tick + Sync) -> usize {
    let (together, new) = (Together::new(THREADS), AtomicUsize::new(0));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (together, new, at) = (&together, &new, &at);
            scope.spawn(move || {
                let ids: Vec<u64> = order(thread).into_iter().map(|id| round * IDS + id).collect();
                together.wait();
                let mut out = Vec::new();
                for (i, part) in ids.chunks(50).enumerate() {
                    match thread % 3 {
                        0 => bloom.insert_batch_at(part, at(50 * i), &mut out),
                        1 => {
                            let one = |(j, id)| bloom.insert_at(id, at(50 * i + j));
                            out = part.iter().enumerate().map(one).collect();
                        }
                        _ => {
                            let one = |(j, id)| !bloom.observe_at(id, at(50 * i + j)).is_fresh();
                            out = part.iter().enumerate().map(one).collect();
                        }
                    }
                    new.fetch_add(out.iter().filter(|seen| !**seen).count(), SeqCst);
                }
            });
        }
    });
    new.into_inner()
}

#[test]
fn one_winner() {
    for layout in LAYOUTS {
        let bloom = build(layout, Rotation::ByCalls);
        // Each in a pane of its own, through more than all columns.
        for round in 0..10 {
            // Else the pane may begin late, among the calls.
            bloom.advance_to(Tick(1_000 * round + 100));
            let new = new(&bloom, round, |_| Tick(1_000 * round + 100));
            match layout {
                Layout::Rows(1) => assert_eq!(new as u64, IDS, "{layout}"),
                _ => assert!(new as u64 >= IDS && new < THREADS * 10_000, "{layout}: {new}"),
            }
        }
        // All of them are there, and no others.
        for id in (3 * IDS..10 * IDS).step_by(7) {
            assert!(bloom.contains_at(id, Tick(9_100)), "{layout}: {id}");
        }
        assert_eq!(bloom.stats().rotations, 9, "{layout}");
    }
}

/// A pane ends in the middle: one winner in each at most, and one at least.
#[test]
fn one_winner_in_each_pane() {
    let bloom = build(Layout::Rows(1), Rotation::ByCalls);
    for round in 0..10 {
        let middle = |i: usize| Tick(1_000 * round + if i < 5_000 { 999 } else { 1_000 });
        let new = new(&bloom, round, middle) as u64;
        assert!((IDS..=2 * IDS).contains(&new), "{new}");
        // Few came twice: others had put them in before that.
        for id in (round * IDS..(round + 1) * IDS).step_by(3) {
            assert!(bloom.contains_at(id, Tick(1_000 * round + 1_000)), "{id}");
        }
    }
}

/// Two threads put in, by clocks that differ; calls, or a third thread, move the panes on. What a thread has put in it finds, as long as
/// nobody has brought a tick that is later by more than the window.
fn nothing_is_missed(layout: Layout, rotation: Rotation, lateness: u64) {
    const WINDOW: u64 = 700;
    const STEPS: u64 = 60_000;
    let builder = RotatingBloom::builder(Window::last_n(WINDOW)).lateness(Window::last_n(lateness));
    let builder = builder.layout(layout).rotation(rotation).expected_ids(1_500).seed(Seed(7));
    let bloom = builder.build().expect("valid");
    let reached = [const { AtomicU64::new(0) }; 2];
    let (missed, upkeep, done) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let inserters: Vec<_> = (0..2_usize)
            .map(|me| {
                let (bloom, reached, missed, upkeep) = (&bloom, &reached, &missed, &upkeep);
                scope.spawn(move || {
                    let mut random = Random(me as u64);
                    let mut put = HashMap::new();
                    for step in 0..STEPS {
                        // Not further ahead of the other than the lateness.
                        while step > reached[1 - me].load(SeqCst) + lateness {
                            thread::yield_now();
                        }
                        reached[me].store(step, SeqCst);
                        // The third thread gets to run now and then, whatever else the machine does.
                        if step % WINDOW == 0 {
                            let turns = upkeep.load(SeqCst);
                            let waits = |_: &u32| upkeep.load(SeqCst) == turns;
                            (0..1 << 20).take_while(waits).for_each(|_| thread::yield_now());
                        }
                        let id = random.below(1_000) << 1 | me as u64;
                        let seen = bloom.insert_at(id, Tick(step));
                        let before = put.insert(id, step);
                        let miss = !seen && before.is_some_and(|before| step - before <= WINDOW);
                        missed.fetch_add(u64::from(miss), SeqCst);
                    }
                    reached[me].store(STEPS + WINDOW, SeqCst);
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(SeqCst) {
                if rotation != Rotation::ByCalls {
                    let now = reached.iter().map(|at| at.load(SeqCst)).min().unwrap_or(0);
                    bloom.maintain_at(Tick(now), 4);
                }
                upkeep.fetch_add(1, SeqCst);
                thread::yield_now();
            }
        });
        let ended = inserters.into_iter().filter_map(|thread| thread.join().ok()).count();
        done.store(true, SeqCst);
        assert_eq!(ended, 2);
    });
    assert_eq!(missed.into_inner(), 0, "{layout}, {rotation:?}, {lateness}: {:?}", bloom.stats());
    assert!(bloom.stats().rotations > 5, "{layout}, {rotation:?}: {:?}", bloom.stats());
}

#[test]
fn nothing_is_missed_by_calls() {
    for layout in LAYOUTS {
        nothing_is_missed(layout, Rotation::ByCalls, 300);
    }
    nothing_is_missed(Layout::Rows(1), Rotation::ByCalls, 1);
}

#[test]
fn nothing_is_missed_beside_upkeep() {
    for rotation in [Rotation::Hybrid, Rotation::Scheduled] {
        for layout in [Layout::Rows(1), Layout::Rows(2), Layout::SeededArrays] {
            nothing_is_missed(layout, rotation, 300);
        }
    }
}

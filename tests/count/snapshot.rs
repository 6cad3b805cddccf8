//! Snapshots of counters: what is restored counts as the original does.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use super::common::{Random, Together, golden};
use proptest::prelude::*;
use std::{
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};
use windlass::{
    Added, CounterBuilder, RestoreError, Restored, Seed, Tick, Window, WindowedCounter, WindowedTotal,
};

const WALL: Duration = Duration::from_secs(1_700_000_000);

fn snapshot(counter: &WindowedCounter, now: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let summary = counter.snapshot_at(&mut bytes, Tick(now), WALL).expect("in memory");
    assert_eq!(summary.bytes, bytes.len() as u64);
    bytes
}

fn restore(builder: CounterBuilder, bytes: &[u8], later: u64) -> Restored<WindowedCounter> {
    builder.restore(bytes, WALL + Duration::from_nanos(later)).expect("a snapshot")
}

/// The rest of a stream, from several places on: all answers are those of the original.
pub(crate) fn rest_of(builder: &CounterBuilder, stream: &[(Tick, &str)]) {
    let counter = builder.clone().build().expect("valid");
    let cuts = [0, stream.len() / 5, stream.len() / 2, stream.len() - 1];
    let mut copies = Vec::new();
    for (i, &(now, key)) in stream.iter().enumerate() {
        if cuts.contains(&i) {
            let copy = restore(builder.clone(), &snapshot(&counter, now.0), 0).structure;
            copies.push(copy);
        }
        let ask = |counter: &WindowedCounter| {
            (counter.add_at(key, 1, now), counter.count_at(key, now), counter.count_complete_at(key, now))
        };
        let answer = ask(&counter);
        copies.iter().for_each(|copy| assert_eq!(ask(copy), answer, "event {i}: {key}"));
        if i % 500 == 0 {
            copies.iter().for_each(|copy| assert_eq!(copy.total_at(now), counter.total_at(now)));
        }
    }
    assert_eq!(copies.len(), cuts.len());
}

/// Panes of 10 ticks, a window of 3, and keys that crowd.
fn small(capacity: usize, grows: bool, lateness: u64) -> CounterBuilder {
    let builder = WindowedCounter::builder(Window::last_n(30), Window::last_n(10)).seed(Seed(5));
    let builder = builder.capacity(capacity).lateness(Window::last_n(lateness));
    if grows { builder.max_memory(1 << 24) } else { builder }
}

type Step = (u64, u64, i64);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ahead = prop_oneof![8 => -3..4_i64, 2 => -20..30_i64, 1 => 0..150_i64];
    prop::collection::vec((0..300_u64, 1..4_u64, ahead), 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Wherever it is cut, with and without further tables, also where keys are refused.
    #[test]
    fn goes_on_as_the_original(
        before in steps(), after in steps(), capacity in 1..200_usize, grows in any::<bool>(), lateness in 0..40_u64,
    ) {
        let builder = small(capacity, grows, lateness);
        let counter = builder.clone().build().expect("valid");
        let total_builder = WindowedTotal::builder(Window::last_n(30), Window::last_n(10)).lateness(Window::last_n(lateness));
        let total = total_builder.clone().build().expect("valid");
        let (mut now, mut newest) = (1000_u64, 1000);
        for (key, n, ahead) in before {
            now = now.saturating_add_signed(ahead);
            newest = newest.max(now);
            counter.add_at(key, n, Tick(now));
            total.add_at(n, Tick(now));
        }
        let Restored { structure: copy, resumed, .. } = restore(builder, &snapshot(&counter, now), 0);
        let mut bytes = Vec::new();
        total.snapshot_at(&mut bytes, Tick(now), WALL).expect("in memory");
        let total_copy = total_builder.restore(&bytes[..], WALL * 2).expect("a snapshot").structure;
        prop_assert_eq!(resumed, Tick(now));
        prop_assert!(copy.stats().rows <= counter.stats().rows);
        for (key, n, ahead) in after {
            now = now.saturating_add_signed(ahead);
            let at = Tick(now);
            newest = newest.max(now);
            // (A question for what is kept no more may find some of it still.)
            let kept = now / 10 + lateness.div_ceil(10) >= newest / 10;
            prop_assert!(!kept || copy.panes_at(key, at) == counter.panes_at(key, at));
            let (mine, its) = (counter.add_at(key, n, at), copy.add_at(key, n, at));
            prop_assert_eq!(mine, its);
            prop_assert!(!kept || copy.total_at(at) == counter.total_at(at));
            prop_assert_eq!(total_copy.add_at(n, at), total.add_at(n, at));
            prop_assert!(!kept || total_copy.panes_at(at) == total.panes_at(at));
        }
    }

    /// Whatever is done to the bytes, it is an error.
    #[test]
    fn damaged(at in any::<prop::sample::Index>(), bit in 0..8_u32, cut in any::<prop::sample::Index>()) {
        let builder = small(50, false, 0);
        let counter = builder.clone().build().expect("valid");
        (0..60_u64).for_each(|key| { counter.add_at(key, 1, Tick(key)); });
        let whole = snapshot(&counter, 60);
        let mut bytes = whole.clone();
        bytes[at.index(whole.len())] ^= 1_u8 << bit;
        prop_assert!(builder.clone().restore(&bytes[..], WALL).is_err());
        let error = builder.restore(&whole[..cut.index(whole.len())], WALL).expect_err("cut");
        prop_assert!(matches!(error, RestoreError::Truncated { .. }), "{error}");
    }
}

/// What is behind the window by the system's clock is gone, also beyond the greatest jump, and nothing is refused for that.
#[test]
fn time_goes_on() {
    let ns = Duration::from_nanos;
    let builder = WindowedCounter::builder(ns(60), ns(10)).capacity(100).max_jump(ns(100)).seed(Seed(1));
    let counter = builder.clone().build().expect("valid");
    counter.add_at("a", 2, Tick(1005));
    counter.add_at("a", 3, Tick(1042));
    let bytes = snapshot(&counter, 1045);
    for (later, count) in [(0, 5), (10, 5), (15, 3), (50, 3), (55, 0), (10_000, 0)] {
        let Restored { structure: copy, resumed, elapsed, .. } = restore(builder.clone(), &bytes, later);
        assert_eq!((resumed, elapsed), (Tick(1045 + later), ns(later)));
        assert_eq!(copy.count_at("a", resumed), count, "{later} ns later");
        assert_eq!(copy.total_at(resumed), count);
        assert_eq!(copy.add_at("a", 1, resumed), Added::Counted);
        assert_eq!(copy.count_at("a", resumed), count + 1);
    }
    // The clock of the system went back.
    let copy = builder.restore(&bytes[..], Duration::ZERO).expect("a snapshot");
    assert_eq!(
        (copy.resumed, copy.elapsed, copy.structure.count_at("a", Tick(1045))),
        (Tick(1045), Duration::ZERO, 5)
    );
}

/// Lets the others go on to their end, also when a test fails.
struct Free<'a>(&'a AtomicU64);

impl Drop for Free<'_> {
    fn drop(&mut self) {
        self.0.store(u64::MAX, SeqCst);
    }
}

/// While others add: no less than before it was begun, no more than when it had ended; keys once, totals no less than what the keys have.
#[test]
fn beside_others() {
    const THREADS: u64 = 3;
    for grows in [false, true] {
        // Generations of 6 panes of 1000 ticks; an add a tick and thread, keys that come and stay.
        let builder = WindowedCounter::builder(Window::last_n(12_000), Window::last_n(1_000)).seed(Seed(5));
        let builder = builder.capacity(if grows { 500 } else { 4_000 }).lateness(Window::last_n(3_000));
        let builder = if grows { builder.max_memory(1 << 26) } else { builder };
        let counter = builder.clone().build().expect("valid");
        let together = Together::new(THREADS as usize + 1);
        let (most, reached) = (AtomicU64::new(4_000), [const { AtomicU64::new(0) }; THREADS as usize]);
        let key_of = |tick: u64| tick % 7 * 1_000 + tick / 100 % 150;
        let least = || reached.iter().map(|at| at.load(SeqCst)).min().expect("some");
        thread::scope(|scope| {
            for thread in 0..THREADS as usize {
                let (counter, together, most, reached) = (&counter, &together, &most, &reached);
                scope.spawn(move || {
                    together.wait();
                    for tick in 0..60_000 {
                        // None is more than a pane ahead of another.
                        while tick >= most.load(SeqCst)
                            || reached.iter().any(|other| other.load(SeqCst) + 1_000 < tick)
                        {
                            thread::yield_now();
                        }
                        assert_eq!(counter.add_at(key_of(tick), 1, Tick(tick)), Added::Counted);
                        reached[thread].store(tick + 1, SeqCst);
                    }
                    reached[thread].store(u64::MAX / 2, SeqCst);
                });
            }
            let _free = Free(&most);
            together.wait();
            let mut kept = 0;
            for _ in 0..25 {
                let before = least();
                most.fetch_add(2_000, SeqCst);
                let bytes = snapshot(&counter, before);
                let after = reached.iter().map(|at| at.load(SeqCst)).max().expect("some").min(60_000) + 1;
                let copy = restore(builder.clone(), &bytes, 0).structure;
                // By the pane: what is kept at the latest time that anybody had.
                let mut sums = 0;
                for pane in (after / 1_000).saturating_sub(13)..=after / 1_000 {
                    let ticks = || pane * 1_000..(pane + 1) * 1_000;
                    let at = Tick(pane * 1_000);
                    for key in (0..7).flat_map(|a| (0..150).map(move |b| a * 1_000 + b)) {
                        let of = |end: u64| ticks().filter(|&t| t < end && key_of(t) == key).count() as u64;
                        let counted =
                            copy.panes_at(key, at).first().filter(|p| p.start == at).map_or(0, |p| p.count);
                        let (low, high) = (THREADS * of(before), THREADS * of(after));
                        assert!(
                            (low..=high).contains(&counted),
                            "{key} in {pane}: {counted}, {low} to {high}"
                        );
                        sums += counted;
                    }
                }
                let now = Tick(after);
                let keys = (0..7).flat_map(|a| (0..150).map(move |b| a * 1_000 + b));
                let all: u64 = keys.map(|key: u64| copy.count_at(key, now)).sum();
                assert!(all <= copy.total_at(now), "{all} of {}", copy.total_at(now));
                kept += sums;
                // Each key has one row: more adds find it.
                let rows = copy.stats().rows;
                for key in 0..150 {
                    let count = copy.count_at(key, Tick(after));
                    copy.add_at(key, 5, Tick(after));
                    assert_eq!(copy.count_at(key, Tick(after)), count + 5);
                }
                assert!(copy.stats().rows <= rows + 150);
            }
            assert!(kept > 25 * 10_000, "{kept}");
        });
    }
}

/// Each setting that says what counts mean must be the same, and both values are told.
#[test]
fn other_settings() {
    let base = || small(100, false, 10);
    let counter = base().build().expect("valid");
    counter.add_at(1_u64, 1, Tick(5));
    let bytes = snapshot(&counter, 5);
    let error = |builder: CounterBuilder| match builder.restore(&bytes[..], WALL).expect_err("another") {
        RestoreError::Setting { name, snapshot, builder } => (name, snapshot, builder),
        other => panic!("{other}"),
    };
    let is = |found: (String, String, String), name: &str, snapshot: &str, builder: &str| {
        assert_eq!(found, (name.into(), snapshot.into(), builder.into()));
    };
    let of =
        |window, pane| WindowedCounter::builder(Window::last_n(window), Window::last_n(pane)).capacity(100);
    is(error(of(40, 10).lateness(Window::last_n(10))), "window", "30 events", "40 events");
    is(error(of(30, 5).lateness(Window::last_n(10))), "pane", "10 events", "5 events");
    is(error(base().lateness(Window::last_n(20))), "lateness", "10 events", "20 events");
    assert_eq!(error(base().capacity(200)).0, "capacity, as rows");
    assert_eq!(error(base().seed(Seed(4))).0, "seed");
    // With a limit for the memory any capacity will do.
    let copy = base().capacity(200).max_memory(1 << 24).restore(&bytes[..], WALL).expect("room enough");
    assert_eq!(copy.structure.count_at(1_u64, Tick(5)), 1);
    let total = WindowedTotal::builder(Window::last_n(30), Window::last_n(10)).lateness(Window::last_n(10));
    let wrong = total.restore(&bytes[..], WALL).expect_err("another structure");
    assert!(matches!(wrong, RestoreError::Kind { .. }), "{wrong}");
    // .. as long as there is enough.
    let large = small(100, true, 10).max_memory(1 << 26).build().expect("valid");
    (0..50_000_u64).for_each(|key| _ = large.add_at(key, 1, Tick(5)));
    let bytes = snapshot(&large, 5);
    let error = small(100, true, 10).max_memory(1 << 20).restore(&bytes[..], WALL).expect_err("too large");
    assert!(matches!(error, RestoreError::Memory { .. }), "{error}");
    assert_eq!(restore(small(100, true, 10).max_memory(1 << 26), &bytes, 0).entries, 50_000);
}

/// As it was written by each version: they are read for ever.
#[test]
fn golden_files() {
    let fill = |counter: &WindowedCounter| {
        let mut random = Random(9);
        (1000..1100).for_each(|now| _ = counter.add_at(random.below(40), now % 3 + 1, Tick(now)));
        counter.add_at("text", 7, Tick(1099));
        counter.add_at("much", u64::MAX, Tick(1099));
    };
    for (name, grows) in [("fixed", false), ("grown", true)] {
        let builder = || small(if grows { 3 } else { 60 }, grows, 20);
        let counter = builder().build().expect("valid");
        fill(&counter);
        let bytes = golden(&format!("counter-{name}-v1.wls"), || snapshot(&counter, 1100));
        let copy = restore(builder(), &bytes, 0).structure;
        for key in 0..40_u64 {
            assert_eq!(copy.panes_at(key, Tick(1099)), counter.panes_at(key, Tick(1099)), "{name}: {key}");
        }
        assert_eq!((copy.count_at("text", Tick(1099)), copy.count_at("much", Tick(1099))), (7, u64::MAX));
    }
    let builder = || WindowedTotal::builder(Window::last_n(30), Window::last_n(10));
    let total = builder().build().expect("valid");
    (1000..1100).for_each(|now| _ = total.add_at(now, Tick(now)));
    let bytes = golden("total-v1.wls", || {
        let mut bytes = Vec::new();
        total.snapshot_at(&mut bytes, Tick(1100), WALL).expect("in memory");
        bytes
    });
    let copy = builder().restore(&bytes[..], WALL).expect("a snapshot").structure;
    assert_eq!(copy.panes_at(Tick(1099)), total.panes_at(Tick(1099)));
}

//! Snapshots of filters: what is restored answers as the original does.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use std::{
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};

use crate::common::{Random, Together, blocks::LAYOUTS, golden};
use proptest::prelude::*;
use windlass::{
    BloomBuilder, Dedup, Layout, PaneSpan, RestoreError, Restored, RotatingBloom, Rotation, Seed, Tick,
    Window,
};

const WALL: Duration = Duration::from_secs(1_700_000_000);

fn snapshot(bloom: &RotatingBloom, now: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let summary = bloom.snapshot_at(&mut bytes, Tick(now), WALL).expect("in memory");
    assert_eq!(summary.bytes, bytes.len() as u64);
    bytes
}

fn restore(builder: BloomBuilder, bytes: &[u8], later: u64) -> Restored<RotatingBloom> {
    builder.restore(bytes, WALL + Duration::from_nanos(later)).expect("a snapshot")
}

/// 8 panes of 8 ticks.
fn small(layout: Layout, rotation: Rotation) -> BloomBuilder {
    let builder = RotatingBloom::builder(Duration::from_nanos(55)).panes(8).layout(layout).seed(Seed(5));
    builder.expected_ids(300).error(0.05).rotation(rotation)
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u64),
    Observe(u64),
    Contains(u64),
    Maintain(usize),
    Advance,
    /// This far ahead, or back.
    Time(i64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..400_u64).prop_map(Step::Insert),
        3 => (0..400_u64).prop_map(Step::Observe),
        2 => (0..800_u64).prop_map(Step::Contains),
        1 => (0..3_usize).prop_map(Step::Maintain),
        1 => Just(Step::Advance),
        4 => (-3..9_i64).prop_map(Step::Time),
        1 => (0..120_i64).prop_map(Step::Time),
    ];
    prop::collection::vec(step, 1..250)
}

/// What a filter says to a step, and what it is after that.
fn take(bloom: &RotatingBloom, step: &Step, now: &mut u64) -> (bool, Vec<PaneSpan>) {
    let said = match *step {
        Step::Insert(id) => bloom.insert_at(id, Tick(*now)),
        Step::Observe(id) => bloom.observe_at(id, Tick(*now)).is_fresh(),
        Step::Contains(id) => bloom.contains_at(id, Tick(*now)),
        Step::Maintain(budget) => bloom.maintain_at(Tick(*now), budget),
        Step::Advance => {
            bloom.advance_to(Tick(*now));
            false
        }
        Step::Time(by) => {
            *now = now.saturating_add_signed(by);
            false
        }
    };
    (said, bloom.panes_at(7_u64, Tick(*now)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// In all layouts and modes, wherever it is cut, also with a next pane half cleared.
    #[test]
    fn goes_on_as_the_original(
        before in steps(), after in steps(), layout in 0..LAYOUTS.len(),
        rotation in prop::sample::select(vec![Rotation::ByCalls, Rotation::Hybrid, Rotation::Scheduled]),
    ) {
        let builder = small(LAYOUTS[layout], rotation);
        let bloom = builder.clone().build().expect("valid");
        let mut now = 1000;
        for step in &before {
            take(&bloom, step, &mut now);
        }
        let Restored { structure: copy, resumed, elapsed, entries, .. } = restore(builder, &snapshot(&bloom, now), 0);
        prop_assert_eq!((resumed, elapsed), (Tick(now), Duration::ZERO));
        prop_assert!((1..=8).contains(&entries));
        let mut other = now;
        for (i, step) in after.iter().enumerate() {
            let (mine, its) = (take(&bloom, step, &mut now), take(&copy, step, &mut other));
            prop_assert_eq!(mine, its, "step {}: {:?} at {}", i, step, now);
        }
        prop_assert_eq!(bloom.stats().panes, copy.stats().panes);
    }

    /// Whatever is done to the bytes, it is an error.
    #[test]
    fn damaged(at in any::<prop::sample::Index>(), bit in 0..8_u32, cut in any::<prop::sample::Index>()) {
        let builder = small(Layout::Rows(2), Rotation::ByCalls);
        let bloom = builder.clone().build().expect("valid");
        (0..200_u64).for_each(|id| { bloom.insert_at(id, Tick(id)); });
        let whole = snapshot(&bloom, 200);
        let mut bytes = whole.clone();
        bytes[at.index(whole.len())] ^= 1_u8 << bit;
        prop_assert!(builder.clone().restore(&bytes[..], WALL).is_err());
        let cut = cut.index(whole.len());
        let error = builder.restore(&whole[..cut], WALL).expect_err("cut");
        prop_assert!(matches!(error, RestoreError::Truncated { .. }), "{error}");
    }
}

/// The rest of each real stream, from several places on.
pub(crate) fn rest_of(ms: &[u64], hashes: &[windlass::KeyHash], builder: impl Fn() -> BloomBuilder) {
    let bloom = builder().build().expect("valid");
    let mut copies: Vec<RotatingBloom> = Vec::new();
    let cuts = [0, ms.len() / 7, ms.len() / 2, ms.len() - 1];
    for (i, (&ms, &hash)) in ms.iter().zip(hashes).enumerate() {
        let now = Tick(ms * 1_000_000);
        if cuts.contains(&i) {
            copies.push(restore(builder(), &snapshot(&bloom, now.0), 0).structure);
        }
        let said = bloom.insert_at(hash, now);
        for copy in &copies {
            assert_eq!(copy.insert_at(hash, now), said, "{}: event {i}", bloom.plan());
        }
    }
    assert_eq!(copies.len(), cuts.len());
}

/// What has expired by the system's clock is gone, also beyond the greatest jump; and nothing else.
#[test]
fn time_goes_on() {
    for layout in LAYOUTS {
        let builder = small(layout, Rotation::ByCalls).error(1e-6).max_jump(Duration::from_nanos(100));
        let bloom = builder.clone().build().expect("valid");
        bloom.insert_at("old", Tick(1000));
        bloom.insert_at("new", Tick(1040));
        let bytes = snapshot(&bloom, 1042);
        for (later, old, new) in [(0, true, true), (10, true, true), (30, false, true), (5000, false, false)]
        {
            let Restored { structure: copy, resumed, elapsed, .. } = restore(builder.clone(), &bytes, later);
            assert_eq!((resumed, elapsed), (Tick(1042 + later), Duration::from_nanos(later)));
            let has = |id| copy.contains_at(id, resumed);
            assert_eq!((has("old"), has("new")), (old, new), "{layout}, {later} ns later");
            // It goes on in the pane that it has come to.
            copy.insert_at("newest", resumed);
            assert!(copy.contains_at("newest", Tick(resumed.0 + 55)));
            assert!(!copy.contains_at("newest", Tick(resumed.0 + 64)));
            assert_eq!(copy.stats().jumps, 0);
        }
        // The clock of the system went back.
        let copy = builder.restore(&bytes[..], WALL - Duration::from_secs(9)).expect("a snapshot");
        assert_eq!((copy.resumed, copy.elapsed), (Tick(1042), Duration::ZERO));
        assert!(copy.structure.contains_at("old", Tick(1042)));
    }
}

/// The structure's own clock goes on where it stood.
#[test]
fn its_clock_goes_on() {
    let builder = RotatingBloom::builder(Duration::from_secs(1000));
    let bloom = builder.clone().build().expect("valid");
    bloom.insert("order-4711");
    let bytes = snapshot(&bloom, 500_000_000_000);
    let later = Duration::from_secs(800);
    let copy = builder.clone().restore(&bytes[..], WALL + later).expect("a snapshot");
    assert_eq!(copy.resumed, Tick(1_300_000_000_000));
    // It is as old as the snapshot says, and so has expired.
    assert!(!copy.structure.contains("order-4711"));
    let copy = builder.restore(&bytes[..], WALL + later / 10).expect("a snapshot");
    assert!(copy.structure.contains("order-4711"));

    // Of events nothing is added, and the next one has the next number.
    let builder = RotatingBloom::builder(Window::last_n(100)).error(1e-6);
    let bloom = builder.clone().build().expect("valid");
    (0..90_u64).for_each(|id| _ = bloom.insert(id));
    let mut bytes = Vec::new();
    bloom.snapshot(&mut bytes).expect("in memory");
    let copy = builder.restore(&bytes[..], WALL * 2).expect("a snapshot");
    assert_eq!(copy.resumed, Tick(90));
    (0..200_u64).for_each(|id| assert_eq!(copy.structure.insert(id), bloom.insert(id), "{id}"));
}

/// Lets the others go on to their end, also when a test fails.
struct Free<'a>(&'a AtomicU64);

impl Drop for Free<'_> {
    fn drop(&mut self) {
        self.0.store(u64::MAX, SeqCst);
    }
}

/// While others put in and move the panes on: what had been put in before is there, or has gone by the newest time.
#[test]
fn beside_others() {
    const IDS: u64 = 2_000;
    for (layout, rotation) in [
        (Layout::Rows(1), Rotation::ByCalls),
        (Layout::Rows(3), Rotation::Scheduled),
        (Layout::Blocks(256), Rotation::Hybrid),
        (Layout::Arrays, Rotation::ByCalls),
        (Layout::SeededArrays, Rotation::ByCalls),
    ] {
        // A window of 7000, 8 panes of 1000 ticks; 2000 ids in each.
        let builder =
            RotatingBloom::builder(Window::last_n(7_000)).pane(Window::last_n(1_000)).layout(layout);
        let builder = builder.expected_ids(7 * IDS).error(1e-6).rotation(rotation).seed(Seed(1 << 50));
        let bloom = builder.clone().build().expect("valid");
        let (together, most) = (Together::new(3), AtomicU64::new(4 * IDS));
        let reached = [const { AtomicU64::new(0) }; 2];
        let reached_by_both = || reached.iter().map(|id| id.load(SeqCst)).min().expect("two");
        thread::scope(|scope| {
            for thread in 0..2 {
                let (bloom, together, most, reached) = (&bloom, &together, &most, &reached);
                scope.spawn(move || {
                    together.wait();
                    // Two ids for each tick: every second one. Neither is more than a pane ahead of the other.
                    for id in (thread as u64..44 * IDS).step_by(2) {
                        while id >= most.load(SeqCst) || id > reached[1 - thread].load(SeqCst) + IDS {
                            std::thread::yield_now();
                        }
                        bloom.insert_at(id, Tick(id / 2));
                        if rotation != Rotation::ByCalls && id % 64 < 2 {
                            bloom.maintain_at(Tick(id / 2), 8);
                        }
                        reached[thread].store(id + 1, SeqCst);
                    }
                    reached[thread].store(u64::MAX / 2, SeqCst);
                });
            }
            let _free = Free(&most);
            together.wait();
            let mut kept = 0;
            for _ in 0..20 {
                let before = reached_by_both();
                // (A ring that is late keeps ids for longer.)
                let expired = before.saturating_sub(30 * IDS)..before.saturating_sub(10 * IDS);
                let has_gone = |id: &u64| !bloom.contains_at(*id, Tick(before / 2));
                let gone: Vec<u64> = expired.filter(has_gone).collect();
                // Two panes more, while it is written.
                most.fetch_add(2 * IDS, SeqCst);
                let bytes = snapshot(&bloom, before / 2);
                let newest = reached.iter().map(|id| id.load(SeqCst)).max().expect("two") / 2 + 2;
                let copy = restore(builder.clone(), &bytes, 0).structure;
                let has = |id| copy.contains_at(id, Tick(before / 2));
                let kept_by = |id: &u64| id / 2 + bloom.plan().guaranteed > newest;
                for id in (before.saturating_sub(7 * IDS)..before).filter(kept_by) {
                    assert!(has(id), "{layout}: {id} of {before}, {newest}");
                    kept += 1;
                }
                // None that had gone, but for a few errors: as many as with ids that never came. (A pane that goes on for the next one errs more.)
                let found = gone.iter().filter(|id| has(**id)).count();
                if found >= 10 {
                    let strangers = (1 << 40..).take(20 * gone.len()).filter(|id| has(*id)).count();
                    assert!(found < 10 + strangers / 10, "{layout}: {found} of {before}, {strangers}");
                }
            }
            assert!(kept > 20 * IDS, "{layout}: {kept}");
        });
    }
}

/// Each setting that says what bits mean must be the same, and both values are told.
#[test]
fn other_settings() {
    let second = Duration::from_secs(1);
    let base =
        || RotatingBloom::builder(60 * second).lateness(second).expected_ids(1000).error(0.01).seed(Seed(3));
    let bloom = base().build().expect("valid");
    let bytes = snapshot(&bloom, 5);
    let plan = bloom.plan();
    assert_eq!(plan.layout, Layout::Blocks(128));
    let (bits, probes) = (plan.bits.to_string(), plan.probes.to_string());
    let error = |builder: BloomBuilder| match builder.restore(&bytes[..], WALL).expect_err("another") {
        RestoreError::Setting { name, snapshot, builder } => (name, snapshot, builder),
        other => panic!("{other}"),
    };
    let ns = |n: u64| format!("{} ns", n * 1_000_000_000);
    let is = |found: (String, String, String), name: &str, snapshot: &str, builder: &str| {
        assert_eq!(found, (name.into(), snapshot.into(), builder.into()));
    };
    let other = RotatingBloom::builder(59 * second).lateness(2 * second).expected_ids(1000).seed(Seed(3));
    is(error(other), "window", &ns(60), &ns(59));
    is(error(base().lateness(2 * second)), "lateness", &ns(1), &ns(2));
    is(error(base().panes(9)), "panes", "8", "9");
    is(error(base().layout(Layout::Arrays)), "layout", "1 row of 128-bit blocks", "arrays of 512-bit blocks");
    is(
        error(base().bits(plan.bits + 1024).layout(plan.layout).probes(plan.probes)),
        "bits",
        &bits,
        &(plan.bits + 1024).to_string(),
    );
    is(error(base().bits(plan.bits).layout(plan.layout).probes(2)), "probes", &probes, "2");
    assert_eq!(error(base().seed(Seed(4))).0, "seed");
    let events =
        RotatingBloom::builder(Window::last_n(60_000_000_000)).lateness(Window::last_n(1_000_000_000));
    is(error(events.expected_ids(1000)), "window", &ns(60), "60000000000 events");

    // What does not say what bits mean may differ; and the same bits may be asked for in another way.
    for same in [
        base().max_jump(second).rotation(Rotation::Hybrid),
        base().expected_ids(9999).bits(plan.bits).layout(plan.layout).probes(plan.probes),
    ] {
        let copy = same.restore(&bytes[..], WALL).expect("the same bits");
        assert_eq!(copy.structure.seed(), Seed(3));
    }
    let dedup = Dedup::builder(second).capacity(10).build().expect("valid");
    let mut other = Vec::new();
    dedup.snapshot_at(&mut other, Tick(5), WALL).expect("in memory");
    let kind = base().restore(&other[..], WALL).expect_err("another structure");
    assert!(matches!(kind, RestoreError::Kind { .. }), "{kind}");
    let wrong = base().error(2.0).restore(&bytes[..], WALL).expect_err("no such error");
    assert!(matches!(wrong, RestoreError::Config(_)), "{wrong}");
    let foreign = base().restore(&b"GIF89a.................."[..], WALL).expect_err("not a snapshot");
    assert!(matches!(foreign, RestoreError::Foreign), "{foreign}");
}

/// As they were written by each version: they are read for ever.
#[test]
fn golden_files() {
    for (name, layout) in
        [("rows", Layout::Rows(2)), ("blocks", Layout::Blocks(128)), ("seeded", Layout::SeededArrays)]
    {
        let builder = || small(layout, Rotation::ByCalls).error(0.2).expected_ids(100);
        let bytes = golden(&format!("bloom-{name}-v1.wls"), || {
            let bloom = builder().build().expect("valid");
            let mut random = Random(9);
            (1000..1090).for_each(|now| _ = bloom.insert_at(random.below(60), Tick(now)));
            snapshot(&bloom, 1090)
        });
        let copy = restore(builder(), &bytes, 0);
        assert_eq!((copy.resumed, copy.structure.seed()), (Tick(1090), Seed(5)));
        let (mut random, mut last) = (Random(9), [None; 60]);
        for now in 1000..1090 {
            last[usize::try_from(random.below(60)).expect("small")] = Some(now);
        }
        for (id, last) in last.iter().enumerate() {
            let kept = last.is_some_and(|last| last + 55 > 1090);
            assert!(!kept || copy.structure.contains_at(id as u64, Tick(1090)), "{name}: {id}");
        }
        let wrong = (1000..2000_u64).filter(|id| copy.structure.contains_at(id, Tick(1090))).count();
        assert!(wrong < 400, "{name}: {wrong}");
        // Byte for byte what is written today.
        assert_eq!(snapshot(&copy.structure, 1090).len(), bytes.len(), "{name}");
    }
}

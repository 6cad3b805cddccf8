//! Against a plain twin: any operations, in any order, at any ticks, must have the same answers.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use crate::common::twin::{self, Claimed, Twin};
use proptest::prelude::*;
use std::time::Duration;
use windlass::{
    Claim, Clock, Dedup, DedupBuilder, Identity, KeyHash, OnFull, Outcome, Refresh, Refused, Seed, Tick,
    Ticket, Verdict, Window,
};

/// How the next tick lies to what has been seen.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// This far ahead of the newest, within the window.
    Ahead(u64),
    /// Ahead of the newest by the window (true: with the lateness), and this much more or less.
    Border(bool, i8),
    /// Far ahead, in windows.
    Far(u64),
    /// Late by no more than the lateness.
    Late(u64),
    /// Later than the lateness, by this much.
    TooLate(u64),
    /// At the lateness, and this much more or less.
    Edge(i8),
    /// At the step of the horizon that the newest tick began.
    Quantum(i8),
    Zero,
    Same,
}

#[derive(Clone, Debug)]
enum Op {
    Observe(usize, Step),
    Batch(Vec<(usize, Step)>),
    BatchAt(Vec<usize>, Step),
    Contains(usize, Step),
    Forget(usize, Step),
    Claim(usize, Step, Lease),
    /// The ticket of so many claims ago.
    Commit(usize),
    Abort(usize),
    Live(Step),
    Maintain(Step),
    Reset,
    /// Written, and restored.
    Restart,
}

#[derive(Clone, Copy, Debug)]
enum Lease {
    /// Ticks, or a window if that is less.
    Ticks(u64),
    Any(u64),
    Window,
}

#[derive(Clone, Copy, Debug)]
struct Setting {
    by_time: bool,
    window: u64,
    lateness: u64,
    refresh: Refresh,
    identity: Identity,
    first: u64,
    ids: Ids,
}

/// What the ids look like to the table. (The twin knows them by their index.)
#[derive(Clone, Copy, Debug)]
enum Ids {
    /// Of three buckets of one group, more than their cells hold and as many as there is room for in all.
    Crowded,
    /// In a table of one group.
    Numbers,
    /// In a table of a few groups.
    Text,
}

const IDS: usize = 38;

impl Ids {
    fn capacity(self) -> usize {
        match self {
            Ids::Crowded => 1,
            Ids::Numbers => 50,
            Ids::Text => 1000,
        }
    }

    /// All in one group of 8 buckets of 8 cells: two buckets that overflow, their pair as well, and a third one.
    fn crowded(id: usize) -> KeyHash {
        let bucket = match id {
            0..16 => 0,
            16..28 => 1,
            _ => 5,
        };
        // Fingerprint 0 is one like the others.
        KeyHash { hi: id as u64, lo: (id << 3 | bucket) as u64 }
    }
}

/// The structure and its twin.
struct Pair {
    dedup: Dedup,
    twin: Twin,
    span: fn(u64) -> Window,
    builder: DedupBuilder,
    tickets: Vec<(Ticket, twin::Ticket)>,
    /// So many of them are of keys whose bytes lay elsewhere.
    lost: usize,
    /// Late events before the last restart.
    late: u64,
    ids: Ids,
    identity: Identity,
    newest: u64,
    events: u64,
}

impl Pair {
    fn new(setting: Setting) -> Pair {
        let Setting { by_time, window, lateness, refresh, identity, first, ids } = setting;
        let span = if by_time { |ns| Window::time(Duration::from_nanos(ns)) } else { Window::last_n };
        let builder = Dedup::builder(span(window)).lateness(span(lateness)).refresh(refresh);
        let builder = builder.capacity(ids.capacity()).identity(identity);
        let builder = builder.seed(Seed(7));
        let dedup = builder.clone().build().expect("valid");
        let twin = Twin::new(window, lateness, refresh);
        let twin = if by_time { twin.by_time() } else { twin };
        let tickets = Vec::new();
        Pair {
            dedup,
            twin,
            span,
            builder,
            tickets,
            lost: 0,
            late: 0,
            ids,
            identity,
            newest: first,
            events: 0,
        }
    }

    fn tick(&self, step: Step) -> u64 {
        let of = |twin: i128| u64::try_from(twin).expect("small");
        let (window, lateness) = (of(self.twin.window), of(self.twin.lateness));
        let off = |tick: u64, by: i8| tick.saturating_add_signed(by.into());
        match step {
            Step::Ahead(by) => self.newest + by % (window + 1),
            Step::Border(with_lateness, by) => {
                off(self.newest + window + if with_lateness { lateness } else { 0 }, by)
            }
            Step::Far(windows) => self.newest + windows * window,
            Step::Late(by) => self.newest.saturating_sub(by % (lateness + 1)),
            Step::TooLate(by) => self.newest.saturating_sub(lateness).saturating_sub(by % (4 * window)),
            Step::Edge(by) => off(self.newest.saturating_sub(lateness), by),
            Step::Quantum(by) => off(self.newest / of(self.twin.granule()) * of(self.twin.granule()), by),
            Step::Zero => 0,
            Step::Same => self.newest,
        }
    }

    /// What the next observation's tick is.
    fn next(&mut self, step: Step) -> u64 {
        let tick = self.tick(step);
        // The first tick need not be the one that the setting says.
        self.newest = if self.twin.seen() { self.newest.max(tick) } else { tick };
        tick
    }

    fn observe(&self, id: usize, now: u64) -> Outcome {
        match self.ids {
            Ids::Crowded => self.dedup.observe_at(Ids::crowded(id), Tick(now)),
            Ids::Numbers => self.dedup.observe_at(id as u64, Tick(now)),
            Ids::Text => self.dedup.observe_at(format!("id-{id}"), Tick(now)),
        }
    }

    fn observe_events(&self, events: &[(usize, u64)]) -> Vec<Outcome> {
        let mut out = Vec::new();
        let ticks = || events.iter().map(|&(_, now)| Tick(now));
        let ids = || events.iter().map(|&(id, _)| id);
        match self.ids {
            Ids::Crowded => {
                self.dedup
                    .observe_events(&ids().map(Ids::crowded).zip(ticks()).collect::<Vec<_>>(), &mut out);
            }
            Ids::Numbers => {
                self.dedup
                    .observe_events(&ids().map(|id| id as u64).zip(ticks()).collect::<Vec<_>>(), &mut out);
            }
            Ids::Text => {
                let text = ids().map(|id| format!("id-{id}"));
                self.dedup.observe_events(&text.zip(ticks()).collect::<Vec<_>>(), &mut out);
            }
        }
        out
    }

    fn observe_batch_at(&self, ids: &[usize], now: u64) -> Vec<Outcome> {
        let mut out = Vec::new();
        let ids = ids.iter().copied();
        match self.ids {
            Ids::Crowded => {
                self.dedup.observe_batch_at(&ids.map(Ids::crowded).collect::<Vec<_>>(), Tick(now), &mut out);
            }
            Ids::Numbers => {
                self.dedup.observe_batch_at(
                    &ids.map(|id| id as u64).collect::<Vec<_>>(),
                    Tick(now),
                    &mut out,
                );
            }
            Ids::Text => {
                let text = ids.map(|id| format!("id-{id}"));
                self.dedup.observe_batch_at(&text.collect::<Vec<_>>(), Tick(now), &mut out);
            }
        }
        out
    }

    fn contains(&self, id: usize, now: u64) -> bool {
        match self.ids {
            Ids::Crowded => self.dedup.contains_at(Ids::crowded(id), Tick(now)),
            Ids::Numbers => self.dedup.contains_at(id as u64, Tick(now)),
            Ids::Text => self.dedup.contains_at(format!("id-{id}"), Tick(now)),
        }
    }

    fn first_seen(&self, id: usize, now: u64) -> Option<Tick> {
        match self.ids {
            Ids::Crowded => self.dedup.first_seen_at(Ids::crowded(id), Tick(now)),
            Ids::Numbers => self.dedup.first_seen_at(id as u64, Tick(now)),
            Ids::Text => self.dedup.first_seen_at(format!("id-{id}"), Tick(now)),
        }
    }

    fn forget(&self, id: usize, now: u64) -> bool {
        match self.ids {
            Ids::Crowded => self.dedup.forget_at(Ids::crowded(id), Tick(now)),
            Ids::Numbers => self.dedup.forget_at(id as u64, Tick(now)),
            Ids::Text => self.dedup.forget_at(format!("id-{id}"), Tick(now)),
        }
    }

    fn claim(&self, id: usize, now: u64, lease: u64) -> Result<Claim, Refused> {
        let lease = (self.span)(lease);
        match self.ids {
            Ids::Crowded => self.dedup.claim_at(Ids::crowded(id), Tick(now), lease),
            Ids::Numbers => self.dedup.claim_at(id as u64, Tick(now), lease),
            Ids::Text => self.dedup.claim_at(format!("id-{id}"), Tick(now), lease),
        }
    }

    fn both(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match op {
            &Op::Observe(id, step) => {
                let now = self.next(step);
                let verdict = self.twin.observe(id as u64, now);
                prop_assert_eq!(self.observe(id, now), Ok(verdict), "observe {} at {}", id, now);
                self.events += 1;
            }
            Op::Batch(batch) => {
                let (mut events, mut verdicts) = (Vec::new(), Vec::new());
                for &(id, step) in batch {
                    let now = self.next(step);
                    verdicts.push(Ok(self.twin.observe(id as u64, now)));
                    events.push((id, now));
                }
                prop_assert_eq!(self.observe_events(&events), verdicts, "observe {:?}", events);
                self.events += events.len() as u64;
            }
            Op::BatchAt(ids, step) => {
                let now = if ids.is_empty() { self.tick(*step) } else { self.next(*step) };
                let verdicts: Vec<Outcome> =
                    ids.iter().map(|&id| Ok(self.twin.observe(id as u64, now))).collect();
                prop_assert_eq!(self.observe_batch_at(ids, now), verdicts, "observe {:?} at {}", ids, now);
                self.events += ids.len() as u64;
            }
            &Op::Contains(id, step) => {
                let now = self.tick(step);
                prop_assert_eq!(
                    self.contains(id, now),
                    self.twin.contains(id as u64, now),
                    "contains {} at {}",
                    id,
                    now
                );
                let (first, expected) = (self.first_seen(id, now), self.twin.first_seen(id as u64, now));
                prop_assert_eq!(first, expected, "first seen {} at {}", id, now);
            }
            &Op::Forget(id, step) => {
                let now = self.tick(step);
                prop_assert_eq!(
                    self.forget(id, now),
                    self.twin.forget(id as u64, now),
                    "forget {} at {}",
                    id,
                    now
                );
            }
            &Op::Claim(id, step, lease) => {
                let window = u64::try_from(self.twin.window).expect("small");
                let lease = match lease {
                    Lease::Ticks(ticks) => ticks.min(window),
                    Lease::Any(any) => 1 + any % window,
                    Lease::Window => window,
                };
                let now = self.next(step);
                let what = format!("claim {id} at {now} for {lease}");
                match (self.claim(id, now, lease), self.twin.claim(id as u64, now, lease)) {
                    (Ok(Claim::Claimed(ours)), Claimed::Ours(twins)) => self.tickets.push((ours, twins)),
                    (Ok(Claim::Duplicate { first_seen }), Claimed::Duplicate(at)) => {
                        prop_assert_eq!(first_seen, Some(at), "{}", what);
                    }
                    (Ok(Claim::InProgress { until }), Claimed::InProgress(end)) => {
                        prop_assert_eq!(until, end, "{}", what);
                    }
                    (ours, twins) => prop_assert!(false, "{what}: {ours:?}, not {twins:?}"),
                }
            }
            &Op::Commit(ago) => {
                if let Some((i, &(ours, twins))) = self.tickets.iter().enumerate().nth_back(ago) {
                    let expected = i >= self.lost && self.twin.commit(twins);
                    prop_assert_eq!(self.dedup.commit(ours), expected, "commit {:?}", twins);
                }
            }
            &Op::Abort(ago) => {
                if let Some((i, &(ours, twins))) = self.tickets.iter().enumerate().nth_back(ago) {
                    let expected = i >= self.lost && self.twin.abort(twins);
                    prop_assert_eq!(self.dedup.abort(ours), expected, "abort {:?}", twins);
                }
            }
            &Op::Live(step) => {
                let now = self.tick(step);
                prop_assert_eq!(self.dedup.live_at(Tick(now)), self.twin.live(now), "live at {}", now);
            }
            &Op::Maintain(step) => {
                // It does not say where time begins.
                let now = if self.twin.seen() { self.next(step) } else { self.tick(step) };
                self.dedup.maintain_at(Tick(now), 100);
                if self.twin.seen() {
                    self.twin.see(now);
                }
            }
            Op::Reset => {
                self.dedup.reset().expect("memory");
                self.twin.reset();
            }
            Op::Restart => {
                let mut bytes = Vec::new();
                let (now, wall) = (Tick(self.newest), Duration::from_secs(1_700_000_000));
                let written = self.dedup.snapshot_at(&mut bytes, now, wall).expect("memory");
                let restored = self.builder.clone().restore(&bytes[..], wall).expect("as it was written");
                prop_assert_eq!((restored.resumed, restored.elapsed), (now, Duration::ZERO));
                prop_assert_eq!((written.bytes, written.entries), (bytes.len() as u64, restored.entries));
                self.late += self.dedup.stats().late;
                self.dedup = restored.structure;
                if self.identity == Identity::Bytes {
                    self.lost = self.tickets.len();
                }
            }
        }
        Ok(())
    }
}

fn run(setting: Setting, ops: &[Op]) -> Result<(), TestCaseError> {
    let mut pair = Pair::new(setting);
    let bytes = pair.dedup.memory_bytes();
    for op in ops {
        pair.both(op)?;
    }
    for id in 0..IDS {
        let now = pair.newest;
        prop_assert_eq!(
            pair.contains(id, now),
            pair.twin.contains(id as u64, now),
            "contains {} at the end",
            id
        );
    }
    let stats = pair.dedup.stats();
    prop_assert_eq!(stats.live, pair.twin.kept(), "live");
    prop_assert_eq!(pair.late + stats.late, pair.twin.late, "late");
    prop_assert_eq!((stats.refused, stats.jumps, stats.evicted), (0, 0, 0));
    prop_assert!(stats.memory_bytes >= bytes);
    Ok(())
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Same),
        6 => (0..4_u64).prop_map(Step::Ahead),
        4 => any::<u64>().prop_map(Step::Ahead),
        4 => (any::<bool>(), -2..=2_i8).prop_map(|(with_lateness, by)| Step::Border(with_lateness, by)),
        1 => (1..5_u64).prop_map(Step::Far),
        4 => any::<u64>().prop_map(Step::Late),
        3 => any::<u64>().prop_map(Step::TooLate),
        3 => (-2..=2_i8).prop_map(Step::Edge),
        2 => (-2..=2_i8).prop_map(Step::Quantum),
        1 => Just(Step::Zero),
    ]
}

fn lease() -> impl Strategy<Value = Lease> {
    prop_oneof![(1..70_u64).prop_map(Lease::Ticks), any::<u64>().prop_map(Lease::Any), Just(Lease::Window)]
}

/// Mostly one of the last tickets.
fn ago() -> impl Strategy<Value = usize> {
    prop_oneof![3 => Just(0), 2 => 1..4_usize, 1 => 0..50_usize]
}

fn op() -> impl Strategy<Value = Op> {
    // Some ids come often.
    let id = || prop_oneof![0..IDS, 0..IDS, 0..4_usize];
    prop_oneof![
        12 => (id(), step()).prop_map(|(id, step)| Op::Observe(id, step)),
        2 => prop::collection::vec((id(), step()), 0..70).prop_map(Op::Batch),
        2 => (prop::collection::vec(id(), 0..70), step()).prop_map(|(ids, step)| Op::BatchAt(ids, step)),
        4 => (id(), step()).prop_map(|(id, step)| Op::Contains(id, step)),
        4 => (id(), step()).prop_map(|(id, step)| Op::Forget(id, step)),
        8 => (id(), step(), lease()).prop_map(|(id, step, lease)| Op::Claim(id, step, lease)),
        5 => ago().prop_map(Op::Commit),
        5 => ago().prop_map(Op::Abort),
        1 => step().prop_map(Op::Live),
        1 => step().prop_map(Op::Maintain),
        1 => Just(Op::Reset),
        1 => Just(Op::Restart),
    ]
}

fn setting(window: impl Strategy<Value = u64>) -> impl Strategy<Value = Setting> {
    let lateness = |window: u64| prop_oneof![Just(0), 1..=window, window..=4 * window];
    let first = prop_oneof![Just(0), Just(1), 2..100_000_u64, Just(1 << 40), Just(1 << 63)];
    let refresh = prop_oneof![Just(Refresh::Never), Just(Refresh::OnDuplicate)];
    let ids = prop_oneof![3 => Just(Ids::Crowded), 1 => Just(Ids::Numbers), 1 => Just(Ids::Text)];
    let identity = prop_oneof![Just(Identity::Hash), Just(Identity::Bytes)];
    let window = window.prop_flat_map(move |w| (Just(w), lateness(w)));
    (any::<bool>(), window, refresh, identity, first, ids).prop_map(
        |(by_time, (window, lateness), refresh, identity, first, ids)| Setting {
            by_time,
            window,
            lateness,
            refresh,
            identity,
            first,
            ids,
        },
    )
}

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    /// A 1024th of the window is less than two ticks: the horizon moves with every tick.
    #[test]
    fn small_windows(
        setting in setting(prop_oneof![1..4_u64, 4..50_u64, 50..2048_u64, Just(2047_u64)]),
        ops in prop::collection::vec(op(), 1..200),
    ) {
        prop_assert_eq!(Twin::new(setting.window, 0, setting.refresh).granule(), 1);
        run(setting, &ops)?;
    }

    /// The horizon moves in steps of several ticks.
    #[test]
    fn large_windows(
        setting in setting(prop_oneof![Just(2048_u64), 2049..10_000_u64, 10_000..(1_u64 << 46), Just(1 << 46)]),
        ops in prop::collection::vec(op(), 1..200),
    ) {
        prop_assert!(Twin::new(setting.window, 0, setting.refresh).granule() > 1);
        run(setting, &ops)?;
    }

    /// The structure's own clock numbers the events.
    #[test]
    fn last_n(
        n in prop_oneof![1..10_u64, 10..100_u64],
        refresh in prop_oneof![Just(Refresh::Never), Just(Refresh::OnDuplicate)],
        batches in prop::collection::vec((prop::collection::vec(0..30_u64, 0..70), any::<bool>(), 0..30_u64), 1..60),
    ) {
        let dedup = Dedup::builder(Window::last_n(n)).capacity(100).refresh(refresh).build().expect("valid");
        let mut twin = Twin::new(n, 0, refresh);
        let mut number = 0;
        let mut out = Vec::new();
        for (ids, one_by_one, asked) in batches {
            let verdicts: Vec<Outcome> = ids.iter().zip(number..).map(|(&id, now)| Ok(twin.observe(id, now))).collect();
            number += ids.len() as u64;
            if one_by_one {
                out = ids.iter().map(|id| dedup.observe(id)).collect();
            } else {
                dedup.observe_batch(&ids, &mut out);
            }
            prop_assert_eq!(&out, &verdicts);
            // To ask is no arrival.
            prop_assert_eq!(dedup.contains(asked), twin.contains(asked, number));
        }
        prop_assert_eq!(dedup.stats().refused, 0);
    }

    /// The short forms go by the clock that they were given, wherever it jumps to.
    #[test]
    fn own_clock(
        (window, lateness) in (1..40_u64, 0..40_u64),
        start in 0..1000_u64,
        events in prop::collection::vec((0..10_u64, 0..4_u8, -50..50_i64), 1..200),
    ) {
        let (clock, hand) = Clock::manual(Tick(start));
        let builder = Dedup::builder(Window::last_n(window)).lateness(Window::last_n(lateness)).clock(clock);
        let dedup = builder.capacity(100).build().expect("valid");
        let mut twin = Twin::new(window, lateness, Refresh::Never);
        let mut now = start;
        let mut out = Vec::new();
        for (id, what, step) in events {
            if let Ok(by) = u64::try_from(step) { hand.advance(by) } else { hand.set(Tick(now.saturating_add_signed(step))) }
            now = now.saturating_add_signed(step);
            match what {
                0 => prop_assert_eq!(dedup.contains(id), twin.contains(id, now)),
                1 => {
                    dedup.observe_batch(&[id, id], &mut out);
                    prop_assert_eq!(&out, &vec![Ok(twin.observe(id, now)), Ok(twin.observe(id, now))]);
                }
                _ => prop_assert_eq!(dedup.observe(id), Ok(twin.observe(id, now))),
            }
        }
        prop_assert_eq!(dedup.stats().late, twin.late);
    }
}

/// Distinct ids in order, one each `step` ticks.
fn fill(builder: DedupBuilder, ids: u64, step: u64) -> Dedup {
    let dedup = builder.build().expect("valid");
    for id in 0..ids {
        let _ = dedup.observe_at(id, Tick(id * step));
    }
    dedup
}

/// Under either policy: what fits is neither refused nor evicted.
#[test]
fn the_capacity_fits() {
    for capacity in [1, 61, 62, 1000, 20_000] {
        for on_full in [OnFull::Reject, OnFull::EvictOldest] {
            let builder = Dedup::builder(Window::last_n(1 << 40)).seed(Seed(1)).on_full(on_full);
            // All within one window, and most of them old enough to be evicted.
            let (ids, step) = (capacity as u64, (1 << 40) / capacity as u64);
            let dedup = fill(builder.capacity(capacity), ids, step);
            let stats = dedup.stats();
            assert_eq!((stats.refused, stats.evicted), (0, 0), "{on_full:?}, {capacity}: {stats:?}");
            assert_eq!(dedup.live_at(Tick((ids - 1) * step)), ids, "{on_full:?}");
        }
    }
}

/// A full table refuses new ids, still knows those that it has, and takes new ones when these have passed.
#[test]
fn reject() {
    const WINDOW: u64 = 1 << 20;
    let dedup = fill(Dedup::builder(Window::last_n(WINDOW)).capacity(1).seed(Seed(1)), 1000, 1);
    let (live, stats) = (dedup.live_at(Tick(1000)), dedup.stats());
    assert_eq!((live + stats.refused, stats.evicted), (1000, 0));
    assert_eq!(live, 64, "one group, whole");
    let mut known = 0;
    for id in 0..1000 {
        match dedup.observe_at(id, Tick(1000)) {
            Ok(Verdict::Duplicate { first_seen }) => {
                assert_eq!(first_seen, Some(Tick(id)));
                known += 1;
            }
            other => assert_eq!(other, Err(windlass::Refused::Full)),
        }
    }
    assert_eq!(known, live);
    for id in 0..64 {
        assert_eq!(dedup.observe_at(id, Tick(2 * WINDOW)), Ok(Verdict::Fresh));
    }
}

/// New ids always find room in the place of old ones, and no more than one is forgotten for each.
#[test]
fn evict_oldest() {
    let builder = Dedup::builder(Window::last_n(1 << 40)).capacity(1).seed(Seed(1));
    let dedup = builder.on_full(OnFull::EvictOldest).build().expect("valid");
    for id in 0..10_000_u64 {
        assert_eq!(dedup.observe_at(id, Tick(id * (1 << 30))), Ok(Verdict::Fresh), "{id}");
    }
    let now = Tick(9_999 * (1 << 30));
    let stats = dedup.stats();
    // 2^40 ticks are 1024 of these steps: many more live ids than room.
    let live = dedup.live_at(now);
    assert_eq!(live, 64, "one group, whole");
    assert_eq!(stats.refused, 0);
    assert!((9_999 - 1024 - 64..=10_000 - live).contains(&stats.evicted), "{stats:?}");
    let kept = (0..10_000_u64).filter(|&id| dedup.contains_at(id, now)).collect::<Vec<_>>();
    assert_eq!(kept.len() as u64, live);
    assert!(kept.contains(&9_999), "the newest is kept");
    assert!(kept.iter().all(|&id| id > 9_000), "the oldest went first: {kept:?}");
}

/// Ids no older than the lateness are not evicted: two calls that come in another order could both be told "fresh".
#[test]
fn evict_spares_the_young() {
    let builder = Dedup::builder(Window::last_n(1 << 20)).lateness(Window::last_n(5000)).capacity(1);
    let dedup = fill(builder.seed(Seed(1)).on_full(OnFull::EvictOldest), 3000, 1);
    let stats = dedup.stats();
    assert_eq!(stats.evicted, 0);
    assert_eq!(stats.refused + dedup.live_at(Tick(3000)), 3000);
    assert!(stats.refused > 2000);
    // Later they may.
    assert_eq!(dedup.observe_at(99_999_u64, Tick(100_000)), Ok(Verdict::Fresh));
}

/// Buckets overflow and come back; a new table has overflowed nowhere yet.
#[test]
fn rows_widen_and_come_back() {
    let dedup = Dedup::builder(Window::last_n(100)).capacity(1).build().expect("valid");
    let overflown = || (dedup.stats().overflown_buckets, dedup.stats().overflows);
    for id in 0..16 {
        assert_eq!(dedup.observe_at(Ids::crowded(id), Tick(1)), Ok(Verdict::Fresh));
    }
    assert_eq!(overflown(), (1, 1));
    dedup.reset().expect("memory");
    assert_eq!(overflown(), (0, 1));
    // Whatever the upkeep does while ids come and go, it changes no answer.
    let mut twin = Twin::new(100, 0, Refresh::Never);
    for round in 1..200 {
        let now = round * 150;
        for id in if round % 4 == 0 { 0..28 } else { 0..6 } {
            assert_eq!(
                dedup.observe_at(Ids::crowded(id), Tick(now + id as u64)),
                Ok(twin.observe(id as u64, now + id as u64))
            );
            dedup.maintain_at(Tick(now), 1);
        }
    }
    // Epochs of other tests' threads may hold it up, but not for ever.
    while overflown().0 > 0 {
        dedup.maintain_at(Tick(1_000_000), 1);
    }
    assert_eq!(dedup.live_at(Tick(1_000_000)), 0);
}

/// Buckets of one group have overflowed, a pair into the whole group, and all is gone: empty cells elsewhere must not become
/// cells of fingerprint 0.
#[test]
fn empty_cells_are_not_fingerprint_0() {
    let builder = Dedup::builder(Window::last_n(2048)).lateness(Window::last_n(2048));
    let dedup = builder.capacity(1).build().expect("valid");
    let observe = |id, now| dedup.observe_at(Ids::crowded(id), Tick(now));
    // Nine of bucket 5, seventeen of the first pair; 0 is not among them.
    for id in (28..37).chain(1..14).chain(18..22) {
        assert_eq!(observe(id, 0), Ok(Verdict::Fresh));
    }
    assert_eq!(dedup.stats().overflown_buckets, 3);
    // Of bucket 5; of bucket 0, twice.
    for id in [37, 0, 14] {
        assert_eq!(observe(id, 8192), Ok(Verdict::Fresh));
        assert!(id == 37 || dedup.contains_at(Ids::crowded(0), Tick(8192)), "after {id}");
    }
}

//! The rotating Bloom filter against a plain twin that holds what its panes hold, exactly: any calls, in any order, at any ticks. (The
//! filter is so large that a false positive would be a miracle.)

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use std::{collections::HashMap, time::Duration};

use crate::common::{self, blocks::place, ring::Ring};
use proptest::prelude::*;
use windlass::{BloomBuilder, Clock, Layout, PaneSpan, RotatingBloom, Rotation, Seed, Tick, Verdict, Window};

const IDS: u64 = 24;

/// How the next tick lies to the newest.
#[derive(Clone, Copy, Debug)]
enum Step {
    Same,
    /// Ahead, within a pane.
    Little(u64),
    /// Ahead, within a window.
    Ahead(u64),
    /// The beginning of the n-th pane from here, and this much more or less.
    Border(u64, i8),
    /// The last 8th of the n-th pane from here begins.
    Lead(u64, i8),
    /// The end of what is guaranteed for what comes now.
    Guaranteed(i8),
    /// Ahead, in windows: a silence.
    Far(u64),
    /// Behind.
    Late(u64),
    Zero,
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u64, Step),
    Observe(u64, Step),
    Contains(u64, Step),
    InsertBatch(Vec<u64>, Step),
    ObserveBatch(Vec<u64>, Step),
    InsertEach(Vec<(u64, Step)>),
    Panes(u64, Step),
    Maintain(Step, usize),
    Advance(Step),
}

/// How panes are asked for.
#[derive(Clone, Copy, Debug)]
enum Panes {
    Number(usize),
    Length(u64),
}

#[derive(Clone, Copy, Debug)]
struct Setting {
    by_time: bool,
    window: u64,
    lateness: u64,
    panes: Panes,
    layout: Layout,
    rotation: Rotation,
    max_jump: Option<u64>,
    first: u64,
}

impl Setting {
    fn span(self, ticks: u64) -> Window {
        if self.by_time { Duration::from_nanos(ticks).into() } else { Window::last_n(ticks) }
    }

    /// So small that one call can clear a pane.
    fn builder(self) -> BloomBuilder {
        let builder = RotatingBloom::builder(self.span(self.window)).lateness(self.span(self.lateness));
        let builder = match self.panes {
            Panes::Number(panes) => builder.panes(panes),
            Panes::Length(ticks) => builder.pane(self.span(ticks)),
        };
        let builder = builder.layout(self.layout).rotation(self.rotation).seed(Seed(7)).expected_ids(IDS);
        let builder =
            if let Some(jump) = self.max_jump { builder.max_jump(self.span(jump)) } else { builder };
        // All ids may be in each of the panes.
        let pane = builder.plan().map_or(1, |plan| plan.pane.ticks().expect("in range"));
        let panes = (self.window + self.lateness).div_ceil(pane);
        builder.expected_ids(IDS * panes).error(1e-9)
    }
}

/// The filter and its twin.
struct Pair {
    setting: Setting,
    bloom: RotatingBloom,
    ring: Ring,
    pane: u64,
    /// Upkeep alone clears, one pane at a time and not in pieces.
    in_one: bool,
    newest: u64,
    /// When each id was last put in, and the newest tick then.
    put: HashMap<u64, (u64, u64)>,
}

impl Pair {
    fn new(setting: Setting) -> Pair {
        let bloom = setting.builder().build().expect("valid");
        let plan = *bloom.plan();
        let pane = plan.pane.ticks().expect("in range");
        let mut ring = Ring::new(plan.panes, pane, setting.rotation);
        ring.max_jump = setting.max_jump.unwrap_or(u64::MAX);
        // Calls may have cleared some of it.
        let in_one =
            setting.rotation != Rotation::ByCalls && plan.bits / place(plan.layout, plan.panes) <= 16;
        Pair { setting, bloom, ring, pane, in_one, newest: setting.first, put: HashMap::new() }
    }

    fn tick(&self, step: Step) -> u64 {
        let off = |tick: u64, by: i8| tick.saturating_add_signed(by.into());
        let border = |n: u64| (self.newest / self.pane).saturating_add(n).saturating_mul(self.pane);
        // (Of a window of one tick nothing may be left.)
        let guaranteed = self.bloom.plan().guaranteed.max(1);
        match step {
            Step::Same => self.newest,
            Step::Little(by) => self.newest.saturating_add(by % self.pane),
            Step::Ahead(by) => self.newest.saturating_add(by % guaranteed),
            Step::Border(n, by) => off(border(n), by),
            Step::Lead(n, by) => off(border(n).saturating_sub(self.pane.div_ceil(8)), by),
            Step::Guaranteed(by) => off(self.newest.saturating_add(guaranteed), by),
            Step::Far(windows) => self.newest.saturating_add(guaranteed.saturating_mul(windows)),
            Step::Late(by) => self.newest.saturating_sub(by % (2 * guaranteed)),
            Step::Zero => 0,
        }
    }

    fn next(&mut self, step: Step) -> u64 {
        let tick = self.tick(step);
        self.newest = self.newest.max(tick);
        tick
    }

    /// Whether an id has to be found, by what is promised.
    fn promised(&self, id: u64, now: u64) -> bool {
        let Some(&(put, _)) = self.put.get(&id) else { return false };
        let newest = self.newest.max(now);
        match self.setting.panes {
            Panes::Number(_) => newest <= put.saturating_add(self.bloom.plan().guaranteed),
            // The pane of now and those before it that make up the window.
            Panes::Length(length) => newest / length - put / length <= self.bloom.plan().panes as u64 - 2,
        }
    }

    /// Whether it may be found: N panes, less an 8th, after the newest tick when it was put in it is gone.
    fn allowed(&self, id: u64, now: u64) -> bool {
        let Some(&(_, put)) = self.put.get(&id) else { return false };
        let bound = u128::from(put) + self.bloom.plan().panes as u128 * u128::from(self.pane);
        self.setting.rotation != Rotation::ByCalls
            || u128::from(now.min(u64::MAX - 1)) < bound - u128::from(self.pane.div_ceil(8))
    }

    fn put(&mut self, id: u64, now: u64) {
        self.put.insert(id, (now, self.newest));
    }

    fn insert(&mut self, id: u64, now: u64) -> bool {
        let at = self.ring.within_jump(now);
        let seen = self.ring.insert(id, now);
        let promised = self.promised(id, now);
        assert!(seen || !promised, "the twin forgets {id} at {now}");
        assert!(!seen || now < self.newest || self.setting.max_jump.is_some() || self.allowed(id, now));
        self.put(id, at);
        seen
    }

    fn observe(&mut self, id: u64, now: u64) -> Verdict {
        let (promised, at) = (self.promised(id, now), self.ring.within_jump(now));
        if self.ring.observe(id, now) {
            return Verdict::Duplicate { first_seen: None };
        }
        assert!(!promised, "the twin forgets {id} at {now}");
        self.put(id, at);
        Verdict::Fresh
    }

    /// How many panes a look can find live: a call may have looked at the time of their end, or not.
    fn live(&self, now: u64) -> [usize; 2] {
        let all = self.ring.live.len();
        [all, all.min(self.ring.live_at(self.ring.within_jump(now)))]
    }

    fn spans(&self, id: u64, live: usize) -> Vec<PaneSpan> {
        let with = self.ring.live.iter().take(live).filter(|pane| pane.ids.contains(&id));
        let at = |pane: u64| Tick(pane.saturating_mul(self.pane));
        with.map(|pane| PaneSpan { start: at(pane.first), end: at(pane.last.saturating_add(1)) }).collect()
    }

    fn both(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match op {
            &Op::Insert(id, step) => {
                let now = self.next(step);
                let seen = self.insert(id, now);
                prop_assert_eq!(self.bloom.insert_at(id, Tick(now)), seen, "insert {} at {}", id, now);
            }
            &Op::Observe(id, step) => {
                let now = self.next(step);
                let verdict = self.observe(id, now);
                prop_assert_eq!(self.bloom.observe_at(id, Tick(now)), verdict, "observe {} at {}", id, now);
            }
            &Op::Contains(id, step) => {
                let now = self.tick(step);
                let seen = self.bloom.contains_at(id, Tick(now));
                let may = self.live(now).map(|live| self.ring.has(id, live));
                prop_assert!(may.contains(&seen), "contains {id} at {now}: {seen}");
                prop_assert!(seen || !self.promised(id, now), "contains {id} at {now}");
                prop_assert_eq!(self.bloom.contains_at(id, Tick(now)), seen, "again");
            }
            Op::InsertBatch(ids, step) => {
                let now = if ids.is_empty() { self.tick(*step) } else { self.next(*step) };
                let seen: Vec<bool> = ids.iter().map(|&id| self.insert(id, now)).collect();
                let mut out = vec![true]; // a leftover, to be cleared
                self.bloom.insert_batch_at(ids, Tick(now), &mut out);
                prop_assert_eq!(out, seen, "insert {:?} at {}", ids, now);
            }
            Op::ObserveBatch(ids, step) => {
                let now = if ids.is_empty() { self.tick(*step) } else { self.next(*step) };
                let verdicts: Vec<Verdict> = ids.iter().map(|&id| self.observe(id, now)).collect();
                let mut out = Vec::new();
                self.bloom.observe_batch_at(ids, Tick(now), &mut out);
                prop_assert_eq!(out, verdicts, "observe {:?} at {}", ids, now);
            }
            Op::InsertEach(events) => {
                let (mut each, mut seen) = (Vec::new(), Vec::new());
                for &(id, step) in events {
                    let now = self.next(step);
                    seen.push(self.insert(id, now));
                    each.push((id, Tick(now)));
                }
                let mut out = Vec::new();
                self.bloom.insert_each(each.len(), |i| each[i], &mut out);
                prop_assert_eq!(out, seen, "insert {:?}", each);
            }
            &Op::Panes(id, step) => {
                let now = self.tick(step);
                let spans = self.bloom.panes_at(id, Tick(now));
                let may = self.live(now).map(|live| self.spans(id, live));
                prop_assert!(may.contains(&spans), "panes of {id} at {now}: {spans:?}, not {may:?}");
            }
            &Op::Maintain(step, budget) => {
                let now = self.next(step);
                let budget = if self.in_one { budget } else { usize::MAX };
                let more = self.ring.maintain(now, budget);
                prop_assert_eq!(self.bloom.maintain_at(Tick(now), budget), more, "maintain at {}", now);
            }
            &Op::Advance(step) => {
                let now = self.next(step);
                self.ring.advance(now);
                self.bloom.advance_to(Tick(now));
            }
        }
        Ok(())
    }
}

fn run(setting: Setting, ops: &[Op]) -> Result<(), TestCaseError> {
    let mut pair = Pair::new(setting);
    for op in ops {
        pair.both(op)?;
    }
    // Its sample takes long where panes lie apart.
    if ops.len().is_multiple_of(8) && pair.bloom.plan().panes <= 64 {
        let stats = pair.bloom.stats();
        let counts = (stats.rotations, stats.late, stats.jumps);
        prop_assert_eq!(counts, (pair.ring.rotations, pair.ring.late, pair.ring.jumps), "{:?}", stats);
    }
    Ok(())
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Same),
        8 => any::<u64>().prop_map(Step::Little),
        3 => any::<u64>().prop_map(Step::Ahead),
        4 => (0..4_u64, -1..=1_i8).prop_map(|(n, by)| Step::Border(n, by)),
        4 => (0..4_u64, -1..=1_i8).prop_map(|(n, by)| Step::Lead(n, by)),
        2 => (-1..=1_i8).prop_map(Step::Guaranteed),
        1 => (0..4_u64).prop_map(Step::Far),
        3 => any::<u64>().prop_map(Step::Late),
        1 => Just(Step::Zero),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let id = || 0..IDS;
    let ids = || {
        let len = prop_oneof![Just(0_usize), Just(1), Just(15), Just(16), Just(17), 2..40_usize];
        len.prop_flat_map(move |len| prop::collection::vec(id(), len))
    };
    let op = prop_oneof![
        8 => (id(), steps()).prop_map(|(id, step)| Op::Insert(id, step)),
        8 => (id(), steps()).prop_map(|(id, step)| Op::Observe(id, step)),
        8 => (id(), steps()).prop_map(|(id, step)| Op::Contains(id, step)),
        1 => (ids(), steps()).prop_map(|(ids, step)| Op::InsertBatch(ids, step)),
        1 => (ids(), steps()).prop_map(|(ids, step)| Op::ObserveBatch(ids, step)),
        1 => prop::collection::vec((id(), steps()), 0..40).prop_map(Op::InsertEach),
        3 => (id(), steps()).prop_map(|(id, step)| Op::Panes(id, step)),
        2 => (steps(), prop_oneof![0..3_usize, Just(usize::MAX)]).prop_map(|(s, n)| Op::Maintain(s, n)),
        2 => steps().prop_map(Op::Advance),
    ];
    prop::collection::vec(op, 1..120)
}

fn layouts() -> impl Strategy<Value = Layout> {
    prop::sample::select(common::blocks::LAYOUTS.to_vec())
}

fn settings() -> impl Strategy<Value = Setting> {
    let window = prop_oneof![1..20_u64, 1..3_000_u64, Just(3_600_000_000_000), Just(Window::MAX_TICKS / 4)];
    let panes = prop_oneof![
        2 => Just(Panes::Number(2)),
        4 => (3..12_usize).prop_map(Panes::Number),
        1 => Just(Panes::Number(64)),
        // In parts of the window.
        3 => (1..20_u64).prop_map(Panes::Length),
    ];
    let rotation = prop::sample::select(vec![
        Rotation::ByCalls,
        Rotation::ByCalls,
        Rotation::ByCalls,
        Rotation::Hybrid,
        Rotation::Scheduled,
    ]);
    let first = prop_oneof![Just(0), 0..10_000_u64, Just(1 << 40), Just(1_700_000_000_000_000_000)];
    let late = prop_oneof![2 => Just(0), 1 => 1..100_u64];
    let jump = prop_oneof![3 => Just(None), 1 => (1..5_000_u64).prop_map(Some)];
    (any::<bool>(), window, late, panes, layouts(), rotation, jump, first)
        .prop_map(|(by_time, window, lateness, panes, layout, rotation, max_jump, first)| {
            let panes = match panes {
                Panes::Length(parts) => Panes::Length((window / parts).max(1)),
                number => number,
            };
            Setting { by_time, window, lateness, panes, layout, rotation, max_jump, first }
        })
        // A pane of 1 tick may be too many of them with a lateness.
        .prop_filter("too many panes", |setting| setting.builder().plan().is_ok())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    #[test]
    fn any_calls(setting in settings(), ops in ops()) {
        run(setting, &ops)?;
    }

    /// Where ticks end.
    #[test]
    fn the_end_of_time(window in 1..3_000_u64, panes in 2..9_usize, before in 0..20_000_u64, ops in ops()) {
        let setting = Setting {
            by_time: false,
            window,
            lateness: 0,
            panes: Panes::Number(panes),
            layout: Layout::Rows(2),
            rotation: Rotation::ByCalls,
            max_jump: None,
            first: u64::MAX - before,
        };
        run(setting, &ops)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 25, ..ProptestConfig::default() })]

    /// As many panes as there can be, each a tick or more.
    #[test]
    fn a_thousand_panes(window in 900..5_000_u64, ops in ops(), seeded in any::<bool>()) {
        let layout = if seeded { Layout::SeededArrays } else { Layout::Arrays };
        let setting = Setting {
            by_time: false,
            window,
            lateness: 0,
            panes: Panes::Number(1000),
            layout,
            rotation: Rotation::ByCalls,
            max_jump: None,
            first: 5,
        };
        run(setting, &ops)?;
    }
}

/// Window, panes and pane of the tests below: 7 panes of 80 ticks less 10.
fn small(layout: Layout) -> BloomBuilder {
    let builder = RotatingBloom::builder(Window::last_n(550)).panes(8).layout(layout).seed(Seed(7));
    builder.expected_ids(2_000).error(1e-7)
}

/// Calls so rare that none falls into the last 8th of a pane.
#[test]
fn rare_calls_keep_nothing_longer() {
    let bloom = small(Layout::Rows(1)).build().expect("valid");
    for pane in 0..20_u64 {
        assert!(!bloom.insert_at(pane, Tick(80 * pane)));
    }
    // A silence of a window and a half, and one call.
    bloom.insert_at(100, Tick(2_400));
    assert!(!bloom.contains_at(19, Tick(2_400)), "put in at 1520");
    assert!(bloom.contains_at(100, Tick(2_950)));
    assert_eq!(bloom.stats().late, 0);
}

/// A tick too far ahead is known as such from the second call on, however much the first one has left to be cleared.
#[test]
fn jumps_from_the_first_call_on() {
    let bloom = RotatingBloom::builder(Window::last_n(2_904)).panes(2).max_jump(Window::last_n(1));
    let bloom = bloom.layout(Layout::Rows(1)).expected_ids(1_000).error(1e-9).build().expect("valid");
    // Near the end of its pane.
    bloom.insert_at(1, Tick(6_600));
    bloom.insert_at(2, Tick(9_490));
    assert_eq!((bloom.stats().jumps, bloom.stats().rotations), (1, 1));
}

/// After a silence that is longer than what may be jumped, `advance_to` moves on.
#[test]
fn advance_to_is_believed() {
    let bloom = small(Layout::Rows(1)).max_jump(Window::last_n(1_000)).build().expect("valid");
    bloom.insert_at(1, Tick(100));
    bloom.maintain_at(Tick(10_000), usize::MAX);
    assert!(bloom.contains_at(1, Tick(10_000)) && bloom.stats().jumps > 0);
    bloom.advance_to(Tick(10_000));
    assert!(!bloom.contains_at(1, Tick(10_000)));
    bloom.insert_at(2, Tick(10_001));
    assert!(bloom.contains_at(2, Tick(10_550)) && !bloom.contains_at(2, Tick(10_701)));
}

/// The first arrival counts, for a window.
#[test]
fn observe_readmits_after_the_window() {
    for layout in common::blocks::LAYOUTS {
        let bloom = small(layout).build().expect("valid");
        let answers: Vec<u64> = (0..3_000).filter(|&now| bloom.observe_at(1, Tick(now)).is_fresh()).collect();
        for pair in answers.windows(2) {
            assert!((551..=640 - 10).contains(&(pair[1] - pair[0])), "{layout}: {answers:?}");
        }
        assert!(answers.len() >= 4, "{layout}: {answers:?}");
    }
}

/// T = 120 s, the same id each 60 s, no refresh: new, twice seen, new. (The window's last tick is in it, and forgetting takes some longer.)
#[test]
fn window_edge() {
    let bloom = RotatingBloom::builder(Duration::from_secs(120)).panes(64).build().expect("valid");
    let at = |secs: u64| Tick(secs * 1_000_000_000);
    let fresh: Vec<bool> = (0..6).map(|i| bloom.observe_at("id", at(60 * i)).is_fresh()).collect();
    assert_eq!(fresh, [true, false, false, true, false, false]);
}

#[test]
fn unions() {
    for layout in [Layout::Rows(1), Layout::Rows(3), Layout::Blocks(256), Layout::Arrays] {
        let built = || small(layout).build().expect("valid");
        // One is at 500 and the other at 900.
        for (ours, theirs) in [(500_u64, 900_u64), (900, 500), (700, 700)] {
            let (one, other) = (built(), built());
            (0..=ours).for_each(|id| {
                one.insert_at(id, Tick(id));
            });
            (0..=theirs).for_each(|id| {
                other.insert_at(id % 300 + id / 300 * 10_000, Tick(id));
            });
            one.union(&other).expect("the same geometry");
            let now = Tick(ours.max(theirs));
            for id in now.0 - 550..=ours {
                assert!(one.contains_at(id, now), "{layout}, {ours} {theirs}: {id}");
            }
            for id in now.0 - 550..=theirs {
                let id = id % 300 + id / 300 * 10_000;
                assert!(one.contains_at(id, now), "{layout}, {ours} {theirs}: {id}");
            }
            // And not for longer than by themselves.
            let late = Tick(now.0 + 640);
            assert!((0..1_000_u64).all(|id| !one.contains_at(id, late)), "{layout}, {ours} {theirs}");
            let again = one.stats().panes;
            one.union(&other).expect("the same geometry");
            one.union(&one).expect("itself");
            assert_eq!(one.stats().panes, again, "once more changes nothing");
        }
    }
}

#[test]
fn unions_of_others_are_refused() {
    let bloom = small(Layout::Rows(2)).build().expect("valid");
    bloom.insert_at(1, Tick(0));
    let before = bloom.stats();
    let refused = |other: BloomBuilder, value: &str| {
        let other = other.build().expect("valid");
        other.insert_at(2, Tick(0));
        let error = bloom.union(&other).expect_err("refused");
        assert!(error.field == "other" && error.to_string().contains(value), "{error}");
        assert_eq!(bloom.stats(), before);
    };
    refused(small(Layout::Rows(2)).seed(Seed(8)), "another seed");
    refused(small(Layout::Rows(3)), "3 rows");
    refused(small(Layout::Rows(2)).panes(9), "9 panes");
    refused(small(Layout::Rows(2)).expected_ids(3_000), "bytes");
    refused(small(Layout::Rows(2)).lateness(Window::last_n(100)), "8 panes of 95 events");
    let seeded = || small(Layout::SeededArrays).build().expect("valid");
    assert!(seeded().union(&seeded()).expect_err("refused").to_string().contains("seeds of their own"));
    assert_eq!(seeded().distinct_at(Tick(0)), None);
}

/// All three questions, in every layout, at lengths around the look ahead.
#[test]
fn batches_equal_single_calls() {
    for layout in common::blocks::LAYOUTS {
        let (one, other) = (small(layout).build().expect("valid"), small(layout).build().expect("valid"));
        let (mut random, mut now) = (common::Random(9), 0);
        for len in [0, 1, 15, 16, 17, 1000, 2, 33, 1000] {
            let ids: Vec<u64> = (0..len).map(|_| random.below(1_500)).collect();
            let events: Vec<(u64, Tick)> =
                ids.iter().map(|&id| (id, Tick(now + random.below(200)))).collect();
            now += random.below(150);
            let at = Tick(now);
            let (mut seen, mut verdicts) = (vec![true; 3], vec![Verdict::Fresh; 3]);

            one.contains_batch_at(&ids, at, &mut seen);
            assert_eq!(seen, ids.iter().map(|id| other.contains_at(id, at)).collect::<Vec<_>>());
            one.observe_batch_at(&ids, at, &mut verdicts);
            assert_eq!(verdicts, ids.iter().map(|id| other.observe_at(id, at)).collect::<Vec<_>>());
            one.insert_batch_at(&ids, at, &mut seen);
            assert_eq!(seen, ids.iter().map(|id| other.insert_at(id, at)).collect::<Vec<_>>());

            let n = events.len();
            (seen, verdicts) = (Vec::new(), Vec::new());
            one.insert_each(n, |i| events[i], &mut seen);
            assert_eq!(seen, events.iter().map(|(id, at)| other.insert_at(id, *at)).collect::<Vec<_>>());
            one.observe_each(n, |i| events[i], &mut verdicts);
            assert_eq!(verdicts, events.iter().map(|(id, at)| other.observe_at(id, *at)).collect::<Vec<_>>());
            seen.clear();
            one.contains_each(n, |i| events[i], &mut seen);
            assert_eq!(seen, events.iter().map(|(id, at)| other.contains_at(id, *at)).collect::<Vec<_>>());
        }
        assert_eq!(one.stats(), other.stats(), "{layout}");
    }
}

/// The short forms read the clock: a manual one, and the count of arrivals.
#[test]
fn clocks() {
    let (clock, hand) = Clock::manual(Tick(5));
    let bloom = small(Layout::Rows(1)).clock(clock).build().expect("valid");
    assert!(!bloom.insert("a") && bloom.insert("a") && bloom.contains("a"));
    hand.advance(550);
    assert!(bloom.contains("a"));
    hand.set(Tick(0)); // back: as in the newest pane
    assert!(bloom.contains("a") && !bloom.insert("b"));
    hand.set(Tick(5 + 640));
    assert!(!bloom.contains("a") && bloom.observe("a").is_fresh() && !bloom.observe("a").is_fresh());

    let bloom = RotatingBloom::builder(Window::last_n(1_000)).expected_ids(1_000).error(1e-7).build();
    let bloom = bloom.expect("valid");
    let (mut seen, mut verdicts) = (Vec::new(), Vec::new());
    for from in (0..10_000_u64).step_by(500) {
        let ids: Vec<u64> = (from..from + 500).collect();
        bloom.insert_batch(&ids, &mut seen);
        assert!(seen.iter().all(|seen| !seen));
        // Each observation is an arrival as well, looks are not.
        bloom.contains_batch(&ids, &mut seen);
        assert!(seen.iter().all(|&seen| seen));
        bloom.observe_batch(&ids, &mut verdicts);
        assert!(verdicts.iter().all(|verdict| !verdict.is_fresh()));
        assert!(from < 1_000 || !bloom.contains(from - 1_000));
    }
}

/// Figures after so many ids in each pane as the size is for, a third more, and next to none.
#[test]
fn stats_and_advice() {
    for layout in common::blocks::LAYOUTS {
        for (part, advice) in [(1.0, None), (1.4, Some("too full")), (0.1, Some("mostly empty"))] {
            let bloom = small(layout).error(0.01).expected_ids(20_000).build().expect("valid");
            assert_eq!((bloom.stats().load, bloom.stats().advice()), (None, None));
            let each = (20_000.0 / 550.0 * part) as u64;
            let mut random = common::Random(3);
            for now in 0..2_000 {
                (0..each).for_each(|_| {
                    bloom.insert_at(random.next(), Tick(now));
                });
            }
            let stats = bloom.stats();
            let load = stats.load.expect("panes are over");
            let part = each as f64 * 550.0 / 20_000.0;
            assert!((load / part - 1.0).abs() < 0.05, "{layout}: {stats:?}");
            assert_eq!(
                stats.advice().map(|text| &text[..8]),
                advice.map(|text| &text[..8]),
                "{layout}: {stats:?}"
            );
            let sigma = (stats.expected_error / 65_536.0).sqrt();
            let off = stats.sampled_error - stats.expected_error;
            assert!(off.abs() < 0.12 * stats.expected_error + 4.0 * sigma, "{layout}: {stats:?}");
            assert!(stats.panes.iter().skip(1).all(|pane| pane.fill > 0.0 && pane.fill < 1.0));
            assert_eq!(stats.panes[0].span.start, Tick(1_920));
            assert_eq!((stats.rotations, stats.late, stats.jumps), (24, 0, 0), "{layout}");
            let distinct = bloom.distinct_at(Tick(1_999));
            assert_eq!(distinct.is_none(), layout == Layout::SeededArrays);
            if let Some(distinct) = distinct {
                // Seven panes, the eighth retired.
                let ids = (each * 560) as f64;
                assert!(
                    (distinct.ids - ids).abs() < 4.0 * distinct.error + 1.0,
                    "{layout}: {distinct:?} {ids}"
                );
            }
        }
    }
}

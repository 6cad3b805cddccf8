//! The rotating Bloom filter on real logs: never a miss where the reference answers say "seen", and no more errors than are stated.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute
#![allow(clippy::cast_precision_loss)]

use std::{
    collections::{HashMap, VecDeque},
    sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};

use crate::common::{
    self,
    blocks::{LAYOUTS, expected, place, shape},
    ring::Ring,
};
use serde_json::Value;
use windlass::{BloomBuilder, KeyHash, Layout, RotatingBloom, Rotation, Seed, Tick};

const NANOS: u64 = 1_000_000;

/// Events in an order: times, and ids by number and by hash.
struct Stream {
    name: String,
    ms: Vec<u64>,
    ids: Vec<u64>,
    hashes: Vec<KeyHash>,
}

/// What the reference says of a window and a pane.
struct Answers<'a> {
    window: u64,
    pane: u64,
    member: &'a Value,
    distinct: &'a Value,
}

/// Calls with every order of a view.
fn each_order(file: &str, view: &str, check: impl Fn(&Stream, &[Answers<'_>])) {
    let Some(data) = common::data() else { return };
    let all = common::answers::answers(&data);
    let answers = all[file][view].as_object().expect("the view");
    let events = common::streams::read(&data, file, view);
    let mut orders = 0;
    for (order, answers) in answers.iter().filter(|(_, answers)| answers.get("member").is_some()) {
        let mut known = HashMap::new();
        let (mut ms, mut ids, mut hashes) = (Vec::new(), Vec::new(), Vec::new());
        for (at, id) in common::streams::ordered(&events, order) {
            let next = known.len() as u64;
            ms.push(at);
            ids.push(*known.entry(id).or_insert(next));
            hashes.push(Seed(7).hash(id));
        }
        let stream = Stream { name: format!("{view}, {order}"), ms, ids, hashes };
        let member = answers["member"].as_object().expect("answers");
        let each = member.iter().map(|(name, member)| {
            let (window, pane) = name.split_once(',').expect("a window and a pane");
            let number =
                |text: &str, name| text.strip_prefix(name).expect("a name").parse().expect("a number");
            let distinct = &answers["distinct"][name];
            Answers { window: number(window, "W="), pane: number(pane, "P="), member, distinct }
        });
        let answers: Vec<_> = each.collect();
        assert_eq!(answers.len(), 4, "{view}, {order}");
        check(&stream, &answers);
        orders += 1;
    }
    assert!(orders > 0);
}

/// By the definition: seen in the pane of now, or one of the window's panes before it. Checked against the reference.
fn seen_in_panes(stream: &Stream, answers: &Answers<'_>) -> Vec<bool> {
    let mut last = HashMap::new();
    let seen: Vec<bool> = stream
        .ids
        .iter()
        .zip(&stream.ms)
        .map(|(id, ms)| {
            let pane = ms / answers.pane;
            let before = last.insert(id, pane);
            before.is_some_and(|before| pane - before < answers.window / answers.pane)
        })
        .collect();
    let bits: String = seen.iter().map(|&seen| if seen { '1' } else { '0' }).collect();
    let (what, expected) = (&stream.name, &answers.member["pane"]);
    common::answers::check(expected, &bits, &[what]);
    seen
}

/// How many different ids the window's panes have at the end of each, from the first event's to the last one's. Checked against the
/// reference.
fn distinct_in_panes(stream: &Stream, answers: &Answers<'_>) -> Vec<(u64, u64)> {
    let of = |ms: &u64| ms / answers.pane;
    let (first, last) = (of(&stream.ms[0]), of(&stream.ms[stream.ms.len() - 1]));
    let (mut events, mut window) = (stream.ms.iter().zip(&stream.ids).peekable(), VecDeque::new());
    let mut times = HashMap::new();
    let mut counts = Vec::new();
    let mut lines = String::new();
    for pane in first..=last {
        while let Some((ms, id)) = events.next_if(|(ms, _)| of(ms) == pane) {
            window.push_back((of(ms), id));
            *times.entry(id).or_insert(0) += 1;
        }
        while let Some(&(_, id)) = window.front().filter(|(of, _)| pane - of >= answers.window / answers.pane)
        {
            window.pop_front();
            let left: &mut u64 = times.get_mut(id).expect("counted");
            *left -= 1;
            if *left == 0 {
                times.remove(id);
            }
        }
        let end = (pane + 1) * answers.pane;
        lines.push_str(&format!("{end}\t{}\n", times.len()));
        counts.push((end, times.len() as u64));
    }
    let (what, expected) = (&stream.name, answers.distinct);
    assert_eq!(expected["panes"], counts.len(), "{what}");
    assert_eq!(expected["largest"], counts.iter().map(|count| count.1).max().expect("some"), "{what}");
    assert_eq!(expected["last"], counts[counts.len() - 1].1, "{what}");
    assert_eq!(expected["sha256"], common::sha256(lines), "{what}");
    counts
}

/// A filter, and how often it erred.
struct Tried {
    bloom: RotatingBloom,
    /// Of a pane with so many ids, as far as they have been asked for.
    errors: HashMap<usize, f64>,
    /// The chance that no live pane but the newest errs.
    older: f64,
    found: f64,
    expected: f64,
}

impl Tried {
    fn new(builder: BloomBuilder) -> Tried {
        Tried {
            bloom: builder.build().expect("valid"),
            errors: HashMap::new(),
            older: 1.0,
            found: 0.0,
            expected: 0.0,
        }
    }

    /// To eight binary digits of `ids`.
    fn error(&mut self, ids: usize) -> f64 {
        let step = (ids / 256).next_power_of_two();
        let ids = (ids + step / 2) / step * step;
        *self.errors.entry(ids).or_insert_with(|| expected(self.bloom.plan(), ids as f64).error)
    }

    fn turn(&mut self, ring: &Ring) {
        self.older = ring.live.iter().skip(1).map(|pane| 1.0 - self.error(pane.ids.len())).product();
    }

    /// What it said of an id that it does not hold.
    fn absent(&mut self, said: bool, ring: &Ring) {
        self.expected += 1.0 - self.older * (1.0 - self.error(ring.live[0].ids.len()));
        self.found += f64::from(u8::from(said));
    }
}

fn builder(answers: &Answers<'_>, layout: Layout) -> BloomBuilder {
    let ids = answers.distinct["largest"].as_u64().expect("a number");
    let builder = RotatingBloom::builder(Duration::from_millis(answers.window)).seed(Seed(7));
    builder.expected_ids(ids).layout(layout)
}

/// Every event in every layout, beside the reference and beside what the panes hold exactly.
fn each_event(stream: &Stream, answers: &[Answers<'_>]) {
    for (n, answers) in answers.iter().enumerate() {
        let seen = seen_in_panes(stream, answers);
        let distinct = distinct_in_panes(stream, answers);
        let aligned = |layout| builder(answers, layout).pane(Duration::from_millis(answers.pane));
        let all = LAYOUTS.map(|layout| Tried::new(aligned(layout)));
        judge(stream, answers, &seen, Some(&distinct), all.into());
        // Panes that are not the reference's: each layout for every second of the four.
        let plain = |layout| Tried::new(builder(answers, layout).panes(8));
        let some = LAYOUTS.into_iter().skip(n % 2).step_by(2);
        judge(stream, answers, &seen, None, some.map(plain).collect());
    }
}

fn judge(
    stream: &Stream,
    answers: &Answers<'_>,
    seen: &[bool],
    distinct: Option<&[(u64, u64)]>,
    mut all: Vec<Tried>,
) {
    let what = format!("{}, W={}, P={}", stream.name, answers.window, answers.pane);
    let plan = *all[0].bloom.plan();
    if distinct.is_some() {
        assert_eq!(plan.panes as u64, answers.window / answers.pane + 1);
    }
    let mut ring = Ring::new(plan.panes, plan.pane.ticks().expect("in range"), Rotation::ByCalls);
    let ends = distinct.unwrap_or_default();
    // Not at each end of thousands of panes.
    let step = (ends.len() / 200).max(1);
    let mut ends = ends.iter().step_by(step).peekable();
    for (i, &id) in stream.ids.iter().enumerate() {
        let now = Tick(stream.ms[i] * NANOS);
        while let Some(end) = ends.next_if(|end| end.0 <= stream.ms[i]) {
            all.iter().for_each(|tried| check_distinct(&what, &tried.bloom, end));
        }
        let turns = ring.rotations;
        ring.enter(now.0);
        let held = ring.has(id, ring.live.len());
        assert!(held || !seen[i], "{what}: the twin forgets event {i}");
        for tried in &mut all {
            if turns < ring.rotations || i == 0 {
                tried.turn(&ring);
            }
            let said = tried.bloom.insert_at(stream.hashes[i], now);
            assert!(said || !held, "{what}: {} misses event {i}", tried.bloom.plan());
            if !held {
                tried.absent(said, &ring);
            }
        }
        ring.put(id);
    }
    for tried in all {
        let most = 1.3 * tried.expected + 3.0 * tried.expected.sqrt();
        let plan = tried.bloom.plan();
        assert!(tried.found <= most, "{what}: {plan}: {} and not {}", tried.found, tried.expected);
        let stats = tried.bloom.stats();
        assert_eq!((stats.rotations, stats.late), (ring.rotations, ring.late), "{what}: {plan}");
    }
}

/// At a pane's end: the window's panes are those that are live.
fn check_distinct(what: &str, bloom: &RotatingBloom, &(end, count): &(u64, u64)) {
    let plan = bloom.plan();
    let distinct = bloom.distinct_at(Tick(end * NANOS - 1));
    if plan.layout == Layout::SeededArrays {
        assert_eq!(distinct, None);
        return;
    }
    let (bits, _) = shape(plan.layout);
    let blocks = (plan.bits / place(plan.layout, plan.panes)) as f64;
    // All panes of a window together may leave no bit clear, if there are many of them; and a few blocks do not tell how they differ.
    let clear = blocks
        * f64::from(bits)
        * (-(count as f64) * f64::from(plan.probes) / (blocks * f64::from(bits))).exp();
    if clear < 100.0 || blocks < 30.0 {
        return;
    }
    let distinct = distinct.expect("bits are clear");
    let off = (distinct.ids - count as f64).abs();
    assert!(off <= 3.0 * distinct.error + 1.0, "{what}: {plan}: {distinct:?} and not {count}");
}

/// Two threads share the ids, a third one moves the panes on.
fn beside_a_rotator(stream: &Stream, answers: &[Answers<'_>]) {
    for (n, answers) in answers.iter().enumerate() {
        let seen = seen_in_panes(stream, answers);
        for (layout, aligned) in
            LAYOUTS.into_iter().skip(n % 2).step_by(2).flat_map(|layout| [(layout, true), (layout, false)])
        {
            let builder = builder(answers, layout).rotation(Rotation::Scheduled);
            let builder = if aligned { builder.pane(Duration::from_millis(answers.pane)) } else { builder };
            let bloom = builder.build().expect("valid");
            let reached = [const { AtomicU64::new(0) }; 2];
            let missed = AtomicBool::new(false);
            thread::scope(|scope| {
                for (thread, reached) in reached.iter().enumerate() {
                    let (bloom, missed, seen) = (&bloom, &missed, &seen);
                    scope.spawn(move || {
                        for (i, &hash) in stream.hashes.iter().enumerate() {
                            if stream.ids[i] % 2 != thread as u64 {
                                continue;
                            }
                            let now = Tick(stream.ms[i] * NANOS);
                            reached.store(now.0, SeqCst);
                            if !bloom.insert_at(hash, now) && seen[i] {
                                missed.store(true, SeqCst);
                            }
                        }
                        reached.store(u64::MAX, SeqCst);
                    });
                }
                scope.spawn(|| {
                    loop {
                        let now = reached.iter().map(|at| at.load(SeqCst)).min().unwrap_or(u64::MAX);
                        if now == u64::MAX {
                            return;
                        }
                        bloom.advance_to(Tick(now));
                        thread::yield_now();
                    }
                });
            });
            assert!(
                !missed.into_inner(),
                "{}, W={}, P={}: {}",
                stream.name,
                answers.window,
                answers.pane,
                bloom.plan()
            );
        }
    }
}

/// A filter that was restored answers as the original on the rest of a stream, in every layout.
fn from_a_snapshot_on(stream: &Stream, answers: &[Answers<'_>]) {
    for (n, answers) in answers.iter().enumerate() {
        for layout in LAYOUTS.into_iter().skip(n % 2).step_by(2) {
            let aligned = || builder(answers, layout).pane(Duration::from_millis(answers.pane));
            crate::snapshot::rest_of(&stream.ms, &stream.hashes, aligned);
        }
    }
}

/// A million made-up ids, at the fill that real ones leave.
#[test]
fn pooled_errors() {
    each_order("mooncake-conversation-00-30min.jsonl", "mooncake", |stream, answers| {
        let answers = answers.iter().find(|answers| answers.pane == 60_000).expect("minutes");
        for layout in LAYOUTS {
            let mut tried = Tried::new(builder(answers, layout));
            let plan = *tried.bloom.plan();
            let mut ring = Ring::new(plan.panes, plan.pane.ticks().expect("in range"), Rotation::ByCalls);
            let mut probes = 0;
            for (i, &id) in stream.ids.iter().enumerate() {
                let now = Tick(stream.ms[i] * NANOS);
                ring.insert(id, now.0);
                tried.bloom.insert_at(stream.hashes[i], now);
                if i % 1400 == 0 {
                    tried.turn(&ring);
                    for _ in 0..10_000 {
                        let said = tried.bloom.contains_at(1 << 40 | probes, now);
                        tried.absent(said, &ring);
                        probes += 1;
                    }
                }
            }
            assert!(probes > 1_000_000);
            let ratio = tried.found / tried.expected;
            assert!((0.9..1.1).contains(&ratio), "{plan}: {} and not {}", tried.found, tried.expected);
        }
    });
}

macro_rules! views {
    ($($name:ident: $file:literal, $view:literal;)+) => {$(
        mod $name {
            #[test]
            fn each_event() {
                super::each_order($file, $view, super::each_event);
            }

            #[test]
            fn from_a_snapshot_on() {
                super::each_order($file, $view, super::from_a_snapshot_on);
            }

            #[test]
            fn beside_a_rotator() {
                super::each_order($file, $view, super::beside_a_rotator);
            }
        }
    )+};
}

views! {
    nasa: "nasa-http-1995-08-01-0000-0959.tsv", "nasa";
    apache: "apache-semicomplete-2015-05-17_18.log", "apache";
    zeek: "zeek-dns-171520-172114.jsonl", "zeek-dns";
    zeek_by_arrival: "zeek-dns-171520-172114.jsonl", "zeek-dns-arrival";
    mooncake: "mooncake-conversation-00-30min.jsonl", "mooncake";
}

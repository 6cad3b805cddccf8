//! Bounded memory: bounds hold at every question, over any stream.

use super::{
    common::{self, Random, Together, streams},
    plain::{Grid, Plain, check},
};
use proptest::prelude::*;
use std::{
    collections::BTreeMap,
    sync::atomic::{
        AtomicU64,
        Ordering::{Relaxed, SeqCst},
    },
    thread,
    time::Duration,
};
use windlass::{
    Added, BoundedTopK, BoundedTopKBuilder, KeyHash, Namespaced, Seed, Tick, TopKey, TopSnapshot, Window,
};

pub(crate) const GRID: Grid = Grid { pane: 100, panes: 12, lateness: 0 };

pub(crate) fn builder(grid: &Grid, k: usize) -> BoundedTopKBuilder {
    let (window, pane) = (Window::last_n(grid.pane * grid.panes), Window::last_n(grid.pane));
    BoundedTopK::builder(window, pane, k).lateness(Window::last_n(grid.lateness)).key_bytes(0).seed(Seed(7))
}

/// The least that there can be.
fn least(grid: &Grid, k: usize) -> u64 {
    let error = builder(grid, k).memory(0).build().expect_err("no memory");
    error.limit.split(' ').next().expect("a number").parse().expect("a number")
}

#[track_caller]
fn add(top: &BoundedTopK, plain: &mut Plain, grid: &Grid, key: u64, n: u64, now: u64) {
    let late = plain.add(grid, key, n, now);
    assert_eq!(top.add_at(key, n, Tick(now)), if late { Added::Late } else { Added::Counted });
}

#[track_caller]
fn check_bounds(top: &BoundedTopK, counts: &BTreeMap<u64, u64>, keys: impl Iterator<Item = u64>, now: u64) {
    for key in keys {
        let (lower, upper) = top.bounds_at(key, Tick(now));
        let truth = counts.get(&key).copied().unwrap_or(0);
        assert!((lower..=upper).contains(&truth), "{key}: {lower} {truth} {upper}");
    }
}

#[track_caller]
fn check_all(top: &BoundedTopK, plain: &Plain, grid: &Grid, k: usize, now: u64) -> bool {
    let (current, complete) = (plain.counts(grid.current(now)), plain.counts(grid.complete(now)));
    check_bounds(top, &current, current.keys().copied().chain([u64::MAX]), now);
    check(&top.top_complete_at(Tick(now)), &complete, k);
    let list = top.top_at(Tick(now));
    assert!(list.rows.is_sorted_by_key(|row| (std::cmp::Reverse(row.count), row.key.clone())));
    assert_eq!(list.total, current.values().fold(0, |sum: u64, n| sum.saturating_add(*n)));
    check(&list, &current, k)
}

/// Before the next pane: waits until what has left is clear again. (Other tests may hold the epoch back for a while.)
fn await_tables(top: &BoundedTopK) {
    let mut looks = 0;
    while !top.is_ready() {
        thread::yield_now();
        looks += 1;
        assert!(looks < 1_000_000, "{:?}", top.stats());
    }
}

/// Events (key, how often) of each pane, in order. How many lists were certified, of all.
fn run(top: &BoundedTopK, k: usize, panes: impl Iterator<Item = Vec<(u64, u64)>>) -> (u64, u64) {
    let (mut plain, mut certified) = (Plain::default(), (0, 0));
    for (pane, events) in panes.enumerate() {
        let start = pane as u64 * GRID.pane;
        for (i, &(key, n)) in events.iter().enumerate() {
            let now = start + i as u64 * (GRID.pane - 1) / events.len() as u64;
            add(top, &mut plain, &GRID, key, n, now);
            if i == events.len() / 2 && pane % 3 == 0 {
                check_all(top, &plain, &GRID, k, now);
            }
        }
        certified.0 += u64::from(check_all(top, &plain, &GRID, k, start + GRID.pane - 1));
        certified.1 += 1;
        await_tables(top);
    }
    assert_eq!(top.stats().without, 0);
    certified
}

fn tight(k: usize) -> BoundedTopK {
    builder(&GRID, k).memory(least(&GRID, k) + 4000).build().expect("valid")
}

#[test]
fn a_hot_set_that_goes_round() {
    let top = tight(10);
    let hot = |pane: u64| 50 * (1 + pane.abs_diff(30) % 30);
    let events = |pane| {
        let hot_ones = (0..10).map(move |i| (pane * 10 + i, hot(pane) + i));
        hot_ones.chain((0..300).map(|i| (100_000 + i, 1))).collect()
    };
    run(&top, 10, (0..90).map(events));
}

#[test]
fn all_are_equal() {
    let events = |_| (0..200).map(|key| (key * 7919 % 200, 3)).collect();
    run(&tight(10), 10, (0..40).map(events));
    // With room for all lists are exact, ties or not.
    let top = builder(&GRID, 10).memory(1 << 20).build().expect("valid");
    let (certified, lists) = run(&top, 10, (0..40).map(events));
    assert_eq!(certified, lists);
}

/// In every pane one key is just behind the list, and over the window it is the first.
#[test]
fn always_second() {
    let events = |pane: u64| {
        let others = (0..10).map(|i| (1000 + pane * 10 + i, 101));
        others.chain([(7, 100)]).chain((0..100).map(|i| (5000 + i, 1))).collect()
    };
    run(&tight(10), 10, (0..50).map(events));
    let top = builder(&GRID, 10).memory(1 << 20).build().expect("valid");
    run(&top, 10, (0..50).map(events));
    assert_eq!(top.top_at(Tick(4999)).rows[0].key, TopKey::Number(7));
}

/// Keys that come but once, and a few that are hot, at the end of each pane: they come in.
#[test]
fn floods() {
    let events = |pane: u64| {
        let flood = (0..2000).map(|i| (1 << 40 | pane << 20 | i, 1));
        flood.chain((0..100).flat_map(|_| (0..5).map(|key| (key, 1 + key)))).collect()
    };
    let top = builder(&GRID, 5).memory(64 << 10).build().expect("valid");
    run(&top, 5, (0..30).map(events));
    let list = top.top_at(Tick(2999));
    let keys: Vec<_> = list.rows.iter().filter_map(|row| row.key.number()).collect();
    assert_eq!(keys, [4, 3, 2, 1, 0]);
    let truth = |key: u64| 12 * 100 * (1 + key);
    assert!(list.rows.iter().zip(keys).all(|(row, key)| row.count.abs_diff(truth(key)) < truth(key) / 2));
}

/// Counts beyond what a cell has room for, and a slot.
#[test]
fn weights() {
    let mut random = Random(3);
    for bits in [31, 32, 33, 40, 57] {
        let top = tight(3);
        let mut events = |_| {
            let one = |random: &mut Random| (random.below(60), (1 << bits) - 3 + random.below(7));
            (0..100)
                .map(|_| if random.below(3) == 0 { one(&mut random) } else { (random.below(400), 1) })
                .collect()
        };
        run(&top, 3, (0..20).map(&mut events));
    }
    let (top, mut plain) = (tight(3), Plain::default());
    for key in 0..200 {
        add(&top, &mut plain, &GRID, key, if key % 9 == 0 { 1 << 55 } else { 1 }, 5);
        check_all(&top, &plain, &GRID, 3, 5);
    }
    top.add_at(5_u64, u64::MAX, Tick(6));
    assert_eq!((top.bounds_at(5_u64, Tick(6)).1, top.total_at(Tick(6))), (u64::MAX, u64::MAX));
}

#[derive(Clone, Debug)]
enum Step {
    Add { key: u64, n: u64, ahead: i64 },
    Batch { first: u64, keys: u64, ahead: i64 },
    Ask { ahead: i64 },
    Maintain { ahead: i64, budget: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ahead = || prop_oneof![6 => 0..3_i64, 2 => -40..0_i64, 2 => 3..40_i64, 1 => 40..3000_i64];
    let key = || prop_oneof![0..5_u64, 0..500_u64];
    let n = prop_oneof![1..9_u64, 1..2000_u64, Just(1 << 32)];
    prop::collection::vec(
        prop_oneof![
            8 => (key(), n, ahead()).prop_map(|(key, n, ahead)| Step::Add { key, n, ahead }),
            4 => (0..1000_u64, 1..300_u64, ahead())
                .prop_map(|(first, keys, ahead)| Step::Batch { first, keys, ahead }),
            3 => ahead().prop_map(|ahead| Step::Ask { ahead }),
            1 => (ahead(), 0..200_usize).prop_map(|(ahead, budget)| Step::Maintain { ahead, budget }),
        ],
        1..150,
    )
}

fn twin(grid: &Grid, steps: &[Step], k: usize, more: u64) {
    let top = builder(grid, k).memory(least(grid, k) + more).build().expect("valid");
    let (mut plain, mut now) = (Plain::default(), 10_000_u64);
    for step in steps {
        match *step {
            Step::Add { key, n, ahead } => {
                now = now.saturating_add_signed(ahead);
                add(&top, &mut plain, grid, key, n, now);
            }
            Step::Batch { first, keys, ahead } => {
                now = now.saturating_add_signed(ahead);
                let keys: Vec<u64> = (first..first + keys).collect();
                let tally = top.add_batch_at(&keys, Tick(now));
                let late = keys.iter().filter(|&&key| plain.add(grid, key, 1, now)).count() as u64;
                assert_eq!((tally.late, tally.counted), (late, keys.len() as u64 - late));
            }
            Step::Ask { ahead } => {
                let now = now.saturating_add_signed(ahead);
                if plain.keeps(grid, now) {
                    check_all(&top, &plain, grid, k, now);
                } else {
                    check(&top.top_at(Tick(now)), &plain.counts(grid.current(now)), k);
                }
            }
            Step::Maintain { ahead, budget } => {
                let at = now.saturating_add_signed(ahead);
                plain.move_on(grid, at);
                top.maintain_at(Tick(at), budget);
            }
        }
        assert!(top.memory_bytes() <= least(grid, k) + more);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn as_a_plain_twin(
        pane in 1..20_u64,
        panes in prop_oneof![1..8_u64, 8..30_u64],
        lateness in prop_oneof![Just(0), 1..50_u64],
        steps in steps(),
        k in prop_oneof![1..5_usize, 5..40_usize],
        more in prop_oneof![0..5000_u64, Just(1 << 20)],
    ) {
        twin(&Grid { pane, panes, lateness }, &steps, k, more);
    }
}

/// Draws from a Zipf distribution: keys by rank, from 0.
pub(crate) fn zipf(keys: u64, exponent: f64, seed: u64) -> impl Iterator<Item = u64> {
    #[allow(clippy::cast_precision_loss)]
    let sums: Vec<f64> = (1..=keys)
        .scan(0.0, |sum, rank| {
            *sum += (rank as f64).powf(-exponent);
            Some(*sum)
        })
        .collect();
    let (all, mut random) = (*sums.last().expect("keys"), Random(seed));
    #[allow(clippy::cast_precision_loss)]
    std::iter::repeat_with(move || {
        let at = (random.next() >> 11) as f64 / (1_u64 << 53) as f64 * all;
        sums.partition_point(|&sum| sum <= at) as u64
    })
}

/// Of the mean of 20 lists of 100 keys 0.999 are those that they should be, in 1 MiB, after one window of 16 panes.
#[test]
fn recall() {
    const LISTS: u64 = 20;
    let (keys, events) = if cfg!(debug_assertions) { (200_000, 1_600_000) } else { (1_000_000, 10_000_000) };
    let (window, pane) = (Window::last_n(events), Window::last_n(events / 16));
    let top = BoundedTopK::builder(window, pane, 100).memory(1 << 20).key_bytes(0).seed(Seed(5));
    let top = top.build().expect("valid");
    let draws: Vec<u64> =
        zipf(keys, 1.0, 1).take(usize::try_from(events + LISTS * events / 16).expect("memory")).collect();
    let at = |i: u64| usize::try_from(i).expect("an index");
    let (mut counts, mut found) = (vec![0_u64; at(keys)], 0);
    for (i, &key) in draws.iter().enumerate() {
        let i = i as u64;
        // Over the panes that are complete.
        counts[at(key)] += 1;
        if i >= events {
            counts[at(draws[at(i - events)])] -= 1;
        }
        top.add_at(key, 1, Tick(i));
        if (i + 1).is_multiple_of(events / 16) && i + 1 > events {
            let list = top.top_complete_at(Tick(i + 1));
            let mut all: Vec<u64> = (0..keys).collect();
            all.select_nth_unstable_by_key(99, |&key| (std::cmp::Reverse(counts[at(key)]), key));
            let truth: std::collections::HashSet<_> = all[..100].iter().copied().collect();
            found +=
                list.rows.iter().filter(|row| truth.contains(&row.key.number().expect("a number"))).count();
            assert_eq!((list.rows.len(), list.total), (100, events));
        }
        if (i + 1).is_multiple_of(events / 16) {
            await_tables(&top);
        }
    }
    assert_eq!(top.stats().without, 0);
    assert!(found >= 1998, "{found} of {}", LISTS * 100);
}

/// Real logs: bounds at the end of every pane.
fn logs(file: &str, view: &str, pane: u64, k: usize) {
    let Some(data) = common::data() else { return };
    let events = streams::read(&data, file, view);
    let stream = streams::ordered_by(&events, "sorted", |event| &event.key);
    let millis = Duration::from_millis;
    let top =
        BoundedTopK::builder(millis(pane * 10), millis(pane), k).memory(128 << 10).build().expect("valid");
    let mut counts = BTreeMap::<(u64, &str), u64>::new();
    let tick = |ms| Tick::from_millis(ms).expect("in range");
    let mut newest = stream[0].0 / pane;
    let ask = |counts: &BTreeMap<(u64, &str), u64>, end: u64| {
        let mut sums = BTreeMap::<&str, u64>::new();
        for (&(_, key), n) in counts.range((end.saturating_sub(10), "")..(end, "")) {
            *sums.entry(key).or_default() += n;
        }
        let list = top.top_complete_at(tick(end * pane));
        against(&list, &sums, k);
    };
    for &(ms, key) in &stream {
        while newest < ms / pane {
            newest += 1;
            ask(&counts, newest);
            top.maintain_at(tick(newest * pane), 1000);
        }
        *counts.entry((newest, key)).or_default() += 1;
        assert_eq!(top.add_at(key, 1, tick(ms)), Added::Counted);
    }
    ask(&counts, newest + 1);
}

#[track_caller]
fn against(list: &TopSnapshot, counts: &BTreeMap<&str, u64>, k: usize) {
    let mut all: Vec<(&str, u64)> = counts.iter().map(|(&key, &n)| (key, n)).collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let told: Vec<_> = list.rows.iter().map(|row| (row.key.to_string(), row)).collect();
    for (key, row) in &told {
        let truth = counts.get(key.as_str()).copied().unwrap_or(0);
        assert!((row.lower..=row.upper).contains(&truth), "{row:?}: {truth}");
    }
    let missing = all.iter().find(|(key, _)| told.iter().all(|one| one.0 != *key));
    assert!(missing.is_none_or(|(_, n)| *n <= list.tail), "{missing:?} {}", list.tail);
    if list.certified {
        let right: Vec<_> = all.iter().take(k).map(|&(key, n)| (key.to_string(), n)).collect();
        assert_eq!(told.into_iter().map(|(key, row)| (key, row.count)).collect::<Vec<_>>(), right);
    }
}

#[test]
fn real_logs() {
    logs("nasa-http-1995-08-01-0000-0959.tsv", "nasa", 60_000, 10);
    logs("apache-semicomplete-2015-05-17_18.log", "apache", 60_000, 20);
    logs("zeek-dns-171520-172114.jsonl", "zeek-dns", 10_000, 10);
    logs("mooncake-conversation-00-30min.jsonl", "mooncake", 10_000, 10);
}

/// Keys of all kinds come back as they went in, and those for which there is no room are counted.
#[test]
fn keys_of_all_kinds() {
    let top = builder(&GRID, 5).key_bytes(40).memory(200_000).build().expect("valid");
    let hash = KeyHash { hi: 5, lo: 9 };
    top.add_at(7_u64, 5, Tick(1));
    top.add_at("text", 4, Tick(1));
    top.add_at(hash, 3, Tick(1));
    top.add_at(Namespaced("a", "text"), 2, Tick(1));
    top.add_at(Namespaced("b", 7_u64), 1, Tick(1));
    let keys: Vec<_> = top.top_at(Tick(1)).rows.into_iter().map(|row| (row.key, row.count)).collect();
    let named = |name: &str, key| TopKey::Namespaced(name.as_bytes().into(), Box::new(key));
    let text = || TopKey::Bytes((*b"text").into());
    let right = [
        (TopKey::Number(7), 5),
        (text(), 4),
        (TopKey::Hash(5, 9), 3),
        (named("a", text()), 2),
        (named("b", TopKey::Number(7)), 1),
    ];
    assert_eq!(keys, right);

    // Not at all.
    top.add_at("none", 0, Tick(1));
    assert_eq!((top.top_at(Tick(1)).rows.len(), top.bounds_at("none", Tick(1))), (5, (0, 0)));

    let long = vec![b'x'; 1 << 16];
    top.add_at(long.as_slice(), 9, Tick(2));
    let list = top.top_at(Tick(2));
    assert_eq!((list.certified, list.tail, list.total), (false, 9, 24));
    assert_eq!(top.bounds_at(long.as_slice(), Tick(2)), (9, 9));
}

#[test]
fn settings() {
    let error = |builder: BoundedTopKBuilder| builder.build().expect_err("out of range");
    assert_eq!(error(builder(&GRID, 0)).field, "k");
    assert_eq!(error(builder(&GRID, 1 << 30)).field, "k");
    assert_eq!(error(builder(&GRID, 5).memory(u64::MAX)).field, "memory");
    assert_eq!(error(builder(&GRID, 5).key_bytes(1 << 30)).field, "key_bytes");
    let told = error(builder(&GRID, 1000).memory(10_000)).to_string();
    let needs = least(&GRID, 1000);
    assert_eq!(
        told,
        format!(
            "memory: 10000 bytes is out of range: {needs} bytes or more, for 1000 keys in each of 13 panes"
        )
    );
    let top = builder(&GRID, 1000).memory(needs).build().expect("the least that would do");
    assert!(top.stats().slots >= 1000);
}

/// After a window of silence upkeep gives back the memory; then it goes on.
#[test]
fn silence() {
    let top = builder(&GRID, 5).memory(1 << 20).build().expect("valid");
    for pane in 0..30 {
        top.add_batch_at(&Vec::from_iter(0..100_u64), Tick(pane * 100));
        while top.maintain_at(Tick(pane * 100), 10_000) {}
    }
    assert!(top.memory_bytes() > 0 && top.memory_bytes() <= 1 << 20);
    top.maintain_at(Tick(100_000), 10);
    let list = top.top_at(Tick(100_000));
    assert_eq!((list.rows.len(), list.total, list.certified, list.tail), (0, 0, true, 0));
    top.add_at(5_u64, 3, Tick(100_000));
    // (Another test may hold back what has left.)
    let (lower, upper) = top.bounds_at(5_u64, Tick(100_000));
    assert!(lower <= 3 && upper == 3);
    assert!(top.memory_bytes() <= 1 << 20);
}

/// Threads whose clocks differ, beside upkeep and a reader: nothing is lost, and bounds hold.
#[test]
fn threads() {
    const KEYS: u64 = 3000;
    const PANES: u64 = 40;
    let grid = Grid { pane: 1000, panes: 9, lateness: 2000 };
    let top = builder(&grid, 10).memory(least(&grid, 10) + 20_000).build().expect("valid");
    let cells = usize::try_from(KEYS * PANES).expect("an index");
    let counts: Vec<AtomicU64> = (0..cells).map(|_| AtomicU64::new(0)).collect();
    let (together, clock) = (Together::new(4), AtomicU64::new(0));
    thread::scope(|scope| {
        for t in 0..3 {
            let (top, counts, together, clock) = (&top, &counts, &together, &clock);
            scope.spawn(move || {
                let mut random = Random(t);
                together.wait();
                loop {
                    let now = clock.fetch_add(1, Relaxed);
                    if now >= PANES * 1000 {
                        break;
                    }
                    let now = now.saturating_sub(random.below(1500));
                    let hot = random.below(3) > 0;
                    let (key, n) = (random.below(if hot { 12 } else { KEYS }), 1 + random.below(3));
                    let added = if t == 0 {
                        let tally = top.add_events(&[(key, n, Tick(now))]);
                        if tally.late == 1 { Added::Late } else { Added::Counted }
                    } else {
                        top.add_at(key, n, Tick(now))
                    };
                    if added == Added::Counted {
                        counts[usize::try_from(now / 1000 * KEYS + key).expect("an index")]
                            .fetch_add(n, Relaxed);
                    }
                }
            });
        }
        together.wait();
        let mut now = 0;
        while now < PANES * 1000 {
            now = clock.load(Relaxed).min(PANES * 1000);
            top.maintain_at(Tick(now), 10);
            let list = top.top_at(Tick(now));
            assert!(list.rows.iter().all(|row| row.lower <= row.count && row.count <= row.upper));
        }
    });
    let last = PANES * 1000 - 1;
    let mut sums = BTreeMap::new();
    for pane in PANES - 9..PANES {
        for key in 0..KEYS {
            let n = counts[usize::try_from(pane * KEYS + key).expect("an index")].load(Relaxed);
            if n > 0 {
                *sums.entry(key).or_default() += n;
            }
        }
    }
    let list = top.top_at(Tick(last));
    check(&list, &sums, 10);
    assert_eq!(list.total, sums.values().sum::<u64>(), "conservation");
    check_bounds(&top, &sums, 0..KEYS, last);
}

/// Bounds that are asked for while others add: they hold for what had ended before, and for what had begun after.
#[test]
fn bounds_between() {
    const KEYS: u64 = 200;
    const N: u64 = 60_000;
    let grid = Grid { pane: 1000, panes: 9, lateness: 0 };
    let top = builder(&grid, 3).memory(least(&grid, 3)).build().expect("valid");
    let counts = || (0..KEYS).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
    let (begun, ended, together) = (counts(), counts(), Together::new(3));
    thread::scope(|scope| {
        for t in 0..2 {
            let (top, begun, ended, together) = (&top, &begun, &ended, &together);
            scope.spawn(move || {
                let mut random = Random(t);
                together.wait();
                for i in 0..N {
                    // All within one window; the hot ones are others in each pane.
                    let now = Tick(i * 8000 / N);
                    let hot = random.below(4) > 0;
                    let key =
                        if hot { (random.below(40) + now.0 / 1000 * 5) % KEYS } else { random.below(KEYS) };
                    let at = usize::try_from(key).expect("an index");
                    begun[at].fetch_add(1, SeqCst);
                    top.add_at(key, 1, now);
                    ended[at].fetch_add(1, SeqCst);
                }
            });
        }
        together.wait();
        let (mut all, mut key) = (0, 0);
        while all < 2 * N {
            key = (key + 1) % KEYS;
            let at = usize::try_from(key).expect("an index");
            let before = ended[at].load(SeqCst);
            let (lower, upper) = top.bounds_at(key, Tick(8000));
            let after = begun[at].load(SeqCst);
            assert!(lower <= after && before <= upper, "{key}: {lower} {before} {after} {upper}");
            all = ended.iter().map(|n| n.load(SeqCst)).sum();
        }
    });
}

/// Panes that begin while somebody reads those that have left find no tables; the one after does.
#[test]
fn panes_wait_for_readers() {
    let top = builder(&GRID, 3).memory(least(&GRID, 3)).build().expect("valid");
    let mut pane = 0;
    let mut next = || {
        let added = top.add_at(pane % 5, 1, Tick(pane * GRID.pane));
        assert_eq!(added, Added::Counted);
        pane += 1;
        pane * GRID.pane - 1
    };
    let (reads, read) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            // As all that reads does.
            let guard = crossbeam_epoch::pin();
            reads.store(1, SeqCst);
            while read.load(SeqCst) == 0 {
                thread::yield_now();
            }
            drop(guard);
        });
        while reads.load(SeqCst) == 0 {
            thread::yield_now();
        }
        while top.stats().without < 3 * GRID.panes {
            next();
        }
        assert!(!top.is_ready());
        read.store(1, SeqCst);
    });
    for _ in 0..GRID.panes {
        await_tables(&top);
        next();
    }
    let now = next();
    let list = top.top_at(Tick(now));
    assert!(list.certified && list.total == GRID.panes, "{list:?}");
}

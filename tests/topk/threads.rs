//! Many threads: nothing is lost, lists are what they say.

use super::common::{Random, Together};
use std::{
    collections::BTreeMap,
    sync::atomic::{
        AtomicU64,
        Ordering::{Relaxed, SeqCst},
    },
    thread,
};
use windlass::{Added, Tick, TopK, TopKBuilder, Window};

const PANE: u64 = 1000;
const PANES: u64 = 9;

fn builder(k: usize) -> TopKBuilder {
    TopK::builder(Window::last_n(PANES * PANE), Window::last_n(PANE), k)
        .lateness(Window::last_n(3 * PANE))
        .refresh_every(Window::last_n(PANE / 4))
}

/// Writers whose clocks differ, by single calls and by batches, beside upkeep and readers. When all have ended lists equal the truth.
fn conservation(top: &TopK, keys: u64) {
    const LAST: u64 = 60;
    let (together, clock) = (Together::new(4), AtomicU64::new(0));
    let counted: Vec<AtomicU64> = (0..keys * (LAST + 1)).map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        for t in 0..3 {
            let (together, clock, counted) = (&together, &clock, &counted);
            scope.spawn(move || {
                let mut random = Random(t);
                together.wait();
                loop {
                    let now = clock.fetch_add(5, Relaxed);
                    if now >= LAST * PANE {
                        break;
                    }
                    let far = random.below(10) == 0;
                    let behind = random.below(if far { 5 * PANE } else { 20 });
                    // Few are hot, in turn.
                    let hot = random.below(3) > 0;
                    let key = (random.below(if hot { 8 } else { keys }) + now / PANE / 7) % keys;
                    let (now, n) = (now.saturating_sub(behind), 1 + random.below(3));
                    let added = if t == 0 {
                        let tally = top.add_events(&[(key, n, Tick(now))]);
                        assert_eq!(tally.refused, 0);
                        if tally.late == 1 { Added::Late } else { Added::Counted }
                    } else {
                        top.add_at(key, n, Tick(now))
                    };
                    // (A thread may stall for longer than panes are kept.)
                    if added == Added::Late {
                        continue;
                    }
                    assert_eq!(added, Added::Counted);
                    counted[usize::try_from(now / PANE * keys + key).expect("an index")]
                        .fetch_add(n, Relaxed);
                }
            });
        }
        let (together, clock) = (&together, &clock);
        scope.spawn(move || {
            together.wait();
            let (mut begun, mut now) = (Tick(0), Tick(0));
            while now < Tick(LAST * PANE) {
                now = Tick(clock.load(Relaxed).min(LAST * PANE));
                top.maintain_at(now, 3);
                let list = top.snapshot();
                assert!(list.as_of >= begun, "a list of before");
                assert!(list.rows.is_sorted_by_key(|row| std::cmp::Reverse(row.count)));
                begun = list.as_of;
            }
        });
    });
    for (now, complete) in [(LAST * PANE - 1, false), (LAST * PANE, true), ((LAST - 2) * PANE, true)] {
        let (list, end) = if complete {
            (top.top_complete_at(Tick(now)), now / PANE)
        } else {
            ((*top.refresh_at(Tick(now))).clone(), now / PANE + 1)
        };
        let mut all = BTreeMap::<u64, u64>::new();
        for pane in end - PANES..end {
            for key in 0..keys {
                *all.entry(key).or_default() +=
                    counted[usize::try_from(pane * keys + key).expect("an index")].load(Relaxed);
            }
        }
        let total: u64 = all.values().sum();
        let mut all: Vec<_> = all.into_iter().filter(|&(_, n)| n > 0).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        all.truncate(top.k());
        let told: Vec<_> =
            list.rows.iter().map(|row| (row.key.number().expect("a number"), row.count)).collect();
        assert_eq!((told, list.total, list.certified), (all, total, true));
    }
}

#[test]
fn with_room() {
    conservation(&builder(5).capacity(2000).build().expect("valid"), 1000);
    conservation(&builder(100).capacity(2000).build().expect("valid"), 200);
}

#[test]
fn that_grows() {
    conservation(&builder(5).capacity(5).max_memory(64 << 20).build().expect("valid"), 1000);
}

/// Lists that are made while others add: each count lies between what had ended before and what had begun after, and in a certified list
/// no key is missing that had more before.
#[test]
fn lists_between() {
    const KEYS: u64 = 40;
    const N: u64 = 60_000;
    let top = builder(5).capacity(100).build().expect("valid");
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
                    let now = Tick(i * PANE * (PANES - 1) / N);
                    let hot = random.below(4) > 0;
                    let key =
                        if hot { (random.below(6) + now.0 / PANE * 5) % KEYS } else { random.below(KEYS) };
                    let at = usize::try_from(key).expect("an index");
                    begun[at].fetch_add(1, SeqCst);
                    top.add_at(key, 1, now);
                    ended[at].fetch_add(1, SeqCst);
                }
            });
        }
        together.wait();
        let mut all = 0;
        while all < 2 * N {
            let before: Vec<u64> = ended.iter().map(|n| n.load(SeqCst)).collect();
            let list = top.refresh_at(Tick((PANES - 1) * PANE));
            let after: Vec<u64> = begun.iter().map(|n| n.load(SeqCst)).collect();
            let at = |row: &windlass::TopRow| {
                usize::try_from(row.key.number().expect("a number")).expect("an index")
            };
            for row in &list.rows {
                let range = before[at(row)]..=after[at(row)];
                assert!(range.contains(&row.count), "{row:?} {range:?}");
            }
            assert!(list.certified);
            let last = if list.rows.len() < 5 { 0 } else { list.rows[4].count };
            for (key, &n) in before.iter().enumerate() {
                assert!(
                    n <= last || list.rows.iter().any(|row| at(row) == key),
                    "{key} is missing: {n} {list:?}"
                );
            }
            all = before.iter().sum();
        }
    });
}

//! Against a plain twin, with clocks that go back, gaps, and keys that come and go.

use proptest::prelude::*;
use std::collections::HashMap;
use windlass::{Added, Tick, Window, WindowedCounter, WindowedTotal};

#[derive(Clone, Debug)]
enum Step {
    /// So many ticks on, or back, and so many adds of keys from there on.
    Add {
        key: u64,
        n: u64,
        ahead: i64,
    },
    /// .. in one batch.
    Batch {
        first: u64,
        keys: u64,
        ahead: i64,
    },
    Ask {
        key: u64,
        ahead: i64,
    },
    Maintain {
        ahead: i64,
        budget: usize,
    },
}

#[derive(Clone, Debug)]
struct Grid {
    pane: u64,
    panes: u64,
    lateness: u64,
}

/// Counts of (key, pane), and nothing is forgotten.
#[derive(Default)]
struct Plain {
    counts: HashMap<(u64, u64), u64>,
    newest: Option<u64>,
    late: u64,
}

impl Plain {
    fn add(&mut self, grid: &Grid, key: u64, n: u64, now: u64) -> Added {
        let (pane, kept) = (now / grid.pane, grid.kept());
        let newest = self.newest.unwrap_or(pane).max(pane);
        self.newest = Some(newest);
        if newest - pane >= kept {
            self.late += 1;
            return Added::Late;
        }
        *self.counts.entry((key, pane)).or_default() += n;
        Added::Counted
    }

    fn count(&self, key: Option<u64>, panes: std::ops::Range<u64>) -> u64 {
        let counts = self.counts.iter();
        counts
            .filter(|((k, p), _)| key.is_none_or(|key| *k == key) && panes.contains(p))
            .map(|(_, n)| n)
            .sum()
    }
}

impl Grid {
    fn kept(&self) -> u64 {
        self.panes + 1 + self.lateness.div_ceil(self.pane)
    }
}

fn grids() -> impl Strategy<Value = Grid> {
    let panes = prop_oneof![1..8_u64, 8..70_u64, Just(200)];
    (1..20_u64, panes, prop_oneof![Just(0), 1..50_u64]).prop_map(|(pane, panes, lateness)| Grid {
        pane,
        panes,
        lateness,
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ahead = || prop_oneof![6 => 0..3_i64, 2 => -40..0_i64, 2 => 3..40_i64, 1 => 40..3000_i64];
    let key = || prop_oneof![0..5_u64, 0..500_u64];
    prop::collection::vec(
        prop_oneof![
            6 => (key(), 1..9_u64, ahead()).prop_map(|(key, n, ahead)| Step::Add { key, n, ahead }),
            2 => (0..1000_u64, 1..300_u64, ahead())
                .prop_map(|(first, keys, ahead)| Step::Batch { first, keys, ahead }),
            4 => (key(), ahead()).prop_map(|(key, ahead)| Step::Ask { key, ahead }),
            1 => (ahead(), 0..200_usize).prop_map(|(ahead, budget)| Step::Maintain { ahead, budget }),
        ],
        1..150,
    )
}

fn run(grid: &Grid, steps: &[Step], small: bool) {
    let (window, pane) = (Window::last_n(grid.pane * grid.panes), Window::last_n(grid.pane));
    let counter = WindowedCounter::builder(window, pane).lateness(Window::last_n(grid.lateness));
    let counter = if small { counter.capacity(1).max_memory(1 << 24) } else { counter.capacity(2000) };
    let counter = counter.build().expect("valid");
    let total = WindowedTotal::builder(window, pane).lateness(Window::last_n(grid.lateness)).build();
    let total = total.expect("valid");
    let (mut plain, mut now) = (Plain::default(), 10_000_u64);
    let (mut tally, mut late) = (0, 0);
    for step in steps {
        match *step {
            Step::Add { key, n, ahead } => {
                now = now.saturating_add_signed(ahead);
                let should = plain.add(grid, key, n, now);
                assert_eq!(counter.add_at(key, n, Tick(now)), should);
                assert_eq!(total.add_at(n, Tick(now)), should);
            }
            Step::Batch { first, keys, ahead } => {
                now = now.saturating_add_signed(ahead);
                let keys: Vec<u64> = (first..first + keys).collect();
                let counted = counter.add_batch_at(&keys, Tick(now));
                (tally, late) = (tally + counted.counted, late + counted.late);
                for &key in &keys {
                    let should = plain.add(grid, key, 1, now);
                    assert_eq!(total.add_at(1, Tick(now)), should);
                    if should == Added::Counted { tally -= 1 } else { late -= 1 }
                }
            }
            Step::Ask { key, ahead } => {
                ask(grid, &counter, &total, &plain, key, now.saturating_add_signed(ahead))
            }
            Step::Maintain { ahead, budget } => {
                // (Upkeep moves time on as well, but does not begin it.)
                let at = now.saturating_add_signed(ahead);
                counter.maintain_at(Tick(at), budget);
                total.maintain_at(Tick(at), budget);
                plain.newest = plain.newest.map(|newest| newest.max(at / grid.pane));
            }
        }
        assert_eq!((tally, late), (0, 0), "batches");
    }
    assert_eq!(counter.stats().late, plain.late);
    assert_eq!(total.stats().late, plain.late);
    assert_eq!(counter.stats().refused, 0);
}

fn ask(grid: &Grid, counter: &WindowedCounter, total: &WindowedTotal, plain: &Plain, key: u64, now: u64) {
    let pane = now / grid.pane;
    // What is asked for lies no further back than what is kept.
    if plain.newest.is_some_and(|newest| newest > pane + grid.lateness.div_ceil(grid.pane)) {
        return;
    }
    let current = (pane + 1).saturating_sub(grid.panes)..pane + 1;
    let complete = pane.saturating_sub(grid.panes)..pane;
    let now = Tick(now);
    assert_eq!(counter.count_at(key, now), plain.count(Some(key), current.clone()));
    assert_eq!(counter.count_complete_at(key, now), plain.count(Some(key), complete.clone()));
    assert_eq!(counter.total_at(now), plain.count(None, current.clone()));
    assert_eq!(counter.total_complete_at(now), plain.count(None, complete.clone()));
    assert_eq!(total.total_at(now), plain.count(None, current.clone()));
    assert_eq!(total.total_complete_at(now), plain.count(None, complete));
    let each = current.rev().map(|pane| (Tick(pane * grid.pane), plain.count(Some(key), pane..pane + 1)));
    let each: Vec<_> = each.filter(|&(_, count)| count > 0).collect();
    let told: Vec<_> = counter.panes_at(key, now).iter().map(|pane| (pane.start, pane.count)).collect();
    assert_eq!(told, each);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn as_a_plain_twin(grid in grids(), steps in steps(), small: bool) {
        run(&grid, &steps, small);
    }
}

//! Against a plain twin, with clocks that go back, gaps, and keys that come and go.

use super::plain::{Grid, Plain, add, check};
use proptest::prelude::*;
use std::sync::Arc;
use windlass::{PaneCount, Tick, TopK, TopSnapshot};

#[derive(Clone, Debug)]
enum Step {
    /// So many ticks on, or back, and an add from there on.
    Add {
        key: u64,
        n: u64,
        ahead: i64,
    },
    /// .. of many keys, in one batch.
    Batch {
        first: u64,
        keys: u64,
        ahead: i64,
    },
    Ask {
        ahead: i64,
        refresh: bool,
    },
    Maintain {
        ahead: i64,
        budget: usize,
    },
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
    let n = prop_oneof![1..9_u64, 1..2000_u64];
    prop::collection::vec(
        prop_oneof![
            8 => (key(), n, ahead()).prop_map(|(key, n, ahead)| Step::Add { key, n, ahead }),
            2 => (0..1000_u64, 1..300_u64, ahead())
                .prop_map(|(first, keys, ahead)| Step::Batch { first, keys, ahead }),
            3 => (ahead(), any::<bool>()).prop_map(|(ahead, refresh)| Step::Ask { ahead, refresh }),
            2 => (ahead(), 0..200_usize).prop_map(|(ahead, budget)| Step::Maintain { ahead, budget }),
        ],
        1..150,
    )
}

/// How much room there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Enough,
    Grows,
    Little,
}

fn run(grid: &Grid, steps: &[Step], k: usize, room: Room) {
    let builder = grid.builder(k).refresh_every(windlass::Window::last_n(3));
    let builder = match room {
        Room::Enough => builder.capacity(20_000),
        Room::Grows => builder.capacity(k).max_memory(1 << 24),
        Room::Little => builder.capacity(k),
    };
    let top = builder.build().expect("valid");
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
                assert_eq!((tally.late, tally.counted + tally.refused), (late, keys.len() as u64 - late));
            }
            Step::Ask { ahead, refresh } => {
                let now = now.saturating_add_signed(ahead);
                let (current, complete) = (grid.current(now), grid.complete(now));
                let list = if refresh { (*top.refresh_at(Tick(now))).clone() } else { top.top_at(Tick(now)) };
                let before = top.top_complete_at(Tick(now));
                let certified =
                    [check(&list, &plain.counts(current), k), check(&before, &plain.counts(complete), k)];
                // (Else some of it may have left.)
                if plain.keeps(grid, now) && top.stats().counter.refused == 0 {
                    assert_eq!(certified, [true, true], "{list:?} {before:?}");
                    check_panes(&top, &list, &plain, grid, now);
                }
            }
            Step::Maintain { ahead, budget } => {
                let at = now.saturating_add_signed(ahead);
                plain.move_on(grid, at);
                let before = top.snapshot();
                top.maintain_at(Tick(at), budget);
                let list = top.snapshot();
                if !Arc::ptr_eq(&before, &list) {
                    check(&list, &plain.counts(grid.current(at)), k);
                }
            }
        }
    }
}

/// What rows have in each pane, and all keys together.
fn check_panes(top: &TopK, list: &TopSnapshot, plain: &Plain, grid: &Grid, now: u64) {
    let by_pane = |count: &dyn Fn(u64) -> u64| -> Vec<_> {
        let panes = grid.current(now).rev().map(|pane| (Tick(pane * grid.pane), count(pane)));
        panes.filter(|&(_, count)| count > 0).collect()
    };
    let told = |panes: Vec<PaneCount>| panes.iter().map(|pane| (pane.start, pane.count)).collect::<Vec<_>>();
    for row in &list.rows {
        let key = row.key.number().expect("a number");
        let counts = by_pane(&|pane| plain.counts(pane..pane + 1).get(&key).copied().unwrap_or(0));
        assert_eq!(told(top.panes_of(row, Tick(now))), counts, "{row:?}");
    }
    let totals = by_pane(&|pane| plain.counts(pane..pane + 1).values().sum());
    assert_eq!(told(top.pane_totals_at(Tick(now))), totals);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn as_a_plain_twin(
        grid in grids(),
        steps in steps(),
        k in prop_oneof![1..5_usize, 5..40_usize],
        room in prop_oneof![Just(Room::Enough), Just(Room::Grows), Just(Room::Little)],
    ) {
        run(&grid, &steps, k, room);
    }
}

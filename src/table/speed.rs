//! How fast are other geometries? The shipped protocol with more or fewer cells and buckets, in one run:
//!
//! ```text
//! cargo test --release --lib -- --ignored --nocapture geometries
//! ```
//!
//! 1 M live ids at 40 bytes each, half as many, and few enough for the cache; every id new, one thread, memory asked for 16
//! ids ahead as the batch calls do. Printed in docs/geometry.md.

#![allow(clippy::expect_used)] // a measurement

use super::{
    group::{Around, Decision, Ground, Group},
    id::Hashed,
    sweep::Sweep,
};
use crate::{
    mem::Slab,
    sync::{AnyWide, AtomicU8, Budget, with_wide},
};
use std::time::Instant;

const AHEAD: usize = 16;

#[derive(Clone, Copy)]
struct Hint<'a>(&'a AtomicU8);

impl Around for Hint<'_> {
    fn overflown(&self) -> &AtomicU8 {
        self.0
    }

    fn overflows(self, _: u64) {}
}

fn mixed(i: u64) -> [u64; 2] {
    let mix = |x: u64| {
        let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    };
    let low = mix(i.wrapping_add(0x9e37_79b9_7f4a_7c15));
    [low, mix(low ^ 0xabcd)]
}

/// Nanoseconds for each of `events` new ids in a full window, the best of some runs, and how many found no room.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn run<const BUCKETS: usize, const CELLS: usize>(window: u64, bytes_per_id: u64, events: u64) -> (f64, u64) {
    let groups = (window * bytes_per_id).div_ceil(size_of::<Group<BUCKETS, CELLS>>() as u64) as usize;
    let table: Slab<Group<BUCKETS, CELLS>> = Slab::new(groups, &Budget::new(u64::MAX)).expect("memory");
    let overflown: Slab<AtomicU8> = Slab::new(groups, &Budget::new(u64::MAX)).expect("memory");
    let (ground, sweep) = (Ground::default(), Sweep::default());
    let granule = (window / 1024).max(1);
    let place = |high: u64| ((u128::from(high) * groups as u128) >> 64) as usize;
    with_wide!(AnyWide::detect(), wide => {
        let pass = |from: u64, to: u64| {
            let mut refused = 0;
            for i in from..to {
                if i % granule == 0 {
                    ground.advance(i.saturating_sub(window));
                    sweep.go_on_by_a_share(wide, &table, &overflown, ground.horizon());
                }
                let [low, high] = mixed(i + AHEAD as u64);
                let ahead = place(high);
                Group::prefetch(&raw const table[ahead], low);
                table[ahead].prefetch_pair(low, &overflown[ahead]);
                let [low, high] = mixed(i);
                let group = place(high);
                let hint = Hint(&overflown[group]);
                let fresh = table[group].update(wide, Hashed(low), hint, &ground, |state, gone| match state {
                    None => Decision::Publish(i.max(gone + 1), true),
                    Some(_) => Decision::Keep(false),
                });
                refused += u64::from(fresh != Ok(true));
            }
            refused
        };
        pass(1, 4 * window);
        let (mut best, mut refused, mut at) = (f64::MAX, 0, 4 * window);
        for _ in 0..5 {
            let begun = Instant::now();
            refused += pass(at, at + events);
            best = best.min(begun.elapsed().as_nanos() as f64 / events as f64);
            at += events;
        }
        (best, refused)
    })
}

#[test]
#[ignore = "a measurement"]
fn geometries() {
    println!("ns per new id (refused) | 1 M live at 40 B | 1 M live at 80 B | 10 k live at 40 B");
    let print = |name: &str, of: fn(u64, u64, u64) -> (f64, u64)| {
        let results = [of(1_000_000, 40, 1_000_000), of(1_000_000, 80, 1_000_000), of(10_000, 40, 1_000_000)];
        println!("{name} | {}", results.map(|(ns, refused)| format!("{ns:.1} ({refused})")).join(" | "));
    };
    print("8 buckets of 4 cells", run::<8, 4>);
    print("4 buckets of 8 cells", run::<4, 8>);
    print("8 buckets of 6 cells", run::<8, 6>);
    print("8 buckets of 8 cells", run::<8, 8>);
}

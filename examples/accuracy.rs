//! How good are lists in memory that is given? `BoundedTopK` beside the truth and beside a ring of panes of others: HeavyKeeper (the `heavykeeper` crate) and
//! the frequent items sketch of the `datasketches` crate, one for each pane, in as much memory all together, merged for each list.
//!
//! ```text
//! cargo run --release --example accuracy
//! ```
//!
//! 1,000,000 keys, 10,000,000 events a window, 16 panes, lists of 100; the mean of 20 lists, one for each pane after the first window. Recall: how
//! many of the list are among the 100 hottest (lists are full, so it is the precision as well). Error: how far counts are off, relative, on average. Wide: how far
//! a row's bounds are apart, relative to its count. Outside: rows whose count lies outside of their bounds. WINDLASS_EXAMPLE_QUICK=1: a hundredth of it all.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // shares of counts
#![allow(clippy::expect_used)] // it is an example

use datasketches::frequencies::{ErrorType, FrequentItemsSketch};
use heavykeeper::CuckooTopK;
use std::{cmp::Reverse, collections::HashMap, collections::HashSet};
use windlass::{BoundedTopK, Seed, Tick, Window};

const PANES: usize = 16;
const K: usize = 100;
const LISTS: usize = 20;

struct Load {
    keys: usize,
    pane: usize,
    draws: Vec<u64>,
}

/// Keys with their counts; and the bounds of those, if there are any.
type List = Vec<(u64, u64, Option<(u64, u64)>)>;

trait Contender {
    fn add(&mut self, key: u64, at: usize);

    /// At the end of a pane, over those that make up the window.
    fn list(&mut self, at: usize) -> List;

    fn next_pane(&mut self);
}

struct Ours(BoundedTopK);

impl Contender for Ours {
    fn add(&mut self, key: u64, at: usize) {
        self.0.add_at(key, 1, Tick(at as u64));
    }

    fn list(&mut self, at: usize) -> List {
        let list = self.0.top_complete_at(Tick(at as u64));
        let number = |row: &windlass::TopRow| row.key.number().unwrap_or(u64::MAX);
        list.rows.iter().map(|row| (number(row), row.count, Some((row.lower, row.upper)))).collect()
    }

    fn next_pane(&mut self) {}
}

/// A ring of something for each pane.
struct Ring<T> {
    panes: Vec<T>,
    current: usize,
    make: Box<dyn Fn() -> T>,
    counts: fn(&[T]) -> HashMap<u64, u64>,
    add: fn(&mut T, u64),
}

impl<T> Contender for Ring<T> {
    fn add(&mut self, key: u64, _: usize) {
        (self.add)(&mut self.panes[self.current], key);
    }

    fn list(&mut self, _: usize) -> List {
        let counts = (self.counts)(&self.panes);
        let mut all: Vec<_> = counts.into_iter().map(|(key, n)| (key, n, None)).collect();
        all.sort_unstable_by_key(|&(key, n, _)| (Reverse(n), key));
        all.truncate(K);
        all
    }

    fn next_pane(&mut self) {
        self.current = (self.current + 1) % PANES;
        self.panes[self.current] = (self.make)();
    }
}

fn ring<T: 'static>(
    make: impl Fn() -> T + 'static,
    add: fn(&mut T, u64),
    counts: fn(&[T]) -> HashMap<u64, u64>,
) -> Box<dyn Contender> {
    let panes = (0..PANES).map(|_| make()).collect();
    Box::new(Ring { panes, current: 0, make: Box::new(make), counts, add })
}

/// As wide as fits beside the list of 2 K keys (so that more than K of each pane come together). A cell has 16 bytes.
fn heavy_keeper(memory: usize) -> Box<dyn Contender> {
    let fits = |width: usize| CuckooTopK::<u64>::new(2 * K, width, 4, 0.9).mem_bytes(|_| 0) <= memory / PANES;
    let width = (1..20).map(|bits| 1 << bits).take_while(|&width| fits(width)).last().unwrap_or(2);
    ring(
        move || CuckooTopK::with_seed(2 * K, width, 4, 0.9, 1),
        |one, key| one.add(&key, 1),
        |panes| {
            let mut sums = HashMap::new();
            for node in panes.iter().flat_map(CuckooTopK::list) {
                *sums.entry(node.item).or_default() += node.count;
            }
            sums
        },
    )
}

fn sketch(slots: usize) -> FrequentItemsSketch<u64> {
    FrequentItemsSketch::new(slots).expect("a power of two")
}

/// 18 bytes a slot, a power of two of them.
fn frequent_items(memory: usize) -> Box<dyn Contender> {
    let slots = (memory / PANES / 18).next_power_of_two() / 2;
    ring(
        move || sketch(slots.max(8)),
        |one, key| one.update(key),
        |panes| {
            // Into one that has room for all.
            let mut all = sketch(1 << 20);
            panes.iter().for_each(|pane| all.merge(pane));
            let rows = all.frequent_items_with_threshold(ErrorType::NoFalseNegatives, 0);
            rows.into_iter().map(|row| (*row.item(), row.estimate())).collect()
        },
    )
}

fn ours(memory: usize, load: &Load) -> Box<dyn Contender> {
    let (window, pane) = (Window::last_n((PANES * load.pane) as u64), Window::last_n(load.pane as u64));
    let top = BoundedTopK::builder(window, pane, K).memory(memory as u64).key_bytes(0).seed(Seed(7)).build();
    Box::new(Ours(top.expect("64 KiB are enough")))
}

#[derive(Default)]
struct Score {
    right: usize,
    rows: usize,
    error: f64,
    wide: f64,
    outside: usize,
}

fn run(load: &Load, contender: &mut dyn Contender) -> Score {
    let (mut counts, mut score) = (vec![0_u64; load.keys], Score::default());
    let window = PANES * load.pane;
    for (i, &key) in load.draws.iter().enumerate() {
        contender.add(key, i);
        counts[key as usize] += 1;
        if i >= window {
            counts[load.draws[i - window] as usize] -= 1;
        }
        if (i + 1) % load.pane > 0 {
            continue;
        }
        if i + 1 > window {
            let mut all: Vec<u64> = (0..load.keys as u64).collect();
            all.select_nth_unstable_by_key(K - 1, |&key| (Reverse(counts[key as usize]), key));
            let truth: HashSet<u64> = all[..K].iter().copied().collect();
            for (key, count, bounds) in contender.list(i + 1) {
                let exact = counts.get(key as usize).copied().unwrap_or(0);
                score.right += usize::from(truth.contains(&key));
                score.rows += 1;
                score.error += count.abs_diff(exact) as f64 / exact.max(1) as f64;
                if let Some((lower, upper)) = bounds {
                    score.wide += (upper - lower) as f64 / exact.max(1) as f64;
                    score.outside += usize::from(exact < lower || exact > upper);
                }
            }
        }
        contender.next_pane();
    }
    score
}

fn main() {
    let quick = std::env::var_os("WINDLASS_EXAMPLE_QUICK").is_some_and(|quick| quick == "1");
    let small = if quick { 100 } else { 1 };
    println!(
        "{:6} {:5} {:16} {:>8} {:>8} {:>8} {:>8}",
        "memory", "zipf", "", "recall", "error", "wide", "outside"
    );
    for exponent in [0.8, 1.0, 1.2] {
        let (keys, pane) = (1_000_000 / small, 10_000_000 / PANES / small);
        let load = Load { keys, pane, draws: draws(keys, exponent, (PANES + LISTS) * pane) };
        for memory in [64, 256, 1024] {
            let bytes = memory << 10;
            let contenders = [
                ("windlass", ours(bytes, &load)),
                ("heavykeeper", heavy_keeper(bytes)),
                ("datasketches", frequent_items(bytes)),
            ];
            for (name, mut contender) in contenders {
                let score = run(&load, &mut *contender);
                let rows = score.rows.max(1) as f64;
                println!(
                    "{memory:>4} K {exponent:5} {name:16} {:8.4} {:8.4} {:8.4} {:8}",
                    score.right as f64 / (LISTS * K) as f64,
                    score.error / rows,
                    score.wide / rows,
                    score.outside,
                );
            }
        }
    }
}

/// Keys by rank, from 0; always the same ones.
fn draws(keys: usize, exponent: f64, n: usize) -> Vec<u64> {
    let sum = |sum: &mut f64, rank: usize| {
        *sum += (rank as f64).powf(-exponent);
        Some(*sum)
    };
    let sums: Vec<f64> = (1..=keys).scan(0.0, sum).collect();
    let all = sums.last().copied().unwrap_or(0.0);
    let draw = |i: usize| {
        let random = Seed(29).hash(i as u64).hi >> 11;
        let at = random as f64 / (1_u64 << 53) as f64 * all;
        sums.partition_point(|&sum| sum <= at).min(keys - 1) as u64
    };
    (0..n).map(draw).collect()
}

//! How fast is it? Records of 16 bytes, in one run:
//!
//! ```text
//! cargo test --release --lib -- --ignored --nocapture arena::speed
//! ```

#![allow(clippy::expect_used)] // a measurement

use super::{Arena, Reference};
use crate::sync::{AtomicU64, Budget, Ordering::Relaxed, epoch};
use std::{fmt, hint::black_box, sync::Barrier, thread, time::Instant};

/// Slices of 2^17 states, as many as ten for a window.
const SHIFT: u32 = 17;
const ALIVE: usize = 16;

fn key(i: u64) -> [u8; 16] {
    let low = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&low.to_le_bytes());
    key[8..].copy_from_slice(&i.to_le_bytes());
    key
}

/// Puts the states from `begin` to `end` and raises the horizon behind them; pins as a batch does.
fn put(arena: &Arena, begin: u64, end: u64, mut each: impl FnMut(Reference)) {
    let mut state = begin;
    while state < end {
        let guard = epoch::pin();
        if state.is_multiple_of(1 << 12) {
            arena.retire(state.saturating_sub(10 << SHIFT), &guard);
        }
        for state in state..state + 64 {
            let at = arena.put(arena.slice(state), 7, &key(state), &guard).expect("room");
            each(at);
        }
        state += 64;
    }
}

/// Nanoseconds an event, over many short runs: the machine may be busy.
struct Times(Vec<f64>);

impl Times {
    #[allow(clippy::cast_precision_loss)]
    fn of(runs: u64, events: u64, ready: impl Fn(), mut run: impl FnMut(u64)) -> Times {
        let time = |i| {
            ready();
            let begun = Instant::now();
            run(i);
            begun.elapsed().as_nanos() as f64 / events as f64
        };
        let mut times: Vec<f64> = (0..runs).map(time).collect();
        times.sort_by(f64::total_cmp);
        Times(times)
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |part: usize| self.0[(self.0.len() - 1) * part / 100];
        write!(f, "{:.1} (a tenth of the runs), {:.1} (half)", at(10), at(50))
    }
}

/// A word raised by a CAS: what each put does at least.
fn bare_cas() -> Times {
    const EVENTS: u64 = 1 << 14;
    let word = AtomicU64::new(0);
    let raise = |_| {
        for _ in 0..EVENTS {
            let old = word.load(Relaxed);
            assert_eq!(word.compare_exchange(old, old + 3, Relaxed, Relaxed), Ok(old));
        }
    };
    Times::of(400, EVENTS, || (), raise)
}

/// The puts of each of so many threads, as seen by the first.
fn puts(threads: usize) -> Times {
    const EVENTS: u64 = 1 << 14;
    const RUNS: u64 = 400;
    let arena = Arena::new(SHIFT, ALIVE, &Budget::new(u64::MAX));
    let barrier = Barrier::new(threads);
    // Else one falls behind the horizon of the other.
    let together = || {
        barrier.wait();
    };
    let run = || {
        Times::of(RUNS, EVENTS, together, |i| {
            put(&arena, i * EVENTS, (i + 1) * EVENTS, |at| {
                black_box(at);
            })
        })
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(run);
        }
        run()
    })
}

/// Lookups of `records` records that lie all over the arena, asked for `ahead` before.
fn lookups(records: u64, ahead: usize) -> Times {
    const EVENTS: usize = 1 << 12;
    const RUNS: u64 = 256;
    let (arena, guard) = (Arena::new(SHIFT, 64, &Budget::new(u64::MAX)), epoch::pin());
    let all: Vec<_> = (0..records)
        .map(|state| (state, arena.put(arena.slice(state), 7, &key(state), &guard).expect("room")))
        .collect();
    // An order without neighbours.
    let any = |i: u64| {
        all[usize::try_from(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).expect("64 bits") % all.len()]
    };
    let order: Vec<_> = (0..RUNS * EVENTS as u64).map(any).collect();
    Times::of(
        RUNS,
        EVENTS as u64,
        || (),
        |run| {
            let begin = usize::try_from(run).expect("few") * EVENTS;
            for (i, &(state, at)) in order[begin..begin + EVENTS].iter().enumerate() {
                if ahead > 0
                    && let Some(&(state, at)) = order.get(begin + i + ahead)
                {
                    arena.prefetch(arena.slice(state), at, &guard);
                }
                let found = arena.holds(arena.slice(state), at, 7, &key(state), &guard);
                assert_eq!(found, Some(true));
            }
        },
    )
}

#[test]
#[ignore = "a measurement"]
fn records_of_16_bytes() {
    println!("ns per put, with pins and chunks (a bare CAS: {})", bare_cas());
    for threads in [1, 2] {
        println!("  {threads} threads: {}", puts(threads));
    }
    println!("ns per lookup");
    for (records, text) in [(1 << 10, "1 k records"), (1 << 16, "64 k records"), (1 << 22, "4 M records")] {
        println!("  {text}: {}", lookups(records, 0));
        println!("  .. prefetched: {}", lookups(records, 16));
    }
}

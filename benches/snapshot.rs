//! How fast is a snapshot written and restored, and what do callers notice of it?
//!
//! ```text
//! cargo bench --bench snapshot
//! WINDLASS_BENCH_QUICK=1 cargo bench --bench snapshot      small, in seconds
//! ```
//!
//! A `Dedup` of so many `u64` ids, in a table for as many. Written to nowhere, and to memory, from which it is restored. Callers: one thread observes duplicates and
//! new ids (one of eight), each call timed with a reading of the clock; while nothing else happens, and while another thread writes one snapshot after another.

#![allow(clippy::expect_used)] // a benchmark

mod support {
    pub(crate) mod host;
}

use hdrhistogram::Histogram;
use std::{
    io,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};
use windlass::{Dedup, DedupBuilder, Seed, Tick, Window};

const FULL: [u64; 2] = [1_000_000, 16_000_000];
const QUICK: [u64; 2] = [20_000, 100_000];

fn builder(ids: u64) -> DedupBuilder {
    let capacity = usize::try_from(ids + ids / 4).expect("fits");
    Dedup::builder(Window::last_n(1 << 40)).capacity(capacity).seed(Seed(1))
}

fn per_second(bytes: u64, took: Duration) -> f64 {
    #[allow(clippy::cast_precision_loss)] // a rate
    let rate = bytes as f64 / 1e6 / took.as_secs_f64();
    rate
}

/// Times of single calls, in ns, until it is `done`; new ids from `next` on.
fn observe(dedup: &Dedup, ids: u64, next: &mut u64, done: impl Fn(u64) -> bool) -> Histogram<u64> {
    let mut times = Histogram::new_with_bounds(1, 100_000_000_000, 3).expect("valid");
    let mut i = 0;
    while !done(i) {
        let is_new = i % 8 == 0 && *next < ids + ids / 5;
        let id = if is_new { *next } else { i.wrapping_mul(7919) % ids };
        *next += u64::from(is_new);
        let before = Instant::now();
        let verdict = dedup.observe_at(id, Tick(1));
        times.saturating_record(u64::try_from(before.elapsed().as_nanos()).unwrap_or(u64::MAX));
        assert!(verdict.is_ok());
        i += 1;
    }
    times
}

fn show(what: &str, times: &Histogram<u64>) {
    let at = |q| times.value_at_quantile(q);
    println!(
        "  {what:24} {:>9} calls: p50 {:>5} ns, p99 {:>5} ns, p99.9 {:>6} ns, max {:>9} ns",
        times.len(),
        at(0.5),
        at(0.99),
        at(0.999),
        times.max()
    );
}

fn run(ids: u64) {
    let dedup = builder(ids).build().expect("valid");
    for id in 0..ids {
        assert!(dedup.observe_at(id, Tick(0)).is_ok_and(|verdict| verdict.is_fresh()));
    }
    println!("{ids} ids, {} MB of table", dedup.memory_bytes() / 1_000_000);
    let wall = Duration::from_secs(1);
    let begun = Instant::now();
    let written = dedup.snapshot_at(io::sink(), Tick(0), wall).expect("written");
    let took = begun.elapsed();
    println!(
        "  written to nowhere       {:>7.0} MB/s, {} bytes in {took:?}",
        per_second(written.bytes, took),
        written.bytes
    );
    let mut bytes = Vec::new();
    let begun = Instant::now();
    dedup.snapshot_at(&mut bytes, Tick(0), wall).expect("written");
    println!("  .. to memory             {:>7.0} MB/s", per_second(written.bytes, begun.elapsed()));
    let begun = Instant::now();
    let restored = builder(ids).restore(&bytes[..], wall).expect("restored");
    println!("  restored                 {:>7.0} MB/s", per_second(written.bytes, begun.elapsed()));
    assert!(restored.entries == ids && (0..ids).all(|id| restored.structure.contains_at(id, Tick(0))));
    drop(restored);

    let mut next = ids;
    show("nothing else", &observe(&dedup, ids, &mut next, |i| i >= 4 * ids));
    let (stop, mut count) = (AtomicBool::new(false), 0_u64);
    thread::scope(|scope| {
        let (dedup, stop) = (&dedup, &stop);
        let writer = scope.spawn(move || {
            let mut count = 0;
            while !stop.load(Relaxed) {
                dedup.snapshot_at(io::sink(), Tick(0), wall).expect("written");
                count += 1;
            }
            count
        });
        let times = observe(dedup, ids, &mut next, |i| i >= 4 * ids);
        stop.store(true, Relaxed);
        show("beside snapshots", &times);
        count = writer.join().expect("no panic");
    });
    println!("  ({count} of them)");
}

fn main() {
    let quick = std::env::var_os("WINDLASS_BENCH_QUICK").is_some_and(|v| v == "1");
    println!("{}", support::host::describe());
    for ids in if quick { QUICK } else { FULL } {
        run(ids);
    }
}

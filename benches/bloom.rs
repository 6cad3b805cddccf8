//! How fast is the rotating Bloom filter, beside a ring of ordinary filters, and beside its own panes in arrays apart?
//!
//! ```text
//! cargo bench --bench bloom                             all of it
//! cargo bench --bench bloom -- bloom_l2                 one group
//! cargo bench --bench bloom -- bloom_l2/windlass_batch  one function
//! WINDLASS_BENCH_QUICK=1 cargo bench --bench bloom      small, in seconds: does it run, do the answers hold?
//! ```
//!
//! Groups `bloom_l2` and `bloom_dram` by ids in the window. Keys of 16 bytes, all of them new; the window is the last N events, in 8 panes. An
//! iteration is the same number of operations for every function, summed over the threads. Filling is not timed; clearing and rotating are.
//!
//! First the rival's error is measured; windlass is built for that. The benchmark ends with a message if windlass's own error is then
//! larger, if its memory is more than 1.3 times the rival's, if a key that must be there is missing, or if more keys are taken for
//! seen than before.

#![allow(clippy::expect_used, clippy::panic)] // a benchmark that cannot go on, or whose answers are wrong, ends there

mod support {
    pub(crate) mod filter;
    pub(crate) mod filters;
    pub(crate) mod host;
    pub(crate) mod keys;
    #[allow(dead_code, reason = "floor.rs takes the rest")]
    pub(crate) mod lines;
    pub(crate) mod mix;
    pub(crate) mod race;
    pub(crate) mod ratios;
    pub(crate) mod request;
    pub(crate) mod touch;
}

use std::{
    cell::OnceCell,
    time::{Duration, SystemTime},
};

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use support::{
    filter::{Course, Entry, Facts, Filter, Load},
    filters::{ARRAYS, Batch, FastbloomRing, PICKED, Query, ROW1, ROW2, Single},
    host,
    ratios::{self, Demand, Measured},
    request::{Request, THREADS},
    touch::LineTouch,
};

const FULL: [Load; 2] = [
    Load { group: "bloom_l2", window: 50_000, timed: 1_000_000, judged: 4_000_000, error: 1.0 },
    // Timed: the time of a pane, so that every iteration clears one.
    Load { group: "bloom_dram", window: 64_000_000, timed: 9_309_091, judged: 18_618_182, error: 1.0 },
];
const QUICK: [Load; 2] = [
    Load { group: "bloom_l2", window: 100_000, timed: 50_000, judged: 400_000, error: 1.0 },
    Load { group: "bloom_dram", window: 200_000, timed: 50_000, judged: 400_000, error: 1.0 },
];

const FUNCTIONS: [Entry; 9] = [
    Entry::of::<Single<PICKED>>(),
    Entry::of::<Batch<PICKED>>(),
    Entry::of::<Batch<ROW1>>(),
    Entry::of::<Batch<ROW2>>(),
    Entry::of::<Query>(),
    Entry::of::<FastbloomRing>(),
    Entry::of::<Single<ARRAYS>>(),
    Entry::of::<Batch<ARRAYS>>(),
    Entry::of::<LineTouch>(),
];

/// What is compared where the filter fits into L2. (Error and memory are checked before.)
const RATIOS_L2: [Demand; 7] = [
    compare("windlass", "fastbloom_ring", Some(5.0)),
    compare("windlass_batch", "fastbloom_ring", None),
    compare("windlass_row1_batch", "fastbloom_ring", None),
    compare("windlass", "padded_arrays", None),
    compare("windlass_batch", "padded_arrays_batch", None),
    compare("windlass_query_batch", "windlass_batch", None),
    compare("windlass_row1_batch", "line_touch", None),
];

/// .. where it does not fit into any cache.
const RATIOS_DRAM: [Demand; 7] = [
    compare("windlass", "fastbloom_ring", None),
    compare("windlass_batch", "fastbloom_ring", Some(6.0)),
    compare("windlass_row1_batch", "fastbloom_ring", None),
    compare("windlass", "padded_arrays", None),
    compare("windlass_batch", "padded_arrays_batch", None),
    compare("windlass_query_batch", "windlass_batch", None),
    compare("windlass_row1_batch", "line_touch", Some(0.6)),
];

const fn compare(ours: &'static str, theirs: &'static str, at_least: Option<f64>) -> Demand {
    Demand { ours, theirs: Some(theirs), at_least: [at_least, at_least] }
}

/// How much more memory than the rival windlass may use for the same error.
const MUCH_MORE: f64 = 1.3;

fn main() {
    let started = SystemTime::now();
    let request = Request::from_environment();
    let results = request.results_folder();
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(50))
        .measurement_time(Duration::from_millis(if request.quick { 50 } else { 1000 }))
        .output_directory(&results)
        .configure_from_args();
    for load in if request.quick { QUICK } else { FULL } {
        if !request.only_lists && FUNCTIONS.iter().any(|function| request.wants(load.group, function.name)) {
            println!("\n{}: the last {} events, all new, 8 panes, keys of 16 bytes", load.group, load.window);
            println!("  {}", host::describe());
        }
        measure(&mut criterion, &load);
        let measured =
            Measured { results: &results, since: started, group: load.group, operations: load.timed };
        let ratios = if load.group == "bloom_l2" { &RATIOS_L2 } else { &RATIOS_DRAM };
        ratios::print(&measured, &FUNCTIONS.map(|function| function.name), ratios);
    }
    criterion.final_summary();
}

fn measure(criterion: &mut Criterion, load: &Load) {
    let mut group = criterion.benchmark_group(load.group);
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(load.timed));
    let rival: OnceCell<(u64, f64)> = OnceCell::new();
    for function in &FUNCTIONS {
        let mut course: Option<Box<dyn Course>> = None; // prepared when the filter lets it through
        for (threads, id) in THREADS {
            group.bench_function(BenchmarkId::new(function.name, id), |bencher| {
                let course = course.get_or_insert_with(|| {
                    let &(bytes, error) = rival.get_or_init(|| {
                        let course = (Entry::of::<FastbloomRing>().prepare)(*load);
                        (course.facts().bytes, course.facts().error())
                    });
                    let course = (function.prepare)(Load { error, ..*load });
                    print(load, function.name, course.facts(), bytes);
                    check(function.name, course.facts(), bytes, error);
                    course
                });
                bencher.iter_custom(|iterations| (0..iterations).map(|_| course.iterate(threads)).sum());
            });
        }
    }
    group.finish();
}

#[allow(clippy::cast_precision_loss)]
fn print(load: &Load, name: &str, facts: &Facts, rival: u64) {
    println!(
        "\n  {name}: {}; error {:.4} %; {} bytes: {:.1} bits for each id of the window, {:.2} times fastbloom_ring's",
        facts.layout,
        100.0 * facts.error(),
        facts.bytes,
        8.0 * facts.bytes as f64 / load.window as f64,
        facts.bytes as f64 / rival as f64,
    );
}

/// The builder's choice is judged by both, the other layouts by the error alone.
#[allow(clippy::cast_precision_loss)]
fn check(name: &str, facts: &Facts, rival: u64, error: f64) {
    if name == FastbloomRing::NAME || name == LineTouch::NAME {
        return;
    }
    let (ours, chance) = (facts.error(), facts.chance());
    assert!(ours <= error + chance, "{name} errs more than {}: {ours:.6} to {error:.6}", FastbloomRing::NAME);
    let is_picked = [Single::<PICKED>::NAME, Batch::<PICKED>::NAME, Query::NAME].contains(&name);
    let times = facts.bytes as f64 / rival as f64;
    assert!(
        !is_picked || times <= MUCH_MORE,
        "{name} takes {times:.2} times the memory of {}, more than {MUCH_MORE}",
        FastbloomRing::NAME
    );
}

//! How fast is exact deduplication over a window of the last N events, beside what one would use without windlass?
//!
//! ```text
//! cargo bench --bench dedup                             all of it: about a quarter of an hour
//! cargo bench --bench dedup -- dedup_1m                 one group
//! cargo bench --bench dedup -- dedup_1m/dashmap         one function
//! WINDLASS_BENCH_QUICK=1 cargo bench --bench dedup      small, in seconds: does it run, do the answers hold?
//! ```
//!
//! Groups `dedup_1m` and `dedup_8m` by live ids, a fifth of the events duplicates; `dedup_cache` with 16,000 live ids; `dedup_new`, `dedup_half` and
//! `dedup_repeats` with a million of them, and no, half and 99 % duplicates; `dedup_hot`, where all events of an iteration have one id. Every function with one
//! thread (`1t`) and two (`2t`). An iteration is the same number of operations for every function, summed over the threads. After every iteration the number
//! of fresh ids is compared with the right one.

#![allow(clippy::expect_used, clippy::panic)] // a benchmark that cannot go on, or whose answers are wrong, ends there

mod support;

use std::time::{Duration, SystemTime};

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use support::{
    contender::{Contender, Entry, Upkeep},
    host,
    memory::Counted,
    ours,
    ratios::{self, Demand, Measured},
    request::{Request, THREADS},
    rivals,
    stream::Shape,
};

#[global_allocator]
static ALLOCATOR: Counted = Counted;

const FULL: [Shape; 7] = [
    Shape::with_live_ids("dedup_1m", 1_000_000, 1_000_000, 80),
    Shape::with_live_ids("dedup_8m", 8_000_000, 1_000_000, 80),
    Shape::with_live_ids("dedup_cache", 16_000, 16_000, 80),
    Shape::with_live_ids("dedup_new", 1_000_000, 1_000_000, 100),
    Shape::with_live_ids("dedup_half", 1_000_000, 1_000_000, 50),
    Shape::with_live_ids("dedup_repeats", 1_000_000, 1_000_000, 1),
    Shape::of_one_id("dedup_hot", 1_000_000),
];
const QUICK: [Shape; 7] = [
    Shape::with_live_ids("dedup_1m", 50_000, 50_000, 80),
    Shape::with_live_ids("dedup_8m", 100_000, 50_000, 80),
    Shape::with_live_ids("dedup_cache", 16_000, 16_000, 80),
    Shape::with_live_ids("dedup_new", 50_000, 50_000, 100),
    Shape::with_live_ids("dedup_half", 50_000, 50_000, 50),
    Shape::with_live_ids("dedup_repeats", 50_000, 50_000, 1),
    Shape::of_one_id("dedup_hot", 50_000),
];

static FUNCTIONS: [Entry; 10] = [
    Entry::of::<ours::Single<false>>(),
    Entry::of::<ours::Batch<false>>(),
    Entry::of::<ours::Single<true>>(),
    Entry::of::<ours::Batch<true>>(),
    Entry::of::<rivals::MutexHashMap>(),
    Entry::of::<rivals::DashMap<0>>(),
    Entry::of::<rivals::DashMap<1024>>(),
    Entry::of::<rivals::Papaya>(),
    Entry::of::<rivals::Scc>(),
    Entry::of::<rivals::Moka>(),
];

const DEMANDS_1M: [Demand; 5] = [
    Demand { ours: "windlass", theirs: None, at_least: [Some(1.0), Some(1.5)] },
    Demand { ours: "windlass_batch", theirs: None, at_least: [Some(2.5), Some(3.5)] },
    Demand { ours: "windlass_batch", theirs: Some("mutex_hashmap"), at_least: [None, Some(5.0)] },
    // Exact ids may cost 1.6 times as much.
    Demand { ours: "windlass_exact", theirs: Some("windlass"), at_least: [Some(0.63), Some(0.63)] },
    Demand {
        ours: "windlass_exact_batch",
        theirs: Some("windlass_batch"),
        at_least: [Some(0.63), Some(0.63)],
    },
];

/// Nothing was demanded.
const COMPARED: [Demand; 2] = [
    Demand { ours: "windlass", theirs: None, at_least: [None, None] },
    Demand { ours: "windlass_batch", theirs: None, at_least: [None, None] },
];

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
    for shape in if request.quick { QUICK } else { FULL } {
        let functions = functions(&shape);
        if !request.only_lists && functions.iter().any(|function| request.wants(shape.group, function.name)) {
            print_facts(&shape, &functions, &request);
        }
        measure(&mut criterion, &shape, &functions);
        let measured =
            Measured { results: &results, since: started, group: shape.group, operations: shape.timed };
        let demands: &[Demand] = if shape.group == "dedup_1m" { &DEMANDS_1M } else { &COMPARED };
        let names: Vec<_> = functions.iter().map(|function| function.name).collect();
        ratios::print(&measured, &names, demands);
    }
    criterion.final_summary();
}

/// All where everything is compared; elsewhere those that the question is between.
fn functions(shape: &Shape) -> Vec<&'static Entry> {
    let is_main = ["dedup_1m", "dedup_8m"].contains(&shape.group);
    let is_asked = |name: &str| !name.starts_with("windlass_exact") && name != rivals::Moka::NAME;
    FUNCTIONS.iter().filter(|function| is_main || is_asked(function.name)).collect()
}

fn print_facts(shape: &Shape, functions: &[&Entry], request: &Request) {
    let Shape { group, window, timed, fresh } = shape;
    let (live, drift) = (shape.live_ids(), shape.drift());
    println!("\n{group}: window of the last {window} events, about {live} live ids, {fresh}, 16-byte keys");
    println!("  {}", host::describe());
    println!("  {timed} events timed per iteration, which begins with one window's ids in the structure");
    println!(
        "  rivals hash with ahash; windlass (XXH3-128) has a lateness of {drift} events, and room for it"
    );
    println!(
        "  duplicates repeat ids of the last 7/8 window: expiring or not, the right number of fresh ids is one"
    );
    println!(
        "  bytes: with room for one window, without the allocator's own; fresh: of the first iteration\n"
    );
    println!("  {:<21}{:<34}{:>18}{:>9}{:>9}", "function", "expires", "bytes per live id", "fresh", "right");
    for function in functions.iter().filter(|function| request.wants(shape.group, function.name)) {
        let facts = (function.facts)(*shape);
        let expires = match function.upkeep {
            Upkeep::Itself(how) => format!("yes, by {how}"),
            Upkeep::Harness => "no; trimmed between iterations".to_owned(),
            Upkeep::Rebuild => "no; made anew for each iteration".to_owned(),
        };
        let (name, bytes) = (function.name, facts.bytes_per_live_id);
        println!("  {name:<21}{expires:<34}{bytes:>18.1}{:>9}{:>9}", facts.fresh, facts.expected);
    }
    println!();
}

fn measure(criterion: &mut Criterion, shape: &Shape, functions: &[&Entry]) {
    let mut group = criterion.benchmark_group(shape.group);
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(shape.timed));
    for function in functions {
        for (threads, id) in THREADS {
            let mut course = None; // prepared when the filter lets it through, then used for all samples
            group.bench_function(BenchmarkId::new(function.name, id), |bencher| {
                let course = course.get_or_insert_with(|| (function.prepare)(*shape));
                bencher.iter_custom(|iterations| (0..iterations).map(|_| course.iterate(threads)).sum());
            });
        }
    }
    group.finish();
}

//! How fast is exact deduplication over a window of the last N events, beside what one would use without windlass?
//!
//! ```text
//! cargo bench --bench dedup                             all of it: about ten minutes
//! cargo bench --bench dedup -- dedup_1m                 one group
//! cargo bench --bench dedup -- dedup_1m/dashmap         one function
//! WINDLASS_BENCH_QUICK=1 cargo bench --bench dedup      small, in seconds: does it run, do the answers hold?
//! ```
//!
//! Groups `dedup_1m` and `dedup_8m` by live ids, every function with one thread (`1t`) and two (`2t`). An iteration is
//! the same number of operations for every function, summed over the threads. After every iteration the number of
//! fresh ids is compared with the right one.

#![allow(clippy::expect_used, clippy::panic)] // a benchmark that cannot go on, or whose answers are wrong, ends there

mod support;

use std::{
    env,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use support::{
    contender::{Entry, Upkeep},
    host,
    memory::Counted,
    ours, ratios, rivals,
    stream::Shape,
};

#[global_allocator]
static ALLOCATOR: Counted = Counted;

const FULL: [Shape; 2] = [
    Shape::with_live_ids("dedup_1m", 1_000_000, 1_000_000),
    Shape::with_live_ids("dedup_8m", 8_000_000, 1_000_000),
];
const QUICK: [Shape; 2] =
    [Shape::with_live_ids("dedup_1m", 50_000, 50_000), Shape::with_live_ids("dedup_8m", 100_000, 50_000)];

const FUNCTIONS: [Entry; 10] = [
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

const THREADS: [(usize, &str); 2] = [(1, "1t"), (2, "2t")];

fn main() {
    let started = SystemTime::now();
    let request = Request::from_environment();
    let results = results_folder(request.quick);
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(50))
        .measurement_time(Duration::from_millis(if request.quick { 50 } else { 1000 }))
        .output_directory(&results)
        .configure_from_args();
    for shape in if request.quick { QUICK } else { FULL } {
        if !request.only_lists && FUNCTIONS.iter().any(|function| request.wants(&shape, function)) {
            print_facts(&shape, &request);
        }
        measure(&mut criterion, &shape);
        ratios::print(&results, started, &shape, &FUNCTIONS.map(|function| function.name));
    }
    criterion.final_summary();
}

/// What the command line and the environment ask for.
struct Request {
    quick: bool,
    only_lists: bool,
    /// Criterion's filter, for the table of facts. (Give it before any option that takes a value.)
    filter: Option<String>,
}

impl Request {
    fn from_environment() -> Request {
        let arguments: Vec<String> = env::args().skip(1).collect();
        let given = |flag| arguments.iter().any(|argument| argument == flag);
        let as_a_test = !given("--bench"); // by `cargo test --benches`
        let quick = as_a_test || env::var_os("WINDLASS_BENCH_QUICK").is_some_and(|value| value != "0");
        let filter = arguments.iter().find(|argument| !argument.starts_with('-')).cloned();
        Request { quick, only_lists: given("--list"), filter }
    }

    /// Whether the filter may let the function through. Of a regular expression only the group is looked at.
    fn wants(&self, shape: &Shape, function: &Entry) -> bool {
        let Some(filter) = &self.filter else { return true };
        let plain = filter.chars().all(|c| c.is_alphanumeric() || "_/".contains(c));
        if !plain {
            return !filter.starts_with("dedup_") || filter.starts_with(shape.group);
        }
        THREADS.iter().any(|(_, t)| format!("{}/{}/{t}", shape.group, function.name).contains(filter))
    }
}

/// Where criterion writes; a quick run must not spoil the figures of a full one.
fn results_folder(quick: bool) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap_or(Path::new("."));
    target.join(if quick { "criterion-quick" } else { "criterion" })
}

fn print_facts(shape: &Shape, request: &Request) {
    let Shape { group, window, timed } = shape;
    let (live, drift) = (shape.live_ids(), shape.drift());
    println!(
        "\n{group}: window of the last {window} events, about {live} live ids, 20 % duplicates, 16-byte keys"
    );
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
    for function in FUNCTIONS.iter().filter(|function| request.wants(shape, function)) {
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

fn measure(criterion: &mut Criterion, shape: &Shape) {
    let mut group = criterion.benchmark_group(shape.group);
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(shape.timed));
    for function in &FUNCTIONS {
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

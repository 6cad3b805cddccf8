//! How fast are windowed counters and lists of the hottest keys, beside maps, a sketch, and the textbook design?
//!
//! ```text
//! cargo bench --bench topk                             all of it
//! cargo bench --bench topk -- count_1m                 one group
//! cargo bench --bench topk -- count_1m/windlass_exact  one function, and those whose names begin so
//! WINDLASS_BENCH_QUICK=1 cargo bench --bench topk      small, in seconds: does it run, do the counts hold?
//! ```
//!
//! - `count_1m`: a million keys, by Zipf 1.0.
//! - `count_10k`: ten thousand keys, which stay in cache.
//! - `count_hot`: every thread adds to the same one key.
//! - `topk_read`: how long it takes to read the 100 hottest keys while one thread adds, or two.
//! - `merge_16`: how long it takes to merge the exports of 16 shards, of 1000 rows each, into a list of 100.
//! - `pane_changes`: how long single adds take while panes change, beside the same adds when they do not.
//!
//! Keys are `u64`. Time is given with every event. A window has 6 panes, and an iteration is a window: the same number of events for every function,
//! summed over the threads. For windlass it begins a generation in which each key that comes needs a row, and for `TopK` its name; the maps know all
//! keys beforehand and forget nothing. After every iteration the counts of the 200 hottest keys and of some 1000 others are compared with the right
//! ones (of `BoundedTopK`, in 1 MiB, and heavykeeper those of the 20 hottest, to 5 %).

#![allow(clippy::expect_used, clippy::panic)] // a benchmark that cannot go on, or whose answers are wrong, ends there

mod support {
    pub(crate) mod counter;
    pub(crate) mod counters;
    pub(crate) mod host;
    pub(crate) mod memory;
    pub(crate) mod merges;
    pub(crate) mod mix;
    pub(crate) mod pane_changes;
    pub(crate) mod race;
    pub(crate) mod ratios;
    pub(crate) mod request;
    pub(crate) mod resident;
    pub(crate) mod textbook;
    pub(crate) mod top_reads;
    pub(crate) mod zipf;
}

use std::{
    rc::Rc,
    time::{Duration, SystemTime},
};

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use support::{
    counter::{Course, Entry, Load, PANES, Stream},
    counters::{AhashMap, Approx, BATCH, Counting, Dash, Exact, HeavyKeeper, MutexTextbook, SINGLE, WRITER},
    host,
    memory::Counted,
    merges, pane_changes,
    ratios::{self, Demand, Measured},
    request::{Request, THREADS},
    top_reads,
};

#[global_allocator]
static ALLOCATOR: Counted = Counted;

const COUNT_1M: Load = Load { group: "count_1m", keys: 1_000_000, events: 1_000_000 * PANES, heats: 1 };
const COUNT_10K: Load = Load { group: "count_10k", keys: 10_000, events: 100_000 * PANES, heats: 5 };
const HOT: Load = Load { group: "count_hot", keys: 1, events: 10_000 * PANES, heats: 50 };
const FULL: [Load; 3] = [COUNT_1M, COUNT_10K, HOT];
const QUICK: [Load; 3] = [
    Load { keys: 10_000, events: 10_000 * PANES, ..COUNT_1M },
    Load { keys: 1000, events: 1000 * PANES, heats: 3, ..COUNT_10K },
    Load { events: 2_000 * PANES, heats: 3, ..HOT },
];

const FUNCTIONS: [Entry; 12] = [
    Entry::of::<Exact<SINGLE>>(),
    Entry::of::<Exact<BATCH>>(),
    Entry::of::<Exact<WRITER>>(),
    Entry::of::<Counting<SINGLE>>(),
    Entry::of::<Counting<BATCH>>(),
    Entry::of::<Counting<WRITER>>(),
    Entry::of::<Approx<SINGLE>>(),
    Entry::of::<Approx<BATCH>>(),
    Entry::of::<AhashMap>(),
    Entry::of::<Dash>(),
    Entry::of::<HeavyKeeper>(),
    Entry::of::<MutexTextbook>(),
];

const DEMANDS_1M: [Demand; 15] = [
    demand("windlass_exact", "ahash_map", [Some(0.6), None]),
    demand("windlass_exact", "dashmap", [None, Some(1.5)]),
    demand("windlass_exact", "textbook", [Some(5.0), Some(5.0)]),
    demand("windlass_exact_batch", "ahash_map", [Some(1.0), None]),
    demand("windlass_exact_batch", "dashmap", [None, Some(2.5)]),
    demand("windlass_counter", "ahash_map", [Some(0.6), None]),
    demand("windlass_counter", "dashmap", [None, Some(1.5)]),
    demand("windlass_counter", "textbook", [Some(5.0), Some(5.0)]),
    demand("windlass_counter_batch", "ahash_map", [Some(1.0), None]),
    demand("windlass_counter_batch", "dashmap", [None, Some(2.5)]),
    demand("windlass_writer", "dashmap", [None, None]),
    demand("windlass_exact", "heavykeeper", [None, None]),
    demand("windlass_approx", "windlass_exact", [Some(1.0), None]),
    demand("windlass_approx_batch", "windlass_exact_batch", [None, None]),
    demand("windlass_approx", "heavykeeper", [None, None]),
];
const DEMANDS_10K: [Demand; 3] = [
    demand("windlass_approx", "windlass_exact", [Some(1.0 / 1.5), None]),
    demand("windlass_approx_batch", "windlass_exact_batch", [None, None]),
    demand("windlass_approx", "heavykeeper", [None, None]),
];
const DEMANDS_HOT: [Demand; 3] = [
    demand("windlass_writer", "dashmap", [None, None]),
    demand("windlass_exact", "dashmap", [None, None]),
    demand("windlass_writer", "textbook", [None, None]),
];

const fn demand(ours: &'static str, theirs: &'static str, at_least: [Option<f64>; 2]) -> Demand {
    Demand { ours, theirs: Some(theirs), at_least }
}

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
    let loads = if request.quick { QUICK } else { FULL };
    let streams = loads.map(|load| Rc::new(Stream::of(&load)));
    for (load, stream) in loads.into_iter().zip(&streams) {
        if !request.only_lists && FUNCTIONS.iter().any(|function| request.wants(load.group, function.name)) {
            println!("\n{}: {} keys of u64, by Zipf 1.0", load.group, load.keys);
            println!("  {}", host::describe());
        }
        measure(&mut criterion, &load, stream);
        let operations = load.operations();
        let measured = Measured { results: &results, since: started, group: load.group, operations };
        let names: Vec<_> = FUNCTIONS.iter().map(|function| function.name).collect();
        let demands: &[Demand] = match load.group {
            "count_1m" => &DEMANDS_1M,
            "count_10k" => &DEMANDS_10K,
            _ => &DEMANDS_HOT,
        };
        ratios::print(&measured, &names, demands);
    }
    merges::run(&mut criterion);
    criterion.final_summary();
    if !request.only_lists {
        top_reads::run(&loads[0], &streams[0].events, &request);
        pane_changes::run(&loads[0], &streams[0].events, &request);
    }
}

fn measure(criterion: &mut Criterion, load: &Load, stream: &Rc<Stream>) {
    let mut group = criterion.benchmark_group(load.group);
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(load.operations()));
    for function in &FUNCTIONS {
        let mut course: Option<Box<dyn Course>> = None; // prepared when the filter lets it through
        for (threads, id) in THREADS.into_iter().filter(|(threads, _)| *threads <= function.threads) {
            group.bench_function(BenchmarkId::new(function.name, id), |bencher| {
                let course = course.get_or_insert_with(|| {
                    let course = (function.prepare)(*load, stream);
                    report(load, function.name, course.bytes());
                    course
                });
                bencher.iter_custom(|iterations| (0..iterations).map(|_| course.iterate(threads)).sum());
            });
        }
    }
    group.finish();
}

/// What is known before it is timed.
#[allow(clippy::cast_precision_loss)]
fn report(load: &Load, name: &str, (bytes, resident): (u64, Option<u64>)) {
    let of_a_key = |bytes: u64| bytes as f64 / load.keys as f64;
    print!("\n  {name}: {:.1} bytes a key", of_a_key(bytes));
    if let Some(resident) = resident.filter(|_| load.keys > 1) {
        print!(", resident: {:.1}", of_a_key(resident));
    }
    println!();
}

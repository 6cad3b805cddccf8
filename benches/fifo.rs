//! How fast is a rank, beside skip lists with spans, trees that count, and locks?
//!
//! ```text
//! cargo bench --bench fifo                              all of it
//! cargo bench --bench fifo -- rank_1m/windlass          one function, and those whose names begin so
//! WINDLASS_BENCH_QUICK=1 cargo bench --bench fifo       small, in seconds: does it run, do the answers hold?
//! WINDLASS_BENCH_LIVE=1000 valgrind --tool=callgrind --cache-sim=yes --toggle-collect='*asked*' target/release/deps/fifo-<..>
//! ```
//!
//! `rank_1m`: a million entries wait; of 40 calls 38 ask for rank and value of a key, one puts an entry in, one takes one out. Keys and values are `u64`.
//! `windlass` asks by `rank` and then by `get`, `windlass_find` for both at once, `windlass_batch` for those of 512 calls at once. The others have a hash map from
//! the key to its number and value, and beside it the numbers in order: `skiplist_spans` (crate skiplist), `indexset`, `wabi_tree`,
//! `sweep_bptree` (order statistics), `map_and_vec` (a sorted array), each pair under a lock for readers and writers. `mutex_linked_map` subtracts
//! numbers, as windlass does, under a mutex.
//!
//! Every read has to find its own value, what is popped has to be what was put in, and the ranks have to sum up to what they must: exactly with one
//! thread; with two, and in batches, within what calls may be out of order.
//!
//! With `WINDLASS_BENCH_LIVE` nothing is timed: a queue of that length is asked a hundred thousand times, for tools that count steps.

#![allow(clippy::expect_used, clippy::panic)] // a benchmark that cannot go on, or whose answers are wrong, ends there

mod support {
    pub(crate) mod host;
    pub(crate) mod memory;
    #[allow(dead_code)] // a part of it is used here
    pub(crate) mod mix;
    pub(crate) mod queue;
    pub(crate) mod queues;
    pub(crate) mod race;
    pub(crate) mod ratios;
    pub(crate) mod request;
    pub(crate) mod resident;
}

use std::{
    collections::VecDeque,
    env,
    time::{Duration, SystemTime},
};

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use indexset::BTreeSet;
use skiplist::OrderedSkipList;
use support::{
    host,
    memory::Counted,
    mix::{below, mix},
    queue::{Contender, Course, Entry, Load, key},
    queues::{Batch, Find, Locked, MutexLinkedMap, Sweep, Wabi, Windlass},
    ratios::{self, Demand, Measured},
    request::{Request, THREADS},
};

#[global_allocator]
static ALLOCATOR: Counted = Counted;

const GROUP: &str = "rank_1m";

const FUNCTIONS: [Entry; 9] = [
    Entry::of::<Windlass>(),
    Entry::of::<Find>(),
    Entry::of::<Batch>(),
    Entry::of::<Locked<OrderedSkipList<(u64, u64)>>>(),
    Entry::of::<Locked<BTreeSet<(u64, u64)>>>(),
    Entry::of::<Locked<Wabi>>(),
    Entry::of::<Locked<Sweep>>(),
    Entry::of::<Locked<VecDeque<(u64, u64)>>>(),
    Entry::of::<MutexLinkedMap>(),
];

const DEMANDS: [Demand; 8] = [
    demand("windlass", "skiplist_spans", Some(10.0)),
    demand("windlass", "indexset", Some(3.0)),
    demand("windlass", "wabi_tree", Some(3.0)),
    demand("windlass", "sweep_bptree", Some(3.0)),
    demand("windlass", "map_and_vec", None),
    demand("windlass", "mutex_linked_map", None),
    demand("windlass_find", "mutex_linked_map", None),
    demand("windlass_batch", "mutex_linked_map", None),
];

const fn demand(ours: &'static str, theirs: &'static str, at_least: Option<f64>) -> Demand {
    Demand { ours, theirs: Some(theirs), at_least: [at_least, at_least] }
}

fn main() {
    if let Some(live) = env::var("WINDLASS_BENCH_LIVE").ok().and_then(|live| live.parse().ok()) {
        return count_steps(live);
    }
    let started = SystemTime::now();
    let request = Request::from_environment();
    let results = request.results_folder();
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(50))
        .measurement_time(Duration::from_millis(if request.quick { 50 } else { 1000 }))
        .output_directory(&results)
        .configure_from_args();
    let load = if request.quick {
        Load { live: 20_000, calls: 50_000 }
    } else {
        Load { live: 1_000_000, calls: 1_000_000 }
    };
    if !request.only_lists && FUNCTIONS.iter().any(|function| request.wants(GROUP, function.name)) {
        println!("\n{GROUP}: {} entries wait, keys and values are u64, 95 % reads", load.live);
        println!("  {}", host::describe());
    }
    measure(&mut criterion, load);
    let measured = Measured { results: &results, since: started, group: GROUP, operations: load.calls };
    ratios::print(&measured, &FUNCTIONS.map(|function| function.name), &DEMANDS);
    criterion.final_summary();
}

fn measure(criterion: &mut Criterion, load: Load) {
    let mut group = criterion.benchmark_group(GROUP);
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(load.calls));
    for function in FUNCTIONS {
        let mut course: Option<Box<dyn Course>> = None; // prepared when the filter lets it through
        for (threads, id) in THREADS {
            group.bench_function(BenchmarkId::new(function.name, id), |bencher| {
                let course = course.get_or_insert_with(|| {
                    let course = (function.prepare)(load);
                    report(function.name, course.bytes(), load.live);
                    course
                });
                bencher.iter_custom(|iterations| (0..iterations).map(|_| course.iterate(threads)).sum());
            });
        }
    }
    group.finish();
}

#[allow(clippy::cast_precision_loss)]
fn report(name: &str, (bytes, resident): (u64, Option<u64>), live: u64) {
    let of_an_entry = |bytes: u64| bytes as f64 / live as f64;
    print!("\n  {name}: {:.1} bytes an entry", of_an_entry(bytes));
    if let Some(resident) = resident {
        print!(", resident: {:.1}", of_an_entry(resident));
    }
    println!();
}

const ASKED: u64 = 100_000;

fn count_steps(live: u64) {
    let queue = Find::new(live);
    (0..live).for_each(|number| queue.push(key(number), number));
    let keys: Vec<u64> = (0..ASKED).map(|i| key(below(mix(i), live))).collect();
    println!("{live} entries, {ASKED} reads: {}", asked(&queue, &keys));
}

#[inline(never)]
fn asked(queue: &Find, keys: &[u64]) -> u64 {
    keys.iter().filter_map(|key| queue.read(*key)).map(|(rank, value)| rank + value).sum()
}

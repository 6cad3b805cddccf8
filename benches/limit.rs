//! How fast are rate limiters, beside governor's and a hash map under a mutex?
//!
//! ```text
//! cargo bench --bench limit                              all of it
//! cargo bench --bench limit -- limit_1m                  one group
//! cargo bench --bench limit -- limit_1m/windlass_gcra    one function, and those whose names begin so
//! WINDLASS_BENCH_QUICK=1 cargo bench --bench limit       small, in seconds: does it run, do the answers hold?
//! ```
//!
//! - `limit_1m`: a million clients, all of them known when it begins; they come by Zipf 1.0, and some 90 % of the calls are allowed. (For the sliding
//!   log, which keeps a stamp for each permit, the quota is 100, and about half of the calls are allowed.)
//! - `limit_denied`: the same, when all permits have been taken: all are denied.
//! - `limit_hot`: every thread calls for the same one client; some 90 % are allowed.
//! - `limit_direct`: the same for one limiter without keys.
//! - `limit_set`: `limit_1m` by a single keyed limiter, and by a set of three: the same for each client, one for each of 1000 tenants, one for all.
//!
//! Keys are `u64`. Time is given, and moves on by 1 us from one call to the next in `limit_1m` (so 30 times the horizon of windlass does, whose
//! upkeep is in it), by 2 ns in `limit_denied` and 100 ns in the others. An iteration is the same number of calls for every function, summed
//! over the threads. After every one the number of calls that were allowed is compared with what the algorithm grants, written down as plainly as can
//! be: it is the same with one thread; with two, which take the calls slightly out of order, it is the same where no permit comes back
//! meanwhile, else it is within what can come back while the one is behind the other.

#![allow(clippy::expect_used, clippy::panic)] // a benchmark that cannot go on, or whose answers are wrong, ends there

mod support {
    pub(crate) mod host;
    pub(crate) mod limiter;
    pub(crate) mod limiters;
    pub(crate) mod memory;
    pub(crate) mod mix;
    pub(crate) mod plain;
    pub(crate) mod race;
    pub(crate) mod ratios;
    pub(crate) mod request;
    pub(crate) mod resident;
    pub(crate) mod zipf;
}

use std::time::{Duration, SystemTime};

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use support::{
    host,
    limiter::{Course, Entry, Facts, Load},
    limiters::{
        Batch, Direct, FIXED, GCRA, GovernorDashMap, GovernorDirect, LOG, MutexHashMap, SLIDING, SetOfThree,
        Single,
    },
    memory::Counted,
    plain::Terms,
    ratios::{self, Demand, Measured},
    request::{Request, THREADS},
};

#[global_allocator]
static ALLOCATOR: Counted = Counted;

const SECOND: u64 = 1_000_000_000;

const LIMIT_1M: Load = Load {
    group: "limit_1m",
    clients: 1_000_000,
    terms: Terms { permits: 20_000, per: 50 * SECOND },
    log_terms: Terms { permits: 100, per: 50 * SECOND },
    taken: [4, 4],
    calls: 1_000_000,
    step: 1000,
    heats: 1,
};
const DENIED: Load = Load { group: "limit_denied", taken: [0, 16], step: 2, ..LIMIT_1M };
const HOT: Load = Load {
    group: "limit_hot",
    clients: 1,
    terms: Terms { permits: 16_000, per: 40 * SECOND },
    log_terms: Terms { permits: 16_000, per: 40 * SECOND },
    taken: [1, 0],
    calls: 17_000,
    step: 100,
    heats: 60,
};
const DIRECT: Load = Load { group: "limit_direct", ..HOT };

const SET: Load = Load { group: "limit_set", ..LIMIT_1M };

const FULL: [Load; 5] = [LIMIT_1M, DENIED, HOT, DIRECT, SET];
const QUICK: [Load; 5] = [
    Load { clients: 20_000, terms: Terms { permits: 2_000, per: 5 * SECOND }, calls: 50_000, ..LIMIT_1M },
    Load { clients: 20_000, calls: 50_000, ..DENIED },
    Load { heats: 3, ..HOT },
    Load { heats: 3, ..DIRECT },
    Load { clients: 20_000, terms: Terms { permits: 2_000, per: 5 * SECOND }, calls: 50_000, ..SET },
];

const KEYED: [Entry; 7] = [
    Entry::of::<Single<GCRA>>(),
    Entry::of::<Batch>(),
    Entry::of::<Single<FIXED>>(),
    Entry::of::<Single<SLIDING>>(),
    Entry::of::<Single<LOG>>(),
    Entry::of::<GovernorDashMap>(),
    Entry::of::<MutexHashMap>(),
];
const UNKEYED: [Entry; 3] =
    [Entry::of::<Direct<true>>(), Entry::of::<Direct<false>>(), Entry::of::<GovernorDirect>()];

const SETS: [Entry; 2] = [Entry::of::<Single<GCRA>>(), Entry::of::<SetOfThree>()];

const DEMANDS_1M: [Demand; 5] = [
    demand("windlass_gcra", "governor_dashmap", [Some(2.0), Some(2.0)]), // aim: 3
    demand("windlass_gcra_batch", "governor_dashmap", [Some(4.0), Some(4.0)]), // aim: 6
    demand("windlass_fixed", "governor_dashmap", [None, None]),
    demand("windlass_sliding", "governor_dashmap", [None, None]),
    demand("windlass_gcra", "mutex_hashmap", [None, None]),
];
const COMPARED: [Demand; 3] = [
    demand("windlass_gcra", "governor_dashmap", [None, None]),
    demand("windlass_gcra_batch", "governor_dashmap", [None, None]),
    demand("windlass_gcra", "mutex_hashmap", [None, None]),
];
const DEMANDS_DIRECT: [Demand; 2] = [
    demand("windlass_direct", "governor_direct", [Some(1.0), Some(1.0)]),
    demand("windlass_direct_allowed", "governor_direct", [None, None]),
];

/// At most 3.5 times what a single check takes.
const DEMANDS_SET: [Demand; 1] =
    [demand("windlass_set_of_3", "windlass_gcra", [Some(1.0 / 3.5), Some(1.0 / 3.5)])];

const fn demand(ours: &'static str, theirs: &'static str, at_least: [Option<f64>; 2]) -> Demand {
    Demand { ours, theirs: Some(theirs), at_least }
}

/// Bytes that a client of windlass's may take. (Of the sliding log: beside the stamps.)
const AT_MOST: f64 = 64.0;

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
        let (functions, demands): (&[Entry], &[Demand]) = match load.group {
            "limit_direct" => (&UNKEYED, &DEMANDS_DIRECT),
            "limit_set" => (&SETS, &DEMANDS_SET),
            "limit_1m" => (&KEYED, &DEMANDS_1M),
            _ => (&KEYED, &COMPARED),
        };
        if !request.only_lists && functions.iter().any(|function| request.wants(load.group, function.name)) {
            println!("\n{}: {} clients, keys are u64, by Zipf 1.0", load.group, load.clients);
            println!("  {}", host::describe());
        }
        measure(&mut criterion, &load, functions);
        let operations = load.calls * load.heats;
        let measured = Measured { results: &results, since: started, group: load.group, operations };
        let names: Vec<_> = functions.iter().map(|function| function.name).collect();
        ratios::print(&measured, &names, demands);
    }
    criterion.final_summary();
}

fn measure(criterion: &mut Criterion, load: &Load, functions: &[Entry]) {
    let mut group = criterion.benchmark_group(load.group);
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(load.calls * load.heats));
    for function in functions {
        let mut course: Option<Box<dyn Course>> = None; // prepared when the filter lets it through
        for (threads, id) in THREADS {
            group.bench_function(BenchmarkId::new(function.name, id), |bencher| {
                let course = course.get_or_insert_with(|| {
                    let course = (function.prepare)(*load);
                    report(load, function.name, course.facts());
                    course
                });
                bencher.iter_custom(|iterations| (0..iterations).map(|_| course.iterate(threads)).sum());
            });
        }
    }
    group.finish();
}

/// What is known before it is timed. Ends here if it takes too much memory.
#[allow(clippy::cast_precision_loss)]
fn report(load: &Load, name: &str, facts: Facts) {
    print!("\n  {name}: {:.1} % of calls to be allowed", 100.0 * facts.allowed as f64 / load.calls as f64);
    if load.clients > 1 {
        let of_a_client = |bytes: u64| bytes as f64 / load.clients as f64;
        let bytes = of_a_client(facts.bytes);
        print!("; {bytes:.1} bytes a client");
        if let Some(resident) = facts.resident {
            print!(", resident: {:.1}", of_a_client(resident));
        }
        let is_ours = name.starts_with("windlass") && name != "windlass_log";
        assert!(!is_ours || bytes <= AT_MOST, "{name} takes {bytes:.1} bytes a client, more than {AT_MOST}");
    }
    println!();
}

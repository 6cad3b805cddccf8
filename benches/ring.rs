//! How fast is a route of the hash ring, beside other rings and other ways to find the next point?
//!
//! ```text
//! cargo bench --bench ring                             all of it
//! cargo bench --bench ring -- ring_10/                 one group
//! WINDLASS_BENCH_QUICK=1 cargo bench --bench ring      small, in seconds: does it run, do the answers hold?
//! ```
//!
//! Groups by the number of nodes, each with 128 points; keys of 16 bytes. `windlass` is one call a key on the ring that others may change; `windlass_batch` 512
//! keys a call; `windlass_placement` one call a key on a placement that was taken before. `binary_search` and `btree_map` look for the same points,
//! with the same hashes. `hashring` (0.3, ahash instead of its default) sorts points and searches them; `jumphash` (SipHash 1-3, which
//! cannot be changed) has no points: nodes are numbers, only the last can go, and weights there are none.
//!
//! After each iteration the sum of the nodes that were found is compared with the right one: of windlass's and the searches' by the definition,
//! which must also agree key by key; of the rivals' with their own first answers, key by key.

#![allow(clippy::expect_used, clippy::panic)] // a benchmark that cannot go on, or whose answers are wrong, ends there

mod support {
    pub(crate) mod host;
    #[allow(dead_code)] // a part of it is used here
    pub(crate) mod mix;
    pub(crate) mod race;
    pub(crate) mod ratios;
    pub(crate) mod request;
}

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};
use support::{
    host,
    mix::mix,
    race,
    ratios::{self, Demand, Measured},
    request::{Request, THREADS},
};
use windlass::{HashRing, KeyHash, Node, Seed};

type Key = [u8; 16];

const VNODES: u32 = 128;
const SEED: Seed = Seed(0);
const GROUPS: [(&str, u32); 3] = [("ring_10", 10), ("ring_100", 100), ("ring_1000", 1_000)];
const FUNCTIONS: [&str; 7] = [
    "windlass",
    "windlass_batch",
    "windlass_placement",
    "binary_search",
    "btree_map",
    "hashring",
    "jumphash",
];

const RATIOS: [Demand; 5] = [
    Demand { ours: "windlass", theirs: Some("hashring"), at_least: [Some(1.0), Some(1.0)] },
    Demand { ours: "windlass_batch", theirs: Some("hashring"), at_least: [None, None] },
    Demand { ours: "windlass", theirs: Some("jumphash"), at_least: [None, None] },
    Demand { ours: "windlass_placement", theirs: Some("binary_search"), at_least: [None, None] },
    Demand { ours: "windlass_placement", theirs: Some("btree_map"), at_least: [None, None] },
];

/// A way to find nodes: the sum of those of some keys.
type Route = Box<dyn Fn(&[Key], &mut Vec<u32>) -> u64 + Sync>;

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
    let keys: Vec<Key> = (0..if request.quick { 20_000 } else { 1_000_000 }).map(key).collect();
    for (name, nodes) in GROUPS {
        if !request.only_lists && FUNCTIONS.iter().any(|function| request.wants(name, function)) {
            println!("\n{name}: {nodes} nodes of {VNODES} points, keys of 16 bytes");
            println!("  {}", host::describe());
        }
        let mut group = criterion.benchmark_group(name);
        group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(keys.len() as u64));
        for function in FUNCTIONS {
            let mut prepared: Option<(Route, u64)> = None;
            for (threads, id) in THREADS {
                group.bench_function(BenchmarkId::new(function, id), |bencher| {
                    let (route, sum) = prepared.get_or_insert_with(|| prepare(function, nodes, &keys));
                    bencher.iter_custom(|iterations| {
                        let iterate = |_| {
                            let (time, found) = race::run(&keys, threads, u64::MAX, &*route);
                            assert_eq!(found, *sum, "{name}/{function}: other nodes than before");
                            time
                        };
                        (0..iterations).map(iterate).sum()
                    });
                });
            }
        }
        group.finish();
        let measured =
            Measured { results: &results, since: started, group: name, operations: keys.len() as u64 };
        ratios::print(&measured, &FUNCTIONS, &RATIOS);
    }
    criterion.final_summary();
}

fn key(number: u64) -> Key {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&mix(number).to_le_bytes());
    key[8..].copy_from_slice(&mix(!number).to_le_bytes());
    key
}

fn name(node: u32) -> String {
    format!("node-{node}")
}

/// Sums up one call a key.
fn each(route: impl Fn(&Key) -> u32 + Sync + 'static) -> Route {
    Box::new(move |keys, _| keys.iter().map(|key| u64::from(route(key))).sum())
}

/// The function, and the sum that it has to come to.
fn prepare(function: &str, nodes: u32, keys: &[Key]) -> (Route, u64) {
    let ring = HashRing::builder().vnodes(VNODES).nodes((0..nodes).map(|id| Node::new(id, name(id))));
    let ring = ring.seed(SEED).build().expect("valid");
    let points = points(nodes);
    let by_definition = |key: &Key| next(&points, place(SEED.hash(key)));
    let right = |route: Route, found: &dyn Fn(&Key) -> u32| {
        for key in keys {
            assert_eq!(
                route(std::slice::from_ref(key), &mut Vec::new()),
                u64::from(found(key)),
                "{function}"
            );
        }
        let sum = keys.iter().map(|key| u64::from(found(key))).sum();
        (route, sum)
    };
    match function {
        "windlass" => right(each(move |key| ring.route(key).unwrap_or(u32::MAX)), &by_definition),
        "windlass_batch" => {
            let batch: Route = Box::new(move |keys, found| {
                ring.route_batch(keys, found);
                found.iter().map(|&node| u64::from(node)).sum()
            });
            right(batch, &by_definition)
        }
        "windlass_placement" => {
            let placement = ring.placement();
            right(each(move |key| placement.route(key).unwrap_or(u32::MAX)), &by_definition)
        }
        "binary_search" => {
            let points = points.clone();
            right(each(move |key| next(&points, place(SEED.hash(key)))), &by_definition)
        }
        "btree_map" => {
            let map: BTreeMap<u64, u32> = points.iter().copied().collect();
            let next =
                move |place| map.range(place..).next().or(map.iter().next()).map_or(u32::MAX, |p| *p.1);
            right(each(move |key| next(place(SEED.hash(key)))), &by_definition)
        }
        "hashring" => {
            let hasher = ahash::RandomState::with_seeds(1, 2, 3, 4);
            let mut theirs = hashring::HashRing::with_hasher(hasher);
            theirs.batch_add((0..nodes).flat_map(|id| (0..VNODES).map(move |i| (id, i))).collect());
            let copy = theirs.clone();
            let first = move |key: &Key| copy.get(key).expect("it has nodes").0;
            right(each(move |key| theirs.get(key).expect("it has nodes").0), &first)
        }
        "jumphash" => {
            let hasher = jumphash::JumpHasher::new_with_keys(1, 2);
            right(each(move |key| hasher.slot(key, nodes)), &move |key| hasher.slot(key, nodes))
        }
        other => panic!("no function {other}"),
    }
}

/// docs/ring.md, written down again.
fn points(nodes: u32) -> Vec<(u64, u32)> {
    let mut points = Vec::new();
    for node in 0..nodes {
        let hash = SEED.hash(name(node).as_str());
        points.extend((0..u64::from(VNODES)).map(|i| (mix(hash.hi ^ mix(hash.lo.wrapping_add(i))), node)));
    }
    points.sort_unstable();
    points
}

fn place(hash: KeyHash) -> u64 {
    mix(hash.hi ^ u64::from_be_bytes(*b"hash_rin"))
}

fn next(points: &[(u64, u32)], place: u64) -> u32 {
    let next = points.partition_point(|point| point.0 < place);
    points.get(next).unwrap_or(&points[0]).1
}

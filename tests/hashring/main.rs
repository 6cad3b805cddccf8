//! The hash ring against its definition written down plainly, its spread, what moves, and changes under readers.

#![allow(clippy::expect_used)] // tests

#[path = "../common/mod.rs"]
mod common;
mod snapshot;

use common::Together;
use proptest::prelude::*;
use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};
use windlass::{HashRing, KeyHash, Node, Placement, Seed};

const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The definition of docs/ring.md, without an index.
struct Plain {
    seed: Seed,
    points: Vec<(u64, String, u32)>,
}

impl Plain {
    fn new(nodes: &[(u32, String, u32)], vnodes: u32, seed: Seed) -> Plain {
        let mut points = Vec::new();
        for (id, name, weight) in nodes {
            let hash = seed.hash(name);
            for i in 0..u64::from(weight * vnodes) {
                points.push((mix(hash.hi ^ mix(hash.lo.wrapping_add(i))), name.clone(), *id));
            }
        }
        points.sort();
        Plain { seed, points }
    }

    fn route_n(&self, hash: KeyHash, n: usize) -> Vec<u32> {
        let place = mix(hash.hi ^ u64::from_be_bytes(*b"hash_rin"));
        let first = self.points.iter().position(|point| point.0 >= place).unwrap_or(0);
        let mut found = Vec::new();
        for i in 0..self.points.len() {
            let id = self.points[(first + i) % self.points.len()].2;
            if !found.contains(&id) && found.len() < n {
                found.push(id);
            }
        }
        found
    }
}

fn ring(nodes: u32, vnodes: u32, seed: u64) -> HashRing {
    let nodes = (0..nodes).map(|id| Node::new(id, format!("node-{id}")));
    HashRing::builder().nodes(nodes).vnodes(vnodes).seed(Seed(seed)).build().expect("valid")
}

#[derive(Clone, Debug)]
enum Step {
    Add(u32, u32),
    Remove(usize),
    Weight(usize, u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..60_u32, 1..4_u32).prop_map(|(id, weight)| Step::Add(id, weight)),
        1 => any::<prop::sample::Index>().prop_map(|i| Step::Remove(i.index(1 << 20))),
        1 => (any::<prop::sample::Index>(), 1..4_u32).prop_map(|(i, w)| Step::Weight(i.index(1 << 20), w)),
    ];
    prop::collection::vec(step, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// After any changes, and in whatever order they came, routes are what the definition says.
    #[test]
    fn any_changes(steps in steps(), vnodes in 1..12_u32, seed: u64, places: Vec<u64>) {
        let ring = HashRing::builder().vnodes(vnodes).seed(Seed(seed)).build().expect("valid");
        let mut nodes: Vec<(u32, String, u32)> = Vec::new();
        let mut version = 0;
        for step in steps {
            let before = ring.placement();
            let known = |i: usize| (!nodes.is_empty()).then(|| i % nodes.len());
            let done = match step {
                Step::Add(id, weight) => {
                    let added = ring.add(Node::new(id, format!("n{id}")).weight(weight));
                    let is_new = nodes.iter().all(|node| node.0 != id);
                    prop_assert_eq!(added.is_ok(), is_new);
                    if is_new {
                        nodes.push((id, format!("n{id}"), weight));
                    }
                    added
                }
                Step::Remove(i) => {
                    let Some(i) = known(i) else { continue };
                    ring.remove(nodes.swap_remove(i).0)
                }
                Step::Weight(i, weight) => {
                    let Some(i) = known(i) else { continue };
                    nodes[i].2 = weight;
                    ring.set_weight(nodes[i].0, weight)
                }
            };
            let after = ring.placement();
            prop_assert_eq!(after.version(), version + u64::from(done.is_ok()));
            version = after.version();
            if let Ok(done) = done {
                prop_assert_eq!(done.version, version);
                prop_assert_eq!(done.moved, after.moved_from(&before));
                prop_assert_eq!(done.moved, before.moved_from(&after));
            }
        }
        let plain = Plain::new(&nodes, vnodes, Seed(seed));
        let shares: f64 = ring.placement().nodes().iter().map(|node| node.share).sum();
        prop_assert!(nodes.is_empty() || (shares - 1.0).abs() < 1e-9, "{shares}");
        let mut found = vec![7];
        for place in places {
            let hash = KeyHash { hi: place, lo: !place };
            for n in [0, 1, 2, 3, 20, 100] {
                ring.route_n(hash, n, &mut found);
                prop_assert_eq!(&found, &plain.route_n(hash, n), "{} replicas", n);
            }
            prop_assert_eq!(ring.route(place), plain.route_n(plain.seed.hash(place), 1).first().copied());
        }
    }

    /// What is said to move is what moves: the circle is cut where either placement has a point.
    #[test]
    fn moved(from in 0..8_u32, to in 0..8_u32, vnodes in 1..20_u32, seed: u64) {
        let (a, b) = (ring(from, vnodes, seed).placement(), ring(to, vnodes, seed).placement());
        const KEYS: u64 = 20_000;
        let moved = (0..KEYS).filter(|&key| a.route(key) != b.route(key)).count();
        let expected = a.moved_from(&b);
        let sigma = (KEYS as f64 * expected * (1.0 - expected)).sqrt();
        prop_assert!((moved as f64 - KEYS as f64 * expected).abs() <= 5.0 * sigma + 1e-6, "{moved}, not {expected}");
    }
}

fn owners(placement: &Placement, keys: u64) -> HashMap<u32, u64> {
    let mut owners = HashMap::new();
    (0..keys).for_each(|key| *owners.entry(placement.route(key).expect("has nodes")).or_default() += 1);
    owners
}

/// 128 virtual nodes: the busiest of 10 nodes has at most 1.25 times the mean of a million keys.
#[test]
fn spread() {
    let placement = ring(10, 128, 0).placement();
    let owners = owners(&placement, 1_000_000);
    let busiest = owners.values().max().expect("ten");
    assert!((100_000..=125_000).contains(busiest), "{busiest}");
    for node in placement.nodes() {
        let (expected, sigma) = (1e6 * node.share, (1e6 * node.share * (1.0 - node.share)).sqrt());
        let found = owners[&node.id] as f64;
        assert!((found - expected).abs() < 5.0 * sigma, "{}: {found}, not {expected}", node.name);
    }
}

/// Over many rings shares are spread as theory says: a deviation of the mean by 1 / sqrt(128) of it, less the last node's.
#[test]
fn spread_over_seeds() {
    let mut squares = 0.0;
    for seed in 1..=200 {
        let nodes = ring(10, 128, seed).placement().nodes();
        squares += nodes.iter().map(|node| (10.0 * node.share - 1.0).powi(2)).sum::<f64>() / 9.0;
    }
    let deviation = (squares / 200.0).sqrt();
    assert!((0.080..0.097).contains(&deviation), "{deviation}, not 0.088");
}

/// One of n nodes that comes takes 1/n of the keys, at most a fifth more, and from the others; and gives them back.
#[test]
fn what_comes_takes_its_share_and_no_more() {
    for n in [1, 2, 5, 10, 50] {
        let ring = ring(n - 1, 128, 0);
        let before = ring.placement();
        let change = ring.add(Node::new(1_000, "the new one")).expect("valid");
        let after = ring.placement();
        assert!(change.moved <= 1.2 / f64::from(n) && change.moved > 0.0, "{n} nodes: {}", change.moved);
        let new = after.nodes().pop().expect("it has the largest id");
        assert!((new.share - change.moved).abs() < 1e-12, "{n} nodes: {new:?}, not {}", change.moved);
        for key in 0..100_000_u64 {
            let (was, is) = (before.route(key), after.route(key));
            assert!(was == is || is == Some(1_000), "{n} nodes: {key} moved from {was:?} to {is:?}");
        }
        let back = ring.remove(1_000).expect("it is there");
        assert_eq!((back.moved, ring.placement().moved_from(&before)), (change.moved, 0.0));
    }
}

/// A weight counts as often as it says, and changing it moves keys to or from that node alone.
#[test]
fn weights() {
    let ring = ring(10, 128, 3);
    let before = ring.placement();
    ring.set_weight(4, 3).expect("valid");
    let after = ring.placement();
    assert!((after.nodes()[4].share / (3.0 / 12.0) - 1.0).abs() < 0.15, "{}", after.nodes()[4].share);
    for key in 0..100_000_u64 {
        let (was, is) = (before.route(key), after.route(key));
        assert!(was == is || is == Some(4));
    }
    ring.set_weight(4, 1).expect("valid");
    assert_eq!(ring.placement().moved_from(&before), 0.0);
}

/// The keys of one node do not crowd in a part of what goes by the same hash.
#[test]
fn a_nodes_keys_are_spread_over_all_hashes() {
    let ring = ring(4, 1, 0);
    let mut parts = [0_u32; 16];
    let seed = ring.placement().seed();
    for key in (0..200_000_u64).filter(|&key| ring.route(key) == Some(2)) {
        parts[usize::try_from(seed.hash(key).hi >> 60).expect("16 of them")] += 1;
    }
    let (least, most) = (*parts.iter().min().expect("16"), *parts.iter().max().expect("16"));
    assert!(least > 500 && f64::from(most) < 1.3 * f64::from(least), "{parts:?}");
}

/// The same placement in every release, on every platform, from every language: docs/ring.md has these.
#[test]
fn vectors() {
    let nodes = [Node::new(1, "cache-a"), Node::new(2, "cache-b").weight(2), Node::new(3, "cache-c")];
    let ring = HashRing::builder().nodes(nodes.clone()).build().expect("valid");
    let seeded = HashRing::builder().nodes(nodes).vnodes(40).seed(Seed(42)).build().expect("valid");
    let document =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/ring.md")).expect("is there");
    let mut out = Vec::new();
    for key in
        ["", "a", "user-1", "user-2", "user-3", "user-4711", "Ünïcödé", "0123456789abcdef0123456789abcdef"]
    {
        ring.route_n(key, 3, &mut out);
        let line = format!("| `{key}` | {} {} {} |", out[0], out[1], out[2]);
        seeded.route_n(key, 3, &mut out);
        let line = format!("{line} {} {} {} |", out[0], out[1], out[2]);
        assert!(document.contains(&line), "docs/ring.md has no line\n{line}");
    }
}

#[test]
fn errors() {
    let node = |id, name: &str, weight| Node::new(id, name).weight(weight);
    let says = |nodes: &[Node], vnodes, message: &str| {
        let error =
            HashRing::builder().nodes(nodes.to_vec()).vnodes(vnodes).build().map(|_| ()).expect_err(message);
        assert_eq!(error.to_string(), message);
    };
    let a = || node(1, "a", 1);
    says(&[a()], 0, "vnodes: 0 is out of range: 1 to 65536");
    says(&[a()], 65_537, "vnodes: 65537 is out of range: 1 to 65536");
    says(&[a(), node(1, "b", 1)], 1, "id: 1 (of b) is out of range: an id of its own: a has it");
    says(&[a(), node(2, "a", 1)], 1, "name: a (of node 2) is out of range: a name of its own: node 1 has it");
    says(&[node(3, "", 1)], 1, "name: \"\" (node 3) is out of range: at least a byte");
    says(
        &[node(3, "c", 0)],
        1,
        "weight: 0 (node 3, c) is out of range: at least 1; a node that gets no keys is removed",
    );
    says(
        &[node(3, "c", u32::MAX), a()],
        65_536,
        "weight: 281474976710656 points is out of range: at most 4194304 points, weights times 65536 virtual nodes",
    );
    let ring = ring(2, 8, 0);
    let before = ring.placement();
    let wrong = [
        ring.add(Node::new(1, "x")),
        ring.add(Node::new(9, "node-1")),
        ring.add(Node::new(9, "x").weight(0)),
        ring.remove(7),
        ring.set_weight(7, 1),
        ring.set_weight(1, 0),
        ring.set_weight(1, u32::MAX),
    ];
    assert!(wrong.iter().all(Result::is_err), "{wrong:?}");
    assert_eq!(
        wrong[3].as_ref().expect_err("no such").to_string(),
        "id: 7 is out of range: the id of a node in the ring"
    );
    assert_eq!((ring.placement().version(), ring.placement().moved_from(&before)), (0, 0.0));
}

#[test]
fn without_nodes() {
    let ring = HashRing::builder().build().expect("valid");
    let mut out = vec![1, 2, 3];
    assert_eq!(ring.route("a"), None);
    ring.route_n("a", 3, &mut out);
    assert!(out.is_empty());
    assert!(!ring.route_batch(&["a", "b"], &mut out) && out.is_empty());
    assert!(ring.placement().nodes().is_empty());
    let added = ring.add(Node::new(5, "only")).expect("valid");
    assert_eq!((added.moved, ring.route("a"), ring.placement().nodes()[0].share), (1.0, Some(5), 1.0));
    assert!(ring.route_batch(&["a", "b"], &mut out));
    assert_eq!(out, [5, 5]);
    assert_eq!(ring.remove(5).expect("it is there").moved, 1.0);
    assert_eq!(ring.route("a"), None);
}

/// Readers see one placement or the next, and no change of several threads' is lost.
#[test]
fn changes_under_readers() {
    const ROUNDS: u32 = 200;
    let ring = ring(4, 16, 0);
    let (owners, done) = (ring.placement(), AtomicBool::new(false));
    let together = Together::new(3);
    std::thread::scope(|scope| {
        let (ring, done, together, owners) = (&ring, &done, &together, &owners);
        let change = |thread: u32| {
            together.wait();
            for round in 0..ROUNDS {
                let id = 100 + thread;
                ring.add(Node::new(id, format!("of thread {thread}"))).expect("not there");
                if round + 1 < ROUNDS {
                    ring.remove(id).expect("is there");
                }
            }
        };
        let read = || {
            together.wait();
            let mut out = Vec::new();
            while !done.load(Relaxed) {
                for key in 0..64_u64 {
                    let owner = ring.route(key).expect("has nodes");
                    assert!(owner >= 100 || Some(owner) == owners.route(key), "{key} went to {owner}");
                    ring.route_n(key, 4, &mut out);
                    out.sort_unstable();
                    out.dedup();
                    assert_eq!(out.len(), 4);
                }
            }
        };
        let writers = [0, 1].map(|thread| scope.spawn(move || change(thread)));
        scope.spawn(read);
        let ended = writers.map(|writer| writer.join().is_ok());
        done.store(true, Relaxed);
        assert_eq!(ended, [true; 2]);
    });
    assert_eq!(ring.placement().version(), u64::from(2 * (2 * ROUNDS - 1)));
    assert_eq!(ring.placement().nodes().len(), 6);
}

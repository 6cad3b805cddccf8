//! `windlass ring`: against a recount with the library, and what it refuses.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::{Random, run};
use std::collections::{HashMap, HashSet};
use windlass::{HashRing, Node, Placement, Seed};

/// Keys and events of each node.
fn recount(placement: &Placement, keys: &[String]) -> HashMap<u32, (u64, u64)> {
    let (mut seen, mut nodes) = (HashSet::new(), HashMap::<u32, (u64, u64)>::new());
    for key in keys {
        let node = nodes.entry(placement.route(key).expect("has nodes")).or_default();
        node.0 += u64::from(seen.insert(key));
        node.1 += 1;
    }
    nodes
}

#[test]
fn as_counted_again() {
    let mut random = Random(9);
    let keys: Vec<String> = (0..5_000).map(|i| format!("key {}", random.below(1 + i % 2_000))).collect();
    let args = ["ring", "--nodes", "a,b:2,c", "--vnodes", "40", "--seed", "7", "--change", "+d:3,-c,b:1"];
    let run = run(&[&args[..], &["--report", "json"]].concat(), keys.join("\n") + "\n").ok();
    let report = run.json();
    let nodes = [Node::new(0, "a"), Node::new(1, "b").weight(2), Node::new(2, "c")];
    let ring = HashRing::builder().nodes(nodes).vnodes(40).seed(Seed(7)).build().unwrap();
    let before = ring.placement();
    ring.add(Node::new(3, "d").weight(3)).unwrap();
    ring.remove(2).unwrap();
    ring.set_weight(1, 1).unwrap();
    let after = ring.placement();
    for (placement, side) in [(&before, "before"), (&after, "after")] {
        let found = recount(placement, &keys);
        for node in placement.nodes() {
            let line =
                report["nodes"].as_array().unwrap().iter().find(|line| line["name"] == node.name.as_str());
            let part = &line.expect("each node has a line")[side];
            let (keys, events) = found[&node.id];
            assert_eq!(
                (part["keys"].as_u64(), part["events"].as_u64()),
                (Some(keys), Some(events)),
                "{}",
                node.name
            );
            assert_eq!(part["weight"].as_u64(), Some(node.weight.into()));
            assert!((part["share"].as_f64().unwrap() - node.share).abs() < 1e-12, "{}", node.name);
        }
    }
    let distinct: HashSet<&String> = keys.iter().collect();
    let moves = |key: &str| before.route(key) != after.route(key);
    assert_eq!(report["events"], 5_000);
    assert_eq!(report["keys"], distinct.len());
    assert_eq!(report["moved"]["keys"], distinct.iter().filter(|key| moves(key)).count());
    assert_eq!(report["moved"]["events"], keys.iter().filter(|key| moves(key)).count());
    assert!((report["moved"]["share"].as_f64().unwrap() - after.moved_from(&before)).abs() < 1e-12);
    assert_eq!(report["nodes"][2].get("after"), None, "c has gone");
}

#[test]
fn a_line_for_each_node() {
    let run = run(&["ring", "--nodes", "one,two", "--quiet"], "a\nb\na\n").ok();
    let lines: Vec<&str> = run.text().lines().collect();
    assert_eq!((lines.len(), run.err.as_str()), (3, ""));
    assert!(lines[0].starts_with("node   weight     ring          keys"), "{}", lines[0]);
    assert!(lines[1].starts_with("one         1 ") && lines[2].starts_with("two         1 "), "{lines:?}");
}

#[test]
fn what_is_refused() {
    let says = |args: &[&str], line: &str| run(&[&["ring"], args].concat(), "a\n").failed(2, line);
    says(
        &["--nodes", "a,b,a"],
        "--nodes: name a (of node 2) is out of range: a name of its own: node 0 has it",
    );
    says(
        &["--nodes", "a:0"],
        "--nodes: weight 0 (node 0, a) is out of range: at least 1; a node that gets no keys is removed",
    );
    says(&["--nodes", "a", "--vnodes", "0"], "--vnodes 0 is out of range: 1 to 65536");
    says(&["--nodes", "a", "--change", "-b"], "--change: there is no node \"b\" to change");
    says(&["--nodes", "a,b", "--change", "-b,b:2"], "--change: there is no node \"b\" to change");
    says(&["--nodes", "a", "--change", "-a"], "--change: no node is left");
    says(
        &["--nodes", "a", "--change", "x"],
        "invalid value 'x' for '--change <CHANGE,..>': +NAME[:WEIGHT] comes, -NAME goes, NAME:WEIGHT gets another weight",
    );
    run(&["ring", "--nodes", "a,b", "--max-memory", "1K", "--capacity", "10"], "a\n")
        .failed(2, "--max-memory 1.0 KiB is out of range: 1025 bytes or more, for the capacity");
}

//! Written, and restored.

#![allow(clippy::expect_used)] // clippy knows tests only by their attribute

use crate::common::snapshot::{Parts, golden};
use proptest::prelude::*;
use std::time::Duration;
use windlass::{HashRing, HashRingBuilder, Node, RestoreError, Seed};

const WALL: Duration = Duration::from_secs(1_700_000_000);

fn written(ring: &HashRing) -> Vec<u8> {
    let mut bytes = Vec::new();
    ring.snapshot_at(&mut bytes, WALL).expect("memory");
    bytes
}

fn ring() -> HashRing {
    let nodes = (0..5).map(|i| Node::new(i * 10, format!("cache-{i}")).weight(i + 1));
    let ring = HashRing::builder().seed(Seed(42)).vnodes(40).nodes(nodes).build().expect("valid");
    ring.remove(20).expect("there");
    ring.add(Node::new(7, "last")).expect("valid");
    ring
}

fn refused(builder: HashRingBuilder, bytes: &[u8]) -> RestoreError {
    builder.restore(bytes, WALL).map(drop).expect_err("refused")
}

/// Each key has the owner that it had, and changes go on from there.
fn is_the_same(again: &HashRing) {
    let ring = ring();
    let (a, b) = (ring.placement(), again.placement());
    assert_eq!((a.version(), a.seed(), a.nodes()), (b.version(), b.seed(), b.nodes()));
    for key in 0..10_000_u64 {
        assert_eq!(ring.route(key), again.route(key));
    }
    let version = again.set_weight(7, 3).expect("valid").version;
    assert_eq!(version, ring.set_weight(7, 3).expect("valid").version);
    assert!((0..1000_u64).all(|key| ring.route(key) == again.route(key)));
}

#[test]
fn the_same_placement() {
    let restored = HashRing::builder().vnodes(40).restore(&written(&ring())[..], WALL * 2).expect("restored");
    assert_eq!((restored.entries, restored.elapsed), (5, WALL));
    is_the_same(&restored.structure);
    let empty = HashRing::builder().build().expect("valid");
    let restored = HashRing::builder().restore(&written(&empty)[..], WALL).expect("restored");
    assert_eq!(restored.structure.route("key"), None);
}

#[test]
fn other_settings_and_contents() {
    let bytes = written(&ring());
    let name = |builder| match refused(builder, &bytes) {
        RestoreError::Setting { name, .. } => name,
        other => other.to_string(),
    };
    assert_eq!(name(HashRing::builder()), "vnodes");
    assert_eq!(name(HashRing::builder().vnodes(40).seed(Seed(0))), "seed");
    assert_eq!(name(HashRing::builder().vnodes(40).nodes([Node::new(1, "own")])), "nodes");
    let problem = |parts: Parts| refused(HashRing::builder().vnodes(40), &parts.bytes()).to_string();
    // id and weight, length of name.
    assert!(problem(Parts::of(&bytes).set(2, 0, 1)).contains("nodes: weight"));
    assert!(problem(Parts::of(&bytes).set(2, 0, u64::MAX)).contains("points"));
    assert!(problem(Parts::of(&bytes).set(2, 8, u64::MAX)).contains("the section ends before it"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_content_at_all(flips in prop::collection::vec((any::<usize>(), any::<usize>(), 1..=255_u8), 1..6)) {
        let mut parts = Parts::of(&written(&ring()));
        for (frame, at, by) in flips {
            parts.flip(frame, at, by);
        }
        if let Ok(restored) = HashRing::builder().vnodes(40).restore(&parts.bytes()[..], WALL) {
            prop_assert!((0..100_u64).all(|key| restored.structure.route(key).is_some()));
        }
    }
}

/// Files of each version of the format, restored by all later ones.
#[test]
fn golden_files() {
    let bytes = golden("ring-v1.wls", || written(&ring()));
    is_the_same(&HashRing::builder().vnodes(40).restore(&bytes[..], WALL).expect("for ever").structure);
}

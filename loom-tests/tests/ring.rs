//! Changes of the hash ring, against each other and under readers. Protocol: `src/hashring/mod.rs`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::bounded;
use loom::{sync::Arc, thread};
use windlass::{
    HashRing, KeyHash, Node,
    model::{Twin, with},
};

fn ring() -> HashRing {
    HashRing::builder().vnodes(1).nodes([Node::new(0, "a")]).build().unwrap()
}

fn new(id: u32) -> Node {
    Node::new(id, format!("new {id}"))
}

fn ids(ring: &HashRing) -> Vec<u32> {
    ring.placement().nodes().iter().map(|node| node.id).collect()
}

/// Two threads change the ring at the same time: both changes are made, one on top of the other.
fn both_changes() {
    bounded(3, || {
        let ring = Arc::new(ring());
        let other = ring.clone();
        let a = thread::spawn(move || other.add(new(1)).unwrap().version);
        let mine = ring.add(new(2)).unwrap().version;
        let theirs = a.join().unwrap();
        assert_eq!(ids(&ring), [0, 1, 2], "a change is lost");
        assert_eq!((mine + theirs, ring.placement().version()), (3, 2), "two changes in one");
    });
}

#[test]
fn no_change_is_lost() {
    both_changes();
}

#[test]
#[should_panic(expected = "a change is lost")]
fn twin_a_change_that_lost_is_published_as_it_was() {
    with(Twin::PublishStale, both_changes);
}

/// A reader goes by one placement, old or new, and never back to an older one.
#[test]
fn readers_see_one_placement_or_the_next() {
    bounded(4, || {
        let grown = ring();
        grown.add(new(1)).unwrap();
        let grown = grown.placement();
        let place = |hi| KeyHash { hi, lo: 0 };
        // A key that the new node takes.
        let key = place((0..).find(|&hi| grown.route(place(hi)) == Some(1)).unwrap());
        let ring = Arc::new(ring());
        let other = ring.clone();
        let a = thread::spawn(move || {
            let mut both = Vec::new();
            let first = other.route(key).unwrap();
            other.route_n(key, 2, &mut both);
            (first, both)
        });
        ring.add(new(1)).unwrap();
        assert_eq!(ring.route(key), Some(1));
        let (first, both) = a.join().unwrap();
        assert!(both == [0] || both == [1, 0], "{both:?}");
        assert!(first == 0 || both == [1, 0], "went back to an older placement");
    });
}

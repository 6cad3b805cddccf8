//! The functions, called as C calls them. (What a user relies on, and the test vectors, are in tests/c/ring.c.)

#![allow(clippy::multiple_unsafe_ops_per_block)] // one call after the other, of the same kind

use std::ptr::{null, null_mut};

use windlass::{HashRing, Node, Seed};

use super::{batch::*, change::*, config::*, route::*, stats::*, *};
use crate::{
    hash::windlass_hash,
    sized::Plain,
    status::{
        WINDLASS_E_ARG, WINDLASS_E_NO_NODE, WINDLASS_E_NULL, WINDLASS_E_OFFSETS, WINDLASS_E_RANGE,
        WINDLASS_E_STRUCT_SIZE, WINDLASS_OK,
    },
};

/// A handle that frees itself.
struct Handle(*mut windlass_ring);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: from `windlass_ring_new`, freed here alone.
        unsafe { windlass_ring_free(self.0) };
    }
}

fn fresh_error() -> windlass_error {
    windlass_error { struct_size: 256, code: WINDLASS_OK, detail: [0; 248] }
}

fn detail(error: &windlass_error) -> String {
    // SAFETY: ends with NUL.
    let text = unsafe { std::ffi::CStr::from_ptr(error.detail.as_ptr()) };
    text.to_str().expect("UTF-8").to_owned()
}

/// Seed 7, 40 virtual nodes.
fn empty() -> Handle {
    let config = windlass_ring_config { seed: 7, vnodes: 40, ..windlass_ring_config::DEFAULT };
    let mut handle = null_mut();
    // SAFETY: a valid config, a place for the handle.
    assert_eq!(unsafe { windlass_ring_new(&config, &raw mut handle, null_mut()) }, WINDLASS_OK);
    Handle(handle)
}

fn add(ring: &Handle, id: u32, name: &[u8], weight: u32) -> Result<f64, String> {
    let (mut moved, mut error) = (-1.0, fresh_error());
    // SAFETY: a live handle, a slice, places to write to.
    let status = unsafe {
        windlass_ring_add(ring.0, id, name.as_ptr(), name.len(), weight, &raw mut moved, &raw mut error)
    };
    assert_eq!((status == WINDLASS_OK, status), (moved >= 0.0, error.code));
    if status == WINDLASS_OK { Ok(moved) } else { Err(detail(&error)) }
}

/// The same ring in Rust.
fn pair() -> (Handle, HashRing) {
    let ours = HashRing::builder().seed(Seed(7)).vnodes(40).build().expect("valid");
    let theirs = empty();
    for (id, name, weight) in [(1, "a", 1), (2, "b", 3), (900, "\u{fc}", 2)] {
        let moved = ours.add(Node::new(id, name).weight(weight)).expect("valid").moved;
        assert_eq!(add(&theirs, id, name.as_bytes(), weight), Ok(moved));
    }
    (theirs, ours)
}

const N: usize = 300;

#[test]
fn routes_as_rust_does() {
    let (handle, ours) = pair();
    let keys: Vec<[u8; 8]> = (0..N as u64).map(|key| (key * key).to_le_bytes()).collect();
    let hash = |key: &[u8; 8]| windlass_hash::from(Seed(7).hash(key));
    let (mut to, mut found) = ([0; 5], Vec::new());
    for key in &keys {
        let owner = i64::from(ours.route(key).expect("has nodes"));
        // SAFETY: a live handle, a slice.
        unsafe {
            assert_eq!(windlass_ring_route(handle.0, key.as_ptr(), 8), owner);
            assert_eq!(windlass_ring_route_hash(handle.0, hash(key)), owner);
        }
        for n in [1, 2, 5] {
            ours.route_n(key, n, &mut found);
            found.resize(5, u32::MAX);
            let count = i64::try_from(n.min(3)).expect("few");
            // SAFETY: a live handle, a slice, room for 5.
            unsafe {
                to.fill(u32::MAX);
                assert_eq!(windlass_ring_route_n(handle.0, key.as_ptr(), 8, n, to.as_mut_ptr()), count);
                assert_eq!(to[..], found);
                to.fill(u32::MAX);
                assert_eq!(windlass_ring_route_n_hash(handle.0, hash(key), n, to.as_mut_ptr()), count);
                assert_eq!(to[..], found);
            }
        }
    }
}

#[test]
fn batches_route_as_single_calls_do() {
    let (handle, ours) = pair();
    let keys: Vec<[u8; 8]> = (0..N as u64).map(|key| (key * key).to_le_bytes()).collect();
    let hashes: Vec<windlass_hash> = keys.iter().map(|key| Seed(7).hash(key).into()).collect();
    let numbers: Vec<u64> = (0..N as u64).collect();
    let offsets: Vec<u32> = (0..=N).map(|i| u32::try_from(8 * i).expect("few")).collect();
    let bytes = keys.concat();
    let single: Vec<u32> = keys.iter().map(|key| ours.route(key).expect("has nodes")).collect();
    let batch = |call: &dyn Fn(*mut u32) -> windlass_status| {
        let mut owners = vec![u32::MAX; N];
        assert_eq!(call(owners.as_mut_ptr()), WINDLASS_OK);
        owners
    };
    let (ring, at, ends) = (handle.0, bytes.as_ptr(), offsets.as_ptr());
    // SAFETY: a live handle, slices of these lengths.
    let hashed = batch(&|to| unsafe { windlass_ring_route_hashes(ring, hashes.as_ptr(), N, to) });
    // SAFETY: the same.
    let fixed = batch(&|to| unsafe { windlass_ring_route_fixed(ring, at, 8, 8, N, to) });
    // SAFETY: the same.
    let packed = batch(&|to| unsafe { windlass_ring_route_packed(ring, at, bytes.len(), ends, N, to) });
    assert_eq!((&hashed, &fixed, &packed), (&single, &single, &single));
    // SAFETY: the same.
    let of_numbers = batch(&|to| unsafe { windlass_ring_route_u64s(ring, numbers.as_ptr(), N, to) });
    for (&number, &owner) in numbers.iter().zip(&of_numbers) {
        assert_eq!(Some(owner), ours.route(number));
        // SAFETY: a live handle.
        assert_eq!(unsafe { windlass_ring_route_u64(ring, number) }, i64::from(owner));
    }
}

#[test]
fn nodes_and_figures() {
    let (handle, ours) = pair();
    let none = windlass_ring_node { id: 0, weight: 0, share: -1.0 };
    let (mut nodes, mut stats) = ([none; 4], windlass_ring_stats::DEFAULT);
    // SAFETY: a live handle, places to write to.
    unsafe {
        assert_eq!(windlass_ring_nodes(handle.0, null_mut(), 0), 3);
        assert_eq!(windlass_ring_nodes(handle.0, nodes.as_mut_ptr(), 2), 3);
        assert_eq!(nodes[2..], [none; 2]);
        assert_eq!(windlass_ring_nodes(handle.0, nodes.as_mut_ptr(), 4), 3);
        assert_eq!(windlass_ring_get_stats(handle.0, &raw mut stats, 40), WINDLASS_OK);
    }
    for (node, ours) in nodes.iter().zip(ours.placement().nodes()) {
        assert_eq!((node.id, node.weight, node.share), (ours.id, ours.weight, ours.share));
    }
    assert_eq!((stats.struct_size, stats.vnodes, stats.seed, stats.version, stats.nodes), (40, 40, 7, 3, 3));
    assert_eq!(stats.memory_bytes, ours.placement().memory_bytes());
    let (mut moved, mut owner) = (0.0, 5);
    // SAFETY: a live handle, places to write to.
    unsafe {
        assert_eq!(windlass_ring_set_weight(handle.0, 2, 1, &raw mut moved, null_mut()), WINDLASS_OK);
        assert_eq!(moved, ours.set_weight(2, 1).expect("valid").moved);
        assert_eq!(windlass_ring_remove(handle.0, 1, &raw mut moved, null_mut()), WINDLASS_OK);
        assert_eq!(moved, ours.remove(1).expect("valid").moved);
        assert_eq!(windlass_ring_remove(handle.0, 2, null_mut(), null_mut()), WINDLASS_OK);
        assert_eq!(windlass_ring_remove(handle.0, 900, null_mut(), null_mut()), WINDLASS_OK);
        assert_eq!(windlass_ring_route(handle.0, null(), 0), i64::from(WINDLASS_E_NO_NODE));
        assert_eq!(windlass_ring_route_n(handle.0, null(), 0, 1, &raw mut owner), 0);
        assert_eq!(windlass_ring_route_u64s(handle.0, null(), 0, null_mut()), WINDLASS_OK);
        assert_eq!(windlass_ring_route_u64s(handle.0, &1, 1, &raw mut owner), WINDLASS_E_NO_NODE);
    }
    assert_eq!(owner, 5, "left alone");
}

#[test]
fn nodes_that_are_refused() {
    let ring = empty();
    assert_eq!(add(&ring, 1, b"a", 1), Ok(1.0));
    let says =
        |id, name: &[u8], weight, text: &str| assert_eq!(add(&ring, id, name, weight), Err(text.to_owned()));
    says(1, b"b", 1, "id: 1 (of b) is out of range: an id of its own: a has it");
    says(2, b"a", 1, "name: a (of node 2) is out of range: a name of its own: node 1 has it");
    says(
        2,
        b"b",
        0,
        "weight: 0 (node 2, b) is out of range: at least 1; a node that gets no keys is removed",
    );
    says(2, b"", 1, "name: \"\" (node 2) is out of range: at least a byte");
    says(2, b"ok\xff", 1, "name: not UTF-8 at byte 2");
}

#[test]
fn settings_that_are_refused() {
    let with = |change: fn(&mut windlass_ring_config)| {
        let (mut config, mut error, mut handle) = (windlass_ring_config::DEFAULT, fresh_error(), null_mut());
        change(&mut config);
        // SAFETY: a config of its size, places to write to.
        let status = unsafe { windlass_ring_new(&config, &raw mut handle, &raw mut error) };
        assert!(handle.is_null());
        (status, detail(&error))
    };
    let wrong = |text: &str| (WINDLASS_E_ARG, text.to_owned());
    assert_eq!(with(|c| c.vnodes = 0), wrong("vnodes: 0 is out of range: 1 to 65536"));
    assert_eq!(with(|c| c.flags = 4), wrong("flags: 4 is out of range: 0, as none are known"));
    assert_eq!(with(|c| c.reserved0 = 1), wrong("reserved: 1 is out of range: 0"));
    assert_eq!(with(|c| c.reserved[3] = 1), wrong("reserved: 1 is out of range: 0"));
    assert_eq!(with(|c| c.struct_size = 8).0, WINDLASS_E_STRUCT_SIZE);
}

#[test]
fn arguments_that_are_refused() {
    let handle = empty();
    assert_eq!(add(&handle, 1, b"a", 1), Ok(1.0));
    let (mut owner, mut moved, mut made) = (5_u32, 0.5, null_mut());
    let (ring, hash, ab) = (handle.0, windlass_hash { lo: 1, hi: 2 }, b"ab".as_ptr());
    let (null_pointer, range) = (i64::from(WINDLASS_E_NULL), i64::from(WINDLASS_E_RANGE));
    // SAFETY: NULL where it is refused, else a live handle and places to write to.
    unsafe {
        let (owner, moved) = (&raw mut owner, &raw mut moved);
        assert_eq!(windlass_ring_config_init(null_mut(), 56), WINDLASS_E_NULL);
        assert_eq!(windlass_ring_new(null(), &raw mut made, null_mut()), WINDLASS_E_NULL);
        assert_eq!(
            windlass_ring_new(&windlass_ring_config::DEFAULT, null_mut(), null_mut()),
            WINDLASS_E_NULL
        );
        assert_eq!(windlass_ring_add(null_mut(), 3, ab, 1, 1, moved, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_ring_add(ring, 3, null(), 1, 1, moved, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_ring_remove(ring, 3, moved, null_mut()), WINDLASS_E_ARG);
        assert_eq!(windlass_ring_remove(null_mut(), 3, moved, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_ring_set_weight(ring, 3, 1, moved, null_mut()), WINDLASS_E_ARG);
        assert_eq!(windlass_ring_route(null(), null(), 0), null_pointer);
        assert_eq!(windlass_ring_route(ring, null(), 1), null_pointer);
        assert_eq!(windlass_ring_route(ring, ab, usize::MAX), range);
        assert_eq!(windlass_ring_route_hash(null(), hash), null_pointer);
        assert_eq!(windlass_ring_route_u64(null(), 1), null_pointer);
        assert_eq!(windlass_ring_route_n(ring, null(), 0, 1, null_mut()), null_pointer);
        assert_eq!(windlass_ring_route_n(ring, null(), 0, usize::MAX, owner), range);
        assert_eq!(windlass_ring_route_hashes(ring, null(), 1, owner), WINDLASS_E_NULL);
        assert_eq!(windlass_ring_route_hashes(ring, &hash, 1, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_ring_route_u64s(null(), &1, 1, owner), WINDLASS_E_NULL);
        assert_eq!(windlass_ring_route_fixed(ring, ab, 2, 1, 1, owner), WINDLASS_E_RANGE);
        let offsets = [0, 3].as_ptr();
        assert_eq!(windlass_ring_route_packed(ring, ab, 2, offsets, 1, owner), WINDLASS_E_OFFSETS);
        assert_eq!(windlass_ring_nodes(null(), null_mut(), 0), null_pointer);
        assert_eq!(windlass_ring_nodes(ring, null_mut(), 1), null_pointer);
        assert_eq!(windlass_ring_get_stats(ring, null_mut(), 40), WINDLASS_E_NULL);
        windlass_ring_free(null_mut());
    }
    assert_eq!((owner, moved, made.is_null()), (5, 0.5, true), "left alone");
}

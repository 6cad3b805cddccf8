//! One key at a time.

use std::mem::MaybeUninit;

use windlass::{HashRing, Key, KeyHash};

use super::windlass_ring;
use crate::{
    boundary::{guard, room, slice},
    handle::core,
    hash::windlass_hash,
    status::{WINDLASS_E_NO_NODE, windlass_status},
};

/// The node that owns a key of len bytes (0 or more).
///
/// Returns its id, 0 to 2^32 - 1, or an error: WINDLASS_E_NO_NODE (the ring has none),
/// WINDLASS_E_NULL (ring; key, and len is not 0), WINDLASS_E_RANGE (len).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_ring_route(ring: *const windlass_ring, key: *const u8, len: usize) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let ring = unsafe { core(ring) }?;
        // SAFETY: the caller's promise.
        owner(ring, unsafe { slice(key, len) }?)
    })
}

/// The same for a key whose hash is known, by windlass_hash_bytes for example, with the ring's seed.
///
/// Returns as windlass_ring_route.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_ring_route_hash(ring: *const windlass_ring, hash: windlass_hash) -> i64 {
    // SAFETY: the caller's promise.
    guard(|| owner(unsafe { core(ring) }?, KeyHash::from(hash)))
}

/// The same for a key that is a number.
///
/// Returns as windlass_ring_route.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_ring_route_u64(ring: *const windlass_ring, key: u64) -> i64 {
    // SAFETY: the caller's promise.
    guard(|| owner(unsafe { core(ring) }?, key))
}

/// The first n different nodes at and after a key, its owner first: for replicas. owners has room
/// for n.
///
/// Returns how many there are, n or all nodes; or an error: WINDLASS_E_NULL (ring; key, and len is not
/// 0; owners, and n is not 0), WINDLASS_E_RANGE (len, n).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_ring_route_n(
    ring: *const windlass_ring,
    key: *const u8,
    len: usize,
    n: usize,
    owners: *mut u32,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let ring = unsafe { core(ring) }?;
        // SAFETY: the caller's promise.
        let key = unsafe { slice(key, len) }?;
        // SAFETY: the caller's promise.
        unsafe { replicas(ring, key, n, owners) }
    })
}

/// The same for a key whose hash is known.
///
/// Returns as windlass_ring_route_n.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_ring_route_n_hash(
    ring: *const windlass_ring,
    hash: windlass_hash,
    n: usize,
    owners: *mut u32,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let ring = unsafe { core(ring) }?;
        // SAFETY: the caller's promise.
        unsafe { replicas(ring, KeyHash::from(hash), n, owners) }
    })
}

#[inline(always)]
fn owner(ring: &HashRing, key: impl Key) -> Result<i64, windlass_status> {
    ring.route(key).map(i64::from).ok_or(WINDLASS_E_NO_NODE)
}

/// # Safety
/// `owners` as `room` has it, of `n`.
unsafe fn replicas(
    ring: &HashRing,
    key: impl Key,
    n: usize,
    owners: *mut u32,
) -> Result<i64, windlass_status> {
    if owners.is_null() && n > 0 {
        return Err(crate::status::WINDLASS_E_NULL);
    }
    // SAFETY: the caller's promise.
    let to = unsafe { room(owners, n) }?;
    let mut found = Vec::new();
    ring.route_n(key, n, &mut found);
    to.iter_mut().zip(&found).for_each(|(to, &id)| *to = MaybeUninit::new(id));
    // At most 2^22 nodes.
    Ok(i64::try_from(found.len()).unwrap_or(i64::MAX))
}

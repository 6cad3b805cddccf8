//! Many keys in one call, all by the ring as it is at one moment.

use std::mem::MaybeUninit;

use windlass::{Key, KeyHash};

use super::windlass_ring;
use crate::{
    boundary::{guard, room, slice},
    handle::core,
    hash::windlass_hash,
    ids::{Fixed, Packed},
    status::{WINDLASS_E_NO_NODE, WINDLASS_E_NULL, windlass_status},
};

/// The nodes that own n keys, by the hashes of these: owners[i] becomes the id of the owner of key i.
/// owners has room for n, and may not overlap with the rest.
///
/// Errors: WINDLASS_E_NO_NODE (the ring has none, and n is not 0), WINDLASS_E_NULL (ring; hashes or
/// owners, and n is not 0), WINDLASS_E_RANGE (n; a pointer is not aligned).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_ring_route_hashes(
    ring: *const windlass_ring,
    hashes: *const windlass_hash,
    n: usize,
    owners: *mut u32,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let hashes = unsafe { slice(hashes, n) }?;
        // SAFETY: the caller's promise.
        unsafe { route(ring, n, |i| KeyHash::from(hashes[i]), owners) }
    })
}

/// The same for n keys that are numbers.
///
/// Errors: as windlass_ring_route_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_ring_route_u64s(
    ring: *const windlass_ring,
    keys: *const u64,
    n: usize,
    owners: *mut u32,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let keys = unsafe { slice(keys, n) }?;
        // SAFETY: the caller's promise.
        unsafe { route(ring, n, |i| keys[i], owners) }
    })
}

/// The same for n keys of key_len bytes each, the next one stride bytes after the last. 1 <= key_len
/// <= stride. Of keys there must be (n - 1) * stride + key_len bytes.
///
/// Errors: WINDLASS_E_RANGE also if key_len or stride is wrong. The rest as
/// windlass_ring_route_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_ring_route_fixed(
    ring: *const windlass_ring,
    keys: *const u8,
    key_len: usize,
    stride: usize,
    n: usize,
    owners: *mut u32,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let keys = unsafe { Fixed::new(keys, key_len, stride, n) }?;
        // SAFETY: the caller's promise.
        unsafe { route(ring, n, |i| keys.get(i), owners) }
    })
}

/// The same for n keys of any lengths, one behind the other: key i is bytes[offsets[i]] up to, but
/// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
/// and none greater than bytes_len.
///
/// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
/// 0) and offsets (n is not 0). The rest as windlass_ring_route_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_ring_route_packed(
    ring: *const windlass_ring,
    bytes: *const u8,
    bytes_len: usize,
    offsets: *const u32,
    n: usize,
    owners: *mut u32,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let keys = unsafe { Packed::new(bytes, bytes_len, offsets, n) }?;
        // SAFETY: the caller's promise.
        unsafe { route(ring, n, |i| keys.get(i), owners) }
    })
}

/// # Safety
/// `ring` as `core` has it, `owners` as `room`, of `n`.
#[inline(always)]
unsafe fn route<K: Key>(
    ring: *const windlass_ring,
    n: usize,
    key: impl Fn(usize) -> K,
    owners: *mut u32,
) -> Result<windlass_status, windlass_status> {
    // SAFETY: the caller's promise.
    let placement = unsafe { core(ring) }?.placement();
    if owners.is_null() && n > 0 {
        return Err(WINDLASS_E_NULL);
    }
    // SAFETY: the caller's promise.
    let owners = unsafe { room(owners, n) }?;
    for (i, owner) in owners.iter_mut().enumerate() {
        *owner = MaybeUninit::new(placement.route(key(i)).ok_or(WINDLASS_E_NO_NODE)?);
    }
    Ok(crate::status::WINDLASS_OK)
}

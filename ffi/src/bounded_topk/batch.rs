//! Many events in one call. Everything is checked before the first.

use windlass::KeyHash;

use super::windlass_bounded_topk;
use crate::{
    adds,
    boundary::slice,
    counter::batch::windlass_tally,
    hash::windlass_hash,
    ids::{Fixed, Packed},
    status::windlass_status,
};

/// Counts n events, by the hashes of their keys. A batch has the memory for 16 events on its way at
/// once, and so is faster than single calls; 64 to 512 events are enough.
///
/// Event i counts times[i] times, or once if times is NULL. Its time is ticks[i], or now for all of
/// them if ticks is NULL. tally may be NULL; its no_room stays 0.
///
/// Errors; then nothing was counted: WINDLASS_E_NULL (topk; hashes, and n is not 0),
/// WINDLASS_E_RANGE (n; a pointer is not aligned).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_add_hashes(
    topk: *mut windlass_bounded_topk,
    hashes: *const windlass_hash,
    n: usize,
    times: *const u64,
    now: u64,
    ticks: *const u64,
    tally: *mut windlass_tally,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let keys = unsafe { slice(hashes, n) }.map(|hashes| |i: usize| KeyHash::from(hashes[i]));
    // SAFETY: the caller's promise.
    unsafe { adds::batch(topk, keys, n, times, now, ticks, tally) }
}

/// The same for n keys that are numbers.
///
/// The rest as windlass_bounded_topk_add_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_add_u64s(
    topk: *mut windlass_bounded_topk,
    keys: *const u64,
    n: usize,
    times: *const u64,
    now: u64,
    ticks: *const u64,
    tally: *mut windlass_tally,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let keys = unsafe { slice(keys, n) }.map(|keys| |i: usize| keys[i]);
    // SAFETY: the caller's promise.
    unsafe { adds::batch(topk, keys, n, times, now, ticks, tally) }
}

/// The same for n keys of key_len bytes each, the next one stride bytes after the last: a field of an
/// array of structs, for example. 1 <= key_len <= stride. Of keys there must be (n - 1) * stride +
/// key_len bytes.
///
/// Errors: WINDLASS_E_RANGE also if key_len or stride is wrong. The rest as
/// windlass_bounded_topk_add_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_add_fixed(
    topk: *mut windlass_bounded_topk,
    keys: *const u8,
    key_len: usize,
    stride: usize,
    n: usize,
    times: *const u64,
    now: u64,
    ticks: *const u64,
    tally: *mut windlass_tally,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let keys = unsafe { Fixed::new(keys, key_len, stride, n) }.map(|keys| move |i: usize| keys.get(i));
    // SAFETY: the caller's promise.
    unsafe { adds::batch(topk, keys, n, times, now, ticks, tally) }
}

/// The same for n keys of any lengths, one behind the other: key i is bytes[offsets[i]] up to, but
/// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
/// and none greater than bytes_len.
///
/// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
/// 0) and offsets (n is not 0). The rest as windlass_bounded_topk_add_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_add_packed(
    topk: *mut windlass_bounded_topk,
    bytes: *const u8,
    bytes_len: usize,
    offsets: *const u32,
    n: usize,
    times: *const u64,
    now: u64,
    ticks: *const u64,
    tally: *mut windlass_tally,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let keys = unsafe { Packed::new(bytes, bytes_len, offsets, n) }.map(|keys| move |i: usize| keys.get(i));
    // SAFETY: the caller's promise.
    unsafe { adds::batch(topk, keys, n, times, now, ticks, tally) }
}

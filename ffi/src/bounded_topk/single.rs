//! One key at a time.

use windlass::{Key, KeyHash, Tick};

use super::windlass_bounded_topk;
use crate::{
    adds,
    boundary::{guard, put, slice},
    handle::core,
    hash::windlass_hash,
    status::{WINDLASS_E_NULL, windlass_status},
};

/// Counts a key of len bytes (0 or more) times times at the time now.
///
/// Returns WINDLASS_COUNTED, WINDLASS_LATE, or an error:
/// WINDLASS_E_JUMP (now is further ahead than max_jump: it is not counted), WINDLASS_E_NULL (topk; key,
/// and len is not 0), WINDLASS_E_RANGE (len).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_add(
    topk: *mut windlass_bounded_topk,
    key: *const u8,
    len: usize,
    times: u64,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let key = unsafe { slice(key, len) };
    // SAFETY: the caller's promise.
    unsafe { adds::one(topk, key, times, now) }
}

/// The same for a key whose hash is known, by windlass_hash_bytes for example, with the seed of topk
/// or of a namespace. In lists it is that hash: what was hashed is not known. So let a key always come
/// in one form.
///
/// Returns as windlass_bounded_topk_add.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_add_hash(
    topk: *mut windlass_bounded_topk,
    hash: windlass_hash,
    times: u64,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { adds::one(topk, Ok(KeyHash::from(hash)), times, now) }
}

/// The same for a key that is a number: told apart exactly. In lists it is that number.
///
/// Returns as windlass_bounded_topk_add.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_add_u64(
    topk: *mut windlass_bounded_topk,
    key: u64,
    times: u64,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { adds::one(topk, Ok(key), times, now) }
}

/// What a key was seen in the window at the time now: lower times or more, upper times at most. upper becomes
/// UINT64_MAX where nothing is known.
///
/// Errors: WINDLASS_E_NULL (topk, lower or upper; key, and len is not 0), WINDLASS_E_RANGE (len).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_bounds(
    topk: *const windlass_bounded_topk,
    key: *const u8,
    len: usize,
    now: u64,
    lower: *mut u64,
    upper: *mut u64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let key = unsafe { slice(key, len) };
    // SAFETY: the caller's promise.
    unsafe { bounds(topk, key, now, lower, upper) }
}

/// The same for a key whose hash is known.
///
/// Errors: WINDLASS_E_NULL (topk, lower or upper).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_bounds_hash(
    topk: *const windlass_bounded_topk,
    hash: windlass_hash,
    now: u64,
    lower: *mut u64,
    upper: *mut u64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    unsafe { bounds(topk, Ok(KeyHash::from(hash)), now, lower, upper) }
}

/// The same for a key that is a number.
///
/// Errors: WINDLASS_E_NULL (topk, lower or upper).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_bounds_u64(
    topk: *const windlass_bounded_topk,
    key: u64,
    now: u64,
    lower: *mut u64,
    upper: *mut u64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    unsafe { bounds(topk, Ok(key), now, lower, upper) }
}

/// # Safety
/// `topk` as `core` has it, `lower` and `upper` as `put`.
unsafe fn bounds(
    topk: *const windlass_bounded_topk,
    key: Result<impl Key, windlass_status>,
    now: u64,
    lower: *mut u64,
    upper: *mut u64,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let topk = unsafe { core(topk) }?;
        let key = key?;
        if lower.is_null() || upper.is_null() {
            return Err(WINDLASS_E_NULL);
        }
        let (least, most) = topk.bounds_at(key, Tick(now));
        // SAFETY: the caller's promise.
        unsafe { put(lower, least) }?;
        // SAFETY: the caller's promise.
        unsafe { put(upper, most) }
    })
}

/// How often all keys were seen in the window at the time now.
///
/// Errors: WINDLASS_E_NULL (topk or total).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_total(
    topk: *const windlass_bounded_topk,
    now: u64,
    total: *mut u64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    unsafe { adds::ask(topk, Ok(()), total, |topk, ()| topk.total_at(Tick(now))) }
}

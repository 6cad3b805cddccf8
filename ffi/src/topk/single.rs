//! One key at a time.

use windlass::{KeyHash, Tick};

use super::windlass_topk;
use crate::{adds, boundary::slice, hash::windlass_hash, status::windlass_status};

/// Counts a key of len bytes (0 or more) times times at the time now.
///
/// Returns WINDLASS_COUNTED, WINDLASS_NO_ROOM, WINDLASS_TOO_LONG, WINDLASS_LATE, or an error:
/// WINDLASS_E_JUMP (now is further ahead than max_jump: it is not counted), WINDLASS_E_NULL (topk; key,
/// and len is not 0), WINDLASS_E_RANGE (len).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_topk_add(
    topk: *mut windlass_topk,
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
/// Returns as windlass_topk_add.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_topk_add_hash(
    topk: *mut windlass_topk,
    hash: windlass_hash,
    times: u64,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { adds::one(topk, Ok(KeyHash::from(hash)), times, now) }
}

/// The same for a key that is a number: told apart exactly. In lists it is that number.
///
/// Returns as windlass_topk_add.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_topk_add_u64(
    topk: *mut windlass_topk,
    key: u64,
    times: u64,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { adds::one(topk, Ok(key), times, now) }
}

/// How often a key was seen in the window at the time now. count becomes UINT64_MAX where it is that
/// many or more.
///
/// Errors: WINDLASS_E_NULL (topk or count; key, and len is not 0), WINDLASS_E_RANGE (len).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_topk_count(
    topk: *const windlass_topk,
    key: *const u8,
    len: usize,
    now: u64,
    count: *mut u64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let key = unsafe { slice(key, len) };
    // SAFETY: the caller's promise.
    unsafe { adds::ask(topk, key, count, |topk, key| topk.count_at(key, Tick(now))) }
}

/// The same for a key whose hash is known.
///
/// Errors: WINDLASS_E_NULL (topk or count).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_topk_count_hash(
    topk: *const windlass_topk,
    hash: windlass_hash,
    now: u64,
    count: *mut u64,
) -> windlass_status {
    let hash = Ok(KeyHash::from(hash));
    // SAFETY: the caller's promise.
    unsafe { adds::ask(topk, hash, count, |topk, hash| topk.count_at(hash, Tick(now))) }
}

/// The same for a key that is a number.
///
/// Errors: WINDLASS_E_NULL (topk or count).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_topk_count_u64(
    topk: *const windlass_topk,
    key: u64,
    now: u64,
    count: *mut u64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    unsafe { adds::ask(topk, Ok(key), count, |topk, key| topk.count_at(key, Tick(now))) }
}

/// How often all keys were seen in the window at the time now.
///
/// Errors: WINDLASS_E_NULL (topk or total).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_topk_total(
    topk: *const windlass_topk,
    now: u64,
    total: *mut u64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    unsafe { adds::ask(topk, Ok(()), total, |topk, ()| topk.total_at(Tick(now))) }
}

//! One key at a time.

use windlass::{KeyHash, Tick};

use super::windlass_counter;
use crate::{adds, boundary::slice, hash::windlass_hash, status::windlass_status};

/// Counts a key of len bytes (0 or more) times times at the time now.
///
/// Returns WINDLASS_COUNTED, WINDLASS_NO_ROOM, WINDLASS_LATE, or an error: WINDLASS_E_JUMP (now is
/// further ahead than max_jump: it is not counted), WINDLASS_E_NULL (counter; key, and len is not 0),
/// WINDLASS_E_RANGE (len).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_counter_add(
    counter: *mut windlass_counter,
    key: *const u8,
    len: usize,
    times: u64,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let key = unsafe { slice(key, len) };
    // SAFETY: the caller's promise.
    unsafe { adds::one(counter, key, times, now) }
}

/// The same for a key whose hash is known, by windlass_hash_bytes for example, with the seed of
/// counter or of a namespace.
///
/// Returns as windlass_counter_add.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_counter_add_hash(
    counter: *mut windlass_counter,
    hash: windlass_hash,
    times: u64,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { adds::one(counter, Ok(KeyHash::from(hash)), times, now) }
}

/// The same for a key that is a number: told apart exactly.
///
/// Returns as windlass_counter_add.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_counter_add_u64(
    counter: *mut windlass_counter,
    key: u64,
    times: u64,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { adds::one(counter, Ok(key), times, now) }
}

/// How often a key was seen in the window at the time now. count becomes UINT64_MAX where it is that
/// many or more.
///
/// Errors: WINDLASS_E_NULL (counter or count; key, and len is not 0), WINDLASS_E_RANGE (len).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_counter_count(
    counter: *const windlass_counter,
    key: *const u8,
    len: usize,
    now: u64,
    count: *mut u64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let key = unsafe { slice(key, len) };
    // SAFETY: the caller's promise.
    unsafe { adds::ask(counter, key, count, |counter, key| counter.count_at(key, Tick(now))) }
}

/// The same for a key whose hash is known.
///
/// Errors: WINDLASS_E_NULL (counter or count).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_counter_count_hash(
    counter: *const windlass_counter,
    hash: windlass_hash,
    now: u64,
    count: *mut u64,
) -> windlass_status {
    let hash = Ok(KeyHash::from(hash));
    // SAFETY: the caller's promise.
    unsafe { adds::ask(counter, hash, count, |counter, hash| counter.count_at(hash, Tick(now))) }
}

/// The same for a key that is a number.
///
/// Errors: WINDLASS_E_NULL (counter or count).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_counter_count_u64(
    counter: *const windlass_counter,
    key: u64,
    now: u64,
    count: *mut u64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    unsafe { adds::ask(counter, Ok(key), count, |counter, key| counter.count_at(key, Tick(now))) }
}

/// How often a key was seen in the complete window at the time now.
///
/// Errors: as windlass_counter_count.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_counter_count_complete(
    counter: *const windlass_counter,
    key: *const u8,
    len: usize,
    now: u64,
    count: *mut u64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let key = unsafe { slice(key, len) };
    // SAFETY: the caller's promise.
    unsafe { adds::ask(counter, key, count, |counter, key| counter.count_complete_at(key, Tick(now))) }
}

/// How often all keys were seen in the window at the time now.
///
/// Errors: WINDLASS_E_NULL (counter or total).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_counter_total(
    counter: *const windlass_counter,
    now: u64,
    total: *mut u64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    unsafe { adds::ask(counter, Ok(()), total, |counter, ()| counter.total_at(Tick(now))) }
}

/// How often all keys were seen in the complete window at the time now.
///
/// Errors: WINDLASS_E_NULL (counter or total).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_counter_total_complete(
    counter: *const windlass_counter,
    now: u64,
    total: *mut u64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    unsafe { adds::ask(counter, Ok(()), total, |counter, ()| counter.total_complete_at(Tick(now))) }
}

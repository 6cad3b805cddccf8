//! Many calls in one. Everything is checked before the first is made.
//!
//! Answers are whole: to write 40 bytes in a row costs a batch little, whose callers would have to ask again, one by one, for
//! when to come back, and of a queue could not.

use windlass::{Key, KeyHash, Tick};

use super::{
    admission::{Admissions, windlass_admission},
    core, windlass_limiter,
};
use crate::{
    boundary::{guard, optional, room, slice},
    hash::windlass_hash,
    ids::{Fixed, Packed},
    status::windlass_status,
};

/// Checks n calls in order, by the hashes of their keys; what one takes the next of the same client
/// does not find. A batch has the memory for 16 calls on its way at once, and so is faster than
/// single calls; 64 to 512 are enough.
///
/// Call i costs costs[i], or 1 if costs is NULL. Its time is ticks[i], or now for all of them if ticks
/// is NULL. admissions[i] becomes what the single call would have said. admissions may be NULL. It may
/// not overlap with the rest.
///
/// Returns how many are allowed, or an error; then nothing was taken and no answer was written:
/// WINDLASS_E_NULL (limiter; hashes, and n is not 0), WINDLASS_E_RANGE (n; a pointer is not aligned).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_check_hashes(
    limiter: *mut windlass_limiter,
    hashes: *const windlass_hash,
    n: usize,
    costs: *const u64,
    now: u64,
    ticks: *const u64,
    admissions: *mut windlass_admission,
) -> i64 {
    // SAFETY: the caller's promise.
    let keys = unsafe { slice(hashes, n) }.map(|hashes| |i: usize| KeyHash::from(hashes[i]));
    // SAFETY: the caller's promise.
    unsafe { check(limiter, keys, n, costs, now, ticks, admissions) }
}

/// The same for n keys that are numbers.
///
/// The rest as windlass_limiter_check_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_check_u64s(
    limiter: *mut windlass_limiter,
    keys: *const u64,
    n: usize,
    costs: *const u64,
    now: u64,
    ticks: *const u64,
    admissions: *mut windlass_admission,
) -> i64 {
    // SAFETY: the caller's promise.
    let keys = unsafe { slice(keys, n) }.map(|keys| |i: usize| keys[i]);
    // SAFETY: the caller's promise.
    unsafe { check(limiter, keys, n, costs, now, ticks, admissions) }
}

/// The same for n keys of key_len bytes each, the next one stride bytes after the last: a field of an
/// array of structs, for example. 1 <= key_len <= stride. Of keys there must be (n - 1) * stride +
/// key_len bytes.
///
/// Errors: WINDLASS_E_RANGE also if key_len or stride is wrong. The rest as
/// windlass_limiter_check_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_check_fixed(
    limiter: *mut windlass_limiter,
    keys: *const u8,
    key_len: usize,
    stride: usize,
    n: usize,
    costs: *const u64,
    now: u64,
    ticks: *const u64,
    admissions: *mut windlass_admission,
) -> i64 {
    // SAFETY: the caller's promise.
    let keys = unsafe { Fixed::new(keys, key_len, stride, n) }.map(|keys| move |i: usize| keys.get(i));
    // SAFETY: the caller's promise.
    unsafe { check(limiter, keys, n, costs, now, ticks, admissions) }
}

/// The same for n keys of any lengths, one behind the other: key i is bytes[offsets[i]] up to, but
/// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
/// and none greater than bytes_len.
///
/// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
/// 0) and offsets (n is not 0). The rest as windlass_limiter_check_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_check_packed(
    limiter: *mut windlass_limiter,
    bytes: *const u8,
    bytes_len: usize,
    offsets: *const u32,
    n: usize,
    costs: *const u64,
    now: u64,
    ticks: *const u64,
    admissions: *mut windlass_admission,
) -> i64 {
    // SAFETY: the caller's promise.
    let keys = unsafe { Packed::new(bytes, bytes_len, offsets, n) }.map(|keys| move |i: usize| keys.get(i));
    // SAFETY: the caller's promise.
    unsafe { check(limiter, keys, n, costs, now, ticks, admissions) }
}

/// Checks all arguments, then makes the calls. How many are allowed.
///
/// # Safety
/// `limiter` as `core` has it, `costs` and `ticks` as `slice`, `admissions` as `room`, of `n` each.
#[inline(always)]
unsafe fn check<K: Key>(
    limiter: *mut windlass_limiter,
    keys: Result<impl Fn(usize) -> K, windlass_status>,
    n: usize,
    costs: *const u64,
    now: u64,
    ticks: *const u64,
    admissions: *mut windlass_admission,
) -> i64 {
    guard(|| {
        let key = keys?;
        // SAFETY: the caller's promise.
        let limiter = unsafe { core(limiter) }?;
        // SAFETY: the caller's promise.
        let costs = unsafe { optional(costs, n) }?;
        // SAFETY: the caller's promise.
        let ticks = unsafe { optional(ticks, n) }?;
        // SAFETY: the caller's promise.
        let mut admissions = Admissions::new(unsafe { room(admissions, n) }?);
        let cost = |i: usize| costs.map_or(1, |costs| costs[i]);
        let tick = |i: usize| Tick(ticks.map_or(now, |ticks| ticks[i]));
        limiter.check_each(n, |i| (key(i), cost(i), tick(i)), &mut admissions);
        Ok::<_, windlass_status>(admissions.allowed)
    })
}

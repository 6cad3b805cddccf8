//! One call at a time.

use windlass::{KeyHash, Tick};

use super::{admission::windlass_admission, ask, forget, windlass_limiter};
use crate::{boundary::slice, hash::windlass_hash};

/// Takes cost permits at the time now, or none, for the client whose key has len bytes (0 or more).
/// Of cost 0 it tells how things stand.
///
/// Returns WINDLASS_ALLOWED, WINDLASS_DENIED or WINDLASS_NEVER, and says more in admission, which may
/// be NULL; or an error: WINDLASS_E_NULL (limiter; key, and len is not 0), WINDLASS_E_RANGE (len). Then
/// nothing was changed, and admission is left alone.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_check(
    limiter: *mut windlass_limiter,
    key: *const u8,
    len: usize,
    cost: u64,
    now: u64,
    admission: *mut windlass_admission,
) -> i32 {
    // SAFETY: the caller's promise.
    let key = unsafe { slice(key, len) };
    // SAFETY: the caller's promise.
    unsafe { ask(limiter, key, admission, |limiter, key| limiter.check_at(key, cost, Tick(now))) }
}

/// The same for a key whose hash is known, by windlass_hash_bytes for example, with the seed of
/// limiter or of a namespace.
///
/// Returns as windlass_limiter_check.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_check_hash(
    limiter: *mut windlass_limiter,
    hash: windlass_hash,
    cost: u64,
    now: u64,
    admission: *mut windlass_admission,
) -> i32 {
    let key = Ok(KeyHash::from(hash));
    // SAFETY: the caller's promise.
    unsafe { ask(limiter, key, admission, |limiter, key| limiter.check_at(key, cost, Tick(now))) }
}

/// The same for a key that is a number: exact, as no two numbers share a fingerprint.
///
/// Returns as windlass_limiter_check.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_check_u64(
    limiter: *mut windlass_limiter,
    key: u64,
    cost: u64,
    now: u64,
    admission: *mut windlass_admission,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { ask(limiter, Ok(key), admission, |limiter, key| limiter.check_at(key, cost, Tick(now))) }
}

/// What windlass_limiter_check would answer. Nothing is taken, and time is not moved on.
///
/// Returns as windlass_limiter_check.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_peek(
    limiter: *const windlass_limiter,
    key: *const u8,
    len: usize,
    cost: u64,
    now: u64,
    admission: *mut windlass_admission,
) -> i32 {
    // SAFETY: the caller's promise.
    let key = unsafe { slice(key, len) };
    // SAFETY: the caller's promise.
    unsafe { ask(limiter, key, admission, |limiter, key| limiter.peek_at(key, cost, Tick(now))) }
}

/// The same for a key whose hash is known.
///
/// Returns as windlass_limiter_check.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_peek_hash(
    limiter: *const windlass_limiter,
    hash: windlass_hash,
    cost: u64,
    now: u64,
    admission: *mut windlass_admission,
) -> i32 {
    let key = Ok(KeyHash::from(hash));
    // SAFETY: the caller's promise.
    unsafe { ask(limiter, key, admission, |limiter, key| limiter.peek_at(key, cost, Tick(now))) }
}

/// The same for a key that is a number.
///
/// Returns as windlass_limiter_check.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_peek_u64(
    limiter: *const windlass_limiter,
    key: u64,
    cost: u64,
    now: u64,
    admission: *mut windlass_admission,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { ask(limiter, Ok(key), admission, |limiter, key| limiter.peek_at(key, cost, Tick(now))) }
}

/// Gives a client back all that it has taken.
///
/// Returns 1 (there was something), 0 (there was not; or this was done too often in the time that a
/// full bucket takes to empty: 127 times, of windows 15, with less than a millisecond between permits
/// 3), or an error: WINDLASS_E_NULL (limiter; key, and len is not 0), WINDLASS_E_RANGE (len).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_forget(
    limiter: *mut windlass_limiter,
    key: *const u8,
    len: usize,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let key = unsafe { slice(key, len) };
    // SAFETY: the caller's promise.
    unsafe { forget(limiter, key, |limiter, key| limiter.forget_at(key, Tick(now))) }
}

/// The same for a key whose hash is known.
///
/// Returns as windlass_limiter_forget.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_forget_hash(
    limiter: *mut windlass_limiter,
    hash: windlass_hash,
    now: u64,
) -> i32 {
    let key = Ok(KeyHash::from(hash));
    // SAFETY: the caller's promise.
    unsafe { forget(limiter, key, |limiter, key| limiter.forget_at(key, Tick(now))) }
}

/// The same for a key that is a number.
///
/// Returns as windlass_limiter_forget.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_forget_u64(
    limiter: *mut windlass_limiter,
    key: u64,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { forget(limiter, Ok(key), |limiter, key| limiter.forget_at(key, Tick(now))) }
}

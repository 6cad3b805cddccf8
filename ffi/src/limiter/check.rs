//! One call at a time.

use windlass::{KeyHash, KeyedLimiter, Tick};

use super::{
    admission::{answer, windlass_admission},
    core, windlass_limiter,
};
use crate::{
    boundary::{guard, slice},
    hash::windlass_hash,
    status::windlass_status,
};

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
    guard(|| {
        // SAFETY: the caller's promise.
        let (limiter, key) = unsafe { with_bytes(limiter, key, len) }?;
        // SAFETY: the caller's promise.
        Ok::<_, windlass_status>(unsafe { answer(limiter.check_at(key, cost, Tick(now)), admission) })
    })
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
    guard(|| {
        // SAFETY: the caller's promise.
        let limiter = unsafe { core(limiter) }?;
        let admitted = limiter.check_at(KeyHash::from(hash), cost, Tick(now));
        // SAFETY: the caller's promise.
        Ok::<_, windlass_status>(unsafe { answer(admitted, admission) })
    })
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
    guard(|| {
        // SAFETY: the caller's promise.
        let limiter = unsafe { core(limiter) }?;
        // SAFETY: the caller's promise.
        Ok::<_, windlass_status>(unsafe { answer(limiter.check_at(key, cost, Tick(now)), admission) })
    })
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
    guard(|| {
        // SAFETY: the caller's promise.
        let (limiter, key) = unsafe { with_bytes(limiter, key, len) }?;
        // SAFETY: the caller's promise.
        Ok::<_, windlass_status>(unsafe { answer(limiter.peek_at(key, cost, Tick(now)), admission) })
    })
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
    guard(|| {
        // SAFETY: the caller's promise.
        let limiter = unsafe { core(limiter) }?;
        let admitted = limiter.peek_at(KeyHash::from(hash), cost, Tick(now));
        // SAFETY: the caller's promise.
        Ok::<_, windlass_status>(unsafe { answer(admitted, admission) })
    })
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
    guard(|| {
        // SAFETY: the caller's promise.
        let limiter = unsafe { core(limiter) }?;
        // SAFETY: the caller's promise.
        Ok::<_, windlass_status>(unsafe { answer(limiter.peek_at(key, cost, Tick(now)), admission) })
    })
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
    guard(|| {
        // SAFETY: the caller's promise.
        let (limiter, key) = unsafe { with_bytes(limiter, key, len) }?;
        Ok::<_, windlass_status>(limiter.forget_at(key, Tick(now)).into())
    })
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
    guard(|| {
        // SAFETY: the caller's promise.
        let limiter = unsafe { core(limiter) }?;
        Ok::<_, windlass_status>(limiter.forget_at(KeyHash::from(hash), Tick(now)).into())
    })
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
    guard(|| {
        // SAFETY: the caller's promise.
        let limiter = unsafe { core(limiter) }?;
        Ok::<_, windlass_status>(limiter.forget_at(key, Tick(now)).into())
    })
}

/// # Safety
/// As `core` and `slice`.
#[inline(always)]
unsafe fn with_bytes<'a>(
    limiter: *const windlass_limiter,
    key: *const u8,
    len: usize,
) -> Result<(&'a KeyedLimiter, &'a [u8]), windlass_status> {
    // SAFETY: the caller's promise.
    let limiter = unsafe { core(limiter) }?;
    // SAFETY: the caller's promise.
    Ok((limiter, unsafe { slice(key, len) }?))
}

//! One event at a time.

use windlass::{KeyHash, Tick};

use super::{code, windlass_dedup};
use crate::{
    boundary::{guard, slice},
    handle::core,
    hash::windlass_hash,
};

/// Observes an id of len bytes (0 or more) at the time now: is it new within the window?
///
/// Returns WINDLASS_FRESH, WINDLASS_DUPLICATE, or an error: WINDLASS_E_FULL, WINDLASS_E_JUMP,
/// WINDLASS_E_TOO_LONG, WINDLASS_E_NULL (dedup; id, and len is not 0), WINDLASS_E_RANGE (len). After
/// an error nothing was changed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_observe(
    dedup: *mut windlass_dedup,
    id: *const u8,
    len: usize,
    now: u64,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let (dedup, id) = unsafe { with_bytes(dedup, id, len) }?;
        Ok::<_, i32>(code(dedup.observe_at(id, Tick(now))))
    })
}

/// The same for an id whose hash is known, by windlass_hash_bytes for example, with the seed of
/// dedup or of a namespace. With WINDLASS_IDENTITY_BYTES it is another id than the bytes that were
/// hashed, here and in all calls that take a hash: bring each id in one form.
///
/// Returns as windlass_dedup_observe.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_observe_hash(
    dedup: *mut windlass_dedup,
    hash: windlass_hash,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    guard(|| Ok::<_, i32>(code(unsafe { core(dedup) }?.observe_at(KeyHash::from(hash), Tick(now)))))
}

/// The same for an id that is a number: exact, as no two numbers share a fingerprint.
///
/// Returns as windlass_dedup_observe.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_observe_u64(dedup: *mut windlass_dedup, id: u64, now: u64) -> i32 {
    // SAFETY: the caller's promise.
    guard(|| Ok::<_, i32>(code(unsafe { core(dedup) }?.observe_at(id, Tick(now)))))
}

/// Would an observation of the id at the time now find a duplicate? Changes nothing.
///
/// Returns 1 (yes), 0 (no; also of an id that is too long to be admitted), or an error:
/// WINDLASS_E_NULL (dedup; id, and len is not 0), WINDLASS_E_RANGE (len).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_contains(
    dedup: *const windlass_dedup,
    id: *const u8,
    len: usize,
    now: u64,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let (dedup, id) = unsafe { with_bytes(dedup, id, len) }?;
        Ok::<_, i32>(dedup.contains_at(id, Tick(now)).into())
    })
}

/// The same for an id whose hash is known.
///
/// Returns as windlass_dedup_contains.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_contains_hash(
    dedup: *const windlass_dedup,
    hash: windlass_hash,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    guard(|| Ok::<_, i32>(unsafe { core(dedup) }?.contains_at(KeyHash::from(hash), Tick(now)).into()))
}

/// The same for an id that is a number.
///
/// Returns as windlass_dedup_contains.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_contains_u64(dedup: *const windlass_dedup, id: u64, now: u64) -> i32 {
    // SAFETY: the caller's promise.
    guard(|| Ok::<_, i32>(unsafe { core(dedup) }?.contains_at(id, Tick(now)).into()))
}

/// Forgets an id, so that the next observation finds it fresh; a claim of it is aborted.
///
/// Returns 1 (it was there at the time now), 0 (it was not), or an error as
/// windlass_dedup_contains.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_forget(
    dedup: *mut windlass_dedup,
    id: *const u8,
    len: usize,
    now: u64,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let (dedup, id) = unsafe { with_bytes(dedup, id, len) }?;
        Ok::<_, i32>(dedup.forget_at(id, Tick(now)).into())
    })
}

/// The same for an id whose hash is known.
///
/// Returns as windlass_dedup_forget.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_forget_hash(
    dedup: *mut windlass_dedup,
    hash: windlass_hash,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    guard(|| Ok::<_, i32>(unsafe { core(dedup) }?.forget_at(KeyHash::from(hash), Tick(now)).into()))
}

/// The same for an id that is a number.
///
/// Returns as windlass_dedup_forget.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_forget_u64(dedup: *mut windlass_dedup, id: u64, now: u64) -> i32 {
    // SAFETY: the caller's promise.
    guard(|| Ok::<_, i32>(unsafe { core(dedup) }?.forget_at(id, Tick(now)).into()))
}

/// # Safety
/// As `core` and `slice`.
#[inline(always)]
pub(super) unsafe fn with_bytes<'a>(
    dedup: *const windlass_dedup,
    id: *const u8,
    len: usize,
) -> Result<(&'a windlass::Dedup, &'a [u8]), i32> {
    // SAFETY: the caller's promise.
    let dedup = unsafe { core(dedup) }?;
    // SAFETY: the caller's promise.
    Ok((dedup, unsafe { slice(id, len) }?))
}

//! One id at a time.

use windlass::{KeyHash, RotatingBloom, Tick, Verdict};

use super::windlass_bloom;
use crate::{
    boundary::{guard, slice},
    dedup::{WINDLASS_DUPLICATE, WINDLASS_FRESH},
    handle::core,
    hash::windlass_hash,
};

#[inline(always)]
pub(super) fn code(verdict: Verdict) -> i32 {
    if verdict.is_fresh() { WINDLASS_FRESH } else { WINDLASS_DUPLICATE }
}

/// Puts an id of len bytes (0 or more) in at the time now; any arrival starts its window anew.
/// Was it seen within the window before?
///
/// Returns 1 (it was seen), 0 (it was not), or an error: WINDLASS_E_NULL
/// (bloom; id, and len is not 0), WINDLASS_E_RANGE (len). After an error nothing was changed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_insert(
    bloom: *mut windlass_bloom,
    id: *const u8,
    len: usize,
    now: u64,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let (bloom, id) = unsafe { with_bytes(bloom, id, len) }?;
        Ok::<_, i32>(bloom.insert_at(id, Tick(now)).into())
    })
}

/// The same for an id whose hash is known, by windlass_hash_bytes for example, with the seed of
/// bloom or of a namespace.
///
/// Returns as windlass_bloom_insert.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_insert_hash(
    bloom: *mut windlass_bloom,
    hash: windlass_hash,
    now: u64,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let bloom = unsafe { core(bloom) }?;
        Ok::<_, i32>(bloom.insert_at(KeyHash::from(hash), Tick(now)).into())
    })
}

/// The same for an id that is a number.
///
/// Returns as windlass_bloom_insert.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_insert_u64(bloom: *mut windlass_bloom, id: u64, now: u64) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let bloom = unsafe { core(bloom) }?;
        Ok::<_, i32>(bloom.insert_at(id, Tick(now)).into())
    })
}

/// Observes an id of len bytes (0 or more) at the time now: puts it in if it was not seen within the
/// window before, so the first arrival counts, as in windlass_dedup. Some fresh ids are taken for
/// duplicates, no duplicate for a fresh id. (Of threads that bring one new id at once more than one
/// may be told that it is fresh, unless the layout is WINDLASS_LAYOUT_ROWS_1.)
///
/// Returns WINDLASS_FRESH or WINDLASS_DUPLICATE, or an error: WINDLASS_E_NULL
/// (bloom; id, and len is not 0), WINDLASS_E_RANGE (len). After an error nothing was changed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_observe(
    bloom: *mut windlass_bloom,
    id: *const u8,
    len: usize,
    now: u64,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let (bloom, id) = unsafe { with_bytes(bloom, id, len) }?;
        Ok::<_, i32>(code(bloom.observe_at(id, Tick(now))))
    })
}

/// The same for an id whose hash is known, by windlass_hash_bytes for example, with the seed of
/// bloom or of a namespace.
///
/// Returns as windlass_bloom_observe.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_observe_hash(
    bloom: *mut windlass_bloom,
    hash: windlass_hash,
    now: u64,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let bloom = unsafe { core(bloom) }?;
        Ok::<_, i32>(code(bloom.observe_at(KeyHash::from(hash), Tick(now))))
    })
}

/// The same for an id that is a number.
///
/// Returns as windlass_bloom_observe.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_observe_u64(bloom: *mut windlass_bloom, id: u64, now: u64) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let bloom = unsafe { core(bloom) }?;
        Ok::<_, i32>(code(bloom.observe_at(id, Tick(now))))
    })
}

/// Was an id of len bytes (0 or more) seen within the window before now? Changes nothing.
///
/// Returns 1 (it was seen), 0 (it was not), or an error: WINDLASS_E_NULL
/// (bloom; id, and len is not 0), WINDLASS_E_RANGE (len). After an error nothing was changed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_contains(
    bloom: *const windlass_bloom,
    id: *const u8,
    len: usize,
    now: u64,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let (bloom, id) = unsafe { with_bytes(bloom, id, len) }?;
        Ok::<_, i32>(bloom.contains_at(id, Tick(now)).into())
    })
}

/// The same for an id whose hash is known, by windlass_hash_bytes for example, with the seed of
/// bloom or of a namespace.
///
/// Returns as windlass_bloom_contains.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_contains_hash(
    bloom: *const windlass_bloom,
    hash: windlass_hash,
    now: u64,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let bloom = unsafe { core(bloom) }?;
        Ok::<_, i32>(bloom.contains_at(KeyHash::from(hash), Tick(now)).into())
    })
}

/// The same for an id that is a number.
///
/// Returns as windlass_bloom_contains.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_contains_u64(bloom: *const windlass_bloom, id: u64, now: u64) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let bloom = unsafe { core(bloom) }?;
        Ok::<_, i32>(bloom.contains_at(id, Tick(now)).into())
    })
}

/// # Safety
/// As `core` and `slice`.
#[inline(always)]
pub(super) unsafe fn with_bytes<'a>(
    bloom: *const windlass_bloom,
    id: *const u8,
    len: usize,
) -> Result<(&'a RotatingBloom, &'a [u8]), i32> {
    // SAFETY: the caller's promise.
    let bloom = unsafe { core(bloom) }?;
    // SAFETY: the caller's promise.
    Ok((bloom, unsafe { slice(id, len) }?))
}

//! What is in the panes: where an id is, and how many there are.

use windlass::{Key, KeyHash, RotatingBloom, Tick};

use super::{single::with_bytes, windlass_bloom};
use crate::{
    boundary::{guard, room},
    handle::core,
    hash::windlass_hash,
    status::{WINDLASS_E_ARG, WINDLASS_E_FULL, WINDLASS_E_NULL, WINDLASS_OK, windlass_status},
};

/// The time of a pane.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct windlass_pane_span {
    /// Its first tick.
    pub start: u64,
    /// The tick after its last.
    pub end: u64,
}

/// In which panes that are live at the time now is an id of len bytes? Each may be an error, as
/// usual. spans gets them, the newest first, as many as there are and room has places for. It may be
/// NULL if room is 0.
///
/// Returns in how many panes it is, which may be more than room and is not more than the plan's
/// panes, or an error: WINDLASS_E_NULL (bloom; id, and len is not 0; spans, and room is not 0),
/// WINDLASS_E_RANGE (len, room; spans is not aligned).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_panes_at(
    bloom: *const windlass_bloom,
    id: *const u8,
    len: usize,
    now: u64,
    spans: *mut windlass_pane_span,
    room: usize,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let (bloom, id) = unsafe { with_bytes(bloom, id, len) }?;
        // SAFETY: the caller's promise.
        unsafe { panes_at(bloom, id, now, spans, room) }
    })
}

/// The same for an id whose hash is known.
///
/// Returns as windlass_bloom_panes_at.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_panes_at_hash(
    bloom: *const windlass_bloom,
    hash: windlass_hash,
    now: u64,
    spans: *mut windlass_pane_span,
    room: usize,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let bloom = unsafe { core(bloom) }?;
        // SAFETY: the caller's promise.
        unsafe { panes_at(bloom, KeyHash::from(hash), now, spans, room) }
    })
}

/// The same for an id that is a number.
///
/// Returns as windlass_bloom_panes_at.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_panes_at_u64(
    bloom: *const windlass_bloom,
    id: u64,
    now: u64,
    spans: *mut windlass_pane_span,
    room: usize,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let bloom = unsafe { core(bloom) }?;
        // SAFETY: the caller's promise.
        unsafe { panes_at(bloom, id, now, spans, room) }
    })
}

/// # Safety
/// `spans` is NULL, or has room for so many.
unsafe fn panes_at(
    bloom: &RotatingBloom,
    id: impl Key,
    now: u64,
    spans: *mut windlass_pane_span,
    room: usize,
) -> Result<i64, windlass_status> {
    // SAFETY: the caller's promise.
    let places = unsafe { self::room(spans, room) }?;
    if places.len() < room {
        return Err(WINDLASS_E_NULL);
    }
    let found = bloom.panes_at(id, Tick(now));
    for (place, span) in places.iter_mut().zip(&found) {
        place.write(windlass_pane_span { start: span.start.0, end: span.end.0 });
    }
    Ok(i64::try_from(found.len()).unwrap_or(i64::MAX))
}

/// How many different ids are in the panes that are live at the time now, estimated from how many
/// bits are set; error gets the standard error of it, in ids, and may be NULL. Looks at a sample of
/// every pane: milliseconds, not nanoseconds.
///
/// Errors: WINDLASS_E_NULL (bloom or ids), WINDLASS_E_ARG (with WINDLASS_LAYOUT_SEEDED_ARRAYS an id
/// has other bits in every pane), WINDLASS_E_FULL (all bits are set: there are more than can be
/// counted).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_distinct_at(
    bloom: *const windlass_bloom,
    now: u64,
    ids: *mut f64,
    error: *mut f64,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let bloom = unsafe { core(bloom) }?;
        if ids.is_null() {
            return Err(WINDLASS_E_NULL);
        }
        if bloom.plan().layout == windlass::Layout::SeededArrays {
            return Err(WINDLASS_E_ARG);
        }
        let distinct = bloom.distinct_at(Tick(now)).ok_or(WINDLASS_E_FULL)?;
        // SAFETY: the caller's promise; not NULL.
        unsafe { ids.write(distinct.ids) };
        if !error.is_null() {
            // SAFETY: the caller's promise; not NULL.
            unsafe { error.write(distinct.error) };
        }
        Ok(WINDLASS_OK)
    })
}

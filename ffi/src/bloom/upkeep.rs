//! What is seldom called.

use windlass::Tick;

use super::windlass_bloom;
use crate::{
    boundary::guard,
    handle::core,
    status::{WINDLASS_OK, explained, windlass_error, windlass_status},
};

/// Puts in what the live panes of other hold, each into the pane of its time, or a later one. The two
/// must have the same window, panes, layout, bits, probes and seed: make them from one config. other
/// is not changed.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (bloom or other), WINDLASS_E_ARG (error says what differs).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_union(
    bloom: *mut windlass_bloom,
    other: *const windlass_bloom,
    error: *mut windlass_error,
) -> windlass_status {
    let body = || {
        // SAFETY: the caller's promise.
        let bloom = unsafe { core(bloom) }?;
        // SAFETY: the caller's promise.
        bloom.union(unsafe { core(other) }?)?;
        Ok(WINDLASS_OK)
    };
    // SAFETY: the caller's promise.
    unsafe { explained(error, body) }
}

/// Upkeep: moves the panes on to the time now, and clears up to budget pieces of the next one (16
/// rows, or KiB) if it is time. Of use in a silence, and from a thread beside the callers, which a
/// rotation other than WINDLASS_ROTATION_BY_CALLS needs: ten times a pane, again at once as long as it
/// returns 1.
///
/// Returns 1 (there is more that can be done now), 0 (there is not), or an error: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_maintain_at(
    bloom: *mut windlass_bloom,
    now: u64,
    budget: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    guard(|| Ok::<_, i32>(unsafe { core(bloom) }?.maintain_at(Tick(now), budget).into()))
}

/// Moves the panes on to the time now, with all the clearing that this takes, also where that is
/// further than max_jump.
///
/// Errors: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_advance_to(bloom: *mut windlass_bloom, now: u64) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { core(bloom) }?.advance_to(Tick(now));
        Ok::<_, windlass_status>(WINDLASS_OK)
    })
}

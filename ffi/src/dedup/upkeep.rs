//! What is seldom called.

use windlass::Tick;

use super::{core, windlass_dedup};
use crate::{
    boundary::guard,
    status::{WINDLASS_E_NOMEM, WINDLASS_OK, windlass_status},
};

/// Forgets all ids. Needs the memory of the table a second time, until the last call that began
/// before has ended.
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_NOMEM.
/// Threads: concurrent. Calls under way count as before or after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_reset(dedup: *mut windlass_dedup) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { core(dedup) }?.reset().map(|()| WINDLASS_OK).map_err(|_| WINDLASS_E_NOMEM)
    })
}

/// Upkeep that calls do by themselves while events come: takes note of the time now, looks after up
/// to budget groups of 64 places that have overflown, and gives back the memory of a table that was
/// reset. Of use after a silence.
///
/// Errors: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_maintain(
    dedup: *mut windlass_dedup,
    now: u64,
    budget: usize,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { core(dedup) }?.maintain_at(Tick(now), budget);
        Ok::<_, windlass_status>(WINDLASS_OK)
    })
}

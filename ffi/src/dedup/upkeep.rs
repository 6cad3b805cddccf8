//! What is seldom called.

use windlass::Tick;

use super::windlass_dedup;
use crate::{
    boundary::guard,
    handle::core,
    status::{WINDLASS_E_NOMEM, WINDLASS_OK, windlass_status},
};

/// Forgets all ids, and goes back to the size that it was made with. Needs a table of that size
/// beside what it has, until the last call that began before has ended; both count for max_memory.
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

/// Upkeep, most of which calls do by themselves while events come: takes note of the time now, looks
/// after up to budget groups of 64 places, makes a larger table ready before it is needed, empties
/// one that has been replaced, and gives back its memory and that of ids that are gone. Of use after
/// a silence, and from a thread beside the callers: every 10 to 100 ms, with a budget of 256, again
/// at once as long as it returns 1.
///
/// Returns 1 (there is more that can be done now), 0 (there is not), or an error: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_maintain(dedup: *mut windlass_dedup, now: u64, budget: usize) -> i32 {
    // SAFETY: the caller's promise.
    guard(|| Ok::<_, i32>(unsafe { core(dedup) }?.maintain_at(Tick(now), budget).into()))
}

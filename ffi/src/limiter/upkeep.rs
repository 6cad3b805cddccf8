//! What is seldom called.

use windlass::Tick;

use super::windlass_limiter;
use crate::{boundary::guard, handle::core, status::windlass_status};

/// Upkeep, most of which calls do by themselves while they come: takes note of the time now, looks
/// after up to budget groups of 64 places, makes a larger table ready before it is needed, empties
/// one that has been replaced, and gives back its memory. Of use after a silence, and from a thread
/// beside the callers: every 10 to 100 ms, with a budget of 256, again at once as long as it returns 1.
///
/// Returns 1 (there is more that can be done now), 0 (there is not), or an error: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_maintain_at(
    limiter: *mut windlass_limiter,
    now: u64,
    budget: usize,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let limiter = unsafe { core(limiter) }?;
        Ok::<_, windlass_status>(limiter.maintain_at(Tick(now), budget).into())
    })
}

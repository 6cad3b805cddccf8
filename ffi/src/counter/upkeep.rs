//! What is seldom called.

use windlass::Tick;

use super::windlass_counter;
use crate::{boundary::guard, handle::core};

/// Upkeep, most of which calls do by themselves while events come: moves time on to now, lets go what
/// is behind the window, and clears up to budget KiB of it for its next use. After a window of
/// silence it gives back the memory. Of use after a silence, and from a thread beside the callers.
///
/// Returns 1 (there is more that can be done now), 0 (there is not), or an error: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_counter_maintain_at(
    counter: *mut windlass_counter,
    now: u64,
    budget: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    guard(|| Ok::<_, i32>(unsafe { core(counter) }?.maintain_at(Tick(now), budget).into()))
}

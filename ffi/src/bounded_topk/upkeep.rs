//! What is seldom called.

use windlass::Tick;

use super::windlass_bounded_topk;
use crate::{boundary::guard, handle::core};

/// Upkeep, most of which calls do by themselves while events come: moves time on to now, lets go what
/// is behind the window, and clears up to budget KiB of it for its next use. After a window of
/// silence it gives back the memory.
///
/// It also makes the list of windlass_bounded_topk_snapshot anew when that is older than refresh_every: so call
/// it that often, from a thread beside the callers or from one of them.
///
/// Returns 1 (there is more that can be done now), 0 (there is not), or an error: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_maintain_at(
    topk: *mut windlass_bounded_topk,
    now: u64,
    budget: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    guard(|| Ok::<_, i32>(unsafe { core(topk) }?.maintain_at(Tick(now), budget).into()))
}

/// Tells whether the next pane finds tables to count in: those of the panes that have left are used again as
/// soon as nobody reads them any more. A pane that begins before has a sum alone, and lists of its
/// windows are as uncertain as that.
///
/// With clocks that go as fast as everybody's there is always time for it. A replay, whose panes may be
/// over in microseconds, best waits for it before each of them.
///
/// Returns 1 (it does), 0 (it does not), or an error: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_is_ready(topk: *const windlass_bounded_topk) -> i32 {
    // SAFETY: the caller's promise.
    guard(|| Ok::<_, i32>(unsafe { core(topk) }?.is_ready().into()))
}

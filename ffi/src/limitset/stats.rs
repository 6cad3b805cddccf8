//! Figures and upkeep.

use windlass::Tick;

use super::windlass_limitset;
use crate::{
    boundary::guard,
    handle::core,
    sized::{self, Plain},
    status::{WINDLASS_OK, windlass_status},
};

/// Plain figures about a set.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct windlass_limitset_stats {
    /// sizeof(windlass_limitset_stats).
    pub struct_size: u32,
    /// 0.
    pub reserved0: u32,
    /// Bytes of all tables.
    pub memory_bytes: u64,
    /// Holds that have neither been settled nor run out.
    pub holds: u64,
    /// How often something could not be given back, and stays charged until time gives it back.
    pub unreturned: u64,
}

// SAFETY: repr(C), integers only, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_limitset_stats {
    const FIRST_SIZE: usize = 32;
    const DEFAULT: Self =
        windlass_limitset_stats { struct_size: 32, reserved0: 0, memory_bytes: 0, holds: 0, unreturned: 0 };
}

const _: () = assert!(size_of::<windlass_limitset_stats>() == 32);

/// Writes the figures to stats. struct_size is sizeof(windlass_limitset_stats).
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limitset_get_stats(
    set: *const windlass_limitset,
    stats: *mut windlass_limitset_stats,
    struct_size: u32,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let figures = unsafe { core(set) }?.stats();
        let now = windlass_limitset_stats {
            struct_size,
            memory_bytes: figures.memory_bytes,
            holds: figures.holds,
            unreturned: figures.unreturned,
            ..windlass_limitset_stats::DEFAULT
        };
        // SAFETY: the caller's promise.
        unsafe { sized::write(stats, &now, struct_size) }.map(|()| WINDLASS_OK)
    })
}

/// Upkeep of at most budget steps for each limit, most of which calls do by themselves; moves time on.
///
/// Returns 1 (there is more that can be done now), 0, or an error: WINDLASS_E_NULL (set).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limitset_maintain(
    set: *mut windlass_limitset,
    now: u64,
    budget: usize,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        Ok::<_, windlass_status>(unsafe { core(set) }?.maintain_at(Tick(now), budget).into())
    })
}

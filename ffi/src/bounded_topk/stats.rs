//! Figures.

use super::windlass_bounded_topk;
use crate::{
    boundary::guard,
    handle::core,
    sized::{self, Plain},
    status::{WINDLASS_OK, windlass_status},
};

/// Plain figures about a windlass_bounded_topk. Those that count do so from its making on.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct windlass_bounded_topk_stats {
    /// How many bytes of this struct the library knows; what lies beyond is 0.
    pub struct_size: u32,
    /// 0.
    pub reserved0: u32,
    /// Keys that a pane has slots for.
    pub slots: u64,
    /// Cells of a pane's sketch, which has what is seen of all other keys.
    pub cells: u64,
    /// Slots of the newest pane that are taken.
    pub taken: u64,
    /// Bytes that it takes now.
    pub memory_bytes: u64,
    /// Panes opened so far.
    pub opened: u64,
    /// Tables that were cleared to be used again.
    pub recycled: u64,
    /// Panes for which there were none: their adds are known as a sum alone.
    pub without: u64,
    /// Events for panes that are kept no more: not counted.
    pub late: u64,
    /// Events whose time lay too far ahead: not counted.
    pub jumps: u64,
}

// SAFETY: repr(C), integers only, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_bounded_topk_stats {
    const FIRST_SIZE: usize = 80;
    const DEFAULT: Self = windlass_bounded_topk_stats {
        struct_size: 80,
        reserved0: 0,
        slots: 0,
        cells: 0,
        taken: 0,
        memory_bytes: 0,
        opened: 0,
        recycled: 0,
        without: 0,
        late: 0,
        jumps: 0,
    };
}

const _: () = assert!(size_of::<windlass_bounded_topk_stats>() == 80);

/// Fills out with the present figures. struct_size is sizeof(windlass_bounded_topk_stats). Looks at all slots
/// of the newest pane: microseconds, not nanoseconds.
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_get_stats(
    topk: *const windlass_bounded_topk,
    out: *mut windlass_bounded_topk_stats,
    struct_size: u32,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let stats = unsafe { core(topk) }?.stats();
        let figures = windlass_bounded_topk_stats {
            struct_size: struct_size.min(windlass_bounded_topk_stats::DEFAULT.struct_size),
            reserved0: 0,
            slots: stats.slots,
            cells: stats.cells,
            taken: stats.taken,
            memory_bytes: stats.memory_bytes,
            opened: stats.opened,
            recycled: stats.recycled,
            without: stats.without,
            late: stats.late,
            jumps: stats.jumps,
        };
        // SAFETY: the caller's promise.
        unsafe { sized::write(out, &figures, struct_size) }.map(|()| WINDLASS_OK)
    })
}

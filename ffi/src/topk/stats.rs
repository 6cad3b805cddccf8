//! Figures.

use super::windlass_topk;
use crate::{
    boundary::guard,
    handle::core,
    sized::{self, Plain},
    status::{WINDLASS_OK, windlass_status},
};

/// Plain figures about a windlass_topk. Those that count do so from its making on.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct windlass_topk_stats {
    /// How many bytes of this struct the library knows; what lies beyond is 0.
    pub struct_size: u32,
    /// 0.
    pub reserved0: u32,
    /// Keys that the newest generation of rows is meant for.
    pub capacity: u64,
    /// Rows of all generations, estimated from a sample of each (exact for small ones).
    pub rows: u64,
    /// Generations that are live, or have left and are still listed.
    pub generations: u64,
    /// Tables that they have: more than generations if some had to grow.
    pub tables: u64,
    /// Bytes of all tables, also those that are cleared or wait for it, and of keys.
    pub memory_bytes: u64,
    /// Generations opened so far.
    pub opened: u64,
    /// Tables that were cleared to be used again.
    pub recycled: u64,
    /// Tables that were put behind one that was full.
    pub grown: u64,
    /// Events for panes that are kept no more: not counted.
    pub late: u64,
    /// Events of keys for which there was no room, or that were too long: counted in the total alone.
    pub no_room: u64,
    /// Events whose time lay too far ahead: not counted.
    pub jumps: u64,
    /// Adds that found a count saturated, or made it so.
    pub saturated: u64,
    /// Bytes of keys. (memory_bytes has them, too.)
    pub key_bytes: u64,
    /// What a key has to have in a pane that begins now to become a candidate.
    pub threshold: u64,
    /// Lists for which all rows had to be looked at.
    pub scans: u64,
}

// SAFETY: repr(C), integers only, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_topk_stats {
    const FIRST_SIZE: usize = 128;
    const DEFAULT: Self = windlass_topk_stats {
        struct_size: 128,
        reserved0: 0,
        capacity: 0,
        rows: 0,
        generations: 0,
        tables: 0,
        memory_bytes: 0,
        opened: 0,
        recycled: 0,
        grown: 0,
        late: 0,
        no_room: 0,
        jumps: 0,
        saturated: 0,
        key_bytes: 0,
        threshold: 0,
        scans: 0,
    };
}

const _: () = assert!(size_of::<windlass_topk_stats>() == 128);

/// Fills out with the present figures. struct_size is sizeof(windlass_topk_stats). Looks at a
/// sample of the rows: microseconds, not nanoseconds.
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_topk_get_stats(
    topk: *const windlass_topk,
    out: *mut windlass_topk_stats,
    struct_size: u32,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let top = unsafe { core(topk) }?.stats();
        let stats = top.counter;
        let figures = windlass_topk_stats {
            struct_size: struct_size.min(windlass_topk_stats::DEFAULT.struct_size),
            reserved0: 0,
            capacity: stats.capacity,
            rows: stats.rows,
            generations: stats.generations,
            tables: stats.tables,
            memory_bytes: stats.memory_bytes,
            opened: stats.opened,
            recycled: stats.recycled,
            grown: stats.grown,
            late: stats.late,
            no_room: stats.refused,
            jumps: stats.jumps,
            saturated: stats.saturated,
            key_bytes: top.key_bytes,
            threshold: top.threshold,
            scans: top.scans,
        };
        // SAFETY: the caller's promise.
        unsafe { sized::write(out, &figures, struct_size) }.map(|()| WINDLASS_OK)
    })
}

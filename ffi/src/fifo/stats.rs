//! Figures, and what is seldom called.

use windlass::Tick;

use super::windlass_fifo;
use crate::{
    boundary::guard,
    handle::core,
    sized::{self, Plain},
    status::{WINDLASS_OK, windlass_status},
};

/// Plain figures about a windlass_fifo. Those that count do so from its making on.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct windlass_fifo_stats {
    /// How many bytes of this struct the library knows; what lies beyond is 0.
    pub struct_size: u32,
    /// 0.
    pub reserved0: u32,
    /// Entries.
    pub len: u64,
    /// The number of the oldest entry, or of the next if there is none.
    pub head: u64,
    /// The next number.
    pub tail: u64,
    /// Numbers between head and tail that are no entries: moved, or passed over.
    pub holes: u64,
    /// Entries that it may hold. (With max_memory: for which the table is meant at its present size.)
    pub capacity: u64,
    /// Bytes of tables and segments of entries. (Not: values of more than 22 bytes, keys of more than
    /// 21.)
    pub memory_bytes: u64,
    /// Segments of entries.
    pub segments: u64,
    /// Tables in use: 1, or more while one takes the place of another.
    pub tables: u64,
    /// Pushes refused for want of room.
    pub refused: u64,
    /// Pushes refused since another key has the same hash.
    pub collisions: u64,
}

// SAFETY: repr(C), integers only, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_fifo_stats {
    const FIRST_SIZE: usize = 88;
    const DEFAULT: Self = windlass_fifo_stats {
        struct_size: 88,
        reserved0: 0,
        len: 0,
        head: 0,
        tail: 0,
        holes: 0,
        capacity: 0,
        memory_bytes: 0,
        segments: 0,
        tables: 0,
        refused: 0,
        collisions: 0,
    };
}

const _: () = assert!(size_of::<windlass_fifo_stats>() == 88);

/// Fills out with the present figures. struct_size is sizeof(windlass_fifo_stats).
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_get_stats(
    fifo: *const windlass_fifo,
    out: *mut windlass_fifo_stats,
    struct_size: u32,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let stats = unsafe { core(fifo) }?.stats();
        let figures = windlass_fifo_stats {
            struct_size: struct_size.min(windlass_fifo_stats::DEFAULT.struct_size),
            reserved0: 0,
            len: stats.len,
            head: stats.head,
            tail: stats.tail,
            holes: stats.holes,
            capacity: stats.capacity,
            memory_bytes: stats.memory_bytes,
            segments: stats.segments,
            tables: stats.tables,
            refused: stats.refused,
            collisions: stats.collisions,
        };
        // SAFETY: the caller's promise.
        unsafe { sized::write(out, &figures, struct_size) }.map(|()| WINDLASS_OK)
    })
}

/// Upkeep, most of which calls do by themselves: looks after budget groups of the table, and helps to
/// give back memory. Of use after a silence, and from a thread beside the callers.
///
/// Returns 1 (there is more that can be done now), 0 (there is not), or an error: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_maintain(fifo: *mut windlass_fifo, budget: usize) -> i32 {
    // SAFETY: the caller's promise.
    guard(|| Ok::<_, i32>(unsafe { core(fifo) }?.maintain_at(Tick(0), budget).into()))
}

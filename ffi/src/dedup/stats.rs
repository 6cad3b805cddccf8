//! Figures.

use super::windlass_dedup;
use crate::{
    boundary::{guard, put},
    handle::core,
    sized::{self, Plain},
    status::{WINDLASS_OK, windlass_status},
};

/// Plain figures about a windlass_dedup. Those that count do so from its making on.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct windlass_dedup_stats {
    /// How many bytes of this struct the library knows; what lies beyond is 0.
    pub struct_size: u32,
    /// 1 if 128-bit atomic operations are lock-free on this machine, else 0.
    pub lock_free: u32,
    /// Live ids that it is meant for at its present size.
    pub capacity: u64,
    /// Ids that are still remembered, estimated from a sample (exact for small ones).
    pub live: u64,
    /// Bytes that it takes now: of all tables, while one takes the place of another, and of ids that
    /// are kept.
    pub memory_bytes: u64,
    /// Ids forgotten before their time, with WINDLASS_ON_FULL_EVICT_OLDEST.
    pub evicted: u64,
    /// Events refused because there was no room: WINDLASS_E_FULL.
    pub refused: u64,
    /// Events later than the lateness allows, taken as arriving when it just allows it.
    pub late: u64,
    /// Events refused because their time lay too far ahead: WINDLASS_E_JUMP.
    pub jumps: u64,
    /// Buckets of the table.
    pub buckets: u64,
    /// How often a bucket has overflowed.
    pub overflows: u64,
    /// Buckets that have overflowed and not come back yet: calls for their ids are slower.
    pub overflown_buckets: u64,
    /// Tables in use: 1, or more while one takes the place of another.
    pub tables: u64,
    /// How often it has grown.
    pub grown: u64,
    /// How often it has shrunk.
    pub shrunk: u64,
    /// Ids that were still live when their table was given up, and so were put into the next.
    pub forwarded: u64,
}

// SAFETY: repr(C), integers only, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_dedup_stats {
    const FIRST_SIZE: usize = 88;
    const DEFAULT: Self = windlass_dedup_stats {
        struct_size: 120,
        lock_free: 0,
        capacity: 0,
        live: 0,
        memory_bytes: 0,
        evicted: 0,
        refused: 0,
        late: 0,
        jumps: 0,
        buckets: 0,
        overflows: 0,
        overflown_buckets: 0,
        tables: 0,
        grown: 0,
        shrunk: 0,
        forwarded: 0,
    };
}

const _: () = assert!(size_of::<windlass_dedup_stats>() == 120);

/// Fills out with the present figures. struct_size is sizeof(windlass_dedup_stats). Looks at a
/// sample of the table: microseconds, not nanoseconds.
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_get_stats(
    dedup: *const windlass_dedup,
    out: *mut windlass_dedup_stats,
    struct_size: u32,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let stats = unsafe { core(dedup) }?.stats();
        let figures = windlass_dedup_stats {
            struct_size: struct_size.min(windlass_dedup_stats::DEFAULT.struct_size),
            lock_free: stats.lock_free.into(),
            capacity: stats.capacity,
            live: stats.live,
            memory_bytes: stats.memory_bytes,
            evicted: stats.evicted,
            refused: stats.refused,
            late: stats.late,
            jumps: stats.jumps,
            buckets: stats.buckets,
            overflows: stats.overflows,
            overflown_buckets: stats.overflown_buckets,
            tables: stats.tables,
            grown: stats.grown,
            shrunk: stats.shrunk,
            forwarded: stats.forwarded,
        };
        // SAFETY: the caller's promise.
        unsafe { sized::write(out, &figures, struct_size) }.map(|()| WINDLASS_OK)
    })
}

/// Bytes that it takes now: of all tables, while one takes the place of another, and of ids that are
/// kept.
///
/// Errors: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_memory_bytes(dedup: *const windlass_dedup) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { core(dedup) }?.memory_bytes();
        Ok::<_, windlass_status>(i64::try_from(bytes).unwrap_or(i64::MAX))
    })
}

/// The seed in use: to hash ids beforehand, to make seeds of namespaces, or to let another process
/// agree.
///
/// Errors: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_seed(dedup: *const windlass_dedup, out: *mut u64) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let seed = unsafe { core(dedup) }?.seed();
        // SAFETY: the caller's promise.
        unsafe { put(out, seed.0) }
    })
}

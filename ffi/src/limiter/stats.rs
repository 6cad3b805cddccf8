//! Figures.

use super::windlass_limiter;
use crate::{
    boundary::{guard, put},
    handle::core,
    sized::{self, Plain},
    status::{WINDLASS_OK, windlass_status},
};

/// Plain figures about a windlass_limiter. Those that count do so from its making on.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct windlass_limiter_stats {
    /// How many bytes of this struct the library knows; what lies beyond is 0.
    pub struct_size: u32,
    /// 1 if 128-bit atomic operations are lock-free on this machine, else 0.
    pub lock_free: u32,
    /// Clients that it is meant for at its present size.
    pub capacity: u64,
    /// Clients that are not as if they had never come, estimated from a sample (exact for small
    /// ones).
    pub clients: u64,
    /// Bytes that it takes now: of all tables, while one takes the place of another.
    pub memory_bytes: u64,
    /// Tables in use: 1, or more while one takes the place of another.
    pub tables: u64,
    /// How often it has grown.
    pub grown: u64,
    /// How often it has shrunk.
    pub shrunk: u64,
    /// Calls of clients for which there was no room, answered as on_unknown says.
    pub unknown: u64,
    /// Calls later than the lateness allows, taken as coming when it just allows it.
    pub late: u64,
    /// Calls whose time lay further ahead than max_jump_ns, answered as on_unknown says.
    pub jumps: u64,
}

// SAFETY: repr(C), integers only, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_limiter_stats {
    const FIRST_SIZE: usize = 80;
    const DEFAULT: Self = windlass_limiter_stats {
        struct_size: 80,
        lock_free: 0,
        capacity: 0,
        clients: 0,
        memory_bytes: 0,
        tables: 0,
        grown: 0,
        shrunk: 0,
        unknown: 0,
        late: 0,
        jumps: 0,
    };
}

const _: () = assert!(size_of::<windlass_limiter_stats>() == 80);

/// Fills out with the present figures. struct_size is sizeof(windlass_limiter_stats). Looks at a
/// sample of the table: microseconds, not nanoseconds.
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_get_stats(
    limiter: *const windlass_limiter,
    out: *mut windlass_limiter_stats,
    struct_size: u32,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let stats = unsafe { core(limiter) }?.stats();
        let figures = windlass_limiter_stats {
            struct_size: struct_size.min(windlass_limiter_stats::DEFAULT.struct_size),
            lock_free: stats.lock_free.into(),
            capacity: stats.capacity,
            clients: stats.clients,
            memory_bytes: stats.memory_bytes,
            tables: stats.tables,
            grown: stats.grown,
            shrunk: stats.shrunk,
            unknown: stats.unknown,
            late: stats.late,
            jumps: stats.jumps,
        };
        // SAFETY: the caller's promise.
        unsafe { sized::write(out, &figures, struct_size) }.map(|()| WINDLASS_OK)
    })
}

/// Bytes that it takes now: of all tables, while one takes the place of another.
///
/// Errors: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_memory_bytes(limiter: *const windlass_limiter) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { core(limiter) }?.memory_bytes();
        Ok::<_, windlass_status>(i64::try_from(bytes).unwrap_or(i64::MAX))
    })
}

/// The seed in use: to hash keys beforehand, to make seeds of namespaces, or to let another process
/// agree.
///
/// Errors: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_seed(
    limiter: *const windlass_limiter,
    out: *mut u64,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let seed = unsafe { core(limiter) }?.seed();
        // SAFETY: the caller's promise.
        unsafe { put(out, seed.0) }
    })
}

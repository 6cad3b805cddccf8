//! Figures.

use super::windlass_bloom;
use crate::{
    boundary::{guard, put, room},
    handle::core,
    sized::{self, Plain},
    status::{WINDLASS_OK, windlass_status},
};

/// advice: none.
pub const WINDLASS_ADVICE_NONE: u32 = 0;
/// advice: too full: more bits, or a shorter window.
pub const WINDLASS_ADVICE_TOO_FULL: u32 = 1;
/// advice: mostly empty: fewer bits would do.
pub const WINDLASS_ADVICE_MOSTLY_EMPTY: u32 = 2;

/// Plain figures about a windlass_bloom. Those that count do so from its making on.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct windlass_bloom_stats {
    /// How many bytes of this struct the library knows; what lies beyond is 0.
    pub struct_size: u32,
    /// How many panes are live.
    pub live_panes: u32,
    /// The error to be expected from the present fill.
    pub expected_error: f64,
    /// The share of up to 65536 ids, made up for it, that were taken for seen.
    pub sampled_error: f64,
    /// How often a pane took over from the one before.
    pub rotations: u64,
    /// Bytes cleared for that.
    pub cleared_bytes: u64,
    /// How often a pane had to go on, since the next was not clean: then ids are kept longer.
    pub late: u64,
    /// Times that were too far ahead, and counted as the newest pane.
    pub jumps: u64,
    /// Bytes of all panes.
    pub memory_bytes: u64,
    /// The largest fill of a pane that is over, as a share of what it is meant for. Below 0 before one
    /// is over.
    pub load: f64,
    /// What to do about the size: one of WINDLASS_ADVICE_.
    pub advice: u32,
    /// 0.
    pub reserved0: u32,
}

// SAFETY: repr(C), numbers of which any bits are one, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_bloom_stats {
    const FIRST_SIZE: usize = 80;
    const DEFAULT: Self = windlass_bloom_stats {
        struct_size: 80,
        live_panes: 0,
        expected_error: 0.0,
        sampled_error: 0.0,
        rotations: 0,
        cleared_bytes: 0,
        late: 0,
        jumps: 0,
        memory_bytes: 0,
        load: -1.0,
        advice: WINDLASS_ADVICE_NONE,
        reserved0: 0,
    };
}

const _: () = assert!(size_of::<windlass_bloom_stats>() == 80);

/// A live pane.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct windlass_bloom_pane {
    /// Its first tick.
    pub start: u64,
    /// The tick after its last.
    pub end: u64,
    /// The share of its bits that is set.
    pub fill: f64,
}

/// Fills out with the present figures. struct_size is sizeof(windlass_bloom_stats). Looks at a sample
/// of every pane: milliseconds, not nanoseconds.
///
/// panes gets the live panes, the newest first, as many as there are and room has places for. It may
/// be NULL if room is 0. There are never more than the plan's panes; live_panes says how many.
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE, WINDLASS_E_RANGE (room; panes is not aligned).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_get_stats(
    bloom: *const windlass_bloom,
    out: *mut windlass_bloom_stats,
    struct_size: u32,
    panes: *mut windlass_bloom_pane,
    room: usize,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let bloom = unsafe { core(bloom) }?;
        // SAFETY: the caller's promise.
        let places = unsafe { self::room(panes, room) }?;
        if places.len() < room {
            return Err(crate::status::WINDLASS_E_NULL);
        }
        let stats = bloom.stats();
        let figures = windlass_bloom_stats {
            struct_size: struct_size.min(windlass_bloom_stats::DEFAULT.struct_size),
            live_panes: u32::try_from(stats.panes.len()).unwrap_or(u32::MAX),
            expected_error: stats.expected_error,
            sampled_error: stats.sampled_error,
            rotations: stats.rotations,
            cleared_bytes: stats.cleared_bytes,
            late: stats.late,
            jumps: stats.jumps,
            memory_bytes: stats.memory_bytes,
            load: stats.load.unwrap_or(-1.0),
            advice: match (stats.advice(), stats.load) {
                (None, _) => WINDLASS_ADVICE_NONE,
                (Some(_), Some(load)) if load > 1.0 => WINDLASS_ADVICE_TOO_FULL,
                (Some(_), _) => WINDLASS_ADVICE_MOSTLY_EMPTY,
            },
            reserved0: 0,
        };
        // SAFETY: the caller's promise.
        unsafe { sized::write(out, &figures, struct_size) }?;
        for (place, pane) in places.iter_mut().zip(&stats.panes) {
            let (start, end) = (pane.span.start.0, pane.span.end.0);
            place.write(windlass_bloom_pane { start, end, fill: pane.fill });
        }
        Ok(WINDLASS_OK)
    })
}

/// Bytes that it takes: those of the plan, at all times.
///
/// Errors: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_memory_bytes(bloom: *const windlass_bloom) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { core(bloom) }?.memory_bytes();
        Ok::<_, windlass_status>(i64::try_from(bytes).unwrap_or(i64::MAX))
    })
}

/// The seed in use: to hash ids beforehand, to make seeds of namespaces, or to let another process
/// agree.
///
/// Errors: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_seed(bloom: *const windlass_bloom, out: *mut u64) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let seed = unsafe { core(bloom) }?.seed();
        // SAFETY: the caller's promise.
        unsafe { put(out, seed.0) }
    })
}

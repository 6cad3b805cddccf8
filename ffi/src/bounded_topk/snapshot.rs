//! Written, and restored.

use std::{ffi::c_void, io::Write};

use windlass::Tick;

use super::{
    config::{self, windlass_bounded_topk_config},
    windlass_bounded_topk,
};
use crate::{
    handle,
    snapshot::{Source, restore, windlass_read_fn, windlass_restored, windlass_write_fn, write},
    status::{windlass_error, windlass_status},
};

/// Writes a snapshot of all keys and counts, to be restored by windlass_bounded_topk_restore, on any machine.
/// (windlass_bounded_topk_snapshot is something else: it reads a list.) Other threads go on meanwhile and
/// wait for nothing: bounds hold for what was counted before the call. now
/// and wall_ns are one time on two clocks: the tick, and nanoseconds since 1970 (windlass_wall_ns).
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (topk or write_fn), WINDLASS_E_IO (what write_fn returned was not 0).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_save(
    topk: *const windlass_bounded_topk,
    now: u64,
    wall_ns: u64,
    write_fn: windlass_write_fn,
    context: *mut c_void,
    error: *mut windlass_error,
) -> windlass_status {
    let snapshot = |out: &mut dyn Write, wall| {
        // SAFETY: the caller's promise.
        let core = unsafe { handle::core(topk) }?;
        Ok(core.save_at(out, Tick(now), wall))
    };
    // SAFETY: the caller's promise.
    unsafe { write(wall_ns, write_fn, context, error, snapshot) }
}

/// Makes a windlass_bounded_topk of what windlass_bounded_topk_save has written, and stores it in out; free it with
/// windlass_bounded_topk_free. Lists are what they were; the one of windlass_bounded_topk_snapshot is made with the
/// next refresh. What is behind the window since, by the system's clock, is gone. window, pane, unit
/// and lateness must be as they were, and so must memory and key_bytes. The seed of config is not
/// looked at: it is the snapshot's.
///
/// wall_ns is the time of the system, in nanoseconds since 1970. restored may be NULL, or is filled.
/// error may be NULL.
/// Errors: as windlass_bounded_topk_new; WINDLASS_E_NULL (also read_fn), WINDLASS_E_STRUCT_SIZE (also
/// restored), WINDLASS_E_ARG (also a setting that differs), WINDLASS_E_SNAPSHOT, WINDLASS_E_IO,
/// WINDLASS_E_FULL (what config allows is no room for it). Then out and restored are left alone.
/// Whatever the bytes are, no more memory is taken than config allows.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_bounded_topk_restore(
    config: *const windlass_bounded_topk_config,
    wall_ns: u64,
    read_fn: windlass_read_fn,
    context: *mut c_void,
    out: *mut *mut windlass_bounded_topk,
    restored: *mut windlass_restored,
    error: *mut windlass_error,
) -> windlass_status {
    let make = |input: Source<'_>, wall| {
        // SAFETY: the caller's promise.
        let (builder, _) = unsafe { config::read(config) }?;
        Ok(builder.restore(input, wall)?)
    };
    // SAFETY: the caller's promise.
    unsafe { restore(wall_ns, (read_fn, context), out, restored, error, make) }
}

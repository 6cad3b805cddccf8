//! Written, and restored.

use std::{ffi::c_void, io::Write};

use windlass::Tick;

use super::{
    config::{self, windlass_limiter_config},
    global::windlass_global_limiter,
    windlass_limiter,
};
use crate::{
    handle,
    snapshot::{Source, restore, windlass_read_fn, windlass_restored, windlass_write_fn, write},
    status::{windlass_error, windlass_status},
};

/// Writes a snapshot of all that was taken, and of all quotas that were changed, before the call, to
/// be restored by windlass_limiter_restore, on any machine. Other threads go on meanwhile and wait
/// for nothing; what they do may be in it or not. now and wall_ns are one time on two clocks: the
/// time that calls bring, and nanoseconds since 1970 (windlass_wall_ns).
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (limiter or write_fn), WINDLASS_E_IO (what write_fn returned was not 0).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_snapshot(
    limiter: *const windlass_limiter,
    now: u64,
    wall_ns: u64,
    write_fn: windlass_write_fn,
    context: *mut c_void,
    error: *mut windlass_error,
) -> windlass_status {
    let snapshot = |out: &mut dyn Write, wall| {
        // SAFETY: the caller's promise.
        let core = unsafe { handle::core(limiter) }?;
        Ok(core.snapshot_at(out, Tick(now), wall))
    };
    // SAFETY: the caller's promise.
    unsafe { write(wall_ns, write_fn, context, error, snapshot) }
}

/// Makes a windlass_limiter of what windlass_limiter_snapshot has written, and stores it in out; free
/// it with windlass_limiter_free. What was taken is as long ago as it is, by the system's clock.
/// algorithm, quota (as it was made with; to what it was changed since is in the snapshot),
/// lateness_ns and shared_cells must be as they were; so must clients, unless there is a max_memory.
/// The seed of config is not looked at: it is the snapshot's.
///
/// wall_ns is the time of the system, in nanoseconds since 1970. restored may be NULL, or is filled.
/// error may be NULL.
/// Errors: as windlass_limiter_new; WINDLASS_E_NULL (also read_fn), WINDLASS_E_STRUCT_SIZE (also
/// restored), WINDLASS_E_ARG (also a setting that differs), WINDLASS_E_SNAPSHOT, WINDLASS_E_IO,
/// WINDLASS_E_FULL (what config allows is no room for it). Then out and restored are left alone.
/// Whatever the bytes are, no more memory is taken than config allows, but for clients with quotas of
/// their own.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_limiter_restore(
    config: *const windlass_limiter_config,
    wall_ns: u64,
    read_fn: windlass_read_fn,
    context: *mut c_void,
    out: *mut *mut windlass_limiter,
    restored: *mut windlass_restored,
    error: *mut windlass_error,
) -> windlass_status {
    let make = |input: Source<'_>, wall| {
        // SAFETY: the caller's promise.
        let settings = unsafe { config::read_with(config, false) }?;
        Ok(settings.builder().restore(input, wall)?)
    };
    // SAFETY: the caller's promise.
    unsafe { restore(wall_ns, (read_fn, context), out, restored, error, make) }
}

/// Writes a snapshot, as windlass_limiter_snapshot: to be restored by windlass_global_limiter_restore.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (limiter or write_fn), WINDLASS_E_IO (what write_fn returned was not 0).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_global_limiter_snapshot(
    limiter: *const windlass_global_limiter,
    now: u64,
    wall_ns: u64,
    write_fn: windlass_write_fn,
    context: *mut c_void,
    error: *mut windlass_error,
) -> windlass_status {
    let snapshot = |out: &mut dyn Write, wall| {
        // SAFETY: the caller's promise.
        let core = unsafe { handle::core(limiter) }?;
        Ok(core.snapshot_at(out, Tick(now), wall))
    };
    // SAFETY: the caller's promise.
    unsafe { write(wall_ns, write_fn, context, error, snapshot) }
}

/// Makes a windlass_global_limiter of what windlass_global_limiter_snapshot has written, and stores
/// it in out; free it with windlass_global_limiter_free. Otherwise as windlass_limiter_restore: of
/// config the quota and the algorithm count, and must be as they were.
///
/// Errors: as windlass_global_limiter_new; WINDLASS_E_NULL (also read_fn), WINDLASS_E_STRUCT_SIZE
/// (also restored), WINDLASS_E_ARG (also a setting that differs), WINDLASS_E_SNAPSHOT, WINDLASS_E_IO.
/// Then out and restored are left alone.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_global_limiter_restore(
    config: *const windlass_limiter_config,
    wall_ns: u64,
    read_fn: windlass_read_fn,
    context: *mut c_void,
    out: *mut *mut windlass_global_limiter,
    restored: *mut windlass_restored,
    error: *mut windlass_error,
) -> windlass_status {
    let make = |input: Source<'_>, wall| {
        // SAFETY: the caller's promise.
        let settings = unsafe { config::read(config) }?;
        Ok(settings.builder_of_all()?.restore(input, wall)?)
    };
    // SAFETY: the caller's promise.
    unsafe { restore(wall_ns, (read_fn, context), out, restored, error, make) }
}

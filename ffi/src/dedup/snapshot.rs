//! Written, and restored.

use std::{ffi::c_void, io::Write};

use windlass::Tick;

use super::{
    config::{self, windlass_dedup_config},
    windlass_dedup,
};
use crate::{
    handle,
    snapshot::{Source, restore, windlass_read_fn, windlass_restored, windlass_write_fn, write},
    status::{windlass_error, windlass_status},
};

/// Writes a snapshot of all that was admitted, claimed or forgotten before the call, to be restored
/// by windlass_dedup_restore, on any machine. Other threads go on meanwhile and wait for nothing;
/// what they do may be in it or not. now and wall_ns are one time on two clocks: the tick, and
/// nanoseconds since 1970 (windlass_wall_ns).
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (dedup or write_fn), WINDLASS_E_IO (what write_fn returned was not 0).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_snapshot(
    dedup: *const windlass_dedup,
    now: u64,
    wall_ns: u64,
    write_fn: windlass_write_fn,
    context: *mut c_void,
    error: *mut windlass_error,
) -> windlass_status {
    let snapshot = |out: &mut dyn Write, wall| {
        // SAFETY: the caller's promise.
        let core = unsafe { handle::core(dedup) }?;
        Ok(core.snapshot_at(out, Tick(now), wall))
    };
    // SAFETY: the caller's promise.
    unsafe { write(wall_ns, write_fn, context, error, snapshot) }
}

/// Makes a windlass_dedup of what windlass_dedup_snapshot has written, and stores it in out; free it
/// with windlass_dedup_free. Ids and claims are as old as they are, by the system's clock. window,
/// unit, lateness, refresh and identity must be as they were; so must capacity, unless there is a
/// max_memory. The seed of config is not looked at: it is the snapshot's. Tickets from before are
/// good for what is claimed, but with WINDLASS_IDENTITY_BYTES.
///
/// wall_ns is the time of the system, in nanoseconds since 1970. restored may be NULL, or is filled.
/// error may be NULL.
/// Errors: as windlass_dedup_new; WINDLASS_E_NULL (also read_fn), WINDLASS_E_STRUCT_SIZE (also
/// restored), WINDLASS_E_ARG (also a setting that differs), WINDLASS_E_SNAPSHOT, WINDLASS_E_IO,
/// WINDLASS_E_FULL (what config allows is no room for it). Then out and restored are left alone.
/// Whatever the bytes are, no more memory is taken than config allows.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_dedup_restore(
    config: *const windlass_dedup_config,
    wall_ns: u64,
    read_fn: windlass_read_fn,
    context: *mut c_void,
    out: *mut *mut windlass_dedup,
    restored: *mut windlass_restored,
    error: *mut windlass_error,
) -> windlass_status {
    let make = |input: Source<'_>, wall| {
        // SAFETY: the caller's promise.
        let settings = unsafe { config::read_with(config, false) }?;
        Ok(settings.builder.restore(input, wall)?)
    };
    // SAFETY: the caller's promise.
    unsafe { restore(wall_ns, (read_fn, context), out, restored, error, make) }
}

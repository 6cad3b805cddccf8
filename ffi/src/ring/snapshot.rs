//! Written, and restored.

use std::{ffi::c_void, io::Write};

use super::{
    config::{self, windlass_ring_config},
    windlass_ring,
};
use crate::{
    handle,
    snapshot::{Source, restore, windlass_read_fn, windlass_restored, windlass_write_fn, write},
    status::{windlass_error, windlass_status},
};

/// Writes a snapshot of the nodes, to be restored by windlass_ring_restore, on any machine. Other
/// threads go on meanwhile and wait for nothing. wall_ns the time of the system: windlass_wall_ns().
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (ring or write_fn), WINDLASS_E_IO (what write_fn returned was not 0).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_ring_snapshot(
    ring: *const windlass_ring,
    wall_ns: u64,
    write_fn: windlass_write_fn,
    context: *mut c_void,
    error: *mut windlass_error,
) -> windlass_status {
    let snapshot = |out: &mut dyn Write, wall| {
        // SAFETY: the caller's promise.
        let core = unsafe { handle::core(ring) }?;
        Ok(core.snapshot_at(out, wall))
    };
    // SAFETY: the caller's promise.
    unsafe { write(wall_ns, write_fn, context, error, snapshot) }
}

/// Makes a windlass_ring of what windlass_ring_snapshot has written, and stores it in out; free it
/// with windlass_ring_free. It has the nodes of then, with their ids and weights: every key has the
/// owner that it had. vnodes must be as it was. The seed of config is not looked at: it is the
/// snapshot's.
///
/// wall_ns is the time of the system, in nanoseconds since 1970. restored may be NULL, or is filled.
/// error may be NULL.
/// Errors: as windlass_ring_new; WINDLASS_E_NULL (also read_fn), WINDLASS_E_STRUCT_SIZE (also
/// restored), WINDLASS_E_ARG (also a setting that differs), WINDLASS_E_SNAPSHOT, WINDLASS_E_IO,
/// WINDLASS_E_FULL (what config allows is no room for it). Then out and restored are left alone.
/// Whatever the bytes are, no more memory is taken than config allows.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_ring_restore(
    config: *const windlass_ring_config,
    wall_ns: u64,
    read_fn: windlass_read_fn,
    context: *mut c_void,
    out: *mut *mut windlass_ring,
    restored: *mut windlass_restored,
    error: *mut windlass_error,
) -> windlass_status {
    let make = |input: Source<'_>, wall| {
        // SAFETY: the caller's promise.
        let settings = unsafe { config::read(config) }?;
        Ok(settings.without_seed().restore(input, wall)?)
    };
    // SAFETY: the caller's promise.
    unsafe { restore(wall_ns, (read_fn, context), out, restored, error, make) }
}

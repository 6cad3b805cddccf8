//! Written, and restored.

use std::{ffi::c_void, io::Write};

use windlass::Tick;

use super::{
    config::{self, windlass_limit_rule, windlass_limitset_config},
    windlass_limitset,
};
use crate::{
    boundary::slice,
    handle,
    snapshot::{Source, restore, windlass_read_fn, windlass_restored, windlass_write_fn, write},
    status::{windlass_error, windlass_status},
};

/// Writes a snapshot of all that was taken and held, and of all quotas that were changed, before the
/// call, to be restored by windlass_limitset_restore, on any machine. Other threads go on meanwhile
/// and wait for nothing; what they do may be in it or not. Tickets of holds that were made before are
/// good for what is restored; those of holds that are made meanwhile are not, and what they hold may
/// stay charged. now and wall_ns are one time on two clocks: the time that calls bring, and
/// nanoseconds since 1970 (windlass_wall_ns).
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (set or write_fn), WINDLASS_E_IO (what write_fn returned was not 0; or names
/// have more than 60000 bytes in all).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limitset_snapshot(
    set: *const windlass_limitset,
    now: u64,
    wall_ns: u64,
    write_fn: windlass_write_fn,
    context: *mut c_void,
    error: *mut windlass_error,
) -> windlass_status {
    let snapshot = |out: &mut dyn Write, wall| {
        // SAFETY: the caller's promise.
        let core = unsafe { handle::core(set) }?;
        Ok(core.snapshot_at(out, Tick(now), wall))
    };
    // SAFETY: the caller's promise.
    unsafe { write(wall_ns, write_fn, context, error, snapshot) }
}

/// Makes a windlass_limitset of what windlass_limitset_snapshot has written, and stores it in out; free
/// it with windlass_limitset_free. What was taken is as long ago as it is, by the system's clock. The
/// limits must be as they were: names in their order, algorithms, quotas (as it was made with; to
/// what they were changed since is in the snapshot) and clients; so must lateness_ns, reservations and
/// seed, with which keys are hashed: it has to be kept.
///
/// wall_ns is the time of the system, in nanoseconds since 1970. restored may be NULL, or is filled.
/// error may be NULL.
/// Errors: as windlass_limitset_new; WINDLASS_E_NULL (also read_fn), WINDLASS_E_STRUCT_SIZE (also
/// restored), WINDLASS_E_ARG (also a setting that differs), WINDLASS_E_SNAPSHOT, WINDLASS_E_IO,
/// WINDLASS_E_FULL. Then out and restored are left alone. Whatever the bytes are, no more memory is
/// taken than config allows.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_limitset_restore(
    config: *const windlass_limitset_config,
    limits: *const windlass_limit_rule,
    n: usize,
    wall_ns: u64,
    read_fn: windlass_read_fn,
    context: *mut c_void,
    out: *mut *mut windlass_limitset,
    restored: *mut windlass_restored,
    error: *mut windlass_error,
) -> windlass_status {
    let make = |input: Source<'_>, wall| {
        // SAFETY: the caller's promise.
        let limits = unsafe { slice(limits, n) }?;
        // SAFETY: the caller's promise.
        Ok(unsafe { config::builder(config, limits) }?.restore(input, wall)?)
    };
    // SAFETY: the caller's promise.
    unsafe { restore(wall_ns, (read_fn, context), out, restored, error, make) }
}

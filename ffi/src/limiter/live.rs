//! Quotas that change while a limiter is in use.

use std::time::Duration;

use windlass::{Inherit, Key, KeyHash, Quota, Tick};

use super::{global::windlass_global_limiter, windlass_limiter};
use crate::{
    boundary::{Failure, slice},
    handle::core,
    hash::windlass_hash,
    settings::wrong,
    status::{WINDLASS_OK, explained, windlass_error, windlass_status},
};

/// inherit: permits that were used stay used, one by one. Of 60 used of 100 in a minute, 60 are used of
/// 200, and 140 left; or of 20 none are left until 40 and one more are back.
pub const WINDLASS_INHERIT_AS_IS: u32 = 0;
/// inherit: the share that was used stays used, of a bucket (not of windows and logs). Of 60 used of 100
/// in a minute, 120 are used of 200, and 80 left; or 12 of 20, and 8 left.
pub const WINDLASS_INHERIT_PROPORTIONAL: u32 = 1;

/// So many permits in so long, and how many at once. It never grows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct windlass_quota {
    /// How many permits in per_ns.
    pub permits: u64,
    /// The time for so many, in nanoseconds: 1 to 366 days.
    pub per_ns: u64,
    /// How many at once after a rest. 0: as many as permits, as a window must.
    pub burst: u64,
}

impl windlass_quota {
    pub(crate) fn read(self) -> Quota {
        let quota = Quota::new(self.permits, Duration::from_nanos(self.per_ns));
        if self.burst > 0 { quota.burst(self.burst) } else { quota }
    }
}

/// What a WINDLASS_INHERIT_ stands for.
fn read_inherit(number: u32) -> Result<Inherit, Failure> {
    match number {
        WINDLASS_INHERIT_AS_IS => Ok(Inherit::AsIs),
        WINDLASS_INHERIT_PROPORTIONAL => Ok(Inherit::Proportional),
        other => wrong("inherit", other, "WINDLASS_INHERIT_AS_IS (0) or WINDLASS_INHERIT_PROPORTIONAL (1)"),
    }
}

/// Another quota from the time now on, of all clients that have none of their own, known or not: for all
/// calls that begin after this one has ended. Those under way meanwhile are judged by the old quota or
/// by the new one. inherit says what becomes of what was used: WINDLASS_INHERIT_AS_IS or another
/// WINDLASS_INHERIT_. However many clients there are, it takes no longer.
///
/// A bucket cannot get a pace at which its numbers would not last a year, from 9 years at the pace that it
/// was made with; with WINDLASS_INHERIT_AS_IS that is 9 times as many permits a second. Windows keep their
/// length, and logs have no more permits, and no more time, than they were made with.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (limiter), WINDLASS_E_ARG (the quota, inherit, or a time beyond max_jump_ns;
/// error names it). Then nothing was changed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_set_quota(
    limiter: *mut windlass_limiter,
    quota: windlass_quota,
    inherit: u32,
    now: u64,
    error: *mut windlass_error,
) -> windlass_status {
    let body = || {
        // SAFETY: the caller's promise.
        let limiter = unsafe { core(limiter) }?;
        limiter.set_quota_at(quota.read(), read_inherit(inherit)?, Tick(now))?;
        Ok(WINDLASS_OK)
    };
    // SAFETY: the caller's promise.
    unsafe { explained(error, body) }
}

/// A quota of its own, from the time now on, for the client whose key has len bytes (0 or more): whatever
/// windlass_limiter_set_quota says later; or another one, if it has one. What it has used up of its
/// quota counts as taken now: so many permits, but no more than there are, or the same share of them, of
/// all algorithms. Its calls that are under way meanwhile are judged by the quota that it had, and may
/// then not be counted by the one that it gets.
///
/// Some 300 bytes for each such client. A call of any client then looks whether it is one of them.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (limiter; key, and len is not 0), WINDLASS_E_RANGE (len), WINDLASS_E_ARG (as
/// windlass_limiter_set_quota). Then nothing was changed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_set_quota_for(
    limiter: *mut windlass_limiter,
    key: *const u8,
    len: usize,
    quota: windlass_quota,
    inherit: u32,
    now: u64,
    error: *mut windlass_error,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let key = unsafe { slice(key, len) };
    // SAFETY: the caller's promise.
    unsafe { set_for(limiter, key, quota, inherit, now, error) }
}

/// The same for a key whose hash is known.
///
/// Errors: as windlass_limiter_set_quota_for.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_set_quota_for_hash(
    limiter: *mut windlass_limiter,
    hash: windlass_hash,
    quota: windlass_quota,
    inherit: u32,
    now: u64,
    error: *mut windlass_error,
) -> windlass_status {
    // SAFETY: the caller's promise.
    unsafe { set_for(limiter, Ok(KeyHash::from(hash)), quota, inherit, now, error) }
}

/// The same for a key that is a number.
///
/// Errors: as windlass_limiter_set_quota_for.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_set_quota_for_u64(
    limiter: *mut windlass_limiter,
    key: u64,
    quota: windlass_quota,
    inherit: u32,
    now: u64,
    error: *mut windlass_error,
) -> windlass_status {
    // SAFETY: the caller's promise.
    unsafe { set_for(limiter, Ok(key), quota, inherit, now, error) }
}

/// From the time now on the quota of all counts for this client again. What it has used of its own counts
/// as taken now, as inherit says, if that is more than it had used of the other one.
///
/// Returns 1 (it had one of its own), 0, or an error: WINDLASS_E_NULL (limiter; key, and len is not
/// 0), WINDLASS_E_RANGE (len), WINDLASS_E_ARG (inherit).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_clear_quota_for(
    limiter: *mut windlass_limiter,
    key: *const u8,
    len: usize,
    inherit: u32,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let key = unsafe { slice(key, len) };
    // SAFETY: the caller's promise.
    unsafe { clear_for(limiter, key, inherit, now) }
}

/// The same for a key whose hash is known.
///
/// Returns as windlass_limiter_clear_quota_for.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_clear_quota_for_hash(
    limiter: *mut windlass_limiter,
    hash: windlass_hash,
    inherit: u32,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { clear_for(limiter, Ok(KeyHash::from(hash)), inherit, now) }
}

/// The same for a key that is a number.
///
/// Returns as windlass_limiter_clear_quota_for.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_clear_quota_for_u64(
    limiter: *mut windlass_limiter,
    key: u64,
    inherit: u32,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { clear_for(limiter, Ok(key), inherit, now) }
}

/// Another quota from the time now on: see windlass_limiter_set_quota.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (limiter), WINDLASS_E_ARG (the quota, or inherit; error names it). Then nothing
/// was changed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_global_limiter_set_quota(
    limiter: *mut windlass_global_limiter,
    quota: windlass_quota,
    inherit: u32,
    now: u64,
    error: *mut windlass_error,
) -> windlass_status {
    let body = || {
        // SAFETY: the caller's promise.
        let limiter = unsafe { core(limiter) }?;
        limiter.set_quota_at(quota.read(), read_inherit(inherit)?, Tick(now))?;
        Ok(WINDLASS_OK)
    };
    // SAFETY: the caller's promise.
    unsafe { explained(error, body) }
}

/// # Safety
/// `limiter` as `core` has it, `error` as `explained`.
unsafe fn set_for<K: Key>(
    limiter: *const windlass_limiter,
    key: Result<K, windlass_status>,
    quota: windlass_quota,
    inherit: u32,
    now: u64,
    error: *mut windlass_error,
) -> windlass_status {
    let body = || {
        // SAFETY: the caller's promise.
        let limiter = unsafe { core(limiter) }?;
        limiter.set_quota_for_at(key?, quota.read(), read_inherit(inherit)?, Tick(now))?;
        Ok(WINDLASS_OK)
    };
    // SAFETY: the caller's promise.
    unsafe { explained(error, body) }
}

/// # Safety
/// `limiter` as `core` has it.
unsafe fn clear_for<K: Key>(
    limiter: *const windlass_limiter,
    key: Result<K, windlass_status>,
    inherit: u32,
    now: u64,
) -> i32 {
    let body = || {
        // SAFETY: the caller's promise.
        let limiter = unsafe { core(limiter) }?;
        Ok(limiter.clear_quota_for_at(key?, read_inherit(inherit)?, Tick(now)).into())
    };
    // SAFETY: NULL.
    unsafe { explained(std::ptr::null_mut(), body) }
}

//! Quotas that change while a set is in use.

use std::ffi::{CStr, c_char};

use windlass::Tick;

use super::windlass_limitset;
use crate::{
    boundary::Failure,
    handle::core,
    limiter::live::windlass_quota,
    status::{WINDLASS_E_ARG, WINDLASS_E_NULL, WINDLASS_OK, explained, windlass_error, windlass_status},
};

/// Another quota from the time now on for the limit of this name, which ends with NUL: for all calls that
/// begin after this one has ended. Permits that were used stay used, one by one, and what is held or given
/// back is so many of them. Which quotas there can be: see windlass_limiter_set_quota, with
/// WINDLASS_INHERIT_AS_IS.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (set or name), WINDLASS_E_ARG (the quota, or no limit has this name; error says
/// so). Then nothing was changed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limitset_set_quota(
    set: *mut windlass_limitset,
    name: *const c_char,
    quota: windlass_quota,
    now: u64,
    error: *mut windlass_error,
) -> windlass_status {
    let body = || {
        // SAFETY: the caller's promise.
        let set = unsafe { core(set) }?;
        if name.is_null() {
            return Err(WINDLASS_E_NULL.into());
        }
        // SAFETY: the caller's promise.
        let name = unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| Failure {
            status: WINDLASS_E_ARG,
            detail: Some("name: out of range: UTF-8".to_owned()),
        })?;
        set.set_quota_at(name, quota.read(), Tick(now))?;
        Ok(WINDLASS_OK)
    };
    // SAFETY: the caller's promise.
    unsafe { explained(error, body) }
}

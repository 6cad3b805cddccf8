//! Settings of a set, and of its limits.

use std::{
    ffi::{CStr, c_char},
    time::Duration,
};

use windlass::{LimitRule, LimitSet, LimitSetBuilder, Quota, Seed};

use crate::{
    boundary::{Failure, guard},
    limiter::config::{algorithm, on_unknown},
    settings,
    sized::{self, Plain},
    status::{WINDLASS_E_ARG, WINDLASS_E_NULL, WINDLASS_OK, windlass_status},
};

/// One limit of a set. Begin it with all bytes 0: it never grows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct windlass_limit_rule {
    /// Its name: UTF-8, ends with NUL, and no other limit of the set has it.
    pub name: *const c_char,
    /// How many permits in per_ns.
    pub permits: u64,
    /// The time for so many, in nanoseconds: 1 to 366 days.
    pub per_ns: u64,
    /// How many at once after a rest. 0: as many as permits, as a window must.
    pub burst: u64,
    /// How many clients it must know at a time, if it is for each; 40 bytes each. 0: it is for all.
    pub clients: u64,
    /// How it counts: WINDLASS_ALGORITHM_GCRA (0), _TOKEN_BUCKET, _FIXED_WINDOW or _SLIDING_COUNTER. The
    /// others cannot be in a set: they cannot give back.
    pub algorithm: u32,
    /// What a client gets that it does not know, when it is full: WINDLASS_ON_UNKNOWN_DENY (0) or
    /// WINDLASS_ON_UNKNOWN_ALLOW.
    pub on_unknown: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// Settings of a set. Fill it with windlass_limitset_config_init.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct windlass_limitset_config {
    /// Set by the init function; leave it alone.
    pub struct_size: u32,
    /// None are known yet: 0.
    pub flags: u32,
    /// How many holds there may be at a time (windlass_limitset_reserve). Default: 0, none.
    pub reservations: u64,
    /// How far callers' clocks may differ, or events come late, and still be judged by their own
    /// time. Default: 0.
    pub lateness_ns: u64,
    /// The seed with which keys are to be hashed. Default: a random one, drawn by the init function.
    pub seed: u64,
    /// 0.
    pub reserved: [u64; 4],
}

// SAFETY: repr(C), integers only, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_limitset_config {
    const FIRST_SIZE: usize = 64;
    const DEFAULT: Self = windlass_limitset_config {
        struct_size: 64,
        flags: 0,
        reservations: 0,
        lateness_ns: 0,
        seed: 0,
        reserved: [0; 4],
    };
}

const _: () = assert!(size_of::<windlass_limitset_config>() == 64);

/// Fills config with the defaults. struct_size is sizeof(windlass_limitset_config).
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limitset_config_init(
    config: *mut windlass_limitset_config,
    struct_size: u32,
) -> windlass_status {
    guard(|| {
        let defaults = windlass_limitset_config {
            struct_size,
            seed: Seed::random().0,
            ..windlass_limitset_config::DEFAULT
        };
        // SAFETY: the caller's promise.
        unsafe { sized::write(config, &defaults, struct_size) }.map(|()| WINDLASS_OK)
    })
}

fn wrong(detail: String) -> Failure {
    Failure { status: WINDLASS_E_ARG, detail: Some(detail) }
}

/// # Safety
/// `config` as `sized::read` has it; names end with NUL.
pub(super) unsafe fn builder(
    config: *const windlass_limitset_config,
    limits: &[windlass_limit_rule],
) -> Result<LimitSetBuilder, Failure> {
    // SAFETY: the caller's promise.
    let config = unsafe { sized::read(config) }?;
    settings::unused(config.flags, config.reserved)?;
    let mut builder = LimitSet::builder()
        .seed(Seed(config.seed))
        .lateness(Duration::from_nanos(config.lateness_ns))
        .reservations(usize::try_from(config.reservations).unwrap_or(usize::MAX));
    for limit in limits {
        // SAFETY: the caller's promise.
        builder = builder.limit(unsafe { rule(limit) }?);
    }
    Ok(builder)
}

/// # Safety
/// The name ends with NUL.
unsafe fn rule(limit: &windlass_limit_rule) -> Result<LimitRule, Failure> {
    if limit.name.is_null() {
        return Err(WINDLASS_E_NULL.into());
    }
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(limit.name) }
        .to_str()
        .map_err(|_| wrong("name: out of range: UTF-8".to_owned()))?;
    if limit.reserved != [0; 2] {
        return Err(wrong(format!("reserved of {name:?}: out of range: 0")));
    }
    let quota = Quota::new(limit.permits, Duration::from_nanos(limit.per_ns));
    let quota = if limit.burst > 0 { quota.burst(limit.burst) } else { quota };
    let rule = match usize::try_from(limit.clients).unwrap_or(usize::MAX) {
        0 => LimitRule::global(name, quota),
        clients => LimitRule::keyed(name, quota).clients(clients),
    };
    Ok(rule.algorithm(algorithm(limit.algorithm)?).on_unknown(on_unknown(limit.on_unknown, 0)?))
}

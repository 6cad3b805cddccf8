//! Settings of both limiters.

use std::{ffi::c_char, time::Duration};

use windlass::{
    Algorithm, KeyedLimiter, KeyedLimiterBuilder, Limiter, LimiterBuilder, OnUnknown, Quota, Seed,
};

use crate::{
    boundary::{Failure, guard, slice},
    dedup::config::WINDLASS_NO_LIMIT,
    settings::{self, wrong},
    sized::{self, Plain},
    status::{WINDLASS_OK, explained, windlass_error, windlass_status},
};

/// algorithm: the leaky bucket as a meter, one arrival time for each client. Decides as
/// WINDLASS_ALGORITHM_TOKEN_BUCKET does. In any span W a client gets burst + W * permits / per_ns at
/// most.
pub const WINDLASS_ALGORITHM_GCRA: u32 = 0;
/// algorithm: a bucket of burst tokens, refilled continuously. It starts full; a permit is a token.
pub const WINDLASS_ALGORITHM_TOKEN_BUCKET: u32 = 1;
/// algorithm: the leaky bucket as a queue. Who comes too early, by up to burst - 1 intervals, is
/// allowed with the delay after which it should go on, so that all go on evenly.
pub const WINDLASS_ALGORITHM_LEAKY_QUEUE: u32 = 2;
/// algorithm: so many in each window of the clock, counted from time 0. In a span of per_ns a client
/// gets twice the permits at most.
pub const WINDLASS_ALGORITHM_FIXED_WINDOW: u32 = 3;
/// algorithm: an estimate: what this window of the clock has, and of the last one as large a part as
/// the last per_ns still cover.
pub const WINDLASS_ALGORITHM_SLIDING_COUNTER: u32 = 4;
/// algorithm: so many in any span of per_ns: the times of a client's last permits are kept, for which
/// it takes 30 bytes more and 10 for each permit of the quota.
pub const WINDLASS_ALGORITHM_SLIDING_LOG: u32 = 5;

/// on_unknown: such a client is denied, to come again after per_ns / permits.
pub const WINDLASS_ON_UNKNOWN_DENY: u32 = 0;
/// on_unknown: such a client is allowed, and not charged.
pub const WINDLASS_ON_UNKNOWN_ALLOW: u32 = 1;
/// on_unknown: such a client shares one of shared_cells with others, by its hash. What a cell has taken
/// is no less than what each of its clients has: none gets more than its quota from it, and one may
/// be denied for what others have taken. Not with WINDLASS_ALGORITHM_SLIDING_LOG, nor in a set.
pub const WINDLASS_ON_UNKNOWN_SHARE: u32 = 2;

/// Settings. Fill it with windlass_limiter_config_init, then set permits and per_ns (or both by
/// windlass_limiter_config_quota), and what else should differ from the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct windlass_limiter_config {
    /// Set by the init function; leave it alone.
    pub struct_size: u32,
    /// None are known yet: 0.
    pub flags: u32,
    /// How many permits in per_ns. Has no default. What the algorithms can hold differs; if it is too
    /// many the error says how many are not.
    pub permits: u64,
    /// The time for so many, in nanoseconds: 1 to 366 days. Has no default.
    pub per_ns: u64,
    /// How many at once after a rest: the capacity of the bucket. A window has none but permits.
    /// Default: 0, as many as permits.
    pub burst: u64,
    /// How far callers' clocks may differ, or events come late, and still be judged by their own
    /// time. Default: 0.
    pub lateness_ns: u64,
    /// A time further ahead of the newest one seen than this is answered as an unknown client is: a
    /// single wild one would make all that is known old. Default: WINDLASS_NO_LIMIT.
    pub max_jump_ns: u64,
    /// How many clients it must know at a time: all there will be, or with max_memory those to begin
    /// with. One is known from its first permit until it has all of them back. 40 bytes each.
    /// Default: 1000000.
    pub clients: u64,
    /// Lets it grow, up to so many bytes, and shrink again, as in windlass_dedup_config; not with
    /// WINDLASS_ALGORITHM_SLIDING_LOG. Default: 0, it keeps the size that it is made with.
    pub max_memory: u64,
    /// The seed of the hash. Default: a random one, drawn by the init function. Set it where
    /// several processes must agree; with a seed that others know they can make keys that collide.
    pub seed: u64,
    /// How it counts: WINDLASS_ALGORITHM_GCRA (the default), or another WINDLASS_ALGORITHM_.
    pub algorithm: u32,
    /// What a client gets that it does not know, when it is full: WINDLASS_ON_UNKNOWN_DENY (the
    /// default), WINDLASS_ON_UNKNOWN_ALLOW or WINDLASS_ON_UNKNOWN_SHARE.
    pub on_unknown: u32,
    /// With WINDLASS_ON_UNKNOWN_SHARE: how many cells such clients share, of 8 bytes each; 1 to 2^28.
    /// Of n such clients at a time n / shared_cells share one, beside itself, on average. Else 0, the
    /// default.
    pub shared_cells: u64,
    /// 0.
    pub reserved: [u64; 3],
}

// SAFETY: repr(C), integers only, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_limiter_config {
    const FIRST_SIZE: usize = 112;
    const DEFAULT: Self = windlass_limiter_config {
        struct_size: 112,
        flags: 0,
        permits: 0,
        per_ns: 0,
        burst: 0,
        lateness_ns: 0,
        max_jump_ns: WINDLASS_NO_LIMIT,
        clients: 1_000_000,
        max_memory: 0,
        seed: 0,
        algorithm: WINDLASS_ALGORITHM_GCRA,
        on_unknown: WINDLASS_ON_UNKNOWN_DENY,
        shared_cells: 0,
        reserved: [0; 3],
    };
}

const _: () = assert!(size_of::<windlass_limiter_config>() == 112);

/// Fills config with the defaults. struct_size is sizeof(windlass_limiter_config).
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_config_init(
    config: *mut windlass_limiter_config,
    struct_size: u32,
) -> windlass_status {
    guard(|| {
        let defaults = windlass_limiter_config {
            struct_size,
            seed: Seed::random().0,
            ..windlass_limiter_config::DEFAULT
        };
        // SAFETY: the caller's promise.
        unsafe { sized::write(config, &defaults, struct_size) }.map(|()| WINDLASS_OK)
    })
}

/// Sets permits, per_ns and burst by a text of len bytes: "100/60s", "10/s", "10/s burst 20"; units
/// are ns, us, ms, s, m (or min), h and d. config has been begun by its init. A burst as large
/// as permits, or none, becomes 0.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (config; text, and len is not 0), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_RANGE
/// (len), WINDLASS_E_ARG (the text). Then config is left alone.
/// Threads: concurrent, with another config each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_config_quota(
    config: *mut windlass_limiter_config,
    text: *const c_char,
    len: usize,
    error: *mut windlass_error,
) -> windlass_status {
    let body = || {
        // SAFETY: the caller's promise.
        let mut known = unsafe { sized::read(config) }?;
        // SAFETY: the caller's promise.
        let text = unsafe { slice(text.cast::<u8>(), len) }?;
        // What is no text is no quota either.
        let quota: Quota = String::from_utf8_lossy(text).parse()?;
        known.permits = quota.permits();
        known.per_ns = super::admission::nanos(quota.per());
        known.burst = if quota.capacity() == quota.permits() { 0 } else { quota.capacity() };
        // SAFETY: the caller's promise; it has that size.
        unsafe { sized::write(config, &known, known.struct_size) }?;
        Ok(WINDLASS_OK)
    };
    // SAFETY: the caller's promise.
    unsafe { explained(error, body) }
}

/// Bytes that a windlass_limiter of these settings takes to begin with, before it is made.
///
/// error may be NULL.
/// Errors: as windlass_limiter_new.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_config_memory_bytes(
    config: *const windlass_limiter_config,
    error: *mut windlass_error,
) -> i64 {
    let body = || {
        // SAFETY: the caller's promise.
        let bytes = unsafe { read(config) }?.builder().memory_bytes()?;
        Ok(i64::try_from(bytes).unwrap_or(i64::MAX))
    };
    // SAFETY: the caller's promise.
    unsafe { explained(error, body) }
}

/// Settings that have passed what can be checked without the core.
pub(super) struct Settings {
    config: windlass_limiter_config,
    quota: Quota,
    algorithm: Algorithm,
    on_unknown: OnUnknown,
    clients: usize,
    /// Whether the seed is the config's.
    seed: bool,
}

impl Settings {
    pub(super) fn builder(&self) -> KeyedLimiterBuilder {
        let builder = KeyedLimiter::builder(self.quota)
            .algorithm(self.algorithm)
            .clients(self.clients)
            .on_unknown(self.on_unknown)
            .lateness(Duration::from_nanos(self.config.lateness_ns));
        let builder = if self.seed { builder.seed(Seed(self.config.seed)) } else { builder };
        let builder = match self.config.max_memory {
            0 => builder,
            bytes => builder.max_memory(bytes),
        };
        match self.config.max_jump_ns {
            WINDLASS_NO_LIMIT => builder,
            jump => builder.max_jump(Duration::from_nanos(jump)),
        }
    }

    pub(super) fn keyed(&self) -> Result<KeyedLimiter, Failure> {
        // What is beyond the machine is a wrong setting, what is not to be had now is not.
        settings::built(self.builder().build(), |error| {
            error.field == "clients" && error.limit == "what the system can allocate"
        })
    }

    pub(super) fn global(&self) -> Result<Limiter, Failure> {
        Ok(self.builder_of_all()?.build()?)
    }

    pub(super) fn builder_of_all(&self) -> Result<LimiterBuilder, Failure> {
        // They would change answers.
        if self.config.lateness_ns != 0 {
            return wrong("lateness_ns", self.config.lateness_ns, "0: a global limiter has none");
        }
        if self.config.max_jump_ns != WINDLASS_NO_LIMIT {
            let limit = "WINDLASS_NO_LIMIT: a global limiter has none";
            return wrong("max_jump_ns", self.config.max_jump_ns, limit);
        }
        Ok(Limiter::builder(self.quota).algorithm(self.algorithm))
    }
}

/// What a WINDLASS_ALGORITHM_ stands for.
pub(crate) fn algorithm(number: u32) -> Result<Algorithm, Failure> {
    Ok(match number {
        WINDLASS_ALGORITHM_GCRA => Algorithm::Gcra,
        WINDLASS_ALGORITHM_TOKEN_BUCKET => Algorithm::TokenBucket,
        WINDLASS_ALGORITHM_LEAKY_QUEUE => Algorithm::LeakyQueue,
        WINDLASS_ALGORITHM_FIXED_WINDOW => Algorithm::FixedWindow,
        WINDLASS_ALGORITHM_SLIDING_COUNTER => Algorithm::SlidingCounter,
        WINDLASS_ALGORITHM_SLIDING_LOG => Algorithm::SlidingLog,
        other => return wrong("algorithm", other, "a WINDLASS_ALGORITHM_ (0 to 5)"),
    })
}

/// What a WINDLASS_ON_UNKNOWN_ stands for, with so many cells.
pub(crate) fn on_unknown(number: u32, cells: u64) -> Result<OnUnknown, Failure> {
    match number {
        WINDLASS_ON_UNKNOWN_SHARE => Ok(OnUnknown::Share(settings::many("shared_cells", cells)?)),
        _ if cells > 0 => wrong("shared_cells", cells, "0, but with WINDLASS_ON_UNKNOWN_SHARE"),
        WINDLASS_ON_UNKNOWN_DENY => Ok(OnUnknown::Deny),
        WINDLASS_ON_UNKNOWN_ALLOW => Ok(OnUnknown::Allow),
        other => {
            let limit = "WINDLASS_ON_UNKNOWN_DENY (0), WINDLASS_ON_UNKNOWN_ALLOW (1) or WINDLASS_ON_UNKNOWN_SHARE (2)";
            wrong("on_unknown", other, limit)
        }
    }
}

/// # Safety
/// `config` is NULL, or points to a `windlass_limiter_config` of some release with its size set.
pub(super) unsafe fn read(config: *const windlass_limiter_config) -> Result<Settings, Failure> {
    // SAFETY: the caller's promise.
    unsafe { read_with(config, true) }
}

/// .. with its seed, or none.
///
/// # Safety
/// As `read`.
pub(super) unsafe fn read_with(
    config: *const windlass_limiter_config,
    seed: bool,
) -> Result<Settings, Failure> {
    // SAFETY: the caller's promise.
    let config = unsafe { sized::read(config) }?;
    settings::unused(config.flags, config.reserved)?;
    let algorithm = algorithm(config.algorithm)?;
    let on_unknown = on_unknown(config.on_unknown, config.shared_cells)?;
    let clients = settings::many("clients", config.clients)?;
    let quota = Quota::new(config.permits, Duration::from_nanos(config.per_ns));
    let quota = if config.burst == 0 { quota } else { quota.burst(config.burst) };
    Ok(Settings { config, quota, algorithm, on_unknown, clients, seed })
}

//! Settings of a `windlass_dedup`.

use windlass::{Dedup, DedupBuilder, Identity, OnFull, Refresh, Seed};

use crate::{
    boundary::{Failure, guard},
    settings::{self, wrong},
    sized::{self, Plain},
    status::{WINDLASS_OK, explained, windlass_error, windlass_status},
};

/// Where it means a number of ticks, or of bytes: no limit.
pub const WINDLASS_NO_LIMIT: u64 = u64::MAX;

/// unit: ticks are nanoseconds.
pub const WINDLASS_UNIT_NS: u32 = 0;
/// unit: ticks are the numbers of events: 0, 1, 2 ...
pub const WINDLASS_UNIT_EVENTS: u32 = 1;

/// refresh: a window counts from the id's admission. A duplicate changes nothing.
pub const WINDLASS_REFRESH_NEVER: u32 = 0;
/// refresh: a window counts from the last time that the id was seen.
pub const WINDLASS_REFRESH_ON_DUPLICATE: u32 = 1;

/// on_full: a new id is refused with WINDLASS_E_FULL. Nothing is ever forgotten early.
pub const WINDLASS_ON_FULL_REJECT: u32 = 0;
/// on_full: the oldest id near the new one's place is forgotten early, and counted; none that is no
/// older than the lateness.
pub const WINDLASS_ON_FULL_EVICT_OLDEST: u32 = 1;

/// identity: ids are the same if 64 bits of their hash are, and their place in the table. Numbers
/// are told apart exactly; of others a fresh one is taken for a duplicate with a probability of
/// 3.5e-18 per call at most.
pub const WINDLASS_IDENTITY_HASH: u32 = 0;
/// identity: ids are the same if their bytes are, which are kept: exact, also against those who make
/// ids whose hashes collide. An id has WINDLASS_MAX_ID_LEN bytes at most. Bytes, numbers and hashes
/// are three kinds of ids, none the same as one of another kind; of a hash its 128 bits are compared.
pub const WINDLASS_IDENTITY_BYTES: u32 = 1;

/// Bytes that an id may have with WINDLASS_IDENTITY_BYTES. (Else any number.)
pub const WINDLASS_MAX_ID_LEN: usize = 65535;

const _: () = assert!(WINDLASS_MAX_ID_LEN == Dedup::MAX_LEN);

/// Settings. Fill it with windlass_dedup_config_init, then set window, and what else should differ
/// from the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct windlass_dedup_config {
    /// Set by the init function; leave it alone.
    pub struct_size: u32,
    /// None are known yet: 0.
    pub flags: u32,
    /// How long an id counts as seen, in ticks: 1 to 2^57. At exactly that age it is fresh again.
    /// Has no default.
    pub window: u64,
    /// How late events may come, or callers' clocks differ, in ticks, and still be judged by their
    /// own time. Ids are kept that much longer. Default: 0. Window and lateness together are 2^57
    /// at most.
    pub lateness: u64,
    /// Refuses a time further ahead of the newest one seen than this many ticks: a single wild one
    /// would age everything. Default: WINDLASS_NO_LIMIT.
    pub max_jump: u64,
    /// How many live ids it must hold, those of the window and of the lateness before it: all there
    /// will be, or with max_memory those to begin with. 40 bytes each, and with
    /// WINDLASS_IDENTITY_BYTES those of the ids as they come. Default: 1000000.
    pub capacity: u64,
    /// The seed of the hash. Default: a random one, drawn by the init function. Set it where
    /// several processes must agree; with a seed that others know they can make ids that collide.
    pub seed: u64,
    /// What a tick is: WINDLASS_UNIT_NS (the default) or WINDLASS_UNIT_EVENTS. It matters to messages,
    /// to how exact claims are, and to how long it can be used: 2^58 ns or 2^48 events from the first
    /// time on. For ticks of another size take WINDLASS_UNIT_EVENTS.
    pub unit: u32,
    /// What a window counts from: WINDLASS_REFRESH_NEVER (the default) or
    /// WINDLASS_REFRESH_ON_DUPLICATE.
    pub refresh: u32,
    /// What happens when there is no room: WINDLASS_ON_FULL_REJECT (the default) or
    /// WINDLASS_ON_FULL_EVICT_OLDEST.
    pub on_full: u32,
    /// 0.
    pub reserved0: u32,
    /// 0.
    pub reserved: [u64; 4],
    /// Lets it grow, up to so many bytes, and shrink again, but not below the capacity. While one size
    /// takes the place of another both count: at least four ninths of the bytes can be used in the
    /// end. More than three quarters of the machine's memory, as WINDLASS_NO_LIMIT is, count as that.
    /// Default: 0, it keeps the size that it is made with.
    pub max_memory: u64,
    /// What makes two ids the same: WINDLASS_IDENTITY_HASH (the default) or WINDLASS_IDENTITY_BYTES.
    pub identity: u32,
    /// 0.
    pub reserved1: u32,
}

// SAFETY: repr(C), integers only, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_dedup_config {
    const FIRST_SIZE: usize = 96;
    const DEFAULT: Self = windlass_dedup_config {
        struct_size: 112,
        flags: 0,
        window: 0,
        lateness: 0,
        max_jump: WINDLASS_NO_LIMIT,
        capacity: 1_000_000,
        seed: 0,
        unit: WINDLASS_UNIT_NS,
        refresh: WINDLASS_REFRESH_NEVER,
        on_full: WINDLASS_ON_FULL_REJECT,
        reserved0: 0,
        reserved: [0; 4],
        max_memory: 0,
        identity: WINDLASS_IDENTITY_HASH,
        reserved1: 0,
    };
}

const _: () = assert!(size_of::<windlass_dedup_config>() == 112);

/// Fills config with the defaults. struct_size is sizeof(windlass_dedup_config).
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_config_init(
    config: *mut windlass_dedup_config,
    struct_size: u32,
) -> windlass_status {
    guard(|| {
        let defaults =
            windlass_dedup_config { struct_size, seed: Seed::random().0, ..windlass_dedup_config::DEFAULT };
        // SAFETY: the caller's promise.
        unsafe { sized::write(config, &defaults, struct_size) }.map(|()| WINDLASS_OK)
    })
}

/// Bytes that a windlass_dedup of these settings takes to begin with, before it is made.
///
/// error may be NULL.
/// Errors: as windlass_dedup_new.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_config_memory_bytes(
    config: *const windlass_dedup_config,
    error: *mut windlass_error,
) -> i64 {
    let body = || {
        // SAFETY: the caller's promise.
        let bytes = unsafe { read(config) }?.builder.memory_bytes()?;
        Ok(i64::try_from(bytes).unwrap_or(i64::MAX))
    };
    // SAFETY: the caller's promise.
    unsafe { explained(error, body) }
}

/// Settings that have passed what can be checked without the core.
pub(super) struct Settings {
    pub(super) builder: DedupBuilder,
}

impl Settings {
    pub(super) fn build(self) -> Result<Dedup, Failure> {
        // A capacity that is beyond the machine is a wrong setting, one that is not to be had now is not.
        self.builder.memory_bytes()?;
        settings::built(self.builder.build(), |error| error.field == "capacity")
    }
}

/// # Safety
/// `config` is NULL, or points to a `windlass_dedup_config` of some release with its size set.
pub(super) unsafe fn read(config: *const windlass_dedup_config) -> Result<Settings, Failure> {
    // SAFETY: the caller's promise.
    unsafe { read_with(config, true) }
}

/// .. with its seed, or none.
///
/// # Safety
/// As `read`.
pub(super) unsafe fn read_with(
    config: *const windlass_dedup_config,
    seed: bool,
) -> Result<Settings, Failure> {
    // SAFETY: the caller's promise.
    let config = unsafe { sized::read(config) }?;
    let reserved = config.reserved.into_iter().chain([config.reserved0.into(), config.reserved1.into()]);
    settings::unused(config.flags, reserved)?;
    let window_of = settings::span_of(config.unit)?;
    let refresh = match config.refresh {
        WINDLASS_REFRESH_NEVER => Refresh::Never,
        WINDLASS_REFRESH_ON_DUPLICATE => Refresh::OnDuplicate,
        other => {
            let limit = "WINDLASS_REFRESH_NEVER (0) or WINDLASS_REFRESH_ON_DUPLICATE (1)";
            return wrong("refresh", other, limit);
        }
    };
    let on_full = match config.on_full {
        WINDLASS_ON_FULL_REJECT => OnFull::Reject,
        WINDLASS_ON_FULL_EVICT_OLDEST => OnFull::EvictOldest,
        other => {
            let limit = "WINDLASS_ON_FULL_REJECT (0) or WINDLASS_ON_FULL_EVICT_OLDEST (1)";
            return wrong("on_full", other, limit);
        }
    };
    let identity = match config.identity {
        WINDLASS_IDENTITY_HASH => Identity::Hash,
        WINDLASS_IDENTITY_BYTES => Identity::Bytes,
        other => {
            let limit = "WINDLASS_IDENTITY_HASH (0) or WINDLASS_IDENTITY_BYTES (1)";
            return wrong("identity", other, limit);
        }
    };
    let capacity = settings::many("capacity", config.capacity)?;
    let builder = Dedup::builder(window_of(config.window))
        .lateness(window_of(config.lateness))
        .capacity(capacity)
        .identity(identity)
        .refresh(refresh)
        .on_full(on_full);
    let builder = if seed { builder.seed(Seed(config.seed)) } else { builder };
    let builder = match config.max_memory {
        0 => builder,
        bytes => builder.max_memory(bytes),
    };
    let builder = match config.max_jump {
        WINDLASS_NO_LIMIT => builder,
        jump => builder.max_jump(window_of(jump)),
    };
    Ok(Settings { builder })
}

//! Settings.

use windlass::{Seed, TopK, TopKBuilder};

use crate::{
    boundary::{Failure, guard},
    dedup::config::{WINDLASS_NO_LIMIT, WINDLASS_UNIT_NS},
    settings,
    sized::{self, Plain},
    status::{WINDLASS_OK, explained, windlass_error, windlass_status},
};

/// Settings. Fill it with windlass_topk_config_init, then set window, pane and k, and what
/// else should differ from the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct windlass_topk_config {
    /// Set by the init function; leave it alone.
    pub struct_size: u32,
    /// None are known yet: 0.
    pub flags: u32,
    /// Over how many ticks is counted: a multiple of the pane. Has no default.
    pub window: u64,
    /// The length of a pane in ticks: at most 1023 of them in window and lateness. Has no default.
    pub pane: u64,
    /// How late events may come, or callers' clocks differ, beyond the window, and still be counted,
    /// in ticks; and how far back can be asked. Rounded up to panes. Default: 0.
    pub lateness: u64,
    /// How many keys a list has, 1 to capacity. Has no default.
    pub k: u64,
    /// A time further ahead of the newest pane than this many ticks is refused: a single wild one
    /// would make all that is counted old. Default: WINDLASS_NO_LIMIT.
    pub max_jump: u64,
    /// How many different keys a window may have: all there will be, or with max_memory those to
    /// begin with. Default: 1000000.
    pub capacity: u64,
    /// Lets it grow, up to so many bytes, those of keys among them, and shrink again. Default: 0, it
    /// keeps the size that it is made with.
    pub max_memory: u64,
    /// How old windlass_topk_maintain_at lets the list become, in ticks. Default: 0, which is 100 ms, or
    /// a pane of events.
    pub refresh_every: u64,
    /// The seed of the hash. Default: a random one, drawn by the init function. Set it where
    /// several processes must agree; with a seed that others know they can make keys that collide.
    pub seed: u64,
    /// What a tick is: WINDLASS_UNIT_NS (the default) or WINDLASS_UNIT_EVENTS. It matters to messages
    /// alone.
    pub unit: u32,
    /// 0.
    pub reserved0: u32,
    /// 0.
    pub reserved: [u64; 4],
}

// SAFETY: repr(C), integers only, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_topk_config {
    const FIRST_SIZE: usize = 120;
    const DEFAULT: Self = windlass_topk_config {
        struct_size: 120,
        flags: 0,
        window: 0,
        pane: 0,
        lateness: 0,
        k: 0,
        max_jump: WINDLASS_NO_LIMIT,
        capacity: 1_000_000,
        max_memory: 0,
        refresh_every: 0,
        seed: 0,
        unit: WINDLASS_UNIT_NS,
        reserved0: 0,
        reserved: [0; 4],
    };
}

const _: () = assert!(size_of::<windlass_topk_config>() == 120);

/// Fills config with the defaults. struct_size is sizeof(windlass_topk_config).
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_topk_config_init(
    config: *mut windlass_topk_config,
    struct_size: u32,
) -> windlass_status {
    guard(|| {
        let defaults =
            windlass_topk_config { struct_size, seed: Seed::random().0, ..windlass_topk_config::DEFAULT };
        // SAFETY: the caller's promise.
        unsafe { sized::write(config, &defaults, struct_size) }.map(|()| WINDLASS_OK)
    })
}

/// Bytes that a windlass_topk of these settings takes when all of it is in use, if it does not grow,
/// before it is made. The bytes of keys come on top: as much again at most, and 1 MiB for each
/// generation at least.
///
/// error may be NULL.
/// Errors: as windlass_topk_new.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_topk_config_memory_bytes(
    config: *const windlass_topk_config,
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
    pub(super) builder: TopKBuilder,
}

impl Settings {
    pub(super) fn build(self) -> Result<TopK, Failure> {
        // A capacity that is beyond the machine is a wrong setting, one that is not to be had now is not.
        self.builder.memory_bytes()?;
        settings::built(self.builder.build(), |error| error.field == "capacity")
    }
}

/// # Safety
/// `config` is NULL, or points to a `windlass_topk_config` of some release with its size set.
pub(super) unsafe fn read(config: *const windlass_topk_config) -> Result<Settings, Failure> {
    // SAFETY: the caller's promise.
    unsafe { read_with(config, true) }
}

/// .. with its seed, or none.
///
/// # Safety
/// As `read`.
pub(super) unsafe fn read_with(config: *const windlass_topk_config, seed: bool) -> Result<Settings, Failure> {
    // SAFETY: the caller's promise.
    let config = unsafe { sized::read(config) }?;
    settings::unused(config.flags, config.reserved.into_iter().chain([config.reserved0.into()]))?;
    let span = settings::span_of(config.unit)?;
    let capacity = settings::many("capacity", config.capacity)?;
    let k = usize::try_from(config.k).or_else(|_| settings::wrong("k", config.k, "1 to the capacity"))?;
    let mut builder = TopK::builder(span(config.window), span(config.pane), k)
        .lateness(span(config.lateness))
        .capacity(capacity);
    if seed {
        builder = builder.seed(Seed(config.seed));
    }
    if config.max_memory != 0 {
        builder = builder.max_memory(config.max_memory);
    }
    if config.refresh_every != 0 {
        builder = builder.refresh_every(span(config.refresh_every));
    }
    if config.max_jump != WINDLASS_NO_LIMIT {
        builder = builder.max_jump(span(config.max_jump));
    }
    Ok(Settings { builder })
}

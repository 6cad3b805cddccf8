//! Settings.

use windlass::{BoundedTopK, BoundedTopKBuilder, Seed};

use super::windlass_bounded_topk;
use crate::{
    boundary::{Failure, guard},
    dedup::config::{WINDLASS_NO_LIMIT, WINDLASS_UNIT_NS},
    handle::Handle,
    settings,
    sized::{self, Plain},
    status::{WINDLASS_OK, windlass_status},
};

/// Settings. Fill it with windlass_bounded_topk_config_init, then set window, pane and k, and what
/// else should differ from the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct windlass_bounded_topk_config {
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
    /// How many keys a list has, 1 to 1048576. Has no default.
    pub k: u64,
    /// A time further ahead of the newest pane than this many ticks is refused: a single wild one
    /// would make all that is counted old. Default: WINDLASS_NO_LIMIT.
    pub max_jump: u64,
    /// Bytes that it may take, all in all, in equal parts for each pane that is kept and two more.
    /// Default: 1048576.
    pub memory: u64,
    /// How many bytes a key has, on average: as much room is kept for those of the candidates, twice. 0: all
    /// are numbers, which need none. (A key for which there is no room is counted, but not listed.)
    /// Default: 24.
    pub key_bytes: u64,
    /// How old windlass_bounded_topk_maintain_at lets the list become, in ticks. Default: 0, which is
    /// 100 ms, or a pane of events.
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
unsafe impl Plain for windlass_bounded_topk_config {
    const FIRST_SIZE: usize = 120;
    const DEFAULT: Self = windlass_bounded_topk_config {
        struct_size: 120,
        flags: 0,
        window: 0,
        pane: 0,
        lateness: 0,
        k: 0,
        max_jump: WINDLASS_NO_LIMIT,
        memory: 1 << 20,
        key_bytes: 24,
        refresh_every: 0,
        seed: 0,
        unit: WINDLASS_UNIT_NS,
        reserved0: 0,
        reserved: [0; 4],
    };
}

const _: () = assert!(size_of::<windlass_bounded_topk_config>() == 120);

/// Fills config with the defaults. struct_size is sizeof(windlass_bounded_topk_config).
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_config_init(
    config: *mut windlass_bounded_topk_config,
    struct_size: u32,
) -> windlass_status {
    guard(|| {
        let defaults = windlass_bounded_topk_config {
            struct_size,
            seed: Seed::random().0,
            ..windlass_bounded_topk_config::DEFAULT
        };
        // SAFETY: the caller's promise.
        unsafe { sized::write(config, &defaults, struct_size) }.map(|()| WINDLASS_OK)
    })
}

/// # Safety
/// `config` is NULL, or points to a `windlass_bounded_topk_config` of some release with its size set.
pub(super) unsafe fn build(
    config: *const windlass_bounded_topk_config,
) -> Result<<windlass_bounded_topk as Handle>::Core, Failure> {
    // SAFETY: the caller's promise.
    let (builder, seed) = unsafe { read(config) }?;
    // Other limits on memory are known beforehand.
    settings::built(builder.seed(seed).build(), |error| error.limit == "what the system can allocate")
}

/// All settings but the seed, and that.
///
/// # Safety
/// As `build`.
pub(super) unsafe fn read(
    config: *const windlass_bounded_topk_config,
) -> Result<(BoundedTopKBuilder, Seed), Failure> {
    // SAFETY: the caller's promise.
    let config = unsafe { sized::read(config) }?;
    settings::unused(config.flags, config.reserved.into_iter().chain([config.reserved0.into()]))?;
    let span = settings::span_of(config.unit)?;
    let mut builder =
        BoundedTopK::builder(span(config.window), span(config.pane), settings::many("k", config.k)?)
            .lateness(span(config.lateness))
            .memory(config.memory)
            .key_bytes(settings::many("key_bytes", config.key_bytes)?);
    if config.refresh_every != 0 {
        builder = builder.refresh_every(span(config.refresh_every));
    }
    if config.max_jump != WINDLASS_NO_LIMIT {
        builder = builder.max_jump(span(config.max_jump));
    }
    Ok((builder, Seed(config.seed)))
}

//! Settings of a `windlass_bloom`, and what they come to.

use windlass::{BloomBuilder, BloomPlan, Layout, RotatingBloom, Rotation, Seed};

use super::windlass_bloom;
use crate::{
    boundary::{Failure, guard},
    dedup::config::{WINDLASS_NO_LIMIT, WINDLASS_UNIT_NS},
    handle::core,
    settings::{self, wrong},
    sized::{self, Plain},
    status::{WINDLASS_OK, explained, windlass_error, windlass_status},
};

/// layout: chosen by the error.
pub const WINDLASS_LAYOUT_AUTO: u32 = 0;
/// layout: panes side by side, 64 bits of each in a row; an id has one row. Up to 64 panes. The
/// fastest. Of threads that bring one new id at once exactly one is told that it is fresh in each
/// pane; in the other layouts it may be more.
pub const WINDLASS_LAYOUT_ROWS_1: u32 = 1;
/// layout: the same with two rows for an id: less memory.
pub const WINDLASS_LAYOUT_ROWS_2: u32 = 2;
/// layout: the same with three rows for an id.
pub const WINDLASS_LAYOUT_ROWS_3: u32 = 3;
/// layout: the same with four rows for an id.
pub const WINDLASS_LAYOUT_ROWS_4: u32 = 4;
/// layout: panes side by side, a block of 128 bits of each in a row. Up to 64 panes.
pub const WINDLASS_LAYOUT_BLOCKS_128: u32 = 5;
/// layout: the same with blocks of 256 bits.
pub const WINDLASS_LAYOUT_BLOCKS_256: u32 = 6;
/// layout: the same with blocks of 512 bits.
pub const WINDLASS_LAYOUT_BLOCKS_512: u32 = 7;
/// layout: an array of cache lines for each pane, up to 1024 panes.
pub const WINDLASS_LAYOUT_ARRAYS: u32 = 8;
/// layout: the same with a seed for each pane, so that an error does not last from pane to pane.
/// Without windlass_bloom_distinct_at and windlass_bloom_union.
pub const WINDLASS_LAYOUT_SEEDED_ARRAYS: u32 = 9;

/// rotation: calls that put something in move the panes on, and each clears a small share.
pub const WINDLASS_ROTATION_BY_CALLS: u32 = 0;
/// rotation: calls move the panes on; windlass_bloom_maintain_at clears.
pub const WINDLASS_ROTATION_HYBRID: u32 = 1;
/// rotation: windlass_bloom_maintain_at and windlass_bloom_advance_to alone. Calls only see to it
/// that nothing is forgotten early.
pub const WINDLASS_ROTATION_SCHEDULED: u32 = 2;

const LAYOUTS: [Layout; 9] = [
    Layout::Rows(1),
    Layout::Rows(2),
    Layout::Rows(3),
    Layout::Rows(4),
    Layout::Blocks(128),
    Layout::Blocks(256),
    Layout::Blocks(512),
    Layout::Arrays,
    Layout::SeededArrays,
];

/// Settings. Fill it with windlass_bloom_config_init, then set window, and what else should differ
/// from the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct windlass_bloom_config {
    /// Set by the init function; leave it alone.
    pub struct_size: u32,
    /// None are known yet: 0.
    pub flags: u32,
    /// How long an id counts as seen at least, in ticks: 1 to 2^57. Has no default.
    pub window: u64,
    /// How late events may come, or callers' clocks differ, in ticks: ids are kept that much longer.
    /// Default: 0. Window and lateness together are 2^57 at most.
    pub lateness: u64,
    /// A time further ahead of the newest pane than this many ticks counts as in it: a single wild
    /// one would age everything. Default: WINDLASS_NO_LIMIT.
    pub max_jump: u64,
    /// How many different ids are to be expected in a window (and the lateness before it). With more
    /// of them the error rises, and nothing else. Default: 0, which stands for 1000000, or for the
    /// window where it counts events.
    pub expected_ids: u64,
    /// The share of new ids that may be taken for seen, with that many ids: above 0 and below 1.
    /// Default: 0.01.
    pub error: f64,
    /// The length of a pane in ticks, where panes have to agree with something else: they begin at
    /// multiples of it. Default: 0, by the number of panes.
    pub pane: u64,
    /// Bits of all panes together, instead of as many as the error takes. Default: 0, by the error.
    pub bits: u64,
    /// The seed of the hash. Default: a random one, drawn by the init function. Set it where
    /// several processes must agree; with a seed that others know they can make ids that are taken
    /// for seen.
    pub seed: u64,
    /// How many panes: 2 to 64, with arrays up to 1024. The more, the sooner after the window an id
    /// is forgotten. Default: 0, which stands for 8, or for what the length of a pane makes of it.
    pub panes: u32,
    /// How the bits lie: WINDLASS_LAYOUT_AUTO (the default) or another WINDLASS_LAYOUT_.
    pub layout: u32,
    /// Bits that an id sets: 1 to 32. Default: 0, as many as make the error least.
    pub probes: u32,
    /// Who moves the panes on: WINDLASS_ROTATION_BY_CALLS (the default) or another
    /// WINDLASS_ROTATION_.
    pub rotation: u32,
    /// What a tick is: WINDLASS_UNIT_NS (the default) or WINDLASS_UNIT_EVENTS. It matters to messages
    /// and to the default of expected_ids.
    pub unit: u32,
    /// 0.
    pub reserved0: u32,
    /// 0.
    pub reserved: [u64; 4],
}

// SAFETY: repr(C), numbers of which any bits are one, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_bloom_config {
    const FIRST_SIZE: usize = 128;
    const DEFAULT: Self = windlass_bloom_config {
        struct_size: 128,
        flags: 0,
        window: 0,
        lateness: 0,
        max_jump: WINDLASS_NO_LIMIT,
        expected_ids: 0,
        error: 0.01,
        pane: 0,
        bits: 0,
        seed: 0,
        panes: 0,
        layout: WINDLASS_LAYOUT_AUTO,
        probes: 0,
        rotation: WINDLASS_ROTATION_BY_CALLS,
        unit: WINDLASS_UNIT_NS,
        reserved0: 0,
        reserved: [0; 4],
    };
}

const _: () = assert!(size_of::<windlass_bloom_config>() == 128);

/// What a windlass_bloom is built as.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct windlass_bloom_plan {
    /// How many bytes of this struct the library knows; what lies beyond is 0.
    pub struct_size: u32,
    /// How the bits lie: one of WINDLASS_LAYOUT_, and not WINDLASS_LAYOUT_AUTO.
    pub layout: u32,
    /// Panes.
    pub panes: u32,
    /// Bits that an id sets.
    pub probes: u32,
    /// The length of a pane in ticks.
    pub pane: u64,
    /// How long an id is found at least, in ticks: the window and the lateness. Where the length of a
    /// pane was given it may be an 8th of a pane less.
    pub guaranteed: u64,
    /// Bits of all panes together.
    pub bits: u64,
    /// Bytes of all panes together.
    pub bytes: u64,
    /// Ids expected in a window.
    pub expected_ids: u64,
    /// The share of new ids that it takes for seen when all panes are as full as expected: an upper
    /// bound of what is to be expected.
    pub expected_error: f64,
}

// SAFETY: repr(C), numbers of which any bits are one, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_bloom_plan {
    const FIRST_SIZE: usize = 64;
    const DEFAULT: Self = windlass_bloom_plan {
        struct_size: 64,
        layout: 0,
        panes: 0,
        probes: 0,
        pane: 0,
        guaranteed: 0,
        bits: 0,
        bytes: 0,
        expected_ids: 0,
        expected_error: 0.0,
    };
}

const _: () = assert!(size_of::<windlass_bloom_plan>() == 64);

impl windlass_bloom_plan {
    fn of(plan: &BloomPlan, struct_size: u32) -> windlass_bloom_plan {
        let layout = LAYOUTS.iter().zip(1..).find(|(layout, _)| **layout == plan.layout);
        windlass_bloom_plan {
            struct_size: struct_size.min(windlass_bloom_plan::DEFAULT.struct_size),
            layout: layout.map_or(WINDLASS_LAYOUT_AUTO, |(_, code)| code),
            panes: u32::try_from(plan.panes).unwrap_or(u32::MAX),
            probes: plan.probes,
            pane: plan.pane.ticks().unwrap_or(0),
            guaranteed: plan.guaranteed,
            bits: plan.bits,
            bytes: plan.bytes,
            expected_ids: plan.expected_ids,
            expected_error: plan.expected_error,
        }
    }
}

/// Fills config with the defaults. struct_size is sizeof(windlass_bloom_config).
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_config_init(
    config: *mut windlass_bloom_config,
    struct_size: u32,
) -> windlass_status {
    guard(|| {
        let defaults =
            windlass_bloom_config { struct_size, seed: Seed::random().0, ..windlass_bloom_config::DEFAULT };
        // SAFETY: the caller's promise.
        unsafe { sized::write(config, &defaults, struct_size) }.map(|()| WINDLASS_OK)
    })
}

/// Fills out with what a windlass_bloom of these settings would be built as. struct_size is
/// sizeof(windlass_bloom_plan).
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE (of either), WINDLASS_E_ARG (a
/// setting; error names it).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_config_plan(
    config: *const windlass_bloom_config,
    out: *mut windlass_bloom_plan,
    struct_size: u32,
    error: *mut windlass_error,
) -> windlass_status {
    let body = || {
        // SAFETY: the caller's promise.
        let plan = unsafe { read(config) }?.builder.plan()?;
        // SAFETY: the caller's promise.
        unsafe { sized::write(out, &windlass_bloom_plan::of(&plan, struct_size), struct_size) }?;
        Ok(WINDLASS_OK)
    };
    // SAFETY: the caller's promise.
    unsafe { explained(error, body) }
}

/// Fills out with what bloom was built as. struct_size is sizeof(windlass_bloom_plan).
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_get_plan(
    bloom: *const windlass_bloom,
    out: *mut windlass_bloom_plan,
    struct_size: u32,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let plan = windlass_bloom_plan::of(unsafe { core(bloom) }?.plan(), struct_size);
        // SAFETY: the caller's promise.
        unsafe { sized::write(out, &plan, struct_size) }.map(|()| WINDLASS_OK)
    })
}

/// Settings that have passed what can be checked without the core.
pub(super) struct Settings {
    pub(super) builder: BloomBuilder,
}

impl Settings {
    pub(super) fn build(self) -> Result<RotatingBloom, Failure> {
        // What is beyond the machine is a wrong setting, what is not to be had now is not.
        self.builder.plan()?;
        settings::built(self.builder.build(), |error| error.field == "expected_ids")
    }
}

/// # Safety
/// `config` is NULL, or points to a `windlass_bloom_config` of some release with its size set.
pub(super) unsafe fn read(config: *const windlass_bloom_config) -> Result<Settings, Failure> {
    // SAFETY: the caller's promise.
    unsafe { read_with(config, true) }
}

/// .. with its seed, or none.
///
/// # Safety
/// As `read`.
pub(super) unsafe fn read_with(
    config: *const windlass_bloom_config,
    seed: bool,
) -> Result<Settings, Failure> {
    // SAFETY: the caller's promise.
    let config = unsafe { sized::read(config) }?;
    settings::unused(config.flags, config.reserved.into_iter().chain([config.reserved0.into()]))?;
    let window_of = settings::span_of(config.unit)?;
    let rotation = match config.rotation {
        WINDLASS_ROTATION_BY_CALLS => Rotation::ByCalls,
        WINDLASS_ROTATION_HYBRID => Rotation::Hybrid,
        WINDLASS_ROTATION_SCHEDULED => Rotation::Scheduled,
        other => return wrong("rotation", other, "a WINDLASS_ROTATION_ (0 to 2)"),
    };
    let mut builder = RotatingBloom::builder(window_of(config.window))
        .lateness(window_of(config.lateness))
        .error(config.error)
        .rotation(rotation);
    if seed {
        builder = builder.seed(Seed(config.seed));
    }
    // 0 and WINDLASS_NO_LIMIT stand for what the builder does by itself.
    match config.layout.checked_sub(1).map(|i| LAYOUTS.get(i as usize)) {
        None => {}
        Some(Some(&layout)) => builder = builder.layout(layout),
        Some(None) => return wrong("layout", config.layout, "a WINDLASS_LAYOUT_ (0 to 9)"),
    }
    if config.expected_ids != 0 {
        builder = builder.expected_ids(config.expected_ids);
    }
    if config.panes != 0 {
        builder = builder.panes(config.panes as usize);
    }
    if config.pane != 0 {
        builder = builder.pane(window_of(config.pane));
    }
    if config.bits != 0 {
        builder = builder.bits(config.bits);
    }
    if config.probes != 0 {
        builder = builder.probes(config.probes);
    }
    if config.max_jump != WINDLASS_NO_LIMIT {
        builder = builder.max_jump(window_of(config.max_jump));
    }
    Ok(Settings { builder })
}

//! Settings.

use windlass::{FifoBuilder, FifoIndex, OnPresent, Seed};

use super::value::Value;
use crate::{
    boundary::{Failure, guard},
    settings::{self, wrong},
    sized::{self, Plain},
    status::{WINDLASS_OK, explained, windlass_error, windlass_status},
};

/// A push of a key that is there does nothing: it keeps its place and its value.
pub const WINDLASS_ON_PRESENT_KEEP: u32 = 0;
/// A push of a key that is there makes it the last entry, with the new value.
pub const WINDLASS_ON_PRESENT_MOVE: u32 = 1;

/// Settings. Fill it with windlass_fifo_config_init, then set what should differ from the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct windlass_fifo_config {
    /// Set by the init function; leave it alone.
    pub struct_size: u32,
    /// None are known yet: 0.
    pub flags: u32,
    /// How many entries it may hold; or with max_memory for how many it is made to begin with.
    /// Default: 1000000.
    pub capacity: u64,
    /// Lets it hold as many entries as so many bytes have room for, half of it for the table and half
    /// for the entries. (Not counted: values of more than 22 bytes, keys of more than 21.) Default: 0,
    /// it holds the capacity.
    pub max_memory: u64,
    /// The seed of the hash. Default: a random one, drawn by the init function. Set it where
    /// several processes must agree; with a seed that others know they can make keys that collide.
    pub seed: u64,
    /// What a push does about a key that is there: WINDLASS_ON_PRESENT_KEEP (the default) or
    /// WINDLASS_ON_PRESENT_MOVE.
    pub on_present: u32,
    /// 0.
    pub reserved0: u32,
    /// 0.
    pub reserved: [u64; 4],
}

// SAFETY: repr(C), integers only, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_fifo_config {
    const FIRST_SIZE: usize = 72;
    const DEFAULT: Self = windlass_fifo_config {
        struct_size: 72,
        flags: 0,
        capacity: 1_000_000,
        max_memory: 0,
        seed: 0,
        on_present: WINDLASS_ON_PRESENT_KEEP,
        reserved0: 0,
        reserved: [0; 4],
    };
}

const _: () = assert!(size_of::<windlass_fifo_config>() == 72);

/// Fills config with the defaults. struct_size is sizeof(windlass_fifo_config).
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_config_init(
    config: *mut windlass_fifo_config,
    struct_size: u32,
) -> windlass_status {
    guard(|| {
        let defaults =
            windlass_fifo_config { struct_size, seed: Seed::random().0, ..windlass_fifo_config::DEFAULT };
        // SAFETY: the caller's promise.
        unsafe { sized::write(config, &defaults, struct_size) }.map(|()| WINDLASS_OK)
    })
}

/// Bytes that a windlass_fifo of these settings takes with as many entries as the capacity, before it
/// is made.
///
/// error may be NULL.
/// Errors: as windlass_fifo_new.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_config_memory_bytes(
    config: *const windlass_fifo_config,
    error: *mut windlass_error,
) -> i64 {
    let body = || {
        // SAFETY: the caller's promise.
        let bytes = unsafe { read(config) }?.builder.memory_bytes::<Value>()?;
        Ok(i64::try_from(bytes).unwrap_or(i64::MAX))
    };
    // SAFETY: the caller's promise.
    unsafe { explained(error, body) }
}

/// Settings that have passed what can be checked without the core.
pub(super) struct Settings {
    pub(super) builder: FifoBuilder,
}

impl Settings {
    pub(super) fn build(self) -> Result<FifoIndex<Value>, Failure> {
        // A capacity that is beyond the machine is a wrong setting, one that is not to be had now is not.
        self.builder.memory_bytes::<Value>()?;
        settings::built(self.builder.build(), |error| {
            error.field == "capacity" && error.value.ends_with("bytes")
        })
    }
}

/// # Safety
/// `config` is NULL, or points to a `windlass_fifo_config` of some release with its size set.
pub(super) unsafe fn read(config: *const windlass_fifo_config) -> Result<Settings, Failure> {
    // SAFETY: the caller's promise.
    unsafe { read_with(config, true) }
}

/// .. with its seed, or none.
///
/// # Safety
/// As `read`.
pub(super) unsafe fn read_with(config: *const windlass_fifo_config, seed: bool) -> Result<Settings, Failure> {
    // SAFETY: the caller's promise.
    let config = unsafe { sized::read(config) }?;
    settings::unused(config.flags, config.reserved.into_iter().chain([config.reserved0.into()]))?;
    let on_present = match config.on_present {
        WINDLASS_ON_PRESENT_KEEP => OnPresent::Keep,
        WINDLASS_ON_PRESENT_MOVE => OnPresent::MoveToTail,
        other => {
            let limit = "WINDLASS_ON_PRESENT_KEEP (0) or WINDLASS_ON_PRESENT_MOVE (1)";
            return wrong("on_present", other, limit);
        }
    };
    let capacity = settings::many("capacity", config.capacity)?;
    let mut builder = FifoIndex::builder().capacity(capacity).on_present(on_present);
    if seed {
        builder = builder.seed(Seed(config.seed));
    }
    if config.max_memory != 0 {
        builder = builder.max_memory(config.max_memory);
    }
    Ok(Settings { builder })
}

//! Settings.

use windlass::{ConfigError, HashRing, HashRingBuilder, Seed};

use crate::{
    boundary::{Failure, guard},
    settings,
    sized::{self, Plain},
    status::{WINDLASS_OK, windlass_status},
};

/// Settings. Fill it with windlass_ring_config_init, then set what should differ from the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct windlass_ring_config {
    /// Set by the init function; leave it alone.
    pub struct_size: u32,
    /// None are known yet: 0.
    pub flags: u32,
    /// The seed of the hash: all who route must have the same. Default: 0. With a seed that is known
    /// keys can be made that all belong to one node.
    pub seed: u64,
    /// Points of a node for each unit of its weight, 1 to 65536. Default: 128.
    pub vnodes: u32,
    /// 0.
    pub reserved0: u32,
    /// 0.
    pub reserved: [u64; 4],
}

// SAFETY: repr(C), integers only, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_ring_config {
    const FIRST_SIZE: usize = 56;
    const DEFAULT: Self = windlass_ring_config {
        struct_size: 56,
        flags: 0,
        seed: 0,
        vnodes: 128,
        reserved0: 0,
        reserved: [0; 4],
    };
}

const _: () = assert!(size_of::<windlass_ring_config>() == 56);

/// Fills config with the defaults. struct_size is sizeof(windlass_ring_config).
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_ring_config_init(
    config: *mut windlass_ring_config,
    struct_size: u32,
) -> windlass_status {
    guard(|| {
        let defaults = windlass_ring_config { struct_size, ..windlass_ring_config::DEFAULT };
        // SAFETY: the caller's promise.
        unsafe { sized::write(config, &defaults, struct_size) }.map(|()| WINDLASS_OK)
    })
}

/// What a config says, in the core's terms.
pub(super) struct Settings(windlass_ring_config);

/// # Safety
/// As `sized::read`.
pub(super) unsafe fn read(config: *const windlass_ring_config) -> Result<Settings, Failure> {
    // SAFETY: the caller's promise.
    let config = unsafe { sized::read(config) }?;
    settings::unused(config.flags, config.reserved.into_iter().chain([config.reserved0.into()]))?;
    Ok(Settings(config))
}

impl Settings {
    pub(super) fn build(&self) -> Result<HashRing, ConfigError> {
        HashRing::builder().vnodes(self.0.vnodes).seed(Seed(self.0.seed)).build()
    }

    /// To restore one: the seed is the snapshot's.
    pub(super) fn without_seed(&self) -> HashRingBuilder {
        HashRing::builder().vnodes(self.0.vnodes)
    }
}

//! Where a key lives.

use super::{group, sweep::Sweep};
use crate::{
    error::ConfigError,
    hash::KeyHash,
    mem::{Budget, Slab, Zeroable, physical_memory},
    sync::{AtomicU8, Ordering::Relaxed, Wide},
};

/// 8 buckets of 8 cells (two cache lines each).
///
/// Chosen by measurement: docs/geometry.md.
pub(super) type Group = group::Group<8, 8>;

/// So many keys in so many groups at the table's capacity: 40 bytes a key, 3.2 keys a bucket. More than that meet in a bucket by
/// chance, and then go to its pair, or anywhere in the group; that this does not suffice was not seen in 2e7 simulated admissions
/// (examples/geometry.rs).
const LOAD: (usize, usize) = (77, 3);

/// A group and its hint.
const GROUP_BYTES: u64 = (size_of::<Group>() + size_of::<AtomicU8>()) as u64;

/// The size of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    groups: usize,
}

impl Geometry {
    /// For `keys` keys that are not gone.
    pub(crate) fn for_keys(keys: usize) -> Result<Geometry, ConfigError> {
        let memory = physical_memory().unwrap_or(u64::MAX).min(isize::MAX as u64);
        let limit = memory / (LOAD.1 as u64 * GROUP_BYTES) * LOAD.0 as u64;
        if keys == 0 || keys as u64 > limit {
            return Err(ConfigError::new(
                "capacity",
                keys,
                format_args!("1 to {limit} fit into this machine's memory"),
            ));
        }
        Ok(Geometry { groups: (keys * LOAD.1).div_ceil(LOAD.0) })
    }

    #[inline(always)]
    pub(crate) fn buckets(self) -> u64 {
        (self.groups * Group::BUCKETS) as u64
    }

    /// The group, by the high half of the hash (multiply-shift: no rounding to a power of two). The low half, which is stored,
    /// chooses the bucket in it by its low bits; a table of twice the groups can take more from there.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // less than the number of groups, a usize
    pub(super) fn group(self, hash: KeyHash) -> usize {
        ((u128::from(hash.hi) * self.groups as u128) >> 64) as usize
    }

    /// Bytes of one table.
    pub(crate) fn bytes(self) -> u64 {
        self.groups as u64 * GROUP_BYTES
    }
}

/// An array of groups.
pub(super) struct Table {
    pub(super) groups: Slab<Group>,
    /// For each group, a bit for each bucket that may have overflowed.
    pub(super) overflown: Slab<AtomicU8>,
    sweep: Sweep,
}

impl Table {
    pub(super) fn new(geometry: Geometry) -> Result<Table, ConfigError> {
        let budget = Budget::new(u64::MAX);
        let none = || {
            ConfigError::new(
                "capacity",
                format_args!("{} bytes", geometry.bytes()),
                "what the system can allocate",
            )
        };
        Ok(Table {
            groups: Slab::new(geometry.groups, &budget).ok_or_else(none)?,
            overflown: Slab::new(geometry.groups, &budget).ok_or_else(none)?,
            sweep: Sweep::default(),
        })
    }

    pub(super) fn address(&self) -> *mut Group {
        self.groups.as_ptr().cast_mut()
    }

    /// Goes on with the sweep by `budget` groups.
    pub(super) fn sweep(&self, wide: impl Wide, gone: u64, budget: usize) {
        self.sweep.go_on(wide, &self.groups, &self.overflown, gone, budget);
    }

    /// .. by a 1024th of all.
    pub(super) fn sweep_a_share(&self, wide: impl Wide, gone: u64) {
        self.sweep.go_on_by_a_share(wide, &self.groups, &self.overflown, gone);
    }

    pub(super) fn seal(&self, wide: impl Wide) {
        for group in self.groups.iter() {
            group.seal(wide);
        }
    }

    /// Buckets that may have overflowed.
    pub(super) fn overflown(&self) -> u64 {
        self.overflown.iter().map(|bits| u64::from(bits.load(Relaxed).count_ones())).sum()
    }

    /// The sum of `of` over every group, or over about `sample` of them and scaled up.
    pub(super) fn sum(&self, sample: Option<usize>, of: impl Fn(&Group) -> u64) -> u64 {
        let groups = self.groups.len();
        let step = sample.map_or(1, |n| groups.div_ceil(n.max(1)).max(1));
        let sum: u64 = self.groups.iter().step_by(step).map(of).sum();
        if step == 1 { sum } else { sum * groups as u64 / groups.div_ceil(step) as u64 }
    }
}

// SAFETY: 0 is a value, and it needs no drop (outside of models).
#[allow(unsafe_code)]
unsafe impl Zeroable for AtomicU8 {
    #[cfg(windlass_loom)]
    fn zero() -> Self {
        AtomicU8::new(0)
    }
}

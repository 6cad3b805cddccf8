//! Where a key lives.

use super::{group, sweep::Sweep};
use crate::{
    error::ConfigError,
    hash::KeyHash,
    mem::{Slab, physical_memory},
    sync::Wide,
};

/// 16 buckets of 8 cells (two cache lines each), and 23 spill cells for the group.
///
/// Chosen by measurement: docs/geometry.md.
pub(super) type Group = group::Group<16, 8, 23>;

/// Keys per group at the table's capacity: 40 bytes a key, 3.8 keys a bucket. More than that meet in a bucket by chance, and then
/// go to the spill line; that it does not suffice was not seen in 2e7 simulated admissions (examples/geometry.rs).
const KEYS_PER_GROUP: usize = 61;

/// The size of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    groups: usize,
}

impl Geometry {
    /// For `keys` keys that are not gone.
    pub(crate) fn for_keys(keys: usize) -> Result<Geometry, ConfigError> {
        let memory = physical_memory().unwrap_or(u64::MAX).min(isize::MAX as u64);
        let limit = memory / (size_of::<Group>() as u64) * KEYS_PER_GROUP as u64;
        if keys == 0 || keys as u64 > limit {
            return Err(ConfigError::new(
                "capacity",
                keys,
                format_args!("1 to {limit} fit into this machine's memory"),
            ));
        }
        Ok(Geometry { groups: keys.div_ceil(KEYS_PER_GROUP) })
    }

    pub(crate) fn groups(self) -> usize {
        self.groups
    }

    #[inline(always)]
    pub(crate) fn buckets(self) -> u64 {
        (self.groups * Group::BUCKETS) as u64
    }

    /// The group and the bucket in it, by the high half of the hash (multiply-shift: no rounding to a power of two). The
    /// low half, which is stored, stays free: a table of twice the buckets can take the next bits from there.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // less than the number of buckets, a usize
    pub(super) fn locate(self, hash: KeyHash) -> (usize, usize) {
        let buckets = self.buckets();
        let bucket = ((u128::from(hash.hi) * u128::from(buckets)) >> 64) as usize;
        (bucket / Group::BUCKETS, bucket % Group::BUCKETS)
    }

    /// Bytes of one table.
    pub(crate) fn bytes(self) -> u64 {
        self.groups as u64 * size_of::<Group>() as u64
    }
}

/// An array of groups.
pub(super) struct Table {
    pub(super) groups: Slab<Group>,
    sweep: Sweep,
}

impl Table {
    pub(super) fn new(geometry: Geometry) -> Result<Table, ConfigError> {
        let groups = Slab::new(geometry.groups).ok_or_else(|| {
            ConfigError::new(
                "capacity",
                format_args!("{} bytes", geometry.bytes()),
                "what the system can allocate",
            )
        })?;
        Ok(Table { groups, sweep: Sweep::default() })
    }

    pub(super) fn address(&self) -> *mut Group {
        self.groups.as_ptr().cast_mut()
    }

    /// Goes on with the sweep by `budget` groups.
    pub(super) fn sweep(&self, wide: impl Wide, gone: u64, budget: usize) {
        self.sweep.go_on(wide, &self.groups, gone, budget);
    }

    pub(super) fn seal(&self, wide: impl Wide) {
        for group in self.groups.iter() {
            group.seal(wide);
        }
    }

    /// The sum of `of` over every group, or over about `sample` of them and scaled up.
    pub(super) fn sum(&self, sample: Option<usize>, of: impl Fn(&Group) -> u64) -> u64 {
        let groups = self.groups.len();
        let step = sample.map_or(1, |n| groups.div_ceil(n.max(1)).max(1));
        let sum: u64 = self.groups.iter().step_by(step).map(of).sum();
        if step == 1 { sum } else { sum * groups as u64 / groups.div_ceil(step) as u64 }
    }
}

//! Where a key lives: in tables of any size.

use super::group;
use crate::{error::ConfigError, hash::KeyHash, mem::physical_memory, sync::AtomicU8};

/// 8 buckets of 8 cells (two cache lines each) are a group, chosen by measurement: docs/geometry.md.
const GROUP: (usize, usize) = (8, 8);

/// So many keys in so many cells at the table's capacity: 40 bytes a key, 3.2 keys a bucket. More than that meet in a bucket by
/// chance, and then go to its pair, or anywhere in the group; that this does not suffice was not seen in 2e7 simulated admissions
/// (examples/geometry.rs).
const LOAD: (u64, u64) = (77, 192);

/// How many parts a structure's tables have: the groups of its smallest one. Others have a multiple of that.
///
/// A key belongs to the same part in each, by the high half of its hash, and the low half, which is stored, chooses a group in the part:
/// so a key's group in another table follows from its group in this one and its fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    parts: usize,
}

/// Where a key lives in any table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) part: usize,
    pub(super) key: u64,
}

impl Geometry {
    /// For `keys` keys that are not gone, in the smallest table.
    pub(crate) fn for_keys(keys: usize) -> Result<Geometry, ConfigError> {
        let memory = physical_memory().unwrap_or(u64::MAX).min(isize::MAX as u64);
        let limit = capacity::<{ GROUP.0 }, { GROUP.1 }>(memory / bytes::<{ GROUP.0 }, { GROUP.1 }>(1));
        if keys == 0 || keys as u64 > limit {
            return Err(ConfigError::new(
                "capacity",
                keys,
                format_args!("1 to {limit} fit into this machine's memory"),
            ));
        }
        let cells = (keys as u128 * u128::from(LOAD.1)).div_ceil(u128::from(LOAD.0));
        Ok(Geometry {
            parts: usize::try_from(cells.div_ceil((GROUP.0 * GROUP.1) as u128)).unwrap_or(usize::MAX),
        })
    }

    pub(crate) fn of_parts(parts: usize) -> Geometry {
        Geometry { parts }
    }

    #[inline(always)]
    pub(super) fn parts(self) -> usize {
        self.parts
    }

    /// Multiply-shift: no rounding to a power of two.
    #[inline(always)]
    pub(super) fn spot(self, hash: KeyHash) -> Spot {
        Spot { part: scaled(hash.hi, self.parts), key: hash.lo }
    }

    /// Bytes of the smallest table.
    pub(crate) fn bytes(self) -> u64 {
        bytes::<{ GROUP.0 }, { GROUP.1 }>(self.parts as u64)
    }
}

impl Spot {
    /// The group, in a table of `factor` groups for each part. (The bucket in it, by the fingerprint's low bits, is the same
    /// everywhere.)
    #[inline(always)]
    pub(super) fn group(self, factor: usize) -> usize {
        self.part * factor + scaled(self.key, factor)
    }

    /// Of a key that was found in this group.
    pub(super) fn of(group: usize, factor: usize, key: u64) -> Spot {
        Spot { part: group / factor, key }
    }
}

/// A number below `n` by the high bits of another.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // less than n
fn scaled(bits: u64, n: usize) -> usize {
    ((u128::from(bits) * n as u128) >> 64) as usize
}

/// Keys for which so many groups are meant.
pub(super) fn capacity<const BUCKETS: usize, const CELLS: usize>(groups: u64) -> u64 {
    groups.saturating_mul((BUCKETS * CELLS) as u64 * LOAD.0) / LOAD.1
}

/// Bytes of so many groups, with a hint each.
pub(super) fn bytes<const BUCKETS: usize, const CELLS: usize>(groups: u64) -> u64 {
    groups.saturating_mul((size_of::<group::Group<BUCKETS, CELLS>>() + size_of::<AtomicU8>()) as u64)
}

//! Names that nobody else has.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// 64 random bits of the process, and a count.
pub(crate) fn unique() -> [u8; 16] {
    name(count(1))
}

/// .. so many of them.
pub(crate) fn several(names: usize) -> impl Iterator<Item = [u8; 16]> {
    let first = count(names as u64);
    (0..names as u64).map(move |more| name(first.wrapping_add(more)))
}

fn count(more: u64) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Relaxed: the number is all that is taken.
    NEXT.fetch_add(more, Relaxed)
}

fn name(number: u64) -> [u8; 16] {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());
    let mut name = [0; 16];
    name[..8].copy_from_slice(&PROCESS.to_be_bytes());
    name[8..].copy_from_slice(&number.to_be_bytes());
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_are_equal() {
        let mut all = HashSet::from([unique(), unique()]);
        all.extend(several(3).chain(several(0)).chain(several(5)));
        all.insert(unique());
        assert_eq!(all.len(), 11);
    }
}

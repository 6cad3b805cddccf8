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
    static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Relaxed: the number is all that is taken.
    let number = NEXT.fetch_add(1, Relaxed);
    let mut name = [0; 16];
    name[..8].copy_from_slice(&PROCESS.to_be_bytes());
    name[8..].copy_from_slice(&number.to_be_bytes());
    name
}

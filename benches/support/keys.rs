//! Keys: a pure function of a number, so that any of them can be made again.

use windlass::Tick;

/// A 16-byte id that looks random, and the number of its event.
pub(crate) type Event = ([u8; 16], Tick);

/// The key of a number: no two are equal, since [`mix`] is a bijection.
pub(crate) fn key(i: u64) -> [u8; 16] {
    let low = mix(i.wrapping_add(GOLDEN));
    let high = mix(low ^ GOLDEN.rotate_left(32));
    let mut key = [0; 16];
    key[..8].copy_from_slice(&low.to_le_bytes());
    key[8..].copy_from_slice(&high.to_le_bytes());
    key
}

pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finalizer of SplitMix64.
pub(crate) const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A number below `n`, from 64 random bits.
#[allow(clippy::cast_possible_truncation)] // the high half
pub(crate) fn below(random: u64, n: u64) -> u64 {
    ((u128::from(random) * u128::from(n)) >> 64) as u64
}

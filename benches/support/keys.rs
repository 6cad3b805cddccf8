//! Keys: a pure function of a number, so that any of them can be made again.

use windlass::Tick;

use super::mix::{GOLDEN, mix};

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

//! From bytes to two numbers: [`KeyHash`], made once per event, is all that the structures ever see of a key.
//!
//! Keys are hashed with [XXH3-128](https://xxhash.com) and a 64-bit seed. The output is part of the promise of this
//! crate: the same key and seed give the same [`KeyHash`] in every release, on every platform and from every language.

mod namespaced;
mod short;

use std::hash::{BuildHasher, RandomState};

pub use namespaced::Namespaced;
use short::Short;
use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed, xxh3_128_with_seed};

/// The 128-bit hash of a key.
///
/// `hi` chooses the place (group, row), `lo` is the fingerprint kept there, whose lowest bits choose the bucket in the group, and whose
/// highest ones the group in a table that has grown. Whoever makes one by hand: `lo` must tell keys apart by itself, and its bits at both ends must
/// spread them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyHash {
    /// Chooses the group.
    pub hi: u64,
    /// The fingerprint.
    pub lo: u64,
}

impl KeyHash {
    #[allow(clippy::cast_possible_truncation)] // the two halves
    fn new(both: u128) -> KeyHash {
        KeyHash { hi: (both >> 64) as u64, lo: both as u64 }
    }
}

/// The key to the hash function. With a seed that is known, or fixed and published, an attacker can make keys that
/// collide; so structures draw a random one unless they are given one. Give one where nodes have to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// A seed that nobody else knows, from the standard library's source of random hash keys.
    #[must_use]
    pub fn random() -> Seed {
        Seed(RandomState::new().hash_one(0x5eed_u64))
    }

    /// A number by which two can be told to be the same, and that does not give them away.
    pub(crate) fn id(self) -> u64 {
        xxh3_64_with_seed(b"windlass seed", self.0)
    }

    /// The seed of a namespace: the same key hashes differently in each. One structure can so hold the ids of several
    /// sources without mixing them up.
    ///
    /// ```
    /// use windlass::Seed;
    ///
    /// let seed = Seed(42);
    /// let (orders, refunds) = (seed.namespace("orders"), seed.namespace("refunds"));
    /// assert_ne!(orders.hash("4711"), refunds.hash("4711"));
    /// ```
    ///
    /// For keys as they are, and for those that are told apart by their bytes: [`Namespaced`].
    #[must_use]
    pub fn namespace(self, name: impl AsRef<[u8]>) -> Seed {
        Seed(xxh3_64_with_seed(name.as_ref(), self.0 ^ NAMESPACE))
    }

    /// The hash of a key.
    #[inline]
    #[must_use]
    pub fn hash(self, key: impl Key) -> KeyHash {
        key.key_hash(self)
    }

    /// The hash of several fields as one key. Their borders count: `("a", "bc")` is another key than `("ab", "c")`.
    ///
    /// Defined as XXH3-128 over every field's length (u64, little endian) and bytes, with a seed of its own. A single
    /// field is hashed like the key it is.
    #[must_use]
    pub fn hash_fields<F: AsRef<[u8]>>(self, fields: &[F]) -> KeyHash {
        if let [only] = fields {
            return self.hash(only.as_ref());
        }
        let seed = Seed(self.0 ^ FIELDS);
        let len = |field: &F| (field.as_ref().len() as u64).to_le_bytes();
        let mut short = Short::new();
        if fields.iter().all(|field| short.push(&len(field)) && short.push(field.as_ref())) {
            return seed.hash(short.bytes());
        }
        let mut long = Xxh3::with_seed(seed.0);
        for field in fields {
            long.update(&len(field));
            long.update(field.as_ref());
        }
        KeyHash::new(long.digest128())
    }
}

const NAMESPACE: u64 = 0x6e61_6d65_7370_6163; // "namespac"
const FIELDS: u64 = 0x6669_656c_6473_2121; // "fields!!"

/// What can be a key: bytes, text, a `u64` id, or a [`KeyHash`] made before.
///
/// Bytes and text of the same content are the same key. A `u64` is not hashed but mixed by a bijection, so two ids never
/// share a fingerprint: exact, and faster. It is another key than its bytes.
pub trait Key {
    /// The key's hash under `seed`. (A `KeyHash` is returned as it is, whatever its seed was.)
    fn key_hash(&self, seed: Seed) -> KeyHash;

    /// Calls `f` with what the key is where keys are told apart exactly: the kind of key (bytes and text are 0, a `u64` is 1, a
    /// `KeyHash` 2, and 4 more in a namespace), and its bytes.
    fn with_bytes<R>(&self, f: impl FnOnce(u32, &[u8]) -> R) -> R;
}

impl Key for [u8] {
    #[inline]
    fn key_hash(&self, seed: Seed) -> KeyHash {
        KeyHash::new(xxh3_128_with_seed(self, seed.0))
    }

    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(u32, &[u8]) -> R) -> R {
        f(0, self)
    }
}

impl Key for u64 {
    #[inline]
    fn key_hash(&self, seed: Seed) -> KeyHash {
        let lo = mix(self ^ seed.0);
        KeyHash { hi: mix(lo ^ seed.0.rotate_left(32) ^ 0x9e37_79b9_7f4a_7c15), lo }
    }

    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(u32, &[u8]) -> R) -> R {
        f(1, &self.to_le_bytes())
    }
}

/// A bijection on 64 bits in which every input bit reaches every output bit: the finalizer of SplitMix64, variant 13 of
/// David Stafford (<https://zimbry.blogspot.com/2011/09/better-bit-mixing-improving-on.html>).
#[inline]
pub(crate) const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The inverse of [`mix`].
const fn unmix(mut x: u64) -> u64 {
    x = (x ^ (x >> 31) ^ (x >> 62)).wrapping_mul(0x3196_42b2_d24d_8ec3);
    x = (x ^ (x >> 27) ^ (x >> 54)).wrapping_mul(0x96de_1b17_3f11_9089);
    x ^ (x >> 30) ^ (x >> 60)
}

/// The `u64` whose hash has this fingerprint.
pub(crate) const fn number_of(lo: u64, seed: Seed) -> u64 {
    unmix(lo) ^ seed.0
}

/// Whether this is the hash of a `u64`, and the key says that it is one: then it need not be kept.
pub(crate) fn is_number(hash: KeyHash, kind: u32, bytes: &[u8], seed: Seed) -> bool {
    let number = number_of(hash.lo, seed);
    number.key_hash(seed) == hash && number.with_bytes(|own, number| own == kind && number == bytes)
}

/// Puts the bytes of the `u64` with this fingerprint into `out`, and gives its kind.
pub(crate) fn read_number(lo: u64, seed: Seed, out: &mut Vec<u8>) -> u32 {
    number_of(lo, seed).with_bytes(|kind, number| {
        out.clear();
        out.extend_from_slice(number);
        kind
    })
}

impl Key for KeyHash {
    #[inline]
    fn key_hash(&self, _: Seed) -> KeyHash {
        *self
    }

    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(u32, &[u8]) -> R) -> R {
        f(2, (u128::from(self.hi) << 64 | u128::from(self.lo)).to_le_bytes().as_slice())
    }
}

impl<K: Key + ?Sized> Key for &K {
    #[inline]
    fn key_hash(&self, seed: Seed) -> KeyHash {
        (**self).key_hash(seed)
    }

    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(u32, &[u8]) -> R) -> R {
        (**self).with_bytes(f)
    }
}

macro_rules! keys_as_bytes {
    ($($type:ty),+) => {$(
        impl Key for $type {
            #[inline]
            fn key_hash(&self, seed: Seed) -> KeyHash {
                AsRef::<[u8]>::as_ref(self).key_hash(seed)
            }

            #[inline]
            fn with_bytes<R>(&self, f: impl FnOnce(u32, &[u8]) -> R) -> R {
                f(0, self.as_ref())
            }
        }
    )+};
}
keys_as_bytes!(str, String, Vec<u8>, Box<[u8]>);

impl<const N: usize> Key for [u8; N] {
    #[inline]
    fn key_hash(&self, seed: Seed) -> KeyHash {
        self.as_slice().key_hash(seed)
    }

    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(u32, &[u8]) -> R) -> R {
        f(0, self)
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(number: u64, seed: u64) {
            prop_assert_eq!(number_of(number.key_hash(Seed(seed)).lo, Seed(seed)), number);
        }
    }
}

//! Keys of several sources.

use super::{Key, KeyHash, Seed, short::Short};

/// A key of a source: the name of the source, and the key. One structure can so hold the keys of several sources without mixing them
/// up, also where they are told apart by their bytes.
///
/// ```
/// use windlass::{Dedup, Identity, Namespaced, Tick, Verdict, Window};
///
/// let dedup = Dedup::builder(Window::last_n(1000)).identity(Identity::Bytes).build()?;
/// assert_eq!(dedup.observe_at(Namespaced("orders", "4711"), Tick(1)), Ok(Verdict::Fresh));
/// assert_eq!(dedup.observe_at(Namespaced("refunds", "4711"), Tick(2)), Ok(Verdict::Fresh));
/// assert!(!dedup.observe_at(Namespaced("orders", "4711"), Tick(3))?.is_fresh());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Its hash is that of the key under the seed of the namespace ([`Seed::namespace`]). So whoever hashes beforehand finds the same key, unless
/// keys are told apart by their bytes. A [`KeyHash`] is its own hash in every namespace: hash it under the namespace's seed.
///
/// Where they are told apart by their bytes, the name is part of the key: they are kept together, 4 bytes more, and may have
/// [`Dedup::MAX_LEN`](crate::Dedup::MAX_LEN) bytes in all. (For a call with more than 256 memory is allocated, and freed.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Namespaced<N, K>(pub N, pub K);

/// What a namespace adds to the kind of a key.
const KIND: u32 = 4;

impl<N: AsRef<[u8]>, K: Key> Key for Namespaced<N, K> {
    #[inline]
    fn key_hash(&self, seed: Seed) -> KeyHash {
        self.1.key_hash(seed.namespace(&self.0))
    }

    /// The name's length (4 bytes, little endian), the name, the key's bytes; as 4 more than the key's kind.
    fn with_bytes<R>(&self, f: impl FnOnce(u32, &[u8]) -> R) -> R {
        let name = self.0.as_ref();
        // (What is longer than that is too long to be kept.)
        let len = u32::try_from(name.len()).unwrap_or(u32::MAX).to_le_bytes();
        self.1.with_bytes(|kind, key| {
            let (kind, mut short) = (kind.wrapping_add(KIND), Short::new());
            if short.push(&len) && short.push(name) && short.push(key) {
                f(kind, short.bytes())
            } else {
                f(kind, &[&len, name, key].concat())
            }
        })
    }
}

//! Keys as they are given back.

use crate::hash::KeyHash;
use std::{cmp::Ordering, fmt};

/// A key of a list: what it was when it was added.
///
/// They are ordered as lists are where counts are equal: bytes before numbers; bytes by their values, numbers by theirs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TopKey {
    /// Bytes, or text.
    Bytes(Box<[u8]>),
    /// A `u64`.
    Number(u64),
    /// A [`KeyHash`] (its two halves, high and low): of what, is not known.
    Hash(u64, u64),
    /// A key in a namespace ([`crate::Namespaced`]).
    Namespaced(Box<[u8]>, Box<TopKey>),
}

impl TopKey {
    /// The bytes of one of bytes or text.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            TopKey::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The number of one that is a number.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match self {
            TopKey::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// In which order it and another one are.
    pub(super) fn cmp_to(&self, kind: u32, bytes: &[u8]) -> Ordering {
        match self {
            TopKey::Bytes(own) if kind == 0 => (**own).cmp(bytes),
            _ => self.cmp(&TopKey::new(kind, bytes)),
        }
    }

    /// What [`TopKey::new`] makes it of: its kind, and its bytes behind those in `out`.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> u32 {
        match self {
            TopKey::Bytes(bytes) => {
                out.extend_from_slice(bytes);
                0
            }
            TopKey::Number(number) => {
                out.extend_from_slice(&number.to_le_bytes());
                1
            }
            TopKey::Hash(hi, lo) => {
                out.extend_from_slice(&lo.to_le_bytes());
                out.extend_from_slice(&hi.to_le_bytes());
                2
            }
            TopKey::Namespaced(name, key) => {
                // (No longer than a key may be.)
                out.extend_from_slice(&u32::try_from(name.len()).unwrap_or(u32::MAX).to_le_bytes());
                out.extend_from_slice(name);
                key.write(out).saturating_add(4)
            }
        }
    }

    /// From what [`crate::Key::with_bytes`] told. (Kinds that it does not have are bytes.)
    pub(super) fn new(kind: u32, bytes: &[u8]) -> TopKey {
        let known = match kind {
            1 => bytes.try_into().ok().map(|bytes| TopKey::Number(u64::from_le_bytes(bytes))),
            2 => bytes.try_into().ok().map(hash),
            4.. => namespaced(kind, bytes),
            _ => None,
        };
        known.unwrap_or_else(|| TopKey::Bytes(bytes.into()))
    }
}

fn hash(bytes: [u8; 16]) -> TopKey {
    let both = u128::from_le_bytes(bytes);
    #[allow(clippy::cast_possible_truncation)] // the two halves
    let KeyHash { hi, lo } = KeyHash { hi: (both >> 64) as u64, lo: both as u64 };
    TopKey::Hash(hi, lo)
}

/// The name's length (4 bytes), the name, the key.
fn namespaced(kind: u32, bytes: &[u8]) -> Option<TopKey> {
    let (len, rest) = bytes.split_first_chunk()?;
    let (name, key) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*len)).ok()?)?;
    Some(TopKey::Namespaced(name.into(), Box::new(TopKey::new(kind - 4, key))))
}

/// Text as it is; what is no text in it is replaced.
impl fmt::Display for TopKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TopKey::Bytes(bytes) => String::from_utf8_lossy(bytes).fmt(f),
            TopKey::Number(number) => number.fmt(f),
            TopKey::Hash(hi, lo) => write!(f, "{hi:016x}{lo:016x}"),
            TopKey::Namespaced(name, key) => write!(f, "{}: {key}", String::from_utf8_lossy(name)),
        }
    }
}

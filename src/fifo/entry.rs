//! What an entry is: to the index, and to whoever gets one.

use crate::{hash::KeyHash, time::Tick};
use std::fmt;

/// In a slot of the log. With a value of up to 8 bytes it fills a cache line together with the slot's word.
pub(super) struct Record<V> {
    pub(super) hash: KeyHash,
    pub(super) stamp: u64,
    pub(super) key: EntryKey,
    pub(super) value: V,
}

/// The key of an entry: its kind and its bytes, as [`crate::Key::with_bytes`] gives them.
///
/// Up to 21 bytes lie in the entry itself; for a longer one memory is allocated.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EntryKey(Bytes);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Bytes {
    Short { kind: u8, len: u8, bytes: [u8; SHORT] },
    Long { kind: u32, bytes: Box<[u8]> },
}

const SHORT: usize = 21;

impl EntryKey {
    pub(super) fn new(kind: u32, key: &[u8]) -> EntryKey {
        let mut bytes = [0; SHORT];
        EntryKey(match (u8::try_from(kind), u8::try_from(key.len()), bytes.get_mut(..key.len())) {
            (Ok(kind), Ok(len), Some(place)) => {
                place.copy_from_slice(key);
                Bytes::Short { kind, len, bytes }
            }
            _ => Bytes::Long { kind, bytes: key.into() },
        })
    }

    /// What kind of key it is: bytes and text are 0, a `u64` is 1, a [`KeyHash`] 2, and 4 more in a namespace.
    #[must_use]
    pub fn kind(&self) -> u32 {
        match &self.0 {
            Bytes::Short { kind, .. } => u32::from(*kind),
            Bytes::Long { kind, .. } => *kind,
        }
    }

    /// The key's bytes. (Of a number they are little endian; of one in a namespace they begin with its name.)
    #[must_use]
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Short { len, bytes, .. } => &bytes[..usize::from(*len)],
            Bytes::Long { bytes, .. } => bytes,
        }
    }

    /// The key as text, if it is bytes and they are UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(self.as_bytes()).ok().filter(|_| self.kind() == 0)
    }

    /// The key as a number, if it is a `u64`.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_bytes().try_into().ok().map(u64::from_le_bytes).filter(|_| self.kind() == 1)
    }

    #[inline(always)]
    pub(super) fn is(&self, (kind, bytes): (u32, &[u8])) -> bool {
        self.as_bytes() == bytes && self.kind() == kind
    }
}

impl fmt::Debug for EntryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.as_str(), self.as_u64()) {
            (Some(text), _) => text.fmt(f),
            (_, Some(number)) => number.fmt(f),
            _ => write!(f, "{}:{:02x?}", self.kind(), self.as_bytes()),
        }
    }
}

/// An entry of a [`crate::FifoIndex`], as it is handed out: a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry<V> {
    /// Its number: later entries have greater ones.
    pub seq: u64,
    /// Its key.
    pub key: EntryKey,
    /// Its value.
    pub value: V,
    /// When it was put in, or that of an entry before it if that was later.
    pub pushed_at: Tick,
}

/// Where a key stands in a [`crate::FifoIndex`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place<V> {
    /// The number of its entry.
    pub seq: u64,
    /// How many entries are before it.
    pub rank: u64,
    /// Its value.
    pub value: V,
    /// When it was put in, or that of an entry before it if that was later.
    pub pushed_at: Tick,
}

/// What a push has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The key was not there; it is the last entry now.
    New(u64),
    /// The key was there, with this number, and stays as it is: the value is dropped ([`OnPresent::Keep`]).
    Present(u64),
    /// The key was there, and is the last entry now, with this number and the new value ([`OnPresent::MoveToTail`]).
    Moved(u64),
}

impl Pushed {
    /// The number of the key's entry.
    #[must_use]
    pub fn seq(self) -> u64 {
        match self {
            Pushed::New(seq) | Pushed::Present(seq) | Pushed::Moved(seq) => seq,
        }
    }
}

/// What a push does about a key that is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnPresent {
    /// Nothing: it keeps its place and its value.
    #[default]
    Keep,
    /// It becomes the last entry, with the new value.
    MoveToTail,
}

/// Why a push was refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushRefused {
    /// There is no room: as many entries as the capacity, or the memory is used up.
    Full,
    /// Another key that is there has the same 64 bits of hash and the same place in the table: of an honest set of keys about one push
    /// in 2^64 divided by 8 times the entries of a bucket.
    Collision,
}

impl fmt::Display for PushRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PushRefused::Full => "there is no room for another entry",
            PushRefused::Collision => "another key has the same hash",
        })
    }
}

impl std::error::Error for PushRefused {}

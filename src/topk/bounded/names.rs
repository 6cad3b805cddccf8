//! The bytes of the keys that have slots, one after another, for as long as their pane is kept.

use crate::{
    hash::{Key, KeyHash, Seed, is_number, read_number},
    mem::{Line, Slab, WORDS},
    sync::{AtomicU64, Budget, Ordering::Relaxed},
};
use std::sync::Arc;

/// Of a key for which there was no room: it is counted, and cannot be told.
pub(super) const NONE: u64 = super::entry::NAMES - 1;
/// Of a `u64`: its hash is a bijection, and the slot has that.
pub(super) const NUMBER: u64 = NONE - 1;

/// A name as a snapshot has it.
pub(super) enum Stored {
    None,
    Number,
    /// The kind of key, and its bytes.
    Bytes(u32, Vec<u8>),
}

/// Each name is the word behind which its record begins; a record is a word (kind, length) and the bytes, in whole words.
pub(super) struct Names {
    words: Option<Slab<Line>>,
    /// The next one that is free.
    next: AtomicU64,
}

impl Names {
    /// `None`: there may not be so much memory.
    pub(super) fn new(lines: u64, budget: &Arc<Budget>) -> Option<Names> {
        let lines = usize::try_from(lines).ok()?;
        let words = if lines == 0 { None } else { Some(Slab::new(lines, budget)?) };
        Some(Names { words, next: AtomicU64::new(0) })
    }

    /// Lines that there can be.
    pub(super) fn most() -> u64 {
        (NUMBER - 1) / WORDS as u64
    }

    /// Words of a record.
    pub(super) fn record(bytes: u64) -> u64 {
        1 + bytes.div_ceil(8)
    }

    fn words(&self) -> &[AtomicU64] {
        self.words.as_ref().map_or(&[], |lines| lines.words())
    }

    /// A name for the key. `None`: there is no room.
    pub(super) fn put(&self, key: &impl Key, hash: KeyHash, seed: Seed) -> Option<u64> {
        key.with_bytes(|kind, bytes| {
            if is_number(hash, kind, bytes, seed) {
                return Some(NUMBER);
            }
            if bytes.len() > super::super::TopK::MAX_LEN {
                return None;
            }
            self.put_bytes(kind, bytes)
        })
    }

    pub(super) fn put_bytes(&self, kind: u32, bytes: &[u8]) -> Option<u64> {
        let words = bytes.chunks(8).map(|part| {
            let mut whole = [0; 8];
            whole[..part.len()].copy_from_slice(part);
            u64::from_le_bytes(whole)
        });
        self.record_of(u64::from(kind) << 32 | bytes.len() as u64, words)
    }

    pub(super) fn stored(&self, name: u64) -> Stored {
        let mut bytes = Vec::new();
        match name {
            NUMBER => Stored::Number,
            name => {
                self.read_record(name, &mut bytes).map_or(Stored::None, |kind| Stored::Bytes(kind, bytes))
            }
        }
    }

    /// The same name that a key has in another pane.
    pub(super) fn copy(&self, from: &Names, name: u64) -> Option<u64> {
        if name >= NUMBER {
            return Some(name);
        }
        let (head, room) = from.found(name)?;
        self.record_of(head, room.iter().map(|word| word.load(Relaxed)))
    }

    /// Relaxed: nobody else knows these words before a slot has the name, which is put there by a release.
    fn record_of(&self, head: u64, words: impl ExactSizeIterator<Item = u64>) -> Option<u64> {
        let (all, len) = (self.words(), 1 + words.len() as u64);
        // (It does not go on once there is no room.)
        if self.next.load(Relaxed) + len > all.len() as u64 {
            return None;
        }
        let first = self.next.fetch_add(len, Relaxed);
        let record = all.get(usize::try_from(first).ok()?..)?.get(..usize::try_from(len).ok()?)?;
        let (place, room) = record.split_first()?;
        place.store(head, Relaxed);
        room.iter().zip(words).for_each(|(place, word)| place.store(word, Relaxed));
        Some(first + 1)
    }

    /// A record: kind and length, and its words.
    fn found(&self, name: u64) -> Option<(u64, &[AtomicU64])> {
        let first = usize::try_from(name.checked_sub(1)?).ok()?;
        let (head, room) = self.words().get(first..)?.split_first()?;
        let head = head.load(Relaxed);
        #[allow(clippy::cast_possible_truncation)] // the lower half
        let len = head as u32 as usize;
        Some((head, room.get(..len.div_ceil(8))?))
    }

    /// The kind of a key, and its bytes into `out`. `None`: it has no name.
    pub(super) fn read(&self, name: u64, lo: u64, seed: Seed, out: &mut Vec<u8>) -> Option<u32> {
        if name == NUMBER {
            return Some(read_number(lo, seed, out));
        }
        self.read_record(name, out)
    }

    fn read_record(&self, name: u64, out: &mut Vec<u8>) -> Option<u32> {
        out.clear();
        let (head, words) = self.found(name)?;
        words.iter().for_each(|word| out.extend_from_slice(&word.load(Relaxed).to_le_bytes()));
        #[allow(clippy::cast_possible_truncation)] // the two halves
        let (kind, len) = ((head >> 32) as u32, head as u32 as usize);
        out.truncate(len);
        Some(kind)
    }

    /// For one thread, when no other uses it.
    pub(super) fn clear(&self) {
        self.next.store(0, Relaxed);
    }
}

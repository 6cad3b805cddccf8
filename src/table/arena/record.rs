//! Bytes as words: a head (length, label), then the bytes, the last word filled up with zeros.
//!
//! **Relaxed throughout.** A record is written once, by whoever was given its range, and then published by a release: that of the
//! CAS which puts its reference into a cell. Who has acquired the cell sees all of it. Who makes up a reference reads something else,
//! and nothing comes of that. Model: loom-tests/tests/arena.rs.

use crate::{
    mem::Zeroable,
    sync::{AtomicU64, Ordering::Relaxed},
};

/// A word of a chunk.
#[repr(transparent)]
pub(super) struct Word(AtomicU64);

// SAFETY: 0 is a value, and it needs no drop (outside of models).
#[allow(unsafe_code)]
unsafe impl Zeroable for Word {
    #[cfg(windlass_loom)]
    fn zero() -> Self {
        Word(AtomicU64::new(0))
    }
}

impl Word {
    #[inline(always)]
    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    #[inline(always)]
    fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }
}

/// The first word of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head(u64);

impl Head {
    pub(super) const MAX_LEN: usize = u16::MAX as usize;

    /// In every head, so that words which were never written are none.
    const WRITTEN: u64 = 1 << 48;

    /// `None`: too long.
    #[inline(always)]
    pub(super) fn new(label: u32, len: usize) -> Option<Head> {
        let len = u16::try_from(len).ok()?;
        Some(Head(Head::WRITTEN | u64::from(len) << 32 | u64::from(label)))
    }

    /// That of the record at the start of `words`.
    fn of(words: &[Word]) -> Option<Head> {
        words.first().map(|first| Head(first.get())).filter(|head| head.0 & Head::WRITTEN != 0)
    }

    #[allow(clippy::cast_possible_truncation)] // that half
    fn label(self) -> u32 {
        self.0 as u32
    }

    #[inline(always)]
    fn len(self) -> usize {
        (self.0 >> 32) as usize & Head::MAX_LEN
    }

    /// Words of the record.
    #[inline(always)]
    pub(super) fn words(self) -> usize {
        1 + self.len().div_ceil(8)
    }
}

/// Writes a record to the start of `room`.
#[inline(always)]
pub(super) fn write(room: &[Word], head: Head, bytes: &[u8]) {
    let Some((first, body)) = room.split_first() else { return };
    first.set(head.0);
    fill(body, bytes);
}

/// .. of a number's bytes (little endian) and others.
pub(super) fn write_two(room: &[Word], head: Head, number: u64, bytes: &[u8]) {
    let [first, second, body @ ..] = room else { return };
    first.set(head.0);
    second.set(number);
    fill(body, bytes);
}

#[inline(always)]
fn fill(body: &[Word], bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks();
    for (word, bytes) in body.iter().zip(whole) {
        word.set(u64::from_le_bytes(*bytes));
    }
    if let (Some(last), false) = (body.get(whole.len()), rest.is_empty()) {
        last.set(last_word(bytes, rest));
    }
}

/// Whether the record at the start of `words` is this one.
#[inline(always)]
pub(super) fn is(words: &[Word], head: Head, bytes: &[u8]) -> bool {
    let Some((first, body)) = words.split_first() else { return false };
    let (whole, rest) = bytes.as_chunks();
    if first.get() != head.0 || body.len() < whole.len() {
        return false;
    }
    if body.iter().zip(whole).any(|(word, bytes)| word.get() != u64::from_le_bytes(*bytes)) {
        return false;
    }
    rest.is_empty() || body.get(whole.len()).is_some_and(|last| last.get() == last_word(bytes, rest))
}

/// Whether the same record is at the start of both.
pub(super) fn same(a: &[Word], b: &[Word]) -> bool {
    let (Some((_, a)), Some((_, b))) = (whole(a), whole(b)) else { return false };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.get() == b.get())
}

/// The record at the start of `words`.
pub(super) fn whole(words: &[Word]) -> Option<(Head, &[Word])> {
    let head = Head::of(words)?;
    Some((head, words.get(..head.words())?))
}

/// Replaces what is in `out` with the record's bytes; gives its label.
pub(super) fn read(head: Head, record: &[Word], out: &mut Vec<u8>) -> u32 {
    out.clear();
    out.extend(record.iter().skip(1).flat_map(|word| word.get().to_le_bytes()));
    out.truncate(head.len());
    head.label()
}

/// The first 8 bytes of the record at the start of `words`.
pub(super) fn number(words: &[Word]) -> Option<u64> {
    let (head, record) = whole(words)?;
    record.get(1).filter(|_| head.len() >= size_of::<u64>()).map(Word::get)
}

pub(super) fn copy(from: &[Word], to: &[Word]) {
    for (from, to) in from.iter().zip(to) {
        to.set(from.get());
    }
}

/// The last `rest.len()` (1 to 7) of all bytes, filled up with zeros.
#[inline(always)]
fn last_word(all: &[u8], rest: &[u8]) -> u64 {
    if let Some(last) = all.last_chunk() {
        return u64::from_le_bytes(*last) >> (8 * (8 - rest.len()) % 64);
    }
    rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use crate::{mem::Slab, sync::Budget};

    fn bytes(len: usize) -> Vec<u8> {
        (1..=255).cycle().take(len).collect()
    }

    #[test]
    fn every_length() {
        for len in (0..=65).chain([4095, 4096, Head::MAX_LEN]) {
            let (bytes, head) = (bytes(len), Head::new(u32::MAX, len).unwrap());
            let room = Slab::<Word>::new(head.words() + 1, &Budget::new(u64::MAX)).unwrap();
            assert!(whole(&room).is_none(), "never written");
            write(&room, head, &bytes);
            assert_eq!(room[head.words()].get(), 0, "wrote no further");
            assert!(is(&room, head, &bytes));
            assert!(same(&room, &room));
            let (found, record) = whole(&room).unwrap();
            let mut out = vec![1, 2, 3];
            assert_eq!((read(found, record, &mut out), found), (u32::MAX, head));
            assert_eq!(out, bytes);
            // Cut off: no record, and not this one.
            for cut in [0, head.words() - 1] {
                assert!(whole(&room[..cut]).is_none() && !is(&room[..cut], head, &bytes));
                assert!(!same(&room[..cut], &room) && !same(&room, &room[..cut]));
            }
            // One byte, the label, or the length differs.
            for i in (0..len).step_by(1 + len / 70) {
                let mut other = bytes.clone();
                other[i] ^= 0x80;
                assert!(!is(&room, head, &other), "byte {i} of {len}");
                let beside = Slab::<Word>::new(head.words(), &Budget::new(u64::MAX)).unwrap();
                write(&beside, head, &other);
                assert!(!same(&room, &beside), "byte {i} of {len}");
            }
            assert!(!is(&room, Head::new(0, len).unwrap(), &bytes));
            let longer = [bytes.as_slice(), &[0]].concat();
            assert!(Head::new(u32::MAX, len + 1).is_none_or(|head| !is(&room, head, &longer)));
        }
        assert_eq!(Head::new(0, Head::MAX_LEN + 1), None);
    }
}

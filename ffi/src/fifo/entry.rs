//! What an entry is to C, and how its bytes get there.

use std::mem::MaybeUninit;

use windlass::{Entry, EntryKey, Tick};

use super::{WINDLASS_FOUND, value::Value};
use crate::{
    boundary::{put, room},
    status::{WINDLASS_E_TOO_SMALL, windlass_status},
};

/// Where a key stands. This struct does not grow.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct windlass_fifo_place {
    /// The number of its entry.
    pub seq: u64,
    /// How many entries are before it: 0 for the one that is popped next.
    pub rank: u64,
    /// When it was put in, or the time of the entry before it if that was later.
    pub pushed_at: u64,
    /// Bytes of its value.
    pub value_len: u64,
}

/// An entry. This struct does not grow.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct windlass_fifo_entry {
    /// Its number: later entries have greater ones.
    pub seq: u64,
    /// When it was put in, or the time of the entry before it if that was later.
    pub pushed_at: u64,
    /// Bytes of its key: of a number 8, little endian; of a hash 16.
    pub key_len: u64,
    /// Bytes of its value.
    pub value_len: u64,
    /// As what the key came: 0 bytes, 1 a number, 2 a hash.
    pub key_kind: u32,
    /// 0.
    pub reserved0: u32,
}

/// Room for bytes; or none is wanted.
pub(super) struct Room<'a>(Option<&'a mut [MaybeUninit<u8>]>);

impl<'a> Room<'a> {
    /// # Safety
    /// `at` is NULL, or points to room for `len` bytes that nobody else uses while `'a` lasts.
    pub(super) unsafe fn new(at: *mut u8, len: usize) -> Result<Room<'a>, windlass_status> {
        // SAFETY: the caller's promise.
        let room = unsafe { room(at, len) }?;
        Ok(Room((!at.is_null()).then_some(room)))
    }

    pub(super) fn fits(&self, bytes: &[u8]) -> bool {
        self.0.as_ref().is_none_or(|room| bytes.len() <= room.len())
    }

    /// Copies them, if they fit.
    pub(super) fn copy(&mut self, bytes: &[u8]) -> Result<(), windlass_status> {
        if !self.fits(bytes) {
            return Err(WINDLASS_E_TOO_SMALL);
        }
        if let Some(room) = self.0.take() {
            let (to, rest) = room.split_at_mut(bytes.len());
            to.iter_mut().zip(bytes).for_each(|(to, &byte)| *to = MaybeUninit::new(byte));
            // What comes next goes behind it.
            self.0 = Some(rest);
        }
        Ok(())
    }
}

/// Where the parts of an entry go.
pub(super) struct Places<'a> {
    pub(super) key: Room<'a>,
    pub(super) value: Room<'a>,
}

impl Places<'_> {
    pub(super) fn fits(&self, key: &EntryKey, value: &Value) -> bool {
        self.key.fits(key.as_bytes()) && self.value.fits(value.bytes())
    }

    /// All of it or nothing.
    pub(super) fn copy(&mut self, entry: &Entry<Value>) -> Result<(), windlass_status> {
        if !self.fits(&entry.key, &entry.value) {
            return Err(WINDLASS_E_TOO_SMALL);
        }
        self.key.copy(entry.key.as_bytes())?;
        self.value.copy(entry.value.bytes())
    }
}

pub(super) fn described(seq: u64, key: &EntryKey, value: &Value, at: Tick) -> windlass_fifo_entry {
    windlass_fifo_entry {
        seq,
        pushed_at: at.0,
        key_len: key.as_bytes().len() as u64,
        value_len: value.bytes().len() as u64,
        key_kind: key.kind(),
        reserved0: 0,
    }
}

/// Copies an entry out, and describes it also if its bytes do not fit.
///
/// # Safety
/// `out` is NULL or may be written to.
pub(super) unsafe fn give(
    entry: &Entry<Value>,
    places: &mut Places<'_>,
    out: *mut windlass_fifo_entry,
) -> Result<i32, windlass_status> {
    // SAFETY: the caller's promise.
    unsafe { put(out, described(entry.seq, &entry.key, &entry.value, entry.pushed_at)) }?;
    places.copy(entry).map(|()| WINDLASS_FOUND)
}

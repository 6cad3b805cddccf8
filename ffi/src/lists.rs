//! What all lists of hot keys have in common: how they come into the caller's arrays.

#[cfg(test)]
pub(crate) mod tests;

use std::mem::MaybeUninit;

use windlass::{TopKey, TopSnapshot};

use crate::{
    boundary::{guard, room},
    handle::{Handle, core},
    sized::{self, Plain},
    status::{WINDLASS_E_NULL, WINDLASS_E_TOO_SMALL, WINDLASS_OK, windlass_status},
    topk::list::{
        WINDLASS_KEY_BYTES, WINDLASS_KEY_HASH, WINDLASS_KEY_NAMESPACED, WINDLASS_KEY_U64, windlass_top_list,
        windlass_top_row,
    },
};

/// Where a list goes.
pub(crate) struct Out<'a> {
    list: *mut windlass_top_list,
    struct_size: u32,
    rows: &'a mut [MaybeUninit<windlass_top_row>],
    keys: &'a mut [MaybeUninit<u8>],
}

/// Checks all arguments, then asks.
///
/// # Safety
/// `handle` as `core` has it, `list` as `sized::write`, `rows` and `keys` as `room`.
#[allow(clippy::too_many_arguments)] // those of the functions
pub(crate) unsafe fn answer<H: Handle>(
    handle: *const H,
    list: *mut windlass_top_list,
    struct_size: u32,
    rows: *mut windlass_top_row,
    row_room: usize,
    keys: *mut u8,
    key_room: usize,
    ask: impl FnOnce(&H::Core, Out<'_>) -> Result<windlass_status, windlass_status>,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let core = unsafe { core(handle) }?;
        if list.is_null() || (rows.is_null() && row_room > 0) || (keys.is_null() && key_room > 0) {
            return Err(WINDLASS_E_NULL);
        }
        sized::check::<windlass_top_list>(struct_size)?;
        // SAFETY: the caller's promise.
        let rows = unsafe { room(rows, row_room) }?;
        // SAFETY: the caller's promise.
        let keys = unsafe { room(keys, key_room) }?;
        ask(core, Out { list, struct_size, rows, keys })
    })
}

impl Out<'_> {
    /// All of it, or the head alone.
    pub(crate) fn put(self, from: &TopSnapshot) -> Result<windlass_status, windlass_status> {
        let key_bytes: usize = from.rows.iter().map(|row| bytes_of(&row.key, |_, bytes| bytes.len())).sum();
        let head = windlass_top_list {
            struct_size: self.struct_size.min(windlass_top_list::DEFAULT.struct_size),
            certified: from.certified.into(),
            rows: from.rows.len() as u64,
            key_bytes: key_bytes as u64,
            as_of: from.as_of.0,
            start: from.start.0,
            end: from.end.0,
            total: from.total,
            tail: from.tail,
        };
        // SAFETY: the promise of `answer`.
        unsafe { sized::write(self.list, &head, self.struct_size) }?;
        if from.rows.len() > self.rows.len() || key_bytes > self.keys.len() {
            return Err(WINDLASS_E_TOO_SMALL);
        }
        let mut at = 0;
        for (to, row) in self.rows.iter_mut().zip(&from.rows) {
            bytes_of(&row.key, |kind, bytes| {
                let place = self.keys[at..][..bytes.len()].iter_mut();
                place.zip(bytes).for_each(|(to, &byte)| *to = MaybeUninit::new(byte));
                to.write(windlass_top_row {
                    key_at: at as u64,
                    // At most WINDLASS_TOPK_MAX_LEN.
                    key_len: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
                    kind,
                    count: row.count,
                    lower: row.lower,
                    upper: row.upper,
                });
                at += bytes.len();
            });
        }
        Ok(WINDLASS_OK)
    }
}

/// A key's kind and bytes, as C gets them.
fn bytes_of<R>(key: &TopKey, with: impl FnOnce(u32, &[u8]) -> R) -> R {
    match key {
        TopKey::Bytes(bytes) => with(WINDLASS_KEY_BYTES, bytes),
        TopKey::Number(number) => with(WINDLASS_KEY_U64, &number.to_ne_bytes()),
        // As the fields of a windlass_hash.
        TopKey::Hash(hi, lo) => with(WINDLASS_KEY_HASH, [lo.to_ne_bytes(), hi.to_ne_bytes()].as_flattened()),
        TopKey::Namespaced(name, key) => {
            let (kind, bytes) = namespaced(name, key);
            with(kind, &bytes)
        }
        // What the core adds to them gets a kind here.
        other => with(WINDLASS_KEY_BYTES, other.to_string().as_bytes()),
    }
}

fn namespaced(name: &[u8], key: &TopKey) -> (u32, Vec<u8>) {
    // (No longer than a key may be.)
    let len = u32::try_from(name.len()).unwrap_or(u32::MAX).to_ne_bytes();
    let (kind, bytes) = match key {
        TopKey::Namespaced(name, key) => namespaced(name, key),
        key => bytes_of(key, |kind, bytes| (kind, bytes.to_vec())),
    };
    (kind.saturating_add(WINDLASS_KEY_NAMESPACED), [&len[..], name, &bytes].concat())
}

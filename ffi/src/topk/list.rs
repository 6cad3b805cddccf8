//! Lists, into the caller's arrays: all of one or nothing.

use std::mem::MaybeUninit;

use windlass::{Tick, TopK, TopKey, TopSnapshot};

use super::windlass_topk;
use crate::{
    boundary::{guard, room},
    handle::core,
    sized::{self, Plain},
    status::{WINDLASS_E_NULL, WINDLASS_E_TOO_SMALL, WINDLASS_OK, windlass_status},
};

/// Bytes, as they were added.
pub const WINDLASS_KEY_BYTES: u32 = 0;
/// A number: 8 bytes, a uint64_t as it lies in memory.
pub const WINDLASS_KEY_U64: u32 = 1;
/// A hash: 16 bytes, a windlass_hash as it lies in memory.
pub const WINDLASS_KEY_HASH: u32 = 2;

/// A key of a list. Its bytes are keys[key_at] up to, but not with, keys[key_at + key_len]. This struct
/// does not grow.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct windlass_top_row {
    /// Where its bytes begin.
    pub key_at: u64,
    /// How many there are.
    pub key_len: u32,
    /// WINDLASS_KEY_BYTES, WINDLASS_KEY_U64 or WINDLASS_KEY_HASH.
    pub kind: u32,
    /// How often it was seen. UINT64_MAX: 2^63 times or more.
    pub count: u64,
    /// It was seen that often, or more.
    pub lower: u64,
    /// It was not seen more often.
    pub upper: u64,
}

/// What a list says beside its rows.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct windlass_top_list {
    /// How many bytes of this struct the library knows; what lies beyond is 0.
    pub struct_size: u32,
    /// 1: it is exact: keys, order and counts. Else 0.
    pub certified: u32,
    /// How many rows it has, k at most.
    pub rows: u64,
    /// How many bytes their keys have together.
    pub key_bytes: u64,
    /// The time for which it was asked.
    pub as_of: u64,
    /// The first tick of its first pane.
    pub start: u64,
    /// The tick after its last pane's last. 0: there has been no list yet.
    pub end: u64,
    /// How often all keys were seen.
    pub total: u64,
    /// No key that is missing was seen more often than this.
    pub tail: u64,
}

// SAFETY: repr(C), integers only, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_top_list {
    const FIRST_SIZE: usize = 64;
    const DEFAULT: Self = windlass_top_list {
        struct_size: 64,
        certified: 0,
        rows: 0,
        key_bytes: 0,
        as_of: 0,
        start: 0,
        end: 0,
        total: 0,
        tail: 0,
    };
}

const _: () = assert!(size_of::<windlass_top_list>() == 64 && size_of::<windlass_top_row>() == 40);

/// The last list that windlass_topk_refresh or windlass_topk_maintain_at has made, for little more than
/// the copy. Before the first: an empty one, not certified, whose end is 0.
///
/// list gets what it says beside its rows (struct_size is sizeof(windlass_top_list)), rows its rows,
/// the hottest first, and keys the bytes of their keys, one behind the other. rows has room for row_room
/// of them: k is enough for any list. keys has room for key_room bytes. Each may be NULL if there is
/// no room.
///
/// Errors: WINDLASS_E_TOO_SMALL (rows or keys): then list alone is written, and says in rows and
/// key_bytes how much room it takes. (The next list may take more.) WINDLASS_E_NULL (topk, list; rows or
/// keys, and their room is not 0), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_RANGE (row_room, key_room; rows
/// is not aligned).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_topk_snapshot(
    topk: *const windlass_topk,
    list: *mut windlass_top_list,
    struct_size: u32,
    rows: *mut windlass_top_row,
    row_room: usize,
    keys: *mut u8,
    key_room: usize,
) -> windlass_status {
    let ask = |topk: &TopK, out: Out<'_>| out.put(&topk.snapshot());
    // SAFETY: the caller's promise.
    unsafe { answer(topk, list, struct_size, rows, row_room, keys, key_room, ask) }
}

/// Makes the list anew for all to read, and gives it: the window at the time now.
///
/// Errors: as windlass_topk_snapshot. With WINDLASS_E_TOO_SMALL the list was made, and
/// windlass_topk_snapshot has it; with any other nothing was.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_topk_refresh(
    topk: *mut windlass_topk,
    now: u64,
    list: *mut windlass_top_list,
    struct_size: u32,
    rows: *mut windlass_top_row,
    row_room: usize,
    keys: *mut u8,
    key_room: usize,
) -> windlass_status {
    let ask = |topk: &TopK, out: Out<'_>| out.put(&topk.refresh_at(Tick(now)));
    // SAFETY: the caller's promise.
    unsafe { answer(topk, list, struct_size, rows, row_room, keys, key_room, ask) }
}

/// The list of the window at the time now, which nobody else gets.
///
/// Errors: as windlass_topk_snapshot.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_topk_top(
    topk: *const windlass_topk,
    now: u64,
    list: *mut windlass_top_list,
    struct_size: u32,
    rows: *mut windlass_top_row,
    row_room: usize,
    keys: *mut u8,
    key_room: usize,
) -> windlass_status {
    let ask = |topk: &TopK, out: Out<'_>| out.put(&topk.top_at(Tick(now)));
    // SAFETY: the caller's promise.
    unsafe { answer(topk, list, struct_size, rows, row_room, keys, key_room, ask) }
}

/// The same of the complete window at the time now: asked at the end of each pane, it is the list of
/// each.
///
/// Errors: as windlass_topk_snapshot.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_topk_top_complete(
    topk: *const windlass_topk,
    now: u64,
    list: *mut windlass_top_list,
    struct_size: u32,
    rows: *mut windlass_top_row,
    row_room: usize,
    keys: *mut u8,
    key_room: usize,
) -> windlass_status {
    let ask = |topk: &TopK, out: Out<'_>| out.put(&topk.top_complete_at(Tick(now)));
    // SAFETY: the caller's promise.
    unsafe { answer(topk, list, struct_size, rows, row_room, keys, key_room, ask) }
}

/// Where a list goes.
struct Out<'a> {
    list: *mut windlass_top_list,
    struct_size: u32,
    rows: &'a mut [MaybeUninit<windlass_top_row>],
    keys: &'a mut [MaybeUninit<u8>],
}

/// Checks all arguments, then asks.
///
/// # Safety
/// `topk` as `core` has it, `list` as `sized::write`, `rows` and `keys` as `room`.
#[allow(clippy::too_many_arguments)] // those of the functions
unsafe fn answer(
    topk: *const windlass_topk,
    list: *mut windlass_top_list,
    struct_size: u32,
    rows: *mut windlass_top_row,
    row_room: usize,
    keys: *mut u8,
    key_room: usize,
    ask: impl FnOnce(&TopK, Out<'_>) -> Result<windlass_status, windlass_status>,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let topk = unsafe { core(topk) }?;
        if list.is_null() || (rows.is_null() && row_room > 0) || (keys.is_null() && key_room > 0) {
            return Err(WINDLASS_E_NULL);
        }
        sized::check::<windlass_top_list>(struct_size)?;
        // SAFETY: the caller's promise.
        let rows = unsafe { room(rows, row_room) }?;
        // SAFETY: the caller's promise.
        let keys = unsafe { room(keys, key_room) }?;
        ask(topk, Out { list, struct_size, rows, keys })
    })
}

impl Out<'_> {
    /// All of it, or the head alone.
    fn put(self, from: &TopSnapshot) -> Result<windlass_status, windlass_status> {
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
        // There is no call that adds others.
        other => with(WINDLASS_KEY_BYTES, other.to_string().as_bytes()),
    }
}

//! Lists, into the caller's arrays: all of one or nothing.

use windlass::{Tick, TopK};

use super::windlass_topk;
use crate::{
    lists::{Out, answer},
    sized::Plain,
    status::windlass_status,
};

/// Bytes, as they were added.
pub const WINDLASS_KEY_BYTES: u32 = 0;
/// A number: 8 bytes, a uint64_t as it lies in memory.
pub const WINDLASS_KEY_U64: u32 = 1;
/// A hash: 16 bytes, a windlass_hash as it lies in memory.
pub const WINDLASS_KEY_HASH: u32 = 2;
/// Is added to the kind of a key that is in a namespace: the length of the namespace's name (4 bytes, a
/// uint32_t as it lies in memory), the name, and then the key. Such keys come from Rust alone, in
/// exports.
pub const WINDLASS_KEY_NAMESPACED: u32 = 4;

/// A key of a list. Its bytes are keys[key_at] up to, but not with, keys[key_at + key_len]. This struct
/// does not grow.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct windlass_top_row {
    /// Where its bytes begin.
    pub key_at: u64,
    /// How many there are.
    pub key_len: u32,
    /// WINDLASS_KEY_BYTES, WINDLASS_KEY_U64 or WINDLASS_KEY_HASH; in namespaces WINDLASS_KEY_NAMESPACED
    /// more for each.
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

//! Lists, into the caller's arrays: all of one or nothing.

use windlass::{BoundedTopK, Tick};

use super::windlass_bounded_topk;
use crate::{
    lists::{Out, answer},
    status::windlass_status,
    topk::list::{windlass_top_list, windlass_top_row},
};

/// The last list that windlass_bounded_topk_refresh or windlass_bounded_topk_maintain_at has made, for little more than
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
pub unsafe extern "C" fn windlass_bounded_topk_snapshot(
    topk: *const windlass_bounded_topk,
    list: *mut windlass_top_list,
    struct_size: u32,
    rows: *mut windlass_top_row,
    row_room: usize,
    keys: *mut u8,
    key_room: usize,
) -> windlass_status {
    let ask = |topk: &BoundedTopK, out: Out<'_>| out.put(&topk.snapshot());
    // SAFETY: the caller's promise.
    unsafe { answer(topk, list, struct_size, rows, row_room, keys, key_room, ask) }
}

/// Makes the list anew for all to read, and gives it: the window at the time now.
///
/// Errors: as windlass_bounded_topk_snapshot. With WINDLASS_E_TOO_SMALL the list was made, and
/// windlass_bounded_topk_snapshot has it; with any other nothing was.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_refresh(
    topk: *mut windlass_bounded_topk,
    now: u64,
    list: *mut windlass_top_list,
    struct_size: u32,
    rows: *mut windlass_top_row,
    row_room: usize,
    keys: *mut u8,
    key_room: usize,
) -> windlass_status {
    let ask = |topk: &BoundedTopK, out: Out<'_>| out.put(&topk.refresh_at(Tick(now)));
    // SAFETY: the caller's promise.
    unsafe { answer(topk, list, struct_size, rows, row_room, keys, key_room, ask) }
}

/// The list of the window at the time now, which nobody else gets.
///
/// Errors: as windlass_bounded_topk_snapshot.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_top(
    topk: *const windlass_bounded_topk,
    now: u64,
    list: *mut windlass_top_list,
    struct_size: u32,
    rows: *mut windlass_top_row,
    row_room: usize,
    keys: *mut u8,
    key_room: usize,
) -> windlass_status {
    let ask = |topk: &BoundedTopK, out: Out<'_>| out.put(&topk.top_at(Tick(now)));
    // SAFETY: the caller's promise.
    unsafe { answer(topk, list, struct_size, rows, row_room, keys, key_room, ask) }
}

/// The same of the complete window at the time now: asked at the end of each pane, it is the list of
/// each.
///
/// Errors: as windlass_bounded_topk_snapshot.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_top_complete(
    topk: *const windlass_bounded_topk,
    now: u64,
    list: *mut windlass_top_list,
    struct_size: u32,
    rows: *mut windlass_top_row,
    row_room: usize,
    keys: *mut u8,
    key_room: usize,
) -> windlass_status {
    let ask = |topk: &BoundedTopK, out: Out<'_>| out.put(&topk.top_complete_at(Tick(now)));
    // SAFETY: the caller's promise.
    unsafe { answer(topk, list, struct_size, rows, row_room, keys, key_room, ask) }
}

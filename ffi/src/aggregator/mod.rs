//! `windlass_aggregator`: one list of what several structures tell.

#[cfg(test)]
mod tests;

use windlass::{Aggregator, Keys, Mismatch};

use crate::{
    boundary::{Failure, guard, put},
    export::windlass_export,
    handle::{Handle, core, core_mut, free, make},
    lists::{Out, answer},
    settings,
    status::{WINDLASS_E_ARG, WINDLASS_E_MISMATCH, WINDLASS_OK, explained, windlass_error, windlass_status},
    topk::list::{windlass_top_list, windlass_top_row},
};

/// Each key is on one of the structures, and on no other: by its hash, as a rule.
pub const WINDLASS_KEYS_SPLIT: u32 = 0;
/// A key may be on several of the structures: each has counted a part.
pub const WINDLASS_KEYS_SHARED: u32 = 1;

/// Merges the exports of any number of structures into one list, with bounds. Made by
/// windlass_aggregator_new, freed by windlass_aggregator_free.
///
/// The order in which exports are added does not matter. A list's bounds hold if those of the exports do; and,
/// with WINDLASS_KEYS_SPLIT, if each key is on one structure. It is certified if its keys, their order and their
/// counts follow from them.
pub struct windlass_aggregator {
    // Not repr(C), which would show this field: the header has a forward declaration. Behind a pointer stands an
    // `Aggregator`.
    _opaque: [u8; 0],
}

impl Handle for windlass_aggregator {
    type Core = Aggregator;
}

/// Makes a windlass_aggregator for lists of k keys, and stores it in out; free it with
/// windlass_aggregator_free. keys is WINDLASS_KEYS_SPLIT or WINDLASS_KEYS_SHARED.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (out), WINDLASS_E_ARG (k is 0; keys is something else), WINDLASS_E_STRUCT_SIZE (of
/// error). Then out is left alone.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_aggregator_new(
    k: u64,
    keys: u32,
    out: *mut *mut windlass_aggregator,
    error: *mut windlass_error,
) -> windlass_status {
    let build = || {
        let keys = match keys {
            WINDLASS_KEYS_SPLIT => Keys::Split,
            WINDLASS_KEYS_SHARED => Keys::Shared,
            other => {
                return settings::wrong("keys", other, "WINDLASS_KEYS_SPLIT (0) or WINDLASS_KEYS_SHARED (1)");
            }
        };
        match settings::many("k", k)? {
            0 => settings::wrong("k", k, "1 or more"),
            k => Ok(Aggregator::new(k, keys)),
        }
    };
    // SAFETY: the caller's promise.
    unsafe { make(out, error, build) }
}

/// Frees it. NULL is allowed, and does nothing.
///
/// Threads: exclusive: no other call with this handle may be under way, or come after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_aggregator_free(aggregator: *mut windlass_aggregator) {
    // SAFETY: the caller's promise.
    unsafe { free(aggregator) }
}

/// Adds what a structure tells. Each one's is to be added once. What export says is copied.
///
/// error may be NULL.
/// Errors: WINDLASS_E_MISMATCH (what was added before has other panes, another interval or another seed; error
/// names it), WINDLASS_E_NULL (aggregator or export), WINDLASS_E_STRUCT_SIZE (of error).
/// Threads: exclusive: no other call with this aggregator may be under way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_aggregator_add(
    aggregator: *mut windlass_aggregator,
    export: *const windlass_export,
    error: *mut windlass_error,
) -> windlass_status {
    let body = || {
        // SAFETY: the caller's promise.
        let export = unsafe { core(export) }?;
        // SAFETY: the caller's promise.
        merged(unsafe { core_mut(aggregator) }?.merge(export))
    };
    // SAFETY: the caller's promise.
    unsafe { explained(error, body) }
}

/// Adds what another aggregator has been told, of other structures.
///
/// error may be NULL.
/// Errors: WINDLASS_E_ARG (other is the same one), WINDLASS_E_MISMATCH also where keys differs. The rest as
/// windlass_aggregator_add.
/// Threads: exclusive: no other call with this aggregator may be under way, and none that changes other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_aggregator_add_all(
    aggregator: *mut windlass_aggregator,
    other: *const windlass_aggregator,
    error: *mut windlass_error,
) -> windlass_status {
    let body = || {
        if !aggregator.is_null() && std::ptr::eq(aggregator, other) {
            let detail = Some("other: out of range: another aggregator".to_owned());
            return Err(Failure { status: WINDLASS_E_ARG, detail });
        }
        // SAFETY: the caller's promise.
        let other = unsafe { core(other) }?;
        // SAFETY: the caller's promise; it is another.
        merged(unsafe { core_mut(aggregator) }?.merge_all(other))
    };
    // SAFETY: the caller's promise.
    unsafe { explained(error, body) }
}

fn merged(merged: Result<(), Mismatch>) -> Result<windlass_status, Failure> {
    merged
        .map(|()| WINDLASS_OK)
        .map_err(|mismatch| Failure { status: WINDLASS_E_MISMATCH, detail: Some(mismatch.to_string()) })
}

/// How many exports were added.
///
/// Errors: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_aggregator_exports(
    aggregator: *const windlass_aggregator,
    exports: *mut u64,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let number = unsafe { core(aggregator) }?.exports();
        // SAFETY: the caller's promise.
        unsafe { put(exports, number) }
    })
}

/// The list over all that was added. Before the first: an empty one, not certified, whose end is 0.
///
/// Errors: as windlass_topk_snapshot.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_aggregator_list(
    aggregator: *const windlass_aggregator,
    list: *mut windlass_top_list,
    struct_size: u32,
    rows: *mut windlass_top_row,
    row_room: usize,
    keys: *mut u8,
    key_room: usize,
) -> windlass_status {
    let ask = |aggregator: &Aggregator, out: Out<'_>| out.put(&aggregator.list());
    // SAFETY: the caller's promise.
    unsafe { answer(aggregator, list, struct_size, rows, row_room, keys, key_room, ask) }
}

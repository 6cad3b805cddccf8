//! What is in an export.

use windlass::{Aggregator, Export, Keys};

use super::windlass_export;
use crate::{
    boundary::guard,
    dedup::config::{WINDLASS_UNIT_EVENTS, WINDLASS_UNIT_NS},
    handle::{core, core_mut},
    lists::{Out, answer},
    sized::{self, Plain},
    status::{WINDLASS_OK, windlass_status},
    topk::list::{windlass_top_list, windlass_top_row},
};

/// What an export says beside its rows.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct windlass_export_info {
    /// How many bytes of this struct the library knows; what lies beyond is 0.
    pub struct_size: u32,
    /// What a tick is: WINDLASS_UNIT_NS or WINDLASS_UNIT_EVENTS.
    pub unit: u32,
    /// The time for which it was asked.
    pub as_of: u64,
    /// The length of a pane in ticks.
    pub pane: u64,
    /// The first tick of its first pane.
    pub start: u64,
    /// The tick after its last pane's last.
    pub end: u64,
    /// How often all keys were seen.
    pub total: u64,
    /// No key that is not in its rows was seen more often than this.
    pub tail: u64,
    /// How many rows it has.
    pub rows: u64,
    /// How many it could have.
    pub capacity: u64,
    /// How many keys a list of the structure has.
    pub k: u64,
}

// SAFETY: repr(C), integers only, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_export_info {
    const FIRST_SIZE: usize = 80;
    const DEFAULT: Self = windlass_export_info {
        struct_size: 80,
        unit: 0,
        as_of: 0,
        pane: 0,
        start: 0,
        end: 0,
        total: 0,
        tail: 0,
        rows: 0,
        capacity: 0,
        k: 0,
    };
}

const _: () = assert!(size_of::<windlass_export_info>() == 80);

/// Fills info. struct_size is sizeof(windlass_export_info).
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_export_get_info(
    export: *const windlass_export,
    info: *mut windlass_export_info,
    struct_size: u32,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let export = unsafe { core(export) }?;
        let pane = export.pane();
        let all = windlass_export_info {
            struct_size: struct_size.min(windlass_export_info::DEFAULT.struct_size),
            unit: if pane.counts_events() { WINDLASS_UNIT_EVENTS } else { WINDLASS_UNIT_NS },
            as_of: export.as_of.0,
            pane: pane.ticks().unwrap_or(u64::MAX),
            start: export.start().0,
            end: export.end().0,
            total: export.total,
            tail: export.tail,
            rows: export.rows.len() as u64,
            capacity: export.capacity.into(),
            k: export.k.into(),
        };
        // SAFETY: the caller's promise.
        unsafe { sized::write(info, &all, struct_size) }.map(|()| WINDLASS_OK)
    })
}

/// All rows of an export, as a list: what a windlass_aggregator would make of it alone.
///
/// Errors: as windlass_topk_snapshot.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_export_list(
    export: *const windlass_export,
    list: *mut windlass_top_list,
    struct_size: u32,
    rows: *mut windlass_top_row,
    row_room: usize,
    keys: *mut u8,
    key_room: usize,
) -> windlass_status {
    let ask = |export: &Export, out: Out<'_>| {
        let mut alone = Aggregator::new(export.rows.len(), Keys::Shared);
        // (It agrees with nothing but itself.)
        let _: Result<(), _> = alone.merge(export);
        out.put(&alone.list())
    };
    // SAFETY: the caller's promise.
    unsafe { answer(export, list, struct_size, rows, row_room, keys, key_room, ask) }
}

/// Cuts an export to so many rows, the hottest: it takes fewer bytes then, and what is cut off is in its tail.
///
/// Errors: WINDLASS_E_NULL.
/// Threads: exclusive: no other call with this handle may be under way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_export_truncate(
    export: *mut windlass_export,
    rows: usize,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { core_mut(export) }?.truncate(rows);
        Ok::<_, windlass_status>(WINDLASS_OK)
    })
}

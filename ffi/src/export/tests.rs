//! The functions, called as C calls them.

#![allow(clippy::multiple_unsafe_ops_per_block)] // one call after the other, of the same kind

use std::ptr::{null, null_mut};

use windlass::{Aggregator, Export, Keys, Namespaced, Seed, Tick, TopK, Window};

use super::{bytes::*, make::*, rows::*, *};
use crate::{
    bounded_topk::{config::*, single::windlass_bounded_topk_add_u64, *},
    dedup::config::WINDLASS_UNIT_EVENTS,
    lists::tests::{Got, as_c, got},
    sized::Plain,
    status::{
        WINDLASS_E_FORMAT, WINDLASS_E_NULL, WINDLASS_E_RANGE, WINDLASS_E_STRUCT_SIZE, WINDLASS_E_TOO_SMALL,
        WINDLASS_OK, windlass_error,
    },
    topk::{config::*, single::windlass_topk_add_u64, *},
};

/// A handle that frees itself.
pub(crate) struct Handle(pub(crate) *mut windlass_export);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made by one of the functions below, freed here alone.
        unsafe { windlass_export_free(self.0) };
    }
}

/// With keys of all kinds: text, numbers, hashes, and one in two namespaces.
fn ours() -> Export {
    let top = TopK::builder(Window::last_n(40), Window::last_n(10), 5).capacity(100).seed(Seed(7)).build();
    let top = top.expect("valid");
    for i in 0..60_u64 {
        top.add_at(i % 7, i, Tick(i / 2));
        top.add_at(format!("key {}", i % 11), 1, Tick(i / 2));
    }
    top.add_at(windlass::KeyHash { hi: 3, lo: 4 }, 900, Tick(29));
    top.add_at(Namespaced("eu", Namespaced("web", "/")), 800, Tick(29));
    top.export_at(Tick(29))
}

pub(crate) fn from(bytes: &[u8]) -> Result<Handle, (i32, String)> {
    let mut error = windlass_error { struct_size: 256, code: WINDLASS_OK, detail: [0; 248] };
    let mut handle = null_mut();
    // SAFETY: bytes of this length, places to write to.
    let status =
        unsafe { windlass_export_from_bytes(bytes.as_ptr(), bytes.len(), &raw mut handle, &raw mut error) };
    if status == WINDLASS_OK {
        return Ok(Handle(handle));
    }
    assert!(handle.is_null() && error.code == status);
    // SAFETY: ends with NUL.
    let detail = unsafe { std::ffi::CStr::from_ptr(error.detail.as_ptr()) };
    Err((status, detail.to_str().expect("UTF-8").to_owned()))
}

pub(crate) fn bytes(export: &Handle) -> Vec<u8> {
    let (mut len, mut none) = (7, 0);
    // SAFETY: a live handle, places to write to.
    unsafe {
        assert_eq!(windlass_export_to_bytes(export.0, &raw mut none, 0, &raw mut len), WINDLASS_E_TOO_SMALL);
        let mut bytes = vec![0xAA; len];
        let status = windlass_export_to_bytes(export.0, bytes.as_mut_ptr(), len - 1, &raw mut len);
        assert_eq!((status, bytes.len()), (WINDLASS_E_TOO_SMALL, len));
        assert!(bytes.iter().all(|&byte| byte == 0xAA), "left alone");
        let status = windlass_export_to_bytes(export.0, bytes.as_mut_ptr(), len, &raw mut len);
        assert_eq!((status, bytes.len()), (WINDLASS_OK, len));
        bytes
    }
}

fn info(export: &Handle) -> windlass_export_info {
    let mut info = windlass_export_info::DEFAULT;
    // SAFETY: a live handle, a place to write to.
    assert_eq!(unsafe { windlass_export_get_info(export.0, &raw mut info, 80) }, WINDLASS_OK);
    info
}

fn list(export: &Handle, room: (usize, usize)) -> Got {
    // SAFETY: a live handle, a place for the head, arrays of these lengths.
    got(room, |l, r, k| unsafe { windlass_export_list(export.0, l, 64, r, room.0, k, room.1) })
}

#[test]
fn there_and_back_with_keys_of_all_kinds() {
    let ours = ours();
    let export = from(&ours.to_bytes()).map_err(|(_, detail)| detail).expect("an export");
    assert_eq!(bytes(&export), ours.to_bytes());
    let expected = windlass_export_info {
        struct_size: 80,
        unit: WINDLASS_UNIT_EVENTS,
        as_of: 29,
        pane: 10,
        start: 0,
        end: 30,
        total: ours.total,
        tail: ours.tail,
        rows: 20,
        capacity: 50,
        k: 5,
    };
    assert_eq!((info(&export), ours.rows.len()), (expected, 20));
    let mut alone = Aggregator::new(20, Keys::Split);
    alone.merge(&ours).expect("the first");
    let all = list(&export, (20, 1000));
    assert_eq!(all, as_c(&alone.list()));
    assert!(all.rows[1].0.to_string() == "eu: web: /" && all.list.certified == 1, "{all:?}");

    // SAFETY: a live handle.
    assert_eq!(unsafe { windlass_export_truncate(export.0, 3) }, WINDLASS_OK);
    let cut = info(&export);
    assert_eq!((cut.rows, cut.capacity, cut.tail), (3, 3, all.rows[3].3));
    assert_eq!(list(&export, (3, 1000)).rows, all.rows[..3]);
}

/// Other bytes are refused, wherever they differ: nothing is made, and the error says where.
#[test]
fn bytes_that_are_no_export() {
    let good = ours().to_bytes();
    for cut in 0..good.len() {
        let (status, detail) = from(&good[..cut]).err().expect("cut off");
        assert_eq!(status, WINDLASS_E_FORMAT);
        assert!(detail.starts_with("export, byte "), "{detail}");
    }
    for at in 0..good.len() {
        for bit in [0, 7] {
            let mut other = good.clone();
            other[at] ^= 1 << bit;
            assert_eq!(from(&other).err().map(|(status, _)| status), Some(WINDLASS_E_FORMAT), "byte {at}");
        }
    }
    let longer = [&good[..], &[0]].concat();
    assert_eq!(from(&longer).err().map(|(status, _)| status), Some(WINDLASS_E_FORMAT));
}

#[test]
fn from_both_structures_and_of_both_windows() {
    let mut exact_config = windlass_topk_config::DEFAULT;
    let mut bounded_config = windlass_bounded_topk_config::DEFAULT;
    (exact_config.window, exact_config.pane, exact_config.k) = (40, 10, 2);
    exact_config.capacity = 100;
    (bounded_config.window, bounded_config.pane, bounded_config.k) = (40, 10, 2);
    let (mut exact, mut bounded, mut made) = (null_mut(), null_mut(), [null_mut(); 4]);
    // SAFETY: valid configs, places for the handles, which are freed below.
    unsafe {
        assert_eq!(windlass_topk_new(&exact_config, &raw mut exact, null_mut()), WINDLASS_OK);
        assert_eq!(windlass_bounded_topk_new(&bounded_config, &raw mut bounded, null_mut()), WINDLASS_OK);
        for i in 0..60_u64 {
            assert_eq!(windlass_topk_add_u64(exact, i % 5, 1 + i % 5, i), 0);
            assert_eq!(windlass_bounded_topk_add_u64(bounded, i % 5, 1 + i % 5, i), 0);
        }
        assert_eq!(windlass_topk_export(exact, 55, &raw mut made[0]), WINDLASS_OK);
        assert_eq!(windlass_bounded_topk_export(bounded, 55, &raw mut made[1]), WINDLASS_OK);
        assert_eq!(windlass_topk_export_complete(exact, 55, &raw mut made[2]), WINDLASS_OK);
        assert_eq!(windlass_bounded_topk_export_complete(bounded, 55, &raw mut made[3]), WINDLASS_OK);
        windlass_topk_free(exact);
        windlass_bounded_topk_free(bounded);
    }
    let made = made.map(Handle);
    let unit = crate::dedup::config::WINDLASS_UNIT_NS;
    for (i, (start, end)) in [(20, 60), (20, 60), (10, 50), (10, 50)].into_iter().enumerate() {
        let info = info(&made[i]);
        assert_eq!((info.unit, info.start, info.end, info.rows, info.total), (unit, start, end, 5, 120));
        let list = list(&made[i], (5, 40));
        assert_eq!((list.list.certified, list.rows[0].1), (1, 40), "{list:?}");
    }
    assert_eq!(list(&made[0], (5, 40)).rows, list(&made[1], (5, 40)).rows);
}

#[test]
fn arguments_that_are_refused() {
    let export = from(&ours().to_bytes()).map_err(|(_, detail)| detail).expect("an export");
    let (mut len, mut made, mut info) = (7, null_mut(), windlass_export_info::DEFAULT);
    let (good, mut head) = (ours().to_bytes(), crate::topk::list::windlass_top_list::DEFAULT);
    // SAFETY: NULL where it is refused, else a live handle and places to write to.
    unsafe {
        let (e, n, out) = (export.0, &raw mut len, &raw mut made);
        assert_eq!(windlass_topk_export(null(), 0, out), WINDLASS_E_NULL);
        assert_eq!(windlass_bounded_topk_export_complete(null(), 0, out), WINDLASS_E_NULL);
        assert_eq!(windlass_export_to_bytes(null(), null_mut(), 0, n), WINDLASS_E_NULL);
        assert_eq!(windlass_export_to_bytes(e, null_mut(), 1, n), WINDLASS_E_NULL);
        assert_eq!(windlass_export_to_bytes(e, null_mut(), 0, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_export_to_bytes(e, good.as_ptr().cast_mut(), usize::MAX, n), WINDLASS_E_RANGE);
        assert_eq!(windlass_export_from_bytes(null(), 5, out, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_export_from_bytes(null(), 0, out, null_mut()), WINDLASS_E_FORMAT);
        assert_eq!(windlass_export_from_bytes(good.as_ptr(), usize::MAX, out, null_mut()), WINDLASS_E_RANGE);
        let status = windlass_export_from_bytes(good.as_ptr(), good.len(), null_mut(), null_mut());
        assert_eq!(status, WINDLASS_E_NULL);
        assert_eq!(windlass_export_get_info(null(), &raw mut info, 80), WINDLASS_E_NULL);
        assert_eq!(windlass_export_get_info(e, &raw mut info, 79), WINDLASS_E_STRUCT_SIZE);
        let none = windlass_export_list(null(), &raw mut head, 64, null_mut(), 0, null_mut(), 0);
        assert_eq!(none, WINDLASS_E_NULL);
        assert_eq!(windlass_export_truncate(null_mut(), 0), WINDLASS_E_NULL);
        windlass_export_free(null_mut());
    }
    assert_eq!((len, made.is_null(), info.rows, head.rows), (7, true, 0, 0), "left alone");
}

//! The functions, called as C calls them.

#![allow(clippy::multiple_unsafe_ops_per_block)] // one call after the other, of the same kind

use std::ptr::{null, null_mut};

use windlass::{Aggregator, Export, Keys, Seed, Tick, TopK, Window};

use super::*;
use crate::{
    export::tests::from,
    lists::tests::{Got, as_c, got},
    sized::Plain,
    status::{WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE},
};

/// A handle that frees itself.
struct Handle(*mut windlass_aggregator);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: from `made`, freed here alone.
        unsafe { windlass_aggregator_free(self.0) };
    }
}

fn made(k: u64, keys: u32) -> Handle {
    let mut handle = null_mut();
    // SAFETY: a place for the handle.
    assert_eq!(unsafe { windlass_aggregator_new(k, keys, &raw mut handle, null_mut()) }, WINDLASS_OK);
    Handle(handle)
}

/// What a shard of several tells, all of which have all keys.
fn shard(number: u64, pane: u64, seed: u64) -> Export {
    let top = TopK::builder(Window::last_n(4 * pane), Window::last_n(pane), 3).capacity(100).seed(Seed(seed));
    let top = top.build().expect("valid");
    for i in 0..300_u64 {
        top.add_at((i * i + number) % 37, 1 + number, Tick(i / 8));
    }
    top.export_at(Tick(39))
}

fn add(to: &Handle, export: &Export) -> (windlass_status, String) {
    let export = from(&export.to_bytes()).map_err(|(_, detail)| detail).expect("an export");
    let mut error = windlass_error { struct_size: 256, code: WINDLASS_OK, detail: [0; 248] };
    // SAFETY: live handles, a place for the error.
    let status = unsafe { windlass_aggregator_add(to.0, export.0, &raw mut error) };
    // SAFETY: ends with NUL.
    let detail = unsafe { std::ffi::CStr::from_ptr(error.detail.as_ptr()) };
    (status, detail.to_str().expect("UTF-8").to_owned())
}

fn list(aggregator: &Handle) -> Got {
    // SAFETY: a live handle, a place for the head, arrays of these lengths.
    got((5, 100), |l, r, k| unsafe { windlass_aggregator_list(aggregator.0, l, 64, r, 5, k, 100) })
}

fn exports(aggregator: &Handle) -> u64 {
    let mut exports = 0;
    // SAFETY: a live handle, a place to write to.
    assert_eq!(unsafe { windlass_aggregator_exports(aggregator.0, &raw mut exports) }, WINDLASS_OK);
    exports
}

#[test]
fn lists_as_rust_does() {
    for (keys, code) in [(Keys::Split, WINDLASS_KEYS_SPLIT), (Keys::Shared, WINDLASS_KEYS_SHARED)] {
        let (all, half, mut ours) = (made(5, code), made(5, code), Aggregator::new(5, keys));
        assert_eq!((list(&all).list.end, list(&all).list.certified, exports(&all)), (0, 0, 0));
        for number in 0..4 {
            let shard = shard(number, 10, 7);
            ours.merge(&shard).expect("the same");
            assert_eq!(add(if number < 2 { &all } else { &half }, &shard).0, WINDLASS_OK);
        }
        // SAFETY: live handles.
        assert_eq!(unsafe { windlass_aggregator_add_all(all.0, half.0, null_mut()) }, WINDLASS_OK);
        assert_eq!((list(&all), exports(&all)), (as_c(&ours.list()), 4));
        assert_eq!(list(&all).rows.len(), 5);
    }
}

#[test]
fn what_does_not_go_together() {
    let aggregator = made(5, WINDLASS_KEYS_SHARED);
    assert_eq!(add(&aggregator, &shard(0, 10, 7)).0, WINDLASS_OK);
    let before = list(&aggregator);
    for (other, field) in [(shard(1, 20, 7), "pane: "), (shard(1, 10, 8), "seed: ")] {
        let (status, detail) = add(&aggregator, &other);
        assert_eq!((status, detail.starts_with(field)), (WINDLASS_E_MISMATCH, true), "{detail}");
    }
    let other = made(5, WINDLASS_KEYS_SPLIT);
    // SAFETY: live handles.
    unsafe {
        let add_all = windlass_aggregator_add_all;
        assert_eq!(add_all(aggregator.0, other.0, null_mut()), WINDLASS_E_MISMATCH);
        assert_eq!(add_all(aggregator.0, aggregator.0, null_mut()), WINDLASS_E_ARG);
    }
    assert_eq!((list(&aggregator), exports(&aggregator)), (before, 1), "nothing was changed");
}

#[test]
fn arguments_that_are_refused() {
    let aggregator = made(5, WINDLASS_KEYS_SHARED);
    let export = from(&shard(0, 10, 7).to_bytes()).map_err(|(_, detail)| detail).expect("an export");
    let (mut made, mut number, mut head) = (null_mut(), 9, windlass_top_list::DEFAULT);
    // SAFETY: NULL where it is refused, else live handles and places to write to.
    unsafe {
        let a = aggregator.0;
        assert_eq!(windlass_aggregator_new(0, 0, &raw mut made, null_mut()), WINDLASS_E_ARG);
        assert_eq!(windlass_aggregator_new(5, 2, &raw mut made, null_mut()), WINDLASS_E_ARG);
        assert_eq!(windlass_aggregator_new(5, 0, null_mut(), null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_aggregator_add(null_mut(), export.0, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_aggregator_add(a, null(), null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_aggregator_add_all(a, null(), null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_aggregator_add_all(null_mut(), null(), null_mut()), WINDLASS_E_NULL);
        let mut error = windlass_error { struct_size: 9, code: 1, detail: [0; 248] };
        assert_eq!(windlass_aggregator_add(a, export.0, &raw mut error), WINDLASS_E_STRUCT_SIZE);
        assert_eq!((error.code, exports(&aggregator)), (1, 0), "left alone");
        assert_eq!(windlass_aggregator_exports(null(), &raw mut number), WINDLASS_E_NULL);
        assert_eq!(windlass_aggregator_exports(a, null_mut()), WINDLASS_E_NULL);
        let (l, list) = (&raw mut head, windlass_aggregator_list);
        assert_eq!(list(null(), l, 64, null_mut(), 0, null_mut(), 0), WINDLASS_E_NULL);
        assert_eq!(list(a, l, 9, null_mut(), 0, null_mut(), 0), WINDLASS_E_STRUCT_SIZE);
        windlass_aggregator_free(null_mut());
    }
    assert_eq!((made.is_null(), number, head.rows), (true, 9, 0), "left alone");
}

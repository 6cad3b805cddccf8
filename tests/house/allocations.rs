//! Exact ids cost no allocation each: their bytes go into chunks. Nor do fields, and ids of several sources.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute
#![allow(unsafe_code)] // an allocator is unsafe by its trait

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};
use windlass::{Dedup, Identity, Namespaced, Seed, Tick, Verdict, Window};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which counts for each thread.
struct Counting;

// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps to the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from `System`, with this layout.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn none_by_id() {
    let dedup = Dedup::builder(Window::last_n(1_000_000)).capacity(100_000).identity(Identity::Bytes);
    let dedup = dedup.build().expect("valid");
    let ids: Vec<[u8; 16]> = (0..100_000_u128).map(u128::to_le_bytes).collect();
    let made = |now: u64| {
        let before = ALLOCATIONS.get();
        let fresh = ids.iter().filter(|id| dedup.observe_at(**id, Tick(now)) == Ok(Verdict::Fresh)).count();
        (fresh, ALLOCATIONS.get() - before)
    };
    let (fresh, allocations) = made(1);
    assert_eq!(fresh, ids.len());
    // Chunks.
    assert!(allocations < ids.len() as u64 / 100, "{allocations}");
    assert_eq!(made(1), (0, 0));
}

#[test]
fn none_by_field() {
    let (seed, long) = (Seed(7), vec![1; 100_000]);
    let before = ALLOCATIONS.get();
    for fields in [&[&b"a"[..], b"bc"][..], &[&[1; 125], &[2; 200], b""], &[&long, b"x", &long]] {
        assert_eq!(seed.hash_fields(fields), seed.hash_fields(fields));
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}

#[test]
fn none_by_source() {
    let dedup = Dedup::builder(Window::last_n(1000)).capacity(1000).identity(Identity::Bytes);
    let dedup = dedup.build().expect("valid");
    let id = [7; 200];
    let observe = |name: &str| dedup.observe_at(Namespaced(name, id), Tick(1));
    assert_eq!(observe("orders"), Ok(Verdict::Fresh));
    let before = ALLOCATIONS.get();
    assert!(observe("orders").is_ok_and(|verdict| !verdict.is_fresh()));
    assert_eq!((observe("refunds"), ALLOCATIONS.get() - before), (Ok(Verdict::Fresh), 0));
}

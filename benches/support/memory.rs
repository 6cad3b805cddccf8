//! An allocator that counts, but only when asked: while something is timed it costs one load of a constant.

#![allow(unsafe_code)] // an allocator is unsafe by its trait

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

static COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATED: AtomicU64 = AtomicU64::new(0);
static FREED: AtomicU64 = AtomicU64::new(0);

/// Makes something; returns it and the bytes that the allocator was asked for and has not got back. What the allocator
/// adds of its own is not in it.
pub(crate) fn held_by<T>(make: impl FnOnce() -> T) -> (T, u64) {
    let held = || ALLOCATED.load(Ordering::Relaxed).wrapping_sub(FREED.load(Ordering::Relaxed));
    let before = held();
    COUNTING.store(true, Ordering::Relaxed);
    let made = make();
    COUNTING.store(false, Ordering::Relaxed);
    (made, held().wrapping_sub(before))
}

fn count(counter: &AtomicU64, bytes: usize) {
    if COUNTING.load(Ordering::Relaxed) {
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// The system's allocator, counted.
pub(crate) struct Counted;

// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(&ALLOCATED, layout.size());
        // SAFETY: the caller keeps to the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(&ALLOCATED, layout.size());
        // SAFETY: the caller keeps to the contract of `GlobalAlloc::alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(&FREED, layout.size());
        // SAFETY: the block came from `System`, with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(&FREED, layout.size());
        count(&ALLOCATED, size);
        // SAFETY: the block came from `System`, with this layout; the caller answers for the new size.
        unsafe { System.realloc(block, layout, size) }
    }
}

//! How much memory a call takes at its peak.

#![allow(unsafe_code)] // an allocator is unsafe by its trait

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

thread_local! {
    /// Bytes that this thread has allocated, less those that it has freed, and the most that these were since it was set.
    static LIVE: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, which counts for each thread.
struct Counting;

fn note(bytes: i64) {
    let live = LIVE.get() + bytes;
    LIVE.set(live);
    PEAK.set(PEAK.get().max(live));
}

fn size(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(size(layout.size()));
        // SAFETY: the caller keeps to the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(size(layout.size()));
        // SAFETY: the caller keeps to the contract of `GlobalAlloc::alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new: usize) -> *mut u8 {
        // As if it were another block, and the old one were freed afterwards.
        note(size(new));
        note(-size(layout.size()));
        // SAFETY: the caller keeps to the contract of `GlobalAlloc::realloc`.
        unsafe { System.realloc(block, layout, new) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note(-size(layout.size()));
        // SAFETY: the block came from `System`, with this layout.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// What it gives, and the bytes that this thread had at one time beyond those that it had before. (Arrays of 2 MiB and more come from the system itself:
/// see [`address_space`].)
pub(crate) fn peak<T>(call: impl FnOnce() -> T) -> (T, u64) {
    let before = LIVE.get();
    PEAK.set(before);
    let result = call();
    (result, u64::try_from(PEAK.get() - before).unwrap_or(0))
}

/// The most bytes of addresses that the process ever had, where the system tells.
pub(crate) fn address_space() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmPeak:"))?;
    Some(peak.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

#[test]
fn a_peak_is_seen() {
    let (kept, bytes) = peak(|| {
        drop(vec![0_u8; 100_000]);
        vec![1_u8; 1000]
    });
    assert!((100_000..101_000).contains(&bytes), "{bytes}");
    assert_eq!(kept.len(), 1000);
    let (_, bytes) = peak(|| drop(kept));
    assert_eq!(bytes, 0);
    let (_, bytes) = peak(|| {
        let mut grown = Vec::<u8>::with_capacity(1 << 16);
        grown.reserve_exact(1 << 20);
    });
    assert_eq!(bytes, (1 << 16) + (1 << 20));
}

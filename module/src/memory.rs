//! All memory of the module is the server's: it counts towards `used_memory`, and so towards `maxmemory`.
//!
//! The server promises no more than a word's alignment (with some allocators it keeps a size before what it gives). What wants more (cells, cache
//! lines) gets a piece that is larger by as much, with its beginning noted before it.

#![allow(unsafe_code)] // an allocator

use crate::raw::{GetApi, found};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    ffi::{CStr, c_void},
    ptr::null_mut,
    sync::OnceLock,
};

/// As the server aligns.
const ALIGNED: usize = 8;

/// From here on it is asked first whether there is so much: where the function that gives zeros ends the server if there is not.
const LARGE: usize = 64 << 20;

type Alloc = unsafe extern "C" fn(usize) -> *mut c_void;
type Calloc = unsafe extern "C" fn(usize, usize) -> *mut c_void;
type Realloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);

struct Functions {
    /// NULL if there is not so much.
    try_alloc: Alloc,
    /// Ends the server if there is not so much.
    calloc: Calloc,
    /// NULL if there is not so much; from 7.4 on.
    try_calloc: Option<Calloc>,
    /// Ends the server if there is not so much.
    realloc: Realloc,
    free: Free,
}

static FUNCTIONS: OnceLock<Functions> = OnceLock::new();

/// From now on memory is the server's. Before anything else of the module: nothing may have been allocated. (In unit tests it is the system's.)
///
/// # Safety
/// `get` is what the server called the module with.
pub(crate) unsafe fn begin(get: GetApi) -> Result<(), &'static CStr> {
    /// # Safety
    /// As [`found`].
    unsafe fn needed<F: Copy>(get: GetApi, name: &'static CStr) -> Result<F, &'static CStr> {
        // SAFETY: the caller's promise.
        unsafe { found(get, name) }.ok_or(name)
    }
    let functions = Functions {
        // SAFETY: the header's types, here and below.
        try_alloc: unsafe { needed(get, c"RedisModule_TryAlloc") }?,
        // SAFETY: as above.
        calloc: unsafe { needed(get, c"RedisModule_Calloc") }?,
        // SAFETY: as above.
        try_calloc: unsafe { found(get, c"RedisModule_TryCalloc") },
        // SAFETY: as above.
        realloc: unsafe { needed(get, c"RedisModule_Realloc") }?,
        // SAFETY: as above.
        free: unsafe { needed(get, c"RedisModule_Free") }?,
    };
    FUNCTIONS.get_or_init(|| functions);
    Ok(())
}

pub(crate) struct ServerMemory;

impl Functions {
    fn zeros(&self, size: usize) -> *mut c_void {
        if let Some(try_calloc) = self.try_calloc {
            // SAFETY: any size.
            return unsafe { try_calloc(1, size) };
        }
        if size >= LARGE {
            // SAFETY: any size.
            let probe = unsafe { (self.try_alloc)(size) };
            if probe.is_null() {
                return null_mut();
            }
            // SAFETY: what was just given; not used.
            unsafe { (self.free)(probe) };
        }
        // SAFETY: any size.
        unsafe { (self.calloc)(1, size) }
    }
}

/// A place in a piece of memory, aligned to more than [`ALIGNED`]; where the piece begins stands before it.
///
/// # Safety
/// `piece` is NULL, or has `align` bytes more than are needed, and is aligned to [`ALIGNED`].
unsafe fn place(piece: *mut c_void, align: usize) -> *mut u8 {
    let piece = piece.cast::<u8>();
    if piece.is_null() {
        return piece;
    }
    // ALIGNED to `align` bytes: room for the note.
    let skip = align - piece.addr() % align;
    // SAFETY: within the piece, by the caller's promise.
    let place = unsafe { piece.add(skip) };
    // SAFETY: at least ALIGNED bytes lie before it, a pointer's.
    let note = unsafe { place.cast::<*mut u8>().sub(1) };
    // SAFETY: the same; aligned, as the place is.
    unsafe { note.write(piece) };
    place
}

// SAFETY: the server's functions are an allocator; alignments above theirs are made by `place`. What is allocated by one of the two allocators is
// freed by it: the switch comes before all else.
unsafe impl GlobalAlloc for ServerMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(functions) = FUNCTIONS.get() else {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc(layout) };
        };
        if layout.align() <= ALIGNED {
            // SAFETY: any size.
            return unsafe { (functions.try_alloc)(layout.size()) }.cast();
        }
        let Some(size) = layout.size().checked_add(layout.align()) else { return null_mut() };
        // SAFETY: any size.
        let piece = unsafe { (functions.try_alloc)(size) };
        // SAFETY: `align` bytes more.
        unsafe { place(piece, layout.align()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(functions) = FUNCTIONS.get() else {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc_zeroed(layout) };
        };
        if layout.align() <= ALIGNED {
            return functions.zeros(layout.size()).cast();
        }
        let Some(size) = layout.size().checked_add(layout.align()) else { return null_mut() };
        // SAFETY: `align` bytes more.
        unsafe { place(functions.zeros(size), layout.align()) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        let Some(functions) = FUNCTIONS.get() else {
            // SAFETY: the caller's promise.
            return unsafe { System.dealloc(at, layout) };
        };
        let mut piece = at;
        if layout.align() > ALIGNED {
            // SAFETY: `place` has put a note there.
            let note = unsafe { at.cast::<*mut u8>().sub(1) };
            // SAFETY: the same.
            piece = unsafe { note.read() };
        }
        // SAFETY: a piece that was given.
        unsafe { (functions.free)(piece.cast()) };
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Some(functions) = FUNCTIONS.get() else {
            // SAFETY: the caller's promise.
            return unsafe { System.realloc(at, layout, size) };
        };
        if layout.align() <= ALIGNED {
            // SAFETY: a piece that was given.
            return unsafe { (functions.realloc)(at.cast(), size) }.cast();
        }
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else { return null_mut() };
        // SAFETY: the size is not 0, by the caller's promise.
        let new = unsafe { self.alloc(wanted) };
        if !new.is_null() {
            // SAFETY: two pieces that do not overlap, of so many bytes at least.
            unsafe { new.copy_from_nonoverlapping(at, layout.size().min(size)) };
            // SAFETY: no one uses it any more.
            unsafe { self.dealloc(at, layout) };
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_int;

    /// A server whose memory is the system's, aligned to 8 bytes and never to 16.
    mod server {
        use super::*;

        fn layout(size: usize) -> Layout {
            Layout::from_size_align(size + 48, 32).expect("a size")
        }

        pub(super) unsafe extern "C" fn alloc(size: usize) -> *mut c_void {
            // SAFETY: not 0.
            let piece = unsafe { System.alloc_zeroed(layout(size)) };
            // SAFETY: within it.
            let at = unsafe { piece.add(40) };
            // SAFETY: before what is given.
            unsafe { at.cast::<usize>().wrapping_sub(1).write(size) };
            at.cast()
        }

        pub(super) unsafe extern "C" fn calloc(n: usize, size: usize) -> *mut c_void {
            // SAFETY: any size; zeroed above.
            unsafe { alloc(n * size) }
        }

        pub(super) unsafe extern "C" fn realloc(at: *mut c_void, size: usize) -> *mut c_void {
            // SAFETY: any size.
            let new = unsafe { alloc(size) };
            // SAFETY: noted by `alloc`.
            let old = unsafe { at.cast::<usize>().wrapping_sub(1).read() };
            // SAFETY: of both so many bytes.
            unsafe { new.cast::<u8>().copy_from_nonoverlapping(at.cast(), old.min(size)) };
            // SAFETY: a piece of `alloc`'s.
            unsafe { free(at) };
            new
        }

        pub(super) unsafe extern "C" fn free(at: *mut c_void) {
            // SAFETY: noted by `alloc`.
            let size = unsafe { at.cast::<usize>().wrapping_sub(1).read() };
            // SAFETY: as it was given.
            unsafe { System.dealloc(at.cast::<u8>().wrapping_sub(40), layout(size)) };
        }

        pub(super) unsafe extern "C" fn get(name: *const std::ffi::c_char, at: *mut *mut c_void) -> c_int {
            // SAFETY: a C string.
            let name = unsafe { CStr::from_ptr(name) };
            let function = match name.to_bytes() {
                b"RedisModule_TryAlloc" => alloc as *mut c_void,
                b"RedisModule_Calloc" => calloc as *mut c_void,
                b"RedisModule_Realloc" => realloc as *mut c_void,
                b"RedisModule_Free" => free as *mut c_void,
                _ => return 1,
            };
            // SAFETY: room for a pointer.
            unsafe { at.write(function) };
            0
        }
    }

    #[test]
    fn any_alignment() {
        // (The process' own allocator is another object: FUNCTIONS is not set for it here but in this very test, so it is not set at all.)
        let functions = Functions {
            try_alloc: server::alloc,
            calloc: server::calloc,
            try_calloc: None,
            realloc: server::realloc,
            free: server::free,
        };
        for align in [16, 64, 128, 4096] {
            for size in [1, 31, 200, 70_000] {
                // SAFETY: any size.
                let piece = unsafe { (functions.try_alloc)(size + align) };
                assert_eq!((piece.addr() % 8, piece.addr() % 16), (0, 8), "the worst case");
                // SAFETY: `align` bytes more.
                let at = unsafe { place(piece, align) };
                assert_eq!(at.addr() % align, 0);
                let skipped = at.addr() - piece.addr();
                assert!((ALIGNED..=align).contains(&skipped), "{skipped} of {align}");
                // SAFETY: within the piece.
                unsafe { at.write_bytes(1, size) };
                // SAFETY: the note.
                let noted = unsafe { at.cast::<*mut c_void>().wrapping_sub(1).read() };
                assert_eq!(noted, piece);
                // SAFETY: a piece that was given.
                unsafe { (functions.free)(noted) };
            }
        }
        let zeros = functions.zeros(LARGE);
        assert!(!zeros.is_null());
        // SAFETY: a piece that was given.
        unsafe { (functions.free)(zeros) };
    }

    #[test]
    fn a_server_without_one_of_them() {
        unsafe extern "C" fn none(_: *const std::ffi::c_char, _: *mut *mut c_void) -> c_int {
            1
        }
        // SAFETY: it finds nothing.
        let refused = unsafe { begin(none) };
        assert_eq!(refused, Err(c"RedisModule_TryAlloc"));
        // SAFETY: the types are right.
        let there: Option<Alloc> = unsafe { found(server::get, c"RedisModule_TryAlloc") };
        assert!(there.is_some());
    }
}

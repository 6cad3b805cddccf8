//! Large arrays: zero pages from the system, aligned, huge pages asked for.

#![allow(unsafe_code)]

use crate::sync::{AtomicPair, AtomicU32, AtomicU64, Budget, Share};
use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    ops::{Deref, Range},
    ptr::NonNull,
    sync::{Arc, OnceLock},
};

/// From here on an array starts at a huge page's border and asks for huge pages: a random access then seldom misses the
/// TLB as well.
const HUGE: usize = 2 << 20;

#[cfg(not(windlass_loom))]
const PAGE: usize = 4096;

/// Types for which zero bytes are a value, and which have nothing to drop.
///
/// # Safety
/// All bytes zero is a valid value, and the type does not need drop.
pub(crate) unsafe trait Zeroable: Sync + Send {
    /// That value, for models: loom's atomics have to be made one by one.
    #[cfg(windlass_loom)]
    fn zero() -> Self;
}

/// Words in a [`Line`].
pub(crate) const WORDS: usize = if cfg!(windlass_loom) { 4 } else { 8 };

/// A cache line of words.
// (In models words are larger, and there must be no padding.)
#[cfg_attr(windlass_loom, repr(C))]
#[cfg_attr(not(windlass_loom), repr(C, align(64)))]
pub(crate) struct Line([AtomicU64; WORDS]);

impl Deref for Line {
    type Target = [AtomicU64; WORDS];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU64; WORDS] {
        &self.0
    }
}

// SAFETY: integers without padding; 0 is a value, nothing needs drop.
unsafe impl Zeroable for Line {
    #[cfg(windlass_loom)]
    fn zero() -> Line {
        Line(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

// SAFETY: 16 bytes of integers; 0 is a value (0, 0), nothing needs drop.
unsafe impl Zeroable for AtomicPair {
    #[cfg(windlass_loom)]
    fn zero() -> AtomicPair {
        AtomicPair::new(crate::sync::Pair::default())
    }
}

// SAFETY: an integer; 0 is a value, nothing needs drop.
unsafe impl Zeroable for AtomicU32 {
    #[cfg(windlass_loom)]
    fn zero() -> AtomicU32 {
        AtomicU32::new(0)
    }
}

impl Slab<Line> {
    /// The words of all lines.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: lines are arrays of words without padding (asserted below), as aligned as words are.
        unsafe { std::slice::from_raw_parts(self.items.as_ptr().cast(), self.len * WORDS) }
    }
}

const _: () = assert!(size_of::<Line>() == WORDS * size_of::<AtomicU64>());

/// A fixed array of zeroed `T`. Pages are taken from the system when they are first touched.
pub(crate) struct Slab<T: Zeroable> {
    items: NonNull<T>,
    len: usize,
    owner: Owner,
}

/// Whose the memory of an array is.
enum Owner {
    /// The array's.
    Allocated { allocation: Zeroed, layout: Layout, _share: Share },
    /// A file's.
    #[cfg(all(feature = "mmap", unix, not(windlass_loom)))]
    Mapped { _file: Arc<Mapped> },
}

// SAFETY: owns its items like a `Box<[T]>`.
unsafe impl<T: Zeroable> Send for Slab<T> {}
// SAFETY: the same.
unsafe impl<T: Zeroable> Sync for Slab<T> {}

impl<T: Zeroable> Slab<T> {
    /// `None` if the system has not that much memory, or there may not be so much.
    #[cfg(not(windlass_loom))]
    pub(crate) fn new(len: usize, budget: &Arc<Budget>) -> Option<Slab<T>> {
        let bytes = len.checked_mul(size_of::<T>()).filter(|&b| b > 0)?;
        let share = budget.take(bytes as u64)?;
        let huge = bytes >= HUGE && ALLOCATOR.get().is_none();
        let align = if huge { HUGE } else { align_of::<T>().max(64) };
        // More than needed, with an alignment of 16: then the allocator hands out untouched pages (calloc), where for a
        // larger alignment it would clear, and so touch, every one.
        let layout = Layout::from_size_align(bytes.checked_add(align)?, 16).ok()?;
        let allocation = zeroed(layout)?;
        if !is_some_left(bytes) {
            // SAFETY: it came from there, with this layout.
            unsafe { give_back(&allocation, layout) };
            return None;
        }
        let skip = allocation.start.align_offset(align);
        // SAFETY: skip < align, and bytes + align were allocated.
        let items = unsafe { allocation.start.add(skip) };
        if huge {
            ask_for_huge_pages(items, bytes);
        }
        let owner = Owner::Allocated { allocation, layout, _share: share };
        Some(Slab { items: items.cast(), len, owner })
    }

    #[cfg(windlass_loom)]
    pub(crate) fn new(len: usize, budget: &Arc<Budget>) -> Option<Slab<T>> {
        let layout = Layout::array::<T>(len).ok().filter(|l| l.size() > 0)?;
        let share = budget.take(layout.size() as u64)?;
        let allocation = zeroed(layout)?;
        let items = allocation.start.cast::<T>();
        for i in 0..len {
            // SAFETY: i < len, of what was allocated.
            let item = unsafe { items.add(i) };
            // SAFETY: fresh memory, aligned for T.
            unsafe { item.write(T::zero()) };
        }
        Some(Slab { items, len, owner: Owner::Allocated { allocation, layout, _share: share } })
    }
}

impl<T: Zeroable> Slab<T> {
    /// Takes the memory of these items from the system now. (A huge page takes a tenth of a millisecond to clear.)
    pub(crate) fn touch(&mut self, items: Range<usize>) {
        let end = items.end.min(self.len);
        #[cfg(not(windlass_loom))]
        for i in (items.start * size_of::<T>()..end * size_of::<T>()).step_by(PAGE) {
            // SAFETY: less than the `len` items that there are.
            let byte = unsafe { self.items.cast::<u8>().add(i) };
            // SAFETY: `&mut self`: nobody else has seen them, so all is zero and may be written.
            unsafe { byte.write_volatile(0) };
        }
        let _ = end;
    }
}

impl<T: Zeroable> Deref for Slab<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `len` items of zeroed (see `Zeroable`), aligned memory, ours until drop.
        unsafe { std::slice::from_raw_parts(self.items.as_ptr(), self.len) }
    }
}

impl<T: Zeroable> Drop for Slab<T> {
    fn drop(&mut self) {
        #[cfg(windlass_loom)]
        for i in 0..self.len {
            // SAFETY: i < len, of what was allocated.
            let item = unsafe { self.items.add(i) };
            // SAFETY: written in `new`, dropped here only. (loom's atomics do need it.)
            unsafe { item.drop_in_place() };
        }
        match &self.owner {
            // SAFETY: allocated in `new` with this layout, and nobody uses it any more.
            Owner::Allocated { allocation, layout, .. } => unsafe { give_back(allocation, *layout) },
            #[cfg(all(feature = "mmap", unix, not(windlass_loom)))]
            Owner::Mapped { .. } => {}
        }
    }
}

/// A file in memory, which no other process has. What is stored there is the file's at once, also if the process is killed; it is on the disk when
/// the system has written it.
#[cfg(all(feature = "mmap", unix, not(windlass_loom)))]
pub(crate) struct Mapped {
    map: memmap2::MmapRaw,
    /// Holds the lock.
    file: std::fs::File,
}

#[cfg(all(feature = "mmap", unix, not(windlass_loom)))]
impl Drop for Mapped {
    /// The lock is let go here: a process that another thread is about to start may have the descriptor for a moment.
    fn drop(&mut self) {
        use std::os::fd::AsRawFd;
        // SAFETY: a descriptor that is open; the call keeps nothing.
        unsafe { libc::flock(self.file.as_raw_fd(), libc::LOCK_UN) };
    }
}

#[cfg(all(feature = "mmap", unix, not(windlass_loom)))]
impl Mapped {
    /// Locks a file for this process, and this opening of it, until it is closed. `false`: another has it.
    pub(crate) fn lock(file: &std::fs::File) -> std::io::Result<bool> {
        use std::os::fd::AsRawFd;
        // SAFETY: a descriptor that is open; the call keeps nothing.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Ok(true);
        }
        match std::io::Error::last_os_error() {
            error if error.kind() == std::io::ErrorKind::WouldBlock => Ok(false),
            error => Err(error),
        }
    }

    /// All of a file, which was locked.
    pub(crate) fn new(file: std::fs::File) -> std::io::Result<Arc<Mapped>> {
        let map = memmap2::MmapOptions::new().map_raw(&file)?;
        Ok(Arc::new(Mapped { map, file }))
    }

    /// Lines from a byte on, which nobody else is given. `None`: the file ends before, or the byte is not at a line's border.
    pub(crate) fn lines(self: &Arc<Mapped>, at: usize, len: usize) -> Option<Slab<Line>> {
        let end = len.checked_mul(size_of::<Line>())?.checked_add(at)?;
        if end > self.map.len() || !at.is_multiple_of(align_of::<Line>()) {
            return None;
        }
        // SAFETY: within the map, which begins at a page's border.
        let items = unsafe { NonNull::new(self.map.as_mut_ptr())?.add(at) };
        Some(Slab { items: items.cast(), len, owner: Owner::Mapped { _file: self.clone() } })
    }

    /// Returns when all that was stored is on the disk.
    pub(crate) fn flush(&self) -> std::io::Result<()> {
        self.map.flush()
    }
}

/// So many items that are no zero bytes, or not a [`Slab`]'s affair. `None` if the system has not that much memory.
pub(crate) fn filled<T>(len: usize, item: impl FnMut() -> T) -> Option<Box<[T]>> {
    let mut items = Vec::new();
    items.try_reserve_exact(len).ok()?;
    items.extend(std::iter::repeat_with(item).take(len));
    Some(items.into())
}

/// A part of an array, or all of it, which goes when all of its parts have.
pub(crate) struct Part<T: Zeroable> {
    items: NonNull<T>,
    len: usize,
    whole: Arc<Slab<T>>,
}

// SAFETY: shares a slab, which may be sent and shared.
unsafe impl<T: Zeroable> Send for Part<T> {}
// SAFETY: the same.
unsafe impl<T: Zeroable> Sync for Part<T> {}

impl<T: Zeroable> Part<T> {
    /// `None` if the array ends before.
    pub(crate) fn of(whole: &Arc<Slab<T>>, items: Range<usize>) -> Option<Part<T>> {
        let part = whole.get(items)?;
        let (items, len) = (NonNull::from(part).cast(), part.len());
        Some(Part { items, len, whole: whole.clone() })
    }

    pub(crate) fn all(whole: Slab<T>) -> Part<T> {
        Part { items: whole.items, len: whole.len, whole: Arc::new(whole) }
    }

    /// The same part.
    pub(crate) fn share(&self) -> Part<T> {
        Part { items: self.items, len: self.len, whole: self.whole.clone() }
    }

    /// [`Slab::touch`], of all of an array that nobody shares.
    pub(crate) fn touch(&mut self, items: Range<usize>) {
        if let Some(whole) = Arc::get_mut(&mut self.whole) {
            whole.touch(items);
        }
    }
}

impl<T: Zeroable> Deref for Part<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: a part of the slab, which stays where it is and as long as this.
        unsafe { std::slice::from_raw_parts(self.items.as_ptr(), self.len) }
    }
}

/// From here on memory comes from the system itself: the allocator would use memory of its own again, and clear, and so touch, all of it.
#[cfg(target_os = "linux")]
const MAPPED: usize = if cfg!(any(windlass_loom, miri)) { isize::MAX.unsigned_abs() } else { HUGE };

/// Set: never.
static ALLOCATOR: OnceLock<()> = OnceLock::new();

/// From now on large arrays, too, come from the global allocator: for a library in a process whose allocator counts what there is. They have no huge pages then.
#[doc(hidden)]
pub fn take_all_from_the_allocator() {
    ALLOCATOR.get_or_init(|| ());
}

/// Memory that was all zero.
struct Zeroed {
    start: NonNull<u8>,
    /// From the system itself.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    mapped: bool,
}

/// `None` if there is not so much, or the size is 0.
fn zeroed(layout: Layout) -> Option<Zeroed> {
    if layout.size() == 0 {
        return None;
    }
    #[cfg(target_os = "linux")]
    if layout.size() >= MAPPED && ALLOCATOR.get().is_none() {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: fresh pages, wherever the system wants them.
        let pages = unsafe { libc::mmap(std::ptr::null_mut(), layout.size(), protection, flags, -1, 0) };
        let start = NonNull::new(pages.cast()).filter(|_| pages != libc::MAP_FAILED)?;
        return Some(Zeroed { start, mapped: true });
    }
    // SAFETY: the size is not 0.
    Some(Zeroed { start: NonNull::new(unsafe { alloc_zeroed(layout) })?, mapped: false })
}

/// Whether there is still some for what is smaller than an array of so many bytes. An array may do without, or be made smaller; a list of a few lines may not:
/// where it finds nothing, the program ends.
#[cfg(not(windlass_loom))]
fn is_some_left(bytes: usize) -> bool {
    let some = (bytes / 8).clamp(256 << 10, 64 << 20);
    let layout = Layout::from_size_align(some, 16).ok();
    let there = layout.and_then(|layout| Some((zeroed(layout)?, layout)));
    // SAFETY: it came from there, with this layout.
    there.map(|(some, layout)| unsafe { give_back(&some, layout) }).is_some()
}

/// # Safety
/// It came from [`zeroed`] with this layout, and nobody uses it any more.
unsafe fn give_back(allocation: &Zeroed, layout: Layout) {
    #[cfg(target_os = "linux")]
    if allocation.mapped {
        // SAFETY: what was mapped, with this size.
        unsafe { libc::munmap(allocation.start.as_ptr().cast(), layout.size()) };
        return;
    }
    // SAFETY: allocated with this layout.
    unsafe { dealloc(allocation.start.as_ptr(), layout) };
}

#[cfg(all(any(target_os = "linux", target_os = "android"), not(windlass_loom)))]
fn ask_for_huge_pages(start: NonNull<u8>, bytes: usize) {
    if bytes >= HUGE {
        // SAFETY: advice on pages of our own, from a page's border (`HUGE`); whether it is taken does not matter.
        unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(all(not(any(target_os = "linux", target_os = "android")), not(windlass_loom)))]
fn ask_for_huge_pages(_: NonNull<u8>, _: usize) {}

/// The machine's memory in bytes, where the system tells. An array beyond it could be mapped, but not filled.
pub(crate) fn physical_memory() -> Option<u64> {
    #[cfg(unix)]
    {
        // SAFETY: plain queries.
        let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
        // SAFETY: the same.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        u64::try_from(pages).ok()?.checked_mul(u64::try_from(size).ok()?).filter(|&b| b > 0)
    }
    #[cfg(not(unix))]
    None
}

//! 128-bit atomics.
//!
//! portable-atomic has them on every platform, but on x86-64 it finds out at run time what the machine can do and calls
//! through a pointer, each time. [`Native`] is the proof that this was found out once; code that is generic over [`Wide`]
//! and has it uses the two instructions themselves.

use portable_atomic::Ordering::{AcqRel, Acquire};

/// 16 bytes that are loaded and compared-and-exchanged as one. Zero bytes are a valid value (0, 0).
#[repr(transparent)]
pub(crate) struct AtomicPair(portable_atomic::AtomicU128);

impl AtomicPair {
    pub(crate) fn new(pair: Pair) -> AtomicPair {
        AtomicPair(portable_atomic::AtomicU128::new(Portable::word(pair)))
    }
}

/// What an [`AtomicPair`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub(crate) struct Pair {
    pub(crate) low: u64,
    pub(crate) high: u64,
}

/// A way to do the operations. There are no others: stores and fetch-and-modify have no place in the protocols.
pub(crate) trait Wide: Copy {
    /// Acquire.
    fn load(self, cell: &AtomicPair) -> Pair;

    /// The low half alone. Acquire.
    fn low(self, cell: &AtomicPair) -> u64;

    /// The high half alone. Acquire.
    fn high(self, cell: &AtomicPair) -> u64;

    /// Acquire and release on success, acquire on failure. Whether it was done.
    fn cas(self, cell: &AtomicPair, old: Pair, new: Pair) -> bool;
}

/// What to do with a structure's operations, chosen once when it is built.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AnyWide {
    Portable(Portable),
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
    Native(Native),
}

impl AnyWide {
    pub(crate) fn detect() -> AnyWide {
        #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
        if let Some(native) = Native::detect() {
            return AnyWide::Native(native);
        }
        AnyWide::Portable(Portable)
    }
}

/// Calls `$body` with `$wide` bound to the way found.
macro_rules! with_wide {
    ($any:expr, $wide:ident => $body:expr) => {
        match $any {
            $crate::sync::AnyWide::Portable($wide) => $body,
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri), not(windlass_loom)))]
            $crate::sync::AnyWide::Native($wide) => $body,
        }
    };
}
pub(crate) use with_wide;

/// Whether 128-bit operations are lock-free here. (Where not, portable-atomic takes one of a set of global locks.)
pub(crate) fn is_lock_free() -> bool {
    portable_atomic::AtomicU128::is_lock_free()
}

/// Whatever portable-atomic has for the platform.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Portable {
    #[inline(always)]
    fn word(pair: Pair) -> u128 {
        u128::from(pair.high) << 64 | u128::from(pair.low)
    }
}

impl Wide for Portable {
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // the two halves
    fn load(self, cell: &AtomicPair) -> Pair {
        let word = cell.0.load(Acquire);
        Pair { low: word as u64, high: (word >> 64) as u64 }
    }

    #[inline(always)]
    fn low(self, cell: &AtomicPair) -> u64 {
        self.load(cell).low
    }

    #[inline(always)]
    fn high(self, cell: &AtomicPair) -> u64 {
        self.load(cell).high
    }

    #[inline(always)]
    fn cas(self, cell: &AtomicPair, old: Pair, new: Pair) -> bool {
        cell.0.compare_exchange(Self::word(old), Self::word(new), AcqRel, Acquire).is_ok()
    }
}

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
pub(crate) use native::Native;

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
#[allow(unsafe_code)]
mod native {
    use super::{AtomicPair, Pair, Wide};
    use std::{
        arch::asm,
        sync::atomic::{AtomicU64, Ordering::Acquire},
    };

    /// The machine has `cmpxchg16b`, and its aligned 16-byte vector loads are atomic: Intel, AMD and Zhaoxin promise that
    /// for processors with AVX (Intel SDM volume 3, 10.1.1; AMD APM volume 2, 7.3.2).
    ///
    /// Mixing these with portable-atomic's operations on one cell is sound: where it finds the same features it uses the
    /// same two instructions.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Native(());

    impl Native {
        pub(super) fn detect() -> Option<Native> {
            let features = is_x86_feature_detected!("cmpxchg16b") && is_x86_feature_detected!("avx");
            (features && vendor_promises_atomic_loads()).then_some(Native(()))
        }
    }

    fn vendor_promises_atomic_loads() -> bool {
        #[allow(unused_unsafe)] // safe to call since Rust 1.94
        // SAFETY: every 64-bit processor has the instruction, and leaf 0.
        let id = unsafe { std::arch::x86_64::__cpuid(0) };
        let vendor = [id.ebx, id.edx, id.ecx].map(u32::to_le_bytes).concat();
        [b"GenuineIntel", b"AuthenticAMD", b"CentaurHauls", b"  Shanghai  "].iter().any(|v| vendor == *v)
    }

    /// Half of a cell, in the order of this processor: the low one first.
    #[inline(always)]
    fn half(cell: &AtomicPair, i: usize) -> &AtomicU64 {
        // (Wrapping: it stays within the cell.)
        let half = (&raw const *cell).cast::<AtomicU64>().wrapping_add(i);
        // SAFETY: in bounds and aligned. With `Native` cells are changed by one instruction, the assembly of `cas`, which
        // the language sees as some change of both halves: no access of another size races with a load of one.
        unsafe { &*half }
    }

    impl Wide for Native {
        #[inline(always)]
        fn load(self, cell: &AtomicPair) -> Pair {
            let (low, high);
            // SAFETY: `self` proves AVX; `cell` is 16 bytes, aligned, and live. Without `nomem` or `readonly` the compiler
            // moves no access across: an acquire load, as all loads are on x86.
            unsafe {
                asm!("vmovdqa {pair}, xmmword ptr [{cell}]",
                     "vmovq {low}, {pair}",
                     "vpextrq {high}, {pair}, 1",
                     cell = in(reg) cell, pair = out(xmm_reg) _, low = lateout(reg) low, high = lateout(reg) high,
                     options(nostack, preserves_flags));
            }
            Pair { low, high }
        }

        #[inline(always)]
        fn low(self, cell: &AtomicPair) -> u64 {
            half(cell, 0).load(Acquire)
        }

        #[inline(always)]
        fn high(self, cell: &AtomicPair) -> u64 {
            half(cell, 1).load(Acquire)
        }

        #[inline(always)]
        fn cas(self, cell: &AtomicPair, old: Pair, new: Pair) -> bool {
            let done: u64;
            // SAFETY: `self` proves `cmpxchg16b`; `cell` is 16 bytes, aligned, live, and of a type that allows writes
            // through a shared reference. rbx cannot be an operand, so it is swapped in and restored; the others are named, as
            // a free choice could fall on rbx.
            unsafe {
                asm!("xchg rsi, rbx",
                     "lock cmpxchg16b xmmword ptr [rdi]",
                     "sete al",
                     "mov rbx, rsi",
                     in("rdi") cell,
                     inout("rsi") new.low => _,
                     in("rcx") new.high,
                     inout("rax") old.low => done,
                     inout("rdx") old.high => _,
                     options(nostack));
            }
            done & 0xff != 0
        }
    }
}

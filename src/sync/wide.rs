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

    /// From the lowest bit on every other one for a cell: whether these bits of the low half are these. Each is loaded as by `low`, all of them
    /// in no order.
    #[inline(always)]
    fn with_low(self, cells: &[AtomicPair], mask: u64, bits: u64) -> u32 {
        each_with_low(self, cells, mask, bits)
    }

    /// Acquire and release on success, acquire on failure. Whether it was done.
    fn cas(self, cell: &AtomicPair, old: Pair, new: Pair) -> bool;
}

#[inline(always)]
fn each_with_low(wide: impl Wide, cells: &[AtomicPair], mask: u64, bits: u64) -> u32 {
    let has = |cell| u32::from(wide.low(cell) & mask == bits);
    cells.iter().enumerate().fold(0, |all, (i, cell)| all | has(cell) << (2 * i))
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
        fn with_low(self, cells: &[AtomicPair], mask: u64, bits: u64) -> u32 {
            let Ok(cells) = <&[AtomicPair; 8]>::try_from(cells) else {
                return super::each_with_low(self, cells, mask, bits);
            };
            let found: u32;
            macro_rules! look {
                ($($masked:literal),*) => {
                    // Two cells' low halves side by side, in four vectors; compared; and what came of it packed to two bytes for each.
                    asm!("vmovq {k}, {bits}", "vmovddup {k}, {k}",
                         "vmovdqa {a}, xmmword ptr [{at}]",
                         "vmovdqa {b}, xmmword ptr [{at} + 32]",
                         "vmovdqa {c}, xmmword ptr [{at} + 64]",
                         "vmovdqa {d}, xmmword ptr [{at} + 96]",
                         "vpunpcklqdq {a}, {a}, xmmword ptr [{at} + 16]",
                         "vpunpcklqdq {b}, {b}, xmmword ptr [{at} + 48]",
                         "vpunpcklqdq {c}, {c}, xmmword ptr [{at} + 80]",
                         "vpunpcklqdq {d}, {d}, xmmword ptr [{at} + 112]",
                         "/* {m} {mask} */", $($masked,)*
                         "vpcmpeqq {a}, {a}, {k}", "vpcmpeqq {b}, {b}, {k}",
                         "vpcmpeqq {c}, {c}, {k}", "vpcmpeqq {d}, {d}, {k}",
                         "vpackssdw {a}, {a}, {b}", "vpackssdw {c}, {c}, {d}", "vpacksswb {a}, {a}, {c}",
                         "vpmovmskb {found:e}, {a}",
                         at = in(reg) cells.as_ptr(), mask = in(reg) mask, bits = in(reg) bits,
                         found = lateout(reg) found, m = out(xmm_reg) _, k = out(xmm_reg) _,
                         a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
                         options(nostack, preserves_flags))
                };
            }
            // To the language these are acquire loads of the halves, as in `load`. Should the machine split one further, it is none that was there: a cell that
            // seems to be the one is loaded again, and one that seems not to be was another's before or after.
            if mask == u64::MAX {
                // SAFETY: `self` proves AVX; 8 cells of 16 bytes, aligned, and live.
                unsafe { look!() };
            } else {
                // SAFETY: the same.
                unsafe {
                    look!(
                        "vmovq {m}, {mask}",
                        "vmovddup {m}, {m}",
                        "vpand {a}, {a}, {m}",
                        "vpand {b}, {b}, {m}",
                        "vpand {c}, {c}, {m}",
                        "vpand {d}, {d}, {m}"
                    );
                }
            }
            found & 0x5555
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

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use std::array;

    /// Every set of cells, with and without a mask, in eights (one look) and in other numbers.
    #[test]
    fn cells_with_a_low_half() {
        const MASK: u64 = !(0xffff_ffff << 3);
        for set in 0_u32..256 {
            let is_in = |i: usize| set >> i & 1 != 0;
            // The others differ in one bit, or have the bits in the other half.
            let low = |i: usize| {
                if is_in(i) { 7_u64 << 40 } else { (7 << 40) ^ (1 << ((set as usize + 9 * i) % 64)) }
            };
            let pair = |i: usize| Pair { low: low(i), high: if is_in(i) { 0 } else { 7 << 40 } };
            let cells: [AtomicPair; 8] = array::from_fn(|i| AtomicPair::new(pair(i)));
            for (mask, len) in [(u64::MAX, 8), (MASK, 8), (u64::MAX, 5), (MASK, 7)] {
                let has = |i: &usize| low(*i) & mask == (7 << 40) & mask;
                let right = (0..len).filter(has).fold(0, |bits, i| bits | 1 << (2 * i));
                let bits = (7 << 40) & mask;
                assert_eq!(Portable.with_low(&cells[..len], mask, bits), right);
                let found = with_wide!(AnyWide::detect(), wide => wide.with_low(&cells[..len], mask, bits));
                assert_eq!(found, right, "{set:#b} {mask:#x} {len}");
            }
        }
    }
}

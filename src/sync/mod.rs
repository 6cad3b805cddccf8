//! L0: everything that threads share goes through this module, so that the models in `loom-tests` run the code that
//! ships. It is the only place that names std's, portable-atomic's, crossbeam's or loom's primitives.

/// Whether a step is left out: only ever true in a model's negative twin, and gone from other builds.
macro_rules! twin {
    ($flaw:ident) => {{
        #[cfg(windlass_loom)]
        {
            $crate::sync::twins::planted($crate::sync::twins::Twin::$flaw)
        }
        #[cfg(not(windlass_loom))]
        {
            false
        }
    }};
}
pub(crate) use twin;

mod budget;
mod counter;
pub(crate) mod epoch;
mod lanes;
mod run;
pub(crate) mod saturating;
mod tried;
#[cfg(windlass_loom)]
pub(crate) mod twins;
#[cfg(not(windlass_loom))]
#[path = "wide.rs"]
mod wide;
#[cfg(windlass_loom)]
#[path = "wide_model.rs"]
mod wide;

pub(crate) use budget::{Budget, Share};
pub(crate) use counter::{Counter, OWN, Switch, own, shard};
pub(crate) use crossbeam_utils::CachePadded;
pub(crate) use epoch::Flagpole;
pub(crate) use lanes::halves_with;
pub(crate) use run::{Look, Number, Numbers, Run};
pub(crate) use tried::Tried;
#[cfg(windlass_loom)]
pub(crate) use wide::Portable;
pub(crate) use wide::{AnyWide, AtomicPair, Pair, Wide, is_lock_free, with_wide};

#[cfg(not(windlass_loom))]
pub(crate) use std::sync::{
    Arc,
    atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering, fence},
};

#[cfg(windlass_loom)]
pub(crate) use loom::sync::{
    Arc,
    atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering, fence},
};

/// Called before an attempt is made again because another thread's step came first.
#[inline]
pub(crate) fn retry() {
    #[cfg(not(windlass_loom))]
    std::hint::spin_loop();
    #[cfg(windlass_loom)]
    loom::thread::yield_now();
}

/// Asks for the cache lines of `target`, to be written to soon.
#[inline(always)]
pub(crate) fn prefetch<T>(target: *const T) {
    #[cfg(all(target_arch = "x86_64", not(windlass_loom), not(miri)))]
    for line in 0..size_of::<T>().div_ceil(64) {
        // SAFETY: a prefetch has no effect that a program can see, whatever the address.
        #[allow(unsafe_code)]
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(target.cast::<i8>().wrapping_add(64 * line));
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(windlass_loom), not(miri))))]
    let _ = target;
}

/// Asks for the cache line of `target`, to be written to soon, for this core alone: where another core has it, it moves once instead of twice.
#[inline(always)]
pub(crate) fn prefetch_to_write<T>(target: *const T) {
    #[cfg(all(target_arch = "x86_64", not(windlass_loom), not(miri)))]
    // SAFETY: a prefetch has no effect that a program can see, whatever the address. (Processors of before 2014 may take it for a no-op.)
    #[allow(unsafe_code)]
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) target, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(windlass_loom), not(miri))))]
    let _ = target;
}

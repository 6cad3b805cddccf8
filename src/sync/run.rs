//! Numbers, each given out once, and slots for them, each written at most once, by whoever has its number.
#![allow(unsafe_code)]

use super::{
    AtomicPair, AtomicU64,
    Ordering::{AcqRel, Acquire},
    Pair, Wide, retry,
};
use cell::UnsafeCell;
use std::mem::MaybeUninit;

#[cfg(windlass_loom)]
use loom::cell;

/// What loom has, by the same names.
#[cfg(not(windlass_loom))]
mod cell {
    pub(super) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(super) fn new(content: T) -> UnsafeCell<T> {
            UnsafeCell(std::cell::UnsafeCell::new(content))
        }

        #[inline(always)]
        pub(super) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        #[inline(always)]
        pub(super) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

/// Gives out numbers from 0 on, with stamps that never go back from one number to the next: one word of 128 bits.
pub(crate) struct Numbers(AtomicPair);

/// A number that nobody else has: neither `Clone` nor `Copy`, and only made here.
pub(crate) struct Number {
    value: u64,
    stamp: u64,
}

impl Number {
    pub(crate) fn value(&self) -> u64 {
        self.value
    }

    pub(crate) fn stamp(&self) -> u64 {
        self.stamp
    }
}

impl Numbers {
    pub(crate) fn new() -> Numbers {
        Numbers::from(0)
    }

    /// .. from `next` on: for runs in which none has been written as yet.
    pub(crate) fn from(next: u64) -> Numbers {
        Numbers(AtomicPair::new(Pair { low: next, high: 0 }))
    }

    /// The next one to be given out. Acquire; pairs with the release of `take`.
    #[inline(always)]
    pub(crate) fn next(&self, wide: impl Wide) -> u64 {
        wide.low(&self.0)
    }

    /// The next one, if it `may` be taken, with `stamp` or that of the number before if that is later.
    #[inline(always)]
    pub(crate) fn take(&self, wide: impl Wide, stamp: u64, may: impl Fn(u64) -> bool) -> Option<Number> {
        loop {
            let old = wide.load(&self.0);
            if !may(old.low) {
                return None;
            }
            let new = Pair { low: old.low + 1, high: old.high.max(stamp) };
            if wide.cas(&self.0, old, new) {
                return Some(Number { value: old.low, stamp: new.high });
            }
            retry();
        }
    }
}

/// Slots of consecutive numbers.
pub(crate) struct Run<T> {
    first: u64,
    blocks: Box<[Block<T>]>,
}

/// Slots on cache lines of their own: where one is as large as a line, it is on one.
#[repr(align(64))]
struct Block<T>([Slot<T>; BLOCK]);

/// (Of so many that no size of a slot leaves room behind them.)
const BLOCK: usize = if cfg!(windlass_loom) { 1 } else { 8 };

struct Slot<T> {
    /// 0: empty, 1: skipped, else filled, and 2 more than what is said of it.
    word: AtomicU64,
    /// Written by who has the number, before the word says so; from then on until it is dropped it is only read.
    content: UnsafeCell<MaybeUninit<T>>,
}

const EMPTY: u64 = 0;
const SKIPPED: u64 = 1;
const FILLED: u64 = 2;

/// What is in a slot.
pub(crate) enum Look<'a, T> {
    Empty,
    /// It was empty when the next number's turn came, and stays so.
    Skipped,
    /// And what is said of it.
    Filled(u64, &'a T),
}

// SAFETY: a slot's content is written by the one thread that has its number, and read by others after they have acquired its word;
// whoever drops the run has it alone.
unsafe impl<T: Send + Sync> Sync for Run<T> {}
// SAFETY: it owns what is in it.
unsafe impl<T: Send + Sync> Send for Run<T> {}

impl<T> Run<T> {
    /// `slots`: a multiple of 8.
    pub(crate) fn new(first: u64, slots: usize) -> Run<T> {
        let slot = || Slot { word: AtomicU64::new(EMPTY), content: UnsafeCell::new(MaybeUninit::uninit()) };
        let block = || Block(std::array::from_fn(|_| slot()));
        Run { first, blocks: (0..slots / BLOCK).map(|_| block()).collect() }
    }

    /// The number of the first slot.
    #[inline(always)]
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// Without slots.
    #[inline(always)]
    pub(crate) fn is_gone(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Bytes of so many slots.
    pub(crate) fn bytes(slots: usize) -> u64 {
        (slots / BLOCK * size_of::<Block<T>>()) as u64
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // what is out of bounds is found out
    fn slot(&self, number: u64) -> Option<&Slot<T>> {
        let i = number.wrapping_sub(self.first) as usize;
        self.blocks.get(i / BLOCK).map(|block| &block.0[i % BLOCK])
    }

    /// Where the slot of a number is, to be asked for.
    #[inline(always)]
    pub(crate) fn address(&self, number: u64) -> Option<*const [u8; 64]> {
        self.slot(number).map(|slot| (&raw const *slot).cast())
    }

    /// `None`: there is no such slot. Acquire; pairs with the release of whatever was done with the slot before.
    #[inline(always)]
    pub(crate) fn look(&self, number: u64) -> Option<Look<'_, T>> {
        let slot = self.slot(number)?;
        Some(match slot.word.load(Acquire) {
            EMPTY => Look::Empty,
            SKIPPED => Look::Skipped,
            word => Look::Filled(word - FILLED, slot.content()),
        })
    }

    /// Fills the slot of a number, and says `said` of it. Gives the content back if the slot was skipped, or is not here.
    pub(crate) fn fill(&self, number: Number, content: T, said: u64) -> Result<&T, T> {
        let Some(slot) = self.slot(number.value) else { return Err(content) };
        // SAFETY: nobody else writes here, since nobody else has the number (there is one `Numbers` for all runs in which a number can
        // be); and nobody reads, since the word has not said `FILLED` yet, and says it only below.
        slot.content.with_mut(|place| unsafe { place.cast::<T>().write(content) });
        if twin!(FillBlindly) {
            slot.word.store(FILLED + said, std::sync::atomic::Ordering::Release);
            return Ok(slot.content());
        }
        // Release: whoever finds it filled finds the content.
        match slot.word.compare_exchange(EMPTY, FILLED + said, AcqRel, Acquire) {
            Ok(_) => Ok(slot.content()),
            // SAFETY: written above, and still this thread's alone: the word will never say `FILLED`.
            Err(_) => Err(slot.content.with_mut(|place| unsafe { place.cast::<T>().read() })),
        }
    }

    /// Whether it was this call that closed the empty slot.
    pub(crate) fn skip(&self, number: u64) -> bool {
        let skip = |slot: &Slot<T>| slot.word.compare_exchange(EMPTY, SKIPPED, AcqRel, Acquire).is_ok();
        self.slot(number).is_some_and(skip)
    }

    /// Says something else of a filled slot. Whether it was this call that did.
    #[inline(always)]
    pub(crate) fn change(&self, number: u64, from: u64, to: u64) -> bool {
        // (Of an empty one nothing else can be said in this way: both are `FILLED` or more.)
        let change =
            |slot: &Slot<T>| slot.word.compare_exchange(FILLED + from, FILLED + to, AcqRel, Acquire).is_ok();
        self.slot(number).is_some_and(change)
    }
}

impl<T> Slot<T> {
    /// Of a slot whose word has been seen to say `FILLED`.
    #[inline(always)]
    fn content(&self) -> &T {
        // SAFETY: filled, and from then on not written to; as long as the run is borrowed it is not dropped.
        self.content.with(|place| unsafe { &*place.cast::<T>() })
    }
}

impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        if self.word.load(Acquire) >= FILLED {
            // SAFETY: filled, dropped nowhere else, and nobody borrows it any more.
            self.content.with_mut(|place| unsafe { place.cast::<T>().drop_in_place() });
        }
    }
}

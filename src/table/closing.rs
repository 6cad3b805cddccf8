//! Rows that have overflowed are made narrow again. Why that is sound: `group.rs`, "Closing".

use super::{
    entry::{Entry, Flag, High},
    group::{Group, OVERFLOWN},
};
use crate::sync::{
    AtomicPair, AtomicU8,
    Ordering::{Acquire, Relaxed},
    Wide, prefetch,
};
use std::iter;

impl<const BUCKETS: usize, const CELLS: usize> Group<BUCKETS, CELLS> {
    /// Asks for what `close` and `open` will look at, mostly.
    pub(super) fn prefetch_overflown(&self, overflown: &AtomicU8) {
        for bucket in bits(overflown.load(Relaxed)) {
            for bucket in Self::row(bucket, Self::WIDEST.min(1)) {
                prefetch(&raw const self.buckets[bucket]);
            }
        }
    }

    /// First half of making rows narrow again: marks the flags of those that have nothing live further out. Whether there are any.
    pub(super) fn close(&self, wide: impl Wide, overflown: &AtomicU8, gone: u64) -> bool {
        let mut any = false;
        for bucket in bits(overflown.load(Relaxed)) {
            match self.widest_flag(wide, bucket) {
                Some(flag) if !self.has_strangers(wide, bucket, flag.width, gone) => {
                    any |=
                        flag.high().has(Flag::Closing) || flag.change(wide, flag.high().with(Flag::Closing));
                }
                Some(_) => {}
                None => self.forget(wide, bucket, overflown),
            }
        }
        any
    }

    /// Second half, when every call has ended that began before the first: takes the flags away whose mark nobody has
    /// minded.
    pub(super) fn open(&self, wide: impl Wide, overflown: &AtomicU8, gone: u64) {
        for bucket in bits(overflown.load(Relaxed)) {
            if let Some(flag) = self.widest_flag(wide, bucket)
                && flag.high().has(Flag::Closing)
                // A call from before the mark may have put a key out there since.
                && !self.has_strangers(wide, bucket, flag.width, gone)
                && flag.change(wide, flag.high().without(OVERFLOWN[flag.width]).without(Flag::Closing))
            {
                self.forget(wide, bucket, overflown);
            }
        }
    }

    /// Takes the marks from the flags of `bucket`: somebody needs the wider row.
    #[cold]
    pub(super) fn keep_open(&self, wide: impl Wide, bucket: usize) {
        for width in 0..Self::WIDEST {
            if let Some(flag) = self.flag(wide, bucket, width)
                && flag.high().has(Flag::Closing)
            {
                // If another was faster the caller finds out.
                flag.change(wide, flag.high().without(Flag::Closing));
            }
        }
    }

    /// The flag that makes the row of `bucket` as wide as it is.
    fn widest_flag(&self, wide: impl Wide, bucket: usize) -> Option<Place<'_>> {
        (0..Self::WIDEST).rev().find_map(|width| self.flag(wide, bucket, width))
    }

    /// The flag of the row of `bucket` of this width.
    fn flag(&self, wide: impl Wide, bucket: usize, width: usize) -> Option<Place<'_>> {
        let cells = self.buckets[Self::row(bucket, width)].as_flattened();
        let cell = cells.iter().find(|cell| High(wide.high(cell)).has(OVERFLOWN[width]))?;
        Some(Place { width, cell, entry: wide.load(cell) })
    }

    /// Whether a key of this row lives in the next wider one.
    fn has_strangers(&self, wide: impl Wide, bucket: usize, width: usize, gone: u64) -> bool {
        let row = Self::row(bucket, width);
        Self::row(bucket, width + 1).filter(|b| !row.contains(b)).any(|b| {
            self.buckets[b]
                .iter()
                .map(|cell| wide.load(cell))
                .any(|e| e.state() > gone && row.contains(&Self::bucket_of(e.key())))
        })
    }

    /// Takes away the hint, unless there is a flag. The hint first: who flags the bucket anew sets it after that. (Model:
    /// `the_hint_comes_back`.)
    fn forget(&self, wide: impl Wide, bucket: usize, overflown: &AtomicU8) {
        overflown.fetch_and(!(1 << bucket), Acquire);
        if self.widest_flag(wide, bucket).is_some() {
            overflown.fetch_or(1 << bucket, Relaxed);
        }
    }
}

/// A flag, and where it is.
struct Place<'a> {
    /// Of the row that has overflowed.
    width: usize,
    cell: &'a AtomicPair,
    entry: Entry,
}

impl Place<'_> {
    fn high(&self) -> High {
        self.entry.high()
    }

    /// Not if it is sealed: what is frozen is the width of a row as well.
    fn change(&self, wide: impl Wide, high: High) -> bool {
        !self.high().has(Flag::Sealed) && wide.cas(self.cell, self.entry, Entry::new(self.entry.key(), high))
    }
}

/// The places of the ones.
fn bits(mut bits: u8) -> impl Iterator<Item = usize> {
    iter::from_fn(move || {
        let bit = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (bit < 8).then_some(bit)
    })
}

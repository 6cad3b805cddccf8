//! Ticks to stamps and back.

use crate::{
    sync::{AtomicU64, Ordering::Relaxed, twin},
    time::Tick,
};

/// A stamp is a tick counted from shortly before the first one seen, times 2^`shift`. So the 58 bits that a state has for it are 9
/// years of nanoseconds (or 2^48 events) from the first one, wherever the caller's zero is.
///
/// With a `grid` multiples of it in ticks are multiples of it in stamps, if `base` is one.
#[derive(Debug)]
pub(crate) struct Origin {
    /// The first tick seen, or `UNSET`.
    first: AtomicU64,
    /// The stamp of the first tick: leaves room for late events below it.
    base: u64,
    /// Ticks after the first one that have a stamp.
    range: u64,
    /// In stamps: 2^`shift`.
    tick: u64,
    shift: u32,
    grid: u64,
}

/// The greatest stamp that is given out, well below what fits (2^58).
pub(crate) const MAX_STAMP: u64 = (1 << 58) - (1 << 42);

const UNSET: u64 = u64::MAX;

impl Origin {
    /// The first tick, to be put back later.
    pub(crate) fn saved(&self) -> u64 {
        self.first.load(Relaxed)
    }

    /// One whose first tick was this; `None` if it cannot have been.
    pub(crate) fn resumed(self, saved: u64) -> Option<Origin> {
        let fits = saved == UNSET || saved.is_multiple_of(self.grid);
        fits.then(|| Origin { first: AtomicU64::new(saved), ..self })
    }

    /// `base`: a multiple of 2^`shift`, and of `grid`.
    pub(crate) fn new(base: u64, shift: u32, grid: u64) -> Origin {
        Origin {
            first: AtomicU64::new(UNSET),
            base,
            range: (MAX_STAMP - base) >> shift,
            tick: 1 << shift,
            shift,
            grid,
        }
    }

    /// The stamp of `now`, 0 if it lies before all stamps; `None` beyond the last one. The first call fixes the origin.
    ///
    /// Relaxed: the value is all that is taken, and all threads agree on it (one location, written once).
    #[inline(always)]
    pub(crate) fn at(&self, now: Tick) -> Option<u64> {
        let mut first = self.first.load(Relaxed);
        if first == UNSET {
            first = self.begin(now);
        }
        match now.0.checked_sub(first) {
            Some(after) => (after <= self.range).then(|| after * self.tick + self.base),
            None => Some(self.base.saturating_sub((first - now.0).saturating_mul(self.tick))),
        }
    }

    /// The stamp of `now` for calls that only ask: the nearest there is. `None`: no call has come before, and what one that comes
    /// meanwhile leaves must not be looked at, as there was no stamp to compare it with (models: `asks_before_the_first`).
    #[inline]
    pub(crate) fn past(&self, now: Tick) -> Option<u64> {
        match self.first.load(Relaxed) {
            UNSET => twin!(AsksBeforeTime).then_some(0),
            _ => Some(self.at(now).unwrap_or(MAX_STAMP)),
        }
    }

    /// What `ask` says to the stamp that [`Origin::at`] would give, if `now` came first as well.
    ///
    /// When another has come first meanwhile it is asked once more. Relaxed: whoever has acquired what that one has left sees the origin
    /// (models: `asks_before_the_first`).
    #[inline]
    pub(crate) fn foresee<R>(&self, now: Tick, ask: impl Fn(Option<u64>) -> R) -> R {
        loop {
            let begun = self.first.load(Relaxed) != UNSET;
            let stamp = if begun { self.at(now) } else { Some(self.base + now.0 % self.grid * self.tick) };
            let answer = ask(stamp);
            if begun || twin!(AsksBeforeTime) || self.first.load(Relaxed) == UNSET {
                return answer;
            }
        }
    }

    #[inline]
    pub(crate) fn tick(&self, stamp: u64) -> Tick {
        Tick(self.first.load(Relaxed).wrapping_add_signed(self.after(stamp)))
    }

    /// The same for stamps that may lie beyond the last tick: that one then.
    pub(crate) fn tick_or_last(&self, stamp: u64) -> Tick {
        Tick(self.first.load(Relaxed).saturating_add_signed(self.after(stamp)))
    }

    /// Ticks after the first one.
    #[inline(always)]
    fn after(&self, stamp: u64) -> i64 {
        stamp.wrapping_sub(self.base).cast_signed() >> self.shift
    }

    #[cold]
    fn begin(&self, now: Tick) -> u64 {
        let first = now.0.min(UNSET - 1) / self.grid * self.grid;
        match self.first.compare_exchange(UNSET, first, Relaxed, Relaxed) {
            Ok(_) => first,
            Err(set) => set,
        }
    }
}

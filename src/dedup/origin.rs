//! Ticks to stamps and back.

use crate::{
    sync::{AtomicU64, Ordering::Relaxed},
    time::Tick,
};

/// A stamp is a tick counted from shortly before the first one seen. So the 59 bits that an entry has for it are 18 years
/// of nanoseconds from the first event, wherever the caller's zero is.
#[derive(Debug)]
pub(crate) struct Origin {
    /// The first tick seen, or `UNSET`.
    first: AtomicU64,
    /// The stamp of the first tick: leaves room for late events below it.
    base: u64,
}

const UNSET: u64 = u64::MAX;

/// Greater stamps are refused, well below what fits (2^59): marks raise a state by a tick.
const MAX_STAMP: u64 = (1 << 59) - (1 << 32);

impl Origin {
    pub(crate) fn new(base: u64) -> Origin {
        Origin { first: AtomicU64::new(UNSET), base }
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
            Some(after) => (after <= MAX_STAMP - self.base).then(|| after + self.base),
            None => Some(self.base.saturating_sub(first - now.0)),
        }
    }

    /// The stamp of `now` for calls that only ask: the nearest there is.
    pub(crate) fn past(&self, now: Tick) -> u64 {
        match self.first.load(Relaxed) {
            UNSET => 0,
            _ => self.at(now).unwrap_or(MAX_STAMP),
        }
    }

    #[inline]
    pub(crate) fn tick(&self, stamp: u64) -> Tick {
        Tick(self.first.load(Relaxed).wrapping_add(stamp).wrapping_sub(self.base))
    }

    #[cold]
    fn begin(&self, now: Tick) -> u64 {
        let first = now.0.min(UNSET - 1);
        match self.first.compare_exchange(UNSET, first, Relaxed, Relaxed) {
            Ok(_) => first,
            Err(set) => set,
        }
    }
}

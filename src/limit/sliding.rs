//! The sliding-window counter: this window and the part of the last one that the sliding window still covers.
//!
//! The estimate is `last * (1 - elapsed) + this`, exact in integers; a call passes if it stays within the limit with its cost.
//! (As described by Cloudflare, "Counting things, a lot of different things", 2017.)
//!
//! ```text
//!  59                  2n+4  2n+3   2n   2n-1      n    n-1        0
//! +--------------------------+----------+------------+-------------+
//! |     window's number      |   turn   |    this    |    last     |
//! +--------------------------+----------+------------+-------------+
//! ```

use super::{
    admission::Answer,
    divisor::Divisor,
    meter::{Charge, Meter, RANGE_BITS, STATE_BITS, TURN_BITS, TURN_BITS_OF_SET, bits},
};
use crate::table::Decision;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sliding {
    limit: u64,
    window: u64,
    windows: Divisor,
    /// Of each count.
    bits: u32,
    turn_bits: u32,
}

/// A state, taken apart, and how much of its window is over.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    window: u64,
    turn: u64,
    this: u64,
    last: u64,
    elapsed: u64,
}

impl Sliding {
    /// `limit` in `window` ns. `None`: they do not fit into a word.
    pub(super) fn new(limit: u64, window: u64) -> Option<Sliding> {
        let bits = bits(limit);
        let windows = (1_u64 << RANGE_BITS) / window;
        // All that a word has to spare is for counts: the quota may change.
        let spare = STATE_BITS.checked_sub(self::bits(windows) + TURN_BITS + 2 * bits)?;
        Some(Sliding {
            limit,
            window,
            windows: Divisor::new(window),
            bits: bits + spare / 2,
            turn_bits: TURN_BITS,
        })
    }

    /// .. with another limit. States mean what they did. `None`: they cannot count so far.
    pub(super) fn changed(self, limit: u64) -> Option<Sliding> {
        (limit <= self.most()).then_some(Sliding { limit, ..self })
    }

    /// What can be counted in a window.
    pub(super) fn most(&self) -> u64 {
        (1 << self.bits) - 1
    }

    /// One in which what the word has to spare is for turns, and half of it for counts. `None`: there is too little.
    pub(super) fn for_set(self) -> Option<Self> {
        let (windows, counts) = (bits((1_u64 << RANGE_BITS) / self.window), bits(self.limit));
        let spare = STATE_BITS.checked_sub(windows + 2 * counts + TURN_BITS_OF_SET)?;
        let bits = counts + spare / 4;
        Some(Self { bits, turn_bits: STATE_BITS - windows - 2 * bits, ..self })
    }

    fn shift(&self) -> u32 {
        2 * self.bits + self.turn_bits
    }

    fn split(&self, state: u64) -> Parts {
        let low = |n: u64, bits: u32| n & ((1 << bits) - 1);
        Parts {
            window: state >> self.shift(),
            turn: low(state >> (2 * self.bits), self.turn_bits),
            this: low(state >> self.bits, self.bits),
            last: low(state, self.bits),
            elapsed: 0,
        }
    }

    fn join(&self, parts: Parts) -> u64 {
        ((parts.window << self.turn_bits | parts.turn) << self.bits | parts.this) << self.bits | parts.last
    }

    /// What counts now. Time does not go back, neither behind the state's window nor the horizon: there it is its beginning.
    #[inline(always)]
    fn present(&self, at: u64, state: Option<u64>, gone: u64) -> Parts {
        // What is gone at a time is all before the window before that.
        let (own, least) = (self.windows.divide(at), (gone >> self.shift()) + u64::from(gone > 0));
        let (window, elapsed) = if own >= least { (own, at - own * self.window) } else { (least, 0) };
        match state.map(|state| self.split(state)) {
            Some(parts) if parts.window > window => parts,
            Some(parts) if parts.window == window => Parts { elapsed, ..parts },
            Some(parts) if parts.window + 1 == window => {
                Parts { window, turn: 0, this: 0, last: parts.this, elapsed }
            }
            _ => Parts { window, turn: 0, this: 0, last: 0, elapsed },
        }
    }

    /// How much of the last window still counts, rounded up.
    #[inline(always)]
    fn covered(&self, parts: Parts) -> u64 {
        if parts.last == 0 {
            return 0;
        }
        let left = self.window - parts.elapsed;
        match parts.last.checked_mul(left) {
            Some(covered) if covered < Divisor::LIMIT - self.window => self.windows.divide_up(covered),
            _ => self.covered_of_much(parts.last, left),
        }
    }

    #[cold]
    fn covered_of_much(&self, last: u64, left: u64) -> u64 {
        let covered = u128::from(last) * u128::from(left);
        u64::try_from(covered.div_ceil(u128::from(self.window))).unwrap_or(last)
    }

    /// From when on, in a window, no more than `room` of the `last` one counts.
    fn elapsed_with(&self, last: u64, room: u64) -> u64 {
        if room >= last {
            return 0;
        }
        // The least e with last * (window - e) <= room * window.
        let kept = u128::from(room) * u128::from(self.window) / u128::from(last);
        self.window - u64::try_from(kept).unwrap_or(0)
    }

    /// .. of what counts with the cost.
    #[cold]
    fn retry_after(&self, parts: Parts, cost: u64, at: u64) -> u64 {
        let start = parts.window * self.window;
        let passes = match self.limit.checked_sub(parts.this) {
            Some(room) if self.elapsed_with(parts.last, room) < self.window => {
                start + self.elapsed_with(parts.last, room)
            }
            // In the next one. (At the end of that one at the latest: a cost is no more than the limit.)
            _ => start + self.window + self.elapsed_with(parts.this - cost, self.limit.saturating_sub(cost)),
        };
        passes - at
    }
}

impl Meter for Sliding {
    /// What counts, with the cost in this window.
    type Taken = Parts;

    #[inline(always)]
    fn burst(&self) -> u64 {
        self.limit
    }

    #[inline(always)]
    fn take(&self, at: u64, cost: u64) -> impl Fn(Option<u64>, u64) -> Decision<Parts> + Copy {
        move |state, gone| {
            let parts = self.present(at, state, gone);
            let parts = Parts { this: parts.this + cost, ..parts };
            // Rounding up changes nothing: it is compared with a whole number.
            if cost == 0 || parts.this + self.covered(parts) > self.limit {
                return Decision::Keep(parts);
            }
            Decision::Publish(self.join(parts), parts)
        }
    }

    #[inline(always)]
    fn answer(&self, parts: Parts, at: u64, cost: u64) -> Answer {
        let remaining = match self.limit.checked_sub(parts.this + self.covered(parts)) {
            None if cost > 0 => return Answer::Denied { retry_after: self.retry_after(parts, cost, at) },
            remaining => remaining.unwrap_or(0),
        };
        Answer::Allowed { remaining, reset_after: self.reset_after(parts, at), delay: 0 }
    }

    fn forget(&self, at: u64) -> impl Fn(Option<u64>, u64) -> Decision<bool> + Copy {
        move |state, gone| {
            let parts = self.present(at, state, gone);
            if parts.this + parts.last == 0 || (parts.turn + 1) >> self.turn_bits > 0 {
                return Decision::Keep(false);
            }
            Decision::Publish(self.join(Parts { turn: parts.turn + 1, this: 0, last: 0, ..parts }), true)
        }
    }

    fn charge(&self, parts: Parts, cost: u64) -> Charge {
        Charge { from: parts.window, to: parts.window, cost }
    }

    /// With the window after its own the charge is over.
    fn give_back(
        &self,
        charge: Charge,
        permits: u64,
        _: impl Fn() -> u64 + Copy,
        _: impl Fn() -> u64 + Copy,
    ) -> impl Fn(Option<u64>, u64) -> Decision<bool> + Copy {
        move |state, _| {
            let Some(parts) = state.map(|state| self.split(state)) else { return Decision::Keep(true) };
            let turn = parts.turn + 1;
            let lower = if permits > 0 && parts.window == charge.to {
                Parts { this: parts.this.saturating_sub(permits), turn, ..parts }
            } else if permits > 0 && parts.window.checked_sub(1) == Some(charge.to) {
                Parts { last: parts.last.saturating_sub(permits), turn, ..parts }
            } else {
                return Decision::Keep(true);
            };
            match turn >> self.turn_bits {
                0 => Decision::Publish(self.join(lower), true),
                _ => Decision::Keep(false),
            }
        }
    }

    fn given(&self, permits: u64) -> u64 {
        permits
    }

    fn charge_more(&self, at: u64, permits: u64) -> impl Fn(Option<u64>, u64) -> Decision<u64> + Copy {
        move |state, gone| {
            let parts = self.present(at, state, gone);
            match permits.min(self.limit.saturating_sub(parts.this)) {
                0 => Decision::Keep(0),
                more => Decision::Publish(self.join(Parts { this: parts.this + more, ..parts }), more),
            }
        }
    }

    fn gone_at(&self, at: u64) -> u64 {
        // (Before the second window all is empty.)
        self.windows.divide(at).saturating_sub(1) << self.shift()
    }

    fn is_fresh(&self, state: u64, at: u64) -> bool {
        let parts = self.present(at, Some(state), 0);
        parts.this + parts.last == 0
    }

    fn memory(&self) -> u64 {
        2 * self.window
    }
}

impl Sliding {
    /// Until nothing counts any more.
    #[inline(always)]
    fn reset_after(&self, parts: Parts, at: u64) -> u64 {
        let windows = if parts.this > 0 { 2 } else { u64::from(parts.last > 0) };
        if windows == 0 { 0 } else { (parts.window + windows) * self.window - at }
    }
}

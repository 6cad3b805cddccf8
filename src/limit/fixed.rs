//! The fixed window: so many in each window of the clock, counted from tick 0.
//!
//! ```text
//!  59                                  n+4  n+3      n    n-1        0
//! +------------------------------------------+----------+-------------+
//! |              window's number             |   turn   |    taken    |
//! +------------------------------------------+----------+-------------+
//! ```
//! Who is forgotten gets another turn, with nothing taken.

use super::{
    admission::Answer,
    divisor::Divisor,
    meter::{Charge, Meter, RANGE_BITS, STATE_BITS, TURN_BITS, TURN_BITS_OF_SET, bits},
};
use crate::table::Decision;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fixed {
    limit: u64,
    window: u64,
    windows: Divisor,
    /// Of `taken`.
    bits: u32,
    turn_bits: u32,
}

/// A state, taken apart.
#[derive(Clone, Copy)]
struct Parts {
    window: u64,
    turn: u64,
    taken: u64,
}

impl Fixed {
    /// `limit` in each `window` ns. `None`: not both fit into a word.
    pub(super) fn new(limit: u64, window: u64) -> Option<Fixed> {
        let bits = bits(limit);
        let windows = (1_u64 << RANGE_BITS) / window;
        // All that a word has to spare is for counts: the quota may change.
        let spare = STATE_BITS.checked_sub(self::bits(windows) + TURN_BITS + bits)?;
        Some(Fixed { limit, window, windows: Divisor::new(window), bits: bits + spare, turn_bits: TURN_BITS })
    }

    /// .. with another limit. States mean what they did. `None`: they cannot count so far.
    pub(super) fn changed(self, limit: u64) -> Option<Fixed> {
        (limit <= self.most()).then_some(Fixed { limit, ..self })
    }

    /// What can be counted in a window.
    pub(super) fn most(&self) -> u64 {
        (1 << self.bits) - 1
    }

    /// One in which what the word has to spare is for turns, and half of it for counts. `None`: there is too little.
    pub(super) fn for_set(self) -> Option<Self> {
        let (windows, counts) = (bits((1_u64 << RANGE_BITS) / self.window), bits(self.limit));
        let spare = STATE_BITS.checked_sub(windows + counts + TURN_BITS_OF_SET)?;
        let bits = counts + spare / 2;
        Some(Self { bits, turn_bits: STATE_BITS - windows - bits, ..self })
    }

    fn shift(&self) -> u32 {
        self.bits + self.turn_bits
    }

    fn split(&self, state: u64) -> Parts {
        let low = |n: u64, bits: u32| n & ((1 << bits) - 1);
        Parts {
            window: state >> self.shift(),
            turn: low(state >> self.bits, self.turn_bits),
            taken: low(state, self.bits),
        }
    }

    fn join(&self, parts: Parts) -> u64 {
        (parts.window << self.turn_bits | parts.turn) << self.bits | parts.taken
    }

    /// What counts now: of a window that is over nothing. Time does not go back, neither behind the state nor the horizon.
    #[inline(always)]
    fn present(&self, at: u64, state: Option<u64>, gone: u64) -> Parts {
        let window = self.windows.divide(at).max(gone >> self.shift());
        match state.map(|state| self.split(state)) {
            Some(parts) if parts.window >= window => parts,
            _ => Parts { window, turn: 0, taken: 0 },
        }
    }
}

/// In which window, and how much of it is taken with the cost.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    window: u64,
    taken: u64,
}

impl Meter for Fixed {
    type Taken = Taken;

    #[inline(always)]
    fn burst(&self) -> u64 {
        self.limit
    }

    #[inline(always)]
    fn take(&self, at: u64, cost: u64) -> impl Fn(Option<u64>, u64) -> Decision<Taken> + Copy {
        move |state, gone| {
            let parts = self.present(at, state, gone);
            let taken = parts.taken + cost;
            let answer = Taken { window: parts.window, taken };
            if cost == 0 || taken > self.limit {
                return Decision::Keep(answer);
            }
            Decision::Publish(self.join(Parts { taken, ..parts }), answer)
        }
    }

    #[inline(always)]
    fn answer(&self, Taken { window, taken }: Taken, at: u64, cost: u64) -> Answer {
        let end = (window + 1) * self.window - at;
        match self.limit.checked_sub(taken) {
            None if cost > 0 => Answer::Denied { retry_after: end },
            // (There may be more taken than there is, if there was more.)
            remaining => {
                let reset_after = if taken == 0 { 0 } else { end };
                Answer::Allowed { remaining: remaining.unwrap_or(0), reset_after, delay: 0 }
            }
        }
    }

    fn forget(&self, at: u64) -> impl Fn(Option<u64>, u64) -> Decision<bool> + Copy {
        move |state, gone| {
            let parts = self.present(at, state, gone);
            if parts.taken == 0 || (parts.turn + 1) >> self.turn_bits > 0 {
                return Decision::Keep(false);
            }
            Decision::Publish(self.join(Parts { turn: parts.turn + 1, taken: 0, ..parts }), true)
        }
    }

    fn charge(&self, Taken { window, .. }: Taken, cost: u64) -> Charge {
        Charge { from: window, to: window, cost }
    }

    /// With its window the charge is over.
    fn give_back(
        &self,
        charge: Charge,
        permits: u64,
        _: impl Fn() -> u64 + Copy,
        _: impl Fn() -> u64 + Copy,
    ) -> impl Fn(Option<u64>, u64) -> Decision<bool> + Copy {
        move |state, _| match state.map(|state| self.split(state)) {
            Some(parts) if parts.window == charge.to && permits > 0 => {
                let (taken, turn) = (parts.taken.saturating_sub(permits), parts.turn + 1);
                match turn >> self.turn_bits {
                    0 => Decision::Publish(self.join(Parts { taken, turn, ..parts }), true),
                    _ => Decision::Keep(false),
                }
            }
            _ => Decision::Keep(true),
        }
    }

    fn given(&self, permits: u64) -> u64 {
        permits
    }

    fn charge_more(&self, at: u64, permits: u64) -> impl Fn(Option<u64>, u64) -> Decision<u64> + Copy {
        move |state, gone| {
            let parts = self.present(at, state, gone);
            match permits.min(self.limit.saturating_sub(parts.taken)) {
                0 => Decision::Keep(0),
                more => Decision::Publish(self.join(Parts { taken: parts.taken + more, ..parts }), more),
            }
        }
    }

    fn gone_at(&self, at: u64) -> u64 {
        self.windows.divide(at) << self.shift()
    }

    fn is_fresh(&self, state: u64, at: u64) -> bool {
        self.present(at, Some(state), 0).taken == 0
    }

    fn memory(&self) -> u64 {
        self.window
    }
}

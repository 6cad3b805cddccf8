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
    meter::{Meter, RANGE_BITS, STATE_BITS, TURN_BITS, bits},
};
use crate::table::Decision;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fixed {
    limit: u64,
    window: u64,
    windows: Divisor,
    /// Of `taken`.
    bits: u32,
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
        let needed = self::bits(windows) + TURN_BITS + bits;
        (needed <= STATE_BITS).then_some(Fixed { limit, window, windows: Divisor::new(window), bits })
    }

    fn shift(&self) -> u32 {
        self.bits + TURN_BITS
    }

    fn split(&self, state: u64) -> Parts {
        let low = |n: u64, bits: u32| n & ((1 << bits) - 1);
        Parts {
            window: state >> self.shift(),
            turn: low(state >> self.bits, TURN_BITS),
            taken: low(state, self.bits),
        }
    }

    fn join(&self, parts: Parts) -> u64 {
        (parts.window << TURN_BITS | parts.turn) << self.bits | parts.taken
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
    fn answer(&self, Taken { window, taken }: Taken, at: u64, _: u64) -> Answer {
        let end = (window + 1) * self.window - at;
        match self.limit.checked_sub(taken) {
            None => Answer::Denied { retry_after: end },
            Some(remaining) => {
                Answer::Allowed { remaining, reset_after: if taken == 0 { 0 } else { end }, delay: 0 }
            }
        }
    }

    fn forget(&self, at: u64) -> impl Fn(Option<u64>, u64) -> Decision<bool> + Copy {
        move |state, gone| {
            let parts = self.present(at, state, gone);
            if parts.taken == 0 || (parts.turn + 1) >> TURN_BITS > 0 {
                return Decision::Keep(false);
            }
            Decision::Publish(self.join(Parts { turn: parts.turn + 1, taken: 0, ..parts }), true)
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

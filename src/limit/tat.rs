//! Token bucket, leaky bucket: the generic cell rate algorithm. The state is an arrival time.
//!
//! One number says it all: the *theoretical arrival time* (tat) at which everything taken so far would have been given back, one
//! permit every *interval*. A bucket of `burst` tokens that is refilled at the same rate decides the same: it holds `burst` tokens less
//! those that the tat is ahead of now. (ITU-T I.371; the token bucket of RFC 2697 in continuous time.)
//!
//! ```text
//!  59                                          b    b-1        0
//! +---------------------------------------------+---------------+
//! |                     raw                     |     back      |
//! +---------------------------------------------+---------------+
//!  tat = raw - back * back_unit
//! ```
//! `raw` only rises. What is given back is counted in `back`, and with the next permit `raw` goes past where it was by whole
//! units, so that the tat is what it has to be. If all bits of `back` are used nothing more is given back until time has done so.

use super::{
    admission::Answer,
    divisor::Divisor,
    meter::{Meter, STATE_BITS},
};
use crate::{origin::MAX_STAMP, sync::twin, table::Decision};

/// Times are in *units*, parts of a step of the clock, and stand as in a state: `back` bits up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tat {
    scale: Scale,
    /// Between two permits.
    interval: Divisor,
    burst: u64,
    /// In which a full bucket is emptied: `burst` intervals.
    capacity: u64,
    /// The bits of `back`.
    back: u64,
    back_unit: u64,
    /// What `back` goes up to: no further than the word holds `raw`.
    most_back: u64,
    /// Whether those who are admitted ahead of time are told how long to wait.
    queues: bool,
}

/// How fine time is: in steps of a microsecond, of some units each, for intervals of a millisecond or more; for shorter ones in steps of
/// 4 ns, of one unit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scale {
    /// In nanoseconds.
    step: Divisor,
    /// In a step.
    units: Divisor,
}

const MICRO: u64 = 1000;
/// Parts of a microsecond. With as many the range of states holds the 9 years of stamps.
const MOST_UNITS: u64 = 8;
const BACK_BITS: u32 = 8;
const FINE: u64 = 4;
const FINE_BACK_BITS: u32 = 3;

/// Nanoseconds in which a full bucket may be emptied.
const LONGEST: u64 = 1 << 56;

impl Tat {
    /// `permits` in `per` ns, `burst` at once. `None`: too many, or a bucket that takes too long to empty.
    pub(super) fn new(permits: u64, per: u64, burst: u64, queues: bool) -> Option<Tat> {
        let is_fine = per / permits < 1_000_000;
        let (step, units, bits, interval) = if is_fine {
            // Rounded up: against the client.
            (FINE, 1, FINE_BACK_BITS, per.div_ceil(permits.checked_mul(FINE)?))
        } else {
            // permits / micros in lowest terms: exact if the numerator fits.
            let (n, d) = (u128::from(permits) * u128::from(MICRO), u128::from(per));
            let (n, d) = (n / gcd(n, d), d / gcd(n, d));
            let units = n.min(u128::from(MOST_UNITS));
            (MICRO, u64::try_from(units).ok()?, BACK_BITS, u64::try_from((d * units).div_ceil(n)).ok()?)
        };
        let capacity = u128::from(interval) * u128::from(burst);
        let nanos = capacity * u128::from(step) / u128::from(units);
        if nanos > u128::from(LONGEST) || permits > per / FINE {
            return None;
        }
        let scale = Scale { step: Divisor::new(step), units: Divisor::new(units << bits) };
        let (capacity, interval) = (u64::try_from(capacity).ok()? << bits, Divisor::new(interval << bits));
        // A full bucket takes half of the numbers that `back` has.
        let back_unit = interval.value() * burst.div_ceil(1 << (bits - 1));
        let spare = (1_u64 << STATE_BITS) - scale.units_at(MAX_STAMP) - 2 * capacity;
        let back = (1 << bits) - 1;
        let most_back = (spare / back_unit).min(back);
        Some(Tat { scale, interval, burst, capacity, back, back_unit, most_back, queues })
    }

    #[inline(always)]
    fn raw(&self, state: u64) -> u64 {
        state & !self.back
    }

    #[inline(always)]
    fn tat(&self, state: u64) -> u64 {
        if state & self.back == 0 { state } else { self.tat_of_forgotten(state) }
    }

    #[cold]
    fn tat_of_forgotten(&self, state: u64) -> u64 {
        self.raw(state).saturating_sub((state & self.back) * self.back_unit)
    }

    /// With the tat at `tat`, whatever it was before.
    #[inline(always)]
    fn state(&self, tat: u64, before: u64) -> u64 {
        if tat > before { tat } else { self.state_above(tat, self.raw(before)) }
    }

    #[cold]
    fn state_above(&self, tat: u64, raw: u64) -> u64 {
        // This never asks for more of `back` than there was: the tat has been raised by an interval at least.
        let back = (raw - tat) / self.back_unit + 1;
        (tat + back * self.back_unit) | back
    }
}

/// In units.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    /// When it counts.
    now: u64,
    /// The tat with its price.
    next: u64,
}

impl Meter for Tat {
    type Taken = Taken;

    #[inline(always)]
    fn burst(&self) -> u64 {
        self.burst
    }

    #[inline(always)]
    fn take(&self, at: u64, cost: u64) -> impl Fn(Option<u64>, u64) -> Decision<Taken> + Copy {
        let now = self.scale.units_at(at);
        move |state, gone| {
            // Whoever is behind the horizon counts as if he came there.
            let now = if twin!(OwnTime) { now } else { now.max(self.raw(gone)) };
            let state = state.unwrap_or(0);
            let next = self.tat(state).max(now) + cost * self.interval.value();
            if cost == 0 || next > now + self.capacity {
                return Decision::Keep(Taken { now, next });
            }
            Decision::Publish(self.state(next, state), Taken { now, next })
        }
    }

    #[inline(always)]
    fn answer(&self, Taken { now, next }: Taken, at: u64, cost: u64) -> Answer {
        let after = |units| self.scale.nanos(units).saturating_sub(at);
        let most = now + self.capacity;
        if next > most && cost > 0 {
            return Answer::Denied { retry_after: after(next - self.capacity) };
        }
        // What is over at the horizon is over.
        let reset_after = if next > now { after(next) } else { 0 };
        let delay = if self.queues && next > now { after(next - cost * self.interval.value()) } else { 0 };
        Answer::Allowed { remaining: self.interval.divide(most.saturating_sub(next)), reset_after, delay }
    }

    fn forget(&self, at: u64) -> impl Fn(Option<u64>, u64) -> Decision<bool> + Copy {
        let now = self.scale.units_at(at);
        move |state, gone| {
            let now = now.max(self.raw(gone));
            let Some(state) = state.filter(|&state| self.tat(state) > now) else {
                return Decision::Keep(false);
            };
            let raw = self.raw(state);
            let back = (raw - now).div_ceil(self.back_unit);
            if back > self.most_back { Decision::Keep(false) } else { Decision::Publish(raw | back, true) }
        }
    }

    fn gone_at(&self, at: u64) -> u64 {
        self.scale.units_at(at) | self.back
    }

    fn is_fresh(&self, state: u64, at: u64) -> bool {
        self.tat(state) <= self.scale.units_at(at)
    }

    fn memory(&self) -> u64 {
        self.scale.nanos(self.capacity)
    }
}

impl Scale {
    /// Rounded down to a step.
    #[inline(always)]
    fn units_at(self, nanos: u64) -> u64 {
        self.step.divide(nanos) * self.units.value()
    }

    /// The first step of the clock at these units, or after.
    #[inline(always)]
    fn nanos(self, units: u64) -> u64 {
        self.units.divide_up(units) * self.step.value()
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

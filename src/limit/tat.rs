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

/// A tat in *units*: parts of a step of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tat {
    scale: Scale,
    /// Units between two permits.
    interval: Divisor,
    burst: u64,
    /// Units in which a full bucket is emptied: `burst` intervals.
    capacity: u64,
    back_unit: u64,
    /// What `back` goes up to: no further than the word holds `raw`.
    most_back: u64,
    /// Whether those who are admitted ahead of time are told how long to wait.
    queues: bool,
}

/// How fine time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// Steps of a microsecond, of so many units each: for intervals of a millisecond or more.
    Micros(Divisor),
    /// Steps of 4 ns, of one unit each: for shorter ones.
    Fine,
}

/// Parts of a microsecond. With as many the range of states holds the 9 years of stamps.
const MOST_UNITS: u64 = 8;
const FINE: u64 = 4;
const FINE_BACK_BITS: u32 = 3;
const BACK_BITS: u32 = 8;

/// Nanoseconds in which a full bucket may be emptied.
const LONGEST: u64 = 1 << 56;

impl Tat {
    /// `permits` in `per` ns, `burst` at once. `None`: too many, or a bucket that takes too long to empty.
    pub(super) fn new(permits: u64, per: u64, burst: u64, queues: bool) -> Option<Tat> {
        let is_fine = per / permits < 1_000_000;
        let (scale, interval) = if is_fine {
            // Rounded up: against the client.
            (Scale::Fine, per.div_ceil(permits.checked_mul(FINE)?))
        } else {
            // permits / micros in lowest terms: exact if the numerator fits.
            let (n, d) = (u128::from(permits) * 1000, u128::from(per));
            let (n, d) = (n / gcd(n, d), d / gcd(n, d));
            let units = n.min(u128::from(MOST_UNITS));
            (
                Scale::Micros(Divisor::new(u64::try_from(units).ok()?)),
                u64::try_from((d * units).div_ceil(n)).ok()?,
            )
        };
        let nanos_of = |units: u128| units * scale.step_nanos() as u128 / scale.units() as u128;
        let capacity = u128::from(interval) * u128::from(burst);
        if nanos_of(capacity) > u128::from(LONGEST) || permits > per / FINE {
            return None;
        }
        let (capacity, interval) = (u64::try_from(capacity).ok()?, Divisor::new(interval));
        // A full bucket takes half of the numbers that `back` has.
        let bits = scale.back_bits();
        let back_unit = interval.value() * burst.div_ceil(1 << (bits - 1));
        let spare = (1 << (STATE_BITS - bits)) - scale.units_at(MAX_STAMP) - 2 * capacity;
        let most_back = (spare / back_unit).min((1 << bits) - 1);
        Some(Tat { scale, interval, burst, capacity, back_unit, most_back, queues })
    }

    #[inline(always)]
    fn split(&self, state: u64) -> (u64, u64) {
        let bits = self.scale.back_bits();
        (state >> bits, state & ((1 << bits) - 1))
    }

    #[inline(always)]
    fn tat(&self, state: u64) -> u64 {
        let (raw, back) = self.split(state);
        raw.saturating_sub(back * self.back_unit)
    }

    /// With the tat at `tat`, whatever it was before.
    #[inline(always)]
    fn state(&self, tat: u64, raw: u64) -> u64 {
        let bits = self.scale.back_bits();
        if tat > raw {
            return tat << bits;
        }
        // This never asks for more of `back` than there was: the tat has been raised by an interval at least.
        let back = (raw - tat) / self.back_unit + 1;
        (tat + back * self.back_unit) << bits | back
    }

    #[inline(always)]
    fn allowed(&self, tat: u64, now: u64, start: u64, at: u64) -> Answer {
        Answer::Allowed {
            remaining: self.interval.divide((now + self.capacity).saturating_sub(tat.max(now))),
            reset_after: self.scale.nanos(tat).saturating_sub(at),
            delay: if self.queues { self.scale.nanos(start).saturating_sub(at) } else { 0 },
        }
    }
}

impl Meter for Tat {
    fn burst(&self) -> u64 {
        self.burst
    }

    #[inline(always)]
    fn take(&self, at: u64, cost: u64) -> impl Fn(Option<u64>, u64) -> Decision<Answer> + Copy {
        let now = self.scale.units_at(at);
        move |state, gone| {
            // Whoever is behind the horizon counts as if he came there.
            let now = if twin!(OwnTime) { now } else { now.max(self.split(gone).0) };
            let (raw, tat) = state.map_or((0, 0), |state| (self.split(state).0, self.tat(state)));
            if cost == 0 {
                // What is over at the horizon is over.
                let tat = if tat > now { tat } else { 0 };
                return Decision::Keep(self.allowed(tat, now, tat, at));
            }
            let (start, price) = (tat.max(now), cost * self.interval.value());
            let next = start + price;
            if next > now + self.capacity {
                let passes = self.scale.nanos(next - self.capacity);
                return Decision::Keep(Answer::Denied { retry_after: passes.saturating_sub(at) });
            }
            Decision::Publish(self.state(next, raw), self.allowed(next, now, start, at))
        }
    }

    fn forget(&self, at: u64) -> impl Fn(Option<u64>, u64) -> Decision<bool> + Copy {
        let now = self.scale.units_at(at);
        move |state, gone| {
            let now = now.max(self.split(gone).0);
            let Some(state) = state.filter(|&state| self.tat(state) > now) else {
                return Decision::Keep(false);
            };
            let (raw, bits) = (self.split(state).0, self.scale.back_bits());
            let back = (raw - now).div_ceil(self.back_unit);
            if back > self.most_back {
                Decision::Keep(false)
            } else {
                Decision::Publish(raw << bits | back, true)
            }
        }
    }

    fn gone_at(&self, at: u64) -> u64 {
        let bits = self.scale.back_bits();
        self.scale.units_at(at) << bits | ((1 << bits) - 1)
    }

    fn is_fresh(&self, state: u64, at: u64) -> bool {
        self.tat(state) <= self.scale.units_at(at)
    }

    fn memory(&self) -> u64 {
        self.scale.nanos(self.capacity)
    }
}

impl Scale {
    #[inline(always)]
    fn back_bits(self) -> u32 {
        match self {
            Scale::Micros(_) => BACK_BITS,
            Scale::Fine => FINE_BACK_BITS,
        }
    }

    #[inline(always)]
    fn units(self) -> u64 {
        match self {
            Scale::Micros(units) => units.value(),
            Scale::Fine => 1,
        }
    }

    fn step_nanos(self) -> u64 {
        match self {
            Scale::Micros(_) => 1000,
            Scale::Fine => FINE,
        }
    }

    /// Rounded down to a step.
    #[inline(always)]
    fn units_at(self, nanos: u64) -> u64 {
        match self {
            Scale::Micros(units) => nanos / 1000 * units.value(),
            Scale::Fine => nanos / FINE,
        }
    }

    /// The first step of the clock at these units, or after.
    #[inline(always)]
    fn nanos(self, units: u64) -> u64 {
        match self {
            Scale::Micros(of_step) => of_step.divide_up(units) * 1000,
            Scale::Fine => units * FINE,
        }
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

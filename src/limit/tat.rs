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
//! `raw` only rises. What is given back is counted in `back`, in units: for as many as it takes, and `raw` goes up by what they are too
//! much, so that the tat is exact. With the next permit `raw` goes past where it was by whole units. If all bits of `back` are
//! used nothing more is given back until time has done so: it takes off a unit in the time of one that nobody uses.

use super::{
    admission::Answer,
    course::gcd,
    divisor::Divisor,
    meter::{Charge, Meter, STATE_BITS},
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
    /// How far the tat may be ahead of now by what is charged without being asked for.
    deepest: u64,
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

/// Of intervals from here on, in nanoseconds, a bucket in a set takes parts of a microsecond although they may not fit.
const LEAST_ROUNDED: u64 = 100_000;
/// Bursts by which a bucket goes into debt.
const MOST_DEBT: u64 = 15;

/// Units of a permit, at least, when a bucket is shared out anew: no more is rounded off than one of them.
const LEAST_SHARE: u64 = 256;

/// Nanoseconds in which a full bucket may be emptied.
const LONGEST: u64 = 1 << 56;

impl Tat {
    /// `permits` in `per` ns, `burst` at once. `None`: too many, or a bucket that takes too long to empty.
    pub(super) fn new(permits: u64, per: u64, burst: u64, queues: bool) -> Option<Tat> {
        let (pace, bits) = match per / permits < 1_000_000 {
            true => (Pace::fine(permits, per)?, FINE_BACK_BITS),
            false => (Pace::coarse(permits, per)?, BACK_BITS),
        };
        let tat = Tat::paced(pace, bits, permits, per, burst)?;
        let most_back = (tat.spare() / tat.back_unit).min(tat.back);
        Some(Tat { queues, most_back, ..tat })
    }

    /// One in which all that the word has to spare is for what is given back, and for debts.
    pub(super) fn for_set(permits: u64, per: u64, burst: u64) -> Option<Tat> {
        let coarse = Pace::coarse(permits, per)?;
        let suits = coarse.is_exact || per / permits >= LEAST_ROUNDED;
        let pace = if suits { coarse } else { Pace::fine(permits, per)? };
        // As many bits as leave a quarter of the numbers free.
        let fits = |bits: &u32| {
            let tat = Tat::paced(pace, *bits, permits, per, burst)?;
            (tat.spare() >= 1 << (STATE_BITS - 2)).then_some(tat)
        };
        let tat = (FINE_BACK_BITS..=16).rev().find_map(|bits| fits(&bits))?;
        Some(tat.with_debts())
    }

    fn with_debts(self) -> Tat {
        let debt = (self.spare() / 2).min(MOST_DEBT * self.capacity);
        let most_back = ((self.spare() - debt) / self.back_unit).min(self.back);
        Tat { deepest: (self.capacity + debt) & !self.back, most_back, ..self }
    }

    /// What a full bucket takes, in whole units.
    pub(super) fn whole(&self) -> u64 {
        self.capacity
    }

    /// .. of which a permit takes as much as it did. States mean what they did. `None`: they cannot hold so much.
    pub(super) fn with_burst(self, burst: u64) -> Option<Tat> {
        self.with(self.interval.value(), burst)
    }

    /// .. that takes as much as `whole`, or a little less, so that what was used is no less of it. Else how many permits can share it.
    pub(super) fn with_share(self, whole: u64, burst: u64) -> Result<Tat, u64> {
        let unit = self.back + 1;
        let interval = whole / unit / burst * unit;
        let most = whole / unit / LEAST_SHARE;
        if burst > most {
            return Err(most);
        }
        self.with(interval, burst).ok_or(most)
    }

    /// What a permit takes.
    pub(super) fn interval(&self) -> u64 {
        self.interval.value()
    }

    /// .. and one of which it takes so much. `None`: there is none like that.
    pub(super) fn with_interval(self, interval: u64, burst: u64) -> Option<Tat> {
        let fits = interval & self.back == 0 && interval < 1 << STATE_BITS;
        if fits { self.with(interval, burst) } else { None }
    }

    fn with(self, interval: u64, burst: u64) -> Option<Tat> {
        let capacity = u64::try_from(u128::from(interval) * u128::from(burst)).ok()?;
        let longest = u128::from(LONGEST / self.scale.step.value()) * u128::from(self.scale.units.value());
        if u128::from(capacity) > longest || interval == 0 {
            return None;
        }
        let tat = Tat { interval: Divisor::new(interval), burst, capacity, deepest: capacity, ..self };
        let in_set = self.deepest > self.capacity;
        // (In a set a quarter of the numbers stays free: for debts, and for what is given back.)
        match tat.spare() {
            spare if in_set && spare < 1 << (STATE_BITS - 2) => None,
            _ if in_set => Some(tat.with_debts()),
            spare => Some(Tat { most_back: (spare / tat.back_unit).min(tat.back), ..tat }),
        }
    }

    /// The limiter's time from one permit to the next: nanoseconds, as a fraction.
    pub(super) fn per_permit(&self) -> (u128, u128) {
        let nanos = u128::from(self.interval.value()) * u128::from(self.scale.step.value());
        (nanos, u128::from(self.scale.units.value()))
    }

    fn paced(pace: Pace, bits: u32, permits: u64, per: u64, burst: u64) -> Option<Tat> {
        let Pace { step, units, interval, .. } = pace;
        let capacity = u128::from(interval) * u128::from(burst);
        let nanos = capacity * u128::from(step) / u128::from(units);
        if nanos > u128::from(LONGEST) || permits > per / FINE {
            return None;
        }
        let scale = Scale { step: Divisor::new(step), units: Divisor::new(units << bits) };
        let (capacity, interval) = (u64::try_from(capacity).ok()? << bits, Divisor::new(interval << bits));
        // A full bucket takes half of the numbers that `back` has.
        let back_unit = interval.value() * burst.div_ceil(1 << (bits - 1));
        let back = (1 << bits) - 1;
        let tat = Tat {
            scale,
            interval,
            burst,
            capacity,
            back,
            back_unit,
            most_back: 0,
            deepest: capacity,
            queues: false,
        };
        Some(tat)
    }

    /// Numbers that a word has beyond all times that there are.
    fn spare(&self) -> u64 {
        let times = u128::from(MAX_STAMP / self.scale.step.value()) * u128::from(self.scale.units.value());
        let spare = (1_u128 << STATE_BITS).saturating_sub(times + 2 * u128::from(self.capacity));
        u64::try_from(spare).unwrap_or(0)
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

    /// With the tat lower by so much. `None`: there are no bits left for it.
    fn lowered(&self, state: u64, by: u64) -> Option<u64> {
        let (raw, back) = (self.raw(state), state & self.back);
        let more = by.div_ceil(self.back_unit);
        let lower = (raw + (more * self.back_unit - by)) | (back + more);
        (back + more <= self.most_back).then_some(lower)
    }
}

/// How long between two permits.
#[derive(Clone, Copy)]
struct Pace {
    /// In nanoseconds.
    step: u64,
    /// In a step.
    units: u64,
    /// In units, rounded up: against the client.
    interval: u64,
    is_exact: bool,
}

impl Pace {
    /// In steps of 4 ns. `None`: too many permits.
    fn fine(permits: u64, per: u64) -> Option<Pace> {
        let in_a_step = permits.checked_mul(FINE)?;
        let is_exact = per.is_multiple_of(in_a_step);
        Some(Pace { step: FINE, units: 1, interval: per.div_ceil(in_a_step), is_exact })
    }

    /// In parts of microseconds.
    fn coarse(permits: u64, per: u64) -> Option<Pace> {
        // permits / micros in lowest terms: exact if the numerator fits.
        let (n, d) = (u128::from(permits) * u128::from(MICRO), u128::from(per));
        let (n, d) = (n / gcd(n, d), d / gcd(n, d));
        let units = n.min(u128::from(MOST_UNITS));
        let interval = u64::try_from((d * units).div_ceil(n)).ok()?;
        Some(Pace { step: MICRO, units: u64::try_from(units).ok()?, interval, is_exact: units == n })
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
            match state.filter(|&state| self.tat(state) > now) {
                Some(state) => give(self.lowered(state, self.tat(state) - now)),
                None => Decision::Keep(false),
            }
        }
    }

    fn charge(&self, Taken { now, next }: Taken, cost: u64) -> Charge {
        Charge { from: now, to: next, cost }
    }

    fn give_back(
        &self,
        charge: Charge,
        permits: u64,
        at: impl Fn() -> u64 + Copy,
        others: impl Fn() -> u64 + Copy,
    ) -> impl Fn(Option<u64>, u64) -> Decision<bool> + Copy {
        let interval = self.interval.value();
        move |state, gone| {
            let Some(state) = state else { return Decision::Keep(true) };
            let now = self.scale.units_at(at()).max(self.raw(gone)).max(charge.from);
            // What is not over for sure: the first to be over is what was charged here, or it lies where it did, less what others gave back.
            let if_first = charge.cost.saturating_mul(interval).saturating_sub(now - charge.from);
            let where_it_was = charge.to.saturating_sub(now).saturating_sub(others());
            let ahead = if_first.max(where_it_was).min(self.tat(state).saturating_sub(now));
            let ahead = if twin!(GiveAllBack) { permits * interval } else { ahead };
            match ahead.min(permits.saturating_mul(interval)) {
                0 => Decision::Keep(true),
                by => give(self.lowered(state, by)),
            }
        }
    }

    fn given(&self, permits: u64) -> u64 {
        permits.saturating_mul(self.interval.value())
    }

    fn charge_more(&self, at: u64, permits: u64) -> impl Fn(Option<u64>, u64) -> Decision<u64> + Copy {
        let now = self.scale.units_at(at);
        move |state, gone| {
            let now = now.max(self.raw(gone));
            let state = state.unwrap_or(0);
            let tat = self.tat(state).max(now);
            let room = self.interval.divide((now + self.deepest).saturating_sub(tat));
            match permits.min(room) {
                0 => Decision::Keep(0),
                more => Decision::Publish(self.state(tat + more * self.interval.value(), state), more),
            }
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

/// What is published when something is given back, if it can be.
fn give(next: Option<u64>) -> Decision<bool> {
    next.map_or(Decision::Keep(false), |next| Decision::Publish(next, true))
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

//! One limiter for all.

use super::{
    admission::Admission,
    algorithm::Algorithm,
    quota::Quota,
    sole::{Sole, State, with_sole},
};
use crate::{
    error::ConfigError,
    origin::{MAX_STAMP, Origin},
    settings,
    time::{Clock, Tick, Window},
};
use std::fmt;

/// So many permits in so long, for whoever asks.
///
/// All state is one word (of [`Algorithm::SlidingLog`]: the ring of its stamps): a denial loads it, an admission exchanges it once. The answer tells what is left, or when to come again.
///
/// ```
/// use std::time::Duration;
/// use windlass::{Admission, Limiter, Quota, Tick};
///
/// let limiter = Limiter::builder(Quota::new(2, Duration::from_secs(1))).build()?;
/// let at = |millis: u64| Tick(millis * 1_000_000);
/// assert!(limiter.check_at(1, at(0)).is_allowed());
/// assert!(limiter.check_at(1, at(100)).is_allowed());
/// assert_eq!(limiter.check_at(1, at(200)), Admission::Denied { retry_after: Duration::from_millis(300) });
/// assert!(limiter.check_at(1, at(500)).is_allowed());
/// assert_eq!(limiter.check_at(3, at(500)), Admission::Never);
/// # Ok::<(), windlass::ConfigError>(())
/// ```
///
/// # Time
/// Of calls that bring different times none gains by it: a time before that of an admission is never better than that one. What
/// comes from before the first call counts, and is answered, as from shortly before it. Nine years after it (2^58 ns; of the windows of the clock up to
/// four times T less) time stands still.
pub struct Limiter {
    state: State,
    quota: Quota,
    origin: Origin,
    clock: Clock,
}

/// Settings of a [`Limiter`]. Made by [`Limiter::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct LimiterBuilder {
    quota: Quota,
    algorithm: Algorithm,
    clock: Option<Clock>,
    /// Of a set: what it charges can be given back.
    in_set: bool,
}

impl LimiterBuilder {
    /// Default: [`Algorithm::Gcra`].
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// The clock of the short forms. Default: monotonic.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    pub(super) fn in_set(self) -> Self {
        LimiterBuilder { in_set: true, ..self }
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// Names the first setting out of its range, and the range.
    pub fn build(self) -> Result<Limiter, ConfigError> {
        let rule = match self.in_set {
            true => self.algorithm.rule_of_set(self.quota)?,
            false => self.algorithm.rule(self.quota)?,
        };
        Ok(Limiter {
            state: rule.into(),
            quota: self.quota,
            origin: self.algorithm.origin(self.quota, 0),
            clock: settings::clock(self.clock, Window::time(self.quota.per))?,
        })
    }
}

impl Limiter {
    /// A builder for this quota.
    pub fn builder(quota: Quota) -> LimiterBuilder {
        LimiterBuilder { quota, algorithm: Algorithm::default(), clock: None, in_set: false }
    }

    /// Takes `cost` permits at `now`, or none. Of cost 0 it tells how things stand.
    #[inline]
    pub fn check_at(&self, cost: u64, now: Tick) -> Admission {
        let at = self.stamp(now);
        match &self.state {
            State::Tat(tat, word) if cost <= (tat, word).burst() => (tat, word).check(cost, at).into(),
            _ => self.check_otherwise(cost, at),
        }
    }

    /// (By itself: the others have much to do, and the default is quick.)
    #[inline(never)]
    fn check_otherwise(&self, cost: u64, at: u64) -> Admission {
        with_sole!(&self.state, state => match cost {
            cost if cost > state.burst() => Admission::Never,
            cost => state.check(cost, at).into(),
        })
    }

    /// Takes `cost` permits now, or none.
    #[inline]
    pub fn check(&self, cost: u64) -> Admission {
        self.check_at(cost, self.clock.now())
    }

    /// What [`Limiter::check_at`] would answer. Nothing is taken.
    #[must_use]
    pub fn peek_at(&self, cost: u64, now: Tick) -> Admission {
        let at = self.origin.foresee(now).unwrap_or(MAX_STAMP);
        with_sole!(&self.state, state => match cost {
            cost if cost > state.burst() => Admission::Never,
            cost => state.peek(cost, at).into(),
        })
    }

    /// Gives back all that was taken. Whether there was something. (`false` also when it has been done too often: see
    /// [`super::KeyedLimiter::forget_at`].)
    pub fn forget_at(&self, now: Tick) -> bool {
        let at = self.origin.foresee(now).unwrap_or(MAX_STAMP);
        with_sole!(&self.state, state => state.forget(at))
    }

    /// What it was built for.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.quota
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    #[inline(always)]
    pub(super) fn stamp(&self, now: Tick) -> u64 {
        self.origin.at(now).unwrap_or(MAX_STAMP)
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").field("quota", &self.quota).finish_non_exhaustive()
    }
}

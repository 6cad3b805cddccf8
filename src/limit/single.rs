//! One limiter for all.

use super::{
    admission::{Admission, Answer},
    algorithm::Algorithm,
    change::{Inherit, Terms},
    meter::Charge,
    quota::Quota,
    sole::{Sole, State, with_sole},
};
use crate::{
    error::ConfigError,
    origin::{MAX_STAMP, Origin},
    settings,
    sync::{
        epoch::{Guard, Link, pin},
        retry, twin,
    },
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
///
/// # Another quota
/// [`Limiter::set_quota_at`] changes it while others go on. Each call is judged by the old quota or by the new one, and charged to the one state that both go by.
pub struct Limiter {
    pub(super) core: Core,
    pub(super) origin: Origin,
    pub(super) clock: Clock,
}

/// What is left without ticks and a clock. Times are stamps.
pub(crate) struct Core {
    pub(super) state: State,
    pub(super) algorithm: Algorithm,
    pub(super) in_set: bool,
    /// As built.
    pub(super) terms: Terms,
    /// .. and since, if they have changed.
    pub(super) changed: Link<Terms>,
}

/// Settings of a [`Limiter`]. Made by [`Limiter::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct LimiterBuilder {
    pub(super) quota: Quota,
    pub(super) algorithm: Algorithm,
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
        self.starting(Tick(0))
    }

    /// With a clock that begins at `start`, if none was given.
    pub(super) fn starting(self, start: Tick) -> Result<Limiter, ConfigError> {
        Ok(Limiter {
            core: Core::new(self.algorithm, self.quota, self.in_set)?,
            origin: self.algorithm.origin(self.quota, 0),
            clock: settings::clock_from(self.clock, Window::time(self.quota.per), start)?,
        })
    }
}

impl Core {
    pub(super) fn new(algorithm: Algorithm, quota: Quota, in_set: bool) -> Result<Core, ConfigError> {
        let rule = algorithm.rule_for(in_set, quota)?;
        let (state, terms) = (rule.into(), Terms::new(quota, rule));
        Ok(Core { state, algorithm, in_set, terms, changed: Link::none() })
    }

    /// Acquire, in `Link`: whoever knows that the quota has changed goes by the new one. Model: loom-tests/tests/quotas.rs.
    fn terms<'g>(&'g self, guard: &'g Guard) -> &'g Terms {
        self.changed.get(guard).unwrap_or(&self.terms)
    }

    /// One exchange of a pointer: each call goes by what it has found there, from its beginning to its end. Lock-free.
    pub(super) fn set_quota(&self, quota: Quota, inherit: Inherit, at: u64) -> Result<(), ConfigError> {
        let guard = pin();
        loop {
            let present = self.changed.get(&guard);
            let terms = present.unwrap_or(&self.terms);
            let changed = terms.changed((self.algorithm, self.in_set), (quota, inherit), at)?;
            if self.changed.exchange(present, Some(changed), &guard).is_ok() {
                return Ok(());
            }
            retry();
        }
    }

    pub(super) fn quota(&self) -> Quota {
        self.terms(&pin()).quota
    }

    /// Whether anything has changed since it was built.
    #[inline(always)]
    pub(super) fn has_changed(&self) -> bool {
        self.changed.is_some()
    }

    #[inline(always)]
    pub(super) fn check(&self, cost: u64, at: u64) -> Admission {
        if self.has_changed() {
            return self.check_changed(cost, at);
        }
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

    #[cold]
    #[inline(never)]
    fn check_changed(&self, cost: u64, at: u64) -> Admission {
        let guard = pin();
        let Terms { rule, course, .. } = self.terms(&guard);
        let rule = if twin!(MixQuotas) { &self.terms(&guard).rule } else { rule };
        let time = course.time(at);
        with_sole!(&self.state, by rule, state => match cost {
            cost if cost > state.burst() => Admission::Never,
            cost => course.told(state.check(cost, time), at, time).into(),
        })
    }

    /// What [`Core::check`] would answer.
    pub(super) fn peek(&self, cost: u64, at: u64) -> Option<Answer> {
        let guard = pin();
        let Terms { rule, course, .. } = self.terms(&guard);
        let time = course.time(at);
        with_sole!(&self.state, by rule, state => {
            (cost <= state.burst()).then(|| course.told(state.peek(cost, time), at, time))
        })
    }

    pub(super) fn forget(&self, at: u64) -> bool {
        let guard = pin();
        let Terms { rule, course, .. } = self.terms(&guard);
        with_sole!(&self.state, by rule, state => state.forget(course.time(at)))
    }

    /// [`Core::peek`], of a set, which knows that it can be.
    #[inline(always)]
    pub(super) fn look(&self, cost: u64, at: u64) -> Answer {
        if self.has_changed() {
            return self.peek(cost, at).unwrap_or(Answer::Denied { retry_after: 0 });
        }
        with_sole!(&self.state, state => state.peek(cost, at))
    }

    /// See [`Sole::charge`].
    #[inline(always)]
    pub(super) fn charge(&self, cost: u64, at: u64) -> (Answer, Option<Charge>) {
        if self.has_changed() {
            return self.charge_changed(cost, at);
        }
        with_sole!(&self.state, state => state.charge(cost, at))
    }

    #[cold]
    #[inline(never)]
    fn charge_changed(&self, cost: u64, at: u64) -> (Answer, Option<Charge>) {
        let guard = pin();
        let Terms { rule, course, .. } = self.terms(&guard);
        let time = course.time(at);
        let (answer, charge) = with_sole!(&self.state, by rule, state => state.charge(cost, time));
        (course.told(answer, at, time), charge)
    }

    /// See [`super::meter::Meter::give_back`]. `around` is told how much comes down, and calls what does it.
    pub(super) fn give_back(
        &self,
        charge: Charge,
        permits: u64,
        at: impl Fn() -> u64 + Copy,
        around: impl FnOnce(u64, &dyn Fn(&dyn Fn() -> u64) -> bool) -> bool,
    ) -> bool {
        let guard = pin();
        let Terms { rule, course, .. } = self.terms(&guard);
        let time = || course.time(at());
        with_sole!(&self.state, by rule, state => {
            around(state.given(permits), &|others| state.give_back(charge, permits, time, others))
        })
    }

    /// See [`super::meter::Meter::charge_more`].
    pub(super) fn charge_more(&self, permits: u64, at: u64) -> u64 {
        let guard = pin();
        let Terms { rule, course, .. } = self.terms(&guard);
        with_sole!(&self.state, by rule, state => state.charge_more(permits, course.time(at)))
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
        self.core.check(cost, self.stamp(now))
    }

    /// Takes `cost` permits now, or none.
    #[inline]
    pub fn check(&self, cost: u64) -> Admission {
        self.check_at(cost, self.clock.now())
    }

    /// What [`Limiter::check_at`] would answer. Nothing is taken.
    #[must_use]
    pub fn peek_at(&self, cost: u64, now: Tick) -> Admission {
        let answer = self.origin.foresee(now, |at| self.core.peek(cost, at.unwrap_or(MAX_STAMP)));
        answer.map_or(Admission::Never, Admission::from)
    }

    /// Another quota from `now` on, for all calls that begin after this one has ended. Those under way meanwhile are judged by the old quota or by the
    /// new one. What has been used: [`Inherit`].
    ///
    /// ```
    /// use windlass::{Inherit, Limiter, Tick};
    ///
    /// let limiter = Limiter::builder("100/60s".parse()?).build()?;
    /// let now = Tick(0);
    /// assert!(limiter.check_at(60, now).is_allowed());
    /// limiter.set_quota_at("200/60s".parse()?, Inherit::Proportional, now)?;
    /// assert!(limiter.check_at(80, now).is_allowed());
    /// assert!(!limiter.check_at(1, now).is_allowed());
    /// # Ok::<(), windlass::ConfigError>(())
    /// ```
    ///
    /// **What is admitted around a change**: by the calls that are judged by a quota no more than it has, with all that was admitted before them counted. A
    /// bucket so gives its old burst at most, and from then on what the new quota gives; a window or a log no more than the larger of both in any one
    /// window.
    ///
    /// Lock-free. The first change allocates, and each one does; a call costs a pin more from then on. Of ticks before the change a bucket makes no more than of the
    /// change's own.
    ///
    /// # Errors
    /// Nothing has changed then. As when it was built; and what the states cannot go on with:
    /// - a bucket that would run out of numbers within a year (they last for 9 years at the pace that it was built for, and so many times less
    ///   as it gives [`Inherit::AsIs`] permits faster, or with [`Inherit::Proportional`] a full bucket) or has more room than a state can hold;
    /// - windows of another length, of which there are as many permits as the state has numbers for;
    /// - logs of more permits or of more time than it was built with;
    /// - [`Inherit::Proportional`] for windows and logs, or with less than 256 steps of time to a permit.
    pub fn set_quota_at(&self, quota: Quota, inherit: Inherit, now: Tick) -> Result<(), ConfigError> {
        self.core.set_quota(quota, inherit, self.stamp(now))
    }

    /// Another quota from now on: see [`Limiter::set_quota_at`].
    ///
    /// # Errors
    /// As there.
    pub fn set_quota(&self, quota: Quota, inherit: Inherit) -> Result<(), ConfigError> {
        self.set_quota_at(quota, inherit, self.clock.now())
    }

    /// Gives back all that was taken. Whether there was something. (`false` also when it has been done too often: see
    /// [`super::KeyedLimiter::forget_at`].)
    pub fn forget_at(&self, now: Tick) -> bool {
        self.origin.past(now).is_some_and(|at| self.core.forget(at))
    }

    /// The quota now.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.core.quota()
    }

    /// Permits that are used up, of its quota.
    pub(super) fn used_at(&self, now: Tick) -> (u64, Quota) {
        let quota = self.quota();
        match self.peek_at(0, now) {
            Admission::Allowed { remaining, .. } => (quota.capacity().saturating_sub(remaining), quota),
            _ => (0, quota),
        }
    }

    #[inline(always)]
    pub(super) fn stamp(&self, now: Tick) -> u64 {
        self.origin.at(now).unwrap_or(MAX_STAMP)
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").field("quota", &self.quota()).finish_non_exhaustive()
    }
}

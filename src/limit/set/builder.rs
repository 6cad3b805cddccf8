//! Which limits there are in a set.

use super::{Limit, LimitSet, Member, admit::MOST, hold::Holds, refunds::Refunds};
use crate::{
    error::ConfigError,
    hash::Seed,
    limit::{Algorithm, KeyedLimiter, KeyedLimiterBuilder, Limiter, LimiterBuilder, OnUnknown, Quota},
    settings,
    sync::{AtomicU64, CachePadded, Counter},
    time::{Clock, Tick, Window},
};
use std::{collections::HashSet, time::Duration};

/// One limit of a [`LimitSet`]: a name, a quota, and for whom.
#[derive(Clone, Debug)]
#[must_use]
pub struct LimitRule {
    pub(super) name: String,
    pub(super) quota: Quota,
    pub(super) algorithm: Algorithm,
    /// `None`: one for all.
    pub(super) clients: Option<usize>,
    on_unknown: OnUnknown,
}

impl LimitRule {
    /// For each client: calls bring a key for it.
    pub fn keyed(name: impl Into<String>, quota: Quota) -> LimitRule {
        LimitRule { clients: Some(1_000_000), ..LimitRule::global(name, quota) }
    }

    /// One for all.
    pub fn global(name: impl Into<String>, quota: Quota) -> LimitRule {
        let (algorithm, on_unknown) = (Algorithm::default(), OnUnknown::default());
        LimitRule { name: name.into(), quota, algorithm, clients: None, on_unknown }
    }

    /// Default: [`Algorithm::Gcra`]. A sliding log, or a leaky queue, cannot be in a set: they cannot give back.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// How many clients a limit for each must know at a time. Default: 1,000,000. Of a limit for all it has no meaning. See
    /// [`crate::KeyedLimiterBuilder::clients`].
    pub fn clients(mut self, clients: usize) -> Self {
        self.clients = self.clients.map(|_| clients);
        self
    }

    /// What happens when it is full. Default: clients that it does not know are denied.
    pub fn on_unknown(mut self, on_unknown: OnUnknown) -> Self {
        self.on_unknown = on_unknown;
        self
    }
}

/// Settings of a [`LimitSet`]. Made by [`LimitSet::builder`].
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct LimitSetBuilder {
    pub(super) rules: Vec<LimitRule>,
    pub(super) reservations: usize,
    pub(super) lateness: Duration,
    pub(super) seed: Option<Seed>,
    clock: Option<Clock>,
}

/// Cells for what was given back at a limit for each client.
const CELLS: usize = 4096;

impl LimitSetBuilder {
    /// One more limit. Calls bring keys for those that want one in this order, and are told the first that refuses.
    pub fn limit(mut self, rule: LimitRule) -> Self {
        self.rules.push(rule);
        self
    }

    /// How many holds there may be at a time ([`LimitSet::reserve_at`]): each takes 20 to 40 bytes. Default: none.
    pub fn reservations(mut self, reservations: usize) -> Self {
        self.reservations = reservations;
        self
    }

    /// See [`crate::KeyedLimiterBuilder::lateness`].
    pub fn lateness(mut self, lateness: Duration) -> Self {
        self.lateness = lateness;
        self
    }

    /// The seed of the hash. Default: random; set it where nodes must agree.
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The clock of the short forms. Default: monotonic.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Checks the settings and allocates.
    ///
    /// # Errors
    /// Names the first setting out of its range, and the range: no limits, or more than 8, two of one name, an algorithm or a quota that
    /// a set cannot have. What is wrong with one limit also names it.
    pub fn build(self) -> Result<LimitSet, ConfigError> {
        self.make(Tick(0), |builder, rule, seed| builder.member(rule, seed))
    }

    /// With these limits, and a clock that begins at `start` if none was given.
    pub(super) fn make<E: From<ConfigError>>(
        &self,
        start: Tick,
        mut member: impl FnMut(&Self, &LimitRule, Seed) -> Result<Member, E>,
    ) -> Result<LimitSet, E> {
        if self.rules.is_empty() || self.rules.len() > MOST {
            let limit = format_args!("1 to {MOST} of them");
            return Err(ConfigError::new("limits", self.rules.len(), limit).into());
        }
        let mut names = HashSet::new();
        for LimitRule { name, .. } in &self.rules {
            if name.is_empty() || !names.insert(name) {
                let limit = "a name that no other limit has";
                return Err(ConfigError::new("name", format_args!("{name:?}"), limit).into());
            }
        }
        let seed = self.seed.unwrap_or_else(Seed::random);
        let limit = |rule: &LimitRule| Ok::<_, E>(self.limit_of(rule, member(self, rule, seed)?));
        let limits: Result<Box<[Limit]>, E> = self.rules.iter().map(limit).collect();
        let limits = limits?;
        let shortest = limits.iter().map(|limit| limit.quota.per).min().unwrap_or_default();
        let nanos = u64::try_from(shortest.as_nanos()).unwrap_or(u64::MAX);
        let holds = (self.reservations > 0).then(|| Holds::new(self.reservations)).transpose()?;
        Ok(LimitSet {
            limits,
            seed,
            clock: settings::clock_from(self.clock.clone(), Window::time(shortest), start)?,
            newest: CachePadded::new(AtomicU64::new(0)),
            granule: (nanos / 1024).max(1),
            holds,
            unreturned: Counter::default(),
            settings: self.settings(),
        })
    }

    /// What a limit is built by, if it is for each client.
    pub(super) fn keyed(&self, rule: &LimitRule, seed: Seed) -> Option<KeyedLimiterBuilder> {
        let builder = KeyedLimiter::builder(rule.quota).algorithm(rule.algorithm).clients(rule.clients?);
        Some(builder.on_unknown(rule.on_unknown).lateness(self.lateness).seed(seed).in_set())
    }

    /// .. if it is for all.
    pub(super) fn sole(rule: &LimitRule) -> LimiterBuilder {
        Limiter::builder(rule.quota).algorithm(rule.algorithm).in_set()
    }

    fn member(&self, rule: &LimitRule, seed: Seed) -> Result<Member, ConfigError> {
        let member = match self.keyed(rule, seed) {
            Some(keyed) => keyed.build().map(|keyed| Member::Keyed(Box::new(keyed))),
            None => Self::sole(rule).build().map(|sole| Member::Sole(Box::new(sole))),
        };
        let name = &rule.name;
        member.map_err(|error| ConfigError { value: format!("{} of {name:?}", error.value), ..error })
    }

    fn limit_of(&self, rule: &LimitRule, member: Member) -> Limit {
        let LimitRule { name, quota, clients, .. } = rule.clone();
        let refunds = match clients {
            _ if self.reservations == 0 => Refunds::default(),
            Some(clients) => Refunds::new(clients.min(CELLS)),
            None => Refunds::new(1),
        };
        let most = AtomicU64::new(quota.capacity());
        Limit { name, quota, most, member, refunds }
    }
}

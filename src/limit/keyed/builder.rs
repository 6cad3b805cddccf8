//! Building a [`KeyedLimiter`]: values checked once, so that nothing can fail later.

use super::{
    super::{
        algorithm::{Algorithm, Judges, with_judge},
        change::Terms,
        judge::Judge,
        quota::Quota,
    },
    Counts, KeyedLimiter, OnUnknown,
};
use crate::{
    error::ConfigError,
    hash::Seed,
    mem::filled,
    settings,
    sync::{AtomicU64, CachePadded, epoch::Link},
    table::{Geometry, KeyTable, Plan},
    time::{Clock, Tick, Window},
};
use std::{fmt, time::Duration};

/// Settings of a [`KeyedLimiter`]. Made by [`KeyedLimiter::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct KeyedLimiterBuilder {
    pub(in super::super) quota: Quota,
    pub(in super::super) algorithm: Algorithm,
    clients: usize,
    max_memory: Option<u64>,
    pub(in super::super) on_unknown: OnUnknown,
    pub(in super::super) lateness: Duration,
    max_jump: Option<Duration>,
    pub(in super::super) seed: Option<Seed>,
    clock: Option<Clock>,
    /// Of a set: what it charges can be given back.
    pub(in super::super) in_set: bool,
}

impl KeyedLimiterBuilder {
    pub(super) fn new(quota: Quota) -> KeyedLimiterBuilder {
        KeyedLimiterBuilder {
            quota,
            algorithm: Algorithm::default(),
            clients: 1_000_000,
            max_memory: None,
            on_unknown: OnUnknown::default(),
            lateness: Duration::ZERO,
            max_jump: None,
            seed: None,
            clock: None,
            in_set: false,
        }
    }

    /// Default: [`Algorithm::Gcra`].
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// How many clients it must know at a time: all there will be, or with [`KeyedLimiterBuilder::max_memory`] those to begin
    /// with. One is known from its first permit until it has all of them back. Default: 1,000,000.
    pub fn clients(mut self, clients: usize) -> Self {
        self.clients = clients;
        self
    }

    /// Lets the table grow, up to so many bytes, and shrink again. See [`crate::DedupBuilder::max_memory`].
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.max_memory = Some(bytes);
        self
    }

    /// What happens when the table is full. Default: clients that it does not know are denied.
    pub fn on_unknown(mut self, on_unknown: OnUnknown) -> Self {
        self.on_unknown = on_unknown;
        self
    }

    /// How far callers' clocks may differ, or events come late, and still be judged by their own time. Default: 0.
    pub fn lateness(mut self, lateness: Duration) -> Self {
        self.lateness = lateness;
        self
    }

    /// Answers ticks further ahead of the newest one seen than this as unknown clients: a single wild one would make all that is known
    /// old. Default: no bound but the range of stamps (2^58 ns, 9 years, from the first).
    pub fn max_jump(mut self, max_jump: Duration) -> Self {
        self.max_jump = Some(max_jump);
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

    pub(in super::super) fn in_set(self) -> Self {
        KeyedLimiterBuilder { in_set: true, ..self }
    }

    /// Bytes that it will take to begin with.
    ///
    /// # Errors
    /// If there are no clients, or more than the machine has memory for, or the quota is out of range.
    pub fn memory_bytes(&self) -> Result<u64, ConfigError> {
        let shared = if let OnUnknown::Share(cells) = self.on_unknown { 8 * cells as u64 } else { 0 };
        Ok(self.geometry()?.bytes() + self.algorithm.rule(self.quota)?.bytes(self.clients) + shared)
    }

    fn geometry(&self) -> Result<Geometry, ConfigError> {
        Geometry::for_keys(self.clients).map_err(of_clients)
    }

    /// The cells that unknown clients share.
    fn shared(&self) -> Result<Box<[AtomicU64]>, ConfigError> {
        let error = |value: &dyn fmt::Display, limit| Err(ConfigError::new("on_unknown", value, limit));
        match self.on_unknown {
            OnUnknown::Deny | OnUnknown::Allow => Ok(Box::default()),
            OnUnknown::Share(cells) if !(1..=Self::MOST_SHARED).contains(&cells) => {
                error(&format_args!("{cells} cells"), "1 to 2^28 cells")
            }
            OnUnknown::Share(_) if self.algorithm == Algorithm::SlidingLog => {
                error(&"shared cells", "deny or allow, for sliding logs: they are no words")
            }
            OnUnknown::Share(_) if self.in_set => error(&"shared cells", "deny or allow, in a set"),
            OnUnknown::Share(cells) => match filled(cells, || AtomicU64::new(0)) {
                Some(shared) => Ok(shared),
                None => error(&format_args!("{cells} cells"), "what the system can allocate"),
            },
        }
    }

    const MOST_SHARED: usize = 1 << 28;

    /// Checks the settings and allocates.
    ///
    /// # Errors
    /// Names the first setting out of its range, and the range.
    pub fn build(self) -> Result<KeyedLimiter, ConfigError> {
        self.make(Tick(0), |plan, _| KeyTable::new(plan).map_err(of_clients))
    }

    /// With a table by the plan, for these judges, and a clock that begins at `start` if none was given.
    pub(in super::super) fn make<E: From<ConfigError>>(
        self,
        start: Tick,
        table: impl FnOnce(Plan, &Judges) -> Result<KeyTable, E>,
    ) -> Result<KeyedLimiter, E> {
        let rule = self.algorithm.rule_for(self.in_set, self.quota)?;
        let judges = rule.for_clients(self.clients)?;
        let window = Window::time(self.quota.per);
        let ticks = |field, span, least| settings::ticks(field, Window::time(span), window, least);
        let lateness = ticks("lateness", self.lateness, 0)?;
        let max_jump = self.max_jump.map_or(Ok(u64::MAX), |jump| ticks("max_jump", jump, 1))?;
        let geometry = self.geometry()?;
        let limit = settings::max_memory(self.max_memory, geometry.bytes())?;
        if let (Some(most), Algorithm::SlidingLog) = (limit, self.algorithm) {
            let limit = "none, for sliding logs: there are as many as `clients`";
            return Err(ConfigError::new("max_memory", format_args!("{most} bytes"), limit).into());
        }
        let memory = with_judge!(&judges, judge => judge.memory());
        let granule = 1 << (memory / 1024).max(1).ilog2();
        // How far a state that is published lies above the horizon.
        let reach = lateness + granule + memory;
        let span = with_judge!(&judges, judge => judge.gone_at(reach + memory) - judge.gone_at(memory));
        let plan = Plan { geometry, span, evict_within: None, limit, bytes: None };
        Ok(KeyedLimiter {
            table: table(plan, &judges)?.for_good(),
            judges,
            terms: Terms::new(self.quota, rule),
            algorithm: self.algorithm,
            in_set: self.in_set,
            changed: Link::none(),
            overrides: Link::none(),
            // A granule: the first call is after all that `newest` can begin with.
            origin: self.algorithm.origin(self.quota, lateness + granule),
            lateness,
            max_jump,
            granule,
            newest: CachePadded::new(AtomicU64::new(0)),
            unknown: self.on_unknown.admission(self.quota),
            on_unknown: self.on_unknown,
            shared: self.shared()?,
            seed: self.seed.unwrap_or_else(Seed::random),
            clock: settings::clock_from(self.clock, window, start)?,
            counts: Counts::default(),
        })
    }
}

/// What a table calls capacity.
fn of_clients(error: ConfigError) -> ConfigError {
    ConfigError { field: "clients", ..error }
}

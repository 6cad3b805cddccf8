//! Which algorithm, and what it is built as.

use super::{fixed::Fixed, logs::Logs, quota::Quota, ring::LogRule, sliding::Sliding, tat::Tat};
use crate::{error::ConfigError, origin::Origin};

/// How a limiter counts. With N permits in T, and a client that takes all it can get:
///
/// | | in any span of T | in any span W |
/// |---|---|---|
/// | [`Algorithm::Gcra`], [`Algorithm::TokenBucket`] | burst + N | burst + floor(W * N / T) |
/// | [`Algorithm::LeakyQueue`] | N + 1 go on (they are spread out) | floor(W * N / T) + 1 go on |
/// | [`Algorithm::FixedWindow`] | 2 N (N in each window of the clock) | N * (windows that W touches) |
/// | [`Algorithm::SlidingLog`] | N | N * (ceil(W / T)) |
/// | [`Algorithm::SlidingCounter`] | less than 2 N (from the end of one window on) | as the fixed window, in steady state N a T |
///
/// (W in the steps in which time is taken, rounded up; of the log, a span without its beginning. Of a queue, go on: of a call that costs more,
/// its permits one after the other from then on.) Whose clock goes back gets no more than if it had stood still.
///
/// A denial costs nothing, in none of them: a client that goes on knocking is not locked out for it, and who has been denied learns a
/// time at which it is let in. (Variants that count denials would lock out for good whoever does not stop; so there are none.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// The leaky bucket as a meter: one arrival time for each client. Decides as [`Algorithm::TokenBucket`] does.
    ///
    /// Exact where N/T is a fraction of small terms: T/N of 1 ms or more that is a whole number of microseconds / n, n up to 8 (so are 100/60s,
    /// 7/10s, 3/h), or of 4 ns. Else T/N is rounded up, by an eighth of a microsecond (or by 4 ns) at most. Time
    /// is taken in whole microseconds (of intervals below 1 ms: in steps of 4 ns); so of burst 1 a permit may come later by one each time.
    #[default]
    Gcra,
    /// A bucket of `burst` tokens, refilled continuously with N in T; a permit is a token. It starts full.
    TokenBucket,
    /// The leaky bucket as a queue: who comes too early, by up to `burst` - 1 intervals, is let in with the delay after which it
    /// should go on ([`super::Admission::Allowed::delay`]), so that N in T go on, evenly. As exact as [`Algorithm::Gcra`].
    LeakyQueue,
    /// N in each window of the clock, counted from tick 0. For N/T up to 2^54 in 2^58 ns.
    FixedWindow,
    /// An estimate: what the present window has, and of the last window as large a part as the last T still cover. A call passes if
    /// the estimate with its cost stays within N. Exact in integers. For N^2/T up to 2^54 in 2^58 ns: 8,191 a second, 65,535 a minute.
    SlidingCounter,
    /// N in any span of T: the times of the last N permits are kept, 8 bytes each, for each client that is known. Time is taken in
    /// whole microseconds. For N up to 16,383.
    SlidingLog,
}

/// The algorithm with its numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    Tat(Tat),
    Fixed(Fixed),
    Sliding(Sliding),
    Log(LogRule),
}

/// What judges clients.
pub(super) enum Judges {
    Tat(Tat),
    Fixed(Fixed),
    Sliding(Sliding),
    Log(Logs),
}

/// Calls an expression with the judge there is.
macro_rules! with_judge {
    ($judges:expr, $judge:ident => $body:expr) => {
        match $judges {
            $crate::limit::algorithm::Judges::Tat($judge) => $body,
            $crate::limit::algorithm::Judges::Fixed($judge) => $body,
            $crate::limit::algorithm::Judges::Sliding($judge) => $body,
            $crate::limit::algorithm::Judges::Log($judge) => $body,
        }
    };
}
pub(super) use with_judge;

impl Rule {
    /// Bytes for so many clients beside the table.
    pub(super) fn bytes(self, clients: usize) -> u64 {
        if let Rule::Log(rule) = self { Logs::bytes_for(rule, clients) } else { 0 }
    }

    pub(super) fn for_clients(self, clients: usize) -> Result<Judges, ConfigError> {
        Ok(match self {
            Rule::Tat(tat) => Judges::Tat(tat),
            Rule::Fixed(fixed) => Judges::Fixed(fixed),
            Rule::Sliding(sliding) => Judges::Sliding(sliding),
            Rule::Log(rule) => Judges::Log(Logs::new(rule, clients)?),
        })
    }

    /// .. with the rings that there are.
    pub(super) fn beside(self, judges: &Judges) -> Judges {
        match (self, judges) {
            (Rule::Log(rule), Judges::Log(logs)) => Judges::Log(logs.changed(rule)),
            (Rule::Fixed(fixed), _) => Judges::Fixed(fixed),
            (Rule::Sliding(sliding), _) => Judges::Sliding(sliding),
            (Rule::Tat(tat), _) => Judges::Tat(tat),
            // (Of another algorithm: there are none.)
            (Rule::Log(_), Judges::Tat(tat)) => Judges::Tat(*tat),
            (Rule::Log(_), Judges::Fixed(fixed)) => Judges::Fixed(*fixed),
            (Rule::Log(_), Judges::Sliding(sliding)) => Judges::Sliding(*sliding),
        }
    }
}

impl Algorithm {
    pub(super) fn rule(self, quota: Quota) -> Result<Rule, ConfigError> {
        let (permits, per) = quota.checked()?;
        let burst = quota.capacity();
        let bucket = |queues| {
            if burst == 0 {
                return Err(ConfigError::new("burst", burst, "1 at least"));
            }
            let limit =
                "a permit in 4 ns at most, and a bucket that is full again after 2^56 ns (833 days) at most";
            let tat = Tat::new(permits, per, burst, queues)
                .ok_or_else(|| ConfigError::new("quota", quota, limit))?;
            Ok(Rule::Tat(tat))
        };
        let window = |rule: Option<Rule>, fits: &dyn Fn(u64) -> bool| {
            if burst != permits {
                let limit = format!("{permits}, the quota's, or none: a window has no burst of its own");
                return Err(ConfigError::new("burst", burst, limit));
            }
            rule.ok_or_else(|| {
                let most = (0..60).rev().map(|bits| (1 << bits) - 1).find(|&most| fits(most)).unwrap_or(0);
                ConfigError::new(
                    "quota",
                    quota,
                    format!("{most} permits at most with this algorithm and time"),
                )
            })
        };
        match self {
            Algorithm::Gcra | Algorithm::TokenBucket => bucket(false),
            Algorithm::LeakyQueue => bucket(true),
            Algorithm::FixedWindow => {
                window(Fixed::new(permits, per).map(Rule::Fixed), &|most| Fixed::new(most, per).is_some())
            }
            Algorithm::SlidingLog => {
                window(LogRule::new(permits, per).map(Rule::Log), &|most| LogRule::new(most, per).is_some())
            }
            Algorithm::SlidingCounter => window(Sliding::new(permits, per).map(Rule::Sliding), &|most| {
                Sliding::new(most, per).is_some()
            }),
        }
    }

    /// Of a set or not.
    pub(super) fn rule_for(self, in_set: bool, quota: Quota) -> Result<Rule, ConfigError> {
        if in_set { self.rule_of_set(quota) } else { self.rule(quota) }
    }

    /// Its name in snapshots.
    pub(super) fn name(self) -> &'static str {
        match self {
            Algorithm::Gcra => "gcra",
            Algorithm::TokenBucket => "token bucket",
            Algorithm::LeakyQueue => "leaky queue",
            Algorithm::FixedWindow => "fixed window",
            Algorithm::SlidingCounter => "sliding counter",
            Algorithm::SlidingLog => "sliding log",
        }
    }

    /// .. for a limit of a set, which can give back what it has charged.
    pub(super) fn rule_of_set(self, quota: Quota) -> Result<Rule, ConfigError> {
        let rule = match self.rule(quota)? {
            Rule::Tat(_) if self != Algorithm::LeakyQueue => {
                let (permits, per) = quota.checked()?;
                Tat::for_set(permits, per, quota.capacity()).map(Rule::Tat)
            }
            Rule::Fixed(fixed) => fixed.for_set().map(Rule::Fixed),
            Rule::Sliding(sliding) => sliding.for_set().map(Rule::Sliding),
            Rule::Tat(_) | Rule::Log(_) => {
                let limit = "gcra, token bucket, fixed window or sliding counter in a set: the others cannot give back";
                return Err(ConfigError::new("algorithm", format_args!("{self:?}"), limit));
            }
        };
        rule.ok_or_else(|| {
            let limit = "of fewer permits, or of more time for as many: in a set the state also counts what was given back";
            ConfigError::new("quota", quota, limit)
        })
    }

    /// Stamps with room for so much lateness, and for the windows before the first.
    pub(super) fn origin(self, quota: Quota, lateness: u64) -> Origin {
        let grid = match self {
            Algorithm::FixedWindow | Algorithm::SlidingCounter => {
                u64::try_from(quota.per.as_nanos()).unwrap_or(1)
            }
            // Steps of time begin where they do in ticks.
            _ => 1000,
        };
        Origin::new((lateness.div_ceil(grid) + 3) * grid, 0, grid)
    }
}

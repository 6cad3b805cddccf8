//! What the scripts are told of a quota, and what their answers mean.

use crate::error::{ErrorKind, RemoteError};
use std::time::Duration;
use windlass::{Admission, Algorithm, ConfigError, Limiter, Quota};

/// Scripts count in numbers of 53 bits; so far ahead of now may a state be, in its units.
const MOST_UNITS: u128 = 1 << 52;

/// The core's algorithm in whole microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// As in the core: an interval of a millisecond or more in up to 8 units of a microsecond; of shorter ones 250, of 4 ns each.
    Tat {
        units: u64,
        interval: u64,
        burst: u64,
        queues: bool,
    },
    Fixed {
        limit: u64,
        window: u64,
    },
    Sliding {
        limit: u64,
        window: u64,
    },
    Log {
        limit: u64,
        window: u64,
    },
}

impl Rule {
    /// Of a limiter, or of a limit in a set: the core takes time a little differently there.
    pub(crate) fn new(algorithm: Algorithm, quota: Quota, in_set: bool) -> Result<Rule, ConfigError> {
        // What the core refuses is refused here.
        Limiter::builder(quota).algorithm(algorithm).build()?;
        let wrong =
            |limit: &str| ConfigError { field: "quota", value: quota.to_string(), limit: limit.to_owned() };
        let per = u64::try_from(quota.per().as_nanos()).map_err(|_| wrong("a time of 366 days at most"))?;
        let limit = quota.permits();
        let window = || match per % 1000 {
            0 => Ok(per / 1000),
            _ => Err(wrong("whole microseconds, for a window in the engine")),
        };
        Ok(match algorithm {
            Algorithm::Gcra | Algorithm::TokenBucket | Algorithm::LeakyQueue => {
                let (units, interval) = pace(limit, per, in_set);
                if u128::from(interval) * u128::from(quota.capacity()) > MOST_UNITS {
                    return Err(wrong(
                        "a bucket that is full again after 208 days at most, for so many permits",
                    ));
                }
                let queues = algorithm == Algorithm::LeakyQueue;
                Rule::Tat { units, interval, burst: quota.capacity(), queues }
            }
            Algorithm::FixedWindow if limit < 1 << 52 => Rule::Fixed { limit, window: window()? },
            Algorithm::FixedWindow => return Err(wrong("less than 2^52 permits")),
            Algorithm::SlidingCounter => Rule::Sliding { limit, window: window()? },
            Algorithm::SlidingLog => Rule::Log { limit, window: per.div_ceil(1000) },
            other => {
                let limit = "an algorithm that the engine's scripts have".to_owned();
                return Err(ConfigError { field: "algorithm", value: format!("{other:?}"), limit });
            }
        })
    }

    /// Permits that can be taken at once.
    pub(crate) fn burst(&self) -> u64 {
        match *self {
            Rule::Tat { burst, .. } => burst,
            Rule::Fixed { limit, .. } | Rule::Sliding { limit, .. } | Rule::Log { limit, .. } => limit,
        }
    }

    /// The name of the algorithm in scripts.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Rule::Tat { .. } => "tat",
            Rule::Fixed { .. } => "fixed",
            Rule::Sliding { .. } => "sliding",
            Rule::Log { .. } => "log",
        }
    }

    /// Its numbers there.
    pub(crate) fn numbers(&self) -> [u64; 3] {
        match *self {
            Rule::Tat { units, interval, burst, .. } => [units, interval, interval * burst],
            Rule::Fixed { limit, window } | Rule::Sliding { limit, window } | Rule::Log { limit, window } => {
                [limit, window, 0]
            }
        }
    }

    /// When what is taken now is over, if that is at one time for all: a window's end.
    pub(crate) fn ends_after(&self, stands: &[i64]) -> Option<Duration> {
        match (self, stands) {
            (Rule::Fixed { .. }, &[_, left]) => Some(micros(left.into())),
            _ => None,
        }
    }

    /// What who asks for `cost` is told, by how it stood before.
    pub(crate) fn answer(&self, stands: &[i64], cost: u64) -> Result<Admission, RemoteError> {
        // No sum of these comes near the end of an i128.
        let whole = |n: u64| i128::from(n);
        let cost = whole(cost);
        Ok(match (*self, stands) {
            (Rule::Tat { units, interval, burst, queues }, &[ahead]) => {
                let (units, interval) = (whole(units), whole(interval));
                let (next, capacity) = (i128::from(ahead) + cost * interval, interval * whole(burst));
                let after = |time: i128| micros(up(time, units));
                if next > capacity && cost > 0 {
                    return Ok(Admission::Denied { retry_after: after(next - capacity) });
                }
                Admission::Allowed {
                    remaining: permits((capacity - next) / interval),
                    reset_after: after(next),
                    delay: if queues { after(next - cost * interval) } else { Duration::ZERO },
                }
            }
            (Rule::Fixed { limit, .. }, &[taken, left]) => {
                let (taken, left) = (i128::from(taken) + cost, micros(left.into()));
                if taken > whole(limit) && cost > 0 {
                    return Ok(Admission::Denied { retry_after: left });
                }
                let reset_after = if taken == 0 { Duration::ZERO } else { left };
                allowed(whole(limit) - taken, reset_after)
            }
            (Rule::Sliding { limit, window }, &[this, last, since]) => {
                let (limit, window) = (whole(limit), whole(window));
                let (this, last, since) = (i128::from(this), i128::from(last), i128::from(since));
                let covered = up(last * (window - since.max(0)), window);
                let room = limit - this - covered - cost;
                if room < 0 && cost > 0 {
                    // From when on, in a window, no more than `room` of what the window before it had counts.
                    let elapsed =
                        |had: i128, room: i128| if room >= had { 0 } else { window - room * window / had };
                    let room = limit - this - cost;
                    let passes = match room {
                        0.. if elapsed(last, room) < window => elapsed(last, room),
                        // In the next one.
                        _ => window + elapsed(this, limit - cost),
                    };
                    return Ok(Admission::Denied { retry_after: micros(passes - since) });
                }
                let windows = if this + cost > 0 { 2 } else { i128::from(last > 0) };
                allowed(room, micros(if windows == 0 { 0 } else { windows * window - since }))
            }
            (Rule::Log { limit, window }, &[room, newest, oldest]) => {
                let (window, left) = (whole(window), i128::from(room) - cost);
                if left < 0 && cost > 0 {
                    return Ok(Admission::Denied { retry_after: micros(i128::from(oldest) + window) });
                }
                let newest = if cost > 0 { i128::from(newest).max(0) } else { newest.into() };
                allowed(left, micros(if left == whole(limit) { 0 } else { newest + window }))
            }
            _ => return Err(unexpected(&stands)),
        })
    }
}

pub(super) fn unexpected(what: &impl std::fmt::Debug) -> RemoteError {
    RemoteError::new(ErrorKind::Protocol, format!("{what:?}"))
}

fn allowed(remaining: i128, reset_after: Duration) -> Admission {
    Admission::Allowed { remaining: permits(remaining), reset_after, delay: Duration::ZERO }
}

/// (There may be more taken than there is, if some was charged without being asked for.)
fn permits(n: i128) -> u64 {
    u64::try_from(n.max(0)).unwrap_or(u64::MAX)
}

fn micros(n: i128) -> Duration {
    Duration::from_micros(permits(n))
}

/// `time / units`, rounded up, and not below 0.
fn up(time: i128, units: i128) -> i128 {
    (time.max(0) + units - 1) / units
}

/// Units of a microsecond, and of a permit: rounded up, as the core does.
fn pace(permits: u64, per: u64, in_set: bool) -> (u64, u64) {
    // The core allows no more than one permit in 4 ns.
    let fine = (250, per.div_ceil(permits * 4));
    let interval = per / permits;
    if interval < 1_000_000 && !in_set {
        return fine;
    }
    let (n, d) = (u128::from(permits) * 1000, u128::from(per));
    let shared = gcd(n, d);
    let (n, d) = (n / shared, d / shared);
    let units = n.min(8);
    if in_set && units < n && interval < 100_000 {
        return fine;
    }
    let interval = (d * units).div_ceil(n);
    // Both fit: an interval is no longer than the quota's time in eighths of microseconds.
    (u64::try_from(units).unwrap_or(8), u64::try_from(interval).unwrap_or(u64::MAX))
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(algorithm: Algorithm, quota: &str) -> Result<Rule, ConfigError> {
        Rule::new(algorithm, quota.parse().expect("a quota"), false)
    }

    #[test]
    fn units_of_time() {
        let tat = |units, interval, burst| Ok(Rule::Tat { units, interval, burst, queues: false });
        assert_eq!(rule(Algorithm::Gcra, "100/60s"), tat(1, 600_000, 100));
        assert_eq!(rule(Algorithm::Gcra, "7/10s"), tat(7, 10_000_000, 7));
        assert_eq!(rule(Algorithm::Gcra, "11/10s"), tat(8, 7_272_728, 11));
        assert_eq!(rule(Algorithm::Gcra, "10000/s"), tat(250, 25_000, 10_000));
        assert_eq!(rule(Algorithm::Gcra, "3000/s burst 1"), tat(250, 83_334, 1));
    }

    #[test]
    fn what_the_engine_cannot_count() {
        for (algorithm, quota, field) in [
            (Algorithm::FixedWindow, "10/1500ns", "quota"),
            (Algorithm::SlidingCounter, "10/1500ns", "quota"),
            (Algorithm::SlidingCounter, "100000000/s", "quota"),
            (Algorithm::SlidingLog, "16384/s", "quota"),
            (Algorithm::FixedWindow, "10/s burst 2", "burst"),
            (Algorithm::Gcra, "2000/s burst 40000000000", "quota"),
        ] {
            assert_eq!(rule(algorithm, quota).expect_err(quota).field, field, "{quota}");
        }
    }
}

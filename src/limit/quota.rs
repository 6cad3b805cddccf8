//! How much in what time.

use crate::error::ConfigError;
use std::{fmt, str::FromStr, time::Duration};

/// So many permits in so long, and how many at once.
///
/// As text: `100/60s`, `10/s`, `10/s burst 20`; units are ns, us, ms, s, m (or min), h and d.
///
/// ```
/// use std::time::Duration;
/// use windlass::Quota;
///
/// let quota: Quota = "10/s burst 20".parse()?;
/// assert_eq!(quota, Quota::new(10, Duration::from_secs(1)).burst(20));
/// # Ok::<(), windlass::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    pub(super) permits: u64,
    pub(super) per: Duration,
    pub(super) burst: Option<u64>,
}

impl Quota {
    /// `permits` per `per`; as many at once.
    #[must_use]
    pub const fn new(permits: u64, per: Duration) -> Quota {
        Quota { permits, per, burst: None }
    }

    /// How many permits may be taken at once after a rest: the capacity of the bucket. Default: those of the quota. A window
    /// has no other.
    #[must_use]
    pub const fn burst(self, burst: u64) -> Quota {
        Quota { burst: Some(burst), ..self }
    }

    /// How many permits there are in [`Quota::per`].
    #[must_use]
    pub const fn permits(&self) -> u64 {
        self.permits
    }

    /// The time in which there are [`Quota::permits`].
    #[must_use]
    pub const fn per(&self) -> Duration {
        self.per
    }

    /// How many permits may be taken at once: what [`Quota::burst`] said, or else all of them.
    #[must_use]
    pub const fn capacity(&self) -> u64 {
        match self.burst {
            Some(burst) => burst,
            None => self.permits,
        }
    }

    /// Permits and nanoseconds, in their ranges.
    pub(super) fn checked(&self) -> Result<(u64, u64), ConfigError> {
        let error = |field, limit: &str| ConfigError::new(field, self, limit);
        let per = u64::try_from(self.per.as_nanos()).unwrap_or(u64::MAX);
        match (self.permits, per) {
            (0, _) => Err(error("quota", "1 permit at least")),
            (_, 0) => Err(error("quota", "a time of 1 ns at least")),
            (_, Self::LONGEST_NANOS..) => Err(error("quota", "a time of 366 days at most")),
            range => Ok(range),
        }
    }

    const LONGEST_NANOS: u64 = 366 * 86_400_000_000_000 + 1;
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.permits)?;
        let nanos = self.per.as_nanos();
        let unit = UNITS.iter().rev().find(|(_, unit)| nanos > 0 && nanos.is_multiple_of(u128::from(*unit)));
        let &(name, unit) = unit.unwrap_or(&UNITS[0]);
        match nanos / u128::from(unit) {
            1 => write!(f, "{name}")?,
            n => write!(f, "{n}{name}")?,
        }
        match self.burst {
            Some(burst) => write!(f, " burst {burst}"),
            None => Ok(()),
        }
    }
}

/// From small to large, the name that is written first.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

impl FromStr for Quota {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Quota, ConfigError> {
        let wanted = "permits/time, like 100/60s, 10/s or 10/s burst 20 (units: ns us ms s m min h d)";
        let error = || ConfigError::new("quota", format_args!("{text:?}"), wanted);
        let (permits, rest) = text.split_once('/').ok_or_else(error)?;
        let (per, burst) = match rest.split_once("burst") {
            Some((per, burst)) => (per, Some(number(burst).ok_or_else(error)?)),
            None => (rest, None),
        };
        let per = duration(per.trim()).ok_or_else(error)?;
        let quota = Quota { permits: number(permits).ok_or_else(error)?, per, burst };
        quota.checked()?;
        if burst == Some(0) {
            return Err(ConfigError::new("burst", 0, "1 at least"));
        }
        Ok(quota)
    }
}

/// Digits alone, no sign.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

fn duration(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, name) = text.split_at(digits);
    let (_, unit) = UNITS.iter().find(|(unit, _)| *unit == name.trim())?;
    let count = if count.is_empty() { 1 } else { count.parse::<u64>().ok()? };
    count.checked_mul(*unit).map(Duration::from_nanos)
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts() {
        let secs = Duration::from_secs;
        for (text, quota) in [
            ("100/60s", Quota::new(100, secs(60))),
            (" 100 / 60 s ", Quota::new(100, secs(60))),
            ("100/min", Quota::new(100, secs(60))),
            ("100/m", Quota::new(100, secs(60))),
            ("10/s burst 20", Quota::new(10, secs(1)).burst(20)),
            ("5/250us burst 1", Quota::new(5, Duration::from_micros(250)).burst(1)),
            ("1/366d", Quota::new(1, secs(366 * 86_400))),
            ("18446744073709551615/ns", Quota::new(u64::MAX, Duration::from_nanos(1))),
        ] {
            assert_eq!(text.parse(), Ok(quota), "{text}");
            let same = Quota::new(quota.permits(), quota.per()).burst(quota.capacity());
            assert_eq!(Quota { burst: Some(quota.capacity()), ..quota }, same, "{text}");
            assert_eq!(quota.to_string().parse(), Ok(quota), "{quota}");
        }
    }

    #[test]
    fn refused() {
        for text in [
            "",
            "/",
            "10",
            "10/",
            "/s",
            "10/0s",
            "0/s",
            "-1/s",
            "+1/s",
            "1/-1s",
            "10/s burst",
            "10/s burst 0",
            "10/s burst -1",
            "10/367d",
            "10/weeks",
            "10/1.5s",
            "18446744073709551616/s",
            "1/18446744073709551615d",
            "1/s burst 1 burst 2",
            "1/s 2",
        ] {
            let error = text.parse::<Quota>().expect_err(text);
            assert!(["quota", "burst"].contains(&error.field), "{text}: {error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text(text in "[ -9a-z]{0,30}") {
            if let Ok(quota) = text.parse::<Quota>() {
                prop_assert_eq!(quota.to_string().parse(), Ok(quota));
            }
        }
    }
}

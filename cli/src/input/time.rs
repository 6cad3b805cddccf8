//! Event times: text to nanoseconds since 1970.

use std::str::FromStr;

use clap::ValueEnum;
use jiff::{Timestamp, fmt::strtime::BrokenDownTime, tz::Offset};

use crate::failure::show;

/// The last time allowed: in the year 2262.
pub(crate) const LAST: u64 = (1 << 63) - 1;

/// What event times are cut to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Resolution {
    Ns,
    Us,
    Ms,
    S,
}

impl Resolution {
    fn nanos(self) -> u64 {
        match self {
            Resolution::Ns => 1,
            Resolution::Us => 1_000,
            Resolution::Ms => 1_000_000,
            Resolution::S => 1_000_000_000,
        }
    }
}

/// How a time is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TimeFormat {
    /// Numbers are unix seconds, text is rfc3339 or clf.
    Guess,
    /// A decimal number of units of 10^-`digits` seconds.
    Unix {
        digits: i32,
    },
    Rfc3339,
    Clf,
    Pattern(String),
}

const CLF: &str = "%d/%b/%Y:%H:%M:%S %z";

impl FromStr for TimeFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeFormat, String> {
        Ok(match text {
            "unix" => TimeFormat::Unix { digits: 0 },
            "unix-ms" => TimeFormat::Unix { digits: 3 },
            "unix-us" => TimeFormat::Unix { digits: 6 },
            "unix-ns" => TimeFormat::Unix { digits: 9 },
            "rfc3339" => TimeFormat::Rfc3339,
            "clf" => TimeFormat::Clf,
            pattern if pattern.contains('%') => {
                // A pattern is known to be good when it can print a time.
                let now = BrokenDownTime::from(Timestamp::UNIX_EPOCH);
                now.to_string(pattern).map_err(|e| format!("not a strftime pattern: {e}"))?;
                TimeFormat::Pattern(pattern.to_owned())
            }
            _ => {
                return Err(
                    "known are unix, unix-ms, unix-us, unix-ns, rfc3339, clf and strftime patterns like \
                            '%Y-%m-%d %H:%M:%S'"
                        .to_owned(),
                );
            }
        })
    }
}

impl TimeFormat {
    fn expected(&self) -> String {
        match self {
            TimeFormat::Guess => "unix seconds, rfc3339 or clf; --time-format says what it is".to_owned(),
            TimeFormat::Unix { digits: 0 } => "unix seconds, like 807249601 or 807249601.25".to_owned(),
            TimeFormat::Unix { digits } => {
                let unit = ["milli", "micro", "nano"][usize::try_from(digits / 3 - 1).unwrap_or(0)];
                format!("a number of {unit}seconds since 1970")
            }
            TimeFormat::Rfc3339 => "rfc3339, like 2018-03-24T17:15:20.866586Z".to_owned(),
            TimeFormat::Clf => "clf, like 17/May/2015:10:05:03 +0000".to_owned(),
            TimeFormat::Pattern(pattern) => format!("of the pattern {}", show(pattern.as_bytes())),
        }
    }

    /// Nanoseconds since 1970, or `None` if the text is no such time.
    fn read(&self, text: &[u8]) -> Option<i128> {
        match self {
            TimeFormat::Guess => Self::Unix { digits: 0 }
                .read(text)
                .or_else(|| Self::Rfc3339.read(text))
                .or_else(|| Self::Clf.read(text)),
            TimeFormat::Unix { digits } => decimal(text, 9 - digits),
            TimeFormat::Rfc3339 => {
                let parser = jiff::fmt::temporal::DateTimeParser::new();
                parser.parse_timestamp(text).ok().map(Timestamp::as_nanosecond)
            }
            TimeFormat::Clf => {
                let inner = text.strip_prefix(b"[").and_then(|t| t.strip_suffix(b"]"));
                strftime(CLF, inner.unwrap_or(text))
            }
            TimeFormat::Pattern(pattern) => strftime(pattern, text),
        }
    }
}

fn strftime(pattern: &str, text: &[u8]) -> Option<i128> {
    let parts = BrokenDownTime::parse(pattern, text).ok()?;
    let time = match parts.to_timestamp() {
        Ok(time) => time,
        Err(_) if parts.offset().is_none() => Offset::UTC.to_timestamp(parts.to_datetime().ok()?).ok()?,
        Err(_) => return None,
    };
    Some(time.as_nanosecond())
}

/// A decimal number (JSON's kind, with an exponent if it likes) times 10^`power`, cut to whole numbers.
fn decimal(text: &[u8], power: i32) -> Option<i128> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        text => (false, text),
    };
    let (number, exponent) = match text.iter().position(|b| matches!(b, b'e' | b'E')) {
        Some(e) => (&text[..e], std::str::from_utf8(&text[e + 1..]).ok()?.parse::<i16>().ok()?),
        None => (text, 0),
    };
    let (mut value, mut digits, mut power) = (0_i128, 0, power + i32::from(exponent));
    let mut point = false;
    for &byte in number {
        match byte {
            b'0'..=b'9' => {
                digits += 1;
                // Beyond 30 digits a fraction changes nothing that is kept.
                if point && value > 10_i128.pow(30) {
                    continue;
                }
                value = value.checked_mul(10)?.checked_add(i128::from(byte - b'0'))?;
                power -= i32::from(point);
            }
            b'.' if !point => point = true,
            _ => return None,
        }
    }
    if digits == 0 {
        return None;
    }
    let value = if negative { -value } else { value };
    let scale = 10_i128.checked_pow(power.unsigned_abs());
    Some(match (power >= 0, scale) {
        (true, Some(scale)) => value.saturating_mul(scale),
        (true, None) if value == 0 => 0,
        (true, None) => value.signum().saturating_mul(i128::MAX),
        (false, Some(scale)) => value.div_euclid(scale),
        (false, None) => value.signum().min(0),
    })
}

/// No longer text is remembered.
const LONGEST: usize = 64;

/// Reads the times of a stream. Neighbours often have the same time, so the last one is remembered.
#[derive(Clone, Debug)]
pub(crate) struct TimeReader {
    format: TimeFormat,
    cut: u64,
    last_text: Vec<u8>,
    last: u64,
}

impl TimeReader {
    pub(crate) fn new(format: TimeFormat, resolution: Resolution) -> TimeReader {
        TimeReader { format, cut: resolution.nanos(), last_text: Vec::new(), last: 0 }
    }

    /// Nanoseconds since 1970, cut to the resolution.
    pub(crate) fn read(&mut self, text: &[u8]) -> Result<u64, String> {
        if text == self.last_text && !text.is_empty() {
            return Ok(self.last);
        }
        let trimmed = text.trim_ascii();
        let nanos = self
            .format
            .read(trimmed)
            .ok_or_else(|| format!("time {} is not {}", show(text), self.format.expected()))?;
        let nanos = u64::try_from(nanos)
            .ok()
            .filter(|&nanos| nanos <= LAST)
            .ok_or_else(|| format!("time {} is out of range: 1970 to 2261 is allowed", show(text)))?;
        self.last = nanos - nanos % self.cut;
        self.last_text.clear();
        if text.len() <= LONGEST {
            self.last_text.extend_from_slice(text);
        }
        Ok(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: &str, text: &str) -> Result<u64, String> {
        TimeReader::new(format.parse().unwrap(), Resolution::Ns).read(text.as_bytes())
    }

    #[test]
    fn unix_times_are_exact() {
        assert_eq!(read("unix", "807249601"), Ok(807_249_601_000_000_000));
        assert_eq!(read("unix", "1521911720.865716"), Ok(1_521_911_720_865_716_000));
        assert_eq!(read("unix", "1.521911720865716e9"), Ok(1_521_911_720_865_716_000));
        assert_eq!(read("unix", "0.0000000019"), Ok(1), "cut, not rounded");
        assert_eq!(read("unix", "0"), Ok(0));
        assert_eq!(read("unix-ms", "1521911720865.5"), Ok(1_521_911_720_865_500_000));
        assert_eq!(read("unix-us", "7"), Ok(7_000));
        assert_eq!(read("unix-ns", "1521911720865716001"), Ok(1_521_911_720_865_716_001));
        assert_eq!(read("unix", " 5 "), Ok(5_000_000_000));
        assert_eq!(
            read("unix", "1.00000000000000000000000000000000000000000000000000000001"),
            Ok(1_000_000_000)
        );
    }

    #[test]
    fn what_is_no_unix_time() {
        for text in ["", "-", ".", "e5", "12a", "1.2.3", "0x10", "1e", "1e99999", "NaN", "--1"] {
            assert!(read("unix", text).unwrap_err().contains("is not unix seconds"), "{text}");
        }
        for text in ["-1", "-0.0000000001", "99999999999999", "1e300", "99999999999999999999999999999"] {
            assert!(read("unix", text).unwrap_err().contains("is out of range"), "{text}");
        }
    }

    #[test]
    fn dates() {
        let zeek = Ok(1_521_911_720_866_586_000);
        assert_eq!(read("rfc3339", "2018-03-24T17:15:20.866586Z"), zeek);
        assert_eq!(read("rfc3339", "2018-03-24T18:15:20.866586+01:00"), zeek);
        assert!(read("rfc3339", "2018-03-24T17:15:20.866586").is_err(), "without an offset it is no instant");
        let apache = Ok(1_431_857_103_000_000_000);
        assert_eq!(read("clf", "17/May/2015:10:05:03 +0000"), apache);
        assert_eq!(read("clf", "[17/May/2015:12:05:03 +0200]"), apache);
        assert_eq!(read("%Y-%m-%d %H:%M:%S", "2015-05-17 10:05:03"), apache);
        assert_eq!(read("%d.%m.%Y", "02.01.1970"), Ok(86_400_000_000_000));
        assert_eq!(read("%s", "5"), Ok(5_000_000_000));
        assert!(read("%Y-%m-%d", "2015-13-17").is_err());
        assert!(read("rfc3339", "1969-12-31T23:59:59Z").unwrap_err().contains("out of range"));
    }

    #[test]
    fn guesses() {
        let guess = |text: &str| TimeReader::new(TimeFormat::Guess, Resolution::S).read(text.as_bytes());
        assert_eq!(guess("5.9"), Ok(5_000_000_000));
        assert_eq!(guess("1970-01-01T00:00:05.9Z"), Ok(5_000_000_000));
        assert_eq!(guess("01/Jan/1970:00:00:05 +0000"), Ok(5_000_000_000));
        assert!(guess("yesterday").is_err());
    }

    #[test]
    fn formats() {
        assert!("unix-weeks".parse::<TimeFormat>().is_err());
        assert!("%".parse::<TimeFormat>().is_err());
        assert!("%Y %!".parse::<TimeFormat>().is_err());
    }

    #[test]
    fn the_remembered_time_is_the_right_one() {
        let mut reader = TimeReader::new(TimeFormat::Unix { digits: 0 }, Resolution::Ms);
        assert_eq!(reader.read(b"1.0009"), Ok(1_000_000_000));
        assert_eq!(reader.read(b"1.0009"), Ok(1_000_000_000));
        assert!(reader.read(b"x").is_err());
        assert_eq!(reader.read(b"2"), Ok(2_000_000_000));
        assert!(reader.read(b"").is_err());
    }
}

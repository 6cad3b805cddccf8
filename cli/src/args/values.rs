//! How numbers with a unit are written: `60s`, `1M`, `2G`.

use std::{fmt, str::FromStr, time::Duration};

/// A span of time: a whole number and a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) duration: Duration,
    text: String,
}

const SPAN_UNITS: [(&str, u128); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Span, String> {
        const HOW: &str = "a whole number and one of ns, us, ms, s, m, h, d: 250ms, 60s, 5m, 1h";
        let (number, unit) = split(text);
        let unit = SPAN_UNITS.iter().find(|(name, _)| *name == unit).ok_or(HOW)?.1;
        let number: u128 = number.parse().map_err(|_| HOW)?;
        let nanos = number.checked_mul(unit).ok_or("too long: 584 years at most")?;
        let nanos = u64::try_from(nanos).map_err(|_| "too long: 584 years at most")?;
        Ok(Span { duration: Duration::from_nanos(nanos), text: text.to_owned() })
    }
}

impl Span {
    /// The same for the same span, however it was written.
    pub(crate) fn plain(&self) -> String {
        let nanos = self.duration.as_nanos();
        let unit = SPAN_UNITS.iter().rev().find(|(_, unit)| nanos > 0 && nanos.is_multiple_of(*unit));
        let (name, unit) = unit.unwrap_or(&SPAN_UNITS[0]);
        format!("{}{name}", nanos / unit)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A number of things, decimal: `500000`, `64k`, `1M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) u64);

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Count, String> {
        let (number, unit) = split(text);
        let unit = match unit {
            "" => 1,
            "k" | "K" => 1_000,
            "M" => 1_000_000,
            "G" => 1_000_000_000,
            _ => return Err("a whole number, with k, M or G for thousands, millions or billions".to_owned()),
        };
        scaled(number, unit).map(Count)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An amount of memory, binary: `512M` is 512 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Bytes, String> {
        let (number, unit) = split(text);
        let unit = match unit.strip_suffix("iB").unwrap_or(unit) {
            "" => 1,
            "k" | "K" => 1 << 10,
            "M" => 1 << 20,
            "G" => 1 << 30,
            "T" => 1 << 40,
            _ => return Err("a whole number of bytes, with K, M, G or T for powers of 1024".to_owned()),
        };
        scaled(number, unit).map(Bytes)
    }
}

fn split(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

fn scaled(number: &str, unit: u64) -> Result<u64, String> {
    if number.is_empty() {
        return Err("a whole number is needed".to_owned());
    }
    let number: Option<u64> = number.parse().ok();
    number.and_then(|n| n.checked_mul(unit)).ok_or_else(|| format!("too large: {} at most", u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        let nanos = |text: &str| text.parse::<Span>().map(|s| s.duration.as_nanos());
        assert_eq!(nanos("250ms"), Ok(250_000_000));
        assert_eq!(nanos("0s"), Ok(0));
        assert_eq!(nanos("7d"), Ok(604_800_000_000_000));
        let plain = |text: &str| text.parse::<Span>().map(|span| span.plain());
        for (text, is) in [("0s", "0ns"), ("60s", "1m"), ("90s", "90s"), ("1500us", "1500us"), ("48h", "2d")]
        {
            assert_eq!(plain(text).as_deref(), Ok(is));
        }
        assert_eq!(plain("18446744073709551615ns").as_deref(), Ok("18446744073709551615ns"));
        for wrong in [
            "",
            "60",
            "s",
            "1.5h",
            "-1s",
            "1 s",
            "1w",
            "+5s",
            "99999999999999h",
            "99999999999999999999999999999999999999999s",
        ] {
            assert!(nanos(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn counts_and_sizes() {
        assert_eq!("1M".parse(), Ok(Count(1_000_000)));
        assert_eq!("64k".parse(), Ok(Count(64_000)));
        assert_eq!("512M".parse(), Ok(Bytes(512 << 20)));
        assert_eq!("2GiB".parse(), Ok(Bytes(2 << 30)));
        for wrong in ["", "M", "-1", "1.5M", "1MM", "99999999999999999999", "99999999999999999G"] {
            assert!(wrong.parse::<Count>().is_err(), "{wrong}");
            assert!(wrong.parse::<Bytes>().is_err(), "{wrong}");
        }
    }
}

//! How shares and exponents are written: `0.2`, `1.07`. Kept as whole numbers, so that they mean the same everywhere. And
//! rates of error, which may be very small: `1e-6`.

use std::{fmt, str::FromStr};

/// A part of a whole, exact to a millionth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share(u32);

impl Share {
    /// In millionths.
    pub(crate) const WHOLE: u64 = 1_000_000;

    pub(crate) const fn percent(percent: u32) -> Share {
        Share(percent * 10_000)
    }

    pub(crate) fn millionths(self) -> u64 {
        self.0.into()
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Share, String> {
        let share = fixed(text, 6).filter(|&millionths| u64::from(millionths) <= Share::WHOLE);
        share.map(Share).ok_or_else(|| "a share from 0 to 1, with 6 decimals at most: 0.2".to_owned())
    }
}

/// The exponent of a Zipf distribution, exact to a thousandth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Skew(u32);

impl Skew {
    pub(crate) const ONE: Skew = Skew(1000);

    pub(crate) fn thousandths(self) -> u32 {
        self.0
    }
}

impl FromStr for Skew {
    type Err = String;

    fn from_str(text: &str) -> Result<Skew, String> {
        let skew = fixed(text, 3).filter(|&thousandths| thousandths <= 5000);
        skew.map(Skew).ok_or_else(|| "a number from 0 to 5, with 3 decimals at most: 1.07".to_owned())
    }
}

/// A share of errors.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rate {
    pub(crate) share: f64,
    text: String,
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Rate, String> {
        let share = text.parse().ok().filter(|share| (1e-9..1.0).contains(share));
        let rate = share.map(|share| Rate { share, text: text.to_owned() });
        rate.ok_or_else(|| "a share from 1e-9 to below 1: 0.01, 1e-6".to_owned())
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A number with at most so many decimals, in units of the last of them.
fn fixed(text: &str, decimals: usize) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > decimals {
        return None;
    }
    format!("{whole}{fraction:0<decimals$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        let read = |text: &str| text.parse::<Share>().map(Share::millionths).ok();
        let good = [("0", 0), ("1", 1_000_000), ("0.2", 200_000), ("1.0", 1_000_000), ("0.000001", 1)];
        for (text, millionths) in good {
            assert_eq!(read(text), Some(millionths), "{text}");
        }
        for wrong in ["", ".", ".5", "1.", "-0.1", "+0.1", "1.000001", "2", "0.0000001", "20%", "1e-3", "0,2"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(Share::percent(25).millionths(), 250_000);
    }

    #[test]
    fn rates() {
        let read = |text: &str| text.parse::<Rate>().map(|rate| rate.share).ok();
        assert_eq!(["0.01", "1e-6", "1e-9", ".5"].map(read), [0.01, 1e-6, 1e-9, 0.5].map(Some));
        for wrong in ["", "0", "1", "-0.1", "1e-10", "NaN", "inf", "1%"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn skews() {
        let read = |text: &str| text.parse::<Skew>().map(Skew::thousandths).ok();
        assert_eq!(["0", "1", "0.99", "1.075", "5"].map(read), [0, 1000, 990, 1075, 5000].map(Some));
        for wrong in ["5.001", "1.0001", "99999999999", "-1", "one", "NaN", "inf"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}

//! `ln` and `exp` from `+ - * /` alone. Those of IEEE 754 have one right answer; a system's own `ln` and `exp` differ from
//! another's in the last bit, and a stream would with them.
//!
//! Good to 14 digits, which is plenty for [`super::zipf`].

use std::f64::consts::{LN_2, LOG2_E, SQRT_2};

const MANTISSA: u64 = (1 << 52) - 1;
const BIAS: i32 = 1023;

/// For positive numbers that are not subnormal.
///
/// x = m * 2^e with m in (sqrt(1/2), sqrt(2)]; ln m = 2 artanh t with t = (m - 1) / (m + 1), as a series in t^2.
pub(super) fn ln(x: f64) -> f64 {
    const SERIES: [f64; 11] = [
        1.0 / 21.0,
        1.0 / 19.0,
        1.0 / 17.0,
        1.0 / 15.0,
        1.0 / 13.0,
        1.0 / 11.0,
        1.0 / 9.0,
        1.0 / 7.0,
        1.0 / 5.0,
        1.0 / 3.0,
        1.0,
    ];
    let bits = x.to_bits();
    let mut e = exponent(bits);
    let mut m = f64::from_bits(bits & MANTISSA | power_of_two(0));
    if m > SQRT_2 {
        m *= 0.5;
        e += 1;
    }
    let t = (m - 1.0) / (m + 1.0);
    f64::from(e) * LN_2 + 2.0 * t * horner(&SERIES, t * t)
}

/// For numbers from -700 to 700.
///
/// x = n ln 2 + r with |r| <= ln(2) / 2; e^r by its series.
pub(super) fn exp(x: f64) -> f64 {
    const SERIES: [f64; 14] = [
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        1.0 / 2.0,
        1.0,
        1.0,
    ];
    let n = (x * LOG2_E + 0.5).floor();
    let r = x - n * LN_2;
    #[allow(clippy::cast_possible_truncation)] // a whole number, at most 1010
    let scale = f64::from_bits(power_of_two(n as i32));
    horner(&SERIES, r) * scale
}

/// The polynomial with these coefficients, the highest power's first.
fn horner(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

#[allow(clippy::cast_possible_truncation)] // 11 bits
fn exponent(bits: u64) -> i32 {
    (bits >> 52) as i32 - BIAS
}

/// The bits of 2^n.
#[allow(clippy::cast_sign_loss)] // -1022 to 1023
fn power_of_two(n: i32) -> u64 {
    ((n + BIAS) as u64) << 52
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_those_of_the_system() {
        for i in -40_000..=40_000 {
            let x = f64::from(i) * 0.001;
            let (ours, theirs) = (exp(x), x.exp());
            assert!((ours / theirs - 1.0).abs() < 2e-14, "exp({x}) = {ours}, not {theirs}");
            let (ours, theirs) = (ln(theirs), theirs.ln());
            assert!((ours - theirs).abs() <= 1e-15 * theirs.abs(), "ln = {ours}, not {theirs}");
        }
    }

    #[test]
    fn the_same_bits_everywhere() {
        // From a program in another language (docs/gen.md).
        let lns = [0, 4_604_418_534_313_441_775, 13_835_739_416_338_191_637, 4_626_526_298_450_952_120];
        let exps = [
            4_607_182_418_800_017_408,
            4_613_303_445_314_885_482,
            4_473_616_198_666_092_710,
            4_628_324_747_090_885_499,
        ];
        assert_eq!([1.0, 2.0, 0.1, 1e9].map(|x| ln(x).to_bits()), lns);
        assert_eq!([0.0, 1.0, -20.5, 3.3].map(|x| exp(x).to_bits()), exps);
    }
}

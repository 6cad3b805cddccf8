//! Ranks by Zipf's law: rank k of n comes with a probability proportional to k^-s.

use super::{
    elementary::{exp, ln},
    random::Random,
};
use crate::args::Skew;

/// Draws ranks from 1 to n.
#[derive(Clone, Debug)]
pub(super) enum Ranks {
    Uniform(u64),
    Zipf(Zipf),
}

impl Ranks {
    pub(super) fn new(n: u64, skew: Skew) -> Ranks {
        if skew.thousandths() == 0 { Ranks::Uniform(n) } else { Ranks::Zipf(Zipf::new(n, skew)) }
    }

    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Ranks::Uniform(n) => 1 + random.below(*n),
            Ranks::Zipf(zipf) => zipf.draw(random),
        }
    }
}

/// Rejection-inversion (Hörmann, Derflinger 1996): no table, and about as fast for a thousand million ranks as for ten.
///
/// With h(x) = x^-s and H an integral of h, a point u between H(3/2) - h(1) and H(n + 1/2) is drawn, and rank k is the
/// whole number next to the inverse of H at u. Of the points that lead to k, a stretch as long as h(k) is accepted.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    n: u64,
    s: f64,
    /// 1 - s; 0 means that H is the logarithm.
    rest: f64,
    /// u runs from `last` (for rank n) towards `first`.
    last: f64,
    first: f64,
    /// A rank that lies no further than this above the inverse need not be tested.
    safe: f64,
}

impl Zipf {
    fn new(n: u64, skew: Skew) -> Zipf {
        let s = f64::from(skew.thousandths()) / 1000.0;
        let rest = (1000.0 - f64::from(skew.thousandths())) / 1000.0;
        let mut zipf = Zipf { n, s, rest, last: 0.0, first: 0.0, safe: 0.0 };
        zipf.last = zipf.integral(float(n) + 0.5);
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.safe = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.last + random.unit() * (self.first - self.last);
            let x = self.inverse(u);
            let rank = nearest(x).clamp(1, self.n);
            let k = float(rank);
            if k - x <= self.safe || u >= self.integral(k + 0.5) - self.weight(k) {
                return rank;
            }
        }
    }

    fn weight(&self, k: f64) -> f64 {
        exp(-self.s * ln(k))
    }

    fn integral(&self, x: f64) -> f64 {
        if self.rest == 0.0 { ln(x) } else { exp(self.rest * ln(x)) / self.rest }
    }

    fn inverse(&self, u: f64) -> f64 {
        if self.rest == 0.0 { exp(u) } else { exp(ln(self.rest * u) / self.rest) }
    }
}

#[allow(clippy::cast_precision_loss)] // none up to 2^53
fn float(rank: u64) -> f64 {
    rank as f64
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // n + 1/2 at most, give or take an error of rounding
fn nearest(x: f64) -> u64 {
    (x + 0.5) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 200_000;

    fn skew(text: &str) -> Skew {
        text.parse().unwrap()
    }

    /// How often each of the first ranks comes, and all others together, beside the law.
    fn chi_square(n: u64, s: &str) -> (f64, f64) {
        let ranks = Ranks::new(n, skew(s));
        let mut random = Random::new(42);
        let mut counts = vec![0_u32; usize::try_from(n).unwrap()];
        for _ in 0..DRAWS {
            counts[usize::try_from(ranks.draw(&mut random) - 1).unwrap()] += 1;
        }
        let weight = |k: usize| ((k + 1) as f64).powf(-s.parse::<f64>().unwrap());
        let all: f64 = (0..counts.len()).map(weight).sum();
        let (mut sum, mut bins, mut seen, mut expected) = (0.0, 0.0, 0, 0.0);
        for (k, count) in counts.iter().enumerate() {
            seen += count;
            expected += f64::from(DRAWS) * weight(k) / all;
            // Ranks are put together until some of them can be expected.
            if expected >= 10.0 || k + 1 == counts.len() && expected > 1.0 {
                sum += (f64::from(seen) - expected).powi(2) / expected;
                bins += 1.0;
                (seen, expected) = (0, 0.0);
            }
        }
        (sum, bins - 1.0)
    }

    #[test]
    fn ranks_follow_the_law() {
        for s in ["0", "0.001", "0.5", "0.99", "0.999", "1", "1.001", "1.2", "2", "3.5", "5"] {
            for n in [2, 3, 10, 1000, 20_000] {
                let (chi_square, freedom) = chi_square(n, s);
                // Four standard deviations of chi-square, and some more where freedom is little and it is not normal.
                let most = freedom + 4.0 * (2.0 * freedom).sqrt() + 6.0;
                assert!(chi_square < most, "s {s}, {n} ranks: {chi_square}, {freedom} degrees of freedom");
            }
        }
    }

    #[test]
    fn a_thousand_million_ranks() {
        let ranks = Ranks::new(1_000_000_000, skew("1"));
        let mut random = Random::new(7);
        let mut decades = [0_u32; 9];
        for _ in 0..DRAWS {
            let rank = ranks.draw(&mut random);
            decades[usize::try_from((rank.max(2) - 1).ilog10()).unwrap()] += 1;
        }
        // Ranks from 10^d + 1 to 10^(d+1): ln 10 of ln 10^9 + 0.5772, but for the first decade, which has more.
        for decade in &decades[2..] {
            let expected = f64::from(DRAWS) * 10_f64.ln() / (1e9_f64.ln() + 0.5772);
            assert!((f64::from(*decade) - expected).abs() < 4.0 * expected.sqrt(), "{decades:?}");
        }
    }

    #[test]
    fn the_short_cut_changes_nothing() {
        for s in ["0.3", "1", "1.7"] {
            let Ranks::Zipf(short) = Ranks::new(1000, skew(s)) else { panic!("not uniform") };
            let long = Zipf { safe: f64::NEG_INFINITY, ..short.clone() };
            let (mut a, mut b) = (Random::new(3), Random::new(3));
            assert!((0..100_000).all(|_| short.draw(&mut a) == long.draw(&mut b)), "{s}");
        }
    }

    #[test]
    fn the_only_rank() {
        for s in ["0", "0.999", "1", "1.001", "5"] {
            let ranks = Ranks::new(1, skew(s));
            let mut random = Random::new(1);
            assert!((0..1000).all(|_| ranks.draw(&mut random) == 1), "{s}");
        }
    }
}

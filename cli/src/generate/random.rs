//! Random numbers: SplitMix64 (Steele, Lea, Flood 2014).

use crate::args::Share;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Its state is a counter, so that any number of the sequence can be had at once.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// What `next` would give after `skipped` others. Different for each `skipped`.
    pub(super) fn peek(&self, skipped: u64) -> u64 {
        mix(self.0.wrapping_add(GOLDEN.wrapping_mul(skipped.wrapping_add(1))))
    }

    /// Uniform below `n` (to within n / 2^64).
    #[allow(clippy::cast_possible_truncation)] // the high half
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in [0, 1): 53 bits.
    #[allow(clippy::cast_precision_loss)] // there is none
    pub(super) fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.next() >> 11) as f64 * STEP
    }

    pub(super) fn chance(&mut self, share: Share) -> bool {
        self.below(Share::WHOLE) < share.millionths()
    }
}

/// A bijection.
fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_numbers() {
        // The first outputs of SplitMix64 for seed 1234567, as in many test suites.
        let mut random = Random::new(1_234_567);
        let ahead = [0, 1, 2].map(|skipped| random.peek(skipped));
        let numbers = [random.next(), random.next(), random.next()];
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
        assert_eq!(ahead, numbers);
    }

    #[test]
    fn chances_that_are_none() {
        let mut random = Random::new(1);
        assert!((0..1000).all(|_| random.chance("1".parse().unwrap())));
        assert!(!(0..1000).any(|_| random.chance("0".parse().unwrap())));
    }
}

//! Division by a number that is known beforehand, as a multiplication: the processor's own takes longer than the rest of a decision.
//!
//! With `s` the divisor's highest bit and `m = ceil(2^(63 + s) / divisor)` the quotient of x is `x * m / 2^(63 + s)`, rounded down: m is too large
//! by less than 1, and so is the product by less than x, which must not add up to a `divisor`-th of 2^(63 + s). As that is
//! more than 2^62, any x below 2^62 is good. (T. Granlund, P. L. Montgomery: "Division by Invariant Integers using Multiplication", 1994.)

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Divisor {
    value: u64,
    inverse: u64,
    shift: u32,
}

impl Divisor {
    /// What can be divided: numbers below this.
    pub(super) const LIMIT: u64 = 1 << 62;

    /// At least 1, and below [`Divisor::LIMIT`].
    pub(super) fn new(value: u64) -> Divisor {
        debug_assert!((1..Self::LIMIT).contains(&value), "{value}");
        let shift = value.ilog2();
        let inverse = (1_u128 << (63 + shift)).div_ceil(u128::from(value));
        // No more than 2^63, as `value` is 2^shift at least.
        Divisor { value, inverse: u64::try_from(inverse).unwrap_or(u64::MAX), shift }
    }

    pub(super) fn value(self) -> u64 {
        self.value
    }

    /// Rounded down.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // the high half
    pub(super) fn divide(self, x: u64) -> u64 {
        debug_assert!(x < Self::LIMIT, "{x}");
        ((u128::from(x << 1) * u128::from(self.inverse)) >> 64) as u64 >> self.shift
    }

    /// Rounded up.
    #[inline(always)]
    pub(super) fn divide_up(self, x: u64) -> u64 {
        self.divide(x + (self.value - 1))
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOST: u64 = Divisor::LIMIT - 1;

    #[test]
    fn edges() {
        let powers = || (0..62).map(|bit| 1_u64 << bit);
        for value in
            powers().flat_map(|n| [n, n + 1, n.saturating_sub(1).max(1)]).chain([3, 10, 1_000_003, MOST])
        {
            let divisor = Divisor::new(value);
            let multiples = [1, 2, 3, MOST / value].map(|n| value.saturating_mul(n).min(MOST));
            for x in multiples.into_iter().chain(powers()).chain([0, MOST]) {
                for x in [x.saturating_sub(1), x, (x + 1).min(MOST)] {
                    assert_eq!(divisor.divide(x), x / value, "{x} / {value}");
                    if x <= MOST - value {
                        assert_eq!(divisor.divide_up(x), x.div_ceil(value), "{x} / {value}, up");
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any(x in 0..=MOST, value in 1..=MOST, few in 0_u32..62) {
            let value = (value >> few).max(1);
            prop_assert_eq!(Divisor::new(value).divide(x), x / value);
        }
    }
}

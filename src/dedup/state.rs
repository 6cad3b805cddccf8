//! What a state says, as pure functions of its bits.
//!
//! ```text
//!  59                                         2        1           0
//! +--------------------------------------------+---------+-----------+
//! |                 stamp (58)                 | claimed | forgotten |
//! +--------------------------------------------+---------+-----------+
//! ```
//! Forgetting is `state + 1`: a greater state than the one it forgets, gone with it and not before.
//!
//! A claim must say for how long it holds, and where that shall go must not be missed. So claims are made only at stamps that
//! are multiples of [`BLOCK`], and the stamp field of one made at `c` is `c - BLOCK + code`: the block below `c`, and in it the
//! lease as a small float, 1 to [`BLOCK`] - 1. That lies below `c`, so the same id *admitted* at `c` is a greater state: to commit
//! is to publish that. And it lies above all states of the multiple of `BLOCK` before.

/// Claims are made at multiples of this.
pub(super) const BLOCK: u64 = 1 << 10;

const FORGOTTEN: u64 = 1;
const CLAIMED: u64 = 2;
/// Of the stamp.
const SHIFT: u32 = 2;

/// The greatest state up to this stamp, of whatever kind.
#[inline(always)]
pub(super) const fn last_of(stamp: u64) -> u64 {
    stamp << SHIFT | CLAIMED | FORGOTTEN
}

/// The stamp below which, or at which, a horizon stands.
#[inline(always)]
pub(super) fn field(state: u64) -> u64 {
    state >> SHIFT
}

#[inline(always)]
pub(super) const fn admitted(stamp: u64) -> u64 {
    stamp << SHIFT
}

/// Whether it is that of an id which is admitted, and not claimed or forgotten.
#[inline(always)]
pub(super) fn is_admitted(state: u64) -> bool {
    state & (CLAIMED | FORGOTTEN) == 0
}

/// Of an id that is claimed at `stamp`, a multiple of [`BLOCK`] above 0, under a lease of this [`code`].
pub(super) fn claimed(stamp: u64, code: u64) -> u64 {
    (stamp - BLOCK + code) << SHIFT | CLAIMED
}

/// Whether it is that of an id which is claimed, and the claim was not given up.
pub(super) fn is_claimed(state: u64) -> bool {
    state & (CLAIMED | FORGOTTEN) == CLAIMED
}

/// When it was admitted or claimed, forgotten since or not.
pub(super) fn stamp(state: u64) -> u64 {
    if state & CLAIMED == 0 { field(state) } else { (field(state) & !(BLOCK - 1)) + BLOCK }
}

/// The lease of a claim.
pub(super) fn lease(claim: u64) -> u64 {
    span(field(claim) % BLOCK)
}

/// A span as a float of 10 bits, rounded up: exact to 31, then at most a 16th more. The leading 1 of the fraction is not
/// written, as usual. For 1 to 2^57: the codes are 1 to 864.
pub(super) fn code(span: u64) -> u64 {
    let exponent = (span >> FRACTION).checked_ilog2().unwrap_or(0);
    // With the leading 1, which adds 1 to the exponent above it; rounding up may add another.
    (u64::from(exponent) << FRACTION) + span.div_ceil(1 << exponent)
}

/// The span of a code.
pub(super) fn span(code: u64) -> u64 {
    match code >> FRACTION {
        0 => code,
        exponent => ((1 << FRACTION) | (code % (1 << FRACTION))) << (exponent - 1),
    }
}

/// Bits of a float's fraction.
const FRACTION: u32 = 4;

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use crate::{origin::MAX_STAMP, time::Window};
    use proptest::prelude::*;

    const LONGEST: u64 = 864;

    #[test]
    fn every_code_and_what_lies_beside_it() {
        assert_eq!((span(0), span(1), code(1), code(0)), (0, 1, 1, 0));
        assert_eq!(code(Window::MAX_TICKS), LONGEST);
        const { assert!(LONGEST < BLOCK) };
        for c in 1..=LONGEST {
            let s = span(c);
            assert_eq!(code(s), c);
            assert_eq!(code(span(c - 1) + 1), c, "all above the one before are rounded up to it");
            let step = s - span(c - 1);
            assert!(step == 1 || step * 16 <= s, "{c}");
        }
        assert!((1..32).all(|s| span(code(s)) == s));
        // Beyond what a window may be nothing overflows either.
        assert!(code(u64::MAX) < BLOCK);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_lease_is_rounded_up_by_a_16th_at_most(lease in prop_oneof![1..=Window::MAX_TICKS, 1..100_000_u64]) {
            let rounded = span(code(lease));
            prop_assert!(lease <= rounded && rounded - lease <= lease / 16);
        }

        #[test]
        fn states_in_order(blocks in 1..=MAX_STAMP / BLOCK, lease in 1..=Window::MAX_TICKS) {
            let c = blocks * BLOCK;
            let claim = claimed(c, code(lease));
            prop_assert!(last_of(c - BLOCK) < claim, "above all of the multiple before");
            prop_assert!(claim + 1 < admitted(c), "below what it becomes, given up or not");
            prop_assert!(admitted(c) + 1 < last_of(c) && last_of(c) < 1 << 60);
            for state in [claim, claim + 1] {
                prop_assert_eq!((stamp(state), super::lease(state)), (c, span(code(lease))));
            }
            prop_assert!(is_claimed(claim) && !is_claimed(claim + 1));
            prop_assert!(!is_admitted(claim) && !is_admitted(claim + 1));
            prop_assert!(is_admitted(admitted(c)) && !is_admitted(admitted(c) + 1) && !is_claimed(admitted(c)));
            prop_assert_eq!((stamp(admitted(c)), stamp(admitted(c) + 1)), (c, c));
        }
    }
}

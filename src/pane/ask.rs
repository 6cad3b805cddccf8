//! What is asked with a key: one look at the columns, and another at the ring before anything is called absent.

use super::{Bloom, PaneRing};

/// What is asked with a key.
pub(crate) trait Ask {
    fn ask<C: Bloom>(ring: &PaneRing, columns: &C, spot: &C::Spot, now: u64) -> bool;
}

pub(crate) struct Insert;
pub(crate) struct Observe;
pub(crate) struct Contains;

impl Ask for Insert {
    #[inline(always)]
    fn ask<C: Bloom>(ring: &PaneRing, columns: &C, spot: &C::Spot, now: u64) -> bool {
        loop {
            let view = ring.enter(now, columns);
            let seen = columns.seen(spot, view);
            if seen.in_current {
                return true;
            }
            if seen.at_all {
                columns.set(spot, view);
                return true;
            }
            if ring.is_at(view) {
                // Others may bring it at the same time.
                return columns.set(spot, view);
            }
        }
    }
}

impl Ask for Observe {
    #[inline(always)]
    fn ask<C: Bloom>(ring: &PaneRing, columns: &C, spot: &C::Spot, now: u64) -> bool {
        loop {
            let view = ring.enter(now, columns);
            if columns.seen(spot, view).at_all {
                return true;
            }
            if ring.is_at(view) {
                return columns.set(spot, view);
            }
        }
    }
}

impl Ask for Contains {
    #[inline(always)]
    fn ask<C: Bloom>(ring: &PaneRing, columns: &C, spot: &C::Spot, now: u64) -> bool {
        loop {
            let view = ring.look(now);
            if columns.seen(spot, view).at_all {
                return true;
            }
            if ring.is_at(view) {
                return false;
            }
        }
    }
}

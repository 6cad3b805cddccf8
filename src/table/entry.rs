//! What a cell holds: (key, state) in one 128-bit word.

/// ```text
///  127      126       125     124    123                  64 63                     0
/// +--------+---------+-------+------+-----------------------+------------------------+
/// | sealed | closing | group | pair |      state (60)       |    fingerprint (64)    |
/// +--------+---------+-------+------+-----------------------+------------------------+
/// ```
/// The flags belong to the cell and stay when its entry is replaced. State 0 is an empty cell (not fingerprint 0: then two
/// u64 ids would have to share a fingerprint).
pub(crate) use crate::sync::Pair as Entry;

/// The upper half: flags and state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct High(pub(crate) u64);

/// The flag that says:
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flag {
    /// .. the cell's bucket has overflowed into its pair.
    Pair = 1,
    /// .. the cell's pair has overflowed into its group.
    Group = 2,
    /// .. the flag beside it is about to go.
    Closing = 4,
    /// .. the cell's table is given up.
    Sealed = 8,
}

const STATE_BITS: u32 = 60;

impl High {
    /// The greatest state that fits.
    pub(crate) const MAX_STATE: u64 = (1 << STATE_BITS) - 1;

    #[inline(always)]
    pub(crate) fn state(self) -> u64 {
        self.0 & Self::MAX_STATE
    }

    #[inline(always)]
    pub(crate) fn has(self, flag: Flag) -> bool {
        self.0 & (flag as u64) << STATE_BITS != 0
    }

    #[inline(always)]
    pub(crate) fn with(self, flag: Flag) -> High {
        High(self.0 | (flag as u64) << STATE_BITS)
    }

    pub(crate) fn without(self, flag: Flag) -> High {
        High(self.0 & !((flag as u64) << STATE_BITS))
    }

    /// With another state, and its flags.
    #[inline(always)]
    pub(crate) fn raised(self, state: u64) -> High {
        debug_assert!(state <= Self::MAX_STATE);
        High(self.0 & !Self::MAX_STATE | state)
    }
}

impl Entry {
    #[cfg(windlass_loom)]
    pub(crate) const EMPTY: Entry = Entry { low: 0, high: 0 };

    #[inline(always)]
    pub(crate) fn new(key: u64, high: High) -> Entry {
        Entry { low: key, high: high.0 }
    }

    #[inline(always)]
    pub(crate) fn key(self) -> u64 {
        self.low
    }

    #[inline(always)]
    pub(crate) fn high(self) -> High {
        High(self.high)
    }

    #[inline(always)]
    pub(crate) fn state(self) -> u64 {
        self.high().state()
    }
}

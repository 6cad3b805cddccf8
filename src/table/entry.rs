//! What a bucket consists of: (key, state) in one 128-bit word.

/// ```text
///  127      126      125                    64 63                     0
/// +--------+--------+-------------------------+------------------------+
/// | sealed | spilled|       state (62)        |    fingerprint (64)    |
/// +--------+--------+-------------------------+------------------------+
/// ```
/// The two flags belong to the bucket and stand in its head only. State 0 is an empty slot (not fingerprint 0: then two
/// u64 ids would have to share a fingerprint).
pub(crate) use crate::sync::Pair as Entry;

const SEALED: u64 = 1 << 63;
const SPILLED: u64 = 1 << 62;

impl Entry {
    pub(crate) const EMPTY: Entry = Entry { low: 0, high: 0 };
    /// The greatest state that fits.
    pub(crate) const MAX_STATE: u64 = (1 << 62) - 1;

    #[inline(always)]
    pub(crate) fn new(key: u64, state: u64) -> Entry {
        debug_assert!(state <= Self::MAX_STATE);
        Entry { low: key, high: state }
    }

    #[inline(always)]
    pub(crate) fn key(self) -> u64 {
        self.low
    }

    /// The state of an entry in a slot.
    #[inline(always)]
    pub(crate) fn state(self) -> u64 {
        self.high
    }

    /// The entry in a head, as it would stand in a slot.
    #[inline(always)]
    pub(crate) fn plain(self) -> Entry {
        Entry { low: self.low, high: self.high & Self::MAX_STATE }
    }

    /// A head whose bucket has entries in its group's spill line, or had.
    #[inline(always)]
    pub(crate) fn spilled(self) -> bool {
        self.high & SPILLED != 0
    }

    /// A head that nobody publishes over any more.
    #[inline(always)]
    pub(crate) fn sealed(self) -> bool {
        self.high & SEALED != 0
    }

    /// A head with any flag.
    #[inline(always)]
    pub(crate) fn flagged(self) -> bool {
        self.high > Self::MAX_STATE
    }

    pub(crate) fn with_spilled(self) -> Entry {
        Entry { low: self.low, high: self.high | SPILLED }
    }

    pub(crate) fn with_sealed(self) -> Entry {
        Entry { low: self.low, high: self.high | SEALED }
    }

    /// This entry as the head after `head`, whose bucket's flag it takes over.
    #[inline(always)]
    pub(crate) fn after(self, head: Entry) -> Entry {
        Entry { low: self.low, high: self.high | head.high & SPILLED }
    }
}

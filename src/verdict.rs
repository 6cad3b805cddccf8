//! The answer to an observation.

use crate::time::Tick;

/// The answer to an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The id was not admitted within the window before; now it is.
    Fresh,
    /// The id was admitted within the window before.
    Duplicate {
        /// When it was admitted, or last refreshed. `None` where a structure cannot tell ([`crate::RotatingBloom`]).
        first_seen: Option<Tick>,
    },
}

impl Verdict {
    /// Whether the id is new within the window.
    #[must_use]
    pub fn is_fresh(self) -> bool {
        self == Verdict::Fresh
    }
}

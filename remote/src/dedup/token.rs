//! Who has admitted an id.

use crate::unique::unique;
use std::fmt;

/// Stands for one delivery of one event: the same token may ask again about the same id, and is told again that it was admitted.
///
/// Without it, a caller whose answer was lost would take its own admission for another's, and the event would be dropped. Tokens are unique: 64
/// random bits of the process, and a count.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token([u8; 16]);

impl Token {
    /// One that there was not before.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "no two are equal: a default would say otherwise")]
    pub fn new() -> Token {
        Token(unique())
    }

    pub(crate) fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({:032x})", u128::from_be_bytes(self.0))
    }
}

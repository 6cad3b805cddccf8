//! Byte strings one after another, in place, if they are short together.

/// Bytes that fit.
pub(super) const MOST: usize = 256;

pub(super) struct Short {
    bytes: [u8; MOST],
    len: usize,
}

impl Short {
    pub(super) fn new() -> Short {
        Short { bytes: [0; MOST], len: 0 }
    }

    /// Whether there was room for it.
    #[inline]
    pub(super) fn push(&mut self, part: &[u8]) -> bool {
        let Some(room) = self.bytes[self.len..].get_mut(..part.len()) else { return false };
        room.copy_from_slice(part);
        self.len += part.len();
        true
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

//! The ids of a batch, checked as a whole.

use crate::{
    boundary::slice,
    status::{WINDLASS_E_OFFSETS, WINDLASS_E_RANGE, windlass_status},
};

/// Ids of one length, each a stride behind the last.
pub(crate) struct Fixed<'a> {
    bytes: &'a [u8],
    id_len: usize,
    stride: usize,
}

impl<'a> Fixed<'a> {
    /// # Safety
    /// `ids` as `slice` has it, of `(n - 1) * stride + id_len` bytes.
    pub(crate) unsafe fn new(
        ids: *const u8,
        id_len: usize,
        stride: usize,
        n: usize,
    ) -> Result<Fixed<'a>, windlass_status> {
        if id_len == 0 || id_len > stride {
            return Err(WINDLASS_E_RANGE);
        }
        let bytes = match n.checked_sub(1) {
            None => 0,
            Some(last) => {
                last.checked_mul(stride).and_then(|at| at.checked_add(id_len)).ok_or(WINDLASS_E_RANGE)?
            }
        };
        // SAFETY: the caller's promise.
        Ok(Fixed { bytes: unsafe { slice(ids, bytes) }?, id_len, stride })
    }

    #[inline(always)]
    pub(crate) fn get(&self, i: usize) -> &'a [u8] {
        &self.bytes[i * self.stride..][..self.id_len]
    }
}

/// Ids one behind the other, and where each begins.
pub(crate) struct Packed<'a> {
    bytes: &'a [u8],
    offsets: &'a [u32],
}

impl<'a> Packed<'a> {
    /// # Safety
    /// `bytes` and `offsets` as `slice` has them, the offsets of `n + 1`.
    pub(crate) unsafe fn new(
        bytes: *const u8,
        bytes_len: usize,
        offsets: *const u32,
        n: usize,
    ) -> Result<Packed<'a>, windlass_status> {
        // SAFETY: the caller's promise.
        let bytes = unsafe { slice(bytes, bytes_len) }?;
        let borders = if n == 0 { 0 } else { n.checked_add(1).ok_or(WINDLASS_E_RANGE)? };
        // SAFETY: the caller's promise.
        let offsets = unsafe { slice(offsets, borders) }?;
        if !offsets.is_sorted() || offsets.last().is_some_and(|&end| end as usize > bytes.len()) {
            return Err(WINDLASS_E_OFFSETS);
        }
        Ok(Packed { bytes, offsets })
    }

    #[inline(always)]
    pub(crate) fn get(&self, i: usize) -> &'a [u8] {
        &self.bytes[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }
}

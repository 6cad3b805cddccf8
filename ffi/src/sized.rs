//! Structs that begin with their size, so that programs and libraries of different releases understand each other: a field is only
//! ever added at the end.

use crate::status::{WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE, windlass_status};

/// What could not be a struct of any release.
const TOO_LARGE: usize = 4096;

/// A struct of the header that begins with its size.
///
/// # Safety
/// `repr(C)`, numbers only (of which any bits are one), without padding, and the first field is the `u32` size.
pub(crate) unsafe trait Plain: Copy {
    /// Its size in the release that it first appeared in. (Not `size_of`: that grows.)
    const FIRST_SIZE: usize;
    /// What fields have that the caller does not know.
    const DEFAULT: Self;
}

/// Checks a size that a caller states.
pub(crate) fn check<T: Plain>(size: u32) -> Result<usize, windlass_status> {
    const { assert!(T::FIRST_SIZE <= size_of::<T>() && size_of::<T>() <= TOO_LARGE) };
    let size = size as usize;
    (T::FIRST_SIZE..=TOO_LARGE).contains(&size).then_some(size).ok_or(WINDLASS_E_STRUCT_SIZE)
}

/// What the caller's struct says, as far as we know its fields; the rest, of a newer header than
/// ours, must be 0.
///
/// # Safety
/// `from` is NULL, or points to a `T` of some release with its size set.
pub(crate) unsafe fn read<T: Plain>(from: *const T) -> Result<T, windlass_status> {
    if from.is_null() {
        return Err(WINDLASS_E_NULL);
    }
    // SAFETY: the first field, by the contract of `Plain`.
    let size = check::<T>(unsafe { from.cast::<u32>().read_unaligned() })?;
    let mut value = T::DEFAULT;
    let known = size.min(size_of::<T>());
    // SAFETY: `known` bytes of each; any bytes are a `T`, which is numbers.
    unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut value).cast(), known) };
    for i in known..size {
        // SAFETY: i is below the size that the caller states.
        let byte = unsafe { from.cast::<u8>().add(i) };
        // SAFETY: as above.
        if unsafe { byte.read() } != 0 {
            return Err(WINDLASS_E_STRUCT_SIZE);
        }
    }
    Ok(value)
}

/// Fills the caller's struct of `size` bytes, as far as it knows our fields. What it has beyond
/// ours becomes 0.
///
/// # Safety
/// `to` is NULL, or has room for `size` bytes.
pub(crate) unsafe fn write<T: Plain>(to: *mut T, value: &T, size: u32) -> Result<(), windlass_status> {
    if to.is_null() {
        return Err(WINDLASS_E_NULL);
    }
    let size = check::<T>(size)?;
    let known = size.min(size_of::<T>());
    // SAFETY: `known` bytes of each.
    unsafe { std::ptr::copy_nonoverlapping((&raw const *value).cast::<u8>(), to.cast(), known) };
    // SAFETY: not beyond the size.
    let rest = unsafe { to.cast::<u8>().add(known) };
    // SAFETY: up to the size.
    unsafe { rest.write_bytes(0, size - known) };
    Ok(())
}

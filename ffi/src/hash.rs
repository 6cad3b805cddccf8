//! Keys: hashes and seeds.

use windlass::{KeyHash, Seed};

use crate::{
    boundary::{guard, put, slice},
    status::windlass_status,
};

/// The hash of an id, 128 bits. hi chooses the place, lo is the fingerprint that is kept there and
/// must tell ids apart by itself.
///
/// The same id and seed give the same hash in every release, on every platform and in every
/// language.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct windlass_hash {
    /// The low half.
    pub lo: u64,
    /// The high half.
    pub hi: u64,
}

impl From<KeyHash> for windlass_hash {
    fn from(hash: KeyHash) -> windlass_hash {
        windlass_hash { lo: hash.lo, hi: hash.hi }
    }
}

impl From<windlass_hash> for KeyHash {
    #[inline(always)]
    fn from(hash: windlass_hash) -> KeyHash {
        KeyHash { hi: hash.hi, lo: hash.lo }
    }
}

/// The hash of an id of len bytes under a seed: XXH3-128.
///
/// Errors: WINDLASS_E_NULL (id is NULL and len is not 0; out is NULL), WINDLASS_E_RANGE (len).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_hash_bytes(
    id: *const u8,
    len: usize,
    seed: u64,
    out: *mut windlass_hash,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let id = unsafe { slice(id, len) }?;
        // SAFETY: the caller's promise.
        unsafe { put(out, Seed(seed).hash(id).into()) }
    })
}

/// The hash of a number under a seed. Numbers are mixed and not hashed: no two share a fingerprint.
/// It is another id than the bytes of the number.
///
/// Errors: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_hash_u64(id: u64, seed: u64, out: *mut windlass_hash) -> windlass_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { put(out, Seed(seed).hash(id).into()) })
}

/// A seed that nobody else knows. With a seed that is known others can make ids that collide.
///
/// Errors: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_seed_random(out: *mut u64) -> windlass_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { put(out, Seed::random().0) })
}

/// The seed of a namespace: under it the same id has another hash than under any other. So one
/// structure can hold the ids of several sources: hash each with the seed of its source, and use
/// the calls that take a hash. With WINDLASS_IDENTITY_BYTES nothing is known of what was hashed,
/// and 128 bits are compared: bring each id with its source's name before it, and before that the
/// name's length, as bytes.
///
/// Errors: WINDLASS_E_NULL (name is NULL and len is not 0; out is NULL), WINDLASS_E_RANGE (len).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_seed_namespace(
    seed: u64,
    name: *const u8,
    len: usize,
    out: *mut u64,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { slice(name, len) }?;
        // SAFETY: the caller's promise.
        unsafe { put(out, Seed(seed).namespace(name).0) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{WINDLASS_E_NULL, WINDLASS_E_RANGE, WINDLASS_OK};
    use std::ptr::null;

    const UNTOUCHED: windlass_hash = windlass_hash { lo: 1, hi: 2 };

    fn of_bytes(id: *const u8, len: usize) -> (windlass_status, windlass_hash) {
        let mut out = UNTOUCHED;
        // SAFETY: the tests pass what is valid, or refused.
        (unsafe { windlass_hash_bytes(id, len, 7, &raw mut out) }, out)
    }

    #[test]
    fn hashes_are_the_cores() {
        assert_eq!(of_bytes(b"abc".as_ptr(), 3), (WINDLASS_OK, Seed(7).hash("abc").into()));
        assert_eq!(of_bytes(null(), 0), (WINDLASS_OK, Seed(7).hash("").into()));
        let mut out = UNTOUCHED;
        // SAFETY: `out` is a place for a hash.
        assert_eq!(unsafe { windlass_hash_u64(4711, 7, &raw mut out) }, WINDLASS_OK);
        assert_eq!(out, Seed(7).hash(4711_u64).into());
        let mut seed = 0;
        // SAFETY: a name of 3 bytes, a place for a seed.
        assert_eq!(unsafe { windlass_seed_namespace(7, b"abc".as_ptr(), 3, &raw mut seed) }, WINDLASS_OK);
        assert_eq!(seed, Seed(7).namespace("abc").0);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert_eq!(of_bytes(null(), 1), (WINDLASS_E_NULL, UNTOUCHED));
        assert_eq!(of_bytes(b"abc".as_ptr(), usize::MAX), (WINDLASS_E_RANGE, UNTOUCHED));
        let none = std::ptr::null_mut();
        // SAFETY: NULL is refused.
        assert_eq!(unsafe { windlass_hash_bytes(b"abc".as_ptr(), 3, 7, none) }, WINDLASS_E_NULL);
        // SAFETY: NULL is refused.
        assert_eq!(unsafe { windlass_hash_u64(1, 7, none) }, WINDLASS_E_NULL);
        // SAFETY: NULL is refused.
        assert_eq!(unsafe { windlass_seed_random(std::ptr::null_mut()) }, WINDLASS_E_NULL);
    }
}

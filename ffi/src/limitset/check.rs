//! Decisions.

use windlass::{KeyHash, LimitSet, SetAdmission, Tick};

use super::windlass_limitset;
use crate::{
    boundary::{guard, slice},
    handle::core,
    hash::windlass_hash,
    limiter::admission::{WINDLASS_ALLOWED, WINDLASS_DENIED, WINDLASS_NEVER, nanos},
    status::windlass_status,
};

/// What a set answers. What does not belong to its kind is 0. It never grows.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct windlass_set_admission {
    /// WINDLASS_ALLOWED, WINDLASS_DENIED or WINDLASS_NEVER.
    pub kind: i32,
    /// The number of a limit, from 0 on, as they were given: if allowed, that has the least left; else the first
    /// that refuses.
    pub limit: u32,
    /// If allowed: permits that it has left.
    pub remaining: u64,
    /// If allowed: how long until all limits have all their permits again, if nothing else comes.
    pub reset_after_ns: u64,
    /// If denied: a call that comes that much later passes all limits, if no other has come before it,
    /// and not any sooner.
    pub retry_after_ns: u64,
}

const _: () = assert!(size_of::<windlass_set_admission>() == 32);

/// The keys of a call.
///
/// # Safety
/// As `slice`.
pub(super) unsafe fn keys(keys: *const windlass_hash, n: usize) -> Result<Keys, windlass_status> {
    // SAFETY: the caller's promise.
    let given = unsafe { slice(keys, n) }?;
    let mut keys = Keys { hashes: [KeyHash { hi: 0, lo: 0 }; MOST], n: n.min(MOST) };
    for (to, &from) in keys.hashes.iter_mut().zip(given) {
        *to = from.into();
    }
    Ok(keys)
}

/// No set has more limits.
const MOST: usize = 8;

pub(super) struct Keys {
    hashes: [KeyHash; MOST],
    n: usize,
}

impl Keys {
    pub(super) fn get(&self) -> &[KeyHash] {
        &self.hashes[..self.n]
    }
}

/// Writes the answer if the caller wants it. Its kind.
///
/// # Safety
/// `to` is NULL or may be written to.
pub(super) unsafe fn answer(
    set: &LimitSet,
    admission: SetAdmission<'_>,
    to: *mut windlass_set_admission,
) -> i32 {
    let number = |name: &str| set.limits().position(|(limit, ..)| std::ptr::eq(limit, name)).unwrap_or(0);
    let of = |kind, name| windlass_set_admission {
        kind,
        limit: u32::try_from(number(name)).unwrap_or(0),
        ..windlass_set_admission::default()
    };
    let answer = match admission {
        SetAdmission::Allowed { tightest, remaining, reset_after } => windlass_set_admission {
            remaining,
            reset_after_ns: nanos(reset_after),
            ..of(WINDLASS_ALLOWED, tightest)
        },
        SetAdmission::Denied { limit, retry_after } => {
            windlass_set_admission { retry_after_ns: nanos(retry_after), ..of(WINDLASS_DENIED, limit) }
        }
        SetAdmission::Never { limit } => of(WINDLASS_NEVER, limit),
    };
    if !to.is_null() {
        // SAFETY: the caller's promise.
        unsafe { to.write(answer) };
    }
    answer.kind
}

/// Takes cost permits of each limit at the time now, or none at all. Of cost 0 it tells how things stand.
///
/// hashes has n keys: one for each limit that is for each client, in their order, hashed by
/// windlass_hash_bytes for example with the seed of the set. Of more keys the rest has no meaning; if
/// there are fewer the answer is WINDLASS_NEVER, by the limit that has none.
///
/// Returns WINDLASS_ALLOWED, WINDLASS_DENIED or WINDLASS_NEVER, and says more in admission, which may
/// be NULL; or an error: WINDLASS_E_NULL (set; hashes, and n is not 0), WINDLASS_E_RANGE (n). Then
/// nothing was changed, and admission is left alone.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limitset_check(
    set: *mut windlass_limitset,
    hashes: *const windlass_hash,
    n: usize,
    cost: u64,
    now: u64,
    admission: *mut windlass_set_admission,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let set = unsafe { core(set) }?;
        // SAFETY: the caller's promise.
        let keys = unsafe { keys(hashes, n) }?;
        let answered = set.check_at(keys.get(), cost, Tick(now));
        // SAFETY: the caller's promise.
        Ok::<_, windlass_status>(unsafe { answer(set, answered, admission) })
    })
}

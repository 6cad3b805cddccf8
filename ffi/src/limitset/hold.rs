//! Costs that are known only afterwards.

use std::time::Duration;

use windlass::{Reservation, Reserved, Settled, Tick};

use super::{
    check::{answer, keys, windlass_set_admission},
    windlass_limitset,
};
use crate::{
    boundary::guard,
    handle::core,
    hash::windlass_hash,
    status::{WINDLASS_E_FULL, WINDLASS_E_NULL, windlass_status},
};

/// A hold is settled: by this call.
pub const WINDLASS_SETTLED: i32 = 0;
/// A hold had been settled, or cancelled, before: nothing was changed. An answer, and no error.
pub const WINDLASS_SETTLED_BEFORE: i32 = 1;
/// The lease of a hold has run out: what it holds stays charged. An answer, and no error.
pub const WINDLASS_EXPIRED: i32 = 2;

/// What is needed to settle or cancel a hold, once. It may be copied, and used by any thread of the
/// process; what is in it is the library's business.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct windlass_reservation {
    /// Of no use to others.
    pub words: [u64; 44],
}

/// Takes estimate permits of each limit at the time now, or none at all, as windlass_limitset_check does,
/// until it is known what they are: settle or cancel them within lease_ns. If neither happens they
/// stay charged.
///
/// Returns
/// WINDLASS_ALLOWED: they are held, reservation is written;
/// WINDLASS_DENIED, WINDLASS_NEVER: they are not;
/// in these cases it says more in admission, which may be NULL (if allowed its kind alone);
/// or an error: WINDLASS_E_FULL (there are as many holds as there is room for), WINDLASS_E_NULL (set; reservation;
/// hashes, and n is not 0), WINDLASS_E_RANGE (n). Then nothing was changed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limitset_reserve(
    set: *mut windlass_limitset,
    hashes: *const windlass_hash,
    n: usize,
    estimate: u64,
    lease_ns: u64,
    now: u64,
    reservation: *mut windlass_reservation,
    admission: *mut windlass_set_admission,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let set = unsafe { core(set) }?;
        // SAFETY: the caller's promise.
        let keys = unsafe { keys(hashes, n) }?;
        if reservation.is_null() {
            return Err(WINDLASS_E_NULL);
        }
        match set.reserve_at(keys.get(), estimate, Duration::from_nanos(lease_ns), Tick(now)) {
            Reserved::Held(ticket) => {
                // SAFETY: the caller's promise.
                unsafe { reservation.write(windlass_reservation { words: ticket.into() }) };
                if !admission.is_null() {
                    // SAFETY: the caller's promise. (0 is WINDLASS_ALLOWED.)
                    unsafe { admission.write(windlass_set_admission::default()) };
                }
                Ok(0)
            }
            // SAFETY: the caller's promise.
            Reserved::Refused(refused) => Ok(unsafe { answer(set, refused, admission) }),
            Reserved::NoRoom => Err(WINDLASS_E_FULL),
        }
    })
}

/// Says what a hold was really for, at the time now: what was too much is given back, as far as time has
/// not; what was too little is charged, whether there is room or not: a bucket goes into debt by 15
/// bursts at most, a window is full. What could not be charged is stored in uncharged, which may be NULL.
///
/// Returns WINDLASS_SETTLED, WINDLASS_SETTLED_BEFORE or WINDLASS_EXPIRED; or an error: WINDLASS_E_NULL
/// (set; reservation). uncharged is written with WINDLASS_SETTLED alone.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limitset_settle(
    set: *mut windlass_limitset,
    reservation: *const windlass_reservation,
    actual: u64,
    now: u64,
    uncharged: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let set = unsafe { core(set) }?;
        // SAFETY: the caller's promise.
        let words = unsafe { reservation.as_ref() }.ok_or(WINDLASS_E_NULL)?.words;
        Ok::<_, windlass_status>(match set.settle_at(Reservation::from(words), actual, Tick(now)) {
            Settled::Settled { uncharged: not } => {
                if !uncharged.is_null() {
                    // SAFETY: the caller's promise.
                    unsafe { uncharged.write(not) };
                }
                WINDLASS_SETTLED
            }
            Settled::Before => WINDLASS_SETTLED_BEFORE,
            Settled::Expired => WINDLASS_EXPIRED,
        })
    })
}

/// Gives back all that is held, as far as time has not: windlass_limitset_settle for 0 permits.
///
/// Returns as windlass_limitset_settle.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limitset_cancel(
    set: *mut windlass_limitset,
    reservation: *const windlass_reservation,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { windlass_limitset_settle(set, reservation, 0, now, std::ptr::null_mut()) }
}

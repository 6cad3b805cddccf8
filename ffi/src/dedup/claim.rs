//! Admission in two steps.

use std::time::Duration;

use windlass::{Claim, Dedup, Key, KeyHash, Tick, Ticket, Window};

use super::{WINDLASS_DUPLICATE, WINDLASS_FRESH, WINDLASS_IN_PROGRESS, observe::with_bytes, windlass_dedup};
use crate::{
    boundary::guard,
    handle::core,
    hash::windlass_hash,
    status::{WINDLASS_E_NULL, refused, windlass_status},
};

/// What is needed to commit or abort a claim. It may be copied, and used by any thread of the
/// process; what is in it is the library's business.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct windlass_ticket {
    /// Of no use to others.
    pub words: [u64; 4],
}

/// Claims an id of len bytes (0 or more) at the time now: it is the caller's for lease ticks, 1 to
/// the window. To all others it is a duplicate meanwhile. When its event has been handled, commit
/// the ticket; if that failed, abort it. If neither happens the id is fresh again when the lease
/// has run out. So an event whose handling fails is not swallowed.
///
/// The lease is rounded up, by a 16th at most. With WINDLASS_UNIT_NS a claim counts as made up to
/// 1.024 us later than it was (2.048 us in windows of less than 1.05 ms).
///
/// Returns
/// WINDLASS_FRESH: the id is claimed, ticket is written;
/// WINDLASS_DUPLICATE: it was admitted within the window before, at *when;
/// WINDLASS_IN_PROGRESS: another has claimed it, until *when;
/// or an error: WINDLASS_E_FULL, WINDLASS_E_JUMP, WINDLASS_E_LEASE, WINDLASS_E_TOO_LONG,
/// WINDLASS_E_NULL (dedup; ticket; id, and len is not 0), WINDLASS_E_RANGE (len). After an error
/// nothing was changed.
/// ticket and when are written in these cases alone. when may be NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_claim(
    dedup: *mut windlass_dedup,
    id: *const u8,
    len: usize,
    now: u64,
    lease: u64,
    ticket: *mut windlass_ticket,
    when: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let (dedup, id) = unsafe { with_bytes(dedup, id, len) }?;
        // SAFETY: the caller's promise.
        unsafe { claim(dedup, id, now, lease, ticket, when) }
    })
}

/// The same for an id whose hash is known.
///
/// Returns as windlass_dedup_claim.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_claim_hash(
    dedup: *mut windlass_dedup,
    hash: windlass_hash,
    now: u64,
    lease: u64,
    ticket: *mut windlass_ticket,
    when: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let dedup = unsafe { core(dedup) }?;
        // SAFETY: the caller's promise.
        unsafe { claim(dedup, KeyHash::from(hash), now, lease, ticket, when) }
    })
}

/// The same for an id that is a number.
///
/// Returns as windlass_dedup_claim.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_claim_u64(
    dedup: *mut windlass_dedup,
    id: u64,
    now: u64,
    lease: u64,
    ticket: *mut windlass_ticket,
    when: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let dedup = unsafe { core(dedup) }?;
        // SAFETY: the caller's promise.
        unsafe { claim(dedup, id, now, lease, ticket, when) }
    })
}

/// Admits the id of a claim; its window runs from the claim on.
///
/// Returns 1 (it is admitted by this ticket, now or by a commit before), 0 (the claim had been lost:
/// the lease ran out and somebody else took the id, it was aborted, forgotten or evicted, or its
/// window is over; nothing was changed), or an error: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_commit(
    dedup: *mut windlass_dedup,
    ticket: *const windlass_ticket,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let (dedup, ticket) = unsafe { with_ticket(dedup, ticket) }?;
        Ok::<_, i32>(dedup.commit(ticket).into())
    })
}

/// Gives a claim up: the id can be claimed or observed again.
///
/// Returns 1 (done), 0 (the claim had been lost or committed; nothing was changed), or an error:
/// WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_abort(
    dedup: *mut windlass_dedup,
    ticket: *const windlass_ticket,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let (dedup, ticket) = unsafe { with_ticket(dedup, ticket) }?;
        Ok::<_, i32>(dedup.abort(ticket).into())
    })
}

/// # Safety
/// `ticket` and `when` are NULL or may be written to.
unsafe fn claim(
    dedup: &Dedup,
    key: impl Key,
    now: u64,
    lease: u64,
    ticket: *mut windlass_ticket,
    when: *mut u64,
) -> Result<i32, windlass_status> {
    if ticket.is_null() {
        return Err(WINDLASS_E_NULL);
    }
    let lease = if dedup.window().counts_events() {
        Window::last_n(lease)
    } else {
        Window::time(Duration::from_nanos(lease))
    };
    let (code, tick) = match dedup.claim_at(key, Tick(now), lease).map_err(refused)? {
        Claim::Claimed(ours) => {
            // SAFETY: the caller's promise.
            unsafe { ticket.write(windlass_ticket { words: ours.into() }) };
            return Ok(WINDLASS_FRESH);
        }
        Claim::InProgress { until } => (WINDLASS_IN_PROGRESS, Some(until)),
        Claim::Duplicate { first_seen } => (WINDLASS_DUPLICATE, first_seen),
        // What the core adds to them gets a code here.
        _ => (WINDLASS_DUPLICATE, None),
    };
    if let Some(tick) = tick
        && !when.is_null()
    {
        // SAFETY: the caller's promise.
        unsafe { when.write(tick.0) };
    }
    Ok(code)
}

/// # Safety
/// `dedup` as `core` has it; `ticket` is NULL, or points to a ticket.
unsafe fn with_ticket<'a>(
    dedup: *const windlass_dedup,
    ticket: *const windlass_ticket,
) -> Result<(&'a Dedup, Ticket), windlass_status> {
    // SAFETY: the caller's promise.
    let dedup = unsafe { core(dedup) }?;
    // SAFETY: the caller's promise.
    let ticket = unsafe { ticket.as_ref() }.ok_or(WINDLASS_E_NULL)?;
    Ok((dedup, ticket.words.into()))
}

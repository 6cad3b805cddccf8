//! What a limiter answers.

use std::{mem::MaybeUninit, time::Duration};

use windlass::Admission;

/// The call may go on, and has been charged.
pub const WINDLASS_ALLOWED: i32 = 0;
/// The call may not go on, and was not charged. An answer, and no error.
pub const WINDLASS_DENIED: i32 = 1;
/// The call costs more than the limiter can ever give at once. An answer, and no error.
pub const WINDLASS_NEVER: i32 = 2;

/// What a limiter answers. What does not belong to its kind is 0. It never grows.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct windlass_admission {
    /// WINDLASS_ALLOWED, WINDLASS_DENIED or WINDLASS_NEVER.
    pub kind: i32,
    /// 0.
    pub reserved0: u32,
    /// If allowed: permits that are left now.
    pub remaining: u64,
    /// If allowed: how long until all of them are there again, if nothing else comes.
    pub reset_after_ns: u64,
    /// If denied: a call that comes that much later passes, if no other has come before it, and not
    /// any sooner.
    pub retry_after_ns: u64,
    /// If allowed: how long it should wait before it goes on. Of WINDLASS_ALGORITHM_LEAKY_QUEUE; else 0.
    pub delay_ns: u64,
}

const _: () = assert!(size_of::<windlass_admission>() == 40);

/// A time of the core, which has come from nanoseconds.
#[inline(always)]
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl From<Admission> for windlass_admission {
    #[inline(always)]
    fn from(admission: Admission) -> windlass_admission {
        let of = |kind| windlass_admission { kind, ..windlass_admission::default() };
        match admission {
            Admission::Allowed { remaining, reset_after, delay } => windlass_admission {
                remaining,
                reset_after_ns: nanos(reset_after),
                delay_ns: nanos(delay),
                ..of(WINDLASS_ALLOWED)
            },
            Admission::Denied { retry_after } => {
                windlass_admission { retry_after_ns: nanos(retry_after), ..of(WINDLASS_DENIED) }
            }
            Admission::Never => of(WINDLASS_NEVER),
        }
    }
}

/// Writes the answer if the caller wants it. Its kind.
///
/// # Safety
/// `to` is NULL or may be written to.
#[inline(always)]
pub(super) unsafe fn answer(admission: Admission, to: *mut windlass_admission) -> i32 {
    let admission = windlass_admission::from(admission);
    if !to.is_null() {
        // SAFETY: the caller's promise.
        unsafe { to.write(admission) };
    }
    admission.kind
}

/// Where the answers of a batch go: the caller's array, if it wants them, and the count of those that are allowed.
pub(super) struct Admissions<'a> {
    room: std::slice::IterMut<'a, MaybeUninit<windlass_admission>>,
    pub(super) allowed: i64,
}

impl<'a> Admissions<'a> {
    pub(super) fn new(room: &'a mut [MaybeUninit<windlass_admission>]) -> Admissions<'a> {
        Admissions { room: room.iter_mut(), allowed: 0 }
    }
}

impl Extend<Admission> for Admissions<'_> {
    #[inline(always)]
    fn extend<I: IntoIterator<Item = Admission>>(&mut self, admissions: I) {
        for admission in admissions {
            self.allowed += i64::from(admission.is_allowed());
            if let Some(place) = self.room.next() {
                place.write(admission.into());
            }
        }
    }
}

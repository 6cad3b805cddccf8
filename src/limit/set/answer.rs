//! What a set answers.

use super::hold::Reservation;
use std::time::Duration;

/// Whether a call may go on, by all limits of a [`super::LimitSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum SetAdmission<'a> {
    /// It may, and has been charged by each limit.
    Allowed {
        /// The limit that has the least left.
        tightest: &'a str,
        /// Permits that it has left now.
        remaining: u64,
        /// If nothing else comes: until all limits have all their permits again.
        reset_after: Duration,
    },
    /// It may not, and was not charged by any.
    Denied {
        /// The first limit that refuses.
        limit: &'a str,
        /// A call that comes that much later passes all limits, if no other has come before it, and not any sooner.
        retry_after: Duration,
    },
    /// It never may: it costs more than the limit can give at once, or brings no key for it.
    Never {
        /// The first such limit.
        limit: &'a str,
    },
}

impl SetAdmission<'_> {
    /// Whether it is [`SetAdmission::Allowed`].
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        matches!(self, SetAdmission::Allowed { .. })
    }
}

/// The answer to a reservation.
#[derive(Clone, Copy, Debug)]
#[must_use]
#[allow(clippy::large_enum_variant)] // all of it is a value, so that nothing is allocated
pub enum Reserved<'a> {
    /// The estimate is charged. To be settled or cancelled.
    Held(Reservation),
    /// It is not charged: [`SetAdmission::Denied`] or [`SetAdmission::Never`].
    Refused(SetAdmission<'a>),
    /// It is not charged: there are as many holds as [`super::LimitSetBuilder::reservations`] has room for.
    NoRoom,
}

/// How a hold has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Settled {
    /// By this call: charged is what it was told.
    Settled {
        /// Permits beyond the estimate that could not be charged, of the limit that has most of them: a bucket goes into debt by no more than 15 bursts,
        /// and a window has no more than its limit.
        uncharged: u64,
    },
    /// By its lease: the estimate stays charged.
    Expired,
    /// By another call before.
    Before,
}

//! What a limiter answers.

use std::time::Duration;

/// Whether a call may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may, and has been charged.
    Allowed {
        /// Permits that are left now.
        remaining: u64,
        /// If nothing else comes: until all of them are there again.
        reset_after: Duration,
        /// How long it should wait before it goes on ([`super::Algorithm::LeakyQueue`]; else 0).
        delay: Duration,
    },
    /// It may not, and was not charged.
    Denied {
        /// A call that comes that much later passes, if no other has come before it, and not any sooner.
        retry_after: Duration,
    },
    /// It costs more than the limiter can ever give at once.
    Never,
}

impl Admission {
    /// Whether it is [`Admission::Allowed`].
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        matches!(self, Admission::Allowed { .. })
    }
}

/// The same in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Allowed { remaining: u64, reset_after: u64, delay: u64 },
    Denied { retry_after: u64 },
}

impl From<Answer> for Admission {
    #[inline(always)]
    fn from(answer: Answer) -> Admission {
        match answer {
            Answer::Allowed { remaining, reset_after, delay } => Admission::Allowed {
                remaining,
                reset_after: Duration::from_nanos(reset_after),
                delay: Duration::from_nanos(delay),
            },
            Answer::Denied { retry_after } => {
                Admission::Denied { retry_after: Duration::from_nanos(retry_after) }
            }
        }
    }
}

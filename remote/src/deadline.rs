//! Until when a call may take.

use crate::error::{ErrorKind, RemoteError};
use std::{future::Future, time::Duration};
use tokio::time::Instant;

/// The instant at which a call gives up. It counts for all that is done on its behalf: connecting, redirections, attempts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    pub(crate) fn after(span: Duration) -> Deadline {
        Deadline(Instant::now() + span)
    }

    /// This deadline, or `span` from now if that is earlier.
    pub(crate) fn within(self, span: Duration) -> Deadline {
        Deadline(self.0.min(Instant::now() + span))
    }

    pub(crate) fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    pub(crate) fn is_over(self) -> bool {
        self.left().is_zero()
    }

    /// What `work` comes to, or that there was no time for it.
    pub(crate) async fn of<T>(self, work: impl Future<Output = T>) -> Result<T, RemoteError> {
        tokio::time::timeout_at(self.0, work)
            .await
            .map_err(|_| RemoteError::new(ErrorKind::Timeout, "the deadline passed"))
    }

    /// A pause, not beyond the deadline.
    pub(crate) async fn pause(self, span: Duration) {
        tokio::time::sleep(span.min(self.left())).await;
    }
}

//! Telling the engine what was admitted without it.

use super::{
    RemoteDedup,
    alone::{Admitted, Alone},
    question::{Said, millis},
};
use crate::error::RemoteError;
use std::{
    sync::PoisonError,
    time::{Duration, Instant},
};

/// Ids that it is told of together.
const TOGETHER: usize = 256;

impl RemoteDedup {
    /// Tells the engine what this process has admitted while it was down, and gives how many ids it could not be told of: 0 if all is
    /// well. Once the engine answers again this is begun by itself, by the first call that it answers; of use before a process ends.
    pub async fn replay(&self) -> u64 {
        let Some(alone) = &self.0.alone else { return 0 };
        if let Some(_telling) = alone.begin() {
            self.tell(alone).await;
        }
        alone.waiting() as u64
    }

    /// The engine has answered: what waits can be told, by a task of its own.
    pub(super) fn tell_soon(&self) {
        let Some(alone) = &self.0.alone else { return };
        if alone.waiting() == 0 || self.recently_in_vain() {
            return;
        }
        let dedup = self.clone();
        drop(tokio::spawn(async move { dedup.replay().await }));
    }

    /// Of several nodes one may be down still: it is not tried with every call that another answers.
    fn recently_in_vain(&self) -> bool {
        let tried = *self.0.tried.lock().unwrap_or_else(PoisonError::into_inner);
        tried.is_some_and(|at| at.elapsed() < self.0.remote.timeout())
    }

    async fn tell(&self, alone: &Alone) {
        // Goes back into the queue also if the caller drops this call.
        let mut untold = Untold { alone, admitted: Vec::new() };
        // One round for what waits now; what comes meanwhile has another.
        let mut rest = alone.waiting();
        while rest > 0 {
            let some = alone.take(TOGETHER.min(rest));
            rest = rest.saturating_sub(some.len().max(1));
            let in_vain = untold.admitted.len();
            untold.admitted.extend_from_slice(&some);
            let lives = |one: &Admitted| {
                let lives = self.left(alone, one).is_some();
                if !lives {
                    self.0.counts.expired.add(1);
                }
                lives
            };
            let back = self.tell_some(alone, some.into_iter().filter(lives).collect()).await;
            untold.admitted.truncate(in_vain);
            untold.admitted.extend(back);
        }
        if !untold.admitted.is_empty() {
            *self.0.tried.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
    }

    /// Those that it could not be told of.
    async fn tell_some(&self, alone: &Alone, some: Vec<Admitted>) -> Vec<Admitted> {
        let (inner, counts) = (&*self.0, &self.0.counts);
        let left = |one| millis(self.left(alone, one).unwrap_or(Duration::from_millis(1)));
        let spans: Vec<_> = some.iter().map(left).collect();
        let calls: Vec<_> =
            some.iter().zip(&spans).map(|(one, left)| inner.tell(&one.id, &one.token, left)).collect();
        let replies = inner.remote.connection().batch(&calls, None, inner.remote.deadline()).await;
        let mut back = Vec::new();
        for (one, reply) in some.into_iter().zip(replies) {
            let said: Result<Said, RemoteError> = reply.and_then(|reply| inner.tier.said(&reply, &one.token));
            match said {
                Ok(Said::New | Said::Own) => counts.replayed.add(1),
                Ok(Said::Other) => {
                    counts.replayed.add(1);
                    counts.conflicts.add(1);
                }
                Err(error) if error.kind().is_outage() => back.push(one),
                Err(_) => counts.dropped.add(1),
            }
        }
        back
    }

    /// What is left of an id's window, in whole milliseconds.
    fn left(&self, alone: &Alone, one: &Admitted) -> Option<Duration> {
        alone.left(one.at).filter(|left| left.as_millis() > 0)
    }
}

/// What is put back into the queue in the end.
struct Untold<'a> {
    alone: &'a Alone,
    admitted: Vec<Admitted>,
}

impl Drop for Untold<'_> {
    fn drop(&mut self) {
        self.alone.give_back(std::mem::take(&mut self.admitted));
    }
}

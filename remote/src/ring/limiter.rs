//! Limits over members that do not know of each other.

use super::member::{Member, Members, grouped};
use crate::{
    error::{ErrorKind, RemoteError},
    limit::{Decision, RemoteLimiter, RemoteLimiterBuilder, RemoteLimiterStats},
    remote::Remote,
};
use futures_util::future::join_all;
use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
};
use windlass::Admission;

type Settings = dyn Fn(&Remote) -> RemoteLimiterBuilder + Send + Sync;
type Answer = Result<Decision, RemoteError>;

/// A [`RemoteLimiter`] over several members, each a server, what sentinels look after, or a cluster, that do not know of each other. Which of them has a client says a
/// [`windlass::HashRing`] of their names and weights.
///
/// ```no_run
/// use windlass_remote::{Member, Remote, RemoteLimiter, RemoteLimiterRing};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), windlass_remote::RemoteError> {
/// let (a, b) = (Remote::connect("redis://10.0.0.1").await?, Remote::connect("redis://10.0.0.2").await?);
/// let members = [Member::new("a", &a), Member::new("b", &b)];
/// let quota = "100/60s".parse()?;
/// let ring = RemoteLimiterRing::new(members, move |remote| RemoteLimiter::builder(remote, "api", quota))?;
/// if ring.check("203.0.113.7", 1).await?.is_allowed() {
///     // whichever of the two has it
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Guarantees
/// Those of [`RemoteLimiter`] for each member, and:
///
/// - *One that is down touches its clients only*, which get what the policy says ([`crate::LimiterDown`]).
/// - *While the ring changes*, and after it, a client whose owner is another begins anew there: from both owners together it gets at most its limit twice. Others are as they were.
/// - *All who share a namespace* give the same names, weights, quota and algorithm; addresses may differ.
///
/// # Cost
/// That of a [`RemoteLimiter`]; of a batch a round trip to each member for each 1024 of its calls.
#[derive(Clone)]
pub struct RemoteLimiterRing(Arc<Inner>);

struct Inner {
    settings: Box<Settings>,
    members: RwLock<Arc<Members<RemoteLimiter>>>,
}

impl RemoteLimiterRing {
    /// Over these members, each with these settings (of which the namespace, the quota and the algorithm must be the same for all).
    ///
    /// # Errors
    /// [`ErrorKind::Config`]: no members, or two of one name, or what the settings' `build` refuses.
    pub fn new(
        members: impl IntoIterator<Item = Member>,
        settings: impl Fn(&Remote) -> RemoteLimiterBuilder + Send + Sync + 'static,
    ) -> Result<RemoteLimiterRing, RemoteError> {
        let now = connected(members.into_iter().collect(), None, &settings)?;
        let members = RwLock::new(Arc::new(now));
        Ok(RemoteLimiterRing(Arc::new(Inner { settings: Box::new(settings), members })))
    }

    /// Goes over to these members. Those of a name that there was before stay as they are, with what is held of them here. Of those that go, what was granted here and not yet reported is
    /// to be reported before ([`RemoteLimiterRing::flush`]).
    ///
    /// # Errors
    /// As [`RemoteLimiterRing::new`]: then nothing is changed.
    pub fn change(&self, members: impl IntoIterator<Item = Member>) -> Result<(), RemoteError> {
        let mut now = self.0.members.write().unwrap_or_else(PoisonError::into_inner);
        *now = Arc::new(connected(members.into_iter().collect(), Some(&now), &self.0.settings)?);
        Ok(())
    }

    /// The name of the member that has a client.
    pub fn member_of(&self, client: impl AsRef<[u8]>) -> String {
        self.members().owner(client.as_ref()).0.to_owned()
    }

    /// Takes `cost` permits of a client's, or none. Of cost 0 it tells how things stand.
    ///
    /// # Errors
    /// As [`RemoteLimiter::check`], of the member that has it.
    pub async fn check(&self, client: impl AsRef<[u8]>, cost: u64) -> Answer {
        let (members, client) = (self.members(), client.as_ref());
        members.owner(client).1.check(client, cost).await
    }

    /// Many calls of clients with their costs; those of one client in order. All members are asked at the same time. Every call has an answer of its own.
    pub async fn check_batch<C: AsRef<[u8]>>(&self, calls: &[(C, u64)]) -> Vec<Answer> {
        let members = self.members();
        let owned = calls.iter().enumerate().map(|(at, (client, _))| (at, members.owner(client.as_ref())));
        let asked = grouped(owned.collect()).into_values().map(
            async |(limiter, places): (&RemoteLimiter, Vec<usize>)| {
                let own: Vec<(&[u8], u64)> =
                    places.iter().map(|&at| (calls[at].0.as_ref(), calls[at].1)).collect();
                places.into_iter().zip(limiter.check_batch(&own).await).collect::<Vec<_>>()
            },
        );
        let none = || Err(RemoteError::new(ErrorKind::Protocol, "no answer"));
        let mut answers: Vec<Answer> = calls.iter().map(|_| none()).collect();
        for (at, answer) in join_all(asked).await.into_iter().flatten() {
            answers[at] = answer;
        }
        answers
    }

    /// What [`RemoteLimiterRing::check`] would answer, if it asked. Nothing is taken.
    ///
    /// # Errors
    /// As [`RemoteLimiter::peek`].
    pub async fn peek(&self, client: impl AsRef<[u8]>, cost: u64) -> Result<Admission, RemoteError> {
        let (members, client) = (self.members(), client.as_ref());
        members.owner(client).1.peek(client, cost).await
    }

    /// Gives a client back all that it has taken of the member that has it now: see [`RemoteLimiter::forget`].
    ///
    /// # Errors
    /// As [`RemoteLimiter::peek`].
    pub async fn forget(&self, client: impl AsRef<[u8]>) -> Result<bool, RemoteError> {
        let (members, client) = (self.members(), client.as_ref());
        members.owner(client).1.forget(client).await
    }

    /// Tells all members of what was granted here: see [`RemoteLimiter::flush`].
    ///
    /// # Errors
    /// The first one; the others have been told all the same.
    pub async fn flush(&self) -> Result<(), RemoteError> {
        let members = self.members();
        let all = join_all(members.each().map(async |(_, limiter)| limiter.flush().await)).await;
        all.into_iter().collect()
    }

    /// The figures of each member, by its name. Each is exact once no call is under way.
    #[must_use]
    pub fn stats(&self) -> Vec<(String, RemoteLimiterStats)> {
        self.members().each().map(|(name, limiter)| (name.to_owned(), limiter.stats())).collect()
    }

    fn members(&self) -> Arc<Members<RemoteLimiter>> {
        Arc::clone(&self.0.members.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// All of one quota, that of `before`.
fn connected(
    members: Vec<Member>,
    before: Option<&Members<RemoteLimiter>>,
    settings: &Settings,
) -> Result<Members<RemoteLimiter>, RemoteError> {
    let now = Members::new(members, before, |remote| settings(remote).build())?;
    now.agree(before, "quota", RemoteLimiter::quota)?;
    Ok(now)
}

impl fmt::Debug for RemoteLimiterRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteLimiterRing").field("members", &self.members().names()).finish_non_exhaustive()
    }
}

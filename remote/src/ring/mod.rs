//! Deduplication, and limits, over members that do not know of each other.

mod limiter;
mod member;

use crate::{
    connection,
    dedup::{Known, Observed, RemoteDedup, RemoteDedupBuilder, RemoteDedupStats},
    error::{ErrorKind, RemoteError},
    figure::Figure,
    remote::Remote,
};
use futures_util::future::join_all;
pub use limiter::RemoteLimiterRing;
pub use member::{Handover, Member};
use member::{Members, Routes, grouped};
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};
use windlass::{Clock, ConfigError, Verdict};

const DUPLICATE: Observed = Observed::Decided(Verdict::Duplicate { first_seen: None });

type Answer = Result<Observed, RemoteError>;
type Settings = dyn Fn(&Remote) -> RemoteDedupBuilder + Send + Sync;

/// Admits each id once per window, over several members, each a server, what sentinels look after, or a cluster, that do not know of each other. Which of them has an id says a
/// [`windlass::HashRing`] of their names and weights.
///
/// A cluster does the same with slots, and moves what is in them: prefer that. This is for servers that cannot be made one.
///
/// ```no_run
/// use std::time::Duration;
/// use windlass_remote::{Handover, Member, Remote, RemoteDedup, RemoteRing};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), windlass_remote::RemoteError> {
/// let (a, b) = (Remote::connect("redis://10.0.0.1").await?, Remote::connect("redis://10.0.0.2").await?);
/// let members = vec![Member::new("a", &a), Member::new("b", &b)];
/// let ring = RemoteRing::new(members.clone(), |remote| RemoteDedup::builder(remote, "orders", Duration::from_secs(300)))?;
/// assert!(ring.observe("order-4711").await?.is_fresh());
///
/// // Later, in every process, within ten seconds:
/// let c = Remote::connect("redis://10.0.0.3").await?;
/// let more = [members, vec![Member::new("c", &c)]].concat();
/// ring.change(more, Handover::Ask { within: Duration::from_secs(10) })?;
/// assert!(!ring.observe("order-4711").await?.is_fresh());
/// # Ok(())
/// # }
/// ```
///
/// # Guarantees
/// Those of [`RemoteDedup`] for each member, and:
///
/// - *One that is down touches its ids only*, which get what the policy says ([`crate::Down`]).
/// - *While the ring changes* an id whose owner is another now is admitted by both, or not at all: by the new owner first, then by the one before. What
///   the one before has admitted within the window is a duplicate, and so are ids of processes that have not changed yet, as long as all
///   change [`Handover::Ask::within`] each other. The new owner lets such an id live as long as the one before does. A process that ends in between, or a member that is lost then, can leave an id
///   that nobody was told is fresh: it is a duplicate until a window later.
/// - *All who share a namespace* give the same names, weights and window; addresses may differ.
///
/// # Cost
/// One round trip to each member for each 1024 events of a batch, none for duplicates of what this process was told is fresh ([`RemoteDedupBuilder::known`]: so many for all members together). While the ring
/// changes, one more for new ids that have moved, and two for those that turn out to be duplicates.
#[derive(Clone)]
pub struct RemoteRing(Arc<Inner>);

struct Inner {
    settings: Box<Settings>,
    routes: RwLock<Arc<Routes>>,
    /// Ids that this process was told are fresh, by whichever member. (Of a member by itself nothing is known here: what a new owner has admitted can turn out to be a duplicate, or
    /// be taken back.)
    known: Option<Known>,
    clock: Clock,
    duplicates_known: Figure,
}

/// Plain figures about a [`RemoteRing`], of this process alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteRingStats {
    /// Duplicates that were known here: no member was asked.
    pub known: u64,
    /// Of each member that there is now, by its name. While the ring changes an id that has moved counts for two.
    pub members: Vec<(String, RemoteDedupStats)>,
}

impl RemoteRing {
    /// Over these members, each with these settings (of which the namespace and the window must be the same for all).
    ///
    /// # Errors
    /// [`ErrorKind::Config`]: no members, or two of one name, or what the settings' `build` refuses.
    pub fn new(
        members: impl IntoIterator<Item = Member>,
        settings: impl Fn(&Remote) -> RemoteDedupBuilder + Send + Sync + 'static,
    ) -> Result<RemoteRing, RemoteError> {
        let members: Vec<Member> = members.into_iter().collect();
        let ids = members.first().map_or(0, |member| settings(member.remote()).known_ids());
        let now = connected(members, None, &settings)?;
        let clock = Clock::monotonic();
        let known = Known::new(ids, now.window(), now.timeout(), clock.clone())?;
        let routes = RwLock::new(Arc::new(Routes { now: Arc::new(now), before: None }));
        let (settings, duplicates_known) = (Box::new(settings), Figure::default());
        Ok(RemoteRing(Arc::new(Inner { settings, routes, known, clock, duplicates_known })))
    }

    /// Goes over to these members. Those of a name that there was before stay connected as they are, with what waits for them.
    ///
    /// # Errors
    /// As [`RemoteRing::new`]; and while a change before is under way: then nothing is changed. [`RemoteRing::changing`] tells for how long.
    pub fn change(
        &self,
        members: impl IntoIterator<Item = Member>,
        handover: Handover,
    ) -> Result<(), RemoteError> {
        let mut routes = self.0.routes.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(left) = routes.changing() {
            let limit = "one at a time: after each, a window and as long as others may take".to_owned();
            return Err(ConfigError { field: "change", value: format!("{left:?} too early"), limit }.into());
        }
        let now = connected(members.into_iter().collect(), Some(&routes.now), &self.0.settings)?;
        let before = match handover {
            // Calls that are under way go by the ring before: a deadline for each of the steps that they may have.
            Handover::Ask { within } => {
                let span = now.window() + within + 4 * now.timeout().max(routes.now.timeout());
                Some((Arc::clone(&routes.now), Instant::now() + span))
            }
            Handover::Lost => None,
        };
        *routes = Arc::new(Routes { now: Arc::new(now), before });
        Ok(())
    }

    /// For how long the owners before are still asked, if they are.
    #[must_use]
    pub fn changing(&self) -> Option<Duration> {
        self.routes().changing()
    }

    /// The name of the member that has an id.
    pub fn member_of(&self, id: impl AsRef<[u8]>) -> String {
        let routes = self.routes();
        routes.now.owner(id.as_ref()).0.to_owned()
    }

    /// Observes an id: is it new within the window?
    ///
    /// # Errors
    /// As [`RemoteDedup::observe`], of the member that has it; while the ring changes also of the one that had it.
    pub async fn observe(&self, id: impl AsRef<[u8]>) -> Answer {
        let answers = self.some(&[id.as_ref()]).await;
        answers.into_iter().next().unwrap_or_else(none)
    }

    /// Observes many ids, in order: of those that are the same the first may be fresh. All members are asked at the same time. Every event has
    /// an answer of its own.
    pub async fn observe_batch<I: AsRef<[u8]>>(&self, ids: &[I]) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(ids.len());
        for ids in ids.chunks(connection::TOGETHER) {
            let ids: Vec<&[u8]> = ids.iter().map(AsRef::as_ref).collect();
            answers.extend(self.some(&ids).await);
        }
        answers
    }

    /// Tells all members what this process has admitted while they were down, and gives how many ids they could not be told of: see
    /// [`RemoteDedup::replay`].
    pub async fn replay(&self) -> u64 {
        let routes = self.routes();
        let mut waiting = 0;
        for dedup in routes.all() {
            waiting += dedup.replay().await;
        }
        waiting
    }

    /// Its figures. Each is exact once no call is under way.
    #[must_use]
    pub fn stats(&self) -> RemoteRingStats {
        let routes = self.routes();
        let members = routes.now.each().map(|(name, dedup)| (name.to_owned(), dedup.stats()));
        RemoteRingStats { known: self.0.duplicates_known.get(), members: members.collect() }
    }

    fn routes(&self) -> Arc<Routes> {
        Arc::clone(&self.0.routes.read().unwrap_or_else(PoisonError::into_inner))
    }

    async fn some(&self, ids: &[&[u8]]) -> Vec<Answer> {
        let Inner { known, clock, duplicates_known, .. } = &*self.0;
        let Some(known) = known else { return self.ask_all(ids).await };
        let asked: Vec<usize> = (0..ids.len()).filter(|&at| !known.contains(ids[at])).collect();
        duplicates_known.add((ids.len() - asked.len()) as u64);
        let mut answers = vec![Ok(DUPLICATE); ids.len()];
        let (own, sent) = (asked.iter().map(|&at| ids[at]).collect::<Vec<_>>(), clock.now());
        for (at, answer) in asked.into_iter().zip(self.ask_all(&own).await) {
            // What is not confirmed, or admitted alone, may not be in the engine.
            if answer == Ok(Observed::Decided(Verdict::Fresh)) {
                known.put(ids[at], sent);
            }
            answers[at] = answer;
        }
        answers
    }

    /// By the members.
    async fn ask_all(&self, ids: &[&[u8]]) -> Vec<Answer> {
        let routes = self.routes();
        let sent = Instant::now();
        let all = (0..ids.len()).map(|at| (at, routes.now.owner(ids[at]))).collect();
        let mut answers: Vec<Answer> = ids.iter().map(|_| none()).collect();
        for (at, answer) in ask(ids, all).await {
            answers[at] = answer;
        }
        let Some((before, _)) = routes.before.as_ref().filter(|_| routes.changing().is_some()) else {
            return answers;
        };
        // Those that are new to an owner that is new to them.
        let moved = |at: usize| before.owner(ids[at]).0 != routes.now.owner(ids[at]).0;
        let asked = (0..ids.len())
            .filter(|&at| answers[at].as_ref().is_ok_and(|observed| observed.is_fresh()) && moved(at))
            .map(|at| (at, before.owner(ids[at])))
            .collect();
        let mut residues = Vec::new();
        let mut failed: HashMap<&[u8], RemoteError> = HashMap::new();
        for (at, earlier) in ask(ids, asked).await {
            let there = !matches!(answers[at], Ok(Observed::Alone(_)));
            match earlier {
                Ok(observed) if !observed.is_fresh() => {
                    residues.extend(there.then_some((at, true)));
                    answers[at] = Ok(observed);
                }
                // Surely new only if both can tell.
                Ok(Observed::Alone(verdict)) => answers[at] = Ok(Observed::Alone(verdict)),
                Ok(Observed::Unconfirmed(token)) => answers[at] = Ok(Observed::Unconfirmed(token)),
                Ok(_) => {}
                Err(error) => {
                    residues.extend(there.then_some((at, false)));
                    failed.insert(ids[at], error.clone());
                    answers[at] = Err(error);
                }
            }
        }
        // Repeats of what was not admitted after all are not duplicates of it.
        for (at, answer) in answers.iter_mut().enumerate().filter(|_| !failed.is_empty()) {
            if let (true, Some(error)) = (*answer == Ok(DUPLICATE), failed.get(ids[at])) {
                *answer = Err(error.clone());
            }
        }
        // Once a window has passed it could be another's.
        if sent.elapsed() < routes.now.window() {
            correct(ids, &residues, &routes.now, before).await;
        }
        answers
    }
}

fn none() -> Answer {
    Err(RemoteError::new(ErrorKind::Protocol, "no answer"))
}

/// Asks for ids, by their places, each at its member; all members at the same time.
async fn ask<'a>(ids: &[&[u8]], asked: Vec<(usize, (&'a str, &'a RemoteDedup))>) -> Vec<(usize, Answer)> {
    let members = grouped(asked).into_values().map(async |(dedup, places)| {
        let own: Vec<&[u8]> = places.iter().map(|&at| ids[at]).collect();
        places.into_iter().zip(dedup.observe_batch(&own).await).collect::<Vec<_>>()
    });
    join_all(members).await.into_iter().flatten().collect()
}

/// All of one window, that of `before`.
fn connected(
    members: Vec<Member>,
    before: Option<&Members<RemoteDedup>>,
    settings: &Settings,
) -> Result<Members<RemoteDedup>, RemoteError> {
    let now = Members::new(members, before, |remote| {
        let settings = settings(remote).known(0);
        if settings.is_by_module() {
            let limit = "without it, in a ring: ids move with what is left of their windows".to_owned();
            return Err(ConfigError { field: "members", value: "by the module".to_owned(), limit }.into());
        }
        settings.build()
    })?;
    now.agree(before, "window", RemoteDedup::window)?;
    Ok(now)
}

/// The new owner has admitted these, and they are not fresh: it lets them live as long as the one before does, which has them (`true`), or takes
/// them back.
async fn correct(
    ids: &[&[u8]],
    residues: &[(usize, bool)],
    now: &Members<RemoteDedup>,
    before: &Members<RemoteDedup>,
) {
    let held = residues.iter().filter(|(_, held)| *held);
    let asking = grouped(held.map(|&(at, _)| (at, before.owner(ids[at]))).collect());
    let asking = asking.into_values().map(async |(dedup, places)| {
        let own: Vec<&[u8]> = places.iter().map(|&at| ids[at]).collect();
        places.into_iter().zip(dedup.left_of(&own).await).collect::<Vec<_>>()
    });
    let left = join_all(asking).await.into_iter().flatten().filter_map(|(at, left)| Some((at, left?)));
    let back = residues.iter().filter(|(_, held)| !held).map(|&(at, _)| (at, 0));
    let lives = left.chain(back).map(|(at, ms)| ((ids[at], ms), now.owner(ids[at]))).collect();
    let telling = grouped::<_, (&[u8], u64)>(lives).into_values();
    join_all(telling.map(async |(dedup, lives)| dedup.let_live(&lives).await)).await;
}

impl fmt::Debug for RemoteRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let routes = self.routes();
        f.debug_struct("RemoteRing")
            .field("members", &routes.now.names())
            .field("changing", &routes.changing())
            .finish_non_exhaustive()
    }
}

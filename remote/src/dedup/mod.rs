//! Exact windowed deduplication over several machines.

mod alone;
mod builder;
mod known;
mod module;
mod moving;
mod question;
mod repeats;
mod replay;
mod stats;
mod token;

use crate::{
    connection::{self, Answer, Call, Span},
    deadline::Deadline,
    error::{ErrorKind, RemoteError},
    key::{Key, Namespace},
    remote::Remote,
};
use alone::Alone;
pub use builder::{Down, Level, RemoteDedupBuilder};
pub(crate) use known::Known;
use question::{Said, Tier};
use repeats::Firsts;
use stats::Counts;
pub use stats::RemoteDedupStats;
use std::{
    fmt,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
pub use token::Token;
use windlass::{Clock, Verdict};

const DUPLICATE: Verdict = Verdict::Duplicate { first_seen: None };

/// The answer to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Observed {
    /// By what the engine holds. (When an id was first seen it does not tell.)
    Decided(Verdict),
    /// The primary has admitted it, but no replica has said in time that it has it too ([`Level::Confirmed`]): fresh, unless that primary is lost
    /// now. To ask again use the token, with [`RemoteDedup::observe_as`].
    Unconfirmed(Token),
    /// The engine is down, and this was judged without it ([`Down`]).
    Alone(Verdict),
}

impl Observed {
    /// The verdict, as far as it is known: what is unconfirmed is fresh.
    #[must_use]
    pub fn verdict(self) -> Verdict {
        match self {
            Observed::Decided(verdict) | Observed::Alone(verdict) => verdict,
            Observed::Unconfirmed(_) => Verdict::Fresh,
        }
    }

    /// Whether the id is new within the window, as far as it is known.
    #[must_use]
    pub fn is_fresh(self) -> bool {
        self.verdict().is_fresh()
    }
}

/// Admits each id once per window, for any number of processes on any number of machines.
///
/// An id has a key of its own in the engine, which expires a window after its admission (or, [by the module](RemoteDedupBuilder::by_module), a place in one of 32 keys). A duplicate refreshes nothing, and costs no write. The
/// ids of a namespace spread over all nodes of a cluster.
///
/// ```no_run
/// use std::time::Duration;
/// use windlass_remote::{Down, Remote, RemoteDedup};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), windlass_remote::RemoteError> {
/// let remote = Remote::connect("redis+cluster://10.0.0.1,10.0.0.2").await?;
/// let dedup = RemoteDedup::builder(&remote, "orders", Duration::from_secs(300)).down(Down::LocalShare).build()?;
/// if dedup.observe("order-4711").await?.is_fresh() {
///     // the first time in five minutes, whichever machine asks
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Time
/// The window is counted by the engine: by the clock of the node that has the key, in milliseconds, as real time. Nodes' clocks
/// matter when a replica takes over: it ends a key when the primary would have by its own clock, so a clock that is off by d makes windows
/// that much longer or shorter. What is kept here goes by this process' monotonic clock, and is never taken for a duplicate later than a window
/// after the request that admitted it went out.
///
/// # Guarantees
/// As long as no server is lost and none forgets early, an id is fresh once per window among all who ask. Each answer comes by the deadline ([`crate::RemoteBuilder::timeout`]),
/// from the engine or by the policy for when it is down ([`Down`]).
///
/// - *An answer that is lost* is asked for again within the deadline, and the engine knows the [`Token`]: an event is not taken for a duplicate of
///   itself. Whoever gets an error with [`RemoteError::may_be_done`], or drops a call under way, and will bring the same event again, asks with a token of
///   its own ([`RemoteDedup::observe_as`]); with a new one it may be told "duplicate".
/// - *A primary that is lost* takes along what it has not sent to its replica: these ids may be admitted again ([`Level::Fast`]), except those that were
///   confirmed ([`Level::Confirmed`]), so long as a replica that has them takes its place. A server that restarts without its data forgets all.
/// - *While the engine is down* processes do not know of each other: with [`Down::LocalShare`] an id may be admitted once in each of them.
///
/// # Memory
/// In the engine some 165 bytes for each id of 16 bytes in the window (docs/distributed.md has the command; by the module that of a table), on the primary and on each replica. Here 40 bytes for each id of
/// [`RemoteDedupBuilder::known`], and with [`Down::LocalShare`] of [`RemoteDedupBuilder::alone`]. Ids that are kept here are told apart by 64 bits of a hash
/// with a random seed (see [`windlass::Dedup`]); in the engine by their bytes, or by the module in the same way.
///
/// # Cost
/// One round trip, none for a duplicate of what this process has admitted, one for a whole batch ([`RemoteDedup::observe_batch`]).
#[derive(Clone)]
pub struct RemoteDedup(Arc<Inner>);

struct Inner {
    remote: Remote,
    namespace: Namespace,
    /// What the keys of all ids begin with.
    prefix: Vec<u8>,
    window: Duration,
    span: Span,
    level: Level,
    down: Down,
    tier: Tier,
    known: Option<Known>,
    alone: Option<Alone>,
    clock: Clock,
    counts: Counts,
    /// When the engine was last told of something in vain.
    tried: Mutex<Option<Instant>>,
}

impl Inner {
    fn key<'a>(&'a self, id: &'a [u8]) -> Key<'a> {
        Key::Item { prefix: &self.prefix, item: id }
    }

    /// The answers to events of which no two have the same id: each means what [`Tier::said`] says.
    async fn ask(&self, events: &[(&[u8], Token)], confirm: Option<u32>, deadline: Deadline) -> Vec<Answer> {
        let Inner { remote, namespace, span, tier, .. } = self;
        if *tier == Tier::Module {
            return module::admit(remote.connection(), namespace, (events, span), confirm, deadline).await;
        }
        let calls: Vec<Call<'_>> =
            events.iter().map(|(id, token)| tier.admit(self.key(id), token, span)).collect();
        remote.connection().batch(&calls, confirm, deadline).await
    }

    /// Tells the engine of an id that was admitted without it, of whose window so much is left. May be asked again.
    fn tell<'a>(&'a self, id: &'a [u8], token: &Token, left: &'a Span) -> Call<'a> {
        match self.tier {
            Tier::Module => module::tell(&self.namespace, id, left, &self.span),
            tier => tier.admit(self.key(id), token, left),
        }
    }
}

impl RemoteDedup {
    /// A builder for ids of a namespace (1 to 64 of `A-Z a-z 0-9 _ - .`), which count as seen for `window` (in whole milliseconds). All who
    /// share a namespace must give the same window.
    pub fn builder(remote: &Remote, namespace: &str, window: Duration) -> RemoteDedupBuilder {
        RemoteDedupBuilder::new(remote, namespace, window)
    }

    /// Observes an id: is it new within the window?
    ///
    /// # Errors
    /// By kind, with node and key. Those that are outages ([`ErrorKind::is_outage`]) come only with [`Down::Deny`], and with [`Down::LocalShare`] once
    /// there is no room for more ids.
    pub async fn observe(&self, id: impl AsRef<[u8]>) -> Result<Observed, RemoteError> {
        self.one(id.as_ref(), Token::new(), true).await
    }

    /// Observes an id on behalf of a delivery that may ask more than once: the token that has admitted the id is told "fresh" as often as it asks, all
    /// others "duplicate". Always asks the engine.
    ///
    /// # Errors
    /// As [`RemoteDedup::observe`].
    pub async fn observe_as(&self, id: impl AsRef<[u8]>, token: Token) -> Result<Observed, RemoteError> {
        self.one(id.as_ref(), token, false).await
    }

    /// Observes many ids, in order: of those that are the same the first may be fresh. One round trip to each node for each 1024 of them,
    /// each with a deadline of its own. Every event has an answer of its own.
    pub async fn observe_batch<I: AsRef<[u8]>>(&self, ids: &[I]) -> Vec<Result<Observed, RemoteError>> {
        let mut answers = Vec::new();
        for ids in ids.chunks(connection::TOGETHER) {
            // One token for all: of those that are the same only one is asked about.
            let token = Token::new();
            let events: Vec<(&[u8], Token)> = ids.iter().map(|id| (id.as_ref(), token)).collect();
            let some = self.judge(&events, true).await;
            // Most batches are one.
            if answers.is_empty() {
                answers = some;
            } else {
                answers.extend(some);
            }
        }
        answers
    }

    /// Whether an observation of the id would find a duplicate. Asks the engine, and changes nothing.
    ///
    /// # Errors
    /// As [`RemoteDedup::observe`], also where there is a policy for outages.
    pub async fn contains(&self, id: impl AsRef<[u8]>) -> Result<bool, RemoteError> {
        let Inner { remote, namespace, tier, .. } = &*self.0;
        let call = tier.contains(namespace, id.as_ref());
        let reply = remote.connection().call(call, None, remote.deadline()).await?;
        Ok(question::is_there(&reply))
    }

    async fn one(&self, id: &[u8], token: Token, locally: bool) -> Result<Observed, RemoteError> {
        let answers = self.judge(&[(id, token)], locally).await;
        answers.into_iter().next().unwrap_or_else(|| Err(RemoteError::new(ErrorKind::Protocol, "no answer")))
    }

    /// The answers to events; `locally` those that can be known here are.
    async fn judge(&self, events: &[(&[u8], Token)], locally: bool) -> Vec<Result<Observed, RemoteError>> {
        let Inner { remote, tier, counts, .. } = &*self.0;
        let mut answers: Vec<Option<Result<Observed, RemoteError>>> = vec![None; events.len()];
        // Which events the engine is asked about, and of which of these others are repeats.
        let (mut asked, mut asks) = (Vec::with_capacity(events.len()), Vec::with_capacity(events.len()));
        let mut firsts = Firsts::of(events);
        let mut repeats: Vec<(usize, usize)> = Vec::new();
        for (index, (id, token)) in events.iter().enumerate() {
            if locally && let Some(observed) = self.here(id) {
                answers[index] = Some(Ok(observed));
                continue;
            }
            if let Some(earlier) = firsts.before(index, |(id, _)| id) {
                repeats.push((index, earlier));
                continue;
            }
            asked.push(index);
            asks.push((*id, *token));
        }
        if !asks.is_empty() {
            let (sent, deadline) = (self.0.clock.now(), remote.deadline());
            let confirm = (self.0.level == Level::Confirmed).then_some(1);
            let replies = self.0.ask(&asks, confirm, deadline).await;
            let mut again = Vec::new();
            let mut there = false;
            for (index, reply) in asked.into_iter().zip(replies) {
                let (id, token) = &events[index];
                let reply = match reply {
                    Ok(reply) => reply,
                    Err(error) => {
                        answers[index] = Some(self.down(id, *token, error));
                        continue;
                    }
                };
                there = true;
                let confirmed = reply.replicas.is_none_or(|replicas| replicas > 0);
                answers[index] = match tier.said(&reply, token) {
                    Ok(Said::Own) if confirm.is_some() && tier.writes_again() => {
                        again.push(index);
                        None
                    }
                    Ok(said) => Some(Ok(self.said(said, id, *token, confirmed, sent))),
                    Err(error) => Some(Err(self.failed(error))),
                };
            }
            self.confirm(&again, events, &mut answers, deadline).await;
            if there {
                self.tell_soon();
            }
        }
        for (index, earlier) in repeats {
            answers[index] = Some(match &answers[earlier] {
                Some(Err(error)) => Err(self.failed(error.clone())),
                Some(Ok(Observed::Alone(_))) if self.0.down == Down::Allow => {
                    counts.admitted_alone.add(1);
                    Ok(Observed::Alone(Verdict::Fresh))
                }
                Some(Ok(Observed::Alone(_))) => {
                    counts.duplicates_alone.add(1);
                    Ok(Observed::Alone(DUPLICATE))
                }
                _ => {
                    counts.within_batch.add(1);
                    Ok(Observed::Decided(DUPLICATE))
                }
            });
        }
        let none = || Err(RemoteError::new(ErrorKind::Protocol, "no answer"));
        answers.into_iter().map(|answer| answer.unwrap_or_else(none)).collect()
    }

    /// A duplicate that is known here.
    fn here(&self, id: &[u8]) -> Option<Observed> {
        if self.0.known.as_ref().is_some_and(|known| known.contains(id)) {
            self.0.counts.known.add(1);
            return Some(Observed::Decided(DUPLICATE));
        }
        // Also once the engine is back: it may not have been told yet.
        if self.0.alone.as_ref().is_some_and(|alone| alone.contains(id)) {
            self.0.counts.duplicates_alone.add(1);
            return Some(Observed::Alone(DUPLICATE));
        }
        None
    }

    /// What the engine's answer comes to.
    fn said(&self, said: Said, id: &[u8], token: Token, confirmed: bool, sent: windlass::Tick) -> Observed {
        let Inner { counts, known, alone, .. } = &*self.0;
        if said == Said::Other {
            counts.duplicates.add(1);
            return Observed::Decided(DUPLICATE);
        }
        let put = || {
            // What is not confirmed may be lost yet; of what was there before nobody here knows since when.
            if let (true, Said::New, Some(known)) = (confirmed, said, known) {
                known.put(id, sent);
            }
        };
        match alone {
            // Another call found the engine down meanwhile, and admitted it. (The engine will be told, and has this token instead.)
            Some(alone) if !alone.unless_here(id, put) => {
                counts.duplicates_alone.add(1);
                return Observed::Alone(DUPLICATE);
            }
            Some(_) => {}
            None => put(),
        }
        counts.fresh.add(1);
        if said == Said::Own {
            counts.own.add(1);
        }
        if confirmed {
            return Observed::Decided(Verdict::Fresh);
        }
        counts.unconfirmed.add(1);
        Observed::Unconfirmed(token)
    }

    /// Waits for replicas to have what these events' tokens hold already.
    async fn confirm(
        &self,
        again: &[usize],
        events: &[(&[u8], Token)],
        answers: &mut [Option<Result<Observed, RemoteError>>],
        deadline: Deadline,
    ) {
        if again.is_empty() {
            return;
        }
        let Inner { remote, namespace, .. } = &*self.0;
        let calls: Vec<_> =
            again.iter().map(|&at| question::again(namespace, events[at].0, &events[at].1)).collect();
        let replies = remote.connection().batch(&calls, Some(1), deadline).await;
        for (&index, reply) in again.iter().zip(replies) {
            let (id, token) = events[index];
            // If it failed, or ended meanwhile: it was there, and that is all there is to say.
            let confirmed = reply.is_ok_and(|reply| {
                reply.value == connection::Value::Okay && reply.replicas.is_some_and(|replicas| replicas > 0)
            });
            answers[index] = Some(Ok(self.said(Said::Own, id, token, confirmed, self.0.clock.now())));
        }
    }

    /// The engine could not be asked.
    fn down(&self, id: &[u8], token: Token, error: RemoteError) -> Result<Observed, RemoteError> {
        let counts = &self.0.counts;
        if !error.kind().is_outage() {
            return Err(self.failed(error));
        }
        let verdict = match (self.0.down, &self.0.alone) {
            (Down::Allow, _) => Some(Verdict::Fresh),
            (Down::LocalShare, Some(alone)) => {
                alone.observe(id, token, || self.0.known.as_ref().is_some_and(|known| known.contains(id)))
            }
            _ => None,
        };
        match verdict {
            Some(verdict) => {
                let figure =
                    if verdict.is_fresh() { &counts.admitted_alone } else { &counts.duplicates_alone };
                figure.add(1);
                Ok(Observed::Alone(verdict))
            }
            None => Err(self.failed(error)),
        }
    }

    fn failed(&self, error: RemoteError) -> RemoteError {
        self.0.counts.errors.add(1);
        error
    }

    /// Observes an id at a time that the caller says, by a script or by the module (whose time does not go back): to compare with other implementations, and for dry runs. These ids are apart from
    /// those of the other calls, are never forgotten by the engine, and nothing is known of them here.
    ///
    /// # Errors
    /// As [`RemoteDedup::observe`], and with no policy.
    #[doc(hidden)]
    pub async fn observe_at(&self, events: &[(&[u8], u64)]) -> Vec<Result<Verdict, RemoteError>> {
        let Inner { remote, namespace, span, tier, .. } = &*self.0;
        let admit = |(id, ms): &(&[u8], u64)| tier.admit_at(namespace, id, *ms, span);
        let calls: Vec<_> = events.iter().map(admit).collect();
        let replies = remote.connection().batch(&calls, None, remote.deadline()).await;
        replies.into_iter().map(|reply| question::said_at(&reply?)).collect()
    }

    /// Its figures. Each is exact once no call is under way.
    #[must_use]
    pub fn stats(&self) -> RemoteDedupStats {
        self.0.counts.read(self.0.alone.as_ref().map_or(0, Alone::waiting))
    }

    /// How long an id counts as seen.
    #[must_use]
    pub fn window(&self) -> Duration {
        self.0.window
    }

    /// Bytes that it takes here, without the ids that wait for the engine.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.0.known.as_ref().map_or(0, Known::bytes) + self.0.alone.as_ref().map_or(0, Alone::bytes)
    }
}

impl fmt::Debug for RemoteDedup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteDedup")
            .field("namespace", &self.0.namespace.as_str())
            .field("window", &self.0.window)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

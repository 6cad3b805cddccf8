//! Rate limits over several machines.

mod ask;
mod builder;
mod denied;
mod held;
mod module;
mod rule;
mod set;
mod stats;

use crate::{connection, deadline::Deadline, error::RemoteError, key::Namespace, remote::Remote};
use ask::{Ask, Tier, Told};
pub use builder::{LimiterDown, Mode, RemoteLimiterBuilder};
use denied::Denied;
use held::{Held, Holdings};
use rule::Rule;
pub use set::{RemoteLimitRule, RemoteLimitSet, RemoteLimitSetBuilder, SetDecision};
use stats::Counts;
pub use stats::RemoteLimiterStats;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::Instant;
use windlass::{Admission, KeyedLimiter, Quota};

/// The answer to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Whether the call may go on.
    pub admission: Admission,
    /// Who has decided.
    pub by: DecidedBy,
}

/// Who has decided about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecidedBy {
    /// The engine, when it was asked.
    Engine,
    /// This process, by what the engine had said before: permits that it holds ([`Mode`]), or a time until which the client is denied. The time in the answer
    /// is what is left of that, and what remains is what there was then, less what has been spent here.
    Here,
    /// This process, as the engine cannot be asked ([`LimiterDown`]).
    Alone,
}

impl Decision {
    /// Whether the call may go on.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.admission.is_allowed()
    }
}

/// So many permits in so long for each of many clients, for any number of processes on any number of machines.
///
/// A client has one key in the engine, which is gone when it makes no difference any more; the clients of a namespace spread over all nodes of a cluster. A decision is one
/// script on that key: it decides as [`windlass::KeyedLimiter`] does, and answers the same.
///
/// ```no_run
/// use windlass_remote::{Admission, Remote, RemoteLimiter};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), windlass_remote::RemoteError> {
/// let remote = Remote::connect("redis+cluster://10.0.0.1,10.0.0.2").await?;
/// let limiter = RemoteLimiter::builder(&remote, "api", "100/60s".parse()?).build()?;
/// match limiter.check("203.0.113.7", 1).await?.admission {
///     Admission::Allowed { remaining, .. } => println!("{remaining} left"),
///     Admission::Denied { retry_after } => println!("again in {retry_after:?}"),
///     Admission::Never => println!("more than the limit"),
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Time
/// By the clock of the node that has the key, read once for a decision, in whole microseconds. Times in answers are rounded up to these. A clock that goes back gives a client
/// nothing that it has a state for; but keys end by the same clock, so if it goes forward by d and back again clients that had less than d to go are
/// forgotten. A replica that takes over counts by its own.
///
/// # Guarantees
/// As long as no server is lost and none forgets early, what all processes together admit is what one [`windlass::KeyedLimiter`] would; with a [`Mode`] other than
/// [`Mode::Ask`], what that says. Each answer comes by the deadline ([`crate::RemoteBuilder::timeout`]), from the engine or by the policy for when it is
/// down ([`LimiterDown`]).
///
/// - *An answer that is lost* may have been charged ([`RemoteError::may_be_done`]): it is not asked for again.
/// - *A primary that is lost* takes along what it has not sent to its replica: so many permits more are admitted, at most the limit again.
/// - A denial costs nothing, except where windows are counted without scripts ([`crate#tiers`]).
///
/// All who share a namespace must give the same quota and algorithm; of another algorithm clients begin anew.
///
/// # Cost
/// One round trip; none for a client that has been told to come later and does not, nor for what this process holds ([`Mode`]); one for a whole batch. In the engine some
/// 100 bytes for each client that has something to get back, on the primary and each replica; of [`windlass::Algorithm::SlidingLog`] 30 to 60 more for each call in its window.
#[derive(Clone)]
pub struct RemoteLimiter(Arc<Inner>);

struct Inner {
    remote: Remote,
    namespace: Namespace,
    quota: Quota,
    rule: Rule,
    tier: Tier,
    mode: Mode,
    down: LimiterDown,
    denied: Option<Denied>,
    held: Option<Holdings>,
    alone: Option<KeyedLimiter>,
    /// Whether there is a task that reports.
    reports: AtomicBool,
    counts: Counts,
}

impl RemoteLimiter {
    /// A builder for clients of a namespace (1 to 64 of `A-Z a-z 0-9 _ - .`), with this quota for each.
    pub fn builder(remote: &Remote, namespace: &str, quota: Quota) -> RemoteLimiterBuilder {
        RemoteLimiterBuilder::new(remote, namespace, quota)
    }

    /// Takes `cost` permits of a client's, or none. Of cost 0 it tells how things stand.
    ///
    /// # Errors
    /// By kind, with node and key. Those that are outages ([`crate::ErrorKind::is_outage`]) come only with [`LimiterDown::Deny`].
    pub async fn check(&self, client: impl AsRef<[u8]>, cost: u64) -> Result<Decision, RemoteError> {
        let client = client.as_ref();
        if let Some(decision) = self.here(client, cost) {
            return Ok(decision);
        }
        let deadline = self.0.remote.deadline();
        let held = self.0.held.as_ref().filter(|_| cost > 0).and_then(|held| held.of(client));
        let Some(held) = held else {
            return self.ask(client, cost, deadline).await;
        };
        let mut held = match deadline.of(held.lock()).await {
            Ok(held) => held,
            Err(error) => return self.without(client, cost, error),
        };
        // Whoever had the lock may have learned it.
        if let Some(decision) = self.here(client, cost) {
            return Ok(decision);
        }
        match self.0.mode {
            Mode::Lease { permits, hold } => {
                self.spend(client, cost, &mut held, (permits, hold), deadline).await
            }
            Mode::Report { every, near } => {
                self.report_every(every);
                self.grant(client, cost, &mut held, (every, near), deadline).await
            }
            Mode::Ask => self.ask(client, cost, deadline).await,
        }
    }

    /// Many calls of clients with their costs, in order. One round trip to each node for each 1024 of them, each with a deadline of its own. (With a [`Mode`] other than
    /// [`Mode::Ask`] one after the other.) Every call has an answer of its own.
    pub async fn check_batch<C: AsRef<[u8]>>(
        &self,
        calls: &[(C, u64)],
    ) -> Vec<Result<Decision, RemoteError>> {
        let mut answers = Vec::with_capacity(calls.len());
        if self.0.mode != Mode::Ask {
            for (client, cost) in calls {
                answers.push(self.check(client, *cost).await);
            }
            return answers;
        }
        for calls in calls.chunks(connection::TOGETHER) {
            let asks: Vec<(&[u8], Ask)> =
                calls.iter().map(|(client, cost)| (client.as_ref(), Ask::cost(*cost))).collect();
            answers.extend(self.decide(&asks).await);
        }
        answers
    }

    /// What [`RemoteLimiter::check`] would answer, if it asked. Nothing is taken.
    ///
    /// # Errors
    /// As there, and with no policy.
    pub async fn peek(&self, client: impl AsRef<[u8]>, cost: u64) -> Result<Admission, RemoteError> {
        if cost > self.0.rule.burst() {
            return Ok(Admission::Never);
        }
        let ask = Ask { looks: true, ..Ask::cost(cost) };
        Ok(self.question(client.as_ref(), &ask, self.0.remote.deadline()).await?.admission)
    }

    /// Gives a client back all that it has taken. Whether there was something. What processes hold of it ([`Mode`]) is theirs still, except here.
    ///
    /// # Errors
    /// As [`RemoteLimiter::peek`].
    pub async fn forget(&self, client: impl AsRef<[u8]>) -> Result<bool, RemoteError> {
        let Inner { remote, namespace, rule, tier, .. } = &*self.0;
        let client = client.as_ref();
        let key = tier.key(rule, namespace, client, false);
        let mut command = connection::Command::new("DEL");
        command.arg(key.as_slice());
        let call = connection::Call::native(key, command, true);
        let reply = remote.connection().call(call, None, remote.deadline()).await?;
        if let Some(denied) = &self.0.denied {
            denied.remove(client);
        }
        if let Some(held) = &self.0.held {
            held.remove(client);
        }
        Ok(reply.value != connection::Value::Int(0))
    }

    /// Tells the engine of all that was granted here ([`Mode::Report`]); to be called before the process ends. Else it does that by itself.
    ///
    /// # Errors
    /// The first one; what could not be told will be told later.
    pub async fn flush(&self) -> Result<(), RemoteError> {
        let (Some(held), Mode::Report { near, .. }) = (&self.0.held, self.0.mode) else { return Ok(()) };
        let Inner { remote, namespace, rule, tier, .. } = &*self.0;
        let mut failed = Ok(());
        let mut all = held.unreported();
        for held in all.chunks_mut(connection::TOGETHER) {
            let asks: Vec<Ask> =
                held.iter().map(|(_, held)| Ask { charged: held.unreported, ..Ask::default() }).collect();
            let calls: Vec<_> = held
                .iter()
                .zip(&asks)
                .map(|((client, _), ask)| tier.call(rule, namespace, client, ask))
                .collect();
            let sent = Instant::now();
            let replies = remote.connection().batch(&calls, None, remote.deadline()).await;
            for (((_, held), ask), reply) in held.iter_mut().zip(&asks).zip(replies) {
                match reply.and_then(|reply| tier.told(rule, &reply, ask)) {
                    Ok(told) => self.reported(held, &told, sent, near),
                    Err(error) => failed = failed.and(Err(error)),
                }
            }
        }
        failed
    }

    /// Takes permits at times that the caller says, in microseconds, in order: to compare with other implementations. These clients are apart from those of the
    /// other calls; the engine forgets them an hour (of its own time) after their last call.
    ///
    /// # Errors
    /// As [`RemoteLimiter::check`], and with no policy.
    #[doc(hidden)]
    pub async fn check_at(
        &self,
        calls: &[(&[u8], u64, u64)],
        looks: bool,
    ) -> Vec<Result<Admission, RemoteError>> {
        let Inner { remote, namespace, rule, .. } = &*self.0;
        // What can never be had is not asked for.
        let asked = |cost| if cost > rule.burst() { 0 } else { cost };
        let asks: Vec<Ask> = calls
            .iter()
            .map(|&(_, cost, at)| Ask { at: Some(at), looks, ..Ask::cost(asked(cost)) })
            .collect();
        let sent: Vec<_> = calls
            .iter()
            .zip(&asks)
            .map(|(call, ask)| Tier::Script.call(rule, namespace, call.0, ask))
            .collect();
        let replies = remote.connection().batch(&sent, None, remote.deadline()).await;
        let answer = |((reply, ask), call): ((Result<_, _>, &Ask), &(&[u8], u64, u64))| {
            let told = Tier::Script.told(rule, &reply?, ask)?;
            Ok(if call.1 > rule.burst() { Admission::Never } else { told.admission })
        };
        replies.into_iter().zip(&asks).zip(calls).map(answer).collect()
    }

    /// Its figures. Each is exact once no call is under way.
    #[must_use]
    pub fn stats(&self) -> RemoteLimiterStats {
        self.0.counts.read()
    }

    /// So many permits in so long, for each client.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.0.quota
    }

    /// What needs no question.
    fn here(&self, client: &[u8], cost: u64) -> Option<Decision> {
        let by = DecidedBy::Here;
        if cost > self.0.rule.burst() {
            return Some(Decision { admission: Admission::Never, by });
        }
        let retry_after = self.0.denied.as_ref()?.left(client, cost).filter(|_| cost > 0)?;
        self.0.counts.denied_here.add(1);
        Some(Decision { admission: Admission::Denied { retry_after }, by })
    }

    /// By the engine, or by the policy for when it is down.
    async fn ask(&self, client: &[u8], cost: u64, deadline: Deadline) -> Result<Decision, RemoteError> {
        match self.question(client, &Ask::cost(cost), deadline).await {
            Ok(told) => Ok(self.engine(told.admission)),
            Err(error) => self.without(client, cost, error),
        }
    }

    /// One question to the engine.
    async fn question(&self, client: &[u8], ask: &Ask, deadline: Deadline) -> Result<Told, RemoteError> {
        let Inner { remote, namespace, rule, tier, .. } = &*self.0;
        let sent = Instant::now();
        let call = tier.call(rule, namespace, client, ask);
        let reply = remote.connection().call(call, None, deadline).await?;
        let told = tier.told(rule, &reply, ask)?;
        self.learn(client, ask, &told, sent);
        Ok(told)
    }

    /// Several, in one round trip.
    async fn decide(&self, asks: &[(&[u8], Ask)]) -> Vec<Result<Decision, RemoteError>> {
        let Inner { remote, namespace, rule, tier, .. } = &*self.0;
        let mut answers: Vec<Option<Result<Decision, RemoteError>>> =
            asks.iter().map(|(client, ask)| self.here(client, ask.least).map(Ok)).collect();
        let asked: Vec<usize> = (0..asks.len()).filter(|&index| answers[index].is_none()).collect();
        let calls: Vec<_> =
            asked.iter().map(|&index| tier.call(rule, namespace, asks[index].0, &asks[index].1)).collect();
        let sent = Instant::now();
        let replies = match calls.is_empty() {
            true => Vec::new(),
            false => remote.connection().batch(&calls, None, remote.deadline()).await,
        };
        for (index, reply) in asked.into_iter().zip(replies) {
            let (client, ask) = &asks[index];
            answers[index] = Some(match reply.and_then(|reply| tier.told(rule, &reply, ask)) {
                Ok(told) => {
                    self.learn(client, ask, &told, sent);
                    Ok(self.engine(told.admission))
                }
                Err(error) => self.without(client, ask.least, error),
            });
        }
        let none = || Err(rule::unexpected(&"no answer"));
        answers.into_iter().map(|answer| answer.unwrap_or_else(none)).collect()
    }

    /// Who is denied need not ask for a while.
    fn learn(&self, client: &[u8], ask: &Ask, told: &Told, sent: Instant) {
        if let (Admission::Denied { retry_after }, Some(denied), false) =
            (told.admission, &self.0.denied, ask.looks)
        {
            denied.put(client, ask.least, sent, retry_after);
        }
    }

    fn engine(&self, admission: Admission) -> Decision {
        let counts = &self.0.counts;
        let figure = if admission.is_allowed() { &counts.allowed } else { &counts.denied };
        figure.add(1);
        Decision { admission, by: DecidedBy::Engine }
    }

    /// The engine could not be asked.
    fn without(&self, client: &[u8], cost: u64, error: RemoteError) -> Result<Decision, RemoteError> {
        let counts = &self.0.counts;
        let none = Duration::ZERO;
        let admission = match (self.0.down, &self.0.alone) {
            _ if !error.kind().is_outage() => None,
            (LimiterDown::Allow, _) => {
                Some(Admission::Allowed { remaining: 0, reset_after: none, delay: none })
            }
            (LimiterDown::LocalShare { .. }, Some(alone)) => match alone.check(client, cost) {
                // Of the share alone: when the engine is back it may be had.
                Admission::Never => None,
                admission => Some(admission),
            },
            _ => None,
        };
        let Some(admission) = admission else {
            counts.errors.add(1);
            return Err(error);
        };
        let figure = if admission.is_allowed() { &counts.allowed_alone } else { &counts.denied_alone };
        figure.add(1);
        Ok(Decision { admission, by: DecidedBy::Alone })
    }

    /// [`Mode::Lease`]: of what is held, or of what is taken now.
    async fn spend(
        &self,
        client: &[u8],
        cost: u64,
        held: &mut Held,
        (permits, hold): (u64, Duration),
        deadline: Deadline,
    ) -> Result<Decision, RemoteError> {
        let sent = Instant::now();
        if held.until <= sent && held.permits > 0 {
            self.0.counts.unspent.add(held.permits);
            held.permits = 0;
        }
        if held.permits >= cost {
            held.permits -= cost;
            let left = match held.last {
                Some((Admission::Allowed { remaining, .. }, _)) => remaining,
                _ => 0,
            };
            return Ok(self.of_held(held, left + held.permits));
        }
        let ask = Ask { least: cost, most: cost.max(permits), ..Ask::default() };
        let told = match self.question(client, &ask, deadline).await {
            Ok(told) => told,
            Err(error) => return self.without(client, cost, error),
        };
        if told.taken > 0 {
            // By the time at which it was asked for: the engine's began no earlier.
            let span = told.ends_after.map_or(hold, |end| end.min(hold));
            let until = sent.checked_add(span).unwrap_or(sent);
            held.until = if held.permits > 0 { held.until.min(until) } else { until };
            held.permits += told.taken - cost;
            held.last = Some((told.admission, sent));
        }
        Ok(self.engine(with_remaining(told.admission, |remaining| remaining + held.permits)))
    }

    /// [`Mode::Report`]: by what the engine said last, or by what it says now.
    async fn grant(
        &self,
        client: &[u8],
        cost: u64,
        held: &mut Held,
        (every, near): (Duration, u64),
        deadline: Deadline,
    ) -> Result<Decision, RemoteError> {
        let sent = Instant::now();
        // What nobody has refreshed for so long is too old to go by.
        let is_fresh = held.last.is_some_and(|(_, asked)| sent.duration_since(asked) < every);
        if is_fresh && held.unreported + cost <= held.room {
            held.unreported += cost;
            return Ok(self.of_held(held, (held.room - held.unreported) + near));
        }
        let ask = Ask { charged: held.unreported, ..Ask::cost(cost) };
        match self.question(client, &ask, deadline).await {
            Ok(told) => {
                self.reported(held, &told, sent, near);
                Ok(self.engine(told.admission))
            }
            Err(error) => self.without(client, cost, error),
        }
    }

    /// The engine has heard of what was granted here.
    fn reported(&self, held: &mut Held, told: &Told, sent: Instant, near: u64) {
        self.0.counts.reported.add(held.unreported);
        held.unreported = 0;
        held.room = match told.admission {
            Admission::Allowed { remaining, .. } => remaining.saturating_sub(near),
            Admission::Denied { .. } | Admission::Never => 0,
        };
        held.last = Some((told.admission, sent));
    }

    /// Granted here.
    fn of_held(&self, held: &Held, left: u64) -> Decision {
        self.0.counts.allowed_here.add(1);
        let admission = match held.last {
            Some((Admission::Allowed { reset_after, delay, .. }, asked)) => {
                let reset_after = reset_after.saturating_sub(asked.elapsed());
                Admission::Allowed { remaining: left, reset_after, delay }
            }
            _ => Admission::Allowed { remaining: left, reset_after: Duration::ZERO, delay: Duration::ZERO },
        };
        Decision { admission, by: DecidedBy::Here }
    }

    /// Begins to report, if nobody does: as long as there is somebody who may call.
    fn report_every(&self, every: Duration) {
        // Relaxed: who finds it set has nothing to do, and what the task looks at is behind locks.
        if self.0.reports.swap(true, Relaxed) {
            return;
        }
        let limiter = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let Some(inner) = limiter.upgrade() else { return };
                // What could not be told is told the next time.
                drop(RemoteLimiter(inner).flush().await);
            }
        });
    }
}

fn with_remaining(admission: Admission, by: impl Fn(u64) -> u64) -> Admission {
    match admission {
        Admission::Allowed { remaining, reset_after, delay } => {
            Admission::Allowed { remaining: by(remaining), reset_after, delay }
        }
        other => other,
    }
}

impl fmt::Debug for RemoteLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteLimiter")
            .field("namespace", &self.0.namespace.as_str())
            .field("quota", &self.0.quota.to_string())
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

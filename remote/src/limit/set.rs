//! Several limits in one decision.

use super::{
    DecidedBy,
    ask::{Ask, call_all, read},
    rule::{Rule, unexpected},
};
use crate::{
    connection::{Answer, Call, TOGETHER},
    error::{ErrorKind, RemoteError},
    key::Namespace,
    remote::Remote,
};
use std::{collections::HashSet, fmt, time::Duration};
use windlass::{Admission, Algorithm, ConfigError, Quota, SetAdmission};

/// Limits of a set.
const MOST: usize = 8;

/// One limit of a [`RemoteLimitSet`]: a name, a quota, and for whom.
#[derive(Clone, Debug)]
#[must_use]
pub struct RemoteLimitRule {
    name: String,
    quota: Quota,
    algorithm: Algorithm,
    keyed: bool,
}

impl RemoteLimitRule {
    /// For each client: calls bring a key for it.
    pub fn keyed(name: impl Into<String>, quota: Quota) -> RemoteLimitRule {
        RemoteLimitRule { keyed: true, ..RemoteLimitRule::global(name, quota) }
    }

    /// One for all calls of a group.
    pub fn global(name: impl Into<String>, quota: Quota) -> RemoteLimitRule {
        RemoteLimitRule { name: name.into(), quota, algorithm: Algorithm::default(), keyed: false }
    }

    /// Default: [`Algorithm::Gcra`]. A leaky queue cannot be in a set.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }
}

/// Settings of a [`RemoteLimitSet`]. Made by [`RemoteLimitSet::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct RemoteLimitSetBuilder {
    remote: Remote,
    namespace: String,
    rules: Vec<RemoteLimitRule>,
    allow_when_down: bool,
}

/// The answer to a call, by all limits of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SetDecision<'a> {
    /// Whether the call may go on.
    pub admission: SetAdmission<'a>,
    /// Who has decided.
    pub by: DecidedBy,
}

/// Several limits in one decision, for any number of processes: by all of them, or by none.
///
/// A call belongs to a *group*, and all that it is charged to is counted within it: a tenant, say, with limits for each of its users, for each of its tokens, and for all of
/// it. A group is what one node of a cluster can decide alone; limits across groups are [`super::RemoteLimiter`]s.
///
/// ```no_run
/// use windlass_remote::{Remote, RemoteLimitRule, RemoteLimitSet, SetAdmission};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), windlass_remote::RemoteError> {
/// let remote = Remote::connect("redis://localhost").await?;
/// let set = RemoteLimitSet::builder(&remote, "api")
///     .limit(RemoteLimitRule::keyed("user", "10/s".parse()?))
///     .limit(RemoteLimitRule::global("tenant", "1000/60s".parse()?))
///     .build()?;
/// if let SetAdmission::Denied { limit, retry_after } = set.check("acme", &["ann"], 1).await?.admission {
///     println!("refused by {limit}, again in {retry_after:?}");
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Guarantees
/// One script on keys in one slot: a call is charged by every limit, or refused and charged by none, and nobody sees anything between. So there is nothing to give back, and sliding
/// logs can be in a set, other than in a [`windlass::LimitSet`]. Time, losses, and what a lost answer means: as of a [`super::RemoteLimiter`].
///
/// While a cluster moves the group's slot to another node, calls whose keys are not all there yet, or new, cannot be decided: they wait until their deadline, and are
/// then an outage.
pub struct RemoteLimitSet {
    remote: Remote,
    namespace: Namespace,
    limits: Vec<Limit>,
    allow_when_down: bool,
}

struct Limit {
    name: String,
    rule: Rule,
    keyed: bool,
}

impl RemoteLimitSetBuilder {
    /// One more limit: 1 to 64 of `A-Z a-z 0-9 _ - .` as its name. Calls bring keys for those that want one in this order; of several that refuse the first one is named.
    pub fn limit(mut self, rule: RemoteLimitRule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Lets all calls go on while the engine cannot be asked. Default: they get the error.
    pub fn allow_when_down(mut self) -> Self {
        self.allow_when_down = true;
        self
    }

    /// Checks the settings. Sends nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] names the setting and its range: no limits, or more than 8, two of one name, an algorithm or a quota that the engine cannot have.
    /// [`ErrorKind::Unsupported`]: the servers allow no scripts.
    pub fn build(self) -> Result<RemoteLimitSet, RemoteError> {
        let wrong = |field, value: String, limit: &str| ConfigError { field, value, limit: limit.to_owned() };
        let namespace = Namespace::new(&self.namespace)?;
        if self.rules.is_empty() || self.rules.len() > MOST {
            return Err(wrong("limits", self.rules.len().to_string(), "1 to 8 of them").into());
        }
        if !self.remote.capabilities().scripts {
            let what = "several limits in one decision want scripts, which the servers do not allow";
            return Err(RemoteError::new(ErrorKind::Unsupported, what));
        }
        let mut names = HashSet::new();
        let mut limits = Vec::with_capacity(self.rules.len());
        for RemoteLimitRule { name, quota, algorithm, keyed } in &self.rules {
            Namespace::new(name).map_err(|error| ConfigError { field: "name", ..error })?;
            if !names.insert(name) {
                return Err(wrong("name", format!("{name:?}"), "a name that no other limit has").into());
            }
            if *algorithm == Algorithm::LeakyQueue {
                let limit = "another in a set: each call of a queue has its own delay";
                return Err(wrong("algorithm", format!("{algorithm:?}"), limit).into());
            }
            let of_it =
                |error: ConfigError| ConfigError { value: format!("{} of {name:?}", error.value), ..error };
            let rule = Rule::new(*algorithm, *quota, true).map_err(of_it)?;
            limits.push(Limit { name: name.clone(), rule, keyed: *keyed });
        }
        let allow_when_down = self.allow_when_down;
        Ok(RemoteLimitSet { remote: self.remote, namespace, limits, allow_when_down })
    }
}

impl RemoteLimitSet {
    /// A builder, without limits yet, for groups of a namespace (1 to 64 of `A-Z a-z 0-9 _ - .`).
    pub fn builder(remote: &Remote, namespace: &str) -> RemoteLimitSetBuilder {
        RemoteLimitSetBuilder {
            remote: remote.clone(),
            namespace: namespace.to_owned(),
            rules: Vec::new(),
            allow_when_down: false,
        }
    }

    /// Takes `cost` permits of each limit in the group, or none at all. `keys`: one for each limit that is for each client, in their order. Of cost 0 it tells how
    /// things stand.
    ///
    /// # Errors
    /// By kind, with node and key. Those that are outages ([`ErrorKind::is_outage`]) do not come with [`RemoteLimitSetBuilder::allow_when_down`].
    pub async fn check<K: AsRef<[u8]>>(
        &self,
        group: impl AsRef<[u8]>,
        keys: &[K],
        cost: u64,
    ) -> Result<SetDecision<'_>, RemoteError> {
        self.by_policy(self.decide(group.as_ref(), keys, &Ask::cost(cost)).await)
    }

    /// Many calls, each of a group, with keys and a cost as in [`RemoteLimitSet::check`], in order (those of one group; of several in any). One round trip to each node for each 1024
    /// of them, each with a deadline of its own. Every call has an answer of its own.
    pub async fn check_batch<G: AsRef<[u8]>, K: AsRef<[u8]>>(
        &self,
        calls: &[(G, &[K], u64)],
    ) -> Vec<Result<SetDecision<'_>, RemoteError>> {
        let mut answers = Vec::with_capacity(calls.len());
        for calls in calls.chunks(TOGETHER) {
            let mut sent = Vec::with_capacity(calls.len());
            let mut here = Vec::with_capacity(calls.len());
            for (group, keys, cost) in calls {
                let question = self.question(group.as_ref(), keys, &Ask::cost(*cost));
                here.push(question.map(|call| sent.push(call)));
            }
            let replies = match sent.is_empty() {
                true => Vec::new(),
                false => self.remote.connection().batch(&sent, None, self.remote.deadline()).await,
            };
            let mut replies = replies.into_iter();
            answers.extend(here.into_iter().zip(calls).map(|(here, (_, _, cost))| match here {
                Err(never) => Ok(never),
                Ok(()) => {
                    let reply = replies.next().unwrap_or_else(|| Err(unexpected(&"no answer")));
                    self.by_policy(self.told(reply, *cost))
                }
            }));
        }
        answers
    }

    /// What [`RemoteLimitSet::check`] would answer. Nothing is taken.
    ///
    /// # Errors
    /// As there, and with no policy.
    pub async fn peek<K: AsRef<[u8]>>(
        &self,
        group: impl AsRef<[u8]>,
        keys: &[K],
        cost: u64,
    ) -> Result<SetDecision<'_>, RemoteError> {
        self.decide(group.as_ref(), keys, &Ask { looks: true, ..Ask::cost(cost) }).await
    }

    /// .. at a time that the caller says, in microseconds: see [`super::RemoteLimiter::check_at`].
    ///
    /// # Errors
    /// As [`RemoteLimitSet::check`], and with no policy.
    #[doc(hidden)]
    pub async fn check_at<K: AsRef<[u8]>>(
        &self,
        group: impl AsRef<[u8]>,
        keys: &[K],
        cost: u64,
        at: u64,
    ) -> Result<SetAdmission<'_>, RemoteError> {
        Ok(self.decide(group.as_ref(), keys, &Ask { at: Some(at), ..Ask::cost(cost) }).await?.admission)
    }

    async fn decide<K: AsRef<[u8]>>(
        &self,
        group: &[u8],
        keys: &[K],
        ask: &Ask,
    ) -> Result<SetDecision<'_>, RemoteError> {
        match self.question(group, keys, ask) {
            Ok(call) => {
                let reply = self.remote.connection().call(call, None, self.remote.deadline()).await;
                self.told(reply, ask.least)
            }
            Err(never) => Ok(never),
        }
    }

    /// What the engine is asked, or that it need not be: it can never be had.
    fn question<K: AsRef<[u8]>>(
        &self,
        group: &[u8],
        keys: &[K],
        ask: &Ask,
    ) -> Result<Call<'static>, SetDecision<'_>> {
        let cost = ask.least;
        let mut brought = keys.iter();
        let mut limits = Vec::with_capacity(self.limits.len());
        for limit in &self.limits {
            let client = if limit.keyed { brought.next().map(AsRef::as_ref) } else { Some(&b""[..]) };
            let Some(client) = client.filter(|_| cost <= limit.rule.burst()) else {
                let admission = SetAdmission::Never { limit: &limit.name };
                return Err(SetDecision { admission, by: DecidedBy::Here });
            };
            limits.push((self.key(group, limit, client, ask.at.is_some()), &limit.rule));
        }
        Ok(call_all(&limits, ask))
    }

    fn told(&self, reply: Answer, cost: u64) -> Result<SetDecision<'_>, RemoteError> {
        let reply = reply?;
        let answers = read(&reply.value).map(|(_, stands)| stands);
        let stands = answers.filter(|stands| stands.len() == self.limits.len());
        let stands = stands.ok_or_else(|| unexpected(&reply.value))?;
        let answers = self.limits.iter().zip(stands);
        let answers: Vec<(&str, Admission)> = answers
            .map(|(limit, stands)| Ok((limit.name.as_str(), limit.rule.answer(&stands, cost)?)))
            .collect::<Result<_, RemoteError>>()?;
        Ok(SetDecision { admission: all_of(&answers), by: DecidedBy::Engine })
    }

    /// What becomes of an outage.
    fn by_policy<'a>(
        &'a self,
        answer: Result<SetDecision<'a>, RemoteError>,
    ) -> Result<SetDecision<'a>, RemoteError> {
        match answer {
            Err(error) if error.kind().is_outage() && self.allow_when_down => {
                let tightest = self.limits.first().map_or("", |limit| &limit.name);
                let admission = SetAdmission::Allowed { tightest, remaining: 0, reset_after: Duration::ZERO };
                Ok(SetDecision { admission, by: DecidedBy::Alone })
            }
            other => other,
        }
    }

    fn key(&self, group: &[u8], limit: &Limit, client: &[u8], at: bool) -> Vec<u8> {
        let mut part = limit.name.clone().into_bytes();
        part.push(b':');
        part.extend_from_slice(client);
        self.namespace.part(group, limit.rule.kind(at), &part)
    }
}

/// All of them, or the first that refuses.
fn all_of<'a>(answers: &[(&'a str, Admission)]) -> SetAdmission<'a> {
    let mut refused: Option<(&str, Duration)> = None;
    let mut least: Option<(&str, u64)> = None;
    let mut longest = Duration::ZERO;
    for &(name, admission) in answers {
        match admission {
            Admission::Denied { retry_after } => {
                let (first, longest) = refused.unwrap_or((name, retry_after));
                refused = Some((first, longest.max(retry_after)));
            }
            Admission::Never => return SetAdmission::Never { limit: name },
            Admission::Allowed { remaining, reset_after, .. } => {
                longest = longest.max(reset_after);
                if least.is_none_or(|(_, least)| remaining < least) {
                    least = Some((name, remaining));
                }
            }
        }
    }
    let (tightest, remaining) = least.unwrap_or_default();
    match refused {
        Some((limit, retry_after)) => SetAdmission::Denied { limit, retry_after },
        None => SetAdmission::Allowed { tightest, remaining, reset_after: longest },
    }
}

impl fmt::Debug for RemoteLimitSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.limits.iter().map(|limit| limit.name.as_str()).collect();
        f.debug_struct("RemoteLimitSet")
            .field("namespace", &self.namespace.as_str())
            .field("limits", &names)
            .finish_non_exhaustive()
    }
}

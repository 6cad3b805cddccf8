//! One server, and the connections to it.

use super::call::{Call, Reply};
use crate::{
    deadline::Deadline,
    error::{ErrorKind, RemoteError},
    probe::{self, Capabilities, Eviction},
    wire::{Pipeline, ServerError, Target, Value, Wire},
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::Semaphore, time::Instant};

/// How many calls may wait for replicas at the same time, each on a connection of its own.
const CONFIRMING: usize = 16;

/// After so much silence a connection is tried before a call goes out that may not be sent twice: servers and what lies between
/// close idle connections without a word.
const IDLE: Duration = Duration::from_secs(1);

/// Bytes that a command takes, as a guess.
const USUAL: usize = 128;

/// A server. Connections are made when they are needed, and again when they are lost.
pub(crate) struct Node {
    pub(crate) name: Arc<str>,
    target: Target,
    rules: Rules,
    shared: Mutex<Option<Arc<Live>>>,
    /// Held by the one who connects.
    connecting: tokio::sync::Mutex<()>,
    idle: Mutex<Vec<Arc<Live>>>,
    confirming: Semaphore,
    /// When it last answered, on whatever connection.
    answered: Mutex<Option<Instant>>,
}

/// What a server must be like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) eviction: Eviction,
    /// A replica is not what was looked for (a sentinel may be behind).
    pub(crate) primary: bool,
}

struct Live {
    wire: Wire,
    /// When it was last answered on.
    used: Mutex<Instant>,
    capabilities: Arc<Capabilities>,
}

/// Why a request as a whole came to nothing.
pub(crate) struct Lost {
    pub(crate) error: RemoteError,
    /// Whether it may have reached the server.
    pub(crate) sent: bool,
}

impl Node {
    pub(crate) fn new(name: Arc<str>, target: Target, rules: Rules) -> Node {
        Node {
            name,
            target,
            rules,
            shared: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
            idle: Mutex::default(),
            confirming: Semaphore::new(CONFIRMING),
            answered: Mutex::default(),
        }
    }

    /// What it said of itself when it was last connected to; connects if it is not.
    pub(crate) async fn capabilities(&self, deadline: Deadline) -> Result<Arc<Capabilities>, RemoteError> {
        Ok(Arc::clone(&self.live(deadline).await?.capabilities))
    }

    /// Whether it has answered anybody since.
    pub(crate) fn has_answered(&self, since: Instant) -> bool {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|at| at > since)
    }

    /// Sends commands that need no key, and gives their answers.
    pub(crate) async fn ask(
        &self,
        pipeline: Pipeline,
        deadline: Deadline,
    ) -> Result<Vec<Value>, RemoteError> {
        let live = self.live(deadline).await?;
        self.exchange(&live, pipeline, deadline).await.map_err(|lost| lost.error)
    }

    /// Sends calls as one pipeline: `asking` for a slot that is on its way here, `whole` a script that it did not know. With `confirm`
    /// on a connection of its own, and waits there until so many replicas have it all, or the deadline is near.
    pub(crate) async fn send<'a>(
        &self,
        calls: impl Iterator<Item = (&'a Call<'a>, bool, bool)>,
        confirm: Option<u32>,
        deadline: Deadline,
    ) -> Result<Replies, Lost> {
        let (mut pipeline, mut once) = (Pipeline::with_capacity(calls.size_hint().0 * USUAL), false);
        for (call, ask, whole) in calls {
            if ask {
                pipeline.words(&["ASKING"]);
            }
            call.add_to(&mut pipeline, whole);
            once |= !call.repeatable;
        }
        let unsent = |error| Lost { error, sent: false };
        // Held until the end: as many connections wait for replicas as it has permits.
        let (_permit, live) = match confirm {
            None => (None, self.live(deadline).await.map_err(unsent)?),
            Some(replicas) => {
                let permit = deadline
                    .of(self.confirming.acquire())
                    .await
                    .map_err(|error| unsent(error.at(&self.name)))?;
                let live = self.own(deadline).await.map_err(unsent)?;
                // Time for the answer's way back.
                let span = deadline.left().mul_f64(0.75).as_millis().max(1);
                pipeline.begin(3);
                pipeline.word("WAIT");
                pipeline.word(u64::from(replicas));
                pipeline.word(u64::try_from(span).unwrap_or(u64::MAX));
                (permit.ok(), live)
            }
        };
        if once && live.idle() > IDLE {
            let ping = self.exchange(&live, Pipeline::of(&["PING"]), deadline).await;
            ping.map_err(|lost| unsent(lost.error))?;
        }
        let mut values = self.exchange(&live, pipeline, deadline).await?;
        let mut replicas = None;
        if confirm.is_some() {
            replicas = Some(match values.pop() {
                Some(Value::Int(count)) => u32::try_from(count).unwrap_or(0),
                // WAIT is refused: nothing is confirmed.
                _ => 0,
            });
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(live);
        }
        Ok(Replies { values: values.into_iter(), replicas })
    }

    /// A round trip. A connection on which it fails is not used again: if the server is only slow, others that wait on it still get their
    /// answers.
    async fn exchange(
        &self,
        live: &Live,
        pipeline: Pipeline,
        deadline: Deadline,
    ) -> Result<Vec<Value>, Lost> {
        let (error, sent) = match deadline.of(live.wire.exchange(pipeline)).await {
            Ok(Ok(answers)) => {
                let now = Instant::now();
                *live.used.lock().unwrap_or_else(PoisonError::into_inner) = now;
                *self.answered.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
                return Ok(answers);
            }
            Ok(Err(broken)) => (broken.error, broken.sent),
            Err(late) => (late, true),
        };
        self.forget(live);
        Err(Lost { error: error.at(&self.name), sent })
    }

    fn forget(&self, live: &Live) {
        // What happened to one has most likely happened to all.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let mut shared = self.shared();
        if shared.as_ref().is_some_and(|now| std::ptr::eq(&**now, live)) {
            *shared = None;
        }
    }

    /// The connection that calls share. One of them makes it, the others wait, each until its own deadline.
    async fn live(&self, deadline: Deadline) -> Result<Arc<Live>, RemoteError> {
        if let Some(live) = &*self.shared() {
            return Ok(Arc::clone(live));
        }
        let _alone = deadline.of(self.connecting.lock()).await.map_err(|error| error.at(&self.name))?;
        if let Some(live) = &*self.shared() {
            return Ok(Arc::clone(live));
        }
        let live = self.connect(deadline).await?;
        *self.shared() = Some(Arc::clone(&live));
        Ok(live)
    }

    fn shared(&self) -> MutexGuard<'_, Option<Arc<Live>>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection for one call.
    async fn own(&self, deadline: Deadline) -> Result<Arc<Live>, RemoteError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(live) => Ok(live),
            None => self.connect(deadline).await,
        }
    }

    /// Connects, and looks at what is there: what was safe yesterday may be another server today.
    async fn connect(&self, deadline: Deadline) -> Result<Arc<Live>, RemoteError> {
        let named = |error: RemoteError| error.at(&self.name);
        let wire = deadline.of(Wire::open(&self.target)).await.map_err(named)?.map_err(named)?;
        let probed = probe::probe(&wire, deadline).await.map_err(named)?;
        if self.rules.primary && probed.replica {
            return Err(named(RemoteError::new(ErrorKind::ReadOnly, "it is a replica now")));
        }
        probe::allowed(&probed.capabilities, self.rules.eviction).map_err(named)?;
        let capabilities = Arc::new(probed.capabilities);
        Ok(Arc::new(Live { wire, used: Mutex::new(Instant::now()), capabilities }))
    }
}

/// The answers to calls that went out together.
pub(crate) struct Replies {
    values: std::vec::IntoIter<Value>,
    /// How many replicas have said that they have it all, where that was asked for.
    replicas: Option<u32>,
}

impl Replies {
    /// The answer to the next call, which was sent with `ask`.
    pub(crate) fn next(&mut self, call: &Call<'_>, ask: bool) -> Result<Reply, ServerError> {
        if ask {
            self.values.next();
        }
        let value = call.answer(&mut self.values)?;
        Ok(Reply { value, replicas: self.replicas })
    }
}

impl Live {
    fn idle(&self) -> Duration {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

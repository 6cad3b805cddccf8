//! One server, and the connections to it.

use super::call::{Call, Reply};
use crate::{
    deadline::Deadline,
    error::{ErrorKind, RemoteError},
    probe::{self, Capabilities, Eviction},
};
use redis::{AsyncConnectionConfig, Value, aio::MultiplexedConnection};
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

/// A server. Connections are made when they are needed, and again when they are lost.
pub(crate) struct Node {
    pub(crate) name: Arc<str>,
    client: redis::Client,
    rules: Rules,
    shared: Mutex<Option<Live>>,
    /// Held by the one who connects.
    connecting: tokio::sync::Mutex<()>,
    idle: Mutex<Vec<Live>>,
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

#[derive(Clone)]
struct Live {
    connection: MultiplexedConnection,
    made: Instant,
    used: Arc<Mutex<Instant>>,
    capabilities: Arc<Capabilities>,
}

/// Why a request as a whole came to nothing.
pub(crate) struct Lost {
    pub(crate) error: RemoteError,
    /// Whether it may have reached the server.
    pub(crate) sent: bool,
}

impl Node {
    pub(crate) fn new(name: Arc<str>, at: redis::ConnectionInfo, rules: Rules) -> Result<Node, RemoteError> {
        let client = redis::Client::open(at).map_err(|error| RemoteError::from_redis(&error).at(&name))?;
        Ok(Node {
            name,
            client,
            rules,
            shared: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
            idle: Mutex::default(),
            confirming: Semaphore::new(CONFIRMING),
            answered: Mutex::default(),
        })
    }

    /// What it said of itself when it was last connected to; connects if it is not.
    pub(crate) async fn capabilities(&self, deadline: Deadline) -> Result<Arc<Capabilities>, RemoteError> {
        Ok(self.live(deadline).await?.capabilities)
    }

    /// Whether it has answered anybody since.
    pub(crate) fn has_answered(&self, since: Instant) -> bool {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|at| at > since)
    }

    /// Sends commands that need no key, and gives their answers.
    pub(crate) async fn ask(
        &self,
        pipeline: &redis::Pipeline,
        deadline: Deadline,
    ) -> Result<Vec<Value>, RemoteError> {
        let live = self.live(deadline).await?;
        self.exchange(&live, pipeline, deadline).await
    }

    /// Sends calls as one pipeline: `asking` for a slot that is on its way here, `whole` a script that it did not know. With `confirm`
    /// on a connection of its own, and waits there until so many replicas have it all, or the deadline is near.
    pub(crate) async fn send<'a>(
        &self,
        calls: impl Iterator<Item = (&'a Call, bool, bool)>,
        confirm: Option<u32>,
        deadline: Deadline,
    ) -> Result<Vec<Result<Reply, redis::ServerError>>, Lost> {
        let mut pipeline = redis::pipe();
        let (mut sent, mut once) = (Vec::new(), false);
        for (call, ask, whole) in calls {
            if ask {
                pipeline.cmd("ASKING");
            }
            call.add_to(&mut pipeline, whole);
            sent.push((call, ask));
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
                pipeline.cmd("WAIT").arg(replicas).arg(u64::try_from(span).unwrap_or(u64::MAX));
                (permit.ok(), live)
            }
        };
        if once && live.idle() > IDLE {
            let mut ping = redis::pipe();
            ping.cmd("PING");
            self.exchange(&live, &ping, deadline).await.map_err(unsent)?;
        }
        let answers = self.exchange(&live, &pipeline, deadline).await;
        let answers = answers.map_err(|error| Lost { error, sent: true })?;
        let mut answers = answers.into_iter();
        let mut replies: Vec<Result<Reply, redis::ServerError>> = Vec::with_capacity(sent.len());
        for (call, ask) in sent {
            if ask {
                answers.next();
            }
            replies.push(match call.answer(&mut answers) {
                Some(answer) => answer.map(|value| Reply { value, replicas: None }),
                None => {
                    let error = RemoteError::new(ErrorKind::Protocol, "fewer answers than questions");
                    return Err(Lost { error: error.at(&self.name), sent: true });
                }
            });
        }
        if confirm.is_some() {
            let replicas = match answers.next() {
                Some(Value::Int(count)) => u64::try_from(count).unwrap_or(0),
                // WAIT is refused: nothing is confirmed.
                _ => 0,
            };
            for reply in replies.iter_mut().flatten() {
                reply.replicas = Some(replicas);
            }
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(live);
        }
        Ok(replies)
    }

    /// A round trip. A connection on which it fails is not used again: if the server is only slow, others that wait on it still get their
    /// answers.
    async fn exchange(
        &self,
        live: &Live,
        pipeline: &redis::Pipeline,
        deadline: Deadline,
    ) -> Result<Vec<Value>, RemoteError> {
        let mut connection = live.connection.clone();
        let answers = deadline.of(connection.send_packed_commands(pipeline, 0, pipeline.len())).await;
        let error = match answers {
            Ok(Ok(answers)) => {
                let now = Instant::now();
                *live.used.lock().unwrap_or_else(PoisonError::into_inner) = now;
                *self.answered.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
                return Ok(answers);
            }
            Ok(Err(error)) => RemoteError::from_redis(&error),
            Err(error) => error,
        };
        self.forget(live);
        Err(error.at(&self.name))
    }

    fn forget(&self, live: &Live) {
        // What happened to one has most likely happened to all.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let mut shared = self.shared();
        if shared.as_ref().is_some_and(|now| now.made == live.made) {
            *shared = None;
        }
    }

    /// The connection that calls share. One of them makes it, the others wait, each until its own deadline.
    async fn live(&self, deadline: Deadline) -> Result<Live, RemoteError> {
        if let Some(live) = &*self.shared() {
            return Ok(live.clone());
        }
        let _alone = deadline.of(self.connecting.lock()).await.map_err(|error| error.at(&self.name))?;
        if let Some(live) = &*self.shared() {
            return Ok(live.clone());
        }
        let live = self.connect(deadline).await?;
        *self.shared() = Some(live.clone());
        Ok(live)
    }

    fn shared(&self) -> MutexGuard<'_, Option<Live>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection for one call.
    async fn own(&self, deadline: Deadline) -> Result<Live, RemoteError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(live) => Ok(live),
            None => self.connect(deadline).await,
        }
    }

    /// Connects, and looks at what is there: what was safe yesterday may be another server today.
    async fn connect(&self, deadline: Deadline) -> Result<Live, RemoteError> {
        let named = |error: RemoteError| error.at(&self.name);
        // The deadline is the only timeout, and it holds for the handshake, too.
        let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        let connecting = self.client.get_multiplexed_async_connection_with_config(&config);
        let connected = deadline.of(connecting).await.map_err(named)?;
        let mut connection = connected.map_err(|error| named(RemoteError::from_redis(&error)))?;
        let probed = probe::probe(&mut connection, deadline).await.map_err(named)?;
        if self.rules.primary && probed.replica {
            return Err(named(RemoteError::new(ErrorKind::ReadOnly, "it is a replica now")));
        }
        probe::allowed(&probed.capabilities, self.rules.eviction).map_err(named)?;
        let made = Instant::now();
        let used = Arc::new(Mutex::new(made));
        Ok(Live { connection, made, used, capabilities: Arc::new(probed.capabilities) })
    }
}

impl Live {
    fn idle(&self) -> Duration {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

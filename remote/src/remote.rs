//! The engine: servers that are connected to, for all structures that live there.

use crate::{
    address::Address,
    connection::{Connection, Counts},
    deadline::Deadline,
    error::RemoteError,
    probe::{Capabilities, Eviction},
};
use std::{fmt, sync::Arc, time::Duration};
use windlass::ConfigError;

/// Servers that are connected to: one, what sentinels look after, or a cluster. Cheap to clone; clones share connections.
///
/// | address | what stands there |
/// |---|---|
/// | `redis://[user:password@]host[:port][/db]` | one server (also `valkey://`) |
/// | `redis+sentinel://[user:password@]host[:port],../name[/db]` | the primary that the sentinels know as `name`; user and password are the server's |
/// | `redis+cluster://[user:password@]host[:port],..` | a cluster, by some of its nodes |
/// | `rediss://`, `rediss+sentinel://`, `rediss+cluster://` | the same with TLS (feature `tls`) |
/// | `unix:///path[?db=N]` | one server on this machine |
///
/// User and password are written with `%41` for what could be mistaken.
///
/// # Guarantees
/// Every call ends by its deadline ([`RemoteBuilder::timeout`]), connecting included. What redirects a call (MOVED, ASK, a failover) is followed within
/// it. A call whose answer was lost is sent again only where that does no harm. Once a node has not answered until a deadline, one call in
/// [`RemoteBuilder::retry_after`] tries it, and the others are told at once what that one was.
///
/// Each connection that is made is looked at first: a server with an evicting `maxmemory-policy` is refused ([`Eviction`]), also if it
/// comes later, by a failover.
#[derive(Clone)]
pub struct Remote(Arc<Shared>);

struct Shared {
    connection: Connection,
    capabilities: Capabilities,
    address: String,
    timeout: Duration,
}

/// Settings of a [`Remote`]. Made by [`Remote::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct RemoteBuilder {
    address: String,
    timeout: Duration,
    retry_after: Duration,
    eviction: Eviction,
}

/// Plain figures about a [`Remote`], since it was connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteStats {
    /// Commands that were to be carried out.
    pub calls: u64,
    /// Pipelines that were sent, of one command or many: round trips.
    pub pipelines: u64,
    /// Commands that a server sent elsewhere (MOVED, ASK).
    pub redirected: u64,
    /// Commands that were sent again after a pause: the server was not there, or could not take them.
    pub again: u64,
    /// Scripts that a server had not seen (NOSCRIPT).
    pub scripts: u64,
    /// Commands that ended with an error.
    pub failed: u64,
}

impl Remote {
    /// Connects, with the default settings.
    ///
    /// # Errors
    /// As [`RemoteBuilder::connect`].
    pub async fn connect(address: &str) -> Result<Remote, RemoteError> {
        Remote::builder(address).connect().await
    }

    /// Settings for servers at an address.
    pub fn builder(address: &str) -> RemoteBuilder {
        RemoteBuilder {
            address: address.to_owned(),
            timeout: Duration::from_secs(1),
            retry_after: Duration::from_secs(1),
            eviction: Eviction::default(),
        }
    }

    /// What the servers can do.
    #[must_use]
    pub fn capabilities(&self) -> &Capabilities {
        &self.0.capabilities
    }

    /// How long a call may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.0.timeout
    }

    /// Its figures. Each is exact once no call is under way.
    #[must_use]
    pub fn stats(&self) -> RemoteStats {
        let Counts { calls, pipelines, redirected, again, scripts, failed } = &self.0.connection.counts;
        RemoteStats {
            calls: calls.get(),
            pipelines: pipelines.get(),
            redirected: redirected.get(),
            again: again.get(),
            scripts: scripts.get(),
            failed: failed.get(),
        }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.0.connection
    }

    /// The deadline of a call that begins now.
    pub(crate) fn deadline(&self) -> Deadline {
        Deadline::after(self.0.timeout)
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("address", &self.0.address).field("stats", &self.stats()).finish()
    }
}

impl RemoteBuilder {
    /// How long a call may take, all attempts together; also how long it takes to notice that a server is gone. Default: 1 s.
    ///
    /// A failover takes longer than that: set it above the cluster's node timeout (or the sentinels' `down-after-milliseconds`) and a second or two
    /// for calls to outlast it.
    pub fn timeout(mut self, span: Duration) -> Self {
        self.timeout = span;
        self
    }

    /// How often a node is tried that does not answer. Default: 1 s.
    pub fn retry_after(mut self, interval: Duration) -> Self {
        self.retry_after = interval;
        self
    }

    /// Whether servers may be used that forget keys early. Default: they are refused.
    pub fn eviction(mut self, eviction: Eviction) -> Self {
        self.eviction = eviction;
        self
    }

    /// Connects to all primaries there are, and finds out what they can.
    ///
    /// # Errors
    /// Within the timeout, by kind: the address or a setting is wrong ([`crate::ErrorKind::Config`]), nobody is there, the password is wrong, the
    /// server is not safe to use.
    pub async fn connect(self) -> Result<Remote, RemoteError> {
        let range = Duration::from_millis(1)..=Duration::from_secs(3600);
        for (field, value) in [("timeout", self.timeout), ("retry_after", self.retry_after)] {
            if !range.contains(&value) {
                let limit = "1 ms to 1 h".to_owned();
                return Err(ConfigError { field, value: format!("{value:?}"), limit }.into());
            }
        }
        let address = Address::parse(&self.address)?;
        let shown = address.to_string();
        let deadline = Deadline::after(self.timeout);
        let opening = Connection::open(address, self.eviction, self.retry_after, deadline);
        let (connection, capabilities) = opening.await.map_err(|error| error.at(&shown.as_str().into()))?;
        Ok(Remote(Arc::new(Shared { connection, capabilities, address: shown, timeout: self.timeout })))
    }
}

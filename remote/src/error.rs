//! What can go wrong on the way to a server and back.

use std::{fmt, sync::Arc};

/// What kind of failure it was. What is to be done about it depends on this alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The address cannot be read, or a setting is out of its range.
    Config,
    /// No connection to the server, or it was lost.
    Unreachable,
    /// No answer before the deadline.
    Timeout,
    /// Wrong user or password, or none where one is needed.
    Auth,
    /// The user may not do this (ACL), or the service does not offer it.
    Refused,
    /// No node serves the key's slot.
    MissingSlots,
    /// The cluster as a whole takes no requests.
    ClusterDown,
    /// The key holds a value of another kind: something else writes under the same name.
    WrongType,
    /// The server is a replica, which takes no writes.
    ReadOnly,
    /// The server is at its memory limit and evicts nothing.
    OutOfMemory,
    /// Too few replicas are connected for the server to take writes (`min-replicas-to-write`).
    NoReplicas,
    /// The server is reading its data from disk.
    Loading,
    /// The server may forget keys early (an evicting `maxmemory-policy`), or it cannot be told whether it does.
    Unsafe,
    /// The server is too old for this, or lacks what it needs.
    Unsupported,
    /// A script failed, or an answer that was not to be expected.
    Protocol,
}

impl ErrorKind {
    /// Whether the engine cannot take writes at present, while the request is in order: what a policy for outages is for.
    #[must_use]
    pub fn is_outage(self) -> bool {
        use ErrorKind::*;
        matches!(
            self,
            Unreachable
                | Timeout
                | MissingSlots
                | ClusterDown
                | ReadOnly
                | OutOfMemory
                | NoReplicas
                | Loading
        )
    }

    fn words(self) -> &'static str {
        match self {
            ErrorKind::Config => "configuration",
            ErrorKind::Unreachable => "unreachable",
            ErrorKind::Timeout => "no answer in time",
            ErrorKind::Auth => "authentication failed",
            ErrorKind::Refused => "refused",
            ErrorKind::MissingSlots => "no node serves the slot",
            ErrorKind::ClusterDown => "the cluster is down",
            ErrorKind::WrongType => "the key holds a value of another kind",
            ErrorKind::ReadOnly => "the server is read-only",
            ErrorKind::OutOfMemory => "the server is out of memory",
            ErrorKind::NoReplicas => "too few replicas",
            ErrorKind::Loading => "the server is loading its data",
            ErrorKind::Unsafe => "the server may forget keys early",
            ErrorKind::Unsupported => "the server does not support it",
            ErrorKind::Protocol => "unexpected answer",
        }
    }
}

/// A call to the engine failed: what, where, and with which key.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    node: Option<Arc<str>>,
    key: Option<Vec<u8>>,
    detail: String,
    may_be_done: bool,
    /// The node answers others: it is not down.
    alive: bool,
}

impl RemoteError {
    pub(crate) fn new(kind: ErrorKind, detail: impl Into<String>) -> RemoteError {
        let (detail, node, key) = (detail.into(), None, None);
        RemoteError(Box::new(Inner { kind, node, key, detail, may_be_done: false, alive: false }))
    }

    pub(crate) fn at(mut self, node: &Arc<str>) -> RemoteError {
        self.0.node.get_or_insert_with(|| Arc::clone(node));
        self
    }

    pub(crate) fn with_key(mut self, key: &[u8]) -> RemoteError {
        self.0.key = Some(key.to_vec());
        self
    }

    /// Says that the node has answered others in the meantime.
    pub(crate) fn though_alive(mut self) -> RemoteError {
        self.0.alive = true;
        self
    }

    /// What others are told meanwhile, who do not ask: surely nothing was done for them.
    pub(crate) fn for_others(&self) -> RemoteError {
        let mut error = self.clone();
        let Inner { key, detail, may_be_done, .. } = &mut *error.0;
        (*key, *may_be_done) = (None, false);
        *detail = format!("not asked, since a call before was told: {detail}");
        error
    }

    /// Whether the node should not be asked for a while: it did not answer. (One that refuses does so at once.)
    pub(crate) fn is_silence(&self) -> bool {
        let at_once = matches!(self.0.kind, ErrorKind::OutOfMemory | ErrorKind::NoReplicas);
        self.0.kind.is_outage() && !at_once && !self.0.alive
    }

    /// Says that nobody knows whether the server has carried it out.
    pub(crate) fn in_doubt(mut self) -> RemoteError {
        self.0.may_be_done = true;
        self
    }

    /// What kind of failure it was.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The node that was asked, `host:port` or a socket's path.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        self.0.node.as_deref()
    }

    /// The key that it was about, as it is in the server.
    #[must_use]
    pub fn key(&self) -> Option<&[u8]> {
        self.0.key.as_deref()
    }

    /// What the server or the system said.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// Whether the server may have carried the call out although there is no answer.
    #[must_use]
    pub fn may_be_done(&self) -> bool {
        self.0.may_be_done
    }

    /// What the system says of a connection.
    pub(crate) fn from_io(error: &std::io::Error) -> RemoteError {
        use std::io::ErrorKind as Io;
        let kind = match error.kind() {
            Io::TimedOut | Io::WouldBlock => ErrorKind::Timeout,
            _ => ErrorKind::Unreachable,
        };
        RemoteError::new(kind, error.to_string())
    }

    /// What a server answers to one command: all of it, of which `code` is the first word and `detail` the rest.
    pub(crate) fn from_server(code: &str, detail: &str, text: &str) -> RemoteError {
        RemoteError::new(of_code(code, detail), text)
    }
}

/// By the first word of an error, and where that is `ERR` by what follows.
fn of_code(code: &str, detail: &str) -> ErrorKind {
    match code {
        "NOAUTH" | "WRONGPASS" => ErrorKind::Auth,
        "NOPERM" => ErrorKind::Refused,
        "CLUSTERDOWN" if detail.contains("not served") || detail.contains("unbound") => {
            ErrorKind::MissingSlots
        }
        // A slot on its way, of which some keys are here and some there.
        "TRYAGAIN" => ErrorKind::MissingSlots,
        "CLUSTERDOWN" | "MASTERDOWN" => ErrorKind::ClusterDown,
        "WRONGTYPE" => ErrorKind::WrongType,
        "READONLY" => ErrorKind::ReadOnly,
        "OOM" => ErrorKind::OutOfMemory,
        "NOREPLICAS" => ErrorKind::NoReplicas,
        "LOADING" => ErrorKind::Loading,
        // A service that does not offer a command says so in one of these ways.
        "ERR" if detail.starts_with("unknown command") || detail.contains("syntax error") => {
            ErrorKind::Unsupported
        }
        // Errors of a script carry the code of the call within, later servers' at the front.
        "ERR" if detail.contains("WRONGTYPE") => ErrorKind::WrongType,
        "ERR" if detail.contains("-OOM") || detail.contains("OOM command") => ErrorKind::OutOfMemory,
        "ERR" if detail.contains("READONLY") => ErrorKind::ReadOnly,
        "ERR" if detail.contains("NOPERM") || detail.contains("ACL failure") => ErrorKind::Refused,
        _ => ErrorKind::Protocol,
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.kind.words())?;
        if let Some(node) = self.node() {
            write!(f, ", at {node}")?;
        }
        if let Some(key) = self.key() {
            // Of a long key its beginning tells enough.
            let shown = &key[..key.len().min(200)];
            write!(
                f,
                ", key \"{}\"{}",
                shown.escape_ascii(),
                if shown.len() < key.len() { ".." } else { "" }
            )?;
        }
        if !self.0.detail.is_empty() {
            write!(f, ": {}", self.0.detail)?;
        }
        if self.0.may_be_done {
            f.write_str(" (it may have been carried out)")?;
        }
        Ok(())
    }
}

impl fmt::Debug for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({self})", self.0.kind)
    }
}

impl std::error::Error for RemoteError {}

impl From<windlass::ConfigError> for RemoteError {
    fn from(error: windlass::ConfigError) -> RemoteError {
        RemoteError::new(ErrorKind::Config, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_node_and_key() {
        let error = RemoteError::new(ErrorKind::WrongType, "WRONGTYPE Operation")
            .at(&"127.0.0.1:1".into())
            .with_key(b"wl:d:a:\xff");
        assert_eq!(
            error.to_string(),
            "the key holds a value of another kind, at 127.0.0.1:1, key \"wl:d:a:\\xff\": WRONGTYPE Operation"
        );
        assert_eq!((error.node(), error.key()), (Some("127.0.0.1:1"), Some(&b"wl:d:a:\xff"[..])));
    }

    #[test]
    fn codes() {
        for (code, detail, kind) in [
            ("CLUSTERDOWN", "Hash slot not served", ErrorKind::MissingSlots),
            ("CLUSTERDOWN", "The cluster is down", ErrorKind::ClusterDown),
            ("OOM", "command not allowed when used memory > 'maxmemory'.", ErrorKind::OutOfMemory),
            ("NOAUTH", "Authentication required.", ErrorKind::Auth),
            ("ERR", "unknown command 'EVAL'", ErrorKind::Unsupported),
            ("ERR", "something else", ErrorKind::Protocol),
        ] {
            assert_eq!(of_code(code, detail), kind, "{code} {detail}");
        }
    }
}

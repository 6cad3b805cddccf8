//! What servers answer.

use crate::error::RemoteError;
use std::fmt;

/// An answer, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Value {
    #[default]
    Nil,
    /// `OK`, which is the most frequent of the simple ones.
    Okay,
    Int(i64),
    Simple(Box<str>),
    Bulk(Vec<u8>),
    Array(Vec<Value>),
    Error(ServerError),
}

/// An error that a server answered to one command: a code, and words.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ServerError(Box<str>);

impl ServerError {
    pub(crate) fn new(line: &[u8]) -> ServerError {
        ServerError(String::from_utf8_lossy(line).into())
    }

    /// Its first word.
    pub(crate) fn code(&self) -> &str {
        self.0.split_once(' ').map_or(&*self.0, |(code, _)| code)
    }

    /// What follows that.
    pub(crate) fn details(&self) -> &str {
        self.0.split_once(' ').map_or("", |(_, details)| details)
    }

    /// What it is for callers.
    pub(crate) fn to_error(&self) -> RemoteError {
        RemoteError::from_server(self.code(), self.details(), self.text())
    }

    /// All of it.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_taken_apart() {
        for (line, code, details) in
            [("MOVED 3999 127.0.0.1:6381", "MOVED", "3999 127.0.0.1:6381"), ("ERR", "ERR", ""), ("", "", "")]
        {
            let error = ServerError::new(line.as_bytes());
            assert_eq!((error.code(), error.details(), error.text()), (code, details, line));
        }
        assert_eq!(ServerError::new(b"ERR \xff").details(), "\u{fffd}");
    }

    /// Answers are moved often.
    #[test]
    fn they_are_small() {
        assert!(size_of::<Value>() <= 32, "{}", size_of::<Value>());
    }
}

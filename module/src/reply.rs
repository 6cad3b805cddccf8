//! What a client is told.

use std::{borrow::Cow, fmt};
use windlass::ConfigError;

/// An answer, whole before its first word is sent.
#[derive(Debug)]
pub(crate) enum Reply {
    Number(u64),
    /// A number that may be negative.
    Signed(i64),
    /// Numbers, one for each item.
    Numbers(Vec<u64>),
    Bytes(Vec<u8>),
    Word(&'static str),
    Null,
    List(Vec<Reply>),
    /// With RESP3 a map, else its names and values in turn.
    Map(Vec<(&'static str, Reply)>),
    /// Of one item of several.
    Failed(Failure),
}

/// Why a command has done nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    Arity,
    WrongType,
    /// As it is told, with its first word in capitals.
    Told(Cow<'static, str>),
}

impl Failure {
    pub(crate) fn new(why: impl fmt::Display) -> Failure {
        Failure::Told(format!("ERR {why}").into())
    }

    /// No line ends: an answer is one line.
    pub(crate) fn text(&self) -> Vec<u8> {
        let text: &str = match self {
            Failure::Arity => "ERR wrong number of arguments",
            Failure::WrongType => "WRONGTYPE Operation against a key holding the wrong kind of value",
            Failure::Told(text) => text,
        };
        text.bytes().map(|byte| if byte.is_ascii_control() { b' ' } else { byte }).collect()
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Failure {
        Failure::new(error)
    }
}

pub(crate) type Answer = Result<Reply, Failure>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_one_line() {
        assert_eq!(Failure::new("a\r\nb\0").text(), b"ERR a  b ");
        assert!(Failure::WrongType.text().starts_with(b"WRONGTYPE "));
    }
}

//! What is asked about an id, and what the answers mean.

use super::{module, token::Token};
use crate::{
    connection::{Call, Command, Reply, Span, Value},
    error::{ErrorKind, RemoteError},
    key::{Key, Kind, Namespace},
    script::{Script, script},
};
use std::{sync::LazyLock, time::Duration};
use windlass::{Tick, Verdict};

static ADMIT: LazyLock<Script> = script!("dedup");
static ADMIT_AT: LazyLock<Script> = script!("dedup_at");

/// How ids are admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// `SET key token NX GET PX window`: from 7.0 on.
    Native,
    /// A script that does the same.
    Script,
    /// By windlass' module, many ids in a command.
    Module,
}

/// In the engine's unit: 1 at least.
pub(crate) fn millis(span: Duration) -> Span {
    Span::new(u64::try_from(span.as_millis()).unwrap_or(u64::MAX).max(1))
}

/// What the engine said of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    New,
    /// It was admitted already, by this token.
    Own,
    Other,
}

impl Tier {
    /// Whether it is once more written, with [`again`], what is told to be the token's own already. (The module sends that to replicas by itself.)
    pub(super) fn writes_again(self) -> bool {
        self != Tier::Module
    }

    /// Whether an id is there.
    pub(super) fn contains(self, namespace: &Namespace, id: &[u8]) -> Call<'static> {
        if self == Tier::Module {
            return module::contains(namespace, id);
        }
        let key = namespace.item(Kind::Dedup, id);
        let mut command = Command::new("EXISTS");
        command.arg(key.as_slice());
        Call::native(key, command, true)
    }

    /// Admits an id at a time that the caller says, in milliseconds.
    pub(super) fn admit_at(self, namespace: &Namespace, id: &[u8], now: u64, window: &Span) -> Call<'static> {
        if self == Tier::Module {
            return module::admit_at(namespace, id, now, window);
        }
        let arguments = vec![now.to_string().into_bytes(), window.millis.to_string().into_bytes()];
        // Not again: a second answer would say that it is a duplicate of itself.
        Call::script(namespace.item(Kind::DedupAt, id), &ADMIT_AT, arguments, false)
    }

    /// Admits an id for `window`, without the module (which is asked in another way). May be asked again with the same token: it changes nothing more.
    #[inline]
    pub(super) fn admit<'a>(self, key: Key<'a>, token: &Token, window: &'a Span) -> Call<'a> {
        match self {
            Tier::Native => Call::admit(key, *token.bytes(), window),
            Tier::Script | Tier::Module => {
                let window = window.millis.to_string().into_bytes();
                Call::script(key.to_vec(), &ADMIT, vec![token.bytes().to_vec(), window], true)
            }
        }
    }

    pub(crate) fn said(self, reply: &Reply, token: &Token) -> Result<Said, RemoteError> {
        match (self, &reply.value) {
            (Tier::Native, Value::Nil) => Ok(Said::New),
            (Tier::Native, Value::Bulk(held)) if held == token.bytes() => Ok(Said::Own),
            (Tier::Native, Value::Bulk(_)) => Ok(Said::Other),
            (Tier::Script | Tier::Module, Value::Int(1)) => Ok(Said::New),
            (Tier::Script | Tier::Module, Value::Int(2)) => Ok(Said::Own),
            (Tier::Script | Tier::Module, Value::Int(0)) => Ok(Said::Other),
            // Of a claim ([`module::tell`]): it is ours, or was there.
            (Tier::Module, Value::Array(claim)) => match claim.first() {
                Some(Value::Int(1)) => Ok(Said::New),
                Some(Value::Int(0 | 2)) => Ok(Said::Other),
                _ => Err(unexpected(&reply.value)),
            },
            _ => Err(unexpected(&reply.value)),
        }
    }
}

/// Writes the token once more, without changing when it ends. What it changes nothing for is not sent to replicas, and so
/// cannot be waited for: this is.
pub(crate) fn again(namespace: &Namespace, id: &[u8], token: &Token) -> Call<'static> {
    let key = namespace.item(Kind::Dedup, id);
    let mut command = Command::new("SET");
    command.arg(key.as_slice()).arg(&token.bytes()[..]).arg("XX").arg("KEEPTTL");
    Call::native(key, command, true)
}

/// Whether it is there, as answered to [`Tier::contains`].
pub(super) fn is_there(reply: &Reply) -> bool {
    match &reply.value {
        Value::Array(one) => one.first() == Some(&Value::Int(1)),
        value => *value == Value::Int(1),
    }
}

pub(crate) fn said_at(reply: &Reply) -> Result<Verdict, RemoteError> {
    match reply.value {
        Value::Int(-1) => Ok(Verdict::Fresh),
        Value::Array(ref one) if one[..] == [Value::Int(1)] => Ok(Verdict::Fresh),
        Value::Array(ref one) if one[..] == [Value::Int(0)] => Ok(Verdict::Duplicate { first_seen: None }),
        Value::Int(ms) => {
            Ok(Verdict::Duplicate { first_seen: u64::try_from(ms).ok().and_then(Tick::from_millis) })
        }
        _ => Err(unexpected(&reply.value)),
    }
}

fn unexpected(value: &Value) -> RemoteError {
    RemoteError::new(ErrorKind::Protocol, format!("{value:?}"))
}

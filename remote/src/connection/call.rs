//! One command for one key, as data: it may have to be sent more than once, to several nodes, in several forms.

use crate::{
    key::Key,
    script::Script,
    wire::{Command, Pipeline, ServerError, Span, Value},
};
use std::sync::LazyLock;

/// What is asked.
#[derive(Debug)]
pub(crate) enum What<'a> {
    /// `SET key token NX GET PX millis`: put together when it is sent, as there are so many of them.
    Admit {
        token: [u8; 16],
        span: &'a Span,
    },
    /// A command as it is.
    Native(Command),
    /// Commands that are carried out together (MULTI, EXEC); the answer is all of theirs.
    Transaction(Vec<Command>),
    Script(Box<Run>),
}

/// A script, with all of its keys (in one slot) and its arguments.
#[derive(Debug)]
pub(crate) struct Run {
    script: &'static LazyLock<Script>,
    keys: Vec<Vec<u8>>,
    arguments: Vec<Vec<u8>>,
}

/// A question to the engine.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The key that routes it, and that errors name.
    pub(crate) key: Key<'a>,
    pub(crate) what: What<'a>,
    /// Whether it may be sent again when nobody knows whether it was carried out. (What was surely not carried out is sent again anyway.)
    pub(crate) repeatable: bool,
}

impl<'a> Call<'a> {
    /// Sets a key that is not there to a token, for so many milliseconds, and asks what it was. May be sent again: with the same token it changes nothing more.
    #[inline]
    pub(crate) fn admit(key: Key<'a>, token: [u8; 16], span: &'a Span) -> Call<'a> {
        Call { key, what: What::Admit { token, span }, repeatable: true }
    }

    /// A command as it is; `key` is the key in it.
    pub(crate) fn native(key: Vec<u8>, command: Command, repeatable: bool) -> Call<'a> {
        Call { key: key.into(), what: What::Native(command), repeatable }
    }

    /// Commands on one key, carried out together.
    pub(crate) fn transaction(key: Vec<u8>, commands: Vec<Command>, repeatable: bool) -> Call<'a> {
        Call { key: key.into(), what: What::Transaction(commands), repeatable }
    }

    /// A script on one key.
    pub(crate) fn script(
        key: Vec<u8>,
        script: &'static LazyLock<Script>,
        arguments: Vec<Vec<u8>>,
        repeatable: bool,
    ) -> Call<'a> {
        let run = Run { script, keys: vec![key.clone()], arguments };
        Call { key: key.into(), what: What::Script(Box::new(run)), repeatable }
    }

    /// A script on keys in one slot, of which the first one is named in errors.
    pub(crate) fn script_of(
        keys: Vec<Vec<u8>>,
        script: &'static LazyLock<Script>,
        arguments: Vec<Vec<u8>>,
        repeatable: bool,
    ) -> Call<'a> {
        let key = keys.first().cloned().unwrap_or_default();
        Call { key: key.into(), what: What::Script(Box::new(Run { script, keys, arguments })), repeatable }
    }

    /// What is sent, a script `whole` or by its digest.
    pub(crate) fn add_to(&self, pipeline: &mut Pipeline, whole: bool) {
        match &self.what {
            What::Admit { token, span } => pipeline.admit(&self.key, token, span),
            What::Native(command) => pipeline.add(command),
            What::Transaction(commands) => {
                pipeline.words(&["MULTI"]);
                for command in commands {
                    pipeline.add(command);
                }
                pipeline.words(&["EXEC"]);
            }
            What::Script(run) => run.script.add_to(pipeline, whole, &run.keys, &run.arguments),
        }
    }

    /// Its answer, of all that have come: as many as it has commands.
    pub(crate) fn answer(&self, answers: &mut impl Iterator<Item = Value>) -> Result<Value, ServerError> {
        let mut next = || result(answers.next().unwrap_or_default());
        let What::Transaction(commands) = &self.what else { return next() };
        // What keeps one command from being queued keeps all from being carried out, and is what EXEC only alludes to.
        let mut refused = None;
        for _ in 0..=commands.len() {
            if let Err(error) = next() {
                refused.get_or_insert(error);
            }
        }
        let done = next();
        if let Some(error) = refused {
            return Err(error);
        }
        if let Ok(Value::Array(values)) = &done
            && let Some(error) = values.iter().find_map(|value| match value {
                Value::Error(error) => Some(error),
                _ => None,
            })
        {
            return Err(error.clone());
        }
        done
    }
}

fn result(value: Value) -> Result<Value, ServerError> {
    match value {
        Value::Error(error) => Err(error),
        value => Ok(value),
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) value: Value,
    /// How many replicas have said that they have it, where that was asked for.
    pub(crate) replicas: Option<u32>,
}

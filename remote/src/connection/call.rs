//! One command for one key, as data: it may have to be sent more than once, to several nodes, in several forms.

use crate::script::Script;
use redis::{ServerError, Value};
use std::sync::LazyLock;

/// What is asked.
#[derive(Debug)]
pub(crate) enum What {
    /// `SET key token NX GET PX millis`: made when it is sent, as there are so many of them.
    Admit { token: [u8; 16], millis: u64 },
    /// A command as it is.
    Native(redis::Cmd),
    /// Commands that are carried out together (MULTI, EXEC); the answer is all of theirs.
    Transaction(Vec<redis::Cmd>),
    /// A script, with all of its keys (in one slot) and its arguments.
    Script { script: &'static LazyLock<Script>, keys: Vec<Vec<u8>>, arguments: Vec<Vec<u8>> },
}

/// A question to the engine.
#[derive(Debug)]
pub(crate) struct Call {
    /// The key that routes it, and that errors name.
    pub(crate) key: Vec<u8>,
    pub(crate) what: What,
    /// Whether it may be sent again when nobody knows whether it was carried out. (What was surely not carried out is sent again anyway.)
    pub(crate) repeatable: bool,
}

impl Call {
    /// Sets a key that is not there to a token, for so many milliseconds, and asks what it was. May be sent again: with the same token it changes nothing more.
    pub(crate) fn admit(key: Vec<u8>, token: [u8; 16], millis: u64) -> Call {
        Call { key, what: What::Admit { token, millis }, repeatable: true }
    }

    /// A command as it is; `key` is the key in it.
    pub(crate) fn native(key: Vec<u8>, command: redis::Cmd, repeatable: bool) -> Call {
        Call { key, what: What::Native(command), repeatable }
    }

    /// Commands on one key, carried out together.
    pub(crate) fn transaction(key: Vec<u8>, commands: Vec<redis::Cmd>, repeatable: bool) -> Call {
        Call { key, what: What::Transaction(commands), repeatable }
    }

    /// A script on one key.
    pub(crate) fn script(
        key: Vec<u8>,
        script: &'static LazyLock<Script>,
        arguments: Vec<Vec<u8>>,
        repeatable: bool,
    ) -> Call {
        Call { what: What::Script { script, keys: vec![key.clone()], arguments }, key, repeatable }
    }

    /// A script on keys in one slot, of which the first one is named in errors.
    pub(crate) fn script_of(
        keys: Vec<Vec<u8>>,
        script: &'static LazyLock<Script>,
        arguments: Vec<Vec<u8>>,
        repeatable: bool,
    ) -> Call {
        let key = keys.first().cloned().unwrap_or_default();
        Call { what: What::Script { script, keys, arguments }, key, repeatable }
    }

    /// What is sent, a script `whole` or by its digest.
    pub(crate) fn add_to(&self, pipeline: &mut redis::Pipeline, whole: bool) {
        match &self.what {
            What::Admit { token, millis } => {
                // As large as it gets: 7 words, most of them short.
                let mut command = redis::Cmd::with_capacity(7, self.key.len() + 48);
                command.arg("SET").arg(self.key.as_slice()).arg(&token[..]);
                command.arg("NX").arg("GET").arg("PX").arg(*millis);
                pipeline.add_command(command);
            }
            What::Native(command) => drop(pipeline.add_command(command.clone())),
            What::Transaction(commands) => {
                pipeline.cmd("MULTI");
                for command in commands {
                    pipeline.add_command(command.clone());
                }
                pipeline.cmd("EXEC");
            }
            What::Script { script, keys, arguments } => {
                pipeline.add_command(script.command(whole, keys, arguments));
            }
        }
    }

    /// Its answer, of all that have come. `None`: there are too few.
    pub(crate) fn answer(
        &self,
        answers: &mut impl Iterator<Item = Value>,
    ) -> Option<Result<Value, ServerError>> {
        let What::Transaction(commands) = &self.what else { return Some(result(answers.next()?)) };
        // What keeps one command from being queued keeps all from being carried out, and is what EXEC only alludes to.
        let mut refused = None;
        for _ in 0..=commands.len() {
            if let Err(error) = result(answers.next()?) {
                refused.get_or_insert(error);
            }
        }
        let done = result(answers.next()?);
        if let Some(error) = refused {
            return Some(Err(error));
        }
        if let Ok(Value::Array(values)) = &done
            && let Some(Value::ServerError(error)) =
                values.iter().find(|value| matches!(value, Value::ServerError(_)))
        {
            return Some(Err(error.clone()));
        }
        Some(done)
    }
}

fn result(value: Value) -> Result<Value, ServerError> {
    match value {
        Value::ServerError(error) => Err(error),
        value => Ok(value),
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) value: Value,
    /// How many replicas have said that they have it, where that was asked for.
    pub(crate) replicas: Option<u64>,
}

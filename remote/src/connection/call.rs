//! One command for one key, as data: it may have to be sent more than once, to several nodes, in several forms.

use crate::script::Script;
use std::sync::LazyLock;

/// What is asked.
#[derive(Debug)]
pub(crate) enum What {
    /// A command as it is.
    Native(redis::Cmd),
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
    /// A command as it is; `key` is the key in it.
    pub(crate) fn native(key: Vec<u8>, command: redis::Cmd, repeatable: bool) -> Call {
        Call { key, what: What::Native(command), repeatable }
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

    /// The command, a script `whole` or by its digest.
    pub(crate) fn command(&self, whole: bool) -> redis::Cmd {
        match &self.what {
            What::Native(command) => command.clone(),
            What::Script { script, keys, arguments } => script.command(whole, keys, arguments),
        }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) value: redis::Value,
    /// How many replicas have said that they have it, where that was asked for.
    pub(crate) replicas: Option<u64>,
}

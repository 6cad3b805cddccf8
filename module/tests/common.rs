//! The module as it is built, servers that have loaded it, and what is said to them.

use crate::{
    built::with_module,
    servers::{Server, available},
};
use redis::{Connection, RedisError, Value};
use std::ops::Deref;

/// A server that has loaded the module, and a connection.
pub(crate) struct Loaded {
    pub(crate) server: Server,
    connection: Connection,
}

impl Deref for Loaded {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

/// `None` where there is no server.
pub(crate) fn loaded(settings: &[&str]) -> Option<Loaded> {
    available().then(|| Loaded::of(Server::start(&with_module(settings))))
}

impl Loaded {
    pub(crate) fn of(server: Server) -> Loaded {
        let connection = connect(&server.address());
        Loaded { server, connection }
    }

    /// A replica of it, once it has all that it has.
    pub(crate) fn follower(&self, settings: &[&str]) -> Loaded {
        Loaded::of(self.server.replica(&with_module(settings)))
    }

    /// What a command is answered.
    pub(crate) fn ask(&mut self, words: &[&[u8]]) -> Result<Value, RedisError> {
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(*word);
        }
        command.query(&mut self.connection)
    }

    /// What many commands are answered, some thousands at a time.
    pub(crate) fn together(&mut self, commands: impl IntoIterator<Item = Vec<Vec<u8>>>) -> Vec<Value> {
        let (mut commands, mut answers) = (commands.into_iter().peekable(), Vec::new());
        while commands.peek().is_some() {
            let mut pipeline = redis::pipe();
            for words in commands.by_ref().take(4096) {
                let mut command = redis::Cmd::new();
                for word in words {
                    command.arg(word);
                }
                pipeline.add_command(command);
            }
            let some: Vec<Value> = pipeline.query(&mut self.connection).expect("answers");
            answers.extend(some);
        }
        answers
    }

    /// [`Loaded::ask`] of words of text, divided by spaces.
    pub(crate) fn say(&mut self, words: &str) -> Result<Value, RedisError> {
        self.ask(&words.split(' ').map(str::as_bytes).collect::<Vec<_>>())
    }

    #[track_caller]
    pub(crate) fn told(&mut self, words: &str) -> Value {
        self.say(words).unwrap_or_else(|error| panic!("{words}: {error}"))
    }

    /// Numbers, of an answer that is a list of them.
    #[track_caller]
    pub(crate) fn numbers(&mut self, words: &str) -> Vec<i64> {
        numbers(&self.told(words))
    }

    /// The error that it is answered.
    #[track_caller]
    pub(crate) fn refused(&mut self, words: &str) -> String {
        match self.say(words) {
            Err(error) => {
                format!("{} {}", error.code().unwrap_or_default(), error.detail().unwrap_or_default())
            }
            Ok(value) => panic!("{words}: {value:?}"),
        }
    }

    /// A key's digest.
    #[track_caller]
    pub(crate) fn digest(&mut self, key: &str) -> String {
        match self.told(&format!("DEBUG DIGEST-VALUE {key}")) {
            Value::Array(digests) => text(&digests[0]),
            other => panic!("{other:?}"),
        }
    }
}

fn connect(address: &str) -> Connection {
    let client = redis::Client::open(address).expect("an address");
    client.get_connection().expect("it is there")
}

#[track_caller]
pub(crate) fn numbers(value: &Value) -> Vec<i64> {
    let Value::Array(items) = value else { panic!("{value:?}") };
    items.iter().map(number).collect()
}

#[track_caller]
pub(crate) fn number(value: &Value) -> i64 {
    let Value::Int(number) = value else { panic!("{value:?}") };
    *number
}

#[track_caller]
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => text.clone(),
        Value::Okay => "OK".to_owned(),
        other => panic!("{other:?}"),
    }
}

/// Until a replica has all that was said to its primary.
pub(crate) fn until_followed(primary: &Server, replica: &Server) {
    crate::servers::until("the replica has all", || {
        let said = primary.figure("replication", "master_repl_offset");
        said.is_some() && replica.figure("replication", "slave_repl_offset") >= said
    });
}

//! The module as it is built, servers that have loaded it, and what is said to them.

use crate::servers::{Server, available};
use redis::{Connection, RedisError, Value};
use std::{
    ops::Deref,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// Where the module is. Cargo does not build it for tests, as no Rust program can link it, so it is asked to.
pub(crate) fn module() -> &'static str {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let path = BUILT.get_or_init(|| {
        // This test is <target>/<profile>/deps/<name>; with an instrumented library, <target>/<triple>/<profile>/deps/<name>.
        let test = std::env::current_exe().expect("known");
        let profile = test.parent().and_then(Path::parent).expect("a folder for the profile");
        let mut target = profile.parent().expect("a target folder");
        let name = if cfg!(debug_assertions) { "test" } else { "release" };
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--package", "windlass-module", "--profile", name]);
        if std::env::var("RUSTFLAGS").is_ok_and(|flags| flags.contains("sanitizer=address")) {
            cargo.arg("--target").arg(target.file_name().expect("a triple"));
            target = target.parent().expect("a target folder");
        }
        cargo.arg("--target-dir").arg(target);
        let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        profile.join("libwindlass_module.so")
    });
    path.to_str().expect("a path that is text")
}

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

/// Settings, and what loads the module.
pub(crate) fn with_module<'a>(settings: &[&'a str]) -> Vec<&'a str> {
    // Digests are DEBUG's.
    let mut all = vec!["--loadmodule", module(), "--enable-debug-command", "local"];
    all.extend(["--enable-module-command", "local", "--rdbcompression", "no"]);
    all.extend(settings);
    all
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

    /// The same of words of text, divided by spaces.
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
pub(crate) fn until_followed(primary: &mut Loaded, replica: &mut Loaded) {
    let offset = |server: &mut Loaded, name: &str| -> Option<u64> {
        let info = text(&server.told("INFO replication"));
        info.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    crate::servers::until("the replica has all", || {
        let said = offset(primary, "master_repl_offset:");
        said.is_some() && offset(replica, "slave_repl_offset:") >= said
    });
}

//! Lua scripts, known by their digest.

/// A script. Servers keep those that they have seen, by digest (EVALSHA); whoever has not seen it gets all of it (EVAL) and keeps it: a
/// server that was restarted, a replica that was promoted, and any after SCRIPT FLUSH.
#[derive(Debug)]
pub(crate) struct Script {
    source: &'static str,
    digest: String,
}

impl Script {
    pub(crate) fn new(source: &'static str) -> Script {
        Script { source, digest: redis::Script::new(source).get_hash().to_owned() }
    }

    /// The command that runs it: by digest, or `whole`.
    pub(crate) fn command(&self, whole: bool, keys: &[Vec<u8>], arguments: &[Vec<u8>]) -> redis::Cmd {
        let mut command = if whole { redis::cmd("EVAL") } else { redis::cmd("EVALSHA") };
        command.arg(if whole { self.source } else { &self.digest }).arg(keys.len());
        for word in keys.iter().chain(arguments) {
            command.arg(word.as_slice());
        }
        command
    }
}

/// A script of one or more files of remote/lua, one after the other.
macro_rules! script {
    ($($file:literal),+) => {
        std::sync::LazyLock::new(|| {
            $crate::script::Script::new(concat!(
                $(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/lua/", $file, ".lua")),)+
            ))
        })
    };
}
pub(crate) use script;

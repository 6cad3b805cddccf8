//! Lua scripts, known by their digest.

use crate::wire::Pipeline;

/// A script. Servers keep those that they have seen, by digest (EVALSHA); whoever has not seen it gets all of it (EVAL) and keeps it: a
/// server that was restarted, a replica that was promoted, and any after SCRIPT FLUSH.
#[derive(Debug)]
pub(crate) struct Script {
    source: &'static str,
    digest: String,
}

impl Script {
    pub(crate) fn new(source: &'static str) -> Script {
        Script { source, digest: sha1_smol::Sha1::from(source).digest().to_string() }
    }

    /// The command that runs it: by digest, or `whole`.
    pub(crate) fn add_to(
        &self,
        pipeline: &mut Pipeline,
        whole: bool,
        keys: &[Vec<u8>],
        arguments: &[Vec<u8>],
    ) {
        pipeline.begin(3 + (keys.len() + arguments.len()) as u64);
        let (name, script) = if whole { ("EVAL", self.source) } else { ("EVALSHA", &*self.digest) };
        pipeline.word(name);
        pipeline.word(script);
        pipeline.word(keys.len() as u64);
        for word in keys.iter().chain(arguments) {
            pipeline.word(word);
        }
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

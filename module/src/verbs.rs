//! The commands: their names, how many words they take, what they may do, and who carries them out.

#![allow(unsafe_code)] // called by the server

use crate::{
    bloom,
    boundary::guarded,
    call::{Call, LATEST, in_range},
    count, dedup, fifo, info, limit,
    raw::{self, Api},
    reply::{Answer, Failure},
    server::Server,
    topk,
};
use std::{
    ffi::{CStr, c_int},
    ops::RangeInclusive,
};

/// A command.
struct Verb {
    name: &'static CStr,
    /// Words after its name.
    words: RangeInclusive<usize>,
    does: Does,
    run: fn(&mut Call<'_>) -> Answer,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    /// Reads its key.
    Reads,
    /// Changes its key; what takes memory.
    Writes,
    /// Changes its key, and takes no memory.
    Settles,
    /// Has no key.
    Tells,
    /// .. and takes as long as its words are many.
    Computes,
    /// Carries out another one at a time that is given: word 2 is that one's name, and word 3 its key.
    Times,
    /// Makes a key of bytes.
    Loads,
}

impl Does {
    /// Flags, the place of the key, categories.
    fn terms(self) -> (&'static CStr, c_int, &'static CStr) {
        match self {
            Does::Reads => (c"readonly", 1, c"read"),
            Does::Writes => (c"write deny-oom", 1, c"write"),
            Does::Settles => (c"write", 1, c"write"),
            Does::Tells => (c"readonly fast allow-stale", 0, c"read fast"),
            Does::Computes => (c"readonly allow-stale", 0, c"read"),
            Does::Times => (c"write deny-oom", 3, c"write dangerous"),
            Does::Loads => (c"write deny-oom", 1, c"write dangerous"),
        }
    }

    /// Whether it may stand in `WL.AT`.
    fn takes_time(self) -> bool {
        matches!(self, Does::Reads | Does::Writes | Does::Settles)
    }
}

/// As many as there are.
const ANY: usize = usize::MAX;

/// Counts its arguments.
macro_rules! count {
    () => { 0 };
    ($first:ident $($rest:ident)*) => { 1 + count!($($rest)*) };
}

macro_rules! verbs {
    ($($id:ident: $name:literal, $words:expr, $does:ident, $run:path;)*) => {
        const COUNT: usize = count!($($id)*);
        static VERBS: [Verb; COUNT] = [
            $(Verb { name: $name, words: $words, does: Does::$does, run: $run }),*
        ];
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(usize)]
        enum At { $($id),* }
        /// Which one it is, the server does not say: each has a function of its own.
        static ENTRIES: [raw::CommandFn; COUNT] = [$(entry::<{ At::$id as usize }>),*];
    };
}

verbs! {
    VERSION: c"WL.VERSION", 0..=0, Tells, info::version;
    INFO: c"WL.INFO", 1..=1, Reads, info::info;
    AT: c"WL.AT", 3..=ANY, Times, at;
    LOAD: c"WL.LOAD", 3..=4, Loads, info::load;
    DEDUP: c"WL.DEDUP", 3..=ANY, Writes, dedup::dedup;
    ADMIT: c"WL.ADMIT", 4..=ANY, Writes, dedup::admit;
    PEEK: c"WL.PEEK", 2..=ANY, Reads, dedup::peek;
    CLAIM: c"WL.CLAIM", 4..=4, Writes, dedup::claim;
    COMMIT: c"WL.COMMIT", 2..=2, Settles, dedup::commit;
    ABORT: c"WL.ABORT", 2..=2, Settles, dedup::abort;
    LIMIT: c"WL.LIMIT", 4..=10, Writes, limit::limit;
    BLOOM_ADD: c"WL.BLOOM.ADD", 6..=ANY, Writes, bloom::add;
    BLOOM_OBSERVE: c"WL.BLOOM.OBSERVE", 6..=ANY, Writes, bloom::observe;
    BLOOM_CHECK: c"WL.BLOOM.CHECK", 2..=ANY, Reads, bloom::check;
    COUNT_ADD: c"WL.COUNT.ADD", 5..=ANY, Writes, count::add;
    COUNT_GET: c"WL.COUNT.GET", 2..=ANY, Reads, count::get;
    COUNT_TOTAL: c"WL.COUNT.TOTAL", 1..=1, Reads, count::total;
    TOPK_ADD: c"WL.TOPK.ADD", 6..=ANY, Writes, topk::add;
    TOPK_LIST: c"WL.TOPK.LIST", 1..=1, Reads, topk::list;
    TOPK_EXPORT: c"WL.TOPK.EXPORT", 1..=1, Reads, topk::export;
    TOPK_MAKE: c"WL.TOPK.MAKE", 5..=5, Writes, topk::make;
    TOPK_MERGE: c"WL.TOPK.MERGE", 3..=ANY, Computes, topk::merge;
    FIFO_PUSH: c"WL.FIFO.PUSH", 3..=ANY, Writes, fifo::push;
    FIFO_POP: c"WL.FIFO.POP", 1..=2, Settles, fifo::pop;
    FIFO_REMOVE: c"WL.FIFO.REMOVE", 2..=ANY, Settles, fifo::remove;
    FIFO_RANK: c"WL.FIFO.RANK", 2..=ANY, Reads, fifo::rank;
    FIFO_GET: c"WL.FIFO.GET", 2..=ANY, Reads, fifo::get;
    FIFO_LEN: c"WL.FIFO.LEN", 1..=1, Reads, fifo::len;
}

impl Verb {
    /// Its name without `WL.`.
    fn verb(&self) -> &'static CStr {
        let name = self.name.to_bytes_with_nul().strip_prefix(b"WL.").unwrap_or_default();
        CStr::from_bytes_with_nul(name).unwrap_or_default()
    }

    fn word(&self) -> &'static str {
        self.verb().to_str().unwrap_or_default()
    }

    fn run(&self, mut call: Call<'_>) -> Answer {
        if !self.words.contains(&call.words.len()) {
            return Err(Failure::Arity);
        }
        (self.run)(&mut call)
    }
}

/// `us verb key ..`: a command at a time, in microseconds since 1970. Of what replicas and append-only files are sent; and for tests.
fn at(call: &mut Call<'_>) -> Answer {
    let at = in_range(call.word(0)?, "the time", 0, LATEST)?;
    let word = call.word(1)?;
    let verb = VERBS.iter().find(|verb| verb.does.takes_time() && word.is(verb.word()));
    let Some(verb) = verb else {
        return Err(Failure::new("WL.AT takes the name of another command, without WL."));
    };
    verb.run(Call { server: call.server, verb: verb.verb(), words: call.rest(2).to_vec(), at: Some(at) })
}

unsafe extern "C" fn entry<const AT: usize>(
    ctx: *mut raw::Ctx,
    texts: *mut *mut raw::Text,
    count: c_int,
) -> c_int {
    guarded(raw::ERR, || {
        // SAFETY: the server's call, for as long as it lasts.
        let Some(server) = (unsafe { Server::new(ctx) }) else { return raw::ERR };
        let panicked = Err(Failure::new("windlass: a fault of the module; see the server's stderr"));
        let answer = guarded(panicked, || {
            // SAFETY: the same.
            let words = unsafe { server.words(texts, count) };
            match VERBS.get(AT) {
                Some(verb) => verb.run(Call { server, verb: verb.verb(), words, at: None }),
                None => Err(Failure::Arity),
            }
        });
        server.reply(&answer)
    })
}

/// Tells the server of the commands.
///
/// # Safety
/// `ctx` is that of the call that loads the module.
pub(crate) unsafe fn register(api: &'static Api, ctx: *mut raw::Ctx) -> Result<(), String> {
    for (verb, entry) in VERBS.iter().zip(ENTRIES) {
        let (flags, key, categories) = verb.does.terms();
        let (name, step) = (verb.name.as_ptr(), c_int::from(key > 0));
        // SAFETY: a context, strings, and a function that may be called as commands are.
        let made = unsafe { (api.create_command)(ctx, name, entry, flags.as_ptr(), key, key, step) };
        if made != raw::OK {
            return Err(format!("there is a command {} already", verb.name.to_string_lossy()));
        }
        // From 7.2 on. Before, whoever may use them is told so by name: docs/module.md.
        if let (Some(get), Some(set)) = (api.get_command, api.set_acl_categories) {
            // SAFETY: a context and a string.
            let command = unsafe { get(ctx, name) };
            // SAFETY: a command of the module's, while it is being loaded; and a string.
            if command.is_null() || unsafe { set(command, categories.as_ptr()) } != raw::OK {
                return Err(format!("{} gets no ACL categories", verb.name.to_string_lossy()));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(ENTRIES.len(), VERBS.len());
        for (at, verb) in VERBS.iter().enumerate() {
            assert!(verb.name.to_bytes().starts_with(b"WL."), "{:?}", verb.name);
            assert!(VERBS.iter().skip(at + 1).all(|other| other.word() != verb.word()), "{:?}", verb.name);
        }
    }
}

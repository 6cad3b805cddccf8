//! `windlass limit`.

use std::{fmt, str::FromStr};

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use windlass::Quota;

#[cfg(feature = "remote")]
use super::LimitRemoteArgs;
use super::{Count, SaveArgs, SiftArgs, StateArgs, examples};

/// Try a rate limit on a log or a pipe: which events would have been denied, and when
///
/// Each client, as --key tells them apart, may have so many events in so long; without --key all events together may. Records
/// that are allowed are passed on unchanged, byte by byte; the summary has the clients that were denied most. A denial
/// counts for nothing: who has been denied is let in as soon as one who had waited. (Variants in which it counts are left out: a client
/// that does not stop would never be let in again.)
///
/// Up to a million clients are counted one by one, in memory beside --max-memory: about 70 MB, and up to 350 bytes for each that is
/// denied. Events of further ones are judged as exactly, and not listed.
///
/// With --policy several limits are tried at once, each with its own key and quota: an event passes if all of them allow it, and is charged
/// by all, or by none. The summary tells what each of them denied.
///
/// With --remote the limits are those of all processes that ask the same servers: none of them admits what another one has used up.
#[derive(Debug, Args)]
#[command(after_help = examples::LIMIT)]
#[command(group = ArgGroup::new("who").args(["key", "policy"]))]
#[command(mut_arg("capacity", |arg| arg.visible_alias("clients").requires("key").conflicts_with("policy").help(
    "How many clients to have room for at first: 500000, 64k, 1M. It grows; with sliding-log it does not [default: 1M]"
)))]
#[command(mut_arg("max_memory", |arg| arg.requires("key").conflicts_with("policy")))]
#[command(mut_arg("seed", |arg| arg.help(
    "Seed of the hash. Fixed, so that runs repeat; choose a secret one if others can choose the clients' names"
)))]
#[command(mut_arg("each", |arg| arg.requires("who").help(
    "jsonl: this field is an array and every element an event; `@` is the element, and the key is what is written out"
)))]
#[command(mut_arg("source", |arg| arg.requires("who").help(
    "Clients of different sources never meet: this field says which source"
)))]
#[command(mut_arg("lateness", |arg| arg.help(
    "How far event times may run behind the newest; clients are kept that much longer"
)))]
#[command(mut_arg("decisions", |arg| arg.help("Write one character per event in processing order: 1 allowed, 0 denied")))]
pub(crate) struct LimitArgs {
    /// Who the client is; several fields make one [default: one limit for all]. Format `lines` has no fields: for lines that are
    /// clients `--format tsv --key 1`
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    pub(crate) key: Vec<String>,
    /// So many events in so long: 100/60s, 10/s, 5/250ms
    #[arg(long, value_name = "N/DUR", allow_hyphen_values = true, required_unless_present = "policy")]
    pub(crate) limit: Option<Limit>,
    /// Several limits, from a TOML file: a table [[limit]] for each, with its name, its quota = "N/DUR", and if they differ from the defaults
    /// key = "FIELD" or ["FIELD", ..] (else one limit for all), burst, algorithm, clients (how many to have room for, 1000000) and on_unknown
    #[arg(long, value_name = "FILE", conflicts_with_all = ["limit", "algorithm", "burst"])]
    pub(crate) policy: Option<PathBuf>,
    /// How it is counted
    #[arg(long, value_enum, default_value_t = AlgorithmKind::Gcra)]
    pub(crate) algorithm: AlgorithmKind,
    /// How many events may come at once after a rest; not with windows and the log [default: those of the limit]
    #[arg(long, value_name = "N")]
    pub(crate) burst: Option<Count>,
    /// Which records are written to stdout
    #[arg(long, value_enum, default_value_t = PassedKind::Allowed)]
    pub(crate) emit: PassedKind,
    #[command(flatten)]
    pub(crate) state: StateArgs,
    /// What clients get for whom there is no room, at --max-memory
    #[arg(long, value_enum, default_value_t = UnknownKind::Deny, requires = "key", conflicts_with = "policy", help_heading = "Memory")]
    pub(crate) on_unknown: UnknownKind,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
    #[cfg(feature = "remote")]
    #[command(flatten)]
    pub(crate) remote: LimitRemoteArgs,
    #[command(flatten)]
    pub(crate) sift: SiftArgs,
}

/// What `--limit` says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit(pub(crate) Quota);

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        if text.contains("burst") {
            return Err("the burst has an option of its own: --burst N".to_owned());
        }
        text.parse().map(Limit).map_err(|error: windlass::ConfigError| match text.parse::<u64>() {
            Ok(_) => format!("in what time? like {text}/60s or {text}/s"),
            Err(_) => error.limit,
        })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Quota::new(self.0.permits(), self.0.per()).fmt(f)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AlgorithmKind {
    /// One arrival time for each client; decides as token-bucket does
    Gcra,
    /// So many in each window of the clock
    FixedWindow,
    /// So many in any DUR: the times of the last N are kept, 8 bytes each
    SlidingLog,
    /// This window, and the part of the last one that the last DUR still cover
    SlidingCounter,
    /// A bucket of tokens, refilled continuously
    TokenBucket,
    /// Who comes too early is let in and told to wait; the summary has the delays
    LeakyQueue,
}

impl AlgorithmKind {
    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            AlgorithmKind::Gcra => "gcra",
            AlgorithmKind::FixedWindow => "fixed-window",
            AlgorithmKind::SlidingLog => "sliding-log",
            AlgorithmKind::SlidingCounter => "sliding-counter",
            AlgorithmKind::TokenBucket => "token-bucket",
            AlgorithmKind::LeakyQueue => "leaky-queue",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PassedKind {
    Allowed,
    Denied,
    All,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnknownKind {
    Allow,
    Deny,
}

//! `windlass rank`.

use std::path::PathBuf;

use clap::Args;

#[cfg(feature = "remote")]
use super::RemoteArgs;
use super::{InputArgs, MetricsArgs, OutputArgs, SaveArgs, Span, StateArgs, examples};

/// Replay a waiting room: how many are ahead of each key, if one is let in every so often
///
/// A key is put at the end of the queue when it is first seen. Every --pop-every, first that long after the first event, the one that waits longest
/// is let in; what is due at an event's time comes before the event. If none waits, none is let in, and nothing is saved up.
/// --decisions writes for each event how many are ahead of its key: 0 for the next, -1 once it was let in, and ever after.
///
/// With --remote it is one queue for all processes that ask the same servers, by the servers' clock: whoever asks lets in who is due, so each is let in once. It is
/// forgotten when nobody has asked for a day.
#[derive(Debug, Args)]
#[command(after_help = examples::RANK)]
#[command(mut_arg("capacity", |arg| arg.help(
    "How many different keys to have room for at first: 500000, 64k, 1M. It grows [default: 1M]"
)))]
pub(crate) struct RankArgs {
    /// The event's key; several fields make one key. Format `lines` takes none: the whole line is the key
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    pub(crate) key: Vec<String>,
    /// How often one is let in: 200ms, 2s, 1m
    #[arg(long, value_name = "DUR")]
    pub(crate) pop_every: Span,
    #[command(flatten)]
    pub(crate) state: StateArgs,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
    #[cfg(feature = "remote")]
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Write one line per event in processing order: how many are ahead of its key, -1 once it was let in
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) decisions: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,
}

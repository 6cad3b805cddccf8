//! `windlass bench`.

use std::path::PathBuf;

use clap::Args;

use super::{Count, OutputArgs, Span, examples};

/// Measure this machine: how long a call takes, and how many there are in a second, in some ten seconds
///
/// Each structure is called in batches, as the commands do, by one thread and by several at once, with keys that fit the cache and with
/// keys that do not. Answers are checked beside the clock; exit status 1 if one is wrong. What is compared with what else there is:
/// docs/performance.md.
#[derive(Debug, Args)]
#[command(after_help = examples::BENCH)]
pub(crate) struct BenchArgs {
    /// How many threads at most, 1 to 64 [default: those of the machine]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) threads: Option<u8>,
    /// How many keys do not fit the cache, 20k to 100M: of 16 to 50 bytes each, whatever the structure
    #[arg(long, value_name = "N", default_value = "4M")]
    pub(crate) keys: Count,
    /// How long all of it is to take, about: 10s, 1m
    #[arg(long, value_name = "DUR", default_value = "10s")]
    pub(crate) duration: Span,
    /// Write a plot to this file as well
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) svg: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

//! The command line: one struct per command, and the groups of options that commands share.

mod bench;
mod decimals;
mod examples;
mod generate;
mod limit;
mod metrics;
mod rank;
#[cfg(feature = "remote")]
mod remote;
mod ring;
mod shell;
mod top;
mod values;

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

use crate::{
    input::{Format, Missing, OnError, Order, Resolution, TimeFormat},
    output::Color,
};
pub(crate) use bench::BenchArgs;
pub(crate) use decimals::{Rate, Share, Skew};
pub(crate) use generate::{Field, GenArgs, Reach, RecordFormat, RecordsArgs, TimesArgs};
pub(crate) use limit::{AlgorithmKind, Limit, LimitArgs, PassedKind, UnknownKind};
pub(crate) use metrics::MetricsArgs;
pub(crate) use rank::RankArgs;
#[cfg(feature = "remote")]
pub(crate) use remote::{DedupRemoteArgs, Durability, LimitRemoteArgs, RemoteArgs, WhenDown};
pub(crate) use ring::{Change, RingArgs, Weighted};
pub(crate) use shell::{CompletionsArgs, ManArgs};
pub(crate) use top::TopArgs;
pub(crate) use values::{Bytes, Count, Span};

/// Sliding windows over event streams: logs, pipes, files.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, propagate_version = true, disable_help_subcommand = true)]
#[command(
    after_help = "Exit status: 0 done, 1 failed while running (I/O, a ceiling reached), 2 wrong usage or bad input."
)]
pub(crate) struct Cli {
    /// Colours: on a terminal unless NO_COLOR is set, always, or never
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto, global = true, help_heading = "Output")]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What a command does is said at its struct: words here would take the place of those, all of them.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Dedup(Box<DedupArgs>),
    Distinct(Box<DistinctArgs>),
    Limit(Box<LimitArgs>),
    Rank(Box<RankArgs>),
    Top(Box<TopArgs>),
    Ring(Box<RingArgs>),
    Gen(GenArgs),
    Demo(DemoArgs),
    Bench(BenchArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Pass each event on once per window: drop what repeats an id seen less than the window ago
///
/// An event is a duplicate if its id was let through less than the window before; exactly one window later it is new again.
/// Duplicates do not prolong anything (unless --refresh). Records are passed on unchanged, byte by byte; results go to
/// stdout, progress and the summary to stderr.
///
/// With --approx a filter of fixed size takes the place of the ids: no duplicate gets through, and of the new ids a stated share is
/// dropped. An id is forgotten between one window and the panes' length later (with 8 panes 15 %).
#[derive(Debug, Args)]
#[command(after_help = examples::DEDUP)]
#[command(group = ArgGroup::new("span").required(true).args(["window", "window_count"]))]
pub(crate) struct DedupArgs {
    /// The event's id; several fields make one id. Format `lines` takes none: the whole line is the id
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    pub(crate) id: Vec<String>,
    /// An id passes once in this time: 250ms, 60s, 5m, 1h, 7d
    #[arg(long, value_name = "DUR")]
    pub(crate) window: Option<Span>,
    /// An id passes once among this many events, whatever their times; events are counted in processing order
    #[arg(long, value_name = "N")]
    pub(crate) window_count: Option<Count>,
    /// A duplicate starts its id's window anew
    #[arg(long)]
    pub(crate) refresh: bool,
    #[command(flatten)]
    pub(crate) approx: ApproxArgs,
    /// With --approx: into how many panes the filter is divided. With more of them ids are forgotten sooner after the window
    /// [default: 8]
    #[arg(long, value_name = "N")]
    pub(crate) panes: Option<Count>,
    /// Which records are written to stdout
    #[arg(long, value_enum, default_value_t = EmitKind::Fresh)]
    pub(crate) emit: EmitKind,
    #[command(flatten)]
    pub(crate) state: StateArgs,
    /// At --max-memory: stop with exit status 1, or forget the oldest ids early
    #[arg(long, value_enum, default_value_t = OnFullKind::Reject, conflicts_with = "approx", help_heading = "Memory")]
    pub(crate) on_full: OnFullKind,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
    #[cfg(feature = "remote")]
    #[command(flatten)]
    pub(crate) remote: DedupRemoteArgs,
    #[command(flatten)]
    pub(crate) sift: SiftArgs,
}

/// Count the different ids of a sliding window, at the end of every pane
///
/// Time is cut into panes of equal length, counted from 1970 (without event times from the start of the run). At the end of each, from the
/// first event's to the last one's, it writes a line: when it ended in milliseconds, a tab, and how many different ids came in
/// it and in the panes before it that make up the window. Panes without an event have their line too. An event whose pane is over counts in the
/// pane of the event before it.
///
/// With --approx the numbers are estimates from a filter of fixed size, made for --capacity ids in a window: with a standard error of about
/// the root of the number, and a part of that for much fewer ids than --capacity; the summary tells the largest. --fpr makes it more
/// exact for more memory: every pane then is what dedup would take for --capacity ids.
#[derive(Debug, Args)]
#[command(after_help = examples::DISTINCT)]
pub(crate) struct DistinctArgs {
    /// The event's id; several fields make one id. Format `lines` takes none: the whole line is the id
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    pub(crate) id: Vec<String>,
    /// Ids of this time are counted: 60s, 5m, 1h; a multiple of the pane
    #[arg(long, value_name = "DUR")]
    pub(crate) window: Span,
    /// How often: a whole number of milliseconds
    #[arg(long, value_name = "DUR")]
    pub(crate) pane: Span,
    #[command(flatten)]
    pub(crate) approx: ApproxArgs,
    #[command(flatten)]
    pub(crate) state: StateArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Fixed memory instead of exact answers.
#[derive(Debug, Args)]
pub(crate) struct ApproxArgs {
    /// Keep the ids in a filter of fixed size, made for --capacity ids in a window
    #[arg(long)]
    pub(crate) approx: bool,
    /// With --approx: the share of new ids that may be taken for seen, with as many as --capacity [default: 0.01, of
    /// dedup]
    #[arg(long, value_name = "P")]
    pub(crate) fpr: Option<Rate>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EmitKind {
    Fresh,
    Duplicates,
    All,
    None,
}

/// What is kept, and how much of it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Memory")]
pub(crate) struct StateArgs {
    /// How many live ids to have room for at first: 500000, 64k, 1M, 1G. It grows; with --approx it does not, and errors are more
    /// with more ids [default: 1M; with --approx and --window-count as many]
    #[arg(long, value_name = "N")]
    pub(crate) capacity: Option<Count>,
    /// Grow no further than this: 512M, 2G (powers of 1024) [default: three quarters of the machine's memory]
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_memory: Option<Bytes>,
    /// Seed of the hash. Fixed, so that runs repeat; choose a secret one if others can choose the ids
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// What outlives a run.
#[derive(Debug, Args)]
#[command(next_help_heading = "State")]
pub(crate) struct SaveArgs {
    /// Go on where the run before ended, and save to this file where this one ends
    ///
    /// It has what the command knows, how far each file has been read, and the counts of the summary. It is loaded at the start if it is there, and
    /// saved at the end, every --save-every, and on SIGINT and SIGTERM, upon which the run ends as at the end of its input, with status
    /// 0. Whoever reads it finds it whole, whenever the run was killed; what came after the last save is then read again. A run that fails saves
    /// nothing more. While a run goes on with it, others are refused (FILE.lock).
    ///
    /// Files that have grown are read on; one that was renamed is known again; one that was replaced or cut is an error. Stdin and pipes have no
    /// position: all that comes is new. Options that say what an event is or what is done with it must be as they were, and so must the
    /// presence of --decisions, whose file is continued. Not with --order sort.
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// How often the state is saved while the run goes on
    #[arg(long, value_name = "DUR", default_value = "10s", requires = "state")]
    pub(crate) save_every: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnFullKind {
    Reject,
    Evict,
}

/// Where events come from and how they are read.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    /// Files to read, `.gz` as they are; stdin when there is none, or for `-`
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// How to read records [default: by extension (.tsv .csv .jsonl .ndjson), else lines]
    ///
    /// lines: a line is an id, byte by byte (a carriage return belongs to it); tsv: no quoting; csv: RFC 4180; jsonl: a JSON
    /// object a line; combined: an access log of Apache or nginx, with the fields ip, user, time, request, method, path
    /// (with its query), status, bytes, referer, agent. In all but `lines` a blank line is no record.
    ///
    /// A FIELD of tsv and csv is a column's name or number (from 1); with names the first row is a header, which is passed
    /// on. A FIELD of jsonl is a name, a path (a.b.c, a.b[1]) or a pointer (/a/b); a field of exactly that name comes first.
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// tsv, csv: the first row is a header, though all fields are given by number
    #[arg(long)]
    pub(crate) header: bool,
    /// The event's time [default: the clock at arrival; its own in format combined]
    #[arg(long, value_name = "FIELD")]
    pub(crate) time: Option<String>,
    /// unix, unix-ms, unix-us, unix-ns, rfc3339, clf, or a strftime pattern (UTC if it has no offset) [default: numbers are
    /// unix, text is rfc3339 or clf]
    #[arg(long, value_name = "FORMAT", requires = "time")]
    pub(crate) time_format: Option<TimeFormat>,
    /// Cut event times to this
    #[arg(long, value_enum, default_value_t = Resolution::Ns)]
    pub(crate) resolution: Resolution,
    /// Process events as they come; with times that never go back; or sorted by time (reads the whole input first)
    #[arg(long, value_enum, default_value_t = Order::Arrival)]
    pub(crate) order: Order,
    /// jsonl: this field is an array and every element an event; `@` is the element, and the id is what is written out
    #[arg(long, value_name = "FIELD")]
    pub(crate) each: Option<String>,
    /// Ids of different sources never meet: this field says which source
    #[arg(long, value_name = "FIELD")]
    pub(crate) source: Option<String>,
    /// A field that is absent: `fail`, `skip` the record, or take this TEXT for it
    #[arg(long, value_name = "fail|skip|TEXT", default_value = "fail")]
    pub(crate) missing: Missing,
    /// A record that cannot be read: stop with exit status 2, or skip and count it
    #[arg(long, value_enum, default_value_t = OnError::Fail)]
    pub(crate) on_error: OnError,
    /// Read on as the last FILE grows, until SIGINT or SIGTERM: then the run ends as at the end of its input
    ///
    /// When another file takes its name (rotation by renaming), what still comes to the one before is read first, then the new one from its
    /// beginning; one that is cut (copytruncate) is read anew. Files before it are read as ever: access.log.1 access.log. Not with --order sort.
    #[arg(long)]
    pub(crate) follow: bool,
    /// Threads that read and parse, 1 to 64; with more than one, another judges and writes. The results are the same
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) threads: u8,
}

/// Where events come from that are judged one by one, and what is told of them.
#[derive(Debug, Args)]
pub(crate) struct SiftArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// How far event times may run behind the newest; ids are kept that much longer
    #[arg(long, value_name = "DUR", default_value = "0s", help_heading = "Input")]
    pub(crate) lateness: Span,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Write one character per event in processing order: 1 duplicate, 0 not
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) decisions: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,
}

/// What is told besides the results.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// The summary's form [default: text]. It goes to stderr; json to stdout if no records go there
    #[arg(long, value_enum)]
    pub(crate) report: Option<ReportKind>,
    /// No progress, and no summary unless --report asks for it
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportKind {
    Text,
    Json,
}

/// See it at work on a generated stream: no files, no server, a few seconds
///
/// A tour: the stream goes through dedup, filter, limit, top, rank and ring, one after the other; then all are put side by side. The
/// stream is the same for the same seed. Every answer is compared with a plain recount; exit status 1 if they differ.
#[derive(Debug, Args)]
#[command(after_help = examples::DEMO)]
pub(crate) struct DemoArgs {
    /// How many events to generate
    #[arg(long, value_name = "N", default_value = "3M")]
    pub(crate) events: Count,
    /// Seed of the stream
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// No progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

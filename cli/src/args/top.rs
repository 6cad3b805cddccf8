//! `windlass top`.

use clap::Args;

#[cfg(feature = "remote")]
use super::RemoteArgs;
use super::{Bytes, Count, InputArgs, Limit, MetricsArgs, OutputArgs, SaveArgs, Span, StateArgs, examples};

/// Find the hottest keys of a sliding window, exactly, at its end or at the end of every pane
///
/// Time is cut into panes of equal length, counted from 1970 (without event times from the start of the run). Without --every-pane there is a
/// table for the window that ends with the last event's pane: rank, how often, the share of all events in the window, a bar, and the key; the
/// summary says whether it is certified exact, and how often any other key was seen at most.
///
/// With --every-pane it writes a line at the end of each pane, from the first event's to the last one's: when it ended in milliseconds, and for
/// each of the hottest keys a tab, how often it was seen in that pane and in those before it that make up the window, a tab, and the key. Of
/// equal counts the key with the lesser bytes comes first. Panes without an event have their line too. Keys are written as they are; a tab,
/// a newline or a carriage return in one as \t, \n or \r, so that a line remains a line. Of one
/// that is longer than 4096 bytes the first 4096 are.
///
/// Late events count in their own pane. The line of a pane is written when the newest event is --lateness behind its end; what
/// comes for it later counts in the lines after it, as long as its pane is in their window.
///
/// With --id and --limit it tells as well how many events a dedup of the window would have found to be duplicates, and a limit (gcra) of each key would have denied: in all, and of
/// the keys of the table. All of them are counted all the same; that takes memory of its own, as much as `windlass dedup` and `windlass limit` take.
///
/// With --approx it takes the memory that it is given, whatever the keys are. Each count then lies between two bounds, which are told in the table and always
/// hold, and so does what any other key has at most; a list that is exact all the same is certified.
///
/// With --state the lines of panes that are not over when a run ends are left to the next one: each line is written once. There is none with
/// --merge.
///
/// With --remote every process counts by itself, and publishes what it knows each second; the table is what all of them know of the window that ends with the pane of
/// the end of the run, by the machines' clocks. Each count then lies between two bounds.
///
/// With --merge every file is counted by a thread of its own, as if on a machine of its own, and what they know is put together in the end.
#[derive(Debug, Args)]
#[command(after_help = examples::TOP)]
#[command(mut_arg("capacity", |arg| arg.help(
    "How many different keys of a window to have room for at first: 500000, 64k, 1M. It grows [default: 16k]"
)))]
#[command(mut_arg("max_memory", |arg| arg.help(
    "Grow no further than this: 512M, 2G (powers of 1024). Keys for which there is no room are told, and lists that may lack one are not \
     certified: the exit status is then 1 [default: three quarters of the machine's memory]"
)))]
#[command(mut_arg("seed", |arg| arg.help(
    "Seed of the hash. Fixed, so that runs repeat; choose a secret one if others can choose the keys"
)))]
#[command(mut_arg("source", |arg| arg.help("Keys of different sources never meet: this field says which source")))]
#[command(mut_arg("each", |arg| arg.help("jsonl: this field is an array and every element an event; `@` is the element")))]
#[command(mut_arg("metrics", |arg| arg.conflicts_with("merge")))]
#[command(mut_arg("report", |arg| arg.help(
    "The summary's form [default: text]. It goes to stderr; json takes the table's place on stdout"
)))]
pub(crate) struct TopArgs {
    /// The event's key; several fields make one key, told with a space between. Format `lines` takes none: the whole line is the key
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    pub(crate) key: Vec<String>,
    /// Events of this time are counted: 60s, 5m, 1h; a multiple of the pane
    #[arg(long, value_name = "DUR")]
    pub(crate) window: Span,
    /// How the window moves: a whole number of milliseconds. Window and --lateness may have some 1000 panes together
    #[arg(long, value_name = "DUR")]
    pub(crate) pane: Span,
    /// How many keys
    #[arg(short, value_name = "N")]
    pub(crate) k: Count,
    /// A line for each pane
    #[arg(long, help_heading = "Output")]
    pub(crate) every_pane: bool,
    /// Show the window as it moves, on a terminal: the keys with bars and their course over the panes. q or Ctrl-C ends the run as at the end
    /// of its input, space holds the picture, arrows scroll. Where stdout is no terminal it is as without
    #[arg(long, conflicts_with_all = ["every_pane", "merge"], help_heading = "Output")]
    pub(crate) live: bool,
    /// Keep to --memory, with counts between bounds
    #[arg(long, help_heading = "Memory", conflicts_with_all = ["capacity", "max_memory"])]
    pub(crate) approx: bool,
    /// With --approx: all that it may take, of each file with --merge: 64K, 1M (powers of 1024) [default: 1M]
    #[arg(long, value_name = "SIZE", help_heading = "Memory", requires = "approx")]
    pub(crate) memory: Option<Bytes>,
    /// Count each file by itself, and put together what they know: the table of the window that ends with the newest event's pane
    #[arg(long, conflicts_with_all = ["every_pane", "state"], help_heading = "Input")]
    pub(crate) merge: bool,
    /// Count duplicates too: events whose id, in these fields, was seen less than a window before
    #[arg(long, value_name = "FIELD", value_delimiter = ',', conflicts_with_all = BY_ITSELF)]
    pub(crate) id: Vec<String>,
    /// Count denials too: the events of a key beyond so many in so long, 10/s, and which keys they were of
    #[arg(long, value_name = "N/DUR", conflicts_with_all = BY_ITSELF)]
    pub(crate) limit: Option<Limit>,
    #[command(flatten)]
    pub(crate) state: StateArgs,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
    #[cfg(feature = "remote")]
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// How far event times may run behind the newest; lines of panes are written that much later
    #[arg(long, value_name = "DUR", default_value = "0s", help_heading = "Input")]
    pub(crate) lateness: Span,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,
}

/// What `--id` and `--limit` do not go with.
#[cfg(feature = "remote")]
const BY_ITSELF: [&str; 3] = ["merge", "state", "remote"];
#[cfg(not(feature = "remote"))]
const BY_ITSELF: [&str; 2] = ["merge", "state"];

impl TopArgs {
    /// Lists are put together of what several have counted.
    pub(crate) fn is_merged(&self) -> bool {
        #[cfg(feature = "remote")]
        if self.remote.remote.is_some() {
            return true;
        }
        self.merge
    }
}

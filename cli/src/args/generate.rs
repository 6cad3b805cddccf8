//! The options of `windlass gen`.

use std::{fmt, str::FromStr};

use clap::{Args, ValueEnum};

use super::{Count, Share, Skew, Span, examples};
use crate::input::{Resolution, TimeFormat, TimeReader};

/// Write a generated stream: to try things on, and as a load that others can repeat
///
/// The same options give the same bytes, in every release and on every machine (docs/gen.md defines them). An event has a
/// time, an id, a client and a key; a repeat has the id, client and key of an earlier event, and a time of its own. The
/// stream goes to stdout, progress and a summary to stderr.
#[derive(Debug, Args)]
#[command(after_help = examples::GEN)]
// So that the error for `--rate -1` says what is allowed.
#[command(mut_args(|arg| if arg.get_action().takes_values() { arg.allow_negative_numbers(true) } else { arg }))]
pub(crate) struct GenArgs {
    /// How many events
    #[arg(long, value_name = "N", default_value = "1M")]
    pub(crate) events: Count,
    /// Seed of the stream
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: Count,
    #[command(flatten)]
    pub(crate) times: TimesArgs,
    #[command(flatten)]
    pub(crate) ids: IdsArgs,
    #[command(flatten)]
    pub(crate) records: RecordsArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Times")]
pub(crate) struct TimesArgs {
    /// Events per second of their own time, evenly spaced
    #[arg(long, value_name = "N", default_value = "100k")]
    pub(crate) rate: Count,
    /// Time of the first event, rfc3339
    #[arg(long, value_name = "TIME", default_value = "2026-01-01T00:00:00Z")]
    pub(crate) start: Moment,
    /// Share of the events whose time runs behind their place in the stream: 0.1
    #[arg(long, value_name = "SHARE", requires = "lateness")]
    pub(crate) late: Option<Share>,
    /// By how much at most; any delay from 1ns to this is equally likely
    #[arg(long, value_name = "DUR", requires = "late")]
    pub(crate) lateness: Option<Span>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Ids, clients and keys")]
pub(crate) struct IdsArgs {
    /// Share of the events that repeat an earlier one
    #[arg(long, value_name = "SHARE", default_value = "0.2")]
    pub(crate) duplicates: Share,
    /// How long ago, or how many events ago, an id that is repeated came first, at most: 10s, 100k. Any id since then is
    /// equally likely
    #[arg(long, value_name = "DUR|N", default_value = "100k")]
    pub(crate) distance: Reach,
    /// How many clients there are: c1, c2, ..
    #[arg(long, value_name = "N", default_value = "1k")]
    pub(crate) clients: Count,
    /// How many keys there are: k1, k2, ..
    #[arg(long, value_name = "N", default_value = "100k")]
    pub(crate) keys: Count,
    /// Zipf exponent of clients and keys: number n comes with a probability proportional to 1/n^S; 0 is uniform
    #[arg(long, value_name = "S", default_value = "1")]
    pub(crate) skew: Skew,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct RecordsArgs {
    /// How records are written. Those that are not lines have names: a header, or JSON's
    #[arg(long, value_enum, default_value_t = RecordFormat::Lines)]
    pub(crate) format: RecordFormat,
    /// What is written of an event, in this order [default: id with lines, else time,id,client,key]
    ///
    /// time: unix seconds with nine decimals; id: 16 hexadecimal digits; client, key: c or k and a number.
    #[arg(long, value_enum, value_name = "FIELD", value_delimiter = ',')]
    pub(crate) fields: Vec<Field>,
    /// No progress and no summary
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordFormat {
    Lines,
    Tsv,
    Csv,
    Jsonl,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Field {
    Time,
    Id,
    Client,
    Key,
}

impl Field {
    /// As it is given, and as it stands in a header.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Field::Time => "time",
            Field::Id => "id",
            Field::Client => "client",
            Field::Key => "key",
        }
    }
}

/// An instant.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    /// Nanoseconds since 1970.
    pub(crate) nanos: u64,
    text: String,
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Moment, String> {
        let nanos = TimeReader::new(TimeFormat::Rfc3339, Resolution::Ns).read(text.as_bytes())?;
        Ok(Moment { nanos, text: text.to_owned() })
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A stretch of a stream: by time or by events.
#[derive(Clone, Debug)]
pub(crate) enum Reach {
    Time(Span),
    Events(Count),
}

impl FromStr for Reach {
    type Err = String;

    fn from_str(text: &str) -> Result<Reach, String> {
        text.parse().map(Reach::Events).or_else(|_| text.parse().map(Reach::Time)).map_err(|_: String| {
            "a time like 250ms, 60s, 5m, or a number of events like 500000, 64k, 1M".to_owned()
        })
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reach::Time(span) => span.fmt(f),
            Reach::Events(count) => count.fmt(f),
        }
    }
}

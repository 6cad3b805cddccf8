//! The choices that an input leaves to its user.

use std::{convert::Infallible, path::Path, str::FromStr};

use clap::ValueEnum;

/// How records are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Lines,
    Tsv,
    Csv,
    Jsonl,
    Combined,
}

impl Format {
    /// By extension, `.gz` aside; else lines.
    pub(crate) fn of(path: &Path) -> Format {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        match name.rsplit_once('.').map(|(_, extension)| extension) {
            Some("tsv") => Format::Tsv,
            Some("csv") => Format::Csv,
            Some("jsonl" | "ndjson") => Format::Jsonl,
            _ => Format::Lines,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Lines => "lines",
            Format::Tsv => "tsv",
            Format::Csv => "csv",
            Format::Jsonl => "jsonl",
            Format::Combined => "combined",
        }
    }
}

/// The order of processing, where events have times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    Arrival,
    Clamp,
    Sort,
}

/// What becomes of a record that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnError {
    Fail,
    Skip,
}

/// What stands for an absent field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Fail,
    Skip,
    Text(String),
}

impl FromStr for Missing {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Missing, Infallible> {
        Ok(match text {
            "fail" => Missing::Fail,
            "skip" => Missing::Skip,
            text => Missing::Text(text.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_extension() {
        for (name, format) in [
            ("a.tsv", Format::Tsv),
            ("x/a.CSV.gz", Format::Csv),
            ("a.b.jsonl", Format::Jsonl),
            ("access.log", Format::Lines),
            ("tsv", Format::Lines),
            ("d.csv/plain", Format::Lines),
            ("-", Format::Lines),
        ] {
            assert_eq!(Format::of(Path::new(name)), format, "{name}");
        }
    }
}

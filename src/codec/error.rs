//! Why bytes are not restored.

use crate::error::ConfigError;
use std::{fmt, io};

/// A snapshot was not restored: what is wrong, and where. Nothing of it is left.
#[derive(Debug)]
#[non_exhaustive]
pub enum RestoreError {
    /// The input could not be read.
    Io {
        /// Bytes that had been read.
        at: u64,
        /// What the system says.
        source: io::Error,
    },
    /// The input ends before the snapshot does.
    Truncated {
        /// Bytes that there are.
        at: u64,
    },
    /// It does not begin as a snapshot does.
    Foreign,
    /// It has a version that is not known here.
    Version {
        /// Its version.
        found: u16,
        /// The latest that is known.
        known: u16,
    },
    /// It is of another structure.
    Kind {
        /// The structure that it is of, or the code of one that is not known here.
        found: String,
        /// The one that was to be restored.
        wanted: &'static str,
    },
    /// The bytes are not those that were written.
    Damaged {
        /// Where the part begins that is wrong.
        at: u64,
        /// The part.
        part: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// It was made with another setting than the builder has.
    Setting {
        /// The setting.
        name: String,
        /// The snapshot's. (Of a seed only that it is another.)
        snapshot: String,
        /// The builder's.
        builder: String,
    },
    /// There is not as much memory as its table needs.
    Memory {
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that the builder allows, or the system gives.
        limit: u64,
    },
    /// There is no room for all that it has.
    Full {
        /// Entries that there was room for.
        entries: u64,
        /// Bytes that these take: the builder allows no more.
        memory: u64,
    },
    /// The builder's settings are wrong by themselves.
    Config(ConfigError),
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("snapshot: ")?;
        match self {
            RestoreError::Io { at, source } => write!(f, "not readable after byte {at}: {source}"),
            RestoreError::Truncated { at } => write!(f, "cut off after byte {at}"),
            RestoreError::Foreign => f.write_str("the input is something else"),
            RestoreError::Version { found, known } => {
                write!(f, "of version {found} of the format, where {known} is the latest that is known")
            }
            RestoreError::Kind { found, wanted } => write!(f, "of a {found}, not of a {wanted}"),
            RestoreError::Damaged { at, part, problem } => write!(f, "byte {at}: {part}: {problem}"),
            RestoreError::Setting { name, snapshot, builder } => {
                write!(f, "made with {name} {snapshot}, and the builder has {builder}")
            }
            RestoreError::Memory { needed, limit } => {
                write!(f, "its table needs {needed} bytes, and there are {limit}")
            }
            RestoreError::Full { entries, memory } => {
                write!(f, "there was room for {entries} of its entries in {memory} bytes, and no more")
            }
            RestoreError::Config(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RestoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RestoreError::Io { source, .. } => Some(source),
            RestoreError::Config(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ConfigError> for RestoreError {
    fn from(error: ConfigError) -> RestoreError {
        RestoreError::Config(error)
    }
}

//! What commands that keep ids exactly have in common: room for so many, up to so much memory.

use windlass::{ConfigError, DedupBuilder, Seed};

use crate::{args::StateArgs, failure::Failure, output};

/// Ids, unless told otherwise.
const CAPACITY: u64 = 1_000_000;

/// With the capacity, the memory and the seed of the command line.
pub(crate) fn of(state: &StateArgs, builder: DedupBuilder) -> DedupBuilder {
    builder
        .capacity(usize::try_from(capacity(state)).unwrap_or(usize::MAX))
        .max_memory(most(state))
        .seed(Seed(state.seed))
}

pub(crate) fn capacity(state: &StateArgs) -> u64 {
    state.capacity.map_or(CAPACITY, |count| count.0)
}

/// Bytes.
pub(crate) fn most(state: &StateArgs) -> u64 {
    state.max_memory.map_or(u64::MAX, |most| most.0)
}

/// The builder's error in the words of the command line.
pub(crate) fn refused(state: &StateArgs, error: &ConfigError) -> Failure {
    let given = match error.field {
        "capacity" | "clients" => format!("--capacity {}", capacity(state)),
        "max_memory" => {
            format!("--max-memory {}", output::memory(most(state)))
        }
        field => format!("{field} {}", error.value),
    };
    out_of_range(given, &error.limit)
}

pub(crate) fn out_of_range(given: impl std::fmt::Display, limit: &str) -> Failure {
    Failure::bad(format_args!("{given} is out of range: {limit}"))
}

/// There is no room for the id of an event, counted from 1. `or`: what else to do than to give more.
pub(crate) fn full(state: &StateArgs, event: u64, or: &str) -> Failure {
    Failure::Running(format!(
        "event {event}: no room for another id: {} reached; give more, or {or}",
        match state.max_memory {
            Some(most) => format!("--max-memory {} is", output::memory(most.0)),
            None => "three quarters of the machine's memory are".to_owned(),
        }
    ))
}

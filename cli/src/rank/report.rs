//! What happened.

use std::time::Duration;

use serde::Serialize;

use super::room::Figures;
use crate::{args::RankArgs, input::Input, output};

/// As `--report json` has it.
#[derive(Serialize)]
pub(super) struct Report {
    command: &'static str,
    events: u64,
    /// Different keys.
    keys: u64,
    /// Keys that were let in.
    popped: u64,
    /// Keys that wait in the end.
    waiting: u64,
    /// The most that were ahead of an event's key.
    largest_rank: u64,
    skipped: u64,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    pop_every_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    /// With `--remote`.
    #[cfg(feature = "remote")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remote: Option<crate::remote::Calls>,
}

impl Report {
    /// `memory`: of a room that is in this process.
    pub(super) fn new(
        args: &RankArgs,
        (figures, waiting): (Figures, u64),
        memory: Option<u64>,
        input: &Input,
        took: Duration,
    ) -> Report {
        Report {
            command: "rank",
            events: figures.events,
            keys: figures.keys,
            popped: figures.popped,
            waiting,
            largest_rank: figures.largest,
            skipped: input.skipped().records,
            seconds: took.as_secs_f64(),
            memory_bytes: memory,
            pop_every_ns: u64::try_from(args.pop_every.duration.as_nanos()).unwrap_or(u64::MAX),
            seed: memory.map(|_| args.state.seed),
            #[cfg(feature = "remote")]
            remote: None,
        }
    }

    pub(super) fn text(&self, input: &Input) -> String {
        let skipped = input.skipped();
        let text = format!(
            "{} events of {} keys: {} let in, {} waiting; {} ahead at most\n{}{}\n",
            output::count(self.events),
            output::count(self.keys),
            output::count(self.popped),
            output::count(self.waiting),
            output::count(self.largest_rank),
            self.memory_bytes.map_or(String::new(), |bytes| format!("memory {}; ", output::memory(bytes))),
            output::seconds(Duration::from_secs_f64(self.seconds), self.events),
        );
        #[cfg(feature = "remote")]
        let text = match &self.remote {
            Some(calls) => format!("{text}{}\n{}", calls.round_trips(), calls.trouble()),
            None => text,
        };
        text + &output::skipped(skipped.records, skipped.first.as_deref())
    }
}

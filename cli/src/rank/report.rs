//! What happened.

use std::time::Duration;

use serde::Serialize;

use super::room::Room;
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
    memory_bytes: u64,
    pop_every_ns: u64,
    seed: u64,
}

impl Report {
    pub(super) fn new(args: &RankArgs, room: &Room, input: &Input, took: Duration) -> Report {
        let figures = room.figures;
        Report {
            command: "rank",
            events: figures.events,
            keys: figures.keys,
            popped: figures.popped,
            waiting: room.waiting(),
            largest_rank: figures.largest,
            skipped: input.skipped().records,
            seconds: took.as_secs_f64(),
            memory_bytes: room.memory_bytes(),
            pop_every_ns: u64::try_from(args.pop_every.duration.as_nanos()).unwrap_or(u64::MAX),
            seed: args.state.seed,
        }
    }

    pub(super) fn text(&self, input: &Input) -> String {
        let skipped = input.skipped();
        format!(
            "{} events of {} keys: {} let in, {} waiting; {} ahead at most\nmemory {}; {}\n{}",
            output::count(self.events),
            output::count(self.keys),
            output::count(self.popped),
            output::count(self.waiting),
            output::count(self.largest_rank),
            output::memory(self.memory_bytes),
            output::seconds(Duration::from_secs_f64(self.seconds), self.events),
            output::skipped(skipped.records, skipped.first.as_deref()),
        )
    }
}

//! `windlass rank --remote`: one waiting room for all who ask the same servers.

use std::{io::Write, time::Instant};

use windlass_remote::{RemoteRoom, RemoteRoomView};

use super::{FIGURES, need, report::Report, room::Figures};
use crate::{
    args::RankArgs,
    failure::Failure,
    input::{Batch, Input},
    metrics::Metrics,
    output::{self, Decisions, Progress},
    remote::{self, Calls, Engine},
};

pub(super) fn run(args: &RankArgs, address: &str) -> Result<(), Failure> {
    check(args)?;
    let engine = Engine::connect(&args.remote, address)?;
    let room = RemoteRoom::new(&engine.remote, &args.remote.remote_namespace, args.pop_every.duration);
    let mut room = Room {
        room: room.map_err(|error| remote::failed(&error))?,
        whole: remote::is_whole(&args.key, &args.input),
        figures: Figures::default(),
        waiting: 0,
    };
    let metrics = Metrics::start(&args.metrics, "rank", &FIGURES, |_| Ok(()))?;
    let mut input = Input::new(&args.input, need(args, Some(remote::LONGEST)))?;
    let mut decisions = Decisions::open(args.decisions.as_deref(), false, None)?;
    metrics.reads(input.read_counter());
    let started = Instant::now();
    let progress = Progress::over_input(args.output.quiet, false, input.size(), input.read_counter());
    while let Some(batch) = input.next()? {
        let lines = room.add(&engine, &batch)?;
        if let Some(decisions) = &mut decisions {
            decisions.write(&lines)?;
        }
        progress.advance(batch.events.len() as u64);
        metrics.tell(&room.told());
        metrics.skipped(input.skipped().records);
    }
    drop(progress);
    if let Some(decisions) = decisions {
        decisions.finish()?;
    }
    let mut report = Report::new(args, (room.figures, room.waiting), None, &input, started.elapsed());
    report.remote = Some(Calls::of(&engine.remote));
    output::summary(&args.output, &report, || report.text(&input), true)
}

/// What can only be done where the room is here is refused.
fn check(args: &RankArgs) -> Result<(), Failure> {
    remote::refuse_times(&args.input)?;
    remote::refuse(&[(
        args.save.state.is_some(),
        "--state",
        "the servers have the room, also after this run",
    )])?;
    remote::refuse_memory(&args.state, "--capacity")?;
    let every = args.pop_every.duration;
    if every.is_zero() || !every.subsec_nanos().is_multiple_of(1000) {
        return Err(Failure::bad(format_args!(
            "--pop-every {} does not go with --remote: the servers count whole microseconds, 1us at least",
            args.pop_every
        )));
    }
    Ok(())
}

struct Room {
    room: RemoteRoom,
    /// The key is one field.
    whole: bool,
    /// Of the events those of this process, else of all.
    figures: Figures,
    waiting: u64,
}

impl Room {
    /// A line for each event.
    fn add(&mut self, engine: &Engine, batch: &Batch<'_>) -> Result<Vec<u8>, Failure> {
        let first = self.figures.events + 1;
        let view = engine.wait(self.room.arrive_batch(&remote::ids(batch, self.whole)));
        let RemoteRoomView { ranks, keys, waiting, .. } =
            view.map_err(|error| remote::failed_at(first, &error))?;
        let mut lines = Vec::new();
        for rank in &ranks {
            let written = match rank {
                Some(rank) => writeln!(lines, "{rank}"),
                None => writeln!(lines, "-1"),
            };
            written.map_err(|error| Failure::Running(error.to_string()))?;
        }
        let largest = ranks.into_iter().flatten().fold(self.figures.largest, u64::max);
        let events = self.figures.events + batch.events.len() as u64;
        self.figures = Figures { events, keys, popped: keys.saturating_sub(waiting), largest };
        self.waiting = waiting;
        Ok(lines)
    }

    fn told(&self) -> [u64; FIGURES.len()] {
        let Figures { events, keys, popped, largest } = self.figures;
        [events, keys, popped, self.waiting, largest]
    }
}

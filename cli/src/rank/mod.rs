//! `windlass rank`: how many are ahead of each key, if one is let in every so often.

mod report;
mod room;

use std::time::Instant;

use windlass::Seed;

use crate::{
    args::RankArgs,
    failure::Failure,
    input::{Input, Need},
    metrics::{Figure, Metrics},
    output::{self, Decisions, Progress},
};
use report::Report;
use room::Room;

/// See [`Room::told`].
const FIGURES: [Figure; 5] = [
    Figure::count("events", "Events."),
    Figure::count("keys", "Different keys."),
    Figure::count("popped_keys", "Keys that were let in."),
    Figure::level("waiting_keys", "Keys that wait."),
    Figure::level("largest_rank", "The most that were ahead of an event's key."),
];

pub(crate) fn run(args: &RankArgs) -> Result<(), Failure> {
    // All that can be refused is refused before a byte is written.
    let mut room = Room::new(args)?;
    let metrics = Metrics::start(&args.metrics, "rank", &FIGURES, |metrics| room.show(metrics))?;
    let need = Need {
        key: &args.key,
        option: "--key",
        parts: &[],
        may_be_none: false,
        names: None,
        text: false,
        numbered: false,
        seed: Seed(args.state.seed),
    };
    let mut input = Input::new(&args.input, need)?;
    let mut decisions = args.decisions.as_deref().map(Decisions::create).transpose()?;
    metrics.reads(input.read_counter());
    let started = Instant::now();
    let progress = Progress::over_input(args.output.quiet, false, input.size(), input.read_counter());
    let mut lines = Vec::new();
    while let Some(batch) = input.next()? {
        lines.clear();
        let trouble = room.add(&args.state, batch.events, &mut lines).err();
        if let Some(decisions) = &mut decisions {
            decisions.write(&lines)?;
        }
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        progress.advance(batch.events.len() as u64);
        metrics.tell(&room.told());
        metrics.skipped(input.skipped().records);
    }
    drop(progress);
    if let Some(decisions) = decisions {
        decisions.finish()?;
    }
    let report = Report::new(args, &room, &input, started.elapsed());
    output::summary(&args.output, &report, || report.text(&input), true)
}

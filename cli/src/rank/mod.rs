//! `windlass rank`: how many are ahead of each key, if one is let in every so often.

#[cfg(feature = "remote")]
mod remote;
mod report;
mod room;

use std::time::Instant;

use windlass::Seed;

use crate::{
    args::RankArgs,
    failure::Failure,
    input::{Input, Need, Next},
    metrics::{Figure, Metrics},
    output::{self, Decisions, Progress},
    state::{self, Settings, State},
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
    #[cfg(feature = "remote")]
    if let Some(address) = &args.remote.remote {
        return remote::run(args, address);
    }
    // All that can be refused is refused before a byte is written.
    let opened = State::open(&args.save, "rank", args.input.order, || settings(args))?;
    let (mut state, loaded) = opened.unzip();
    let mut loaded = loaded.flatten();
    let mut room = Room::new(args, loaded.as_mut())?;
    let metrics = Metrics::start(&args.metrics, "rank", &FIGURES, |metrics| room.show(metrics))?;
    let mut input = Input::new(&args.input, need(args, None))?;
    state::begin(&mut input, state.as_ref(), loaded.as_ref())?;
    let mut decisions = Decisions::open(args.decisions.as_deref(), state.is_some(), loaded.as_ref())?;
    metrics.reads(input.read_counter());
    let started = Instant::now();
    let progress = Progress::over_input(args.output.quiet, false, input.size(), input.read_counter());
    let mut lines = Vec::new();
    loop {
        match state::next(&mut input, state.as_ref())? {
            Next::Batch(batch) => {
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
            Next::Nothing => {}
            Next::End => break,
        }
        if let Some(state) = &mut state {
            state.step(&input, None, decisions.as_mut(), &room)?;
        }
    }
    drop(progress);
    if let Some(state) = &mut state {
        state.save(&input, None, decisions.as_mut(), &room)?;
    }
    if let Some(decisions) = decisions {
        decisions.finish()?;
    }
    let figures = (room.figures, room.waiting());
    let report = Report::new(args, figures, Some(room.memory_bytes()), &input, started.elapsed());
    output::summary(&args.output, &report, || report.text(&input), true)
}

fn need(args: &RankArgs, names: Option<usize>) -> Need<'_> {
    Need {
        key: &args.key,
        option: "--key",
        parts: &[],
        beside: &[],
        may_be_none: false,
        names,
        text: false,
        numbered: false,
        seed: Seed(args.state.seed),
    }
}

fn settings(args: &RankArgs) -> Settings {
    let mut settings = Settings::of(&args.input, &args.state);
    settings.set("--key", (!args.key.is_empty()).then(|| args.key.join(",")));
    settings.set("--pop-every", Some(args.pop_every.plain()));
    settings.set("--decisions", args.decisions.as_ref().map(|_| ""));
    settings
}

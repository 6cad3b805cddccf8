//! `windlass top`: the hottest keys of a sliding window, at its end or at the end of every pane.

mod counts;
mod live;
mod merge;
mod panes;
#[cfg(feature = "remote")]
mod remote;
mod report;
mod table;

use std::{io, time::Instant};

use serde::{Deserialize, Serialize};
use windlass::{Seed, TopSnapshot};

use crate::{
    args::{ReportKind, TopArgs},
    failure::Failure,
    grid::Grid,
    input::{Input, Need, Next},
    metrics::{Figure, Metrics},
    output::{self, Progress},
    state::{self, Keep, Loaded, Settings, State},
};
use counts::Counts;
use live::Pulse;
use panes::{Open, Panes};
use report::Report;

/// Of longer keys that much is told. (They are told apart by all of it.)
const NAME: usize = 4096;

/// See [`told`].
const FIGURES: [Figure; 5] = [
    Figure::count("events", "Events."),
    Figure::count("panes", "Panes that are over."),
    Figure::count("late_events", "Events whose pane was over."),
    Figure::count("uncounted_events", "Events that came too late for any window."),
    Figure::count("refused_events", "Events of keys for which there was no room."),
];

fn told(panes: &Panes, counts: &Counts) -> [u64; FIGURES.len()] {
    [panes.events, panes.over, panes.late, panes.uncounted, counts.refused]
}

pub(crate) fn run(args: &TopArgs) -> Result<(), Failure> {
    // All that can be refused is refused before a byte is written.
    let grid = Grid::new(&args.window, &args.pane)?;
    #[cfg(feature = "remote")]
    if let Some(address) = &args.remote.remote {
        return remote::run(args, grid, address);
    }
    if args.merge {
        return merge::run(args, grid);
    }
    let opened = State::open(&args.save, "top", args.input.order, || settings(args))?;
    let (mut state, loaded) = opened.unzip();
    let mut loaded = loaded.flatten();
    let mut running = Running::new(args, grid, loaded.as_mut())?;
    let metrics = Metrics::start(&args.metrics, "top", &FIGURES, |metrics| running.counts.show(metrics))?;
    let mut input = Input::new(&args.input, need(args))?;
    metrics.reads(input.read_counter());
    state::begin(&mut input, state.as_ref(), loaded.as_ref())?;
    let started = Instant::now();
    let done = match live::Screen::wanted(args)? {
        Some(screen) => screen.show(args, &mut running, state.as_mut(), &mut input, &metrics),
        None => stream(args, &mut running, state.as_mut(), &mut input, &metrics, None),
    };
    // What is over has its place in the output, whatever came then.
    running.panes.flush()?;
    done?;
    let took = started.elapsed();
    let Running { counts, panes } = running;
    let list = panes.last().map(|pane| counts.list(grid.begin(pane + 1)));
    let report = Report::new(&counts, &panes, list.as_ref(), args, &input, took);
    tell(args, list.as_ref(), &report, input.is_timed(), input.skipped().first.as_deref())
}

/// The table, if there is one, and the summary.
fn tell(
    args: &TopArgs,
    list: Option<&TopSnapshot>,
    report: &Report,
    timed: bool,
    skipped: Option<&str>,
) -> Result<(), Failure> {
    let is_table = !args.every_pane;
    if is_table && args.output.report != Some(ReportKind::Json) {
        output::report(&table::text(list), true)?;
    }
    output::summary(&args.output, report, || report.text(args, timed, skipped), is_table)?;
    report.outcome(args)
}

fn need(args: &TopArgs) -> Need<'_> {
    Need {
        key: &args.key,
        option: "--key",
        parts: &[],
        may_be_none: false,
        names: Some(NAME),
        text: false,
        numbered: false,
        seed: Seed(args.state.seed),
    }
}

fn settings(args: &TopArgs) -> Settings {
    let mut settings = Settings::of(&args.input, &args.state);
    settings.set("--key", (!args.key.is_empty()).then(|| args.key.join(",")));
    settings.set("--window", Some(args.window.plain()));
    settings.set("--pane", Some(args.pane.plain()));
    settings.set("--lateness", Some(args.lateness.plain()));
    settings.set("-k", Some(args.k));
    settings.set("--every-pane", args.every_pane.then_some(""));
    settings.set("--approx", args.approx.then_some(""));
    settings.set("--memory", args.memory.map(|memory| memory.0));
    settings
}

struct Running {
    counts: Counts,
    panes: Panes,
}

impl Running {
    /// At the beginning, or where the run before ended.
    fn new(args: &TopArgs, grid: Grid, loaded: Option<&mut Loaded>) -> Result<Running, Failure> {
        let Some(loaded) = loaded else {
            return Ok(Running { counts: Counts::new(args, None)?, panes: Panes::new(grid, args) });
        };
        let mut counts = Counts::new(args, Some(loaded))?;
        loaded.end()?;
        let Saved { panes, refused } = loaded.counts()?;
        counts.refused = refused;
        Ok(Running { counts, panes: Panes::new(grid, args).go_on(panes) })
    }
}

/// What is not in the structure.
#[derive(Serialize, Deserialize)]
struct Saved {
    panes: Open,
    refused: u64,
}

impl Keep for Running {
    fn counts(&self) -> serde_json::Result<serde_json::Value> {
        serde_json::to_value(Saved { panes: self.panes.kept(), refused: self.counts.refused })
    }

    fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.counts.write(out)
    }
}

fn stream(
    args: &TopArgs,
    running: &mut Running,
    mut state: Option<&mut State>,
    input: &mut Input,
    metrics: &Metrics,
    watched: Option<&Pulse>,
) -> Result<(), Failure> {
    let is_quiet = args.output.quiet || watched.is_some();
    let progress = Progress::over_input(is_quiet, args.every_pane, input.size(), input.read_counter());
    loop {
        match state::next_until(input, state.as_deref(), watched.map(Pulse::stop))? {
            Next::Batch(batch) => {
                let (events, pause) = (batch.events.len() as u64, batch.pause);
                running.panes.take(&batch, &mut running.counts)?;
                if pause {
                    running.panes.flush()?;
                }
                progress.advance(events);
                running.counts.come_to(running.panes.newest());
                let (told, skipped) = (told(&running.panes, &running.counts), input.skipped().records);
                metrics.tell(&told);
                metrics.skipped(skipped);
                if let Some(pulse) = watched {
                    pulse.tell(told, skipped);
                }
            }
            Next::Nothing => {}
            Next::End => break,
        }
        if let Some(state) = &mut state
            && state.is_due()
        {
            running.panes.flush()?;
            state.step(input, None, None, running)?;
        }
    }
    // Before panes end that the next run may still have something for.
    if let Some(state) = &mut state {
        running.panes.flush()?;
        state.save(input, None, None, running)?;
        if args.every_pane {
            return Ok(());
        }
    }
    running.panes.end(&running.counts)
}

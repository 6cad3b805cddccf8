//! `windlass top`: the hottest keys of a sliding window, at its end or at the end of every pane.

mod counts;
mod live;
mod merge;
mod panes;
#[cfg(feature = "remote")]
mod remote;
mod report;
mod table;
mod verdicts;

use std::{io, sync::Arc, time::Instant};

use serde::{Deserialize, Serialize};
use windlass::{Seed, TopSnapshot};

use crate::{
    args::{ReportKind, TopArgs},
    failure::Failure,
    grid::Grid,
    input::{Batch, Input, Need, Next},
    metrics::{Figure, Metrics},
    output::{self, Progress},
    state::{self, Keep, Loaded, Settings, State},
};
use counts::{Counts, Live};
use live::Pulse;
use panes::{Open, Panes};
use report::Report;
use verdicts::Verdicts;

/// Of longer keys that much is told. (They are told apart by all of it.)
const NAME: usize = 4096;

/// See [`Running::told`].
const FIGURES: [Figure; 7] = [
    Figure::count("events", "Events."),
    Figure::count("panes", "Panes that are over."),
    Figure::count("late_events", "Events whose pane was over."),
    Figure::count("uncounted_events", "Events that came too late for any window."),
    Figure::count("refused_events", "Events of keys for which there was no room."),
    Figure::count("duplicates", "With --id: events whose id was seen in the window."),
    Figure::count("denied_events", "With --limit: events that would have been denied."),
];

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
    let metrics = Metrics::start(&args.metrics, "top", &FIGURES, |metrics| {
        running.counts.show(metrics)?;
        running.verdicts.show(metrics)
    })?;
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
    let end = running.panes.last().map(|pane| grid.begin(pane + 1));
    let lists = Lists {
        list: end.map(|end| running.counts.list(end)),
        denials: end.and_then(|end| running.verdicts.denials(end)),
    };
    let report = Report::new(&running, &lists, args, &input, took);
    tell(args, &lists, &report, input.is_timed(), input.skipped().first.as_deref())
}

/// Those of the last window, if anything has come.
struct Lists {
    list: Option<TopSnapshot>,
    /// With `--limit`.
    denials: Option<TopSnapshot>,
}

/// The table, if there is one, and the summary.
fn tell(
    args: &TopArgs,
    lists: &Lists,
    report: &Report,
    timed: bool,
    skipped: Option<&str>,
) -> Result<(), Failure> {
    let is_table = !args.every_pane;
    if is_table && args.output.report != Some(ReportKind::Json) {
        output::report(&table::text(lists), true)?;
    }
    output::summary(&args.output, report, || report.text(args, timed, skipped), is_table)?;
    report.outcome(args)
}

fn need(args: &TopArgs) -> Need<'_> {
    Need {
        key: &args.key,
        option: "--key",
        parts: &[],
        beside: &args.id,
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
    verdicts: Verdicts,
}

impl Running {
    /// At the beginning, or where the run before ended.
    fn new(args: &TopArgs, grid: Grid, loaded: Option<&mut Loaded>) -> Result<Running, Failure> {
        let (panes, verdicts) = (Panes::new(grid, args), Verdicts::new(args)?);
        let Some(loaded) = loaded else {
            return Ok(Running { counts: Counts::new(args, None)?, panes, verdicts });
        };
        let mut counts = Counts::new(args, Some(loaded))?;
        loaded.end()?;
        let Saved { panes: saved, refused } = loaded.counts()?;
        counts.refused = refused;
        Ok(Running { counts, panes: panes.go_on(saved), verdicts })
    }
}

impl Running {
    /// See [`FIGURES`].
    fn told(&self) -> [u64; FIGURES.len()] {
        let Running { counts, panes, verdicts } = self;
        let (duplicates, denied) = (verdicts.duplicates(), verdicts.denied());
        [
            panes.events,
            panes.over,
            panes.late,
            panes.uncounted,
            counts.refused,
            duplicates.unwrap_or(0),
            denied.unwrap_or(0),
        ]
    }

    /// Counts a batch.
    fn take(&mut self, batch: &Batch<'_>) -> Result<(), Failure> {
        self.panes.take(batch, &mut self.counts)?;
        self.counts.come_to(self.panes.newest());
        self.verdicts.take(batch)
    }

    fn memory_bytes(&self) -> u64 {
        self.counts.memory_bytes() + self.verdicts.memory_bytes()
    }

    /// The counts, and with `--limit` those of what it denied, to look at from another thread.
    fn live(&self) -> (Arc<Live>, Option<Arc<Live>>) {
        (self.counts.live(), self.verdicts.live())
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
                running.take(&batch)?;
                if pause {
                    running.panes.flush()?;
                }
                progress.advance(events);
                let (told, skipped) = (running.told(), input.skipped().records);
                metrics.tell(&told);
                metrics.skipped(skipped);
                if let Some(pulse) = watched {
                    pulse.tell(told, skipped, running.memory_bytes());
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

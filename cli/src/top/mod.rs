//! `windlass top`: the hottest keys of a sliding window, at its end or at the end of every pane.

mod counts;
mod merge;
mod panes;
mod report;
mod table;

use std::time::Instant;

use windlass::{Seed, TopSnapshot};

use crate::{
    args::{ReportKind, TopArgs},
    failure::Failure,
    grid::Grid,
    input::{Input, Need},
    metrics::{Figure, Metrics},
    output::{self, Progress},
};
use counts::Counts;
use panes::Panes;
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
    if args.merge {
        return merge::run(args, grid);
    }
    let mut counts = Counts::new(args)?;
    let metrics = Metrics::start(&args.metrics, "top", &FIGURES, |metrics| counts.show(metrics))?;
    let mut input = Input::new(&args.input, need(args))?;
    metrics.reads(input.read_counter());
    let started = Instant::now();
    let mut panes = Panes::new(grid, args);
    let done = stream(args, &mut counts, &mut panes, &mut input, &metrics);
    // What is over has its place in the output, whatever came then.
    panes.flush()?;
    done?;
    let took = started.elapsed();
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

fn stream(
    args: &TopArgs,
    counts: &mut Counts,
    panes: &mut Panes,
    input: &mut Input,
    metrics: &Metrics,
) -> Result<(), Failure> {
    let progress =
        Progress::over_input(args.output.quiet, args.every_pane, input.size(), input.read_counter());
    while let Some(batch) = input.next()? {
        let (events, pause) = (batch.events.len() as u64, batch.pause);
        panes.take(&batch, counts)?;
        if pause {
            panes.flush()?;
        }
        progress.advance(events);
        counts.come_to(panes.newest());
        metrics.tell(&told(panes, counts));
        metrics.skipped(input.skipped().records);
    }
    panes.end(counts)
}

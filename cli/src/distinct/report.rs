//! What happened.

use std::time::Duration;

use serde::Serialize;

use super::{Counter, panes::Panes};
use crate::{args::DistinctArgs, grid::Grid, input::Skipped, output};

/// As `--report json` has it.
#[derive(Serialize)]
pub(super) struct Report {
    command: &'static str,
    events: u64,
    panes: u64,
    /// The largest number of a pane.
    largest: u64,
    /// Events whose pane was over: they count in the one that was open.
    late: u64,
    /// Records that gave no event.
    skipped: u64,
    seconds: f64,
    memory_bytes: u64,
    window_ns: u64,
    pane_ns: u64,
    seed: u64,
    /// With `--approx`: the largest standard error of a number, in ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    standard_error: Option<f64>,
}

impl Report {
    pub(super) fn new(
        counter: &Counter,
        (grid, panes): (Grid, &Panes),
        events: u64,
        skipped: &Skipped,
        took: Duration,
    ) -> Report {
        let (memory_bytes, standard_error) = match counter {
            Counter::Exact(exact) => (exact.dedup.memory_bytes(), None),
            Counter::Approx(approx) => (approx.filter.memory_bytes(), Some(approx.error)),
        };
        Report {
            command: "distinct",
            events,
            panes: panes.written,
            largest: panes.largest,
            late: panes.late,
            skipped: skipped.records,
            seconds: took.as_secs_f64(),
            memory_bytes,
            window_ns: grid.window(),
            pane_ns: grid.pane,
            seed: counter.seed().0,
            standard_error,
        }
    }

    pub(super) fn text(&self, args: &DistinctArgs, took: Duration, skipped: &Skipped) -> String {
        let mut text = format!(
            "{} events in {} panes of {}; different ids in {}: {} at most\nmemory {}; {}\n",
            output::count(self.events),
            output::count(self.panes),
            args.pane,
            args.window,
            output::count(self.largest),
            output::memory(self.memory_bytes),
            output::seconds(took, self.events),
        );
        if self.late > 0 {
            text += &format!(
                "{} came when their pane was over, counted in the one of the event before\n",
                output::count(self.late)
            );
        }
        if let Some(error) = self.standard_error {
            text += &format!("approximate, with a standard error of {error:.1} ids at most\n");
        }
        text += &output::skipped(skipped.records, skipped.first.as_deref());
        text
    }
}

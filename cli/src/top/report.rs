//! What happened.

use std::time::Duration;

use serde::Serialize;
use windlass::{TopRow, TopSnapshot};

use super::{counts::Counts, panes::Panes};
use crate::{args::TopArgs, failure::Failure, input::Input, output};

/// As `--report json` has it.
#[derive(Serialize)]
pub(super) struct Report {
    command: &'static str,
    events: u64,
    /// From the first event's to the last one's.
    panes: u64,
    /// Of the last window.
    #[serde(flatten)]
    last: Option<Last>,
    /// Events whose pane was over.
    late: u64,
    /// .. that are not counted: no window to come had their pane.
    uncounted: u64,
    /// Events of keys for which there was no room.
    refused: u64,
    /// With `--every-pane`: panes whose lists are not certified.
    #[serde(skip_serializing_if = "Option::is_none")]
    uncertified: Option<u64>,
    /// Records that gave no event.
    skipped: u64,
    seconds: f64,
    memory_bytes: u64,
    window_ns: u64,
    pane_ns: u64,
    seed: u64,
}

#[derive(Serialize)]
struct Last {
    /// When it began and ended; nanoseconds since 1970 (without event times since the start of the run).
    start_ns: u64,
    end_ns: u64,
    /// Events in it.
    total: u64,
    /// The rows are exact: keys, order and counts.
    certified: bool,
    /// No other key has more.
    tail: u64,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    key: String,
    count: u64,
    lower: u64,
    upper: u64,
}

impl Report {
    pub(super) fn new(
        counts: &Counts,
        panes: &Panes,
        list: Option<&TopSnapshot>,
        input: &Input,
        took: Duration,
    ) -> Report {
        let (stats, grid) = (counts.stats(), panes.grid());
        Report {
            command: "top",
            events: panes.events,
            panes: panes.over,
            last: list.map(Last::of),
            late: panes.late,
            uncounted: panes.uncounted,
            refused: counts.refused,
            uncertified: panes.uncertified(),
            skipped: input.skipped().records,
            seconds: took.as_secs_f64(),
            memory_bytes: stats.counter.memory_bytes,
            window_ns: grid.window(),
            pane_ns: grid.pane,
            seed: counts.seed().0,
        }
    }

    pub(super) fn text(&self, args: &TopArgs, input: &Input) -> String {
        let mut text = format!(
            "{} events in {} panes of {}",
            output::count(self.events),
            output::count(self.panes),
            args.pane
        );
        if let Some(last) = &self.last {
            text += &last.text(args, input.is_timed());
        }
        let took = output::seconds(Duration::from_secs_f64(self.seconds), self.events);
        text += &format!("\nmemory {}; {took}\n", output::memory(self.memory_bytes));
        let in_later = self.late - self.uncounted;
        if in_later > 0 && args.every_pane {
            text += &format!(
                "{} came after their pane's line, and count in those after it\n",
                output::count(in_later)
            );
        }
        if self.uncounted > 0 && args.every_pane {
            text += &format!(
                "{} came too late for any line: --lateness waits for them\n",
                output::count(self.uncounted)
            );
        }
        if self.refused > 0 {
            text += &format!("{} events of keys for which there was no room\n", output::count(self.refused));
        }
        text + &output::skipped(input.skipped().records, input.skipped().first.as_deref())
    }

    /// Lists that may be wrong are a failure.
    pub(super) fn outcome(&self, args: &TopArgs) -> Result<(), Failure> {
        let own = || self.last.as_ref().is_some_and(|last| !last.certified).into();
        let (wrong, all) =
            (self.uncertified.unwrap_or_else(own), if args.every_pane { self.panes } else { 1 });
        if wrong == 0 {
            return Ok(());
        }
        let memory = match args.state.max_memory {
            Some(most) => format!("--max-memory {} is", output::memory(most.0)),
            None => "three quarters of the machine's memory are".to_owned(),
        };
        Err(Failure::Running(format!(
            "no room for all keys: {memory} reached; {} of {} lists are not certified; give more",
            output::count(wrong),
            output::count(all)
        )))
    }
}

impl Last {
    fn of(list: &TopSnapshot) -> Last {
        let row = |row: &TopRow| Row {
            key: row.key.to_string(),
            count: row.count,
            lower: row.lower,
            upper: row.upper,
        };
        Last {
            start_ns: list.start.0,
            end_ns: list.end.0,
            total: list.total,
            certified: list.certified,
            tail: list.tail,
            rows: list.rows.iter().map(row).collect(),
        }
    }

    fn text(&self, args: &TopArgs, timed: bool) -> String {
        let mut text = format!(
            "; {} in the last {}\nfrom {} to {}\n",
            output::count(self.total),
            args.window,
            output::time(self.start_ns, timed),
            output::time(self.end_ns, timed),
        );
        text += if self.certified { "certified exact" } else { "NOT CERTIFIED: keys may be missing" };
        text += &match self.tail {
            0 => "; there is no other key".to_owned(),
            u64::MAX => String::new(),
            tail => format!("; no other key has more than {}", output::count(tail)),
        };
        text
    }
}

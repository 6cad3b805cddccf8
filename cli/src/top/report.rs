//! What happened.

use std::time::Duration;

use serde::Serialize;
use windlass::{TopRow, TopSnapshot};

use super::{Lists, Running, verdicts::Denied};
use crate::{args::TopArgs, failure::Failure, grid::Grid, input::Input, output};

/// As `--report json` has it.
#[derive(Serialize)]
pub(super) struct Report {
    command: &'static str,
    pub(super) events: u64,
    /// From the first event's to the last one's.
    pub(super) panes: u64,
    /// Of the last window.
    #[serde(flatten)]
    last: Option<Last>,
    /// Events whose pane was over.
    late: u64,
    /// .. that are not counted: no window to come had their pane.
    uncounted: u64,
    /// Events of keys for which there was no room.
    pub(super) refused: u64,
    /// With `--id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicates: Option<u64>,
    /// With `--limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    denied: Option<u64>,
    /// What there was no room for beside the counts: ids, and keys of the limit.
    #[serde(skip)]
    without_room: [u64; 2],
    /// With `--every-pane`: panes whose lists are not certified.
    #[serde(skip_serializing_if = "Option::is_none")]
    uncertified: Option<u64>,
    /// Records that gave no event.
    pub(super) skipped: u64,
    seconds: f64,
    pub(super) memory_bytes: u64,
    window_ns: u64,
    pane_ns: u64,
    seed: u64,
    /// With `--remote`.
    #[cfg(feature = "remote")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remote: Option<super::remote::Merged>,
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
    /// With `--limit`; null: less often than all keys of the list of those that were denied most.
    #[serde(skip_serializing_if = "Option::is_none")]
    denied: Option<Option<u64>>,
}

impl Report {
    pub(super) fn new(
        running: &Running,
        lists: &Lists,
        args: &TopArgs,
        input: &Input,
        took: Duration,
    ) -> Report {
        let Running { counts, panes, verdicts } = running;
        Report {
            events: panes.events,
            panes: panes.over,
            late: panes.late,
            uncounted: panes.uncounted,
            refused: counts.refused,
            uncertified: panes.uncertified(),
            skipped: input.skipped().records,
            duplicates: verdicts.duplicates(),
            denied: verdicts.denied(),
            without_room: verdicts.without_room(),
            memory_bytes: running.memory_bytes(),
            ..Report::of_all(panes.grid(), lists, args, took)
        }
    }

    /// Of several counts, which are put into it later.
    pub(super) fn of_all(grid: Grid, lists: &Lists, args: &TopArgs, took: Duration) -> Report {
        Report {
            command: "top",
            events: 0,
            panes: 0,
            last: lists.list.as_ref().map(|list| Last::of(list, lists.denials.as_ref())),
            late: 0,
            uncounted: 0,
            refused: 0,
            duplicates: None,
            denied: None,
            without_room: [0; 2],
            uncertified: None,
            skipped: 0,
            seconds: took.as_secs_f64(),
            memory_bytes: 0,
            window_ns: grid.window(),
            pane_ns: grid.pane,
            seed: args.state.seed,
            #[cfg(feature = "remote")]
            remote: None,
        }
    }

    pub(super) fn text(&self, args: &TopArgs, timed: bool, skipped: Option<&str>) -> String {
        let mut text = format!(
            "{} events in {} panes of {}",
            output::count(self.events),
            output::count(self.panes),
            args.pane
        );
        if let Some(last) = &self.last {
            text += &last.text(args, timed);
        }
        let took = output::seconds(Duration::from_secs_f64(self.seconds), self.events);
        text += &format!("\nmemory {}; {took}\n", output::memory(self.memory_bytes));
        text += &self.verdicts(args);
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
        #[cfg(feature = "remote")]
        if let Some(merged) = &self.remote {
            text += &merged.text();
        }
        text + &output::skipped(self.skipped, skipped)
    }

    /// What `--id` and `--limit` ask for.
    fn verdicts(&self, args: &TopArgs) -> String {
        let mut text = String::new();
        let told = |number: u64| (output::count(number), output::share(number, self.events));
        if let Some((number, share)) = self.duplicates.map(told) {
            text += &format!("{number} duplicates ({share})\n");
        }
        if let (Some((number, share)), Some(limit)) = (self.denied.map(told), args.limit) {
            text += &format!("{number} would have been denied by {limit} for each key ({share})\n");
        }
        let [ids, keys] = self.without_room;
        if ids > 0 {
            text += &format!("{} live ids forgotten early: --max-memory is too small\n", output::count(ids));
        }
        if keys > 0 {
            text += &format!("{} events of keys for which the limit had no room\n", output::count(keys));
        }
        text
    }

    /// Lists that may be wrong are a failure.
    pub(super) fn outcome(&self, args: &TopArgs) -> Result<(), Failure> {
        let own = || self.last.as_ref().is_some_and(|last| !last.certified).into();
        let (wrong, all) =
            (self.uncertified.unwrap_or_else(own), if args.every_pane { self.panes } else { 1 });
        // (Bounds are what was asked for; and of merged lists more of each cannot be had.)
        if wrong == 0 || args.approx || args.is_merged() && self.refused == 0 {
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
    fn of(list: &TopSnapshot, denials: Option<&TopSnapshot>) -> Last {
        let denied = denials.map(Denied::of);
        let row = |row: &TopRow| Row {
            key: row.key.to_string(),
            count: row.count,
            lower: row.lower,
            upper: row.upper,
            denied: denied.as_ref().map(|denied| denied.count(&row.key)),
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
        text += match self.certified {
            true => "certified exact",
            false if args.approx || args.is_merged() => "not certified: counts lie between the bounds",
            false => "NOT CERTIFIED: keys may be missing",
        };
        text += &match self.tail {
            0 => "; there is no other key".to_owned(),
            u64::MAX => String::new(),
            tail => format!("; no other key has more than {}", output::count(tail)),
        };
        text
    }
}

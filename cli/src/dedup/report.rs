//! What happened.

use std::time::Duration;

use serde::Serialize;
use windlass::{Dedup, Window};

use super::{Counts, judge::Judge};
use crate::{filter::Figures, input::Skipped, output};

/// As `--report json` has it.
#[derive(Serialize)]
pub(super) struct Report {
    command: &'static str,
    events: u64,
    fresh: u64,
    duplicates: u64,
    /// Records that gave no event.
    skipped: u64,
    #[serde(flatten)]
    ids: Option<Ids>,
    seconds: f64,
    memory_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    window_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window_events: Option<u64>,
    seed: u64,
    /// With `--approx`.
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<Figures>,
}

/// Of ids that are kept.
#[derive(Serialize)]
struct Ids {
    /// Within the window at the end, estimated if there are many.
    live: u64,
    /// Events further behind the newest than the lateness.
    late: u64,
    /// Live ids forgotten early, for lack of room.
    evicted: u64,
    /// New ids for which there was no room (with `--on-full evict`: passed on, and not remembered).
    refused: u64,
    capacity: u64,
}

impl Ids {
    fn of(dedup: &Dedup, figures: super::Figures) -> Ids {
        let stats = dedup.stats();
        Ids {
            live: stats.live,
            late: figures.late,
            evicted: figures.evicted,
            refused: figures.refused,
            capacity: stats.capacity,
        }
    }
}

impl Report {
    pub(super) fn new(counts: &Counts, judge: &Judge, skipped: &Skipped, took: Duration) -> Report {
        let (ids, filter, memory_bytes) = match judge {
            Judge::Exact(exact) => {
                (Some(Ids::of(&exact.dedup, counts.figures)), None, exact.dedup.memory_bytes())
            }
            Judge::Approx(approx) => {
                (None, Some(Figures::of(&approx.filter, counts.figures.late)), approx.filter.memory_bytes())
            }
        };
        let window = judge.window();
        Report {
            command: "dedup",
            events: counts.events,
            fresh: counts.fresh,
            duplicates: counts.events - counts.fresh,
            skipped: skipped.records,
            ids,
            seconds: took.as_secs_f64(),
            memory_bytes,
            window_ns: window.ticks().filter(|_| !window.counts_events()),
            window_events: window.ticks().filter(|_| window.counts_events()),
            seed: judge.seed().0,
            filter,
        }
    }

    pub(super) fn text(&self, window: Window, took: Duration, skipped: &Skipped) -> String {
        let mut text = format!(
            "{} events: {} fresh, {} duplicates ({})\nwindow {}, ",
            output::count(self.events),
            output::count(self.fresh),
            output::count(self.duplicates),
            output::share(self.duplicates, self.events),
            output::window(window),
        );
        text += &match &self.ids {
            Some(ids) => format!("room for {} live ids", output::count(ids.capacity)),
            None => "approximate".to_owned(),
        };
        let (memory, took) = (output::memory(self.memory_bytes), output::seconds(took, self.events));
        text += &format!("; memory {memory}; {took}\n");
        if let Some(ids) = &self.ids {
            for (number, what) in [
                (ids.late, "later than --lateness, counted as arriving at its edge"),
                (ids.evicted, "live ids forgotten early: --max-memory is too small"),
                (ids.refused, "ids passed on without being remembered: --max-memory is too small"),
            ] {
                if number > 0 {
                    text += &format!("{} {what}\n", output::count(number));
                }
            }
        }
        if let Some(filter) = &self.filter {
            text += &filter.text();
        }
        text += &output::skipped(skipped.records, skipped.first.as_deref());
        text
    }
}

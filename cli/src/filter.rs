//! What commands have in common with `--approx`: the filter's settings and figures.

use std::time::Duration;

use serde::Serialize;
use windlass::{BloomBuilder, ConfigError, RotatingBloom, Seed, Window};

use crate::{
    args::{ApproxArgs, StateArgs},
    failure::Failure,
    output, room,
};

/// Refuses what goes with the other way only.
pub(crate) fn check(approx: &ApproxArgs, state: &StateArgs) -> Result<(), Failure> {
    match (approx.approx, &approx.fpr, state.max_memory) {
        (false, Some(fpr), _) => {
            Err(Failure::bad(format_args!("--fpr {fpr} needs --approx: without it there are no errors")))
        }
        (true, _, Some(most)) => Err(Failure::bad(format_args!(
            "--max-memory {} does not go with --approx, whose memory is fixed: by --capacity and --fpr",
            output::memory(most.0)
        ))),
        _ => Ok(()),
    }
}

/// With the capacity, the error and the seed of the command line.
pub(crate) fn of(approx: &ApproxArgs, state: &StateArgs, builder: BloomBuilder) -> BloomBuilder {
    let builder = builder.seed(Seed(state.seed));
    let builder = match state.capacity {
        Some(ids) => builder.expected_ids(ids.0),
        None => builder,
    };
    match &approx.fpr {
        Some(fpr) => builder.error(fpr.share),
        None => builder,
    }
}

/// The builder's error in the words of the command line.
pub(crate) fn refused(state: &StateArgs, error: &ConfigError) -> Failure {
    match (error.field, state.capacity) {
        ("expected_ids", Some(ids)) => room::out_of_range(format_args!("--capacity {ids}"), &error.limit),
        // The window's, by events.
        ("expected_ids", None) => room::out_of_range("the number of ids in a window", &error.limit),
        (field, _) => room::out_of_range(format_args!("{field} {}", error.value), &error.limit),
    }
}

/// What the filter says about itself at the end, as `--report json` has it.
#[derive(Serialize)]
pub(crate) struct Figures {
    bytes: u64,
    panes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pane_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pane_events: Option<u64>,
    layout: String,
    probes: u32,
    expected_ids: u64,
    /// With as many ids as expected.
    expected_error: f64,
    /// With those that are in it at the end.
    present_error: f64,
    /// The share of up to 65,536 ids, made up for it, that were taken for seen at the end.
    sampled_error: f64,
    /// How often a pane could not begin in time; then ids were kept longer.
    late: u64,
    advice: Option<&'static str>,
}

impl Figures {
    pub(crate) fn of(filter: &RotatingBloom) -> Figures {
        let (plan, stats) = (filter.plan(), filter.stats());
        let ticks = |events| plan.pane.ticks().filter(|_| plan.pane.counts_events() == events);
        Figures {
            bytes: plan.bytes,
            panes: plan.panes,
            pane_ns: ticks(false),
            pane_events: ticks(true),
            layout: plan.layout.to_string(),
            probes: plan.probes,
            expected_ids: plan.expected_ids,
            expected_error: plan.expected_error,
            present_error: stats.expected_error,
            sampled_error: stats.sampled_error,
            late: stats.late,
            advice: stats.advice(),
        }
    }

    pub(crate) fn text(&self) -> String {
        let percent = |share: f64| format!("{:.4} %", 100.0 * share);
        let mut text = format!(
            "filter: {} panes of {}, {}, {} probes, {} for {} ids\nerror: {} expected of a full filter, {} at the end, {} in a \
             sample\n",
            self.panes,
            match (self.pane_ns, self.pane_events) {
                (Some(ns), _) => span(ns),
                (_, events) => output::window(Window::last_n(events.unwrap_or(0))),
            },
            self.layout,
            self.probes,
            output::memory(self.bytes),
            output::count(self.expected_ids),
            percent(self.expected_error),
            percent(self.present_error),
            percent(self.sampled_error),
        );
        if self.late > 0 {
            text += &format!("{} panes began late: ids were kept longer\n", output::count(self.late));
        }
        if let Some(advice) = self.advice {
            text += &format!("the filter is {advice} (--capacity)\n");
        }
        text
    }
}

/// A pane's length need not be a round number.
fn span(nanos: u64) -> String {
    if nanos.is_multiple_of(1_000_000) {
        return output::window(Window::time(Duration::from_nanos(nanos)));
    }
    format!("{:.3?}", Duration::from_nanos(nanos))
}

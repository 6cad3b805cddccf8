//! `windlass limit --policy`: several limits in one decision.

mod file;
mod report;

use std::{path::Path, sync::Arc};

use windlass::{LimitSet, Seed, SetAdmission, Tick};

use super::{
    FIGURES,
    clients::Span,
    judge::{ALLOWED, DENIED, STAMPS},
    passed,
};
use crate::{
    args::{LimitArgs, PassedKind},
    failure::Failure,
    input::{Batch, Need},
    metrics::Metrics,
    output, room,
    sift::sift,
};
use report::Report;

pub(super) fn run(args: &LimitArgs, file: &Path) -> Result<(), Failure> {
    let limits = file::read(file)?;
    let seed = Seed(args.state.seed);
    let builder = limits.iter().fold(LimitSet::builder(), |builder, limit| builder.limit(limit.rule()));
    let set = builder.seed(seed).lateness(args.sift.lateness.duration).build();
    let set = set.map_err(|error| match error.field {
        "lateness" => {
            room::out_of_range(format_args!("--lateness {}", args.sift.lateness), "1667d (4.5 years) at most")
        }
        field => Failure::bad(format_args!(
            "--policy {}: {field}: {} is out of range: {}",
            file.display(),
            error.value,
            error.limit
        )),
    })?;
    let key: Vec<String> = limits.iter().flat_map(|limit| limit.key.clone()).collect();
    let parts: Vec<usize> = limits.iter().map(|limit| limit.key.len()).filter(|&fields| fields > 0).collect();
    let need = Need {
        key: &key,
        option: "--policy",
        parts: &parts,
        may_be_none: true,
        names: None,
        text: args.emit != PassedKind::None,
        numbered: false,
        seed,
    };
    let set = Arc::new(set);
    let metrics =
        Metrics::start(&args.sift.metrics, "limit", &FIGURES, |metrics| metrics.add("limits", &set))?;
    let mut judge = Judge::new(&set, parts.len(), args);
    let (input, took) = sift(&args.sift, need, passed(args), &metrics, |batch, marks| {
        let done = judge.mark(batch, marks);
        metrics.tell(&[judge.events, judge.allowed, judge.events - judge.allowed]);
        done
    })?;
    let report = Report::new(args, &judge, &limits, &input, took);
    output::summary(&args.sift.output, &report, || report.text(&input), args.emit == PassedKind::None)
}

/// Asks the set, event by event, and counts.
struct Judge<'a> {
    set: &'a LimitSet,
    /// Keys of an event.
    keys: usize,
    names: Vec<&'a str>,
    events: u64,
    allowed: u64,
    /// From the first to the last denial.
    denied: Option<Span>,
    /// By limit: how many it was the first to refuse.
    denied_by: Vec<u64>,
    first: Option<Tick>,
    /// Nanoseconds after the first event that the limits surely have stamps for.
    range: u64,
}

impl<'a> Judge<'a> {
    fn new(set: &'a LimitSet, keys: usize, args: &LimitArgs) -> Judge<'a> {
        let nanos = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let longest = set.limits().map(|(_, quota, _)| nanos(quota.per())).max().unwrap_or(0);
        // Less what they keep for late events and for the windows before the first.
        let before = nanos(args.sift.lateness.duration).saturating_add(5 * longest.max(1000));
        let names: Vec<&str> = set.limits().map(|(name, ..)| name).collect();
        Judge {
            set,
            keys,
            denied_by: vec![0; names.len()],
            names,
            events: 0,
            allowed: 0,
            denied: None,
            first: None,
            range: STAMPS.saturating_sub(before),
        }
    }

    /// A mark per event, up to the first whose time lies too far from the first of all: what is wrong with that one.
    fn mark(&mut self, batch: &Batch<'_>, marks: &mut Vec<u8>) -> Option<Failure> {
        marks.clear();
        let first = *self.first.get_or_insert(batch.events.first()?.1);
        for (i, &(_, at)) in batch.events.iter().enumerate() {
            if at.0.saturating_sub(first.0) > self.range {
                let days = self.range / 86_400_000_000_000;
                let event = self.events + 1;
                let what = format!("its time is more than {days} days after that of the first event");
                return Some(Failure::Bad(format!("event {event}: {what}")));
            }
            self.events += 1;
            let keys = &batch.parts[i * self.keys..][..self.keys];
            marks.push(match self.set.check_at(keys, 1, at) {
                SetAdmission::Allowed { .. } => {
                    self.allowed += 1;
                    ALLOWED
                }
                SetAdmission::Denied { limit, .. } | SetAdmission::Never { limit } => {
                    self.denied = Some(self.denied.map_or(Span::of(at), |span| span.and(at)));
                    let place = self.names.iter().position(|&name| name == limit);
                    if let Some(denied) = place.and_then(|place| self.denied_by.get_mut(place)) {
                        *denied += 1;
                    }
                    DENIED
                }
            });
        }
        None
    }
}

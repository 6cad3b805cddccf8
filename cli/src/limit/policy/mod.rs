//! `windlass limit --policy`: several limits in one decision.

mod denials;
pub(crate) mod file;
#[cfg(feature = "remote")]
pub(super) mod remote;
mod report;

use std::{io, path::Path, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use windlass::{ConfigError, LimitSet, LimitSetStats, Seed, SetAdmission, Tick};

use super::{
    FIGURES,
    clients::Span,
    judge::{ALLOWED, DENIED, Figures},
    of_all, passed,
    reach::Reach,
};
use crate::{
    args::{LimitArgs, PassedKind},
    failure::Failure,
    input::{Batch, Need},
    metrics::Metrics,
    output, room,
    sift::{Sifter, sift},
    state::{Keep, Loaded, Settings, State},
};
use denials::Denials;
use file::Limit;
use report::Report;

pub(super) fn run(args: &LimitArgs, file: &Path) -> Result<(), Failure> {
    let limits = file::read(file)?;
    let order = args.sift.input.order;
    let (state, loaded) = State::open(&args.save, "limit", order, || settings(args, &limits))?.unzip();
    let mut loaded = loaded.flatten();
    let seed = Seed(args.state.seed);
    let set = start(args, (file, &limits), seed, loaded.as_mut())?;
    let (key, parts) = keys(&limits);
    let set = Arc::new(set);
    let denials = Arc::new(Denials::of(&limits));
    let metrics = Metrics::start(&args.sift.metrics, "limit", &FIGURES, |metrics| {
        metrics.add("limits", &set)?;
        metrics.add("policy", &denials)
    })?;
    let mut judge = Judge::new((&set, &denials), parts.len(), args);
    if let Some(loaded) = &mut loaded {
        loaded.end()?;
        judge = judge.go_on(loaded.counts()?);
    }
    let (input, took) =
        sift(&args.sift, need(args, &key, &parts), passed(args), &metrics, (state, loaded), &mut judge)?;
    let report = Report::new(args, judge.judged(), &limits, &input, took);
    output::summary(&args.sift.output, &report, || report.text(&input), args.emit == PassedKind::None)
}

/// The fields of all limits, and how many of them each has that has some.
fn keys(limits: &[Limit]) -> (Vec<String>, Vec<usize>) {
    let key = limits.iter().flat_map(|limit| limit.key.clone()).collect();
    (key, limits.iter().map(|limit| limit.key.len()).filter(|&fields| fields > 0).collect())
}

fn need<'a>(args: &LimitArgs, key: &'a [String], parts: &'a [usize]) -> Need<'a> {
    Need {
        key,
        option: "--policy",
        parts,
        beside: &[],
        may_be_none: true,
        names: None,
        text: args.emit != PassedKind::None,
        numbered: false,
        seed: Seed(args.state.seed),
    }
}

/// The set of the file, at the beginning or as a run before has left it.
fn start(
    args: &LimitArgs,
    (file, limits): (&Path, &[Limit]),
    seed: Seed,
    loaded: Option<&mut Loaded>,
) -> Result<LimitSet, Failure> {
    let builder = limits.iter().fold(LimitSet::builder(), |builder, limit| builder.limit(limit.rule()));
    let builder = builder.seed(seed).lateness(args.sift.lateness.duration);
    let refused = |error: ConfigError| match error.field {
        "lateness" => {
            room::out_of_range(format_args!("--lateness {}", args.sift.lateness), "1667d (4.5 years) at most")
        }
        field => Failure::bad(format_args!(
            "--policy {}: {field}: {} is out of range: {}",
            file.display(),
            error.value,
            error.limit
        )),
    };
    match loaded {
        None => builder.build().map_err(refused),
        // Ticks are the events', whatever the time is.
        Some(loaded) => loaded.restore(|rest| builder.restore(rest, Duration::ZERO), refused),
    }
}

/// What the file says, wherever it is.
fn settings(args: &LimitArgs, limits: &[Limit]) -> Settings {
    let mut settings = of_all(args);
    for (i, limit) in (1..).zip(limits) {
        settings.set(&format!("limit {i} of --policy"), Some(limit));
    }
    settings
}

/// Asks the set, event by event, and counts.
struct Judge<'a> {
    set: &'a LimitSet,
    /// Keys of an event.
    keys: usize,
    counts: Counts<'a>,
    reach: Reach,
    /// What the sets of the runs before have counted.
    before: Figures,
}

impl<'a> Judge<'a> {
    fn new((set, denials): (&'a LimitSet, &'a Denials), keys: usize, args: &LimitArgs) -> Judge<'a> {
        let longest = set.limits().map(|(_, quota, _)| quota.per()).max().unwrap_or_default();
        Judge {
            set,
            keys,
            counts: Counts::new(denials),
            reach: Reach::new(args.sift.lateness.duration, longest),
            before: Figures::default(),
        }
    }

    /// .. where a run before ended.
    fn go_on(self, saved: Saved) -> Judge<'a> {
        let Saved { events, allowed, denied, denied_by, first, newest, figures } = saved;
        let denials = self.counts.denials;
        denials.put_back(&denied_by);
        let reach = self.reach.go_on(first, newest);
        // Limits that are restored take whatever time comes first for the newest.
        self.set.maintain_at(reach.newest, 0);
        Judge { counts: Counts { events, allowed, denied, denials }, reach, before: figures, ..self }
    }

    fn judged(&self) -> Judged<'_> {
        let stats = self.stats();
        Judged {
            counts: &self.counts,
            late: stats.late,
            unknown: stats.unknown,
            memory_bytes: Some(stats.memory_bytes),
        }
    }

    /// The set's figures, of all runs together.
    fn stats(&self) -> LimitSetStats {
        let mut stats = self.set.stats();
        stats.late += self.before.late;
        stats.unknown += self.before.unknown;
        stats
    }
}

/// What came of the events.
struct Counts<'a> {
    events: u64,
    allowed: u64,
    /// From the first to the last denial.
    denied: Option<Span>,
    denials: &'a Denials,
}

impl<'a> Counts<'a> {
    fn new(denials: &'a Denials) -> Counts<'a> {
        Counts { events: 0, allowed: 0, denied: None, denials }
    }

    /// The mark of an event.
    fn add(&mut self, answer: SetAdmission<'_>, at: Tick) -> u8 {
        self.events += 1;
        match answer {
            SetAdmission::Allowed { .. } => {
                self.allowed += 1;
                ALLOWED
            }
            SetAdmission::Denied { limit, .. } | SetAdmission::Never { limit } => {
                self.denied = Some(self.denied.map_or(Span::of(at), |span| span.and(at)));
                self.denials.add(limit);
                DENIED
            }
        }
    }

    fn told(&self) -> [u64; FIGURES.len()] {
        [self.events, self.allowed, self.events - self.allowed]
    }
}

/// What the report has of whoever has judged.
struct Judged<'a> {
    counts: &'a Counts<'a>,
    late: u64,
    unknown: u64,
    /// Of limits that are in this process.
    memory_bytes: Option<u64>,
}

/// What is not in the set's snapshot.
#[derive(Serialize, Deserialize)]
struct Saved {
    events: u64,
    allowed: u64,
    denied: Option<Span>,
    denied_by: Vec<u64>,
    first: Option<u64>,
    newest: u64,
    figures: Figures,
}

impl Keep for Judge<'_> {
    fn counts(&self) -> serde_json::Result<serde_json::Value> {
        let LimitSetStats { late, unknown, .. } = self.stats();
        serde_json::to_value(Saved {
            events: self.counts.events,
            allowed: self.counts.allowed,
            denied: self.counts.denied,
            denied_by: self.counts.denials.counts().collect(),
            first: self.reach.first.map(|first| first.0),
            newest: self.reach.newest.0,
            figures: Figures { late, unknown },
        })
    }

    fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.set.snapshot_at(out, Tick(0), Duration::ZERO).map(drop)
    }
}

impl Sifter for Judge<'_> {
    /// .. up to the first event whose time lies too far from the first of all.
    fn mark(&mut self, batch: &Batch<'_>, marks: &mut Vec<u8>) -> Option<Failure> {
        marks.clear();
        let (events, wrong) = self.reach.take(batch.events);
        for (i, &(_, at)) in events.iter().enumerate() {
            let keys = &batch.parts[i * self.keys..][..self.keys];
            marks.push(self.counts.add(self.set.check_at(keys, 1, at), at));
        }
        wrong.map(|what| Failure::Bad(format!("event {}: {what}", self.counts.events + 1)))
    }

    fn told(&self) -> [u64; FIGURES.len()] {
        self.counts.told()
    }

    fn kept(&self) -> Option<&dyn Keep> {
        Some(self)
    }
}

//! `windlass limit`: which events would have been denied under a rate limit.

mod clients;
mod judge;
pub(crate) mod policy;
mod reach;
#[cfg(feature = "remote")]
mod remote;
mod report;

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    args::{AlgorithmKind, LimitArgs, PassedKind},
    failure::Failure,
    input::{Batch, Need},
    metrics::{Figure, Metrics},
    output, room,
    sift::{Passed, Sifter, sift},
    state::{Framed, Keep, Loaded, Settings, State},
};
use clients::{Clients, Span};
use judge::{ALLOWED, DENIED, Judge};
pub(crate) use reach::Reach;
use report::Report;

/// Of longer names of clients that much is told.
const NAME: usize = 256;

/// See [`Sifter::told`].
const FIGURES: [Figure; 3] = [
    Figure::count("events", "Events."),
    Figure::count("allowed_events", "Events that were allowed."),
    Figure::count("denied_events", "Events that were denied."),
];

pub(crate) fn run(args: &LimitArgs) -> Result<(), Failure> {
    #[cfg(feature = "remote")]
    if let Some(address) = &args.remote.engine.remote {
        return remote::run(args, address);
    }
    if let Some(file) = &args.policy {
        return policy::run(args, file);
    }
    let order = args.sift.input.order;
    let (state, loaded) = State::open(&args.save, "limit", order, || settings(args))?.unzip();
    let mut loaded = loaded.flatten();
    let (judge, counts) = start(args, loaded.as_mut())?;
    let metrics = Metrics::start(&args.sift.metrics, "limit", &FIGURES, |metrics| judge.show(metrics))?;
    let need = Need {
        key: &args.key,
        option: "--key",
        parts: &[],
        beside: &[],
        may_be_none: true,
        names: judge.is_keyed().then_some(NAME),
        text: args.emit != PassedKind::None,
        numbered: false,
        seed: judge.seed(),
    };
    let mut running = Running { judge, counts };
    let (input, took) = sift(&args.sift, need, passed(args), &metrics, (state, loaded), &mut running)?;
    let Running { judge, counts } = running;
    let report = Report::new(args, &counts, &judge.told(), &input, took);
    output::summary(&args.sift.output, &report, || report.text(&input), args.emit == PassedKind::None)
}

/// At the beginning, or where the run before ended.
fn start(args: &LimitArgs, mut loaded: Option<&mut Loaded>) -> Result<(Judge, Counts), Failure> {
    let judge = Judge::new(args, loaded.as_deref_mut())?;
    let Some(loaded) = loaded else {
        let clients = judge.is_keyed().then(Clients::default);
        return Ok((judge, Counts { clients, ..Counts::default() }));
    };
    #[allow(clippy::redundant_closure)] // by itself it is of one lifetime
    let clients = if judge.is_keyed() { Some(loaded.read(|part| Clients::read(part))?) } else { None };
    loaded.end()?;
    let Saved { events, allowed, denied, judge: saved } = loaded.counts()?;
    Ok((judge.go_on(&saved), Counts { events, allowed, denied, clients }))
}

fn settings(args: &LimitArgs) -> Settings {
    let mut settings = of_all(args);
    settings.set("--key", (!args.key.is_empty()).then(|| args.key.join(",")));
    settings.set("--limit", args.limit);
    settings.set("--burst", args.burst);
    settings.set("--algorithm", Some(args.algorithm.name()));
    // Its table does not grow.
    let fixed = args.algorithm == AlgorithmKind::SlidingLog && !args.key.is_empty();
    settings.set("--clients", fixed.then(|| room::capacity(&args.state)));
    settings
}

/// With or without `--policy`.
fn of_all(args: &LimitArgs) -> Settings {
    let mut settings = Settings::of(&args.sift.input, &args.state);
    settings.set("--lateness", Some(args.sift.lateness.plain()));
    settings.set("--decisions", args.sift.decisions.as_ref().map(|_| ""));
    settings
}

struct Running {
    judge: Judge,
    counts: Counts,
}

impl Sifter for Running {
    fn mark(&mut self, batch: &Batch<'_>, marks: &mut Vec<u8>) -> Option<Failure> {
        let trouble = self.judge.mark(batch.events, marks);
        self.counts.add(batch, marks);
        trouble.map(|trouble| Failure::Bad(format!("event {}: {trouble}", self.counts.events + 1)))
    }

    fn told(&self) -> [u64; FIGURES.len()] {
        let Counts { events, allowed, .. } = self.counts;
        [events, allowed, events - allowed]
    }

    fn kept(&self) -> Option<&dyn Keep> {
        Some(self)
    }
}

/// What is neither in the limiter's snapshot nor told of single clients.
#[derive(Serialize, Deserialize)]
struct Saved {
    events: u64,
    allowed: u64,
    denied: Option<Span>,
    judge: judge::Saved,
}

impl Keep for Running {
    fn counts(&self) -> serde_json::Result<Value> {
        let Counts { events, allowed, denied, .. } = self.counts;
        serde_json::to_value(Saved { events, allowed, denied, judge: self.judge.saved() })
    }

    fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.judge.write(out)?;
        let Some(clients) = &self.counts.clients else { return Ok(()) };
        let mut out = Framed::new(out);
        clients.write(&mut out)?;
        out.finish()
    }
}

fn passed(args: &LimitArgs) -> Passed {
    match args.emit {
        PassedKind::Allowed => Passed::Marked(ALLOWED),
        PassedKind::Denied => Passed::Marked(DENIED),
        PassedKind::All => Passed::All,
        PassedKind::None => Passed::None,
    }
}

/// Of a name as much as is told.
fn cut(name: &[u8]) -> &[u8] {
    &name[..name.len().min(NAME)]
}

#[derive(Default)]
struct Counts {
    events: u64,
    allowed: u64,
    /// From the first to the last denial.
    denied: Option<Span>,
    /// With `--key`.
    clients: Option<Clients>,
}

impl Counts {
    fn add(&mut self, batch: &Batch<'_>, marks: &[u8]) {
        self.events += marks.len() as u64;
        for (i, (&event, &mark)) in batch.events.iter().zip(marks).enumerate() {
            match mark {
                DENIED => self.denied = Some(self.denied.map_or(Span::of(event.1), |span| span.and(event.1))),
                _ => self.allowed += 1,
            }
            if let Some(clients) = &mut self.clients {
                clients.count(event, mark, || cut(batch.name(i)));
            }
        }
    }
}

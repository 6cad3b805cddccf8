//! `windlass dedup`: pass each event on once per window.

mod judge;
#[cfg(feature = "remote")]
mod remote;
mod report;

use std::{io, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass::Refused;

use crate::{
    args::{DedupArgs, EmitKind, Span},
    failure::Failure,
    input::{Batch, Need, Skipped},
    metrics::{Figure, Metrics},
    output, room,
    sift::{Passed, Sifter, sift},
    state::{Keep, Loaded, Settings, State},
};
use judge::{DUPLICATE, FRESH, Judge};
use report::Report;

/// See [`Sifter::told`].
const FIGURES: [Figure; 3] = [
    Figure::count("events", "Events."),
    Figure::count("fresh_events", "Events whose id was new."),
    Figure::count("duplicates", "Events whose id was seen in the window."),
];

pub(crate) fn run(args: &DedupArgs) -> Result<(), Failure> {
    #[cfg(feature = "remote")]
    if let Some(address) = &args.remote.engine.remote {
        return remote::run(args, address);
    }
    let order = args.sift.input.order;
    let (state, mut loaded) = State::open(&args.save, "dedup", order, || settings(args))?.unzip();
    let mut loaded = loaded.take().flatten();
    let (judge, counts) = start(args, loaded.as_mut())?;
    let metrics = Metrics::start(&args.sift.metrics, "dedup", &FIGURES, |metrics| judge.show(metrics))?;
    let need = Need {
        key: &args.id,
        option: "--id",
        parts: &[],
        beside: &[],
        may_be_none: false,
        names: None,
        text: args.emit != EmitKind::None,
        numbered: judge.window().counts_events(),
        seed: judge.seed(),
    };
    let mut running = Running { args, judge, counts };
    let (input, took) = sift(&args.sift, need, passed(args), &metrics, (state, loaded), &mut running)?;
    report(args, &running.counts(), &running.judge, input.skipped(), took)
}

fn passed(args: &DedupArgs) -> Passed {
    match args.emit {
        EmitKind::Fresh => Passed::Marked(FRESH),
        EmitKind::Duplicates => Passed::Marked(DUPLICATE),
        EmitKind::All => Passed::All,
        EmitKind::None => Passed::None,
    }
}

/// At the beginning, or where the run before ended.
fn start(args: &DedupArgs, loaded: Option<&mut Loaded>) -> Result<(Judge, Counts), Failure> {
    let Some(loaded) = loaded else { return Ok((Judge::new(args, None)?, Counts::default())) };
    let judge = Judge::new(args, Some(loaded))?;
    loaded.end()?;
    Ok((judge, loaded.counts()?))
}

fn settings(args: &DedupArgs) -> Settings {
    let mut settings = Settings::of(&args.sift.input, &args.state);
    settings.set("--id", (!args.id.is_empty()).then(|| args.id.join(",")));
    settings.set("--window", args.window.as_ref().map(Span::plain));
    settings.set("--window-count", args.window_count);
    settings.set("--lateness", Some(args.sift.lateness.plain()));
    settings.set("--refresh", args.refresh.then_some(""));
    settings.set("--approx", args.approx.approx.then_some(""));
    if args.approx.approx {
        settings.set("--fpr", args.approx.fpr.as_ref());
        settings.set("--panes", args.panes);
        settings.set("--capacity", args.state.capacity);
    }
    settings.set("--decisions", args.sift.decisions.as_ref().map(|_| ""));
    settings
}

struct Running<'a> {
    args: &'a DedupArgs,
    judge: Judge,
    /// The structure's own figures are those of the runs before.
    counts: Counts,
}

impl Running<'_> {
    fn counts(&self) -> Counts {
        Counts { figures: self.counts.figures.and(self.judge.figures()), ..self.counts }
    }
}

impl Sifter for Running<'_> {
    fn mark(&mut self, batch: &Batch<'_>, marks: &mut Vec<u8>) -> Option<Failure> {
        let refused = self.judge.mark(batch.events, marks);
        self.counts.add(marks);
        refused.map(|refused| full(self.args, refused, self.counts.events + 1))
    }

    fn told(&self) -> [u64; FIGURES.len()] {
        let Counts { events, fresh, .. } = self.counts;
        [events, fresh, events - fresh]
    }

    fn kept(&self) -> Option<&dyn Keep> {
        Some(self)
    }
}

impl Keep for Running<'_> {
    fn counts(&self) -> serde_json::Result<Value> {
        serde_json::to_value(Running::counts(self))
    }

    fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.judge.write(out)
    }
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Counts {
    events: u64,
    fresh: u64,
    figures: Figures,
}

/// What the structure has counted. One that is restored begins at 0.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Figures {
    late: u64,
    evicted: u64,
    refused: u64,
}

impl Figures {
    fn and(self, more: Figures) -> Figures {
        Figures {
            late: self.late + more.late,
            evicted: self.evicted + more.evicted,
            refused: self.refused + more.refused,
        }
    }
}

impl Counts {
    fn add(&mut self, marks: &[u8]) {
        self.events += marks.len() as u64;
        self.fresh += marks.iter().filter(|&&mark| mark == FRESH).count() as u64;
    }
}

fn full(args: &DedupArgs, refused: Refused, event: u64) -> Failure {
    match refused {
        Refused::Full => room::full(&args.state, event, "--on-full evict"),
        other => Failure::Bad(format!("event {event}: {other}")),
    }
}

fn report(
    args: &DedupArgs,
    counts: &Counts,
    judge: &Judge,
    skipped: &Skipped,
    took: Duration,
) -> Result<(), Failure> {
    let report = Report::new(counts, judge, skipped, took);
    let text = || report.text(judge.window(), took, skipped);
    output::summary(&args.sift.output, &report, text, args.emit == EmitKind::None)
}

//! `windlass dedup`: pass each event on once per window.

mod judge;
mod report;

use std::time::Duration;

use windlass::Refused;

use crate::{
    args::{DedupArgs, EmitKind},
    failure::Failure,
    input::{Need, Skipped},
    metrics::{Figure, Metrics},
    output, room,
    sift::{Passed, sift},
};
use judge::{DUPLICATE, FRESH, Judge};
use report::Report;

/// See [`Counts::figures`].
const FIGURES: [Figure; 3] = [
    Figure::count("events", "Events."),
    Figure::count("fresh_events", "Events whose id was new."),
    Figure::count("duplicates", "Events whose id was seen in the window."),
];

pub(crate) fn run(args: &DedupArgs) -> Result<(), Failure> {
    let mut judge = Judge::new(args)?;
    let metrics = Metrics::start(&args.sift.metrics, "dedup", &FIGURES, |metrics| judge.show(metrics))?;
    let need = Need {
        key: &args.id,
        option: "--id",
        parts: &[],
        may_be_none: false,
        names: None,
        text: args.emit != EmitKind::None,
        numbered: judge.window().counts_events(),
        seed: judge.seed(),
    };
    let passed = match args.emit {
        EmitKind::Fresh => Passed::Marked(FRESH),
        EmitKind::Duplicates => Passed::Marked(DUPLICATE),
        EmitKind::All => Passed::All,
        EmitKind::None => Passed::None,
    };
    let mut counts = Counts::default();
    let (input, took) = sift(&args.sift, need, passed, &metrics, |batch, marks| {
        let refused = judge.mark(batch.events, marks);
        counts.add(marks);
        metrics.tell(&counts.figures());
        refused.map(|refused| full(args, refused, counts.events + 1))
    })?;
    report(args, &counts, &judge, input.skipped(), took)
}

#[derive(Default)]
struct Counts {
    events: u64,
    fresh: u64,
}

impl Counts {
    fn add(&mut self, marks: &[u8]) {
        self.events += marks.len() as u64;
        self.fresh += marks.iter().filter(|&&mark| mark == FRESH).count() as u64;
    }

    fn figures(&self) -> [u64; FIGURES.len()] {
        [self.events, self.fresh, self.events - self.fresh]
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

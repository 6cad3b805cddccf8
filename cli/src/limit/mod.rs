//! `windlass limit`: which events would have been denied under a rate limit.

mod clients;
mod judge;
mod policy;
mod report;

use crate::{
    args::{LimitArgs, PassedKind},
    failure::Failure,
    input::{Batch, Need},
    metrics::{Figure, Metrics},
    output,
    sift::{Passed, sift},
};
use clients::{Clients, Span};
use judge::{ALLOWED, DENIED, Judge};
use report::Report;

/// Of longer names of clients that much is told.
const NAME: usize = 256;

/// See [`Counts::figures`].
const FIGURES: [Figure; 3] = [
    Figure::count("events", "Events."),
    Figure::count("allowed_events", "Events that were allowed."),
    Figure::count("denied_events", "Events that were denied."),
];

pub(crate) fn run(args: &LimitArgs) -> Result<(), Failure> {
    if let Some(file) = &args.policy {
        return policy::run(args, file);
    }
    let mut judge = Judge::new(args)?;
    let metrics = Metrics::start(&args.sift.metrics, "limit", &FIGURES, |metrics| judge.show(metrics))?;
    let need = Need {
        key: &args.key,
        option: "--key",
        parts: &[],
        may_be_none: true,
        names: judge.is_keyed().then_some(NAME),
        text: args.emit != PassedKind::None,
        numbered: false,
        seed: judge.seed(),
    };
    let mut counts = Counts { clients: judge.is_keyed().then(Clients::default), ..Counts::default() };
    let (input, took) = sift(&args.sift, need, passed(args), &metrics, |batch, marks| {
        let trouble = judge.mark(batch.events, marks);
        counts.add(batch, marks);
        metrics.tell(&counts.figures());
        trouble.map(|trouble| Failure::Bad(format!("event {}: {trouble}", counts.events + 1)))
    })?;
    let report = Report::new(args, &counts, &judge, &input, took);
    output::summary(&args.sift.output, &report, || report.text(&judge, &input), args.emit == PassedKind::None)
}

fn passed(args: &LimitArgs) -> Passed {
    match args.emit {
        PassedKind::Allowed => Passed::Marked(ALLOWED),
        PassedKind::Denied => Passed::Marked(DENIED),
        PassedKind::All => Passed::All,
        PassedKind::None => Passed::None,
    }
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
    fn figures(&self) -> [u64; FIGURES.len()] {
        [self.events, self.allowed, self.events - self.allowed]
    }

    fn add(&mut self, batch: &Batch<'_>, marks: &[u8]) {
        self.events += marks.len() as u64;
        for (i, (&event, &mark)) in batch.events.iter().zip(marks).enumerate() {
            match mark {
                DENIED => self.denied = Some(self.denied.map_or(Span::of(event.1), |span| span.and(event.1))),
                _ => self.allowed += 1,
            }
            if let Some(clients) = &mut self.clients {
                clients.count(event, mark, || batch.name(i));
            }
        }
    }
}

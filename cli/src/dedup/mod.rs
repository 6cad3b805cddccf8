//! `windlass dedup`: pass each event on once per window.

mod judge;
mod report;

use std::time::{Duration, Instant};

use windlass::Refused;

use crate::{
    args::{DedupArgs, EmitKind},
    failure::Failure,
    input::{Input, Need, Skipped},
    output::{self, Decisions, Progress, Records},
    room,
};
use judge::{DUPLICATE, FRESH, Judge};
use report::Report;

pub(crate) fn run(args: &DedupArgs) -> Result<(), Failure> {
    // All that can be refused is refused before a byte is written.
    let mut judge = Judge::new(args)?;
    let need = Need {
        key: &args.id,
        option: "--id",
        may_be_none: false,
        names: false,
        text: args.emit != EmitKind::None,
        numbered: judge.window().counts_events(),
        seed: judge.seed(),
    };
    let mut input = Input::new(&args.input, need)?;
    let mut decisions = args.decisions.as_deref().map(Decisions::create).transpose()?;
    let started = Instant::now();
    let counts = stream(args, &mut judge, &mut input, decisions.as_mut())?;
    if let Some(decisions) = decisions {
        decisions.finish()?;
    }
    report(args, &counts, &judge, input.skipped(), started.elapsed())
}

#[derive(Default)]
struct Counts {
    events: u64,
    fresh: u64,
}

fn stream(
    args: &DedupArgs,
    judge: &mut Judge,
    input: &mut Input,
    mut decisions: Option<&mut Decisions>,
) -> Result<Counts, Failure> {
    let mut records = (args.emit != EmitKind::None).then(Records::stdout);
    let progress =
        Progress::over_input(args.output.quiet, records.is_some(), input.size(), input.read_counter());
    let (mut counts, mut marks) = (Counts::default(), Vec::new());
    loop {
        let batch = match input.next() {
            Ok(Some(batch)) => batch,
            Ok(None) => break,
            Err(failure) => {
                // What was judged before it has its place in the output.
                records.as_mut().map_or(Ok(()), Records::flush)?;
                return Err(failure);
            }
        };
        let refused = judge.mark(batch.events, &mut marks);
        counts.events += marks.len() as u64;
        counts.fresh += marks.iter().filter(|&&mark| mark == FRESH).count() as u64;
        if let Some(records) = &mut records {
            match args.emit {
                EmitKind::Fresh => records.write(&batch, &marks, |mark| mark == FRESH)?,
                EmitKind::Duplicates => records.write(&batch, &marks, |mark| mark == DUPLICATE)?,
                EmitKind::All | EmitKind::None => records.write(&batch, &marks, |_| true)?,
            }
            if batch.pause || refused.is_some() {
                records.flush()?;
            }
        }
        if let Some(decisions) = &mut decisions {
            decisions.write(&marks)?;
        }
        if let Some(refused) = refused {
            return Err(full(args, refused, counts.events + 1));
        }
        progress.advance(marks.len() as u64);
    }
    if let Some(records) = &mut records {
        records.header(input.header())?;
        records.flush()?;
    }
    Ok(counts)
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
    output::summary(&args.output, &report, text, args.emit == EmitKind::None)
}

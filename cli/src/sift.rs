//! What `dedup` and `limit` have in common: each event gets a mark, and by its mark its record is passed on or not.

use std::time::{Duration, Instant};

use crate::{
    args::SiftArgs,
    failure::Failure,
    input::{Batch, Input, Need},
    metrics::Metrics,
    output::{Decisions, Progress, Records},
};

/// Which records go to stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// Those with this mark.
    Marked(u8),
    All,
    None,
}

/// What the input was in the end, and how long it took. `judge` gives the marks of a batch, up to an event at which it has to stop. All that
/// can be refused is refused before a byte is written.
pub(crate) fn sift(
    args: &SiftArgs,
    need: Need<'_>,
    passed: Passed,
    metrics: &Metrics,
    judge: impl FnMut(&Batch<'_>, &mut Vec<u8>) -> Option<Failure>,
) -> Result<(Input, Duration), Failure> {
    let mut input = Input::new(&args.input, need)?;
    let mut decisions = args.decisions.as_deref().map(Decisions::create).transpose()?;
    metrics.reads(input.read_counter());
    let started = Instant::now();
    stream(args.output.quiet, &mut input, passed, metrics, decisions.as_mut(), judge)?;
    if let Some(decisions) = decisions {
        decisions.finish()?;
    }
    Ok((input, started.elapsed()))
}

fn stream(
    quiet: bool,
    input: &mut Input,
    passed: Passed,
    metrics: &Metrics,
    mut decisions: Option<&mut Decisions>,
    mut judge: impl FnMut(&Batch<'_>, &mut Vec<u8>) -> Option<Failure>,
) -> Result<(), Failure> {
    let mut records = (passed != Passed::None).then(Records::stdout);
    let progress = Progress::over_input(quiet, records.is_some(), input.size(), input.read_counter());
    let mut marks = Vec::new();
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
        let trouble = judge(&batch, &mut marks);
        if let Some(records) = &mut records {
            match passed {
                Passed::Marked(this) => records.write(&batch, &marks, |mark| mark == this)?,
                Passed::All | Passed::None => records.write(&batch, &marks, |_| true)?,
            }
            if batch.pause || trouble.is_some() {
                records.flush()?;
            }
        }
        if let Some(decisions) = &mut decisions {
            decisions.write(&marks)?;
        }
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        progress.advance(marks.len() as u64);
        metrics.skipped(input.skipped().records);
    }
    if let Some(records) = &mut records {
        records.header(input.header())?;
        records.flush()?;
    }
    Ok(())
}

//! What `dedup` and `limit` have in common: each event gets a mark, and by its mark its record is passed on or not.

use std::time::{Duration, Instant};

use crate::{
    args::SiftArgs,
    failure::Failure,
    input::{Batch, Input, Need, Next},
    metrics::Metrics,
    output::{Decisions, Progress, Records},
    state::{self, Keep, Loaded, State},
};

/// Which records go to stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// Those with this mark.
    Marked(u8),
    All,
    None,
}

/// Who judges.
pub(crate) trait Sifter {
    /// Gives the marks of a batch, up to an event at which it has to stop.
    fn mark(&mut self, batch: &Batch<'_>, marks: &mut Vec<u8>) -> Option<Failure>;

    /// The figures that are served.
    fn told(&self) -> [u64; 3];

    /// What outlives the run, if that is possible.
    fn kept(&self) -> Option<&dyn Keep> {
        None
    }
}

/// What the input was in the end, and how long it took. All that can be refused is refused before a byte is written.
pub(crate) fn sift(
    args: &SiftArgs,
    need: Need<'_>,
    passed: Passed,
    metrics: &Metrics,
    (mut state, loaded): (Option<State>, Option<Loaded>),
    judge: &mut impl Sifter,
) -> Result<(Input, Duration), Failure> {
    let mut input = Input::new(&args.input, need)?;
    state::begin(&mut input, state.as_ref(), loaded.as_ref())?;
    let mut decisions = Decisions::open(args.decisions.as_deref(), state.is_some(), loaded.as_ref())?;
    metrics.reads(input.read_counter());
    let started = Instant::now();
    let begun = loaded.is_some_and(|loaded| loaded.header());
    let mut records = (passed != Passed::None).then(|| Records::stdout(begun));
    let out = (passed, records.as_mut(), decisions.as_mut());
    stream(args.output.quiet, &mut input, out, metrics, state.as_mut(), judge)?;
    if let (Some(state), Some(kept)) = (&mut state, judge.kept()) {
        state.save(&input, records.as_mut(), decisions.as_mut(), kept)?;
    }
    if let Some(decisions) = decisions {
        decisions.finish()?;
    }
    Ok((input, started.elapsed()))
}

fn stream(
    quiet: bool,
    input: &mut Input,
    (passed, mut records, mut decisions): (Passed, Option<&mut Records>, Option<&mut Decisions>),
    metrics: &Metrics,
    mut state: Option<&mut State>,
    judge: &mut impl Sifter,
) -> Result<(), Failure> {
    let progress = Progress::over_input(quiet, records.is_some(), input.size(), input.read_counter());
    let mut marks = Vec::new();
    loop {
        match state::next(input, state.as_deref()) {
            Ok(Next::Batch(batch)) => {
                let trouble = judge.mark(&batch, &mut marks);
                metrics.tell(&judge.told());
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
            Ok(Next::Nothing) => {}
            Ok(Next::End) => break,
            Err(failure) => {
                // What was judged before it has its place in the output.
                records.as_mut().map_or(Ok(()), |records| records.flush())?;
                return Err(failure);
            }
        }
        if let (Some(state), Some(kept)) = (&mut state, judge.kept()) {
            state.step(input, records.as_deref_mut(), decisions.as_deref_mut(), kept)?;
        }
    }
    if let Some(records) = &mut records {
        records.header(input.header())?;
        records.flush()?;
    }
    Ok(())
}

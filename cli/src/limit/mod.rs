//! `windlass limit`: which events would have been denied under a rate limit.

mod clients;
mod judge;
mod report;

use std::time::Instant;

use crate::{
    args::{LimitArgs, Passed},
    failure::Failure,
    input::{Batch, Input, Need},
    output::{self, Decisions, Progress, Records},
};
use clients::{Clients, Span};
use judge::{ALLOWED, DENIED, Judge};
use report::Report;

pub(crate) fn run(args: &LimitArgs) -> Result<(), Failure> {
    // All that can be refused is refused before a byte is written.
    let mut judge = Judge::new(args)?;
    let need = Need {
        key: &args.key,
        option: "--key",
        may_be_none: true,
        names: judge.is_keyed(),
        text: args.emit != Passed::None,
        numbered: false,
        seed: judge.seed(),
    };
    let mut input = Input::new(&args.input, need)?;
    let mut decisions = args.decisions.as_deref().map(Decisions::create).transpose()?;
    let started = Instant::now();
    let counts = stream(args, &mut judge, &mut input, decisions.as_mut())?;
    if let Some(decisions) = decisions {
        decisions.finish()?;
    }
    let report = Report::new(args, &counts, &judge, &input, started.elapsed());
    output::summary(&args.output, &report, || report.text(&judge, &input), args.emit == Passed::None)
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
                clients.count(event, mark, || batch.name(i));
            }
        }
    }
}

fn stream(
    args: &LimitArgs,
    judge: &mut Judge,
    input: &mut Input,
    mut decisions: Option<&mut Decisions>,
) -> Result<Counts, Failure> {
    let mut records = (args.emit != Passed::None).then(Records::stdout);
    let progress =
        Progress::over_input(args.output.quiet, records.is_some(), input.size(), input.read_counter());
    let mut marks = Vec::new();
    let mut counts = Counts { clients: judge.is_keyed().then(Clients::default), ..Counts::default() };
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
        let trouble = judge.mark(batch.events, &mut marks);
        counts.add(&batch, &marks);
        if let Some(records) = &mut records {
            match args.emit {
                Passed::Allowed => records.write(&batch, &marks, |mark| mark == ALLOWED)?,
                Passed::Denied => records.write(&batch, &marks, |mark| mark == DENIED)?,
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
            return Err(Failure::Bad(format!("event {}: {trouble}", counts.events + 1)));
        }
        progress.advance(marks.len() as u64);
    }
    if let Some(records) = &mut records {
        records.header(input.header())?;
        records.flush()?;
    }
    Ok(counts)
}

//! `windlass distinct`: how many different ids of a sliding window, at the end of every pane.

mod approx;
mod exact;
mod panes;
mod report;

use std::time::Instant;

use windlass::{KeyHash, Seed, Tick};

use crate::{
    args::DistinctArgs,
    failure::Failure,
    filter,
    grid::Grid,
    input::{Input, Need},
    output::{self, Progress},
};
use approx::Approx;
use exact::Exact;
use panes::Panes;
use report::Report;

/// A count is kept for each.
const MOST_PANES: u64 = 10_000_000;

fn grid(args: &DistinctArgs) -> Result<Grid, Failure> {
    let grid = Grid::new(&args.window, &args.pane)?;
    if grid.panes > MOST_PANES {
        return Err(Failure::bad(format_args!(
            "--pane {} is too short: --window {} would be {} panes, {MOST_PANES} at most",
            args.pane, args.window, grid.panes
        )));
    }
    Ok(grid)
}

/// What counts ids. Panes never go back.
enum Counter {
    Exact(Box<Exact>),
    Approx(Box<Approx>),
}

impl Counter {
    fn new(args: &DistinctArgs, grid: Grid) -> Result<Counter, Failure> {
        filter::check(&args.approx, &args.state)?;
        Ok(match args.approx.approx {
            true => Counter::Approx(Box::new(Approx::new(args, grid)?)),
            false => Counter::Exact(Box::new(Exact::new(args, grid)?)),
        })
    }

    fn seed(&self) -> Seed {
        match self {
            Counter::Exact(exact) => exact.dedup.seed(),
            Counter::Approx(approx) => approx.filter.seed(),
        }
    }

    /// Ids that came in a pane. `before`: events before these.
    fn add(
        &mut self,
        args: &DistinctArgs,
        events: &[(KeyHash, Tick)],
        pane: u64,
        before: u64,
    ) -> Result<(), Failure> {
        match self {
            Counter::Exact(exact) => exact.add(&args.state, events, pane, before),
            Counter::Approx(approx) => {
                approx.add(events, pane);
                Ok(())
            }
        }
    }

    /// The number at the end of a pane. The next one begins.
    fn close(&mut self, pane: u64) -> Result<u64, Failure> {
        match self {
            Counter::Exact(exact) => Ok(exact.close(pane)),
            Counter::Approx(approx) => approx.close(pane),
        }
    }
}

pub(crate) fn run(args: &DistinctArgs) -> Result<(), Failure> {
    // All that can be refused is refused before a byte is written.
    let grid = grid(args)?;
    let mut counter = Counter::new(args, grid)?;
    let need = Need {
        key: &args.id,
        option: "--id",
        parts: &[],
        beside: &[],
        may_be_none: false,
        names: None,
        text: false,
        numbered: false,
        seed: counter.seed(),
    };
    let mut input = Input::new(&args.input, need)?;
    let started = Instant::now();
    let mut panes = Panes::new(grid);
    let events = stream(args, &mut counter, &mut panes, &mut input);
    // What is over has its place in the output, whatever came then.
    panes.flush()?;
    let (skipped, took) = (input.skipped(), started.elapsed());
    let report = Report::new(&counter, (grid, &panes), events?, skipped, took);
    output::summary(&args.output, &report, || report.text(args, took, skipped), false)
}

/// How many events there were.
fn stream(
    args: &DistinctArgs,
    counter: &mut Counter,
    panes: &mut Panes,
    input: &mut Input,
) -> Result<u64, Failure> {
    let progress = Progress::over_input(args.output.quiet, true, input.size(), input.read_counter());
    let mut events = 0;
    while let Some(batch) = input.next()? {
        let mut rest = batch.events;
        while !rest.is_empty() {
            let (pane, n) = panes.run(rest, counter)?;
            counter.add(args, &rest[..n], pane, events)?;
            events += n as u64;
            rest = &rest[n..];
        }
        if batch.pause {
            panes.flush()?;
        }
        progress.advance(batch.events.len() as u64);
    }
    panes.end(counter)?;
    Ok(events)
}

//! `windlass ring`: how the keys of a log spread over nodes, and what a change would move.

mod nodes;
mod report;
mod spread;

use std::time::Instant;

use windlass::{Dedup, Seed, Window};

use crate::{
    args::RingArgs,
    failure::Failure,
    input::{Input, Need},
    output::{self, Progress},
    room,
};
use report::Report;
use spread::Spread;

pub(crate) fn run(args: &RingArgs) -> Result<(), Failure> {
    // All that can be refused is refused before a byte is written.
    let rings = nodes::of(args)?;
    // Keys that were seen: a window longer than any input.
    let seen = room::of(&args.state, Dedup::builder(Window::last_n(1 << 40)))
        .build()
        .map_err(|error| room::refused(&args.state, &error))?;
    let need = Need {
        key: &args.key,
        option: "--key",
        parts: &[],
        beside: &[],
        may_be_none: false,
        names: None,
        text: false,
        numbered: false,
        seed: Seed(args.state.seed),
    };
    let mut input = Input::new(&args.input, need)?;
    let started = Instant::now();
    let mut spread = Spread::new(&rings, seen);
    let progress = Progress::over_input(args.output.quiet, false, input.size(), input.read_counter());
    while let Some(batch) = input.next()? {
        spread.add(&args.state, batch.events)?;
        progress.advance(batch.events.len() as u64);
    }
    drop(progress);
    let report = Report::new(&spread, &input, started.elapsed());
    if report.is_result(args) {
        output::report(&report.table(), true)?;
    }
    output::summary(&args.output, &report, || report.text(&input), true)
}

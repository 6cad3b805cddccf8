//! `windlass bench`: how fast it is on this machine.
//!
//! `subjects` are the structures, each with work to do and answers to check; `measure` has threads do it by the clock; `report` and `svg` say what came of it.

mod measure;
mod report;
mod subjects;
mod svg;

use std::{fs, num::NonZeroUsize, thread, time::Duration};

use crate::{
    args::{BenchArgs, ReportKind},
    failure::{Failure, reason},
    output::{self, Progress},
};
use measure::{Measured, measure};
use report::{Report, Row};
use subjects::{NAMES, Subject};

/// Keys that fit the cache of any machine.
const FEW: u64 = 10_000;

/// The part of the time that is measured; the rest goes for filling structures.
const MEASURED: f64 = 0.6;

pub(crate) fn run(args: &BenchArgs) -> Result<(), Failure> {
    let keys = args.keys.0;
    if !(2 * FEW..=100_000_000).contains(&keys) {
        return Err(Failure::bad(format_args!("--keys {keys} is out of range: 20000 to 100000000")));
    }
    let all = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(64);
    let all = args.threads.map_or(all, usize::from);
    let threads = if all == 1 { vec![1] } else { vec![1, all] };
    // All that can be refused is refused before anything is done.
    if let Some(path) = &args.svg {
        fs::write(path, "").map_err(|error| unwritable(path, &error))?;
    }
    let steps = NAMES.len() * 2 * threads.len();
    let each = args.duration.duration.mul_f64(MEASURED / steps as f64);
    let progress = Progress::over_steps(args.output.quiet, steps as u64);
    let mut rows = Vec::new();
    for name in NAMES {
        let mut row = Row { name, cells: Vec::new(), memory_bytes: 0 };
        for keys in [FEW, keys] {
            for &threads in &threads {
                progress.say(format!("{name}, {} keys, {threads} threads", output::count(keys)));
                let subject = subjects::of(name, keys, threads)?;
                row.cells.push(checked(name, subject.as_ref(), threads, each)?);
                row.memory_bytes = subject.memory_bytes();
                progress.advance(1);
            }
        }
        rows.push(row);
    }
    drop(progress);
    let report = Report { rows, keys: [FEW, keys], threads };
    if let Some(path) = &args.svg {
        fs::write(path, svg::plot(&report)).map_err(|error| unwritable(path, &error))?;
    }
    if args.output.report != Some(ReportKind::Json) {
        output::report(&report.table(), true)?;
    }
    output::summary(&args.output, &report.json(), || report.text(), true)
}

/// Measured, and all answers are right.
fn checked(name: &str, subject: &dyn Subject, threads: usize, time: Duration) -> Result<Measured, Failure> {
    let measured = measure(subject, threads, time)?;
    if measured.wrong > 0 {
        let wrong = output::count(measured.wrong);
        return Err(Failure::Running(format!("bench: {name}: {wrong} wrong answers, which is a bug")));
    }
    Ok(measured)
}

fn unwritable(path: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::bad(format_args!("--svg {}: cannot write: {}", path.display(), reason(error)))
}

//! What leaves the tool: records and decisions, progress and the report.

mod color;
mod decisions;
mod figures;
mod progress;
mod records;

pub(crate) use color::Color;
pub(crate) use decisions::Decisions;
pub(crate) use figures::{bar, count, memory, rate, seconds, share, shown, time, window};
pub(crate) use progress::Progress;
pub(crate) use records::Records;

use std::io::{self, Write};

use serde::Serialize;

use crate::{
    args::{OutputArgs, ReportKind},
    failure::Failure,
};

/// Tells what happened in the form that was asked for. `result`: nothing else goes to stdout, so JSON does.
pub(crate) fn summary(
    args: &OutputArgs,
    report: &impl Serialize,
    text: impl Fn() -> String,
    result: bool,
) -> Result<(), Failure> {
    match args.report {
        Some(ReportKind::Json) => {
            let mut json = serde_json::to_string(report).map_err(|e| Failure::Running(e.to_string()))?;
            json.push('\n');
            self::report(&json, result)
        }
        Some(ReportKind::Text) => self::report(&text(), false),
        None if args.quiet => Ok(()),
        None => self::report(&text(), false),
    }
}

/// A line about the records that gave no event, if there were any.
pub(crate) fn skipped(records: u64, first: Option<&str>) -> String {
    match first {
        Some(first) => format!("{} records skipped, the first: {first}\n", count(records)),
        None => String::new(),
    }
}

/// Writes a summary: to stdout if it is the result, else to stderr.
pub(crate) fn report(text: &str, to_stdout: bool) -> Result<(), Failure> {
    if to_stdout {
        let mut out = io::stdout();
        return out
            .write_all(text.as_bytes())
            .and_then(|()| out.flush())
            .map_err(|e| Failure::writing("to stdout", &e));
    }
    // Where stderr is closed nobody wants to know.
    let _ = io::stderr().write_all(text.as_bytes());
    Ok(())
}

//! What leaves the tool: records and decisions, progress and the report.

mod decisions;
mod figures;
mod progress;
mod records;

pub(crate) use decisions::Decisions;
pub(crate) use figures::{count, memory, seconds, share, window};
pub(crate) use progress::Progress;
pub(crate) use records::Records;

use std::io::{self, Write};

use crate::failure::Failure;

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

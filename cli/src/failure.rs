//! The ways a command can end badly, and what the shell is told.

use std::{fmt, io, process::ExitCode};

use clap::error::ErrorKind;

/// Why a command stopped. Every message is one line: what, where, what is allowed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Wrong usage or bad input: exit status 2.
    Bad(String),
    /// Failed while running (I/O, a ceiling reached): exit status 1.
    Running(String),
    /// Whoever reads our output has seen enough (`| head`): not an error, exit status 0 and not a word.
    ClosedPipe,
}

impl Failure {
    pub(crate) fn bad(message: impl fmt::Display) -> Failure {
        Failure::Bad(message.to_string())
    }

    /// A failed write to `target`.
    pub(crate) fn writing(target: impl fmt::Display, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Running(format!("cannot write {target}: {}", reason(error))),
        }
    }

    /// clap's message as one line. `--help` and `--version` arrive here too, and are no failure.
    pub(crate) fn from_clap(error: &clap::Error) -> Result<(), Failure> {
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                error.print().map_err(|e| Failure::writing("the help text", &e))
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
                Err(Failure::bad("which command? `windlass --help` lists them"))
            }
            _ => {
                let text = error.render().to_string();
                let said = text.split("\nUsage:").next().unwrap_or_default();
                let said = said.split("\nFor more information").next().unwrap_or_default();
                let line = said.trim_start_matches("error:").split_whitespace().collect::<Vec<_>>().join(" ");
                Err(Failure::bad(line))
            }
        }
    }

    pub(crate) fn message(&self) -> Option<&str> {
        match self {
            Failure::Bad(message) | Failure::Running(message) => Some(message),
            Failure::ClosedPipe => None,
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Bad(_) => 2,
            Failure::Running(_) => 1,
            Failure::ClosedPipe => 0,
        })
    }
}

/// An I/O error without Rust's ` (os error 2)`.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// Bytes from the input as they can stand in a one-line message.
pub(crate) fn show(bytes: &[u8]) -> String {
    const MOST: usize = 60;
    let text = String::from_utf8_lossy(bytes);
    let cut: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() { format!("\"{cut}...\"") } else { format!("\"{cut}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_foreign_bytes_on_one_short_line() {
        assert_eq!(show(b"a\nb\xff"), "\"a\\nb\u{fffd}\"");
        assert_eq!(show(&[b'x'; 100]).len(), 65);
    }
}

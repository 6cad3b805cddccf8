//! The `windlass` tool: sliding windows over logs and pipes.
//!
//! A command is a module with a `run`. What all of them share: `args` (options and how their values are written),
//! `input` (files to batches of events; the only reader), `output` (records, decisions, progress, report), `failure`
//! (the one way to end badly); what those share that judge every event: `sift`; that keep ids: `room` (for exact ones), `filter` (for
//! `--approx`); that go by panes: `grid`; that can be watched while they run: `metrics`; that go on
//! where a run before ended: `state`; that ask servers (`--remote`): `remote`; that can be asked to end: `stop`. What shells and `man` are told: `shell`.

mod args;
mod bench;
mod dedup;
mod demo;
mod distinct;
mod failure;
mod filter;
mod generate;
mod grid;
#[cfg(any(test, fuzzing))]
pub mod hardening;
mod input;
mod limit;
mod metrics;
mod output;
mod rank;
#[cfg(feature = "remote")]
mod remote;
mod ring;
mod room;
mod shell;
mod sift;
mod state;
mod stop;
mod top;

use std::{io::Write, process::ExitCode};

use clap::Parser;

use args::{Cli, Command};
use failure::Failure;

/// The whole run: reads the command line, does what it says, and tells on stderr what went wrong.
#[must_use]
pub fn main() -> ExitCode {
    let outcome = match Cli::try_parse() {
        Ok(cli) => {
            cli.color.choose();
            run(cli.command)
        }
        Err(error) => Failure::from_clap(&error),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(message) = failure.message() {
                // Not eprintln: that panics where stderr is closed.
                let _ = writeln!(std::io::stderr(), "windlass: {message}");
            }
            failure.exit_code()
        }
    }
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Dedup(args) => dedup::run(&args),
        Command::Distinct(args) => distinct::run(&args),
        Command::Limit(args) => limit::run(&args),
        Command::Rank(args) => rank::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Ring(args) => ring::run(&args),
        Command::Gen(args) => generate::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args),
    }
}

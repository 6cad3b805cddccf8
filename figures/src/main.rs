//! All benchmarks in one command: runs them one after the other, and writes `docs/figures.md` with what they printed, tables, and plots.
//!
//! ```text
//! cargo run --release -p windlass-figures                     # all of it: hours, on a machine with nothing else to do
//! cargo run --release -p windlass-figures -- ring call        # these, anew; the others stay as they were
//! cargo run --release -p windlass-figures -- --write          # no runs: writes the page from what the last ones left
//! cargo run --release -p windlass-figures -- --quick ring     # small: does it work? Writes to target/, and nothing to docs/
//! ```

mod criterion;
#[path = "../../benches/support/host.rs"]
mod host;
mod log;
mod page;
mod plot;
mod runs;

use runs::{RUNS, Run};
use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// What is asked for.
struct Asked {
    quick: bool,
    write_only: bool,
    runs: Vec<&'static Run>,
}

fn asked(arguments: impl Iterator<Item = String>) -> Result<Asked, String> {
    let mut asked = Asked { quick: false, write_only: false, runs: Vec::new() };
    for argument in arguments {
        match argument.as_str() {
            "--quick" => asked.quick = true,
            "--write" => asked.write_only = true,
            name => asked.runs.push(RUNS.iter().find(|run| run.name == name).ok_or_else(|| {
                let names: Vec<&str> = RUNS.iter().map(|run| run.name).collect();
                format!("{name:?}: one of {}, --quick, --write", names.join(", "))
            })?),
        }
    }
    if asked.runs.is_empty() {
        asked.runs = RUNS.iter().collect();
    }
    Ok(asked)
}

/// Where logs go, and criterion's results.
fn target(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

fn run() -> Result<(), Box<dyn Error>> {
    let Asked { quick, write_only, runs } = asked(env::args().skip(1))?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let target = target(&root);
    let logs = target.join(if quick { "figures-quick" } else { "figures" });
    fs::create_dir_all(&logs)?;
    if !write_only {
        for (i, run) in runs.iter().enumerate() {
            eprintln!("==> {} ({} of {}): {}", run.name, i + 1, runs.len(), run.command());
            run.perform(&root, &logs, quick)?;
        }
    }
    let docs = if quick { logs.clone() } else { root.join("docs") };
    let written =
        page::write(&docs, &logs, &target.join(if quick { "criterion-quick" } else { "criterion" }))?;
    eprintln!("{written} runs in {}", docs.join("figures.md").display());
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("figures: {error}");
            ExitCode::FAILURE
        }
    }
}

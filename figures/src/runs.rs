//! What is run.

use crate::host;
use std::{
    error::Error,
    fmt::Write,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A command whose output is kept.
pub(crate) struct Run {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// Of cargo.
    arguments: &'static [&'static str],
    /// criterion's groups begin with one of these. None: what it prints is all there is.
    pub(crate) groups: &'static [&'static str],
}

/// In the order of docs/performance.md.
pub(crate) const RUNS: [Run; 18] = [
    Run {
        name: "dedup",
        title: "Exact deduplication",
        arguments: &["bench", "--bench", "dedup"],
        groups: &["dedup_"],
    },
    Run {
        name: "bloom",
        title: "Rotating Bloom filter",
        arguments: &["bench", "--bench", "bloom"],
        groups: &["bloom_l2", "bloom_dram"],
    },
    Run {
        name: "rotation",
        title: "Single inserts while panes rotate",
        arguments: &["bench", "--bench", "rotation"],
        groups: &[],
    },
    Run {
        name: "bloom_front",
        title: "A filter in front of `Dedup`",
        arguments: &["bench", "--bench", "bloom_front"],
        groups: &["bloom_front_"],
    },
    Run {
        name: "growth",
        title: "Growing and shrinking",
        arguments: &["bench", "--bench", "growth"],
        groups: &[],
    },
    Run {
        name: "fifo",
        title: "Ranks in a queue",
        arguments: &["bench", "--bench", "fifo"],
        groups: &["rank_"],
    },
    Run {
        name: "limit",
        title: "Rate limiters",
        arguments: &["bench", "--bench", "limit"],
        groups: &["limit_"],
    },
    Run {
        name: "topk",
        title: "Counters and hot keys",
        arguments: &["bench", "--bench", "topk"],
        groups: &["count_", "topk_", "merge_", "pane_"],
    },
    Run {
        name: "accuracy",
        title: "Hot keys in bounded memory",
        arguments: &["run", "--release", "--example", "accuracy"],
        groups: &[],
    },
    Run { name: "ring", title: "Hash ring", arguments: &["bench", "--bench", "ring"], groups: &["ring_"] },
    Run { name: "snapshot", title: "Snapshots", arguments: &["bench", "--bench", "snapshot"], groups: &[] },
    Run {
        name: "stats",
        title: "Asking for figures",
        arguments: &["bench", "--bench", "stats"],
        groups: &[],
    },
    Run {
        name: "floor",
        title: "Beside what the machine allows",
        arguments: &["bench", "--bench", "floor"],
        groups: &[],
    },
    Run {
        name: "call",
        title: "From C and Go",
        arguments: &["bench", "-p", "windlass-ffi", "--bench", "call"],
        groups: &[],
    },
    Run {
        name: "remote",
        title: "Over Redis or Valkey",
        arguments: &["bench", "-p", "windlass-remote", "--bench", "remote"],
        groups: &[],
    },
    Run {
        name: "module",
        title: "Inside the server",
        arguments: &["bench", "-p", "windlass-module", "--bench", "module"],
        groups: &[],
    },
    Run {
        name: "geometry",
        title: "The geometry of the table, simulated",
        arguments: &["run", "--release", "--example", "geometry"],
        groups: &[],
    },
    Run {
        name: "pane_seeds",
        title: "Seeds of panes, simulated",
        arguments: &["run", "--release", "--example", "pane_seeds"],
        groups: &[],
    },
];

impl Run {
    /// As it is typed.
    pub(crate) fn command(&self) -> String {
        format!("cargo {}", self.arguments.join(" "))
    }

    pub(crate) fn log(&self, logs: &Path) -> PathBuf {
        logs.join(format!("{}.txt", self.name))
    }

    /// Runs it, shows what it prints, and keeps that once it has succeeded.
    pub(crate) fn perform(&self, root: &Path, logs: &Path, quick: bool) -> Result<(), Box<dyn Error>> {
        let mut command = Command::new(env!("CARGO"));
        command.args(self.arguments).current_dir(root).stdin(Stdio::null()).stdout(Stdio::piped());
        if quick {
            command.env("WINDLASS_BENCH_QUICK", "1");
        }
        let mut child = command.spawn()?;
        let mut log = described(root);
        for line in BufReader::new(child.stdout.take().ok_or("no output")?).lines() {
            let line = line?;
            println!("{line}");
            writeln!(log, "{line}")?;
        }
        let status = child.wait()?;
        if !status.success() {
            return Err(format!("{}: {status}", self.command()).into());
        }
        fs::write(self.log(logs), log)?;
        Ok(())
    }
}

/// One line: the machine, the compiler, the revision.
fn described(root: &Path) -> String {
    let says = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(root).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let compiler = says("rustc", &["--version"]).unwrap_or_else(|| "rustc".to_owned());
    let revision =
        says("git", &["describe", "--always", "--dirty"]).unwrap_or_else(|| "no revision".to_owned());
    format!("{}; {compiler}; {revision}\n", host::describe())
}

//! `--follow`: files that grow, are replaced and are cut, while the run goes on.

#![cfg(unix)]
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // clippy knows tests only by their attribute

use std::{
    fs::{self, File, OpenOptions},
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStderr, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use crate::common::{Dir, EXE, run_once};

/// A run that goes on.
struct Following {
    child: Child,
    lines: Receiver<String>,
    stderr: ChildStderr,
}

impl Following {
    fn start(dir: &Dir, args: &[&str]) -> Following {
        let mut child = Command::new(EXE)
            .args(args)
            .current_dir(&dir.0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if send.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Following { child, lines, stderr }
    }

    /// These lines come next.
    #[track_caller]
    fn passes(&self, lines: &[&str]) {
        for line in lines {
            let came = self.lines.recv_timeout(Duration::from_secs(60));
            assert_eq!(came.as_deref(), Ok(*line));
        }
    }

    /// Ends by a signal, as at the end of its input: the lines that were not looked at, and what it said.
    fn end(mut self, signal: &str) -> (Vec<String>, String) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        let rest = self.lines.iter().collect();
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{said}");
        (rest, said)
    }
}

fn append(dir: &Dir, name: &str, text: &str) {
    let mut file = OpenOptions::new().append(true).open(dir.0.join(name)).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn rename(dir: &Dir, from: &str, to: &str) {
    fs::rename(dir.0.join(from), dir.0.join(to)).unwrap();
}

const DEDUP: [&str; 6] = ["dedup", "--window-count", "1M", "--emit", "all", "--follow"];

#[test]
fn a_log_that_grows_and_is_rotated_in_both_ways() {
    for threads in ["1", "3"] {
        let dir = Dir::new();
        dir.put("log.1", "a\nb\n").put("log", "c\nd");
        let run = Following::start(&dir, &[&DEDUP[..], &["--threads", threads, "log.1", "log"]].concat());
        run.passes(&["a", "b", "c"]);
        // A record is one with its line end.
        append(&dir, "log", "d\ne\n");
        run.passes(&["dd", "e"]);
        // Renamed: what still comes to it is read, and then the one that has its name, as soon as there is one.
        let mut before = OpenOptions::new().append(true).open(dir.0.join("log")).unwrap();
        rename(&dir, "log", "log.2");
        before.write_all(b"f\ng").unwrap();
        run.passes(&["f"]);
        dir.put("log", "h\n");
        run.passes(&["g", "h"]);
        append(&dir, "log", "i, which is long\n");
        run.passes(&["i, which is long"]);
        // Cut, and begun anew.
        File::create(dir.0.join("log")).unwrap();
        append(&dir, "log", "j\n");
        run.passes(&["j"]);
        append(&dir, "log", "k\nincomplete");
        run.passes(&["k"]);
        let (rest, said) = run.end("-INT");
        assert!(rest.is_empty(), "{rest:?}");
        assert!(said.starts_with("11 events: 11 fresh, 0 duplicates"), "{said}");
    }
}

#[test]
fn a_header_comes_with_each_file() {
    let dir = Dir::new();
    dir.put("t.csv", "id,n\na,1\n");
    let args = ["dedup", "--window-count", "1M", "--id", "id", "--follow", "--report", "json", "t.csv"];
    let run = Following::start(&dir, &args);
    run.passes(&["id,n", "a,1"]);
    rename(&dir, "t.csv", "t.1.csv");
    dir.put("t.csv", "n,id\n2,a\n2,b\n");
    run.passes(&["2,b"]);
    let (_, said) = run.end("-TERM");
    assert!(said.contains("\"events\":3,\"fresh\":2"), "{said}");
}

#[test]
fn with_a_state_the_next_run_goes_on() {
    let dir = Dir::new();
    let args = ["dedup", "--window-count", "1M", "--state", "state", "-q", "--follow"];
    let with = |files: &[&'static str]| [&args[..], files].concat();
    dir.put("log", "a\nb\n");
    let run = Following::start(&dir, &with(&["log"]));
    run.passes(&["a", "b"]);
    rename(&dir, "log", "log.1");
    dir.put("log", "b\nc\nd");
    run.passes(&["c"]);
    // What is incomplete is left to the next run.
    assert_eq!(run.end("-TERM").0, Vec::<String>::new());
    append(&dir, "log", "\ne\n");
    // Both are known.
    let run = Following::start(&dir, &with(&["log.1", "log"]));
    run.passes(&["d", "e"]);
    assert_eq!(run.end("-INT").0, Vec::<String>::new());
}

/// A file that was empty when it was found is known by what has come since: another one at its place is another file.
#[test]
fn a_file_is_known_by_what_has_come() {
    let dir = Dir::new();
    dir.put("log", "");
    let args = ["dedup", "--window-count", "1M", "--state", "state", "-q", "--follow", "log"];
    let run = Following::start(&dir, &args);
    append(&dir, "log", "a\nb\n");
    run.passes(&["a", "b"]);
    append(&dir, "log", "c\n");
    run.passes(&["c"]);
    assert_eq!(run.end("-TERM").0, Vec::<String>::new());
    // Written over, so that it has the same node.
    dir.put("log", "d\ne\nf\ng\n");
    let run = run_once(&dir.0, &args, b"");
    assert!(run.code == 2 && run.err.contains("it was replaced"), "{}", run.err);
}

#[test]
fn hot_keys_and_limits_of_a_log_that_grows() {
    let dir = Dir::new();
    dir.put("log", "a\na\nb\n");
    let run = Following::start(&dir, &["limit", "--limit", "3/d", "--emit", "all", "--follow", "log"]);
    run.passes(&["a", "a", "b"]);
    append(&dir, "log", "a\n");
    run.passes(&["a"]);
    let (_, said) = run.end("-INT");
    assert!(said.starts_with("4 events: 3 allowed, 1 denied"), "{said}");

    dir.put("log.tsv", "a\t0\nb\t10\nb\t20\n");
    let grid = ["--window", "1s", "--pane", "1s", "-k", "2", "--every-pane"];
    let fields = ["--key", "1", "--time", "2", "--time-format", "unix-ms", "--follow", "log.tsv"];
    let run = Following::start(&dir, &[&["top"], &grid[..], &fields].concat());
    append(&dir, "log.tsv", "c\t1500\n");
    run.passes(&["1000\t2\tb\t1\ta"]);
    let (rest, said) = run.end("-INT");
    assert_eq!(rest, ["2000\t1\tc"]);
    assert!(said.starts_with("4 events in 2 panes of 1s"), "{said}");
}

#[test]
fn what_cannot_be_followed() {
    let dir = Dir::new();
    dir.put("log", "a\n").put("log.gz", "");
    let run = |more: &[&str]| run_once(&dir.0, &[&DEDUP[..], more].concat(), b"");
    let needs = "--follow needs a plain file as the last one, and none that is compressed; a pipe is followed without it";
    run(&[]).failed(2, &format!("stdin: {needs}"));
    run(&["log", "log.gz"]).failed(2, &format!("log.gz: {needs}"));
    run(&["--order", "sort", "--format", "tsv", "--id", "1", "--time", "2", "log"])
        .failed(2, "--follow does not go with --order sort, which reads the whole input first");
}

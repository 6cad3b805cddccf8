//! The real binary, run as a user would.

#![allow(dead_code)] // each test file uses some of it
#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

pub(crate) mod generated;

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        atomic::{AtomicU32, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::Duration,
};

pub(crate) const EXE: &str = env!("CARGO_BIN_EXE_windlass");

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Run {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.out).expect("stdout is text")
    }

    /// The run went well.
    pub(crate) fn ok(self) -> Run {
        assert_eq!(self.code, 0, "{}", self.err);
        self
    }

    /// The report, which stands on `--report json`'s stream.
    pub(crate) fn json(&self) -> serde_json::Value {
        let text = if self.err.is_empty() { self.text() } else { &self.err };
        assert_eq!(text.lines().count(), 1, "one object on one line: {text}");
        serde_json::from_str(text).expect("a JSON object")
    }

    /// What it said, without how long it took and how much room and memory there was: what threads have left over is given
    /// back when the epoch comes round.
    pub(crate) fn timeless(&self) -> String {
        let cut = |line: &str| {
            let took = || {
                let line = line.strip_suffix(" events/s")?;
                line.find("room for ").or_else(|| line.find("memory ")).or_else(|| line.rfind("; "))
            };
            line[..line.find("\"seconds\":").or_else(took).unwrap_or(line.len())].to_owned()
        };
        self.err.lines().map(cut).collect::<Vec<_>>().join("\n")
    }

    /// The run failed with this status, and said nothing but this one line.
    pub(crate) fn failed(&self, code: i32, line: &str) {
        assert_eq!((self.code, self.err.as_str()), (code, format!("windlass: {line}\n").as_str()));
    }
}

/// Runs `windlass` in a directory, with these bytes on stdin. Unless it says so itself, what reads events is run with one thread
/// and with several, and has to give the same.
pub(crate) fn run_in(dir: &Path, args: &[&str], stdin: &[u8]) -> Run {
    let run = run_once(dir, args, stdin);
    if let Some((&command @ ("dedup" | "distinct" | "limit" | "ring" | "top"), rest)) = args.split_first()
        && !args.contains(&"--threads")
    {
        let other = run_once(dir, &[&[command, "--threads", "3"], rest].concat(), stdin);
        assert_eq!((other.code, other.timeless()), (run.code, run.timeless()), "--threads 3: {args:?}");
        // Not assert_eq: nobody wants to see megabytes.
        assert!(other.out == run.out || args.contains(&"json"), "--threads 3: another output: {args:?}");
    }
    run
}

/// Runs it as it is said.
pub(crate) fn run_once(dir: &Path, args: &[&str], stdin: &[u8]) -> Run {
    let mut child = Command::new(EXE)
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut input = child.stdin.take().expect("piped");
    let bytes = stdin.to_vec();
    // The tool may end without reading all.
    let writer = thread::spawn(move || drop(input.write_all(&bytes)));
    let output = end_of(child);
    writer.join().expect("no panic");
    Run {
        code: output.status.code().expect("not killed"),
        out: output.stdout,
        err: String::from_utf8(output.stderr).expect("stderr is text"),
    }
}

/// Waits for the end; a run that does not come to one is a failed test, and not one that never ends.
fn end_of(child: Child) -> Output {
    let id = child.id().to_string();
    let (send, receive) = mpsc::channel();
    thread::spawn(move || send.send(child.wait_with_output()));
    match receive.recv_timeout(Duration::from_secs(300)) {
        Ok(output) => output.expect("it ends"),
        Err(_) => {
            drop(Command::new("kill").arg(id).status());
            panic!("it does not end");
        }
    }
}

pub(crate) fn run(args: &[&str], stdin: impl AsRef<[u8]>) -> Run {
    run_in(&std::env::temp_dir(), args, stdin.as_ref())
}

/// `windlass dedup --quiet ..` with a window longer than any test.
pub(crate) fn dedup(args: &[&str], stdin: impl AsRef<[u8]>) -> Run {
    run(&[&["dedup", "-q", "--window", "1h"], args].concat(), stdin)
}

/// The decisions of `windlass dedup --quiet ..`.
pub(crate) fn decisions(args: &[&str], stdin: impl AsRef<[u8]>) -> String {
    decisions_of("dedup", args, stdin)
}

/// Those of any command that makes some.
pub(crate) fn decisions_of(command: &str, args: &[&str], stdin: impl AsRef<[u8]>) -> String {
    let [one, four] = ["1", "4"].map(|threads| {
        let dir = Dir::new();
        let options = [command, "-q", "--emit", "none", "--decisions", "decisions", "--threads", threads];
        let run = run_in(&dir.0, &[&options, args].concat(), stdin.as_ref()).ok();
        assert_eq!((run.text(), run.err.as_str()), ("", ""));
        dir.holds(&["decisions"]);
        fs::read_to_string(dir.0.join("decisions")).expect("written")
    });
    assert!(one == four, "--threads 4: other decisions: {args:?}");
    one
}

/// A directory of its own, gone with the test.
pub(crate) struct Dir(pub(crate) PathBuf);

impl Dir {
    pub(crate) fn new() -> Dir {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("windlass-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).expect("a new directory");
        Dir(path)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> &Dir {
        fs::write(self.0.join(name), content).expect("written");
        self
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        run_in(&self.0, args, b"")
    }

    /// Nothing but these files is in it.
    pub(crate) fn holds(&self, names: &[&str]) {
        let mut found: Vec<String> = fs::read_dir(&self.0)
            .expect("it is there")
            .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
            .collect();
        found.sort();
        assert_eq!(found, names);
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Pseudo-random numbers (SplitMix64), the same every time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % n
    }
}

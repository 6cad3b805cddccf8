//! `--state`: a run in pieces, however they end, comes to what one run does.

#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

mod files;
mod kills;
mod refused;

use std::{
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader, Write as _},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::common::{Dir, EXE, Random, Run, run_once};

/// A command with its options, as it is told on the command line.
struct Case {
    args: &'static [&'static str],
    /// Its events have times.
    timed: bool,
    /// It has `--decisions`.
    decides: bool,
}

/// How its times are written.
const MS: [&str; 4] = ["--time", "ms", "--time-format", "unix-ms"];

const CASES: [Case; 12] = [
    Case { args: &["dedup", "--id", "id", "--window", "5s"], timed: true, decides: true },
    Case {
        args: &[
            "dedup",
            "--id",
            "id",
            "--window",
            "5s",
            "--lateness",
            "1s",
            "--refresh",
            "--emit",
            "duplicates",
        ],
        timed: true,
        decides: true,
    },
    Case {
        args: &[
            "dedup",
            "--id",
            "id",
            "--window-count",
            "3000",
            "--capacity",
            "500",
            "--max-memory",
            "70k",
            "--on-full",
            "evict",
        ],
        timed: false,
        decides: true,
    },
    Case {
        args: &[
            "dedup",
            "--id",
            "id",
            "--window",
            "5s",
            "--approx",
            "--capacity",
            "2000",
            "--order",
            "clamp",
        ],
        timed: true,
        decides: true,
    },
    Case { args: &["rank", "--key", "id", "--pop-every", "7ms"], timed: true, decides: true },
    Case {
        args: &["top", "--key", "id", "--window", "5s", "--pane", "1s", "-k", "5"],
        timed: true,
        decides: false,
    },
    Case {
        args: &[
            "top",
            "--key",
            "id",
            "--window",
            "2s",
            "--pane",
            "100ms",
            "-k",
            "3",
            "--lateness",
            "1s",
            "--every-pane",
        ],
        timed: true,
        decides: false,
    },
    Case {
        args: &[
            "top",
            "--key",
            "id",
            "--window",
            "5s",
            "--pane",
            "1s",
            "-k",
            "5",
            "--every-pane",
            "--approx",
            "--memory",
            "64K",
        ],
        timed: true,
        decides: false,
    },
    Case { args: &["limit", "--key", "id", "--limit", "2/3s"], timed: true, decides: true },
    Case {
        args: &[
            "limit",
            "--key",
            "id",
            "--limit",
            "3/5s",
            "--algorithm",
            "sliding-log",
            "--clients",
            "2000",
            "--lateness",
            "1s",
            "--on-unknown",
            "allow",
            "--emit",
            "denied",
            "--order",
            "clamp",
        ],
        timed: true,
        decides: true,
    },
    Case {
        args: &["limit", "--limit", "100/s", "--algorithm", "leaky-queue", "--emit", "all"],
        timed: true,
        decides: true,
    },
    Case { args: &["limit", "--policy", "policy.toml", "--lateness", "500ms"], timed: true, decides: true },
];

/// For those with `--policy`.
const POLICY: &str = r#"
[[limit]]
name = "id"
key = "id"
quota = "2/4s"
algorithm = "sliding-counter"

[[limit]]
name = "pair"
key = ["id", "ms"]
quota = "1/s"
algorithm = "fixed-window"
clients = 3000

[[limit]]
name = "all"
quota = "300/s"
burst = 40
"#;

impl Case {
    /// Its options, and those that all have.
    fn args<'a>(&self, more: &[&'a str]) -> Vec<&'a str> {
        let mut args = self.args.to_vec();
        args.extend(["--report", "json"]);
        if self.timed {
            args.extend(MS);
        }
        if self.decides {
            args.extend(["--decisions", "decisions"]);
        }
        args.extend(more);
        args
    }

    fn run(&self, dir: &Dir, more: &[&str]) -> Run {
        if self.args.contains(&"--policy") {
            dir.put("policy.toml", POLICY);
        }
        run_once(&dir.0, &self.args(more), b"").ok()
    }

    /// In one go: what it wrote, decided and told.
    fn whole(&self, text: &str) -> (Vec<u8>, Vec<u8>, String) {
        let dir = Dir::new();
        // With a state, which is new, `top` leaves the lines of panes that are not over.
        let new = ["--state", "state", "--save-every", "1h", "in.tsv"];
        let more = if self.args.contains(&"--every-pane") { &new[..] } else { &["in.tsv"] };
        let run = self.run(dir.put("in.tsv", text), more);
        (records(&run), dir.decisions(), figures(&run))
    }
}

impl Dir {
    fn decisions(&self) -> Vec<u8> {
        fs::read(self.0.join("decisions")).unwrap_or_default()
    }
}

/// What stands on stdout, but the report.
fn records(run: &Run) -> Vec<u8> {
    if run.err.is_empty() { Vec::new() } else { run.out.clone() }
}

/// What the report tells, but time and memory: a table may be smaller again.
fn figures(run: &Run) -> String {
    let mut json = run.json();
    let fields = json.as_object_mut().unwrap();
    for field in ["seconds", "memory_bytes", "capacity"] {
        fields.remove(field);
    }
    json.to_string()
}

/// A table of ids and times that go back at times, with rows that are none.
fn table(seed: u64, rows: u64) -> String {
    let mut random = Random(seed);
    let (mut text, mut now) = ("id\tms\n".to_owned(), 1_000_000_000);
    for _ in 0..rows {
        now += random.below(4);
        let (id, late) = (random.below(3000), random.below(3) / 2 * random.below(900));
        writeln!(text, "id-{id}\t{}", now - late).unwrap();
    }
    text
}

/// The ends of some lines, in order.
fn cuts(text: &str, count: u64, random: &mut Random) -> Vec<usize> {
    let mut cuts: Vec<usize> = (0..count)
        .map(|_| usize::try_from(random.below(text.len() as u64 - 20)).unwrap())
        .map(|at| at + text[at..].find('\n').unwrap() + 1)
        .collect();
    cuts.push(text.len());
    cuts.sort_unstable();
    cuts
}

#[test]
fn a_file_that_grows() {
    let text = table(1, 40_000);
    for case in &CASES {
        let (out, decisions, told) = case.whole(&text);
        for threads in ["1", "3"] {
            let dir = Dir::new();
            let mut all = Vec::new();
            let mut last = String::new();
            for cut in cuts(&text, 5, &mut Random(7)) {
                let more = ["--state", "state", "--threads", threads, "in.tsv"];
                let run = case.run(dir.put("in.tsv", &text[..cut]), &more);
                all.extend(records(&run));
                last = figures(&run);
            }
            assert!(all == out, "other records: {:?}", case.args);
            assert!(dir.decisions() == decisions, "other decisions: {:?}", case.args);
            assert_eq!(last, told, "{:?}", case.args);
            let mut files = vec!["in.tsv", "state"];
            files.extend(case.decides.then_some("decisions"));
            files.extend(case.args.contains(&"--policy").then_some("policy.toml"));
            files.sort_unstable();
            dir.holds(&files);
        }
    }
}

#[test]
fn stdin_goes_on_with_what_comes() {
    let text = table(2, 20_000);
    let ids: String =
        text.lines().skip(1).map(|line| line.split_once('\t').unwrap().0.to_owned() + "\n").collect();
    let run = |dir: &Dir, more: &[&str], input: &str| {
        let args = ["dedup", "--window-count", "2000", "--report", "json"];
        run_once(&dir.0, &[&args, more].concat(), input.as_bytes()).ok()
    };
    let dir = Dir::new();
    let whole = run(&dir, &[], &ids);
    let (mut out, mut last, mut from) = (Vec::new(), String::new(), 0);
    for cut in cuts(&ids, 3, &mut Random(3)) {
        let piece = run(&dir, &["--state", "state"], &ids[from..cut]);
        (last, from) = (figures(&piece), cut);
        out.extend(piece.out);
    }
    assert!(out == whole.out && last == figures(&whole));
}

/// A run with its stdin and stdout at hand.
struct Live {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl Live {
    fn start(dir: &Dir, args: &[&str]) -> Live {
        let mut child = Command::new(EXE)
            .args(args)
            .current_dir(&dir.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Live { child, out }
    }

    fn write(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// So many lines from its stdout.
    fn lines(&mut self, count: usize) -> Vec<String> {
        let mut line = || {
            let mut line = String::new();
            self.out.read_line(&mut line).unwrap();
            line
        };
        (0..count).map(|_| line()).collect()
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap().success());
    }

    /// Its status and what it said, though its stdin is still open.
    fn end(mut self) -> (Option<i32>, String) {
        let stdin = self.child.stdin.take();
        let mut said = String::new();
        std::io::Read::read_to_string(self.child.stderr.as_mut().unwrap(), &mut said).unwrap();
        let status = self.child.wait().unwrap();
        drop(stdin);
        (status.code(), said)
    }
}

/// Waits for something that comes by itself.
fn until(what: &str, mut there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !there() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_signal_saves_and_ends() {
    for (signal, more) in [("-TERM", &[][..]), ("-INT", &["--threads", "3"])] {
        let dir = Dir::new();
        let args = ["dedup", "--window", "1h", "--state", "state", "--save-every", "1h", "--report", "json"];
        let args = [&args, more].concat();
        let mut live = Live::start(&dir, &args);
        live.write("a\nb\na\nc\n");
        assert_eq!(live.lines(3), ["a\n", "b\n", "c\n"]);
        // Nobody writes, and nobody closes the pipe.
        live.signal(signal);
        let (code, said) = live.end();
        assert!(code == Some(0) && said.contains("\"events\":4,\"fresh\":3"), "{said}");
        let run = run_once(&dir.0, &args, b"b\nd\n").ok();
        assert_eq!(run.text(), "d\n");
        assert!(run.err.contains("\"events\":6,\"fresh\":4"), "{}", run.err);
    }
}

/// Who was denied is told of all runs, also of one that was ended by a signal.
#[test]
fn clients_of_all_runs() {
    let dir = Dir::new();
    let args =
        ["limit", "--format", "tsv", "--key", "1", "--limit", "1/h", "--state", "state", "--report", "json"];
    let mut live = Live::start(&dir, &args);
    live.write("ann\nbob\nann\nann\n\u{e9}\n");
    assert_eq!(live.lines(3), ["ann\n", "bob\n", "\u{e9}\n"]);
    live.signal("-TERM");
    let (code, said) = live.end();
    assert!(code == Some(0) && said.contains("\"events\":5,\"allowed\":3"), "{said}");
    let run = run_once(&dir.0, &args, "\u{e9}\nbob\nann\nzoe\n".as_bytes()).ok();
    assert_eq!(run.text(), "zoe\n");
    let report = run.json();
    let told: Vec<_> = report["top_denied"].as_array().unwrap().iter().collect();
    let client = |i: usize| {
        [&told[i]["client"], &told[i]["denied"], &told[i]["allowed"]].map(ToString::to_string).join(" ")
    };
    assert_eq!([0, 1, 2].map(client), ["\"ann\" 3 1", "\"bob\" 1 1", "\"\u{e9}\" 1 1"]);
    assert_eq!((report["clients"].as_u64(), told.len()), (Some(4), 3));
}

/// A state is one run's at a time, whoever else comes by whatever name.
#[test]
fn one_process_at_a_time() {
    let dir = Dir::new();
    let args = ["dedup", "--window", "1h", "-q", "--save-every", "1h", "--state"];
    let with = |state: &'static str| [&args[..], &[state]].concat();
    run_once(&dir.0, &with("state"), b"a\n").ok();
    std::os::unix::fs::symlink("state", dir.0.join("link")).unwrap();
    for (signal, left) in [("-TERM", &["link", "state"][..]), ("-KILL", &["link", "state", "state.lock"])] {
        let mut live = Live::start(&dir, &with("state"));
        live.write(&format!("a\nnew{signal}\n"));
        live.lines(1);
        let before = fs::read(dir.0.join("state")).unwrap();
        for state in ["state", "link"] {
            let run = run_once(&dir.0, &with(state), b"d\n");
            run.failed(1, &format!("--state {state}: is in use by another process: give each its own"));
            assert!(run.out.is_empty() && fs::read(dir.0.join("state")).unwrap() == before);
        }
        // Another state is nobody's concern.
        run_once(&dir.0, &with("other"), b"d\n").ok();
        fs::remove_file(dir.0.join("other")).unwrap();
        live.signal(signal);
        live.end();
        dir.holds(left);
    }
    // What is left of the one that was killed keeps nobody away.
    assert_eq!(run_once(&dir.0, &with("link"), b"a\ne\n").ok().text(), "e\n");
    dir.holds(&["link", "state"]);
}

/// However long it was down: what is older than the window is new again, and nothing is refused for having jumped.
#[test]
fn years_later() {
    const YEAR: u64 = 366 * 86_400;
    for (args, [same, later]) in [
        (&["dedup", "--id", "1", "--window", "1h"][..], ["", "a\t"]),
        (&["dedup", "--id", "1", "--window", "1h", "--approx", "--capacity", "100"], ["", "a\t"]),
        (&["limit", "--key", "1", "--limit", "1/h"], ["", "a\t"]),
        (&["limit", "--limit", "1/h"], ["", "a\t"]),
        (&["limit", "--policy", "policy"], ["", "a\t"]),
    ] {
        let dir = Dir::new();
        dir.put("policy", "[[limit]]\nname = \"a\"\nkey = \"1\"\nquota = \"1/h\"\n");
        let options = ["--format", "tsv", "--time", "2", "-q", "--state", "state"];
        let mut now = 1_700_000_000;
        let mut next = |after: u64, expected: &str| {
            now += after;
            let run = run_once(&dir.0, &[args, &options].concat(), format!("a\t{now}\n").as_bytes()).ok();
            let row = if expected.is_empty() { String::new() } else { format!("{expected}{now}\n") };
            assert_eq!(run.text(), row, "{args:?}");
        };
        next(0, later);
        next(3599, same);
        (0..4).for_each(|_| next(2 * YEAR, later));
        next(3599, same);
    }
}

#[test]
fn saves_while_nothing_comes() {
    let dir = Dir::new();
    let args = ["dedup", "--window", "1h", "--state", "state", "--save-every", "10ms", "-q"];
    let mut live = Live::start(&dir, &args);
    live.write("a\nb\na\n");
    let has = |text: &[u8]| {
        fs::read(dir.0.join("state")).is_ok_and(|state| state.windows(text.len()).any(|w| w == text))
    };
    until("no state", || has(b"\"events\":3"));
    live.write("c\n");
    until("the state stands still", || has(b"\"events\":4"));
    live.signal("-KILL");
    assert_eq!(live.end().0, None);
    assert_eq!(run_once(&dir.0, &args, b"c\nb\nd\n").ok().text(), "d\n");
}

#[test]
fn times_of_arrival_go_on() {
    // Without times of its own an id is as old as it is, whichever run it came to.
    let dir = Dir::new();
    let args = ["dedup", "--window", "300ms", "--state", "state", "-q"];
    assert_eq!(run_once(&dir.0, &args, b"a\n").ok().text(), "a\n");
    until("the id does not leave", || run_once(&dir.0, &args, b"a\n").ok().text() == "a\n");
    let hour = ["dedup", "--window", "1h", "--state", "hour", "-q"];
    assert_eq!(run_once(&dir.0, &hour, b"a\n").ok().text(), "a\n");
    assert_eq!(run_once(&dir.0, &hour, b"a\nb\n").ok().text(), "b\n");
}

//! `--metrics`: what is served while a command runs, and what is refused.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    path::Path,
    process::{Child, ChildStderr, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::common::{Dir, EXE, run};

/// A command that reads stdin and is being watched.
struct Watched {
    child: Child,
    err: BufReader<ChildStderr>,
    address: String,
}

impl Watched {
    fn start(args: &[&str]) -> Watched {
        let mut child = Command::new(EXE)
            .args(args)
            .args(["--metrics", "127.0.0.1:0", "--report", "json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut err = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        err.read_line(&mut line).expect("a line");
        let address = line
            .strip_prefix("windlass: metrics at http://")
            .and_then(|rest| rest.strip_suffix("/metrics\n"));
        let address = address.unwrap_or_else(|| panic!("{line:?}")).to_owned();
        assert!(address.starts_with("127.0.0.1:") && !address.ends_with(":0"), "{address}");
        Watched { child, err, address }
    }

    fn put(&mut self, text: &str) {
        self.child.stdin.as_mut().expect("open").write_all(text.as_bytes()).expect("it reads");
    }

    /// Sends these bytes, and gives all that comes back.
    fn send(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        // (It may have answered, and gone, before it has read all.)
        drop(stream.write_all(request));
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// Head and body of a page.
    fn get(&self, path: &str) -> (String, String) {
        let answer = self.send(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).as_bytes());
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
        (head.to_owned(), body.to_owned())
    }

    /// The samples of `/metrics`, and which metrics there are.
    fn samples(&self) -> (BTreeMap<String, f64>, BTreeSet<String>) {
        let (head, body) = self.get("/metrics");
        assert!(
            head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
            "{head}"
        );
        let samples = body.lines().filter(|line| !line.starts_with('#'));
        let sample = |line: &str| {
            let (name, value) = line.rsplit_once(' ').expect("a sample");
            (name.to_owned(), value.parse().expect("a number"))
        };
        let names = body.lines().filter_map(|line| line.strip_prefix("# HELP ")?.split(' ').next());
        (samples.map(sample).collect(), names.map(str::to_owned).collect())
    }

    /// .. when so many events have been judged.
    fn samples_at(&self, events: u64, command: &str) -> BTreeMap<String, f64> {
        let (name, begun) = (format!("windlass_command_events_total{{name=\"{command}\"}}"), Instant::now());
        loop {
            let (samples, _) = self.samples();
            #[allow(clippy::cast_precision_loss)]
            if samples[&name] == events as f64 {
                return samples;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{samples:?}");
        }
    }

    /// Ends its input. Its report, and what it wrote to stdout.
    fn end(mut self) -> (Value, String) {
        drop(self.child.stdin.take());
        let (mut out, mut err) = (String::new(), String::new());
        self.child.stdout.take().expect("piped").read_to_string(&mut out).expect("text");
        self.err.read_to_string(&mut err).expect("text");
        assert!(self.child.wait().expect("it ends").success(), "{err}");
        let report = if err.is_empty() { &out } else { &err };
        (serde_json::from_str(report).unwrap_or_else(|_| panic!("{report:?}")), out)
    }
}

/// What is served is what the report says: these samples, by the report's fields.
#[track_caller]
fn compare(samples: &BTreeMap<String, f64>, report: &Value, pairs: &[(&str, &str)]) {
    for (sample, field) in pairs {
        let served = samples.get(*sample).unwrap_or_else(|| panic!("no {sample}: {samples:?}"));
        assert_eq!(Some(*served), report[field].as_f64(), "{sample} {field}");
    }
}

#[test]
fn dedup() {
    for threads in ["1", "3"] {
        let mut run = Watched::start(&[
            "dedup",
            "-q",
            "--window",
            "1h",
            "--emit",
            "none",
            "--capacity",
            "100",
            "--threads",
            threads,
        ]);
        run.put("a\nb\na\n");
        let first = run.samples_at(3, "dedup");
        assert_eq!(first["windlass_command_duplicates_total{name=\"dedup\"}"], 1.0);
        assert_eq!(first["windlass_dedup_entries{name=\"ids\"}"], 2.0);
        run.put("c\nb\n");
        let samples = run.samples_at(5, "dedup");
        assert_eq!(samples["windlass_command_read_bytes_total{name=\"dedup\"}"], 10.0);
        let (report, _) = run.end();
        let pairs = [
            ("windlass_command_events_total{name=\"dedup\"}", "events"),
            ("windlass_command_fresh_events_total{name=\"dedup\"}", "fresh"),
            ("windlass_command_duplicates_total{name=\"dedup\"}", "duplicates"),
            ("windlass_command_skipped_records_total{name=\"dedup\"}", "skipped"),
            ("windlass_dedup_entries{name=\"ids\"}", "live"),
            ("windlass_dedup_capacity_entries{name=\"ids\"}", "capacity"),
            ("windlass_dedup_late_events_total{name=\"ids\"}", "late"),
            ("windlass_dedup_memory_bytes{name=\"ids\"}", "memory_bytes"),
        ];
        compare(&samples, &report, &pairs);
    }
}

#[test]
fn dedup_by_a_filter() {
    let mut run = Watched::start(&["dedup", "-q", "--window", "1h", "--emit", "none", "--approx"]);
    run.put("a\nb\na\n");
    let samples = run.samples_at(3, "dedup");
    let (report, _) = run.end();
    compare(&samples, &report, &[("windlass_command_duplicates_total{name=\"dedup\"}", "duplicates")]);
    let filter = [
        ("windlass_bloom_memory_bytes{name=\"filter\"}", "bytes"),
        ("windlass_bloom_designed_error_ratio{name=\"filter\"}", "expected_error"),
    ];
    compare(&samples, &report["filter"], &filter);
}

#[test]
fn limit() {
    let args = [
        "limit",
        "-q",
        "--emit",
        "none",
        "--on-error",
        "skip",
        "--format",
        "tsv",
        "--key",
        "2",
        "--time",
        "1",
    ];
    let mut run = Watched::start(&[&args[..], &["--limit", "2/60s", "--clients", "100"]].concat());
    run.put("0\ta\n1\ta\n2\ta\n3\tb\nsoon\tb\n5\ta\n");
    let samples = run.samples_at(5, "limit");
    let (report, _) = run.end();
    let pairs = [
        ("windlass_command_events_total{name=\"limit\"}", "events"),
        ("windlass_command_allowed_events_total{name=\"limit\"}", "allowed"),
        ("windlass_command_denied_events_total{name=\"limit\"}", "denied"),
        ("windlass_command_skipped_records_total{name=\"limit\"}", "skipped"),
        ("windlass_limiter_clients{name=\"clients\"}", "clients"),
        ("windlass_limiter_memory_bytes{name=\"clients\"}", "memory_bytes"),
    ];
    compare(&samples, &report, &pairs);
    assert_eq!((&report["denied"], &report["skipped"]), (&2.into(), &1.into()));
}

#[test]
fn limits_of_a_policy() {
    let dir = Dir::new();
    let user = "[[limit]]\nname = \"user\"\nkey = \"2\"\nquota = \"2/min\"\nclients = 100\n";
    let all = "[[limit]]\nname = \"all\"\nquota = \"4/min\"\n";
    let policy = dir.put("policy", [user, all].concat()).0.join("policy");
    let state = dir.0.join("state");
    let [policy, state] = [&policy, &state].map(|path| path.to_str().expect("text"));
    let args = [
        "limit", "-q", "--emit", "none", "--format", "tsv", "--time", "1", "--policy", policy, "--state",
        state,
    ];
    let mut run = Watched::start(&args);
    run.put("0\ta\n1\ta\n2\ta\n3\tb\n4\tc\n5\td\n");
    let samples = run.samples_at(6, "limit");
    let (report, _) = run.end();
    let pairs = [
        ("windlass_command_allowed_events_total{name=\"limit\"}", "allowed"),
        ("windlass_command_denied_events_total{name=\"limit\"}", "denied"),
    ];
    compare(&samples, &report, &pairs);
    assert_eq!(report["denied"], 2);
    assert_eq!(samples["windlass_limiter_clients{name=\"limits\",limit=\"user\"}"], 3.0);
    let denied = |samples: &BTreeMap<String, f64>| {
        ["user", "all"].map(|limit| {
            let labels = format!("{{name=\"policy\",limit=\"{limit}\"}}");
            samples[&format!("windlass_command_denied_by_limit_events_total{labels}")]
        })
    };
    assert_eq!(denied(&samples), [1.0, 1.0]);
    // The next run goes on from there, once it has loaded the state.
    let mut run = Watched::start(&args);
    let begun = Instant::now();
    while denied(&run.samples().0) != [1.0, 1.0] {
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", run.samples());
    }
    run.put("6\ta\n");
    let samples = run.samples_at(7, "limit");
    assert_eq!(denied(&samples), [2.0, 1.0]);
    assert_eq!(run.end().0["limits"][0]["denied"], 2);
}

#[test]
fn rank() {
    let mut run = Watched::start(&[
        "rank",
        "-q",
        "--format",
        "tsv",
        "--key",
        "2",
        "--time",
        "1",
        "--pop-every",
        "10s",
        "--capacity",
        "100",
    ]);
    run.put("0\ta\n5\tb\n10\ta\n11\tc\n");
    let samples = run.samples_at(4, "rank");
    let (report, _) = run.end();
    let pairs = [
        ("windlass_command_keys_total{name=\"rank\"}", "keys"),
        ("windlass_command_popped_keys_total{name=\"rank\"}", "popped"),
        ("windlass_command_waiting_keys{name=\"rank\"}", "waiting"),
        ("windlass_command_largest_rank{name=\"rank\"}", "largest_rank"),
        ("windlass_fifo_entries{name=\"waiting\"}", "waiting"),
        ("windlass_dedup_entries{name=\"seen\"}", "keys"),
    ];
    compare(&samples, &report, &pairs);
    assert_eq!((&report["keys"], &report["waiting"]), (&3.into(), &2.into()));
}

/// The list that is served in the end is that of the report, line by line.
#[test]
fn top() {
    for more in [&[][..], &["--approx"]] {
        let args =
            ["top", "-q", "--format", "tsv", "--key", "2", "--time", "1", "--window", "60s", "--pane", "10s"];
        let mut run = Watched::start(&[&args[..], &["-k", "2"], more].concat());
        let lists = |run: &Watched| -> Value {
            let (head, body) = run.get("/top.json");
            assert!(head.contains("\r\nContent-Type: application/json\r\n"), "{head}");
            serde_json::from_str(&body).expect("JSON")
        };
        assert_eq!(lists(&run)["lists"], Value::Array(vec![]));
        run.put("0\ta\n1\ta\n2\tb \"\\\n3\tc\n");
        run.samples_at(4, "top");
        let list = &lists(&run)["lists"][0];
        assert_eq!((&list["rows"][0]["key"], &list["rows"][0]["count"]), (&"a".into(), &2.into()));
        run.put("65\tb \"\\\n65\tb \"\\\n65\ta\n");
        let samples = run.samples_at(7, "top");
        assert_eq!(samples["windlass_command_events_total{name=\"top\"}"], 7.0);
        let list = lists(&run)["lists"][0].take();
        let (report, _) = run.end();
        for (served, told) in
            [("total", "total"), ("certified", "certified"), ("tail", "tail"), ("rows", "rows")]
        {
            assert_eq!(list[served], report[told], "{served} {more:?}");
        }
        let interval = [&list["interval"]["start"], &list["interval"]["end"]];
        assert_eq!(interval, [&report["start_ns"], &report["end_ns"]]);
        assert_eq!((&list["name"], &list["rows"][0]["key"]), (&"keys".into(), &"b \"\\".into()));
        compare(&samples, &report, &[("windlass_command_refused_events_total{name=\"top\"}", "refused")]);
        let kind = if more.is_empty() { "topk" } else { "bounded_topk" };
        assert_eq!(samples[&format!("windlass_{kind}_list_certified{{name=\"keys\"}}")], 1.0);
    }
}

/// All metrics of the tool are in docs/metrics.md, and none that it does not have.
#[test]
fn the_list_is_complete() {
    let doc = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/metrics.md"))
        .expect("readable");
    let mut served = BTreeSet::new();
    let dir = Dir::new();
    let policy = dir.put("policy", "[[limit]]\nname = \"all\"\nquota = \"4/min\"\n").0.join("policy");
    let commands: [&[&str]; 5] = [
        &["dedup", "--window", "1h"],
        &["limit", "--limit", "1/s"],
        &["limit", "--policy", policy.to_str().expect("text")],
        &["rank", "--pop-every", "1s"],
        &["top", "--window", "1m", "--pane", "1m", "-k", "1"],
    ];
    for args in commands {
        let run = Watched::start(args);
        let (_, names) = run.samples();
        for name in names {
            assert!(doc.contains(&format!("`{name}`")), "{name} is not in docs/metrics.md");
            served.insert(name);
        }
        // What a run without an event says is not looked at here.
        drop(run.end());
    }
    let belongs = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for word in
        doc.split(|c| !belongs(c)).filter(|word| word.starts_with("windlass_command_") && word.len() > 17)
    {
        assert!(served.contains(word), "there is no {word}");
    }
}

#[test]
fn as_http() {
    let mut run = Watched::start(&["dedup", "-q", "--window", "1h", "--emit", "none"]);
    let status = |request: &[u8]| {
        let answer = run.send(request);
        answer.split(' ').nth(1).unwrap_or_else(|| panic!("{answer:?}")).to_owned()
    };
    assert_eq!(status(b"GET /metrics HTTP/1.1\r\n\r\n"), "200");
    assert_eq!(status(b"GET /metrics?debug=1 HTTP/1.0\nHost: x\n\n"), "200");
    assert_eq!(status(b"GET /metrics.json HTTP/1.1\r\n\r\n"), "200");
    assert_eq!(status(b"GET / HTTP/1.1\r\n\r\n"), "404");
    assert_eq!(status(b"GET /../metrics HTTP/1.1\r\n\r\n"), "404");
    assert_eq!(status(b"POST /metrics HTTP/1.1\r\n\r\n"), "405");
    assert_eq!(status(b"\r\n\r\n"), "400");
    assert_eq!(status(b"GET /metrics\r\n\r\n"), "400");
    assert_eq!(status(b"GET  /metrics HTTP/1.1\r\n\r\n"), "400");
    assert_eq!(status(b"\x16\x03\x01\xff\xfe\n\n"), "400");
    let long = [b"GET /metrics HTTP/1.1\r\nX: ".as_slice(), &[b'x'; 20_000], b"\r\n\r\n"].concat();
    assert_eq!(status(&long), "431");
    let head = run.send(b"HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    // In pieces.
    let mut stream = TcpStream::connect(&run.address).expect("it listens");
    for byte in b"GET /metrics HTTP/1.1\r\n\r\n" {
        stream.write_all(&[*byte]).expect("it reads");
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(
        answer.ends_with('\n') && answer.contains("windlass_dedup_entries{name=\"ids\"} 0\n"),
        "{answer}"
    );
    // Whoever hangs up, with a request and without, is no trouble.
    for request in [&b""[..], b"GET /met", b"GET /metrics HTTP/1.1\r\n\r\n"] {
        let mut stream = TcpStream::connect(&run.address).expect("it listens");
        stream.write_all(request).expect("it reads");
        drop(stream.shutdown(Shutdown::Both));
    }
    run.put("a\na\n");
    run.samples_at(2, "dedup");
    let (report, out) = run.end();
    assert_eq!((&report["events"], out.lines().count()), (&2.into(), 1));
}

#[test]
fn what_it_refuses() {
    for address in ["9184", "127.0.0.1", "127.0.0.1:", ":9184", "127.0.0.1:65536", "127.0.0.1:http", "", "::"]
    {
        run(&["dedup", "--window", "1h", "--metrics", address], "a\n").failed(
            2,
            &format!(
                "--metrics {address}: an address is HOST:PORT, like 127.0.0.1:9184; port 0 takes a free one"
            ),
        );
    }
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound").to_string();
    let found = run(&["top", "--window", "1m", "--pane", "1m", "-k", "1", "--metrics", &address], "a\n");
    found.failed(1, &format!("--metrics {address}: cannot listen there: Address already in use"));
    assert_eq!(found.text(), "");
    let found = run(&["rank", "--pop-every", "1s", "--metrics", "256.256.256.256:0"], "");
    assert!(
        found.code == 1 && found.err.starts_with("windlass: --metrics 256.256.256.256:0: no such host: "),
        "{}",
        found.err
    );
    let merged =
        ["top", "--window", "1m", "--pane", "1m", "-k", "1", "--merge", "--metrics", "127.0.0.1:0", "x"];
    let found = run(&merged, "");
    assert!(found.code == 2 && found.err.contains("--metrics"), "{}", found.err);
}

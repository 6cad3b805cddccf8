//! `windlass limit`: against the definitions, and what its users see.

#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fs,
};

use crate::common::{self, Dir, Random, Run, decisions_of, run, run_once};
use serde_json::{Value, json};

/// Events: (client, milliseconds).
type Event = (u64, u64);

fn stream(seed: u64, events: usize, late: u64) -> Vec<Event> {
    let mut random = Random(seed);
    let mut now = 1_000_000;
    let mut event = || {
        now += random.below(20);
        let client = random.below(40).min(random.below(40));
        (client, now - if random.below(3) == 0 { random.below(late + 1) } else { 0 })
    };
    (0..events).map(|_| event()).collect()
}

/// How a client's event is judged by his state, N, T and the time: whether it is allowed.
type Rule = fn(&mut [u64; 7], u64, u64, u64) -> bool;

/// A burst of N. In units of 1/N ms.
fn gcra([tat, ..]: &mut [u64; 7], n: u64, t: u64, now: u64) -> bool {
    spaced(tat, n, t, now, n)
}

fn spaced(tat: &mut u64, n: u64, t: u64, now: u64, burst: u64) -> bool {
    let next = (*tat).max(now * n) + t;
    let allowed = next - now * n <= burst * t;
    *tat = if allowed { next } else { *tat };
    allowed
}

fn no_burst([tat, ..]: &mut [u64; 7], n: u64, t: u64, now: u64) -> bool {
    spaced(tat, n, t, now, 1)
}

/// Who comes late counts in the window that is open for his client.
fn fixed([window, count, ..]: &mut [u64; 7], n: u64, t: u64, now: u64) -> bool {
    if now / t > *window {
        (*window, *count) = (now / t, 0);
    }
    *count += 1;
    *count <= n
}

/// For times that do not go back.
fn sliding([window, this, last, ..]: &mut [u64; 7], n: u64, t: u64, now: u64) -> bool {
    if now / t > *window {
        (*last, *this) = (if now / t == *window + 1 { *this } else { 0 }, 0);
        *window = now / t;
    }
    let allowed = *last * (t - now % t) + (*this + 1) * t <= n * t;
    *this += u64::from(allowed);
    allowed
}

/// For N = 7, and times that do not go back (from T on).
fn log(times: &mut [u64; 7], n: u64, t: u64, now: u64) -> bool {
    assert_eq!(n, 7);
    let allowed = times[0] + t <= now;
    if allowed {
        times.rotate_left(1);
        times[6] = now;
    }
    allowed
}

fn judge(events: &[Event], rule: Rule, n: u64, t: u64) -> String {
    let mut states: BTreeMap<u64, [u64; 7]> = BTreeMap::new();
    let judge = |&(client, now): &Event| rule(states.entry(client).or_default(), n, t, now);
    events.iter().map(judge).map(|allowed| if allowed { '1' } else { '0' }).collect()
}

fn clamp(events: &[Event]) -> Vec<Event> {
    let mut newest = 0;
    let raise = |&(client, time): &Event| {
        newest = time.max(newest);
        (client, newest)
    };
    events.iter().map(raise).collect()
}

fn sorted(events: &[Event]) -> Vec<Event> {
    let mut events = events.to_vec();
    events.sort_by_key(|&(_, time)| time);
    events
}

/// A format's options, how it writes an event, and how it calls a client.
type Writing = (&'static [&'static str], fn(Event) -> String, fn(u64) -> String);

const WRITINGS: [Writing; 4] = [
    (
        &["--format", "tsv", "--key", "1", "--time", "2", "--time-format", "unix-ms"],
        |(client, ms)| format!("{client}\t{ms}\n"),
        |client| client.to_string(),
    ),
    (
        &["--format", "csv", "--key", "2,3", "--time", "1", "--time-format", "unix-ms"],
        |(client, ms)| format!("{ms},\"a \"\"{client}\"\"\",\"x\ny\"\r\n"),
        |client| format!("a \"{client}\" x\ny"),
    ),
    (
        &["--format", "jsonl", "--source", "s", "--key", "a.b", "--time", "t", "--time-format", "unix-ms"],
        |(client, ms)| format!("{{\"t\":{ms},\"s\":\"{}\",\"a\":{{\"b\":\"\\u0069\"}}}}\n", client),
        |client| format!("{client} i"),
    ),
    (
        &["--format", "jsonl", "--each", "l", "--key", "k,@", "--time", "t", "--time-format", "unix-ms"],
        |(client, ms)| format!("{{\"t\":{ms},\"k\":{client},\"l\":[7]}}\n"),
        |client| format!("{client} 7"),
    ),
];

/// The list of the report, counted again.
fn top(events: &[Event], decisions: &str, name: fn(u64) -> String) -> Value {
    let mut counts: BTreeMap<u64, (u64, u64, Vec<u64>)> = BTreeMap::new();
    for (&(client, ms), decision) in events.iter().zip(decisions.bytes()) {
        let (denied, allowed, times) = counts.entry(client).or_default();
        *(if decision == b'0' { denied } else { allowed }) += 1;
        times.extend((decision == b'0').then_some(ms * 1_000_000));
    }
    let mut all: Vec<_> = counts.into_iter().filter(|(_, (denied, ..))| *denied > 0).collect();
    all.sort_by_key(|(client, (denied, ..))| (Reverse(*denied), name(*client)));
    let client = |(client, (denied, allowed, times)): &(u64, (u64, u64, Vec<u64>))| {
        json!({ "client": name(*client), "denied": denied, "allowed": allowed,
            "first_denied_ns": times.iter().min(), "last_denied_ns": times.iter().max() })
    };
    json!({ "number": all.len(), "top": all.iter().take(10).map(client).collect::<Vec<_>>() })
}

#[test]
fn every_format_and_order() {
    let rules: [(&[&str], Rule); 6] = [
        (&[], gcra),
        (&["--algorithm", "token-bucket"], gcra),
        (&["--burst", "1"], no_burst),
        (&["--algorithm", "fixed-window"], fixed),
        (&["--algorithm", "sliding-counter"], sliding),
        (&["--algorithm", "sliding-log", "--clients", "1000"], log),
    ];
    for (seed, (options, write, name)) in (1..).zip(WRITINGS) {
        let events = stream(seed, 5000, 500);
        let text: String = events.iter().map(|&event| write(event)).collect();
        let clients = events.iter().map(|(client, _)| client).collect::<BTreeSet<_>>().len();
        let orders: [(&[&str], Vec<Event>); 3] = [
            (&["--order", "sort"], sorted(&events)),
            (&["--order", "clamp"], clamp(&events)),
            (&["--lateness", "500ms"], events),
        ];
        for (order, events) in orders {
            for (algorithm, rule) in &rules {
                // The definitions of these two say nothing about times that go back.
                let by_log_or_estimate = algorithm.get(1).is_some_and(|name| name.starts_with("sliding"));
                if order[0] == "--lateness" && by_log_or_estimate {
                    continue;
                }
                let expected = judge(&events, *rule, 7, 2000);
                let args = [options, &["--limit", "7/2s"], order, algorithm].concat();
                assert!(decisions_of("limit", &args, &text) == expected, "other decisions: {args:?}");
                let told = ["limit", "--emit", "none", "--report", "json"];
                let report = run(&[&told, &args[..]].concat(), &text).ok().json();
                let list = json!({ "number": report["clients_denied"], "top": report["top_denied"] });
                assert_eq!(list, top(&events, &expected, name), "{args:?}");
                let denied = expected.bytes().filter(|&b| b == b'0').count();
                assert_eq!((&report["clients"], &report["denied"]), (&clients.into(), &denied.into()));
            }
        }
    }
}

#[test]
fn one_limit_for_all() {
    let events = stream(9, 5000, 0);
    let all: Vec<Event> = events.iter().map(|&(_, ms)| (0, ms)).collect();
    let text: String = events.iter().map(|(client, ms)| format!("{client}\t{ms}\n")).collect();
    let args = ["--format", "tsv", "--time", "2", "--time-format", "unix-ms", "--limit", "10/s"];
    assert_eq!(decisions_of("limit", &args, &text), judge(&all, gcra, 10, 1000));
    let told = ["limit", "--emit", "none", "--report", "json"];
    let report = run(&[&told, &args[..]].concat(), &text).ok().json();
    assert!(report["denied"].as_u64() > Some(100), "{report}");
    for field in ["clients", "top_denied", "unknown"] {
        assert!(report.get(field).is_none(), "{report}");
    }
    // Lines without times: the clock at arrival, which does not take a year.
    let run = run_once(&std::env::temp_dir(), &["limit", "-q", "--limit", "2/366d"], b"a\nb\nc\nd");
    assert_eq!(
        (run.ok().text(), run_lines("denied"), run_lines("all")),
        ("a\nb\n", "c\nd\n".into(), "a\nb\nc\nd\n".into())
    );
}

fn run_lines(emit: &str) -> String {
    let args = ["limit", "-q", "--limit", "2/366d", "--emit", emit];
    run_once(&std::env::temp_dir(), &args, b"a\nb\nc\nd").ok().text().to_owned()
}

const TABLE: &str = "host,t\na,10\nb,10\na,11\na,11.5\n\"b\",11.75";

fn table(args: &[&str]) -> Run {
    let fields = ["limit", "--format", "csv", "--key", "host", "--time", "t", "--limit", "1/s"];
    run(&[&fields, args].concat(), TABLE).ok()
}

#[test]
fn records_are_passed_on_as_they_are() {
    assert_eq!(table(&["-q"]).text(), "host,t\na,10\nb,10\na,11\n\"b\",11.75\n");
    assert_eq!(table(&["-q", "--emit", "denied"]).text(), "host,t\na,11.5\n");
    assert_eq!(table(&["-q", "--emit", "all"]).text(), format!("{TABLE}\n"));
    assert_eq!(table(&["-q", "--emit", "none"]).text(), "");
}

#[test]
fn the_report_for_people() {
    let run = table(&["--emit", "none", "--burst", "1", "--clients", "1000"]);
    let lines: Vec<&str> = run.err.lines().collect();
    let [events, policy, when, head, client] = lines[..] else { panic!("{}", run.err) };
    assert_eq!(events, "5 events: 4 allowed, 1 denied (20.0 %)");
    let memory =
        policy.strip_prefix("1/s by gcra, for each of 2 clients, 1 of them denied; memory ").unwrap();
    assert!(memory.ends_with(" events/s"), "{policy}");
    assert_eq!(when, "first denied 1970-01-01T00:00:11.500Z, last 1970-01-01T00:00:11.500Z");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(head), words("denied allowed first denied last denied client"));
    let time = "1970-01-01T00:00:11.500Z";
    assert_eq!(words(client), ["1", "2", time, time, "a"]);
}

#[test]
fn names_stay_on_their_line() {
    let text = format!("{{\"k\":\"a\\n\\u001b[1m\",\"t\":1}}\n{{\"k\":\"{}\",\"t\":1}}\n", "é".repeat(500));
    let args =
        ["limit", "--format", "jsonl", "--key", "k", "--time", "t", "--limit", "1/s", "--emit", "none"];
    let run = run(&args, text.repeat(2)).ok();
    let names: Vec<&str> = run.err.lines().skip(4).map(|line| line.rsplit("  ").next().unwrap()).collect();
    assert_eq!(names, ["a\\n\\u{1b}[1m", &format!("{}...", "é".repeat(60))]);
    let json = common::run(&[&args[..], &["--report", "json"]].concat(), text.repeat(2)).ok().json();
    assert_eq!(json["top_denied"][1]["client"], "é".repeat(128), "256 bytes");
}

#[test]
fn a_queue_tells_its_delays() {
    let text = "0\n0\n0.1\n0.1\n10\n";
    let args = ["limit", "--format", "tsv", "--time", "1", "--limit", "1/s", "--burst", "3"];
    let args = [&args[..], &["--algorithm", "leaky-queue", "--emit", "none"]].concat();
    let report = run(&[&args[..], &["--report", "json"]].concat(), text).ok().json();
    // Those allowed wait 0, 1, 1.9 and 0 s.
    assert_eq!((&report["allowed"], &report["denied"]), (&4.into(), &1.into()));
    assert_eq!(report["greatest_delay_ns"], 1_900_000_000);
    assert_eq!(report["mean_delay_ns"], 725_000_000);
    let text = run(&args, text).ok();
    assert!(text.err.contains("\nthose allowed wait 1.900s at most, 725.000ms on average\n"), "{}", text.err);
}

#[test]
fn late_events_are_counted() {
    let args =
        ["limit", "--format", "tsv", "--key", "1", "--time", "2", "--limit", "1/60s", "--emit", "none"];
    let text = "a\t1000\nb\t2000\na\t1001\n";
    let said = run(&args, text).ok();
    assert!(
        said.err.contains("\n1 later than --lateness, counted as arriving at its edge\n"),
        "{}",
        said.err
    );
    let report = run(&[&args[..], &["--report", "json", "--lateness", "1000s"]].concat(), text).ok().json();
    assert_eq!((&report["late"], &report["denied"]), (&0.into(), &1.into()));
}

#[test]
fn no_room_for_all_clients() {
    let text: String = (0..20_000).map(|i| format!("{}\t5\n", i % 10_000)).collect();
    let args = ["limit", "--format", "tsv", "--key", "1", "--time", "2", "--limit", "1/s", "--emit", "none"];
    let small = [&args[..], &["--clients", "1000", "--max-memory", "50k", "--report"]].concat();
    let report = |more: &[&str]| run(&[&small[..], &["json"], more].concat(), &text).ok().json();
    let number = |report: &Value, field: &str| report[field].as_u64().unwrap();
    // Those that are known are allowed once; for the others there is one answer.
    let (deny, allow) = (report(&[]), report(&["--on-unknown", "allow"]));
    let known = number(&deny, "allowed");
    assert!((1000..3000).contains(&known), "{deny}");
    assert_eq!(number(&deny, "unknown"), 2 * (10_000 - known));
    assert_eq!(number(&allow, "unknown"), 2 * (10_000 - known));
    assert_eq!((number(&allow, "denied"), number(&allow, "clients")), (known, 10_000));
    assert!(number(&deny, "memory_bytes") <= 50 << 10, "{deny}");
    for (policy, outcome) in [("deny", "denied"), ("allow", "allowed")] {
        let said = run(&[&small[..], &["text", "--on-unknown", policy]].concat(), &text).ok();
        let line =
            format!(" events {outcome} for lack of room for their clients: --max-memory is too small\n");
        assert!(said.err.contains(&line), "{}", said.err);
    }
    // The log does not grow.
    let log = [&args[..], &["--algorithm", "sliding-log", "--clients", "1000"]].concat();
    let said = run(&log, &text).ok();
    let line = " events denied for lack of room for their clients: --clients is too small\n";
    assert!(said.err.contains(line), "{}", said.err);
    // With room it grows.
    let report = run(&[&args[..], &["--clients", "1000", "--report", "json"]].concat(), &text).ok().json();
    assert_eq!((number(&report, "allowed"), number(&report, "unknown")), (10_000, 0));
}

#[test]
fn what_came_before_a_bad_record_stays() {
    let dir = Dir::new();
    dir.put("d", "of an earlier run").put("a.tsv", "a\t1\na\t1\nb\tx\n");
    let args = ["limit", "--key", "1", "--time", "2", "--limit", "1/s", "--decisions", "d", "a.tsv"];
    let run = dir.run(&args);
    run.failed(2, "a.tsv:3: time \"x\" is not unix seconds, rfc3339 or clf; --time-format says what it is");
    assert_eq!(run.text(), "a\t1\n");
    assert_eq!(fs::read_to_string(dir.0.join("d")).unwrap(), "of an earlier run");
    dir.holds(&["a.tsv", "d"]);
    dir.put("a.tsv", "a\t1\na\t1\nb\t9000000000\nc\t1\n");
    let run = dir.run(&args);
    run.failed(2, "event 3: its time is more than 3257 days after that of the first event");
    assert_eq!(run.text(), "a\t1\n");
    dir.holds(&["a.tsv", "d"]);
}

#[test]
fn usage() {
    let window = "the quota's, or none: a window has no burst of its own";
    let bucket = "a permit in 4 ns at most, and a bucket that is full again after 2^56 ns (833 days) at most";
    let wanted = "permits/time, like 100/60s, 10/s or 10/s burst 20 (units: ns us ms s m min h d)";
    let of_limit = |text: &str, what: &str| format!("invalid value '{text}' for '--limit <N/DUR>': {what}");
    let needs_key = "the following required arguments were not provided: --key <FIELD>".to_owned();
    let needs_one =
        "the following required arguments were not provided: <--key <FIELD>|--policy <FILE>>".to_owned();
    let cases: &[(&[&str], String)] = &[
        (&[], "the following required arguments were not provided: --limit <N/DUR>".into()),
        (&["--limit", "10/0s"], of_limit("10/0s", "a time of 1 ns at least")),
        (&["--limit", "0/s"], of_limit("0/s", "1 permit at least")),
        (&["--limit", "10/367d"], of_limit("10/367d", "a time of 366 days at most")),
        (&["--limit", "-1/s"], of_limit("-1/s", wanted)),
        (&["--limit=-1/s"], of_limit("-1/s", wanted)),
        (&["--limit", "1/-1s"], of_limit("1/-1s", wanted)),
        (&["--limit", "18446744073709551616/s"], of_limit("18446744073709551616/s", wanted)),
        (&["--limit", "10/1.5s"], of_limit("10/1.5s", wanted)),
        (&["--limit", "10"], of_limit("10", "in what time? like 10/60s or 10/s")),
        (
            &["--limit", "10/s burst 5"],
            of_limit("10/s burst 5", "the burst has an option of its own: --burst N"),
        ),
        (
            &["--limit", "1000000000/s"],
            format!("--limit 1000000000/s (--algorithm gcra) is out of range: {bucket}"),
        ),
        (
            &["--limit", "1/s", "--burst", "99999999999"],
            format!("--limit 1/s with --burst 99999999999 (--algorithm gcra) is out of range: {bucket}"),
        ),
        (
            &["--limit", "8192/s", "--algorithm", "sliding-counter"],
            "--limit 8192/s (--algorithm sliding-counter) is out of range: 8191 permits at most with this algorithm \
             and time"
                .into(),
        ),
        (
            &["--limit", "1/s", "--burst", "0"],
            "--burst 0 (--algorithm gcra) is out of range: 1 at least".into(),
        ),
        (
            &["--limit", "1/s", "--burst", "-1"],
            "unexpected argument '-1' found tip: to pass '-1' as a value, use '-- -1'".into(),
        ),
        (
            &["--limit", "9/s", "--burst", "20", "--algorithm", "fixed-window"],
            format!("--burst 20 (--algorithm fixed-window) is out of range: 9, {window}"),
        ),
        (
            &["--limit", "9/s", "--burst", "20", "--algorithm", "sliding-counter"],
            format!("--burst 20 (--algorithm sliding-counter) is out of range: 9, {window}"),
        ),
        (
            &["--limit", "9/s", "--algorithm", "leaky"],
            "invalid value 'leaky' for '--algorithm <ALGORITHM>' [possible values: gcra, fixed-window, sliding-log, \
             sliding-counter, token-bucket, leaky-queue] tip: a similar value exists: 'leaky-queue'"
                .into(),
        ),
        (
            &["--limit", "9/s", "--lateness", "2000d"],
            "--lateness 2000d is out of range: 1667d (4.5 years) at most".into(),
        ),
        (&["--limit", "9/s", "--clients", "5"], needs_key.clone()),
        (&["--limit", "9/s", "--max-memory", "5M"], needs_key.clone()),
        (&["--limit", "9/s", "--on-unknown", "allow"], needs_key),
        (&["--limit", "9/s", "--source", "x"], needs_one.clone()),
        (&["--limit", "9/s", "--format", "jsonl", "--each", "x"], needs_one),
        (
            &["--limit", "9/s", "--key", "x"],
            "stdin: format lines has no field \"x\": each line is an id; --format tsv, csv, jsonl or combined has \
             fields"
                .into(),
        ),
        (&["--limit", "9/s", "--format", "tsv", "--key", "1,"], "--key: a field's name is empty".into()),
        (
            &["--limit", "9/s", "--format", "tsv", "--key", "1", "--max-memory", "1M"],
            "--max-memory 1.0 MiB is out of range: 39936050 bytes or more, for the capacity".into(),
        ),
        (
            &["--limit", "9/s", "--algorithm", "sliding-log", "--key", "1", "--max-memory", "5M"],
            "--max-memory 5.0 MiB does not go with sliding-log, which does not grow: it has room for --clients".into(),
        ),
        (
            &["--limit", "9/s", "--burst", "20", "--algorithm", "sliding-log"],
            format!("--burst 20 (--algorithm sliding-log) is out of range: 9, {window}"),
        ),
        (
            &["--limit", "16384/s", "--algorithm", "sliding-log"],
            "--limit 16384/s (--algorithm sliding-log) is out of range: 16383 permits at most with this algorithm and \
             time"
                .into(),
        ),
        (
            &["--limit", "9/s", "--order", "sort"],
            "--order clamp and --order sort need event times: --time FIELD".into(),
        ),
        (&["--limit", "9/s", "no-such-file"], "no-such-file: cannot open: No such file or directory".into()),
        (&["--limit", "9/s", "--decisions", "/"], "--decisions /: is a directory, not a file".into()),
    ];
    let dir = Dir::new();
    for (args, line) in cases {
        let run = common::run_in(&dir.0, &[&["limit"], *args].concat(), b"some\ninput\n");
        run.failed(2, line);
        assert_eq!(run.text(), "", "{args:?}");
        dir.holds(&[]);
    }
}

//! Wrong usage and bad input: one clear line each, the right exit status, nothing half-written.

#![allow(clippy::expect_used, clippy::unwrap_used)] // clippy knows tests only by their attribute

use std::fs;

use crate::common::{Dir, dedup, run};

#[test]
fn usage() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "which command? `windlass --help` lists them"),
        (&["dedupe"], "unrecognized subcommand 'dedupe' tip: a similar subcommand exists: 'dedup'"),
        (
            &["dedup"],
            "the following required arguments were not provided: <--window <DUR>|--window-count <N>>",
        ),
        (
            &["dedup", "--window", "5s", "--window-count", "5"],
            "the argument '--window <DUR>' cannot be used with '--window-count <N>'",
        ),
        (
            &["dedup", "--window", "60"],
            "invalid value '60' for '--window <DUR>': a whole number and one of ns, us, ms, s, m, h, d: 250ms, 60s, \
             5m, 1h",
        ),
        (
            &["dedup", "--window", "999999999h"],
            "invalid value '999999999h' for '--window <DUR>': too long: 584 years at most",
        ),
        (&["dedup", "--window", "0s"], "--window 0s is out of range: 1ns to 1667d (4.5 years)"),
        (&["dedup", "--window", "14000d"], "--window 14000d is out of range: 1ns to 1667d (4.5 years)"),
        (
            &["dedup", "--window-count", "0"],
            "--window-count 0 is out of range: 1 to 144115188075855872 events",
        ),
        (
            &["dedup", "--window", "1000d", "--lateness", "1000d"],
            "--lateness 1000d is out of range: with the window 1667d (4.5 years) at most",
        ),
        (
            &["dedup", "--window", "5s", "--emit", "some"],
            "invalid value 'some' for '--emit <EMIT>' [possible values: fresh, duplicates, all, none]",
        ),
        (
            &[
                "dedup",
                "--window",
                "5s",
                "--format",
                "tsv",
                "--id",
                "1",
                "--time",
                "2",
                "--time-format",
                "weeks",
            ],
            "invalid value 'weeks' for '--time-format <FORMAT>': known are unix, unix-ms, unix-us, unix-ns, rfc3339, clf \
             and strftime patterns like '%Y-%m-%d %H:%M:%S'",
        ),
        (
            &["dedup", "--window", "5s", "--order", "sort"],
            "--order clamp and --order sort need event times: --time FIELD",
        ),
        (
            &["dedup", "--window", "5s", "--id", "user"],
            "stdin: format lines has no field \"user\": each line is an id; --format tsv, csv, jsonl or combined has \
             fields",
        ),
        (&["dedup", "--window", "5s", "--format", "jsonl"], "stdin: format jsonl needs --id FIELD"),
        (&["dedup", "--window", "5s", "--format", "jsonl", "--id", "a,,b"], "--id: a field's name is empty"),
        (
            &["dedup", "--window", "5s", "--format", "tsv", "--id", "0"],
            "no column 0: they are counted from 1",
        ),
        (
            &["dedup", "--window", "5s", "--format", "csv", "--id", "1", "--each", "x"],
            "stdin: --each needs format jsonl, not csv",
        ),
        (
            &["dedup", "--window", "5s", "--format", "combined", "--id", "host"],
            "format combined has no field \"host\"; it has ip, user, time, request, method, path, status, bytes, referer, \
             agent",
        ),
        (
            &["dedup", "--window", "5s", "no-such-file"],
            "no-such-file: cannot open: No such file or directory",
        ),
        (&["dedup", "--window", "5s", "/"], "/: is a directory, not a file"),
        (
            &["dedup", "--window", "5s", "--threads", "0"],
            "invalid value '0' for '--threads <N>': 0 is not in 1..=64",
        ),
        (
            &["dedup", "--window", "5s", "--threads", "65"],
            "invalid value '65' for '--threads <N>': 65 is not in 1..=64",
        ),
    ];
    for (args, line) in cases {
        let run = run(args, "some\ninput\n");
        run.failed(2, line);
        assert_eq!(run.text(), "", "{args:?}");
    }
}

#[test]
fn memory() {
    for (capacity, shown) in [("0", "0"), ("1000000G", "1000000000000000"), ("18G", "18000000000")] {
        let run = dedup(&["--capacity", capacity], "a\n");
        assert_eq!((run.code, run.text()), (2, ""), "{}", run.err);
        assert!(
            run.err.starts_with(&format!("windlass: --capacity {shown} is out of range: 1 to ")),
            "{}",
            run.err
        );
        assert_eq!(run.err.lines().count(), 1);
    }
    let capped = dedup(&["--max-memory", "1M"], "a\n");
    assert_eq!(capped.code, 2);
    assert_eq!(
        capped.err,
        "windlass: --max-memory 1.0 MiB is out of range: 39936050 bytes or more, for the capacity\n"
    );
    dedup(&["--max-memory", "1M", "--capacity", "1000"], "a\n").ok();
}

#[test]
fn a_wrong_second_file_stops_the_run_before_it_begins() {
    let dir = Dir::new();
    dir.put("good", "a\n");
    let run = dir.run(&["dedup", "--window", "5s", "--decisions", "d", "good", "bad"]);
    run.failed(2, "bad: cannot open: No such file or directory");
    assert_eq!(run.text(), "");
    dir.holds(&["good"]);
}

/// The message for a file of that name and content, which is bad after its first record.
fn bad_record(name: &str, content: &str, args: &[&str], line: &str) {
    let dir = Dir::new();
    dir.put(name, content).put("decisions", "of an earlier run");
    let all = [&["dedup", "--window", "5s", "--decisions", "decisions"], args, &[name]].concat();
    let run = dir.run(&all);
    run.failed(2, line);
    // What came before the bad record has been passed on; the decisions are there as a whole or not at all.
    let good = content.lines().take_while(|l| !l.starts_with("bad")).count();
    assert_eq!(run.text().lines().count(), good, "{all:?}");
    assert_eq!(fs::read_to_string(dir.0.join("decisions")).unwrap(), "of an earlier run");
    let mut names = vec!["decisions", name];
    names.sort_unstable();
    dir.holds(&names);

    let skip = dir.run(&[&all[..], &["--on-error", "skip"]].concat()).ok();
    assert!(skip.err.contains(&format!("\n1 records skipped, the first: {line}\n")), "{}", skip.err);
    assert_eq!(skip.text().lines().count(), content.lines().count() - 1, "{all:?}");
}

#[test]
fn bad_records() {
    let timed = ["--id", "1", "--time", "2", "--time-format", "unix"];
    bad_record(
        "f.tsv",
        "a\t1\nbad\tx\nc\t3\n",
        &timed,
        "f.tsv:2: time \"x\" is not unix seconds, like 807249601 or 807249601.25",
    );
    bad_record(
        "f.tsv",
        "a\t1\nbad\t-5\nc\t3\n",
        &timed,
        "f.tsv:2: time \"-5\" is out of range: 1970 to 2261 is allowed",
    );
    bad_record("f.tsv", "a\t1\nbad\nc\t3\n", &timed, "f.tsv:2: no field \"2\"");
    let date = ["--id", "1", "--time", "2", "--time-format", "rfc3339"];
    let (day, wrong) = ("1995-08-01T00:00:00Z", "is not rfc3339, like 2018-03-24T17:15:20.866586Z");
    let rows = format!("a,{day}\nbad,\"1995\"\nc,{day}\n");
    bad_record("f.csv", &rows, &date, &format!("f.csv:2: time \"1995\" {wrong}"));
    let log = "::1 - - [01/Aug/1995:00:00:00 +0000] \"GET / HTTP/1.0\" 200 5\n";
    bad_record(
        "access.log",
        &format!("{log}bad\n{}", log.replace("::1", "::2")),
        &["--format", "combined", "--id", "ip"],
        "access.log:2: not a combined log line: ip ident user [time] \"request\" status bytes \"referer\" \"agent\" is \
         expected",
    );
}

#[test]
fn bad_json() {
    let id = ["--id", "a"];
    bad_record(
        "f.jsonl",
        "{\"a\":1}\nbad\n{\"a\":2}\n",
        &id,
        "f.jsonl:2: not a JSON object: expected value at column 1",
    );
}

#[test]
fn json_fields() {
    let cases = [
        ("{\"a\":{}}\n", "stdin:1: field \"a\" is an object, not one value"),
        ("\n\n{\"b\":1}\n", "stdin:3: no field \"a\""),
        ("{\"a\":null}\n", "stdin:1: no field \"a\""),
        ("{\"a\":1}\n{\"a\":\"x", "stdin:2: not a JSON object: EOF while parsing a string at column 7"),
        ("[1]\n", "stdin:1: not a JSON object: invalid type: sequence, expected an object"),
    ];
    for (input, line) in cases {
        dedup(&["--format", "jsonl", "--id", "a"], input).failed(2, line);
    }
}

#[test]
fn lines_are_counted_in_files() {
    // Blank lines, a header and quoted line ends all count; each file begins anew.
    let dir = Dir::new();
    dir.put("a.csv", "id,t\n\n\"x\ny\",1\n").put("b.csv", "id,t\n\"p\nq\",2\n\nz,later\n");
    let run = dir.run(&["dedup", "-q", "--window", "5s", "--id", "id", "--time", "t", "a.csv", "b.csv"]);
    run.failed(
        2,
        "b.csv:5: time \"later\" is not unix seconds, rfc3339 or clf; --time-format says what it is",
    );
    assert_eq!(run.text(), "id,t\n\"x\ny\",1\n\"p\nq\",2\n");
    // A bad line far behind the first block.
    let mut long = "{\"id\":1}\n".repeat(100_000);
    long += "{}\n";
    dedup(&["--format", "jsonl", "--id", "id"], long).failed(2, "stdin:100001: no field \"id\"");
}

#[test]
fn unknown_columns() {
    for (name, text) in [("f.tsv", "host\ttime\nx\t1\n"), ("f.csv", "host,\"time\"\nx,1\n")] {
        let dir = Dir::new();
        let run =
            dir.put(name, text).run(&["dedup", "--window", "5s", "--id", "hots", "--on-error", "skip", name]);
        run.failed(2, &format!("{name}:1: no column \"hots\"; the header has \"host\", \"time\""));
        assert_eq!(run.text(), "");
    }
    dedup(&["--format", "tsv", "--id", "3"], "a\tb\n").failed(2, "stdin:1: no field \"3\"");
}

#[test]
fn csv_quote_left_open() {
    let line = "stdin:2: a quoted field is never closed";
    dedup(&["--format", "csv", "--id", "1"], "a,b\n\"c,d\ne,f\n").failed(2, line);
    let skip = dedup(&["--format", "csv", "--id", "1", "--on-error", "skip"], "a,b\n\"c,d\ne,f\n").ok();
    assert_eq!(skip.text(), "a,b\n");
}

#[test]
fn mixed_times() {
    let dir = Dir::new();
    dir.put("a.tsv", "").put("b.log", "");
    dir.run(&["dedup", "--window", "5s", "--each", "x", "--id", "@", "a.tsv"])
        .failed(2, "a.tsv: --each needs format jsonl, not tsv");
}

#[test]
fn capacity_reached() {
    let ids: String = (0..100_000).map(|i| format!("{i}\n")).collect();
    let dir = Dir::new();
    dir.put("ids", &ids);
    let full = ["--capacity", "1000", "--max-memory", "50k"];
    let args = [&["dedup", "--window-count", "1M", "--decisions", "d", "ids"][..], &full].concat();
    let run = dir.run(&args);
    assert_eq!(run.code, 1);
    let passed = run.text().lines().count();
    assert!(passed >= 1000, "{passed}");
    assert_eq!(run.text(), &ids[..run.text().len()], "what was passed on before is the input's beginning");
    let line = format!(
        "event {}: no room for another id: --max-memory 50.0 KiB is reached; give more, or --on-full evict",
        passed + 1
    );
    run.failed(1, &line);
    dir.holds(&["ids"]);

    let evict =
        dir.run(&[&args[..], &["--on-full", "evict", "--report", "json", "--emit", "none"]].concat()).ok();
    let report = evict.json();
    assert_eq!(report["events"], 100_000);
    assert!(report["evicted"].as_u64().expect("a number") > 90_000, "{report}");

    // Ids that came at the same time cannot be told old from young: what finds no room is passed on, and not remembered.
    let same = ids.replace('\n', "\t5\n");
    let timed = ["--format", "tsv", "--id", "1", "--time", "2", "--on-full", "evict", "--report", "json"];
    let run = dedup(&[&timed[..], &full].concat(), &same).ok();
    assert_eq!(run.text(), same);
    let report: serde_json::Value = serde_json::from_str(&run.err).expect("JSON");
    assert_eq!(report["fresh"], 100_000);
    let lost = report["evicted"].as_u64().zip(report["refused"].as_u64()).map(|(e, r)| e + r);
    assert!(lost > Some(90_000), "{report}");
}

#[test]
fn decisions_that_cannot_be_written() {
    let dir = Dir::new();
    let run = dir.run(&["dedup", "--window", "5s", "--decisions", "no/such", "-"]);
    run.failed(2, "--decisions no/such: cannot write: No such file or directory");
    dir.run(&["dedup", "--window", "5s", "--decisions", "."])
        .failed(2, "--decisions .: is a directory, not a file");
    dir.holds(&[]);
}

//! Any number of threads gives the output, the decisions, the counts and the errors of one, over many blocks and files.

#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use std::{fmt::Write, fs};

use crate::common::{Dir, Random, run_in};

/// What a run left: status, stdout, what it said (no times), decisions.
type Left = (i32, Vec<u8>, String, Option<Vec<u8>>);

/// Runs with 1, 2, 5 and 64 threads; all leave the same, which is returned.
fn same(dir: &Dir, args: &[&str]) -> Left {
    let [one, others @ ..] = ["1", "2", "5", "64"].map(|threads| {
        let told = ["dedup", "--report", "json", "--decisions", "decisions", "--threads", threads];
        let run = run_in(&dir.0, &[&told, args].concat(), b"");
        let decisions = fs::read(dir.0.join("decisions")).ok();
        drop(fs::remove_file(dir.0.join("decisions")));
        (run.code, run.out.clone(), run.timeless(), decisions)
    });
    for other in others {
        assert_eq!((other.0, &other.2), (one.0, &one.2), "{args:?}");
        assert!(other.1 == one.1 && other.3 == one.3, "other bytes: {args:?}");
    }
    one
}

/// The same, and it went well: stdout and the report.
fn good(dir: &Dir, args: &[&str]) -> (Vec<u8>, String) {
    let (code, out, said, decisions) = same(dir, args);
    assert_eq!((code, decisions.is_some()), (0, true), "{said}");
    (out, said)
}

/// Rows of some blocks: ids with repeats, times that go back at times.
fn rows(seed: u64, count: u64, mut write: impl FnMut(&mut String, u64, u64, &str)) -> String {
    let mut random = Random(seed);
    let (mut text, mut now) = (String::new(), 1_000_000);
    for _ in 0..count {
        now += random.below(20);
        let (id, late) = (random.below(count / 3), random.below(3) / 2 * random.below(500));
        write(&mut text, id, now - late, &"padding, "[usize::from(random.below(10) < 5) * 8..]);
    }
    text
}

#[test]
fn lines() {
    let dir = Dir::new();
    let text = rows(1, 60_000, |text, id, _, padding| writeln!(text, "{id}{padding}").unwrap());
    dir.put("a", &text).put("b", text.trim_end());
    for emit in ["fresh", "duplicates", "all"] {
        good(&dir, &["--window-count", "9000", "--emit", emit, "a", "b"]);
    }
    good(&dir, &["--window-count", "9000", "--refresh", "a", "b"]);
    // Full: the same event is refused, behind the same output.
    let args = ["--window-count", "1M", "--capacity", "5000", "--max-memory", "300k", "a"];
    let (code, out, said, _) = same(&dir, &args);
    assert!(code == 1 && text.as_bytes().starts_with(&out[..100]) && said.contains("no room"), "{said}");
    good(&dir, &[&args[..], &["--on-full", "evict"]].concat());
}

#[test]
fn orders_of_time() {
    let dir = Dir::new();
    let tsv = rows(2, 30_000, |text, id, ms, padding| writeln!(text, "{padding}\t{id}\t{ms}").unwrap());
    // Another order of columns, blank lines before the header and between the rows.
    let swapped = rows(3, 30_000, |text, id, ms, _| write!(text, "{ms}\t{id}\r\n\n").unwrap());
    dir.put("a.tsv", "x\tid\tms\n".to_owned() + &tsv).put("b.tsv", "\n\r\nms\tid\n".to_owned() + &swapped);
    let fields = ["--id", "id", "--time", "ms", "--time-format", "unix-ms", "a.tsv", "b.tsv"];
    let mut outs = Vec::new();
    for order in [
        &["--lateness", "500ms"][..],
        &["--order", "clamp"],
        &["--order", "sort"],
        &["--order", "clamp", "--refresh", "--source", "ms"],
    ] {
        let (out, said) = good(&dir, &[&["--window", "3s"], order, &fields].concat());
        assert!(out.starts_with(b"x\tid\tms\n") && said.contains("\"events\":60000"), "{said}");
        outs.push(out);
    }
    assert!(outs[0] != outs[1] && outs[1] != outs[2]);
}

#[test]
fn quoted_line_ends() {
    let dir = Dir::new();
    let csv = rows(4, 30_000, |text, id, _, padding| writeln!(text, "\"{padding}\n\"\"{id}\",{id}").unwrap());
    dir.put("a.csv", "text,id\n".to_owned() + &csv);
    good(&dir, &["--window-count", "5000", "--id", "id", "a.csv"]);
    good(&dir, &["--window-count", "5000", "--id", "text", "--emit", "duplicates", "a.csv"]);
    // A quote that swallows the rest of the file.
    dir.put("open.csv", format!("text,id\n{csv}\"open,1\n{}", "x,1\n".repeat(100_000)));
    let args = ["--window-count", "5000", "--id", "id", "open.csv", "a.csv"];
    let (code, _, said, _) = same(&dir, &args);
    assert_eq!((code, said.as_str()), (2, "windlass: open.csv:60002: a quoted field is never closed"));
    let (_, said) = good(&dir, &[&args[..], &["--on-error", "skip"]].concat());
    assert!(said.contains("\"events\":60000") && said.contains("\"skipped\":1"), "{said}");
}

#[test]
fn arrays_and_absent_fields() {
    let dir = Dir::new();
    let jsonl = rows(5, 20_000, |text, id, ms, padding| {
        let line = match id % 50 {
            0 => format!("{{\"t\":{ms}}}"),
            1 => format!("{{\"t\":{ms},\"l\":[{{}},{{\"id\":{id}}},{{}}]}}"),
            _ => format!("{{\"t\":{ms},\"p\":\"{padding}\",\"l\":[{{\"id\":{id}}},{{\"id\":\"x{ms}\"}}]}}"),
        };
        writeln!(text, "{line}").unwrap();
    });
    dir.put("a.jsonl", jsonl);
    let fields = ["--each", "l", "--id", "@.id", "--time", "t", "--time-format", "unix-ms", "a.jsonl"];
    for missing in [&["--missing", "skip"], &["--on-error", "skip"]] {
        for order in [&["--order", "clamp"], &["--order", "sort"], &["--emit", "duplicates"]] {
            let (out, said) = good(&dir, &[&["--window", "5s"], &missing[..], order, &fields].concat());
            assert!(!out.is_empty() && !said.contains("\"skipped\":0"), "{said}");
        }
    }
    let (code, _, said, _) = same(&dir, &[&["--window", "5s"][..], &fields].concat());
    assert!(code == 2 && said.contains("a.jsonl:") && said.contains(": no field \"l\""), "{said}");
}

#[test]
fn bad_records_far_behind() {
    let dir = Dir::new();
    let mut number = 0;
    let log = rows(6, 10_000, |text, id, ms, padding| {
        number += 1;
        let minute = ms / 60_000 % 60;
        let time = format!("01/Aug/1995:00:{minute:02}:{:02} +0000", ms / 1000 % 60);
        match number % 2999 {
            2998 => writeln!(text, "{padding}").unwrap(),
            _ => writeln!(text, "::{} - - [{time}] \"GET /{id}? HTTP/1.0\" 200 5 \"-\" \"-\"", id % 99)
                .unwrap(),
        }
    });
    let bad = log.lines().position(|line| !line.is_empty() && !line.starts_with(':')).unwrap() + 1;
    dir.put("access.log", &log);
    let fields =
        ["--format", "combined", "--id", "ip,path", "--window", "9s", "--lateness", "1s", "access.log"];
    let (code, out, said, decisions) = same(&dir, &fields);
    assert!(code == 2 && said.starts_with(&format!("windlass: access.log:{bad}: not a combined")), "{said}");
    assert!(out.ends_with(b"\n") && decisions.is_none(), "no half record, no half file");
    let (_, said) = good(&dir, &[&fields[..], &["--on-error", "skip"]].concat());
    assert!(!said.contains("\"skipped\":0"), "{said}");
    // In the text report: where the first of them stands.
    let text = run_in(&dir.0, &[&["dedup", "--on-error", "skip"], &fields[..]].concat(), b"").ok();
    assert!(text.err.contains(&format!("the first: access.log:{bad}: ")), "{}", text.err);
}

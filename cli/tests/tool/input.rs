//! What goes in and what comes out, byte by byte.

#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use std::io::Write;

use crate::common::{self, Dir, decisions, dedup, run};
use flate2::{Compression, write::GzEncoder};

/// stdout of a run that went well and said nothing else.
fn out(args: &[&str], input: impl AsRef<[u8]>) -> Vec<u8> {
    let run = dedup(args, input).ok();
    assert_eq!(run.err, "");
    run.out
}

#[test]
fn lines_as_they_are() {
    assert_eq!(out(&[], "a\nb\na\n"), b"a\nb\n");
    assert_eq!(out(&[], ""), b"");
    assert_eq!(out(&[], "\n\n"), b"\n", "an empty line is an id like any other");
    assert_eq!(out(&[], "a\nb"), b"a\nb\n", "the last line gets its newline");
    assert_eq!(out(&[], "a\na"), b"a\n");
    assert_eq!(out(&[], "a\r\na\nA \nA\n"), b"a\r\na\nA \nA\n", "no byte is overlooked");
    assert_eq!(out(&[], b"\xff\xfe\n\0\n\xff\xfe\n\0\n\0\0\n"), b"\xff\xfe\n\0\n\0\0\n");
    assert_eq!(out(&["-"], "a\na\n"), b"a\n");
}

#[test]
fn what_is_written() {
    let input = "a\nb\na\nc\nb\na\n";
    for (emit, text) in [("fresh", "a\nb\nc\n"), ("duplicates", "a\nb\na\n"), ("all", input), ("none", "")] {
        assert_eq!(out(&["--emit", emit], input), text.as_bytes(), "{emit}");
    }
}

#[test]
fn tsv() {
    let table = b"host\turl\nx\t/1\nx\t/2\r\ny\t\xff\nx\t/2\nx\t/1\r\n";
    let args = |id| ["--format", "tsv", "--id", id];
    assert_eq!(
        out(&args("host,url"), table),
        b"host\turl\nx\t/1\nx\t/2\r\ny\t\xff\n",
        "\\r\\n is a line end"
    );
    assert_eq!(out(&args("host"), table), b"host\turl\nx\t/1\ny\t\xff\n");
    assert_eq!(out(&args("1"), table), b"host\turl\nx\t/1\ny\t\xff\n", "by number the first row is a record");
    let header = [&args("1")[..], &["--header", "--emit", "duplicates"]].concat();
    assert_eq!(out(&header, table), b"host\turl\nx\t/2\r\nx\t/2\nx\t/1\r\n");
    assert_eq!(out(&args("host"), ""), b"");
    assert_eq!(out(&args("host"), "host\turl"), b"host\turl\n", "a table without rows");
    let marked = b"\xef\xbb\xbfhost\nx\n\n\nx\n";
    assert_eq!(out(&args("host"), marked), b"host\nx\n", "byte order mark, blank lines");
}

#[test]
fn joined_fields_keep_their_borders() {
    assert_eq!(out(&["--format", "tsv", "--id", "1,2"], "a\tbc\nab\tc\na\tbc\n"), b"a\tbc\nab\tc\n");
    // More fields than are kept without an allocation.
    let many = ["--format", "tsv", "--id", "1,2,3,4,5,6,7,8,9,10"];
    assert_eq!(
        decisions(
            &[&many[..], &["--window", "1h"]].concat(),
            "1\t2\t3\t4\t5\t6\t7\t8\t9\t10\n1\t2\t3\t4\t5\t6\t7\t8\t9\t1\n1\t2\t3\t4\t5\t6\t7\t8\t9\t10\n"
        ),
        "001"
    );
}

#[test]
fn csv() {
    let table = "id,text\n1,\"a\nb\"\n\"1\",x\n2,\"say \"\"hi\"\"\"\n\n2,y\r\n3,last";
    let args = ["--format", "csv", "--id", "id"];
    assert_eq!(out(&args, table), b"id,text\n1,\"a\nb\"\n2,\"say \"\"hi\"\"\"\n3,last\n");
    assert_eq!(
        out(&["--format", "csv", "--id", "text"], "text\n\"a\"\na\n\"a\nb\"\n\"a\nb\"\n"),
        b"text\n\"a\"\n\"a\nb\"\n"
    );
    // Records across the borders of blocks.
    let mut big = "id,text\n".to_owned();
    for i in 0..30_000 {
        big += &format!("{i},\"line\nof {i}, {}\"\n", "x".repeat(i % 50));
    }
    assert_eq!(out(&args, &big), big.as_bytes());
}

#[test]
fn jsonl() {
    let lines = "{\"id.x\":1,\"n\":{\"a\":[5]}}\n{\"id.x\":1,\"n\":{\"a\":[6]}} \r\n\n{\"n\":{\"a\":[5]},\"id.x\":\"1\"}\n";
    let first = lines.split_inclusive('\n').next().unwrap();
    assert_eq!(out(&["--format", "jsonl", "--id", "id.x"], lines), first.as_bytes());
    for path in ["n.a[0]", "/n/a/0"] {
        assert_eq!(decisions(&["--window", "1h", "--format", "jsonl", "--id", path], lines), "001", "{path}");
    }
}

#[test]
fn each_element_is_an_event() {
    let lines = "{\"s\":\"x\",\"l\":[1,2,1]}\n{\"s\":\"y\",\"l\":[2,3]}\n{\"s\":\"y\",\"l\":[]}\n";
    let each = ["--format", "jsonl", "--each", "l", "--id"];
    assert_eq!(out(&[&each[..], &["@"]].concat(), lines), b"1\n2\n3\n");
    assert_eq!(
        out(&[&each[..], &["s,@"]].concat(), lines),
        b"x 1\nx 2\ny 2\ny 3\n",
        "the id, a space between"
    );
    let objects = "{\"l\":[{\"id\":1},{\"id\":2},{},{\"id\":1}]}\n";
    let skip = dedup(&[&each[..], &["@.id", "--missing", "skip", "--report", "json"]].concat(), objects).ok();
    assert_eq!(skip.text(), "1\n2\n");
    let report: serde_json::Value = serde_json::from_str(&skip.err).unwrap();
    assert_eq!((&report["events"], &report["skipped"]), (&3.into(), &1.into()));
    // Fields that are the line's, the element's or absent, in any order; escaped or not.
    let mixed = "{\"s\":\"a\\tb\",\"l\":[{\"i\":1,\"e\":\"\\\"\"},{\"i\":2},{\"i\":\"\",\"e\":\"\\\"\"}],\"u\":7}\n\
                 {\"s\":\"\",\"l\":[{},{\"i\":3}]}\n";
    for order in ["arrival", "sort"] {
        let args = ["@.i,s,@.e,u", "--missing", "-", "--order", order, "--time", "u"];
        let timed = mixed.replace("]}", "],\"u\":8}");
        let texts = "1 a\tb \" 7\n2 a\tb - 7\n a\tb \" 7\n-  - 8\n3  - 8\n";
        assert_eq!(String::from_utf8_lossy(&out(&[&each[..], &args].concat(), &timed)), texts, "{order}");
    }
    // One wrong element: the whole line gives nothing.
    let wrong = "{\"l\":[1,{},2]}\n{\"l\":[2]}\n";
    assert_eq!(out(&[&each[..], &["@", "--on-error", "skip"]].concat(), wrong), b"2\n");
    let sorted = "{\"t\":2,\"l\":[1,2]}\n{\"t\":1,\"l\":[2,3]}\n";
    let args = ["@", "--time", "t", "--order", "sort"];
    assert_eq!(out(&[&each[..], &args].concat(), sorted), b"2\n3\n1\n");
}

#[test]
fn absent_fields() {
    let lines = "{\"a\":1}\n{}\n{\"a\":null}\n{\"a\":\"-\"}\n";
    let args = ["--format", "jsonl", "--id", "a", "--missing"];
    assert_eq!(out(&[&args[..], &["skip"]].concat(), lines), b"{\"a\":1}\n{\"a\":\"-\"}\n");
    assert_eq!(
        out(&[&args[..], &["-"]].concat(), lines),
        b"{\"a\":1}\n{}\n",
        "the text itself is a value too"
    );
    let time = ["--format", "jsonl", "--id", "a", "--time", "t", "--missing", "0"];
    dedup(&time, "{\"a\":1}\n").failed(2, "stdin:1: no field \"t\"");
}

#[test]
fn sources_are_apart() {
    let table = "a\tx\nb\tx\na\tx\n";
    assert_eq!(out(&["--format", "tsv", "--id", "2"], table), b"a\tx\n");
    assert_eq!(out(&["--format", "tsv", "--id", "2", "--source", "1"], table), b"a\tx\nb\tx\n");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn gz() {
    let lines: String = (0..100_000).map(|i| format!("{}\n", i % 70_000)).collect();
    let dir = Dir::new();
    let (first, second) = lines.split_at(300_001);
    dir.put("one.gz", gzip(lines.as_bytes()))
        .put("two.gz", [gzip(first.as_bytes()), gzip(second.as_bytes())].concat());
    for file in ["one.gz", "two.gz"] {
        let run = dir.run(&["dedup", "-q", "--window", "1h", file]).ok();
        assert_eq!(run.text().lines().count(), 70_000, "{file}");
    }
    dir.put("t.tsv.gz", gzip(b"id\nx\nx\n"));
    assert_eq!(dir.run(&["dedup", "-q", "--window", "1h", "--id", "id", "t.tsv.gz"]).ok().text(), "id\nx\n");

    let whole = gzip(lines.as_bytes());
    dir.put("cut.gz", &whole[..whole.len() / 2])
        .put("plain.gz", "a text that is no gzip\n")
        .put("empty.gz", "");
    let cut = dir.run(&["dedup", "-q", "--window", "1h", "--decisions", "d", "cut.gz"]);
    cut.failed(2, "cut.gz: broken gzip: it ends too early");
    assert!(!dir.0.join("d").exists());
    assert!(lines.starts_with(cut.text()), "what could be read has been passed on");
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 0x55;
    dir.put("damaged.gz", damaged);
    for file in ["plain.gz", "damaged.gz"] {
        let line = format!("{file}: broken gzip: no gzip, or damaged");
        dir.run(&["dedup", "-q", "--window", "1h", "--emit", "none", file]).failed(2, &line);
    }
    let empty = dir.run(&["dedup", "-q", "--window", "1h", "empty.gz"]);
    assert_eq!((empty.code, empty.text()), (2, ""), "{}", empty.err);
}

#[test]
fn several_files_are_one_stream() {
    let dir = Dir::new();
    dir.put("a", "1\n2").put("b", "2\n3\n").put("c", "");
    let run = common::run_in(&dir.0, &["dedup", "-q", "--window", "1h", "a", "c", "-", "b"], b"3\n4");
    assert_eq!(run.ok().text(), "1\n2\n3\n4\n");
    // Each by its own extension; the header is passed on once.
    dir.put("a.tsv", "id\tx\n1\ta\n").put("b.tsv", "y\tid\nb\t1\nc\t2\n");
    let run = dir.run(&["dedup", "-q", "--window", "1h", "--id", "id", "a.tsv", "b.tsv"]).ok();
    assert_eq!(run.text(), "id\tx\n1\ta\nc\t2\n");
}

#[test]
fn a_very_long_line() {
    let mut input = vec![b'x'; 100 << 20];
    input.extend_from_slice(b"\nshort\nshort\n");
    let run = dedup(&[], &input).ok();
    assert_eq!(run.out.len(), (100 << 20) + 7);
    assert!(run.out.ends_with(b"x\nshort\n"));
}

#[test]
fn a_file_name_with_a_leading_dash() {
    let dir = Dir::new();
    dir.put("-x", "a\na\n");
    assert_eq!(dir.run(&["dedup", "-q", "--window", "1h", "--", "-x"]).ok().text(), "a\n");
}

#[test]
fn reports() {
    let input = "a\nb\na\n";
    let none = run(&["dedup", "--window-count", "10", "--emit", "none", "--report", "json"], input).ok();
    assert_eq!(none.err, "");
    let report = none.json();
    for (name, value) in
        [("events", 3), ("fresh", 2), ("duplicates", 1), ("skipped", 0), ("window_events", 10), ("late", 0)]
    {
        assert_eq!(report[name], value, "{name}");
    }
    assert!(report["memory_bytes"].as_u64().unwrap() > 1_000_000);
    let fresh = run(&["dedup", "-q", "--window", "5s", "--report", "json"], input).ok();
    assert_eq!(fresh.text(), "a\nb\n");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&fresh.err).unwrap()["window_ns"],
        5_000_000_000_u64
    );
    let text = run(&["dedup", "--window", "5s"], input).ok();
    assert!(text.err.starts_with(
        "3 events: 2 fresh, 1 duplicates (33.3 %)\nwindow 5s, room for 1,000,024 live ids; memory "
    ));
    assert_eq!(run(&["dedup", "-q", "--window", "5s"], input).ok().err, "");
}

#[test]
fn runs_repeat() {
    let input: String = (0..5000).map(|i| format!("{}\n", i * i % 3001)).collect();
    let args = ["--window-count", "700", "--capacity", "100", "--max-memory", "6k", "--on-full", "evict"];
    let first = decisions(&args, &input);
    assert_eq!(decisions(&args, &input), first);
    assert_ne!(
        decisions(&[&args[..], &["--seed", "1"]].concat(), &input),
        first,
        "which ids are evicted is up to the seed"
    );
}

#[test]
fn demo() {
    let run = run(&["demo", "--events", "50k"], "").ok();
    assert_eq!(run.err, "", "no progress where there is no terminal");
    assert!(run.text().contains("50,000"), "{}", run.text());
    assert!(run.text().contains("all 50,000 answers are the same"), "{}", run.text());
    assert!(run.text().contains("plain hash maps: every list is the same"), "{}", run.text());
    assert!(run.text().contains("plain queue: all answers are the same"), "{}", run.text());
    assert!(run.text().contains("no id was let through twice in a window"), "{}", run.text());
    assert!(run.text().contains("no key moved but to the new node"), "{}", run.text());
    let wide = run.text().lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None, "too wide for a terminal");
    // The last page has a line for each stage.
    let (_, page) = run.text().rsplit_once("  rate  ").expect("its head");
    let names: Vec<_> = page.lines().skip(1).take(6).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["dedup", "filter", "limit", "top", "rank", "ring"]);
    assert!(page.contains("All answers are as they should be."), "{page}");
    let other = common::run(&["demo", "--events", "50k", "--seed", "9"], "").ok();
    let fresh = |text: &str| text.lines().find(|l| l.trim_start().starts_with("fresh")).map(str::to_owned);
    assert_ne!(fresh(run.text()), fresh(other.text()));
}

#[test]
fn help_is_short_or_long() {
    for (command, first, more) in [
        ("dedup", "Pass each event on once per window", "exactly one window later it is new again"),
        ("gen", "Write a generated stream", "The same options give the same bytes"),
        ("demo", "See it at work", "Every answer is compared with a plain recount"),
    ] {
        let help = |option| run(&[command, option], "").ok().text().replace('\n', " ");
        let (short, long) = (help("-h"), help("--help"));
        assert!(short.starts_with(first) && long.starts_with(first), "{long}");
        assert!(!short.contains(more) && long.contains(more), "{long}");
    }
}

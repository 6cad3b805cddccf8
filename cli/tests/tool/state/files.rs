//! Which files are read on, and which are not.

use std::{fs, io::Write};

use flate2::{Compression, write::GzEncoder};

use crate::common::{Dir, Run, run_once};

const ARGS: [&str; 7] = ["dedup", "--window-count", "1M", "--state", "state", "--report", "json"];

fn run(dir: &Dir, more: &[&str]) -> Run {
    run_once(&dir.0, &[&ARGS, more].concat(), b"")
}

fn gz(text: &str) -> Vec<u8> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    gz.finish().unwrap()
}

/// Numbers, a line each.
fn lines(from: u64, to: u64) -> String {
    (from..to).map(|i| format!("{i}\n")).collect()
}

#[test]
fn several_that_all_grow() {
    let dir = Dir::new();
    dir.put("a", "1\n2\n").put("b", "2\n3\n");
    assert_eq!(run(&dir, &["a", "b"]).ok().text(), "1\n2\n3\n");
    dir.put("a", "1\n2\n3\n4\n").put("b", "2\n3\n4\n5\n").put("c", "5\n6\n");
    assert_eq!(run(&dir, &["a", "b", "c"]).ok().text(), "4\n5\n6\n");
    // One that is not read this time is not forgotten.
    assert_eq!(run(&dir, &["c"]).ok().text(), "");
    let last = run(&dir, &["a", "b", "c"]).ok();
    assert!(last.text().is_empty() && last.err.contains("\"events\":10,\"fresh\":6"), "{}", last.err);
}

#[test]
fn gzip_that_grows_by_a_member() {
    let dir = Dir::new();
    let text = lines(0, 100_000);
    dir.put("a.gz", gz(&text));
    assert_eq!(run(&dir, &["a.gz"]).ok().text(), text);
    dir.put("a.gz", [gz(&text), gz("7\nx\n")].concat());
    let last = run(&dir, &["a.gz"]).ok();
    assert_eq!((last.text(), last.err.contains("\"events\":100002")), ("x\n", true));
}

#[test]
fn a_header_is_written_once() {
    let dir = Dir::new();
    let args = ["--id", "id"];
    dir.put("a.csv", "\u{feff}n,id\n1,\"a\nb\"\n");
    assert_eq!(run(&dir, &[&args[..], &["a.csv"]].concat()).ok().text(), "n,id\n1,\"a\nb\"\n");
    dir.put("a.csv", "\u{feff}n,id\n1,\"a\nb\"\n2,\"a\nb\"\n3,c\n").put("b.csv", "id,n\nc,4\nd,5\n");
    assert_eq!(run(&dir, &[&args[..], &["a.csv", "b.csv"]].concat()).ok().text(), "3,c\nd,5\n");
    // Nothing but blank lines so far; then a header.
    let dir = Dir::new();
    dir.put("a.csv", "\n\n");
    assert_eq!(run(&dir, &[&args[..], &["a.csv"]].concat()).ok().text(), "");
    dir.put("a.csv", "\n\nid\nx\n");
    assert_eq!(run(&dir, &[&args[..], &["a.csv"]].concat()).ok().text(), "id\nx\n");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let dir = Dir::new();
    dir.put("a.csv", "id\n1\n2\n");
    run(&dir, &["--id", "id", "a.csv"]).ok();
    dir.put("a.csv", "id\n1\n2\n3\n4,\"\n5\n");
    let failed = run(&dir, &["--id", "id", "a.csv"]);
    assert!(failed.code == 2 && failed.err.contains("a.csv:5:"), "{}", failed.err);
    // It has saved nothing: repaired, all comes again that was behind.
    dir.put("a.csv", "id\n1\n2\n3\n4\n5\n");
    assert_eq!(run(&dir, &["--id", "id", "a.csv"]).ok().text(), "3\n4\n5\n");
}

#[test]
fn a_last_line_without_its_end() {
    let dir = Dir::new();
    dir.put("a", "1\n2");
    assert_eq!(run(&dir, &["a"]).ok().text(), "1\n2\n");
    assert_eq!(run(&dir, &["a"]).ok().text(), "");
    // Its end has come, and more.
    dir.put("a", "1\n2\n");
    assert_eq!(run(&dir, &["a"]).ok().text(), "");
    dir.put("a", "1\n2\n2\n3\n");
    let last = run(&dir, &["a"]).ok();
    assert!(last.text() == "3\n" && last.err.contains("\"events\":4"), "{}", last.err);
    // It was not all of it.
    dir.put("a", "1\n2\n2\n3\n4");
    run(&dir, &["a"]).ok();
    dir.put("a", "1\n2\n2\n3\n4711\n");
    run(&dir, &["a"]).failed(
        2,
        "a: the record before byte 9 was read without its line end, and has gone on since: remove the state to begin anew",
    );
}

#[test]
fn one_that_was_rotated() {
    let dir = Dir::new();
    dir.put("log", "1\n2\n");
    run(&dir, &["log"]).ok();
    dir.put("log", "1\n2\n3\n");
    fs::rename(dir.0.join("log"), dir.0.join("log.1")).unwrap();
    dir.put("log", "3\n4\n");
    let failed = run(&dir, &["log"]);
    failed.failed(
        2,
        "log: is not the file that --state state has read up to byte 4: it was replaced; give the earlier one as well, by its \
         new name, or remove the state to begin anew",
    );
    assert_eq!(run(&dir, &["log.1", "log"]).ok().text(), "3\n4\n");
    assert_eq!(run(&dir, &["log"]).ok().text(), "");
}

#[test]
fn one_that_was_cut_or_is_given_twice() {
    let dir = Dir::new();
    let text = lines(0, 10_000);
    dir.put("a", &text);
    run(&dir, &["a"]).ok();
    let saved = fs::read(dir.0.join("state")).unwrap();
    // The same node: it is written in place.
    dir.put("a", &text[..20_000]);
    let cut = run(&dir, &["a"]);
    assert!(
        cut.code == 2 && cut.err.contains("a: has 20000 bytes") && cut.err.contains("it was cut"),
        "{}",
        cut.err
    );
    // Other content.
    dir.put("a", text.replace('1', "x"));
    let other = run(&dir, &["a"]);
    assert!(other.code == 2 && other.err.contains("it was replaced"), "{}", other.err);
    dir.put("a", &text);
    let twice = run(&dir, &["a", "./a"]);
    assert!(twice.code == 2 && twice.err.contains("is given twice"), "{}", twice.err);
    assert!(fs::read(dir.0.join("state")).unwrap() == saved);
    assert_eq!(run(&dir, &["a"]).ok().text(), "");
    // In the first run as well, and by another name.
    let dir = Dir::new();
    let twice = run(dir.put("a", &text), &["a", "./a"]);
    assert!(twice.code == 2 && twice.err.contains("is given twice"), "{}", twice.err);
    fs::hard_link(dir.0.join("a"), dir.0.join("b")).unwrap();
    run(&dir, &["a"]).ok();
    let twice = run(&dir, &["a", "b"]);
    assert!(twice.code == 2 && twice.err.contains("is given twice"), "{}", twice.err);
}

#[test]
fn decisions_that_do_not_belong_to_it() {
    let dir = Dir::new();
    dir.put("a", "1\n1\n2\n");
    run(&dir, &["--decisions", "d", "a"]).ok();
    assert_eq!(fs::read(dir.0.join("d")).unwrap(), b"010");
    // What stands behind what the state says was of events that come again.
    dir.put("a", "1\n1\n2\n2\n3\n").put("d", "01011111");
    run(&dir, &["--decisions", "d", "a"]).ok();
    assert_eq!(fs::read(dir.0.join("d")).unwrap(), b"01010");
    dir.put("d", "0101");
    run(&dir, &["--decisions", "d", "a"])
        .failed(2, "--decisions d: has 4 bytes, and by the state 5: give the one that belongs to it");
    run(&dir, &["a"]).failed(2, "--state state: was made with --decisions, and now there is no --decisions");
}

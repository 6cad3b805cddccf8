//! Input that nobody should send, and places that nobody should write to. What `dedup` is run for here is run with one
//! thread and with several (`common::run_in`).

#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use std::{fs, io::Write};

use crate::common::{self, Dir, dedup};
use flate2::{Compression, write::GzEncoder};

/// Options, a record with an id put into it, and a header.
type Kind = (&'static [&'static str], fn(&str) -> String, &'static str);

const KINDS: [Kind; 6] = [
    (&[], |id| id.to_owned(), ""),
    (&["--format", "tsv", "--id", "2"], |id| format!("x\t{id}\ty"), ""),
    (&["--format", "tsv", "--id", "b"], |id| format!("x\t{id}\ty"), "a\tb\tc\n"),
    (&["--format", "csv", "--id", "b"], |id| format!("x,\"{id}\"\"\n\",y"), "a,b,c\n"),
    (&["--format", "jsonl", "--id", "a.b"], |id| format!("{{\"a\":{{\"b\":\"{id}\"}}}}"), ""),
    (
        &["--format", "combined", "--id", "path", "--order", "clamp"],
        |id| format!("::1 - - [01/Aug/1995:00:00:00 +0000] \"GET /{id} HTTP/1.0\" 200 5 \"-\" \"-\""),
        "",
    ),
];

/// A run that went well, and what it wrote.
fn out(options: &[&str], input: impl AsRef<[u8]>) -> Vec<u8> {
    let run = dedup(options, input).ok();
    assert_eq!(run.err, "", "{options:?}");
    run.out
}

#[test]
fn nothing() {
    for (options, _, header) in KINDS {
        assert_eq!(out(options, ""), b"", "{options:?}");
        assert_eq!(out(options, header), header.as_bytes(), "{options:?}");
        if !options.is_empty() {
            assert_eq!(out(options, "\n\r\n\n"), b"", "{options:?}");
            assert_eq!(out(options, "\u{feff}"), b"", "{options:?}");
        }
        let dir = Dir::new();
        let run = dir.put("f", "").run(&[&["dedup", "-q", "--window", "1h"], options, &["f"]].concat());
        assert_eq!(run.ok().text(), "", "{options:?}");
    }
}

#[test]
fn a_missing_last_newline() {
    for (options, record, header) in KINDS {
        let (a, b) = (record("a"), record("b"));
        for input in [format!("{header}{a}\n{b}"), format!("{header}{a}\n{b}\n{a}")] {
            let text = format!("{header}{a}\n{b}\n");
            assert_eq!(out(options, input), text.as_bytes(), "{options:?}");
        }
        // Of the first file, with another behind it.
        let dir = Dir::new();
        dir.put("f", format!("{header}{a}")).put("g", format!("{header}{a}\n{b}"));
        let run = dir.run(&[&["dedup", "-q", "--window", "1h"], options, &["f", "g"]].concat()).ok();
        assert_eq!(run.text(), format!("{header}{a}\n{b}\n"), "{options:?}");
    }
}

#[test]
fn carriage_returns() {
    for (options, record, header) in &KINDS[1..] {
        let (a, b, header) = (record("a"), record("b"), header.replace('\n', "\r\n"));
        let written = format!("{}{a}\r\n{b}\r\n", header.replace('\r', ""));
        assert_eq!(
            out(options, format!("{header}{a}\r\n{a}\n{b}\r\n{a}\r\n")),
            written.as_bytes(),
            "{options:?}"
        );
    }
    assert_eq!(out(&[], "a\r\na\na\r\n"), b"a\r\na\n", "in lines it belongs to the id");
}

#[test]
fn zero_bytes() {
    for (options, record, header) in KINDS {
        let (one, two) = (record("\0"), record("\0\0"));
        let input = format!("{header}{one}\n{two}\n{one}\n");
        if options.contains(&"jsonl") {
            let what = "stdin:1: not a JSON object: control character (\\u0000-\\u001F) found while parsing a string";
            let run = dedup(options, input);
            assert!(run.code == 2 && run.err.starts_with(&format!("windlass: {what}")), "{}", run.err);
        } else {
            assert_eq!(out(options, input), format!("{header}{one}\n{two}\n").as_bytes(), "{options:?}");
        }
    }
}

#[test]
fn long_records() {
    // Longer than a block, among short ones, each kind; and 100 MB of one kind that is taken apart.
    for (options, record, header) in KINDS {
        let (a, long) = (record("a"), record(&"x".repeat(1 << 20)));
        let input = format!("{header}{a}\n{long}\n{}\n{long}\n{a}\n{}", record("b"), record("c"));
        let text = format!("{header}{a}\n{long}\n{}\n{}\n", record("b"), record("c"));
        assert!(out(options, input) == text.as_bytes(), "{options:?}");
    }
    let huge = format!("a\t{}\n", "x".repeat(100 << 20));
    assert!(out(&["--format", "tsv", "--id", "1"], format!("{huge}{huge}")) == huge.as_bytes());
}

#[test]
fn long_records_that_are_wrong_give_short_messages() {
    let long = "x".repeat(10 << 20);
    dedup(&["--format", "jsonl", "--id", "a"], format!("{{\"a\":1}}\n{{\"a\":\"{long}\n"))
        .failed(2, "stdin:2: not a JSON object: EOF while parsing a string at column 10485766");
    let time = dedup(&["--format", "tsv", "--id", "1", "--time", "2"], format!("a\t{long}\n"));
    let shown = "x".repeat(60);
    time.failed(
        2,
        &format!(
            "stdin:1: time \"{shown}...\" is not unix seconds, rfc3339 or clf; --time-format says what it is"
        ),
    );
}

#[test]
fn a_json_line_cut_in_half() {
    let input = "{\"a\":1}\n{\"a\":2}\n{\"a\":\"3";
    let options = ["--format", "jsonl", "--id", "a"];
    let run = dedup(&options, input);
    run.failed(2, "stdin:3: not a JSON object: EOF while parsing a string at column 7");
    assert_eq!(run.text(), "{\"a\":1}\n{\"a\":2}\n");
    let skip = dedup(&[&options[..], &["--on-error", "skip"]].concat(), input).ok();
    assert_eq!(skip.text(), "{\"a\":1}\n{\"a\":2}\n");
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn broken_gzip() {
    for (options, record, header) in KINDS {
        let rows: String = (0..40_000).map(|i| record(&format!("{i}")) + "\n").collect();
        let text = header.to_owned() + &rows;
        let whole = gzip(&text);
        let mut damaged = whole.clone();
        let end = damaged.len() - 6;
        damaged[end] ^= 1;
        let dir = Dir::new();
        dir.put("cut.gz", &whole[..whole.len() / 2]).put("crc.gz", damaged).put("decisions", "old");
        for (file, what) in [("cut.gz", "it ends too early"), ("crc.gz", "no gzip, or damaged")] {
            let args = ["dedup", "-q", "--window", "1h", "--decisions", "decisions"];
            let run = dir.run(&[&args[..], options, &[file]].concat());
            run.failed(2, &format!("{file}: broken gzip: {what}"));
            assert!(run.out.ends_with(b"\n") && text.as_bytes().starts_with(&run.out), "whole records");
            assert!(run.out.len() > text.len() / 4, "what could be read has been passed on");
            assert_eq!(fs::read_to_string(dir.0.join("decisions")).unwrap(), "old");
        }
        dir.holds(&["crc.gz", "cut.gz", "decisions"]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn sources_that_cannot_be_read() {
    let dir = Dir::new();
    dir.put("ids", "a\nb\n");
    let dedup = ["dedup", "-q", "--window", "1h"];
    let run = dir.run(&[&dedup[..], &["ids", "gone"]].concat());
    run.failed(2, "gone: cannot open: No such file or directory");
    assert_eq!(run.text(), "", "refused before the first byte");
    dir.run(&[&dedup[..], &["ids", "."]].concat()).failed(2, ".: is a directory, not a file");
    // Opens, and cannot be read.
    let run = dir.run(&[&dedup[..], &["ids", "/proc/self/mem"]].concat());
    run.failed(1, "/proc/self/mem: cannot read: Input/output error");
    assert_eq!(run.text(), "a\nb\n", "what came before it is there");
}

#[test]
#[cfg(unix)]
fn no_permission() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Dir::new();
    let path = dir.put("secret", "a\n").0.join("secret");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
    if fs::File::open(&path).is_ok() {
        writeln!(std::io::stderr(), "SKIPPED: this user may read everything").unwrap();
        return;
    }
    let line = "secret: cannot open: Permission denied";
    dir.run(&["dedup", "--window", "1h", "secret"]).failed(2, line);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk() {
    use std::process::{Command, Stdio};
    let dir = Dir::new();
    let lines: String = (0..300_000).map(|i| format!("{i}\n")).collect();
    dir.put("few", "a\nb\n").put("many", lines);
    for file in ["few", "many"] {
        for threads in ["1", "3"] {
            let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
            let output = Command::new(common::EXE)
                .args(["dedup", "-q", "--window", "1h", "--threads", threads, "--decisions", "d", file])
                .current_dir(&dir.0)
                .stdin(Stdio::null())
                .stdout(full)
                .stderr(Stdio::piped())
                .output()
                .unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(said, "windlass: cannot write to stdout: No space left on device\n");
            assert_eq!(output.status.code(), Some(1));
        }
        let run =
            dir.run(&["dedup", "-q", "--window", "1h", "--emit", "none", "--decisions", "/dev/full", file]);
        run.failed(1, "cannot write /dev/full: No space left on device");
    }
    dir.holds(&["few", "many"]);
}

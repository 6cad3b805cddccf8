//! `windlass gen`: the bytes that are promised, and how they are written.

#![allow(clippy::expect_used, clippy::unwrap_used)] // clippy knows tests only by their attribute

use std::{collections::HashSet, fs, path::Path, process::Command};

use crate::common::{
    generated::{Event, events, stream},
    run,
};
use sha2::{Digest, Sha256};

#[test]
fn the_first_lines() {
    let few = |more: &str| stream(&format!("--events 3 --late 0.5 --lateness 1s {more}"));
    assert_eq!(few(""), "5e41ab087439611e\nf18d6ce93d6cf1ee\n0b95f66d327e8d78\n");
    assert_eq!(
        few("--format csv"),
        "time,id,client,key\n\
         1767225599.535922245,5e41ab087439611e,c834,k470\n\
         1767225600.000010000,f18d6ce93d6cf1ee,c57,k2985\n\
         1767225600.000020000,0b95f66d327e8d78,c3,k179\n"
    );
    assert_eq!(
        few("--format tsv --fields key,time"),
        "key\ttime\nk470\t1767225599.535922245\nk2985\t1767225600.000010000\nk179\t1767225600.000020000\n"
    );
    assert_eq!(
        few("--format jsonl"),
        "{\"time\":1767225599.535922245,\"id\":\"5e41ab087439611e\",\"client\":\"c834\",\"key\":\"k470\"}\n\
         {\"time\":1767225600.000010000,\"id\":\"f18d6ce93d6cf1ee\",\"client\":\"c57\",\"key\":\"k2985\"}\n\
         {\"time\":1767225600.000020000,\"id\":\"0b95f66d327e8d78\",\"client\":\"c3\",\"key\":\"k179\"}\n"
    );
    assert_eq!(
        few("--format jsonl --fields time"),
        "{\"time\":1767225599.535922245}\n{\"time\":1767225600.000010000}\n{\"time\":1767225600.000020000}\n"
    );
    assert_eq!(few("--fields client"), "c834\nc57\nc3\n");
}

/// Each command of docs/gen.md that ends in sha256sum gives what stands below it.
#[test]
fn the_documented_checksums() {
    let text = documentation();
    let mut compared = 0;
    for (command, sum) in text.lines().zip(text.lines().skip(1)) {
        let Some(options) =
            command.strip_prefix("windlass gen ").and_then(|c| c.strip_suffix(" | sha256sum"))
        else {
            continue;
        };
        let digest = Sha256::digest(stream(options));
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(sum, format!("# {hex}"), "{command}");
        compared += 1;
    }
    assert_eq!(compared, 5);
}

fn documentation() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/gen.md");
    fs::read_to_string(path).expect("docs/gen.md")
}

/// The definition in docs/gen.md is a program, and agrees.
#[test]
fn the_definition() {
    let text = documentation();
    let program =
        text.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a program");
    let cases = [
        ("", ""),
        ("--skew 0 --seed 18446744073709551615 --rate 7", "skew=0 seed=18446744073709551615 rate=7"),
        (
            "--skew 0.5 --keys 1G --duplicates 1 --distance 3",
            "skew=500 keys=1000000000 duplicates=1000000 distance=3",
        ),
        ("--skew 1.001 --duplicates 0.75 --distance 1ms", "skew=1001 duplicates=750000 distance=100"),
        (
            "--skew 5 --clients 1 --late 0.333333 --lateness 5d",
            "skew=5000 clients=1 late=333333 lateness=432000000000000",
        ),
        ("--start 1970-01-01T00:00:00Z --rate 1G --duplicates 0", "start=0 rate=1000000000 duplicates=0"),
    ];
    for (options, same) in cases {
        let Ok(output) = Command::new("python3")
            .args(["-c", program, "events=5000"])
            .args(same.split_whitespace())
            .output()
        else {
            println!("SKIPPED: no python3 for the definition of gen");
            return;
        };
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let ours = stream(&format!("--format csv --events 5000 {options}"));
        assert!(ours.as_bytes() == output.stdout, "{options}");
    }
}

#[test]
fn what_changes_the_stream_and_what_does_not() {
    let all = events("--events 3000");
    assert_eq!(events("--events 3000"), all);
    assert_eq!(events("--events 2000"), all[..2000], "the end is all that --events says");
    assert_eq!(events("--events 3000 --rate 100000 --distance 1s"), all, "the defaults, in other words");
    let same = |other: &[Event], trait_of: fn(&Event) -> String| {
        other.iter().map(trait_of).eq(all.iter().map(trait_of))
    };
    let seed = events("--events 3000 --seed 2");
    let ids: HashSet<&String> = all.iter().map(|event| &event.id).collect();
    assert!(!seed.iter().any(|event| ids.contains(&event.id)));
    assert!(!same(&seed, |event| event.key.to_string()));
    let late = events("--events 3000 --late 0.5 --lateness 1h");
    assert!(same(&late, |event| format!("{} {} {}", event.id, event.client, event.key)));
    assert!(!same(&late, |event| event.nanos.to_string()));
    let keys = events("--events 3000 --keys 50");
    assert!(same(&keys, |event| format!("{} {} {}", event.nanos, event.id, event.client)));
    assert!(!same(&keys, |event| event.key.to_string()));
}

#[test]
fn formats_and_fields_agree() {
    let all = events("--events 500 --late 0.1 --lateness 10ms");
    let of = |more: &str| stream(&format!("--events 500 --late 0.1 --lateness 10ms {more}"));
    let lines: Vec<String> = all.iter().map(|event| event.id.clone() + "\n").collect();
    assert_eq!(of(""), lines.concat());
    let (csv, tsv) = (of("--format csv"), of("--format tsv"));
    assert_eq!(tsv, csv.replace(',', "\t"));
    let rows = csv.lines().skip(1);
    for (row, object) in rows.zip(of("--format jsonl").lines()) {
        // The time's digits are more than a double holds.
        let (time, rest) = row.split_once(',').expect("fields");
        assert!(object.starts_with(&format!("{{\"time\":{time},\"id\":")), "{object}");
        let object: serde_json::Value = serde_json::from_str(object).expect("JSON");
        let texts = ["id", "client", "key"].map(|name| object[name].as_str().expect("text"));
        assert_eq!(texts.join(","), rest);
    }
    let column = |csv: &str, at: usize| -> Vec<String> {
        csv.lines().skip(1).map(|row| row.split(',').nth(at).expect("a field").to_owned()).collect()
    };
    let two = of("--format csv --fields key,time");
    assert_eq!((column(&two, 0), column(&two, 1)), (column(&csv, 3), column(&csv, 0)));
}

#[test]
fn a_stream_without_events() {
    assert_eq!(stream("--events 0"), "");
    assert_eq!(stream("--events 0 --format jsonl"), "");
    assert_eq!(stream("--events 0 --format csv --fields id,key"), "id,key\n");
}

#[test]
fn summary() {
    let run =
        run(&["gen", "--events", "2k", "--duplicates", "0", "--late", "1", "--lateness", "1s"], "").ok();
    let expected = "2,000 events: 2,000 ids, 0 repeats (0.0 %), 2,000 late (100.0 %)\n33.2 KiB written; ";
    assert!(run.err.starts_with(expected), "{}", run.err);
    assert_eq!(run.text().len(), 2000 * 17);
}

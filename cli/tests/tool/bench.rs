//! `windlass bench`: it measures, checks and plots; how fast it was is nobody's business here.

#![allow(clippy::expect_used, clippy::unwrap_used)] // clippy knows tests only by their attribute

use std::fs;

use crate::common::{Dir, run_once};

const QUICK: [&str; 5] = ["bench", "--keys", "20k", "--duration", "300ms"];
const NAMES: [&str; 6] = ["dedup", "filter", "limit", "top", "rank", "ring"];

#[test]
fn a_table_and_a_plot() {
    let dir = Dir::new();
    let run = run_once(&dir.0, &[&QUICK[..], &["--threads", "2", "--svg", "plot.svg"]].concat(), b"").ok();
    let lines: Vec<&str> = run.text().lines().collect();
    assert!(lines[0].contains("in cache, 10,000 keys") && lines[0].contains("out of cache, 20,000 keys"));
    for (line, name) in lines[3..].iter().zip(NAMES) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!((words[0], words.len()), (name, 11), "{line}");
        // (A machine with other things to do may come to 0.0 M/s.)
        assert!(words[1..9].iter().all(|number| number.parse::<f64>().unwrap() >= 0.0), "{line}");
    }
    assert_eq!(lines.len(), 3 + NAMES.len());
    assert!(run.err.ends_with("All answers were right.\n"), "{}", run.err);
    dir.holds(&["plot.svg"]);
    let plot = fs::read_to_string(dir.0.join("plot.svg")).unwrap();
    assert!(plot.starts_with("<svg ") && plot.ends_with("</svg>\n"));
    // Paper, legend and bars.
    assert_eq!(plot.matches("<rect ").count(), 1 + 4 + 4 * NAMES.len());
}

#[test]
fn as_json_and_by_one_thread() {
    let dir = Dir::new();
    let report =
        run_once(&dir.0, &[&QUICK[..], &["--threads", "1", "--report", "json"]].concat(), b"").ok().json();
    let measured = report["measured"].as_array().unwrap();
    let cells: Vec<_> = measured
        .iter()
        .map(|cell| {
            (cell["structure"].as_str().unwrap(), cell["keys"].as_u64().unwrap(), cell["threads"].as_u64())
        })
        .collect();
    let expected = NAMES.iter().flat_map(|name| [(*name, 10_000, Some(1)), (*name, 20_000, Some(1))]);
    assert_eq!(cells, expected.collect::<Vec<_>>());
    assert!(measured.iter().all(|cell| cell["calls_per_second"].as_f64().unwrap() > 0.0));
}

#[test]
fn wrong_usage() {
    let dir = Dir::new();
    let run = |more: &[&str]| run_once(&dir.0, &[&["bench"], more].concat(), b"");
    run(&["--keys", "19999"]).failed(2, "--keys 19999 is out of range: 20000 to 100000000");
    run(&["--svg", "nowhere/plot.svg"])
        .failed(2, "--svg nowhere/plot.svg: cannot write: No such file or directory");
    assert_eq!(run(&["--threads", "65"]).code, 2);
    dir.holds(&[]);
}

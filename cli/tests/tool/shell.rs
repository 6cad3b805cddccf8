//! Completions and the manual.

#![allow(clippy::expect_used)] // clippy knows tests only by their attribute

use std::{collections::BTreeSet, fs};

use crate::common::{Dir, run};

/// As `--help` lists them.
fn commands() -> Vec<String> {
    let help = run(&["--help"], "").ok();
    let list = help.text().lines().skip_while(|line| *line != "Commands:").skip(1);
    // (What is further to the right goes on with what a command does.)
    let names = list.take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
    let names = names.filter_map(|line| line.split(' ').next()).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

#[test]
fn completions_know_all_commands() {
    let commands = commands();
    assert!(commands.len() > 8, "{commands:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run(&["completions", shell], "").ok();
        for word in commands.iter().map(String::as_str).chain(["window-count", "on-full"]) {
            assert!(script.text().contains(word), "{shell}: {word}");
        }
    }
    run(&["completions", "csh"], "").failed(
        2,
        "invalid value 'csh' for '<SHELL>' [possible values: bash, elvish, fish, powershell, zsh] tip: a similar value \
         exists: 'zsh'",
    );
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let dir = Dir::new();
    dir.run(&["man", "new/man1"]).ok();
    let pages = fs::read_dir(dir.0.join("new/man1")).expect("made");
    let pages: BTreeSet<String> =
        pages.map(|page| page.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    let mut expected: BTreeSet<String> = commands().iter().map(|name| format!("windlass-{name}.1")).collect();
    expected.insert("windlass.1".to_owned());
    assert_eq!(pages, expected);
    let top = fs::read_to_string(dir.0.join("new/man1/windlass-top.1")).expect("there");
    assert!(top.contains("Examples:") && top.contains("every\\-pane"), "{top}");
    dir.put("file", "").run(&["man", "file"]).failed(1, "cannot write file: File exists");
}

//! Links within the documentation lead somewhere: to a file, and to a heading if they name one.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Folders that have documents.
const FOLDERS: [&str; 4] = ["", "docs", "fuzz", ".github"];

fn documents(root: &Path) -> Vec<PathBuf> {
    let folders = FOLDERS.iter().filter_map(|folder| fs::read_dir(root.join(folder)).ok());
    let files = folders.flatten().map(|entry| entry.expect("readable").path());
    files.filter(|path| path.extension().is_some_and(|end| end == "md")).collect()
}

/// Where `[text](target)` leads, without what is in blocks of code.
fn targets(text: &str) -> Vec<String> {
    let prose = text.split("```").step_by(2).collect::<String>();
    let after =
        prose.split("](").skip(1).map(|rest| rest.split([')', ' ']).next().unwrap_or_default().to_owned());
    after.filter(|target| !target.is_empty() && !target.contains("://")).collect()
}

/// As a heading is linked to.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading.trim().to_lowercase().chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn they_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut links = 0;
    for document in documents(root) {
        let text = fs::read_to_string(&document).expect("text");
        let folder = document.parent().expect("it is in one");
        for target in targets(&text) {
            let (path, heading) = target.split_once('#').unwrap_or((&target, ""));
            let to = if path.is_empty() { document.clone() } else { folder.join(path) };
            assert!(to.exists(), "{}: {target} is not there", document.display());
            if !heading.is_empty() {
                let text = fs::read_to_string(&to).expect("text");
                let mut headings = text
                    .lines()
                    .filter_map(|line| line.strip_prefix('#'))
                    .map(|line| anchor(line.trim_start_matches('#')));
                assert!(
                    headings.any(|anchor| anchor == heading),
                    "{}: {target}: no such heading",
                    document.display()
                );
            }
            links += 1;
        }
    }
    assert!(links > 50, "{links} links");
}

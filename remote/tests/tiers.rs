//! The table of tiers is the same in the crate's documentation and in `docs/distributed.md`.

use std::{fs, path::Path};

/// The lines of the table under a heading, and where they begin and end.
fn table(text: &str, heading: &str) -> (Vec<String>, std::ops::Range<usize>) {
    let begin = text.find(heading).expect("the heading");
    let rows = text[begin..].find("|").expect("a table") + begin;
    let first = text[..rows].rfind('\n').expect("lines before it") + 1;
    let prefix = &text[first..rows];
    let lines: Vec<&str> = text[first..]
        .split_inclusive('\n')
        .take_while(|line| line.starts_with(&format!("{prefix}|")))
        .collect();
    let end = first + lines.iter().map(|line| line.len()).sum::<usize>();
    (lines.iter().map(|line| line[prefix.len()..].trim_end().to_owned()).collect(), first..end)
}

/// With `WINDLASS_WRITE_DOCS=1` that of the docs is made anew.
#[test]
fn one_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let [own, docs] = ["src/lib.rs", "../docs/distributed.md"].map(|path| root.join(path));
    let [text, page] = [&own, &docs].map(|path| fs::read_to_string(path).expect("readable"));
    let (rows, _) = table(&text, "//! # Tiers\n");
    // Links are of the crate's documentation.
    let rows: Vec<String> = rows.iter().map(|row| row.replace("[`", "`").replace("`]", "`")).collect();
    assert!(rows.len() > 20, "{} rows", rows.len());
    let (shown, place) = table(&page, "\n## Tiers\n");
    if std::env::var_os("WINDLASS_WRITE_DOCS").is_some_and(|value| value == "1") {
        let anew = format!("{}{}\n{}", &page[..place.start], rows.join("\n"), &page[place.end..]);
        fs::write(&docs, anew).expect("writable");
    } else {
        assert!(
            rows == shown,
            "docs/distributed.md has another table of tiers: WINDLASS_WRITE_DOCS=1 makes it anew"
        );
    }
}

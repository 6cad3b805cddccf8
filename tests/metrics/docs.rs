//! docs/metrics.md lists what there is: `WINDLASS_WRITE_METRICS=1 cargo test --features metrics --test metrics docs` writes its table anew.

use crate::{every::Every, format::parse};
use std::{collections::BTreeSet, fs, path::Path};

const BEGIN: &str = "<!-- the structures' metrics: written by tests/metrics/docs.rs -->\n";
const END: &str = "<!-- end -->\n";

/// A row for each family, in the order of the page.
fn table(text: &str) -> String {
    let page = parse(text).expect("a page");
    let mut table = "| metric | type | labels | what it is |\n|---|---|---|---|\n".to_owned();
    for name in text.lines().filter_map(|line| line.strip_prefix("# HELP ")?.split(' ').next()) {
        let family = &page[name];
        let labels: BTreeSet<&str> =
            family.samples.iter().flat_map(|sample| sample.labels.keys().map(String::as_str)).collect();
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        let (kind, help) = (family.kind.as_deref().expect("a type"), family.help.as_deref().expect("a help"));
        table += &format!("| `{name}` | {kind} | {} | {help} |\n", labels.join(", "));
    }
    table
}

#[test]
fn the_list_is_complete() {
    let every = Every::new();
    every.happen(1);
    let (path, table) =
        (Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md"), table(&every.registry.prometheus()));
    let doc = fs::read_to_string(&path).expect("readable");
    let (before, rest) = doc.split_once(BEGIN).expect("where the table begins");
    let (found, after) = rest.split_once(END).expect("where it ends");
    if std::env::var_os("WINDLASS_WRITE_METRICS").is_some_and(|v| v == "1") {
        fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).expect("written");
        return;
    }
    assert!(found == table, "docs/metrics.md is out of date: WINDLASS_WRITE_METRICS=1\n{table}");
}

/// What the text around it speaks of, rules among it, is there. (The tool's own are checked with the tool.)
#[test]
fn what_is_spoken_of_is_there() {
    let doc =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md")).expect("readable");
    let every = Every::new();
    let page = parse(&every.registry.prometheus()).expect("a page");
    let belongs = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let spoken: BTreeSet<&str> = doc
        .split(|c| !belongs(c))
        .filter(|word| word.starts_with("windlass_") && !word.starts_with("windlass_command_"))
        .collect();
    assert!(spoken.len() >= page.len());
    for word in spoken {
        let stem = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| word.strip_suffix(suffix));
        assert!(page.contains_key(word) || page.contains_key(stem.unwrap_or(word)), "{word}");
    }
}

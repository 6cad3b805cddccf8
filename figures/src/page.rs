//! `docs/figures.md`.

use crate::{
    criterion::{self, Group},
    plot,
    runs::RUNS,
};
use std::{collections::BTreeSet, error::Error, fmt::Write, fs, path::Path};

/// Writes the page and its plots from the logs that are there. How many there are.
pub(crate) fn write(docs: &Path, logs: &Path, measured: &Path) -> Result<usize, Box<dyn Error>> {
    let mut page = String::from(
        "# Figures\n\nAll that the benchmarks measured last, as it is; what it says, and what not, is in [performance.md](performance.md). \
         Written by `cargo run --release -p windlass-figures`; with names of runs, these are done anew.\n",
    );
    let mut written = 0;
    for run in &RUNS {
        let Ok(log) = fs::read_to_string(run.log(logs)) else { continue };
        written += 1;
        let (host, log) = log.split_once('\n').unwrap_or(("", &log));
        write!(page, "\n## {}\n\n```sh\n{}\n```\n\n{host}\n", run.title, run.command())?;
        let groups = criterion::read(measured, run.groups)?;
        if run.groups.is_empty() {
            write!(page, "\n```text\n{}\n```\n", log.trim_end())?;
        }
        for (name, group) in groups {
            fs::create_dir_all(docs.join("figures"))?;
            let file = format!("figures/{name}.svg");
            plot::bars(&docs.join(&file), &name, &group)?;
            write!(page, "\n### {name}\n\n![{name}]({file})\n\n{}", table(&group)?)?;
        }
    }
    fs::write(docs.join("figures.md"), page)?;
    Ok(written)
}

/// Functions by values, and of how many times as fast as the others the first of ours is.
fn table(group: &Group) -> Result<String, std::fmt::Error> {
    let values: BTreeSet<&String> = group.values().flat_map(|by_value| by_value.keys()).collect();
    let base = group.keys().find(|name| name.starts_with("windlass")).map(|name| &group[name]);
    let mut table = String::from("| million a second |");
    for value in &values {
        write!(table, " {value} | |")?;
    }
    write!(table, "\n|---|{}\n", "--:|--:|".repeat(values.len()))?;
    for (name, by_value) in group {
        write!(table, "| {name} |")?;
        for value in &values {
            match by_value.get(*value) {
                None => table.push_str(" | |"),
                Some(rate) => {
                    write!(table, " {}", short(rate.median))?;
                    match base.and_then(|base| base.get(*value)) {
                        Some(base) => write!(table, " | {:.2} |", rate.median / base.median)?,
                        None => table.push_str(" | |"),
                    }
                }
            }
        }
        table.push('\n');
    }
    Ok(table)
}

/// Three digits.
fn short(rate: f64) -> String {
    match rate {
        rate if rate >= 100.0 => format!("{rate:.0}"),
        rate if rate >= 10.0 => format!("{rate:.1}"),
        rate => format!("{rate:.2}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)] // clippy knows tests only by their attribute

    use super::*;
    use crate::criterion::Rate;

    #[test]
    fn ratios_are_to_the_first_of_ours() {
        let rate = |median| Rate { median, low: median, high: median };
        let mut group = Group::new();
        for (name, value, median) in [
            ("dashmap", "1t", 5.0),
            ("windlass", "1t", 10.0),
            ("windlass_batch", "1t", 123.4),
            ("windlass", "2t", 12.34),
        ] {
            group.entry(name.to_owned()).or_default().insert(value.to_owned(), rate(median));
        }
        let expected = "| million a second | 1t | | 2t | |\n|---|--:|--:|--:|--:|\n| dashmap | 5.00 | 0.50 | | |\n\
                        | windlass | 10.0 | 1.00 | 12.3 | 1.00 |\n| windlass_batch | 123 | 12.34 | | |\n";
        assert_eq!(table(&group).expect("memory"), expected);
    }
}

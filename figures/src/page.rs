//! `docs/figures.md`.

use crate::{
    criterion::{self, Group},
    log::{self, Demanded},
    plot,
    runs::RUNS,
};
use std::{collections::BTreeSet, error::Error, fmt::Write, fs, path::Path};

const HEAD: &str = "# Figures\n\nAll that the benchmarks measured last, as it is; what it says, and what not, is in [performance.md](performance.md). \
    Written by `cargo run --release -p windlass-figures`; with names of runs, these are done anew.\n";

/// Writes the page and its plots from the logs that are there. How many there are.
pub(crate) fn write(docs: &Path, logs: &Path, measured: &Path) -> Result<usize, Box<dyn Error>> {
    let (mut page, mut demanded, mut written) = (String::new(), Vec::new(), 0);
    for run in &RUNS {
        let Ok(log) = fs::read_to_string(run.log(logs)) else { continue };
        written += 1;
        let (host, log) = log.split_once('\n').unwrap_or(("", &log));
        write!(page, "\n## {}\n\n```sh\n{}\n```\n\n{host}\n", run.title, run.command())?;
        for (name, group) in criterion::read(measured, run.groups)? {
            fs::create_dir_all(docs.join("figures"))?;
            let file = format!("figures/{name}.svg");
            plot::bars(&docs.join(&file), &name, &group)?;
            write!(page, "\n### {name}\n\n![{name}]({file})\n\n{}", table(&group)?)?;
        }
        let said = log::without_criterion(log);
        if !said.is_empty() {
            write!(page, "\n```text\n{said}\n```\n")?;
        }
        demanded.extend(log::demanded(log));
    }
    fs::write(docs.join("figures.md"), format!("{HEAD}{}{page}", ratios(&demanded)?))?;
    Ok(written)
}

/// The ratios that have a demand, in one table.
fn ratios(demanded: &[Demanded]) -> Result<String, std::fmt::Error> {
    if demanded.is_empty() {
        return Ok(String::new());
    }
    let mut table = String::from(
        "\n## Ratios that were demanded\n\nOf the runs below, with one thread and with two; of other demands (times, bytes) see there.\n\n\
         | group | speed / speed | 1t | demanded | | 2t | demanded | |\n|---|---|--:|--:|---|--:|--:|---|\n",
    );
    for Demanded { group, label, measured, at_least } in demanded {
        write!(table, "| {group} | {label} |")?;
        for (measured, at_least) in measured.iter().zip(at_least) {
            let measured_is = measured.map_or(String::new(), |ratio| format!("{ratio:.2}"));
            match at_least {
                None => write!(table, " {measured_is} | | |")?,
                Some(least) => {
                    let met = measured.map_or("", |ratio| if ratio >= *least { "yes" } else { "no" });
                    let least = (least * 100.0).round() / 100.0;
                    write!(table, " {measured_is} | {least} | {met} |")?;
                }
            }
        }
        table.push('\n');
    }
    Ok(table)
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
    fn demands_are_met_or_not_for_each_number_of_threads() {
        let row = |measured, at_least| Demanded {
            group: "g_1m".to_owned(),
            label: "ours / theirs".to_owned(),
            measured,
            at_least,
        };
        let rows = [row([Some(1.99), Some(2.0)], [Some(2.0); 2]), row([Some(3.0), None], [None, Some(1.5)])];
        let table = ratios(&rows).expect("memory");
        let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| g_1m")).collect();
        assert_eq!(
            rows,
            [
                "| g_1m | ours / theirs | 1.99 | 2 | no | 2.00 | 2 | yes |",
                "| g_1m | ours / theirs | 3.00 | | |  | 1.5 |  |"
            ]
        );
    }

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

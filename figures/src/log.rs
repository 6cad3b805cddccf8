//! What a benchmark printed: what of it is said nowhere else, and the ratios that it was asked for (`benches/support/ratios.rs`).

/// A ratio for which at least so much was demanded, with one thread and with two.
#[derive(Debug, PartialEq)]
pub(crate) struct Demanded {
    pub(crate) group: String,
    pub(crate) label: String,
    pub(crate) measured: [Option<f64>; 2],
    pub(crate) at_least: [Option<f64>; 2],
}

/// Lines of criterion: what they say is in the tables.
const CRITERION: [&str; 8] = [
    "Benchmarking ",
    "Found ",
    "Performance has ",
    "No change in performance",
    "Change within noise",
    "time:",
    "thrpt:",
    "change:",
];

/// How the speeds of a group are headed, and after them its ratios.
const SPEEDS: &str = ", this run: ";
const RATIOS: &str = "ratio, of what was measured";

/// The log without criterion's lines and the speeds, and without more than one empty line on end.
pub(crate) fn without_criterion(log: &str) -> String {
    let (mut kept, mut in_speeds) = (Vec::new(), false);
    for line in log.lines() {
        let said = line.trim_start();
        in_speeds = (in_speeds || said.contains(SPEEDS)) && !said.starts_with(RATIOS);
        let is_again = said.is_empty() && kept.last().is_none_or(|last: &&str| last.is_empty());
        if !in_speeds && !is_criterion(line) && !is_again {
            kept.push(line.trim_end());
        }
    }
    kept.join("\n").trim_end().to_owned()
}

fn is_criterion(line: &str) -> bool {
    let said = line.trim_start();
    let is_measured =
        |line: &str| line.split_whitespace().next().is_some_and(|name| name.matches('/').count() == 2);
    let is_outlier = || said.contains(" (") && (said.ends_with(" mild") || said.ends_with(" severe"));
    CRITERION.iter().any(|start| said.starts_with(start))
        || (line == said && is_measured(line))
        || is_outlier()
}

pub(crate) fn demanded(log: &str) -> Vec<Demanded> {
    let (mut found, mut group, mut in_ratios) = (Vec::new(), "", false);
    for line in log.lines() {
        if let Some((name, _)) = line.split_once(SPEEDS) {
            group = name;
        } else if line.trim_start().starts_with(RATIOS) {
            in_ratios = true;
        } else if line.is_empty() {
            in_ratios = false;
        } else if in_ratios {
            found.extend(row(group, line).filter(|row| row.at_least != [None, None]));
        }
    }
    found
}

/// `label   1.62x   3.84x   1.0x / 1.0x`
fn row(group: &str, line: &str) -> Option<Demanded> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (label, [one, two, least_one, _, least_two]) = words.split_last_chunk::<5>()?;
    let ratio = |word: &str| word.strip_suffix('x').and_then(|ratio| ratio.parse().ok());
    Some(Demanded {
        group: group.to_owned(),
        label: label.join(" "),
        measured: [one, two].map(|word| ratio(word)),
        at_least: [least_one, least_two].map(|word| ratio(word)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
g_1m: keys of 16 bytes
  a machine

  ours: 39.9 bytes a key

g_1m/ours/1t            time:   [19.510 ms 20.913 ms 22.220 ms]
                        thrpt:  [45.004 Melem/s 47.816 Melem/s 51.256 Melem/s]
                 change:
                        time:   [-1.0% +0.1% +1.1%] (p = 0.90 > 0.05)
                        No change in performance detected.
Found 3 outliers among 10 measurements (30.00%)
  1 (10.00%) low severe
  2 (20.00%) high mild


g_1m, this run: million operations per second, median

                                                      1t      2t
  windlass                                         20.44   62.21

  ratio, of what was measured                         1t      2t   demanded
  windlass / fastest rival (a, b)                  1.62x   3.84x   2x / 3x
  windlass_batch / a                               2.76x       -   - / 1.5x
  windlass / b                                     1.34x   2.07x   - / -

reads: p99 71 ns";

    #[test]
    fn only_what_is_not_in_the_tables_is_repeated() {
        let said = without_criterion(LOG);
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 11, "{said}");
        assert_eq!(lines[..4], ["g_1m: keys of 16 bytes", "  a machine", "", "  ours: 39.9 bytes a key"]);
        assert!(
            lines[5].starts_with("  ratio, of")
                && lines[8].contains("2.07x")
                && lines[10].starts_with("reads")
        );
        assert!(!said.contains("time:") && !said.contains("62.21") && !said.contains("mild"), "{said}");
    }

    #[test]
    fn ratios_with_a_demand() {
        let rows = demanded(LOG);
        assert_eq!(rows.len(), 2);
        let first = Demanded {
            group: "g_1m".to_owned(),
            label: "windlass / fastest rival (a, b)".to_owned(),
            measured: [Some(1.62), Some(3.84)],
            at_least: [Some(2.0), Some(3.0)],
        };
        assert_eq!(rows[0], first);
        assert_eq!((rows[1].measured, rows[1].at_least), ([Some(2.76), None], [None, Some(1.5)]));
    }
}

//! What criterion has measured last, from `target/criterion`.

use serde::{Deserialize, de::DeserializeOwned};
use std::{collections::BTreeMap, fs, io, path::Path};

#[derive(Deserialize)]
struct Benchmark {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
    throughput: Option<Throughput>,
}

#[derive(Deserialize)]
struct Throughput {
    #[serde(rename = "Elements")]
    elements: Option<u64>,
}

#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
    confidence_interval: Interval,
}

#[derive(Deserialize)]
struct Interval {
    lower_bound: f64,
    upper_bound: f64,
}

/// Million elements a second: the median, and what it lies between with 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// A group: what was measured, by function, and of each by value (threads, say).
pub(crate) type Group = BTreeMap<String, BTreeMap<String, Rate>>;

/// All groups whose name begins with one of these.
pub(crate) fn read(folder: &Path, prefixes: &[&str]) -> io::Result<BTreeMap<String, Group>> {
    let mut groups = BTreeMap::new();
    walk(folder, 0, &mut |benchmark, estimates| {
        let Some(elements) = benchmark.throughput.and_then(|throughput| throughput.elements) else { return };
        if !prefixes.iter().any(|prefix| benchmark.group_id.starts_with(prefix)) {
            return;
        }
        #[allow(clippy::cast_precision_loss)] // a rate
        let rate = |ns: f64| elements as f64 * 1e3 / ns;
        let Estimate { point_estimate, confidence_interval: Interval { lower_bound, upper_bound } } =
            estimates.median;
        let rate = Rate { median: rate(point_estimate), low: rate(upper_bound), high: rate(lower_bound) };
        let group: &mut Group = groups.entry(benchmark.group_id).or_default();
        let function = group.entry(benchmark.function_id.unwrap_or_default()).or_default();
        function.insert(benchmark.value_str.unwrap_or_default(), rate);
    })?;
    Ok(groups)
}

/// Folders called `new` have the last run of a function with a value.
fn walk(folder: &Path, depth: u32, found: &mut impl FnMut(Benchmark, Estimates)) -> io::Result<()> {
    // group/function/value/new
    if depth > 4 || !folder.is_dir() {
        return Ok(());
    }
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_name() == "new" {
            if let (Some(benchmark), Some(estimates)) =
                (json(&path.join("benchmark.json")), json(&path.join("estimates.json")))
            {
                found(benchmark, estimates);
            }
        } else if path.is_dir() {
            walk(&path, depth + 1, found)?;
        }
    }
    Ok(())
}

/// `None`: not there, or of another version.
fn json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)] // clippy knows tests only by their attribute

    use super::*;

    #[test]
    fn rates_by_group_function_and_value() {
        let folder = std::env::temp_dir().join(format!("windlass-figures-{}", std::process::id()));
        let put = |function: &str, value: &str, ns: f64| {
            let new = folder.join("g_1m").join(function).join(value).join("new");
            fs::create_dir_all(&new).expect("writable");
            let benchmark = format!(
                r#"{{"group_id":"g_1m","function_id":"{function}","value_str":"{value}","throughput":{{"Elements":1000}}}}"#
            );
            fs::write(new.join("benchmark.json"), benchmark).expect("writable");
            let interval = format!(
                r#"{{"confidence_level":0.95,"lower_bound":{},"upper_bound":{}}}"#,
                ns / 2.0,
                ns * 2.0
            );
            let estimates = format!(
                r#"{{"median":{{"point_estimate":{ns},"confidence_interval":{interval},"standard_error":1}}}}"#
            );
            fs::write(new.join("estimates.json"), estimates).expect("writable");
        };
        put("ours", "1t", 100_000.0);
        put("theirs", "1t", 200_000.0);
        put("ours", "2t", 50_000.0);
        let groups = read(&folder, &["g_"]).expect("readable");
        let other = read(&folder, &["h_"]).expect("readable");
        fs::remove_dir_all(&folder).expect("removable");
        assert!(other.is_empty());
        let group = &groups["g_1m"];
        assert_eq!(group["ours"]["1t"], Rate { median: 10.0, low: 5.0, high: 20.0 });
        assert_eq!(group["ours"]["2t"].median.to_bits(), 20.0_f64.to_bits());
        assert_eq!(group["theirs"]["1t"].median.to_bits(), 5.0_f64.to_bits());
    }
}

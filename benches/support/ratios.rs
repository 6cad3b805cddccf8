//! The summary: criterion's estimates of this run as operations per second, and the ratios that windlass is judged by.

use std::{fs, path::Path, time::SystemTime};

use serde_json::Value;

/// What windlass has to reach, with 1 and 2 threads.
pub(crate) struct Demand {
    pub(crate) ours: &'static str,
    /// A function, or none for the fastest rival.
    pub(crate) theirs: Option<&'static str>,
    pub(crate) at_least: [Option<f64>; 2],
}

/// What has been measured: a group, and how many operations one iteration is.
pub(crate) struct Measured<'a> {
    pub(crate) results: &'a Path,
    pub(crate) since: SystemTime,
    pub(crate) group: &'a str,
    pub(crate) operations: u64,
}

/// Million operations per second of one function with 1 and 2 threads, where measured.
struct Speed {
    name: &'static str,
    mops: [Option<f64>; 2],
}

/// Prints what has been measured since then; nothing if that is nothing. (`figures/src/log.rs` reads it.)
pub(crate) fn print(measured: &Measured<'_>, functions: &[&'static str], demands: &[Demand]) {
    let speeds: Vec<Speed> = functions
        .iter()
        .map(|&name| Speed { name, mops: ["1t", "2t"].map(|threads| mops(measured, name, threads)) })
        .collect();
    if speeds.iter().all(|speed| speed.mops == [None, None]) {
        return;
    }
    println!("\n{}, this run: million operations per second, median\n", measured.group);
    println!("  {:<46}{:>8}{:>8}", "", "1t", "2t");
    for speed in &speeds {
        let [one, two] = speed.mops.map(|mops| mops.map_or("-".to_owned(), |mops| format!("{mops:.2}")));
        println!("  {:<46}{one:>8}{two:>8}", speed.name);
    }
    println!("\n  {:<46}{:>8}{:>8}   demanded", "ratio, of what was measured", "1t", "2t");
    for demand in demands {
        println!("  {}", demand.line(&speeds));
    }
    println!();
}

impl Demand {
    fn line(&self, speeds: &[Speed]) -> String {
        let ratios = [0, 1].map(|threads| {
            let ours = speeds.iter().find(|speed| speed.name == self.ours)?.mops[threads]?;
            let (rival, theirs) = self.opponent(speeds, threads)?;
            Some((rival, ours / theirs))
        });
        let [one, two] =
            ratios.map(|ratio| ratio.map_or("-".to_owned(), |(_, ratio)| format!("{ratio:.2}x")));
        let mut rivals: Vec<_> = ratios.iter().flatten().map(|(rival, _)| *rival).collect();
        rivals.dedup();
        let label = match self.theirs {
            Some(rival) => format!("{} / {rival}", self.ours),
            None if rivals.is_empty() => format!("{} / fastest rival", self.ours),
            None => format!("{} / fastest rival ({})", self.ours, rivals.join(", ")),
        };
        let demanded = self.at_least.map(|least| {
            least.map_or("-".to_owned(), |least| format!("{}x", (least * 100.0).round() / 100.0))
        });
        format!("{label:<46}{one:>8}{two:>8}   {}", demanded.join(" / "))
    }

    fn opponent(&self, speeds: &[Speed], threads: usize) -> Option<(&'static str, f64)> {
        let rivals = speeds.iter().filter(|speed| match self.theirs {
            Some(name) => speed.name == name,
            None => !speed.name.starts_with("windlass"),
        });
        rivals
            .filter_map(|speed| Some((speed.name, speed.mops[threads]?)))
            .max_by(|(_, slower), (_, faster)| slower.total_cmp(faster))
    }
}

/// From the median of criterion's estimates, if they were written since `since`.
fn mops(measured: &Measured<'_>, function: &str, threads: &str) -> Option<f64> {
    let file = measured.results.join(measured.group).join(function).join(threads).join("new/estimates.json");
    if fs::metadata(&file).ok()?.modified().ok()? < measured.since {
        return None;
    }
    let estimates: Value = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
    let nanoseconds = estimates["median"]["point_estimate"].as_f64()?;
    #[allow(clippy::cast_precision_loss)]
    Some(measured.operations as f64 * 1e3 / nanoseconds)
}

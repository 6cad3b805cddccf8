//! The machine, in one line: a figure without it says nothing.

use std::{env, fs, thread};

/// Processor, number of cores, system, transparent huge pages.
pub(crate) fn describe() -> String {
    let processor = fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|info| {
            Some(info.lines().find(|line| line.starts_with("model name"))?.split_once(": ")?.1.to_owned())
        })
        .unwrap_or_else(|| "unknown processor".to_owned());
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let huge_pages = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")
        .ok()
        .and_then(|modes| Some(modes.split_once('[')?.1.split_once(']')?.0.to_owned()))
        .unwrap_or_else(|| "unknown".to_owned());
    format!(
        "{processor}, {cores} cores, {} {}, transparent huge pages: {huge_pages} (windlass asks for them)",
        env::consts::OS,
        env::consts::ARCH
    )
}

//! What the command line and the environment ask for.

use std::{
    env,
    path::{Path, PathBuf},
};

pub(crate) const THREADS: [(usize, &str); 2] = [(1, "1t"), (2, "2t")];

pub(crate) struct Request {
    /// Small, for the answers and not for the figures.
    pub(crate) quick: bool,
    pub(crate) only_lists: bool,
    /// Criterion's filter. (Give it before any option that takes a value.)
    filter: Option<String>,
}

impl Request {
    pub(crate) fn from_environment() -> Request {
        let arguments: Vec<String> = env::args().skip(1).collect();
        let given = |flag| arguments.iter().any(|argument| argument == flag);
        let as_a_test = !given("--bench"); // by `cargo test --benches`
        let quick = as_a_test || env::var_os("WINDLASS_BENCH_QUICK").is_some_and(|value| value != "0");
        let filter = arguments.iter().find(|argument| !argument.starts_with('-')).cloned();
        Request { quick, only_lists: given("--list"), filter }
    }

    /// Whether the filter may let the function through. Of a regular expression only the group is looked at.
    pub(crate) fn wants(&self, group: &str, function: &str) -> bool {
        let Some(filter) = &self.filter else { return true };
        let plain = filter.chars().all(|c| c.is_alphanumeric() || "_/".contains(c));
        if !plain {
            return filter.split('/').next().is_none_or(|first| first == group || !is_a_name(first));
        }
        THREADS.iter().any(|(_, t)| format!("{group}/{function}/{t}").contains(filter))
    }

    /// Where criterion writes; a quick run must not spoil the figures of a full one.
    pub(crate) fn results_folder(&self) -> PathBuf {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap_or(Path::new("."));
        target.join(if self.quick { "criterion-quick" } else { "criterion" })
    }
}

fn is_a_name(part: &str) -> bool {
    part.chars().all(|c| c.is_alphanumeric() || c == '_')
}

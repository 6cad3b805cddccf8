//! The algorithms of limiters, and what the reference answers call them.

use std::time::Duration;

use windlass::{Algorithm, Quota};

/// By their numbers in C.
pub(crate) const ALGORITHMS: [Algorithm; 6] = [
    Algorithm::Gcra,
    Algorithm::TokenBucket,
    Algorithm::LeakyQueue,
    Algorithm::FixedWindow,
    Algorithm::SlidingCounter,
    Algorithm::SlidingLog,
];

/// The answers that are left out: variants in which a denial counts, or in which a call may go beyond the limit.
const LEFT_OUT: [&str; 3] =
    ["sliding_log_denied_logged", "sliding_counter", "sliding_counter_denied_counted"];

/// What an answer is by: `sliding_log` for `N=3,T=60000`. `None` for those that are left out.
pub(crate) fn by_name(name: &str, pair: &str) -> Option<(Algorithm, Quota)> {
    let (n, t) = pair.split_once(",T=").expect("N and T");
    let n = n.strip_prefix("N=").expect("N").parse().expect("a number");
    let quota = Quota::new(n, Duration::from_millis(t.parse().expect("a number")));
    Some(match name {
        "fixed_window" => (Algorithm::FixedWindow, quota),
        "sliding_counter_whole" => (Algorithm::SlidingCounter, quota),
        "token_bucket" => (Algorithm::TokenBucket, quota),
        "sliding_log" => (Algorithm::SlidingLog, quota),
        "gcra" => (Algorithm::Gcra, quota),
        "gcra_no_burst" => (Algorithm::Gcra, quota.burst(1)),
        _ => {
            assert!(LEFT_OUT.contains(&name), "{name}");
            return None;
        }
    })
}

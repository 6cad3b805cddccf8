//! What happened, by limit.

use std::time::Duration;

use serde::Serialize;

use super::{Judged, file::Limit};
use crate::{args::LimitArgs, input::Input, output};

/// Of a limit's name in the table.
const SHOWN: usize = 30;

/// As `--report json` has it.
#[derive(Serialize)]
pub(super) struct Report {
    command: &'static str,
    events: u64,
    allowed: u64,
    denied: u64,
    /// Of all events.
    denied_share: f64,
    /// When, of the denied events; nanoseconds since 1970 (without event times since the start of the run).
    #[serde(skip_serializing_if = "Option::is_none")]
    first_denied_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_denied_ns: Option<u64>,
    /// In the order of the policy.
    limits: Vec<OfLimit>,
    /// Events further behind the newest than the lateness, at each limit that has a key.
    late: u64,
    /// Looks at clients for which there was no room.
    unknown: u64,
    /// Records that gave no event.
    skipped: u64,
    seconds: f64,
    /// Of all limits that are in this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    seed: u64,
    /// With `--remote`.
    #[cfg(feature = "remote")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remote: Option<crate::remote::Figures>,
}

#[derive(Serialize)]
struct OfLimit {
    name: String,
    key: Vec<String>,
    limit: u64,
    per_ns: u64,
    burst: u64,
    algorithm: &'static str,
    /// Events that no limit before it denied, and it neither.
    allowed: u64,
    /// Events that it was the first to deny.
    denied: u64,
}

impl Report {
    #[allow(clippy::cast_precision_loss)] // it is a share
    pub(super) fn new(
        args: &LimitArgs,
        judged: Judged<'_>,
        limits: &[Limit],
        input: &Input,
        took: Duration,
    ) -> Report {
        let counts = judged.counts;
        let (mut left, denied) = (counts.events, counts.events - counts.allowed);
        let limits = limits.iter().zip(counts.denials.counts()).map(|(limit, denied)| {
            left -= denied;
            OfLimit {
                name: limit.name.clone(),
                key: limit.key.clone(),
                limit: limit.quota.permits(),
                per_ns: u64::try_from(limit.quota.per().as_nanos()).unwrap_or(u64::MAX),
                burst: limit.quota.capacity(),
                algorithm: limit.algorithm.name(),
                allowed: left,
                denied,
            }
        });
        Report {
            command: "limit",
            events: counts.events,
            allowed: counts.allowed,
            denied,
            denied_share: if denied == 0 { 0.0 } else { denied as f64 / counts.events as f64 },
            first_denied_ns: counts.denied.map(|span| span.first.0),
            last_denied_ns: counts.denied.map(|span| span.last.0),
            limits: limits.collect(),
            late: judged.late,
            unknown: judged.unknown,
            skipped: input.skipped().records,
            seconds: took.as_secs_f64(),
            memory_bytes: judged.memory_bytes,
            seed: args.state.seed,
            #[cfg(feature = "remote")]
            remote: None,
        }
    }

    pub(super) fn text(&self, input: &Input) -> String {
        let timed = input.is_timed();
        let mut text = format!(
            "{} events: {} allowed, {} denied ({})\n{} limits; {}{}\n",
            output::count(self.events),
            output::count(self.allowed),
            output::count(self.denied),
            output::share(self.denied, self.events),
            self.limits.len(),
            self.memory_bytes.map_or(String::new(), |bytes| format!("memory {}; ", output::memory(bytes))),
            output::seconds(Duration::from_secs_f64(self.seconds), self.events),
        );
        if let (Some(first), Some(last)) = (self.first_denied_ns, self.last_denied_ns) {
            text +=
                &format!("first denied {}, last {}\n", output::time(first, timed), output::time(last, timed));
        }
        text += &format!("{:>11} {:>11}  limit\n", "denied", "allowed");
        for limit in &self.limits {
            text += &format!(
                "{:>11} {:>11}  {}: {}\n",
                output::count(limit.denied),
                output::count(limit.allowed),
                output::shown(&limit.name, SHOWN),
                limit.policy()
            );
        }
        if self.late > 0 {
            text += &format!(
                "{} later than --lateness, counted as arriving at its edge\n",
                output::count(self.late)
            );
        }
        if self.unknown > 0 {
            text +=
                &format!("{} lacked room for a client: clients is too small\n", output::count(self.unknown));
        }
        #[cfg(feature = "remote")]
        if let Some(remote) = &self.remote {
            text += &remote.text();
        }
        let skipped = input.skipped();
        text + &output::skipped(skipped.records, skipped.first.as_deref())
    }
}

impl OfLimit {
    fn policy(&self) -> String {
        let quota = windlass::Quota::new(self.limit, Duration::from_nanos(self.per_ns));
        let burst = if self.burst == self.limit { String::new() } else { format!(" burst {}", self.burst) };
        let of = match self.key[..] {
            [] => "for all together".to_owned(),
            _ => format!("for each {}", self.key.join(", ")),
        };
        format!("{quota}{burst} by {}, {of}", self.algorithm)
    }
}

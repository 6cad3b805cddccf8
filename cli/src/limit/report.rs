//! What happened.

use std::time::Duration;

use serde::Serialize;
use windlass::Quota;

use super::{
    Counts,
    clients::{Figures, MOST, Span},
    judge::Told,
};
use crate::{
    args::{AlgorithmKind, LimitArgs, UnknownKind},
    input::Input,
    output,
};

/// Clients in the list.
const TOP: usize = 10;

/// Of a client's name in the table.
const SHOWN: usize = 60;

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
    /// With `--key`.
    #[serde(flatten)]
    clients: Option<ByClient>,
    /// With `leaky-queue`.
    #[serde(flatten)]
    delays: Option<Delays>,
    /// Events further behind the newest than the lateness.
    late: u64,
    /// Records that gave no event.
    skipped: u64,
    algorithm: &'static str,
    limit: u64,
    per_ns: u64,
    burst: u64,
    seconds: f64,
    /// Of a limiter that is in this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    /// With `--remote`.
    #[cfg(feature = "remote")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remote: Option<crate::remote::Figures>,
}

#[derive(Serialize)]
struct ByClient {
    clients: u64,
    /// Of them.
    clients_denied: u64,
    /// Those that were denied most.
    top_denied: Vec<Client>,
    /// Events of clients beyond those that are counted one by one.
    uncounted: u64,
    /// Events of clients for which there was no room.
    unknown: u64,
    on_unknown: &'static str,
}

#[derive(Serialize)]
struct Client {
    client: String,
    denied: u64,
    allowed: u64,
    first_denied_ns: u64,
    last_denied_ns: u64,
}

#[derive(Serialize)]
struct Delays {
    greatest_delay_ns: u64,
    /// Of the events that are allowed.
    mean_delay_ns: u64,
}

impl Report {
    #[allow(clippy::cast_precision_loss)] // it is a share
    pub(super) fn new(
        args: &LimitArgs,
        counts: &Counts,
        told: &Told,
        input: &Input,
        took: Duration,
    ) -> Report {
        let quota = told.quota;
        let denied = counts.events - counts.allowed;
        let clients = counts.clients.as_ref().map(|clients| {
            let (clients_denied, top) = clients.denied(TOP);
            ByClient {
                clients: clients.number(),
                clients_denied,
                top_denied: top.iter().map(Client::of).collect(),
                uncounted: clients.uncounted,
                unknown: told.unknown,
                on_unknown: if args.on_unknown == UnknownKind::Allow { "allow" } else { "deny" },
            }
        });
        let mean = told.delays.sum / u128::from(counts.allowed.max(1));
        let delays = (args.algorithm == AlgorithmKind::LeakyQueue).then(|| Delays {
            greatest_delay_ns: told.delays.greatest,
            mean_delay_ns: u64::try_from(mean).unwrap_or(u64::MAX),
        });
        Report {
            command: "limit",
            events: counts.events,
            allowed: counts.allowed,
            denied,
            denied_share: if denied == 0 { 0.0 } else { denied as f64 / counts.events as f64 },
            first_denied_ns: counts.denied.map(|span| span.first.0),
            last_denied_ns: counts.denied.map(|span| span.last.0),
            clients,
            delays,
            late: told.late,
            skipped: input.skipped().records,
            algorithm: args.algorithm.name(),
            limit: quota.permits(),
            per_ns: u64::try_from(quota.per().as_nanos()).unwrap_or(u64::MAX),
            burst: quota.capacity(),
            seconds: took.as_secs_f64(),
            memory_bytes: told.memory_bytes,
            seed: told.seed,
            #[cfg(feature = "remote")]
            remote: None,
        }
    }

    pub(super) fn text(&self, input: &Input) -> String {
        let timed = input.is_timed();
        let mut text = format!(
            "{} events: {} allowed, {} denied ({})\n{}, ",
            output::count(self.events),
            output::count(self.allowed),
            output::count(self.denied),
            output::share(self.denied, self.events),
            self.policy(),
        );
        text += &match &self.clients {
            Some(by) => format!(
                "for each of {} clients, {} of them denied{}",
                output::count(by.clients),
                output::count(by.clients_denied),
                self.memory_bytes
                    .map_or(String::new(), |bytes| format!("; memory {}", output::memory(bytes)))
            ),
            None => "for all together".to_owned(),
        };
        text += &format!("; {}\n", output::seconds(Duration::from_secs_f64(self.seconds), self.events));
        if let (Some(first), Some(last)) = (self.first_denied_ns, self.last_denied_ns) {
            text +=
                &format!("first denied {}, last {}\n", output::time(first, timed), output::time(last, timed));
        }
        if let Some(delays) = &self.delays {
            let [greatest, mean] = [delays.greatest_delay_ns, delays.mean_delay_ns].map(Duration::from_nanos);
            text += &format!("those allowed wait {greatest:.3?} at most, {mean:.3?} on average\n");
        }
        if let Some(by) = &self.clients {
            text += &by.table(timed);
        }
        if self.late > 0 {
            text += &format!(
                "{} later than --lateness, counted as arriving at its edge\n",
                output::count(self.late)
            );
        }
        if let Some(by) = &self.clients {
            text += &by.what_is_lacking(self.algorithm != AlgorithmKind::SlidingLog.name());
        }
        #[cfg(feature = "remote")]
        if let Some(remote) = &self.remote {
            text += &remote.text();
        }
        let skipped = input.skipped();
        text + &output::skipped(skipped.records, skipped.first.as_deref())
    }

    fn policy(&self) -> String {
        let limit = Quota::new(self.limit, Duration::from_nanos(self.per_ns));
        let burst = if self.burst == self.limit { String::new() } else { format!(" burst {}", self.burst) };
        format!("{limit}{burst} by {}", self.algorithm)
    }
}

impl Client {
    fn of(figures: &Figures<'_>) -> Client {
        let Span { first, last } = figures.span;
        Client {
            client: String::from_utf8_lossy(figures.name).into_owned(),
            denied: figures.denied,
            allowed: figures.allowed,
            first_denied_ns: first.0,
            last_denied_ns: last.0,
        }
    }
}

impl ByClient {
    fn table(&self, timed: bool) -> String {
        if self.top_denied.is_empty() {
            return String::new();
        }
        let row = |[denied, allowed, first, last, client]: [&str; 5]| {
            format!("{denied:>11} {allowed:>11}  {first:<24}  {last:<24}  {client}\n")
        };
        let mut text = row(["denied", "allowed", "first denied", "last denied", "client"]);
        for client in &self.top_denied {
            text += &row([
                &output::count(client.denied),
                &output::count(client.allowed),
                &output::time(client.first_denied_ns, timed),
                &output::time(client.last_denied_ns, timed),
                &output::shown(&client.client, SHOWN),
            ]);
        }
        text
    }

    fn what_is_lacking(&self, grows: bool) -> String {
        let mut text = String::new();
        if self.uncounted > 0 {
            let most = output::count(MOST as u64);
            text +=
                &format!("{} events of further clients: {most} are counted\n", output::count(self.uncounted));
        }
        if self.unknown > 0 {
            let outcome = if self.on_unknown == "allow" { "allowed" } else { "denied" };
            text += &format!(
                "{} events {outcome} for lack of room for their clients: {} is too small\n",
                output::count(self.unknown),
                if grows { "--max-memory" } else { "--clients" }
            );
        }
        text
    }
}

//! The stream through `KeyedLimiter`: each client may have so many events a second.

use std::{
    cmp::Reverse,
    collections::HashMap,
    time::{Duration, Instant},
};

use windlass::{Admission, KeyedLimiter, Quota, Tick};

use super::{Card, Event, Stage, line};
use crate::{
    failure::Failure,
    generate::{NANOS, Shape},
    output,
};

/// In a second.
const LIMIT: u64 = 1000;

pub(super) struct LimitStage {
    limiter: KeyedLimiter,
    calls: Vec<(u64, Tick)>,
    admissions: Vec<Admission>,
    recount: HashMap<u64, Client>,
    events: u64,
    allowed: u64,
    wrong: u64,
}

/// The definition itself, and what came of it.
#[derive(Default)]
struct Client {
    /// When all that it had would have been given back.
    free: u64,
    denied: u64,
}

impl Client {
    /// Events are an interval apart, but for a burst of as many as in a second.
    fn allowed(&mut self, time: u64) -> bool {
        let next = self.free.max(time) + NANOS / LIMIT;
        let allowed = next <= time + NANOS;
        if allowed {
            self.free = next;
        }
        self.denied += u64::from(!allowed);
        allowed
    }
}

impl LimitStage {
    pub(super) fn new(shape: &Shape) -> Result<LimitStage, Failure> {
        let limiter = KeyedLimiter::builder(Quota::new(LIMIT, Duration::from_secs(1)))
            .clients(usize::try_from(shape.clients + shape.clients / 4).unwrap_or(usize::MAX))
            .lateness(Duration::from_nanos(shape.lateness))
            .build()
            .map_err(Failure::bad)?;
        Ok(LimitStage {
            limiter,
            calls: Vec::new(),
            admissions: Vec::new(),
            recount: HashMap::new(),
            events: 0,
            allowed: 0,
            wrong: 0,
        })
    }

    fn most_denied(&self) -> String {
        let mut clients: Vec<_> = self.recount.iter().map(|(name, client)| (client.denied, *name)).collect();
        clients.sort_unstable_by_key(|&(denied, name)| (Reverse(denied), name));
        let told = clients.iter().filter(|(denied, _)| *denied > 0).take(3);
        let told: Vec<_> = told.map(|(denied, name)| format!("c{name} {}", output::count(*denied))).collect();
        if told.is_empty() { "nobody".to_owned() } else { format!("most of all {}", told.join(", ")) }
    }
}

impl Stage for LimitStage {
    fn title(&self) -> &'static str {
        "limit: each client may have 1000 events a second"
    }

    fn take(&mut self, events: &[Event]) -> Result<Duration, Failure> {
        self.calls.clear();
        self.calls.extend(events.iter().map(|event| (event.client, Tick(event.time))));
        self.admissions.clear();
        let start = Instant::now();
        let call = |i: usize| (self.calls[i].0, 1, self.calls[i].1);
        self.limiter.check_each(events.len(), call, &mut self.admissions);
        let took = start.elapsed();
        for (event, admission) in events.iter().zip(&self.admissions) {
            let allowed = admission.is_allowed();
            let client = self.recount.entry(event.client).or_default();
            self.wrong += u64::from(client.allowed(event.time) != allowed);
            self.allowed += u64::from(allowed);
            self.events += 1;
        }
        Ok(took)
    }

    fn so_far(&self) -> String {
        let denied = self.events - self.allowed;
        format!("{} allowed, {} denied", output::count(self.allowed), output::count(denied))
    }

    fn summary(&self, took: Duration) -> (Vec<String>, bool) {
        let denied = self.events - self.allowed;
        let denied_clients = self.recount.values().filter(|client| client.denied > 0).count() as u64;
        let lines = vec![
            line("events", self.events, &output::seconds(took, self.events)),
            line("allowed", self.allowed, "passed on"),
            line(
                "denied",
                denied,
                &format!("{}: {}", output::share(denied, self.events), self.most_denied()),
            ),
            format!(
                "{} of {} clients were denied; gcra in {}",
                output::count(denied_clients),
                output::count(self.recount.len() as u64),
                output::memory(self.limiter.memory_bytes()),
            ),
            match self.wrong {
                0 => format!(
                    "counted again with a plain hash map: all {} answers are the same",
                    output::count(self.events)
                ),
                wrong => {
                    format!("counted again with a plain hash map: {} ANSWERS DIFFER", output::count(wrong))
                }
            },
        ];
        (lines, self.wrong == 0)
    }

    fn card(&self) -> Card {
        Card { name: "limit", calls: self.events, memory_bytes: self.limiter.memory_bytes() }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::stream, *};

    #[test]
    fn the_recount_is_the_definition() {
        let mut client = Client::default();
        let (start, millis) = (10 * NANOS, 1_000_000);
        assert!((0..LIMIT).all(|_| client.allowed(start)), "a burst");
        assert!(!client.allowed(start));
        assert!(!client.allowed(start + millis - 1));
        assert!(client.allowed(start + millis), "an interval later the next one");
        assert!(!client.allowed(start), "late");
        assert_eq!(client.denied, 3);
    }

    #[test]
    fn a_wrong_answer_is_noticed() {
        let shape = stream::shape(60_000, 1).unwrap();
        let mut stage = LimitStage::new(&shape).unwrap();
        let events: Vec<Event> = stream::events(&shape).collect();
        stage.take(&events[..30_000]).unwrap();
        let (lines, right) = stage.summary(Duration::ZERO);
        assert!(right && lines.iter().any(|line| line.contains("most of all c1 ")), "{lines:?}");
        assert!(stage.limiter.forget_at(1_u64, Tick(events[0].time)));
        stage.take(&events[30_000..]).unwrap();
        let (lines, right) = stage.summary(Duration::ZERO);
        assert!(!right && lines.iter().any(|line| line.contains("DIFFER")));
    }
}

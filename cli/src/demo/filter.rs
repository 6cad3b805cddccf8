//! The stream through `RotatingBloom`: the same question as dedup's, in a fifth of the memory, with a stated error.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use windlass::{RotatingBloom, Tick, Verdict};

use super::{Card, Event, Stage, line};
use crate::{failure::Failure, generate::Shape, output};

const WINDOW: Duration = Duration::from_secs(5);

/// The share of new ids that may be taken for seen.
const ERROR: f64 = 0.01;

pub(super) struct FilterStage {
    filter: RotatingBloom,
    /// When each id was let through last.
    passed: HashMap<[u8; 16], u64>,
    calls: Vec<([u8; 16], Tick)>,
    verdicts: Vec<Verdict>,
    events: u64,
    fresh: u64,
    /// Ids that had never come before, and those of them that were taken for seen.
    new: u64,
    mistaken: u64,
    /// Let through less than a window after the last time.
    missed: u64,
}

impl FilterStage {
    pub(super) fn new(shape: &Shape) -> Result<FilterStage, Failure> {
        let lateness = Duration::from_nanos(shape.lateness);
        let filter = RotatingBloom::builder(WINDOW)
            .expected_ids(WINDOW.as_secs() * shape.rate)
            .error(ERROR)
            .lateness(lateness)
            .build()
            .map_err(Failure::bad)?;
        Ok(FilterStage {
            filter,
            passed: HashMap::new(),
            calls: Vec::new(),
            verdicts: Vec::new(),
            events: 0,
            fresh: 0,
            new: 0,
            mistaken: 0,
            missed: 0,
        })
    }

    fn check(&mut self, event: &Event, is_fresh: bool) {
        let before = self.passed.get(&event.id).copied();
        self.events += 1;
        self.fresh += u64::from(is_fresh);
        self.new += u64::from(before.is_none());
        self.mistaken += u64::from(before.is_none() && !is_fresh);
        let window = u64::try_from(WINDOW.as_nanos()).unwrap_or(u64::MAX);
        let is_within = before.is_some_and(|before| before <= event.time && event.time - before < window);
        self.missed += u64::from(is_within && is_fresh);
        if is_fresh {
            let latest = before.map_or(event.time, |before| before.max(event.time));
            self.passed.insert(event.id, latest);
        }
    }

    /// Twice what was promised, and a few: chance has no more part in it than that.
    #[allow(clippy::cast_precision_loss)] // a bound
    fn is_right(&self) -> bool {
        self.missed == 0 && self.mistaken as f64 <= 2.0 * ERROR * self.new as f64 + 20.0
    }
}

impl Stage for FilterStage {
    fn title(&self) -> &'static str {
        "filter: the same in fixed memory; 1 % of new ids may be taken for seen"
    }

    fn take(&mut self, events: &[Event]) -> Result<Duration, Failure> {
        self.calls.clear();
        self.calls.extend(events.iter().map(|event| (event.id, Tick(event.time))));
        self.verdicts.clear();
        let start = Instant::now();
        self.filter.observe_each(events.len(), |i| self.calls[i], &mut self.verdicts);
        let took = start.elapsed();
        for (event, i) in events.iter().zip(0..) {
            self.check(event, self.verdicts[i] == Verdict::Fresh);
        }
        Ok(took)
    }

    fn so_far(&self) -> String {
        format!("{} fresh, {} new ones mistaken", output::count(self.fresh), output::count(self.mistaken))
    }

    fn summary(&self, took: Duration) -> (Vec<String>, bool) {
        let plan = self.filter.plan();
        let lines = vec![
            line("events", self.events, &output::seconds(took, self.events)),
            line("fresh", self.fresh, "passed on"),
            line(
                "mistaken",
                self.mistaken,
                &format!(
                    "{} of the new ids; no more than 1.0 % is asked for",
                    output::share(self.mistaken, self.new)
                ),
            ),
            format!(
                "{} panes that rotate, {} probes, made for {} ids in {}",
                plan.panes,
                plan.probes,
                output::count(plan.expected_ids),
                output::memory(self.filter.memory_bytes()),
            ),
            match self.missed {
                0 => "compared with a plain hash map: no id was let through twice in a window".to_owned(),
                missed => {
                    format!("compared with a plain hash map: {} REPEATS GOT THROUGH", output::count(missed))
                }
            },
        ];
        (lines, self.is_right())
    }

    fn card(&self) -> Card {
        Card { name: "filter", calls: self.events, memory_bytes: self.filter.memory_bytes() }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::stream, *};

    #[test]
    fn a_repeat_that_gets_through_is_noticed() {
        let shape = stream::shape(5000, 1).unwrap();
        let mut stage = FilterStage::new(&shape).unwrap();
        let events: Vec<Event> = stream::events(&shape).collect();
        stage.take(&events[..4000]).unwrap();
        assert!(stage.summary(Duration::ZERO).1);
        stage.filter = FilterStage::new(&shape).unwrap().filter;
        stage.take(&events).unwrap();
        let (lines, right) = stage.summary(Duration::ZERO);
        assert!(!right && lines.iter().any(|line| line.contains("GOT THROUGH")));
    }

    #[test]
    fn more_errors_than_promised_are_noticed() {
        let shape = stream::shape(5000, 1).unwrap();
        let mut stage = FilterStage::new(&shape).unwrap();
        let mut event = Event { id: [0; 16], client: 1, key: 1, time: 1 };
        for number in 0..1000_u64 {
            event.id[..8].copy_from_slice(&number.to_le_bytes());
            stage.check(&event, number % 25 != 0);
        }
        assert!(stage.is_right(), "4 %, of few");
        for number in 1000..10_000_u64 {
            event.id[..8].copy_from_slice(&number.to_le_bytes());
            stage.check(&event, number % 25 != 0);
        }
        assert!(!stage.is_right());
    }
}

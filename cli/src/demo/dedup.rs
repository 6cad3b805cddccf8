//! The stream through `Dedup`: each id passes once per window.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use windlass::{Dedup, Refused, Tick, Verdict, Window};

use super::{Card, Event, Stage, line};
use crate::{failure::Failure, generate::Shape, output};

const WINDOW: Duration = Duration::from_secs(5);

pub(super) struct DedupStage {
    dedup: Dedup,
    lateness: Duration,
    recount: Recount,
    events: Vec<([u8; 16], Tick)>,
    verdicts: Vec<Result<Verdict, Refused>>,
    counts: Counts,
    newest: u64,
}

#[derive(Default)]
struct Counts {
    events: u64,
    fresh: u64,
    duplicates: u64,
    late: u64,
    wrong: u64,
}

impl DedupStage {
    pub(super) fn new(shape: &Shape) -> Result<DedupStage, Failure> {
        // The ids of one window and the lateness, were they all new; and some room.
        let lateness = Duration::from_nanos(shape.lateness);
        let live = (WINDOW + lateness).as_secs() * shape.rate;
        let dedup = Dedup::builder(WINDOW)
            .capacity(usize::try_from(live + live / 4).unwrap_or(usize::MAX))
            .lateness(lateness)
            .build()
            .map_err(Failure::bad)?;
        Ok(DedupStage {
            dedup,
            lateness,
            recount: Recount::default(),
            events: Vec::new(),
            verdicts: Vec::new(),
            counts: Counts::default(),
            newest: 0,
        })
    }
}

impl Stage for DedupStage {
    fn title(&self) -> &'static str {
        "dedup: each id passes once per window"
    }

    fn take(&mut self, events: &[Event]) -> Result<Duration, Failure> {
        self.events.clear();
        self.events.extend(events.iter().map(|event| (event.id, Tick(event.time))));
        let start = Instant::now();
        self.dedup.observe_events(&self.events, &mut self.verdicts);
        let took = start.elapsed();
        for (event, verdict) in events.iter().zip(&self.verdicts) {
            let fresh = match verdict {
                Ok(verdict) => *verdict == Verdict::Fresh,
                Err(refused) => return Err(Failure::Running(format!("demo: {refused}"))),
            };
            self.counts.events += 1;
            *(if fresh { &mut self.counts.fresh } else { &mut self.counts.duplicates }) += 1;
            self.counts.wrong += u64::from(fresh != self.recount.fresh(event));
            self.counts.late += u64::from(event.time < self.newest);
            self.newest = self.newest.max(event.time);
        }
        Ok(took)
    }

    fn so_far(&self) -> String {
        let Counts { fresh, duplicates, .. } = self.counts;
        format!("{} fresh, {} duplicates", output::count(fresh), output::count(duplicates))
    }

    fn summary(&self, took: Duration) -> (Vec<String>, bool) {
        let Counts { events, fresh, duplicates, late, wrong } = self.counts;
        let stats = self.dedup.stats();
        let check = match wrong {
            0 => format!(
                "counted again with a plain hash map: all {} answers are the same",
                output::count(events)
            ),
            _ => format!("counted again with a plain hash map: {} ANSWERS DIFFER", output::count(wrong)),
        };
        let lines = vec![
            line("events", events, &output::seconds(took, events)),
            line("fresh", fresh, "passed on"),
            line(
                "duplicates",
                duplicates,
                &format!("{}: less than the window ago", output::share(duplicates, events)),
            ),
            line(
                "late",
                late,
                &format!("judged by their own time; {} beyond the lateness", output::count(stats.late)),
            ),
            format!(
                "window {}, lateness {}, at most {} live ids in {}",
                output::window(Window::time(WINDOW)),
                output::window(Window::time(self.lateness)),
                output::count(stats.capacity),
                output::memory(self.dedup.memory_bytes()),
            ),
            check,
        ];
        (lines, wrong == 0)
    }

    fn card(&self) -> Card {
        Card { name: "dedup", calls: self.counts.events, memory_bytes: self.dedup.memory_bytes() }
    }
}

/// The definition itself, with all the memory it likes: when each id was last let through.
#[derive(Default)]
struct Recount(HashMap<[u8; 16], u64>);

impl Recount {
    fn fresh(&mut self, event: &Event) -> bool {
        let window = u64::try_from(WINDOW.as_nanos()).unwrap_or(u64::MAX);
        let fresh = self.0.get(&event.id).is_none_or(|passed| event.time >= passed + window);
        if fresh {
            self.0.insert(event.id, event.time);
        }
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::{super::stream, *};

    #[test]
    fn the_recount_is_the_definition() {
        let mut recount = Recount::default();
        let second = 1_000_000_000;
        let mut at = |id: u8, time: u64| recount.fresh(&Event { id: [id; 16], client: 1, key: 1, time });
        assert!(at(1, 10 * second));
        assert!(!at(1, 15 * second - 1), "less than the window");
        assert!(at(1, 15 * second), "exactly the window: new, for the duplicate prolonged nothing");
        assert!(!at(1, 14 * second), "late");
        assert!(at(2, 14 * second));
    }

    #[test]
    fn a_wrong_answer_is_noticed() {
        let shape = stream::shape(5000, 1).unwrap();
        let mut stage = DedupStage::new(&shape).unwrap();
        let events: Vec<Event> = stream::events(&shape).collect();
        stage.take(&events[..4000]).unwrap();
        assert!(stage.summary(Duration::ZERO).1);
        stage.dedup.reset().unwrap();
        stage.take(&events).unwrap();
        let (lines, right) = stage.summary(Duration::ZERO);
        assert!(!right);
        assert!(lines.iter().any(|line| line.contains("DIFFER")));
    }
}

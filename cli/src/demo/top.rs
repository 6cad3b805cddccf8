//! The stream through `TopK`: the hottest keys, at the end of every second.

use std::{
    cmp::Reverse,
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use windlass::{Tick, TopK, TopSnapshot};

use super::{Card, Event, Stage, line};
use crate::{
    failure::Failure,
    generate::{NANOS, Shape},
    output,
};

/// A pane is a second.
const PANES: u64 = 10;

const K: usize = 10;

/// Keys that are shown, and how long a bar is at the longest.
const SHOWN: usize = 5;
const BAR: usize = 30;

pub(super) struct TopStage {
    top: TopK,
    lateness: u64,
    calls: Vec<(u64, Tick)>,
    recount: Recount,
    /// The first pane whose list was not asked for.
    next: Option<u64>,
    newest: u64,
    lists: Lists,
}

#[derive(Clone, Copy, Default)]
struct Lists {
    all: u64,
    certified: u64,
    wrong: u64,
}

impl Lists {
    fn add(&mut self, list: &TopSnapshot, expected: &[(u64, u64)]) {
        let rows = list.rows.iter().map(|row| (row.key.number(), row.count));
        let is_right = rows.eq(expected.iter().map(|&(key, count)| (Some(key), count)));
        self.all += 1;
        self.certified += u64::from(list.certified);
        self.wrong += u64::from(!is_right);
    }
}

impl TopStage {
    pub(super) fn new(shape: &Shape) -> Result<TopStage, Failure> {
        let top = TopK::builder(Duration::from_secs(PANES), Duration::from_secs(1), K)
            .capacity(usize::try_from(shape.keys).unwrap_or(usize::MAX).max(K))
            .lateness(Duration::from_nanos(shape.lateness))
            .build()
            .map_err(Failure::bad)?;
        Ok(TopStage {
            top,
            lateness: shape.lateness,
            calls: Vec::new(),
            recount: Recount::default(),
            next: None,
            newest: 0,
            lists: Lists::default(),
        })
    }

    /// Adds what is waiting.
    fn add(&mut self) -> Duration {
        let start = Instant::now();
        self.top.add_each(self.calls.len(), |i| (self.calls[i].0, 1, self.calls[i].1));
        let took = start.elapsed();
        self.calls.clear();
        took
    }

    fn list(&self, pane: u64) -> TopSnapshot {
        self.top.top_complete_at(Tick((pane + 1) * NANOS))
    }
}

impl Stage for TopStage {
    fn title(&self) -> &'static str {
        "top: the 10 hottest keys of 10 seconds, every second"
    }

    fn take(&mut self, events: &[Event]) -> Result<Duration, Failure> {
        let mut took = Duration::ZERO;
        for event in events {
            let next = *self.next.get_or_insert(event.time / NANOS);
            // Nothing comes any more for the panes before this one.
            let open = event.time.saturating_sub(self.lateness) / NANOS;
            for over in next..open {
                took += self.add();
                let start = Instant::now();
                let list = self.list(over);
                took += start.elapsed();
                self.lists.add(&list, &self.recount.hottest(over));
                self.next = Some(over + 1);
            }
            self.newest = self.newest.max(event.time);
            self.calls.push((event.key, Tick(event.time)));
            self.recount.add(event);
        }
        Ok(took + self.add())
    }

    fn so_far(&self) -> String {
        format!("{} lists, {} certified", self.lists.all, self.lists.certified)
    }

    fn summary(&self, took: Duration) -> (Vec<String>, bool) {
        let (mut lists, pane, stats) = (self.lists, self.newest / NANOS, self.top.stats());
        let last = self.list(pane);
        lists.add(&last, &self.recount.hottest(pane));
        let mut lines = vec![
            line("events", self.recount.events, &output::seconds(took, self.recount.events)),
            line("lists", lists.all, &format!("{} of them certified exact; the last one:", lists.certified)),
        ];
        let first = last.rows.first().map_or(0, |row| row.count);
        lines.extend(last.rows.iter().take(SHOWN).map(|row| {
            let (share, bar) = (output::share(row.count, last.total), output::bar(row.count, first, BAR));
            line(&format!("  k{}", row.key), row.count, &format!("{share:>6}  {bar}"))
        }));
        lines.push(format!(
            "no other key has more than {}; {} keys' rows in {}",
            output::count(last.tail),
            output::count(stats.counter.rows),
            output::memory(stats.counter.memory_bytes),
        ));
        lines.push(match lists.wrong {
            0 => "counted again with plain hash maps: every list is the same".to_owned(),
            wrong => format!("counted again with plain hash maps: {wrong} LISTS DIFFER"),
        });
        (lines, lists.wrong == 0)
    }

    fn card(&self) -> Card {
        Card { name: "top", calls: self.recount.events, memory_bytes: self.top.memory_bytes() }
    }
}

/// The definition itself: a hash map for each pane.
#[derive(Default)]
struct Recount {
    panes: VecDeque<(u64, HashMap<u64, u64>)>,
    events: u64,
}

impl Recount {
    fn add(&mut self, event: &Event) {
        self.events += 1;
        let pane = event.time / NANOS;
        let at = self.panes.partition_point(|(number, _)| *number < pane);
        if self.panes.get(at).is_none_or(|(number, _)| *number != pane) {
            self.panes.insert(at, (pane, HashMap::new()));
        }
        *self.panes[at].1.entry(event.key).or_default() += 1;
    }

    /// Of the window that ends with this pane.
    fn hottest(&self, pane: u64) -> Vec<(u64, u64)> {
        let mut all = HashMap::<u64, u64>::new();
        for (_, counts) in self.panes.iter().filter(|(number, _)| *number <= pane && number + PANES > pane) {
            counts.iter().for_each(|(key, count)| *all.entry(*key).or_default() += count);
        }
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_unstable_by_key(|&(key, count)| (Reverse(count), key));
        all.truncate(K);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::{super::stream, *};

    #[test]
    fn the_recount_is_the_definition() {
        let mut recount = Recount::default();
        for (key, seconds) in [(7, 20), (7, 11), (5, 12), (5, 20), (9, 10), (9, 20), (9, 20), (1, 21)] {
            recount.add(&Event { id: [0; 16], client: 1, key, time: seconds * NANOS + 5 });
        }
        assert_eq!(recount.hottest(20), [(5, 2), (7, 2), (9, 2)]);
        assert_eq!(recount.hottest(21), [(5, 2), (9, 2), (1, 1), (7, 1)]);
        assert_eq!(recount.hottest(9), []);
    }

    #[test]
    fn a_wrong_answer_is_noticed() {
        let shape = stream::shape(400_000, 1).unwrap();
        let mut stage = TopStage::new(&shape).unwrap();
        let events: Vec<Event> = stream::events(&shape).collect();
        stage.take(&events[..300_000]).unwrap();
        let (lines, right) = stage.summary(Duration::ZERO);
        assert!(right && lines.iter().any(|line| line.contains("  k1 ")), "{lines:?}");
        stage.top.add_at(1_u64, 1, Tick(events[0].time));
        stage.take(&events[300_000..]).unwrap();
        let (lines, right) = stage.summary(Duration::ZERO);
        assert!(!right && lines.iter().any(|line| line.contains("DIFFER")));
    }
}

//! The stream through `FifoIndex`: each client waits, and asks again and again how many are ahead.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use windlass::{FifoIndex, Tick};

use super::{Card, Event, Stage, line};
use crate::{
    failure::Failure,
    generate::{NANOS, Shape},
    output,
};

/// One is let in so often.
const EVERY: u64 = NANOS / 20;

/// One answer of so many is also counted out in a plain queue.
const COUNTED: u64 = 64;

pub(super) struct RankStage {
    queue: FifoIndex<u64>,
    keys: Vec<u64>,
    ranks: Vec<Option<u64>>,
    /// When the next is let in. None before the first event.
    due: Option<u64>,
    recount: Recount,
    events: u64,
    answered: u64,
    popped: u64,
    /// The most that were ahead, and of whom.
    longest: (u64, u64),
    wrong: u64,
}

impl RankStage {
    pub(super) fn new(shape: &Shape) -> Result<RankStage, Failure> {
        let queue = FifoIndex::builder()
            .capacity(usize::try_from(shape.clients).unwrap_or(usize::MAX))
            .build()
            .map_err(Failure::bad)?;
        Ok(RankStage {
            queue,
            keys: Vec::new(),
            ranks: Vec::new(),
            due: None,
            recount: Recount::default(),
            events: 0,
            answered: 0,
            popped: 0,
            longest: (0, 0),
            wrong: 0,
        })
    }

    /// Asks for those who came since the last was let in.
    fn ask(&mut self) -> Duration {
        let start = Instant::now();
        self.queue.rank_batch(&self.keys, &mut self.ranks);
        let took = start.elapsed();
        for (client, rank) in self.keys.drain(..).zip(&self.ranks) {
            self.wrong += u64::from(self.recount.rank(client, self.events.is_multiple_of(COUNTED)) != *rank);
            self.events += 1;
            self.answered += u64::from(rank.is_some());
            self.longest = self.longest.max((rank.unwrap_or(0), client));
        }
        took
    }

    fn let_in(&mut self) -> Duration {
        let start = Instant::now();
        let popped = self.queue.pop();
        let took = start.elapsed();
        self.popped += u64::from(popped.is_some());
        let value = popped.map(|entry| (entry.key.as_u64(), entry.value));
        self.wrong += u64::from(self.recount.pop().map(|(client, since)| (Some(client), since)) != value);
        took
    }
}

impl Stage for RankStage {
    fn title(&self) -> &'static str {
        "rank: clients wait, one is let in 20 times a second"
    }

    fn take(&mut self, events: &[Event]) -> Result<Duration, Failure> {
        let mut took = Duration::ZERO;
        for event in events {
            let mut due = self.due.unwrap_or(event.time + EVERY);
            while due <= event.time {
                took += self.ask() + self.let_in();
                due += EVERY;
            }
            self.due = Some(due);
            if self.recount.comes(event.client, event.time) {
                let start = Instant::now();
                let pushed = self.queue.push_at(event.client, event.time, Tick(event.time));
                took += start.elapsed();
                pushed.map_err(|refused| Failure::Running(format!("demo: rank: {refused}")))?;
            }
            self.keys.push(event.client);
        }
        Ok(took + self.ask())
    }

    fn so_far(&self) -> String {
        format!("{} let in, {} wait", output::count(self.popped), output::count(self.queue.len()))
    }

    fn summary(&self, took: Duration) -> (Vec<String>, bool) {
        let (most, client) = self.longest;
        let lines = vec![
            line("events", self.events, &output::seconds(took, self.events)),
            line(
                "answers",
                self.answered,
                &format!("of clients that wait; {} ahead at most, of c{client}", output::count(most)),
            ),
            line("let in", self.popped, &format!("{} still wait", output::count(self.queue.len()))),
            format!("no tree: a rank is a subtraction; {}", output::memory(self.queue.memory_bytes())),
            match self.wrong {
                0 => "counted again in a plain queue: all answers are the same".to_owned(),
                wrong => {
                    format!("counted again in a plain queue: {} ANSWERS DIFFER", output::count(wrong))
                }
            },
        ];
        (lines, self.wrong == 0)
    }

    fn card(&self) -> Card {
        Card { name: "rank", calls: self.events, memory_bytes: self.queue.memory_bytes() }
    }
}

/// The definition itself: a queue, and when who came.
#[derive(Default)]
struct Recount {
    waiting: VecDeque<(u64, u64)>,
    numbers: HashMap<u64, u64>,
    popped: u64,
}

impl Recount {
    /// Whether the client was not seen before.
    fn comes(&mut self, client: u64, time: u64) -> bool {
        let number = self.numbers.len() as u64;
        let is_new = *self.numbers.entry(client).or_insert(number) == number;
        if is_new {
            self.waiting.push_back((client, time));
        }
        is_new
    }

    fn pop(&mut self) -> Option<(u64, u64)> {
        let first = self.waiting.pop_front()?;
        self.popped += 1;
        Some(first)
    }

    /// How many are ahead; `counted` one by one.
    fn rank(&self, client: u64, counted: bool) -> Option<u64> {
        if counted {
            return self.waiting.iter().position(|&(other, _)| other == client).map(|at| at as u64);
        }
        self.numbers.get(&client)?.checked_sub(self.popped)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::stream, *};

    #[test]
    fn the_recount_is_the_definition() {
        let mut recount = Recount::default();
        assert_eq!(recount.pop(), None);
        assert!(recount.comes(7, 1) && recount.comes(5, 2) && !recount.comes(7, 3) && recount.comes(9, 4));
        for counted in [false, true] {
            assert_eq!(
                [7, 5, 9, 1].map(|client| recount.rank(client, counted)),
                [Some(0), Some(1), Some(2), None]
            );
        }
        assert_eq!(recount.pop(), Some((7, 1)));
        for counted in [false, true] {
            assert_eq!([7, 5, 9].map(|client| recount.rank(client, counted)), [None, Some(0), Some(1)]);
        }
    }

    #[test]
    fn a_wrong_answer_is_noticed() {
        let shape = stream::shape(400_000, 1).unwrap();
        let mut stage = RankStage::new(&shape).unwrap();
        let events: Vec<Event> = stream::events(&shape).collect();
        stage.take(&events[..300_000]).unwrap();
        let (lines, right) = stage.summary(Duration::ZERO);
        assert!(right && stage.popped > 1 && stage.answered > 0, "{lines:?}");
        assert!(stage.queue.pop().is_some());
        stage.take(&events[300_000..]).unwrap();
        let (lines, right) = stage.summary(Duration::ZERO);
        assert!(!right && lines.iter().any(|line| line.contains("DIFFER")));
    }
}

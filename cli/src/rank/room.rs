//! The waiting room.

use std::{io::Write, sync::Arc};

use windlass::{Dedup, FifoIndex, KeyHash, Seed, Tick, Window};

use crate::{
    args::{RankArgs, StateArgs},
    failure::Failure,
    metrics::Metrics,
    room,
};

pub(super) struct Room {
    /// Keys that were seen: a window longer than any input.
    seen: Arc<Dedup>,
    waiting: Arc<FifoIndex<()>>,
    every: u64,
    /// When the next is let in. None before the first event.
    due: Option<u64>,
    pub(super) figures: Figures,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Figures {
    pub(super) events: u64,
    pub(super) keys: u64,
    pub(super) popped: u64,
    pub(super) largest: u64,
}

impl Room {
    pub(super) fn new(args: &RankArgs) -> Result<Room, Failure> {
        let every = u64::try_from(args.pop_every.duration.as_nanos()).unwrap_or(u64::MAX);
        if every == 0 {
            return Err(Failure::bad(format_args!(
                "--pop-every {} is out of range: 1ns or more",
                args.pop_every
            )));
        }
        let refused = |error| room::refused(&args.state, &error);
        let seen = room::of(&args.state, Dedup::builder(Window::last_n(1 << 40))).build().map_err(refused)?;
        let waiting = FifoIndex::builder()
            .capacity(usize::try_from(room::capacity(&args.state)).unwrap_or(usize::MAX))
            .max_memory(args.state.max_memory.map_or(u64::MAX, |most| most.0))
            .seed(Seed(args.state.seed))
            .build()
            .map_err(refused)?;
        let (seen, waiting) = (Arc::new(seen), Arc::new(waiting));
        Ok(Room { seen, waiting, every, due: None, figures: Figures::default() })
    }

    /// Events in processing order. A line for each goes to `lines`.
    pub(super) fn add(
        &mut self,
        state: &StateArgs,
        events: &[(KeyHash, Tick)],
        lines: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        for &(key, now) in events {
            self.let_in(now.0);
            let number = self.figures.events;
            let full = |_| room::full(state, number + 1, "replay fewer keys");
            if self.seen.observe_at(key, Tick(number)).map_err(|_| full(()))?.is_fresh() {
                self.waiting.push_at(key, (), now).map_err(|_| full(()))?;
                self.figures.keys += 1;
            }
            self.figures.events += 1;
            let answer = match self.waiting.rank(key) {
                Some(rank) => {
                    self.figures.largest = self.figures.largest.max(rank);
                    writeln!(lines, "{rank}")
                }
                None => writeln!(lines, "-1"),
            };
            answer.map_err(|error| Failure::Running(error.to_string()))?;
        }
        Ok(())
    }

    /// Lets in whoever is due by now.
    fn let_in(&mut self, now: u64) {
        let mut due = self.due.unwrap_or(now.saturating_add(self.every));
        while due <= now && self.waiting.pop().is_some() {
            self.figures.popped += 1;
            due = due.saturating_add(self.every);
        }
        if due <= now {
            // None waits, and nothing is saved up.
            due = due.saturating_add(((now - due) / self.every + 1).saturating_mul(self.every));
        }
        self.due = Some(due);
    }

    /// Has what it is made of served.
    pub(super) fn show(&self, metrics: &Metrics) -> Result<(), Failure> {
        metrics.add("seen", &self.seen)?;
        metrics.add("waiting", &self.waiting)
    }

    /// The figures, those that are served.
    pub(super) fn told(&self) -> [u64; super::FIGURES.len()] {
        let Figures { events, keys, popped, largest } = self.figures;
        [events, keys, popped, self.waiting(), largest]
    }

    pub(super) fn waiting(&self) -> u64 {
        self.waiting.len()
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.seen.memory_bytes() + self.waiting.memory_bytes()
    }
}

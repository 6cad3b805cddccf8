//! The limit: a random cache line read and written for each key, of as many as windlass uses, and nothing else.

use std::sync::atomic::Ordering::Relaxed;

use super::{
    filter::{Filter, Load},
    filters::{PICKED, rotating},
    keys::Event,
    lines::{AHEAD, Line, Lines, prefetch},
};

pub(crate) struct LineTouch(Lines);

impl LineTouch {
    /// The key looks random: it is not hashed.
    fn line(&self, (key, _): &Event) -> &Line {
        self.0.at(key.first_chunk().map_or(0, |half| u64::from_le_bytes(*half)))
    }
}

impl Filter for LineTouch {
    const NAME: &'static str = "line_touch";
    type Scratch = ();

    fn new(load: &Load) -> Self {
        LineTouch(Lines::of_bytes(rotating(load, PICKED).memory_bytes()))
    }

    fn take(&self, events: &[Event], (): &mut ()) -> u64 {
        for (i, event) in events.iter().enumerate() {
            if let Some(ahead) = events.get(i + AHEAD) {
                prefetch(self.line(ahead));
            }
            let word = &self.line(event).0[i % 8];
            word.store(word.load(Relaxed) | 1, Relaxed);
        }
        0
    }

    fn contains(&self, _: &Event) -> bool {
        true // it promises nothing
    }

    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    fn describe(&self) -> String {
        "a line of each id".to_owned()
    }
}

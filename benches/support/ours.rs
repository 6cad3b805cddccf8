//! windlass, called event by event and in batches.

use windlass::{Dedup, Identity, Refused, Seed, Verdict, Window};

use super::{
    contender::{Contender, Upkeep},
    keys::Event,
    stream::Shape,
};

const SEED: Seed = Seed(0x77_69_6e_64_6c_61_73_73); // fixed, so that runs repeat

/// `observe_at`, one call for each event. `EXACT`: ids are told apart by their bytes.
pub(crate) struct Single<const EXACT: bool>(Dedup);

/// `observe_events`, one call for each chunk; every event has its own tick and gets its own verdict.
pub(crate) struct Batch<const EXACT: bool>(Dedup);

/// The window is the stream's; the lateness is what threads may drift.
fn dedup(shape: &Shape, room: usize, exact: bool) -> Dedup {
    Dedup::builder(Window::last_n(shape.window))
        .lateness(Window::last_n(shape.drift()))
        .capacity(room)
        .identity(if exact { Identity::Bytes } else { Identity::Hash })
        .seed(SEED)
        .build()
        .expect("the shape is valid")
}

/// Whether the answer is "fresh". An answer that is refused is none: the benchmark ends.
fn is_fresh(dedup: &Dedup, answer: &Result<Verdict, Refused>) -> bool {
    match answer {
        Ok(verdict) => *verdict == Verdict::Fresh,
        Err(refused) => panic!("windlass refuses an event: {refused}; {:?}", dedup.stats()),
    }
}

impl<const EXACT: bool> Contender for Single<EXACT> {
    const NAME: &'static str = if EXACT { "windlass_exact" } else { "windlass" };
    const UPKEEP: Upkeep = Upkeep::Itself("event number");
    type Scratch = ();

    fn new(shape: &Shape, room: usize) -> Self {
        Single(dedup(shape, room, EXACT))
    }

    fn observe(&self, events: &[Event], (): &mut ()) -> u64 {
        events.iter().map(|(key, now)| u64::from(is_fresh(&self.0, &self.0.observe_at(key, *now)))).sum()
    }

    fn memory_bytes(&self) -> Option<u64> {
        Some(self.0.memory_bytes())
    }
}

impl<const EXACT: bool> Contender for Batch<EXACT> {
    const NAME: &'static str = if EXACT { "windlass_exact_batch" } else { "windlass_batch" };
    const UPKEEP: Upkeep = Upkeep::Itself("event number");
    type Scratch = Vec<Result<Verdict, Refused>>;

    fn new(shape: &Shape, room: usize) -> Self {
        Batch(dedup(shape, room, EXACT))
    }

    fn observe(&self, events: &[Event], answers: &mut Self::Scratch) -> u64 {
        self.0.observe_events(events, answers);
        answers.iter().map(|answer| u64::from(is_fresh(&self.0, answer))).sum()
    }

    fn memory_bytes(&self) -> Option<u64> {
        Some(self.0.memory_bytes())
    }
}

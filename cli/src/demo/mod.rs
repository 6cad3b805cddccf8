//! `windlass demo`: see it at work on a generated stream.
//!
//! A stage takes one part of windlass over the stream, counts for itself what the answers should be, and says what
//! happened; the last page puts them side by side. Further structures become further stages.

mod dedup;
mod filter;
mod limit;
mod rank;
mod ring;
mod stream;
mod top;

use std::time::Duration;

use crate::{
    args::DemoArgs,
    failure::Failure,
    generate::Shape,
    output::{self, Progress},
};
use stream::Event;

/// Events are generated, and shown to a stage, this many at a time.
const CHUNK: usize = 1 << 15;

/// One part of windlass at work.
trait Stage {
    fn title(&self) -> &'static str;

    /// Some more of the stream. Returns the time that windlass took for it.
    fn take(&mut self, events: &[Event]) -> Result<Duration, Failure>;

    /// In a few words, for the progress bar.
    fn so_far(&self) -> String;

    /// What happened, a line each; `false` if the answers were not all as they should be.
    fn summary(&self, took: Duration) -> (Vec<String>, bool);

    /// For the last page.
    fn card(&self) -> Card;
}

/// A stage on the last page.
struct Card {
    name: &'static str,
    calls: u64,
    memory_bytes: u64,
}

pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let shape = stream::shape(args.events.0, args.seed)?;
    let mut stages: Vec<Box<dyn Stage>> = vec![
        Box::new(dedup::DedupStage::new(&shape)?),
        Box::new(filter::FilterStage::new(&shape)?),
        Box::new(limit::LimitStage::new(&shape)?),
        Box::new(top::TopStage::new(&shape)?),
        Box::new(rank::RankStage::new(&shape)?),
        Box::new(ring::RingStage::new(&shape)?),
    ];
    say(&format!("{}\n", stream::describe(&shape)))?;
    let (all, mut cards) = (stages.len(), Vec::new());
    for (stage, number) in stages.iter_mut().zip(1..) {
        let took = take_all(stage.as_mut(), &shape, args.quiet)?;
        let (lines, right) = stage.summary(took);
        let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
        say(&format!("\n{number} of {all}  {}\n{lines}", stage.title()))?;
        if !right {
            return Err(Failure::Running(format!(
                "demo: {} gave wrong answers, which is a bug",
                stage.title()
            )));
        }
        cards.push((stage.card(), took));
    }
    say(&format!("\n{}", last_page(&cards)))
}

/// What each stage took, side by side.
fn last_page(cards: &[(Card, Duration)]) -> String {
    let mut text = format!("{:<8}{:>13}{:>12}  {:<18}{:>9}\n", "", "events", "each", "rate", "memory");
    for (Card { name, calls, memory_bytes }, took) in cards {
        let each = format!("{} ns", took.as_nanos() / u128::from((*calls).max(1)));
        let (calls, rate) = (output::count(*calls), output::rate(*took, *calls));
        text += &format!("{name:<8}{calls:>13}{each:>12}  {rate:<18}{:>9}\n", output::memory(*memory_bytes));
    }
    text + "By one thread, in batches. All answers are as they should be. Each of these is a\ncommand for logs and pipes, with examples: windlass dedup --help\n"
}

/// A figure, and what there is to say of it.
fn line(what: &str, number: u64, more: &str) -> String {
    format!("{what:<11}{:>11}   {more}", output::count(number))
}

fn take_all(stage: &mut dyn Stage, shape: &Shape, quiet: bool) -> Result<Duration, Failure> {
    let progress = Progress::over_events(quiet, shape.events);
    let mut events = stream::events(shape);
    let (mut took, mut chunk) = (Duration::ZERO, Vec::with_capacity(CHUNK));
    loop {
        chunk.clear();
        chunk.extend(events.by_ref().take(CHUNK));
        if chunk.is_empty() {
            return Ok(took);
        }
        took += stage.take(&chunk)?;
        progress.advance(chunk.len() as u64);
        if progress.shown() {
            progress.say(stage.so_far());
        }
    }
}

/// The demo's text is its result.
fn say(text: &str) -> Result<(), Failure> {
    output::report(text, true)
}

//! The demo's stream: one that `windlass gen` gives as well.

use std::time::Duration;

use crate::{
    args::Share,
    failure::Failure,
    generate::{NANOS, Shape, Stream},
    output,
};

/// An event as it would come over the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) id: [u8; 16],
    pub(super) client: u64,
    pub(super) key: u64,
    /// Nanoseconds.
    pub(super) time: u64,
}

/// Ids come again, some soon and some when their window is over; some events are late.
pub(super) fn shape(events: u64, seed: u64) -> Result<Shape, Failure> {
    let shape = Shape { events, seed, ..Shape::default() };
    let shape = Shape {
        duplicates: Share::percent(25),
        distance: 12 * shape.rate,
        late: Share::percent(10),
        lateness: NANOS,
        ..shape
    };
    shape.ends_in_time()?;
    Ok(shape)
}

/// What writes it, for a shell.
fn command(shape: &Shape) -> String {
    let Shape { events, seed, .. } = shape;
    format!(
        "  windlass gen --events {events} --seed {seed} --format csv \\\n    --duplicates 0.25 --distance 12s --late 0.1 \
         --lateness 1s"
    )
}

pub(super) fn describe(shape: &Shape) -> String {
    let percent = |share: Share| output::share(share.millionths(), Share::WHOLE);
    let span = Duration::from_secs(shape.events) / u32::try_from(shape.rate).unwrap_or(u32::MAX);
    format!(
        "A generated stream: {} events in {:.1} s of event time.\n{} of them repeat an id up to {} s old, {} come late by \
         up to {} s.\nThis writes it:\n\n{}",
        output::count(shape.events),
        span.as_secs_f64(),
        percent(shape.duplicates),
        shape.distance / shape.rate,
        percent(shape.late),
        shape.lateness / NANOS,
        command(shape),
    )
}

pub(super) fn events(shape: &Shape) -> impl Iterator<Item = Event> {
    let stream = Stream::new(shape);
    let names = stream.names().clone();
    stream.map(move |event| Event {
        id: names.id(event.id),
        client: names.client(event.id),
        key: names.key(event.id),
        time: event.time,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    #[test]
    fn it_is_what_the_command_writes() {
        let shape = shape(5000, 7).unwrap();
        let command = command(&shape);
        let words = command.split_whitespace().filter(|word| *word != "\\");
        let Command::Gen(args) = Cli::try_parse_from(words).unwrap().command else {
            panic!("another command")
        };
        assert_eq!(Shape::of(&args).unwrap(), shape);
    }
}

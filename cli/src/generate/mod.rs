//! `windlass gen`: a generated stream, the same for the same seed.
//!
//! ```text
//! shape       what the stream is like
//! stream      events: which id, and when          random       SplitMix64
//! names       an id's text, client and key        zipf         ranks; elementary: ln and exp
//! layout      events as text
//! ```
//! The bytes that a seed gives are promised: docs/gen.md defines them, tests hold them.

mod elementary;
mod layout;
mod names;
mod random;
mod shape;
mod stream;
mod zipf;

use std::time::{Duration, Instant};

use crate::{
    args::GenArgs,
    failure::Failure,
    output::{self, Progress, Records},
};
use layout::Layout;
pub(crate) use random::Random;
pub(crate) use shape::{NANOS, Shape};
pub(crate) use stream::Stream;

/// So many events are made, then written.
const CHUNK: usize = 4096;

pub(crate) fn run(args: &GenArgs) -> Result<(), Failure> {
    // All that can be refused is refused before a byte is written.
    let shape = Shape::of(args)?;
    let layout = Layout::of(&args.records)?;
    let started = Instant::now();
    let mut stream = Stream::new(&shape);
    let bytes = write(&mut stream, &layout, &shape, args.records.quiet)?;
    if args.records.quiet {
        return Ok(());
    }
    output::report(&summary(&stream, &shape, bytes, started.elapsed()), false)
}

/// Returns the number of bytes.
fn write(stream: &mut Stream, layout: &Layout, shape: &Shape, quiet: bool) -> Result<u64, Failure> {
    let progress = Progress::over_records(quiet, shape.events);
    let names = stream.names().clone();
    let mut records = Records::stdout(false);
    let mut text = layout.header.clone().into_bytes();
    let (mut bytes, mut left) = (0, shape.events);
    loop {
        for event in stream.by_ref().take(CHUNK) {
            layout.write(event, &names, &mut text);
        }
        records.text(&text)?;
        bytes += text.len() as u64;
        text.clear();
        progress.advance(left.min(CHUNK as u64));
        left = left.saturating_sub(CHUNK as u64);
        if left == 0 {
            records.flush()?;
            return Ok(bytes);
        }
    }
}

fn summary(stream: &Stream, shape: &Shape, bytes: u64, took: Duration) -> String {
    let (events, ids, late) = (shape.events, stream.ids(), stream.late());
    format!(
        "{} events: {} ids, {} repeats ({}), {} late ({})\n{} written; {}\n",
        output::count(events),
        output::count(ids),
        output::count(events - ids),
        output::share(events - ids, events),
        output::count(late),
        output::share(late, events),
        output::memory(bytes),
        output::seconds(took, events),
    )
}

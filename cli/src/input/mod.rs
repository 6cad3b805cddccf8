//! Files to batches of events: the one reader of all commands.
//!
//! ```text
//! source   file, stdin, gzip                     bytes
//! blocks   large blocks, records are slices      data
//! tsv csv json combined                          the wanted fields of a record (slots)
//! maker    one hash, one tick per record         events
//! sort     the whole input by time               events in processing order
//! ```
//! A batch borrows the block that its records stand in, so no record is copied on its way to the output (but for `sort`).

mod batch;
mod blocks;
mod columns;
mod combined;
mod csv;
mod format;
mod json;
mod json_walk;
mod maker;
mod reading;
mod slots;
mod sort;
mod source;
mod spec;
mod time;
mod tsv;

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Instant,
    vec,
};

use windlass::Tick;

use crate::{args::InputArgs, failure::Failure};
pub(crate) use batch::Batch;
use batch::Text;
pub(crate) use format::{Format, Missing, OnError, Order};
use maker::Maker;
pub(crate) use maker::Skipped;
use reading::{Reading, Step};
use sort::Sorter;
use source::Source;
pub(crate) use spec::Need;
use spec::Spec;
pub(crate) use time::{LAST, Resolution, TimeFormat, TimeReader};

/// All sources of a run, as one stream of events in processing order.
pub(crate) struct Input {
    spec: Spec,
    sources: vec::IntoIter<(Source, Format)>,
    reading: Option<Reading>,
    maker: Maker,
    sorter: Option<Sorter>,
    /// What went wrong behind the events that were still handed out.
    failed: Option<Failure>,
    header: Option<Vec<u8>>,
    /// The number of the next event.
    number: u64,
    started: Instant,
    size: Option<u64>,
    read: Arc<AtomicU64>,
}

impl Input {
    /// Checks what can be checked; nothing is read yet.
    pub(crate) fn new(args: &InputArgs, need: Need<'_>) -> Result<Input, Failure> {
        let mut spec = Spec::new(args, need)?;
        Ok(Input {
            size: spec.sources.iter().map(|(source, _)| source.size()).sum(),
            sources: std::mem::take(&mut spec.sources).into_iter(),
            reading: None,
            maker: Maker::new(&spec),
            sorter: None,
            failed: None,
            header: None,
            number: 0,
            started: Instant::now(),
            read: Arc::default(),
            spec,
        })
    }

    /// How many bytes there are to read, if all sources are plain files.
    pub(crate) fn size(&self) -> Option<u64> {
        self.size
    }

    /// The bytes read so far, counted as it goes on.
    pub(crate) fn read_counter(&self) -> Arc<AtomicU64> {
        self.read.clone()
    }

    pub(crate) fn skipped(&self) -> &Skipped {
        &self.maker.skipped
    }

    /// The header of the first file that has one, without its line end; known once there was a batch or the end.
    pub(crate) fn header(&self) -> Option<&[u8]> {
        self.header.as_deref()
    }

    /// The next events. After a failure the batches before it have all been handed out.
    pub(crate) fn next(&mut self) -> Result<Option<Batch<'_>>, Failure> {
        if self.spec.order == Order::Sort {
            return self.next_sorted();
        }
        if !self.advance()? {
            return Ok(None);
        }
        self.give_numbers();
        let pause = !self.maker.full() && self.reading.as_ref().is_some_and(|reading| !reading.plain);
        let block = self.reading.as_ref().map_or(&[][..], Reading::block);
        let text = Text::Block(if self.maker.texts.is_empty() { block } else { &self.maker.texts });
        let header = self.header.as_deref();
        Ok(Some(Batch { events: &self.maker.events, spans: &self.maker.spans, text, header, pause }))
    }

    fn next_sorted(&mut self) -> Result<Option<Batch<'_>>, Failure> {
        let mut sorter = match self.sorter.take() {
            Some(sorter) => sorter,
            None => self.sort_all()?,
        };
        self.maker.clear();
        let some = sorter.next(&mut self.maker.events, &mut self.maker.spans);
        self.give_numbers();
        let sorter = self.sorter.insert(sorter);
        let text = Text::Chunks(sorter.chunks());
        let header = self.header.as_deref();
        let batch =
            Batch { events: &self.maker.events, spans: &self.maker.spans, text, header, pause: false };
        Ok(some.then_some(batch))
    }

    fn sort_all(&mut self) -> Result<Sorter, Failure> {
        let mut sorter = Sorter::default();
        while self.advance()? {
            let block = self.reading.as_ref().map_or(&[][..], Reading::block);
            let text = if self.maker.texts.is_empty() { block } else { &self.maker.texts };
            sorter.add(&self.maker.events, &self.maker.spans, self.spec.text.then_some(text));
        }
        sorter.sort();
        Ok(sorter)
    }

    /// Fills the batch in order of arrival; false at the end.
    fn advance(&mut self) -> Result<bool, Failure> {
        self.maker.clear();
        if let Some(failure) = self.failed.take() {
            return Err(failure);
        }
        loop {
            let Some(reading) = &mut self.reading else {
                let Some((source, format)) = self.sources.next() else { return Ok(false) };
                self.reading = Some(Reading::open(source, format, &self.spec, self.read.clone())?);
                continue;
            };
            self.maker.now = now(self.started);
            let step = reading.parse(&mut self.maker);
            if self.header.is_none() {
                self.header = reading.header.take();
            }
            if !self.maker.events.is_empty() {
                self.failed = step.err();
                return Ok(true);
            }
            match step? {
                Step::Records => {}
                Step::Hungry => reading.more()?,
                Step::End => self.reading = None,
            }
        }
    }

    /// Where ticks are event numbers they are given here, in processing order.
    fn give_numbers(&mut self) {
        if self.spec.numbered {
            for (_, tick) in &mut self.maker.events {
                *tick = Tick(self.number);
                self.number += 1;
            }
        }
    }
}

fn now(started: Instant) -> Tick {
    Tick(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

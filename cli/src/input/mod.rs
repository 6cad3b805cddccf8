//! Files to batches of events: the one reader of all commands.
//!
//! ```text
//! source   file, stdin, gzip                          bytes
//! feed     blocks, borders, mark, file                blocks of whole records, in the order of the input
//! parser   fields: tsv csv json combined; maker       events: one hash and one tick each
//! supply   parser by itself, or a pool of threads     portions: block and events, in the order of the input again
//! sort     the whole input by time                    events in processing order
//! ```
//! A batch borrows the block that its records stand in, so no record is copied on its way to the output (but for `sort`).

mod batch;
mod blocks;
mod borders;
mod columns;
mod combined;
mod csv;
mod feed;
mod fields;
mod file;
mod format;
mod json;
mod json_walk;
mod maker;
mod mark;
mod parser;
mod pool;
mod portion;
mod slots;
mod sort;
mod source;
mod spec;
mod supply;
mod time;
mod tsv;

use std::sync::{Arc, atomic::AtomicU64};

use windlass::Tick;

use crate::{args::InputArgs, failure::Failure};
pub(crate) use batch::Batch;
use batch::{BATCH, Text};
pub(crate) use format::{Format, Missing, OnError, Order};
use portion::Portion;
pub(crate) use portion::Skipped;
use sort::Sorter;
pub(crate) use spec::Need;
use spec::Spec;
use supply::Supply;
pub(crate) use time::{LAST, Resolution, TimeFormat, TimeReader};

/// All sources of a run, as one stream of events in processing order.
pub(crate) struct Input {
    spec: Arc<Spec>,
    /// None before anything is read.
    supply: Option<Supply>,
    portion: Portion,
    /// How many of its events have been handed out.
    handed: usize,
    sorter: Option<Sorter>,
    skipped: Skipped,
    header: Option<Vec<u8>>,
    /// The number of the next event.
    number: u64,
    /// The newest time so far, for `--order clamp`.
    newest: Tick,
    size: Option<u64>,
    read: Arc<AtomicU64>,
}

impl Input {
    /// Checks what can be checked; nothing is read yet.
    pub(crate) fn new(args: &InputArgs, need: Need<'_>) -> Result<Input, Failure> {
        let spec = Spec::new(args, need)?;
        Ok(Input {
            size: spec.sources.iter().map(|(source, _)| source.size()).sum(),
            spec: Arc::new(spec),
            supply: None,
            portion: Portion::default(),
            handed: 0,
            sorter: None,
            skipped: Skipped::default(),
            header: None,
            number: 0,
            newest: Tick(0),
            read: Arc::default(),
        })
    }

    /// Whether ticks are the events' own times: nanoseconds since 1970, and not since the start of the run.
    pub(crate) fn is_timed(&self) -> bool {
        self.spec.is_timed()
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
        &self.skipped
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
        while self.handed == self.portion.made.events.len() {
            if !self.advance()? {
                return Ok(None);
            }
            self.handed = 0;
        }
        let (first, all) = (self.handed, self.portion.made.events.len());
        self.handed = all.min(first + BATCH);
        self.put_in_order(first, self.handed);
        let live = self.portion.file.as_ref().is_some_and(|file| file.live);
        let pause = live && self.handed == all;
        Ok(Some(self.portion.batch(first, self.handed, self.header.as_deref(), pause)))
    }

    fn next_sorted(&mut self) -> Result<Option<Batch<'_>>, Failure> {
        let mut sorter = match self.sorter.take() {
            Some(sorter) => sorter,
            None => self.sort_all()?,
        };
        self.portion.clear();
        if !sorter.next(&mut self.portion.made) {
            return Ok(None);
        }
        self.put_in_order(0, self.portion.made.events.len());
        let sorter = self.sorter.insert(sorter);
        let (text, names) = (Text::Chunks(sorter.chunks()), sorter.names());
        let (made, header) = (&self.portion.made, self.header.as_deref());
        let pieces = made.pieces();
        let (events, spans) = (&made.events[..], &made.spans[..]);
        let parts = &made.parts[..];
        Ok(Some(Batch { events, parts, spans, text, pieces, names, header, pause: false }))
    }

    fn sort_all(&mut self) -> Result<Sorter, Failure> {
        let mut sorter = Sorter::default();
        while self.advance()? {
            sorter.add(&self.portion.made, self.spec.text.then_some(self.portion.text()));
        }
        sorter.sort();
        Ok(sorter)
    }

    /// The next portion in order of arrival; false at the end.
    fn advance(&mut self) -> Result<bool, Failure> {
        // Behind all events of its portion.
        if let Some(failure) = self.portion.failed.take() {
            return Err(failure);
        }
        let supply = match &mut self.supply {
            Some(supply) => supply,
            None => self.supply.insert(Supply::start(&self.spec, self.read.clone())?),
        };
        if !supply.next(&mut self.portion)? {
            return Ok(false);
        }
        self.skipped.append(&mut self.portion.skipped);
        if let (None, Some(file)) = (&self.header, &self.portion.file) {
            self.header.clone_from(&file.header);
        }
        Ok(true)
    }

    /// What depends on the events before: event numbers as ticks, and times that never go back.
    fn put_in_order(&mut self, first: usize, last: usize) {
        let events = &mut self.portion.made.events[first..last];
        if self.spec.order == Order::Clamp {
            for (_, tick) in &mut *events {
                self.newest = self.newest.max(*tick);
                *tick = self.newest;
            }
        }
        if self.spec.numbered {
            for (_, tick) in events {
                *tick = Tick(self.number);
                self.number += 1;
            }
        }
    }
}

//! Files to batches of events: the one reader of all commands.
//!
//! ```text
//! source   file, stdin, gzip; follow: as it grows     bytes
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
mod follow;
mod format;
mod json;
mod json_walk;
mod maker;
mod mark;
mod parser;
mod place;
mod pool;
mod portion;
mod slots;
mod sort;
mod source;
mod spec;
mod supply;
mod time;
mod tsv;

use std::{
    path::Path,
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use windlass::Tick;

use crate::{args::InputArgs, failure::Failure};
pub(crate) use batch::Batch;
use batch::{BATCH, Text};
use feed::Begin;
pub(crate) use format::{Format, Missing, OnError, Order};
use place::Place;
pub(crate) use place::Position;
use portion::Portion;
pub(crate) use portion::Skipped;
use sort::Sorter;
pub(crate) use spec::Need;
use spec::Spec;
use supply::{Supplied, Supply};
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
    /// Threads read, so that whoever waits for events need not wait for long.
    aside: bool,
    kept: Option<Kept>,
}

/// What goes on with a later run.
struct Kept {
    begin: Option<Begin>,
    /// Of each source how far it has been read, and of files that are not among them.
    places: Vec<Option<Place>>,
    others: Vec<Place>,
    /// The clock of events without a time, and when it stood there.
    now: Tick,
    started: Instant,
}

/// What there is next.
pub(crate) enum Next<'a> {
    Batch(Batch<'a>),
    End,
    /// Nothing yet.
    Nothing,
}

impl Input {
    /// Checks what can be checked; nothing is read yet.
    pub(crate) fn new(args: &InputArgs, need: Need<'_>) -> Result<Input, Failure> {
        let spec = Spec::new(args, need)?;
        Ok(Input {
            size: spec.size(),
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
            aside: false,
            kept: None,
        })
    }

    /// Before anything is read: goes on from a position, and keeps track of it. `state`: where that is from.
    pub(crate) fn go_on(&mut self, from: Position, state: &Path) -> Result<(), Failure> {
        let sources = self.spec.sources.iter().map(|(source, _)| source);
        let places = place::resume(sources, &from.files, state)?;
        let is_source = |file: &Place| places.iter().flatten().any(|place| place.is_same(file));
        let others = from.files.into_iter().filter(|file| !is_source(file)).collect();
        // A clock that went back has not gone on.
        let now = Tick(from.now.saturating_add(wall().saturating_sub(from.wall)));
        let now = if from.wall == 0 { Tick(0) } else { now };
        self.number = from.number;
        self.newest = Tick(from.newest);
        self.skipped = Skipped { records: from.skipped, first: from.first_skipped };
        let begin = Some(Begin { places: places.clone(), now });
        self.aside = true;
        self.kept = Some(Kept { begin, places, others, now, started: Instant::now() });
        Ok(())
    }

    /// Before anything is read: leaves reading to a thread, so that there is an end to waiting, and [`Input::close`].
    pub(crate) fn read_aside(&mut self) {
        self.aside = true;
    }

    /// Whether it stands between the events of two blocks.
    pub(crate) fn is_between(&self) -> bool {
        self.handed == self.portion.made.events.len() && self.portion.failed.is_none()
    }

    /// Before anything is read: events without a time have the system's, and it can be waited for them for a while.
    #[cfg(feature = "remote")]
    pub(crate) fn go_by_the_clock(&mut self) {
        let (places, now) = (vec![None; self.spec.sources.len()], Tick(wall()));
        let begin = Some(Begin { places: places.clone(), now });
        self.aside = true;
        self.kept = Some(Kept { begin, places, others: Vec::new(), now, started: Instant::now() });
    }

    /// Where it stands, if that is between two blocks.
    pub(crate) fn position(&self) -> Option<Position> {
        let kept = self.kept.as_ref().filter(|_| self.is_between())?;
        let (mut places, mut others) = (kept.places.clone(), kept.others.clone());
        if let Some((number, place)) = self.portion.place.clone() {
            place::put(&mut places, &mut others, number, place);
        }
        let elapsed = u64::try_from(kept.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Some(Position {
            files: places.into_iter().flatten().chain(others).collect(),
            number: self.number,
            newest: self.newest.0,
            now: kept.now.0.saturating_add(elapsed),
            wall: wall(),
            skipped: self.skipped.records,
            first_skipped: self.skipped.first.clone(),
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
        Ok(match self.next_within(None)? {
            Next::Batch(batch) => Some(batch),
            Next::End | Next::Nothing => None,
        })
    }

    /// The same; `most`: how long to wait for them, if reading is left to a thread. Not with `--order sort`.
    pub(crate) fn next_within(&mut self, most: Option<Duration>) -> Result<Next<'_>, Failure> {
        while self.handed == self.portion.made.events.len() {
            self.handed = 0;
            match self.advance(most)? {
                Supplied::Portion => {}
                Supplied::End => return Ok(Next::End),
                Supplied::Nothing => return Ok(Next::Nothing),
            }
        }
        let (first, all) = (self.handed, self.portion.made.events.len());
        self.handed = all.min(first + BATCH);
        self.put_in_order(first, self.handed);
        let live = self.portion.file.as_ref().is_some_and(|file| file.live);
        let pause = live && self.handed == all;
        Ok(Next::Batch(self.portion.batch(first, self.handed, self.header.as_deref(), pause)))
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
        while self.advance(None)? == Supplied::Portion {
            sorter.add(&self.portion.made, self.spec.text.then_some(self.portion.text()));
        }
        sorter.sort();
        Ok(sorter)
    }

    /// The next portion in order of arrival.
    fn advance(&mut self, most: Option<Duration>) -> Result<Supplied, Failure> {
        // Behind all events of its portion.
        if let Some(failure) = self.portion.failed.take() {
            return Err(failure);
        }
        let supply = match &mut self.supply {
            Some(supply) => supply,
            None => {
                let begin = self.kept.as_mut().and_then(|kept| kept.begin.take());
                let begin = begin.unwrap_or_default();
                self.supply.insert(Supply::start(&self.spec, begin, self.aside, self.read.clone())?)
            }
        };
        // It is done with the one before.
        if let (Some(kept), Some((number, place))) = (&mut self.kept, self.portion.place.take()) {
            place::put(&mut kept.places, &mut kept.others, number, place);
        }
        let supplied = supply.next(&mut self.portion, most)?;
        if supplied != Supplied::Portion {
            return Ok(supplied);
        }
        self.skipped.append(&mut self.portion.skipped);
        if let (None, Some(file)) = (&self.header, &self.portion.file) {
            self.header.clone_from(&file.header);
        }
        Ok(supplied)
    }

    /// Reads no further. What has been read of a pipe is nowhere else: it is still handed out, then comes the end. (If reading is left to a thread.)
    pub(crate) fn close(&self) {
        if let Some(Supply::Threads(pool)) = &self.supply {
            pool.close();
        }
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

/// Nanoseconds since 1970.
fn wall() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

//! Events ready for a structure, many at a time.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use windlass::{KeyHash, Tick};

/// How many events make a batch: enough to hide memory latency, few enough that they and their text stay in the cache.
pub(crate) const BATCH: usize = 2048;

/// Where an event's text stands, its line end included; or which pieces it is put together from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(super) chunk: u32,
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Span {
    /// Blocks and chunks are shorter than 4 GiB ([`super::blocks`], [`super::sort`]).
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn new(chunk: usize, start: usize, end: usize) -> Span {
        Span { chunk: chunk as u32, start: start as u32, end: end as u32 }
    }

    /// That part of what it points into.
    pub(super) fn of<T>(self, all: &[T]) -> &[T] {
        &all[self.start as usize..self.end as usize]
    }
}

/// What spans point into.
#[derive(Clone, Copy, Debug)]
pub(super) enum Text<'a> {
    Block(&'a [u8]),
    Chunks(&'a [Vec<u8>]),
}

/// Where the keys' texts are, if they will be told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Names<'a> {
    Spans(&'a [Span], &'a [u8]),
    ByHash(&'a HashMap<KeyHash, Box<[u8]>>),
}

/// Some events in processing order.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    /// Key and tick of each.
    pub(crate) events: &'a [(KeyHash, Tick)],
    /// Of several keys: those of the events, one after the other, as many for each.
    pub(crate) parts: &'a [KeyHash],
    pub(super) spans: &'a [Span],
    pub(super) text: Text<'a>,
    /// With `--each` the ids' fields: spans point to these, and these into the text.
    pub(super) pieces: Option<&'a [Span]>,
    pub(super) names: Names<'a>,
    /// [`super::Input::header`].
    pub(crate) header: Option<&'a [u8]>,
    /// The next batch may take its time: what is buffered for output should go out now.
    pub(crate) pause: bool,
}

impl<'a> Batch<'a> {
    /// The key of event `i`: its source, if there are such, and its fields, with a space between. Cut to as much as
    /// was asked for.
    pub(crate) fn name(&self, i: usize) -> &'a [u8] {
        match self.names {
            Names::Spans(spans, texts) => spans.get(i).map_or(&[], |span| span.of(texts)),
            Names::ByHash(names) => names.get(&self.events[i].0).map_or(&[], |name| name),
        }
    }

    /// Whether event `i + 1`'s text stands right behind that of event `i`.
    pub(crate) fn adjoin(&self, i: usize) -> bool {
        let (this, next) = (self.spans[i], self.spans[i + 1]);
        this.end == next.start && this.chunk == next.chunk
    }

    /// Writes the text from event `first` to event `last`, which all adjoin, with a line end.
    pub(crate) fn write(&self, first: usize, last: usize, out: &mut impl Write) -> io::Result<()> {
        if let Some(pieces) = self.pieces {
            return self.spans[first..=last].iter().try_for_each(|span| self.put_together(span, pieces, out));
        }
        let text = self.text(Span { end: self.spans[last].end, ..self.spans[first] });
        out.write_all(text)?;
        // Only the very last line of a file may lack it.
        if text.ends_with(b"\n") { Ok(()) } else { out.write_all(b"\n") }
    }

    /// An id's fields with a space between, as a line of its own.
    fn put_together(&self, event: &Span, pieces: &[Span], out: &mut impl Write) -> io::Result<()> {
        for (i, piece) in event.of(pieces).iter().enumerate() {
            out.write_all(if i > 0 { b" " } else { b"" })?;
            out.write_all(self.text(*piece))?;
        }
        out.write_all(b"\n")
    }

    fn text(&self, span: Span) -> &'a [u8] {
        let block = match self.text {
            Text::Block(block) => block,
            Text::Chunks(chunks) => chunks.get(span.chunk as usize).map_or(&[][..], Vec::as_slice),
        };
        span.of(block)
    }
}

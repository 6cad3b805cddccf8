//! A block on its way: read, parsed, judged, and used again.

use std::{ops::Range, sync::Arc};

use windlass::{KeyHash, Tick};

use super::{
    batch::{Batch, Names, Span, Text},
    blocks::{BLOCK, Block},
    file::InputFile,
    slots::Slot,
};
use crate::failure::Failure;

/// Some whole records of one file, and what was made of them.
#[derive(Debug, Default)]
pub(super) struct Portion {
    /// None before it was first read into.
    pub(super) file: Option<Arc<InputFile>>,
    pub(super) block: Block,
    /// Lines of the file before the block.
    pub(super) lines: u64,
    /// When it was read: the tick of events without a time.
    pub(super) now: Tick,
    pub(super) made: Made,
    pub(super) skipped: Skipped,
    /// What was wrong with the record behind the last event; nothing is made of the rest.
    pub(super) failed: Option<Failure>,
}

impl Portion {
    /// Void, with its memory kept for the next one, unless that is unusually much.
    pub(super) fn clear(&mut self) {
        self.block.clear();
        self.made.clear();
        self.skipped = Skipped::default();
        self.failed = None;
    }

    /// Some of its events.
    pub(super) fn batch<'a>(
        &'a self,
        first: usize,
        last: usize,
        header: Option<&'a [u8]>,
        pause: bool,
    ) -> Batch<'a> {
        let (events, spans) = (&self.made.events[first..last], &self.made.spans[first..last]);
        let parts = self.made.parts_of(first..last);
        let names = Names::Spans(self.made.names.get(first..last).unwrap_or(&[]), &self.made.name_texts);
        Batch {
            events,
            parts,
            spans,
            text: Text::Block(self.text()),
            pieces: self.made.pieces(),
            names,
            header,
            pause,
        }
    }

    /// What its spans or pieces point into.
    pub(super) fn text(&self) -> &[u8] {
        if self.made.pieces.is_empty() { self.block.text() } else { &self.made.texts }
    }
}

/// Events, and where the text of each stands.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) events: Vec<(KeyHash, Tick)>,
    pub(super) spans: Vec<Span>,
    /// Of several keys: those of the events, one after the other.
    pub(super) parts: Vec<KeyHash>,
    /// With `--each` an event has no record of its own: its id is its text. The id's fields, a span each; those that all events of a line have
    /// in common stand in the texts once.
    pub(super) pieces: Vec<Span>,
    pub(super) texts: Vec<u8>,
    /// Of the line's event before: where its id's fields stood, and the pieces made of them.
    pub(super) before: Vec<(Slot, Span)>,
    /// If keys will be told: a span each into their texts. Neighbours with the same key share it.
    pub(super) names: Vec<Span>,
    pub(super) name_texts: Vec<u8>,
}

/// How far a [`Made`] had come.
pub(super) struct Mark {
    events: usize,
    parts: usize,
    pieces: usize,
    texts: usize,
    name_texts: usize,
}

impl Made {
    pub(super) fn mark(&self) -> Mark {
        Mark {
            events: self.events.len(),
            parts: self.parts.len(),
            pieces: self.pieces.len(),
            texts: self.texts.len(),
            name_texts: self.name_texts.len(),
        }
    }

    /// Takes back what was pushed since.
    pub(super) fn back_to(&mut self, mark: &Mark) {
        self.events.truncate(mark.events);
        self.spans.truncate(mark.events);
        self.parts.truncate(mark.parts);
        self.pieces.truncate(mark.pieces);
        self.texts.truncate(mark.texts);
        self.names.truncate(mark.events);
        self.name_texts.truncate(mark.name_texts);
    }

    /// The keys of some events.
    pub(super) fn parts_of(&self, events: Range<usize>) -> &[KeyHash] {
        let each = self.parts.len() / self.events.len().max(1);
        &self.parts[events.start * each..events.end * each]
    }

    pub(super) fn pieces(&self) -> Option<&[Span]> {
        (!self.pieces.is_empty()).then_some(&self.pieces)
    }

    fn clear(&mut self) {
        // A block of empty lines has an event a byte. Only an array of `--each` has more in it.
        let texts = self.texts.capacity().max(self.name_texts.capacity());
        if self.events.capacity().max(self.pieces.capacity()) > BLOCK || texts > 4 * BLOCK {
            *self = Made::default();
        }
        self.back_to(&Mark { events: 0, parts: 0, pieces: 0, texts: 0, name_texts: 0 });
    }
}

/// Records that gave no event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Skipped {
    pub(crate) records: u64,
    /// Where the first one stood, and what was wrong.
    pub(crate) first: Option<String>,
}

impl Skipped {
    pub(super) fn add(&mut self, records: u64, describe: impl FnOnce() -> String) {
        self.records += records;
        self.first.get_or_insert_with(describe);
    }

    /// Those that came next.
    pub(super) fn append(&mut self, next: &mut Skipped) {
        self.records += next.records;
        if self.first.is_none() {
            self.first = next.first.take();
        }
    }
}

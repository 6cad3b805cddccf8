//! Events ready for a structure, many at a time.

use windlass::{KeyHash, Tick};

/// How many events make a batch: enough to hide memory latency, few enough that they and their text stay in the cache.
pub(crate) const BATCH: usize = 2048;

/// Where an event's text stands, its line end included.
#[derive(Clone, Copy, Debug, Default)]
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
}

/// What spans point into.
#[derive(Clone, Copy, Debug)]
pub(super) enum Text<'a> {
    Block(&'a [u8]),
    Chunks(&'a [Vec<u8>]),
}

/// Some events in processing order.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    /// Key and tick of each.
    pub(crate) events: &'a [(KeyHash, Tick)],
    pub(super) spans: &'a [Span],
    pub(super) text: Text<'a>,
    /// [`super::Input::header`].
    pub(crate) header: Option<&'a [u8]>,
    /// The next batch may take its time: what is buffered for output should go out now.
    pub(crate) pause: bool,
}

impl<'a> Batch<'a> {
    /// Whether event `i + 1`'s text stands right behind that of event `i`.
    pub(crate) fn adjoin(&self, i: usize) -> bool {
        let (this, next) = (self.spans[i], self.spans[i + 1]);
        this.end == next.start && this.chunk == next.chunk
    }

    /// The text from event `first` to event `last`, which all adjoin. Only the very last line of a file may lack its newline.
    pub(crate) fn text(&self, first: usize, last: usize) -> &'a [u8] {
        let (first, last) = (self.spans[first], self.spans[last]);
        let block = match self.text {
            Text::Block(block) => block,
            Text::Chunks(chunks) => chunks[first.chunk as usize].as_slice(),
        };
        &block[first.start as usize..last.end as usize]
    }
}

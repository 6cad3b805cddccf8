//! `--order sort`: the whole input in memory, sorted by time. Events of the same time stay in the order they came in.

use std::collections::HashMap;

use windlass::{KeyHash, Tick};

use super::{
    batch::{BATCH, Names, Span},
    portion::Made,
};

/// Text is kept in chunks, which never move: one growing buffer would be copied, and twice as large while it is.
const CHUNK: usize = 8 << 20;

#[derive(Clone, Copy, Debug)]
struct Kept {
    event: (KeyHash, Tick),
    text: Kind,
    /// Its keys, if it has several, from here on.
    parts: usize,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Record(Span),
    /// Put together from the pieces from here on.
    Pieces(usize),
}

/// Takes events in, and hands them out by time.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    kept: Vec<Kept>,
    chunks: Vec<Vec<u8>>,
    pieces: Vec<Span>,
    /// Pieces of an event.
    each: usize,
    parts: Vec<KeyHash>,
    /// Keys of an event.
    parts_each: usize,
    /// If keys will be told.
    names: HashMap<KeyHash, Box<[u8]>>,
    next: usize,
}

impl Sorter {
    /// Takes in events whose spans or pieces point into `text`; `None` if their text is not needed.
    pub(super) fn add(&mut self, made: &Made, text: Option<&[u8]>) {
        // Where the pieces of the event before were, and where they are kept.
        let mut before: Vec<(Span, Span)> = Vec::new();
        let mut parts = self.parts.len();
        self.parts.extend_from_slice(&made.parts);
        if !made.events.is_empty() {
            self.parts_each = made.parts.len() / made.events.len();
        }
        for (&event, &span) in made.events.iter().zip(&made.spans) {
            let text = match (text, made.pieces()) {
                (None, _) => Kind::Record(Span::default()),
                (Some(text), None) => Kind::Record(self.keep(span.of(text), true)),
                (Some(text), Some(pieces)) => {
                    let (first, pieces) = (self.pieces.len(), span.of(pieces));
                    self.each = pieces.len();
                    before.resize(pieces.len(), Default::default());
                    for (&piece, before) in pieces.iter().zip(&mut before) {
                        // What the events of a line have in common is not kept twice.
                        if before.0 != piece {
                            *before = (piece, self.keep(piece.of(text), false));
                        }
                        self.pieces.push(before.1);
                    }
                    Kind::Pieces(first)
                }
            };
            self.kept.push(Kept { event, text, parts });
            parts += self.parts_each;
        }
        for ((hash, _), name) in made.events.iter().zip(&made.names) {
            self.names.entry(*hash).or_insert_with(|| name.of(&made.name_texts).into());
        }
    }

    pub(super) fn names(&self) -> Names<'_> {
        Names::ByHash(&self.names)
    }

    fn keep(&mut self, text: &[u8], is_record: bool) -> Span {
        let room = self.chunks.last().map_or(0, |chunk| chunk.capacity() - chunk.len());
        // One byte more than the text: see below.
        if room <= text.len() {
            self.chunks.push(Vec::with_capacity(CHUNK.max(text.len() + 1)));
        }
        let number = self.chunks.len() - 1;
        let chunk = &mut self.chunks[number];
        let start = chunk.len();
        chunk.extend_from_slice(text);
        // The end of a file without its newline may now stand in front of other lines.
        if is_record && !text.ends_with(b"\n") {
            chunk.push(b'\n');
        }
        Span::new(number, start, chunk.len())
    }

    pub(crate) fn sort(&mut self) {
        self.kept.sort_by_key(|kept| kept.event.1);
    }

    /// Puts the next events into the buffers of a batch; false when there are none.
    pub(super) fn next(&mut self, made: &mut Made) -> bool {
        let batch = &self.kept[self.next..(self.next + BATCH).min(self.kept.len())];
        for kept in batch {
            made.events.push(kept.event);
            made.parts.extend_from_slice(&self.parts[kept.parts..][..self.parts_each]);
            made.spans.push(match kept.text {
                Kind::Record(span) => span,
                Kind::Pieces(first) => {
                    let start = made.pieces.len();
                    made.pieces.extend_from_slice(&self.pieces[first..first + self.each]);
                    Span::new(0, start, made.pieces.len())
                }
            });
        }
        self.next += batch.len();
        !batch.is_empty()
    }

    pub(crate) fn chunks(&self) -> &[Vec<u8>] {
        &self.chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass::Seed;

    fn made(spans: Vec<Span>, ticks: &[u64]) -> Made {
        Made { events: ticks.iter().map(|&t| (Seed(0).hash(t), Tick(t))).collect(), spans, ..Made::default() }
    }

    #[test]
    fn stable_by_time_with_text() {
        let text = b"c3\nb1\na3\nd2";
        let spans = [(0, 3), (3, 6), (6, 9), (9, 11)].map(|(s, e)| Span::new(0, s, e)).to_vec();
        let mut sorter = Sorter::default();
        sorter.add(&made(spans, &[3, 1, 3, 2]), Some(text));
        sorter.sort();
        let mut sorted = Made::default();
        assert!(sorter.next(&mut sorted));
        let texts: Vec<u8> = sorted
            .spans
            .iter()
            .flat_map(|s| sorter.chunks()[s.chunk as usize][s.start as usize..s.end as usize].to_vec())
            .collect();
        assert_eq!(texts, b"b1\nd2\nc3\na3\n");
        assert!(!sorter.next(&mut Made::default()));
    }

    #[test]
    fn long_texts_get_a_chunk_of_their_own() {
        let mut sorter = Sorter::default();
        let long = vec![b'x'; CHUNK + 5];
        for text in [&b"a\n"[..], &long, b"b\n"] {
            sorter.add(&made(vec![Span::new(0, 0, text.len())], &[0]), Some(text));
        }
        assert_eq!(sorter.chunks().len(), 3);
        assert_eq!(sorter.chunks()[1].len(), CHUNK + 6, "with a newline");
    }

    #[test]
    fn what_events_have_in_common_is_kept_once() {
        let (mut sorter, long) = (Sorter::default(), 1 << 20);
        let text = [vec![b'x'; long], b"12345".to_vec()].concat();
        let pieces = |i| [Span::new(0, 0, long), Span::new(0, long + i, long + i + 1)];
        let spans = (0..5).map(|i| Span::new(0, 2 * i, 2 * i + 2)).collect();
        let made = Made { pieces: (0..5).flat_map(pieces).collect(), ..made(spans, &[5, 4, 3, 2, 1]) };
        for _ in 0..2 {
            sorter.add(&made, Some(&text));
        }
        sorter.sort();
        assert_eq!(sorter.chunks().concat().len(), 2 * text.len());
        let mut sorted = Made::default();
        assert!(sorter.next(&mut sorted));
        let of = |span: &Span| &sorter.chunks()[span.chunk as usize][span.start as usize..span.end as usize];
        let texts: Vec<_> =
            sorted.pieces.chunks(2).map(|pieces| [of(&pieces[0]).len(), of(&pieces[1])[0].into()]).collect();
        let expected: Vec<_> = b"5544332211".iter().map(|&last| [long, last.into()]).collect();
        assert_eq!(texts, expected);
        assert_eq!(sorted.spans[3], Span::new(0, 6, 8));
    }
}

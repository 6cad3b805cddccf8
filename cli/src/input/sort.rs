//! `--order sort`: the whole input in memory, sorted by time. Events of the same time stay in the order they came in.

use windlass::{KeyHash, Tick};

use super::batch::{BATCH, Span};

/// Text is kept in chunks, which never move: one growing buffer would be copied, and twice as large while it is.
const CHUNK: usize = 8 << 20;

#[derive(Clone, Copy, Debug)]
struct Kept {
    event: (KeyHash, Tick),
    span: Span,
}

/// Takes events in, and hands them out by time.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    kept: Vec<Kept>,
    chunks: Vec<Vec<u8>>,
    next: usize,
}

impl Sorter {
    /// Takes in the events of a batch whose spans point into `text`; `None` if their text is not needed.
    pub(crate) fn add(&mut self, events: &[(KeyHash, Tick)], spans: &[Span], text: Option<&[u8]>) {
        for (&event, &span) in events.iter().zip(spans) {
            let span = match text {
                Some(text) => self.keep(&text[span.start as usize..span.end as usize]),
                None => Span::default(),
            };
            self.kept.push(Kept { event, span });
        }
    }

    fn keep(&mut self, text: &[u8]) -> Span {
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
        if !text.ends_with(b"\n") {
            chunk.push(b'\n');
        }
        Span::new(number, start, chunk.len())
    }

    pub(crate) fn sort(&mut self) {
        self.kept.sort_by_key(|kept| kept.event.1);
    }

    /// Puts the next events into the buffers of a batch; false when there are none.
    pub(crate) fn next(&mut self, events: &mut Vec<(KeyHash, Tick)>, spans: &mut Vec<Span>) -> bool {
        let batch = &self.kept[self.next..(self.next + BATCH).min(self.kept.len())];
        events.extend(batch.iter().map(|kept| kept.event));
        spans.extend(batch.iter().map(|kept| kept.span));
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

    #[test]
    fn stable_by_time_with_text() {
        let text = b"c3\nb1\na3\nd2";
        let ticks = [3, 1, 3, 2];
        let events: Vec<_> = ticks.iter().map(|&t| (Seed(0).hash(t), Tick(t))).collect();
        let spans: Vec<_> = [(0, 3), (3, 6), (6, 9), (9, 11)].map(|(s, e)| Span::new(0, s, e)).to_vec();
        let mut sorter = Sorter::default();
        sorter.add(&events, &spans, Some(text));
        sorter.sort();
        let (mut events, mut spans) = (Vec::new(), Vec::new());
        assert!(sorter.next(&mut events, &mut spans));
        let texts: Vec<u8> = spans
            .iter()
            .flat_map(|s| sorter.chunks()[s.chunk as usize][s.start as usize..s.end as usize].to_vec())
            .collect();
        assert_eq!(texts, b"b1\nd2\nc3\na3\n");
        assert!(!sorter.next(&mut events, &mut spans));
    }

    #[test]
    fn long_texts_get_a_chunk_of_their_own() {
        let mut sorter = Sorter::default();
        let long = vec![b'x'; CHUNK + 5];
        for text in [&b"a\n"[..], &long, b"b\n"] {
            sorter.add(&[(Seed(0).hash(0_u64), Tick(0))], &[Span::new(0, 0, text.len())], Some(text));
        }
        assert_eq!(sorter.chunks().len(), 3);
        assert_eq!(sorter.chunks()[1].len(), CHUNK + 6, "with a newline");
    }
}

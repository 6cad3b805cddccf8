//! Bytes in large blocks of whole records. Records are slices of a block; only what a block's end cuts off is moved.

use std::io::{self, Read};

use super::borders::Borders;

/// Large enough for few system calls, small enough to stay in the cache until its records are written out.
pub(super) const BLOCK: usize = 128 << 10;

/// Spans are 32 bits wide.
const MOST: usize = u32::MAX as usize;

/// Whole records. The last of a file may lack its line end.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// Longer than the text: its end is room to read into.
    bytes: Vec<u8>,
    /// Where the records begin: behind the header.
    start: usize,
    end: usize,
}

impl Block {
    /// The text from the block's first byte to its last record's end.
    pub(super) fn text(&self) -> &[u8] {
        &self.bytes[..self.end]
    }

    /// Where in the text the records begin.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// What stands before is no record.
    pub(super) fn start_at(&mut self, start: usize) {
        self.start = start;
    }

    /// Bytes that it takes beyond the usual, for a long record.
    pub(super) fn long(&self) -> usize {
        self.bytes.len().saturating_sub(BLOCK)
    }

    pub(super) fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
        // A very long record had it grow.
        if self.bytes.len() > BLOCK {
            self.bytes = Vec::new();
        }
    }

    /// A record longer than the block: doubles it.
    fn grow(&mut self) -> io::Result<()> {
        let size = (self.bytes.len() * 2).clamp(BLOCK, MOST);
        if size == self.bytes.len() {
            return Err(io::Error::other("a record is longer than 4 GiB"));
        }
        let more = size - self.bytes.len();
        self.bytes.try_reserve_exact(more).map_err(|_| io::Error::other("a record is longer than memory"))?;
        self.bytes.resize(size, 0);
        Ok(())
    }
}

/// A stream block by block.
pub(super) struct Blocks {
    source: Box<dyn Read + Send>,
    borders: Borders,
    /// Somebody may be waiting for what is made of the first bytes while the next are not there yet.
    live: bool,
    /// The beginning of the next block.
    rest: Vec<u8>,
    eof: bool,
    /// What went wrong behind the records that were still handed out.
    failed: Option<io::Error>,
}

impl Blocks {
    pub(super) fn new(source: Box<dyn Read + Send>, borders: Borders, live: bool) -> Blocks {
        Blocks { source, borders, live, rest: Vec::new(), eof: false, failed: None }
    }

    /// The next block; `false` at the end. A live stream is handed on as soon as a record is complete.
    pub(super) fn fill(&mut self, block: &mut Block) -> io::Result<bool> {
        block.clear();
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        while block.bytes.len() < self.rest.len() {
            block.grow()?;
        }
        block.bytes[..self.rest.len()].copy_from_slice(&self.rest);
        let mut end = self.rest.len();
        while !self.eof && (block.end == 0 || !self.live && end < BLOCK) {
            if end == block.bytes.len() {
                block.grow()?;
            }
            let room = block.bytes.len().min(end + BLOCK);
            match self.source.read(&mut block.bytes[end..room]) {
                Ok(0) => self.eof = true,
                Ok(read) => {
                    let new = end..end + read;
                    end = new.end;
                    if let Some(border) = self.borders.last_in(&block.bytes[new.clone()]) {
                        block.end = new.start + border;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if block.end == 0 => return Err(error),
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        if self.eof {
            block.end = end;
        }
        self.rest.clear();
        self.rest.extend_from_slice(&block.bytes[block.end..end]);
        Ok(block.end > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out at most `step` bytes a call, interrupted in between; fails at the end if it should.
    struct Slow {
        bytes: Vec<u8>,
        step: usize,
        interrupt: bool,
        fails: bool,
    }

    impl Slow {
        fn new(bytes: &[u8], step: usize) -> Slow {
            Slow { bytes: bytes.to_vec(), step, interrupt: false, fails: false }
        }
    }

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.interrupt = !self.interrupt;
            if self.interrupt {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if self.bytes.is_empty() && self.fails {
                return Err(io::Error::other("broken"));
            }
            let read = self.step.min(self.bytes.len()).min(buffer.len());
            buffer[..read].copy_from_slice(&self.bytes[..read]);
            self.bytes.drain(..read);
            Ok(read)
        }
    }

    fn all(source: Slow, borders: Borders, live: bool) -> (Vec<String>, Option<String>) {
        let mut blocks = Blocks::new(Box::new(source), borders, live);
        let (mut texts, mut block) = (Vec::new(), Block::default());
        loop {
            match blocks.fill(&mut block) {
                Ok(true) => texts.push(String::from_utf8(block.text().to_vec()).unwrap()),
                Ok(false) => return (texts, None),
                Err(error) => return (texts, Some(error.to_string())),
            }
        }
    }

    #[test]
    fn a_live_stream_is_handed_on_as_soon_as_a_record_is_complete() {
        let source = || Slow::new(b"one\ntwo\nthree\nrest", 5);
        assert_eq!(all(source(), Borders::Lines, true).0, ["one\n", "two\n", "three\n", "rest"]);
        assert_eq!(all(source(), Borders::Lines, false).0, ["one\ntwo\nthree\nrest"]);
    }

    #[test]
    fn quoted_newlines_do_not_cut() {
        let source = Slow::new(b"a,\"x\ny\",b\nc\n\"d\n", 3);
        assert_eq!(all(source, Borders::csv(), true).0, ["a,\"x\ny\",b\nc\n", "\"d\n"]);
    }

    #[test]
    fn records_before_a_failure_are_handed_out() {
        let source = |text: &[u8]| Slow { fails: true, ..Slow::new(text, 4) };
        for live in [true, false] {
            let (texts, error) = all(source(b"one\ntwo\nrest"), Borders::Lines, live);
            assert_eq!((texts.concat().as_str(), error.as_deref()), ("one\ntwo\n", Some("broken")));
        }
    }

    #[test]
    fn blocks_are_full_and_grow_for_a_long_record() {
        let line = "x".repeat(99) + "\n";
        let long = "y".repeat(3 * BLOCK) + "\n";
        let text = line.repeat(BLOCK / 50) + &long + &line.repeat(BLOCK / 50);
        for step in [1000, usize::MAX] {
            let (texts, _) = all(Slow::new(text.as_bytes(), step), Borders::Lines, false);
            assert_eq!(texts.concat(), text);
            assert!(texts.iter().all(|text| text.ends_with('\n')));
            assert!(texts[0].len() > BLOCK - 100);
            let longest = texts.iter().map(String::len).max().unwrap();
            assert!((long.len()..long.len() + 2 * BLOCK).contains(&longest), "little else beside it");
        }
    }
}

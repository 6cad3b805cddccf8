//! Bytes in large blocks. Records are slices of a block; only what a block's end cuts off is moved.

use std::io::{self, Read};

/// Large enough for few system calls, small enough to stay in the cache until its records are written out.
const BLOCK: usize = 256 << 10;

/// Spans are 32 bits wide.
const MOST: usize = u32::MAX as usize;

/// Reads a stream block by block.
pub(crate) struct Blocks {
    source: Box<dyn Read>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    eof: bool,
}

impl Blocks {
    pub(crate) fn new(source: Box<dyn Read>) -> Blocks {
        Blocks { source, buffer: Vec::new(), start: 0, end: 0, eof: false }
    }

    /// What was read and not yet consumed.
    pub(crate) fn data(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The buffer that spans point into: `data` begins at [`Blocks::start`] of it.
    pub(crate) fn buffer(&self) -> &[u8] {
        &self.buffer
    }

    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Nothing comes behind `data`.
    pub(crate) fn eof(&self) -> bool {
        self.eof
    }

    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
    }

    /// Reads on until the new bytes hold a newline, and at least as many as `least`, or to the end. A stream that comes
    /// slowly is so handed on line by line. Spans into the buffer are void afterwards.
    pub(crate) fn more(&mut self, least: usize) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let least = self.end.saturating_add(least);
        let mut complete = false;
        while !self.eof && (!complete || self.end < least) {
            if self.end == self.buffer.len() {
                self.grow()?;
            }
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.eof = true,
                Ok(read) => {
                    complete |= memchr::memchr(b'\n', &self.buffer[self.end..self.end + read]).is_some();
                    self.end += read;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A record longer than the buffer: double it.
    fn grow(&mut self) -> io::Result<()> {
        let size = (self.buffer.len() * 2).clamp(BLOCK, MOST);
        if size == self.buffer.len() {
            return Err(io::Error::other("a record is longer than 4 GiB"));
        }
        let more = size - self.buffer.len();
        self.buffer
            .try_reserve_exact(more)
            .map_err(|_| io::Error::other("a record is longer than memory"))?;
        self.buffer.resize(size, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out at most `step` bytes a call, interrupted in between.
    struct Slow {
        bytes: Vec<u8>,
        step: usize,
        interrupt: bool,
    }

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.interrupt = !self.interrupt;
            if self.interrupt {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let read = self.step.min(self.bytes.len()).min(buffer.len());
            buffer[..read].copy_from_slice(&self.bytes[..read]);
            self.bytes.drain(..read);
            Ok(read)
        }
    }

    #[test]
    fn hands_on_what_is_complete() {
        let source = Slow { bytes: b"one\ntwo\nrest".to_vec(), step: 3, interrupt: false };
        let mut blocks = Blocks::new(Box::new(source));
        blocks.more(1).unwrap();
        assert_eq!((blocks.data(), blocks.eof()), (&b"one\ntw"[..], false));
        blocks.consume(4);
        blocks.more(1).unwrap();
        assert_eq!((blocks.data(), blocks.eof()), (&b"two\nr"[..], false));
        blocks.consume(4);
        blocks.more(1).unwrap();
        assert_eq!((blocks.data(), blocks.eof()), (&b"rest"[..], true));
    }

    #[test]
    fn reads_at_least_what_is_asked_for() {
        let source = Slow { bytes: b"a\nb\nc\nd\ne\n".to_vec(), step: 2, interrupt: false };
        let mut blocks = Blocks::new(Box::new(source));
        blocks.more(5).unwrap();
        assert_eq!(blocks.data(), b"a\nb\nc\n");
    }

    #[test]
    fn grows_for_a_long_line() {
        let mut bytes = vec![b'x'; 3 * BLOCK];
        bytes.push(b'\n');
        let mut blocks =
            Blocks::new(Box::new(Slow { bytes: bytes.clone(), step: BLOCK / 2, interrupt: false }));
        blocks.more(1).unwrap();
        assert_eq!(blocks.data(), bytes);
    }
}

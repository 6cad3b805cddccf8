//! What has come and is not read yet.

use super::stream::Stream;
use std::{
    io,
    task::{Context, Poll, ready},
};

/// At first, and again after a long answer.
const USUAL: usize = 32 * 1024;

/// More than this is given back once it is not needed.
const KEEP: usize = 1024 * 1024;

/// A buffer that is used again and again. It is as large as what has come and cannot be read yet, and twice as large at most, but for the usual.
#[derive(Debug)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    from: usize,
    to: usize,
}

impl Inbox {
    pub(super) fn new() -> Inbox {
        Inbox { bytes: vec![0; USUAL], from: 0, to: 0 }
    }

    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes[self.from..self.to]
    }

    /// So many of them have been read.
    pub(super) fn read(&mut self, bytes: usize) {
        self.from += bytes;
        if self.from == self.to {
            (self.from, self.to) = (0, 0);
            if self.bytes.len() > KEEP {
                self.bytes = vec![0; USUAL];
            }
        }
    }

    /// Waits for more: how much has come.
    pub(super) fn poll_fill(&mut self, stream: &mut Stream, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.make_room();
        let come = ready!(stream.poll_read(cx, &mut self.bytes[self.to..]))?;
        self.to += come;
        Poll::Ready(Ok(come))
    }

    fn make_room(&mut self) {
        if self.to < self.bytes.len() {
            return;
        }
        if self.from >= self.bytes.len() / 2 {
            // What is moved is no more than what was read before.
            self.bytes.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        } else {
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
    }
}

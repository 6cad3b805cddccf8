//! Records to stdout, unchanged.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
};

use crate::{failure::Failure, input::Batch};

/// One system call for so many bytes.
const BUFFER: usize = 256 << 10;

/// Writes records, such as the chosen ones of a batch.
pub(crate) struct Records {
    out: BufWriter<Box<dyn Write + Send>>,
    /// The header is written.
    begun: bool,
}

impl Records {
    /// `begun`: the header is written already, by a run before.
    pub(crate) fn stdout(begun: bool) -> Records {
        Records { out: BufWriter::with_capacity(BUFFER, unbuffered_stdout()), begun }
    }

    /// Whether the header is written.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Writes the header, if there is one and it is not written yet. Called with every batch and at the end: so a table
    /// without rows is still a table.
    pub(crate) fn header(&mut self, header: Option<&[u8]>) -> Result<(), Failure> {
        if let (Some(header), false) = (header, self.begun) {
            self.out.write_all(header).and_then(|()| self.out.write_all(b"\n")).map_err(|e| failed(&e))?;
        }
        self.begun |= header.is_some();
        Ok(())
    }

    /// Writes the records of the events whose marks are chosen. Neighbours go out as one slice.
    pub(crate) fn write(
        &mut self,
        batch: &Batch<'_>,
        marks: &[u8],
        chosen: impl Fn(u8) -> bool,
    ) -> Result<(), Failure> {
        self.header(batch.header)?;
        let mut first = 0;
        while first < marks.len() {
            if !chosen(marks[first]) {
                first += 1;
                continue;
            }
            let mut last = first;
            while last + 1 < marks.len() && chosen(marks[last + 1]) && batch.adjoin(last) {
                last += 1;
            }
            batch.write(first, last, &mut self.out).map_err(|e| failed(&e))?;
            first = last + 1;
        }
        Ok(())
    }

    /// Writes records that are text already.
    pub(crate) fn text(&mut self, text: &[u8]) -> Result<(), Failure> {
        self.out.write_all(text).map_err(|e| failed(&e))
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|e| failed(&e))
    }
}

fn failed(error: &io::Error) -> Failure {
    Failure::writing("to stdout", error)
}

/// Rust's own stdout looks for newlines in all that passes; we have a buffer already.
fn unbuffered_stdout() -> Box<dyn Write + Send> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        if let Ok(fd) = io::stdout().as_fd().try_clone_to_owned() {
            return Box::new(File::from(fd));
        }
    }
    Box::new(io::stdout())
}

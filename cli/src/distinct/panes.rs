//! Which pane an event counts in, and a line for each pane that is over.

use windlass::{KeyHash, Tick};

use super::Counter;
use crate::{failure::Failure, grid::Grid, output::Records};

pub(super) struct Panes {
    grid: Grid,
    /// The pane of the newest event.
    open: Option<u64>,
    lines: Vec<u8>,
    out: Records,
    /// Panes written.
    pub(super) written: u64,
    /// The largest number.
    pub(super) largest: u64,
    /// Events whose pane was over.
    pub(super) late: u64,
}

/// Lines go out together.
const BUFFER: usize = 64 << 10;

impl Panes {
    pub(super) fn new(grid: Grid) -> Panes {
        Panes {
            grid,
            open: None,
            lines: Vec::with_capacity(BUFFER + 64),
            out: Records::stdout(false),
            written: 0,
            largest: 0,
            late: 0,
        }
    }

    /// The pane of the first of these events, and how many of them count in it. The panes before it are over.
    pub(super) fn run(
        &mut self,
        events: &[(KeyHash, Tick)],
        counter: &mut Counter,
    ) -> Result<(u64, usize), Failure> {
        let first = events.first().map_or(0, |(_, now)| now.0 / self.grid.pane);
        let pane = self.open.map_or(first, |open| open.max(first));
        for over in self.open.unwrap_or(pane)..pane {
            self.write(over, counter)?;
        }
        self.open = Some(pane);
        let (begin, end) = (pane * self.grid.pane, (pane + 1).saturating_mul(self.grid.pane));
        let n = events.iter().take_while(|(_, now)| now.0 < end).count();
        self.late += events[..n].iter().filter(|(_, now)| now.0 < begin).count() as u64;
        Ok((pane, n))
    }

    /// There are no more events.
    pub(super) fn end(&mut self, counter: &mut Counter) -> Result<(), Failure> {
        match self.open.take() {
            Some(open) => self.write(open, counter),
            None => Ok(()),
        }
    }

    fn write(&mut self, pane: u64, counter: &mut Counter) -> Result<(), Failure> {
        let number = counter.close(pane)?;
        let mut digits = itoa::Buffer::new();
        self.lines.extend_from_slice(digits.format(self.grid.end_ms(pane)).as_bytes());
        self.lines.push(b'\t');
        self.lines.extend_from_slice(digits.format(number).as_bytes());
        self.lines.push(b'\n');
        self.written += 1;
        self.largest = self.largest.max(number);
        if self.lines.len() >= BUFFER { self.hand_on() } else { Ok(()) }
    }

    fn hand_on(&mut self) -> Result<(), Failure> {
        self.out.text(&self.lines)?;
        self.lines.clear();
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.hand_on()?;
        self.out.flush()
    }
}

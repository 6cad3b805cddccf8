//! Which panes are over, and a line for each of them.

use crate::{args::TopArgs, failure::Failure, grid::Grid, input::Batch, output::Records};

use super::counts::Counts;

pub(super) struct Panes {
    grid: Grid,
    /// A pane is over when the newest event is that far behind its end.
    lateness: u64,
    /// The first pane that is not over.
    open: Option<u64>,
    newest: u64,
    lines: Option<Lines>,
    pub(super) events: u64,
    /// Panes that are over.
    pub(super) over: u64,
    /// Events whose pane was over.
    pub(super) late: u64,
    /// .. that are not counted: no window to come has their pane.
    pub(super) uncounted: u64,
}

impl Panes {
    pub(super) fn new(grid: Grid, args: &TopArgs) -> Panes {
        let lateness = u64::try_from(args.lateness.duration.as_nanos()).unwrap_or(u64::MAX);
        Panes {
            grid,
            lateness,
            open: None,
            newest: 0,
            lines: args.every_pane.then(|| Lines::new(grid, lateness)),
            events: 0,
            over: 0,
            late: 0,
            uncounted: 0,
        }
    }

    /// Counts a batch, and closes panes as it goes on.
    pub(super) fn take(&mut self, batch: &Batch<'_>, counts: &mut Counts) -> Result<(), Failure> {
        let mut first = 0;
        for (i, &(_, now)) in batch.events.iter().enumerate() {
            let pane = now.0 / self.grid.pane;
            let open = *self.open.get_or_insert(pane);
            // The first pane that would not be over now.
            let next = now.0.saturating_sub(self.lateness) / self.grid.pane;
            if next > open {
                counts.add(batch, first..i);
                first = i;
                self.close(open..next, counts)?;
            }
            self.newest = self.newest.max(now.0);
            self.events += 1;
            if pane < self.open.unwrap_or(pane) && !self.admit(pane) {
                counts.add(batch, first..i);
                first = i + 1;
            }
            if let Some(lines) = &mut self.lines {
                lines.note(pane, self.open.unwrap_or(pane));
            }
        }
        counts.add(batch, first..batch.events.len());
        Ok(())
    }

    /// Whether an event still counts that belongs to an earlier pane than those that are open.
    fn admit(&mut self, pane: u64) -> bool {
        let open = self.open.unwrap_or(pane);
        if self.over == 0 && pane >= self.newest.saturating_sub(self.lateness) / self.grid.pane {
            // It is not over: it only came after a later one.
            self.open = Some(pane);
            return true;
        }
        self.late += 1;
        let counts = pane + self.grid.panes > open;
        self.uncounted += u64::from(!counts);
        counts
    }

    /// There are no more events.
    pub(super) fn end(&mut self, counts: &Counts) -> Result<(), Failure> {
        match (self.open, self.last()) {
            (Some(open), Some(last)) => self.close(open..last + 1, counts),
            _ => Ok(()),
        }
    }

    fn close(&mut self, panes: std::ops::Range<u64>, counts: &Counts) -> Result<(), Failure> {
        self.open = Some(panes.end);
        self.over += panes.end - panes.start;
        match &mut self.lines {
            Some(lines) => panes.clone().try_for_each(|pane| lines.write(pane, counts)),
            None => Ok(()),
        }
    }

    /// The time of the newest event.
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    /// The pane of the newest event.
    pub(super) fn last(&self) -> Option<u64> {
        self.open.map(|_| self.newest / self.grid.pane)
    }

    /// Of the lists that are written, those that are not certified.
    pub(super) fn uncertified(&self) -> Option<u64> {
        self.lines.as_ref().map(|lines| lines.uncertified)
    }

    pub(super) fn grid(&self) -> Grid {
        self.grid
    }

    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.lines.as_mut().map_or(Ok(()), Lines::flush)
    }
}

/// Writes lines. A list is made anew only if something has come to it or left it.
struct Lines {
    grid: Grid,
    /// Which panes have something in them: those of the windows to come. A pane's place is its number modulo theirs.
    filled: Vec<bool>,
    /// Something has come for a pane that was over.
    stale: bool,
    /// The last list as it is written, and whether it is certified.
    list: Vec<u8>,
    certified: bool,
    uncertified: u64,
    lines: Vec<u8>,
    out: Records,
}

/// Lines go out together.
const BUFFER: usize = 64 << 10;

impl Lines {
    fn new(grid: Grid, lateness: u64) -> Lines {
        // As many are kept as `TopK` has panes, 1024 at most, and one more: the newest may lie as far ahead of the first that is open.
        let places = grid.panes + lateness.div_ceil(grid.pane) + 2;
        Lines {
            grid,
            filled: vec![false; usize::try_from(places).unwrap_or(usize::MAX)],
            stale: false,
            list: Vec::new(),
            certified: true,
            uncertified: 0,
            lines: Vec::with_capacity(BUFFER + 4096),
            out: Records::stdout(),
        }
    }

    /// An event has come for a pane.
    fn note(&mut self, pane: u64, open: u64) {
        self.stale |= pane < open;
        if pane >= open || pane + self.grid.panes > open {
            *self.place(pane) = true;
        }
    }

    fn write(&mut self, pane: u64, counts: &Counts) -> Result<(), Failure> {
        let has_come = *self.place(pane);
        let has_left = pane.checked_sub(self.grid.panes).is_some_and(|left| std::mem::take(self.place(left)));
        if has_come || has_left || std::mem::take(&mut self.stale) {
            self.make(pane, counts);
        }
        self.uncertified += u64::from(!self.certified);
        self.lines.extend_from_slice(itoa::Buffer::new().format(self.grid.end_ms(pane)).as_bytes());
        self.lines.extend_from_slice(&self.list);
        self.lines.push(b'\n');
        if self.lines.len() >= BUFFER { self.hand_on() } else { Ok(()) }
    }

    fn make(&mut self, pane: u64, counts: &Counts) {
        let list = counts.list(self.grid.begin(pane + 1));
        self.stale = false;
        self.certified = list.certified;
        self.list.clear();
        for row in &list.rows {
            self.list.push(b'\t');
            self.list.extend_from_slice(itoa::Buffer::new().format(row.count).as_bytes());
            self.list.push(b'\t');
            put(row.key.bytes().unwrap_or_default(), &mut self.list);
        }
    }

    fn hand_on(&mut self) -> Result<(), Failure> {
        self.out.text(&self.lines)?;
        self.lines.clear();
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.hand_on()?;
        self.out.flush()
    }

    #[allow(clippy::cast_possible_truncation)] // less than their number
    fn place(&mut self, pane: u64) -> &mut bool {
        let places = self.filled.len();
        &mut self.filled[(pane % places as u64) as usize]
    }
}

/// A key, such that a line remains a line.
fn put(key: &[u8], line: &mut Vec<u8>) {
    for &byte in key {
        match byte {
            b'\t' => line.extend_from_slice(b"\\t"),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            byte => line.push(byte),
        }
    }
}

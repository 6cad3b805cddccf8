//! Approximately: a filter whose panes are those of the output, and an estimate from how full they are.

use windlass::{KeyHash, RotatingBloom, Seed, Tick, Window};

use crate::{
    args::DistinctArgs,
    failure::Failure,
    grid::Grid,
    room::{self, out_of_range},
};

pub(super) struct Approx {
    pub(super) filter: RotatingBloom,
    grid: Grid,
    /// Which panes of the window have something in them. A pane's place is its number modulo theirs.
    filled: Vec<bool>,
    fills: usize,
    /// The present estimate: `None` if something has come or gone since.
    estimate: Option<u64>,
    /// The largest standard error of an estimate.
    pub(super) error: f64,
}

/// Ids for a bit of each pane, when as many have come as were expected. The estimate looks at the bits that are set in any pane of the
/// window, so every pane needs as many as all of them together do; with one bit for an id that is best done by few
/// (K.-Y. Whang and others, 1990: a standard error of 1.05 times the root of the number).
const IDS_PER_BIT: u64 = 2;

/// Bits of a pane at least: so a few hundred ids are counted to one or two.
const LEAST_BITS: u64 = 4096;

impl Approx {
    pub(super) fn new(args: &DistinctArgs, grid: Grid) -> Result<Approx, Failure> {
        let ids = room::capacity(&args.state);
        let builder = RotatingBloom::builder(Window::time(args.window.duration))
            .pane(Window::time(args.pane.duration))
            .seed(Seed(args.state.seed));
        let builder = match &args.approx.fpr {
            // All ids may come in one pane.
            Some(fpr) => builder.expected_ids(ids.saturating_mul(grid.panes)).error(fpr.share),
            None => builder.expected_ids(ids).bits(bits(ids, grid)).probes(1),
        };
        let filter = builder.build().map_err(|error| match error.field {
            "window" => out_of_range(format_args!("--window {}", args.window), &error.limit),
            "pane" => out_of_range(format_args!("--pane {}, with --approx,", args.pane), &error.limit),
            "expected_ids" => out_of_range(format_args!("--capacity {ids}"), &error.limit),
            field => out_of_range(format_args!("{field} {}", error.value), &error.limit),
        })?;
        let places = usize::try_from(grid.panes).unwrap_or(usize::MAX);
        Ok(Approx { filter, grid, filled: vec![false; places], fills: 0, estimate: None, error: 0.0 })
    }

    pub(super) fn add(&mut self, events: &[(KeyHash, Tick)], pane: u64) {
        let begin = Tick(pane * self.grid.pane);
        // Else a pane that is not yet clean would delay this one.
        self.filter.advance_to(begin);
        self.filter.insert_each(events.len(), |i| (events[i].0, begin), &mut Forget);
        let place = self.place(pane);
        self.fills += usize::from(!self.filled[place]);
        self.filled[place] = true;
        self.estimate = None;
    }

    pub(super) fn close(&mut self, pane: u64) -> Result<u64, Failure> {
        let estimate = match self.estimate {
            _ if self.fills == 0 => 0,
            Some(estimate) => estimate,
            None => self.look(pane)?,
        };
        self.estimate = Some(estimate);
        // The pane that is a window before the next one.
        let oldest = self.place(pane + 1);
        if self.filled[oldest] {
            self.filled[oldest] = false;
            self.fills -= 1;
            self.estimate = None;
        }
        Ok(estimate)
    }

    fn look(&mut self, pane: u64) -> Result<u64, Failure> {
        let last = Tick((pane + 1).saturating_mul(self.grid.pane) - 1);
        let Some(distinct) = self.filter.distinct_at(last) else {
            return Err(Failure::Running(format!(
                "pane that ends at {} ms: the filter is full: more ids than it can count; give more --capacity",
                self.grid.end_ms(pane)
            )));
        };
        self.error = self.error.max(distinct.error);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a number of ids
        let ids = distinct.ids.round() as u64;
        Ok(ids)
    }

    #[allow(clippy::cast_possible_truncation)] // less than their number
    fn place(&self, pane: u64) -> usize {
        (pane % self.grid.panes) as usize
    }
}

/// Bits of all panes of the ring, which are one more than the window's and lie eight to a cache line.
fn bits(ids: u64, grid: Grid) -> u64 {
    let pane = (ids / IDS_PER_BIT).max(LEAST_BITS);
    pane.saturating_mul((grid.panes + 1).next_multiple_of(8))
}

/// Whether an id was there before is of no interest.
struct Forget;

impl Extend<bool> for Forget {
    fn extend<I: IntoIterator<Item = bool>>(&mut self, seen: I) {
        seen.into_iter().for_each(drop);
    }
}

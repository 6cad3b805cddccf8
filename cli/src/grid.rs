//! Time, cut into panes: what `distinct` and `top` have in common.

use std::time::Duration;

use crate::{args::Span, failure::Failure};

/// The number of a pane is that of those before it, from tick 0 on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// Nanoseconds.
    pub(crate) pane: u64,
    /// Panes that make up the window.
    pub(crate) panes: u64,
}

const MILLI: u64 = 1_000_000;

impl Grid {
    pub(crate) fn new(window: &Span, pane: &Span) -> Result<Grid, Failure> {
        let [all, each] = [window, pane].map(|span| nanos(span.duration));
        if each == 0 || !each.is_multiple_of(MILLI) {
            return Err(Failure::bad(format_args!(
                "--pane {pane} is not a whole number of milliseconds, 1ms or more"
            )));
        }
        if all == 0 || !all.is_multiple_of(each) {
            return Err(Failure::bad(format_args!("--window {window} is not a multiple of --pane {pane}")));
        }
        Ok(Grid { pane: each, panes: all / each })
    }

    pub(crate) fn window(self) -> u64 {
        self.pane * self.panes
    }

    pub(crate) fn begin(self, pane: u64) -> u64 {
        pane.saturating_mul(self.pane)
    }

    pub(crate) fn end_ms(self, pane: u64) -> u64 {
        self.begin(pane + 1) / MILLI
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

//! From what is wanted to bits, probes and bytes.

use crate::{
    math::{any_of, block_error},
    mem::WORDS,
    pane::Rows,
    time::Window,
};
use std::fmt;

/// How the bits of panes lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// Panes side by side: a row has a word of 64 bits for each pane, and a key has so many rows, 1 to 4. With up to 8 panes a row is a
    /// cache line. One row is the fastest; more rows need less memory for the same error.
    Rows(u8),
    /// Panes side by side, with a block of 128, 256 or 512 bits for each, and one row for a key.
    Blocks(u16),
    /// An array of cache lines (blocks of 512 bits) for each pane: a line for every pane and question, any number of panes up to 1024.
    Arrays,
    /// .. and a seed for each pane, so that a false positive does not last from pane to pane. ([`crate::RotatingBloom::distinct_at`] and
    /// unions need panes with one seed.)
    SeededArrays,
}

impl Layout {
    pub(super) const ALL: &str = "Rows(1 to 4), Blocks(128, 256 or 512), Arrays or SeededArrays";

    /// Bits of a block, and how many blocks of a pane a key has. `None`: there is no such layout.
    pub(super) fn shape(self) -> Option<(u64, u64)> {
        match self {
            Layout::Rows(rows @ 1..=4) => Some((64, rows.into())),
            Layout::Blocks(bits @ (128 | 256 | 512)) => Some((bits.into(), 1)),
            Layout::Arrays | Layout::SeededArrays => Some((64 * WORDS as u64, 1)),
            _ => None,
        }
    }

    pub(super) fn most_panes(self) -> usize {
        match self {
            Layout::Rows(_) | Layout::Blocks(_) => Rows::<1, 1>::MAX_COLUMNS,
            Layout::Arrays | Layout::SeededArrays => crate::pane::Grid::MAX_COLUMNS,
        }
    }

    /// Bytes of the blocks of all panes that lie in the same place.
    pub(super) fn bytes_per_block(self, panes: usize) -> u64 {
        let words = match self {
            Layout::Rows(_) => Rows::<1, 1>::lines_per_row(panes) * WORDS,
            Layout::Blocks(bits) => (panes * usize::from(bits) / 64).div_ceil(WORDS) * WORDS,
            Layout::Arrays | Layout::SeededArrays => panes * WORDS,
        };
        8 * words as u64
    }

    /// Lines that are not next to each other, and all lines, of a question.
    fn lines(self, panes: usize) -> u64 {
        let rows = self.shape().map_or(1, |(_, rows)| rows);
        match self {
            Layout::Arrays | Layout::SeededArrays => panes as u64,
            // Lines in a row cost less than lines apart.
            _ => rows + rows * (self.bytes_per_block(panes) / 64 - 1) / 2,
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layout::Rows(1) => f.write_str("1 row of 64-bit blocks"),
            Layout::Rows(n) => write!(f, "{n} rows of 64-bit blocks"),
            Layout::Blocks(bits) => write!(f, "1 row of {bits}-bit blocks"),
            Layout::Arrays => f.write_str("arrays of 512-bit blocks"),
            Layout::SeededArrays => f.write_str("seeded arrays of 512-bit blocks"),
        }
    }
}

/// What a filter is built as. [`super::BloomBuilder::plan`] tells before anything is allocated.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BloomPlan {
    /// How long an id is guaranteed to be found: the window and the lateness, in ticks. Where the length of a pane was given it may be
    /// an 8th of a pane less, rounded up: see [`super::BloomBuilder::pane`].
    pub guaranteed: u64,
    /// How the bits lie.
    pub layout: Layout,
    /// Panes in the ring.
    pub panes: usize,
    /// The length of one: a time, or a number of events.
    pub pane: Window,
    /// Bits that an id sets.
    pub probes: u32,
    /// Bits of all panes together.
    pub bits: u64,
    /// Bytes of all panes together.
    pub bytes: u64,
    /// Ids expected in a window.
    pub expected_ids: u64,
    /// The share of new ids that it takes for seen when all panes are as full as expected: an upper bound of what is to be
    /// expected.
    pub expected_error: f64,
    pub(super) blocks: u64,
    /// Ids expected in a pane.
    pub(super) per_pane: f64,
}

impl BloomPlan {
    pub(super) fn choice(&self) -> Choice {
        let BloomPlan { layout, panes, probes, blocks, .. } = *self;
        Choice { layout, panes, probes, blocks }
    }

    /// Bits for each id that is guaranteed to be found.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn bits_per_id(&self) -> f64 {
        self.bits as f64 / self.expected_ids as f64
    }
}

impl fmt::Display for BloomPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} panes of {}, {}, {} probes, {:.1} bits an id, {} bytes, expected error {:.4} %",
            self.panes,
            self.pane,
            self.layout,
            self.probes,
            self.bits_per_id(),
            self.bytes,
            100.0 * self.expected_error
        )
    }
}

/// A way to lay out panes for so many ids each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) layout: Layout,
    pub(super) panes: usize,
    pub(super) probes: u32,
    pub(super) blocks: u64,
}

#[allow(clippy::cast_precision_loss)]
impl Choice {
    pub(super) fn bytes(&self) -> u64 {
        self.blocks.saturating_mul(self.layout.bytes_per_block(self.panes))
    }

    pub(super) fn error(&self, per_pane: f64) -> f64 {
        self.error_with(per_pane, self.blocks as f64)
    }

    fn error_with(&self, per_pane: f64, blocks: f64) -> f64 {
        let (bits, rows) = self.layout.shape().unwrap_or((64, 1));
        let load = per_pane * rows as f64 / blocks;
        let in_row = block_error(load, bits as f64, self.probes / u32::try_from(rows).unwrap_or(1));
        any_of(in_row.powf(rows as f64), self.panes as f64)
    }

    /// The least number of blocks for this error.
    fn fitted(self, per_pane: f64, error: f64) -> Choice {
        // Blocks for an id: between many ids in a block, and many blocks for an id.
        let (mut few, mut many) = ((1e-4_f64).ln(), (1e3_f64).ln());
        for _ in 0..40 {
            let middle = f64::midpoint(few, many);
            if self.error_with(per_pane, per_pane * middle.exp()) > error {
                few = middle;
            } else {
                many = middle;
            }
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
        let blocks = (per_pane * many.exp()).ceil() as u64;
        Choice { blocks: blocks.max(Self::LEAST_BLOCKS), ..self }
    }

    /// Several rows need several.
    pub(super) const LEAST_BLOCKS: u64 = 4;

    /// Bits that an id may set.
    pub(super) const MOST_PROBES: u32 = 32;

    /// The number of probes and blocks that take the least memory for this error. `u64::MAX` blocks: there is none.
    pub(super) fn best(
        layout: Layout,
        panes: usize,
        probes: Option<u32>,
        per_pane: f64,
        error: f64,
    ) -> Choice {
        let rows = layout.shape().map_or(1, |(_, rows)| u32::try_from(rows).unwrap_or(1));
        let candidates = match probes {
            Some(probes) => probes..=probes,
            None => rows..=20.max(6 * rows),
        };
        let mut best = Choice { layout, panes, probes: rows, blocks: u64::MAX };
        for probes in candidates.filter(|probes| probes.is_multiple_of(rows)) {
            let choice = Choice { probes, ..best };
            // With fewer blocks it would err more still.
            if choice.error(per_pane) > error {
                continue;
            }
            let choice = choice.fitted(per_pane, error);
            // Some errors are out of reach for any number of blocks.
            if choice.blocks < best.blocks && choice.error(per_pane) <= error {
                best = choice;
            }
        }
        best
    }

    /// Of all layouts the one with the fewest cache lines for a question that does not take much more memory than others.
    pub(super) fn fastest(panes: usize, probes: Option<u32>, per_pane: f64, error: f64) -> Choice {
        let layouts = [1, 2, 3, 4].map(Layout::Rows).into_iter().chain([128, 256, 512].map(Layout::Blocks));
        let mut choices: Vec<_> = layouts
            .chain([Layout::Arrays])
            .filter(|layout| panes <= layout.most_panes())
            .map(|layout| Choice::best(layout, panes, probes, per_pane, error))
            .collect();
        choices.sort_by_key(|choice| (choice.layout.lines(panes), choice.bytes()));
        let least = choices.iter().map(Choice::bytes).min().unwrap_or(0);
        let thrifty = |choice: &&Choice| choice.bytes() as f64 <= MUCH_MORE * least as f64;
        *choices.iter().find(thrifty).unwrap_or(&choices[0])
    }
}

/// What memory may cost for speed.
const MUCH_MORE: f64 = 1.3;

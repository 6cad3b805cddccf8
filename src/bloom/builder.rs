//! Building a [`RotatingBloom`]: values checked once, so that nothing can fail later.

use super::{
    RotatingBloom,
    columns::Columns,
    plan::{BloomPlan, Choice, Layout},
};
use crate::{
    error::ConfigError,
    hash::Seed,
    mem::physical_memory,
    pane::{Grid, PaneRing, Rotation, Words},
    settings,
    time::{Clock, Window},
};

/// Settings of a [`RotatingBloom`]. Made by [`RotatingBloom::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct BloomBuilder {
    pub(super) window: Window,
    pub(super) lateness: Window,
    max_jump: Option<Window>,
    expected_ids: u64,
    error: f64,
    panes: Option<usize>,
    pane: Option<Window>,
    layout: Option<Layout>,
    bits: Option<u64>,
    probes: Option<u32>,
    rotation: Rotation,
    pub(super) seed: Option<Seed>,
    pub(super) clock: Option<Clock>,
}

/// Panes, unless told otherwise: in one cache line with 64 bits each.
const PANES: usize = 8;

impl BloomBuilder {
    pub(super) fn new(window: Window) -> BloomBuilder {
        BloomBuilder {
            window,
            lateness: settings::nothing(window),
            max_jump: None,
            expected_ids: if window.counts_events() { window.ticks().unwrap_or(1).max(1) } else { 1_000_000 },
            error: 0.01,
            panes: None,
            pane: None,
            layout: None,
            bits: None,
            probes: None,
            rotation: Rotation::default(),
            seed: None,
            clock: None,
        }
    }

    /// How many different ids are to be expected in a window (and the lateness before it). With more of them the error rises, and nothing
    /// else. Default: 1,000,000; of a window by events, its length.
    pub fn expected_ids(mut self, ids: u64) -> Self {
        self.expected_ids = ids;
        self
    }

    /// The share of new ids that may be taken for seen, with that many ids: above 0 and below 1. Default: 0.01.
    pub fn error(mut self, share: f64) -> Self {
        self.error = share;
        self
    }

    /// Into how many panes the ring is divided: 2 to 64, with arrays up to 1024. With N of them a pane is window / (N - 9/8) long, and an id
    /// is forgotten between window and window * (N - 1/8) / (N - 9/8) after it was last put in. Default: 8.
    pub fn panes(mut self, panes: usize) -> Self {
        self.panes = Some(panes);
        self
    }

    /// Gives the length of a pane instead, where panes have to agree with something else: they begin at multiples of it. Then there is
    /// one pane more than fit into window and lateness, and what is guaranteed is the pane of now and those before it that make
    /// up the window.
    pub fn pane(mut self, length: impl Into<Window>) -> Self {
        self.pane = Some(length.into());
        self
    }

    /// How the bits lie. Default: chosen by the error, see [`RotatingBloom`], "Layouts".
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = Some(layout);
        self
    }

    /// Bits of all panes together, instead of as many as the error takes.
    pub fn bits(mut self, bits: u64) -> Self {
        self.bits = Some(bits);
        self
    }

    /// Bits that an id sets, in all its rows together: 1 to 32. Default: as many as make the error least.
    pub fn probes(mut self, probes: u32) -> Self {
        self.probes = Some(probes);
        self
    }

    /// How far events may come late, or callers' clocks differ: ids are kept that much longer. In the window's unit; default: 0.
    pub fn lateness(mut self, lateness: impl Into<Window>) -> Self {
        self.lateness = lateness.into();
        self
    }

    /// A tick further ahead of the newest pane than this counts as in it: a single wild one would age all panes. So it has to be more than
    /// the longest silence; after a longer one [`RotatingBloom::advance_to`] moves the panes on. In the window's unit; default: no bound.
    pub fn max_jump(mut self, max_jump: impl Into<Window>) -> Self {
        self.max_jump = Some(max_jump.into());
        self
    }

    /// Who moves the panes on. Default: calls do.
    pub fn rotation(mut self, rotation: Rotation) -> Self {
        self.rotation = rotation;
        self
    }

    /// The seed of the hash. Default: random; set it where nodes must agree.
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The clock of the short forms. Default: monotonic for a window by time, a count of arrivals for one by events.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// What would be built, without building it.
    ///
    /// # Errors
    /// Names the first setting out of its range, and the range.
    pub fn plan(&self) -> Result<BloomPlan, ConfigError> {
        let (window, lateness) = settings::reach(self.window, self.lateness)?;
        let reach = window + lateness;
        if let Some(jump) = self.max_jump {
            settings::ticks("max_jump", jump, self.window, 1)?;
        }
        let (panes, pane) = self.grid(reach)?;
        let expected = self.expected_ids;
        if !(1..=MOST_IDS).contains(&expected) {
            return Err(ConfigError::new("expected_ids", expected, format_args!("1 to {MOST_IDS}")));
        }
        if !(self.error > 0.0 && self.error < 1.0) {
            return Err(ConfigError::new("error", self.error, "above 0 and below 1"));
        }
        #[allow(clippy::cast_precision_loss)]
        let per_pane = (expected as f64 * pane as f64 / reach as f64).max(1.0);
        let choice = self.choose(panes, per_pane)?;
        Ok(BloomPlan {
            guaranteed: reach.min(Grid::span(panes, pane)),
            layout: choice.layout,
            panes,
            pane: settings::of_same_kind(self.window, pane),
            probes: choice.probes,
            bits: choice.bytes().saturating_mul(8),
            bytes: choice.bytes(),
            expected_ids: expected,
            expected_error: choice.error(per_pane),
            blocks: choice.blocks,
            per_pane,
        })
    }

    /// Checks the settings and allocates.
    ///
    /// # Errors
    /// Names the first setting out of its range, and the range.
    pub fn build(self) -> Result<RotatingBloom, ConfigError> {
        let plan = self.plan()?;
        let clock = settings::clock(self.clock.clone(), self.window)?;
        let columns = Columns::new(&plan.choice()).ok_or_else(|| beyond_memory(plan.bytes))?;
        let words = Words::new(plan.panes).ok_or_else(|| beyond_memory(plan.bytes))?;
        let ring = PaneRing::new(self.ring_of(&plan), words);
        Ok(RotatingBloom {
            ring,
            columns,
            plan,
            window: self.window,
            lateness: self.lateness,
            seed: self.seed.unwrap_or_else(Seed::random),
            clock,
            #[cfg(all(feature = "mmap", unix, not(windlass_loom)))]
            file: None,
        })
    }

    /// What the ring is made of.
    pub(super) fn ring_of(&self, plan: &BloomPlan) -> Grid {
        Grid {
            columns: plan.panes,
            pane: plan.pane.ticks().unwrap_or(1),
            chunks: Columns::chunks(plan.layout, plan.blocks),
            max_jump: self.max_jump.and_then(Window::ticks).unwrap_or(u64::MAX),
            rotation: self.rotation,
        }
    }

    /// How many panes, of how many ticks.
    fn grid(&self, reach: u64) -> Result<(usize, u64), ConfigError> {
        let most = self.layout.map_or(Grid::MAX_COLUMNS, Layout::most_panes);
        let Some(pane) = self.pane else {
            let panes = self.panes.unwrap_or(PANES);
            if !(2..=most).contains(&panes) {
                return Err(ConfigError::new("panes", panes, format_args!("2 to {most} in this layout")));
            }
            return Ok((panes, Grid::pane_for(reach, panes)));
        };
        if self.panes.is_some() {
            return Err(ConfigError::new("panes", "a number beside the length of a pane", "one of the two"));
        }
        let length = settings::ticks("pane", pane, self.window, 1)?;
        if length > reach {
            let limit =
                format!("at most window and lateness ({})", settings::of_same_kind(self.window, reach));
            return Err(ConfigError::new("pane", pane, limit));
        }
        let panes = reach.div_ceil(length).saturating_add(1);
        match usize::try_from(panes).ok().filter(|&panes| panes <= most) {
            Some(panes) => Ok((panes, length)),
            None => {
                let least = reach.div_ceil(most as u64 - 1);
                let limit = format!(
                    "{} or more: at most {most} panes in this layout",
                    settings::of_same_kind(self.window, least)
                );
                Err(ConfigError::new("pane", pane, limit))
            }
        }
    }

    fn choose(&self, panes: usize, per_pane: f64) -> Result<Choice, ConfigError> {
        if let Some(layout) = self.layout
            && layout.shape().is_none()
        {
            return Err(ConfigError::new("layout", format_args!("{layout:?}"), Layout::ALL));
        }
        let rows =
            self.layout.and_then(Layout::shape).map_or(1, |(_, rows)| u32::try_from(rows).unwrap_or(1));
        if let Some(probes) = self.probes
            && !(probes.is_multiple_of(rows) && (1..=Choice::MOST_PROBES).contains(&probes))
        {
            let limit = format!("a multiple of the rows ({rows}), {} at most", Choice::MOST_PROBES);
            return Err(ConfigError::new("probes", probes, limit));
        }
        let choice = match (self.bits, self.layout) {
            (Some(bits), layout) => {
                // Without an error to choose by, the fastest.
                let layout = layout.unwrap_or(if panes > 64 { Layout::Arrays } else { Layout::Rows(1) });
                let blocks = bits / 8 / layout.bytes_per_block(panes);
                if blocks < Choice::LEAST_BLOCKS {
                    let least = 8 * Choice::LEAST_BLOCKS * layout.bytes_per_block(panes);
                    return Err(ConfigError::new(
                        "bits",
                        bits,
                        format_args!("at least {least} for {panes} panes"),
                    ));
                }
                let rows = layout.shape().map_or(1, |(_, rows)| u32::try_from(rows).unwrap_or(1));
                let all = self.probes.map_or(1..=Choice::MOST_PROBES, |probes| probes..=probes);
                all.filter(|probes| probes.is_multiple_of(rows))
                    .map(|probes| Choice { layout, panes, probes, blocks })
                    .min_by(|a, b| a.error(per_pane).total_cmp(&b.error(per_pane)))
                    .unwrap_or(Choice { layout, panes, probes: rows, blocks })
            }
            (None, Some(layout)) => Choice::best(layout, panes, self.probes, per_pane, self.error),
            (None, None) => Choice::fastest(panes, self.probes, per_pane, self.error),
        };
        if choice.blocks == u64::MAX {
            return Err(ConfigError::new("error", self.error, "a larger one: no memory is enough for it"));
        }
        let memory = physical_memory().unwrap_or(u64::MAX);
        if choice.bytes() > memory || usize::try_from(choice.bytes()).is_err() {
            return Err(beyond_memory(choice.bytes()));
        }
        Ok(choice)
    }
}

/// Ids that may be expected: far beyond what memory holds.
const MOST_IDS: u64 = 1 << 48;

fn beyond_memory(bytes: u64) -> ConfigError {
    let limit = match physical_memory() {
        Some(most) => format!("at most the machine's memory ({most} bytes): fewer ids, or a larger error"),
        None => "at most what the system gives: fewer ids, or a larger error".into(),
    };
    ConfigError::new("expected_ids", format_args!("{bytes} bytes"), limit)
}

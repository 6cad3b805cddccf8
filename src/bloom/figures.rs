//! What a filter can tell about itself: figures, where an id is, how many different ids; and the union of two.

use super::{Layout, RotatingBloom, columns::with_columns};
use crate::{
    error::ConfigError,
    hash::{Key, KeyHash, mix},
    math::{block_error, load_of_fill},
    pane::{Bloom, Pane, View},
    sync::Ordering::Relaxed,
    time::Tick,
};
use std::collections::BTreeMap;

/// A live pane in which an id was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaneSpan {
    /// Its first tick.
    pub start: Tick,
    /// The tick after its last.
    pub end: Tick,
}

/// How many different ids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distinct {
    /// The estimate.
    pub ids: f64,
    /// Its standard error, in ids.
    pub error: f64,
}

/// Figures of one pane.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PaneStats {
    /// Which time it holds.
    pub span: PaneSpan,
    /// The share of its bits that is set, estimated from 512 to 8192 of its blocks (exact for small ones).
    pub fill: f64,
}

/// Plain figures about a [`RotatingBloom`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BloomStats {
    /// The live panes, the newest first: the first of them is the one that takes what comes.
    pub panes: Vec<PaneStats>,
    /// The number of the first of them: pane `p` begins at tick `p * pane`.
    pub active_pane: u64,
    /// The error to be expected from the present fill, worked out to a 500th of it.
    pub expected_error: f64,
    /// The share of 65,536 ids, made up for it, that were taken for seen. (Of fewer, 128 at least, where each looks at more than 4 cache
    /// lines.)
    pub sampled_error: f64,
    /// How often a pane took over from the one before.
    pub rotations: u64,
    /// Bytes cleared for that, all in all.
    pub cleared_bytes: u64,
    /// How often a pane had to go on, since the next was not clean: then ids are kept longer.
    pub late: u64,
    /// Ticks that were too far ahead, and counted as the newest pane.
    pub jumps: u64,
    /// Bytes of all panes.
    pub memory_bytes: u64,
    /// The largest fill of a pane that is over, as a share of what it is meant for: above 1 the error is beyond what it was built for (then: more bits, or
    /// shorter panes), far below it memory is wasted. `None` before one is over.
    pub load: Option<f64>,
}

impl BloomStats {
    /// What to do about the size, if anything.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        match self.load {
            Some(load) if load > 1.1 => Some("too full: more bits, or a shorter window"),
            Some(load) if load < 0.25 => Some("mostly empty: fewer bits would do"),
            _ => None,
        }
    }
}

/// Blocks looked at where all of them would be too many.
const SAMPLE: u64 = 1 << 16;

/// Made-up ids that are looked at anyway.
const LEAST: u64 = 128;

/// Of made-up ids so many are looked at together, when their memory has been asked for.
const AHEAD: usize = 16;

/// The errors of panes by their loads. To work one out takes microseconds, but most panes are as full as the next: so they are worked out for loads a 32nd
/// apart, and between two of these they are taken for a power of the load, as they nearly are.
struct Errors {
    bits: f64,
    probes: u32,
    /// Logarithms, by that of the load, in [`Errors::STEPS`].
    known: BTreeMap<i64, f64>,
}

impl Errors {
    const STEPS: f64 = 32.0;

    fn new(bits: f64, probes: u32) -> Errors {
        Errors { bits, probes, known: BTreeMap::new() }
    }

    #[allow(clippy::cast_possible_truncation)] // a logarithm
    fn at(&mut self, load: f64) -> f64 {
        if load <= 0.0 {
            return 0.0;
        }
        let steps = load.ln() * Errors::STEPS;
        let mut known = |steps: f64| {
            let error = || block_error((steps / Errors::STEPS).exp(), self.bits, self.probes).ln();
            *self.known.entry(steps as i64).or_insert_with(error)
        };
        let below = steps.floor();
        let (low, high) = (known(below), known(below + 1.0));
        (low + (steps - below) * (high - low)).exp()
    }
}

/// The bits of some panes, in a sample of the blocks.
struct Sample {
    /// The share that is set.
    fill: f64,
    /// The standard error of it.
    error: f64,
}

#[allow(clippy::cast_precision_loss)]
impl RotatingBloom {
    /// In which live panes an id is, the newest first. Each may be an error, as usual.
    #[must_use]
    pub fn panes_at(&self, key: impl Key, now: Tick) -> Vec<PaneSpan> {
        let hash = key.key_hash(self.seed);
        with_columns!(&self.columns, columns => {
            let spot = columns.spot(hash);
            loop {
                let (view, panes) = self.ring.panes(now.0);
                let turn = view.turn(self.plan.panes);
                let found = panes
                    .enumerate()
                    .filter(|(i, pane)| columns.is_in(&spot, pane.column, turn - *i as u64))
                    .map(|(_, pane)| self.span(pane))
                    .collect();
                if self.ring.is_at(view) {
                    return found;
                }
            }
        })
    }

    /// How many different ids there are in the live panes, estimated from how many bits are set (in a sample of 65,536 blocks, where
    /// there are more). `None` with [`Layout::SeededArrays`], where an id has other bits in each pane, and if all bits are set.
    ///
    /// K.-Y. Whang, B. Vander-Zanden, H. Taylor: "A Linear-Time Probabilistic Counting Algorithm for Database Applications", 1990, with
    /// blocks.
    #[must_use]
    pub fn distinct_at(&self, now: Tick) -> Option<Distinct> {
        if self.plan.layout == Layout::SeededArrays {
            return None;
        }
        let (bits, rows) = self.plan.layout.shape()?;
        let (bits, rows) = (bits as f64, rows as f64);
        let probes = f64::from(self.plan.probes) / rows;
        loop {
            let (view, panes) = self.ring.panes(now.0);
            let columns: Vec<usize> = panes.map(|pane| pane.column).collect();
            let sample = self.sample(&columns, SAMPLE);
            if self.ring.is_at(view) {
                if sample.fill >= 1.0 {
                    return None;
                }
                let ids = |fill| load_of_fill(fill, bits, probes) * self.plan.blocks as f64 / rows;
                let estimate = ids(sample.fill);
                // The slope of the estimate, times the error of the fill.
                let slope =
                    (ids(sample.fill + 1e-6 * (1.0 - sample.fill)) - estimate) / (1e-6 * (1.0 - sample.fill));
                return Some(Distinct { ids: estimate, error: slope * sample.error });
            }
        }
    }

    /// Plain figures. Costs a look at a sample of every pane, and nothing to others.
    #[must_use]
    pub fn stats(&self) -> BloomStats {
        let (view, panes) = self.ring.panes(0);
        let (bits, rows) = self.plan.layout.shape().unwrap_or((64, 1));
        let probes = self.plan.probes / u32::try_from(rows).unwrap_or(1);
        let mut active_pane = 0;
        let blocks = (SAMPLE / self.plan.panes as u64).clamp(512, 8192);
        let mut errors = Errors::new(bits as f64, probes);
        let (mut none, mut fullest) = (1.0, None::<f64>);
        let panes: Vec<PaneStats> = panes
            .enumerate()
            .map(|(i, pane)| {
                let fill = self.sample(&[pane.column], blocks).fill;
                let load = load_of_fill(fill.min(1.0 - 1e-9), bits as f64, f64::from(probes));
                none *= 1.0 - errors.at(load).powf(rows as f64);
                if i == 0 {
                    active_pane = pane.last;
                } else {
                    fullest = Some(fullest.map_or(load, |most| most.max(load)));
                }
                PaneStats { span: self.span(pane), fill }
            })
            .collect();
        let meant = self.plan.per_pane * rows as f64 / self.plan.blocks as f64;
        BloomStats {
            panes,
            active_pane,
            expected_error: 1.0 - none,
            sampled_error: self.sampled_error(view),
            rotations: self.ring.rotations(),
            cleared_bytes: self.ring.cleared() * (self.plan.bytes / self.plan.panes as u64)
                / self.ring.grid().chunks,
            late: self.ring.late(),
            jumps: self.ring.jumps(),
            memory_bytes: self.plan.bytes,
            load: fullest.map(|load| load / meant),
        }
    }

    /// Puts in what the live panes of `other` hold, each into the pane of its time, or a later one. It must have the same window, panes, layout,
    /// bits, probes and seed.
    ///
    /// # Errors
    /// Says what differs. Then nothing has changed.
    pub fn union(&self, other: &RotatingBloom) -> Result<(), ConfigError> {
        let (ours, theirs) = (&self.plan, &other.plan);
        let shape = |plan: &super::BloomPlan| (plan.layout, plan.panes, plan.pane, plan.blocks, plan.probes);
        if shape(ours) != shape(theirs) {
            return Err(ConfigError::new("other", theirs, format_args!("built as this one: {ours}")));
        }
        if self.seed != other.seed {
            return Err(ConfigError::new("other", "another seed", "the seed of this one"));
        }
        if ours.layout == Layout::SeededArrays {
            return Err(ConfigError::new("other", ours.layout, "panes without seeds of their own"));
        }
        with_columns!(&other.columns, theirs => {
            loop {
                let (view, panes) = other.ring.panes(0);
                for pane in panes.collect::<Vec<_>>().into_iter().rev() {
                    self.take_in(pane, theirs);
                }
                if other.ring.is_at(view) {
                    return Ok(());
                }
            }
        })
    }

    fn take_in(&self, pane: Pane, theirs: &impl Bloom) {
        with_columns!(&self.columns, ours => {
            let view = self.ring.enter(pane.last.saturating_mul(self.pane_ticks()), ours);
            // The oldest of ours that is kept as long.
            let target = self.ring.panes(0).1.filter(|ours| ours.last >= pane.last).last();
            let column = target.map_or(view.column(), |pane| pane.column);
            for block in 0..ours.blocks() {
                for (word, theirs) in ours.words(column, block).iter().zip(theirs.words(pane.column, block)) {
                    let bits = theirs.load(Relaxed);
                    if bits & !word.load(Relaxed) != 0 {
                        word.fetch_or(bits, Relaxed);
                    }
                }
            }
        });
    }

    fn pane_ticks(&self) -> u64 {
        self.ring.grid().pane
    }

    fn span(&self, pane: Pane) -> PaneSpan {
        let tick = |pane: u64| Tick(pane.saturating_mul(self.pane_ticks()));
        PaneSpan { start: tick(pane.first), end: tick(pane.last.saturating_add(1)) }
    }

    /// The bits that are set in any of these columns, in so many blocks or a few less.
    fn sample(&self, panes: &[usize], most: u64) -> Sample {
        with_columns!(&self.columns, columns => {
            let step = columns.blocks().div_ceil(most);
            let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
            for block in (0..columns.blocks()).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
                let words = columns.words(0, block).len();
                let set = |word: usize| {
                    let any = |bits, &pane: &usize| bits | columns.words(pane, block)[word].load(Relaxed);
                    panes.iter().fold(0, any).count_ones()
                };
                let share = f64::from((0..words).map(set).sum::<u32>()) / (64 * words) as f64;
                (n, sum, squares) = (n + 1.0, sum + share, squares + share * share);
            }
            let fill: f64 = sum / n;
            Sample { fill, error: ((squares / n - fill * fill).max(0.0) / n).sqrt() }
        })
    }

    fn sampled_error(&self, view: View) -> f64 {
        // None of these is a real id, but by chance.
        let made_up = |i: u64| KeyHash { hi: mix(self.seed.0 ^ mix(i)), lo: mix(!i ^ mix(self.seed.0)) };
        let (bits, rows) = self.plan.layout.shape().unwrap_or((64, 1));
        let lines = (self.plan.panes as u64 * bits).div_ceil(512) * rows;
        let ids = if lines <= 4 { SAMPLE } else { (2 * SAMPLE / lines).max(LEAST) };
        let rounds = ids.div_ceil(AHEAD as u64);
        let mut taken = 0_u64;
        with_columns!(&self.columns, columns => {
            for round in 0..rounds {
                let spots: [_; AHEAD] =
                    std::array::from_fn(|i| columns.spot(made_up(round * AHEAD as u64 + i as u64)));
                spots.iter().for_each(|spot| columns.prefetch(spot, view));
                taken += spots.iter().map(|spot| u64::from(columns.seen(spot, view).at_all)).sum::<u64>();
            }
        });
        taken as f64 / (rounds * AHEAD as u64) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_between_those_that_are_worked_out() {
        for (full, bits, probes) in [(17.0, 512.0, 13), (3.0, 64.0, 4), (0.4, 64.0, 10), (40.0, 512.0, 6)] {
            let mut errors = Errors::new(bits, probes);
            for percent in 1..400 {
                let load = full * f64::from(percent) / 100.0;
                let (told, exact) = (errors.at(load), block_error(load, bits, probes));
                assert!(
                    (told / exact - 1.0).abs() < 0.002,
                    "{full} {bits} {probes} at {load}: {told}, {exact}"
                );
            }
            assert!(errors.at(0.0) == 0.0 && (0.99..=1.0).contains(&errors.at(1e4 * full)));
        }
    }
}

//! What is to be expected of blocked Bloom filters, computed apart from the library.

use windlass::{BloomPlan, Layout};

/// All layouts.
pub(crate) const LAYOUTS: [Layout; 9] = [
    Layout::Rows(1),
    Layout::Rows(2),
    Layout::Rows(3),
    Layout::Rows(4),
    Layout::Blocks(128),
    Layout::Blocks(256),
    Layout::Blocks(512),
    Layout::Arrays,
    Layout::SeededArrays,
];

/// Bits of a block, and rows of a key.
pub(crate) fn shape(layout: Layout) -> (u32, u32) {
    match layout {
        Layout::Rows(rows) => (64, rows.into()),
        Layout::Blocks(bits) => (bits.into(), 1),
        _ => (512, 1),
    }
}

/// Bits of the blocks of all panes in one place: whole cache lines.
pub(crate) fn place(layout: Layout, panes: usize) -> u64 {
    let (bits, _) = shape(layout);
    (panes as u64 * u64::from(bits)).div_ceil(512) * 512
}

/// The chance that all of `probes` bits are set in a block of `bits`, with `load` keys in a block on average, as it is published:
/// sum over i of Poisson(i; load) (1 - (1 - 1/bits)^(i probes))^probes.
pub(crate) fn published(load: f64, bits: f64, probes: f64) -> f64 {
    poisson(load, |i| fill(i * probes, bits).0.powf(probes))
}

/// The same, and its variance from block to block, with what is left out there: that blocks with as many keys differ in how many bits
/// are set. (To the second order; a count of all cases agrees to four digits.)
fn block(load: f64, bits: f64, probes: f64) -> (f64, f64) {
    let power = |n: f64| {
        poisson(load, |i| {
            let (mean, variance) = fill(i * probes, bits);
            mean.powf(n) + n * (n - 1.0) / 2.0 * variance * mean.powf(n - 2.0)
        })
    };
    let mean = power(probes);
    (mean, (power(2.0 * probes) - mean * mean).max(0.0))
}

/// The share of bits that is set after so many throws: mean and variance.
fn fill(throws: f64, bits: f64) -> (f64, f64) {
    let (one, two) = ((1.0 - 1.0 / bits).powf(throws), (1.0 - 2.0 / bits).powf(throws));
    (1.0 - one, (one / bits + (1.0 - 1.0 / bits) * two - one * one).max(0.0))
}

/// The mean of `f` over a Poisson distribution.
fn poisson(load: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut ln, mut sum) = (-load, 0.0);
    for i in 0..4000_u32 {
        let i = f64::from(i);
        if i > 0.0 {
            ln += (load / i).ln();
            // Without a key no bit is set.
            sum += ln.exp() * f(i);
        }
        if i > load && ln < -80.0 {
            break;
        }
    }
    sum
}

/// What one pane that holds so many ids does to another id.
pub(crate) struct Expected {
    /// The share that it takes for its own.
    pub(crate) error: f64,
    /// The standard deviation of that share, from one set of ids to another.
    pub(crate) deviation: f64,
}

#[allow(clippy::cast_precision_loss)]
pub(crate) fn expected(plan: &BloomPlan, ids: f64) -> Expected {
    let (bits, rows) = shape(plan.layout);
    let (rows, blocks) = (f64::from(rows), (plan.bits / place(plan.layout, plan.panes)) as f64);
    let (mean, variance) = block(ids * rows / blocks, bits.into(), f64::from(plan.probes) / rows);
    let error = mean.powf(rows);
    let deviation = if mean > 0.0 { error * rows * (variance / blocks).sqrt() / mean } else { 0.0 };
    Expected { error, deviation }
}

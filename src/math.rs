//! Sizing of Bloom filters: how often bits that a key would set are all set by others.

/// The chance that a block of `bits` bits, of which each key sets `probes` (independently: some may coincide), has all bits of a key
/// that was not put in, when `load` keys were put into a block on average:
///
/// ```text
/// sum over i of Poisson(i; load) * (1 - (1 - 1/bits)^(i * probes)) ^ probes
/// ```
/// F. Putze, P. Sanders, J. Singler: "Cache-, Hash- and Space-Efficient Bloom Filters", 2007. (The classic formula takes the load of
/// all blocks for the same, and so promises too much.)
pub(crate) fn block_error(load: f64, bits: f64, probes: u32) -> f64 {
    let keep = f64::from(probes) * (-1.0 / bits).ln_1p();
    over_poisson(load, |i| (-(i * keep).exp_m1()).powi(probes.cast_signed())).min(1.0)
}

/// The mean of f over a Poisson distribution.
fn over_poisson(mean: f64, f: impl Fn(f64) -> f64) -> f64 {
    // Beyond these the rest is below 1e-20 of the whole.
    let width = 12.0 * mean.sqrt() + 40.0;
    let (from, to) = ((mean - width).max(0.0).floor(), mean + width);
    if mean == 0.0 {
        return f(0.0);
    }
    let mut log_p = -mean + from * mean.ln() - log_factorial(from);
    let (mut i, mut sum) = (from, 0.0);
    while i <= to {
        sum += log_p.exp() * f(i);
        i += 1.0;
        log_p += (mean / i).ln();
    }
    sum
}

/// Of a whole number.
fn log_factorial(n: f64) -> f64 {
    if n < 64.0 {
        let mut product = 0.0;
        let mut i = 2.0;
        while i <= n {
            product += f64::ln(i);
            i += 1.0;
        }
        return product;
    }
    // Stirling's series.
    let x = n + 1.0;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3))
}

/// The chance that at least one of `n` panes errs, of which each does with chance `one`.
pub(crate) fn any_of(one: f64, n: f64) -> f64 {
    -(n * (-one).ln_1p()).exp_m1()
}

/// The mean load of blocks of which a share `fill` of the bits is set.
pub(crate) fn load_of_fill(fill: f64, bits: f64, probes: f64) -> f64 {
    let set_by_one = -(probes * (-1.0 / bits).ln_1p()).exp_m1();
    -(-fill).ln_1p() / set_by_one
}

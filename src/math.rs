//! Sizing of Bloom filters: how often bits that a key would set are all set by others. And shares, as figures tell them.

/// A part of a whole: 0 of nothing.
#[allow(clippy::cast_precision_loss)] // it is a share
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The chance that a block of `bits` bits, of which each key sets `probes` (independently: some may coincide), has all bits of a key
/// that was not put in, when `load` keys were put into a block on average:
///
/// ```text
/// sum over i of Poisson(i; load) * E[fill after i * probes throws ^ probes]
/// ```
/// F. Putze, P. Sanders, J. Singler: "Cache-, Hash- and Space-Efficient Bloom Filters", 2007, who take (E[fill])^probes for that. Blocks
/// with as many keys differ in how many bits are set, which makes it more, by 3 to 10 % in blocks of 64 bits; here to the second
/// order. (The classic formula takes the load of all blocks for the same, and so promises too much by far.)
pub(crate) fn block_error(load: f64, bits: f64, probes: u32) -> f64 {
    let (one, two) = (f64::from(probes) * (-1.0 / bits).ln_1p(), f64::from(probes) * (-2.0 / bits).ln_1p());
    let k = f64::from(probes);
    let all_set = |i: f64| {
        let mean = -(i * one).exp_m1();
        if mean == 0.0 {
            return 0.0;
        }
        // That one bit stays clear, and that two do.
        let (clear, both) = ((i * one).exp(), (i * two).exp());
        let variance = (clear / bits + (1.0 - 1.0 / bits) * both - clear * clear).max(0.0);
        mean.powf(k) * (1.0 + 0.5 * k * (k - 1.0) * variance / (mean * mean))
    };
    over_poisson(load, all_set).min(1.0)
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
    let (mut i, mut sum, mut last) = (from, 0.0, 0.0);
    while i <= to {
        let term = log_p.exp() * f(i);
        // Terms rise and fall once: none that comes now is more than the rounding of the sum.
        if i > mean && term < last && sum + term == sum {
            break;
        }
        (sum, last) = (sum + term, term);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn percent(error: f64, published: f64, digits: f64) {
        assert!((100.0 * error - published).abs() <= digits, "{} %, not {published} %", 100.0 * error);
    }

    /// Boost.Bloom's tables at 10 M items, and what the formula gives for them: shapes that are no layout here.
    #[test]
    fn lanes_and_arrays() {
        // 256 bits in 8 lanes of 32, one probe in each; 12 bits for a key.
        let lanes = over_poisson(256.0 / 12.0, |i| (-(i * (-1.0 / 32.0_f64).ln_1p()).exp_m1()).powi(8));
        percent(lanes, 0.542, 0.0005);
        // A block that is as large as all the bits.
        let classic = |bits: f64, probes| block_error(1e7 / bits, 1e7, probes);
        percent(classic(8.0, 6), 2.158, 0.0005);
        percent(classic(16.0, 11), 0.0459, 0.00005);
        percent(classic(20.0, 14), 0.0065, 0.0005);
    }

    /// A classic filter sized for 1 %, with half as many again and with twice as many ids as it is meant for: bloomcraft, measured.
    #[test]
    fn too_many_ids() {
        let bits = -(0.01_f64.ln()) / std::f64::consts::LN_2.powi(2);
        percent(block_error(1e7 / bits, 1e7, 7), 1.0, 0.01);
        percent(block_error(1.5e7 / bits, 1e7, 7), 5.81, 0.05);
        percent(block_error(2e7 / bits, 1e7, 7), 15.83, 0.1);
    }

    #[test]
    fn poisson() {
        for mean in [0.0, 1e-6, 0.3, 1.0, 7.5, 63.0, 64.0, 65.0, 1e3, 1e6, 3e7] {
            let near = |is: f64, should_be: f64| {
                assert!(
                    (is - should_be).abs() <= 1e-7 * should_be.max(1e-9),
                    "{mean}: {is}, not {should_be}"
                );
            };
            near(over_poisson(mean, |_| 1.0), 1.0);
            near(over_poisson(mean, |i| i), mean);
            near(over_poisson(mean, |i| (i - mean) * (i - mean)), mean);
        }
    }

    #[test]
    fn fill_and_load() {
        for (bits, probes, load) in
            [(64.0, 1.0, 0.01), (64.0, 5.0, 8.0), (512.0, 9.0, 30.0), (512.0, 1.0, 900.0)]
        {
            // The mean fill, by the sum.
            let keep = -probes * (-1.0_f64 / bits).ln_1p();
            let fill = over_poisson(load, |i| -(-i * keep).exp_m1());
            assert!((load_of_fill(fill, bits, probes) / load - 1.0).abs() < 1e-6, "{bits} {probes} {load}");
        }
    }

    #[test]
    fn of_panes() {
        assert_eq!(any_of(0.0, 8.0), 0.0);
        assert_eq!(any_of(1.0, 8.0), 1.0);
        assert!((any_of(1e-12, 8.0) / 8e-12 - 1.0).abs() < 1e-6);
        assert!((any_of(0.5, 2.0) - 0.75).abs() < 1e-12);
    }
}

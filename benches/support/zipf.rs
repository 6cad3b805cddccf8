//! Which client comes: the i-th most frequent with a probability of 1/i, as always (Zipf 1.0).

use super::mix::{GOLDEN, below, mix};

/// So many draws from so many clients, numbered by how often they come, from 0. Always the same ones.
pub(crate) fn draws(clients: u64, n: u64) -> impl Iterator<Item = u64> {
    let sums: Vec<u64> = (1..=clients)
        .scan(0, |sum, i| {
            *sum += (1 << 40) / i;
            Some(*sum)
        })
        .collect();
    let total = sums.last().copied().unwrap_or(0);
    (0..n).map(move |i| {
        let random = below(mix(i.wrapping_mul(GOLDEN) ^ 0x7a69_7066), total);
        sums.partition_point(|&sum| sum <= random) as u64
    })
}

/// A client's key: no two are equal, since [`mix`] is a bijection.
pub(crate) fn key(client: u64) -> u64 {
    mix(client.wrapping_add(GOLDEN))
}

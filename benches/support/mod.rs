//! What the benchmarks are made of: the stream, the contenders, the race, the memory count and the summary.

pub(crate) mod contender;
pub(crate) mod host;
pub(crate) mod memory;
pub(crate) mod ours;
pub(crate) mod race;
pub(crate) mod ratios;
pub(crate) mod rivals;
pub(crate) mod stream;

//! What the benchmark of deduplication is made of: the stream, the contenders, the race, the memory count and the summary. (The other
//! benchmarks take of it what they need.)

pub(crate) mod contender;
pub(crate) mod host;
pub(crate) mod keys;
pub(crate) mod memory;
pub(crate) mod mix;
pub(crate) mod ours;
pub(crate) mod race;
pub(crate) mod ratios;
pub(crate) mod request;
pub(crate) mod rivals;
pub(crate) mod stream;

//! windlass
mod dedup;
mod error;
mod hash;
mod mem;
mod sync;
mod table;
mod time;
pub use dedup::{Dedup, DedupBuilder, DedupStats, OnFull, Outcome, Refresh, Refused, Verdict};
pub use error::ConfigError;
pub use hash::{Key, KeyHash, Seed};
pub use time::{Clock, ManualClock, Tick, Window};

#[cfg(windlass_loom)]
#[doc(hidden)]
pub mod model {
    pub use crate::{
        dedup::model::Rule,
        sync::twins::{Twin, with},
        table::model::*,
    };
}

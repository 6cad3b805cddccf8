//! Sliding-window primitives for event streams: lock-free, exact where they say so, in memory fixed beforehand.
//!
//! | you ask | you use | today |
//! |---|---|---|
//! | was this id seen in the last T, or among the last N? | [`Dedup`] | exact, any number of threads |
//! | .. in fixed memory, with a stated share of errors? how many different ids? | [`RotatingBloom`] | no false negative in the window |
//! | may this client go on: N in T? when if not? | [`KeyedLimiter`], [`Limiter`] | six algorithms; one word of state, a stamp for each permit of the log |
//! | .. by several limits at once? what if the cost is known only afterwards? | [`LimitSet`] | all or nothing; reserve, then settle |
//! | how many are ahead of me? who is next? | [`FifoIndex`] | no tree: a rank is a subtraction |
//! | how often was this key seen in the window? and all of them? | [`WindowedCounter`], [`WindowedTotal`] | exact, in panes |
//! | which keys are the hottest? | [`TopK`] | exact and certified, with bounds where it is not |
//! | .. in memory that is given, whatever the keys are? .. over several shards? | [`BoundedTopK`], [`Aggregator`] | bounds that always hold |
//! | which node owns this key? which n? what moves when one comes or goes? | [`HashRing`] | changed under its readers; the same placement everywhere |
//!
//! ```
//! use std::time::Duration;
//! use windlass::{Dedup, Verdict};
//!
//! let dedup = Dedup::builder(Duration::from_secs(300)).capacity(10_000).build()?;
//! assert_eq!(dedup.observe("order-4711"), Ok(Verdict::Fresh));
//! assert!(matches!(dedup.observe("order-4711"), Ok(Verdict::Duplicate { .. })));
//! # Ok::<(), windlass::ConfigError>(())
//! ```
//!
//! **Hash once, read the clock once.** Every operation works on two numbers: a [`KeyHash`] (from bytes, text or a `u64` id,
//! see [`Key`]) and a [`Tick`] (nanoseconds, or an event's number). Each has a form that takes the tick (`.._at`) and a short
//! one that reads the structure's [`Clock`].
//!
//! **Figures.** Each structure has `stats()`; with the feature `metrics` they go on one page, for Prometheus and as JSON.
//!
//! **Answers, not errors.** Building checks everything and says what is allowed ([`ConfigError`]); after that nothing panics,
//! and "no" is a value. Types are `Send + Sync` and used through `&self`; no guards are handed out.
//!
//! What to choose, how large, and what goes wrong: [`guide`].
//!
//! **Nothing is ever deleted; the window moves.** How that works is in `ARCHITECTURE.md` of the repository.

// In models sizes are 1 or 0, and a guard of the epoch may be nothing to drop.
#![cfg_attr(
    windlass_loom,
    allow(clippy::modulo_one, clippy::drop_non_drop, clippy::absurd_extreme_comparisons)
)]

mod bloom;
mod codec;
mod count;
mod dedup;
mod error;
mod fifo;
mod hash;
mod hashring;
mod limit;
mod maintain;
mod math;
mod mem;
#[cfg(all(feature = "metrics", not(windlass_loom)))]
pub mod metrics;
mod origin;
mod pane;
mod settings;
mod sync;
mod table;
mod time;
mod topk;
mod verdict;

pub use bloom::{BloomBuilder, BloomPlan, BloomStats, Distinct, Layout, PaneSpan, PaneStats, RotatingBloom};
pub use codec::{RestoreError, Restored, SnapshotSummary};
pub use count::{
    Added, CounterBuilder, CounterStats, PaneCount, Tally, TotalBuilder, WindowedCounter, WindowedTotal,
    Writer,
};
pub use dedup::{
    Claim, Dedup, DedupBuilder, DedupStats, Identity, OnFull, Outcome, Refresh, Refused, Ticket,
};
pub use error::ConfigError;
pub use fifo::{Entry, EntryKey, FifoBuilder, FifoIndex, FifoStats, OnPresent, Place, PushRefused, Pushed};
pub use hash::{Key, KeyHash, Namespaced, Seed};
pub use hashring::{Change, HashRing, HashRingBuilder, Node, NodeShare, Placement, RingStats};
pub use limit::{
    Admission, Algorithm, FieldList, Inherit, KeyedLimiter, KeyedLimiterBuilder, LimitRule, LimitSet,
    LimitSetBuilder, LimitSetStats, Limiter, LimiterBuilder, LimiterStats, OnUnknown, Quota, RateLimit,
    RateLimitPolicy, Reservation, Reserved, SetAdmission, Settled,
};
pub use maintain::{Maintain, Maintainer};
#[doc(hidden)]
pub use mem::take_all_from_the_allocator;
pub use pane::Rotation;
pub use time::{Clock, ManualClock, Tick, Window};
pub use topk::{
    Aggregator, BoundedStats, BoundedTopK, BoundedTopKBuilder, Export, ExportRow, Keys, Mismatch, TopK,
    TopKBuilder, TopKey, TopRow, TopSnapshot, TopStats, WireError,
};
pub use verdict::Verdict;

#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/guide.md")]
pub mod guide {}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;

#[cfg(all(doctest, feature = "metrics"))]
#[doc = include_str!("../docs/metrics.md")]
struct MetricsExamples;

/// What `loom-tests` sees of the inside.
#[cfg(windlass_loom)]
#[doc(hidden)]
pub mod model {
    pub use crate::{
        count::model::{Counter, Shelf},
        dedup::model::{Beginning, ExactTicket, Rule, Ticket},
        fifo::model::Fifo,
        limit::{
            model::{Changing, Clientele, Limiters, Newest, OneLimiter, Overridden, Own, Rings},
            set::model::{HeldAt, Holding, Reserving, Words},
        },
        pane::model::*,
        sync::twins::{Twin, with},
        table::model::*,
        topk::{bounded_model::*, model::*},
    };
}

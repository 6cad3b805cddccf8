//! Rate limiters: so many permits in so long, for one or for each of millions of clients.

mod admission;
mod algorithm;
mod batch;
mod change;
mod course;
mod divisor;
mod fixed;
#[cfg(all(test, not(windlass_loom)))]
mod giving_back;
mod headers;
mod judge;
mod keyed;
mod live;
mod logs;
mod meter;
#[cfg(windlass_loom)]
pub(crate) mod model;
mod overrides;
mod quota;
mod ring;
mod saved;
pub(crate) mod set;
mod single;
mod sliding;
mod snapshot;
mod sole;
mod tat;
mod word;

pub use admission::Admission;
pub use algorithm::Algorithm;
pub use change::Inherit;
pub use headers::{FieldList, RateLimit, RateLimitPolicy};
pub use keyed::{KeyedLimiter, KeyedLimiterBuilder, LimiterStats, OnUnknown};
pub use quota::Quota;
pub use set::{
    LimitRule, LimitSet, LimitSetBuilder, LimitSetStats, Reservation, Reserved, SetAdmission, Settled,
};
pub use single::{Limiter, LimiterBuilder};

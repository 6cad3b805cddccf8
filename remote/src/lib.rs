//! windlass where one machine is not enough: Redis or Valkey as the engine.
mod address;
mod connection;
mod count;
mod deadline;
mod dedup;
mod error;
mod fifo;
mod key;
mod limit;
mod probe;
mod remote;
mod script;
mod topk;

pub use count::RemoteCounter;
pub use dedup::{Down, Level, Observed, RemoteDedup, RemoteDedupBuilder, RemoteDedupStats, Token};
pub use error::{ErrorKind, RemoteError};
pub use fifo::{RemoteEntry, RemoteFifo, RemotePlace};
pub use limit::{
    DecidedBy, Decision, LimiterDown, Mode, RemoteLimitRule, RemoteLimitSet, RemoteLimitSetBuilder,
    RemoteLimiter, RemoteLimiterBuilder, RemoteLimiterStats, SetDecision,
};
pub use probe::{Capabilities, Eviction};
pub use remote::{Remote, RemoteBuilder, RemoteStats};
pub use topk::{MergedTop, RemoteTopK};
pub use windlass::{Admission, Algorithm, OnPresent, Pushed, Quota, SetAdmission};

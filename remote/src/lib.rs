//! windlass where one machine is not enough: Redis or Valkey as the engine.
mod address;
mod connection;
mod deadline;
mod dedup;
mod error;
mod key;
mod limit;
mod probe;
mod remote;
mod script;

pub use dedup::{Down, Level, Observed, RemoteDedup, RemoteDedupBuilder, RemoteDedupStats, Token};
pub use error::{ErrorKind, RemoteError};
pub use limit::{
    DecidedBy, Decision, LimiterDown, Mode, RemoteLimitRule, RemoteLimitSet, RemoteLimitSetBuilder,
    RemoteLimiter, RemoteLimiterBuilder, RemoteLimiterStats, SetDecision,
};
pub use probe::{Capabilities, Eviction};
pub use remote::{Remote, RemoteBuilder, RemoteStats};
pub use windlass::{Admission, Algorithm, Quota, SetAdmission};

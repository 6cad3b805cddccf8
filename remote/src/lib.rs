//! windlass where one machine is not enough: Redis or Valkey as the engine.
mod address;
mod connection;
mod deadline;
mod dedup;
mod error;
mod key;
mod probe;
mod remote;
mod script;

pub use dedup::{Down, Level, Observed, RemoteDedup, RemoteDedupBuilder, RemoteDedupStats, Token};
pub use error::{ErrorKind, RemoteError};
pub use probe::{Capabilities, Eviction};
pub use remote::{Remote, RemoteBuilder, RemoteStats};

//! windlass where one machine is not enough: the same questions, answered by Redis or Valkey, single, with Sentinel, or as a Cluster. What
//! replicates, shards and fails over is theirs; nothing of that is home-made here.
//!
//! | you ask | you use |
//! |---|---|
//! | has any of us seen this id in the last T? | [`RemoteDedup`] |
//! | may this client go on? N in T for each, whichever of us it asks | [`RemoteLimiter`], by [`Algorithm`] |
//! | .. by several limits at once: all or nothing | [`RemoteLimitSet`] |
//! | .. without a round trip for each call | [`Mode::Lease`], [`Mode::Report`] |
//! | either, over servers that do not know of each other | [`RemoteRing`], [`RemoteLimiterRing`] |
//! | how often was it seen in the window, by all of us? | [`RemoteCounter`] |
//! | which keys are the hottest, over all of us? | [`RemoteTopK`] |
//! | how many are ahead of me, and who is next? | [`RemoteFifo`] |
//! | .. if one is let in every so often? | [`RemoteRoom`] |
//!
//! ```no_run
//! use std::time::Duration;
//! use windlass_remote::{Remote, RemoteDedup};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), windlass_remote::RemoteError> {
//! let remote = Remote::connect("redis://localhost").await?;
//! let dedup = RemoteDedup::builder(&remote, "orders", Duration::from_secs(300)).build()?;
//! assert!(dedup.observe("order-4711").await?.is_fresh());
//! assert!(!dedup.observe("order-4711").await?.is_fresh());
//! # Ok(())
//! # }
//! ```
//!
//! # Tiers
//!
//! The same question is asked in the way that the servers know; [`Remote::capabilities`] says what they can. (docs/distributed.md has the same table.)
//!
//! | | in one process (`windlass`) | native commands | scripts | the module (`by_module`) |
//! |---|---|---|---|---|
//! | cost | nanoseconds | a round trip, shared by a batch; none for what is known here | the same | the same; a batch of ids is a few commands |
//! | survives a process | with snapshots | yes; a server, if its replica has it | the same | the same |
//! | exact dedup | [`windlass::Dedup`] | `SET key token NX GET PX T`, from 7.0 on | the same as a script, before 7.0 | `WL.ADMIT key T token id ..`: 32 keys for all ids of a namespace |
//! | .. time | the caller's, nanoseconds | the server's, milliseconds | the server's, milliseconds | the server's, microseconds; of a key it never goes back |
//! | .. `first_seen` | told | unknown | unknown | unknown |
//! | .. late events, `Refresh::OnDuplicate`, windows of N events | yes | no: arrival decides, and nothing is refreshed | no | no |
//! | .. ids are told apart | by 64 bits of a hash beside their place or, if asked for, by their bytes | by their bytes; known duplicates as in one process | the same | as in one process, by 64 bits of a hash |
//! | .. the answer is lost | cannot be | the token asks again | the token asks again | the token asks again |
//! | limits: algorithms | [`windlass::KeyedLimiter`]: all | fixed window alone | all | all, with [`Mode::Ask`] |
//! | .. how | a state in a table | `MULTI; INCRBY; PEXPIRE NX; PTTL; EXEC` from 7.0 on; `INCREX` where it is, in place of the first two | one key for each client; the same answers, field by field | `WL.LIMIT`: one key for each client |
//! | .. windows begin | with the clock | with the first call | with the clock | with the clock |
//! | .. a refusal costs | nothing | it is counted (not with `INCREX`): it does not make the window longer, but may use up what a cheaper call could have had | nothing | nothing |
//! | .. time | the caller's, nanoseconds | the server's, milliseconds | the server's, microseconds: times in answers are rounded up to these, so less than 1 us later; windows are whole microseconds | the server's, microseconds; windows are whole milliseconds |
//! | .. time goes back | it stands still | keys end by the server's clock | it stands still for who has a state; but keys end by the server's clock | it stands still; but keys end by the server's clock |
//! | .. quotas | by what fits into a word | up to 2^52 permits | as in the core, and buckets of less than 1 ms a permit full again after 208 days at most | as in the core |
//! | .. lateness, holds (`reserve`), other quotas while in use | yes | no | no | other quotas while in use alone |
//! | .. the answer is lost | cannot be | it may be charged: not asked again | it may be charged: not asked again | it may be charged: not asked again |
//! | sets of limits | [`windlass::LimitSet`]: any keys; no logs | none | within a group, which is in one slot; logs too | none |
//! | leases, reports | need none | none | yes | none |
//! | counts by pane | [`windlass::WindowedCounter`] | none | one hash for each key; no total over all keys, no late events | not asked: `WL.COUNT.*` |
//! | hot keys | [`windlass::TopK`] | exports of each process, merged by [`windlass::Aggregator`] | the same | not asked: `WL.TOPK.*` |
//! | queue | [`windlass::FifoIndex`]: O(1) ranks | reads alone | `ZSET`: O(log n) ranks; removal too; one slot for each queue | not asked: `WL.FIFO.*`, O(1) ranks |
//! | waiting room | a dedup and a queue (`windlass rank`) | none | one script; one slot for each room | none |
//!
//! Scripts are used for limits wherever the servers allow them, also where there is `INCREX`: so windows are the same everywhere. All who share a namespace should so be allowed the same.
//!
//! Ids and limits can be asked of windlass' module as well, where the servers have loaded it ([`Capabilities::module`], [`RemoteDedupBuilder::by_module`], [`RemoteLimiterBuilder::by_module`]): the same answers.
//! It has keys of its own, so it is never taken by itself.
//!
//! # Guarantees
//!
//! - **Every call ends by its deadline**, connecting included. What has to go elsewhere (MOVED, ASK, a new primary, a script that a server has not
//!   seen) does so within it, command by command; what cannot be repeated without harm is not.
//! - **A server that may forget early is refused** ([`Eviction`]), whenever a connection to it is made.
//! - **Errors are typed, and name node and key** ([`RemoteError`]). Which of them are outages, for which a policy holds, says [`ErrorKind::is_outage`].
//! - **One key for each decision**, by the server's clock. Items spread over all slots of a cluster.
//! - A server that is lost takes along what it has not sent to a replica: see [`Level`]. A server that restarts without its data forgets all; let it have
//!   persistence, or not restart by itself.
//!
//! Runs on tokio. Needs Redis 5 or newer, or Valkey.

mod address;
mod connection;
mod count;
mod deadline;
mod dedup;
mod error;
mod fifo;
mod figure;
mod key;
mod limit;
mod probe;
mod remote;
mod ring;
mod room;
mod script;
mod topk;
mod unique;
mod wire;

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
pub use ring::{Handover, Member, RemoteLimiterRing, RemoteRing, RemoteRingStats};
pub use room::{RemoteRoom, RemoteRoomView};
pub use topk::{MergedTop, RemoteTopK};
pub use windlass::{Admission, Algorithm, OnPresent, Pushed, Quota, SetAdmission};

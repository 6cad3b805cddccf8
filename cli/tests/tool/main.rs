//! The real binary.

mod common;

#[path = "../../../tests/common/answers.rs"]
#[allow(dead_code, clippy::expect_used, reason = "other tests use the rest")]
mod answers;
mod approx;
mod bench;
mod distinct;
mod errors;
mod follow;
mod gen_bytes;
mod gen_errors;
mod gen_traits;
mod golden;
mod input;
mod limit;
mod limit_golden;
mod live;
mod metrics;
#[cfg(feature = "remote")]
#[path = "../../../module/tests/built.rs"]
#[allow(dead_code, clippy::expect_used, reason = "other tests use the rest")]
mod module;
mod oracle;
mod pipes;
mod policy;
mod rank;
#[cfg(feature = "remote")]
mod remote;
mod ring;
mod robust;
#[cfg(feature = "remote")]
#[path = "../../../remote/tests/servers.rs"]
#[allow(dead_code, clippy::expect_used, clippy::panic, reason = "other tests use the rest")]
mod servers;
mod shell;
#[cfg(unix)]
mod state;
mod threads;
mod top;
mod top_approx;
mod top_golden;
mod top_verdicts;

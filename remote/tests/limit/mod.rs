//! `RemoteLimiter`, `RemoteLimitSet`.

mod conformance;
mod exact;
mod failures;
mod golden;
mod load;
mod modes;
mod module;
mod native;
mod sets;

use std::time::Duration;
use windlass_remote::{Admission, Remote};

/// With a short deadline.
async fn connect(address: &str) -> Remote {
    Remote::builder(address)
        .timeout(Duration::from_millis(500))
        .retry_after(Duration::from_millis(200))
        .connect()
        .await
        .expect("it is there")
}

/// As the engine tells it: in microseconds, rounded up.
fn in_micros(admission: Admission) -> Admission {
    let up = |span: Duration| {
        Duration::from_micros(u64::try_from(span.as_nanos().div_ceil(1000)).expect("in range"))
    };
    match admission {
        Admission::Allowed { remaining, reset_after, delay } => {
            Admission::Allowed { remaining, reset_after: up(reset_after), delay: up(delay) }
        }
        Admission::Denied { retry_after } => Admission::Denied { retry_after: up(retry_after) },
        Admission::Never => Admission::Never,
    }
}

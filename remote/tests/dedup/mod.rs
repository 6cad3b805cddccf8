//! `RemoteDedup`.

mod cluster;
mod exact;
mod failures;
mod golden;
mod outage;

use std::time::Duration;
use windlass_remote::{Observed, Remote, RemoteDedup, RemoteError};

/// Longer than any of these tests takes.
const LONG: Duration = Duration::from_secs(3600);

/// With a short deadline.
async fn connect(address: &str) -> Remote {
    Remote::builder(address)
        .timeout(Duration::from_millis(500))
        .retry_after(Duration::from_millis(200))
        .connect()
        .await
        .expect("it is there")
}

fn plain(remote: &Remote) -> RemoteDedup {
    RemoteDedup::builder(remote, "test", LONG).build().expect("valid")
}

/// That asks the engine always.
fn asking(remote: &Remote) -> RemoteDedup {
    RemoteDedup::builder(remote, "test", LONG).known(0).build().expect("valid")
}

/// Whether each is fresh.
fn fresh(answers: Vec<Result<Observed, RemoteError>>) -> Vec<bool> {
    answers.into_iter().map(|answer| answer.expect("an answer").is_fresh()).collect()
}

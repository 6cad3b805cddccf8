//! `RemoteDedup`.

mod cluster;
mod exact;
mod failures;
mod golden;
mod module;
mod outage;

use std::time::Duration;
use windlass_remote::{Observed, Remote, RemoteDedup, RemoteDedupBuilder, RemoteError};

/// The ways in which ids are admitted: by a server that has loaded the module, all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Native,
    Script,
    Module,
}

impl By {
    const ALL: [By; 3] = [By::Native, By::Script, By::Module];

    fn of(self, builder: RemoteDedupBuilder) -> RemoteDedupBuilder {
        match self {
            By::Native => builder,
            By::Script => builder.by_script(),
            By::Module => builder.by_module(),
        }
    }

    fn name(self) -> String {
        format!("{self:?}")
    }
}

/// Longer than any of these tests takes.
const LONG: Duration = Duration::from_secs(3600);

/// With a deadline that a crowded machine keeps.
async fn connect(address: &str) -> Remote {
    Remote::builder(address).timeout(Duration::from_secs(10)).connect().await.expect("it is there")
}

/// How long it takes to notice that nobody answers.
const HASTE: Duration = Duration::from_secs(1);

/// With a short deadline.
async fn hasty(address: &str) -> Remote {
    Remote::builder(address)
        .timeout(HASTE)
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

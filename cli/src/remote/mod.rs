//! What commands have in common with `--remote`: the servers, and waiting for them.

mod figures;

use std::mem::ManuallyDrop;

use windlass::KeyHash;
use windlass_remote::{ErrorKind, Remote, RemoteError};

use crate::{
    args::{InputArgs, RemoteArgs, StateArgs},
    failure::Failure,
    input::{Batch, Format},
};

pub(crate) use figures::{Calls, Figures, lines};

/// Longer ids are cut to this, which is as much as a server takes for a key, but for what stands before it.
pub(crate) const LONGEST: usize = (512 << 20) - 256;

/// Servers, and the thread on which their connections live: they answer, and are told what they missed, also while the input waits.
pub(crate) struct Engine {
    /// Never dropped: that would wait for a name that is still looked up. The process ends when the command does.
    runtime: ManuallyDrop<tokio::runtime::Runtime>,
    pub(crate) remote: Remote,
}

impl Engine {
    pub(crate) fn connect(args: &RemoteArgs, address: &str) -> Result<Engine, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| Failure::Running(format!("cannot start a thread: {error}")))?;
        let runtime = ManuallyDrop::new(runtime);
        let connecting = Remote::builder(address).timeout(args.remote_timeout.duration).connect();
        let remote = runtime.block_on(connecting).map_err(|error| failed(&error))?;
        Ok(Engine { runtime, remote })
    }

    pub(crate) fn wait<T>(&self, call: impl Future<Output = T>) -> T {
        self.runtime.block_on(call)
    }
}

/// An error of the client, as the tool ends with it. It names node and key.
pub(crate) fn failed(error: &RemoteError) -> Failure {
    match error.kind() {
        ErrorKind::Config => Failure::Bad(format!("--remote: {error}")),
        _ => Failure::Running(format!("--remote: {error}")),
    }
}

/// .. upon an event, counted from 1.
pub(crate) fn failed_at(event: u64, error: &RemoteError) -> Failure {
    Failure::Running(format!("event {event}: {error}"))
}

/// Refuses options that say how something is kept here: there it is kept elsewhere.
pub(crate) fn refuse(given: &[(bool, &str, &str)]) -> Result<(), Failure> {
    match given.iter().find(|(given, ..)| *given) {
        Some((_, option, why)) => {
            Err(Failure::bad(format_args!("{option} does not go with --remote: {why}")))
        }
        None => Ok(()),
    }
}

/// Refuses events with times of their own.
pub(crate) fn refuse_times(input: &InputArgs) -> Result<(), Failure> {
    const ARRIVAL: &str = "the servers judge events as they arrive, by their own clocks";
    if input.format == Some(Format::Combined) {
        return Err(Failure::bad(format_args!(
            "format combined does not go with --remote: its events have times of their own, and {ARRIVAL}; without --remote it \
             goes by those, and with --format lines or tsv they are not read"
        )));
    }
    refuse(&[(input.time.is_some(), "--time", &format!("{ARRIVAL}; leave out --time, or --remote"))])
}

/// `capacity`: what that is called.
pub(crate) fn refuse_memory(state: &StateArgs, capacity: &str) -> Result<(), Failure> {
    const THERE: &str = "it is the servers' memory that counts";
    refuse(&[
        (state.capacity.is_some(), capacity, THERE),
        (state.max_memory.is_some(), "--max-memory", THERE),
        (state.seed != 0, "--seed", "the servers tell ids apart by their bytes"),
    ])
}

/// Whether an id is one field, so that its bytes are the id.
pub(crate) fn is_whole(key: &[String], input: &InputArgs) -> bool {
    key.len() <= 1 && input.source.is_none()
}

/// The ids of a batch as the servers know them: the bytes of the field, so that programs which ask for that find the same; of several fields (`whole`: it is one) with
/// their hash before, as `a b` and `c` are not `a` and `b c`.
pub(crate) fn ids(batch: &Batch<'_>, whole: bool) -> Vec<Vec<u8>> {
    let id = |(i, (hash, _)): (usize, &(KeyHash, _))| {
        if whole {
            return batch.name(i).to_vec();
        }
        let mut id = format!("{:016x}{:016x}:", hash.hi, hash.lo).into_bytes();
        id.extend_from_slice(batch.name(i));
        id
    };
    batch.events.iter().enumerate().map(id).collect()
}

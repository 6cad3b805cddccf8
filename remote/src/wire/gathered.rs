//! What is to be sent next, and who waits for the answers.

use super::{Pipeline, Value};
use crate::error::{ErrorKind, RemoteError};
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};
use tokio::sync::oneshot;

/// Bytes that may wait, but for one pipeline alone. Callers wait for their answers, and so are their own bound; this is for those that were dropped while
/// the server does not read.
pub(super) const MOST: usize = 64 * 1024 * 1024;

/// A pipeline came to nothing.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    pub(crate) error: RemoteError,
    /// Whether it may have reached the server.
    pub(crate) sent: bool,
}

/// What one who waits is told.
pub(super) type Outcome = Result<Vec<Value>, Broken>;

/// One who waits for the answers to so many commands. It may have gone.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) commands: usize,
    pub(super) caller: oneshot::Sender<Outcome>,
}

/// What callers have said since the connection's task last looked. Bytes and slots are in one order.
#[derive(Debug, Default)]
pub(super) struct Gathered(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    /// The connection's task, if it has nothing to send.
    task: Option<Waker>,
    /// Why nothing is sent any more.
    ended: Option<RemoteError>,
}

impl Gathered {
    /// Puts commands behind those that are there.
    pub(super) fn add(&self, pipeline: Pipeline, caller: oneshot::Sender<Outcome>) -> Result<(), Broken> {
        let unsent = |error| Broken { error, sent: false };
        let (commands, bytes) = (pipeline.len(), pipeline.into_bytes());
        let mut state = self.lock();
        if let Some(error) = &state.ended {
            return Err(unsent(error.clone()));
        }
        if state.bytes.is_empty() {
            state.bytes.reserve(bytes.len());
        } else if state.bytes.len() + bytes.len() > MOST {
            let what = "the server does not read: too much waits to be sent";
            return Err(unsent(RemoteError::new(ErrorKind::Unreachable, what)));
        }
        state.bytes.extend_from_slice(&bytes);
        state.slots.push(Slot { commands, caller });
        let task = state.task.take();
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
        Ok(())
    }

    /// Waits until there is something.
    pub(super) fn poll_ready(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if !state.slots.is_empty() {
            return Poll::Ready(());
        }
        match &mut state.task {
            Some(task) => task.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Takes all there is, for an empty buffer.
    pub(super) fn take(&self, bytes: &mut Vec<u8>, slots: &mut VecDeque<Slot>) {
        let mut state = self.lock();
        std::mem::swap(&mut state.bytes, bytes);
        slots.extend(state.slots.drain(..));
    }

    /// Nothing is sent any more. Whoever has not been taken yet is told so.
    pub(super) fn end(&self, error: &RemoteError) {
        let mut state = self.lock();
        state.ended.get_or_insert_with(|| error.clone());
        let slots = std::mem::take(&mut state.slots);
        state.bytes = Vec::new();
        drop(state);
        for slot in slots {
            drop(slot.caller.send(Err(Broken { error: error.clone(), sent: false })));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

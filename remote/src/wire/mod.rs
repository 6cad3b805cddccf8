//! The servers' protocol (RESP2) over one connection that many calls share.
//!
//! A call encodes its commands into one buffer ([`Pipeline`]) and appends that, under a short lock, to what the connection is to send next, with a place in
//! the queue of those who wait. One task per connection ([`driver`]) sends what has gathered meanwhile in one write, reads what comes, and gives each
//! who waits the answers to its commands, all at once ([`Wire::exchange`]).
//!
//! - A caller that does not wait any more leaves its place: the answers that come for it are thrown away, and those of others stay in order.
//! - The task ends with the last handle, or with the connection; whoever waits then is told so, and whether the server may have got its commands.
//! - What a server sends is bounded in length, depth and number ([`parser`]). What waits to be sent is bounded by those who wait, and by [`gathered::MOST`] for those who have gone.

mod command;
mod driver;
mod gathered;
mod inbox;
mod login;
mod parser;
mod stream;
#[cfg(test)]
mod tests;
#[cfg(feature = "tls")]
mod tls;
mod value;

use crate::error::{ErrorKind, RemoteError};
pub(crate) use command::{Command, Pipeline, Span};
use driver::Driver;
pub(crate) use gathered::Broken;
use gathered::Gathered;
pub(crate) use login::Target;
use std::sync::Arc;
pub(crate) use stream::Endpoint;
use stream::Stream;
use tokio::{sync::oneshot, task::AbortHandle};
pub(crate) use value::{ServerError, Value};

/// A connection that is logged in. Clones share it; it is closed with the last one.
#[derive(Clone)]
pub(crate) struct Wire(Arc<Handle>);

struct Handle {
    gathered: Arc<Gathered>,
    task: AbortHandle,
}

impl Wire {
    /// Connects. It may take for ever: the deadline is the caller's.
    pub(crate) async fn open(target: &Target) -> Result<Wire, RemoteError> {
        let wire = Wire::over(Stream::connect(&target.endpoint).await?);
        target.log_in(&wire).await?;
        Ok(wire)
    }

    fn over(stream: Stream) -> Wire {
        let gathered = Arc::<Gathered>::default();
        let task = tokio::spawn(Driver::new(Arc::clone(&gathered), stream).run()).abort_handle();
        Wire(Arc::new(Handle { gathered, task }))
    }

    /// Sends commands, and gives an answer for each. Who drops this gives up the answers alone: the commands may be carried out.
    pub(crate) async fn exchange(&self, pipeline: Pipeline) -> Result<Vec<Value>, Broken> {
        if pipeline.len() == 0 {
            return Ok(Vec::new());
        }
        let (caller, answers) = oneshot::channel();
        self.0.gathered.add(pipeline, caller)?;
        answers.await.unwrap_or_else(|_| {
            // The task tells all who wait, so this does not happen.
            let error = RemoteError::new(ErrorKind::Unreachable, "the connection has gone");
            Err(Broken { error, sent: true })
        })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

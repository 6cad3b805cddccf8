//! The task of a connection: sends what has gathered, and hands out what comes.

use super::{
    Value,
    gathered::{Broken, Gathered, Slot},
    inbox::Inbox,
    parser::Parser,
    stream::Stream,
};
use crate::error::{ErrorKind, RemoteError};
use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

/// A buffer of more than this is given back once it is empty.
const KEEP: usize = 1024 * 1024;

pub(super) struct Driver {
    gathered: Arc<Gathered>,
    stream: Stream,
    sending: Vec<u8>,
    sent: usize,
    flushed: bool,
    inbox: Inbox,
    parser: Parser,
    /// Who waits for answers to what was sent, in its order.
    waiting: VecDeque<Slot>,
    /// What the first of them has so far.
    answers: Vec<Value>,
    /// Why it ended, once it has.
    why: Option<RemoteError>,
}

impl Driver {
    pub(super) fn new(gathered: Arc<Gathered>, stream: Stream) -> Driver {
        Driver {
            gathered,
            stream,
            sending: Vec::new(),
            sent: 0,
            flushed: true,
            inbox: Inbox::new(),
            parser: Parser::new(),
            waiting: VecDeque::new(),
            answers: Vec::new(),
            why: None,
        }
    }

    /// Until the connection ends, or nobody holds it any more.
    pub(super) async fn run(mut self) {
        loop {
            if let Err(error) = poll_fn(|cx| self.poll_turn(cx)).await {
                self.why = Some(error);
                return;
            }
            // Others who can go on now have something to say as well, most likely: it goes out in one write.
            tokio::task::yield_now().await;
            // What has ended meanwhile is not sent to: then it is known that nothing was carried out.
            let come = poll_fn(|cx| Poll::Ready(self.poll_receive(cx))).await;
            if let Err(error) = come {
                self.why = Some(error);
                return;
            }
            self.gathered.take(&mut self.sending, &mut self.waiting);
        }
    }

    /// Sends and reads, until there is something more to send.
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), RemoteError>> {
        let sent = self.poll_send(cx);
        // Also while the server takes nothing: it may not before somebody takes what it says.
        self.poll_receive(cx)?;
        match sent {
            Poll::Ready(Ok(())) => self.gathered.poll_ready(cx).map(Ok),
            other => other,
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), RemoteError>> {
        let failed = |error| RemoteError::from_io(&error);
        while self.sent < self.sending.len() {
            let Poll::Ready(sent) = self.stream.poll_write(cx, &self.sending[self.sent..]) else {
                return Poll::Pending;
            };
            let sent = sent.map_err(failed)?;
            if sent == 0 {
                return Poll::Ready(Err(closed()));
            }
            (self.sent, self.flushed) = (self.sent + sent, false);
        }
        if !self.flushed {
            let Poll::Ready(flushed) = self.stream.poll_flush(cx) else { return Poll::Pending };
            flushed.map_err(failed)?;
            self.flushed = true;
            self.sent = 0;
            self.sending.clear();
            if self.sending.capacity() > KEEP {
                self.sending = Vec::new();
            }
        }
        Poll::Ready(Ok(()))
    }

    /// All that has come.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Result<(), RemoteError> {
        while let Poll::Ready(come) = self.inbox.poll_fill(&mut self.stream, cx) {
            if come.map_err(|error| RemoteError::from_io(&error))? == 0 {
                return Err(closed());
            }
            let unread = self.inbox.unread();
            let mut at = 0;
            while at < unread.len() {
                let wrong = |what| RemoteError::new(ErrorKind::Protocol, what);
                let (read, answer) = self.parser.next(&unread[at..]).map_err(|error| wrong(error.0))?;
                at += read;
                let Some(answer) = answer else { break };
                let Some(first) = self.waiting.front() else {
                    // As a server does that has too many clients.
                    return Err(match answer {
                        Value::Error(error) => error.to_error(),
                        _ => wrong("an answer to nothing"),
                    });
                };
                if self.answers.is_empty() {
                    self.answers.reserve_exact(first.commands);
                }
                self.answers.push(answer);
                if self.answers.len() == first.commands {
                    self.parser.renew();
                    let answers = std::mem::take(&mut self.answers);
                    if let Some(first) = self.waiting.pop_front() {
                        // Whoever is not there any more needs none.
                        drop(first.caller.send(Ok(answers)));
                    }
                }
            }
            self.inbox.read(at);
        }
        Ok(())
    }
}

/// However it ends, also with the runtime: whoever waits is told.
impl Drop for Driver {
    fn drop(&mut self) {
        let error = self.why.take().unwrap_or_else(closed);
        self.gathered.end(&error);
        for slot in self.waiting.drain(..) {
            drop(slot.caller.send(Err(Broken { error: error.clone(), sent: true })));
        }
    }
}

fn closed() -> RemoteError {
    RemoteError::new(ErrorKind::Unreachable, "the connection was closed")
}

//! Idempotency keys: a request whose key was handled within the window is not handled again.

use crate::client;
use axum::{
    extract::{ConnectInfo, Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use windlass::{Claim, Dedup, Namespaced, Ticket};

pub(crate) struct Once {
    pub(crate) seen: Dedup,
    /// Longer than a handler takes.
    pub(crate) lease: Duration,
}

/// A claim that is given up unless it is committed: also when the client hangs up, and the handler with it.
struct Held<'a> {
    seen: &'a Dedup,
    ticket: Option<Ticket>,
}

impl Held<'_> {
    /// Whether it was still ours.
    fn commit(mut self) -> bool {
        self.ticket.take().is_some_and(|ticket| self.seen.commit(ticket))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.seen.abort(ticket);
        }
    }
}

/// Lets a request with an `Idempotency-Key` through if its client had none with the same key handled. While one is being handled the others are told to come again; if its handler
/// fails, or takes longer than the lease, the next one gets its turn.
pub(crate) async fn once(State(once): State<Arc<Once>>, request: Request, next: Next) -> Response {
    let Some(key) = request.headers().get("idempotency-key").cloned() else {
        return next.run(request).await;
    };
    // The keys of one client are nobody else's.
    let client = client(request.extensions().get::<ConnectInfo<SocketAddr>>());
    let retry = |seconds: u64| [(header::RETRY_AFTER, HeaderValue::from(seconds))];
    match once.seen.claim(Namespaced(client, key.as_bytes()), once.lease) {
        Ok(Claim::Claimed(ticket)) => {
            let held = Held { seen: &once.seen, ticket: Some(ticket) };
            let response = next.run(request).await;
            // Of what failed the next attempt is as good as the first.
            if !response.status().is_server_error() && !held.commit() {
                eprintln!("{key:?} took longer than its lease");
            }
            response
        }
        Ok(Claim::Duplicate { .. }) => {
            let replay = [("idempotent-replay", HeaderValue::from_static("true"))];
            (StatusCode::NO_CONTENT, replay).into_response()
        }
        Ok(_) => {
            let seconds = once.lease.as_secs().max(1);
            (StatusCode::CONFLICT, retry(seconds), "is being handled\n").into_response()
        }
        // No room: better later than twice.
        Err(refused) => (StatusCode::SERVICE_UNAVAILABLE, retry(1), format!("{refused}\n")).into_response(),
    }
}

//! Orders behind two filters: each client has a rate limit, and an order that is sent again, with the same idempotency key, is handled once.
//!
//! ```text
//! cargo run --release -p windlass-example-axum -- 127.0.0.1:8080
//! curl -i -X POST -H 'Idempotency-Key: 4711' http://127.0.0.1:8080/orders
//! ```

mod limit;
mod once;
#[cfg(test)]
mod tests;

use axum::{Router, extract::ConnectInfo, middleware, routing::post};
use limit::Limit;
use once::Once;
use std::{error::Error, net::SocketAddr, sync::Arc, time::Duration};
use windlass::{Dedup, KeyedLimiter, Quota};

/// The service, whose limiter and keys take no more memory than this.
fn service(quota: Quota, lease: Duration) -> Result<Router, Box<dyn Error>> {
    let limiter = KeyedLimiter::builder(quota).clients(10_000).max_memory(64 << 20).build()?;
    let day = Duration::from_secs(24 * 3600);
    let seen = Dedup::builder(day).capacity(10_000).max_memory(256 << 20).build()?;
    let limit = Arc::new(Limit::new(limiter)?);
    let once = Arc::new(Once { seen, lease });
    // The last one is the first to see a request.
    Ok(Router::new()
        .route("/orders", post(order))
        .layer(middleware::from_fn_with_state(once, once::once))
        .layer(middleware::from_fn_with_state(limit, limit::limit)))
}

async fn order() -> &'static str {
    "ordered\n"
}

/// Whom a limit and an idempotency key are for.
fn client(peer: Option<&ConnectInfo<SocketAddr>>) -> Vec<u8> {
    // Behind a proxy it would be what that one says in a header, if it alone can say it.
    peer.map(|ConnectInfo(peer)| peer.ip().to_string().into_bytes()).unwrap_or_default()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let service = service("10/s burst 20".parse()?, Duration::from_secs(30))?;
    let listener = tokio::net::TcpListener::bind(&address).await?;
    eprintln!("on http://{}", listener.local_addr()?);
    axum::serve(listener, service.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}

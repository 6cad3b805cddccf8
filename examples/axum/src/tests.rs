//! Requests through both filters.

#![allow(clippy::expect_used)] // clippy knows tests only by their attribute

use crate::{once, service};
use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{Request, Response, StatusCode},
    middleware,
    routing::post,
};
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tower::ServiceExt;
use windlass::Dedup;

const LEASE: Duration = Duration::from_secs(30);

fn request(client: u8, key: Option<&str>) -> Request<Body> {
    let mut builder = Request::post("/orders");
    if let Some(key) = key {
        builder = builder.header("Idempotency-Key", key);
    }
    let mut request = builder.body(Body::empty()).expect("valid");
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([10, 0, 0, client], 4711))));
    request
}

async fn ask(service: &Router, client: u8, key: Option<&str>) -> Response<Body> {
    service.clone().oneshot(request(client, key)).await.expect("infallible")
}

#[tokio::test]
async fn each_client_has_a_limit() {
    let service = service("3/1h".parse().expect("a quota"), LEASE).expect("valid");
    for left in [2, 1, 0] {
        let response = ask(&service, 1, None).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["ratelimit-policy"], r#""client";q=3;w=3600"#);
        let told = response.headers()["ratelimit"].to_str().expect("text");
        assert!(told.starts_with(&format!(r#""client";r={left};t="#)), "{told}");
    }
    let response = ask(&service, 1, None).await;
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    let retry: u64 = response.headers()["retry-after"].to_str().expect("text").parse().expect("seconds");
    assert!((1100..=1200).contains(&retry), "a third of an hour, less what this took: {retry}");
    assert_eq!(ask(&service, 2, None).await.status(), StatusCode::OK, "another client");
}

#[tokio::test]
async fn an_order_is_handled_once() {
    let service = service("100/1h".parse().expect("a quota"), LEASE).expect("valid");
    assert_eq!(ask(&service, 1, Some("a")).await.status(), StatusCode::OK);
    let again = ask(&service, 1, Some("a")).await;
    assert_eq!(
        (again.status(), &again.headers()["idempotent-replay"] == "true"),
        (StatusCode::NO_CONTENT, true)
    );
    assert_eq!(ask(&service, 1, Some("b")).await.status(), StatusCode::OK, "another order");
    assert_eq!(ask(&service, 2, Some("a")).await.status(), StatusCode::OK, "another client's");
    assert_eq!(ask(&service, 1, None).await.status(), StatusCode::OK, "without a key");
}

/// A service that fails the first time, and then waits until it is told to go on.
fn slow(calls: Arc<AtomicUsize>, go_on: Arc<tokio::sync::Notify>) -> Router {
    let seen = Dedup::builder(Duration::from_secs(3600)).capacity(100).build().expect("valid");
    let handler = move || async move {
        if calls.fetch_add(1, Relaxed) == 0 {
            return StatusCode::INTERNAL_SERVER_ERROR;
        }
        go_on.notified().await;
        StatusCode::OK
    };
    let once = Arc::new(once::Once { seen, lease: LEASE });
    Router::new().route("/orders", post(handler)).layer(middleware::from_fn_with_state(once, once::once))
}

#[tokio::test]
async fn what_failed_or_was_given_up_is_tried_again() {
    let (calls, go_on) = (Arc::new(AtomicUsize::new(0)), Arc::new(tokio::sync::Notify::new()));
    let service = slow(Arc::clone(&calls), Arc::clone(&go_on));
    assert_eq!(ask(&service, 1, Some("a")).await.status(), StatusCode::INTERNAL_SERVER_ERROR);
    // The second attempt is under way, and has the order.
    let second = tokio::spawn({
        let service = service.clone();
        async move { ask(&service, 1, Some("a")).await.status() }
    });
    while calls.load(Relaxed) < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(ask(&service, 1, Some("a")).await.status(), StatusCode::CONFLICT);
    // Its client hangs up.
    second.abort();
    assert!(second.await.expect_err("ended").is_cancelled());
    go_on.notify_one();
    assert_eq!(ask(&service, 1, Some("a")).await.status(), StatusCode::OK);
    assert_eq!(ask(&service, 1, Some("a")).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(calls.load(Relaxed), 3);
}

//! A rate limit for each client, told in the fields of draft-ietf-httpapi-ratelimit-headers.

use crate::client;
use axum::{
    extract::{ConnectInfo, Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::{error::Error, net::SocketAddr, sync::Arc};
use windlass::{Admission, KeyedLimiter, RateLimit, RateLimitPolicy};

const NAME: &str = "client";

pub(crate) struct Limit {
    limiter: KeyedLimiter,
    /// The value of `RateLimit-Policy`: the same for all.
    policy: HeaderValue,
}

impl Limit {
    pub(crate) fn new(limiter: KeyedLimiter) -> Result<Limit, Box<dyn Error>> {
        let policy = RateLimitPolicy::new(NAME, limiter.quota())?.to_string().parse()?;
        Ok(Limit { limiter, policy })
    }

    /// Tells how the client stands.
    fn tell(&self, admission: Admission, response: &mut Response) {
        let headers = response.headers_mut();
        headers.insert("ratelimit-policy", self.policy.clone());
        if let Some(Ok(value)) =
            RateLimit::new(NAME, admission).ok().map(|limit| limit.to_string().parse::<HeaderValue>())
        {
            headers.insert("ratelimit", value);
        }
    }
}

pub(crate) async fn limit(State(limit): State<Arc<Limit>>, request: Request, next: Next) -> Response {
    let client = client(request.extensions().get::<ConnectInfo<SocketAddr>>());
    let admission = limit.limiter.check(&client, 1);
    let mut response = match admission {
        Admission::Allowed { .. } => next.run(request).await,
        Admission::Denied { retry_after } => {
            // Rounded up: who comes then is not too early.
            let seconds = retry_after.as_secs() + u64::from(retry_after.subsec_nanos() > 0);
            let retry = [(header::RETRY_AFTER, HeaderValue::from(seconds))];
            (StatusCode::TOO_MANY_REQUESTS, retry, "too many requests\n").into_response()
        }
        Admission::Never => StatusCode::FORBIDDEN.into_response(),
    };
    limit.tell(admission, &mut response);
    response
}

//! `--metrics`.

use clap::Args;

/// Where figures are served.
#[derive(Debug, Args)]
pub(crate) struct MetricsArgs {
    /// Serve figures over HTTP while it runs, at HOST:PORT, like 127.0.0.1:9184: /metrics for Prometheus, /metrics.json, and of `top` /top.json. Port 0 takes
    /// a free one, and stderr says which. Whoever can connect can read them
    #[arg(long, value_name = "ADDR", help_heading = "Output")]
    pub(crate) metrics: Option<String>,
}

//! `--remote` and what goes with it.

use clap::{Args, ValueEnum};

use super::{Count, Span};

/// Where windows are kept that several processes share.
#[derive(Debug, Args)]
#[command(next_help_heading = "Remote")]
pub(crate) struct RemoteArgs {
    /// Ask Redis or Valkey at this address, so that all who ask there judge as one
    ///
    /// redis://[user:password@]host[:port][/db], one server; redis+sentinel://host,host/name, what sentinels look after;
    /// redis+cluster://host,host, a cluster, by some of its nodes; rediss://, rediss+sentinel:// and rediss+cluster://, with TLS; unix:///path, a
    /// socket.
    ///
    /// Events are taken as they arrive, not with times of their own (--time, format combined). If the server is lost or
    /// refuses, the run ends with status 1 and names node and key; of the batch under way some events may be counted there then whose records were not passed
    /// on. Where there is --when-down, that says what else to do.
    #[arg(long, value_name = "URL")]
    pub(crate) remote: Option<String>,
    /// Whose it is what is kept there: 1 to 64 of A-Z a-z 0-9 _ - . All who share one give the same options
    #[arg(long, value_name = "NAME", default_value = "windlass", requires = "remote")]
    pub(crate) remote_namespace: String,
    /// How long a request may take, connecting included; within twice that it is noticed that a server hangs
    #[arg(long, value_name = "DUR", default_value = "1s", requires = "remote")]
    pub(crate) remote_timeout: Span,
}

/// .. of `dedup`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Remote")]
pub(crate) struct DedupRemoteArgs {
    #[command(flatten)]
    pub(crate) engine: RemoteArgs,
    /// While the servers are away: end with status 1, pass all on, or judge alone and tell them later (up to 65,536 ids). At the start they must be there
    #[arg(long, value_enum, default_value_t = WhenDown::Deny, requires = "remote")]
    pub(crate) when_down: WhenDown,
    /// When an id is admitted: once the primary has it, or once a replica has it too (what none has in time is passed on, and counted as unconfirmed)
    #[arg(long, value_enum, default_value_t = Durability::Fast, requires = "remote")]
    pub(crate) durability: Durability,
    /// Ask windlass' module, which the servers must have loaded: faster, in less memory. It has keys of its own: all who share a namespace do so, or none
    #[arg(long, requires = "remote")]
    pub(crate) by_module: bool,
}

/// .. of `limit`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Remote")]
pub(crate) struct LimitRemoteArgs {
    #[command(flatten)]
    pub(crate) engine: RemoteArgs,
    /// While the servers are away: end with status 1, allow all, or judge alone by a share of the limit (--instances). At the start they must be there
    #[arg(long, value_enum, default_value_t = WhenDown::Deny, requires = "remote")]
    pub(crate) when_down: WhenDown,
    /// With --when-down local-share: how many processes share the limit
    #[arg(long, value_name = "N", requires = "remote")]
    pub(crate) instances: Option<Count>,
    /// Ask windlass' module, which the servers must have loaded: faster. It has states of its own: all who share a namespace do so, or none
    #[arg(long, requires = "remote", conflicts_with = "policy")]
    pub(crate) by_module: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhenDown {
    Deny,
    Allow,
    LocalShare,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Durability {
    Fast,
    Confirmed,
}

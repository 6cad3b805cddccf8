//! Building a [`RemoteLimiter`].

use super::{
    Inner, RemoteLimiter, ask::Tier, denied::Denied, held::Holdings, module::Module, rule::Rule,
    stats::Counts,
};
use crate::{
    error::{ErrorKind, RemoteError},
    key::Namespace,
    remote::Remote,
};
use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};
use windlass::{Algorithm, ConfigError, KeyedLimiter, Quota};

/// How often the engine is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// By every call: exact.
    #[default]
    Ask,
    /// Permits are taken ahead, for each client, and spent here.
    ///
    /// **Nothing is over-admitted**: a permit is charged before it is spent. What is charged and not spent is lost to others: no more than `permits` of a client in each
    /// process (the cost of a call if that is more), and as many again for each answer that was lost.
    ///
    /// A permit is spent up to `hold` later than it was charged, of a fixed window never after that window's end. So what the other [`Algorithm`]s admit
    /// in any span W is what they allow in W + `hold`.
    Lease {
        /// Permits at a time, at most.
        permits: u64,
        /// How long they may be held.
        hold: Duration,
    },
    /// Calls are counted here, and the engine is told of that many `every` so often; it is asked first by a process that does not know a client, and
    /// once there are only `near` permits left.
    ///
    /// **How much is over-admitted**: of a client, by each process, at most what it grants in `every`, and at most the limit less `near` (its burst, of
    /// buckets). So with P processes no more than P times the smaller of rate times `every` and limit less `near`. Nothing where `near` is no less than
    /// twice what all of them may grant in `every`: once for what was not yet reported when one of them last asked, and once for what came after. What has been granted is
    /// charged even if that is beyond the limit, and so holds up the calls after it.
    Report {
        /// Time between two reports.
        every: Duration,
        /// Permits that are not given out without asking.
        near: u64,
    },
}

/// What becomes of calls while the engine cannot be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimiterDown {
    /// They get the error.
    #[default]
    Deny,
    /// All are allowed.
    Allow,
    /// Each process judges by itself, with its share of the quota: permits and burst divided by so many instances, rounded up. A client gets at most what it
    /// had been given before, and that many shares. What is granted so is not charged afterwards. A call that costs more than the share gets the error.
    LocalShare {
        /// How many processes there are.
        instances: u64,
    },
}

/// Settings of a [`RemoteLimiter`]. Made by [`RemoteLimiter::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct RemoteLimiterBuilder {
    remote: Remote,
    namespace: String,
    quota: Quota,
    algorithm: Algorithm,
    mode: Mode,
    down: LimiterDown,
    clients: usize,
    denied: usize,
    tier: Option<Tier>,
    by_module: bool,
}

impl RemoteLimiterBuilder {
    pub(super) fn new(remote: &Remote, namespace: &str, quota: Quota) -> Self {
        RemoteLimiterBuilder {
            remote: remote.clone(),
            namespace: namespace.to_owned(),
            quota,
            algorithm: Algorithm::default(),
            mode: Mode::default(),
            down: LimiterDown::default(),
            clients: 65_536,
            denied: 65_536,
            tier: None,
            by_module: false,
        }
    }

    /// Default: [`Algorithm::Gcra`].
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// How often the engine is asked. Default: [`Mode::Ask`].
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// What becomes of calls while the engine cannot be asked. Default: [`LimiterDown::Deny`].
    pub fn down(mut self, down: LimiterDown) -> Self {
        self.down = down;
        self
    }

    /// How many clients this process can hold something of ([`Mode`]), and can judge by itself ([`LimiterDown::LocalShare`]). Of others the engine is asked, or
    /// they are denied. Some 150 bytes each, and their names. Default: 65,536.
    pub fn clients(mut self, clients: usize) -> Self {
        self.clients = clients;
        self
    }

    /// How many clients are known here that have been denied, so that they need not ask before the time that they were told; 0: none. The newest stay. Some
    /// 60 bytes each, and their names. Default: 65,536.
    ///
    /// (Who has been given back its permits by another process, [`RemoteLimiter::forget`], is denied here until then.)
    pub fn denied(mut self, clients: usize) -> Self {
        self.denied = clients;
        self
    }

    /// Asks windlass' module in the servers (docs/module.md of the repository): about twice as fast as a script, and the same answers. With
    /// [`Mode::Ask`], and of times of whole milliseconds.
    ///
    /// It has states of its own: clients that one process asks about so, and another by script, are two clients. So it is not taken by itself where it is
    /// found; all who share a namespace are to begin with it together. For the time of one quota after that a client may get as much again.
    pub fn by_module(mut self) -> Self {
        self.by_module = true;
        self
    }

    /// Decides without a script: for tests.
    #[doc(hidden)]
    pub fn without_scripts(mut self) -> Self {
        self.tier = Some(Tier::Counted);
        self
    }

    /// Checks the settings, and whether the servers can do what they ask for. Sends nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] names the setting and its range. [`ErrorKind::Unsupported`]: the servers allow no scripts, and it is not a fixed window with
    /// [`Mode::Ask`], or they are older than 7.0.
    pub fn build(self) -> Result<RemoteLimiter, RemoteError> {
        let wrong = |field, value: String, limit: &str| ConfigError { field, value, limit: limit.to_owned() };
        let namespace = Namespace::new(&self.namespace)?;
        let rule = Rule::new(self.algorithm, self.quota, false)?;
        let tier = self.tier()?;
        let mode = || format!("{:?}", self.mode);
        if self.mode != Mode::Ask && self.algorithm == Algorithm::LeakyQueue {
            return Err(wrong("mode", mode(), "Mode::Ask, for a queue: each call has its own delay").into());
        }
        match self.mode {
            Mode::Ask => {}
            Mode::Lease { permits, hold } => {
                if !(1..=rule.burst()).contains(&permits) {
                    return Err(wrong("mode", mode(), "1 permit to the burst").into());
                }
                if hold.is_zero() {
                    return Err(wrong("mode", mode(), "some time to hold them").into());
                }
            }
            Mode::Report { every, near } => {
                if every < Duration::from_millis(1) || every > Duration::from_secs(3600) {
                    return Err(wrong("mode", mode(), "a report every 1 ms to 1 h").into());
                }
                if near > rule.burst() {
                    return Err(wrong("mode", mode(), "near: no more than the burst").into());
                }
            }
        }
        if self.clients == 0 {
            return Err(wrong("clients", "0".into(), "1 at least").into());
        }
        let alone = match self.down {
            LimiterDown::Deny | LimiterDown::Allow => None,
            LimiterDown::LocalShare { instances: 0 } => {
                return Err(wrong("down", "0 instances".into(), "1 at least").into());
            }
            LimiterDown::LocalShare { instances } => Some(self.alone(instances)?),
        };
        let held = (self.mode != Mode::Ask).then(|| Holdings::new(self.clients));
        Ok(RemoteLimiter(Arc::new(Inner {
            remote: self.remote,
            namespace,
            quota: self.quota,
            rule,
            tier,
            mode: self.mode,
            down: self.down,
            denied: Denied::new(self.denied),
            held,
            alone,
            reports: AtomicBool::new(false),
            counts: Counts::default(),
        })))
    }

    /// The quota's share, for each of so many.
    fn alone(&self, instances: u64) -> Result<KeyedLimiter, ConfigError> {
        let share = |permits: u64| permits.div_ceil(instances);
        let quota = Quota::new(share(self.quota.permits()), self.quota.per());
        let quota = match self.algorithm {
            Algorithm::Gcra | Algorithm::TokenBucket | Algorithm::LeakyQueue => {
                quota.burst(share(self.quota.capacity()))
            }
            _ => quota,
        };
        KeyedLimiter::builder(quota).algorithm(self.algorithm).clients(self.clients).build()
    }

    /// Scripts wherever they are allowed: they count by the windows of the clock, as the core does.
    fn tier(&self) -> Result<Tier, RemoteError> {
        let can = self.remote.capabilities();
        let suits = self.algorithm == Algorithm::FixedWindow && self.mode == Mode::Ask;
        let recent = can.version.is_none_or(|version| version >= (7, 0, 0));
        if self.by_module {
            if !can.module {
                let what =
                    "windlass' module is not loaded in all of the servers, or COMMAND INFO is not allowed";
                return Err(RemoteError::new(ErrorKind::Unsupported, what));
            }
            if self.mode != Mode::Ask {
                let limit = "Mode::Ask, by the module".to_owned();
                return Err(ConfigError { field: "mode", value: format!("{:?}", self.mode), limit }.into());
            }
            return Ok(Tier::Module(Module::new(self.algorithm, self.quota)?));
        }
        match self.tier {
            None if can.scripts => Ok(Tier::Script),
            _ if suits && can.increx => Ok(Tier::Bounded),
            _ if suits && recent => Ok(Tier::Counted),
            _ => {
                let what = "the servers allow no scripts: there are only fixed windows, with Mode::Ask, and from 7.0 on";
                Err(RemoteError::new(ErrorKind::Unsupported, what))
            }
        }
    }
}

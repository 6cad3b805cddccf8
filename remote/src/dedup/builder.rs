//! Building a [`RemoteDedup`].

use super::{
    Inner, RemoteDedup,
    alone::Alone,
    known::Known,
    module,
    question::{Tier, millis},
    stats::Counts,
};
use crate::{
    error::{ErrorKind, RemoteError},
    key::{Kind, Namespace},
    remote::Remote,
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use windlass::{Clock, ConfigError};

/// What "fresh" promises when a server is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// The primary has it. What it had not yet sent to its replica when it is lost may be admitted again.
    #[default]
    Fast,
    /// A replica has it as well (WAIT 1, on the same connection); if none has in time the answer is
    /// [`super::Observed::Unconfirmed`]. Costs a round trip to the replica, and wants servers from 7.0 on.
    Confirmed,
}

/// What becomes of events while the engine cannot be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Down {
    /// They get the error: nothing is admitted.
    #[default]
    Deny,
    /// All are admitted, unseen.
    Allow,
    /// Each process judges by itself, exactly: during an outage an id is admitted at most once in each of them, and not in the one that has admitted it before and still knows
    /// it ([`RemoteDedupBuilder::known`]). When the engine is back it is told
    /// what was admitted, so that later duplicates are caught, and what several had admitted is counted.
    LocalShare,
}

/// Settings of a [`RemoteDedup`]. Made by [`RemoteDedup::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct RemoteDedupBuilder {
    remote: Remote,
    namespace: String,
    window: Duration,
    level: Level,
    down: Down,
    known: usize,
    alone: usize,
    tier: Option<Tier>,
    clock: Option<Clock>,
}

impl RemoteDedupBuilder {
    pub(super) fn new(remote: &Remote, namespace: &str, window: Duration) -> Self {
        RemoteDedupBuilder {
            remote: remote.clone(),
            namespace: namespace.to_owned(),
            window,
            level: Level::default(),
            down: Down::default(),
            known: 65_536,
            alone: 65_536,
            tier: None,
            clock: None,
        }
    }

    /// What "fresh" promises when a server is lost. Default: [`Level::Fast`].
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// What becomes of events while the engine cannot be asked. Default: [`Down::Deny`].
    pub fn down(mut self, down: Down) -> Self {
        self.down = down;
        self
    }

    /// How many ids that this process has admitted are known here, so that their duplicates need no round trip; 0: none. The
    /// newest stay. 40 bytes each. Default: 65,536.
    ///
    /// During an outage these stay duplicates. Others are not told from new ones: with [`Down::LocalShare`] this process may admit them once more, though it has admitted them itself.
    pub fn known(mut self, ids: usize) -> Self {
        self.known = ids;
        self
    }

    pub(crate) fn known_ids(&self) -> usize {
        self.known
    }

    /// How many ids this process may admit by itself while the engine is down ([`Down::LocalShare`]); after these, new ids get
    /// the error. 40 bytes each, and about 60 and the id's length for each that waits. Default: 65,536.
    pub fn alone(mut self, ids: usize) -> Self {
        self.alone = ids;
        self
    }

    /// Asks windlass' module in the servers (docs/module.md of the repository): a batch of hundreds is a few commands with many ids each, which costs the servers less than one
    /// for each id, and an id takes a part of the memory. Windows of up to 366 days.
    ///
    /// It has keys of its own: an id that one process asks about so and another without it may be admitted by both. So it is not taken by itself where it is found; all who share a namespace begin with it
    /// together, and what was admitted less than a window before may be admitted once more.
    ///
    /// The answers are the same, lost answers and [`Level::Confirmed`] included. But what is told to the engine after an outage ([`Down::LocalShare`]) counts as seen for up to a sixteenth of what was left
    /// of its window longer. The keys, of which a namespace has 32, stay when all of their ids are gone: delete those of a namespace that is not used any more.
    pub fn by_module(mut self) -> Self {
        self.tier = Some(Tier::Module);
        self
    }

    pub(crate) fn is_by_module(&self) -> bool {
        self.tier == Some(Tier::Module)
    }

    /// Admits by a script also where it could be done without: for tests.
    #[doc(hidden)]
    pub fn by_script(mut self) -> Self {
        self.tier = Some(Tier::Script);
        self
    }

    /// The clock of what is kept here: for tests.
    #[doc(hidden)]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Checks the settings, and whether the servers can do what they ask for. Sends nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] names the setting and its range. [`ErrorKind::Unsupported`]: the servers are older than 7.0 and allow no
    /// scripts, or have not loaded the module that is asked for, or with [`Level::Confirmed`] older than 7.0.
    pub fn build(self) -> Result<RemoteDedup, RemoteError> {
        let wrong = |field, value: String, limit: &str| ConfigError { field, value, limit: limit.to_owned() };
        let namespace = Namespace::new(&self.namespace)?;
        let window = self.window;
        let range = Duration::from_millis(1)..=Duration::from_secs(10 * 365 * 86_400);
        if !range.contains(&window) || !window.subsec_nanos().is_multiple_of(1_000_000) {
            return Err(
                wrong("window", format!("{window:?}"), "1 ms to 10 years, in whole milliseconds").into()
            );
        }
        // The core's longest window is shorter than the engine's.
        if window > Duration::from_secs(4 * 365 * 86_400) && (self.known > 0 || self.down == Down::LocalShare)
        {
            let limit = "4 years at most where ids are kept here as well: known(0), and not Down::LocalShare";
            return Err(wrong("window", format!("{window:?}"), limit).into());
        }
        let can = self.remote.capabilities();
        let tier = match self.tier {
            Some(tier) => tier,
            None if can.set_nx_get => Tier::Native,
            None => Tier::Script,
        };
        if tier == Tier::Script && !can.scripts {
            let what = "admission wants SET with NX and GET (7.0 or newer), or scripts: it has neither";
            return Err(RemoteError::new(ErrorKind::Unsupported, what));
        }
        if tier == Tier::Module {
            if !can.module {
                let what =
                    "windlass' module is not loaded in all of the servers, or COMMAND INFO is not allowed";
                return Err(RemoteError::new(ErrorKind::Unsupported, what));
            }
            if window > Duration::from_millis(module::LONGEST) {
                return Err(wrong("window", format!("{window:?}"), "366 days at most, by the module").into());
            }
        }
        if self.level == Level::Confirmed && !can.set_nx_get {
            return Err(RemoteError::new(
                ErrorKind::Unsupported,
                "Level::Confirmed wants servers from 7.0 on",
            ));
        }
        let clock = self.clock.unwrap_or_else(Clock::monotonic);
        let known = Known::new(self.known, window, self.remote.timeout(), clock.clone())?;
        let alone = match self.down {
            Down::LocalShare => Some(Alone::new(self.alone, window, clock.clone())?),
            Down::Deny | Down::Allow => None,
        };
        let (level, down, counts) = (self.level, self.down, Counts::default());
        let tried = Mutex::new(None);
        let remote = self.remote;
        Ok(RemoteDedup(Arc::new(Inner {
            remote,
            prefix: namespace.prefix(Kind::Dedup),
            namespace,
            window,
            span: millis(window),
            level,
            down,
            tier,
            known,
            alone,
            clock,
            counts,
            tried,
        })))
    }
}

//! The members of a ring, and who has which id.

use super::Settings;
use crate::{dedup::RemoteDedup, error::RemoteError, remote::Remote};
use std::time::{Duration, Instant};
use windlass::{ConfigError, HashRing, Node, Seed};

/// A member of a [`super::RemoteRing`].
#[derive(Clone, Debug)]
pub struct Member {
    name: String,
    weight: u32,
    remote: Remote,
}

impl Member {
    /// By a name that all processes give it, and that stays when its address changes.
    pub fn new(name: impl Into<String>, remote: &Remote) -> Member {
        Member { name: name.into(), weight: 1, remote: remote.clone() }
    }

    /// How much of all it takes, beside the others. Default: 1.
    #[must_use]
    pub fn weight(mut self, weight: u32) -> Member {
        self.weight = weight;
        self
    }
}

/// What becomes of ids whose owner changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Handover {
    /// The owner before is asked as well, for a window and `within`, so that none is admitted twice.
    Ask {
        /// All processes change within this time.
        within: Duration,
    },
    /// The owner before is not asked: it is lost, and so are its ids, which may be admitted again.
    Lost,
}

/// Members, and the ring that they make.
pub(super) struct Members {
    ring: HashRing,
    all: Vec<(String, RemoteDedup)>,
    timeout: Duration,
}

impl Members {
    /// Those of a name that there was `before` stay.
    pub(super) fn new(
        members: Vec<Member>,
        before: Option<&Members>,
        settings: &Settings,
    ) -> Result<Members, RemoteError> {
        let wrong =
            |value: String, limit: &str| ConfigError { field: "members", value, limit: limit.to_owned() };
        if members.is_empty() {
            return Err(wrong("none".to_owned(), "one at least").into());
        }
        let nodes =
            (0..).zip(&members).map(|(id, member)| Node::new(id, &*member.name).weight(member.weight));
        // The same in all processes.
        let ring = HashRing::builder().seed(Seed(0)).nodes(nodes).build()?;
        let timeout = members.iter().map(|member| member.remote.timeout()).max().unwrap_or_default();
        let mut all: Vec<(String, RemoteDedup)> = Vec::with_capacity(members.len());
        for member in members {
            let same = before.and_then(|before| before.all.iter().find(|(name, _)| *name == member.name));
            let dedup = match same {
                Some((_, dedup)) => dedup.clone(),
                // Nothing is known here: what a new owner has admitted can turn out to be a duplicate.
                None => settings(&member.remote).known(0).build()?,
            };
            let other = all.first().map(|(_, first)| first).or(before.map(|before| &before.all[0].1));
            if other.is_some_and(|other| other.window() != dedup.window()) {
                return Err(wrong(format!("{:?}: another window", member.name), "the same for all").into());
            }
            all.push((member.name, dedup));
        }
        Ok(Members { ring, all, timeout })
    }

    /// Its name, and how it is asked.
    pub(super) fn owner(&self, id: &[u8]) -> (&str, &RemoteDedup) {
        let at = self.ring.route(id).and_then(|at| usize::try_from(at).ok()).unwrap_or(0);
        let (name, dedup) = &self.all[at];
        (name, dedup)
    }

    pub(super) fn window(&self) -> Duration {
        self.all[0].1.window()
    }

    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.all.iter().map(|(name, _)| &**name).collect()
    }
}

/// The ring, and while it changes the one before, with when that ends.
pub(super) struct Routes {
    pub(super) now: std::sync::Arc<Members>,
    pub(super) before: Option<(std::sync::Arc<Members>, Instant)>,
}

impl Routes {
    pub(super) fn changing(&self) -> Option<Duration> {
        let (_, until) = self.before.as_ref()?;
        until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }

    /// Of both; a member may come twice.
    pub(super) fn all(&self) -> impl Iterator<Item = &RemoteDedup> {
        let before = self.before.iter().flat_map(|(before, _)| &before.all);
        self.now.all.iter().chain(before).map(|(_, dedup)| dedup)
    }
}

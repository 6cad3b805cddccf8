//! The members of a ring, and who has which id.

use crate::{dedup::RemoteDedup, error::RemoteError, remote::Remote};
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};
use windlass::{ConfigError, HashRing, Node, Seed};

/// A member of a [`super::RemoteRing`], or of a [`super::RemoteLimiterRing`].
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

    pub(super) fn remote(&self) -> &Remote {
        &self.remote
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

/// Members, each with what is asked there, and the ring that they make.
pub(super) struct Members<T> {
    ring: HashRing,
    all: Vec<(String, T)>,
    timeout: Duration,
}

impl<T: Clone> Members<T> {
    /// Those of a name that there was `before` stay.
    pub(super) fn new(
        members: Vec<Member>,
        before: Option<&Members<T>>,
        build: impl Fn(&Remote) -> Result<T, RemoteError>,
    ) -> Result<Members<T>, RemoteError> {
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
        let mut all: Vec<(String, T)> = Vec::with_capacity(members.len());
        for member in members {
            let same = before.and_then(|before| before.all.iter().find(|(name, _)| *name == member.name));
            let own = match same {
                Some((_, own)) => own.clone(),
                None => build(&member.remote)?,
            };
            all.push((member.name, own));
        }
        Ok(Members { ring, all, timeout })
    }

    /// Its name, and how it is asked.
    pub(super) fn owner(&self, id: &[u8]) -> (&str, &T) {
        let at = self.ring.route(id).and_then(|at| usize::try_from(at).ok()).unwrap_or(0);
        let (name, own) = &self.all[at];
        (name, own)
    }

    /// Something that has to be the same for all of them, and as it was.
    ///
    /// # Errors
    /// Names one where it is not.
    pub(super) fn agree<P: PartialEq>(
        &self,
        before: Option<&Members<T>>,
        what: &str,
        of: impl Fn(&T) -> P,
    ) -> Result<(), RemoteError> {
        let first = of(&before.unwrap_or(self).all[0].1);
        match self.all.iter().find(|(_, own)| of(own) != first) {
            None => Ok(()),
            Some((name, _)) => Err(ConfigError {
                field: "members",
                value: format!("{name:?}: another {what}"),
                limit: "the same for all".to_owned(),
            }
            .into()),
        }
    }

    pub(super) fn each(&self) -> impl Iterator<Item = (&str, &T)> {
        self.all.iter().map(|(name, own)| (&**name, own))
    }

    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.each().map(|(name, _)| name).collect()
    }
}

impl Members<RemoteDedup> {
    pub(super) fn window(&self) -> Duration {
        self.all[0].1.window()
    }
}

/// Of each member what is asked there, and what about.
pub(super) type Groups<'a, T, Q> = HashMap<&'a str, (&'a T, Vec<Q>)>;

pub(super) fn grouped<'a, T, Q>(all: Vec<(Q, (&'a str, &'a T))>) -> Groups<'a, T, Q> {
    let mut groups = Groups::new();
    for (one, (name, own)) in all {
        groups.entry(name).or_insert_with(|| (own, Vec::new())).1.push(one);
    }
    groups
}

/// The ring, and while it changes the one before, with when that ends.
pub(super) struct Routes {
    pub(super) now: std::sync::Arc<Members<RemoteDedup>>,
    pub(super) before: Option<(std::sync::Arc<Members<RemoteDedup>>, Instant)>,
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

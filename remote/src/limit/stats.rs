//! Figures of a [`super::RemoteLimiter`].

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Plain figures about a [`super::RemoteLimiter`], of this process alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteLimiterStats {
    /// Calls that the engine allowed.
    pub allowed: u64,
    /// Calls that the engine denied.
    pub denied: u64,
    /// Calls that were allowed without asking it: of permits taken ahead, or to be reported ([`super::Mode`]).
    pub allowed_here: u64,
    /// Calls that were denied without asking it: until a time that it had said.
    pub denied_here: u64,
    /// Calls that were allowed while it was down ([`super::LimiterDown`]).
    pub allowed_alone: u64,
    /// .. and denied.
    pub denied_alone: u64,
    /// Calls that got an error.
    pub errors: u64,
    /// Permits that the engine was told of afterwards ([`super::Mode::Report`]).
    pub reported: u64,
    /// Permits that were taken ahead and ended unspent ([`super::Mode::Lease`]), as far as has been noticed.
    pub unspent: u64,
}

/// Relaxed everywhere: each is a figure by itself, and orders nothing.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) allowed: AtomicU64,
    pub(super) denied: AtomicU64,
    pub(super) allowed_here: AtomicU64,
    pub(super) denied_here: AtomicU64,
    pub(super) allowed_alone: AtomicU64,
    pub(super) denied_alone: AtomicU64,
    pub(super) errors: AtomicU64,
    pub(super) reported: AtomicU64,
    pub(super) unspent: AtomicU64,
}

impl Counts {
    pub(super) fn read(&self) -> RemoteLimiterStats {
        RemoteLimiterStats {
            allowed: self.allowed.load(Relaxed),
            denied: self.denied.load(Relaxed),
            allowed_here: self.allowed_here.load(Relaxed),
            denied_here: self.denied_here.load(Relaxed),
            allowed_alone: self.allowed_alone.load(Relaxed),
            denied_alone: self.denied_alone.load(Relaxed),
            errors: self.errors.load(Relaxed),
            reported: self.reported.load(Relaxed),
            unspent: self.unspent.load(Relaxed),
        }
    }
}

pub(super) fn count(figure: &AtomicU64, by: u64) {
    figure.fetch_add(by, Relaxed);
}

//! Figures of a [`super::RemoteLimiter`].

use crate::figure::Figure;

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

#[derive(Default)]
pub(super) struct Counts {
    pub(super) allowed: Figure,
    pub(super) denied: Figure,
    pub(super) allowed_here: Figure,
    pub(super) denied_here: Figure,
    pub(super) allowed_alone: Figure,
    pub(super) denied_alone: Figure,
    pub(super) errors: Figure,
    pub(super) reported: Figure,
    pub(super) unspent: Figure,
}

impl Counts {
    pub(super) fn read(&self) -> RemoteLimiterStats {
        RemoteLimiterStats {
            allowed: self.allowed.get(),
            denied: self.denied.get(),
            allowed_here: self.allowed_here.get(),
            denied_here: self.denied_here.get(),
            allowed_alone: self.allowed_alone.get(),
            denied_alone: self.denied_alone.get(),
            errors: self.errors.get(),
            reported: self.reported.get(),
            unspent: self.unspent.get(),
        }
    }
}

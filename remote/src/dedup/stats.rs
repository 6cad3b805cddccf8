//! Figures of a [`super::RemoteDedup`].

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Plain figures about a [`super::RemoteDedup`], of this process alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteDedupStats {
    /// Events that the engine found fresh.
    pub fresh: u64,
    /// Events that the engine found to be duplicates.
    pub duplicates: u64,
    /// Duplicates that were known here: no round trip.
    pub known: u64,
    /// Duplicates of an event of the same batch.
    pub within_batch: u64,
    /// Fresh events whose token the engine had already: an answer was lost, and asked for again.
    pub own: u64,
    /// Fresh events that no replica had in time, with [`super::Level::Confirmed`].
    pub unconfirmed: u64,
    /// Events that got an error.
    pub errors: u64,
    /// Events that were admitted without the engine while it was down: unseen ([`super::Down::Allow`]) or judged alone
    /// ([`super::Down::LocalShare`]).
    pub admitted_alone: u64,
    /// Duplicates of such, with [`super::Down::LocalShare`].
    pub duplicates_alone: u64,
    /// Ids that the engine has yet to be told of.
    pub waiting: u64,
    /// Ids that it has been told of since.
    pub replayed: u64,
    /// .. which somebody else had admitted as well meanwhile: admitted twice.
    pub conflicts: u64,
    /// Ids whose window ended before the engine came back.
    pub expired: u64,
    /// Ids that the engine refused to be told of (of another type, say).
    pub dropped: u64,
}

/// Relaxed everywhere: each is a figure by itself, and orders nothing.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) fresh: AtomicU64,
    pub(crate) duplicates: AtomicU64,
    pub(crate) known: AtomicU64,
    pub(crate) within_batch: AtomicU64,
    pub(crate) own: AtomicU64,
    pub(crate) unconfirmed: AtomicU64,
    pub(crate) errors: AtomicU64,
    pub(crate) admitted_alone: AtomicU64,
    pub(crate) duplicates_alone: AtomicU64,
    pub(crate) replayed: AtomicU64,
    pub(crate) conflicts: AtomicU64,
    pub(crate) expired: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

pub(crate) fn count(figure: &AtomicU64) {
    figure.fetch_add(1, Relaxed);
}

impl Counts {
    pub(crate) fn read(&self, waiting: usize) -> RemoteDedupStats {
        let Counts {
            fresh,
            duplicates,
            known,
            within_batch,
            own,
            unconfirmed,
            errors,
            admitted_alone,
            duplicates_alone,
            replayed,
            conflicts,
            expired,
            dropped,
        } = self;
        RemoteDedupStats {
            fresh: fresh.load(Relaxed),
            duplicates: duplicates.load(Relaxed),
            known: known.load(Relaxed),
            within_batch: within_batch.load(Relaxed),
            own: own.load(Relaxed),
            unconfirmed: unconfirmed.load(Relaxed),
            errors: errors.load(Relaxed),
            admitted_alone: admitted_alone.load(Relaxed),
            duplicates_alone: duplicates_alone.load(Relaxed),
            waiting: waiting as u64,
            replayed: replayed.load(Relaxed),
            conflicts: conflicts.load(Relaxed),
            expired: expired.load(Relaxed),
            dropped: dropped.load(Relaxed),
        }
    }
}

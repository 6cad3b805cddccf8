//! Figures of a [`super::RemoteDedup`].

use crate::figure::Figure;

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
    /// .. which somebody else had admitted as well meanwhile: admitted twice. (By the module also those whose question was carried out after all, though its answer never came.)
    pub conflicts: u64,
    /// Ids whose window ended before the engine came back.
    pub expired: u64,
    /// Ids that the engine refused to be told of (of another type, say).
    pub dropped: u64,
}

#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) fresh: Figure,
    pub(crate) duplicates: Figure,
    pub(crate) known: Figure,
    pub(crate) within_batch: Figure,
    pub(crate) own: Figure,
    pub(crate) unconfirmed: Figure,
    pub(crate) errors: Figure,
    pub(crate) admitted_alone: Figure,
    pub(crate) duplicates_alone: Figure,
    pub(crate) replayed: Figure,
    pub(crate) conflicts: Figure,
    pub(crate) expired: Figure,
    pub(crate) dropped: Figure,
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
            fresh: fresh.get(),
            duplicates: duplicates.get(),
            known: known.get(),
            within_batch: within_batch.get(),
            own: own.get(),
            unconfirmed: unconfirmed.get(),
            errors: errors.get(),
            admitted_alone: admitted_alone.get(),
            duplicates_alone: duplicates_alone.get(),
            waiting: waiting as u64,
            replayed: replayed.get(),
            conflicts: conflicts.get(),
            expired: expired.get(),
            dropped: dropped.get(),
        }
    }
}

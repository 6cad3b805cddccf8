//! What a cell keeps of a key: its fingerprint, or a part of it and where the key's bytes are.

#[cfg(windlass_loom)]
use super::truth::Name;
use super::{
    arena::{Ahead, Arena, NotPut, Reference},
    entry::Entry,
};
use crate::sync::{epoch::Guard, twin};
use std::cell::Cell;

/// A key as a call brings it.
pub(crate) trait Id: Copy {
    /// Whether memory would help where [`Id::low`] has failed.
    const NEEDS_ROOM: bool = true;

    /// To look for the key needs so many registers that it is better to know the least cell before.
    const EAGER: bool = true;

    /// What places it: the low bits choose the bucket, the high ones the group. Part of the low word of its cell.
    fn key(self) -> u64;

    /// The bits of a low word by which a cell can be told not to be its.
    const MASK: u64 = !REFERENCE;

    /// These bits, where it may be.
    fn mark(self) -> u64;

    /// Whether a cell with this low word can be its.
    #[inline(always)]
    fn may_be(self, low: u64) -> bool {
        low & Self::MASK == self.mark()
    }

    /// Whether such a cell is, live or gone. `gone`: whether a state is, by the horizon of now.
    fn is(self, entry: Entry, gone: impl Fn(u64) -> bool) -> Is;

    /// The low word for the state `next`, in its own cell or (`None`) in another.
    fn low(self, next: u64, own: Option<Entry>) -> Result<u64, NotPut>;

    /// The state that `low` was asked for has been published; the key's cell held `own`, if it had one.
    #[inline(always)]
    fn is_put(self, _next: u64, _own: Option<Entry>) {}

    /// Nothing has been published as yet: another was faster, if `low` was asked.
    fn is_not_put(self) {}

    /// An entry was overwritten that was not gone. Whether it was there until now.
    #[inline(always)]
    fn evicts(self, _: Entry) -> bool {
        true
    }

    /// What remains of a cell's low word when its state is raised without its key: a reference belongs to the slice of the state.
    fn raised(low: u64) -> u64 {
        if twin!(RaiseNamed) { low } else { tag(low) }
    }

    /// For models: by what the truth knows it.
    #[cfg(windlass_loom)]
    fn name(self) -> Name;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Is {
    Yes,
    No,
    /// Nobody can tell any more: its bytes have gone. But somebody may who saw it earlier, so it must be buried before the
    /// key gets another cell.
    Doubtful,
}

/// Told apart by 64 bits of hash.
#[derive(Clone, Copy)]
pub(crate) struct Hashed(pub(crate) u64);

impl Id for Hashed {
    const EAGER: bool = false;

    #[inline(always)]
    fn key(self) -> u64 {
        self.0
    }

    const MASK: u64 = u64::MAX;

    #[inline(always)]
    fn mark(self) -> u64 {
        self.0
    }

    #[inline(always)]
    fn is(self, entry: Entry, _: impl Fn(u64) -> bool) -> Is {
        // An empty cell has the fingerprint 0 as well.
        if entry.state() == 0 { Is::No } else { Is::Yes }
    }

    #[inline(always)]
    fn low(self, _: u64, _: Option<Entry>) -> Result<u64, NotPut> {
        Ok(self.0)
    }

    #[inline(always)]
    fn raised(low: u64) -> u64 {
        low
    }

    #[cfg(windlass_loom)]
    fn name(self) -> Name {
        Name::Hash(self.0)
    }
}

/// Where the bytes of keys are: with each change of a key they are in the slice of its state.
pub(crate) struct Bytes {
    pub(super) arena: Arena,
    /// Added to a state before its slice is taken: see `Plan::bytes`.
    lead: u64,
}

/// ```text
///  63               35 34                        3 2        0
/// +-------------------+---------------------------+----------+
/// |     tag (29)      | reference (32), inverted  |  bucket  |
/// +-------------------+---------------------------+----------+
/// ```
/// 0 is no reference: of a cell that is empty or was buried.
const REFERENCE: u64 = 0xffff_ffff << 3;

/// The part of a hash that a cell keeps.
#[inline(always)]
pub(super) fn tag(hash: u64) -> u64 {
    hash & !REFERENCE
}

#[allow(clippy::cast_possible_truncation)] // these 32 bits
fn reference(low: u64) -> Option<Reference> {
    let inverted = ((low & REFERENCE) >> 3) as u32;
    (inverted != 0).then_some(Reference(!inverted))
}

fn low(tag: u64, reference: Reference) -> u64 {
    tag | u64::from(!reference.0) << 3
}

/// What a buried cell holds.
pub(super) fn buried(entry: Entry) -> Entry {
    Entry::new(tag(entry.key()), entry.high())
}

impl Bytes {
    pub(crate) fn new(arena: Arena, lead: u64) -> Bytes {
        Bytes { arena, lead }
    }

    fn slice(&self, state: u64) -> u64 {
        self.arena.slice(state.saturating_add(self.lead))
    }

    /// Asks for the bytes of an entry's key.
    #[inline(always)]
    pub(super) fn prefetch(&self, entry: Entry, guard: &Guard) {
        if let Some(at) = reference(entry.key()) {
            self.arena.prefetch(self.slice(entry.state()), at, guard);
        }
    }

    pub(super) fn lead(&self) -> u64 {
        self.lead
    }

    /// The key of an entry has been given up, or has its bytes in another slice. Whether they were there.
    #[cold]
    #[inline(never)]
    fn leave(&self, entry: Entry, guard: &Guard) -> bool {
        reference(entry.key()).is_some() && self.arena.orphan(self.slice(entry.state()), false, guard)
    }

    /// A key that has a cell got another state: it leaves what it had in another slice.
    #[inline(always)]
    fn moves(&self, own: Option<Entry>, next: u64, guard: &Guard) {
        if let Some(own) = own
            && self.slice(own.state()) != self.slice(next)
        {
            self.leave(own, guard);
        }
    }

    /// Whether somebody who brings the entry's key would find it here: it was not buried, and not driven out.
    pub(super) fn has(&self, entry: Entry, guard: &Guard) -> bool {
        let slice = self.slice(entry.state());
        reference(entry.key()).is_some_and(|at| self.arena.is_there(slice, at, guard))
    }

    /// Replaces what is in `out` with the bytes of the entry's key, and gives its label. `None`: it was buried, or they are gone.
    pub(super) fn read(&self, entry: Entry, out: &mut Vec<u8>, guard: &Guard) -> Option<u32> {
        self.arena.read(self.slice(entry.state()), reference(entry.key())?, out, guard)
    }

    /// Lets go of the bytes of what is gone.
    pub(super) fn retire(&self, horizon: u64, guard: &Guard) -> usize {
        self.arena.retire(horizon.saturating_add(self.lead), guard)
    }
}

/// Where the bytes of a call's key are.
#[derive(Clone, Copy)]
pub(crate) struct Put {
    slice: u64,
    at: Reference,
    /// Put there by this call.
    new: bool,
    /// .. for nothing as yet: another was faster.
    orphan: bool,
}

/// Told apart by its bytes.
#[derive(Clone, Copy)]
pub(crate) struct Exact<'a, 'g> {
    tag: u64,
    label: u32,
    bytes: &'a [u8],
    keys: &'g Bytes,
    guard: &'g Guard,
    /// Where they are, once this call knows.
    put: &'a Cell<Option<Put>>,
    /// For one of many calls.
    ahead: Option<&'a Ahead<'g>>,
}

impl<'a, 'g> Exact<'a, 'g> {
    /// `hash`: the low half of its hash. `put`: for the call's use.
    pub(crate) fn new(
        hash: u64,
        (label, bytes): (u32, &'a [u8]),
        keys: &'g Bytes,
        guard: &'g Guard,
        put: &'a Cell<Option<Put>>,
    ) -> Self {
        Exact { tag: tag(hash), label, bytes, keys, guard, put, ahead: None }
    }

    /// As one of many calls under one guard, by one thread.
    #[inline(always)]
    pub(super) fn with(self, ahead: Option<&'a Ahead<'g>>) -> Self {
        Exact { ahead, ..self }
    }

    /// The low word of the cell that this call has published, if it has.
    pub(super) fn published(self) -> u64 {
        self.put.get().map_or(self.tag, |put| low(self.tag, put.at))
    }
}

impl Id for Exact<'_, '_> {
    #[inline(always)]
    fn key(self) -> u64 {
        self.tag
    }

    #[inline(always)]
    fn mark(self) -> u64 {
        self.tag
    }

    #[inline(always)]
    fn is(self, entry: Entry, _: impl Fn(u64) -> bool) -> Is {
        let Some(at) = reference(entry.key()) else { return Is::No };
        // Its segment after the cell: it is there, live or gone, or can be seen to have been let go.
        match self.keys.arena.holds(self.keys.slice(entry.state()), at, self.label, self.bytes, self.guard) {
            Some(true) => Is::Yes,
            Some(false) => Is::No,
            None => Is::Doubtful,
        }
    }

    #[inline(always)]
    fn low(self, next: u64, own: Option<Entry>) -> Result<u64, NotPut> {
        let slice = self.keys.slice(next);
        if let Some(own) = own
            && self.keys.slice(own.state()) == slice
        {
            let put = |at| Put { slice, at, new: false, orphan: false };
            self.put.set(reference(own.key()).map(put));
            return Ok(own.key());
        }
        if let Some(put) = self.put.get()
            && put.slice == slice
        {
            // For another attempt.
            if put.orphan {
                self.keys.arena.orphan(slice, true, self.guard);
                self.put.set(Some(Put { orphan: false, ..put }));
            }
            return Ok(low(self.tag, put.at));
        }
        let at = match self.ahead {
            None => self.keys.arena.put(slice, self.label, self.bytes, self.guard)?,
            Some(ahead) => self.keys.arena.put_ahead(ahead, slice, self.label, self.bytes, self.guard)?,
        };
        self.put.set(Some(Put { slice, at, new: true, orphan: false }));
        Ok(low(self.tag, at))
    }

    #[inline(always)]
    fn is_put(self, next: u64, own: Option<Entry>) {
        self.keys.moves(own, next, self.guard);
    }

    fn is_not_put(self) {
        if let Some(put) = self.put.get().filter(|put| put.new && !put.orphan) {
            self.keys.arena.orphan(put.slice, false, self.guard);
            self.put.set(Some(Put { orphan: true, ..put }));
        }
    }

    #[cold]
    #[inline(never)]
    fn evicts(self, entry: Entry) -> bool {
        self.keys.leave(entry, self.guard)
    }

    #[cfg(windlass_loom)]
    fn name(self) -> Name {
        Name::Bytes(self.label, self.bytes.to_vec())
    }
}

/// A key that is known by where its bytes are: the low word of a cell that it had, and its state then. When these bytes have gone it
/// counts as absent, and is put nowhere.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    low: u64,
    slice: u64,
    keys: &'a Bytes,
    guard: &'a Guard,
}

impl<'a> Known<'a> {
    pub(crate) fn new(low: u64, state: u64, keys: &'a Bytes, guard: &'a Guard) -> Self {
        Known { low, slice: keys.slice(state), keys, guard }
    }
}

impl Id for Known<'_> {
    const NEEDS_ROOM: bool = false;

    fn key(self) -> u64 {
        tag(self.low)
    }

    fn mark(self) -> u64 {
        tag(self.low)
    }

    /// By the bytes, as [`Exact`] does: in a newer table the key may have others of its own.
    fn is(self, entry: Entry, gone: impl Fn(u64) -> bool) -> Is {
        let (Some(own), Some(at)) = (reference(self.low), reference(entry.key())) else { return Is::No };
        let (own, there) = ((self.slice, own), (self.keys.slice(entry.state()), at));
        if twin!(KnownByPlace) && own != there {
            return Is::No;
        }
        if gone(entry.state()) {
            return Is::Doubtful;
        }
        match self.keys.arena.same(own, there, self.guard) {
            Some(true) => Is::Yes,
            Some(false) => Is::No,
            None if self.keys.arena.is_there(own.0, own.1, self.guard) => Is::Doubtful,
            // It may be anybody's, and alive.
            None => Is::No,
        }
    }

    fn low(self, next: u64, own: Option<Entry>) -> Result<u64, NotPut> {
        let to = self.keys.slice(next);
        if let Some(own) = own
            && self.keys.slice(own.state()) == to
        {
            return Ok(own.key());
        }
        // (After the look at the cells: if its bytes are still there, none of them was taken for another's because they were not.)
        let at = reference(self.low).ok_or(NotPut::Gone)?;
        Ok(low(tag(self.low), self.keys.arena.carry(self.slice, at, to, self.guard)?))
    }

    fn is_put(self, next: u64, own: Option<Entry>) {
        self.keys.moves(own, next, self.guard);
    }

    #[cfg(windlass_loom)]
    fn name(self) -> Name {
        let mut bytes = Vec::new();
        let read = |at| self.keys.arena.read(self.slice, at, &mut bytes, self.guard);
        reference(self.low).and_then(read).map_or(Name::Unknown, |label| Name::Bytes(label, bytes))
    }
}

/// The record of an entry, to be looked for in other tables.
pub(super) struct Record {
    bytes: Vec<u8>,
    put: Cell<Option<Put>>,
}

impl Record {
    pub(super) fn new() -> Record {
        Record { bytes: Vec::new(), put: Cell::new(None) }
    }

    /// `None`: it has been buried, or its bytes are gone.
    pub(super) fn of<'a>(
        &'a mut self,
        entry: Entry,
        keys: &'a Bytes,
        guard: &'a Guard,
    ) -> Option<Exact<'a, 'a>> {
        let (slice, at) = (keys.slice(entry.state()), reference(entry.key())?);
        let label = keys.arena.read(slice, at, &mut self.bytes, guard)?;
        self.put.set(Some(Put { slice, at, new: false, orphan: false }));
        Some(Exact::new(entry.key(), (label, &self.bytes), keys, guard, &self.put))
    }
}

//! One key in several tables.
//!
//! While a table is replaced by a larger or smaller one, the new one lies on top of it, and a call goes from the newest to the
//! oldest.
//!
//! - **Only the newest is changed.** A key that has a cell there, live or gone, is at its latest there.
//! - **Before a key is put there** its row in every older table is sealed, and looked at after that. So what it is decided on does not
//!   change any more; and the CAS in the newest vouches for it that nobody else has put it there (`group.rs`). A call that comes
//!   upon a seal finds the newer table: the seal carries it.
//! - **An answer that changes nothing** and found the key live in an older table is right as of that look, or of the one at the newest,
//!   whichever was later: who puts it into the newest does it after both. "Absent" is right only if the newest still has no
//!   cell of the key after that: what lived below may have come up in between, or been changed up there and the horizon
//!   have passed what lies below.
//! - **Emptying** begins when every call has ended that found one of the old tables on top (an epoch): from then on nothing
//!   changes in them, sealed or not. Group by group, what lives in the oldest is put into the newest, with the state it has, unless
//!   the key has come there by itself, stands in a table between, or is gone. When all are done the table is taken out, and
//!   freed when nobody can see it. Calls wait with that until the horizon has passed what was put there: as a rule expiry is
//!   the migration.
//!
//! Who only looks need not mind that a table is taken out meanwhile: what lived in it is in the newest by then, which is looked at
//! after it. Model, with twins: loom-tests/tests/growth.rs.

use super::{
    Full, Pinned, SPARE_BITS,
    entry::Entry,
    geometry::Spot,
    group::{Basis, Decision, Stop},
    id::{Hashed, Id, Record},
    tables::Table,
};
use crate::sync::{
    Wide,
    epoch::{self, Stacked},
    retry, twin,
};
use std::ptr;

/// Emptying has to wait.
struct NotNow;

impl<W: Wide, const BUCKETS: usize, const CELLS: usize> Pinned<'_, W, BUCKETS, CELLS> {
    /// [`Pinned::update`] where the short way did not do.
    #[cold]
    #[inline(never)]
    pub(super) fn update_over_tables<R, I: Id>(
        &self,
        spot: Spot,
        id: I,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<R, Full> {
        loop {
            let newest = self.newest();
            // Before any look at the newest: if nothing lies below, what did has come up.
            let alone = newest.below().get(self.guard).is_none();
            let step = if alone {
                self.update_in(newest, spot, id, Basis::Nothing, decide).map(Some)
            } else {
                self.update_chain(newest, spot, id, decide)
            };
            match step {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) | Err(Stop::Sealed) => retry(),
                Err(Stop::Full) => {
                    if !self.make_room(newest) {
                        return Err(Full);
                    }
                }
                Err(Stop::NoBytes) => {
                    if I::NEEDS_ROOM {
                        self.keys.drive_out(self.guard);
                    }
                    return Err(Full);
                }
            }
        }
    }

    /// Once. `None`: the key has come up meanwhile.
    fn update_chain<R>(
        &self,
        newest: &Table<BUCKETS, CELLS>,
        spot: Spot,
        id: impl Id,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<Option<R>, Stop> {
        let there = self.update_in(newest, spot, id, Basis::Nothing, |state, gone| match state {
            None => Decision::Keep(None),
            Some(_) => match decide(state, gone) {
                Decision::Publish(next, answer) => Decision::Publish(next, Some(answer)),
                Decision::Keep(answer) => Decision::Keep(Some(answer)),
            },
        })?;
        if there.is_some() {
            return Ok(there);
        }
        let below = self.look_below(newest, spot, id);
        let gone = self.keys.ground.horizon(); // after the cells
        let live = below.filter(|&state| state > gone);
        if let Decision::Keep(answer) = decide(live, gone) {
            return self.vouched(newest, spot, id, live.is_some(), answer);
        }

        if !twin!(NoSeal) {
            let open = newest.older(self.guard).filter(|table| !table.is_frozen());
            open.for_each(|table| table.group(spot).seal_row(self.wide, spot.key));
        }
        let below = if twin!(SealAfterLook) { below } else { self.look_below(newest, spot, id) };
        self.help(newest, spot);
        let (sure, answer) = self.update_in(newest, spot, id, Basis::Below(below), |state, gone| {
            let state = state.or(below.filter(|&state| state > gone));
            match decide(state, gone) {
                Decision::Publish(next, answer) => Decision::Publish(next, (true, answer)),
                Decision::Keep(answer) => Decision::Keep((state.is_some(), answer)),
            }
        })?;
        self.vouched(newest, spot, id, sure, answer)
    }

    /// The answer, if it is sure or the key has not come up meanwhile.
    fn vouched<R>(
        &self,
        newest: &Table<BUCKETS, CELLS>,
        spot: Spot,
        id: impl Id,
        sure: bool,
        answer: R,
    ) -> Result<Option<R>, Stop> {
        let come_up =
            || self.update_in(newest, spot, id, Basis::Nothing, |state, _| Decision::Keep(state.is_some()));
        let doubtful = !sure && !twin!(AbsentAtFirstSight) && come_up()?;
        Ok((!doubtful).then_some(answer))
    }

    /// The state of a key in the tables below, live or gone: where it stands first it is the latest.
    fn look_below(&self, newest: &Table<BUCKETS, CELLS>, spot: Spot, id: impl Id) -> Option<u64> {
        newest.older(self.guard).find_map(|table| self.look(table, spot, id))
    }

    fn look(&self, table: &Table<BUCKETS, CELLS>, spot: Spot, id: impl Id) -> Option<u64> {
        table.group(spot).look(self.wide, id, &self.keys.ground)
    }

    /// Whether one of these tables has a cell of the key, live or gone.
    fn stands_in<'t>(
        &self,
        mut tables: impl Iterator<Item = &'t Table<BUCKETS, CELLS>>,
        spot: Spot,
        id: impl Id,
    ) -> bool {
        tables.any(|table| self.look(table, spot, id).is_some())
    }

    /// While there are several old tables, calls that put something into the newest do a share of the emptying: a group now and then.
    fn help(&self, newest: &Table<BUCKETS, CELLS>, spot: Spot) {
        if newest.older(self.guard).nth(1).is_some() && (spot.key >> SPARE_BITS).is_multiple_of(2) {
            self.empty(1);
        }
    }

    /// The share of calls that move the horizon: an old table in which next to nothing lives is looked through, within about a
    /// window if it is not huge.
    pub(super) fn empty_the_dead(&self) {
        if let Some(oldest) = self.newest().older(self.guard).last()
            && oldest.is_dead(self.keys.horizon(), self.keys.span)
        {
            self.empty((oldest.groups.len() / 512 + 1).min(256));
        }
    }

    /// Empties `budget` groups of the oldest table, if there is one and no other thread is at it. Whether there is more that can be
    /// done now.
    pub(super) fn empty(&self, budget: usize) -> bool {
        let newest = self.newest();
        let Some(oldest) = newest.older(self.guard).last() else { return false };
        let Ok(mut emptied) = oldest.emptied.try_lock() else { return false };
        if newest.older(self.guard).any(|table| !table.freeze()) {
            epoch::collect();
            return false;
        }
        let groups = oldest.groups.len();
        let end = emptied.saturating_add(budget).min(groups);
        while *emptied < end {
            if self.empty_group(oldest, *emptied).is_err() {
                return false;
            }
            *emptied += 1;
        }
        if *emptied == groups {
            self.take_out(newest, oldest);
        }
        newest.below().get(self.guard).is_some()
    }

    fn take_out(&self, newest: &Table<BUCKETS, CELLS>, oldest: &Table<BUCKETS, CELLS>) {
        let on_top = std::iter::once(newest).chain(newest.older(self.guard));
        let above = on_top.take_while(|table| !ptr::eq(*table, oldest)).last();
        // Release: whoever does not find it any more finds in the newest what lived in it.
        let Some(above) = above else { return };
        let _ = above.below().exchange(Some(oldest), None, self.guard);
    }

    /// Puts what lives in a group into the newest table.
    fn empty_group(&self, oldest: &Table<BUCKETS, CELLS>, group: usize) -> Result<(), NotNow> {
        let (gone, mut record) = (self.keys.horizon(), Record::new());
        for entry in oldest.groups[group].cells().map(|cell| self.wide.load(cell)) {
            if entry.state() <= gone {
                continue;
            }
            let spot = |key| Spot::of(group, oldest.factor, key);
            match &self.keys.bytes {
                None => self.forward(oldest, spot(entry.key()), Hashed(entry.key()), entry.state())?,
                Some(keys) => {
                    if let Some(id) = record.of(entry, keys, self.guard) {
                        self.forward(oldest, spot(id.key()), id, entry.state())?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Puts a key of the oldest table into the newest.
    fn forward(
        &self,
        oldest: &Table<BUCKETS, CELLS>,
        spot: Spot,
        id: impl Id,
        state: u64,
    ) -> Result<(), NotNow> {
        loop {
            let newest = self.newest();
            let between = || newest.older(self.guard).take_while(|table| !ptr::eq(*table, oldest));
            if between().any(|table| !table.is_frozen())
                || between().count() == newest.older(self.guard).count()
            {
                return Err(NotNow); // another has come on top, or all have been replaced
            }
            let later =
                between().find_map(|table| self.look(table, spot, id)).filter(|_| !twin!(ForwardBlindly));
            let state = later.unwrap_or(state);
            let moved = self.update_in(newest, spot, id, Basis::Forwarded, |there, gone| match there {
                // The horizon after the cells: a key that was here, died and was overwritten does not come back.
                None if state > gone || twin!(ForwardDead) => Decision::Publish(state, true),
                _ => Decision::Keep(false),
            });
            match moved {
                Ok(moved) => {
                    self.keys.sizes.forwarded.add(u64::from(moved));
                    return Ok(());
                }
                Err(Stop::Sealed) => retry(),
                Err(Stop::NoBytes) => return Err(NotNow),
                Err(Stop::Full) => {
                    if !self.make_room(newest) {
                        return Err(NotNow);
                    }
                }
            }
        }
    }

    /// How many keys `live(state)` holds for, in all tables. A count, not a snapshot.
    pub(super) fn count(&self, sample: Option<usize>, live: impl Fn(u64) -> bool) -> u64 {
        let newest = self.newest();
        let there = |entry: &Entry| {
            live(entry.state()) && self.keys.bytes.as_ref().is_none_or(|keys| keys.has(*entry, self.guard))
        };
        let mut sum = newest.sum(sample, |_, group| group.entries(self.wide).filter(there).count() as u64);
        for (i, table) in newest.older(self.guard).enumerate() {
            let above = || std::iter::once(newest).chain(newest.older(self.guard)).take(i + 1);
            sum += table.sum(sample, |i, group| {
                let entries = group.entries(self.wide).filter(there);
                let spot = |key| Spot::of(i, table.factor, key);
                let mut record = Record::new();
                let mut hidden = |entry: &Entry| match &self.keys.bytes {
                    None => self.stands_in(above(), spot(entry.key()), Hashed(entry.key())),
                    Some(keys) => record
                        .of(*entry, keys, self.guard)
                        .is_none_or(|id| self.stands_in(above(), spot(id.key()), id)),
                };
                entries.filter(|entry| !hidden(entry)).count() as u64
            });
        }
        sum
    }
}

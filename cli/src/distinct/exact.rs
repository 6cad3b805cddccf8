//! Exactly: every id is kept, with the pane in which it came last.

use windlass::{Dedup, KeyHash, Refresh, Refused, Tick, Verdict, Window};

use crate::{
    args::{DistinctArgs, StateArgs},
    failure::Failure,
    grid::Grid,
    room,
};

/// Pane numbers are the ticks: an id is a duplicate if it came in the window's panes, and tells where last.
pub(super) struct Exact {
    pub(super) dedup: Dedup,
    ids: Ids,
}

/// How many ids came last in each pane of the window. A pane's place is its number modulo theirs.
struct Ids {
    last_in: Vec<u64>,
    all: u64,
}

impl Exact {
    pub(super) fn new(args: &DistinctArgs, grid: Grid) -> Result<Exact, Failure> {
        let dedup = room::of(&args.state, Dedup::builder(Window::last_n(grid.panes)))
            .refresh(Refresh::OnDuplicate)
            .build()
            .map_err(|error| room::refused(&args.state, &error))?;
        let places = usize::try_from(grid.panes).unwrap_or(usize::MAX);
        Ok(Exact { dedup, ids: Ids { last_in: vec![0; places], all: 0 } })
    }

    pub(super) fn add(
        &mut self,
        state: &StateArgs,
        events: &[(KeyHash, Tick)],
        pane: u64,
        before: u64,
    ) -> Result<(), Failure> {
        let mut moves = Moves { ids: &mut self.ids, pane, done: 0, refused: None };
        self.dedup.observe_each(events.len(), |i| (events[i].0, Tick(pane)), &mut moves);
        let event = before + moves.done + 1;
        match moves.refused {
            None => Ok(()),
            Some(Refused::Full) => Err(room::full(state, event, "--approx")),
            Some(other) => Err(Failure::Bad(format!("event {event}: {other}"))),
        }
    }

    pub(super) fn close(&mut self, pane: u64) -> u64 {
        let all = self.ids.all;
        // The pane that is a window before the next one.
        let oldest = self.ids.place(pane + 1);
        self.ids.all -= std::mem::take(oldest);
        all
    }
}

impl Ids {
    fn place(&mut self, pane: u64) -> &mut u64 {
        let places = self.last_in.len();
        #[allow(clippy::cast_possible_truncation)] // less than their number
        &mut self.last_in[(pane % places as u64) as usize]
    }
}

/// Takes an id's answer as its move to the present pane.
struct Moves<'a> {
    ids: &'a mut Ids,
    pane: u64,
    done: u64,
    refused: Option<Refused>,
}

impl Extend<Result<Verdict, Refused>> for Moves<'_> {
    fn extend<I: IntoIterator<Item = Result<Verdict, Refused>>>(&mut self, outcomes: I) {
        for outcome in outcomes {
            match outcome {
                // Nothing counts after an error.
                _ if self.refused.is_some() => {}
                Err(refused) => self.refused = Some(refused),
                Ok(Verdict::Duplicate { first_seen: Some(last) }) => {
                    *self.ids.place(last.0) -= 1;
                    *self.ids.place(self.pane) += 1;
                }
                Ok(_) => {
                    *self.ids.place(self.pane) += 1;
                    self.ids.all += 1;
                }
            }
            self.done += u64::from(self.refused.is_none());
        }
    }
}

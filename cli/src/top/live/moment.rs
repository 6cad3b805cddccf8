//! What there is to see at one time.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use windlass::{PaneCount, Tick, TopSnapshot};

use super::{
    super::counts::Live,
    draw::Scene,
    pulse::{Pulse, Told},
    rates::{Rates, Seen},
};
use crate::grid::Grid;

/// Looks at the counts while they grow.
pub(super) struct Watcher {
    live: Arc<Live>,
    /// What was denied, with `--limit`.
    denials: Option<Arc<Live>>,
    read: Arc<AtomicU64>,
    grid: Grid,
    timed: bool,
    begun: Instant,
    /// The newest event's time, and when it was first seen there.
    newest: Option<(u64, Instant)>,
    rates: Rates,
    moment: Moment,
}

#[derive(Default)]
pub(super) struct Moment {
    /// None before the first event.
    pub(super) window: Option<Shown>,
    pub(super) told: Told,
    /// Bytes.
    pub(super) read: u64,
    /// How long the run has taken.
    pub(super) elapsed: Duration,
    /// How long something took, and the events in it; and events per second of each step.
    pub(super) rate: Option<(Duration, Seen)>,
    pub(super) rates: Vec<u64>,
}

/// The window of that time.
pub(super) struct Shown {
    pub(super) now: u64,
    pub(super) list: TopSnapshot,
    /// With `--limit`: the keys that were denied most.
    pub(super) denials: Option<TopSnapshot>,
    /// Of all keys what came in each pane, the oldest first; `None`: that is not known.
    pub(super) totals: Option<Vec<u64>>,
    /// Of each row that is looked at, by its number from 0, the same.
    pub(super) courses: BTreeMap<usize, Vec<u64>>,
}

impl Watcher {
    pub(super) fn new(
        (live, denials): (Arc<Live>, Option<Arc<Live>>),
        read: Arc<AtomicU64>,
        scene: &Scene,
    ) -> Watcher {
        let (grid, timed) = (scene.grid, scene.timed);
        let (newest, rates, moment) = (None, Rates::default(), Moment::default());
        Watcher { live, denials, read, grid, timed, begun: Instant::now(), newest, rates, moment }
    }

    /// What there is now. `rows`: those whose courses are wanted.
    pub(super) fn look(&mut self, pulse: &Pulse, rows: Range<usize>) {
        let (told, elapsed) = (pulse.read(), self.begun.elapsed());
        let Told { events, duplicates, denied, .. } = told;
        self.rates.note(elapsed, Seen { events, duplicates, denied });
        self.moment = Moment {
            window: self.now().map(|now| Shown {
                denials: self.denials.as_ref().map(|denials| denials.list(Tick(now))),
                ..Shown::at(now, &self.live, self.grid, rows)
            }),
            told,
            // Relaxed: a figure to look at.
            read: self.read.load(Relaxed),
            elapsed,
            rate: self.rates.now(),
            rates: self.rates.all(),
        };
    }

    /// .. as it was looked at last.
    pub(super) fn moment(&self) -> &Moment {
        &self.moment
    }

    /// The newest event's time. Events without times have that of the clock, which goes on without them.
    fn now(&mut self) -> Option<u64> {
        let newest = self.live.newest()?;
        let (_, since) = *self.newest.insert(match self.newest {
            Some((before, since)) if before == newest => (newest, since),
            _ => (newest, Instant::now()),
        });
        let since = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Some(if self.timed { newest } else { newest.saturating_add(since) })
    }
}

impl Shown {
    /// .. with the list that the report would have, were it the end.
    fn at(now: u64, live: &Live, grid: Grid, rows: Range<usize>) -> Shown {
        let list = live.list(Tick(now));
        let by_pane = |counts: Vec<PaneCount>| by_pane(&counts, now, grid);
        let totals = live.panes(None, Tick(now)).map(by_pane);
        let rows = rows.start..rows.end.min(list.rows.len());
        let course = |at: usize| Some((at, live.panes(list.rows.get(at), Tick(now)).map(by_pane)?));
        let courses = rows.filter_map(course).collect();
        Shown { now, list, denials: None, totals, courses }
    }
}

/// All panes of the window, the oldest first, from those in which there was something.
fn by_pane(counts: &[PaneCount], now: u64, grid: Grid) -> Vec<u64> {
    let end = now / grid.pane + 1;
    let first = end.saturating_sub(grid.panes);
    let mut panes = vec![0; usize::try_from(end - first).unwrap_or(0)];
    for count in counts {
        let place = (count.start.0 / grid.pane).checked_sub(first).and_then(|at| usize::try_from(at).ok());
        if let Some(pane) = place.and_then(|at| panes.get_mut(at)) {
            *pane = count.count;
        }
    }
    panes
}

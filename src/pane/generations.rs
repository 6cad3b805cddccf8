//! Panes that are kept whole: time is cut into generations of a few panes each, and a generation goes as a whole when its last pane
//! is behind the window. Nothing in it is used again, so nothing is cleared while it is in use, and nobody can mistake one pane for
//! another.
//!
//! **Shape.** Panes are numbered from tick 0 (`tick / length`) and generations from pane 0: pane p belongs to generation p / panes, and to no
//! other, whoever asks. What lives is listed in a *directory*, which is never changed: whoever opens a generation, or lets some go,
//! puts another directory in its place, by one CAS on the pointer that they have found (twin `OpenBlindly`: one pane in two generations).
//! Directories and what only old ones list are freed through the epoch.
//!
//! **Time.** The newest pane only rises. A pane is live if it is one of the `kept` panes up to the newest; what comes for an earlier one is
//! late. The newest is looked at after the directory: who lets a generation go has seen a newest that is past it, so whoever finds it gone
//! sees that as well, and does not open it once more (twin `NewestFirst`).

use crate::sync::{
    AtomicU64, CachePadded,
    Ordering::{AcqRel, Acquire, Relaxed},
    epoch::{self, Guard, Link},
    twin,
};
use std::{ops::Range, sync::Arc};

/// How time is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spans {
    /// Ticks in a pane, at least 1.
    pub(crate) pane: u64,
    /// Panes in a generation, at least 1.
    pub(crate) panes: u64,
    /// Panes that are kept, up to the newest, at least 1.
    pub(crate) kept: u64,
    /// How far behind the end of the newest pane a tick may be.
    pub(crate) max_jump: u64,
}

impl Spans {
    /// Generations there may be, if for a third of its life or more one that has gone is left alone before its memory is needed.
    pub(crate) fn in_turn(&self) -> u64 {
        (self.kept - 1 + self.panes.div_ceil(3)).div_ceil(self.panes) + 1
    }

    pub(crate) fn pane_of(&self, now: u64) -> u64 {
        // One less than the greatest number, for whom the newest is one more.
        now.min(u64::MAX - 1) / self.pane
    }

    fn is_live(&self, pane: u64, newest: u64) -> bool {
        newest.saturating_sub(pane) < self.kept
    }
}

/// What makes generations, and takes them back.
pub(crate) trait Keep<T> {
    /// A new one, that begins with pane `first`. `last`: the one before.
    fn open(&self, first: u64, last: Option<&T>) -> T;

    /// One that was made for nothing: nobody has seen it.
    fn unused(&self, generation: T);

    /// One that has left. Calls under way may still use it.
    fn left(&self, generation: Arc<T>);
}

/// All orderings: loom-tests/tests/count.rs.
pub(crate) struct Generations<T: Send + Sync + 'static> {
    spans: Spans,
    /// The newest pane and 1; 0 before the first. Relaxed: it is raised by `fetch_max`, and who goes by it goes by the directory first.
    newest: CachePadded<AtomicU64>,
    directory: CachePadded<Link<Directory<T>>>,
}

/// The oldest first.
struct Directory<T>(Vec<Entry<T>>);

struct Entry<T> {
    /// Its first pane.
    first: u64,
    what: Arc<T>,
}

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Self {
        Entry { first: self.first, what: self.what.clone() }
    }
}

/// Where a pane is.
pub(crate) struct Place<'g, T> {
    pub(crate) generation: &'g T,
    /// Which of its panes.
    pub(crate) cell: usize,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missed {
    /// The pane is behind those that are kept.
    Late,
    /// The tick is too far ahead.
    Jump,
}

impl<T: Send + Sync + 'static> Generations<T> {
    pub(crate) fn new(spans: Spans) -> Self {
        Generations {
            spans,
            newest: CachePadded::new(AtomicU64::new(0)),
            directory: CachePadded::new(Link::new(Directory(Vec::new()))),
        }
    }

    /// Where `now` belongs: moves time on, opens its generation and lets others go if need be.
    #[inline(always)]
    pub(crate) fn enter<'g>(
        &'g self,
        now: u64,
        guard: &'g Guard,
        keep: &impl Keep<T>,
    ) -> Result<Place<'g, T>, Missed> {
        let pane = self.newest.load(Relaxed).wrapping_sub(1);
        if now.wrapping_sub(pane.wrapping_mul(self.spans.pane)) < self.spans.pane
            && let Some(directory) = self.directory.get(guard)
            && let Some(newest) = directory.0.last()
            && pane.wrapping_sub(newest.first) < self.spans.panes
        {
            return Ok(newest.place(pane));
        }
        self.look_up(now, guard, keep)
    }

    /// .. for another pane than the newest, or the first call in it.
    #[inline(never)]
    fn look_up<'g>(
        &'g self,
        now: u64,
        guard: &'g Guard,
        keep: &impl Keep<T>,
    ) -> Result<Place<'g, T>, Missed> {
        let pane = self.spans.pane_of(now);
        if !self.move_on(now) {
            return Err(Missed::Jump);
        }
        let mut made = None;
        let found = loop {
            let before = self.newest();
            let Some(directory) = self.directory.get(guard) else { break Err(Missed::Late) };
            let newest = if twin!(NewestFirst) { before } else { self.newest() };
            let newest = newest.unwrap_or(pane);
            if !self.spans.is_live(pane, newest) {
                break Err(Missed::Late);
            }
            if let Some(entry) = directory.of(pane, self.spans.panes) {
                break Ok(entry.place(pane));
            }
            let first = pane - pane % self.spans.panes;
            let what = made
                .take()
                .unwrap_or_else(|| Arc::new(keep.open(first, directory.0.last().map(|entry| &*entry.what))));
            made = Some(what.clone());
            if self.list(directory, Some(Entry { first, what }), newest, guard, keep) {
                made = None;
            }
        };
        // Another has opened it first.
        if let Some(Ok(unused)) = made.map(Arc::try_unwrap) {
            keep.unused(unused);
        }
        found
    }

    /// Puts a directory with one more, and without those that have left, in the place of this one. Whether that was still there.
    fn list<'g>(
        &'g self,
        directory: &'g Directory<T>,
        more: Option<Entry<T>>,
        newest: u64,
        guard: &'g Guard,
        keep: &impl Keep<T>,
    ) -> bool {
        let stays = |entry: &&Entry<T>| self.spans.is_live(entry.last(self.spans.panes), newest);
        let mut live: Vec<_> = directory.0.iter().filter(stays).chain(more.as_ref()).cloned().collect();
        live.sort_by_key(|entry| entry.first);
        let next = Some(Directory(live));
        let found = if twin!(OpenBlindly) { self.directory.get(guard) } else { Some(directory) };
        // Release: whoever finds it finds a generation that is made. Acquire: see `NewestFirst`.
        if self.directory.exchange(found, next, guard).is_err() {
            return false;
        }
        directory.0.iter().filter(|entry| !stays(entry)).for_each(|entry| keep.left(entry.what.clone()));
        true
    }

    /// Moves time on to `now`. `false`: that is too far.
    fn move_on(&self, now: u64) -> bool {
        let pane = self.spans.pane_of(now);
        match self.newest() {
            Some(newest) if pane > newest => {
                let end = (newest + 1).saturating_mul(self.spans.pane);
                if now.saturating_sub(end) > self.spans.max_jump {
                    return false;
                }
            }
            Some(_) => return true,
            None => {}
        }
        self.newest.fetch_max(pane + 1, AcqRel);
        true
    }

    /// Moves time on to `now`, if there is any yet, and lets go what that puts behind the window. Whether anything is still live.
    pub(crate) fn maintain(&self, now: u64, guard: &Guard, keep: &impl Keep<T>) -> bool {
        if self.newest().is_some() {
            self.move_on(now);
        }
        loop {
            let Some(directory) = self.directory.get(guard) else { return false };
            let Some(newest) = self.newest() else { return false };
            let left = |entry: &Entry<T>| !self.spans.is_live(entry.last(self.spans.panes), newest);
            if !directory.0.iter().any(left) || self.list(directory, None, newest, guard, keep) {
                return !directory.0.iter().all(left);
            }
        }
    }

    /// Whether what came in this pane is still kept.
    pub(crate) fn keeps(&self, pane: u64) -> bool {
        self.newest().is_none_or(|newest| self.spans.is_live(pane, newest))
    }

    /// The newest pane there is.
    #[inline(always)]
    pub(crate) fn newest(&self) -> Option<u64> {
        // Acquire: it may be what somebody has gone by who let a generation go.
        self.newest.load(Acquire).checked_sub(1)
    }

    /// The generations with panes of these, and which of theirs. (The panes from the oldest that is kept on.)
    pub(crate) fn with<'g>(
        &'g self,
        panes: Range<u64>,
        guard: &'g Guard,
    ) -> impl Iterator<Item = (&'g T, u64, Range<usize>)> + Clone {
        let all = self.directory.get(guard).map_or(&[][..], |directory| &directory.0);
        let length = self.spans.panes;
        let part = move |entry: &'g Entry<T>| {
            let from = panes.start.max(entry.first);
            let to = panes.end.min(entry.first.saturating_add(length));
            #[allow(clippy::cast_possible_truncation)] // a few panes
            let cells =
                (from.saturating_sub(entry.first)) as usize..(to.saturating_sub(entry.first)) as usize;
            (from < to).then_some((&*entry.what, from, cells))
        };
        all.iter().filter_map(part)
    }

    /// All that live, the oldest first.
    pub(crate) fn all<'g>(&'g self, guard: &'g Guard) -> impl DoubleEndedIterator<Item = &'g T> + Clone {
        let all = self.directory.get(guard).map_or(&[][..], |directory| &directory.0);
        all.iter().map(|entry| &*entry.what)
    }
}

/// For snapshots.
impl<T: Send + Sync + 'static> Generations<T> {
    /// The first panes of all that are listed, the oldest first.
    pub(crate) fn firsts(&self, guard: &Guard) -> Vec<u64> {
        self.directory.get(guard).map_or(Vec::new(), |all| all.0.iter().map(|entry| entry.first).collect())
    }

    /// The one that begins with this pane, if it is still listed. What it needs is there as long as the guard is held.
    pub(crate) fn of<'g>(&'g self, first: u64, guard: &'g Guard) -> Option<&'g T> {
        let all = &self.directory.get(guard)?.0;
        all.iter().find(|entry| entry.first == first).map(|entry| &*entry.what)
    }

    /// As many as may be listed.
    pub(crate) fn most(&self) -> u64 {
        self.spans.kept.div_ceil(self.spans.panes) + 1
    }

    /// Whether there can be one that begins with this pane.
    pub(crate) fn begins_with(&self, first: u64) -> bool {
        first.is_multiple_of(self.spans.panes) && first <= self.spans.pane_of(u64::MAX)
    }

    /// Goes on with these, the oldest first, where nothing has been yet.
    pub(crate) fn put_back(&self, newest: u64, all: Vec<(u64, T)>, keep: &impl Keep<T>) {
        let guard = epoch::pin();
        self.newest.fetch_max(newest + 1, AcqRel);
        let entries = all.into_iter().map(|(first, what)| Entry { first, what: Arc::new(what) });
        let next = Some(Directory(entries.collect()));
        let _ = self.directory.exchange(self.directory.get(&guard), next, &guard);
        // What had left by then.
        self.maintain(newest.saturating_mul(self.spans.pane), &guard, keep);
    }

    /// Moves time on, if there is any yet, however far.
    pub(crate) fn resume(&self, now: u64) {
        if self.newest().is_some() {
            self.newest.fetch_max(self.spans.pane_of(now) + 1, AcqRel);
        }
    }
}

impl<T> Directory<T> {
    fn of(&self, pane: u64, panes: u64) -> Option<&Entry<T>> {
        self.0.iter().rev().find(|entry| pane.wrapping_sub(entry.first) < panes)
    }
}

impl<T> Entry<T> {
    /// Its last pane.
    fn last(&self, panes: u64) -> u64 {
        self.first.saturating_add(panes - 1)
    }

    #[inline(always)]
    fn place(&self, pane: u64) -> Place<'_, T> {
        #[allow(clippy::cast_possible_truncation)] // a few panes
        Place { generation: &self.what, cell: (pane - self.first) as usize }
    }
}

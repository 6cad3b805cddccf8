//! The ring of panes: which columns hold what, and when the next one takes over.
//!
//! **Shape.** There are C *columns*. Time is cut into *panes* of equal length, numbered from tick 0 (`tick / length`) and never reused.
//! One column, the *current* one, takes what comes; when time enters a new pane, the next column becomes current, by one CAS
//! on the index. So a column holds one pane, or after a silence none of those between: panes without a call cost nothing.
//!
//! **Promise.** With lead = an 8th of a pane and span = (C - 1) panes - lead: what was put in at tick t is there until t + span, as long
//! as the ring knows of no later tick. Each column has a label, the last pane of which something may be in it; it is *live* until
//! span after that pane's end. Live columns are always the newest ones of the ring, so the index tells how many.
//!
//! **Clearing.** The oldest column goes out of the live ones in the last 8th of a pane's life, and is cleared then, in chunks. *Each chunk is
//! cleared by exactly one thread*, which claims it: two clearers of one word are one too many, since the one that stalls before its
//! store wipes what came after (twin `ClearTwice`). The column is clean when all who claimed have reported.
//!
//! **Leaving.** Before it is left the current column is marked as leaving, in the index, and only then are labels read to say what stays live.
//! A call that has raised a label, or relies on one, exchanges the index as it was for the same (`hold`): whoever marks later has seen the label;
//! if the mark, or another column, is there before, the call starts again. Else a mover that had read an old label would retire what was put
//! in under the new one (twin `RaiseLoosely`).
//!
//! **Late.** Nobody waits for that. As long as the next column is not clean the current one goes on, and its label rises, before anything of
//! the new pane is put there (twin `KeepLabel`): the window grows, it never shrinks.
//!
//! **Absent** counts only if the index is the same before and after the look (twin `AbsentAtOnce`): else what was cleared meanwhile may have
//! been put into a newer column before.

use super::Words;
use crate::sync::{
    Counter,
    Ordering::{AcqRel, Acquire, Relaxed},
    fence, twin,
};

/// Who moves the ring on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rotation {
    /// The calls that bring the time: they move it on, and each clears a small share.
    #[default]
    ByCalls,
    /// Calls move it on, which costs one CAS a pane; `maintain_at` clears.
    Hybrid,
    /// `advance_to` and `maintain_at` alone. Calls only see to it that nothing is forgotten early.
    Scheduled,
}

/// What a ring is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// 2 to [`Grid::MAX_COLUMNS`].
    pub(crate) columns: usize,
    /// Ticks in a pane, at least 1.
    pub(crate) pane: u64,
    /// The pieces in which a column is cleared, at least 1.
    pub(crate) chunks: u64,
    /// How far ahead of the newest pane a tick may be.
    pub(crate) max_jump: u64,
    pub(crate) rotation: Rotation,
}

impl Grid {
    pub(crate) const MAX_COLUMNS: usize = 1 << COLUMN_BITS;

    /// The part of a pane before its end in which the oldest column is retired and cleared.
    pub(crate) const fn lead(pane: u64) -> u64 {
        pane.div_ceil(8)
    }

    /// For how many ticks whatever is put in stays, in a ring of so many columns.
    pub(crate) fn span(columns: usize, pane: u64) -> u64 {
        (columns as u64 - 1).saturating_mul(pane) - Self::lead(pane)
    }

    /// The least length of a pane with which that is `window` at least.
    pub(crate) fn pane_for(window: u64, columns: usize) -> u64 {
        let eighths = 8 * (columns as u64 - 1) - 1;
        // ceil(window / (columns - 1 - 1/8)), and more where a lead is rounded up.
        let least = (u128::from(window) * 8).div_ceil(u128::from(eighths));
        let mut pane = u64::try_from(least).unwrap_or(u64::MAX).max(1);
        while Self::span(columns, pane) < window {
            pane += 1;
        }
        pane
    }
}

/// What a call finds: where to put, and where to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View(u64);

// Of the index, from below: how many columns are live, whether the current one is being left, the current column, and how often the
// ring went round. 2^42 rounds of eight panes of a microsecond are a year; then it stays where it is, and the window grows.
const LEAVING: u64 = 1 << 11;
const LIVE_BITS: u32 = 12;
const COLUMN_BITS: u32 = 10;
const ROUND: u64 = 1 << (LIVE_BITS + COLUMN_BITS);

impl View {
    /// Of a new ring: the first column, and it is live.
    const FIRST: View = View(1);

    #[allow(clippy::cast_possible_truncation)] // 10 bits
    #[inline(always)]
    pub(crate) fn column(self) -> usize {
        (self.0 >> LIVE_BITS) as usize & (Grid::MAX_COLUMNS - 1)
    }

    /// How many columns are live, the current one included.
    #[allow(clippy::cast_possible_truncation)] // 11 bits
    #[inline(always)]
    pub(crate) fn live(self) -> usize {
        (self.0 & (LEAVING - 1)) as usize
    }

    fn with_live(self, live: usize) -> View {
        View(self.0 & !((1 << LIVE_BITS) - 1) | live as u64)
    }

    fn is_leaving(self) -> bool {
        self.0 & LEAVING != 0
    }

    /// `i` columns before the current one.
    #[inline(always)]
    pub(crate) fn back(self, i: usize, columns: usize) -> usize {
        let column = self.column();
        if column >= i { column - i } else { column + columns - i }
    }

    /// The number of the current column's turn: each turn of each column has its own.
    #[inline(always)]
    pub(crate) fn turn(self, columns: usize) -> u64 {
        self.0 / ROUND * columns as u64 + self.column() as u64
    }

    /// The reverse: so many columns are live in this turn. `None`: that cannot be.
    pub(super) fn of(turn: u64, live: usize, columns: usize) -> Option<View> {
        let (round, column) = (turn / columns as u64, turn % columns as u64);
        let fits = (1..=columns).contains(&live) && live as u64 <= turn.saturating_add(1);
        let round = round.checked_mul(ROUND).filter(|_| fits)?;
        Some(View(round | column << LIVE_BITS | live as u64))
    }

    fn next(self, columns: usize, live: usize) -> Option<View> {
        let column = self.column() + 1;
        let round = if column == columns { (self.0 / ROUND).checked_add(1)? } else { self.0 / ROUND };
        let column = if column == columns { 0 } else { column };
        Some(View(round.checked_mul(ROUND)? | (column as u64) << LIVE_BITS | live as u64))
    }
}

/// What a ring turns.
pub(crate) trait Clear {
    /// Zeroes a chunk of a column, with stores that release.
    fn clear(&self, column: usize, chunk: u64);
}

/// See the module's text. All orderings: loom-tests/tests/pane.rs.
pub(crate) struct PaneRing {
    grid: Grid,
    pub(super) words: Words,
    rotations: Counter,
    late: Counter,
    jumps: Counter,
}

/// What a live column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pane {
    pub(crate) column: usize,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// What a step works on. The labels were read before the index was held.
#[derive(Clone, Copy)]
struct Found {
    view: View,
    now: u64,
    /// The pane in which the current column became current.
    open: u64,
    /// Its label, before it is raised to `now`.
    label: u64,
}

/// Chunks that a call clears at most when the next column should be clean by now: what one call may cost.
const OVERDUE: u64 = 256;
/// .. and when that is not so.
const SHARE: u64 = 16;

/// How far a step went.
enum Step {
    /// Nothing can be done before this tick.
    Until(u64),
    /// There is more to do, for somebody.
    More,
    /// The index may have moved.
    Again,
}

impl PaneRing {
    /// `words` are all 0 (a new ring), or those of one that nobody uses any more.
    pub(crate) fn new(grid: Grid, words: Words) -> PaneRing {
        // Relaxed: nobody else has seen them.
        if words.index().load(Relaxed) == 0 {
            words.index().store(View::FIRST.0, Relaxed);
        }
        PaneRing {
            grid,
            words,
            rotations: Counter::default(),
            late: Counter::default(),
            jumps: Counter::default(),
        }
    }

    /// One that goes on from here. Its labels are in `words` (which nobody else has seen).
    pub(super) fn put_back(grid: Grid, words: Words, view: View, due: u64) -> PaneRing {
        words.index().store(view.0, Relaxed);
        let ring = PaneRing::new(grid, words);
        // The label covers all before it.
        ring.words.due().store(due.min(ring.end(ring.label(view))), Relaxed);
        ring
    }

    /// Whether the index is this one, however far somebody has come who leaves the column. (After a fence.)
    pub(super) fn index_is(&self, view: View) -> bool {
        (self.words.index().load(Relaxed) ^ view.0) & !LEAVING == 0
    }

    pub(crate) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// For a call that puts something in at `now`: moves the ring on if it is time.
    #[inline(always)]
    pub(crate) fn enter(&self, now: u64, columns: &impl Clear) -> View {
        if now < self.words.due().load(Acquire) {
            return self.view();
        }
        self.tend(now, columns)
    }

    /// For a call that only looks at `now`: changes nothing.
    #[inline(always)]
    pub(crate) fn look(&self, now: u64) -> View {
        let timely = now < self.words.due().load(Acquire);
        let view = self.view();
        if timely { view } else { view.with_live(self.live_at(view, self.within_jump(now))) }
    }

    /// Whether the ring is as it was found, after a look at its columns.
    #[inline(always)]
    pub(crate) fn is_at(&self, view: View) -> bool {
        // Pairs with the stores that clear: whoever has seen one of them sees that its column had been retired.
        fence(Acquire);
        let seen = self.words.index().load(Relaxed);
        // (What was live by the index may have been less by the time.)
        let same = |seen: u64| seen >> LIVE_BITS == view.0 >> LIVE_BITS && View(seen).live() >= view.live();
        seen == view.0 || same(seen) || twin!(AbsentAtOnce)
    }

    /// The panes that are live at `now`, the newest first.
    pub(crate) fn panes(&self, now: u64) -> (View, impl Iterator<Item = Pane>) {
        let view = self.look(now);
        let pane = move |i| {
            let column = view.back(i, self.grid.columns);
            self.pane(column)
        };
        (view, (0..view.live()).map(pane))
    }

    pub(super) fn pane(&self, column: usize) -> Pane {
        let (first, last) = (self.words.first(column), self.words.last(column));
        Pane { column, first: first.load(Acquire), last: last.load(Acquire) }
    }

    #[inline(always)]
    pub(super) fn view(&self) -> View {
        View(self.words.index().load(Acquire))
    }

    #[cold]
    #[inline(never)]
    fn tend(&self, now: u64, columns: &impl Clear) -> View {
        let now = self.plausible(now);
        let may_move = self.grid.rotation != Rotation::Scheduled;
        let may_clear = self.grid.rotation == Rotation::ByCalls;
        loop {
            let view = self.view();
            if self.moved(view, now, may_move) {
                continue;
            }
            let open = self.opened(view);
            let overdue = now / self.grid.pane > open;
            let found = Found { view, now, open, label: self.label(view) };
            let mut share = if overdue { OVERDUE } else { SHARE };
            let step = if may_clear { self.clear(found, &mut share, true, columns) } else { Step::More };
            if matches!(step, Step::Again) {
                continue;
            }
            // Only if what was to be cleared is not clean even now: else what the column holds would be kept for as long again.
            if overdue {
                self.raise_label(view, now);
            }
            if !self.hold(view) {
                continue;
            }
            match step {
                Step::Again => {}
                Step::Until(due) => self.nothing_before(due),
                // The next call goes on with it. (From the first one on the ring has a time.)
                Step::More if may_clear => self.started(),
                Step::More if overdue => self.nothing_before(self.end(found.label.max(now / self.grid.pane))),
                Step::More => self.nothing_before(self.end(open)),
            }
            return view;
        }
    }

    /// Moves the ring on to `now` and clears up to `budget` chunks, whoever else is to do it. `true`: there is more to do now.
    pub(crate) fn maintain(&self, now: u64, budget: u64, columns: &impl Clear) -> bool {
        self.tend_within(self.plausible(now), budget, columns)
    }

    /// Moves the ring on to `now`, however far that is.
    pub(crate) fn advance(&self, now: u64, columns: &impl Clear) {
        self.tend_within(now, u64::MAX, columns);
    }

    fn tend_within(&self, now: u64, budget: u64, columns: &impl Clear) -> bool {
        let mut left = budget;
        loop {
            let view = self.view();
            if self.moved(view, now, true) {
                continue;
            }
            let found = Found { view, now, open: self.opened(view), label: self.label(view) };
            match self.clear(found, &mut left, false, columns) {
                Step::Again => {}
                Step::Until(_) => return false,
                // What others have claimed is theirs.
                Step::More => return left == 0,
            }
        }
    }

    /// Takes a step towards the next column, if `now` is in a later pane and that column is clean. What has been begun is finished by whoever
    /// finds it, in every mode. `true`: the index may have moved.
    fn moved(&self, view: View, now: u64, may_begin: bool) -> bool {
        if view.is_leaving() {
            self.move_on(view, now);
            return true;
        }
        let pane = now / self.grid.pane;
        let is_due = || pane > self.opened(view) && self.live_at(view, now) < self.grid.columns;
        if !may_begin || !is_due() || !self.is_clean(view) {
            return false;
        }
        let Some(next) = view.next(self.grid.columns, 1) else { return false };
        if !twin!(LabelLate) {
            // For whoever helps. (A column that is not live may have any label.)
            self.words.last(next.column()).fetch_max(pane, AcqRel);
        }
        // Acquire: the labels of all who have held the index as it is. They are read anew from there on.
        let _ = self.words.index().compare_exchange(view.0, view.0 | LEAVING, AcqRel, Relaxed);
        true
    }

    /// The label comes first: from the CAS on others put things in.
    fn move_on(&self, view: View, now: u64) {
        let live = self.live_at(view, now).min(self.grid.columns - 1);
        let Some(next) = view.next(self.grid.columns, live + 1) else { return };
        let (first, last) = (self.words.first(next.column()), self.words.last(next.column()));
        // Who helps may have an older time than who began.
        let pane = (now / self.grid.pane).max(last.load(Acquire));
        let label = pane.max(self.label(view));
        let write = || {
            // In this order: whoever sees the second has the first.
            last.fetch_max(label, AcqRel);
            first.fetch_max(pane, AcqRel);
        };
        if !twin!(LabelLate) {
            write();
        }
        // Acquire: with the reports of those who cleared the column. Release: to those who find it current.
        if self.words.index().compare_exchange(view.0, next.0, AcqRel, Relaxed).is_ok() {
            self.rotations.add(1);
        }
        if twin!(LabelLate) {
            write();
        }
    }

    /// Whether the index still is as it was found. From there on whoever leaves the column has seen the labels that this thread has
    /// (Release; the mark acquires it).
    fn hold(&self, view: View) -> bool {
        twin!(RaiseLoosely) || self.words.index().compare_exchange(view.0, view.0, AcqRel, Relaxed).is_ok()
    }

    /// A call goes on with a column that should have been left.
    fn raise_label(&self, view: View, now: u64) {
        if twin!(KeepLabel) {
            return;
        }
        let pane = now / self.grid.pane;
        if self.words.last(view.column()).fetch_max(pane, AcqRel) < pane {
            self.late.add(1);
        }
    }

    fn label(&self, view: View) -> u64 {
        self.words.last(view.column()).load(Acquire)
    }

    /// Retires and clears what is to be, `share` chunks at most; `paced`: not before it has to be.
    fn clear(&self, found: Found, share: &mut u64, paced: bool, columns: &impl Clear) -> Step {
        let Found { view, now, open, label } = found;
        let count = self.grid.columns;
        let end = self.end(open);
        let overdue = now / self.grid.pane > open;
        let live = self.live_at(view, now).max(1);
        if live < view.live() {
            // Release: who sees what was cleared sees this.
            let retired = view.with_live(live);
            let _ = self.words.index().compare_exchange(view.0, retired.0, AcqRel, Relaxed);
            return Step::Again;
        }
        let oldest = self.words.last(view.back(live - 1, count));
        let expiry = self.expiry(oldest.load(Acquire));
        if live == count {
            let again = if overdue { self.end(label.max(now / self.grid.pane)) } else { end };
            return Step::Until(again.min(expiry));
        }
        let (chunks, all) = (self.grid.chunks, self.needed(view));
        // Clearing begins with the lead; after a silence, when more has gone, with the pane.
        let time = if view.live() + 1 < count { self.grid.pane } else { Grid::lead(self.grid.pane) };
        let turn = |claimed: u64| {
            let left = u128::from(time) * u128::from(all - claimed) / u128::from(chunks);
            end - u64::try_from(left).unwrap_or(time)
        };
        let mut claimed = self.words.claimed().load(Acquire);
        while claimed < all {
            if paced && now < turn(claimed) {
                return Step::Until(turn(claimed).min(expiry));
            }
            if *share == 0 {
                return Step::More;
            }
            *share -= 1;
            let chunk = claimed + chunks - all;
            let column = view.back(count - 1, count);
            if twin!(ClearTwice) {
                columns.clear(column, chunk);
                self.words.claimed().fetch_max(claimed + 1, AcqRel);
                self.words.done().fetch_max(claimed + 1, AcqRel);
                return Step::More;
            }
            // As long as a chunk of the next column is left to claim, that column does not become current: the view holds.
            match self.words.claimed().compare_exchange(claimed, claimed + 1, AcqRel, Acquire) {
                Ok(_) => {
                    columns.clear(column, chunk);
                    // Release: the stores, to whoever finds the column clean.
                    self.words.done().fetch_add(1, AcqRel);
                    claimed += 1;
                }
                Err(other) => claimed = other,
            }
        }
        match overdue {
            // After a silence more than one column may go, one after the other.
            false => Step::Until(end.min(expiry)),
            true if self.is_clean(view) && view.next(count, 1).is_some() => Step::Again,
            // Others have claimed what is left.
            true => Step::More,
        }
    }

    /// The pane in which the current column became current.
    fn opened(&self, view: View) -> u64 {
        self.words.first(view.column()).load(Acquire)
    }

    /// How many chunks have to be claimed for the next column.
    pub(super) fn needed(&self, view: View) -> u64 {
        let next = view.turn(self.grid.columns) + 1;
        self.grid.chunks * (next + 1).saturating_sub(self.grid.columns as u64)
    }

    fn is_clean(&self, view: View) -> bool {
        self.words.done().load(Acquire) >= self.needed(view)
    }

    /// How many of the live columns are still live at `now`. (All behind the oldest of them are counted: labels of neighbours may
    /// be out of order by a stalled thread's pane.)
    fn live_at(&self, view: View, now: u64) -> usize {
        // What ends beyond the last tick does not end.
        let now = now.min(u64::MAX - 1);
        let is_live = |i: &usize| {
            let label = self.words.last(view.back(*i, self.grid.columns));
            self.expiry(label.load(Acquire)) > now
        };
        (0..view.live()).rev().find(is_live).map_or(0, |i| i + 1)
    }

    /// The end of a pane.
    fn end(&self, pane: u64) -> u64 {
        pane.saturating_add(1).saturating_mul(self.grid.pane)
    }

    /// When what came in a pane is no longer promised.
    fn expiry(&self, pane: u64) -> u64 {
        self.end(pane).saturating_add(Grid::span(self.grid.columns, self.grid.pane))
    }

    fn nothing_before(&self, tick: u64) {
        self.words.due().fetch_max(tick, AcqRel);
    }

    fn started(&self) {
        if !self.has_started() {
            self.nothing_before(1);
        }
    }

    fn has_started(&self) -> bool {
        self.words.due().load(Relaxed) > 0
    }

    /// A tick that lies too far ahead counts as the newest pane.
    fn plausible(&self, now: u64) -> u64 {
        let plausible = self.within_jump(now);
        if plausible < now {
            self.jumps.add(1);
        }
        plausible
    }

    fn within_jump(&self, now: u64) -> u64 {
        let newest = self.end(self.label(self.view()));
        if self.has_started() && now > newest.saturating_add(self.grid.max_jump) { newest - 1 } else { now }
    }

    /// Moves to another column so far.
    pub(crate) fn rotations(&self) -> u64 {
        self.rotations.sum()
    }

    /// Panes that had to be put into the column of the one before, since the next was not clean.
    pub(crate) fn late(&self) -> u64 {
        self.late.sum()
    }

    pub(crate) fn jumps(&self) -> u64 {
        self.jumps.sum()
    }

    /// Chunks cleared so far.
    pub(crate) fn cleared(&self) -> u64 {
        self.words.done().load(Relaxed)
    }
}

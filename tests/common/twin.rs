//! Deduplication by its definition: a map that never forgets and a few rules, one caller at a time.

use std::collections::HashMap;

use windlass::{Refresh, Verdict};

/// The rules in ticks; nothing in it overflows.
#[derive(Clone, Debug)]
pub(crate) struct Twin {
    pub(crate) window: i128,
    pub(crate) lateness: i128,
    pub(crate) refresh: Refresh,
    /// The first tick ever, and the newest.
    span: Option<(i128, i128)>,
    ids: HashMap<u64, Admitted>,
    pub(crate) late: u64,
}

#[derive(Clone, Copy, Debug)]
struct Admitted {
    at: i128,
    forgotten: bool,
}

impl Twin {
    pub(crate) fn new(window: u64, lateness: u64, refresh: Refresh) -> Twin {
        let (window, lateness) = (i128::from(window), i128::from(lateness));
        Twin { window, lateness, refresh, span: None, ids: HashMap::new(), late: 0 }
    }

    /// The largest power of two that is no more than a 1024th of the window, and 1 at least: the step of the horizon.
    pub(crate) fn granule(&self) -> i128 {
        let mut granule = 1;
        while granule * 2 <= self.window / 1024 {
            granule *= 2;
        }
        granule
    }

    /// Whether a time has been seen.
    pub(crate) fn seen(&self) -> bool {
        self.span.is_some()
    }

    /// A time has been seen.
    pub(crate) fn see(&mut self, now: u64) {
        let now = i128::from(now);
        let (first, newest) = self.span.unwrap_or((now, now));
        self.span = Some((first, newest.max(now)));
    }

    /// Ticks below this count as this: the newest less the lateness, where the newest is known in steps from the first.
    fn floor(&self) -> i128 {
        let Some((first, newest)) = self.span else { return i128::MIN };
        first + (newest - first) / self.granule() * self.granule() - self.lateness
    }

    fn arrival(&self, now: u64) -> i128 {
        i128::from(now).max(self.floor())
    }

    pub(crate) fn observe(&mut self, id: u64, now: u64) -> Verdict {
        self.see(now);
        self.late += u64::from(i128::from(now) < self.floor());
        self.judge(id, now)
    }

    /// The same without a look at what it does to time.
    pub(crate) fn judge(&mut self, id: u64, now: u64) -> Verdict {
        let at = self.arrival(now);
        let Some(last) = self.ids.get_mut(&id) else {
            self.ids.insert(id, Admitted { at, forgotten: false });
            return Verdict::Fresh;
        };
        if !last.forgotten && at - last.at < self.window {
            let first_seen = Some(tick(last.at));
            if self.refresh == Refresh::OnDuplicate {
                last.at = last.at.max(at);
            }
            return Verdict::Duplicate { first_seen };
        }
        // What is admitted after it was forgotten is a tick later at least than what was forgotten.
        *last = Admitted { at: at.max(last.at + i128::from(last.forgotten)), forgotten: false };
        Verdict::Fresh
    }

    pub(crate) fn contains(&self, id: u64, now: u64) -> bool {
        let at = self.arrival(now);
        self.ids.get(&id).is_some_and(|last| !last.forgotten && at - last.at < self.window)
    }

    pub(crate) fn forget(&mut self, id: u64, now: u64) -> bool {
        let there = self.contains(id, now);
        if there && let Some(last) = self.ids.get_mut(&id) {
            last.forgotten = true;
        }
        there
    }

    pub(crate) fn live(&self, now: u64) -> u64 {
        self.ids.keys().filter(|&&id| self.contains(id, now)).count() as u64
    }

    /// Ids that some observation could find to be duplicates.
    pub(crate) fn kept(&self) -> u64 {
        let floor = self.floor();
        self.ids.values().filter(|last| !last.forgotten && floor - last.at < self.window).count() as u64
    }

    pub(crate) fn reset(&mut self) {
        self.ids.clear();
    }
}

pub(crate) fn tick(at: i128) -> windlass::Tick {
    windlass::Tick(u64::try_from(at).expect("no stamp lies before 0"))
}

//! The clock of a limiter whose quota has changed.
//!
//! A bucket's state says when all that was taken will be back, and so does the horizon. When the quota changes neither is touched: the
//! times in them are those of a clock of the limiter's own, and from the change on it is that clock which goes at another speed. So all
//! clients get the new quota at once, and nothing has to be converted that somebody may be about to write.

use crate::origin::MAX_STAMP;

/// From stamps to the times of states. Before the first change they are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Course {
    /// The stamp of the change, and the time that it was by the limiter's clock. What comes from before it counts as coming then.
    from: u64,
    base: u64,
    /// So much of its time in so much of the callers': in lowest terms.
    speed: (u64, u64),
}

impl Default for Course {
    fn default() -> Course {
        Course { from: 0, base: 0, speed: (1, 1) }
    }
}

impl Course {
    /// .. that goes on at `stamp`, no earlier than this one began, with `time / span` as its speed, rounded down. `None`: it would stand still.
    pub(super) fn then(self, stamp: u64, time: u128, span: u128) -> Option<Course> {
        let shared = gcd(time, span);
        let (mut time, mut span) = (time / shared, span / shared);
        // (A clock that goes a little slower is against the client.)
        while time > u128::from(u64::MAX) || span > u128::from(u64::MAX) {
            (time, span) = (time >> 1, span.div_ceil(2));
        }
        let speed = (u64::try_from(time).ok()?, u64::try_from(span).ok()?);
        let from = stamp.max(self.from);
        (speed.0 > 0).then_some(Course { from, base: self.time(from), speed })
    }

    /// Where it began, by both clocks.
    pub(super) fn since(self) -> (u64, u64) {
        (self.from, self.base)
    }

    /// One that began there. `None`: there is none.
    pub(super) fn resumed((from, base): (u64, u64), (time, span): (u128, u128)) -> Option<Course> {
        let fits = from <= MAX_STAMP && base <= MAX_STAMP;
        Course::default().then(0, time, span).filter(|_| fits).map(|course| Course { from, base, ..course })
    }

    /// When a call counts that comes at a stamp.
    pub(super) fn time(self, stamp: u64) -> u64 {
        let (time, span) = self.speed;
        let since = u128::from(stamp.saturating_sub(self.from)) * u128::from(time) / u128::from(span);
        u64::try_from(since).map_or(MAX_STAMP, |since| self.base.saturating_add(since).min(MAX_STAMP))
    }

    /// The first stamp at which it is that time, or later.
    pub(super) fn stamp(self, time: u64) -> u64 {
        let (own, span) = self.speed;
        let after = u128::from(time.saturating_sub(self.base)) * u128::from(span);
        u64::try_from(after.div_ceil(u128::from(own)))
            .map_or(u64::MAX, |after| self.from.saturating_add(after))
    }

    /// Nanoseconds of the callers' from the change until its numbers are used up.
    pub(super) fn lasts(self) -> u64 {
        self.stamp(MAX_STAMP) - self.from
    }
}

pub(super) fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// It never goes back, `stamp` is the first one of a time, and a change is at the same time by both clocks.
        #[test]
        fn there_and_back(
            changes in prop::collection::vec((0_u64..1 << 50, 1_u64..1 << 40, 1_u64..1 << 40), 1..5),
            stamps in prop::collection::vec(0_u64..1 << 52, 1..20),
        ) {
            let mut course = Course::default();
            for &(at, time, span) in &changes {
                let next = course.then(at, time.into(), span.into()).ok_or(TestCaseError::fail("it stands"))?;
                prop_assert_eq!(next.time(next.from), course.time(next.from));
                course = next;
            }
            let mut stamps = stamps;
            stamps.sort_unstable();
            let times: Vec<u64> = stamps.iter().map(|&stamp| course.time(stamp)).collect();
            prop_assert!(times.is_sorted());
            for time in times.into_iter().filter(|time| (course.base + 1..MAX_STAMP).contains(time)) {
                let first = course.stamp(time);
                prop_assert!(course.time(first) >= time && course.time(first - 1) < time);
            }
        }
    }

    #[test]
    fn large_numbers() {
        let course = Course::default().then(5, u128::MAX / 3, u128::MAX / 3 * 2).expect("half as fast");
        assert!((499..=500).contains(&(course.time(1005) - 5)));
        assert_eq!(Course::default().then(5, 1, u128::MAX), None, "it would stand");
        assert_eq!(Course::default().then(5, 1 << 60, 1).expect("fast").time(u64::MAX), MAX_STAMP);
    }
}

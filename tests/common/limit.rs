//! Limiters by their definitions: in exact integers, one caller at a time, what comes when found by search.

use std::{collections::HashMap, time::Duration};
use windlass::{Admission, Algorithm};

/// The last time that counts, from shortly before the first call on.
pub(crate) const LAST: u64 = (1 << 58) - (1 << 42);

/// Whether it counts by windows of the clock.
fn is_window(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::FixedWindow | Algorithm::SlidingCounter)
}

pub(crate) fn is_bucket(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::Gcra | Algorithm::TokenBucket | Algorithm::LeakyQueue)
}

/// In which steps time is taken: of buckets whole microseconds, or 4 ns where there is less than a millisecond between permits.
pub(crate) fn step(algorithm: Algorithm, permits: u64, per: u64) -> u64 {
    match algorithm {
        _ if is_window(algorithm) => 1,
        _ if is_bucket(algorithm) && per / permits < 1_000_000 => 4,
        _ => 1000,
    }
}

/// One client. Where the interval of a bucket is rounded it is not exact.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    algorithm: Algorithm,
    permits: i128,
    per: i128,
    burst: i128,
    step: i128,
    /// A bucket: what it held when it was last taken from, in tokens times `per`; and when that was.
    bucket: Option<(i128, i128)>,
    /// What was taken in each window, or at each time; and the newest one from which something was.
    windows: Vec<(i128, i128)>,
    newest: i128,
    forgotten: u64,
    /// Admissions since it was first forgotten.
    since: u64,
    /// The latest time of an admission to a bucket.
    latest: i128,
}

impl Model {
    pub(crate) fn new(algorithm: Algorithm, permits: u64, per: u64, burst: u64) -> Model {
        Model {
            algorithm,
            permits: permits.into(),
            per: per.into(),
            burst: burst.into(),
            step: step(algorithm, permits, per).into(),
            bucket: None,
            windows: Vec::new(),
            newest: 0,
            forgotten: 0,
            since: 0,
            latest: 0,
        }
    }

    /// For how long a client makes a difference.
    pub(crate) fn memory(&self) -> u64 {
        whole(match self.algorithm {
            Algorithm::FixedWindow => self.per,
            Algorithm::SlidingCounter => 2 * self.per,
            Algorithm::SlidingLog => self.up(self.per) + self.age(),
            _ => self.up(div_ceil(self.burst * self.per, self.permits)),
        })
    }

    /// For how long a log is kept beyond its stamps: a quarter of the time.
    fn age(&self) -> i128 {
        1 << (self.up(self.per) / 4).max(1 << 27).ilog2()
    }

    /// What the table knows of a horizon.
    fn known(&self, horizon: u64) -> i128 {
        let (horizon, per) = (i128::from(horizon), self.up(self.per));
        match self.algorithm {
            Algorithm::SlidingLog if horizon < per + self.age() => 0,
            Algorithm::SlidingLog => (horizon - per) / self.age() * self.age() + per,
            _ => horizon,
        }
    }

    fn up(&self, nanos: i128) -> i128 {
        div_ceil(nanos, self.step) * self.step
    }

    /// Time in steps. Nothing comes before the horizon.
    fn stepped(&self, at: i128, horizon: i128) -> i128 {
        at.max(horizon).div_euclid(self.step) * self.step
    }

    /// The window of a call and how much of it is over. It does not go back behind an admission; and then none of it is over.
    fn place(&self, at: i128, horizon: i128) -> (i128, i128) {
        let own = at.div_euclid(self.per);
        let window = own.max(horizon.div_euclid(self.per)).max(self.newest);
        (window, if window == own { at.rem_euclid(self.per) } else { 0 })
    }

    fn taken(&self, window: i128) -> i128 {
        self.windows.iter().rev().find(|taken| taken.0 == window).map_or(0, |taken| taken.1)
    }

    fn full(&self) -> i128 {
        self.burst * self.per
    }

    /// Permits times `per` that are there; less than none before an admission.
    fn room(&self, at: i128, horizon: i128) -> i128 {
        let (window, elapsed) = self.place(at, horizon);
        match self.algorithm {
            Algorithm::FixedWindow => self.full() - self.taken(window) * self.per,
            Algorithm::SlidingCounter => {
                self.full() - self.taken(window) * self.per - self.taken(window - 1) * (self.per - elapsed)
            }
            Algorithm::SlidingLog => {
                let now = self.stepped(at, horizon).max(self.newest);
                let counts = |stamp: i128| stamp + self.up(self.per) > now;
                let taken: i128 =
                    self.windows.iter().filter(|taken| counts(taken.0)).map(|taken| taken.1).sum();
                self.full() - taken * self.per
            }
            _ => self.bucket.map_or(self.full(), |(level, last)| {
                self.full().min(level + (self.stepped(at, horizon) - last) * self.permits)
            }),
        }
    }

    /// How long it is from `at` until this holds. It goes on to hold.
    fn until(at: i128, holds: impl Fn(i128) -> bool) -> Duration {
        let (mut before, mut after) = (-1, 1 << 62);
        while after - before > 1 {
            let middle = (before + after) / 2;
            if holds(at + middle) { after = middle } else { before = middle }
        }
        Duration::from_nanos(whole(after))
    }

    fn is_fresh(&self, at: i128, horizon: i128) -> bool {
        self.room(at, horizon) == self.full()
    }

    pub(crate) fn check(&mut self, cost: u64, at: u64, horizon: u64) -> Admission {
        let (cost, at, horizon) = (i128::from(cost), i128::from(at), self.known(horizon));
        if cost > self.burst {
            return Admission::Never;
        }
        let passes = |at| self.room(at, horizon) >= cost * self.per;
        if cost > 0 && !passes(at) {
            return Admission::Denied { retry_after: Self::until(at, passes) };
        }
        let delay = match self.algorithm {
            // Who comes from behind the horizon goes on there.
            Algorithm::LeakyQueue => Self::until(at, |then| {
                self.is_fresh(then, horizon) && (cost == 0 || then >= self.stepped(at, horizon))
            }),
            _ => Duration::ZERO,
        };
        if cost > 0 {
            self.take(cost, at, horizon);
        }
        Admission::Allowed {
            remaining: whole(self.room(at, horizon).div_euclid(self.per).max(0)),
            reset_after: Self::until(at, |at| self.is_fresh(at, horizon)),
            delay,
        }
    }

    fn take(&mut self, cost: i128, at: i128, horizon: i128) {
        self.since += u64::from(self.forgotten > 0);
        if self.algorithm == Algorithm::SlidingLog {
            self.newest = self.newest.max(self.stepped(at, horizon));
            self.windows.push((self.newest, cost));
            return;
        }
        if is_window(self.algorithm) {
            self.newest = self.place(at, horizon).0;
            let taken = self.taken(self.newest) + cost;
            self.windows.push((self.newest, taken));
            return;
        }
        let now = self.stepped(at, horizon);
        self.latest = self.latest.max(now);
        let price = cost * self.per;
        self.bucket = Some(match self.bucket {
            Some((level, last)) if now < last => (level - price, last),
            _ => (self.room(at, horizon) - price, now),
        });
    }

    pub(crate) fn peek(&self, cost: u64, at: u64, horizon: u64) -> Admission {
        self.clone().check(cost, at, horizon)
    }

    /// Follows what a limiter said to a call of forget. Whether it may say so.
    pub(crate) fn forget(&mut self, said: bool, at: u64, horizon: u64) -> bool {
        let (at, horizon) = (i128::from(at), self.known(horizon));
        let fresh = self.is_fresh(at, horizon);
        if !said {
            let often = match self.algorithm {
                algorithm if is_window(algorithm) => self.forgotten >= 15,
                Algorithm::SlidingLog => false,
                _ if self.step == 4 => self.since > 3,
                _ => self.since > 127,
            };
            return fresh || often || at < self.latest;
        }
        self.forgotten += 1;
        if is_window(self.algorithm) {
            self.newest = self.place(at, horizon).0;
        }
        self.windows.clear();
        self.bucket = Some((self.full(), self.stepped(at, horizon)));
        !fresh
    }
}

/// Ticks counted from shortly before the first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamps {
    first: Option<u64>,
    grid: u64,
    base: u64,
}

impl Stamps {
    pub(crate) fn new(algorithm: Algorithm, per: u64, lateness: u64) -> Stamps {
        let grid = if is_window(algorithm) { per } else { 1000 };
        Stamps { first: None, grid, base: (lateness.div_ceil(grid) + 3) * grid }
    }

    /// Of a call that only asks. `None`: too far ahead.
    pub(crate) fn foresee(&self, now: u64) -> Option<u64> {
        let first = self.first.unwrap_or(now.min(u64::MAX - 1) / self.grid * self.grid);
        let stamp = i128::from(now) - i128::from(first) + i128::from(self.base);
        (stamp <= LAST.into()).then(|| whole(stamp.max(0)))
    }

    pub(crate) fn at(&mut self, now: u64) -> Option<u64> {
        self.first.get_or_insert(now.min(u64::MAX - 1) / self.grid * self.grid);
        self.foresee(now)
    }
}

/// Many clients, and the horizon that they share.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    fresh: Model,
    clients: HashMap<u64, Model>,
    stamps: Stamps,
    lateness: u64,
    granule: u64,
    /// Answers to who jumps.
    unknown: Admission,
    max_jump: u64,
    newest: u64,
    pub(crate) late: u64,
    pub(crate) jumps: u64,
}

impl Clients {
    pub(crate) fn new(fresh: Model, lateness: u64, max_jump: Option<u64>) -> Clients {
        let retry_after = Duration::from_nanos(whole(div_ceil(fresh.per, fresh.permits)));
        let granule = 1 << (fresh.memory() / 1024).max(1).ilog2();
        Clients {
            stamps: Stamps::new(fresh.algorithm, whole(fresh.per), lateness + granule),
            lateness,
            granule,
            unknown: Admission::Denied { retry_after },
            max_jump: max_jump.unwrap_or(u64::MAX),
            newest: 0,
            late: 0,
            jumps: 0,
            fresh,
            clients: HashMap::new(),
        }
    }

    fn horizon(&self) -> u64 {
        self.newest.saturating_sub(self.lateness)
    }

    fn is_jump(&self, at: u64) -> bool {
        self.newest > 0 && at.saturating_sub(self.newest) >= self.max_jump.saturating_add(self.granule)
    }

    fn client(&mut self, client: u64) -> &mut Model {
        self.clients.entry(client).or_insert_with(|| self.fresh.clone())
    }

    pub(crate) fn check(&mut self, client: u64, cost: u64, now: u64) -> Admission {
        if i128::from(cost) > self.fresh.burst {
            return Admission::Never;
        }
        let Some(at) = self.stamps.at(now).filter(|&at| !self.is_jump(at)) else {
            self.jumps += 1;
            return self.unknown;
        };
        self.late += u64::from(at < self.horizon());
        self.newest = self.newest.max(at / self.granule * self.granule);
        let horizon = self.horizon();
        self.client(client).check(cost, at, horizon)
    }

    pub(crate) fn peek(&mut self, client: u64, cost: u64, now: u64) -> Admission {
        if i128::from(cost) > self.fresh.burst {
            return Admission::Never;
        }
        let Some(at) = self.stamps.foresee(now).filter(|&at| !self.is_jump(at)) else { return self.unknown };
        let horizon = self.horizon();
        self.client(client).peek(cost, at, horizon)
    }

    pub(crate) fn forget(&mut self, said: bool, client: u64, now: u64) -> bool {
        let (at, horizon) = (self.stamps.foresee(now).unwrap_or(LAST), self.horizon());
        self.client(client).forget(said, at, horizon)
    }

    pub(crate) fn maintain(&mut self, now: u64) {
        if self.stamps.first.is_some() {
            let at = self.stamps.foresee(now).unwrap_or(LAST);
            if !self.is_jump(at) {
                self.newest = self.newest.max(at / self.granule * self.granule);
            }
        }
    }
}

fn div_ceil(n: i128, d: i128) -> i128 {
    -(-n).div_euclid(d)
}

pub(crate) fn whole(n: i128) -> u64 {
    u64::try_from(n).expect("in range")
}

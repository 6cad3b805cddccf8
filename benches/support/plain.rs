//! What the algorithms grant, as plainly as can be: one thread, one map. The judge of all answers.

use std::collections::HashMap;

/// `permits` in `per` ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) permits: u64,
    pub(crate) per: u64,
}

impl Terms {
    /// Nanoseconds between two permits. (The benchmark's are whole.)
    pub(crate) const fn interval(self) -> u64 {
        self.per / self.permits
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Gcra,
    Fixed,
    Sliding,
    Log,
}

/// The arrival time after a call, if it is allowed.
#[inline(always)]
pub(crate) fn gcra(terms: Terms, tat: u64, cost: u64, now: u64) -> Option<u64> {
    let next = tat.max(now) + cost * terms.interval();
    (next <= now + terms.per).then_some(next)
}

/// What a client has taken: when, and how much.
type Taken = Vec<(u64, u64)>;

pub(crate) struct Plain {
    pub(crate) algorithm: Algorithm,
    pub(crate) terms: Terms,
    arrivals: HashMap<u64, u64>,
    /// In windows of the clock: of each client the number of one, what it has taken there, and in the one before.
    windows: HashMap<u64, (u64, u64, u64)>,
    logs: HashMap<u64, Taken>,
}

impl Plain {
    pub(crate) fn new(algorithm: Algorithm, terms: Terms) -> Plain {
        let (arrivals, windows, logs) = (HashMap::new(), HashMap::new(), HashMap::new());
        Plain { algorithm, terms, arrivals, windows, logs }
    }

    pub(crate) fn allows(&mut self, key: u64, cost: u64, now: u64) -> bool {
        let Terms { permits, per } = self.terms;
        match self.algorithm {
            Algorithm::Gcra => {
                let tat = self.arrivals.entry(key).or_default();
                let next = gcra(self.terms, *tat, cost, now);
                *tat = next.unwrap_or(*tat);
                next.is_some()
            }
            Algorithm::Fixed | Algorithm::Sliding => {
                let window = now / per;
                let (at, this, last) = self.windows.entry(key).or_insert((window, 0, 0));
                (*at, *this, *last) = match window - *at {
                    0 => (window, *this, *last),
                    1 => (window, 0, *this),
                    _ => (window, 0, 0),
                };
                let covered = *last * (per - now % per);
                let counts = if self.algorithm == Algorithm::Sliding { covered } else { 0 };
                let allows = (*this + cost) * per + counts <= permits * per;
                *this += if allows { cost } else { 0 };
                allows
            }
            Algorithm::Log => {
                let taken = self.logs.entry(key).or_default();
                taken.retain(|(at, _)| at + per > now);
                let allows = taken.iter().map(|(_, cost)| cost).sum::<u64>() + cost <= permits;
                if allows {
                    match taken.last_mut() {
                        Some((at, n)) if *at == now => *n += cost,
                        _ => taken.push((now, cost)),
                    }
                }
                allows
            }
        }
    }
}

//! Admission in two steps: claim an id, handle its event, commit. The rule: `rule.rs`.

use super::{
    Dedup, FULL, JUMP, Refused,
    rule::{Claimed, Rule},
    state,
};
use crate::{
    hash::{Key, KeyHash},
    sync::{Ordering::Relaxed, epoch, with_wide},
    table::{Decision, MAX_LEN},
    time::{Tick, Window},
};

/// The answer to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum Claim {
    /// The id is the caller's until the lease runs out: to be handled, and then committed or aborted.
    Claimed(Ticket),
    /// The id was admitted within the window before.
    Duplicate {
        /// When it was admitted, or last refreshed. `None` where a tier cannot tell.
        first_seen: Option<Tick>,
    },
    /// Another has claimed the id and not committed it yet.
    InProgress {
        /// When that claim ends if it is not committed: then the id can be claimed again, or earlier, if it is aborted.
        until: Tick,
    },
}

/// What is needed to commit or abort a claim, at the [`Dedup`] that gave it. It can be copied, and sent to whoever handles the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    hash: KeyHash,
    /// The state that was published.
    claim: u64,
    /// How many resets there had been.
    resets: u64,
}

/// To hand it to other languages.
impl From<Ticket> for [u64; 4] {
    fn from(ticket: Ticket) -> [u64; 4] {
        [ticket.hash.hi, ticket.hash.lo, ticket.claim, ticket.resets]
    }
}

/// Of words that were never a ticket it makes one that has been lost, short of a guess.
impl From<[u64; 4]> for Ticket {
    fn from([hi, lo, claim, resets]: [u64; 4]) -> Ticket {
        Ticket { hash: KeyHash { hi, lo }, claim, resets }
    }
}

/// # Claims
/// [`Dedup::observe`] admits an event before it is handled: if that fails, the next attempt is taken for a duplicate. A claim
/// is an admission that can be taken back. It is held for the time of a lease; who crashes need not do anything.
///
/// ```
/// use windlass::{Claim, Dedup, Tick, Verdict, Window};
///
/// let (second, minute) = (Window::last_n(1), Window::last_n(60)); // ticks are seconds here
/// let dedup = Dedup::builder(minute).capacity(1000).build()?;
///
/// let Ok(Claim::Claimed(ticket)) = dedup.claim_at("order-4711", Tick(0), Window::last_n(10)) else { panic!() };
/// // Nobody else gets it meanwhile ..
/// let other = dedup.claim_at("order-4711", Tick(3), Window::last_n(10));
/// assert_eq!(other, Ok(Claim::InProgress { until: Tick(10) }));
/// assert!(!dedup.observe_at("order-4711", Tick(3))?.is_fresh());
/// // .. or ever after, for a minute from the claim on.
/// assert!(dedup.commit(ticket));
/// assert_eq!(dedup.observe_at("order-4711", Tick(59)), Ok(Verdict::Duplicate { first_seen: Some(Tick(0)) }));
///
/// // What failed is not lost ..
/// let Ok(Claim::Claimed(ticket)) = dedup.claim_at("order-4712", Tick(59), second) else { panic!() };
/// assert!(dedup.abort(ticket));
/// // .. nor is what nobody comes back for.
/// let Ok(Claim::Claimed(late)) = dedup.claim_at("order-4712", Tick(60), second) else { panic!() };
/// let Ok(Claim::Claimed(ticket)) = dedup.claim_at("order-4712", Tick(61), second) else { panic!() };
/// assert!(dedup.commit(ticket) && !dedup.commit(late));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// To whoever observes it, a claimed id is a duplicate, and fresh again when its lease has run out. The window
/// runs from the claim, also after a commit. A duplicate does not refresh a claim.
///
/// **How exactly.** A lease is rounded up, by a 16th at most, and ends with the window of its claim. In a window by time a claim
/// counts as made up to 1.024 µs later than it was (2.048 µs in windows of less than 1.05 ms), and one of an id that was just given
/// up or forgotten up to as much later than that one. In a window by events claims count as made when they are, and one event later
/// than what was given up or forgotten, as an observation does. (With window and lateness of more than 2^37 events together, to
/// within a 2^36th of these.)
///
/// **Who owns it.** As long as the id is claimed by it, lease run out or not, a ticket can be committed or aborted. Once another has
/// claimed, admitted or forgotten the id, it cannot.
impl Dedup {
    /// Claims an id now, by the structure's clock.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn claim(&self, key: impl Key, lease: impl Into<Window>) -> Result<Claim, Refused> {
        self.claim_at(key, self.clock.arrivals(1), lease)
    }

    /// Claims an id at `now`, for the length of `lease`: 1 tick to the window, in its unit.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn claim_at(&self, key: impl Key, now: Tick, lease: impl Into<Window>) -> Result<Claim, Refused> {
        let lease = self.lease(lease.into()).ok_or(Refused::Lease)?;
        if self.table.is_exact() && key.with_bytes(|_, bytes| bytes.len() > MAX_LEN) {
            return Err(Refused::TooLong);
        }
        // Before the call: what is claimed in a table that a reset brings meanwhile is lost, and not the other way round.
        let resets = self.resets.load(Relaxed);
        let Some(at) = self.arrive(now) else {
            self.refuse(JUMP);
            return Err(Refused::Jump);
        };
        let rule = self.rule.claim(at, state::code(lease));
        match self.change(key, rule) {
            Ok((Claimed::Ours(claim), hash)) => Ok(Claim::Claimed(Ticket { hash, claim, resets })),
            Ok((Claimed::Duplicate(first), _)) => {
                Ok(Claim::Duplicate { first_seen: Some(self.origin.tick_or_last(first)) })
            }
            Ok((Claimed::InProgress(until), _)) => {
                Ok(Claim::InProgress { until: self.origin.tick_or_last(until) })
            }
            Ok((Claimed::Jump, _)) => {
                self.refuse(JUMP);
                Err(Refused::Jump)
            }
            Err(refused) => {
                if refused == Refused::Full {
                    self.refuse(FULL);
                }
                Err(refused)
            }
        }
    }

    /// Admits the id of a claim, from the time of the claim on. Whether it is admitted by this ticket, now or before.
    ///
    /// `false`: the claim had been lost, and nothing is changed. The lease ran out and somebody else took the id, it
    /// was aborted, forgotten or evicted, or its window (and lateness) is over. A second commit of a ticket is told `true` as long as the
    /// window lasts, or with [`super::Refresh::OnDuplicate`] until the id is seen again.
    pub fn commit(&self, ticket: Ticket) -> bool {
        self.settle(ticket, Rule::commit(ticket.claim))
    }

    /// Gives a claim up: the id can be claimed or observed again. `false`: the claim had been lost, or committed, and nothing is
    /// changed.
    pub fn abort(&self, ticket: Ticket) -> bool {
        self.settle(ticket, Rule::abort(ticket.claim))
    }

    /// In stamps.
    fn lease(&self, lease: Window) -> Option<u64> {
        let ticks = lease.ticks().filter(|_| lease.counts_events() == self.window.counts_events())?;
        let stamps = ticks.checked_mul(self.rule.tick)?;
        (1..=self.rule.window).contains(&stamps).then_some(stamps)
    }

    fn settle(&self, ticket: Ticket, decide: impl Fn(Option<u64>, u64) -> Decision<bool> + Copy) -> bool {
        // With the state in hand. Relaxed: who finds a table that a reset brought has acquired it, and what came before.
        let decide = move |state: Option<u64>, horizon| {
            decide(state.filter(|_| self.resets.load(Relaxed) == ticket.resets), horizon)
        };
        with_wide!(self.table.wide(), wide => {
            self.table.pinned(wide, &epoch::pin()).update_known(ticket.hash, ticket.claim, decide).unwrap_or(false)
        })
    }
}

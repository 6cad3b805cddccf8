//! What two that should be alike can be compared by.

use super::Dedup;
use crate::{
    hash::{KeyHash, Seed},
    time::Tick,
};
use std::collections::HashMap;

impl Dedup {
    /// A number that says which ids are live at `now` (as [`Dedup::live_at`] counts them), since when, and whether they are claimed: the same for two of one
    /// seed and window that were told the same, in whatever order and at whatever size, and after a restore. Of use to compare a replica with what it
    /// follows.
    ///
    /// Looks at the whole table, and takes some 40 bytes an id for as long. Others may go on; then it is that of no one time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass::{Dedup, Seed, Tick};
    ///
    /// let of = |ids: &[&str]| {
    ///     let dedup = Dedup::builder(Duration::from_secs(60)).capacity(1000).seed(Seed(7)).build()?;
    ///     ids.iter().for_each(|id| assert!(dedup.observe_at(id, Tick(5)).is_ok()));
    ///     Ok::<u64, windlass::ConfigError>(dedup.digest_at(Tick(9)))
    /// };
    /// assert_eq!(of(&["a", "b"])?, of(&["b", "a", "b"])?);
    /// assert_ne!(of(&["a", "b"])?, of(&["a"])?);
    /// # Ok::<(), windlass::ConfigError>(())
    /// ```
    #[must_use]
    pub fn digest_at(&self, now: Tick) -> u64 {
        let (at, gone) = (self.origin.past(now), self.table.horizon());
        let lives = |state: u64| at.is_some_and(|at| state > gone && self.rule.is_live(state, at, gone));
        let mut states: HashMap<(u64, u64), u64> = HashMap::new();
        self.table.each(|name, state| {
            let KeyHash { hi, lo } = Seed(0).hash(name);
            // From two tables, while one takes the place of another: the later one counts.
            let there = states.entry((hi, lo)).or_default();
            *there = state.max(*there);
        });
        // A sum, as they come in any order.
        let sum = states
            .into_iter()
            .filter(|&(_, state)| lives(state))
            .fold(0_u64, |sum, ((hi, lo), state)| sum.wrapping_add(mixed([hi, lo, state])));
        // Stamps count from the first event's.
        mixed([sum, self.origin.saved(), self.rule.window])
    }
}

fn mixed(words: [u64; 3]) -> u64 {
    Seed(0).hash_fields(&words.map(u64::to_le_bytes)).lo
}

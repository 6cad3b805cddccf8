//! How much of the memory is what.

use super::{
    names::Names,
    sketch::Sketch,
    slots::{SLOTS, Slots},
};
use crate::{error::ConfigError, mem::physical_memory};

/// Of one pane; and how many tables there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Tables that go round.
    pub(super) tables: u64,
    pub(super) buckets: u64,
    /// Lines of the sketch.
    pub(super) lines: u64,
    /// Lines of keys.
    pub(super) names: u64,
    /// Parts of the total, a power of two.
    pub(super) parts: usize,
}

/// One is being filled ahead, and one waits for calls that stall.
const SPARE: u64 = 2;

/// Bytes that a pane takes beside its arrays, about.
const BESIDE: u64 = 256;

const LINE: u64 = 64;

/// Records for each slot: what displaces another needs a name as well.
const NAMES_PER_SLOT: u64 = 2;

/// Parts of a hundred that the slots have of a pane's memory. (`examples/accuracy.rs` finds fewer with 40.) Where keys have
/// bytes, these are most of what a slot takes: then it is a half for both.
fn slots_share(key_bytes: u64) -> u64 {
    if key_bytes == 0 { 25 } else { 50 }
}

/// Lines of the smallest sketch.
const LEAST_LINES: u64 = 4;

impl Plan {
    /// For so many bytes, panes that are kept, keys of a list; keys of so many bytes, 0 for numbers alone.
    pub(super) fn new(memory: u64, kept: u64, k: u64, key_bytes: u64) -> Result<Plan, ConfigError> {
        let least = Plan::least(kept, k, key_bytes);
        let most = physical_memory().unwrap_or(u64::MAX) / 4 * 3;
        if memory < least.all() {
            let limit = format!("{} bytes or more, for {k} keys in each of {kept} panes", least.all());
            return Err(ConfigError::new("memory", format_args!("{memory} bytes"), limit));
        }
        if memory > most {
            let limit = format!("{most} bytes at most, three quarters of the machine's");
            return Err(ConfigError::new("memory", format_args!("{memory} bytes"), limit));
        }
        let each = memory / least.tables;
        // No more than a 32nd for the total, and no more than there is beyond the least.
        let spare = (each / 32 / LINE).min(1 + (each - least.bytes()) / LINE);
        let parts = 1 << spare.clamp(1, 8).ilog2();
        let left = each - BESIDE - parts as u64 * LINE;
        let for_slots = left / 100 * slots_share(key_bytes) / bucket_bytes(key_bytes);
        let buckets = for_slots.max(least.buckets);
        let names = names(buckets, key_bytes);
        let lines =
            (left.saturating_sub(Slots::bytes(buckets) + names * LINE) / Sketch::bytes(1)).max(LEAST_LINES);
        Ok(Plan { buckets, lines, names, parts, ..least })
    }

    fn least(kept: u64, k: u64, key_bytes: u64) -> Plan {
        let buckets = k.div_ceil(SLOTS as u64);
        Plan { tables: kept + SPARE, buckets, lines: LEAST_LINES, names: names(buckets, key_bytes), parts: 1 }
    }

    /// Bytes of a pane's arrays.
    pub(super) fn arrays(&self) -> u64 {
        let slots = Slots::bytes(self.buckets).saturating_add(Sketch::bytes(self.lines));
        slots.saturating_add(self.names.saturating_mul(LINE))
    }

    /// Bytes of a pane.
    pub(super) fn bytes(&self) -> u64 {
        self.arrays().saturating_add(BESIDE + self.parts as u64 * LINE)
    }

    /// Bytes of all.
    pub(super) fn all(&self) -> u64 {
        self.bytes().saturating_mul(self.tables)
    }

    /// Slots of a pane.
    pub(super) fn slots(&self) -> u64 {
        self.buckets * SLOTS as u64
    }
}

fn bucket_bytes(key_bytes: u64) -> u64 {
    let records = SLOTS as u64 * NAMES_PER_SLOT;
    let each = if key_bytes == 0 { 0 } else { Names::record(key_bytes) * 8 };
    Slots::bytes(1) + records * each
}

/// Lines.
fn names(buckets: u64, key_bytes: u64) -> u64 {
    if key_bytes == 0 {
        return 0;
    }
    let record = Names::record(key_bytes).saturating_mul(8 * SLOTS as u64 * NAMES_PER_SLOT);
    buckets.saturating_mul(record).div_ceil(LINE).min(Names::most())
}

#[cfg(all(test, not(windlass_loom)))]
#[allow(clippy::expect_used)] // clippy knows tests only by their attribute
mod tests {
    use super::*;

    #[test]
    fn within_the_ceiling() {
        for kept in [2, 17, 300] {
            for (k, key_bytes) in [(1, 0), (100, 0), (100, 24), (300, 1000)] {
                let least = Plan::least(kept, k, key_bytes).all();
                for memory in [least, least + 1, 3 * least, 100 * least] {
                    let plan = Plan::new(memory, kept, k, key_bytes).expect("enough");
                    assert!(plan.all() <= memory && plan.slots() >= k, "{memory}: {plan:?}");
                    assert!(memory < 100 * least || plan.all() > memory / 10 * 9, "{memory}: {plan:?}");
                }
                let error = Plan::new(least - 1, kept, k, key_bytes).expect_err("too little");
                assert!(error.field == "memory" && error.limit.contains(&least.to_string()), "{error}");
            }
        }
    }
}

//! As orders.c.

use std::time::Duration;

use windlass::{Dedup, Tick, Verdict};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orders = Dedup::builder(Duration::from_secs(60)).capacity(1000).build()?;
    let mut fresh = 0;
    for second in [1, 2] {
        let verdict = orders.observe_at("order-4711", Tick(second * 1_000_000_000))?;
        fresh += u32::from(verdict == Verdict::Fresh);
    }
    println!("{fresh} of 2 are fresh, by windlass");
    Ok(())
}

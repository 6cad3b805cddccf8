//! The hottest keys over four processes: each counts its part of a stream in 256 KiB, and sends what it knows through a pipe; this one
//! puts it together.
//!
//! ```text
//! cargo run --release --example hot_shards
//! ```
//!
//! The children are this program again, with a shard's number. Keys are on any shard, as behind a load balancer. What is printed is checked against
//! the truth, which is known here since the stream is generated.

use std::{
    collections::HashMap,
    env,
    error::Error,
    io::{self, Read, Write},
    process::{Child, Command, Stdio},
};
use windlass::{Aggregator, BoundedTopK, Export, Keys, Seed, Tick, Window};

const SHARDS: u64 = 4;
/// Events of a shard, in one window of 16 panes.
const EVENTS: u64 = 400_000;
const K: usize = 10;
/// All have to have the same.
const SEED: Seed = Seed(42);

fn main() -> Result<(), Box<dyn Error>> {
    match env::args().nth(1) {
        Some(shard) => count(shard.parse()?),
        None => aggregate(),
    }
}

/// A child: counts, and writes what it knows to stdout.
fn count(shard: u64) -> Result<(), Box<dyn Error>> {
    let top = BoundedTopK::builder(Window::last_n(EVENTS), Window::last_n(EVENTS / 16), K)
        .memory(256 << 10)
        .key_bytes(16)
        .seed(SEED)
        .build()?;
    for i in 0..EVENTS {
        top.add_at(key(shard, i).as_str(), 1, Tick(i));
    }
    io::stdout().write_all(&top.export_at(Tick(EVENTS - 1)).to_bytes())?;
    Ok(())
}

fn aggregate() -> Result<(), Box<dyn Error>> {
    let start = |shard: u64| -> io::Result<Child> {
        Command::new(env::current_exe()?).arg(shard.to_string()).stdout(Stdio::piped()).spawn()
    };
    let children = (0..SHARDS).map(start).collect::<io::Result<Vec<_>>>()?;
    let mut all = Aggregator::new(K, Keys::Shared);
    for mut child in children {
        let mut bytes = Vec::new();
        if let Some(pipe) = &mut child.stdout {
            pipe.read_to_end(&mut bytes)?;
        }
        if !child.wait()?.success() {
            return Err("a shard has failed".into());
        }
        all.merge(&Export::from_bytes(&bytes)?)?;
    }

    let list = all.list();
    let mut truth = HashMap::<String, u64>::new();
    (0..SHARDS).flat_map(|shard| (0..EVENTS).map(move |i| key(shard, i))).for_each(|key| {
        *truth.entry(key).or_default() += 1;
    });
    println!("{} shards, {} events, {} different keys", all.exports(), list.total, truth.len());
    println!("{:16} {:>9} {:>9} {:>9} {:>9}", "key", "count", "at least", "at most", "in truth");
    for row in &list.rows {
        let key = row.key.to_string();
        let exact = truth.remove(&key).unwrap_or(0);
        println!("{key:16} {:>9} {:>9} {:>9} {exact:>9}", row.count, row.lower, row.upper);
        if exact < row.lower || exact > row.upper {
            return Err(format!("{key}: out of bounds").into());
        }
    }
    let missing = truth.values().max().copied().unwrap_or(0);
    println!("no other key has more than {}; in truth {missing}", list.tail);
    if missing > list.tail {
        return Err("a key beyond the tail".into());
    }
    let certified =
        if list.certified { "certified exact" } else { "not certified: counts lie between the bounds" };
    println!("{certified}");
    Ok(())
}

/// The key of a shard's i-th event: with a probability of about 1/i the i-th of 100,000.
fn key(shard: u64, i: u64) -> String {
    let random = SEED.hash(i * SHARDS + shard).hi >> 11;
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    // below 100,000
    let rank = (random as f64 / (1_u64 << 53) as f64 * 1e5_f64.ln()).exp() as u64;
    format!("page-{rank}")
}

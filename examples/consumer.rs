//! A consumer of a queue that delivers at least once: every order is charged, none twice, although handlers fail, workers die in the middle of it, and the queue
//! delivers again what it has heard nothing of.
//!
//! ```text
//! cargo run --release --example consumer
//! ```
//!
//! A claim is taken before an order is handled, committed once it was charged, and aborted if that failed. Of a worker that died the lease frees the order by itself. What was
//! charged is compared with the orders in the end.

use std::{
    collections::{BTreeMap, VecDeque},
    error::Error,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};
use windlass::{Claim, Dedup};

const ORDERS: u64 = 2_000;
const WORKERS: usize = 4;
/// Longer than handling an order takes.
const LEASE: Duration = Duration::from_millis(200);
/// What the queue has heard nothing of for so long it delivers again.
const VISIBILITY: Duration = Duration::from_millis(20);

/// A queue that keeps what it delivers until it is acknowledged.
struct Queue {
    waiting: Mutex<VecDeque<(Instant, u64)>>,
}

impl Queue {
    fn new() -> Queue {
        let now = Instant::now();
        // One in ten was sent twice by whoever sent it.
        let orders =
            (0..ORDERS).flat_map(|order| std::iter::repeat_n(order, if order % 10 == 0 { 2 } else { 1 }));
        Queue { waiting: Mutex::new(orders.map(|order| (now, order)).collect()) }
    }

    /// The next order; it is delivered again unless it is acknowledged. `None`: there are no more.
    fn receive(&self) -> Option<u64> {
        loop {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let (due, order) = waiting.pop_front()?;
            if due <= Instant::now() {
                waiting.push_back((Instant::now() + VISIBILITY, order));
                return Some(order);
            }
            waiting.push_front((due, order));
            drop(waiting);
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// One delivery of the order is done.
    fn acknowledge(&self, order: u64) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = waiting.iter().position(|&(_, other)| other == order) {
            waiting.remove(at);
        }
    }
}

/// What becomes of an attempt, by its number.
enum Fate {
    Succeeds,
    Fails,
    /// The worker is gone, and says nothing to anybody.
    Dies,
}

fn fate(attempt: u64) -> Fate {
    match attempt % 40 {
        7 | 23 => Fate::Fails,
        31 => Fate::Dies,
        _ => Fate::Succeeds,
    }
}

#[derive(Default)]
struct Figures {
    attempts: u64,
    failed: u64,
    died: u64,
    duplicates: u64,
    in_progress: u64,
}

fn work(
    queue: &Queue,
    seen: &Dedup,
    charged: &Mutex<Vec<u64>>,
) -> Result<Figures, Box<dyn Error + Send + Sync>> {
    let mut figures = Figures::default();
    while let Some(order) = queue.receive() {
        let ticket = match seen.claim(order, LEASE)? {
            Claim::Claimed(ticket) => ticket,
            // Done before: the queue need not try again.
            Claim::Duplicate { .. } => {
                figures.duplicates += 1;
                queue.acknowledge(order);
                continue;
            }
            // Somebody is at it, or died over it: its next delivery shall tell.
            _ => {
                figures.in_progress += 1;
                continue;
            }
        };
        figures.attempts += 1;
        match fate(figures.attempts) {
            Fate::Dies => figures.died += 1, // a new worker goes on
            Fate::Fails => {
                figures.failed += 1;
                seen.abort(ticket);
            }
            Fate::Succeeds => {
                charged.lock().unwrap_or_else(PoisonError::into_inner).push(order);
                // (Were it lost, which takes a handler that is slower than its lease, the charge would have to be taken back.)
                if !seen.commit(ticket) {
                    return Err(format!("the claim on order {order} was lost").into());
                }
                queue.acknowledge(order);
            }
        }
    }
    Ok(figures)
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let queue = Queue::new();
    let seen = Dedup::builder(Duration::from_secs(600)).capacity(10_000).build()?;
    let charged = Mutex::new(Vec::new());
    let all = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(|| work(&queue, &seen, &charged))).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err("a worker failed".into())))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let sum = |of: fn(&Figures) -> u64| all.iter().map(of).sum::<u64>();
    println!("{ORDERS} orders, {WORKERS} workers");
    println!(
        "  {:6} attempts, of which {} failed and {} ended with the worker",
        sum(|f| f.attempts),
        sum(|f| f.failed),
        sum(|f| f.died)
    );
    println!(
        "  {:6} deliveries of what was done, {} of what somebody had claimed",
        sum(|f| f.duplicates),
        sum(|f| f.in_progress)
    );

    let mut times: BTreeMap<u64, u64> = BTreeMap::new();
    for order in charged.into_inner().unwrap_or_else(PoisonError::into_inner) {
        *times.entry(order).or_default() += 1;
    }
    let twice = times.values().filter(|&&n| n > 1).count();
    println!("  {:6} charged, {twice} of them more than once", times.len());
    if times.len() as u64 != ORDERS || twice > 0 {
        return Err("not every order was charged once".into());
    }
    Ok(())
}

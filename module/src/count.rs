//! `WL.COUNT.ADD`, `WL.COUNT.GET`, `WL.COUNT.TOTAL`: how often each key of a window was seen.

use crate::{
    call::{Call, agree, all, in_range, micros, tick},
    reply::{Answer, Failure, Reply},
    server::Word,
    types::{self, Value, memory_of, registered, said},
};
use std::{
    ffi::CStr,
    io::{self, Read, Write},
    time::Duration,
};
use windlass::{Added, CounterBuilder, Seed, WindowedCounter};

/// Keys that there is room for at first. It grows.
const KEYS: usize = 100;

pub(crate) struct CountKey {
    /// Milliseconds.
    window: u64,
    pane: u64,
    /// The time of the newest change, in microseconds.
    newest: u64,
    counter: WindowedCounter,
}

fn builder(window: u64, pane: u64) -> CounterBuilder {
    WindowedCounter::builder(Duration::from_millis(window), Duration::from_millis(pane))
        .capacity(KEYS)
        .max_memory(u64::MAX)
}

impl CountKey {
    fn new(window: u64, pane: u64) -> Result<CountKey, Failure> {
        Ok(CountKey { window, pane, newest: 0, counter: builder(window, pane).build()? })
    }

    pub(crate) fn figures(&self, now: u64) -> Vec<(&'static str, Reply)> {
        vec![
            ("type", Reply::Bytes(b"count".to_vec())),
            ("window-ms", Reply::Number(self.window)),
            ("pane-ms", Reply::Number(self.pane)),
            ("newest-us", Reply::Number(self.newest)),
            ("total", Reply::Number(self.counter.total_at(tick(now.max(self.newest))))),
            ("memory-bytes", Reply::Number(self.memory() as u64)),
        ]
    }
}

impl Value for CountKey {
    const NAME: &'static CStr = c"wlm-count";

    registered!();

    fn seed(&self) -> Option<Vec<u8>> {
        Some(types::head([self.window, self.pane, self.counter.seed().0]))
    }

    fn of_seed(input: &mut dyn Read) -> Result<Self, String> {
        let [window, pane, seed] = types::read_head(input)?;
        let counter = builder(window, pane).seed(Seed(seed)).build().map_err(said)?;
        Ok(CountKey { window, pane, newest: 0, counter })
    }

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        types::write_head([self.window, self.pane], out)?;
        self.counter.snapshot_at(out, tick(self.newest), Duration::ZERO)?;
        Ok(())
    }

    fn load(input: &mut dyn Read) -> Result<CountKey, String> {
        let [window, pane] = types::read_head(input)?;
        let restored = builder(window, pane).restore(input, Duration::ZERO).map_err(said)?;
        Ok(CountKey { window, pane, newest: micros(restored.resumed), counter: restored.structure })
    }

    fn memory(&self) -> usize {
        memory_of::<CountKey>(self.counter.memory_bytes())
    }
}

/// `key window-ms pane-ms id n [id n ..]`: how often each was seen in the window, these times among them.
pub(crate) fn add(call: &mut Call<'_>) -> Answer {
    let (window, pane) = (call.millis(1, "window-ms")?, call.millis(2, "pane-ms")?);
    let adds = adds(call.rest(3))?;
    let mut key = call.key_to_write()?;
    let (stored, _) = key.value_or_new(|| CountKey::new(window, pane))?;
    agree("window-ms", stored.window, window)?;
    agree("pane-ms", stored.pane, pane)?;
    let now = call.now(stored.newest);
    stored.newest = now;
    let (add, count) =
        (|id, n| stored.counter.add_at(id, n, tick(now)), |id| stored.counter.count_at(id, tick(now)));
    let answer = counted(&adds, add, count);
    call.changed(now)?;
    Ok(answer)
}

/// Adds each, and tells how often it was seen then.
pub(crate) fn counted<'a>(
    adds: &[(&'a [u8], u64)],
    add: impl Fn(&'a [u8], u64) -> Added,
    count: impl Fn(&'a [u8]) -> u64,
) -> Reply {
    let each = adds.iter().map(|&(id, n)| match add(id, n) {
        Added::Counted => Reply::Number(count(id)),
        other => Reply::Failed(not_counted(other)),
    });
    Reply::List(each.collect())
}

/// Pairs of an id and how often it was seen.
pub(crate) fn adds<'a>(words: &[Word<'a>]) -> Result<Vec<(&'a [u8], u64)>, Failure> {
    if !words.len().is_multiple_of(2) {
        return Err(Failure::Arity);
    }
    words.chunks_exact(2).map(|pair| Ok((pair[0].bytes(), in_range(pair[1], "n", 1, 1 << 53)?))).collect()
}

fn not_counted(added: Added) -> Failure {
    match added {
        Added::NoRoom => {
            Failure::Told("OOM there is no memory for another id: it is in the total alone".into())
        }
        Added::TooLong => Failure::new("the id is too long: it is in the total alone"),
        other => Failure::new(format_args!("not counted: {other:?}")),
    }
}

/// `key id [id ..]`: how often each was seen in the window.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let ids = call.rest(1);
    let mut key = call.key_to_read()?;
    let Some(stored) = key.value::<CountKey>()? else { return all(ids.len(), 0) };
    let now = tick(call.now(stored.newest));
    Ok(Reply::Numbers(ids.iter().map(|id| stored.counter.count_at(id.bytes(), now)).collect()))
}

/// `key`: how often all together were seen in the window.
pub(crate) fn total(call: &mut Call<'_>) -> Answer {
    let mut key = call.key_to_read()?;
    let Some(stored) = key.value::<CountKey>()? else { return Ok(Reply::Number(0)) };
    let now = tick(call.now(stored.newest));
    Ok(Reply::Number(stored.counter.total_at(now)))
}

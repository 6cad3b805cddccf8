//! `WL.TOPK.ADD`, `WL.TOPK.LIST`, `WL.TOPK.EXPORT`: the hottest keys of a window.

use crate::{
    call::{Call, agree, micros, tick},
    count::{adds, not_counted},
    reply::{Answer, Failure, Reply},
    types::{self, Registered, Value},
};
use std::{
    ffi::CStr,
    io::{self, Read, Write},
    time::Duration,
};
use windlass::{Added, Seed, TopK, TopKBuilder, TopRow};

/// Keys of a list, at most.
const LISTED: u64 = 10_000;

pub(crate) struct TopKey {
    /// Milliseconds.
    window: u64,
    pane: u64,
    k: u64,
    /// The time of the newest change, in microseconds.
    newest: u64,
    top: TopK,
}

fn builder(window: u64, pane: u64, k: u64) -> TopKBuilder {
    let k = usize::try_from(k).unwrap_or(usize::MAX);
    // It grows.
    let keys = k.max(100);
    TopK::builder(Duration::from_millis(window), Duration::from_millis(pane), k)
        .capacity(keys)
        .max_memory(u64::MAX)
}

fn listed(k: u64) -> Result<u64, String> {
    if (1..=LISTED).contains(&k) { Ok(k) } else { Err(format!("lists of {k} keys")) }
}

impl TopKey {
    fn new(window: u64, pane: u64, k: u64) -> Result<TopKey, Failure> {
        Ok(TopKey { window, pane, k, newest: 0, top: builder(window, pane, k).build()? })
    }

    pub(crate) fn figures(&self, now: u64) -> Vec<(&'static str, Reply)> {
        vec![
            ("type", Reply::Bytes(b"topk".to_vec())),
            ("window-ms", Reply::Number(self.window)),
            ("pane-ms", Reply::Number(self.pane)),
            ("k", Reply::Number(self.k)),
            ("newest-us", Reply::Number(self.newest)),
            ("total", Reply::Number(self.top.total_at(tick(now.max(self.newest))))),
            ("memory-bytes", Reply::Number(self.memory() as u64)),
        ]
    }
}

impl Value for TopKey {
    const NAME: &'static CStr = c"wlm-top-k";

    fn registered() -> &'static Registered {
        static REGISTERED: Registered = Registered::new();
        &REGISTERED
    }

    fn seed(&self) -> Option<Vec<u8>> {
        Some(types::head([self.window, self.pane, self.k, self.top.seed().0]))
    }

    fn of_seed(input: &mut dyn Read) -> Result<Self, String> {
        let [window, pane, k, seed] = types::read_head(input)?;
        let top =
            builder(window, pane, listed(k)?).seed(Seed(seed)).build().map_err(|error| error.to_string())?;
        Ok(TopKey { window, pane, k, newest: 0, top })
    }

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        types::write_head([self.window, self.pane, self.k], out)?;
        self.top.save_at(out, tick(self.newest), Duration::ZERO)?;
        Ok(())
    }

    fn load(input: &mut dyn Read) -> Result<TopKey, String> {
        let [window, pane, k] = types::read_head(input)?;
        let restored = builder(window, pane, listed(k)?)
            .restore(input, Duration::ZERO)
            .map_err(|error| error.to_string())?;
        Ok(TopKey { window, pane, k, newest: micros(restored.resumed), top: restored.structure })
    }

    fn memory(&self) -> usize {
        size_of::<TopKey>() + usize::try_from(self.top.memory_bytes()).unwrap_or(usize::MAX)
    }

    /// The list: which keys are candidates follows from when lists were asked for, and where rows lie from how they came.
    fn digest(&self) -> Vec<u8> {
        let list = self.top.top_at(tick(self.newest));
        let mut bytes = Vec::new();
        let numbers = [self.window, self.pane, self.k, self.newest, list.total, list.tail];
        numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        for TopRow { key, count, lower, upper, .. } in &list.rows {
            [count, lower, upper].iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
            let key = key.bytes().unwrap_or(&[]);
            bytes.extend_from_slice(&(key.len() as u64).to_le_bytes());
            bytes.extend_from_slice(key);
        }
        bytes
    }
}

/// `key window-ms pane-ms k id n [id n ..]`: how often each was seen in the window, these times among them.
pub(crate) fn add(call: &mut Call<'_>) -> Answer {
    let (window, pane) = (call.millis(1, "window-ms")?, call.millis(2, "pane-ms")?);
    let k = call.number(3, "k", 1, LISTED)?;
    let adds = adds(call.rest(4))?;
    let mut key = call.key_to_write()?;
    let (stored, _) = key.value_or_new(|| TopKey::new(window, pane, k))?;
    agree("window-ms", stored.window, window)?;
    agree("pane-ms", stored.pane, pane)?;
    agree("k", stored.k, k)?;
    let now = call.now(stored.newest);
    stored.newest = now;
    let added: Vec<Reply> = adds
        .iter()
        .map(|&(id, n)| match stored.top.add_at(id, n, tick(now)) {
            Added::Counted => Reply::Number(stored.top.count_at(id, tick(now))),
            other => Reply::Failed(not_counted(other)),
        })
        .collect();
    call.changed(now)?;
    Ok(Reply::List(added))
}

/// `key`: the hottest keys, with how often each was seen, at least and at most.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let mut key = call.key_to_read()?;
    let Some(stored) = key.value::<TopKey>()? else { return Ok(Reply::Null) };
    let list = stored.top.top_at(tick(call.now(stored.newest)));
    let rows = list.rows.iter().map(|row| {
        let key = Reply::Bytes(row.key.bytes().unwrap_or(&[]).to_vec());
        let numbers = [row.count, row.lower, row.upper].map(Reply::Number);
        Reply::List([key].into_iter().chain(numbers).collect())
    });
    Ok(Reply::Map(vec![
        ("certified", Reply::Number(list.certified.into())),
        ("total", Reply::Number(list.total)),
        ("tail", Reply::Number(list.tail)),
        ("start-us", Reply::Number(micros(list.start))),
        ("end-us", Reply::Number(micros(list.end))),
        ("rows", Reply::List(rows.collect())),
    ]))
}

/// `key`: what it knows of the hottest keys, to be merged with what others tell.
pub(crate) fn export(call: &mut Call<'_>) -> Answer {
    let mut key = call.key_to_read()?;
    let Some(stored) = key.value::<TopKey>()? else { return Ok(Reply::Null) };
    Ok(Reply::Bytes(stored.top.export_at(tick(call.now(stored.newest))).to_bytes()))
}

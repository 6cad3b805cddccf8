//! `WL.TOPK.ADD`, `WL.TOPK.LIST`, `WL.TOPK.MAKE`, `WL.TOPK.EXPORT`, `WL.TOPK.MERGE`: the hottest keys of a window.

use crate::{
    call::{Call, agree, micros, tick},
    count::{adds, counted},
    reply::{Answer, Failure, Reply},
    types::{self, Value, memory_of, registered, said},
};
use std::{
    ffi::CStr,
    io::{self, Read, Write},
    time::Duration,
};
use windlass::{Aggregator, Export, Keys, Seed, TopK, TopKBuilder, TopRow, TopSnapshot};

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
    /// With a random seed, if it is given none.
    fn new([window, pane, k]: [u64; 3], seed: Option<u64>) -> Result<TopKey, Failure> {
        let builder = builder(window, pane, k);
        let builder = seed.map_or(builder.clone(), |seed| builder.seed(Seed(seed)));
        Ok(TopKey { window, pane, k, newest: 0, top: builder.build()? })
    }

    fn agree(&self, [window, pane, k]: [u64; 3]) -> Result<(), Failure> {
        agree("window-ms", self.window, window)?;
        agree("pane-ms", self.pane, pane)?;
        agree("k", self.k, k)
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

    registered!();

    fn seed(&self) -> Option<Vec<u8>> {
        Some(types::head([self.window, self.pane, self.k, self.top.seed().0]))
    }

    fn of_seed(input: &mut dyn Read) -> Result<Self, String> {
        let [window, pane, k, seed] = types::read_head(input)?;
        let top = builder(window, pane, listed(k)?).seed(Seed(seed)).build().map_err(said)?;
        Ok(TopKey { window, pane, k, newest: 0, top })
    }

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        types::write_head([self.window, self.pane, self.k], out)?;
        self.top.save_at(out, tick(self.newest), Duration::ZERO)?;
        Ok(())
    }

    fn load(input: &mut dyn Read) -> Result<TopKey, String> {
        let [window, pane, k] = types::read_head(input)?;
        let restored = builder(window, pane, listed(k)?).restore(input, Duration::ZERO).map_err(said)?;
        Ok(TopKey { window, pane, k, newest: micros(restored.resumed), top: restored.structure })
    }

    fn memory(&self) -> usize {
        memory_of::<TopKey>(self.top.memory_bytes())
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

/// Window, pane, and how many keys are listed.
fn settings(call: &Call<'_>) -> Result<[u64; 3], Failure> {
    Ok([call.millis(1, "window-ms")?, call.millis(2, "pane-ms")?, call.number(3, "k", 1, LISTED)?])
}

/// `key window-ms pane-ms k seed`: 1 if it made the key, 0 if it was there, with the same. Those of one seed can be merged, and whoever knows the seed can make ids that are taken for each other.
pub(crate) fn make(call: &mut Call<'_>) -> Answer {
    let (settings, seed) = (settings(call)?, call.number(4, "seed", 0, u64::MAX)?);
    let mut key = call.key_to_write()?;
    let (stored, new) = key.value_or_new(|| TopKey::new(settings, Some(seed)))?;
    stored.agree(settings)?;
    if stored.top.seed().0 != seed {
        return Err(Failure::new("the key has another seed"));
    }
    if new {
        call.server.changed(call.word(0)?);
    }
    Ok(Reply::Number(new.into()))
}

/// `k SPLIT|SHARED export [export ..]`: the list over all of what `WL.TOPK.EXPORT` has told. Split: each id was counted in one key alone.
pub(crate) fn merge(call: &mut Call<'_>) -> Answer {
    let k = call.number(0, "k", 1, LISTED)?;
    let keys = match call.word(1)? {
        word if word.is("SPLIT") => Keys::Split,
        word if word.is("SHARED") => Keys::Shared,
        _ => return Err(Failure::Told("ERR syntax error".into())),
    };
    let mut all = Aggregator::new(usize::try_from(k).unwrap_or(usize::MAX), keys);
    for (word, number) in call.rest(2).iter().zip(1..) {
        let wrong = |why: String| Failure::new(format_args!("export {number}: {why}"));
        let export = Export::from_bytes(word.bytes()).map_err(|error| wrong(error.to_string()))?;
        all.merge(&export).map_err(|error| wrong(error.to_string()))?;
    }
    Ok(told(&all.list()))
}

/// `key window-ms pane-ms k id n [id n ..]`: how often each was seen in the window, these times among them.
pub(crate) fn add(call: &mut Call<'_>) -> Answer {
    let settings = settings(call)?;
    let adds = adds(call.rest(4))?;
    let mut key = call.key_to_write()?;
    let (stored, _) = key.value_or_new(|| TopKey::new(settings, None))?;
    stored.agree(settings)?;
    let now = call.now(stored.newest);
    stored.newest = now;
    let (add, count) = (|id, n| stored.top.add_at(id, n, tick(now)), |id| stored.top.count_at(id, tick(now)));
    let answer = counted(&adds, add, count);
    call.changed(now)?;
    Ok(answer)
}

/// `key`: the hottest keys, with how often each was seen, at least and at most.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let mut key = call.key_to_read()?;
    let Some(stored) = key.value::<TopKey>()? else { return Ok(Reply::Null) };
    Ok(told(&stored.top.top_at(tick(call.now(stored.newest)))))
}

fn told(list: &TopSnapshot) -> Reply {
    let rows = list.rows.iter().map(|row| {
        let key = Reply::Bytes(row.key.bytes().unwrap_or(&[]).to_vec());
        let numbers = [row.count, row.lower, row.upper].map(Reply::Number);
        Reply::List([key].into_iter().chain(numbers).collect())
    });
    Reply::Map(vec![
        ("certified", Reply::Number(list.certified.into())),
        ("total", Reply::Number(list.total)),
        ("tail", Reply::Number(list.tail)),
        ("start-us", Reply::Number(micros(list.start))),
        ("end-us", Reply::Number(micros(list.end))),
        ("rows", Reply::List(rows.collect())),
    ])
}

/// `key`: what it knows of the hottest keys, to be merged with what others tell.
pub(crate) fn export(call: &mut Call<'_>) -> Answer {
    let mut key = call.key_to_read()?;
    let Some(stored) = key.value::<TopKey>()? else { return Ok(Reply::Null) };
    Ok(Reply::Bytes(stored.top.export_at(tick(call.now(stored.newest))).to_bytes()))
}

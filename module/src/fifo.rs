//! `WL.FIFO.PUSH`, `WL.FIFO.POP`, `WL.FIFO.REMOVE`, `WL.FIFO.RANK`, `WL.FIFO.GET`, `WL.FIFO.LEN`: a queue that knows where each waits.

use crate::{
    call::{Call, micros, tick},
    reply::{Answer, Failure, Reply},
    server::Sent,
    types::{self, Value, memory_of, registered, said},
};
use std::{
    ffi::CStr,
    io::{self, Read, Write},
    time::Duration,
};
use windlass::{Entry, FifoBuilder, FifoIndex, PushRefused, Pushed, Seed};

/// Entries that there is room for at first.
const ENTRIES: usize = 1000;
/// Bytes of a queue, but for its values and long ids.
const MEMORY: u64 = 1 << 30;
/// Entries that are taken out at a time.
const POPPED: u64 = 1 << 20;

pub(crate) struct FifoKey {
    /// The time of the newest change, in microseconds.
    newest: u64,
    /// Of values and ids.
    bytes: usize,
    queue: FifoIndex<Vec<u8>>,
}

fn builder() -> FifoBuilder {
    FifoIndex::builder().capacity(ENTRIES).max_memory(MEMORY)
}

impl FifoKey {
    fn new() -> Result<FifoKey, Failure> {
        Ok(FifoKey { newest: 0, bytes: 0, queue: builder().build()? })
    }

    pub(crate) fn figures(&self, _: u64) -> Vec<(&'static str, Reply)> {
        let stats = self.queue.stats();
        vec![
            ("type", Reply::Bytes(b"fifo".to_vec())),
            ("length", Reply::Number(stats.len)),
            ("head", Reply::Number(stats.head)),
            ("tail", Reply::Number(stats.tail)),
            ("newest-us", Reply::Number(self.newest)),
            ("memory-bytes", Reply::Number(self.memory() as u64)),
        ]
    }
}

fn bytes_of(entry: &Entry<Vec<u8>>) -> usize {
    entry.key.as_bytes().len() + entry.value.len()
}

impl Value for FifoKey {
    const NAME: &'static CStr = c"wlm-queue";

    registered!();

    fn seed(&self) -> Option<Vec<u8>> {
        Some(types::head([self.queue.seed().0]))
    }

    fn of_seed(input: &mut dyn Read) -> Result<Self, String> {
        let [seed] = types::read_head(input)?;
        let queue = builder().seed(Seed(seed)).build().map_err(said)?;
        Ok(FifoKey { newest: 0, bytes: 0, queue })
    }

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        self.queue.snapshot_at(out, tick(self.newest), Duration::ZERO)?;
        Ok(())
    }

    fn load(input: &mut dyn Read) -> Result<FifoKey, String> {
        let restored = builder().restore::<Vec<u8>>(input, Duration::ZERO).map_err(said)?;
        let (queue, newest) = (restored.structure, micros(restored.resumed));
        let bytes = queue.iter().map(|entry| bytes_of(&entry)).sum();
        Ok(FifoKey { newest, bytes, queue })
    }

    fn memory(&self) -> usize {
        self.bytes + memory_of::<FifoKey>(self.queue.memory_bytes())
    }
}

/// `key id value [id value ..]`: of each whether it is new (1) or waits already (0), and its number.
pub(crate) fn push(call: &mut Call<'_>) -> Answer {
    let pairs = call.rest(1);
    if !pairs.len().is_multiple_of(2) {
        return Err(Failure::Arity);
    }
    let mut key = call.key_to_write()?;
    let (stored, _) = key.value_or_new(FifoKey::new)?;
    let now = call.now(stored.newest);
    let (mut answers, mut sent) = (Vec::with_capacity(pairs.len() / 2), Vec::new());
    for pair in pairs.chunks_exact(2) {
        let (id, value) = (pair[0], pair[1]);
        let pushed = stored.queue.push_at(id.bytes(), value.bytes().to_vec(), tick(now));
        if let Ok(Pushed::New(_)) = pushed {
            stored.bytes += id.bytes().len() + value.bytes().len();
            sent.extend([Sent::Word(id), Sent::Word(value)]);
        }
        answers.push(match pushed {
            Ok(pushed) => {
                let new = u64::from(matches!(pushed, Pushed::New(_)));
                Reply::Numbers(vec![new, pushed.seq()])
            }
            Err(PushRefused::Full) => Reply::Failed(Failure::Told("OOM the queue is full".into())),
            Err(refused) => Reply::Failed(Failure::new(refused)),
        });
    }
    if !sent.is_empty() {
        stored.newest = now;
        call.changed_by(now, [Sent::Word(call.word(0)?)].into_iter().chain(sent))?;
    }
    Ok(Reply::List(answers))
}

/// `key [count]`: the oldest entries, which are gone: number, id, value and time of each.
pub(crate) fn pop(call: &mut Call<'_>) -> Answer {
    let count = if call.words.len() > 1 { call.number(1, "count", 1, POPPED)? } else { 1 };
    let mut key = call.key_to_write()?;
    let Some(stored) = key.value::<FifoKey>()? else { return Ok(Reply::List(Vec::new())) };
    let mut entries = Vec::new();
    while (entries.len() as u64) < count {
        let Some(entry) = stored.queue.pop() else { break };
        stored.bytes = stored.bytes.saturating_sub(bytes_of(&entry));
        entries.push(told(entry));
    }
    if !entries.is_empty() {
        let popped = [Sent::Word(call.word(0)?), Sent::Number(entries.len() as u64)];
        call.changed_by(stored.newest, popped.into_iter())?;
    }
    Ok(Reply::List(entries))
}

/// `key id [id ..]`: those entries, which are gone, as `pop` tells them; nothing for one that does not wait.
pub(crate) fn remove(call: &mut Call<'_>) -> Answer {
    let ids = call.rest(1);
    let mut key = call.key_to_write()?;
    let Some(stored) = key.value::<FifoKey>()? else {
        return Ok(Reply::List(ids.iter().map(|_| Reply::Null).collect()));
    };
    let (mut answers, mut sent) = (Vec::with_capacity(ids.len()), Vec::new());
    for &id in ids {
        answers.push(stored.queue.remove(id.bytes()).map_or(Reply::Null, |entry| {
            stored.bytes = stored.bytes.saturating_sub(bytes_of(&entry));
            sent.push(Sent::Word(id));
            told(entry)
        }));
    }
    if !sent.is_empty() {
        call.changed_by(stored.newest, [Sent::Word(call.word(0)?)].into_iter().chain(sent))?;
    }
    Ok(Reply::List(answers))
}

fn told(entry: Entry<Vec<u8>>) -> Reply {
    let id = Reply::Bytes(entry.key.as_bytes().to_vec());
    let at = Reply::Number(micros(entry.pushed_at));
    Reply::List(vec![Reply::Number(entry.seq), id, Reply::Bytes(entry.value), at])
}

/// `key id [id ..]`: how many wait before each; nothing for one that does not wait.
pub(crate) fn rank(call: &mut Call<'_>) -> Answer {
    let ids = call.rest(1);
    let mut key = call.key_to_read()?;
    let stored = key.value::<FifoKey>()?;
    let rank = |id: &[u8]| stored.as_ref().and_then(|stored| stored.queue.rank(id));
    Ok(Reply::List(ids.iter().map(|id| rank(id.bytes()).map_or(Reply::Null, Reply::Number)).collect()))
}

/// `key id [id ..]`: the value of each; nothing for one that does not wait.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let ids = call.rest(1);
    let mut key = call.key_to_read()?;
    let stored = key.value::<FifoKey>()?;
    let value = |id: &[u8]| stored.as_ref().and_then(|stored| stored.queue.get(id));
    Ok(Reply::List(ids.iter().map(|id| value(id.bytes()).map_or(Reply::Null, Reply::Bytes)).collect()))
}

/// `key`: how many wait.
pub(crate) fn len(call: &mut Call<'_>) -> Answer {
    let mut key = call.key_to_read()?;
    Ok(Reply::Number(key.value::<FifoKey>()?.map_or(0, |stored| stored.queue.len())))
}

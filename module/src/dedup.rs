//! `WL.DEDUP`, `WL.PEEK`, and admission in two steps.

use crate::{
    call::{Call, agree, all, micros, tick},
    reply::{Answer, Failure, Reply},
    server::Sent,
    types::{self, Registered, Value},
};
use std::{
    ffi::CStr,
    io::{self, Read, Write},
    time::Duration,
};
use windlass::{Claim, Dedup, DedupBuilder, KeyHash, Outcome, Refused, Seed, Ticket, Verdict};

/// Ids that a key has room for at first. It grows.
const IDS: usize = 100;

pub(crate) struct DedupKey {
    /// Milliseconds.
    window: u64,
    /// The time of the newest change, in microseconds.
    newest: u64,
    dedup: Dedup,
}

fn builder(window: u64) -> DedupBuilder {
    Dedup::builder(Duration::from_millis(window)).capacity(IDS).max_memory(u64::MAX)
}

impl DedupKey {
    fn new(window: u64) -> Result<DedupKey, Failure> {
        Ok(DedupKey { window, newest: 0, dedup: builder(window).build()? })
    }

    pub(crate) fn figures(&self, now: u64) -> Vec<(&'static str, Reply)> {
        vec![
            ("type", Reply::Bytes(b"dedup".to_vec())),
            ("window-ms", Reply::Number(self.window)),
            ("newest-us", Reply::Number(self.newest)),
            ("live", Reply::Number(self.dedup.live_at(tick(now.max(self.newest))))),
            ("capacity", Reply::Number(self.dedup.stats().capacity)),
            ("memory-bytes", Reply::Number(self.memory() as u64)),
        ]
    }
}

impl Value for DedupKey {
    const NAME: &'static CStr = c"wlm-dedup";

    fn registered() -> &'static Registered {
        static REGISTERED: Registered = Registered::new();
        &REGISTERED
    }

    fn seed(&self) -> Option<Vec<u8>> {
        Some(types::head([self.window, self.dedup.seed().0]))
    }

    fn of_seed(input: &mut dyn Read) -> Result<Self, String> {
        let [window, seed] = types::read_head(input)?;
        let dedup = builder(window).seed(Seed(seed)).build().map_err(|error| error.to_string())?;
        Ok(DedupKey { window, newest: 0, dedup })
    }

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        types::write_head([self.window], out)?;
        // Ticks are the system's time: they go on by themselves.
        self.dedup.snapshot_at(out, tick(self.newest), Duration::ZERO)?;
        Ok(())
    }

    fn load(input: &mut dyn Read) -> Result<DedupKey, String> {
        let [window] = types::read_head(input)?;
        let restored = builder(window).restore(input, Duration::ZERO).map_err(|error| error.to_string())?;
        Ok(DedupKey { window, newest: micros(restored.resumed), dedup: restored.structure })
    }

    fn memory(&self) -> usize {
        size_of::<DedupKey>() + usize::try_from(self.dedup.memory_bytes()).unwrap_or(usize::MAX)
    }

    /// Where ids lie, and what is left of those that are gone, may differ.
    fn digest(&self) -> Vec<u8> {
        let digest = self.dedup.digest_at(tick(self.newest));
        [self.window, self.newest, digest].iter().flat_map(|number| number.to_le_bytes()).collect()
    }
}

/// `key window-ms id [id ..]`: 1 for each that is admitted, 0 for a duplicate.
pub(crate) fn dedup(call: &mut Call<'_>) -> Answer {
    let window = call.millis(1, "window-ms")?;
    let words = call.rest(2);
    let mut key = call.key_to_write()?;
    let (stored, new) = key.value_or_new(|| DedupKey::new(window))?;
    agree("window-ms", stored.window, window)?;
    let now = call.now(stored.newest);
    let seed = stored.dedup.seed();
    let ids: Vec<KeyHash> = words.iter().map(|word| seed.hash(word.bytes())).collect();
    // Duplicates change nothing, here or anywhere else: not even how far time has come.
    if !new && ids.iter().all(|&id| stored.dedup.contains_at(id, tick(now))) {
        return all(ids.len(), 0);
    }
    let mut outcomes: Vec<Outcome> = Vec::with_capacity(ids.len());
    stored.dedup.observe_batch_at(&ids, tick(now), &mut outcomes);
    let fresh = |outcome: &Outcome| *outcome == Ok(Verdict::Fresh);
    if outcomes.iter().any(fresh) {
        stored.newest = now;
        let admitted = words.iter().zip(&outcomes).filter(|(_, outcome)| fresh(outcome));
        let admitted = admitted.map(|(&word, _)| Sent::Word(word));
        let settings = [Sent::Word(call.word(0)?), Sent::Word(call.word(1)?)];
        call.changed_by(now, settings.into_iter().chain(admitted))?;
    }
    if outcomes.iter().all(Result::is_ok) {
        return Ok(Reply::Numbers(outcomes.iter().map(|outcome| u64::from(fresh(outcome))).collect()));
    }
    Ok(Reply::List(outcomes.into_iter().map(judged).collect()))
}

fn judged(outcome: Outcome) -> Reply {
    match outcome {
        Ok(verdict) => Reply::Number(u64::from(verdict == Verdict::Fresh)),
        Err(refused) => Reply::Failed(refusal(refused)),
    }
}

fn refusal(refused: Refused) -> Failure {
    match refused {
        Refused::Full => Failure::Told("OOM there is no memory for another id".into()),
        refused => Failure::new(refused),
    }
}

/// `key id [id ..]`: 1 for each that an observation would find to be a duplicate.
pub(crate) fn peek(call: &mut Call<'_>) -> Answer {
    let ids = call.rest(1);
    let mut key = call.key_to_read()?;
    let Some(stored) = key.value::<DedupKey>()? else { return all(ids.len(), 0) };
    let now = tick(call.now(stored.newest));
    let there = ids.iter().map(|id| u64::from(stored.dedup.contains_at(id.bytes(), now)));
    Ok(Reply::Numbers(there.collect()))
}

/// `key window-ms lease-ms id`: (1, ticket) for a claim; (0, time of admission) for a duplicate; (2, end of the lease) if another has claimed it. Times
/// are in microseconds.
pub(crate) fn claim(call: &mut Call<'_>) -> Answer {
    let window = call.millis(1, "window-ms")?;
    let lease = call.number(2, "lease-ms", 1, window)?;
    let id = call.word(3)?;
    let mut key = call.key_to_write()?;
    let (stored, _) = key.value_or_new(|| DedupKey::new(window))?;
    agree("window-ms", stored.window, window)?;
    let now = call.now(stored.newest);
    let claim =
        stored.dedup.claim_at(id.bytes(), tick(now), Duration::from_millis(lease)).map_err(refusal)?;
    // Whatever the answer is: time has moved on.
    stored.newest = now;
    call.changed(now)?;
    let (code, what) = match claim {
        Claim::Claimed(ticket) => (1, Reply::Bytes(ticket_text(ticket).into_bytes())),
        Claim::Duplicate { first_seen } => {
            (0, first_seen.map_or(Reply::Null, |at| Reply::Number(micros(at))))
        }
        Claim::InProgress { until } => (2, Reply::Number(until.0.div_ceil(1000))),
        other => return Err(Failure::new(format_args!("an answer that is not known: {other:?}"))),
    };
    Ok(Reply::List(vec![Reply::Number(code), what]))
}

/// `key ticket`: 1 if its id is admitted by it.
pub(crate) fn commit(call: &mut Call<'_>) -> Answer {
    settle(call, Dedup::commit)
}

/// `key ticket`: 1 if its claim is given up.
pub(crate) fn abort(call: &mut Call<'_>) -> Answer {
    settle(call, Dedup::abort)
}

fn settle(call: &Call<'_>, settle: fn(&Dedup, Ticket) -> bool) -> Answer {
    let ticket =
        ticket_of(call.word(1)?.bytes()).ok_or_else(|| Failure::new("no ticket: 64 hexadecimal digits"))?;
    let mut key = call.key_to_write()?;
    let Some(stored) = key.value::<DedupKey>()? else { return Ok(Reply::Number(0)) };
    let settled = settle(&stored.dedup, ticket);
    if settled {
        call.changed(stored.newest)?;
    }
    Ok(Reply::Number(settled.into()))
}

fn ticket_text(ticket: Ticket) -> String {
    <[u64; 4]>::from(ticket).map(|word| format!("{word:016x}")).concat()
}

fn ticket_of(text: &[u8]) -> Option<Ticket> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.len() == 64)?;
    if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut words = [0; 4];
    for (at, word) in words.iter_mut().enumerate() {
        *word = u64::from_str_radix(text.get(at * 16..at * 16 + 16)?, 16).ok()?;
    }
    Some(words.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_as_text() {
        let ticket = Ticket::from([1, u64::MAX, 0xabc, 0]);
        let text = ticket_text(ticket);
        assert_eq!(ticket_of(text.as_bytes()), Some(ticket));
        for wrong in [&text[1..], &text.replace('f', "+"), &format!("{text}0"), "ü"] {
            assert_eq!(ticket_of(wrong.as_bytes()), None, "{wrong}");
        }
    }
}

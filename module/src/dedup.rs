//! `WL.DEDUP`, `WL.ADMIT`, `WL.PEEK`, and admission in two steps.

use crate::{
    call::{Call, agree, all, micros, tick},
    reply::{Answer, Failure, Reply},
    server::Sent,
    tokens::{Token, Tokens},
    types::{self, Value, memory_of, registered, said},
};
use std::{
    collections::HashSet,
    ffi::CStr,
    io::{self, Read, Write},
    time::Duration,
};
use windlass::{Claim, Dedup, DedupBuilder, KeyHash, Outcome, Refused, Seed, Tick, Ticket, Verdict};

/// Ids that a key has room for at first. It grows.
const IDS: usize = 100;

pub(crate) struct DedupKey {
    /// Milliseconds.
    window: u64,
    /// The time of the newest change, in microseconds.
    newest: u64,
    dedup: Dedup,
    tokens: Tokens,
}

fn builder(window: u64) -> DedupBuilder {
    Dedup::builder(Duration::from_millis(window)).capacity(IDS).max_memory(u64::MAX)
}

impl DedupKey {
    fn new(window: u64) -> Result<DedupKey, Failure> {
        Ok(DedupKey::with(window, builder(window).build()?))
    }

    fn with(window: u64, dedup: Dedup) -> DedupKey {
        DedupKey { window, newest: 0, dedup, tokens: Tokens::default() }
    }

    /// When a call counts, in microseconds. With a token it is another time than that of anything which was admitted before (a claim counts as made up to 1024 ns
    /// later than it came), and what is admitted afterwards is so later.
    fn time(&self, call: &Call<'_>, token: bool) -> u64 {
        let after = if token && self.newest > 0 {
            self.newest + 2
        } else {
            self.tokens.newest().map_or(self.newest, |at| self.newest.max(at + 1))
        };
        call.now(after)
    }

    /// What is told of a duplicate that was first seen then.
    fn again(&self, at: Tick, token: Option<Token>) -> u64 {
        if token.is_some_and(|token| self.tokens.has(at, token)) { OWN } else { OTHER }
    }

    pub(crate) fn figures(&self, now: u64) -> Vec<(&'static str, Reply)> {
        vec![
            ("type", Reply::Bytes(b"dedup".to_vec())),
            ("window-ms", Reply::Number(self.window)),
            ("newest-us", Reply::Number(self.newest)),
            ("live", Reply::Number(self.dedup.live_at(tick(now.max(self.newest))))),
            ("capacity", Reply::Number(self.dedup.stats().capacity)),
            ("tokens", Reply::Number(self.tokens.len() as u64)),
            ("memory-bytes", Reply::Number(self.memory() as u64)),
        ]
    }
}

impl Value for DedupKey {
    const NAME: &'static CStr = c"wlm-dedup";

    registered!();

    fn seed(&self) -> Option<Vec<u8>> {
        Some(types::head([self.window, self.dedup.seed().0]))
    }

    fn of_seed(input: &mut dyn Read) -> Result<Self, String> {
        let [window, seed] = types::read_head(input)?;
        let dedup = builder(window).seed(Seed(seed)).build().map_err(said)?;
        Ok(DedupKey::with(window, dedup))
    }

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        types::write_head([self.window, self.tokens.len() as u64], out)?;
        self.tokens.save(out)?;
        // Ticks are the system's time: they go on by themselves.
        self.dedup.snapshot_at(out, tick(self.newest), Duration::ZERO)?;
        Ok(())
    }

    fn load(input: &mut dyn Read) -> Result<DedupKey, String> {
        let [window, tokens] = types::read_head(input)?;
        let tokens = Tokens::load(tokens, input)?;
        let restored = builder(window).restore(input, Duration::ZERO).map_err(said)?;
        let newest = micros(restored.resumed);
        // So that times go on rising, and what is saved of them can be loaded again.
        if tokens.newest().is_some_and(|at| at > newest) {
            return Err("a token of later than the newest change".to_owned());
        }
        Ok(DedupKey { newest, tokens, ..DedupKey::with(window, restored.structure) })
    }

    fn memory(&self) -> usize {
        memory_of::<DedupKey>(self.dedup.memory_bytes()) + self.tokens.memory()
    }

    /// Where ids lie, and what is left of those that are gone, may differ.
    fn digest(&self) -> Vec<u8> {
        let digest = self.dedup.digest_at(tick(self.newest));
        let mut bytes: Vec<u8> =
            [self.window, self.newest, digest].iter().flat_map(|number| number.to_le_bytes()).collect();
        bytes.extend(self.tokens.to_bytes());
        bytes
    }
}

/// `key window-ms id [id ..]`: 1 for each that is admitted, 0 for a duplicate.
pub(crate) fn dedup(call: &mut Call<'_>) -> Answer {
    observe(call, 2, None)
}

/// `key window-ms token id [id ..]`: 1 for each that is admitted, 2 for one that this token has admitted before, 0 for a duplicate.
pub(crate) fn admit(call: &mut Call<'_>) -> Answer {
    observe(call, 3, Some(call.word(2)?.bytes()))
}

/// `settings`: words before the ids.
fn observe(call: &Call<'_>, settings: usize, token: Option<&[u8]>) -> Answer {
    let window = call.millis(1, "window-ms")?;
    let words = call.rest(settings);
    let mut key = call.key_to_write()?;
    let (stored, new) = key.value_or_new(|| DedupKey::new(window))?;
    agree("window-ms", stored.window, window)?;
    let now = stored.time(call, token.is_some());
    let seed = stored.dedup.seed();
    let token = token.map(|token| seed.hash(token).lo);
    let ids: Vec<KeyHash> = words.iter().map(|word| seed.hash(word.bytes())).collect();
    // Duplicates change nothing, here or anywhere else: not even how far time has come.
    let seen = || ids.iter().map(|&id| stored.dedup.first_seen_at(id, tick(now))).collect();
    let seen: Option<Vec<Tick>> = if new { None } else { seen() };
    if let Some(seen) = seen {
        let mut told: Vec<u64> = seen.into_iter().map(|at| stored.again(at, token)).collect();
        first_alone(&mut told, &ids);
        if told.contains(&OWN) {
            // There as here it changes nothing; but whoever waits for replicas now (`WAIT`) waits for those that have it.
            let words = call.words.iter().map(|&word| Sent::Word(word));
            call.server.replicate_at(now, call.verb, words);
        }
        return Ok(Reply::Numbers(told));
    }
    let mut outcomes: Vec<Outcome> = Vec::with_capacity(ids.len());
    stored.dedup.observe_batch_at(&ids, tick(now), &mut outcomes);
    let judged = |outcome: &Outcome| match *outcome {
        Ok(Verdict::Fresh) => Ok(NEW),
        Ok(Verdict::Duplicate { first_seen: Some(at) }) => Ok(stored.again(at, token)),
        Ok(_) => Ok(OTHER),
        Err(refused) => Err(refused),
    };
    let told: Vec<Result<u64, Refused>> = outcomes.iter().map(judged).collect();
    if told.contains(&Ok(NEW)) {
        stored.newest = now;
        if let Some(token) = token {
            stored.tokens.admitted(now, token, stored.window * 1000);
        }
        let admitted = words.iter().zip(&told).filter(|(_, told)| **told == Ok(NEW));
        let admitted = admitted.map(|(&word, _)| Sent::Word(word));
        let settings = call.words.iter().take(settings).map(|&word| Sent::Word(word));
        call.changed_by(now, settings.chain(admitted))?;
    }
    match told.iter().copied().collect::<Result<Vec<u64>, Refused>>() {
        Ok(mut told) => {
            first_alone(&mut told, &ids);
            Ok(Reply::Numbers(told))
        }
        Err(_) => {
            let each = |told: Result<u64, Refused>| {
                told.map_or_else(|why| Reply::Failed(refusal(why)), Reply::Number)
            };
            Ok(Reply::List(told.into_iter().map(each).collect()))
        }
    }
}

/// What is told of an id: admitted now, by the same token before, or otherwise.
const NEW: u64 = 1;
const OWN: u64 = 2;
const OTHER: u64 = 0;

/// Of ids of one command that are the same the first may be admitted by it: the others are not either when it is asked again.
fn first_alone(told: &mut [u64], ids: &[KeyHash]) {
    if !told.contains(&OWN) {
        return;
    }
    let mut before = HashSet::new();
    for (told, &id) in told.iter_mut().zip(ids) {
        if !before.insert(id) && *told == OWN {
            *told = OTHER;
        }
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
    let now = stored.time(call, false);
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
    fn tokens_are_no_later_than_the_newest() {
        let mut key = DedupKey::with(1000, builder(1000).build().expect("valid"));
        key.newest = 2_000_000;
        assert!(key.dedup.observe_at("a", tick(key.newest)).is_ok());
        for (at, is_fine) in [(1_999_999, true), (2_000_000, true), (u64::MAX, false)] {
            key.tokens.admitted(at, 1, u64::MAX);
            let again = types::from_bytes(&types::to_bytes(&key), DedupKey::load);
            assert_eq!(again.is_ok_and(|again| again.digest() == key.digest()), is_fine, "{at}");
        }
    }

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

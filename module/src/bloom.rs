//! `WL.BLOOM.ADD`, `WL.BLOOM.OBSERVE`, `WL.BLOOM.CHECK`: ids in memory that does not grow, with a stated share of errors.

use crate::{
    call::{Call, agree, all, micros, tick},
    reply::{Answer, Failure, Reply},
    server::Sent,
    types::{self, Value, memory_of, registered, said},
};
use std::{
    ffi::CStr,
    io::{self, Read, Write},
    time::Duration,
};
use windlass::{BloomBuilder, RotatingBloom, Seed, Verdict};

/// What a filter is made for.
#[derive(Clone, Copy, PartialEq)]
struct Settings {
    /// Milliseconds.
    window: u64,
    panes: u64,
    /// The share of errors.
    error: f64,
    ids: u64,
}

pub(crate) struct BloomKey {
    settings: Settings,
    /// The time of the newest change, in microseconds.
    newest: u64,
    seen: RotatingBloom,
}

/// Panes and ids that a filter may have.
const PANES: u64 = 1024;
const IDS: u64 = 1 << 40;

impl Settings {
    fn builder(self) -> BloomBuilder {
        let panes = usize::try_from(self.panes).unwrap_or(usize::MAX);
        RotatingBloom::builder(Duration::from_millis(self.window))
            .panes(panes)
            .error(self.error)
            .expected_ids(self.ids)
    }

    fn asked(call: &Call<'_>) -> Result<Settings, Failure> {
        let (window, panes) = (call.millis(1, "window-ms")?, call.number(2, "panes", 2, PANES)?);
        let error = std::str::from_utf8(call.word(3)?.bytes()).ok().and_then(|text| text.parse::<f64>().ok());
        let error = error.filter(|&error| error > 0.0 && error < 1.0);
        let error = error.ok_or_else(|| Failure::new("error is not a share above 0 and below 1"))?;
        Ok(Settings { window, panes, error, ids: call.number(4, "ids", 1, IDS)? })
    }

    fn agree(self, says: Settings) -> Result<(), Failure> {
        agree("window-ms", self.window, says.window)?;
        agree("panes", self.panes, says.panes)?;
        agree("ids", self.ids, says.ids)?;
        if self.error.to_bits() == says.error.to_bits() {
            return Ok(());
        }
        Err(Failure::new(format_args!("the key has error {}, not {}", self.error, says.error)))
    }
}

impl BloomKey {
    fn new(settings: Settings) -> Result<BloomKey, Failure> {
        Ok(BloomKey { settings, newest: 0, seen: settings.builder().build()? })
    }

    pub(crate) fn figures(&self, now: u64) -> Vec<(&'static str, Reply)> {
        let Settings { window, panes, error, ids } = self.settings;
        let plan = self.seen.plan();
        let distinct = self.seen.distinct_at(tick(now.max(self.newest)));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an estimate, rounded
        let distinct = distinct.map_or(Reply::Null, |distinct| Reply::Number(distinct.ids.round() as u64));
        vec![
            ("type", Reply::Bytes(b"bloom".to_vec())),
            ("window-ms", Reply::Number(window)),
            ("panes", Reply::Number(panes)),
            ("error", Reply::Bytes(error.to_string().into_bytes())),
            ("ids", Reply::Number(ids)),
            ("newest-us", Reply::Number(self.newest)),
            ("distinct", distinct),
            ("probes", Reply::Number(plan.probes.into())),
            ("expected-error", Reply::Bytes(plan.expected_error.to_string().into_bytes())),
            ("memory-bytes", Reply::Number(self.memory() as u64)),
        ]
    }
}

impl Value for BloomKey {
    const NAME: &'static CStr = c"wlm-bloom";

    registered!();

    fn seed(&self) -> Option<Vec<u8>> {
        Some(types::head([
            self.settings.window,
            self.settings.panes,
            self.settings.error.to_bits(),
            self.settings.ids,
            self.seen.seed().0,
        ]))
    }

    fn of_seed(input: &mut dyn Read) -> Result<Self, String> {
        let [window, panes, error, ids, seed] = types::read_head(input)?;
        let settings = Settings { window, panes, error: f64::from_bits(error), ids };
        let seen = settings.builder().seed(Seed(seed)).build().map_err(said)?;
        Ok(BloomKey { settings, newest: 0, seen })
    }

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        let Settings { window, panes, error, ids } = self.settings;
        types::write_head([window, panes, error.to_bits(), ids], out)?;
        self.seen.snapshot_at(out, tick(self.newest), Duration::ZERO)?;
        Ok(())
    }

    fn load(input: &mut dyn Read) -> Result<BloomKey, String> {
        let [window, panes, error, ids] = types::read_head(input)?;
        let settings = Settings { window, panes, error: f64::from_bits(error), ids };
        let restored = settings.builder().restore(input, Duration::ZERO).map_err(said)?;
        Ok(BloomKey { settings, newest: micros(restored.resumed), seen: restored.structure })
    }

    fn memory(&self) -> usize {
        memory_of::<BloomKey>(self.seen.memory_bytes())
    }
}

/// `key window-ms panes error ids id [id ..]`: 1 for each that was not seen in the window before; all are from now on.
pub(crate) fn add(call: &mut Call<'_>) -> Answer {
    let settings = Settings::asked(call)?;
    let mut key = call.key_to_write()?;
    let (stored, _) = key.value_or_new(|| BloomKey::new(settings))?;
    stored.settings.agree(settings)?;
    let now = call.now(stored.newest);
    stored.newest = now;
    let new = |id: &[u8]| u64::from(!stored.seen.insert_at(id, tick(now)));
    let answers = call.rest(5).iter().map(|id| new(id.bytes())).collect();
    // Whoever was seen is seen anew.
    call.changed(now)?;
    Ok(Reply::Numbers(answers))
}

/// The same, but that only those are put in that were not seen: 1 for each that is admitted.
pub(crate) fn observe(call: &mut Call<'_>) -> Answer {
    let settings = Settings::asked(call)?;
    let ids = call.rest(5);
    let mut key = call.key_to_write()?;
    let (stored, new) = key.value_or_new(|| BloomKey::new(settings))?;
    stored.settings.agree(settings)?;
    let now = call.now(stored.newest);
    // Duplicates change nothing, as with WL.DEDUP.
    if !new && ids.iter().all(|id| stored.seen.contains_at(id.bytes(), tick(now))) {
        return all(ids.len(), 0);
    }
    let admit = |id: &[u8]| stored.seen.observe_at(id, tick(now)) == Verdict::Fresh;
    let fresh: Vec<bool> = ids.iter().map(|id| admit(id.bytes())).collect();
    stored.newest = now;
    let admitted = ids.iter().zip(&fresh).filter(|(_, fresh)| **fresh).map(|(&id, _)| Sent::Word(id));
    let settings = call.words.iter().take(5).map(|&word| Sent::Word(word));
    call.changed_by(now, settings.chain(admitted))?;
    Ok(Reply::Numbers(fresh.into_iter().map(u64::from).collect()))
}

/// `key id [id ..]`: 1 for each that was seen in the window.
pub(crate) fn check(call: &mut Call<'_>) -> Answer {
    let ids = call.rest(1);
    let mut key = call.key_to_read()?;
    let Some(stored) = key.value::<BloomKey>()? else { return all(ids.len(), 0) };
    let now = tick(call.now(stored.newest));
    Ok(Reply::Numbers(ids.iter().map(|id| u64::from(stored.seen.contains_at(id.bytes(), now))).collect()))
}

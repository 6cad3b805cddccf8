//! From a record's fields to an event: one hash, one tick.

use windlass::{KeyHash, Seed, Tick};

use super::{
    batch::{BATCH, Span},
    format::{Missing, OnError, Order},
    slots::{Slots, Wanted},
    spec::Spec,
    time::TimeReader,
};

/// Keys of that many fields are put together without an allocation of ours.
const FEW: usize = 8;

/// Collects the events of a batch. The buffers are reused.
#[derive(Debug)]
pub(crate) struct Maker {
    pub(crate) events: Vec<(KeyHash, Tick)>,
    pub(crate) spans: Vec<Span>,
    /// With `--each` an event has no record of its own: its id is its text, and stands here.
    pub(crate) texts: Vec<u8>,
    pub(crate) slots: Slots,
    pub(crate) seed: Seed,
    /// The clock, for events without a time.
    pub(crate) now: Tick,
    newest: Tick,
    clamp: bool,
    missing: Missing,
    keep_texts: bool,
    on_error: OnError,
    pub(crate) skipped: Skipped,
}

/// How far a [`Maker`] had come.
pub(super) struct Mark {
    events: usize,
    texts: usize,
    newest: Tick,
}

/// Records that gave no event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Skipped {
    pub(crate) records: u64,
    /// Where the first one stood, and what was wrong.
    pub(crate) first: Option<String>,
}

impl Skipped {
    pub(crate) fn add(&mut self, describe: impl FnOnce() -> String) {
        self.records += 1;
        self.first.get_or_insert_with(describe);
    }
}

/// Why a record gives no event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// A field is absent, and that was said to be fine.
    Absent(String),
    Wrong(String),
    /// Wrong for the whole file, so that `--on-error skip` does not help.
    Fatal(String),
}

impl From<String> for Unfit {
    fn from(what: String) -> Unfit {
        Unfit::Wrong(what)
    }
}

impl Maker {
    pub(crate) fn new(spec: &Spec) -> Maker {
        Maker {
            events: Vec::with_capacity(BATCH),
            spans: Vec::with_capacity(BATCH),
            texts: Vec::new(),
            slots: Slots::default(),
            seed: spec.seed,
            now: Tick(0),
            newest: Tick(0),
            clamp: spec.order == Order::Clamp,
            missing: spec.missing.clone(),
            keep_texts: spec.text,
            on_error: spec.on_error,
            skipped: Skipped::default(),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.spans.clear();
        self.texts.clear();
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { events: self.events.len(), texts: self.texts.len(), newest: self.newest }
    }

    /// Takes back what was pushed since.
    pub(super) fn back_to(&mut self, mark: &Mark) {
        self.events.truncate(mark.events);
        self.spans.truncate(mark.events);
        self.texts.truncate(mark.texts);
        self.newest = mark.newest;
    }

    pub(crate) fn full(&self) -> bool {
        self.events.len() >= BATCH
    }

    /// Whether a record that is unfit in this way ends the run.
    pub(crate) fn ends(&self, unfit: &Unfit) -> bool {
        match unfit {
            Unfit::Absent(_) => false,
            Unfit::Wrong(_) => self.on_error == OnError::Fail,
            Unfit::Fatal(_) => true,
        }
    }

    /// An event from the fields in the slots; `span`: its text, or `None` if that is the id.
    pub(crate) fn push(
        &mut self,
        record: &[u8],
        wanted: &Wanted,
        times: &mut TimeReader,
        span: Option<Span>,
    ) -> Result<(), Unfit> {
        let tick = match wanted.time {
            Some(field) => {
                let text = self.slots.get(record, field).ok_or_else(|| self.absent(&wanted.names[field]))?;
                Tick(times.read(text)?)
            }
            None => self.now,
        };
        let seed = match wanted.source {
            Some(field) => self.seed.namespace(value_of(&self.slots, &self.missing, record, wanted, field)?),
            None => self.seed,
        };
        let mut few: [&[u8]; FEW] = [&[]; FEW];
        let mut many = Vec::new();
        let key = if wanted.keys <= FEW {
            &mut few[..wanted.keys]
        } else {
            many.resize(wanted.keys, &[][..]);
            &mut many[..]
        };
        for (field, value) in key.iter_mut().enumerate() {
            *value = value_of(&self.slots, &self.missing, record, wanted, field)?;
        }
        let hash = seed.hash_fields(key);
        let span = match span {
            Some(span) => span,
            None if self.keep_texts => own_text(&mut self.texts, key)?,
            None => Span::default(),
        };
        // Last, so that a record which gives no event does not move the time either.
        let tick = if self.clamp { tick.max(self.newest) } else { tick };
        self.newest = self.newest.max(tick);
        self.events.push((hash, tick));
        self.spans.push(span);
        Ok(())
    }

    /// No text can stand for an absent array or time.
    pub(crate) fn absent(&self, name: &str) -> Unfit {
        absent(&self.missing, name)
    }
}

fn absent(missing: &Missing, name: &str) -> Unfit {
    let what = format!("no field \"{name}\"");
    if *missing == Missing::Skip { Unfit::Absent(what) } else { Unfit::Wrong(what) }
}

fn value_of<'a>(
    slots: &'a Slots,
    missing: &'a Missing,
    record: &'a [u8],
    wanted: &Wanted,
    field: usize,
) -> Result<&'a [u8], Unfit> {
    match (slots.get(record, field), missing) {
        (Some(value), _) => Ok(value),
        (None, Missing::Text(text)) => Ok(text.as_bytes()),
        (None, missing) => Err(absent(missing, &wanted.names[field])),
    }
}

/// The key's fields with a space between, as a line of its own.
fn own_text(texts: &mut Vec<u8>, key: &[&[u8]]) -> Result<Span, Unfit> {
    let start = texts.len();
    for (at, value) in key.iter().enumerate() {
        texts.extend_from_slice(if at > 0 { b" " } else { b"" });
        texts.extend_from_slice(value);
    }
    texts.push(b'\n');
    if u32::try_from(texts.len()).is_err() {
        return Err(Unfit::Fatal("the ids of one line take more than 4 GiB".to_owned()));
    }
    Ok(Span::new(0, start, texts.len()))
}

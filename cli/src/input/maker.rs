//! From a record's fields to an event: one hash, one tick.

use windlass::{Seed, Tick};

use super::{
    batch::Span,
    format::Missing,
    portion::Made,
    slots::{Slots, Wanted},
    spec::Spec,
    time::{TimeFormat, TimeReader},
};

/// Keys of that many fields are put together without an allocation of ours.
const FEW: usize = 8;

/// Makes events of fields. The buffers are reused.
#[derive(Debug)]
pub(crate) struct Maker {
    pub(super) slots: Slots,
    pub(super) times: TimeReader,
    pub(super) seed: Seed,
    /// The clock, for events without a time.
    pub(super) now: Tick,
    missing: Missing,
    keep_texts: bool,
    keep_names: Option<usize>,
    parts: Vec<usize>,
}

/// Why a record gives no event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// A field is absent, and that was said to be fine: so many events less.
    Absent {
        what: String,
        events: u64,
    },
    Wrong(String),
    /// `--on-error skip` does not help.
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
            slots: Slots::default(),
            times: TimeReader::new(TimeFormat::Guess, spec.resolution),
            seed: spec.seed,
            now: Tick(0),
            missing: spec.missing.clone(),
            keep_texts: spec.text,
            keep_names: spec.names,
            parts: spec.parts.clone(),
        }
    }

    /// An event from the fields in the slots; `span`: its text, or `None` if that is the id.
    pub(super) fn push(
        &mut self,
        record: &[u8],
        wanted: &Wanted,
        span: Option<Span>,
        made: &mut Made,
    ) -> Result<(), Unfit> {
        let tick = match wanted.time {
            Some(field) => {
                let text = self.slots.get(record, field).ok_or_else(|| self.absent(&wanted.names[field]))?;
                Tick(self.times.read(text)?)
            }
            None => self.now,
        };
        let source = wanted.source.map(|field| self.value(record, wanted, field)).transpose()?;
        let seed = source.map_or(self.seed, |source| self.seed.namespace(source));
        let all = wanted.keys + wanted.beside;
        let mut few: [&[u8]; FEW] = [&[]; FEW];
        let mut many = Vec::new();
        let values = if all <= FEW {
            &mut few[..all]
        } else {
            many.resize(all, &[][..]);
            &mut many[..]
        };
        for (field, value) in values.iter_mut().enumerate() {
            *value = self.value(record, wanted, field)?;
        }
        let (key, beside) = values.split_at(wanted.keys);
        let hash = seed.hash_fields(key);
        let span = match span {
            Some(span) => span,
            None if self.keep_texts => put_pieces(&self.slots, key, made)?,
            None => Span::default(),
        };
        if let Some(most) = self.keep_names {
            put_name(source.iter().chain(key), most, made)?;
        }
        let mut fields = key;
        for &part in &self.parts {
            let (own, others) = fields.split_at(part.min(fields.len()));
            made.parts.push(seed.hash_fields(own));
            fields = others;
        }
        if !beside.is_empty() {
            made.parts.push(seed.hash_fields(beside));
        }
        made.events.push((hash, tick));
        made.spans.push(span);
        Ok(())
    }

    /// The names of events that are whole lines of `data`, if they will be told.
    pub(super) fn name_lines(&self, data: &[u8], made: &mut Made) {
        let Some(most) = self.keep_names else { return };
        for i in made.names.len()..made.spans.len() {
            let line = made.spans[i].of(data);
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            // Blocks are shorter than 4 GiB.
            put_name([line].iter(), most, made).unwrap_or(());
        }
    }

    fn value<'a>(&'a self, record: &'a [u8], wanted: &Wanted, field: usize) -> Result<&'a [u8], Unfit> {
        match (self.slots.get(record, field), &self.missing) {
            (Some(value), _) => Ok(value),
            (None, Missing::Text(text)) => Ok(text.as_bytes()),
            (None, _) => Err(self.absent(&wanted.names[field])),
        }
    }

    /// No text can stand for an absent array or time.
    pub(crate) fn absent(&self, name: &str) -> Unfit {
        let what = format!("no field \"{name}\"");
        match self.missing {
            Missing::Skip => Unfit::Absent { what, events: 1 },
            Missing::Fail | Missing::Text(_) => Unfit::Wrong(what),
        }
    }
}

/// The key's fields, for the text of an event. What stood at the same place in the line's event before is not kept twice: a long field beside a
/// long array would take as much as both multiplied.
fn put_pieces(slots: &Slots, key: &[&[u8]], made: &mut Made) -> Result<Span, Unfit> {
    let first = made.pieces.len();
    for (field, value) in key.iter().enumerate() {
        let slot = slots.slot(field);
        let piece = match made.before.get(field) {
            Some(&(there, piece)) if there == slot => piece,
            _ => {
                let start = made.texts.len();
                made.texts.extend_from_slice(value);
                Span::new(0, start, made.texts.len())
            }
        };
        match made.before.get_mut(field) {
            Some(before) => *before = (slot, piece),
            None => made.before.push((slot, piece)),
        }
        made.pieces.push(piece);
    }
    if u32::try_from(made.texts.len().max(made.pieces.len())).is_err() {
        return Err(Unfit::Fatal("the ids of one line take more than 4 GiB".to_owned()));
    }
    Ok(Span::new(0, first, made.pieces.len()))
}

fn put_name<'a>(
    parts: impl Iterator<Item = &'a &'a [u8]>,
    most: usize,
    made: &mut Made,
) -> Result<(), Unfit> {
    let start = made.name_texts.len();
    for (i, part) in parts.enumerate() {
        made.name_texts.extend_from_slice(if i > 0 { b" " } else { b"" });
        let room = (start + most).saturating_sub(made.name_texts.len());
        made.name_texts.extend_from_slice(&part[..part.len().min(room)]);
    }
    made.name_texts.truncate(start + most);
    let (before, name) = (made.names.last().copied(), Span::new(0, start, made.name_texts.len()));
    if u32::try_from(made.name_texts.len()).is_err() {
        return Err(Unfit::Fatal("the keys of one line take more than 4 GiB".to_owned()));
    }
    let name = match before {
        Some(before) if before.of(&made.name_texts) == name.of(&made.name_texts) => {
            made.name_texts.truncate(start);
            before
        }
        _ => name,
    };
    made.names.push(name);
    Ok(())
}

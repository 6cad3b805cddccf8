//! Settings by name, so that an error can say which one differs.

use super::RestoreError;
use crate::time::Window;
use std::{borrow::Cow, fmt, time::Duration};

/// A setting that says what the content means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Up to 255 bytes of it are written.
    pub(crate) name: Cow<'static, str>,
    pub(crate) value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Number(u64),
    /// In ticks.
    Span(Window),
    Text(Cow<'static, str>),
}

impl Setting {
    pub(crate) fn new(name: impl Into<Cow<'static, str>>, value: Value) -> Setting {
        Setting { name: name.into(), value }
    }

    /// .. which is one of several words.
    pub(crate) fn word(name: &'static str, word: &'static str) -> Setting {
        Setting::new(name, Value::Text(word.into()))
    }

    pub(crate) fn number(name: &'static str, number: u64) -> Setting {
        Setting::new(name, Value::Number(number))
    }

    pub(crate) fn span(name: &'static str, span: Window) -> Setting {
        Setting::new(name, Value::Span(span))
    }
}

const NUMBER: u8 = 1;
const TIME: u8 = 2;
const EVENTS: u8 = 3;
const TEXT: u8 = 4;

/// name's length (1) | name | tag (1) | number or ticks (8), or length (2) and text
pub(super) fn write(settings: &[Setting], out: &mut Vec<u8>) {
    let count = u16::try_from(settings.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&count.to_le_bytes());
    for Setting { name, value } in settings.iter().take(count.into()) {
        short(name, out);
        let (tag, number) = match value {
            Value::Number(number) => (NUMBER, *number),
            Value::Span(span) => {
                (if span.counts_events() { EVENTS } else { TIME }, span.ticks().unwrap_or(u64::MAX))
            }
            Value::Text(text) => {
                out.push(TEXT);
                let len = u16::try_from(text.len()).unwrap_or(u16::MAX);
                out.extend_from_slice(&len.to_le_bytes());
                out.extend_from_slice(&text.as_bytes()[..len.into()]);
                continue;
            }
        };
        out.push(tag);
        out.extend_from_slice(&number.to_le_bytes());
    }
}

/// A text with its length before it.
pub(super) fn short(text: &str, out: &mut Vec<u8>) {
    let len = u8::try_from(text.len()).unwrap_or(u8::MAX);
    out.push(len);
    out.extend_from_slice(&text.as_bytes()[..len.into()]);
}

/// `None`: they are not settings.
pub(super) fn read(mut bytes: &[u8]) -> Option<Vec<Setting>> {
    let count = u16::from_le_bytes(take(&mut bytes)?);
    let mut settings = Vec::new();
    for _ in 0..count {
        let name = read_short(&mut bytes)?;
        let [tag] = take(&mut bytes)?;
        let value = match tag {
            NUMBER => Value::Number(u64::from_le_bytes(take(&mut bytes)?)),
            TIME => Value::Span(Window::time(Duration::from_nanos(u64::from_le_bytes(take(&mut bytes)?)))),
            EVENTS => Value::Span(Window::last_n(u64::from_le_bytes(take(&mut bytes)?))),
            TEXT => {
                let len = u16::from_le_bytes(take(&mut bytes)?);
                Value::Text(text(&mut bytes, len.into())?)
            }
            _ => return None,
        };
        settings.push(Setting { name, value });
    }
    bytes.is_empty().then_some(settings)
}

pub(super) fn read_short(bytes: &mut &[u8]) -> Option<Cow<'static, str>> {
    let [len] = take(bytes)?;
    text(bytes, len.into())
}

fn text(bytes: &mut &[u8], len: usize) -> Option<Cow<'static, str>> {
    let (text, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(Cow::Owned(std::str::from_utf8(text).ok()?.to_owned()))
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (part, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*part)
}

/// That a snapshot's settings are the builder's. The first that differs is told.
pub(super) fn agree(snapshot: &[Setting], builder: &[Setting]) -> Result<(), RestoreError> {
    let find = |among: &[Setting], name: &str| among.iter().find(|setting| setting.name == name).cloned();
    let differ = |name: &str, snapshot: Option<Setting>, builder: Option<Setting>| {
        let show =
            |setting: Option<Setting>| setting.map_or("none".into(), |setting| setting.value.to_string());
        RestoreError::Setting { name: name.into(), snapshot: show(snapshot), builder: show(builder) }
    };
    for ours in builder {
        let theirs = find(snapshot, &ours.name);
        if theirs.as_ref() != Some(ours) {
            return Err(differ(&ours.name, theirs, Some(ours.clone())));
        }
    }
    match snapshot.iter().find(|theirs| find(builder, &theirs.name).is_none()) {
        Some(theirs) => Err(differ(&theirs.name, Some(theirs.clone()), None)),
        None => Ok(()),
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Span(span) => span.fmt(f),
            Value::Text(text) => text.fmt(f),
        }
    }
}

//! Who was denied how often, counted exactly, for a bounded number of clients.

use std::{
    cmp::Reverse,
    collections::{HashMap, hash_map::Entry},
    io::{self, Read, Write},
};

use serde::{Deserialize, Serialize};
use windlass::{KeyHash, Tick};

use super::{NAME, judge::DENIED};
use crate::state::{Framed, Unframed, invalid};

/// Clients that come when there are so many are not counted one by one. As many take 70 MB, and those that are denied up to 350 bytes
/// each.
pub(super) const MOST: usize = if cfg!(test) { 100 } else { 1_000_000 };

/// Each client by itself.
#[derive(Default)]
pub(super) struct Clients {
    known: HashMap<KeyHash, Client>,
    /// Events of clients beyond those.
    pub(super) uncounted: u64,
}

#[derive(Default)]
struct Client {
    allowed: u64,
    /// For those that were.
    denied: Option<Box<Denied>>,
}

struct Denied {
    name: Box<[u8]>,
    denied: u64,
    span: Span,
}

/// A client as the report has it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Figures<'a> {
    pub(super) name: &'a [u8],
    pub(super) denied: u64,
    pub(super) allowed: u64,
    pub(super) span: Span,
}

/// The earliest and the latest of some times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub(super) struct Span {
    pub(super) first: Tick,
    pub(super) last: Tick,
}

impl From<(u64, u64)> for Span {
    fn from((first, last): (u64, u64)) -> Span {
        Span { first: Tick(first), last: Tick(last) }
    }
}

impl From<Span> for (u64, u64) {
    fn from(span: Span) -> (u64, u64) {
        (span.first.0, span.last.0)
    }
}

impl Span {
    pub(super) fn of(at: Tick) -> Span {
        Span { first: at, last: at }
    }

    pub(super) fn and(self, at: Tick) -> Span {
        Span { first: self.first.min(at), last: self.last.max(at) }
    }
}

impl Denied {
    fn read(denied: u64, input: &mut Unframed<impl Read>) -> io::Result<Denied> {
        let span = Span::from((input.u64()?, input.u64()?));
        let length = usize::try_from(input.u64()?).ok().filter(|&length| length <= NAME);
        let mut name = vec![0; length.ok_or_else(|| invalid("a client's name is too long"))?];
        input.bytes(&mut name)?;
        Ok(Denied { name: name.into(), denied, span })
    }
}

impl Clients {
    /// `name`: asked for when a client is denied for the first time.
    pub(super) fn count<'a>(
        &mut self,
        (hash, at): (KeyHash, Tick),
        mark: u8,
        name: impl FnOnce() -> &'a [u8],
    ) {
        let is_full = self.known.len() >= MOST;
        let client = match self.known.get_mut(&hash) {
            Some(client) => client,
            None if is_full => {
                self.uncounted += 1;
                return;
            }
            None => self.known.entry(hash).or_default(),
        };
        match &mut client.denied {
            _ if mark != DENIED => client.allowed += 1,
            Some(denied) => {
                denied.denied += 1;
                denied.span = denied.span.and(at);
            }
            none => *none = Some(Box::new(Denied { name: name().into(), denied: 1, span: Span::of(at) })),
        }
    }

    /// uncounted | how many | of each: hash (high half, low half), allowed, denied; if it was denied: first, last, length of its name, name
    pub(super) fn write(&self, out: &mut Framed<impl Write>) -> io::Result<()> {
        out.u64(self.uncounted)?;
        out.u64(self.number())?;
        for (hash, client) in &self.known {
            let denied = client.denied.as_deref();
            for number in [hash.hi, hash.lo, client.allowed, denied.map_or(0, |denied| denied.denied)] {
                out.u64(number)?;
            }
            if let Some(Denied { name, span, .. }) = denied {
                let numbers = [span.first.0, span.last.0, name.len() as u64];
                numbers.into_iter().try_for_each(|number| out.u64(number))?;
                out.bytes(name)?;
            }
        }
        Ok(())
    }

    /// What [`Clients::write`] has written.
    pub(super) fn read(input: &mut Unframed<impl Read>) -> io::Result<Clients> {
        let mut clients = Clients { uncounted: input.u64()?, ..Clients::default() };
        let count = input.u64()?;
        if count > MOST as u64 {
            return Err(invalid("there are too many clients"));
        }
        for _ in 0..count {
            let hash = KeyHash { hi: input.u64()?, lo: input.u64()? };
            let (allowed, denied) = (input.u64()?, input.u64()?);
            let denied = if denied > 0 { Some(Box::new(Denied::read(denied, input)?)) } else { None };
            match clients.known.entry(hash) {
                Entry::Vacant(place) => place.insert(Client { allowed, denied }),
                Entry::Occupied(_) => return Err(invalid("a client is there twice")),
            };
        }
        Ok(clients)
    }

    /// How many there were.
    pub(super) fn number(&self) -> u64 {
        self.known.len() as u64
    }

    /// How many were denied at least once, and the `n` of them that were most often; by name where that is the same.
    pub(super) fn denied(&self, n: usize) -> (u64, Vec<Figures<'_>>) {
        let mut all: Vec<_> = self
            .known
            .iter()
            .filter_map(|(hash, client)| {
                let Denied { name, denied, span } = client.denied.as_deref()?;
                // Names that are cut may be the same.
                let order = (Reverse(*denied), &name[..], (hash.hi, hash.lo));
                Some((order, Figures { name, denied: *denied, allowed: client.allowed, span: *span }))
            })
            .collect();
        let number = all.len() as u64;
        all.sort_unstable_by_key(|(order, _)| *order);
        (number, all.into_iter().take(n).map(|(_, figures)| figures).collect())
    }
}

#[cfg(test)]
mod tests {
    use windlass::Seed;

    use super::{super::judge::ALLOWED, *};

    fn count(clients: &mut Clients, name: &str, at: u64, mark: u8) {
        clients.count((Seed(0).hash(name), Tick(at)), mark, || name.as_bytes());
    }

    #[test]
    fn the_first_ones_are_counted_exactly() {
        let mut clients = Clients::default();
        for round in 0..3 {
            for i in 0..2 * MOST as u64 {
                let mark = if round > 0 && i % 2 == 0 { DENIED } else { ALLOWED };
                count(&mut clients, &format!("{i:03}"), 100 - round, mark);
            }
        }
        assert_eq!((clients.number(), clients.uncounted), (100, 300));
        let (number, top) = clients.denied(2);
        assert_eq!(number, 50);
        let span = Span { first: Tick(98), last: Tick(99) };
        let figures = |name| Figures { name, denied: 2, allowed: 1, span };
        assert_eq!(top, [figures(b"000"), figures(b"002")]);
    }

    #[test]
    fn most_denied_first_then_by_name() {
        let mut clients = Clients::default();
        for (name, denied) in [("b", 2), ("c", 3), ("a", 2), ("d", 1), ("e", 0)] {
            count(&mut clients, name, 7, ALLOWED);
            (0..denied).for_each(|_| count(&mut clients, name, 8, DENIED));
        }
        let (number, top) = clients.denied(3);
        assert_eq!(number, 4);
        assert_eq!(top.iter().map(|client| client.name).collect::<Vec<_>>(), [b"c", b"a", b"b"]);
        assert_eq!(clients.denied(10).1.len(), 4);
    }
}

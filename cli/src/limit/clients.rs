//! Who was denied how often, counted exactly, for a bounded number of clients.

use std::{cmp::Reverse, collections::HashMap};

use windlass::{KeyHash, Tick};

use super::judge::DENIED;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: Tick,
    pub(super) last: Tick,
}

impl Span {
    pub(super) fn of(at: Tick) -> Span {
        Span { first: at, last: at }
    }

    pub(super) fn and(self, at: Tick) -> Span {
        Span { first: self.first.min(at), last: self.last.max(at) }
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

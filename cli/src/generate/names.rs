//! What an id stands for: its text, and the client and the key that come with it.
//!
//! All of it follows from the id's number, so that a repeat has what the first event had and nothing is kept.

use super::{random::Random, shape::Shape, zipf::Ranks};

/// The ids, clients and keys of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    ids: Random,
    clients: Random,
    client_ranks: Ranks,
    keys: Random,
    key_ranks: Ranks,
}

impl Names {
    pub(super) fn new(shape: &Shape, ids: Random, clients: Random, keys: Random) -> Names {
        Names {
            ids,
            clients,
            client_ranks: Ranks::new(shape.clients, shape.skew),
            keys,
            key_ranks: Ranks::new(shape.keys, shape.skew),
        }
    }

    /// 16 hexadecimal digits; no two ids have the same.
    pub(crate) fn id(&self, id: u64) -> [u8; 16] {
        hex(self.ids.peek(id))
    }

    /// The rank of its client, 1 being the most frequent.
    pub(crate) fn client(&self, id: u64) -> u64 {
        self.client_ranks.draw(&mut Random::new(self.clients.peek(id)))
    }

    /// The rank of its key, 1 being the most frequent.
    pub(crate) fn key(&self, id: u64) -> u64 {
        self.key_ranks.draw(&mut Random::new(self.keys.peek(id)))
    }
}

fn hex(number: u64) -> [u8; 16] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    std::array::from_fn(|place| DIGITS[(number >> (60 - 4 * place) & 15) as usize])
}

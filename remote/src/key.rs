//! Names of keys in the server.
//!
//! `wl:<kind>:<namespace>:<item>` where an item has a key of its own: no hash tag, so that the items of a namespace spread over all slots.
//! `wl:<kind>:<namespace>:{<number>}` where many items share a key of windlass' module; the number says in which slot.
//! `wl:{<namespace>:<bucket>}:<kind>:<part>` where several keys are used together and have to be in one slot.
//!
//! A namespace has no `:`, so its end is unambiguous, and an item, which is last, may have any bytes. An item with a `{` would make a tag
//! of its own, and who chooses items could so put all of them into one slot: it is preceded by `{}`, an empty tag, with which the whole
//! key counts. As an item without `{` never gets one, no two items have one key.

use windlass::ConfigError;

/// What a key is for: its second word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Dedup,
    /// .. by logical time.
    DedupAt,
    /// .. by windlass' module: of a share of the ids.
    DedupModule,
    DedupModuleAt,
    /// By its algorithm: states of different ones do not mix.
    Limit(&'static str),
    Fifo,
    Room,
    Count,
    Top,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Dedup => "d",
            Kind::DedupAt => "d@",
            Kind::DedupModule => "dm",
            Kind::DedupModuleAt => "dm@",
            Kind::Limit(word) => word,
            Kind::Fifo => "q",
            Kind::Room => "r",
            Kind::Count => "c",
            Kind::Top => "t",
        }
    }
}

/// The name of a set of items: those of another namespace are others, also with the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Namespace(String);

impl Namespace {
    pub(crate) const MAX_LEN: usize = 64;

    pub(crate) fn new(name: &str) -> Result<Namespace, ConfigError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if (1..=Self::MAX_LEN).contains(&name.len()) && name.bytes().all(fits) {
            return Ok(Namespace(name.to_owned()));
        }
        Err(ConfigError {
            field: "namespace",
            value: format!("{name:?}"),
            limit: format!("1 to {} of A-Z a-z 0-9 _ - .", Self::MAX_LEN),
        })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// What the keys of all items begin with.
    pub(crate) fn prefix(&self, kind: Kind) -> Vec<u8> {
        ["wl:", kind.word(), ":", &self.0, ":"].concat().into_bytes()
    }

    /// The key of an item that has one of its own.
    pub(crate) fn item(&self, kind: Kind, item: &[u8]) -> Vec<u8> {
        Key::Item { prefix: &self.prefix(kind), item }.to_vec()
    }

    /// The key of a share of the items, of those that are kept many in a key: `tag` says in which slot.
    pub(crate) fn share(&self, kind: Kind, tag: &str) -> Vec<u8> {
        format!("wl:{}:{}:{{{tag}}}", kind.word(), self.0).into_bytes()
    }

    /// The key of a part of what has several keys, all in one slot: by the namespace and the bucket.
    pub(crate) fn part(&self, bucket: &[u8], kind: Kind, part: &[u8]) -> Vec<u8> {
        let mut key = format!("wl:{{{}:", self.0).into_bytes();
        // Any bytes, but what would end the tag.
        for &byte in bucket {
            match byte {
                b'%' | b'{' | b'}' => key.extend_from_slice(format!("%{byte:02x}").as_bytes()),
                byte => key.push(byte),
            }
        }
        for word in [b"}:", kind.word().as_bytes(), b":", part] {
            key.extend_from_slice(word);
        }
        key
    }
}

/// A key, as it is or in its parts: there are many items, and all with one prefix.
#[derive(Debug)]
pub(crate) enum Key<'a> {
    Whole(Vec<u8>),
    Item { prefix: &'a [u8], item: &'a [u8] },
}

impl Key<'_> {
    /// What it is made of, in order.
    #[inline]
    pub(crate) fn parts(&self) -> [&[u8]; 3] {
        match self {
            Key::Whole(key) => [key, b"", b""],
            Key::Item { prefix, item } => [prefix, if item.contains(&b'{') { b"{}" } else { b"" }, item],
        }
    }

    pub(crate) fn to_vec(&self) -> Vec<u8> {
        self.parts().concat()
    }

    pub(crate) fn slot(&self) -> u16 {
        match self {
            Key::Whole(key) => slot(key),
            // It has no tag, as said above.
            Key::Item { .. } => self.parts().iter().fold(0, |crc, part| crc_of(crc, part)) % SLOTS,
        }
    }
}

impl From<Vec<u8>> for Key<'_> {
    fn from(key: Vec<u8>) -> Self {
        Key::Whole(key)
    }
}

/// Slots of a cluster.
pub(crate) const SLOTS: u16 = 16384;

/// The slot of a key: CRC-16/XMODEM of its tag, or of all of it, modulo 16384.
pub(crate) fn slot(key: &[u8]) -> u16 {
    let tag = key.iter().position(|&byte| byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|&byte| byte == b'}')?;
        (close > 0).then(|| &rest[..close])
    });
    crc_of(0, tag.unwrap_or(key)) % SLOTS
}

fn crc_of(crc: u16, bytes: &[u8]) -> u16 {
    bytes.iter().fold(crc, |crc, &byte| {
        let [high, _] = crc.to_be_bytes();
        (crc << 8) ^ CRC[usize::from(high ^ byte)]
    })
}

/// What the polynomial 0x1021 makes of each byte.
static CRC: [u16; 256] = {
    let mut table = [0; 256];
    let (mut at, mut byte) = (0, 0u16);
    while at < 256 {
        let (mut crc, mut bit) = (byte << 8, 0);
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
            bit += 1;
        }
        table[at] = crc;
        at += 1;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(name: &str) -> Namespace {
        Namespace::new(name).expect("a namespace")
    }

    /// The check value of CRC-16/XMODEM, and slots that a server's `CLUSTER KEYSLOT` gave.
    #[test]
    fn slots() {
        assert_eq!(slot(b"123456789"), 0x31c3);
        assert_eq!(slot(b"foo"), 12182);
        assert_eq!(slot(b"{foo}bar"), 12182);
        assert_eq!(slot(b"a{}{foo}"), slot(b"a{}{foo}"));
        assert_ne!(slot(b"a{}{foo}"), slot(b"foo"));
        assert_eq!(slot(b""), 0);
    }

    #[test]
    fn namespaces_are_checked() {
        for name in ["", "a:b", "a{b", "a b", "ü", &"a".repeat(65)] {
            let error = Namespace::new(name).expect_err("refused");
            assert_eq!(error.field, "namespace");
        }
        assert_eq!(namespace("orders-v2_eu.west").as_str(), "orders-v2_eu.west");
    }

    #[test]
    fn parts_share_a_slot() {
        let orders = namespace("orders");
        assert_eq!(orders.part(b"a%}b", Kind::Limit("lt"), b"x}"), b"wl:{orders:a%25%7db}:lt:x}");
        let slots =
            [&b"x"[..], b"{y}", b"}"].map(|part| slot(&orders.part(b"a}{b", Kind::Limit("lt"), part)));
        assert_eq!(slots, [slot(b"{orders:a%7d%7bb}"); 3]);
    }

    #[test]
    fn items_have_no_tag_of_their_own() {
        let orders = namespace("orders");
        assert_eq!(orders.item(Kind::Dedup, b"4711"), b"wl:d:orders:4711");
        assert_eq!(orders.item(Kind::Dedup, b"{a}4711"), b"wl:d:orders:{}{a}4711");
        for item in [&b"4711"[..], b"{a}4711", b"}{", b""] {
            let (prefix, whole) = (orders.prefix(Kind::Dedup), orders.item(Kind::Dedup, item));
            let key = Key::Item { prefix: &prefix, item };
            assert_eq!((key.to_vec(), key.slot()), (whole.clone(), slot(&whole)));
        }
        let slots: Vec<u16> =
            (0..100).map(|i| slot(&orders.item(Kind::Dedup, format!("{{a}}{i}").as_bytes()))).collect();
        assert!(slots.iter().any(|&other| other != slots[0]));
        assert_ne!(orders.item(Kind::Dedup, b"{}a"), orders.item(Kind::Dedup, b"a"));
        assert_ne!(orders.item(Kind::Dedup, b"{a"), orders.item(Kind::Dedup, b"{}{a"));
    }
}

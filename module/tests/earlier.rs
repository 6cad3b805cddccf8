//! Values that earlier versions have written, one of each kind and encoding: `DUMP`s in `tests/golden`, which are never changed. They must be readable, and answer as they did.

use crate::common::{Loaded, loaded, text};
use redis::Value;
use std::{fs, path::PathBuf};

/// In microseconds. What is made then is asked a second later.
const MADE: u64 = 1_795_348_800_000_000;
const ASKED: u64 = MADE + 1_000_000;

/// Commands, and answers.
type Asked = &'static [(&'static str, &'static str)];

/// The file; what has made the key `k`; what it is asked, and what it answers.
const VALUES: [(&str, &[&str], Asked); 11] = [
    (
        "0-dedup",
        &["DEDUP k 60000 a b", "ADMIT k 60000 token c d", "ADMIT k 60000 other e", "CLAIM k 60000 30000 f"],
        &[
            ("PEEK k a b c d e f g", "[1 1 1 1 1 1 0]"),
            ("ADMIT k 60000 token a c d e f", "[0 2 2 0 0]"),
            ("ADMIT k 60000 new a g", "[0 1]"),
        ],
    ),
    (
        "0-gcra",
        &["LIMIT k GCRA 10 600000 COST 4"],
        &[("LIMIT k GCRA 10 600000 PEEK", "[1 10 5 0 299000000 0]")],
    ),
    (
        "0-bucket",
        &["LIMIT k BUCKET 10 600000 COST 4"],
        &[("LIMIT k BUCKET 10 600000 PEEK", "[1 10 5 0 299000000 0]")],
    ),
    (
        "0-queue",
        &["LIMIT k QUEUE 10 600000 COST 4"],
        &[("LIMIT k QUEUE 10 600000 PEEK", "[1 10 5 0 299000000 239000000]")],
    ),
    (
        "0-fixed",
        &["LIMIT k FIXED 10 600000 COST 4"],
        &[("LIMIT k FIXED 10 600000 PEEK", "[1 10 5 0 599000000 0]")],
    ),
    (
        "0-sliding",
        &["LIMIT k SLIDING 10 600000 COST 4"],
        &[("LIMIT k SLIDING 10 600000 PEEK", "[1 10 5 0 1199000000 0]")],
    ),
    ("0-log", &["LIMIT k LOG 10 600000 COST 4"], &[("LIMIT k LOG 10 600000 PEEK", "[1 10 5 0 600000000 0]")]),
    (
        "0-bloom",
        &["BLOOM.ADD k 60000 4 0.001 100 a b"],
        &[("BLOOM.CHECK k a b c d", "[1 1 0 0]"), ("BLOOM.ADD k 60000 4 0.001 100 b c", "[0 1]")],
    ),
    (
        "0-count",
        &["COUNT.ADD k 60000 10000 a 5 b 1"],
        &[("COUNT.GET k a b c", "[5 1 0]"), ("COUNT.TOTAL k", "6"), ("COUNT.ADD k 60000 10000 a 2", "[7]")],
    ),
    (
        "0-topk",
        &["TOPK.ADD k 60000 10000 2 a 5 b 1 c 9"],
        &[
            (
                "TOPK.LIST k",
                "[certified 1 total 15 tail 1 start-us 1795348750000000 end-us 1795348810000000 rows [[c 9 9 9] [a 5 5 5]]]",
            ),
            ("TOPK.ADD k 60000 10000 2 b 9", "[10]"),
        ],
    ),
    (
        "0-queued",
        &["FIFO.PUSH k a 1 b 2 c 3", "FIFO.POP k"],
        &[
            ("FIFO.RANK k a b c", "[nil 0 1]"),
            ("FIFO.GET k b", "[2]"),
            ("FIFO.PUSH k d 4", "[[1 3]]"),
            ("FIFO.POP k", "[[1 b 2 1795348800000000]]"),
        ],
    ),
];

fn shown(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Nil => "nil".to_owned(),
        Value::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
        other => text(other),
    }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name).with_extension("hex")
}

fn hex(bytes: &[u8]) -> String {
    let line = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n";
    bytes.chunks(64).map(line).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte =
        |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("digits"), 16).expect("a byte");
    digits.chunks(2).map(byte).collect()
}

/// Makes the file of a value that has none.
fn write(server: &mut Loaded, name: &str, made: &[&str]) {
    made.iter().for_each(|words| drop(server.told(&format!("WL.AT {MADE} {words}"))));
    let Value::BulkString(dump) = server.told("DUMP k") else { panic!("bytes") };
    fs::write(path(name), hex(&dump)).expect("writable");
}

/// With `WINDLASS_WRITE_GOLDEN=1` the files of values that have none are made.
#[test]
fn values_are_readable() {
    let Some(mut server) = loaded(&[]) else { return };
    let writes = std::env::var_os("WINDLASS_WRITE_GOLDEN").is_some_and(|value| value == "1");
    for (name, made, asked) in VALUES {
        server.told("DEL k");
        if writes && !path(name).exists() {
            write(&mut server, name, made);
            server.told("DEL k");
        }
        let dump = bytes(&fs::read_to_string(path(name)).expect("a file of tests/golden"));
        let restored = server.ask(&[b"RESTORE", b"k", b"0", &dump]);
        assert!(restored.is_ok(), "{name}: {restored:?}");
        for (words, answer) in asked {
            let told = shown(&server.told(&format!("WL.AT {ASKED} {words}")));
            assert_eq!(told, *answer, "{name}: {words}");
        }
    }
}

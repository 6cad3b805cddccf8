//! What is kept: `DUMP` and `RESTORE`, copies, RDB, append-only files, replicas; and bytes that are damaged.

use crate::{
    common::{Loaded, loaded, number, numbers, text, until_followed},
    servers::Server,
};
use redis::Value;

/// A key of each kind, and what it answers.
fn fill(server: &mut Loaded) -> Vec<&'static str> {
    server.told("WL.DEDUP dedup 600000 a b c");
    let Value::Array(claim) = server.told("WL.CLAIM dedup 600000 500000 d") else { panic!("a pair") };
    server.told(&format!("WL.COMMIT dedup {}", text(&claim[1])));
    server.told("WL.CLAIM dedup 600000 500000 e");
    server.told("WL.ADMIT dedup 600000 one t u");
    server.told("WL.ADMIT dedup 600000 two v a");
    for name in ["GCRA", "BUCKET", "QUEUE", "FIXED", "SLIDING", "LOG"] {
        server.told(&format!("WL.LIMIT {name} {name} 10 600000000 COST 3"));
    }
    // One whose quota has changed since.
    server.told("WL.LIMIT GCRA GCRA 20 600000000");
    server.told("WL.BLOOM.ADD bloom 600000 8 0.001 1000 a b c");
    server.told("WL.BLOOM.OBSERVE bloom 600000 8 0.001 1000 c d");
    server.told("WL.COUNT.ADD count 600000 60000 a 5 b 1");
    server.told("WL.TOPK.ADD top 600000 60000 2 a 5 b 1 c 9");
    server.told("WL.FIFO.PUSH queue a 1 b 2 c 3");
    server.told("WL.FIFO.POP queue");
    vec!["bloom", "count", "top", "queue", "dedup", "GCRA", "BUCKET", "QUEUE", "FIXED", "SLIDING", "LOG"]
}

#[track_caller]
fn look(server: &mut Loaded) {
    read(server);
    assert_eq!(server.numbers("WL.LIMIT LOG LOG 10 600000000 COST 8 PEEK")[..3], [0, 10, 7]);
    // Whoever has not heard of its admission may ask again.
    assert_eq!(server.numbers("WL.ADMIT dedup 600000 one t u v"), [2, 2, 0]);
    assert_eq!(server.numbers("WL.ADMIT dedup 600000 two t v a"), [0, 2, 0]);
    assert_eq!(server.numbers("WL.LIMIT GCRA GCRA 20 600000000 COST 17 PEEK")[0], 0);
}

/// .. as a replica may be asked.
#[track_caller]
fn read(server: &mut Loaded) {
    assert_eq!(server.numbers("WL.PEEK dedup a b c d e f"), [1, 1, 1, 1, 1, 0]);
    assert_eq!(server.numbers("WL.BLOOM.CHECK bloom a b c d e"), [1, 1, 1, 1, 0]);
    assert_eq!(server.numbers("WL.COUNT.GET count a b c"), [5, 1, 0]);
    let Value::Array(list) = server.told("WL.TOPK.LIST top") else { panic!("pairs") };
    let Value::Array(rows) = &list[11] else { panic!("rows") };
    let Value::Array(first) = &rows[0] else { panic!("a row") };
    assert_eq!((text(&first[0]), number(&first[1])), ("c".into(), 9));
    assert_eq!(server.told("WL.FIFO.RANK queue a c"), Value::Array(vec![Value::Nil, Value::Int(1)]));
}

fn digests(server: &mut Loaded, keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| server.digest(key)).collect()
}

fn dump(server: &mut Loaded, key: &str) -> Vec<u8> {
    match server.told(&format!("DUMP {key}")) {
        Value::BulkString(bytes) => bytes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn dumps_and_copies() {
    let Some(mut server) = loaded(&[]) else { return };
    let keys = fill(&mut server);
    for key in &keys {
        let (bytes, digest) = (dump(&mut server, key), server.digest(key));
        // Whether a key ends is part of its digest.
        let left = number(&server.told(&format!("PTTL {key}"))).max(0).to_string();
        let restored = server.ask(&[b"RESTORE", b"again", left.as_bytes(), &bytes, b"REPLACE"]);
        assert!(restored.is_ok(), "{key}: {restored:?}");
        assert_eq!(server.digest("again"), digest, "{key}");
        assert_eq!(server.told(&format!("COPY {key} copy REPLACE")), Value::Int(1));
        assert_eq!(server.digest("copy"), digest, "{key}");
        assert!(number(&server.told(&format!("MEMORY USAGE {key}"))) > 200, "{key}");
    }
    look(&mut server);
    // A copy goes its own way.
    server.told("COPY dedup other");
    assert_eq!(server.numbers("WL.DEDUP other 600000 x a"), [1, 0]);
    assert_eq!(server.numbers("WL.PEEK dedup x"), [0]);
    assert_ne!(server.digest("other"), server.digest("dedup"));
    // What is large is freed elsewhere.
    let ids: Vec<String> = (0..20_000).map(|i| i.to_string()).collect();
    server.told(&format!("WL.DEDUP large 600000 {}", ids.join(" ")));
    assert_eq!(server.told("UNLINK large dedup"), Value::Int(2));
    crate::servers::until("freed", || !server.cli(&["INFO", "stats"]).contains("lazyfreed_objects:0\r"));
}

/// As `DUMP` ends: the version of the format, and a checksum, here of what comes before.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 8;
    bytes.truncate(end);
    let sum = crc64(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// CRC-64/Jones, as the server has it.
fn crc64(bytes: &[u8]) -> u64 {
    let mut crc = 0_u64;
    for &byte in bytes {
        crc ^= u64::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x95ac_9329_ac4b_c9b5 } else { crc >> 1 };
        }
    }
    crc
}

/// Bytes that are cut off or changed are refused, with a checksum that says they are right. The server goes on.
#[test]
fn damaged_dumps() {
    let Some(mut server) = loaded(&[]) else { return };
    for key in fill(&mut server) {
        let bytes = dump(&mut server, key);
        assert_eq!(sealed(bytes.clone()), bytes, "the checksum is the server's");
        let (body, foot) = bytes.split_at(bytes.len() - 10);
        // The type, what says which module's it is, and the lengths of strings are the server's to read.
        let head = 14;
        for at in (0..body.len()).step_by(body.len() / 400 + 1) {
            let mut cut = body[..at].to_vec();
            cut.extend_from_slice(foot);
            let refused = server.ask(&[b"RESTORE", b"again", b"0", &sealed(cut), b"REPLACE"]);
            assert!(refused.is_err(), "{key}: cut at {at}");
            for bit in [0, 7] {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                let answer = server.ask(&[b"RESTORE", b"again", b"0", &sealed(flipped), b"REPLACE"]);
                assert!(answer.is_err() || at < head, "{key}: bit {bit} of byte {at}");
            }
        }
    }
    look(&mut server);
    assert!(!server.log().contains("crashed"));
}

/// The same without the server's wrapping: `WL.LOAD`.
#[test]
fn damaged_values() {
    let Some(mut server) = loaded(&["--appendonly", "yes", "--aof-use-rdb-preamble", "no"]) else { return };
    fill(&mut server);
    for (kind, wrong) in
        [("wlm-dedup", "head of the value"), ("wlm-limit", "head of the value"), ("wlm-none", "not known")]
    {
        let refused = server.refused(&format!("WL.LOAD k {kind} bytes"));
        assert!(refused.contains(wrong), "{refused}");
    }
    assert!(server.refused("WL.LOAD k wlm-dedup PARTS x").contains("syntax error"));
    // Parts that never become a whole.
    assert_eq!(text(&server.told("WL.LOAD k wlm-dedup PART some")), "OK");
    assert_eq!(text(&server.told("TYPE k")), "wlm-parts");
    assert!(server.refused("WL.DEDUP k 1000 a").contains("WRONGTYPE"));
    assert!(server.refused("WL.LOAD k wlm-dedup bytes").contains("head of the value"));
    look(&mut server);
}

fn wait_for_rewrite(server: &mut Loaded) {
    server.told("BGREWRITEAOF");
    crate::servers::until("the file is rewritten", || {
        let info = server.cli(&["INFO", "persistence"]);
        info.contains("aof_rewrite_in_progress:0")
            && info.contains("aof_last_bgrewrite_status:ok")
            && info.contains("aof_rewrite_scheduled:0")
    });
}

/// As commands, as values in commands, and as an RDB before commands.
#[test]
fn append_only_files() {
    for preamble in ["no", "yes"] {
        let Some(mut server) = loaded(&["--appendonly", "yes", "--aof-use-rdb-preamble", preamble]) else {
            return;
        };
        crate::servers::until("the first file is there", || {
            server.cli(&["INFO", "persistence"]).contains("aof_rewrite_in_progress:0")
        });
        let keys = fill(&mut server);
        let before = digests(&mut server, &keys);
        server.told("DEBUG LOADAOF");
        assert_eq!(digests(&mut server, &keys), before, "of commands");
        wait_for_rewrite(&mut server);
        assert_eq!(server.numbers("WL.DEDUP dedup 600000 late"), [1]);
        let before = digests(&mut server, &keys);
        server.told("DEBUG LOADAOF");
        assert_eq!(digests(&mut server, &keys), before, "preamble: {preamble}");
        assert_eq!(server.numbers("WL.PEEK dedup late"), [1]);
        look(&mut server);
        let Value::Int(left) = server.told("PTTL FIXED") else { panic!("a number") };
        assert!(left > 0, "{left}");
    }
}

/// A value of several parts.
#[test]
fn large_values() {
    let Some(mut server) = loaded(&["--appendonly", "yes", "--aof-use-rdb-preamble", "no"]) else { return };
    for from in (0..600_000).step_by(10_000) {
        let ids: Vec<String> = (from..from + 10_000).map(|i: u32| i.to_string()).collect();
        server.told(&format!("WL.DEDUP k 600000 {}", ids.join(" ")));
    }
    let before = server.digest("k");
    wait_for_rewrite(&mut server);
    server.told("DEBUG LOADAOF");
    assert_eq!(server.digest("k"), before);
    server.told("DEBUG RELOAD");
    assert_eq!(server.digest("k"), before);
    assert_eq!(server.numbers("WL.DEDUP k 600000 0 599999 600000"), [0, 0, 1]);
}

#[test]
fn databases_on_disk() {
    let Some(mut server) = loaded(&[]) else { return };
    let keys = fill(&mut server);
    let before = digests(&mut server, &keys);
    server.told("DEBUG RELOAD");
    assert_eq!(digests(&mut server, &keys), before);
    look(&mut server);
    assert_eq!(server.numbers("WL.DEDUP dedup 600000 a new"), [0, 1]);
}

/// A replica that lies still has the same when it goes on, however much later.
#[test]
fn replicas() {
    let Some(mut server) = loaded(&[]) else { return };
    server.told("WL.DEDUP before 600000 a");
    let mut replica = server.follower(&[]);
    replica.stall();
    let keys = fill(&mut server);
    // A window that is over when the replica hears of it.
    server.told("WL.DEDUP short 100 a b c");
    crate::servers::until("the window is over", || server.numbers("WL.PEEK short a b c") == [0, 0, 0]);
    server.told("WL.DEDUP short 100 b d");
    replica.go_on();
    until_followed(&server, &replica);
    assert_eq!(digests(&mut server, &keys), digests(&mut replica, &keys));
    for key in ["before", "short"] {
        assert_eq!(server.digest(key), replica.digest(key), "{key}");
    }
    read(&mut replica);
    assert!(replica.refused("WL.DEDUP dedup 600000 new").contains("READONLY"));
    // It takes over.
    replica.told("REPLICAOF NO ONE");
    look(&mut replica);
    assert_eq!(replica.numbers("WL.DEDUP dedup 600000 a new"), [0, 1]);
    assert_eq!(numbers(&replica.told("WL.PEEK before a")), [1]);
}

/// A server that has not loaded the module does not lose such data: it does not start.
#[test]
fn without_the_module() {
    let Some(mut server) = loaded(&[]) else { return };
    fill(&mut server);
    let bytes = dump(&mut server, "dedup");
    let mut other = Loaded::of(Server::start(&[]));
    assert!(other.ask(&[b"RESTORE", b"k", b"0", &bytes]).is_err());
    assert!(other.say("WL.VERSION").is_err());
}

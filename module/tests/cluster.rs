//! In a cluster: keys of one node, slots that move, a primary that is lost.

use crate::{
    built::with_module,
    common::{numbers, until_followed},
    servers::{Cluster, available, until},
};
use redis::Value;
use std::time::Duration;

const KEYS: usize = 200;

/// A connection to a node that is another's.
fn connect(port: u16) -> Option<redis::Connection> {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).expect("an address");
    client.get_connection_with_timeout(Duration::from_secs(5)).ok()
}

/// Asks node after node, as they say.
fn ask(ports: &[u16], words: &str) -> Value {
    let mut port = ports[0];
    for _ in 0..100 {
        let mut command = redis::Cmd::new();
        words.split(' ').for_each(|word| {
            command.arg(word);
        });
        let answer = connect(port).map(|mut connection| command.query::<Value>(&mut connection));
        match answer {
            Some(Ok(value)) => return value,
            Some(Err(error)) if error.code() == Some("MOVED") => {
                let to = error.detail().and_then(|detail| detail.rsplit(':').next()?.parse().ok());
                port = to.expect("a port");
            }
            // It is lost, or the others have not agreed yet.
            _ => {
                std::thread::sleep(Duration::from_millis(100));
                let at = ports.iter().position(|&other| other == port).unwrap_or(0);
                port = ports[(at + 1) % ports.len()];
            }
        }
    }
    panic!("nobody answers {words}");
}

#[test]
fn slots_move_and_primaries_are_lost() {
    if !available() {
        return;
    }
    let settings = with_module(&[]);
    let mut cluster = Cluster::start_with(Duration::from_millis(1000), &settings);
    let ports: Vec<u16> = cluster.servers.iter().map(|server| server.port).collect();
    for key in 0..KEYS {
        assert_eq!(numbers(&ask(&ports, &format!("WL.DEDUP k{key} 600000 a b"))), [1, 1]);
        assert_eq!(numbers(&ask(&ports, &format!("WL.LIMIT l{key} GCRA 2 600000000 COST 2")))[0], 1);
    }
    let none_twice = |ports: &[u16]| {
        for key in 0..KEYS {
            assert_eq!(numbers(&ask(ports, &format!("WL.DEDUP k{key} 600000 a b"))), [0, 0], "k{key}");
            assert_eq!(numbers(&ask(ports, &format!("WL.LIMIT l{key} GCRA 2 600000000")))[0], 0, "l{key}");
        }
    };
    // 3000 slots, with what is in them, from one primary to another.
    let primaries = [0, 6000, 12_000].map(|slot| cluster.primary_of(slot));
    cluster.reshard(primaries[0], primaries[1], 3000)();
    cluster.until_whole();
    none_twice(&ports);
    // What was not sent yet is lost with a primary: here all was.
    let lost = primaries[1];
    let replica = cluster.replica_of(lost);
    until_followed(&cluster.servers[lost], &cluster.servers[replica]);
    cluster.servers[lost].kill();
    until("the replica has taken over", || {
        cluster.servers[replica].cli(&["INFO", "replication"]).contains("role:master")
    });
    let ports: Vec<u16> = ports.into_iter().filter(|&port| port != cluster.servers[lost].port).collect();
    none_twice(&ports);
    assert_eq!(numbers(&ask(&ports, "WL.DEDUP k0 600000 c")), [1]);
}

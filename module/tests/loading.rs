//! Loading, what the server then knows of the module, and what it says when it cannot be loaded or unloaded.

use crate::{
    built::module,
    common::{loaded, numbers, text},
    servers::{Server, available},
};
use redis::Value;

#[test]
fn version_and_commands() {
    let Some(mut server) = loaded(&[]) else { return };
    let Value::Array(version) = server.told("WL.VERSION") else { panic!("a list") };
    assert_eq!(text(&version[0]), env!("CARGO_PKG_VERSION"));
    assert_eq!(version[1], Value::Int(1));
    assert!(server.cli(&["MODULE", "LIST"]).contains("windlass"));
    assert_eq!(server.told("WL.INFO nothing"), Value::Nil);
    let refused = server.refused("WL.VERSION 1");
    assert!(refused.contains("wrong number of arguments for 'WL.VERSION' command"), "{refused}");
}

/// Where the keys are: what a cluster's clients and ACLs go by.
#[test]
fn keys_of_commands() {
    let Some(mut server) = loaded(&[]) else { return };
    let mut key = |words: &str| {
        text(&match server.told(&format!("COMMAND GETKEYS {words}")) {
            Value::Array(keys) => keys[0].clone(),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(key("WL.DEDUP k 1000 a b"), "k");
    assert_eq!(key("WL.PEEK k a b"), "k");
    assert_eq!(key("WL.LIMIT k GCRA 1 1000"), "k");
    assert_eq!(key("WL.AT 5 DEDUP k 1000 a"), "k");
    assert_eq!(key("WL.LOAD k wlm-dedup bytes"), "k");
    let info = server.cli(&["COMMAND", "INFO", "WL.DEDUP"]);
    assert!(info.contains("write") && info.contains("denyoom"), "{info}");
    assert!(server.cli(&["COMMAND", "INFO", "WL.PEEK"]).contains("readonly"));
}

/// A user who may use some commands and keys, and no others.
#[test]
fn rights() {
    let Some(mut server) = loaded(&[]) else { return };
    server.told("ACL SETUSER app on nopass ~app:* resetchannels -@all +wl.dedup +wl.peek");
    server.told("AUTH app any");
    assert_eq!(server.numbers("WL.DEDUP app:k 1000 a"), [1]);
    for words in ["WL.DEDUP other 1000 a", "WL.AT 5 DEDUP app:k 1000 b", "WL.LIMIT app:l GCRA 1 1000"] {
        assert!(server.refused(words).contains("NOPERM"), "{words}");
    }
    server.told("AUTH default any");
    server.told("ACL SETUSER app +wl.at");
    server.told("AUTH app any");
    assert!(server.refused("WL.AT 5 DEDUP other 1000 b").contains("NOPERM"));
}

#[test]
fn it_is_not_unloaded_or_loaded_twice() {
    let Some(mut server) = loaded(&[]) else { return };
    let refused = server.refused("MODULE UNLOAD windlass");
    assert!(refused.contains("exports one or more module-side data types"), "{refused}");
    assert!(server.cli(&["MODULE", "LOAD", module()]).contains("ERR"));
    assert_eq!(numbers(&server.told("WL.DEDUP k 1000 a")), [1]);
}

#[test]
fn it_takes_no_arguments() {
    if !available() {
        return;
    }
    let server = Server::start(&["--enable-module-command", "local"]);
    let refused = server.cli(&["MODULE", "LOAD", module(), "what"]);
    assert!(refused.contains("ERR Error loading the extension"), "{refused}");
    assert!(server.log().contains("windlass is not loaded: it takes no arguments"), "{}", server.log());
    assert!(server.cli(&["MODULE", "LOAD", module()]).contains("OK"));
}

#[test]
fn no_memory_is_an_error() {
    let Some(mut server) = loaded(&["--maxmemory", "100kb"]) else { return };
    let refused = server.refused("WL.DEDUP k 1000 a");
    assert!(refused.contains("OOM"), "{refused}");
    assert_eq!(server.numbers("WL.PEEK k a"), [0]);
}

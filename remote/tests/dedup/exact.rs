//! What it answers, with one server that is there.

use super::{By, LONG, asking, connect, fresh, plain};
use crate::{
    module::with_module,
    proxy::Proxy,
    servers::{Server, available},
};
use std::{
    collections::HashSet,
    time::{Duration, Instant},
};
use windlass::{Dedup, Tick, Verdict};
use windlass_remote::{ErrorKind, Level, Observed, Remote, RemoteDedup, Token};

const DUPLICATE: Observed = Observed::Decided(Verdict::Duplicate { first_seen: None });
const FRESH: Observed = Observed::Decided(Verdict::Fresh);

#[tokio::test]
async fn once_per_window() {
    if !available() {
        return;
    }
    let server = Server::start(&with_module(&[]));
    let remote = connect(&server.address()).await;
    for by in By::ALL {
        let window = Duration::from_millis(1500);
        let builder = || by.of(RemoteDedup::builder(&remote, &by.name(), window));
        let (here, there) = (builder().build().unwrap(), builder().known(0).build().unwrap());
        let begun = Instant::now();
        assert_eq!(here.observe("a").await, Ok(FRESH));
        assert_eq!([here.observe("a").await, there.observe("a").await], [Ok(DUPLICATE), Ok(DUPLICATE)]);
        assert_eq!([here.contains("a").await, here.contains("b").await], [Ok(true), Ok(false)]);
        assert!(begun.elapsed() < window, "too slow to tell");
        // Fresh again a window later, by the engine's clock, and no sooner.
        while there.observe("a").await == Ok(DUPLICATE) {
            assert!(begun.elapsed() < window * 4, "it never ends");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(begun.elapsed() > window - Duration::from_millis(5), "{:?}", begun.elapsed());
        assert_eq!(here.observe("a").await, Ok(DUPLICATE), "it is another's now, and no longer known here");
        let (known, asked) = (here.stats().known, here.stats().duplicates);
        assert_eq!((known, asked), (1, 1));
    }
}

/// One sequence, six ways: the core, SET, the script, the module, and script and module by logical time.
#[tokio::test]
async fn all_tiers_agree() {
    if !available() {
        return;
    }
    let server = Server::start(&with_module(&[]));
    let remote = connect(&server.address()).await;
    let core = Dedup::builder(LONG).build().unwrap();
    let all = By::ALL.map(|by| by.of(RemoteDedup::builder(&remote, "a", LONG).known(0)).build().unwrap());
    let cached = RemoteDedup::builder(&remote, "c", LONG).known(50).build().unwrap();
    let mut state = 1u64;
    for round in 0..30 {
        // Ids of any bytes, with many repeats, also within a batch.
        let ids: Vec<Vec<u8>> = (0..40)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let number = (state >> 33) % 400;
                match number % 4 {
                    0 => number.to_le_bytes().to_vec(),
                    1 => format!("{{a}}{number}").into_bytes(),
                    2 => format!("\r\n{number}:{{}}").into_bytes(),
                    _ => format!("order {number}").into_bytes(),
                }
            })
            .collect();
        let expected: Vec<bool> =
            ids.iter().map(|id| core.observe_at(id.as_slice(), Tick(round)).unwrap().is_fresh()).collect();
        for (by, dedup) in By::ALL.iter().zip(&all) {
            // SET and the script share their keys.
            let new = *by != By::Script;
            let expected: Vec<bool> = expected.iter().map(|fresh| *fresh && new).collect();
            assert_eq!(fresh(dedup.observe_batch(&ids).await), expected, "{by:?}, round {round}");
        }
        assert_eq!(
            fresh(cached.observe_batch(&ids).await),
            expected,
            "with what is known here, round {round}"
        );
        let events: Vec<(&[u8], u64)> = ids.iter().map(|id| (id.as_slice(), round)).collect();
        for (by, dedup) in [(By::Script, &all[0]), (By::Module, &all[2])] {
            let logical = dedup.observe_at(&events).await;
            let logical: Vec<bool> = logical.into_iter().map(|answer| answer.unwrap().is_fresh()).collect();
            assert_eq!(logical, expected, "{by:?}, logical time, round {round}");
        }
    }
}

/// The window's edge, by logical time: exactly a window later an id is fresh again, a duplicate refreshes nothing, times may go back.
#[tokio::test]
async fn the_edge_of_the_window() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let dedup = RemoteDedup::builder(&remote, "test", Duration::from_millis(100)).build().unwrap();
    let events: Vec<(&[u8], u64)> = [0, 99, 100, 50, 199, 200].map(|ms| (&b"a"[..], ms)).to_vec();
    let duplicate = |ms| Verdict::Duplicate { first_seen: Tick::from_millis(ms) };
    let answers: Vec<Verdict> = dedup.observe_at(&events).await.into_iter().map(Result::unwrap).collect();
    let (fresh, first, second) = (Verdict::Fresh, duplicate(0), duplicate(100));
    assert_eq!(answers, [fresh, first, fresh, second, second, fresh]);
}

#[tokio::test]
async fn known_duplicates_take_no_round_trip() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let dedup = plain(&remote);
    let ids: Vec<String> = (0..2000).map(|i| i.to_string()).collect();
    assert!(fresh(dedup.observe_batch(&ids).await).into_iter().all(|fresh| fresh));
    let before = remote.stats();
    assert!(fresh(dedup.observe_batch(&ids).await).into_iter().all(|fresh| !fresh));
    assert_eq!((remote.stats(), dedup.stats().known), (before, 2000));
    // 1024 at a time.
    assert_eq!((before.calls, before.pipelines), (2000, 2));
}

/// The server is asked, has admitted the id, and its answer is lost: the event is not a duplicate of itself.
#[tokio::test]
async fn a_lost_answer_is_asked_for_again() {
    if !available() {
        return;
    }
    let server = Server::start(&with_module(&[]));
    let proxy = Proxy::to(server.port).await;
    let remote = connect(&format!("redis://127.0.0.1:{}", proxy.port)).await;
    let _replica = server.replica(&with_module(&[]));
    for (by, level) in [
        (By::Native, Level::Fast),
        (By::Script, Level::Fast),
        (By::Module, Level::Fast),
        (By::Native, Level::Confirmed),
        (By::Module, Level::Confirmed),
    ] {
        let dedup = by.of(RemoteDedup::builder(&remote, &format!("{by:?}-{level:?}"), LONG).level(level));
        let dedup = dedup.build().unwrap();
        assert_eq!(dedup.observe("a").await, Ok(FRESH), "the script is there now");
        let lost = proxy.lost();
        proxy.lose_next();
        assert_eq!(dedup.observe("b").await, Ok(FRESH));
        assert_eq!((proxy.lost(), dedup.stats().own), (lost + 1, 1));
        assert_eq!(dedup.observe("b").await, Ok(DUPLICATE));
        // Of a batch, all that was in it; but what others had admitted is no more its own than before.
        let other = by.of(RemoteDedup::builder(&remote, &format!("{by:?}-{level:?}"), LONG)).known(0);
        let other = other.build().unwrap();
        assert_eq!(other.observe("c 7").await, Ok(FRESH));
        let ids: Vec<String> = (0..300).map(|i| format!("c {i}")).collect();
        proxy.lose_next();
        let answers = dedup.observe_batch(&ids).await;
        for (id, answer) in ids.iter().zip(answers) {
            assert_eq!(answer, Ok(if id == "c 7" { DUPLICATE } else { FRESH }), "{by:?}, {level:?}: {id}");
        }
        assert_eq!((proxy.lost(), dedup.stats().own > 1), (lost + 2, true), "{by:?}, {level:?}");
        assert!(fresh(other.observe_batch(&ids).await).into_iter().all(|fresh| !fresh));
    }
}

/// What may not be asked twice is not: the error says that it may have been carried out. (It was.) But a connection that was closed while nobody
/// used it is noticed before.
#[tokio::test]
async fn what_may_not_be_repeated_is_not() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let proxy = Proxy::to(server.port).await;
    let remote = connect(&format!("redis://127.0.0.1:{}", proxy.port)).await;
    let dedup = plain(&remote);
    let observe = async |id: &str, ms| dedup.observe_at(&[(id.as_bytes(), ms)]).await.remove(0);
    assert_eq!(observe("a", 0).await, Ok(Verdict::Fresh));
    proxy.lose_next();
    let error = observe("b", 1).await.expect_err("lost");
    assert_eq!((error.kind(), error.may_be_done()), (ErrorKind::Unreachable, true), "{error}");
    assert_eq!(error.key(), Some(&b"wl:d@:test:b"[..]));
    assert_eq!(observe("b", 2).await, Ok(Verdict::Duplicate { first_seen: Tick::from_millis(1) }));

    server.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
    tokio::time::sleep(Duration::from_millis(1200)).await;
    assert_eq!(observe("c", 3).await, Ok(Verdict::Fresh));
}

#[tokio::test]
async fn a_token_may_ask_again() {
    if !available() {
        return;
    }
    let server = Server::start(&with_module(&[]));
    let remote = connect(&server.address()).await;
    let (one, other) = (Token::new(), Token::new());
    for by in By::ALL {
        let dedup = by.of(RemoteDedup::builder(&remote, &by.name(), LONG)).build().unwrap();
        assert_eq!(
            [dedup.observe_as("a", one).await, dedup.observe_as("a", one).await],
            [Ok(FRESH), Ok(FRESH)]
        );
        assert_eq!(
            [dedup.observe_as("a", other).await, dedup.observe("a").await],
            [Ok(DUPLICATE), Ok(DUPLICATE)]
        );
        // One token for several ids.
        assert_eq!(
            [dedup.observe_as("b", other).await, dedup.observe_as("a", one).await],
            [Ok(FRESH), Ok(FRESH)]
        );
    }
    let tokens: HashSet<Token> = (0..1000).map(|_| Token::new()).collect();
    assert_eq!(tokens.len(), 1000);
}

/// Scripts are gone: each is sent once as a whole, also within a batch, and answers stay in order.
#[tokio::test]
async fn scripts_are_sent_again() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let dedup = RemoteDedup::builder(&remote, "test", LONG).known(0).by_script().build().unwrap();
    for round in 0..3 {
        server.cli(&["SCRIPT", "FLUSH"]);
        let ids: Vec<String> = (0..20).map(|i| format!("{}", round * 10 + i)).collect();
        let expected: Vec<bool> = (0..20).map(|i| round == 0 || i >= 10).collect();
        assert_eq!(fresh(dedup.observe_batch(&ids).await), expected);
    }
    assert_eq!(remote.stats().scripts, 60);
    assert_eq!(fresh(dedup.observe_batch(&["x"]).await), [true]);
    assert_eq!(remote.stats().scripts, 60, "it is there now");
}

/// A user who may do what is needed and nothing else.
#[tokio::test]
async fn least_rights() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    server.cli(&["ACL", "SETUSER", "native", "on", ">secret", "~wl:*", "+set", "+exists", "+info"]);
    server.cli(&[
        "ACL", "SETUSER", "script", "on", ">secret", "~wl:*", "+set", "+get", "+eval", "+evalsha", "+info",
    ]);
    let native = connect(&format!("redis://native:secret@{}", server.at())).await;
    assert!(!native.capabilities().scripts && native.capabilities().unchecked.is_empty());
    let dedup = asking(&native);
    assert_eq!([dedup.observe("a").await, dedup.observe("a").await], [Ok(FRESH), Ok(DUPLICATE)]);
    // WAIT is not allowed: nothing is confirmed.
    let confirmed = RemoteDedup::builder(&native, "test", LONG).level(Level::Confirmed).build().unwrap();
    assert!(matches!(confirmed.observe("b").await, Ok(Observed::Unconfirmed(_))));

    let script = connect(&format!("redis://script:secret@{}", server.at())).await;
    let dedup = RemoteDedup::builder(&script, "script", LONG).by_script().known(0).build().unwrap();
    assert_eq!([dedup.observe("a").await, dedup.observe("a").await], [Ok(FRESH), Ok(DUPLICATE)]);
    let error = dedup.contains("a").await.expect_err("not allowed");
    assert_eq!((error.kind(), error.key()), (ErrorKind::Refused, Some(&b"wl:d:script:a"[..])));
}

#[tokio::test]
async fn settings_are_checked() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = connect(&server.address()).await;
    let wrong = |namespace: &str, window: Duration, what: &str| {
        let error = RemoteDedup::builder(&remote, namespace, window).build().expect_err("refused");
        assert!(error.kind() == ErrorKind::Config && error.to_string().contains(what), "{error}");
    };
    wrong("a:b", LONG, "namespace");
    wrong("a", Duration::ZERO, "window");
    wrong("a", Duration::from_micros(1500), "whole milliseconds");
    wrong("a", Duration::from_secs(5 * 365 * 86_400), "known(0)");
    let years = RemoteDedup::builder(&remote, "a", Duration::from_secs(5 * 365 * 86_400)).known(0).build();
    assert_eq!(years.expect("valid").observe("a").await, Ok(FRESH));
    let error = Remote::builder("redis://a").timeout(Duration::ZERO).connect().await.expect_err("refused");
    assert!(error.to_string().contains("timeout"), "{error}");
}

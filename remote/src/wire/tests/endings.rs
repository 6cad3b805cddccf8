//! However a connection ends, whoever waits is told, and whether the server may have got it.

use super::{
    super::{Wire, gathered::MOST},
    server::{Server, begin, bulk, echoes},
};
use crate::error::ErrorKind;
use std::pin::pin;

#[tokio::test]
async fn the_server_goes_in_the_middle() {
    let (wire, mut peer) = Server::pair().await;
    let server = async move {
        for _ in 0..4 {
            peer.command().await.expect("a command");
        }
        peer.say([bulk(b"a"), bulk(b"b"), b"$5\r\nab".to_vec()].concat()).await;
    };
    let (first, second) = (wire.exchange(echoes(["a"]).0), wire.exchange(echoes(["b", "c", "d"]).0));
    let (first, second, ()) = tokio::join!(first, second, server);
    assert_eq!(first.expect("it is answered"), echoes(["a"]).1);
    let broken = second.expect_err("a part of the answers is none");
    assert_eq!((broken.error.kind(), broken.sent), (ErrorKind::Unreachable, true), "{:?}", broken.error);
    // It is told, and not tried.
    let broken = wire.exchange(echoes(["e"]).0).await.expect_err("it is over");
    assert_eq!((broken.error.kind(), broken.sent), (ErrorKind::Unreachable, false));
}

/// A server that has closed the connection in silence has surely carried out nothing of what is asked next.
#[tokio::test]
async fn the_server_has_gone() {
    let (wire, peer) = Server::pair().await;
    drop(peer);
    let broken = wire.exchange(echoes(["a"]).0).await.expect_err("nobody is there");
    assert_eq!((broken.error.kind(), broken.sent), (ErrorKind::Unreachable, false));
}

#[tokio::test]
async fn it_speaks_something_else() {
    let (wire, mut peer) = Server::pair().await;
    let server = async {
        peer.command().await.expect("a command");
        peer.say("HTTP/1.1 400 Bad Request\r\n\r\n").await;
    };
    let (asked, other) = (wire.exchange(echoes(["a"]).0), wire.exchange(echoes(["b"]).0));
    let (asked, other, ()) = tokio::join!(asked, other, server);
    for broken in [asked, other] {
        let broken = broken.expect_err("no answer");
        assert_eq!((broken.error.kind(), broken.sent), (ErrorKind::Protocol, true));
    }
    assert!(peer.command().await.is_some() && peer.command().await.is_none(), "the connection was closed");
}

/// As one does that has too many clients: what it says is passed on to who asks next.
#[tokio::test]
async fn it_speaks_unasked() {
    for (says, kind, part) in [
        ("-ERR max number of clients reached\r\n", ErrorKind::Protocol, "max number of clients"),
        ("-LOADING not yet\r\n", ErrorKind::Loading, "not yet"),
        (":1\r\n", ErrorKind::Protocol, "an answer to nothing"),
    ] {
        let (wire, mut peer) = Server::pair().await;
        peer.say(says).await;
        assert!(peer.command().await.is_none(), "the connection was closed");
        let broken = wire.exchange(echoes(["a"]).0).await.expect_err("it is over");
        assert_eq!((broken.error.kind(), broken.sent), (kind, false));
        assert!(broken.error.to_string().contains(part), "{}", broken.error);
    }
}

/// Callers that go leave what they had to say. There is an end to that.
#[tokio::test]
async fn nobody_reads() {
    let (wire, _peer) = Server::pair().await;
    let word = "x".repeat(1 << 20);
    let mut said = 0;
    let refused = loop {
        let mut exchange = pin!(wire.exchange(echoes([&word]).0));
        match begin(exchange.as_mut()) {
            std::task::Poll::Pending => said += 1,
            std::task::Poll::Ready(ended) => break ended.expect_err("no answer"),
        }
        assert!(said < (2 * MOST) >> 20, "{said}");
    };
    assert_eq!((refused.error.kind(), refused.sent), (ErrorKind::Unreachable, false));
    assert!(refused.error.to_string().contains("does not read"), "{}", refused.error);
}

#[tokio::test]
async fn nobody_holds_it() {
    let (wire, mut peer) = Server::pair().await;
    let other = wire.clone();
    drop(wire);
    let (answers, ()) = tokio::join!(other.exchange(echoes(["a"]).0), async {
        peer.command().await.expect("a command");
        peer.say(bulk(b"a")).await;
    });
    assert_eq!(answers.expect("the clone still holds it"), echoes(["a"]).1);
    drop(other);
    assert!(peer.command().await.is_none(), "the connection was closed");
}

/// With the runtime that it was made on the connection's task goes.
#[test]
fn the_runtime_goes() {
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("one");
    let (own, other) = (runtime(), runtime());
    let server = other.block_on(Server::start());
    let target = server.target();
    let accepting = other.spawn(async move { server.accept().await });
    let wire = own.block_on(Wire::open(&target)).expect("connected");
    let asking = other.spawn({
        let wire = wire.clone();
        async move { wire.exchange(echoes(["a"]).0).await }
    });
    let mut peer = other.block_on(accepting).expect("accepted");
    assert!(other.block_on(peer.command()).is_some());
    own.shutdown_background();
    let broken = other.block_on(asking).expect("no panic").expect_err("no answer");
    assert_eq!((broken.error.kind(), broken.sent), (ErrorKind::Unreachable, true));
    let broken = other.block_on(wire.exchange(echoes(["b"]).0)).expect_err("it is over");
    assert_eq!((broken.error.kind(), broken.sent), (ErrorKind::Unreachable, false));
}

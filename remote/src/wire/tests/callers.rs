//! Each caller gets the answers to its commands, whoever else there is.

use super::{
    super::Value,
    server::{Server, begin, bulk, echoes},
};
use futures_util::future::join_all;
use std::{pin::pin, task::Poll};

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn many() {
    let (wire, peer) = Server::pair().await;
    tokio::spawn(peer.echo());
    let callers = (0..60_usize).map(|caller| {
        let wire = wire.clone();
        tokio::spawn(async move {
            for round in 0..40_usize {
                let words = (0..(caller * 7 + round) % 9).map(|word| format!("{caller} {round} {word}"));
                let (pipeline, answers) = echoes(words);
                assert_eq!(wire.exchange(pipeline).await.expect("answered"), answers);
            }
        })
    });
    for caller in join_all(callers).await {
        caller.expect("no caller fails");
    }
}

/// What several say before the connection's task goes on goes out together.
#[tokio::test]
async fn in_one_write() {
    let (wire, mut peer) = Server::pair().await;
    let callers = join_all((0..10).map(|caller| {
        let wire = wire.clone();
        async move { wire.exchange(echoes([format!("{caller}")]).0).await.expect("answered") }
    }));
    let server = async {
        peer.command().await.expect("the first");
        let sent = echoes((0..10).map(|caller| format!("{caller}"))).0.into_bytes();
        let first = echoes(["0"]).0.into_bytes().len();
        assert_eq!(peer.unread(), &sent[first..], "the others came with it");
        for caller in 0..10 {
            peer.say(bulk(format!("{caller}").as_bytes())).await;
        }
    };
    let (answers, ()) = tokio::join!(callers, server);
    for (caller, answers) in answers.iter().enumerate() {
        assert_eq!(*answers, [Value::Bulk(caller.to_string().into_bytes())]);
    }
}

#[tokio::test]
async fn answers_in_pieces() {
    let (wire, mut peer) = Server::pair().await;
    let server = async {
        for _ in 0..3 {
            peer.command().await.expect("a command");
        }
        for byte in b"+OK\r\n*2\r\n$3\r\nabc\r\n:7\r\n-ERR no\r\n" {
            peer.say([*byte]).await;
            tokio::task::yield_now().await;
        }
    };
    let (answers, ()) = tokio::join!(wire.exchange(echoes(["a", "b", "c"]).0), server);
    let [ok, array, error] = answers.expect("answered").try_into().expect("three");
    assert_eq!((ok, array), (Value::Okay, Value::Array(vec![Value::Bulk(b"abc".to_vec()), Value::Int(7)])));
    assert!(matches!(error, Value::Error(error) if error.code() == "ERR"));
}

/// One goes before its commands are sent, one after, one with half of its answers there: the others get theirs.
#[tokio::test]
async fn some_do_not_wait() {
    let (wire, mut peer) = Server::pair().await;
    {
        let mut early = pin!(wire.exchange(echoes(["early 1", "early 2"]).0));
        assert!(begin(early.as_mut()).is_pending());
    }
    {
        let mut late = pin!(wire.exchange(echoes(["late 1", "late 2"]).0));
        assert!(begin(late.as_mut()).is_pending());
        for word in ["early 1", "early 2", "late 1", "late 2"] {
            assert_eq!(peer.command().await.expect("sent all the same")[1], word.as_bytes());
        }
        for word in ["early 1", "early 2", "late 1"] {
            peer.say(bulk(word.as_bytes())).await;
        }
        tokio::task::yield_now().await;
        assert!(begin(late.as_mut()).is_pending());
    }
    let (pipeline, answers) = echoes(["one", "two"]);
    let mut waits = pin!(wire.exchange(pipeline));
    assert!(begin(waits.as_mut()).is_pending());
    peer.say(bulk(b"late 2")).await;
    assert_eq!(peer.command().await.expect("a command")[1], b"one");
    tokio::spawn(async move {
        peer.say(bulk(b"one")).await;
        peer.echo().await;
    });
    assert_eq!(waits.await.expect("answered"), answers);
}

/// More than lies between both ends, from both sides: the server reads on only when it has got rid of its answers.
#[tokio::test]
async fn both_have_much_to_say() {
    let (wire, peer) = Server::pair().await;
    tokio::spawn(peer.echo());
    let word = |i: u32| format!("{i:08}").repeat(2000);
    let (pipeline, answers) = echoes((0..1000).map(word));
    assert_eq!(wire.exchange(pipeline).await.expect("answered"), answers);
    // One answer that is much longer than what is usual, and a short one after it.
    let (pipeline, answers) = echoes([word(0).repeat(200), "short".to_owned()]);
    assert_eq!(wire.exchange(pipeline).await.expect("answered"), answers);
}

/// It goes on with others that are there.
#[tokio::test]
async fn nothing_is_asked() {
    let (wire, _peer) = Server::pair().await;
    let mut nothing = pin!(wire.exchange(echoes::<&str>([]).0));
    assert!(matches!(begin(nothing.as_mut()), Poll::Ready(Ok(answers)) if answers.is_empty()));
}

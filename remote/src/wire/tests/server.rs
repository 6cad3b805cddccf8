//! Somebody at the other end.

use super::super::{Endpoint, Pipeline, Target, Value, Wire, parser::Parser};
use std::{
    pin::Pin,
    task::{Context, Poll, Waker},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// One that waits to be connected to.
pub(super) struct Server(TcpListener);

/// A connection from its side.
pub(super) struct Peer {
    stream: TcpStream,
    parser: Parser,
    unread: Vec<u8>,
}

impl Server {
    pub(super) async fn start() -> Server {
        Server(TcpListener::bind("127.0.0.1:0").await.expect("a port"))
    }

    pub(super) fn target(&self) -> Target {
        let port = self.0.local_addr().expect("an address").port();
        let endpoint = Endpoint::Tcp("127.0.0.1".into(), port);
        Target { endpoint, user: None, password: None, db: 0 }
    }

    pub(super) async fn accept(&self) -> Peer {
        let (stream, _) = self.0.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("a setting");
        Peer { stream, parser: Parser::new(), unread: Vec::new() }
    }

    /// A connection, from both sides.
    pub(super) async fn pair() -> (Wire, Peer) {
        let server = Server::start().await;
        let target = server.target();
        let (wire, peer) = tokio::join!(Wire::open(&target), server.accept());
        (wire.expect("connected"), peer)
    }
}

impl Peer {
    /// The words of the next command; `None`: there are no more.
    pub(super) async fn command(&mut self) -> Option<Vec<Vec<u8>>> {
        loop {
            let (read, command) = self.parser.next(&self.unread).expect("commands");
            self.unread.drain(..read);
            if let Some(Value::Array(words)) = command {
                let word = |word| if let Value::Bulk(bytes) = word { bytes } else { panic!("{word:?}") };
                return Some(words.into_iter().map(word).collect());
            }
            let mut more = [0; 65536];
            match self.stream.read(&mut more).await {
                Ok(0) | Err(_) => return None,
                Ok(bytes) => self.unread.extend_from_slice(&more[..bytes]),
            }
        }
    }

    /// What has come behind it.
    pub(super) fn unread(&self) -> &[u8] {
        &self.unread
    }

    pub(super) async fn say(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.expect("sent");
    }

    /// Answers every `ECHO word` with the word.
    pub(super) async fn echo(mut self) {
        while let Some(words) = self.command().await {
            if self.stream.write_all(&bulk(&words[1])).await.is_err() {
                return;
            }
        }
    }
}

pub(super) fn bulk(bytes: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// Commands `ECHO word`, and the answers to them.
pub(super) fn echoes<W: AsRef<[u8]>>(words: impl IntoIterator<Item = W>) -> (Pipeline, Vec<Value>) {
    let (mut pipeline, mut answers) = (Pipeline::default(), Vec::new());
    for word in words {
        pipeline.begin(2);
        pipeline.word("ECHO");
        pipeline.word(&word);
        answers.push(Value::Bulk(word.as_ref().to_vec()));
    }
    (pipeline, answers)
}

/// Goes on with something once. (Nobody is told when it could go on further.)
pub(super) fn begin<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

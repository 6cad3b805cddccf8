//! Bytes to a server and back: TCP, TLS over it, or a socket on this machine.

use crate::error::{ErrorKind, RemoteError};
use futures_util::future::select_ok;
#[cfg(unix)]
use std::path::PathBuf;
use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// Where a server is: a name and a port, or a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Tcp(String, u16),
    #[cfg(feature = "tls")]
    Tls(String, u16),
    #[cfg(unix)]
    Unix(PathBuf),
}

/// A connection.
pub(super) enum Stream {
    Tcp(TcpStream),
    #[cfg(feature = "tls")]
    Tls(Box<tokio_rustls::client::TlsStream<TcpStream>>),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
}

impl Stream {
    /// Connects. It may take for ever: the deadline is the caller's.
    pub(super) async fn connect(to: &Endpoint) -> Result<Stream, RemoteError> {
        match to {
            Endpoint::Tcp(name, port) => fastest(name, *port, tcp).await,
            #[cfg(feature = "tls")]
            Endpoint::Tls(name, port) => {
                let settings = super::tls::settings()?;
                fastest(name, *port, |address| super::tls::connect(&settings, name, tcp(address))).await
            }
            #[cfg(unix)]
            Endpoint::Unix(path) => {
                let connected = tokio::net::UnixStream::connect(path).await;
                Ok(Stream::Unix(connected.map_err(|error| RemoteError::from_io(&error))?))
            }
        }
    }

    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>, to: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut to = ReadBuf::new(to);
        ready!(match self {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(cx, &mut to),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, &mut to),
            #[cfg(unix)]
            Stream::Unix(stream) => Pin::new(stream).poll_read(cx, &mut to),
        })?;
        Poll::Ready(Ok(to.filled().len()))
    }

    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
            #[cfg(unix)]
            Stream::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    /// What is written may wait in TLS still.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
            #[cfg(unix)]
            Stream::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }
}

async fn tcp(address: SocketAddr) -> Result<Stream, RemoteError> {
    let connected = TcpStream::connect(address).await.and_then(|stream| {
        // What is sent has gathered already.
        stream.set_nodelay(true)?;
        Ok(Stream::Tcp(stream))
    });
    connected.map_err(|error| RemoteError::from_io(&error))
}

/// Of all addresses that the name has, the one that is connected to first.
async fn fastest<F: Future<Output = Result<Stream, RemoteError>>>(
    name: &str,
    port: u16,
    connect: impl Fn(SocketAddr) -> F,
) -> Result<Stream, RemoteError> {
    let found = tokio::net::lookup_host((name, port)).await;
    let mut connecting = found
        .map_err(|error| RemoteError::from_io(&error))?
        .map(|address| Box::pin(connect(address)))
        .peekable();
    if connecting.peek().is_none() {
        return Err(RemoteError::new(ErrorKind::Unreachable, "the name has no address"));
    }
    Ok(select_ok(connecting).await?.0)
}

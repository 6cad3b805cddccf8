//! A way to a server on which an answer can be lost.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// Passes everything on, both ways; but when it is told to, it waits for the server's answer to the next bytes, and hangs up instead of passing
/// it on, or just does not pass it on.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    lose: Arc<AtomicBool>,
    hold: Arc<AtomicBool>,
    /// How many answers were lost.
    lost: Arc<AtomicU32>,
}

impl Proxy {
    pub(crate) async fn to(port: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let proxy = Proxy {
            port: listener.local_addr().expect("an address").port(),
            lose: Arc::default(),
            hold: Arc::default(),
            lost: Arc::default(),
        };
        let (lose, hold, lost) = (Arc::clone(&proxy.lose), Arc::clone(&proxy.hold), Arc::clone(&proxy.lost));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, port, Arc::clone(&lose), Arc::clone(&hold), Arc::clone(&lost)));
            }
        });
        proxy
    }

    pub(crate) fn lose_next(&self) {
        self.lose.store(true, SeqCst);
    }

    /// The next answer never comes, nor any other on that connection.
    pub(crate) fn hold_next(&self) {
        self.hold.store(true, SeqCst);
    }

    pub(crate) fn lost(&self) -> u32 {
        self.lost.load(SeqCst)
    }
}

async fn pass(
    mut client: TcpStream,
    port: u16,
    lose: Arc<AtomicBool>,
    hold: Arc<AtomicBool>,
    lost: Arc<AtomicU32>,
) {
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
    let (mut asked, mut answered) = ([0; 65536], [0; 65536]);
    let (mut losing, mut holding) = (false, false);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(bytes @ 1..) = read else { return };
                losing |= lose.swap(false, SeqCst);
                holding |= hold.swap(false, SeqCst);
                if server.write_all(&asked[..bytes]).await.is_err() {
                    return;
                }
            }
            read = server.read(&mut answered) => {
                let Ok(bytes @ 1..) = read else { return };
                if holding {
                    lost.fetch_add(1, SeqCst);
                    return std::future::pending().await;
                }
                if losing {
                    lost.fetch_add(1, SeqCst);
                    return;
                }
                if client.write_all(&answered[..bytes]).await.is_err() {
                    return;
                }
            }
        }
    }
}

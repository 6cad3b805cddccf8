//! One thread that answers, one connection at a time.

use std::{
    io::{self, Write},
    net::{SocketAddr, TcpListener, ToSocketAddrs},
    sync::Arc,
    thread,
    time::Duration,
};

use windlass::metrics::Registry;

use super::http;
use crate::failure::{Failure, reason};

/// Listens at an address, and answers until the process ends.
pub(super) fn start(address: &str, registry: Arc<Registry>) -> Result<(), Failure> {
    let asked_for_any = check(address)? == 0;
    let failed = |what: &str, error: &io::Error| {
        Failure::Running(format!("--metrics {address}: {what}: {}", reason(error)))
    };
    let found: Vec<SocketAddr> =
        address.to_socket_addrs().map_err(|error| failed("no such host", &error))?.collect();
    let listener = TcpListener::bind(&found[..]).map_err(|error| failed("cannot listen there", &error))?;
    if asked_for_any {
        let at = listener.local_addr().map_err(|error| failed("cannot listen there", &error))?;
        // Not eprintln: that panics where stderr is closed.
        let _ = writeln!(io::stderr(), "windlass: metrics at http://{at}/metrics");
    }
    // Never joined: it waits for whoever asks next.
    let serve = move || serve(&listener, &registry);
    match thread::Builder::new().name("metrics".to_owned()).spawn(serve) {
        Ok(_) => Ok(()),
        Err(error) => Err(failed("cannot start a thread", &error)),
    }
}

/// The port, if it is an address at all.
fn check(address: &str) -> Result<u16, Failure> {
    let parts = address.rsplit_once(':');
    let port = parts.and_then(|(host, port)| port.parse().ok().filter(|_| !host.is_empty()));
    port.ok_or_else(|| {
        Failure::bad(format_args!(
            "--metrics {address}: an address is HOST:PORT, like 127.0.0.1:9184; port 0 takes a free one"
        ))
    })
}

fn serve(listener: &TcpListener, registry: &Registry) {
    for stream in listener.incoming() {
        match stream {
            // Whoever hangs up is not an error of ours.
            Ok(stream) => drop(http::answer(&stream, registry)),
            // No more files may be open, say: that may pass.
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

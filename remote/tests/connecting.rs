//! Connecting: what is found, and what is said of what is not there.

use crate::servers::{Cluster, Sentinels, Server, available, free_port};
use std::{
    net::TcpListener,
    time::{Duration, Instant},
};
use windlass_remote::{ErrorKind, Eviction, Remote, RemoteError};

const TIMEOUT: Duration = Duration::from_millis(1500);

/// For what is there, on a crowded machine.
const PATIENCE: Duration = Duration::from_secs(10);

async fn found(address: &str) -> Result<Remote, RemoteError> {
    Remote::builder(address).timeout(PATIENCE).connect().await
}

/// Connecting fails, in time.
async fn refused(address: &str) -> RemoteError {
    let begun = Instant::now();
    let error = Remote::builder(address).timeout(TIMEOUT).connect().await.expect_err("refused");
    assert!(begun.elapsed() < TIMEOUT * 3, "{:?}: {error}", begun.elapsed());
    error
}

#[tokio::test]
async fn a_server_is_found_out() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = found(&server.address()).await.expect("it is there");
    let found = remote.capabilities();
    assert!(found.version.is_some_and(|version| version >= (5, 0, 0)), "{found}");
    assert!(found.scripts && !found.cluster && !found.module && found.unchecked.is_empty(), "{found:?}");
    assert_eq!(found.eviction.as_deref(), Some("noeviction"));
}

#[tokio::test]
async fn nobody_is_there() {
    let at = format!("127.0.0.1:{}", free_port());
    let error = refused(&format!("redis://{at}")).await;
    assert_eq!((error.kind(), error.node()), (ErrorKind::Unreachable, Some(&*at)));
    let error = refused(&format!("redis+cluster://{at}")).await;
    assert_eq!((error.kind(), error.node()), (ErrorKind::Unreachable, Some(&*at)));
    let error = refused(&format!("redis+sentinel://{at}/main")).await;
    assert_eq!((error.kind(), error.node()), (ErrorKind::Unreachable, Some(&*at)));
}

/// Somebody who takes connections and says nothing.
#[tokio::test]
async fn nobody_answers() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = silent.local_addr().expect("an address").to_string();
    for form in ["redis://", "redis+cluster://"] {
        let error = refused(&format!("{form}{at}")).await;
        assert_eq!((error.kind(), error.node()), (ErrorKind::Timeout, Some(&*at)), "{form}");
    }
}

#[tokio::test]
async fn passwords() {
    if !available() {
        return;
    }
    let server = Server::start(&["--requirepass", "right"]);
    for login in ["", ":wrong@", "nobody:right@"] {
        let error = refused(&format!("redis://{login}{}", server.at())).await;
        assert_eq!((error.kind(), error.node()), (ErrorKind::Auth, Some(&*server.at())), "{login} {error}");
    }
    found(&format!("redis://:right@{}", server.at())).await.expect("the right one");
    found(&format!("redis://default:right@{}", server.at())).await.expect("the right one");
}

#[tokio::test]
async fn a_server_that_forgets_early() {
    if !available() {
        return;
    }
    let server = Server::start(&["--maxmemory-policy", "allkeys-lru"]);
    let error = refused(&server.address()).await;
    assert_eq!((error.kind(), error.node()), (ErrorKind::Unsafe, Some(&*server.at())));
    assert!(error.to_string().contains("allkeys-lru"), "{error}");
    let accepted = Remote::builder(&server.address())
        .eviction(Eviction::Accept)
        .timeout(PATIENCE)
        .connect()
        .await
        .expect("taken");
    assert_eq!(accepted.capabilities().eviction.as_deref(), Some("allkeys-lru"));

    // One that does not tell.
    let silent = Server::start(&[]);
    silent.cli(&["ACL", "SETUSER", "app", "on", ">secret", "~*", "+set", "+ping"]);
    let address = format!("redis://app:secret@{}", silent.at());
    let error = refused(&address).await;
    assert_eq!(error.kind(), ErrorKind::Unsafe);
    assert!(error.to_string().contains("neither INFO nor CONFIG GET"), "{error}");
    let taken = Remote::builder(&address)
        .eviction(Eviction::RefuseKnown)
        .timeout(PATIENCE)
        .connect()
        .await
        .expect("taken");
    assert_eq!(taken.capabilities().unchecked.len(), 2, "{:?}", taken.capabilities());
    assert!(!taken.capabilities().scripts);
}

#[tokio::test]
async fn a_cluster_without_slots() {
    if !available() {
        return;
    }
    let server = Server::start(&["--cluster-enabled", "yes"]);
    let error = refused(&format!("redis+cluster://{}", server.at())).await;
    assert_eq!((error.kind(), error.node()), (ErrorKind::MissingSlots, Some(&*server.at())), "{error}");
    // And what is no cluster.
    let server = Server::start(&[]);
    let error = refused(&format!("redis+cluster://{}", server.at())).await;
    assert!(error.to_string().contains("cluster support disabled"), "{error}");
}

#[tokio::test]
async fn a_cluster() {
    if !available() {
        return;
    }
    let cluster = Cluster::start(Duration::from_secs(5));
    let remote = found(&cluster.address()).await.expect("it is there");
    assert!(remote.capabilities().cluster);
}

#[tokio::test]
async fn sentinels() {
    if !available() {
        return;
    }
    let sentinels = Sentinels::start(Duration::from_secs(5));
    found(&sentinels.address()).await.expect("they know it");
    let error = refused(&sentinels.address().replace("/main", "/other")).await;
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("\"other\""), "{error}");
}

#[tokio::test]
async fn a_socket() {
    if !available() || !cfg!(unix) {
        return;
    }
    let path = std::env::temp_dir().join(format!("windlass-{}.sock", std::process::id()));
    let path = path.to_str().expect("text");
    let _server = Server::start(&["--unixsocket", path]);
    found(&format!("unix://{path}?db=1")).await.expect("it is there");
    let error = refused(&format!("unix://{path}.other")).await;
    assert_eq!(error.kind(), ErrorKind::Unreachable);
}

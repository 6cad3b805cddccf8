//! The first words of a connection.

use super::{
    super::{Target, Wire},
    server::Server,
};
use crate::error::{ErrorKind, RemoteError};

/// What comes of logging in where this is said, with these answers in turn.
async fn log_in(target: impl FnOnce(&mut Target), script: &[(&str, &str)]) -> Result<(), RemoteError> {
    let server = Server::start().await;
    let mut to = server.target();
    target(&mut to);
    let (opened, ()) = tokio::join!(Wire::open(&to), async {
        let mut peer = server.accept().await;
        for (said, answer) in script {
            let words = peer.command().await.expect("a command").join(&b' ');
            assert_eq!(String::from_utf8(words).expect("text"), *said);
            peer.say(answer).await;
        }
    });
    opened.map(drop)
}

#[tokio::test]
async fn as_who_and_where() {
    log_in(|_| {}, &[]).await.expect("nothing is said");
    let password = |to: &mut Target| to.password = Some("secret".into());
    log_in(password, &[("AUTH secret", "+OK\r\n")]).await.expect("let in");
    let all = |to: &mut Target| {
        (to.user, to.password, to.db) = (Some("ann".into()), Some("secret".into()), 3);
    };
    log_in(all, &[("AUTH ann secret", "+OK\r\n"), ("SELECT 3", "+OK\r\n")]).await.expect("let in");

    let script = [("AUTH ann secret", "-WRONGPASS no\r\n"), ("SELECT 3", "-NOAUTH no\r\n")];
    let refused = log_in(all, &script).await.expect_err("refused");
    assert_eq!(refused.kind(), ErrorKind::Auth);
    let script = [("AUTH ann secret", "+OK\r\n"), ("SELECT 3", "-ERR DB index is out of range\r\n")];
    let refused = log_in(all, &script).await.expect_err("refused");
    assert!(
        refused.kind() == ErrorKind::Protocol && refused.to_string().contains("out of range"),
        "{refused}"
    );
    let refused = log_in(password, &[("AUTH secret", ":1\r\n")]).await.expect_err("no answer");
    assert_eq!(refused.kind(), ErrorKind::Protocol);
}

/// One that knows no users is told the password alone.
#[tokio::test]
async fn an_old_server() {
    let old = "-ERR wrong number of arguments for 'auth' command\r\n";
    let user = |to: &mut Target| (to.user, to.password) = (Some("default".into()), Some("secret".into()));
    log_in(user, &[("AUTH default secret", old), ("AUTH secret", "+OK\r\n")]).await.expect("let in");
    let script = [("AUTH default secret", old), ("AUTH secret", "-ERR invalid password\r\n")];
    assert_eq!(log_in(user, &script).await.expect_err("refused").kind(), ErrorKind::Auth);
}

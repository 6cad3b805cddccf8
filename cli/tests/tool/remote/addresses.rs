//! What stands at the address: sentinels, a cluster, TLS.

use std::{
    collections::HashSet,
    io::{Read, Write},
    process::{Command, Stdio},
    time::Duration,
};

use crate::{
    common::{Dir, EXE, Run},
    servers::{Certificates, Cluster, Sentinels, available, available_with_tls, tls_cluster, until},
};

/// Every command that asks servers, with its own namespace, and what it passes on of an `a`, a `b` and an `a`.
const COMMANDS: [(&str, &str); 4] = [
    ("dedup --window 1h", "a\nb\n"),
    ("limit --limit 1/300d --format tsv --key 1", "a\nb\n"),
    ("rank --pop-every 1h", "3 events of 2 keys"),
    ("top --window 2d --pane 1d -k 2", "certified exact"),
];

/// `windlass`, trusting who has signed with this certificate.
fn run(dir: &Dir, options: &[&str], authority: Option<&str>, input: &str) -> Run {
    let mut command = Command::new(EXE);
    command.args(options).current_dir(&dir.0).env_remove("SSL_CERT_DIR");
    authority.map(|path| command.env("SSL_CERT_FILE", path));
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("the binary runs");
    // (It may end without reading it; and it is less than a pipe holds.)
    drop(child.stdin.take().expect("piped").write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    let err = String::from_utf8(output.stderr).expect("text");
    Run { code: output.status.code().expect("not killed"), out: output.stdout, err }
}

/// All commands work there, and the second time know what the first has told the servers.
fn all_work(address: &str, authority: Option<&str>) {
    let dir = Dir::new();
    for (command, says) in COMMANDS {
        let words: Vec<&str> =
            command.split(' ').chain(["--remote", address, "--remote-timeout", "20s"]).collect();
        let first = run(&dir, &words, authority, "a\nb\na\n").ok();
        assert!(
            first.text() == says || first.err.contains(says),
            "{command}: {} {}",
            first.text(),
            first.err
        );
        let again = run(&dir, &words, authority, "a\nb\n").ok();
        if !first.text().is_empty() && !command.starts_with("top") {
            assert_eq!(again.text(), "", "{command}");
        }
    }
    let policy = "[[limit]]\nname = \"one\"\nkey = \"1\"\nquota = \"1/300d\"\n[[limit]]\nname = \"all\"\nquota = \"9/300d\"\n";
    dir.put("policy.toml", policy);
    let words = [
        "limit",
        "--policy",
        "policy.toml",
        "--format",
        "tsv",
        "--remote",
        address,
        "--remote-timeout",
        "20s",
    ];
    assert_eq!(run(&dir, &words, authority, "a\nb\na\n").ok().text(), "a\nb\n");
}

#[test]
fn sentinels_name_the_server() {
    if available() {
        all_work(&Sentinels::start(Duration::from_secs(5)).address(), None);
    }
}

#[test]
fn nodes_of_a_cluster() {
    if available() {
        all_work(&Cluster::start(Duration::from_secs(5)).address(), None);
    }
}

/// A run whose timeout is longer than a failover goes on with the replica, which has all that came before.
#[test]
fn a_run_outlasts_a_failover() {
    if !available() {
        return;
    }
    let mut sentinels = Sentinels::start(Duration::from_secs(1));
    let address = sentinels.address();
    let options = ["dedup", "-q", "--window", "1h", "--remote", &address, "--remote-timeout", "30s"];
    let mut child = Command::new(EXE)
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let (mut input, mut output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    input.write_all(b"a\nb\na\n").expect("it reads");
    let mut passed = [0; 4];
    output.read_exact(&mut passed).expect("it passes them on");
    assert_eq!(&passed, b"a\nb\n");
    until("the replica has them", || sentinels.replica.cli(&["DBSIZE"]).trim() == "2");
    sentinels.primary.kill();
    input.write_all(b"b\nc\nc\na\n").expect("it reads");
    drop(input);
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("text");
    let ended = child.wait_with_output().expect("it ends");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(rest, "c\n");
    assert!(sentinels.replica.cli(&["INFO", "replication"]).contains("role:master"));
}

#[test]
fn tls() {
    if !available_with_tls() {
        return;
    }
    let certificates = Certificates::new();
    let (server, port) = certificates.server(&[]);
    let (address, authority) = (format!("rediss://127.0.0.1:{port}"), certificates.authority());
    all_work(&address, Some(&authority));
    // Whom nobody trusts is not talked to, and named.
    let (other, dir) = (Certificates::new().authority(), Dir::new());
    let options = ["dedup", "-q", "--window", "1h", "--remote", &address];
    for authority in [other.as_str(), "/dev/null"] {
        let refused = run(&dir, &options, Some(authority), "z\n");
        assert_eq!((refused.code, refused.text()), (1, ""));
        assert!(
            refused.err.contains(&format!("127.0.0.1:{port}")) && refused.err.lines().count() == 1,
            "{}",
            refused.err
        );
    }
    assert_eq!(server.cli(&["EXISTS", "wl:d:windlass:z"]).trim(), "0");
    // Nor by the port that has none, nor without it by the one that has.
    for (scheme, port) in [("rediss", server.port), ("redis", port)] {
        let address = format!("{scheme}://127.0.0.1:{port}");
        let options = ["dedup", "-q", "--window", "1h", "--remote", &address];
        let refused = run(&dir, &options, Some(&authority), "z\n");
        assert_eq!((refused.code, refused.text()), (1, ""), "{}", refused.err);
    }
}

#[test]
fn a_cluster_by_tls() {
    if !available_with_tls() {
        return;
    }
    let certificates = Certificates::new();
    let servers = tls_cluster(&certificates);
    let hosts: Vec<String> = servers.iter().map(|(_, port)| format!("127.0.0.1:{port}")).collect();
    let (address, authority) = (format!("rediss+cluster://{}", hosts[0]), certificates.authority());
    all_work(&address, Some(&authority));
    // All of them have some.
    let (dir, ids) = (Dir::new(), (0..300).map(|i| format!("id-{i}\n")).collect::<String>());
    let options = ["dedup", "-q", "--window", "1h", "--remote", &address, "--remote-timeout", "20s"];
    let passed = run(&dir, &options, Some(&authority), &ids).ok();
    assert_eq!(passed.text().lines().collect::<HashSet<_>>().len(), 300);
    for (server, _) in &servers {
        let keys: u64 = server.cli(&["DBSIZE"]).trim().parse().expect("a number");
        assert!(keys > 50, "{keys}");
    }
}

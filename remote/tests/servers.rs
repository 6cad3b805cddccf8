//! Real servers, on loopback, which end with the test that has started them.

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::Write,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// The server: `redis-server`, or the program that `WINDLASS_REDIS_SERVER` names, as `/usr/bin/valkey-server`.
fn program() -> OsString {
    std::env::var_os("WINDLASS_REDIS_SERVER").unwrap_or_else(|| "redis-server".into())
}

/// With the library that `WINDLASS_SERVER_PRELOAD` names: AddressSanitizer's, which a module wants that is built with it. (Servers keep what they have to their end.)
fn preloaded(command: &mut Command) -> &mut Command {
    match std::env::var_os("WINDLASS_SERVER_PRELOAD") {
        Some(library) => command.env("LD_PRELOAD", library).env("ASAN_OPTIONS", "detect_leaks=0"),
        None => command,
    }
}

/// Whether there is a server. If not, the tests that want one say so and pass; with `WINDLASS_REQUIRE_REDIS=1` they fail.
pub(crate) fn available() -> bool {
    let found = |program: &OsStr| {
        let status =
            Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    found(&program()) && found("redis-cli".as_ref()) || absent("redis-server or redis-cli")
}

fn absent(what: &str) -> bool {
    let required = std::env::var_os("WINDLASS_REQUIRE_REDIS").is_some_and(|value| value == "1");
    assert!(!required, "absent: {what}");
    skipped(what);
    false
}

/// Says that a test lacks something.
pub(crate) fn skipped(what: &str) {
    // Not println!: the test harness would keep that to itself.
    writeln!(std::io::stderr(), "SKIPPED: absent: {what}").expect("stderr is open");
}

/// Whether servers can do TLS as well, and there is an `openssl`; as above.
pub(crate) fn available_with_tls() -> bool {
    if !available() {
        return false;
    }
    // It ends at once, having nothing to listen to; or at this setting.
    let output = Command::new(program()).args(["--port", "0", "--tls-auth-clients", "no"]).output();
    let output = output.expect("the server runs");
    let says = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if says.contains("Bad directive") {
        return absent("TLS in the server");
    }
    Command::new("openssl").arg("version").output().is_ok() || absent("openssl")
}

/// A certificate for 127.0.0.1, and the one of who has signed it.
pub(crate) struct Certificates(Folder);

impl Certificates {
    pub(crate) fn new() -> Certificates {
        let certificates = Certificates(Folder::new());
        let folder = &certificates.0.0;
        fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1\n").expect("writable");
        for words in [
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=authority \
             -keyout ca.key -out ca.pem",
            "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=server -keyout server.key \
             -out server.csr",
            "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem",
        ] {
            let output = Command::new("openssl").args(words.split_whitespace()).current_dir(folder).output();
            let output = output.expect("openssl runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        certificates
    }

    fn path(&self, name: &str) -> String {
        self.0.0.join(name).to_string_lossy().into_owned()
    }

    /// Whom clients have to trust.
    pub(crate) fn authority(&self) -> String {
        self.path("ca.pem")
    }

    /// A server with these settings and a port for TLS beside its own.
    pub(crate) fn server(&self, settings: &[&str]) -> (Server, u16) {
        for _ in 0..10 {
            let port = free_port();
            let [own, key, authority] = ["server.pem", "server.key", "ca.pem"].map(|name| self.path(name));
            let tls = port.to_string();
            let tls = ["--tls-port", &tls, "--tls-cert-file", &own, "--tls-key-file", &key];
            let trust = ["--tls-ca-cert-file", &authority, "--tls-auth-clients", "no"];
            // (Another may have taken the port in between.)
            if let Some(server) = Server::try_start(None, &[settings, &tls, &trust].concat()) {
                return (server, port);
            }
        }
        panic!("no server with TLS starts with {settings:?}");
    }
}

/// Asks until it is so, for 30 s.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "not within 30 s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// .. without keeping other tasks waiting.
pub(crate) async fn until_async<F: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> F) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < Duration::from_secs(30), "not within 30 s: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A folder that goes with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("windlass-remote-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// A port that nobody listens on at this moment.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// A `redis-server`. It keeps nothing on disk.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    password: Option<String>,
    folder: Folder,
}

impl Server {
    /// With these settings beside the port, as on its command line.
    pub(crate) fn start(settings: &[&str]) -> Server {
        Self::start_at(None, settings)
    }

    /// At a port where another one was.
    pub(crate) fn start_at(port: Option<u16>, settings: &[&str]) -> Server {
        let mut servers = (0..10).filter_map(|_| Self::try_start(port, settings));
        servers.next().unwrap_or_else(|| panic!("no server starts with {settings:?}"))
    }

    /// `None`: a port was taken.
    fn try_start(port: Option<u16>, settings: &[&str]) -> Option<Server> {
        let port = port.unwrap_or_else(free_port);
        let mut arguments: Vec<String> =
            ["--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"]
                .map(str::to_owned)
                .to_vec();
        arguments.extend(settings.iter().map(|&word| word.to_owned()));
        if settings.contains(&"--cluster-enabled") {
            arguments.extend(["--cluster-port".into(), free_port().to_string()]);
        }
        Self::spawn(port, &arguments, settings)
    }

    fn spawn(port: u16, arguments: &[String], settings: &[&str]) -> Option<Server> {
        let folder = Folder::new();
        let log = fs::File::create(folder.0.join("log")).expect("a file");
        let child = preloaded(&mut Command::new(program()))
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--dir"])
            .arg(&folder.0)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let at = |name: &str| settings.iter().position(|&word| word == name);
        let password = at("--requirepass").map(|at| settings[at + 1].to_owned());
        let mut server = Server { child, port, password, folder };
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(10) {
            if server.child.try_wait().expect("a child").is_some() {
                return None; // the port was taken
            }
            let answer = server.cli(&["PING"]);
            if answer.contains("PONG") || answer.contains("MASTERDOWN") || answer.contains("NOPERM") {
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    /// What redis-cli prints.
    pub(crate) fn cli(&self, words: &[&str]) -> String {
        let mut command = Command::new("redis-cli");
        command.args(["-p", &self.port.to_string()]);
        if let Some(password) = &self.password {
            command.args(["--no-auth-warning", "-a", password]);
        }
        let output = command.args(words).stdin(Stdio::null()).output().expect("redis-cli runs");
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    }

    /// A figure of a section of INFO; `None`: it says none.
    pub(crate) fn figure(&self, section: &str, field: &str) -> Option<u64> {
        let info = self.cli(&["INFO", section]);
        info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')?.trim().parse().ok())
    }

    pub(crate) fn at(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn address(&self) -> String {
        format!("redis://{}", self.at())
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(status.expect("kill runs").success(), "kill {name}");
    }

    /// It answers nothing, and keeps its connections.
    pub(crate) fn stall(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn go_on(&self) {
        self.signal("-CONT");
    }

    /// SIGKILL. What it had is gone.
    pub(crate) fn kill(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Another server in its place, at the same port.
    pub(crate) fn restart(&mut self, settings: &[&str]) {
        self.kill();
        *self = Self::start_at(Some(self.port), settings);
    }

    /// A replica of it, once it has all that it has.
    pub(crate) fn replica(&self, settings: &[&str]) -> Server {
        let replica = Server::start(settings);
        replica.cli(&["REPLICAOF", "127.0.0.1", &self.port.to_string()]);
        until("the replica follows", || {
            replica.cli(&["INFO", "replication"]).contains("master_link_status:up")
                && self.cli(&["INFO", "replication"]).contains("state=online")
        });
        replica
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Three primaries without replicas that talk by TLS, to each other and to clients: with their ports.
pub(crate) fn tls_cluster(certificates: &Certificates) -> Vec<(Server, u16)> {
    let settings = ["--cluster-enabled", "yes", "--tls-cluster", "yes"];
    let servers: Vec<(Server, u16)> = (0..3).map(|_| certificates.server(&settings)).collect();
    let mut command = Command::new("redis-cli");
    command.args(["--tls", "--cacert", &certificates.authority(), "--cluster", "create"]);
    command.args(servers.iter().map(|(_, port)| format!("127.0.0.1:{port}")));
    let output = command.arg("--cluster-yes").stdin(Stdio::null()).output().expect("redis-cli runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    until("the cluster is whole", || {
        servers.iter().all(|(server, _)| server.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok"))
    });
    servers
}

/// Three primaries and a replica of each.
pub(crate) struct Cluster {
    pub(crate) servers: Vec<Server>,
}

impl Cluster {
    pub(crate) fn start(node_timeout: Duration) -> Cluster {
        Self::start_with(node_timeout, &[])
    }

    pub(crate) fn start_with(node_timeout: Duration, settings: &[&str]) -> Cluster {
        let timeout = node_timeout.as_millis().to_string();
        let mut all = vec![
            "--cluster-enabled",
            "yes",
            "--cluster-node-timeout",
            &timeout,
            "--cluster-replica-validity-factor",
            "0",
        ];
        all.extend(settings);
        let servers: Vec<Server> = (0..6).map(|_| Server::start(&all)).collect();
        let mut command = Command::new("redis-cli");
        command.args(["--cluster", "create"]).args(servers.iter().map(Server::at));
        command.args(["--cluster-replicas", "1", "--cluster-yes"]).stdin(Stdio::null());
        let output = command.output().expect("redis-cli runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        let cluster = Cluster { servers };
        cluster.until_whole();
        cluster
    }

    /// Until all say that all slots are served, and every primary has a replica.
    pub(crate) fn until_whole(&self) {
        until("the cluster is whole", || {
            let nodes = self.servers[0].cli(&["CLUSTER", "NODES"]);
            self.servers.iter().all(|server| server.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok"))
                && nodes.matches(" slave ").count() + nodes.matches(",slave ").count() == 3
                && self
                    .servers
                    .iter()
                    .filter(|server| server.cli(&["INFO", "replication"]).contains("state=online"))
                    .count()
                    == 3
        });
    }

    pub(crate) fn address(&self) -> String {
        let hosts: Vec<String> = self.servers.iter().map(Server::at).collect();
        format!("redis+cluster://{}", hosts.join(","))
    }

    /// The server that serves a slot, by its place among them.
    pub(crate) fn primary_of(&self, slot: u16) -> usize {
        let key = self.servers.iter().position(|server| {
            let nodes = server.cli(&["CLUSTER", "NODES"]);
            let Some(own) = nodes.lines().find(|line| line.contains("myself")) else { return false };
            own.contains("master")
                && own.split_whitespace().skip(8).any(|range| {
                    let (first, last) = range.split_once('-').unwrap_or((range, range));
                    matches!((first.parse::<u16>(), last.parse::<u16>()), (Ok(first), Ok(last)) if (first..=last).contains(&slot))
                })
        });
        key.expect("somebody serves it")
    }

    /// The replica of the server at `primary`.
    pub(crate) fn replica_of(&self, primary: usize) -> usize {
        let port = format!("master_port:{}\r", self.servers[primary].port);
        let replica = self.servers.iter().position(|server| {
            let info = server.cli(&["INFO", "replication"]);
            info.contains("role:slave") && (info.contains(&port) || info.contains(port.trim()))
        });
        replica.expect("it has one")
    }
}

impl Cluster {
    /// So many slots, with what is in them, from one of these servers to another. What it gives does it, and takes its time.
    pub(crate) fn reshard(&self, from: usize, to: usize, slots: u16) -> impl FnOnce() + Send + 'static {
        let id = |at: usize| self.servers[at].cli(&["CLUSTER", "MYID"]).trim().to_owned();
        let mut command = Command::new("redis-cli");
        command.args(["--cluster", "reshard", &self.servers[0].at(), "--cluster-from", &id(from)]);
        command.args(["--cluster-to", &id(to), "--cluster-slots", &slots.to_string(), "--cluster-yes"]);
        command.stdin(Stdio::null());
        move || {
            let output = command.output().expect("redis-cli runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
    }

    /// Servers that are primaries now, by their places.
    pub(crate) fn primaries(&self) -> Vec<usize> {
        let role = |at: &usize| self.servers[*at].cli(&["INFO", "replication"]).contains("role:master");
        (0..self.servers.len()).filter(role).collect()
    }
}

/// A primary, a replica and three sentinels that look after them, under the name `main`.
pub(crate) struct Sentinels {
    pub(crate) primary: Server,
    pub(crate) replica: Server,
    sentinels: Vec<Sentinel>,
}

struct Sentinel {
    child: Child,
    port: u16,
    #[expect(dead_code, reason = "goes with it")]
    folder: Folder,
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Sentinels {
    pub(crate) fn start(down_after: Duration) -> Sentinels {
        let primary = Server::start(&[]);
        let replica = primary.replica(&[]);
        let sentinels: Vec<Sentinel> = (0..3).map(|_| Self::sentinel(primary.port, down_after)).collect();
        let cli = |port: u16, words: &[&str]| {
            let output = Command::new("redis-cli").args(["-p", &port.to_string()]).args(words).output();
            String::from_utf8_lossy(&output.expect("redis-cli runs").stdout).into_owned()
        };
        until("the sentinels know each other", || {
            sentinels.iter().all(|sentinel| {
                let known = cli(sentinel.port, &["SENTINEL", "SENTINELS", "main"]);
                let replicas = cli(sentinel.port, &["SENTINEL", "REPLICAS", "main"]);
                known.matches("runid").count() == 2 && replicas.contains(&replica.port.to_string())
            })
        });
        Sentinels { primary, replica, sentinels }
    }

    fn sentinel(primary: u16, down_after: Duration) -> Sentinel {
        let (folder, port) = (Folder::new(), free_port());
        let settings = format!(
            "port {port}\nbind 127.0.0.1\nsentinel monitor main 127.0.0.1 {primary} 2\n\
             sentinel down-after-milliseconds main {}\nsentinel failover-timeout main 5000\n",
            down_after.as_millis()
        );
        let path = folder.0.join("sentinel.conf");
        fs::write(&path, settings).expect("writable");
        let log = fs::File::create(folder.0.join("log")).expect("a file");
        let child =
            Command::new(program()).arg(&path).arg("--sentinel").stdin(Stdio::null()).stdout(log).spawn();
        Sentinel { child: child.expect("the server starts"), port, folder }
    }

    pub(crate) fn address(&self) -> String {
        let hosts: Vec<String> =
            self.sentinels.iter().map(|sentinel| format!("127.0.0.1:{}", sentinel.port)).collect();
        format!("redis+sentinel://{}/main", hosts.join(","))
    }
}

impl Server {
    /// What it wrote, for a test that fails.
    #[allow(dead_code, reason = "for whoever looks for a fault")]
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(Path::new(&self.folder.0).join("log")).unwrap_or_default()
    }
}

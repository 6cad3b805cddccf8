//! Slots that move, and primaries that die, while processes hammer the limits. Minutes: `./check full`.

use crate::servers::{Cluster, available, until};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};
use windlass_remote::{Admission, Algorithm, DecidedBy, Quota, Remote, RemoteLimiter};

/// So long that no test sees its end, nor anything given back.
const LONG: Duration = Duration::from_secs(365 * 86_400);

/// Of each client.
const LIMIT: u64 = 20;

const ALGORITHMS: [Algorithm; 4] =
    [Algorithm::Gcra, Algorithm::FixedWindow, Algorithm::SlidingCounter, Algorithm::SlidingLog];

const CLIENTS: usize = 120;

fn client(phase: usize, number: usize) -> String {
    format!("client-{phase}-{number}")
}

/// What processes do until they are told to stop: all clients of the phases so far, over and over.
struct Hammer {
    go_on: AtomicBool,
    /// The last phase.
    phase: AtomicUsize,
    /// Rounds of each process, over all clients and algorithms, in which none was admitted and none failed.
    idle: [AtomicU64; 3],
}

/// How often each client was admitted, by its algorithm.
type Admitted = HashMap<(usize, String), u64>;

impl Hammer {
    fn new() -> Arc<Hammer> {
        Arc::new(Hammer {
            go_on: AtomicBool::new(true),
            phase: AtomicUsize::new(0),
            idle: Default::default(),
        })
    }

    /// Three processes, of which one remembers who was denied.
    async fn start(
        self: &Arc<Hammer>,
        address: &str,
        timeout: Duration,
    ) -> Vec<tokio::task::JoinHandle<(Admitted, Vec<String>, Duration)>> {
        let mut tasks = Vec::new();
        for process in 0..3 {
            let builder = Remote::builder(address).timeout(timeout).retry_after(Duration::from_millis(200));
            let remote = builder.connect().await.expect("it is there");
            let limiters: Vec<RemoteLimiter> = (0..)
                .zip(ALGORITHMS)
                .map(|(i, algorithm): (usize, _)| {
                    let builder = RemoteLimiter::builder(&remote, &format!("a{i}"), Quota::new(LIMIT, LONG));
                    let denied = if process == 0 { 65_536 } else { 0 };
                    builder.algorithm(algorithm).denied(denied).build().expect("valid")
                })
                .collect();
            tasks.push(tokio::spawn(Arc::clone(self).run(process, limiters)));
        }
        tasks
    }

    async fn run(
        self: Arc<Hammer>,
        process: usize,
        limiters: Vec<RemoteLimiter>,
    ) -> (Admitted, Vec<String>, Duration) {
        let (mut admitted, mut failed, mut longest) = (Admitted::new(), Vec::new(), Duration::ZERO);
        // Until when the engine has said that a client is denied, at the latest.
        let mut denied: HashMap<(usize, String), Instant> = HashMap::new();
        while self.go_on.load(SeqCst) {
            let (phase, mut is_idle) = (self.phase.load(SeqCst), true);
            for phase in 0..=phase {
                for (i, limiter) in limiters.iter().enumerate() {
                    let calls: Vec<(String, u64)> = (0..CLIENTS).map(|n| (client(phase, n), 1)).collect();
                    let begun = Instant::now();
                    let answers = limiter.check_batch(&calls).await;
                    longest = longest.max(begun.elapsed());
                    for ((client, _), answer) in calls.into_iter().zip(answers) {
                        let who = (i, client);
                        match answer {
                            Ok(decision) => match decision.admission {
                                Admission::Allowed { .. } => {
                                    is_idle = false;
                                    *admitted.entry(who).or_default() += 1;
                                }
                                Admission::Denied { retry_after } if decision.by == DecidedBy::Here => {
                                    let until = denied.get(&who).expect("the engine has denied it before");
                                    assert!(begun + retry_after <= *until, "{who:?}: longer than it said");
                                }
                                Admission::Denied { retry_after } => {
                                    denied.insert(who, Instant::now() + retry_after);
                                }
                                Admission::Never => panic!("it could be had"),
                            },
                            Err(error) => {
                                assert!(error.kind().is_outage(), "{error}");
                                is_idle = false;
                                failed.push(error.to_string());
                            }
                        }
                    }
                }
            }
            if is_idle && phase == self.phase.load(SeqCst) {
                self.idle[process].fetch_add(1, SeqCst);
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        (admitted, failed, longest)
    }

    /// Until all of them have gone round once more and got nothing.
    async fn until_all_is_had(&self, what: &str) {
        let before = self.rounds();
        crate::servers::until_async(what, || async {
            self.rounds().iter().zip(before).all(|(now, before)| *now >= before + 2)
        })
        .await;
    }

    fn rounds(&self) -> [u64; 3] {
        [0, 1, 2].map(|process| self.idle[process].load(SeqCst))
    }
}

/// All that was admitted, all failures, and the longest call.
async fn ended(
    hammer: &Hammer,
    tasks: Vec<tokio::task::JoinHandle<(Admitted, Vec<String>, Duration)>>,
) -> (Admitted, Vec<String>, Duration) {
    hammer.go_on.store(false, SeqCst);
    let (mut all, mut failed, mut longest) = (Admitted::new(), Vec::new(), Duration::ZERO);
    for task in tasks {
        let (admitted, own, slowest) = task.await.expect("no task fails");
        for (who, times) in admitted {
            *all.entry(who).or_default() += times;
        }
        failed.extend(own);
        longest = longest.max(slowest);
    }
    (all, failed, longest)
}

/// Slots move while all charge the same clients: each gets its limit, no more and no less, and nothing fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: ./check full"]
async fn slots_move_under_load() {
    if !available() {
        return;
    }
    let cluster = Cluster::start(Duration::from_secs(5));
    let hammer = Hammer::new();
    let tasks = hammer.start(&cluster.address(), Duration::from_secs(20)).await;
    for step in 1..=2 {
        let [from, to] = [0, 8192].map(|slot| cluster.primary_of((slot + 5000 * step) % 16384));
        assert_ne!(from, to);
        // New clients, while it moves.
        hammer.phase.fetch_add(1, SeqCst);
        tokio::task::spawn_blocking(cluster.reshard(from, to, 1500)).await.expect("it moves");
        hammer.phase.fetch_add(1, SeqCst);
        hammer.until_all_is_had("all of a phase").await;
    }
    let (admitted, failed, longest) = ended(&hammer, tasks).await;
    println!("slots moved under limits: {} clients, longest call {longest:?}", admitted.len());
    assert_eq!(failed, [""; 0]);
    assert_eq!(admitted.len(), 5 * CLIENTS * ALGORITHMS.len());
    for (who, times) in admitted {
        assert_eq!(times, LIMIT, "{who:?}");
    }
}

/// A primary dies under load. Its replica was in step, or had got nothing for a while: how many were admitted beyond the limit.
async fn killed(stalled: bool) -> u64 {
    let settings = ["--cluster-require-full-coverage", "no"];
    let mut cluster = Cluster::start_with(Duration::from_secs(1), &settings);
    let hammer = Hammer::new();
    let timeout = Duration::from_secs(2);
    let tasks = hammer.start(&cluster.address(), timeout).await;
    hammer.until_all_is_had("what all had before").await;
    let primary = cluster.primary_of(0);
    let replica = cluster.replica_of(primary);
    let own: Vec<(u16, u16)> = slots(&cluster, primary);
    if stalled {
        // What is charged from now on it never gets, not even out of the sockets' buffers.
        cluster.servers[replica].stall();
        cluster.servers[primary].cli(&["CLIENT", "KILL", "TYPE", "replica"]);
    }
    hammer.phase.store(1, SeqCst);
    hammer.until_all_is_had("what came while the replica had nothing").await;
    cluster.servers[primary].kill();
    if stalled {
        cluster.servers[replica].go_on();
    }
    hammer.phase.store(2, SeqCst);
    until("it takes over", || cluster.servers[replica].cli(&["INFO", "replication"]).contains("role:master"));
    hammer.until_all_is_had("what there is afterwards").await;
    let (admitted, failed, longest) = ended(&hammer, tasks).await;
    let (mut beyond, mut short) = (0, 0);
    for ((algorithm, client), times) in &admitted {
        let key = format!("wl:{}:a{algorithm}:{client}", ["lt", "lf", "ls", "lg"][*algorithm]);
        let slot: u16 =
            cluster.servers[replica].cli(&["CLUSTER", "KEYSLOT", &key]).trim().parse().expect("a slot");
        let lost = own.iter().any(|(first, last)| (*first..=*last).contains(&slot));
        // What was charged before it died, and never came: on both sides.
        let most = if lost && client.starts_with("client-1-") { 2 * LIMIT } else { LIMIT };
        assert!(*times <= most, "{key}: {times}");
        beyond += times.saturating_sub(LIMIT);
        short += LIMIT.saturating_sub(*times);
    }
    println!(
        "limits, a primary killed, stalled: {stalled}: {beyond} beyond the limits, {short} less, of {}; {} calls failed, the longest took {longest:?}",
        admitted.values().sum::<u64>(),
        failed.len()
    );
    assert!(longest < timeout * 2, "{longest:?}");
    assert_eq!(admitted.len(), 3 * CLIENTS * ALGORITHMS.len());
    beyond
}

/// The slots of a server.
fn slots(cluster: &Cluster, server: usize) -> Vec<(u16, u16)> {
    let nodes = cluster.servers[server].cli(&["CLUSTER", "NODES"]);
    let own = nodes.lines().find(|line| line.contains("myself")).expect("it knows itself");
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some((first.parse().ok()?, last.parse().ok()?))
    };
    own.split_whitespace().skip(8).filter_map(range).collect()
}

/// No client gets more than its limit once more, and that only of what its primary had not sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: ./check full"]
async fn a_primary_is_killed() {
    if !available() {
        return;
    }
    let beyond = killed(false).await;
    // What was on its way when it died.
    assert!(beyond < 3 * LIMIT * CLIENTS as u64 / 10, "{beyond}");
    let beyond = killed(true).await;
    assert!(beyond > 0, "what the replica never got is had again: else this test tests nothing");
}

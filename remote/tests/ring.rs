//! `RemoteRing`: members that do not know of each other.

use crate::servers::{Server, available, until};
use std::time::Duration;
use windlass_remote::{
    Admission, Algorithm, Down, ErrorKind, Handover, Member, Observed, Quota, Remote, RemoteDedup,
    RemoteLimiter, RemoteLimiterRing, RemoteRing,
};

/// Longer than any of these tests takes.
const LONG: Duration = Duration::from_secs(3600);
const ASK: Handover = Handover::Ask { within: Duration::from_secs(60) };
const NAMES: [&str; 3] = ["a", "b", "c"];

/// Connections of one process to these servers, with a deadline.
async fn members(servers: &[Server], timeout: Duration) -> Vec<Member> {
    let mut members = Vec::new();
    for (server, name) in servers.iter().zip(NAMES) {
        let remote =
            Remote::builder(&server.address()).timeout(timeout).connect().await.expect("it is there");
        members.push(Member::new(name, &remote));
    }
    members
}

fn ring(members: &[Member], down: Down, known: usize) -> RemoteRing {
    let settings = move |remote: &Remote| RemoteDedup::builder(remote, "test", LONG).down(down).known(known);
    RemoteRing::new(members.to_vec(), settings).expect("valid")
}

const IDS: usize = 6000;

/// Two processes, of two tasks each, are offered the same ids in different orders; a third member comes, to one process earlier than to the other. How many
/// ids were admitted more than once, and how many never.
async fn grown(handover: Handover) -> (usize, usize) {
    let servers = [(); 3].map(|()| Server::start(&[]));
    let mut tasks = Vec::new();
    for process in 0..2 {
        let all = members(&servers, Duration::from_secs(20)).await;
        let ring = ring(&all[..2], Down::Deny, process * 1000);
        for task in 0..2 {
            let (ring, all) = (ring.clone(), all.clone());
            tasks.push(tokio::spawn(async move {
                let (mut fresh, begin) = (Vec::new(), (process * 2 + task) * IDS / 4);
                for round in 0..IDS / 50 {
                    if task == 0 && round == 30 + process * 40 {
                        ring.change(all.clone(), handover).expect("none is under way");
                    }
                    // 7 and the number of ids have no common divisor: each comes once.
                    let numbers: Vec<usize> = (0..50).map(|i| (begin + (round * 50 + i) * 7) % IDS).collect();
                    let ids: Vec<String> = numbers.iter().map(|number| format!("id-{number}")).collect();
                    let answers = ring.observe_batch(&ids).await;
                    for (number, answer) in numbers.into_iter().zip(answers) {
                        fresh.extend(answer.expect("an answer").is_fresh().then_some(number));
                    }
                }
                fresh
            }));
        }
    }
    let mut times = vec![0; IDS];
    for task in tasks {
        for number in task.await.expect("no panic") {
            times[number] += 1;
        }
    }
    let third = servers[2].cli(&["DBSIZE"]);
    assert!(third.trim().parse::<usize>().is_ok_and(|keys| keys > IDS / 10), "it has its share: {third}");
    let count = |is: fn(u32) -> bool| times.iter().filter(|&&times| is(times)).count();
    (count(|times| times > 1), count(|times| times == 0))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_comes_under_load() {
    if available() {
        assert_eq!(grown(ASK).await, (0, 0), "each once");
    }
}

/// The test above would notice if nobody asked the owner before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_asking_the_owner_before_ids_are_admitted_twice() {
    if available() {
        let (twice, never) = grown(Handover::Lost).await;
        assert!(twice > 0 && never == 0, "{twice} twice, {never} never");
    }
}

#[tokio::test]
async fn one_that_is_killed_touches_its_ids_only() {
    if !available() {
        return;
    }
    let mut servers = [(); 3].map(|()| Server::start(&[]));
    let all = members(&servers, Duration::from_secs(2)).await;
    let (deny, allow) = (ring(&all, Down::Deny, 0), ring(&all, Down::Allow, 0));
    let ids: Vec<String> = (0..300).map(|i| format!("id-{i}")).collect();
    for answer in deny.observe_batch(&ids[..150]).await {
        assert!(answer.expect("an answer").is_fresh());
    }
    servers[1].kill();
    let its = |id: &str| deny.member_of(id) == "b";
    assert!((30..170).contains(&ids.iter().filter(|id| its(id)).count()), "a share");
    for ((i, id), answer) in ids.iter().enumerate().zip(deny.observe_batch(&ids).await) {
        match answer {
            Ok(observed) => {
                assert!(!its(id), "{id}");
                assert_eq!(observed.is_fresh(), i >= 150, "{id}: as if nothing had happened");
            }
            Err(error) => {
                assert!(its(id), "{id}: {error}");
                assert!(error.kind().is_outage() && error.node() == Some(&*servers[1].at()), "{error}");
            }
        }
    }
    for (id, answer) in ids.iter().zip(allow.observe_batch(&ids).await) {
        let alone = matches!(answer, Ok(Observed::Alone(verdict)) if verdict.is_fresh());
        assert_eq!(alone, its(id), "{id}: {answer:?}");
        assert!(its(id) || answer.is_ok_and(|observed| !observed.is_fresh()), "{id}");
    }
}

#[tokio::test]
async fn what_has_moved_lives_as_long_as_before() {
    if !available() {
        return;
    }
    let mut servers = [(); 3].map(|()| Server::start(&[]));
    let all = members(&servers, Duration::from_secs(2)).await;
    let ring = ring(&all[..2], Down::Deny, 0);
    let ids: Vec<String> = (0..100).map(|i| format!("id-{i}")).collect();
    let before: Vec<String> = ids.iter().map(|id| ring.member_of(id)).collect();
    assert!(
        ring.observe_batch(&ids[..50]).await.into_iter().all(|answer| answer.is_ok_and(Observed::is_fresh))
    );
    assert_eq!(ring.changing(), None);
    ring.change(all.clone(), ASK).expect("none is under way");
    assert!(ring.changing().is_some_and(|left| left > LONG));
    let error = ring.change(all.clone(), ASK).expect_err("one is under way");
    assert_eq!(error.kind(), ErrorKind::Config);
    let moved: Vec<usize> = (0..100).filter(|&i| ring.member_of(&ids[i]) == "c").collect();
    let (old, new): (Vec<usize>, Vec<usize>) = moved.iter().partition(|&&i| i < 50);
    let server = |name: &str| NAMES.iter().position(|&one| one == name).expect("a name");
    let key = |i: usize| format!("wl:d:test:{}", ids[i]);
    // Of this one a third of a minute is left.
    let i = old[0];
    servers[server(&before[i])].cli(&["PEXPIRE", &key(i), "20000"]);
    assert!(ring.observe(&ids[i]).await.is_ok_and(|observed| !observed.is_fresh()));
    let left: i64 = servers[2].cli(&["PTTL", &key(i)]).trim().parse().expect("a number");
    assert!((-2..=20_000).contains(&left) && left != -1, "{left}: not a window anew");
    // New ones are in both.
    let i = new[0];
    assert!(ring.observe(&ids[i]).await.is_ok_and(Observed::is_fresh));
    for at in [2, server(&before[i])] {
        assert_eq!(servers[at].cli(&["EXISTS", &key(i)]).trim(), "1");
    }
    // The owner before is lost: an error, also for the repeat, and the new one does not keep what nobody was told is fresh.
    let lost = *new[1..].iter().find(|&&i| before[i] == "a").expect("some were its");
    let other = *new[1..].iter().find(|&&i| before[i] == "b").expect("some were the other's");
    servers[0].kill();
    let answers = ring.observe_batch(&[&ids[lost], &ids[other], &ids[lost]]).await;
    for answer in [&answers[0], &answers[2]] {
        let error = answer.as_ref().expect_err("it cannot be told");
        assert_eq!(error.node(), Some(&*servers[0].at()), "{error}");
    }
    assert!(answers[1].as_ref().is_ok_and(|observed| observed.is_fresh()));
    until("it is taken back", || servers[2].cli(&["EXISTS", &key(lost)]).trim() == "0");
}

/// What this process was told is fresh needs no question, whoever has it now; what it was not told may be asked again.
#[tokio::test]
async fn known_duplicates_need_no_question() {
    if !available() {
        return;
    }
    let mut servers = [(); 3].map(|()| Server::start(&[]));
    let all = members(&servers, Duration::from_secs(2)).await;
    let (ring, other) = (ring(&all[..2], Down::Deny, 1000), ring(&all[..2], Down::Deny, 1000));
    let ids: Vec<String> = (0..100).map(|i| format!("id-{i}")).collect();
    let fresh = async |ring: &RemoteRing, ids: &[String]| {
        let answers = ring.observe_batch(ids).await;
        answers.into_iter().filter(|answer| answer.as_ref().expect("an answer").is_fresh()).count()
    };
    assert_eq!(fresh(&ring, &ids[..50]).await, 50);
    assert_eq!(fresh(&ring, &ids[..50]).await, 0);
    // Of ids that another process has admitted it knows nothing.
    assert_eq!((fresh(&other, &ids[..50]).await, fresh(&other, &ids[..50]).await), (0, 0));
    let figures = |ring: &RemoteRing| {
        let stats = ring.stats();
        let sum = |figure: fn(&windlass_remote::RemoteDedupStats) -> u64| {
            stats.members.iter().map(|(_, stats)| figure(stats)).sum::<u64>()
        };
        (stats.known, sum(|stats| stats.fresh), sum(|stats| stats.duplicates))
    };
    assert_eq!((figures(&ring), figures(&other)), ((50, 50, 0), (0, 0, 100)));
    let names: Vec<String> = ring.stats().members.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b"]);
    // An owner before that cannot be asked: nobody was told that it is fresh, so it is not known.
    let before: Vec<String> = ids.iter().map(|id| ring.member_of(id)).collect();
    ring.change(all.clone(), ASK).expect("none is under way");
    let lost = (50..100).find(|&i| before[i] == "a" && ring.member_of(&ids[i]) == "c").expect("there is one");
    servers[0].kill();
    assert!(ring.observe(&ids[lost]).await.is_err());
    assert!(ring.observe(&ids[lost]).await.is_err(), "no duplicate of itself");
    // What is known stays a duplicate, also of those that have moved, and of those whose owner is gone.
    assert_eq!(fresh(&ring, &ids[..50]).await, 0);
}

/// So many of each client.
const LIMIT: u64 = 10;

fn limits(members: &[Member]) -> RemoteLimiterRing {
    let settings = |remote: &Remote| {
        let builder = RemoteLimiter::builder(remote, "test", Quota::new(LIMIT, LONG * 5000));
        builder.algorithm(Algorithm::FixedWindow)
    };
    RemoteLimiterRing::new(members.to_vec(), settings).expect("valid")
}

/// Two processes, of which one goes over to a third member earlier than the other: who stays has its limit, who moves at most that twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_while_a_member_comes() {
    const CLIENTS: usize = 300;
    if !available() {
        return;
    }
    let servers = [(); 3].map(|()| Server::start(&[]));
    let (mut tasks, mut owners) = (Vec::new(), Vec::new());
    for process in 0..2 {
        let all = members(&servers, Duration::from_secs(20)).await;
        let ring = limits(&all[..2]);
        owners.push((limits(&all[..2]), limits(&all)));
        tasks.push(tokio::spawn(async move {
            let mut allowed = vec![0; CLIENTS];
            for round in 0..3 * LIMIT {
                if round == LIMIT + process * 5 {
                    ring.change(all.clone()).expect("valid");
                }
                let calls: Vec<(String, u64)> =
                    (0..CLIENTS).map(|client| (format!("c{client}"), 1)).collect();
                for (client, answer) in ring.check_batch(&calls).await.into_iter().enumerate() {
                    allowed[client] += u64::from(answer.expect("an answer").is_allowed());
                }
            }
            let sum: u64 = ring.stats().iter().map(|(_, stats)| stats.allowed).sum();
            assert_eq!(sum, allowed.iter().sum::<u64>());
            allowed
        }));
    }
    let mut allowed = vec![0; CLIENTS];
    for task in tasks {
        let own = task.await.expect("no panic");
        allowed.iter_mut().zip(own).for_each(|(all, own)| *all += own);
    }
    let (mut moved, mut more) = (0, 0);
    for (client, allowed) in allowed.into_iter().enumerate() {
        let name = format!("c{client}");
        let (before, now) = (owners[0].0.member_of(&name), owners[0].1.member_of(&name));
        assert_eq!(
            (owners[1].0.member_of(&name), owners[1].1.member_of(&name)),
            (before.clone(), now.clone())
        );
        if before == now {
            assert_eq!(allowed, LIMIT, "{name}");
        } else {
            assert!((LIMIT..=2 * LIMIT).contains(&allowed), "{name}: {allowed}");
            (moved, more) = (moved + 1, more + allowed - LIMIT);
        }
    }
    assert!((50..150).contains(&moved) && more > 0, "{moved} moved, {more} more");
}

#[tokio::test]
async fn limits_of_one_that_is_killed() {
    if !available() {
        return;
    }
    let mut servers = [(); 3].map(|()| Server::start(&[]));
    let all = members(&servers, Duration::from_secs(2)).await;
    let ring = limits(&all);
    let names: Vec<String> = (0..60).map(|i| format!("c{i}")).collect();
    for name in &names {
        assert!(ring.check(name, LIMIT - 1).await.expect("an answer").is_allowed());
    }
    assert!(ring.forget(&names[0]).await.expect("an answer"));
    let peek = ring.peek(&names[0], LIMIT).await.expect("an answer");
    assert!(matches!(peek, Admission::Allowed { remaining: 0, .. }), "{peek:?}");
    ring.flush().await.expect("nothing is to be told");
    servers[1].kill();
    let calls: Vec<(&String, u64)> = names[1..].iter().map(|name| (name, 2)).collect();
    for ((name, _), answer) in calls.iter().zip(ring.check_batch(&calls).await) {
        match answer {
            Ok(decision) => assert!(ring.member_of(name) != "b" && !decision.is_allowed(), "{name}"),
            Err(error) => {
                assert!(ring.member_of(name) == "b" && error.kind().is_outage(), "{name}: {error}");
                assert_eq!(error.node(), Some(&*servers[1].at()));
            }
        }
    }
    let wrong = RemoteLimiterRing::new(vec![], |remote: &Remote| {
        RemoteLimiter::builder(remote, "test", Quota::new(1, LONG))
    });
    assert_eq!(wrong.expect_err("refused").kind(), ErrorKind::Config);
}

#[tokio::test]
async fn settings() {
    if !available() {
        return;
    }
    let servers = [Server::start(&[])];
    let all = members(&servers, Duration::from_secs(20)).await;
    let settings = |remote: &Remote| RemoteDedup::builder(remote, "test", LONG);
    let wrong = |members: Vec<Member>, says: &str| {
        let error = RemoteRing::new(members, settings).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains(says), "{error}");
    };
    wrong(vec![], "one at least");
    wrong(vec![all[0].clone(), all[0].clone()], "name");
    wrong(vec![all[0].clone().weight(0)], "weight");
}

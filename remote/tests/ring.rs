//! `RemoteRing`: members that do not know of each other.

use crate::servers::{Server, available, until};
use std::time::Duration;
use windlass_remote::{Down, ErrorKind, Handover, Member, Observed, Remote, RemoteDedup, RemoteRing};

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

fn ring(members: &[Member], down: Down) -> RemoteRing {
    let settings = move |remote: &Remote| RemoteDedup::builder(remote, "test", LONG).down(down);
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
        let ring = ring(&all[..2], Down::Deny);
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
    let (deny, allow) = (ring(&all, Down::Deny), ring(&all, Down::Allow));
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
    let ring = ring(&all[..2], Down::Deny);
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

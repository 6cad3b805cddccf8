//! The way of a call: to the node that answers for its key, and again where it has to go elsewhere.
//!
//! Calls go out in rounds. A round groups them by node and sends each group as one pipeline; what the answers redirect (MOVED, ASK), what a server
//! cannot take at present (CLUSTERDOWN, LOADING, READONLY, TRYAGAIN), a script that it has not seen (NOSCRIPT) and what surely did not arrive goes
//! into the next one, command by command: what was carried out is not sent again with what was not. What may have been carried out is sent again only
//! if the call says that this does no harm. All ends at the deadline.

pub(crate) mod call;
mod circuit;
mod node;
mod slots;
mod topology;

pub(crate) use crate::wire::{Command, Span, Value};
use crate::{
    address::Address,
    deadline::Deadline,
    error::{ErrorKind, RemoteError},
    figure::Figure,
    key::Key,
    probe::{Capabilities, Eviction},
    wire::ServerError,
};
pub(crate) use call::{Call, Reply};
use circuit::Circuits;
use futures_util::future::join_all;
use node::{Lost, Node};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;
use topology::Topology;

/// Between rounds, if there is no other place to go to: at first, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));

/// After so many redirections a round is a try like any other.
const FAST_REDIRECTIONS: u32 = 5;

/// Calls of a batch that go out together, at most.
pub(crate) const TOGETHER: usize = 1024;

/// An answer, or why there is none.
pub(crate) type Answer = Result<Reply, RemoteError>;

/// Servers, and how to get at them.
pub(crate) struct Connection {
    topology: Topology,
    circuits: Circuits,
    pub(crate) counts: Counts,
}

/// What happened.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) calls: Figure,
    pub(crate) pipelines: Figure,
    pub(crate) redirected: Figure,
    pub(crate) again: Figure,
    pub(crate) scripts: Figure,
    pub(crate) failed: Figure,
}

/// A call that has no answer yet.
struct Waiting {
    index: usize,
    /// A node that it was sent to (ASK), for the next round alone.
    ask: Option<Arc<Node>>,
    /// Its script goes out as a whole.
    whole: bool,
    /// Why it has no answer.
    last: Option<RemoteError>,
}

impl Waiting {
    fn new(index: usize) -> Waiting {
        Waiting { index, ask: None, whole: false, last: None }
    }
}

/// What a first round came to that did not answer all.
struct Begun {
    answers: Vec<Option<Answer>>,
    nexts: Vec<(Waiting, Next)>,
}

/// What goes to one node in a round.
struct Group {
    node: Arc<Node>,
    /// Whether it may be asked at all.
    asked: Result<(), RemoteError>,
    calls: Vec<Waiting>,
}

/// What the answer to one command means for its call.
enum Next {
    Done(Reply),
    Failed(RemoteError),
    /// At once, with what is known now.
    Again {
        ask: Option<Arc<Node>>,
        whole: bool,
    },
    /// After a pause, and after asking who is in charge.
    Later(RemoteError),
}

impl Connection {
    /// Finds the servers.
    pub(crate) async fn open(
        address: Address,
        eviction: Eviction,
        retry_after: Duration,
        deadline: Deadline,
    ) -> Result<(Connection, Capabilities), RemoteError> {
        let topology = Topology::new(address, eviction)?;
        topology.refresh(deadline).await?;
        let nodes = topology.owners();
        let all = join_all(nodes.iter().map(|node| node.capabilities(deadline))).await;
        let mut common: Option<Capabilities> = None;
        for capabilities in all {
            let own = capabilities?.as_ref().clone();
            common = Some(match common {
                Some(common) => common.common(own),
                None => own,
            });
        }
        let common =
            common.ok_or_else(|| RemoteError::new(ErrorKind::MissingSlots, "the cluster has no slots"))?;
        let counts = Counts::default();
        Ok((Connection { topology, circuits: Circuits::new(retry_after), counts }, common))
    }

    /// The answer to one call.
    pub(crate) async fn call(&self, call: Call<'_>, confirm: Option<u32>, deadline: Deadline) -> Answer {
        let answers = self.batch(&[call], confirm, deadline).await;
        answers.into_iter().next().unwrap_or_else(no_answer)
    }

    /// The answers to several, in their order. Calls with the same key are carried out in their order; others in any. With `confirm`, each is
    /// sent on a connection on which it is then waited for so many replicas ([`Reply::replicas`] says how many there were).
    pub(crate) async fn batch(
        &self,
        calls: &[Call<'_>],
        confirm: Option<u32>,
        deadline: Deadline,
    ) -> Vec<Answer> {
        self.counts.calls.add(calls.len() as u64);
        let node = if self.circuits.is_quiet() { self.topology.one_of_all(calls) } else { None };
        let begun = match node {
            Some(node) => match self.straight(node, calls, confirm, deadline).await {
                Ok(answers) => return answers,
                Err(begun) => Some(begun),
            },
            None => None,
        };
        // Rare, and large.
        Box::pin(self.rounds(begun, calls, confirm, deadline)).await
    }

    /// The normal case, which costs least: nobody is known not to answer, and one node answers for all keys. If it answers all, that is all; else it was
    /// the first round.
    async fn straight(
        &self,
        node: Arc<Node>,
        calls: &[Call<'_>],
        confirm: Option<u32>,
        deadline: Deadline,
    ) -> Result<Vec<Answer>, Begun> {
        let begun = Instant::now();
        self.counts.pipelines.add(1);
        let mut replies =
            match node.send(calls.iter().map(|call| (call, false, false)), confirm, deadline).await {
                Ok(replies) => replies,
                Err(lost) => {
                    let all = (0..calls.len()).map(Waiting::new).collect();
                    let nexts = self.lost(&node, begun, lost, all, calls);
                    return Err(Begun { answers: vec![None; calls.len()], nexts });
                }
            };
        let (mut answers, mut nexts) = (Vec::with_capacity(calls.len()), Vec::new());
        for (index, call) in calls.iter().enumerate() {
            answers.push(match replies.next(call, false) {
                Ok(reply) => Ok(reply),
                Err(error) => {
                    let waiting = Waiting::new(index);
                    let next = self.redirected(&error, &node, &call.key, &waiting);
                    nexts.push((waiting, next));
                    no_answer()
                }
            });
        }
        if nexts.len() < calls.len() {
            self.circuits.answered(&node.name);
        }
        if nexts.is_empty() {
            return Ok(answers);
        }
        Err(Begun { answers: answers.into_iter().map(Some).collect(), nexts })
    }

    /// Rounds until all have answers, after what a first one came to.
    async fn rounds(
        &self,
        begun: Option<Begun>,
        calls: &[Call<'_>],
        confirm: Option<u32>,
        deadline: Deadline,
    ) -> Vec<Answer> {
        let mut first = begun.is_none();
        let (mut answers, mut nexts) = match begun {
            Some(Begun { answers, nexts }) => (answers, Some(nexts)),
            None => (vec![None; calls.len()], None),
        };
        let mut waiting: Vec<Waiting> = Vec::new();
        if first {
            waiting.extend((0..calls.len()).map(Waiting::new));
            // A node that hangs takes all of a call's time, so that none is left to look for its successor: the next one to try does so first.
            if self.circuits.due() {
                drop(self.topology.refresh(deadline.within(deadline.left() / 2)).await);
            }
        }
        let (mut pause, mut redirections) = (PAUSE.0, 0);
        while nexts.is_some() || !waiting.is_empty() {
            let (mut refresh, mut wait) = (false, false);
            let sent = match nexts.take() {
                Some(nexts) => nexts,
                None => {
                    let (groups, unowned) = self.groups(waiting, calls, first, &mut answers);
                    first = false;
                    waiting = unowned;
                    (refresh, wait) = (!waiting.is_empty(), !waiting.is_empty());
                    let sent = groups.into_iter().map(|group| self.send(group, calls, confirm, deadline));
                    join_all(sent).await.into_iter().flatten().collect()
                }
            };
            for (mut call, next) in sent {
                match next {
                    Next::Done(reply) => answers[call.index] = Some(Ok(reply)),
                    Next::Failed(error) => {
                        answers[call.index] = Some(Err(self.ended(error, calls, call.index)))
                    }
                    Next::Again { ask, whole } => {
                        refresh |= !whole && ask.is_none();
                        (call.ask, call.whole) = (ask, whole);
                        waiting.push(call);
                    }
                    Next::Later(error) => {
                        (refresh, wait) = (true, true);
                        call.ask = None;
                        call.last = Some(error);
                        waiting.push(call);
                    }
                }
            }
            if waiting.is_empty() {
                break;
            }
            // Calls of one key stay in their order.
            waiting.sort_by_key(|call| call.index);
            redirections += 1;
            if wait || redirections > FAST_REDIRECTIONS {
                deadline.pause(pause).await;
                pause = (pause * 2).min(PAUSE.1);
            }
            if refresh {
                // What it could not find out shows in the next round.
                if let Err(error) = self.topology.refresh(deadline).await {
                    for call in &mut waiting {
                        call.last.get_or_insert_with(|| error.clone());
                    }
                }
            }
            if deadline.is_over() {
                for call in waiting.drain(..) {
                    let error = self.late(call.last, calls, call.index);
                    answers[call.index] = Some(Err(error));
                }
            }
        }
        answers.into_iter().map(|answer| answer.unwrap_or_else(no_answer)).collect()
    }

    /// The calls of each node, and those whose slot nobody is known to serve. In the first round those are answered whose node is known not to
    /// answer.
    fn groups(
        &self,
        waiting: Vec<Waiting>,
        calls: &[Call<'_>],
        first: bool,
        answers: &mut [Option<Answer>],
    ) -> (Vec<Group>, Vec<Waiting>) {
        let mut groups: Vec<Group> = Vec::new();
        let mut unowned = Vec::new();
        let may_ask = |name: &Arc<str>| if first { self.circuits.ask(name) } else { Ok(()) };
        let (known, quiet) = (self.topology.known(), !first || self.circuits.is_quiet());
        for mut call in waiting {
            let index = call.index;
            let slot = self.topology.slot(&calls[index].key);
            // One slot without a node does not keep the others from theirs.
            let served = if quiet { Ok(()) } else { may_ask(&name_of(slot)) };
            let asked = served.and_then(|()| match call.ask.as_ref().or_else(|| known.owner(slot)) {
                None => {
                    let error = RemoteError::new(ErrorKind::MissingSlots, format!("slot {slot}"));
                    call.last.get_or_insert(error.at(&self.topology.name()));
                    unowned.push(call);
                    Ok(())
                }
                Some(node) => {
                    let at = groups.iter().position(|group| Arc::ptr_eq(&group.node, node));
                    let at = at.unwrap_or_else(|| {
                        let asked = may_ask(&node.name);
                        groups.push(Group { node: Arc::clone(node), asked, calls: Vec::new() });
                        groups.len() - 1
                    });
                    let group = &mut groups[at];
                    group.asked.clone().map(|()| group.calls.push(call))
                }
            });
            if let Err(error) = asked {
                answers[index] = Some(Err(error.with_key(&calls[index].key.to_vec())));
            }
        }
        groups.retain(|group| !group.calls.is_empty());
        (groups, unowned)
    }

    /// A round's pipeline to one node.
    async fn send(
        &self,
        group: Group,
        calls: &[Call<'_>],
        confirm: Option<u32>,
        deadline: Deadline,
    ) -> Vec<(Waiting, Next)> {
        let (Group { node, calls: group, .. }, begun) = (group, Instant::now());
        self.counts.pipelines.add(1);
        let commands = group.iter().map(|call| (&calls[call.index], call.ask.is_some(), call.whole));
        let mut replies = match node.send(commands, confirm, deadline).await {
            Ok(replies) => replies,
            Err(lost) => return self.lost(&node, begun, lost, group, calls),
        };
        let (mut served, quiet) = (false, self.circuits.is_quiet());
        let nexts = group.into_iter().map(|call| {
            let asked = &calls[call.index];
            let next = match replies.next(asked, call.ask.is_some()) {
                Ok(reply) => {
                    served = true;
                    if !quiet {
                        self.circuits.answered(&name_of(self.topology.slot(&asked.key)));
                    }
                    Next::Done(reply)
                }
                Err(error) => self.redirected(&error, &node, &asked.key, &call),
            };
            (call, next)
        });
        let nexts = nexts.collect();
        if served {
            self.circuits.answered(&node.name);
        }
        nexts
    }

    /// The whole pipeline came to nothing.
    fn lost(
        &self,
        node: &Node,
        begun: Instant,
        Lost { error, sent }: Lost,
        group: Vec<Waiting>,
        calls: &[Call<'_>],
    ) -> Vec<(Waiting, Next)> {
        // It is slow, or lost a connection: no reason to keep others from it.
        let error = if node.has_answered(begun) { error.though_alive() } else { error };
        // What another attempt will not change.
        let hopeless = !error.kind().is_outage();
        let next = |call: &Waiting| {
            let error = if sent { error.clone().in_doubt() } else { error.clone() };
            if hopeless {
                return Next::Failed(error);
            }
            if sent && !calls[call.index].repeatable {
                // A connection that was lost says little of its node: whoever comes next finds out.
                let lost = error.kind() == ErrorKind::Unreachable;
                return Next::Failed(if lost { error.though_alive() } else { error });
            }
            self.counts.again.add(1);
            Next::Later(error)
        };
        group.into_iter().map(|call| (next(&call), call)).map(|(next, call)| (call, next)).collect()
    }

    /// What an error means that a server answered to one command: none of these was carried out.
    fn redirected(&self, error: &ServerError, node: &Arc<Node>, key: &Key<'_>, call: &Waiting) -> Next {
        let details = error.details();
        match error.code() {
            "MOVED" | "ASK" => {
                self.counts.redirected.add(1);
                let place = details.split_whitespace().nth(1).unwrap_or_default();
                match self.topology.at(place, node) {
                    Ok(to) if error.code() == "ASK" => Next::Again { ask: Some(to), whole: call.whole },
                    Ok(to) => {
                        self.topology.moved(self.topology.slot(key), &to);
                        Next::Again { ask: None, whole: call.whole }
                    }
                    Err(error) => Next::Failed(error),
                }
            }
            "NOSCRIPT" if !call.whole => {
                self.counts.scripts.add(1);
                Next::Again { ask: call.ask.clone(), whole: true }
            }
            "TRYAGAIN" | "CLUSTERDOWN" | "MASTERDOWN" | "LOADING" | "READONLY" => {
                self.counts.again.add(1);
                Next::Later(error.to_error().at(&node.name))
            }
            _ => Next::Failed(error.to_error().at(&node.name)),
        }
    }

    /// The error of a call that the deadline ended: what kept it from its answer.
    fn late(&self, last: Option<RemoteError>, calls: &[Call<'_>], index: usize) -> RemoteError {
        let error = last.unwrap_or_else(|| {
            RemoteError::new(ErrorKind::Timeout, "the deadline passed").at(&self.topology.name())
        });
        self.ended(error, calls, index)
    }

    fn ended(&self, error: RemoteError, calls: &[Call<'_>], index: usize) -> RemoteError {
        self.counts.failed.add(1);
        if error.is_silence() {
            let name = match error.kind() {
                ErrorKind::MissingSlots => name_of(self.topology.slot(&calls[index].key)),
                _ => error.node().map_or_else(|| self.topology.name(), Arc::from),
            };
            self.circuits.failed(&name, &error);
        }
        error.with_key(&calls[index].key.to_vec())
    }
}

fn no_answer() -> Answer {
    Err(RemoteError::new(ErrorKind::Protocol, "no answer"))
}

/// What a slot is called where nodes have names.
fn name_of(slot: u16) -> Arc<str> {
    format!("slot {slot}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// There is one for each id, and they are moved more than once.
    #[test]
    fn questions_and_answers_are_small() {
        assert!(size_of::<Call<'_>>() <= 80, "{}", size_of::<Call<'_>>());
        assert!(size_of::<Answer>() <= 40, "{}", size_of::<Answer>());
        assert_eq!(size_of::<Option<Answer>>(), size_of::<Answer>());
        assert_eq!(size_of::<RemoteError>(), size_of::<usize>());
    }
}

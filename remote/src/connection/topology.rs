//! Which server answers for a key: the one there is, the one that the sentinels name, or the owner of its slot.

use super::{
    call::Call,
    node::{Node, Rules},
    slots::{self, SlotMap},
};
use crate::{
    address::{Address, Host, Place, parse_host},
    deadline::Deadline,
    error::{ErrorKind, RemoteError},
    key::Key,
    probe::Eviction,
    wire::{Pipeline, Value},
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard},
    time::Duration,
};
use tokio::time::Instant;

/// It is not asked anew more often than this who is in charge.
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) struct Topology {
    address: Address,
    eviction: Eviction,
    /// The nodes that are known, by name: their connections are kept.
    nodes: Mutex<HashMap<Arc<str>, Arc<Node>>>,
    /// Of a single server and of a sentinels' one all slots are one node's.
    owners: RwLock<SlotMap>,
    sentinels: Vec<Arc<Node>>,
    /// When it was last asked who is in charge. The lock is held while it is asked.
    asked: tokio::sync::Mutex<Option<Instant>>,
}

impl Topology {
    pub(crate) fn new(address: Address, eviction: Eviction) -> Result<Topology, RemoteError> {
        // What sentinels keep is theirs.
        let rules = Rules { eviction: Eviction::Accept, primary: false };
        let sentinels = match &address.place {
            Place::Sentinel { sentinels, .. } => sentinels
                .iter()
                .map(|host| Arc::new(Node::new(host.to_string().into(), address.sentinel(host), rules)))
                .collect(),
            _ => Vec::new(),
        };
        Ok(Topology {
            address,
            eviction,
            nodes: Mutex::default(),
            owners: RwLock::new(SlotMap::empty()),
            sentinels,
            asked: tokio::sync::Mutex::new(None),
        })
    }

    /// Who answers for which slot, as it is known now.
    pub(crate) fn known(&self) -> RwLockReadGuard<'_, SlotMap> {
        self.owners.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot of a key; where there are none all keys are in slot 0.
    pub(crate) fn slot(&self, key: &Key<'_>) -> u16 {
        if matches!(self.address.place, Place::Cluster(_)) { key.slot() } else { 0 }
    }

    /// The node that answers for the keys of all of them, if it is one.
    pub(crate) fn one_of_all(&self, calls: &[Call<'_>]) -> Option<Arc<Node>> {
        let known = self.known();
        if !matches!(self.address.place, Place::Cluster(_)) {
            return known.owner(0).cloned();
        }
        let mut owners = calls.iter().map(|call| known.owner(call.key.slot()));
        let first = owners.next()??;
        owners.all(|owner| owner.is_some_and(|owner| Arc::ptr_eq(owner, first))).then(|| Arc::clone(first))
    }

    /// The nodes that answer for some slot.
    pub(crate) fn owners(&self) -> Vec<Arc<Node>> {
        self.known().nodes()
    }

    /// What to call the whole in an error about a slot that nobody answers for.
    pub(crate) fn name(&self) -> Arc<str> {
        self.address.to_string().into()
    }

    /// The node at an address that a redirection named.
    pub(crate) fn at(&self, place: &str, from: &Node) -> Result<Arc<Node>, RemoteError> {
        let wrong = |what| RemoteError::new(ErrorKind::Protocol, what).at(&from.name);
        let mut host = parse_host(place.trim_start_matches('?'), 0)
            .or_else(|_| {
                // `:port`: where it was asked, at another port.
                let port = place.rsplit(':').next().unwrap_or_default();
                let asked = parse_host(&from.name, 0)?;
                parse_host(&format!("[{}]:{port}", asked.name), 0)
            })
            .map_err(wrong)?;
        if host.port == 0 {
            host.port = 6379;
        }
        self.node(&host)
    }

    /// A redirection said that this node has the slot now.
    pub(crate) fn moved(&self, slot: u16, node: &Arc<Node>) {
        self.owners.write().unwrap_or_else(PoisonError::into_inner).set(slot, node);
    }

    /// Asks who is in charge, unless that was asked a moment ago. Callers wait for one that asks.
    ///
    /// # Errors
    /// If nobody could tell. What was known stays.
    pub(crate) async fn refresh(&self, deadline: Deadline) -> Result<(), RemoteError> {
        let mut asked = deadline.of(self.asked.lock()).await?;
        if asked.is_some_and(|last| last.elapsed() < PAUSE) {
            return Ok(());
        }
        let found = match &self.address.place {
            Place::Single(host) => self.node(host).map(|node| self.moved(0, &node)),
            Place::Unix(_) => {
                self.node(&Host { name: "socket".into(), port: 0 }).map(|node| self.moved(0, &node))
            }
            Place::Sentinel { name, .. } => self.ask_sentinels(name, deadline).await,
            Place::Cluster(seeds) => self.ask_cluster(seeds, deadline).await,
        };
        *asked = Some(Instant::now());
        found
    }

    /// The first of them that knows a primary under that name is believed: the primary itself is looked at as well.
    async fn ask_sentinels(&self, name: &str, deadline: Deadline) -> Result<(), RemoteError> {
        let question = Pipeline::of(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name]);
        first(&self.sentinels, &question, deadline, |_, value| {
            if let Some(host) = primary(&value) {
                self.moved(0, &self.node(&host)?);
                return Ok(Ok(()));
            }
            Ok(Err(match value {
                Value::Error(error) => error.to_error(),
                _ => RemoteError::new(ErrorKind::Config, format!("the sentinel knows no {name:?}")),
            }))
        })
        .await
    }

    /// Asks all nodes that are known, and takes the first map that there is. (If it is old, the redirections that follow put it right.)
    async fn ask_cluster(&self, seeds: &[Host], deadline: Deadline) -> Result<(), RemoteError> {
        let mut known = self.owners();
        for host in seeds {
            let node = self.node(host)?;
            if !known.iter().any(|other| Arc::ptr_eq(other, &node)) {
                known.push(node);
            }
        }
        let question = Pipeline::of(&["CLUSTER", "SLOTS"]);
        first(&known, &question, deadline, |asked, value| {
            let ranges = match (slots::ranges(&value, &asked.name), value) {
                (Some(ranges), _) if !ranges.is_empty() => ranges,
                (Some(_), _) => {
                    return Ok(Err(RemoteError::new(ErrorKind::MissingSlots, "the cluster has no slots")));
                }
                (None, Value::Error(error)) => return Ok(Err(error.to_error())),
                (None, _) => {
                    return Ok(Err(RemoteError::new(ErrorKind::Protocol, "CLUSTER SLOTS cannot be read")));
                }
            };
            let mut owners = SlotMap::empty();
            for range in ranges {
                let primary = self.node(&range.primary)?;
                for slot in range.first..=range.last {
                    owners.set(slot, &primary);
                }
            }
            *self.owners.write().unwrap_or_else(PoisonError::into_inner) = owners;
            // Of nodes that serve nothing any more nobody else knows.
            self.lock().retain(|_, node| Arc::strong_count(node) > 1);
            Ok(Ok(()))
        })
        .await
    }

    fn node(&self, host: &Host) -> Result<Arc<Node>, RemoteError> {
        let name: Arc<str> = match &self.address.place {
            Place::Unix(path) => path.display().to_string().into(),
            _ => host.to_string().into(),
        };
        let mut nodes = self.lock();
        if let Some(node) = nodes.get(&name) {
            return Ok(Arc::clone(node));
        }
        let primary = matches!(self.address.place, Place::Sentinel { .. });
        let rules = Rules { eviction: self.eviction, primary };
        let node = Arc::new(Node::new(Arc::clone(&name), self.address.server(host), rules));
        nodes.insert(name, Arc::clone(&node));
        Ok(node)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Node>>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks all of them at the same time, until `take` has made use of an answer, or says that there is no going on. Otherwise what is wrong with the last answer; of nodes that gave
/// none, the first.
async fn first(
    nodes: &[Arc<Node>],
    question: &Pipeline,
    deadline: Deadline,
    mut take: impl FnMut(&Node, Value) -> Result<Result<(), RemoteError>, RemoteError>,
) -> Result<(), RemoteError> {
    let mut answers: FuturesUnordered<_> =
        nodes.iter().map(|node| async move { (node, node.ask(question.clone(), deadline).await) }).collect();
    let mut failed = None;
    while let Some((node, answer)) = answers.next().await {
        match answer {
            Ok(values) => match take(node, values.into_iter().next().unwrap_or_default())? {
                Ok(()) => return Ok(()),
                Err(error) => failed = Some(error.at(&node.name)),
            },
            Err(error) => {
                failed.get_or_insert(error);
            }
        }
    }
    Err(failed.unwrap_or_else(|| RemoteError::new(ErrorKind::Config, "nobody to ask")))
}

/// Host and port, as a sentinel tells them.
fn primary(value: &Value) -> Option<Host> {
    let Value::Array(pair) = value else { return None };
    let [Value::Bulk(name), Value::Bulk(port)] = pair.as_slice() else { return None };
    let port = std::str::from_utf8(port).ok()?.parse().ok()?;
    Some(Host { name: String::from_utf8(name.clone()).ok()?, port })
}

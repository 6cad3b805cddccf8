//! Which keys are the hottest, over several machines?

use crate::{
    connection::{Call, Command, Value},
    error::{ErrorKind, RemoteError},
    key::{Kind, Namespace},
    remote::Remote,
    unique::unique,
};
use std::{collections::BTreeMap, convert::Infallible, fmt, time::Duration};
use windlass::{Aggregator, ConfigError, Export, Keys, TopSnapshot};

/// Merges the hottest keys of many processes.
///
/// Each process counts what it sees by itself ([`windlass::TopK`], [`windlass::BoundedTopK`]), and *publishes* what it knows: its export, under a key of its own that ends after a
/// while. Whoever wants the list of all reads these and merges them ([`windlass::Aggregator`]), with bounds. The engine counts nothing, so its load does not depend on how many events there are.
///
/// Exports are merged that are of the same interval. So all must count by the same panes and windows, with the same seed, and by a clock that counts from the same origin, as that of
/// the system does:
///
/// ```no_run
/// use std::{sync::Arc, time::{Duration, SystemTime}};
/// use windlass::{Clock, Keys, Seed, Tick, TopK};
/// use windlass_remote::{Remote, RemoteTopK};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let now = || Tick::from_duration(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()).unwrap_or(Tick(0));
/// let (window, pane) = (Duration::from_secs(60), Duration::from_secs(1));
/// let top = TopK::builder(window, pane, 10).seed(Seed(1)).clock(Clock::monotonic_from(now())).build()?;
/// let top = Arc::new(top);
///
/// let remote = Remote::connect("redis://localhost").await?;
/// let hot = RemoteTopK::new(&remote, "pages", 10, Keys::Shared)?;
/// let (publisher, counts) = (hot.clone(), Arc::clone(&top));
/// tokio::spawn(async move { publisher.publish_each(pane, || counts.export_complete_at(now())).await });
///
/// top.add("/index.html", 1);
/// for row in hot.merged().await?.list.rows {
///     println!("{} {}", row.key, row.count);
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Guarantees
/// The list is that of the exports that were merged, and its bounds hold if theirs do. A process that publishes in each pane keeps its last two intervals there, so as long as clocks differ by less than a pane
/// (and the publishing takes no longer) there is one that all have. What is missing is told ([`MergedTop::missing`]); a process that has ended counts as missing until its
/// exports end ([`RemoteTopK::life`]).
///
/// # Cost
/// For each process 10 rows for each key of the list, twice, in one slot; publishing and merging are a round trip and two.
#[derive(Clone)]
pub struct RemoteTopK {
    remote: Remote,
    namespace: Namespace,
    k: usize,
    keys: Keys,
    life: Duration,
    /// This process, or this part of it.
    member: String,
}

/// The list of all.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MergedTop {
    /// The hottest keys of all that were merged.
    pub list: TopSnapshot,
    /// Processes whose exports are in it.
    pub merged: u64,
    /// Processes that have published something of another interval alone.
    pub missing: u64,
}

impl RemoteTopK {
    /// Lists of `k` keys, from the processes that publish in a namespace (1 to 64 of `A-Z a-z 0-9 _ - .`). It is a member of its own there, together with its clones.
    ///
    /// # Errors
    /// [`ErrorKind::Config`]: the namespace.
    pub fn new(remote: &Remote, namespace: &str, k: usize, keys: Keys) -> Result<RemoteTopK, RemoteError> {
        let namespace = Namespace::new(namespace)?;
        let member: String = unique().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(RemoteTopK { remote: remote.clone(), namespace, k, keys, life: Duration::from_secs(10), member })
    }

    /// How long an export counts: some times as long as it takes to the next one. Default: 10 s.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] if it is not 1 ms to a day.
    pub fn life(mut self, life: Duration) -> Result<RemoteTopK, RemoteError> {
        if !(Duration::from_millis(1)..=Duration::from_secs(86_400)).contains(&life) {
            let limit = "1 ms to 1 day".to_owned();
            return Err(ConfigError { field: "life", value: format!("{life:?}"), limit }.into());
        }
        self.life = life;
        Ok(self)
    }

    /// Publishes what this process knows of an interval, in place of what it did of the one before the last.
    ///
    /// # Errors
    /// By kind, with node and key.
    pub async fn publish(&self, export: &Export) -> Result<(), RemoteError> {
        let (key, members) = (self.key(&self.member, export.panes().end % 2), self.members());
        let millis = u64::try_from(self.life.as_millis()).unwrap_or(u64::MAX);
        let mut set = Command::new("SET");
        set.arg(&key).arg(&export.to_bytes()).arg("PX").arg(millis);
        let mut join = Command::new("SADD");
        join.arg(members.as_slice()).arg(&self.member);
        let mut keep = Command::new("PEXPIRE");
        keep.arg(members.as_slice()).arg(millis);
        // Twice is as good as once.
        let call = Call::transaction(members, vec![set, join, keep], true);
        self.remote.connection().call(call, None, self.remote.deadline()).await.map(drop)
    }

    /// Publishes `every` so often what `export` gives, until it is dropped. What could not be published is out of date by the next time, which goes on.
    pub async fn publish_each(&self, every: Duration, mut export: impl FnMut() -> Export) -> Infallible {
        // No sleep is no time for others.
        let every = every.max(Duration::from_millis(1));
        loop {
            drop(self.publish(&export()).await);
            tokio::time::sleep(every).await;
        }
    }

    /// The list of all: of the latest interval of which most have published.
    ///
    /// # Errors
    /// By kind, with node and key: [`ErrorKind::Protocol`] if one has published what is no export, or of other panes or with another seed.
    pub async fn merged(&self) -> Result<MergedTop, RemoteError> {
        let members = self.names().await?;
        let mut intervals: BTreeMap<u64, Vec<Export>> = BTreeMap::new();
        let (mut there, mut gone) = (0, Vec::new());
        for (member, exports) in members.iter().zip(self.exports(&members).await?) {
            there += u64::from(!exports.is_empty());
            if exports.is_empty() {
                gone.push(member.as_slice());
            }
            for export in exports {
                intervals.entry(export.panes().end).or_default().push(export);
            }
        }
        self.forget(&gone).await;
        let mut all = Aggregator::new(self.k, self.keys);
        // Of those of which as many have published the latest.
        let most = intervals.into_values().max_by_key(Vec::len).unwrap_or_default();
        for export in &most {
            all.merge(export).map_err(|error| self.wrong(error.to_string()))?;
        }
        Ok(MergedTop { list: all.list(), merged: all.exports(), missing: there - all.exports() })
    }

    /// Who has published.
    async fn names(&self) -> Result<Vec<Vec<u8>>, RemoteError> {
        let members = self.members();
        let mut command = Command::new("SMEMBERS");
        command.arg(members.as_slice());
        let call = Call::native(members, command, true);
        let answer = self.remote.connection().call(call, None, self.remote.deadline()).await?.value;
        let words = match answer {
            Value::Array(words) => words,
            other => return Err(self.wrong(format!("{other:?}"))),
        };
        let name = |word| if let Value::Bulk(name) = word { Some(name) } else { None };
        Ok(words.into_iter().filter_map(name).collect())
    }

    /// What each has published: two intervals, one or none.
    async fn exports(&self, members: &[Vec<u8>]) -> Result<Vec<Vec<Export>>, RemoteError> {
        if members.is_empty() {
            return Ok(Vec::new());
        }
        let mut command = Command::new("MGET");
        for member in members {
            let member = String::from_utf8_lossy(member);
            command.arg(&self.key(&member, 0)).arg(&self.key(&member, 1));
        }
        let call = Call::native(self.members(), command, true);
        let answer = self.remote.connection().call(call, None, self.remote.deadline()).await?.value;
        let Value::Array(values) = answer else { return Err(self.wrong(format!("{answer:?}"))) };
        let export = |value: &Value| match value {
            Value::Bulk(bytes) => {
                Some(Export::from_bytes(bytes).map_err(|error| self.wrong(error.to_string())))
            }
            _ => None,
        };
        values.chunks(2).map(|two| two.iter().filter_map(export).collect()).collect()
    }

    /// Of those whose exports have ended: they come back with their next one. (That it fails costs nothing but another try.)
    async fn forget(&self, members: &[&[u8]]) {
        if members.is_empty() {
            return;
        }
        let mut command = Command::new("SREM");
        command.arg(&self.members());
        for member in members {
            command.arg(member);
        }
        let call = Call::native(self.members(), command, true);
        drop(self.remote.connection().call(call, None, self.remote.deadline()).await);
    }

    fn members(&self) -> Vec<u8> {
        self.namespace.part(b"", Kind::Top, b"members")
    }

    fn key(&self, member: &str, parity: u64) -> Vec<u8> {
        self.namespace.part(b"", Kind::Top, format!("{parity}:{member}").as_bytes())
    }

    fn wrong(&self, what: String) -> RemoteError {
        RemoteError::new(ErrorKind::Protocol, what).with_key(&self.members())
    }
}

impl fmt::Debug for RemoteTopK {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteTopK")
            .field("namespace", &self.namespace.as_str())
            .field("k", &self.k)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

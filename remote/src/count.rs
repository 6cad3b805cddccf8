//! How often in the window, over several machines?

use crate::{
    connection::{Call, TOGETHER, Value},
    error::{ErrorKind, RemoteError},
    key::{Kind, Namespace},
    remote::Remote,
    script::{Script, script},
};
use std::{fmt, ops::Range, sync::LazyLock, time::Duration};
use windlass::ConfigError;

static ADD: LazyLock<Script> = script!("now", "count/add");
static GET: LazyLock<Script> = script!("now", "count/get");

/// Panes of a window.
const MOST_PANES: u64 = 1024;

/// Counts how often each key was seen in the window, for any number of processes.
///
/// A key has one hash in the engine, with a count for each pane. Panes are those of the clock, and there are two ways to read, as in a [`windlass::WindowedCounter`].
///
/// ```no_run
/// use std::time::Duration;
/// use windlass_remote::{Remote, RemoteCounter};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), windlass_remote::RemoteError> {
/// let remote = Remote::connect("redis://localhost").await?;
/// let (window, pane) = (Duration::from_secs(60), Duration::from_secs(10));
/// let counter = RemoteCounter::new(&remote, "logins", window, pane)?;
/// counter.add("203.0.113.7", 1).await?;
/// println!("{} in the last minute", counter.count("203.0.113.7").await?);
/// # Ok(())
/// # }
/// ```
///
/// # Guarantees
/// Exact, by the clock of the node that has the key. An add whose answer is lost may have been counted ([`RemoteError::may_be_done`]), and is not sent again. A primary that is lost
/// takes along what it has not sent to its replica.
///
/// # Cost
/// One round trip; in the engine some 100 bytes for each key that was seen in the window, and 10 to 70 for each of its panes. They go when the last pane in which it was seen
/// has left the window. The keys of a namespace spread over all nodes of a cluster. To count every event of a hot stream a [`windlass::WindowedCounter`] or
/// [`windlass::TopK`] in each process is faster by far: see [`crate::RemoteTopK`].
#[derive(Clone)]
pub struct RemoteCounter {
    remote: Remote,
    namespace: Namespace,
    /// In microseconds.
    pane: u64,
    panes: u64,
}

impl RemoteCounter {
    /// For keys of a namespace (1 to 64 of `A-Z a-z 0-9 _ - .`), over `window`, which is 1 to 1024 of `pane`, in whole microseconds. All who share a namespace must give
    /// the same.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] names the setting and its range. [`ErrorKind::Unsupported`]: the servers allow no scripts.
    pub fn new(
        remote: &Remote,
        namespace: &str,
        window: Duration,
        pane: Duration,
    ) -> Result<RemoteCounter, RemoteError> {
        let namespace = Namespace::new(namespace)?;
        let wrong = |field, value: Duration, limit: &str| {
            RemoteError::from(ConfigError { field, value: format!("{value:?}"), limit: limit.to_owned() })
        };
        let longest = Duration::from_secs(366 * 86_400);
        if pane.is_zero() || pane > longest || !pane.subsec_nanos().is_multiple_of(1000) {
            return Err(wrong("pane", pane, "1 us to 366 days, in whole microseconds"));
        }
        let panes = window.as_nanos() / pane.as_nanos();
        let fits = window <= longest && panes * pane.as_nanos() == window.as_nanos();
        let panes = u64::try_from(panes).ok().filter(|panes| fits && (1..=MOST_PANES).contains(panes));
        let panes = panes.ok_or_else(|| wrong("window", window, "1 to 1024 panes, 366 days at most"))?;
        if !remote.capabilities().scripts {
            let what = "counts by pane want scripts, which the servers do not allow";
            return Err(RemoteError::new(ErrorKind::Unsupported, what));
        }
        let pane = u64::try_from(pane.as_micros()).map_err(|_| wrong("pane", pane, "366 days at most"))?;
        Ok(RemoteCounter { remote: remote.clone(), namespace, pane, panes })
    }

    /// Counts a key `n` times. What it comes to in this pane.
    ///
    /// # Errors
    /// By kind, with node and key.
    pub async fn add(&self, key: impl AsRef<[u8]>, n: u32) -> Result<u64, RemoteError> {
        added(&self.ask(self.adding(key.as_ref(), n, None)).await?)
    }

    /// Counts many keys. One round trip to each node for each 1024 of them, each with a deadline of its own.
    pub async fn add_batch<K: AsRef<[u8]>>(&self, keys: &[(K, u32)]) -> Vec<Result<u64, RemoteError>> {
        let mut counts = Vec::with_capacity(keys.len());
        for keys in keys.chunks(TOGETHER) {
            let calls: Vec<Call<'_>> =
                keys.iter().map(|(key, n)| self.adding(key.as_ref(), *n, None)).collect();
            let answers = self.remote.connection().batch(&calls, None, self.remote.deadline()).await;
            counts.extend(answers.into_iter().map(|answer| added(&answer?.value)));
        }
        counts
    }

    /// How often a key was seen in the pane of now and those before it that make up the window with it.
    ///
    /// # Errors
    /// By kind, with node and key.
    pub async fn count(&self, key: impl AsRef<[u8]>) -> Result<u64, RemoteError> {
        self.sum(key.as_ref(), None, false).await
    }

    /// .. in the panes before that of now, as many as make up the window: it changes at the end of a pane only.
    ///
    /// # Errors
    /// By kind, with node and key.
    pub async fn count_complete(&self, key: impl AsRef<[u8]>) -> Result<u64, RemoteError> {
        self.sum(key.as_ref(), None, true).await
    }

    /// [`RemoteCounter::add`] at a time that the caller says, in microseconds: to compare with other implementations.
    ///
    /// # Errors
    /// As there.
    #[doc(hidden)]
    pub async fn add_at(&self, key: &[u8], n: u32, at: u64) -> Result<u64, RemoteError> {
        added(&self.ask(self.adding(key, n, Some(at))).await?)
    }

    /// .. and what was counted.
    ///
    /// # Errors
    /// As [`RemoteCounter::count`].
    #[doc(hidden)]
    pub async fn count_at(&self, key: &[u8], complete: bool, at: u64) -> Result<u64, RemoteError> {
        self.sum(key, Some(at), complete).await
    }

    fn adding(&self, key: &[u8], n: u32, at: Option<u64>) -> Call<'static> {
        // One more than the window has: for those that are complete.
        let arguments = vec![
            word(at),
            self.pane.to_string().into_bytes(),
            (self.panes + 1).to_string().into_bytes(),
            n.to_string().into_bytes(),
        ];
        Call::script(self.namespace.item(Kind::Count, key), &ADD, arguments, false)
    }

    async fn sum(&self, key: &[u8], at: Option<u64>, complete: bool) -> Result<u64, RemoteError> {
        let arguments = vec![word(at), self.pane.to_string().into_bytes()];
        let call = Call::script(self.namespace.item(Kind::Count, key), &GET, arguments, true);
        let answer = self.ask(call).await?;
        let read = |answer: &Value| {
            let Value::Array(parts) = answer else { return None };
            let [Value::Int(now), counts] = parts.as_slice() else { return None };
            let now = u64::try_from(*now).ok()?;
            let panes = if complete {
                now.saturating_sub(self.panes)..now
            } else {
                (now + 1).saturating_sub(self.panes)..now + 1
            };
            sum(counts, &panes)
        };
        read(&answer).ok_or_else(|| unexpected(&answer))
    }

    async fn ask(&self, call: Call<'_>) -> Result<Value, RemoteError> {
        Ok(self.remote.connection().call(call, None, self.remote.deadline()).await?.value)
    }
}

fn word(at: Option<u64>) -> Vec<u8> {
    at.map(|at| at.to_string()).unwrap_or_default().into_bytes()
}

fn unexpected(what: &impl fmt::Debug) -> RemoteError {
    RemoteError::new(ErrorKind::Protocol, format!("{what:?}"))
}

fn added(value: &Value) -> Result<u64, RemoteError> {
    match value {
        Value::Int(count) => u64::try_from(*count).map_err(|_| unexpected(value)),
        other => Err(unexpected(other)),
    }
}

/// Of panes and counts, one after the other, those of some panes.
fn sum(counts: &Value, panes: &Range<u64>) -> Option<u64> {
    let number = |value: &Value| match value {
        Value::Bulk(text) => std::str::from_utf8(text).ok()?.parse::<u64>().ok(),
        _ => None,
    };
    let Value::Array(words) = counts else { return None };
    let mut sum = 0_u64;
    for pair in words.chunks_exact(2) {
        let (pane, count) = (number(&pair[0])?, number(&pair[1])?);
        if panes.contains(&pane) {
            sum = sum.saturating_add(count);
        }
    }
    Some(sum)
}

impl fmt::Debug for RemoteCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteCounter")
            .field("namespace", &self.namespace.as_str())
            .field("pane", &Duration::from_micros(self.pane))
            .field("panes", &self.panes)
            .finish_non_exhaustive()
    }
}

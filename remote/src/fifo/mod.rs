//! How many are ahead, over several machines? A queue that tells by key.

use crate::{
    connection::{Answer, Call, Command, Value},
    error::{ErrorKind, RemoteError},
    key::{Kind, Namespace},
    remote::Remote,
    script::{Script, script},
};
use std::{fmt, sync::LazyLock};
use windlass::{OnPresent, Pushed, Tick};

static PUSH: LazyLock<Script> = script!("now", "fifo/push");
static POP: LazyLock<Script> = script!("fifo/pop");
static REMOVE: LazyLock<Script> = script!("fifo/remove");

/// Entries of a batch that go out together.
const TOGETHER: usize = 512;

/// A queue of keys with values that tells, for any key, how many are before it, for any number of processes.
///
/// Entries are numbered as they come, and ranked by number: as in a [`windlass::FifoIndex`], with bytes as keys and values.
///
/// ```no_run
/// use windlass_remote::{Pushed, Remote, RemoteFifo};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), windlass_remote::RemoteError> {
/// let remote = Remote::connect("redis://localhost").await?;
/// let waiting = RemoteFifo::new(&remote, "waiting")?;
/// assert_eq!(waiting.push("ann", "1").await?, Pushed::New(0));
/// assert_eq!(waiting.push("bob", "2").await?, Pushed::New(1));
/// assert_eq!(waiting.rank("bob").await?, Some(1));
/// let first = waiting.pop().await?.expect("two are waiting");
/// assert_eq!(first.key, b"ann");
/// # Ok(())
/// # }
/// ```
///
/// # Guarantees
/// Every call is one step of the engine's: calls are linearizable, over all keys together. Numbers have no gaps but those of entries that were moved or removed. A rank is
/// exact when it is told.
///
/// - *An answer that is lost*: a push or a pop may have been carried out ([`RemoteError::may_be_done`]), and is not sent again. Who repeats a push is told that the key is
///   there, or moves it once more; an entry whose pop was lost is lost with it.
/// - *A primary that is lost* takes along what it has not sent to its replica: entries pushed last are gone, those popped last come again, and numbers are given a second time.
///
/// # Cost
/// All of a queue is in one slot, so on one node: a queue that is too much for one is to be cut into several. A push, a pop and a rank take O(log n) there; some 200 bytes for each
/// entry, with its key twice. It stays until it is popped: a queue has no window.
#[derive(Clone)]
pub struct RemoteFifo {
    remote: Remote,
    on_present: OnPresent,
    state: Vec<u8>,
    order: Vec<u8>,
    values: Vec<u8>,
}

/// An entry of a [`RemoteFifo`] that was taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteEntry {
    /// Its number: later entries have greater ones.
    pub seq: u64,
    /// Its key.
    pub key: Vec<u8>,
    /// Its value.
    pub value: Vec<u8>,
    /// When it was put in, by the engine's clock (nanoseconds since 1970), or that of an entry before it if that was later.
    pub pushed_at: Tick,
}

/// Where a key stands in a [`RemoteFifo`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemotePlace {
    /// The number of its entry.
    pub seq: u64,
    /// How many entries are before it.
    pub rank: u64,
    /// Its value.
    pub value: Vec<u8>,
    /// When it was put in, by the engine's clock (nanoseconds since 1970), or that of an entry before it if that was later.
    pub pushed_at: Tick,
}

impl RemoteFifo {
    /// A queue of that name (1 to 64 of `A-Z a-z 0-9 _ - .`). A key that is there stays where it is when it is pushed: see [`RemoteFifo::on_present`].
    ///
    /// # Errors
    /// [`ErrorKind::Config`]: the name. [`ErrorKind::Unsupported`]: the servers allow no scripts.
    pub fn new(remote: &Remote, name: &str) -> Result<RemoteFifo, RemoteError> {
        let namespace = Namespace::new(name)?;
        if !remote.capabilities().scripts {
            let what = "a queue wants scripts, which the servers do not allow";
            return Err(RemoteError::new(ErrorKind::Unsupported, what));
        }
        let part = |part: &[u8]| namespace.part(b"", Kind::Fifo, part);
        Ok(RemoteFifo {
            remote: remote.clone(),
            on_present: OnPresent::default(),
            state: part(b"state"),
            order: part(b"order"),
            values: part(b"values"),
        })
    }

    /// The same queue, with pushes that do this about a key that is there.
    #[must_use]
    pub fn on_present(mut self, on_present: OnPresent) -> RemoteFifo {
        self.on_present = on_present;
        self
    }

    /// Puts an entry at the tail.
    ///
    /// # Errors
    /// By kind, with node and key.
    pub async fn push(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<Pushed, RemoteError> {
        only(self.put(&[(key.as_ref(), value.as_ref())], None).await?)
    }

    /// Puts entries at the tail, in order: in steps of 512 that each are one of the engine's.
    ///
    /// # Errors
    /// As [`RemoteFifo::push`]: then of the rest nothing is known.
    pub async fn push_batch<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        entries: &[(K, V)],
    ) -> Result<Vec<Pushed>, RemoteError> {
        let mut pushed = Vec::with_capacity(entries.len());
        for entries in entries.chunks(TOGETHER) {
            let entries: Vec<(&[u8], &[u8])> =
                entries.iter().map(|(key, value)| (key.as_ref(), value.as_ref())).collect();
            pushed.extend(self.put(&entries, None).await?);
        }
        Ok(pushed)
    }

    /// .. at a time that the caller says, in microseconds: to compare with other implementations.
    ///
    /// # Errors
    /// As [`RemoteFifo::push`].
    #[doc(hidden)]
    pub async fn push_at(&self, key: &[u8], value: &[u8], at: u64) -> Result<Pushed, RemoteError> {
        only(self.put(&[(key, value)], Some(at)).await?)
    }

    /// Takes the oldest entry out. `None`: there is none.
    ///
    /// # Errors
    /// By kind, with node and key.
    pub async fn pop(&self) -> Result<Option<RemoteEntry>, RemoteError> {
        Ok(self.pop_batch(1).await?.pop())
    }

    /// Takes the oldest entries out, `n` at most and no more than 512, the oldest first.
    ///
    /// # Errors
    /// By kind, with node and key.
    pub async fn pop_batch(&self, n: usize) -> Result<Vec<RemoteEntry>, RemoteError> {
        let keys = vec![self.order.clone(), self.values.clone()];
        let most = n.min(TOGETHER).to_string().into_bytes();
        let answer = self.ask(Call::script_of(keys, &POP, vec![most], false)).await?;
        let words = array(answer)?;
        words.chunks(3).map(|words| entry(words).ok_or_else(|| unexpected(&words))).collect()
    }

    /// Takes a key's entry out, wherever it is. `None`: it was never put in, or has been popped.
    ///
    /// # Errors
    /// By kind, with node and key.
    pub async fn remove(&self, key: impl AsRef<[u8]>) -> Result<Option<RemoteEntry>, RemoteError> {
        let (key, keys) = (key.as_ref().to_vec(), vec![self.order.clone(), self.values.clone()]);
        let answer = self.ask(Call::script_of(keys, &REMOVE, vec![key.clone()], false)).await?;
        let words = array(answer)?;
        if words.is_empty() {
            return Ok(None);
        }
        let mut all = vec![Value::Bulk(key)];
        all.extend(words);
        entry(&all).map(Some).ok_or_else(|| unexpected(&all))
    }

    /// How many entries are before a key's: 0 for the one that is popped next. `None`: it was never put in, or has been popped.
    ///
    /// # Errors
    /// By kind, with node and key.
    pub async fn rank(&self, key: impl AsRef<[u8]>) -> Result<Option<u64>, RemoteError> {
        rank(&self.ask(self.rank_of(key.as_ref())).await?)
    }

    /// The ranks of several keys, in one round trip; each is exact when it is told, and others may come between.
    pub async fn rank_batch<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<Result<Option<u64>, RemoteError>> {
        let mut ranks = Vec::with_capacity(keys.len());
        for keys in keys.chunks(TOGETHER) {
            let calls: Vec<Call<'_>> = keys.iter().map(|key| self.rank_of(key.as_ref())).collect();
            let answers: Vec<Answer> =
                self.remote.connection().batch(&calls, None, self.remote.deadline()).await;
            ranks.extend(answers.into_iter().map(|answer| rank(&answer?.value)));
        }
        ranks
    }

    /// The value of a key. `None`: it was never put in, or has been popped.
    ///
    /// # Errors
    /// By kind, with node and key.
    pub async fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>, RemoteError> {
        let call = Call::native(self.values.clone(), command("HGET", &self.values, key.as_ref()), true);
        match self.ask(call).await? {
            Value::Nil => Ok(None),
            held => held_value(&held).map(|(_, value)| Some(value)).ok_or_else(|| unexpected(&held)),
        }
    }

    /// Number, rank, value and time of a key, at one moment.
    ///
    /// # Errors
    /// By kind, with node and key.
    pub async fn find(&self, key: impl AsRef<[u8]>) -> Result<Option<RemotePlace>, RemoteError> {
        let key = key.as_ref();
        let commands = vec![
            command("ZRANK", &self.order, key),
            command("ZSCORE", &self.order, key),
            command("HGET", &self.values, key),
        ];
        let answer = array(self.ask(Call::transaction(self.order.clone(), commands, true)).await?)?;
        let place = |answer: &[Value]| {
            let [at, number, held] = answer else { return None };
            let rank = rank(at).ok()??;
            let (pushed_at, value) = held_value(held)?;
            Some(RemotePlace { seq: text(number)?.parse().ok()?, rank, value, pushed_at })
        };
        if answer.first() == Some(&Value::Nil) {
            return Ok(None);
        }
        place(&answer).map(Some).ok_or_else(|| unexpected(&answer))
    }

    /// How many entries there are.
    ///
    /// # Errors
    /// By kind, with node and key.
    pub async fn len(&self) -> Result<u64, RemoteError> {
        let mut command = Command::new("ZCARD");
        command.arg(self.order.as_slice());
        let answer = self.ask(Call::native(self.order.clone(), command, true)).await?;
        number(&answer).ok_or_else(|| unexpected(&answer))
    }

    /// Whether there is none.
    ///
    /// # Errors
    /// By kind, with node and key.
    pub async fn is_empty(&self) -> Result<bool, RemoteError> {
        Ok(self.len().await? == 0)
    }

    async fn put(&self, entries: &[(&[u8], &[u8])], at: Option<u64>) -> Result<Vec<Pushed>, RemoteError> {
        let keys = vec![self.state.clone(), self.order.clone(), self.values.clone()];
        let moves = self.on_present == OnPresent::MoveToTail;
        let mut arguments = vec![at.map(|at| at.to_string()).unwrap_or_default().into_bytes()];
        arguments.push(u8::from(moves).to_string().into_bytes());
        arguments.extend(entries.iter().flat_map(|(key, value)| [key.to_vec(), value.to_vec()]));
        let answers = array(self.ask(Call::script_of(keys, &PUSH, arguments, false)).await?)?;
        let pushed = |words: &[Value]| match words {
            [Value::Int(1), seq] => number(seq).map(Pushed::New),
            [Value::Int(0), seq] => number(seq).map(Pushed::Present),
            [Value::Int(2), seq] => number(seq).map(Pushed::Moved),
            _ => None,
        };
        let all: Option<Vec<Pushed>> = answers.chunks(2).map(pushed).collect();
        all.filter(|all| all.len() == entries.len()).ok_or_else(|| unexpected(&answers))
    }

    fn rank_of(&self, key: &[u8]) -> Call<'static> {
        Call::native(self.order.clone(), command("ZRANK", &self.order, key), true)
    }

    async fn ask(&self, call: Call<'_>) -> Result<Value, RemoteError> {
        Ok(self.remote.connection().call(call, None, self.remote.deadline()).await?.value)
    }
}

fn command(name: &str, key: &[u8], member: &[u8]) -> Command {
    let mut command = Command::new(name);
    command.arg(key).arg(member);
    command
}

fn unexpected(what: &impl fmt::Debug) -> RemoteError {
    RemoteError::new(ErrorKind::Protocol, format!("{what:?}"))
}

fn only(pushed: Vec<Pushed>) -> Result<Pushed, RemoteError> {
    pushed.first().copied().ok_or_else(|| unexpected(&pushed))
}

fn array(value: Value) -> Result<Vec<Value>, RemoteError> {
    match value {
        Value::Array(values) => Ok(values),
        other => Err(unexpected(&other)),
    }
}

fn number(value: &Value) -> Option<u64> {
    if let Value::Int(number) = value { u64::try_from(*number).ok() } else { None }
}

fn rank(value: &Value) -> Result<Option<u64>, RemoteError> {
    match value {
        Value::Nil => Ok(None),
        value => number(value).map(Some).ok_or_else(|| unexpected(value)),
    }
}

fn text(value: &Value) -> Option<String> {
    if let Value::Bulk(bytes) = value { String::from_utf8(bytes.clone()).ok() } else { None }
}

/// `time:value`, the time in microseconds.
fn held_value(value: &Value) -> Option<(Tick, Vec<u8>)> {
    let Value::Bulk(bytes) = value else { return None };
    let colon = bytes.iter().position(|&byte| byte == b':')?;
    let micros: u64 = std::str::from_utf8(&bytes[..colon]).ok()?.parse().ok()?;
    Some((Tick(micros.checked_mul(1000)?), bytes[colon + 1..].to_vec()))
}

/// Key, number, and time:value.
fn entry(words: &[Value]) -> Option<RemoteEntry> {
    let [Value::Bulk(key), seq, held] = words else { return None };
    let (pushed_at, value) = held_value(held)?;
    Some(RemoteEntry { seq: number(seq)?, key: key.clone(), value, pushed_at })
}

impl fmt::Debug for RemoteFifo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteFifo")
            .field("order", &String::from_utf8_lossy(&self.order))
            .field("on_present", &self.on_present)
            .finish_non_exhaustive()
    }
}

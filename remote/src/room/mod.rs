//! How many are ahead, if one is let in every so often, over several machines?

use crate::{
    connection::{Call, Value},
    error::{ErrorKind, RemoteError},
    key::{Kind, Namespace},
    remote::Remote,
    script::{Script, script},
};
use std::{fmt, sync::LazyLock, time::Duration};
use windlass::ConfigError;

static ARRIVE: LazyLock<Script> = script!("now", "room/arrive");

/// Keys of a batch that go out together.
const TOGETHER: usize = 512;

/// For so long it is kept when nobody comes.
const LIFE: Duration = Duration::from_secs(86_400);

/// A waiting room: lets in one key every so often, in the order in which they came, and tells for each how many are before it, for any number of processes.
///
/// A key is put at the end of the queue when it is first seen. Every so often, first that long after the first key, the one that waits longest is let in; it stays so,
/// and is not put into the queue again. If none waits, none is let in, and nothing is saved up. There is no process that does it: whoever comes lets in first who is due by then.
///
/// ```no_run
/// use std::time::Duration;
/// use windlass_remote::{Remote, RemoteRoom};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), windlass_remote::RemoteError> {
/// let remote = Remote::connect("redis://localhost").await?;
/// let room = RemoteRoom::new(&remote, "sale", Duration::from_millis(200))?;
/// match room.arrive("session-4711").await? {
///     Some(ahead) => println!("{ahead} are before you"),
///     None => println!("come in"),
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Guarantees
/// Every call is one step of the engine's, by its clock: processes that ask the same room are told one order, and each key is let in once. A rank is exact when it is told; until somebody
/// is let in it stays as it is. All who share a room must give the same `every`.
///
/// - *An answer that is lost* is asked for again within the deadline: to come twice changes nothing.
/// - *A primary that is lost* takes along what it has not sent to its replica: keys that came last come again as new, and who was let in last waits again.
/// - *Time that goes back* stands still, by what the room has seen of it.
///
/// # Cost
/// One round trip; O(log n) in the engine, and as much again for each key that is let in. All of a room is in one slot, so on one node: some 200 bytes for each key that waits, 70 for each that was
/// let in. All of it is gone when nobody has come for a day, or for twice `every` if that is longer.
#[derive(Clone)]
pub struct RemoteRoom {
    remote: Remote,
    /// Its state, its order, the keys that it has seen.
    keys: [Vec<u8>; 3],
    /// In microseconds.
    every: u64,
}

/// What a [`RemoteRoom`] tells a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteRoomView {
    /// How many are before each key; `None`: it was let in.
    pub ranks: Vec<Option<u64>>,
    /// Keys that have ever come.
    pub keys: u64,
    /// Keys that wait.
    pub waiting: u64,
}

impl RemoteRoom {
    /// A room of that name (1 to 64 of `A-Z a-z 0-9 _ - .`), from which one is let in `every` so often: 1 us to 366 days, in whole microseconds.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] names the setting and its range. [`ErrorKind::Unsupported`]: the servers allow no scripts.
    pub fn new(remote: &Remote, name: &str, every: Duration) -> Result<RemoteRoom, RemoteError> {
        let namespace = Namespace::new(name)?;
        let whole = every.subsec_nanos().is_multiple_of(1000);
        let micros = u64::try_from(every.as_micros()).ok().filter(|micros| whole && LONGEST.contains(micros));
        let Some(every) = micros else {
            let limit = "1 us to 366 days, in whole microseconds".to_owned();
            return Err(ConfigError { field: "every", value: format!("{every:?}"), limit }.into());
        };
        if !remote.capabilities().scripts {
            let what = "a waiting room wants scripts, which the servers do not allow";
            return Err(RemoteError::new(ErrorKind::Unsupported, what));
        }
        let keys = [&b"state"[..], b"order", b"seen"].map(|part| namespace.part(b"", Kind::Room, part));
        Ok(RemoteRoom { remote: remote.clone(), keys, every })
    }

    /// A key comes, or asks where it stands: how many are before it. `None`: it was let in.
    ///
    /// # Errors
    /// By kind, with node and key.
    pub async fn arrive(&self, key: impl AsRef<[u8]>) -> Result<Option<u64>, RemoteError> {
        let view = self.ask(&[key.as_ref()], None).await?;
        view.ranks.first().copied().ok_or_else(|| unexpected(&"no answer"))
    }

    /// Many keys, in order: in steps of 512 that each are one of the engine's. Of none it tells how many there are.
    ///
    /// # Errors
    /// As [`RemoteRoom::arrive`]: then the keys of steps before have come, and of the rest nothing is known.
    pub async fn arrive_batch<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<RemoteRoomView, RemoteError> {
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let mut view = RemoteRoomView::default();
        let mut chunks = keys.chunks(TOGETHER);
        // One step at least.
        let mut chunk = chunks.next().unwrap_or_default();
        loop {
            let step = self.ask(chunk, None).await?;
            view.ranks.extend(step.ranks);
            (view.keys, view.waiting) = (step.keys, step.waiting);
            match chunks.next() {
                Some(next) => chunk = next,
                None => return Ok(view),
            }
        }
    }

    /// .. at a time that the caller says, in microseconds: to compare with other implementations.
    ///
    /// # Errors
    /// As [`RemoteRoom::arrive`].
    #[doc(hidden)]
    pub async fn arrive_at(&self, keys: &[&[u8]], at: u64) -> Result<RemoteRoomView, RemoteError> {
        self.ask(keys, Some(at)).await
    }

    async fn ask(&self, keys: &[&[u8]], at: Option<u64>) -> Result<RemoteRoomView, RemoteError> {
        let life = (self.every / 1000 * 2).max(u64::try_from(LIFE.as_millis()).unwrap_or(u64::MAX));
        let mut arguments = vec![at.map(|at| at.to_string()).unwrap_or_default().into_bytes()];
        arguments.extend([self.every, life].map(|number| number.to_string().into_bytes()));
        arguments.extend(keys.iter().map(|key| key.to_vec()));
        // To come twice is as good as once.
        let call = Call::script_of(self.keys.to_vec(), &ARRIVE, arguments, true);
        let value = self.remote.connection().call(call, None, self.remote.deadline()).await?.value;
        let view = read(&value).filter(|view| view.ranks.len() == keys.len());
        view.ok_or_else(|| unexpected(&value))
    }
}

/// Microseconds.
const LONGEST: std::ops::RangeInclusive<u64> = 1..=366 * 86_400_000_000;

fn read(value: &Value) -> Option<RemoteRoomView> {
    let Value::Array(values) = value else { return None };
    let number = |value: &Value| if let Value::Int(number) = value { Some(*number) } else { None };
    let (figures, ranks) = values.split_at_checked(2)?;
    let ranks = ranks.iter().map(|rank| number(rank).map(|rank| u64::try_from(rank).ok()));
    let [keys, waiting] = [number(&figures[0])?, number(&figures[1])?];
    let (keys, waiting) = (u64::try_from(keys).ok()?, u64::try_from(waiting).ok()?);
    Some(RemoteRoomView { ranks: ranks.collect::<Option<_>>()?, keys, waiting })
}

fn unexpected(what: &impl fmt::Debug) -> RemoteError {
    RemoteError::new(ErrorKind::Protocol, format!("{what:?}"))
}

impl fmt::Debug for RemoteRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteRoom")
            .field("order", &String::from_utf8_lossy(&self.keys[1]))
            .field("every", &Duration::from_micros(self.every))
            .finish_non_exhaustive()
    }
}

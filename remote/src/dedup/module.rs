//! Ids by windlass' module in the servers: `WL.ADMIT`, many ids in a command.

use super::token::Token;
use crate::{
    connection::{Answer, Call, Command, Connection, Reply, Span, Value},
    deadline::Deadline,
    error::{ErrorKind, RemoteError},
    key::{self, Kind, Namespace},
};
use std::{collections::HashMap, sync::LazyLock};
use windlass::Seed;

/// Keys that the ids of a namespace are spread over. Few, so that a batch is few commands; and enough that the primaries of a cluster have
/// about as many each.
const KEYS: u16 = 32;

/// The longest window that the module has, in milliseconds: a year and a day.
pub(super) const LONGEST: u64 = 366 * 86_400_000;

/// The tags of the keys. Each is the least number whose slot is of the 32nd of all slots that is the key's, so that they are spread evenly.
static TAGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let span = key::SLOTS / KEYS;
    let of = |at: u16| (0_u64..).map(|n| n.to_string()).find(|tag| key::slot(tag.as_bytes()) / span == at);
    (0..KEYS).filter_map(of).collect()
});

/// Which of its namespace's keys an id is in.
fn place(id: &[u8]) -> usize {
    // The same for all who ask. (Where it lies in its key is by another seed, which nobody knows.)
    usize::try_from(Seed(0).hash(id).hi >> (64 - KEYS.ilog2())).unwrap_or(0)
}

pub(super) fn key(kind: Kind, namespace: &Namespace, id: &[u8]) -> Vec<u8> {
    namespace.share(kind, &TAGS[place(id)])
}

fn command(name: &str, key: &[u8]) -> Command {
    let mut command = Command::new(name);
    command.arg(key);
    command
}

/// The answers to events, of which no two have the same id and token: those of one key and token are asked about in one command. Each is 1, 2 or 0.
pub(super) async fn admit(
    connection: &Connection,
    namespace: &Namespace,
    (events, window): (&[(&[u8], Token)], &Span),
    confirm: Option<u32>,
    deadline: Deadline,
) -> Vec<Answer> {
    let mut groups: HashMap<(usize, Token), Vec<usize>> = HashMap::new();
    for (index, (id, token)) in events.iter().enumerate() {
        groups.entry((place(id), *token)).or_default().push(index);
    }
    let call = |((place, token), group): ((usize, Token), Vec<usize>)| {
        let key = namespace.share(Kind::DedupModule, &TAGS[place]);
        let mut command = command("WL.ADMIT", &key);
        command.arg(window.millis).arg(&token.bytes()[..]);
        for &index in &group {
            command.arg(events[index].0);
        }
        // With the same token it admits nothing more, and the answers are the same.
        (group, Call::native(key, command, true))
    };
    let (groups, calls): (Vec<Vec<usize>>, Vec<Call<'_>>) = groups.into_iter().map(call).unzip();
    let replies = connection.batch(&calls, confirm, deadline).await;
    let none = || Err(RemoteError::new(ErrorKind::Protocol, "no answer"));
    let mut answers: Vec<Answer> = events.iter().map(|_| none()).collect();
    for ((group, call), reply) in groups.into_iter().zip(&calls).zip(replies) {
        let each = each(reply, group.len());
        for (index, answer) in group.into_iter().zip(each) {
            answers[index] = answer.map_err(|error| error.with_key(&call.key.to_vec()));
        }
    }
    answers
}

/// The answer to a command about so many ids, as one for each.
fn each(reply: Answer, ids: usize) -> Vec<Answer> {
    let Reply { value, replicas } = match reply {
        Ok(reply) => reply,
        Err(error) => return vec![Err(error); ids],
    };
    match value {
        Value::Array(values) if values.len() == ids => values
            .into_iter()
            .map(|value| match value {
                Value::Error(error) => Err(error.to_error()),
                value => Ok(Reply { value, replicas }),
            })
            .collect(),
        other => vec![Err(RemoteError::new(ErrorKind::Protocol, format!("{other:?}"))); ids],
    }
}

/// Lets an id count as seen for so long from now, unless it does: by a claim that is never settled, whose lease is rounded up by at most a 16th.
pub(super) fn tell(namespace: &Namespace, id: &[u8], left: &Span, window: &Span) -> Call<'static> {
    let key = key(Kind::DedupModule, namespace, id);
    let mut command = command("WL.CLAIM", &key);
    command.arg(window.millis).arg(left.millis.min(window.millis)).arg(id);
    Call::native(key, command, true)
}

/// Whether an id is there.
pub(super) fn contains(namespace: &Namespace, id: &[u8]) -> Call<'static> {
    let key = key(Kind::DedupModule, namespace, id);
    let mut command = command("WL.PEEK", &key);
    command.arg(id);
    Call::native(key, command, true)
}

/// Admits an id at a time that the caller says, in milliseconds.
pub(super) fn admit_at(namespace: &Namespace, id: &[u8], now: u64, window: &Span) -> Call<'static> {
    let key = key(Kind::DedupModuleAt, namespace, id);
    let mut command = Command::new("WL.AT");
    command.arg(now.saturating_mul(1000)).arg("DEDUP").arg(key.as_slice()).arg(window.millis).arg(id);
    Call::native(key, command, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is in servers is found by these: they do not change.
    #[test]
    fn keys_are_spread() {
        assert_eq!(TAGS.len(), usize::from(KEYS));
        for (tag, at) in TAGS.iter().zip(0_u16..) {
            let key = Namespace::new("orders").expect("a name").share(Kind::DedupModule, tag);
            assert_eq!(key::slot(&key) / 512, at, "{tag}");
        }
        assert_eq!(TAGS[..4], ["10", "113", "21", "3"]);
        let mut ids = [0; KEYS as usize];
        (0..32_000).for_each(|id: u32| ids[place(format!("order-{id}").as_bytes())] += 1);
        assert!(ids.iter().all(|own| (850..1150).contains(own)), "{ids:?}");
        assert_eq!([place(b"order-4711"), place(b""), place(b"{a}")], [11, 19, 0]);
    }
}

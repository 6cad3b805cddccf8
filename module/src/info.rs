//! What the module tells of itself and of a key; keys that are made of bytes.

use crate::{
    bloom::BloomKey,
    call::Call,
    count::CountKey,
    dedup::DedupKey,
    fifo::FifoKey,
    limit::LimitKey,
    reply::{Answer, Failure, Reply},
    server::Sent,
    topk::TopKey,
    types::{self, Parts, Value},
};

/// Of commands, words and answers: a change that breaks callers is another number.
const VOCABULARY: u64 = 1;

/// The module's version, and that of its commands.
pub(crate) fn version(_: &mut Call<'_>) -> Answer {
    let version = Reply::Bytes(env!("CARGO_PKG_VERSION").as_bytes().to_vec());
    Ok(Reply::List(vec![version, Reply::Number(VOCABULARY)]))
}

/// Calls `$body` for each type of keys, as `$T`, until one gives something.
macro_rules! each_type {
    ($T:ident => $body:expr) => {
        each_type!($T => $body; DedupKey, LimitKey, BloomKey, CountKey, TopKey, FifoKey)
    };
    ($T:ident => $body:expr; $($type:ty),*) => {
        $({
            type $T = $type;
            if let Some(answer) = $body {
                return answer;
            }
        })*
    };
}

/// `key`: what it is, and its figures.
pub(crate) fn info(call: &mut Call<'_>) -> Answer {
    let mut key = call.key_to_read()?;
    if key.is_empty() {
        return Ok(Reply::Null);
    }
    let now = call.now(0);
    each_type!(T => match key.value::<T>() {
        Ok(Some(value)) => Some(Ok(Reply::Map(value.figures(now)))),
        _ => None,
    });
    Err(Failure::WrongType)
}

/// `key type [PART | NEW] bytes`: makes the key of what a value of that type was saved as. Of parts, those before the last are kept until it comes; a new one is made of
/// its settings and its seed.
pub(crate) fn load(call: &mut Call<'_>) -> Answer {
    let (kind, last) = (call.word(1)?, call.words.len() - 1);
    let option = (last == 3).then(|| call.word(2)).transpose()?;
    let (is_part, is_new) = (option.is_some_and(|o| o.is("PART")), option.is_some_and(|o| o.is("NEW")));
    if option.is_some() && !is_part && !is_new {
        return Err(Failure::Told("ERR syntax error".into()));
    }
    let bytes = call.word(last)?.bytes();
    let mut key = call.key_to_write()?;
    let before = match key.value::<Parts>() {
        Ok(Some(parts)) => Some(std::mem::take(&mut parts.0)),
        _ => None,
    };
    if is_part {
        let mut parts = before.unwrap_or_default();
        parts.extend_from_slice(bytes);
        key.set(Parts(parts))?;
        return sent(call);
    }
    let whole = before.map(|mut parts| {
        parts.extend_from_slice(bytes);
        parts
    });
    let bytes = whole.as_deref().unwrap_or(bytes);
    each_type!(T => (kind.bytes() == T::NAME.to_bytes()).then(|| {
        key.set(types::from_bytes(bytes, if is_new { T::of_seed } else { T::load })?)?;
        sent(call)
    }));
    Err(Failure::new("a type that is not known"))
}

/// As it came: it says everything.
fn sent(call: &Call<'_>) -> Answer {
    call.server.replicate_load(call.words.iter().map(|&word| Sent::Word(word)));
    call.server.changed(call.word(0)?);
    Ok(Reply::Word("OK"))
}

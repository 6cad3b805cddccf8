//! What limiters have in a snapshot: quotas, states and logs.
//!
//! **Order.** States are read before the terms by which they were made. Whoever published one had loaded its terms before; so the terms that are read are those, or
//! later ones, for which the state means what it did: what is restored is as if the quota had changed when all else had been read.

use super::{
    algorithm::{Algorithm, Rule},
    change::{SavedTerms, Terms},
    meter::STATE_BITS,
    quota::Quota,
    ring::{LAST, Ring},
    single::{Core, Limiter},
    sole::{Log, State},
    word::Word,
};
use crate::{
    codec::{Reader, RestoreError, Writer},
    sync::epoch::{Link, pin},
};
use std::{
    io::{self, Read, Write},
    time::Duration,
};

/// permits | ns | whether it has a burst (1) | burst
pub(super) fn write_quota<W: Write>(quota: Quota, writer: &mut Writer<W>) -> io::Result<()> {
    writer.u64(quota.permits)?;
    writer.u64(u64::try_from(quota.per.as_nanos()).unwrap_or(u64::MAX))?;
    writer.u8(quota.burst.is_some().into())?;
    writer.u64(quota.burst.unwrap_or(0))
}

pub(super) fn read_quota<R: Read>(reader: &mut Reader<R>) -> Result<Quota, RestoreError> {
    let quota = Quota::new(reader.u64("permits")?, Duration::from_nanos(reader.u64("time of quota")?));
    let has_burst = flag(reader, "burst")?;
    let burst = reader.u64("burst")?;
    Ok(if has_burst { quota.burst(burst) } else { quota })
}

pub(super) fn flag<R: Read>(reader: &mut Reader<R>, part: &'static str) -> Result<bool, RestoreError> {
    match reader.u8(part)? {
        byte @ 0..=1 => Ok(byte == 1),
        byte => Err(reader.wrong(part, format!("{byte}, where 0 and 1 are possible"))),
    }
}

/// whether they have changed (1) | quota | interval | course: stamp, time | whole
pub(super) fn write_terms<W: Write>(saved: Option<SavedTerms>, writer: &mut Writer<W>) -> io::Result<()> {
    writer.u8(saved.is_some().into())?;
    let Some(SavedTerms { quota, interval, since: (from, base), whole }) = saved else { return Ok(()) };
    write_quota(quota, writer)?;
    [interval, from, base, whole].into_iter().try_for_each(|word| writer.u64(word))
}

pub(super) fn read_terms<R: Read>(reader: &mut Reader<R>) -> Result<Option<SavedTerms>, RestoreError> {
    if !flag(reader, "change of quota")? {
        return Ok(None);
    }
    let quota = read_quota(reader)?;
    let (interval, from) = (reader.u64("interval")?, reader.u64("stamp of change")?);
    let (base, whole) = (reader.u64("time of change")?, reader.u64("whole bucket")?);
    Ok(Some(SavedTerms { quota, interval, since: (from, base), whole }))
}

/// How many times | how many of them were given back | the times, the oldest first. `times`: room for them.
pub(super) fn write_ring<W: Write>(
    ring: Ring<'_>,
    times: &mut Vec<u64>,
    writer: &mut Writer<W>,
) -> io::Result<()> {
    let given_back = ring.saved(times);
    writer.u64(times.len() as u64)?;
    writer.u64(given_back)?;
    times.iter().try_for_each(|&time| writer.u64(time))
}

/// The times, in their order, and no more than `most`; how many were given back.
pub(super) fn read_ring<R: Read>(
    most: usize,
    times: &mut Vec<u64>,
    reader: &mut Reader<R>,
) -> Result<u64, RestoreError> {
    let count = reader.u64("number of times")?;
    if count > most as u64 {
        return Err(reader.wrong("number of times", format!("{count}, where {most} are possible")));
    }
    let given_back = reader.u64("times given back")?;
    if given_back > count {
        return Err(reader.wrong("times given back", format!("{given_back} of {count}")));
    }
    times.clear();
    for _ in 0..count {
        let time = reader.u64("time of a permit")?;
        if time > LAST || times.last().is_some_and(|&before| before > time) {
            return Err(reader.wrong("time of a permit", "before another one, or too late"));
        }
        times.push(time);
    }
    Ok(given_back)
}

impl Core {
    /// state, or log: filled up with zeros to its length; then its terms
    pub(super) fn write<W: Write>(&self, writer: &mut Writer<W>) -> io::Result<()> {
        match &self.state {
            State::Tat(_, word) | State::Fixed(_, word) | State::Sliding(_, word) => {
                writer.u64(word.load())?;
            }
            State::Log(rule, log) => {
                let mut times = Vec::new();
                write_ring(log.ring(*rule), &mut times, writer)?;
                // (So that no reader takes memory for what it has not read.)
                (times.len() as u64..rule.limit).try_for_each(|_| writer.u64(0))?;
            }
        }
        // Acquire, in `Link`: see above.
        let saved = self.changed.get(&pin()).map(Terms::saved);
        write_terms(saved, writer)
    }

    /// One like that, as it was built.
    pub(super) fn restored<R: Read>(
        algorithm: Algorithm,
        quota: Quota,
        in_set: bool,
        reader: &mut Reader<R>,
    ) -> Result<Core, RestoreError> {
        let rule = algorithm.rule_for(in_set, quota)?;
        let terms = Terms::new(quota, rule);
        let state = match rule {
            Rule::Tat(tat) => State::Tat(tat, read_word(reader)?),
            Rule::Fixed(fixed) => State::Fixed(fixed, read_word(reader)?),
            Rule::Sliding(sliding) => State::Sliding(sliding, read_word(reader)?),
            Rule::Log(rule) => {
                let mut times = Vec::new();
                let most = usize::try_from(rule.limit).unwrap_or(usize::MAX);
                let given_back = read_ring(most, &mut times, reader)?;
                for _ in times.len()..most {
                    if reader.u64("time of a permit")? != 0 {
                        return Err(reader.wrong("time of a permit", "one behind the last"));
                    }
                }
                let log = Log::new(rule);
                log.ring(rule).put_back(&times, given_back);
                State::Log(rule, log)
            }
        };
        let changed = match read_terms(reader)? {
            None => Link::none(),
            Some(saved) => match terms.resumed((algorithm, in_set), saved) {
                Some(changed) => Link::new(changed),
                None => return Err(reader.wrong("change of quota", "not one that there can be")),
            },
        };
        Ok(Core { state, algorithm, in_set, terms, changed })
    }
}

fn read_word<R: Read>(reader: &mut Reader<R>) -> Result<Word, RestoreError> {
    let state = reader.u64("state")?;
    if state >> STATE_BITS > 0 {
        return Err(reader.wrong("state", "longer than there are"));
    }
    Ok(Word::of(state))
}

impl Limiter {
    /// its core | the first stamp
    pub(super) fn write<W: Write>(&self, writer: &mut Writer<W>) -> io::Result<()> {
        self.core.write(writer)?;
        // After the state: what is there has an origin. Relaxed: who has seen it has acquired what came before it.
        writer.u64(self.origin.saved())
    }

    /// A client's own.
    pub(super) fn of<R: Read>(
        algorithm: Algorithm,
        quota: Quota,
        reader: &mut Reader<R>,
    ) -> Result<Limiter, RestoreError> {
        Limiter::builder(quota).algorithm(algorithm).build()?.refilled(reader)
    }

    /// This one, which is new, with what another had that was built alike.
    pub(super) fn refilled<R: Read>(self, reader: &mut Reader<R>) -> Result<Limiter, RestoreError> {
        let Core { algorithm, in_set, terms, .. } = self.core;
        let core = Core::restored(algorithm, terms.quota, in_set, reader)?;
        let origin = reader.u64("origin")?;
        let origin = self.origin.resumed(origin).ok_or_else(|| reader.wrong("origin", "not one"))?;
        Ok(Limiter { core, origin, ..self })
    }
}

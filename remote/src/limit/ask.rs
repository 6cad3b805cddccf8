//! What is asked of the engine about limits, and what it says.

use super::{
    module::Module,
    rule::{Rule, unexpected},
};
use crate::{
    connection::{Call, Command, Reply, Value},
    error::RemoteError,
    key::{Kind, Namespace},
    script::{Script, script},
};
use std::{sync::LazyLock, time::Duration};
use windlass::Admission;

static TAT: LazyLock<Script> = script!("now", "limit/head", "limit/tat", "limit/main");
static FIXED: LazyLock<Script> = script!("now", "limit/head", "limit/fixed", "limit/main");
static SLIDING: LazyLock<Script> = script!("now", "limit/head", "limit/sliding", "limit/main");
static LOG: LazyLock<Script> = script!("now", "limit/head", "limit/log", "limit/main");
/// For several limits in one decision.
static ALL: LazyLock<Script> =
    script!("now", "limit/head", "limit/tat", "limit/fixed", "limit/sliding", "limit/log", "limit/main");

/// How limits are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    Script,
    /// A fixed window without a script: a bounded increment (INCREX).
    Bounded,
    /// .. `MULTI; INCRBY; PEXPIRE NX; EXEC`, from 7.0 on: what is refused counts as well.
    Counted,
    /// By windlass' module.
    Module(Module),
}

/// A question.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ask {
    /// The time in microseconds, if it is not the engine's.
    pub(crate) at: Option<u64>,
    /// Nothing is taken.
    pub(crate) looks: bool,
    /// What is charged in any case, before.
    pub(crate) charged: u64,
    /// Permits, at least; or none.
    pub(crate) least: u64,
    /// .. and as many as there are, at most these.
    pub(crate) most: u64,
}

impl Ask {
    pub(crate) fn cost(cost: u64) -> Ask {
        Ask { least: cost, most: cost, ..Ask::default() }
    }
}

/// An answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) admission: Admission,
    /// Permits that were taken.
    pub(crate) taken: u64,
    /// When these are over, if that is at one time for all.
    pub(crate) ends_after: Option<Duration>,
}

fn words(ask: &Ask) -> Vec<Vec<u8>> {
    let mut words = vec![ask.at.map(|at| at.to_string()).unwrap_or_default().into_bytes()];
    let numbers = [u64::from(ask.looks), ask.charged, ask.least, ask.most];
    words.extend(numbers.map(|number| number.to_string().into_bytes()));
    words
}

fn rule_words(rule: &Rule) -> impl Iterator<Item = Vec<u8>> {
    let numbers = rule.numbers().map(|number| number.to_string().into_bytes());
    std::iter::once(rule.name().as_bytes().to_vec()).chain(numbers)
}

impl Rule {
    /// The second word of keys: logical time has others.
    pub(super) fn kind(&self, at: bool) -> Kind {
        Kind::Limit(match (self, at) {
            (Rule::Tat { .. }, false) => "lt",
            (Rule::Fixed { .. }, false) => "lf",
            (Rule::Sliding { .. }, false) => "ls",
            (Rule::Log { .. }, false) => "lg",
            (Rule::Tat { .. }, true) => "lt@",
            (Rule::Fixed { .. }, true) => "lf@",
            (Rule::Sliding { .. }, true) => "ls@",
            (Rule::Log { .. }, true) => "lg@",
        })
    }
}

impl Tier {
    pub(super) fn key(self, rule: &Rule, namespace: &Namespace, client: &[u8], at: bool) -> Vec<u8> {
        let kind = match self {
            Tier::Script => rule.kind(at),
            Tier::Module(_) => Kind::Limit("lm"),
            Tier::Bounded | Tier::Counted => Kind::Limit("ln"),
        };
        namespace.item(kind, client)
    }

    /// A decision about one client.
    pub(super) fn call(self, rule: &Rule, namespace: &Namespace, client: &[u8], ask: &Ask) -> Call<'static> {
        let key = self.key(rule, namespace, client, ask.at.is_some());
        let repeatable = ask.looks;
        if self == Tier::Script {
            let script = match rule {
                Rule::Tat { .. } => &TAT,
                Rule::Fixed { .. } => &FIXED,
                Rule::Sliding { .. } => &SLIDING,
                Rule::Log { .. } => &LOG,
            };
            let mut arguments = words(ask);
            arguments.extend(rule_words(rule));
            return Call::script(key, script, arguments, repeatable);
        }
        if let Tier::Module(module) = self {
            let command = module.command(&key, ask);
            return Call::native(key, command, repeatable);
        }
        let [limit, window, _] = rule.numbers();
        let millis = window.div_ceil(1000);
        let command = |name: &str| {
            let mut command = Command::new(name);
            command.arg(key.as_slice());
            command
        };
        let mut commands = Vec::new();
        match self {
            _ if ask.looks || ask.least == 0 => commands.push(command("GET")),
            Tier::Bounded => {
                let mut add = command("INCREX");
                add.arg("BYINT").arg(ask.least).arg("UBOUND").arg(limit).arg("PX").arg(millis).arg("ENX");
                commands.push(add);
            }
            Tier::Counted | Tier::Script | Tier::Module(_) => {
                let mut add = command("INCRBY");
                add.arg(ask.least);
                let mut end = command("PEXPIRE");
                end.arg(millis).arg("NX");
                commands.extend([add, end]);
            }
        }
        commands.push(command("PTTL"));
        Call::transaction(key, commands, repeatable)
    }

    pub(super) fn told(self, rule: &Rule, reply: &Reply, ask: &Ask) -> Result<Told, RemoteError> {
        if let Tier::Module(_) = self {
            return super::module::told(&reply.value, ask).ok_or_else(|| unexpected(&reply.value));
        }
        let stands = match self {
            Tier::Script => {
                let (taken, stands) = read(&reply.value).ok_or_else(|| unexpected(&reply.value))?;
                let [stands] = stands.as_slice() else { return Err(unexpected(&reply.value)) };
                let cost = if taken > 0 { taken } else { ask.least };
                let admission = rule.answer(stands, cost)?;
                return Ok(Told { admission, taken, ends_after: rule.ends_after(stands) });
            }
            _ => self.window(rule, &reply.value, ask).ok_or_else(|| unexpected(&reply.value))?,
        };
        let admission = rule.answer(&stands, ask.least)?;
        let taken = if admission.is_allowed() { ask.least } else { 0 };
        Ok(Told { admission, taken, ends_after: rule.ends_after(&stands) })
    }

    /// How a window stood before, as the scripts tell it: what was taken, and microseconds to its end.
    fn window(self, rule: &Rule, value: &Value, ask: &Ask) -> Option<[i64; 2]> {
        let Value::Array(values) = value else { return None };
        let cost = i64::try_from(ask.least).ok()?;
        let taken = match (self, values.first()?) {
            (_, Value::Nil) => 0,
            (_, Value::Bulk(text)) => std::str::from_utf8(text).ok()?.parse().ok()?,
            (Tier::Counted, Value::Int(with)) => with - cost,
            (Tier::Bounded, Value::Array(pair)) => match pair.as_slice() {
                [Value::Int(now), Value::Int(added)] => now - added,
                _ => return None,
            },
            _ => return None,
        };
        let left = match values.last()? {
            Value::Int(millis) if *millis >= 0 => millis * 1000,
            // Nothing is there.
            _ => i64::try_from(rule.numbers()[1]).ok()?,
        };
        Some([taken, left])
    }
}

/// A decision about several limits, each with its key, all in one slot.
pub(super) fn call_all(limits: &[(Vec<u8>, &Rule)], ask: &Ask) -> Call<'static> {
    let mut arguments = words(ask);
    arguments.extend(limits.iter().flat_map(|(_, rule)| rule_words(rule)));
    Call::script_of(limits.iter().map(|(key, _)| key.clone()).collect(), &ALL, arguments, ask.looks)
}

/// What was taken, and how each limit stood before.
pub(super) fn read(value: &Value) -> Option<(u64, Vec<Vec<i64>>)> {
    let Value::Array(values) = value else { return None };
    let (Value::Int(taken), limits) = values.split_first()? else { return None };
    let number = |value: &Value| if let Value::Int(number) = value { Some(*number) } else { None };
    let numbers = |value: &Value| match value {
        Value::Array(values) => values.iter().map(number).collect(),
        _ => None,
    };
    Some((u64::try_from(*taken).ok()?, limits.iter().map(numbers).collect::<Option<_>>()?))
}

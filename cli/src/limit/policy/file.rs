//! The file of `--policy`: which limits there are. What is wrong is told with its line, its limit and its field.

use std::{collections::HashMap, fmt, fs, io::Read, ops::Range, path::Path};

use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};
use windlass::{ConfigError, LimitRule, LimitSet, OnUnknown, Quota};

use super::super::judge::algorithm;
use crate::{
    args::{AlgorithmKind, UnknownKind},
    failure::{Failure, reason, show},
};

/// One limit as the file has it.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    pub(super) name: String,
    /// Of no fields it is one for all.
    pub(super) key: Vec<String>,
    pub(super) quota: Quota,
    pub(super) algorithm: AlgorithmKind,
    clients: Option<usize>,
    on_unknown: UnknownKind,
}

impl Limit {
    pub(super) fn rule(&self) -> LimitRule {
        let rule = match self.key[..] {
            [] => LimitRule::global(&self.name, self.quota),
            _ => LimitRule::keyed(&self.name, self.quota),
        };
        let rule = rule.algorithm(algorithm(self.algorithm)).on_unknown(match self.on_unknown {
            UnknownKind::Allow => OnUnknown::Allow,
            UnknownKind::Deny => OnUnknown::Deny,
        });
        self.clients.map_or(rule.clone(), |clients| rule.clients(clients))
    }
}

/// All that says what it means.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Limit { name, key, quota, algorithm, clients, .. } = self;
        write!(f, "{}: {quota} by {}", show(name.as_bytes()), algorithm.name())?;
        if !key.is_empty() {
            write!(f, " for each {}", key.join(", "))?;
        }
        clients.map_or(Ok(()), |clients| write!(f, ", clients {clients}"))
    }
}

/// More than a set can have is refused by it; this is for reading.
const FIELDS: [&str; 7] = ["name", "key", "quota", "burst", "algorithm", "clients", "on_unknown"];

type Value<'i> = Spanned<DeValue<'i>>;

/// A file, and where in it something is.
struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    fn line(&self, at: usize) -> usize {
        self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    fn bad(&self, at: usize, what: impl fmt::Display) -> Failure {
        Failure::bad(format_args!("{}:{}: {what}", self.path.display(), self.line(at)))
    }
}

/// One table of a limit, while it is read.
struct Table<'a, 'i> {
    file: &'a File<'a>,
    fields: &'a DeTable<'i>,
    /// Where it begins.
    at: Range<usize>,
    /// `limit "tenant"`, or its number as long as it has no name.
    called: String,
}

impl<'i> Table<'_, 'i> {
    fn get(&self, field: &str) -> Option<&Value<'i>> {
        self.fields.get(field)
    }

    fn bad(&self, field: &str, what: impl fmt::Display) -> Failure {
        let at = self.get(field).map_or(self.at.start, |value| value.span().start);
        self.file.bad(at, format_args!("{}: {field}: {what}", self.called))
    }

    fn text(&self, field: &str) -> Result<Option<&str>, Failure> {
        let Some(value) = self.get(field) else { return Ok(None) };
        let text = value.get_ref().as_str();
        text.map(Some).ok_or_else(|| self.bad(field, format_args!("a text, not {}", a(value.get_ref()))))
    }

    fn number(&self, field: &str) -> Result<Option<u64>, Failure> {
        let Some(value) = self.get(field) else { return Ok(None) };
        let DeValue::Integer(number) = value.get_ref() else {
            return Err(self.bad(field, format_args!("a whole number, not {}", a(value.get_ref()))));
        };
        let read = u64::from_str_radix(number.as_str(), number.radix());
        read.map(Some).map_err(|_| self.bad(field, format_args!("{} is out of range", number.as_str())))
    }

    fn choice<C: clap::ValueEnum>(&self, field: &str, default: C) -> Result<C, Failure> {
        let Some(text) = self.text(field)? else { return Ok(default) };
        C::from_str(text, false).map_err(|_| {
            let possible = C::value_variants().iter().filter_map(clap::ValueEnum::to_possible_value);
            let names: Vec<String> = possible.map(|value| value.get_name().to_owned()).collect();
            self.bad(field, format_args!("{} is none of {}", show(text.as_bytes()), names.join(", ")))
        })
    }

    /// A field's name, or several.
    fn key(&self) -> Result<Vec<String>, Failure> {
        let name = |value: &DeValue<'_>| match value.as_str() {
            Some("") => Err(self.bad("key", "a field's name is empty")),
            Some(name) => Ok(name.to_owned()),
            None => Err(self.bad("key", format_args!("a field's name or a list of such, not {}", a(value)))),
        };
        match self.get("key").map(Spanned::get_ref) {
            None => Ok(Vec::new()),
            Some(DeValue::Array(names)) if names.is_empty() => {
                Err(self.bad("key", "no fields; without key it is one limit for all"))
            }
            Some(DeValue::Array(names)) => names.iter().map(|value| name(value.get_ref())).collect(),
            Some(value) => Ok(vec![name(value)?]),
        }
    }

    fn read(&mut self, number: usize) -> Result<Limit, Failure> {
        self.called = format!("limit {number}");
        let name = self.text("name")?.ok_or_else(|| self.bad("name", "is missing"))?.to_owned();
        if name.is_empty() {
            return Err(self.bad("name", "is empty"));
        }
        self.called = format!("limit {}", show(name.as_bytes()));
        self.only_known()?;
        let quota = self.text("quota")?.ok_or_else(|| self.bad("quota", "is missing"))?;
        if quota.contains("burst") {
            return Err(self.bad("quota", "the burst is a field of its own: burst = N"));
        }
        let read = quota.parse::<Quota>();
        let quota = read.map_err(|error| self.bad("quota", out_of_range(&error)))?;
        let limit = Limit {
            key: self.key()?,
            quota: self.number("burst")?.map_or(quota, |burst| quota.burst(burst)),
            algorithm: self.choice("algorithm", AlgorithmKind::Gcra)?,
            clients: self.number("clients")?.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
            on_unknown: self.choice("on_unknown", UnknownKind::Deny)?,
            name,
        };
        for field in ["clients", "on_unknown"] {
            if limit.key.is_empty() && self.get(field).is_some() {
                return Err(self.bad(field, "has no meaning without key: it is one limit for all"));
            }
        }
        // By itself, so that what is wrong has its place.
        match LimitSet::builder().limit(limit.rule()).build() {
            Ok(_) => Ok(limit),
            Err(error) => {
                let of = format!(" of {:?}", limit.name);
                let value = error.value.strip_suffix(&of).unwrap_or(&error.value).to_owned();
                let field = FIELDS.iter().find(|&&field| field == error.field).copied().unwrap_or("quota");
                Err(self.bad(field, out_of_range(&ConfigError { value, ..error })))
            }
        }
    }

    fn only_known(&self) -> Result<(), Failure> {
        match first_unknown(self.fields, &FIELDS) {
            None => Ok(()),
            Some(name) => Err(self.file.bad(
                name.span().start,
                format_args!("{}: {}: no such field: {}", self.called, name.get_ref(), FIELDS.join(", ")),
            )),
        }
    }
}

fn out_of_range(error: &ConfigError) -> String {
    format!("{} is out of range: {}", error.value, error.limit)
}

/// What a value is.
fn a(value: &DeValue<'_>) -> String {
    format!("a value of type {}", value.type_str())
}

/// In the order of the file.
fn first_unknown<'a, 'i>(table: &'a DeTable<'i>, known: &[&str]) -> Option<&'a Spanned<DeString<'i>>> {
    let unknown = table.keys().filter(|name| !known.contains(&name.get_ref().as_ref()));
    unknown.min_by_key(|name| name.span().start)
}

/// Bytes of a file, which eight limits are far from.
const LONGEST: u64 = 1 << 20;

/// The limits of a file, in order.
pub(super) fn read(path: &Path) -> Result<Vec<Limit>, Failure> {
    let bad = |what: &str| Failure::bad(format_args!("--policy {}: {what}", path.display()));
    let mut text = String::new();
    let read = fs::File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    if read.map_err(|error| bad(&reason(&error)))? as u64 > LONGEST {
        return Err(bad("is longer than 1 MiB"));
    }
    parse(path, &text)
}

/// .. of its text.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Vec<Limit>, Failure> {
    let file = File { path, text };
    let root = DeTable::parse(text).map_err(|error| {
        let message: Vec<&str> = error.message().split_whitespace().collect();
        file.bad(error.span().map_or(0, |span| span.start), message.join(" "))
    })?;
    let root = root.get_ref();
    if let Some(name) = first_unknown(root, &["limit"]) {
        let what = format!("{}: no such field: a policy has tables [[limit]]", name.get_ref());
        return Err(file.bad(name.span().start, what));
    }
    let Some(tables) = root.get("limit") else {
        return Err(file.bad(0, "no limit: a policy has a table [[limit]] for each"));
    };
    let DeValue::Array(tables) = tables.get_ref() else {
        return Err(file.bad(tables.span().start, "limit: a table [[limit]] for each, with two brackets"));
    };
    let mut lines: HashMap<String, usize> = HashMap::new();
    let mut limits = Vec::new();
    for (i, table) in tables.iter().enumerate() {
        let at = table.span();
        let DeValue::Table(fields) = table.get_ref() else {
            return Err(
                file.bad(at.start, format_args!("limit {}: a table, not {}", i + 1, a(table.get_ref())))
            );
        };
        if i == MOST {
            return Err(file.bad(at.start, format_args!("limit {}: {MOST} limits at most", i + 1)));
        }
        let mut table = Table { file: &file, fields, at, called: String::new() };
        let limit = table.read(i + 1)?;
        let line = file.line(table.at.start);
        if let Some(first) = lines.insert(limit.name.clone(), line) {
            return Err(table.bad("name", format_args!("the limit of line {first} has the same")));
        }
        limits.push(limit);
    }
    if limits.is_empty() {
        return Err(file.bad(0, "no limit: a policy has a table [[limit]] for each"));
    }
    Ok(limits)
}

/// Limits of a set.
const MOST: usize = 8;

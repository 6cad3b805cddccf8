//! What to read and how, checked as far as that goes before anything is opened.

use windlass::Seed;

use super::{
    columns,
    combined::Combined,
    format::{Format, Missing, OnError, Order},
    json_walk::MOST_FIELDS,
    slots::Wanted,
    source::Source,
    time::{Resolution, TimeFormat},
};
use crate::{args::InputArgs, failure::Failure, stop::Stop};

/// What a command wants to know of each event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need<'a> {
    /// The fields of its key.
    pub(crate) key: &'a [String],
    /// The option that named them, for messages.
    pub(crate) option: &'static str,
    /// Of several keys: how many of the fields, in order, belong to each ([`super::Batch::parts`]). The event's own key is of all of them.
    pub(crate) parts: &'a [usize],
    /// The fields of another key beside it, which comes after the parts.
    pub(crate) beside: &'a [String],
    /// Without fields all events have one key.
    pub(crate) may_be_none: bool,
    /// The keys will be told ([`super::Batch::name`]), this much of each: they may come beside long arrays.
    pub(crate) names: Option<usize>,
    /// Records will be written out (where not, `--order sort` keeps no text).
    pub(crate) text: bool,
    /// Ticks are event numbers and not times.
    pub(crate) numbered: bool,
    pub(crate) seed: Seed,
}

/// An input as it was asked for.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) sources: Vec<(Source, Format)>,
    pub(crate) header: bool,
    key: Vec<String>,
    pub(crate) parts: Vec<usize>,
    pub(crate) beside: Vec<String>,
    may_be_none: bool,
    source: Option<String>,
    each: Option<String>,
    time: Option<String>,
    time_format: TimeFormat,
    pub(crate) resolution: Resolution,
    pub(crate) order: Order,
    pub(crate) missing: Missing,
    pub(crate) on_error: OnError,
    pub(crate) names: Option<usize>,
    pub(crate) text: bool,
    pub(crate) numbered: bool,
    pub(crate) seed: Seed,
    pub(crate) threads: usize,
    /// The last source is read on as it grows, until this is asked.
    pub(crate) follow: Option<Stop>,
}

impl Spec {
    pub(crate) fn new(args: &InputArgs, need: Need<'_>) -> Result<Spec, Failure> {
        let sources = Source::all(&args.files)?;
        let format = |source: &Source| match (args.format, source) {
            (Some(format), _) => format,
            (None, Source::Stdin) => Format::Lines,
            (None, Source::File(path)) => Format::of(path),
        };
        let follow = args.follow.then(Stop::on_signals).transpose()?;
        let spec = Spec {
            follow,
            sources: sources.into_iter().map(|s| (s.clone(), format(&s))).collect(),
            header: args.header,
            key: need.key.to_vec(),
            parts: need.parts.to_vec(),
            beside: need.beside.to_vec(),
            may_be_none: need.may_be_none,
            source: args.source.clone(),
            each: args.each.clone(),
            time: args.time.clone(),
            time_format: args.time_format.clone().unwrap_or(TimeFormat::Guess),
            resolution: args.resolution,
            order: args.order,
            missing: args.missing.clone(),
            on_error: args.on_error,
            names: need.names,
            text: need.text,
            numbered: need.numbered,
            seed: need.seed,
            threads: usize::from(args.threads),
        };
        spec.check(need.option)?;
        Ok(spec)
    }

    fn check(&self, option: &str) -> Result<(), Failure> {
        let options = [("--time", &self.time), ("--source", &self.source), ("--each", &self.each)];
        for (name, value) in options.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
            if value.is_empty() {
                return Err(Failure::bad(format_args!("{name}: a field's name is empty")));
            }
        }
        if self.key.iter().chain(&self.beside).any(String::is_empty) {
            return Err(Failure::bad(format_args!("{option}: a field's name is empty")));
        }
        for (source, format) in &self.sources {
            self.check_format(source, *format, option).map_err(Failure::Bad)?;
        }
        self.check_follow()?;
        let all = self.is_timed();
        if !all && self.sources.iter().any(|(_, format)| self.has_time(*format)) {
            return Err(Failure::bad(
                "some of the files have times and some do not: --time says which field it is",
            ));
        }
        if !all && self.order != Order::Arrival {
            return Err(Failure::bad("--order clamp and --order sort need event times: --time FIELD"));
        }
        Ok(())
    }

    fn check_follow(&self) -> Result<(), Failure> {
        match self.sources.last() {
            Some((source, _)) if self.follow.is_some() && !source.may_grow() => {
                Err(Failure::bad(format_args!(
                    "{source}: --follow needs a plain file as the last one, and none that is compressed; a pipe is \
                 followed without it"
                )))
            }
            _ if self.follow.is_some() && self.order == Order::Sort => {
                Err(Failure::bad("--follow does not go with --order sort, which reads the whole input first"))
            }
            _ => Ok(()),
        }
    }

    /// Whether all events have times of their own.
    pub(crate) fn is_timed(&self) -> bool {
        self.sources.iter().all(|(_, format)| self.has_time(*format))
    }

    /// How many bytes there are to read, if all sources are plain files that do not grow.
    pub(crate) fn size(&self) -> Option<u64> {
        let grows = self.follow.is_some();
        self.sources.iter().map(|(source, _)| source.size().filter(|_| !grows)).sum()
    }

    fn has_time(&self, format: Format) -> bool {
        self.time.is_some() || format == Format::Combined
    }

    fn check_format(&self, source: &Source, format: Format, option: &str) -> Result<(), String> {
        if self.each.is_some() && format != Format::Jsonl {
            return Err(format!("{source}: --each needs format jsonl, not {}", format.name()));
        }
        let wanted = self.wanted(format);
        match format {
            Format::Lines => match wanted.names.first() {
                None => Ok(()),
                Some(name) => Err(format!(
                    "{source}: format lines has no field \"{name}\": each line is an id; --format tsv, csv, jsonl or \
                     combined has fields"
                )),
            },
            _ if self.key.is_empty() && !self.may_be_none => {
                Err(format!("{source}: format {} needs {option} FIELD", format.name()))
            }
            Format::Jsonl if wanted.names.len() > MOST_FIELDS => {
                Err(format!("too many fields: {} at most", MOST_FIELDS))
            }
            Format::Combined => Combined::new(&wanted.names).map(drop),
            Format::Tsv | Format::Csv if !self.has_header(format) => {
                columns::Columns::by_number(&wanted.names).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// The fields to look for in a file of this format.
    pub(crate) fn wanted(&self, format: Format) -> Wanted {
        let names = [&self.key[..], &self.beside[..]].concat();
        let mut wanted =
            Wanted { keys: self.key.len(), beside: self.beside.len(), names, ..Wanted::default() };
        wanted.time = match (&self.time, format) {
            (Some(name), _) => Some(wanted.add(name)),
            (None, Format::Combined) => Some(wanted.add("time")),
            (None, _) => None,
        };
        wanted.source = self.source.as_ref().map(|name| wanted.add(name));
        wanted.each = self.each.as_ref().map(|name| wanted.add(name));
        wanted
    }

    /// How times are written in a file of this format.
    pub(crate) fn time_format(&self, format: Format) -> TimeFormat {
        match (&self.time_format, format) {
            (TimeFormat::Guess, Format::Combined) => TimeFormat::Clf,
            (given, _) => given.clone(),
        }
    }

    /// Whether a file of this format begins with a header: when fields are given by name, or it was said.
    pub(crate) fn has_header(&self, format: Format) -> bool {
        matches!(format, Format::Tsv | Format::Csv)
            && (self.header || !self.wanted(format).names.iter().all(|name| columns::is_number(name)))
    }
}

//! The options that must be as they were: they say what an event is, or what is done with it.

use crate::{
    args::{InputArgs, StateArgs},
    input::Missing,
};

/// Options and their values as they are told; an option that is not given has none.
#[derive(Default)]
pub(crate) struct Settings(Vec<(String, String)>);

impl Settings {
    pub(crate) fn of(input: &InputArgs, state: &StateArgs) -> Settings {
        let mut settings = Settings::default();
        settings.set("--seed", Some(state.seed));
        settings.set("--format", input.format.map(crate::input::Format::name));
        settings.set("--header", input.header.then_some(""));
        settings.set("--time", input.time.as_ref());
        settings.set("--time-format", input.time_format.as_ref().map(|format| format!("{format:?}")));
        settings.set("--resolution", Some(format!("{:?}", input.resolution).to_lowercase()));
        settings.set("--order", Some(format!("{:?}", input.order).to_lowercase()));
        settings.set("--each", input.each.as_ref());
        settings.set("--source", input.source.as_ref());
        let missing = match &input.missing {
            Missing::Text(text) => Some(text),
            Missing::Fail | Missing::Skip => None,
        };
        settings.set("--missing", missing);
        settings
    }

    pub(crate) fn set(&mut self, option: &str, value: Option<impl ToString>) {
        self.0.extend(value.map(|value| (option.to_owned(), value.to_string())));
    }

    pub(super) fn list(&self) -> &[(String, String)] {
        &self.0
    }

    /// The first that differs: what it was, and what it is.
    pub(super) fn differs(&self, saved: &[(String, String)]) -> Option<[String; 2]> {
        let of = |list: &[(String, String)], option: &str| {
            let found = list.iter().find(|(name, _)| name == option);
            found.map(|(name, value)| format!("{name} {value}").trim_end().to_owned())
        };
        let names = saved.iter().chain(&self.0).map(|(name, _)| name);
        let both = names.map(|name| (name, of(saved, name), of(&self.0, name)));
        let mut differing = both.filter(|(_, was, is)| was != is);
        differing.next().map(|(name, was, is)| match &name[..] {
            // A seed may be a secret.
            "--seed" => ["another --seed", "this one"].map(str::to_owned),
            _ => [was, is].map(|it| it.unwrap_or_else(|| format!("no {name}"))),
        })
    }
}

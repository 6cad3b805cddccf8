//! `--color`, and NO_COLOR.

use std::{
    env,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use clap::ValueEnum;

/// Whether what is shown on a terminal has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// Chosen once, before there are threads. Relaxed: no thread depends on another's.
static WANTED: AtomicBool = AtomicBool::new(false);

impl Color {
    /// For all that the run shows.
    pub(crate) fn choose(self) {
        // As https://no-color.org has it.
        let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        WANTED.store(self.is_wanted(no_color), Relaxed);
    }

    fn is_wanted(self, no_color: bool) -> bool {
        match self {
            Color::Auto => !no_color,
            Color::Always => true,
            Color::Never => false,
        }
    }

    /// Whether they were chosen.
    pub(crate) fn wanted() -> bool {
        WANTED.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_gets_them_and_who_declines_does_not() {
        let wanted = |no_color| [Color::Auto, Color::Always, Color::Never].map(|c| c.is_wanted(no_color));
        assert_eq!((wanted(false), wanted(true)), ([true, true, false], [false, true, false]));
    }
}

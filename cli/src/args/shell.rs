//! `windlass completions` and `windlass man`.

use std::path::PathBuf;

use clap::Args;

use super::examples;

/// Write a script that completes commands and options in a shell, to stdout
#[derive(Debug, Args)]
#[command(after_help = examples::COMPLETIONS)]
pub(crate) struct CompletionsArgs {
    /// For which shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Write the manual: a page for the tool and one for each command
#[derive(Debug, Args)]
#[command(after_help = examples::MAN)]
pub(crate) struct ManArgs {
    /// The folder for them, which is made if it is not there. Pages of the same names are overwritten
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

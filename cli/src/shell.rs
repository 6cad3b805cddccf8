//! What the shell and `man` are told of the command line: made from `args`, so that it is true.

use std::{fs, io::Write, path::Path};

use clap::CommandFactory;

use crate::{
    args::{Cli, CompletionsArgs, ManArgs},
    failure::Failure,
};

pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    // (Into memory first: what writes it panics where it cannot.)
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "windlass", &mut script);
    let mut out = std::io::stdout();
    out.write_all(&script).and_then(|()| out.flush()).map_err(|error| Failure::writing("stdout", &error))
}

pub(crate) fn man(args: &ManArgs) -> Result<(), Failure> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| Failure::writing(path, &error)
    };
    fs::create_dir_all(&args.dir).map_err(failed(&args.dir))?;
    let mut tool = Cli::command().disable_help_subcommand(true);
    tool.build();
    for command in std::iter::once(&tool).chain(tool.get_subcommands()) {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
        let path = args.dir.join(format!("{name}.1"));
        let mut page = Vec::new();
        clap_mangen::Man::new(command.clone())
            .title(name.to_uppercase())
            .render(&mut page)
            .map_err(failed(&path))?;
        fs::write(&path, page).map_err(failed(&path))?;
    }
    Ok(())
}

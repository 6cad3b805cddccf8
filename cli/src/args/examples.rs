//! Examples, at the end of each command's help. A test below reads them as the shell would, and takes them for command lines.

/// An example of `--remote` at the end, where there is such an option.
#[cfg(feature = "remote")]
macro_rules! and_remote {
    ($all:literal, $remote:literal) => {
        concat!($all, $remote)
    };
}
#[cfg(not(feature = "remote"))]
macro_rules! and_remote {
    ($all:literal, $remote:literal) => {
        $all
    };
}

pub(crate) const DEDUP: &str = and_remote!(
    "\
Examples:
  Each request of a client once in ten minutes, by times that may be a minute off:
    windlass dedup --format combined --id ip,request --window 10m \\
      --lateness 1m access.log.gz > once.log
  What came twice, of a file of JSON objects:
    windlass dedup --id order_id --time ts --window 1h --emit duplicates \\
      orders.jsonl
  Of a pipe, in fixed memory for ten million ids, with figures for Prometheus:
    tail -F ids.txt | windlass dedup --window 24h --approx --capacity 10M \\
      --metrics 127.0.0.1:9184
  A log that grows: each run goes on where the one before ended:
    windlass dedup --format combined --id ip,request --window 10m \\
      --state once.state access.log >> once.log
  The same as one run, however the log is rotated:
    windlass dedup --format combined --id ip,request --window 10m \\
      --follow access.log",
    "
  Each id once among all who read a part of the stream, wherever they run:
    tail -F ids.txt | windlass dedup --window 10m --remote redis://10.0.0.1"
);

pub(crate) const DISTINCT: &str = "\
Examples:
  The clients of the last hour, every five minutes:
    windlass distinct --format combined --id ip --window 1h --pane 5m \\
      --order sort access.log.gz
  The same in little memory, estimated:
    windlass distinct --format combined --id ip --window 1h --pane 5m \\
      --approx --capacity 1M access.log.gz";

pub(crate) const LIMIT: &str = and_remote!(
    "\
Examples:
  Who would have been denied by 30 requests a minute for each client:
    windlass limit --format combined --key ip --limit 30/60s --order sort \\
      --emit none access.log.gz
  The requests that would have been:
    windlass limit --format combined --key ip --limit 30/60s --burst 5 \\
      --lateness 1m --emit denied access.log.gz > denied.log
  No more than ten lines a second of a pipe:
    tail -F app.log | windlass limit --limit 10/s
  Several limits at once:
    windlass limit --policy policy.toml --format combined --order sort \\
      --emit none access.log.gz",
    "
  Ten lines a second of all pipes together, wherever they run:
    tail -F app.log | windlass limit --limit 10/s --remote redis://10.0.0.1"
);

pub(crate) const RANK: &str = and_remote!(
    "\
Examples:
  How many were ahead of each client, had one been let in every two minutes:
    windlass rank --format combined --key ip --pop-every 2m --order sort \\
      --decisions ahead.txt access.log.gz",
    "
  One waiting room for all who ask, from which one is let in each second:
    tail -F came.txt | windlass rank --pop-every 1s --decisions ahead.txt \\
      --remote redis://10.0.0.1"
);

pub(crate) const TOP: &str = and_remote!(
    "\
Examples:
  The three hottest paths of the log's last hour:
    windlass top --format combined --key path --window 1h --pane 5m -k 3 \\
      access.log.gz
  The same of each five minutes, a line each:
    windlass top --format combined --key path --window 1h --pane 5m -k 3 \\
      --lateness 1m --every-pane access.log.gz > hot.tsv
  In 256 KiB, of the logs of two servers, with bounds:
    windlass top --format combined --key path --window 1h --pane 5m \\
      -k 3 --approx --memory 256K --merge web-1.log.gz web-2.log.gz
  As it moves, of a log that grows and is rotated:
    windlass top --live --follow --format combined --key ip \\
      --window 10m --pane 30s -k 30 access.log
  .. with what comes twice, and whom 30 requests a minute would have stopped:
    windlass top --live --follow --format combined --key ip \\
      --id ip,request --limit 30/m --window 10m --pane 30s -k 30 access.log",
    "
  Of what this and other processes are reading:
    windlass top --window 1h --pane 5m -k 3 --remote redis://10.0.0.1 ids.txt"
);

pub(crate) const RING: &str = "\
Examples:
  What a fourth cache, twice as large, would take over:
    windlass ring --format combined --key path \\
      --nodes cache-a,cache-b,cache-c --change +cache-d:2 access.log.gz";

pub(crate) const GEN: &str = "\
Examples:
  Twenty million ids, a fifth of them repeats, straight into a dedup:
    windlass gen --events 20M --duplicates 0.2 |
      windlass dedup --window-count 1M --emit none
  A log with times, some of them late, to try limits on:
    windlass gen --events 1M --format tsv --late 0.1 --lateness 1s \\
      > events.tsv";

pub(crate) const DEMO: &str = "\
Examples:
  windlass demo
  windlass demo --events 30M --seed 7";

pub(crate) const BENCH: &str = "\
Examples:
  windlass bench
  windlass bench --threads 4 --svg windlass.svg
  A machine whose cache has more than 100 MiB, and time:
    windlass bench --keys 20M --duration 1m --report json > windlass.json";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  windlass completions bash > ~/.local/share/bash-completion/completions/windlass
  windlass completions zsh > ~/.zfunc/_windlass
  windlass completions fish > ~/.config/fish/completions/windlass.fish";

pub(crate) const MAN: &str = "\
Examples:
  windlass man ~/.local/share/man/man1
  man windlass-top";

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

    use clap::{CommandFactory, Parser};

    use super::super::Cli;

    /// The command lines in a text: those of the tool, without what the shell does with them.
    fn command_lines(text: &str) -> Vec<Vec<String>> {
        let joined = text.replace(" \\\n", " ").replace("|\n", "| ");
        let commands = joined.lines().flat_map(|line| line.split('|'));
        let words = commands
            .map(|command| command.split_whitespace().take_while(|word| !word.starts_with(['>', '#'])));
        let words = words.map(|words| words.map(|word| word.replace(['"', '\''], "")).collect::<Vec<_>>());
        words.filter(|words| words.first().is_some_and(|word| word == "windlass")).collect()
    }

    fn is_a_command_line(words: &[String], whence: &str) {
        if let Err(error) = Cli::try_parse_from(words)
            && error.use_stderr()
        {
            panic!("{whence}: {}: {error}", words.join(" "));
        }
    }

    /// Of all blocks of shell in the documentation.
    #[test]
    fn what_the_documentation_shows_is_a_command_line() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let docs =
            std::fs::read_dir(root.join("docs")).expect("there").map(|entry| entry.expect("read").path());
        let mut files: Vec<_> = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
        files.push(root.join("README.md"));
        let mut lines = 0;
        for file in files {
            let text = std::fs::read_to_string(&file).expect("text");
            let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
            for words in blocks.flat_map(command_lines) {
                is_a_command_line(&words, &file.display().to_string());
                lines += 1;
            }
        }
        assert!(lines > 30, "{lines} command lines");
    }

    #[test]
    fn all_commands_have_some_and_all_are_command_lines() {
        let mut cli = Cli::command();
        cli.build();
        for command in cli.get_subcommands_mut() {
            let name = command.get_name().to_owned();
            let help = command.render_long_help().to_string();
            let wide = help.lines().skip_while(|line| *line != "Examples:").find(|line| line.len() > 82);
            assert_eq!(wide, None, "{name}: too wide for a terminal");
            let mut own = 0;
            let examples = help.split_once("Examples:\n").map_or("", |(_, examples)| examples);
            for words in command_lines(examples) {
                own += usize::from(words.get(1) == Some(&name));
                is_a_command_line(&words, &name);
            }
            assert!(own > 0, "{name} has no example");
        }
    }
}

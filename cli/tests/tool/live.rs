//! `top --live` on a terminal: how it begins and ends, and that the terminal is afterwards as it was.

#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // clippy knows tests only by their attribute

use std::{
    fs::OpenOptions,
    io::{Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use crate::common::{Dir, EXE, run_once};

/// A shell on a terminal of its own, made by `script` of util-linux.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    comes: Receiver<Vec<u8>>,
    /// What has come so far.
    text: String,
}

const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

impl Terminal {
    /// Runs `windlass` with these words of a shell; before and after it tells the terminal's settings.
    fn start(dir: &Dir, words: &str) -> Option<Terminal> {
        let shell = format!(
            "stty rows 24 cols 80; echo tty $(tty); echo before $(stty -g); sh -c 'echo pid $$; exec \"$0\" {words}' {EXE}; echo status $?; \
             echo after $(stty -g)"
        );
        let started = Command::new("script")
            .args(["-q", "-c", &shell, "/dev/null"])
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh")
            .env_remove("NO_COLOR")
            .current_dir(&dir.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut child) = started else {
            // Not println!: the test harness would keep that to itself.
            writeln!(std::io::stderr(), "SKIPPED: script is absent").expect("stderr is open");
            return None;
        };
        let (keys, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (send, comes) = mpsc::channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = stdout.read(&mut bytes) {
                if send.send(bytes[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Some(Terminal { child, keys, comes, text: String::new() })
    }

    /// Waits until this has come.
    #[track_caller]
    fn sees(&mut self, what: &str) {
        while !self.text.contains(what) {
            match self.comes.recv_timeout(Duration::from_secs(60)) {
                Ok(bytes) => self.text += &String::from_utf8_lossy(&bytes),
                Err(error) => panic!("{error}: no {what:?} in {:?}", self.text),
            }
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    fn resize(&self, rows: u16, columns: u16) {
        let (_, name) = self.text.split_once("tty ").unwrap();
        let name = name.lines().next().unwrap().trim();
        let size = ["rows", &rows.to_string(), "cols", &columns.to_string()];
        assert!(Command::new("stty").args(["-F", name]).args(size).status().unwrap().success());
    }

    /// Sends a signal to the tool.
    fn signal(&self, signal: &str) {
        let (_, pid) = self.text.split_once("pid ").unwrap();
        let pid: String = pid.chars().take_while(char::is_ascii_digit).collect();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// What stands on the terminal when all is over: with this status, and as it was before.
    #[track_caller]
    fn end(mut self, status: i32) -> String {
        self.sees("after ");
        while let Ok(bytes) = self.comes.recv_timeout(Duration::from_secs(60)) {
            self.text += &String::from_utf8_lossy(&bytes);
        }
        self.child.wait().unwrap();
        let said = |word: &str| {
            let found = self.text.lines().find_map(|line| line.strip_prefix(word));
            found.unwrap_or_else(|| panic!("no {word:?} in {:?}", self.text)).trim().to_owned()
        };
        assert_eq!(said("before "), said("after "), "the terminal's settings");
        assert_eq!((self.text.matches(ENTER).count(), self.text.matches(LEAVE).count()), (1, 1));
        let (_, rest) = self.text.split_once(LEAVE).unwrap();
        assert!(
            self.text.rfind("\x1b[?25h") > self.text.rfind("\x1b[?25l"),
            "the cursor is shown: {:?}",
            self.text
        );
        assert!(rest.contains(&format!("status {status}")), "{rest:?}");
        rest.to_owned()
    }
}

const TOP: &str = "top --live --window 1h --pane 1h -k 3";

#[test]
fn it_ends_by_a_key_or_a_signal_with_the_report() {
    for how in ["q", "\x03", "-INT", "-TERM"] {
        let dir = Dir::new();
        dir.put("log", "aaa\nbbb\naaa\n");
        let Some(mut terminal) = Terminal::start(&dir, &format!("{TOP} --follow log")) else { return };
        terminal.sees("aaa");
        assert!(terminal.text.contains(ENTER), "{:?}", terminal.text);
        // It goes on with the file.
        let mut log = OpenOptions::new().append(true).open(dir.0.join("log")).unwrap();
        log.write_all(b"ccc\nccc\nccc\n").unwrap();
        terminal.sees("ccc");
        // .. and its last line is that of the terminal, whatever its size.
        assert!(terminal.text.contains("\x1b[24;1H") && !terminal.text.contains("\x1b[50;1H"));
        terminal.resize(50, 200);
        terminal.sees("\x1b[50;1H");
        if how.starts_with('-') {
            terminal.signal(how)
        } else {
            terminal.press(how)
        }
        let rest = terminal.end(0);
        let words: Vec<&str> = rest.split_whitespace().collect();
        assert!(words.windows(3).any(|row| row == ["1", "3", "50.0"]), "{rest}");
        assert!(rest.contains("6 events in 1 panes of 1h; 6 in the last 1h"), "{rest}");
    }
}

/// A pipe as a file: whoever writes to it decides when it ends.
fn fifo(dir: &Dir) {
    assert!(Command::new("mkfifo").arg(dir.0.join("pipe")).status().unwrap().success());
}

#[test]
fn it_ends_with_its_input_though_that_is_a_pipe() {
    // Keys come from the terminal, events from stdin.
    for words in ["< pipe", "pipe"] {
        let dir = Dir::new();
        fifo(&dir);
        let Some(mut terminal) = Terminal::start(&dir, &format!("{TOP} {words}")) else { return };
        let mut pipe = OpenOptions::new().write(true).open(dir.0.join("pipe")).unwrap();
        pipe.write_all(b"aaa\nbbb\naaa\n").unwrap();
        terminal.sees("bbb");
        terminal.press(" ");
        terminal.sees("HELD");
        drop(pipe);
        let rest = terminal.end(0);
        assert!(rest.contains("3 events in 1 panes of 1h; 3 in the last 1h"), "{rest}");
    }
}

#[test]
fn an_error_is_told_on_the_terminal_as_it_was() {
    let dir = Dir::new();
    fifo(&dir);
    let words = "top --live --window 1h --pane 1h -k 3 --format jsonl --key a pipe";
    let Some(mut terminal) = Terminal::start(&dir, words) else { return };
    let mut pipe = OpenOptions::new().write(true).open(dir.0.join("pipe")).unwrap();
    pipe.write_all(b"{\"a\":\"xyz\"}\n").unwrap();
    terminal.sees("xyz");
    pipe.write_all(b"bad\n").unwrap();
    let rest = terminal.end(2);
    assert!(rest.contains("windlass: pipe:2: not a JSON object"), "{rest}");
}

#[test]
fn where_there_is_no_terminal_it_is_as_without() {
    let dir = Dir::new();
    dir.put("log.tsv", "a\t1\nb\t2\na\t3\n");
    let args = ["top", "--key", "1", "--time", "2", "--window", "1h", "--pane", "1h", "-k", "3", "log.tsv"];
    let (plain, live) = (dir.run(&args).ok(), run_once(&dir.0, &[&args[..], &["--live"]].concat(), b"").ok());
    assert_eq!((plain.text(), plain.timeless()), (live.text(), live.timeless()));
    run_once(&dir.0, &[&args[..], &["--live", "--order", "sort"]].concat(), b"")
        .failed(2, "--live does not go with --order sort, which reads the whole input first");
}

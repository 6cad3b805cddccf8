//! Somebody who answers as a server does that has INCREX and allows no scripts, by the documentation of Redis 8.8: for as long as none
//! is to be had.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    time::Instant,
};

/// What it has, and what it was asked.
#[derive(Default)]
struct State {
    values: HashMap<String, (i64, Instant)>,
    asked: Vec<String>,
}

pub(crate) struct Pretender {
    pub(crate) port: u16,
    state: Arc<Mutex<State>>,
}

impl Pretender {
    pub(crate) async fn start() -> Pretender {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Pretender { port, state }
    }

    /// Commands of that name that it was asked.
    pub(crate) fn asked(&self, name: &str) -> Vec<String> {
        let state = self.state.lock().expect("no failure");
        state.asked.iter().filter(|command| command.starts_with(name)).cloned().collect()
    }
}

async fn serve(stream: TcpStream, state: Arc<Mutex<State>>) {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let mut queued: Option<Vec<Vec<String>>> = None;
    while let Some(words) = command(&mut reader).await {
        let answer = match (words[0].as_str(), &mut queued) {
            ("MULTI", _) => {
                queued = Some(Vec::new());
                "+OK\r\n".to_owned()
            }
            ("EXEC", Some(commands)) => {
                let mut state = state.lock().expect("no failure");
                let answers: Vec<String> = commands.iter().map(|words| state.answer(words)).collect();
                queued = None;
                format!("*{}\r\n{}", answers.len(), answers.concat())
            }
            (_, Some(commands)) => {
                commands.push(words);
                "+QUEUED\r\n".to_owned()
            }
            (_, None) => state.lock().expect("no failure").answer(&words),
        };
        if writer.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// An array of strings.
async fn command(reader: &mut (impl AsyncBufReadExt + Unpin)) -> Option<Vec<String>> {
    let mut line = String::new();
    reader.read_line(&mut line).await.ok()?;
    let count: usize = line.strip_prefix('*')?.trim().parse().ok()?;
    let mut words = Vec::with_capacity(count);
    for _ in 0..count {
        line.clear();
        reader.read_line(&mut line).await.ok()?;
        let length: usize = line.strip_prefix('$')?.trim().parse().ok()?;
        let mut word = vec![0; length + 2];
        reader.read_exact(&mut word).await.ok()?;
        word.truncate(length);
        words.push(String::from_utf8(word).ok()?);
    }
    Some(words)
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

impl State {
    fn answer(&mut self, words: &[String]) -> String {
        self.asked.push(words.join(" "));
        let now = Instant::now();
        self.values.retain(|_, (_, end)| *end > now);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["INFO"] => bulk("redis_version:8.8.0\r\nrole:master\r\nmaxmemory_policy:noeviction\r\n"),
            ["COMMAND", "INFO", "INCREX", _] => format!("*2\r\n*1\r\n{}*-1\r\n", bulk("increx")),
            ["EVAL", ..] => "-NOPERM no scripts here\r\n".to_owned(),
            ["INCREX", key, "BYINT", by, "UBOUND", most, "PX", millis, "ENX"] => {
                let [by, most] = [by, most].map(|word| word.parse::<i64>().expect("a number"));
                let end = now + Duration::from_millis(millis.parse().expect("a number"));
                let held = self.values.get(*key).map_or(0, |(held, _)| *held);
                if held + by > most {
                    // It changes nothing, not even when the key ends.
                    return format!("*2\r\n:{held}\r\n:0\r\n");
                }
                self.values.entry((*key).to_owned()).or_insert((0, end)).0 += by;
                format!("*2\r\n:{}\r\n:{by}\r\n", held + by)
            }
            ["PTTL", key] => match self.values.get(*key) {
                Some((_, end)) => format!(":{}\r\n", (*end - now).as_millis()),
                None => ":-2\r\n".to_owned(),
            },
            ["GET", key] => {
                self.values.get(*key).map_or("$-1\r\n".to_owned(), |(held, _)| bulk(&held.to_string()))
            }
            ["DEL", key] => format!(":{}\r\n", usize::from(self.values.remove(*key).is_some())),
            other => format!("-ERR unknown command {other:?}\r\n"),
        }
    }
}

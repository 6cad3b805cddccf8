//! As much of HTTP/1.1 as three pages need: a request is a line and headers, which are passed over, and the connection ends with its answer.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Shutdown, TcpStream},
    time::{Duration, Instant},
};

use windlass::metrics::Registry;

/// Bytes of a request, with its headers.
const LONGEST: usize = 8 << 10;

/// For all of a request, and again for all of its answer: others wait meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);

struct Answer {
    status: &'static str,
    kind: &'static str,
    body: String,
}

impl Answer {
    fn refused(status: &'static str) -> Answer {
        Answer { status, kind: "text/plain; charset=utf-8", body: format!("{status}\n") }
    }
}

/// Reads a request and writes its answer.
pub(super) fn answer(stream: &TcpStream, registry: &Registry) -> io::Result<()> {
    let request = read(stream)?;
    let (answer, has_body) = match &request {
        Some(request) => page(request, registry),
        None => (Answer::refused("431 Request Header Fields Too Large"), true),
    };
    let Answer { status, kind, body } = answer;
    let mut text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nAllow: GET, HEAD\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    );
    if has_body {
        text += &body;
    }
    write(stream, text.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    // To close on what has not been read would take the answer back.
    let mut rest = [0; 1024];
    let deadline = Instant::now() + Duration::from_secs(1);
    while request.is_none() && read_some(stream, &mut rest, deadline)? > 0 {}
    Ok(())
}

/// And whether its text is wanted.
fn page(request: &[u8], registry: &Registry) -> (Answer, bool) {
    let line = request.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let (method, target) = match words[..] {
        [method, target, version] if version.starts_with(b"HTTP/1.") => (method, target),
        _ => return (Answer::refused("400 Bad Request"), true),
    };
    if !matches!(method, b"GET" | b"HEAD") {
        return (Answer::refused("405 Method Not Allowed"), true);
    }
    let good = |kind, body| Answer { status: "200 OK", kind, body };
    let answer = match target.split(|&byte| byte == b'?').next().unwrap_or_default() {
        b"/metrics" => good(Registry::CONTENT_TYPE, registry.prometheus()),
        b"/metrics.json" => good("application/json", registry.json()),
        b"/top.json" => good("application/json", registry.top_json()),
        _ => Answer::refused("404 Not Found"),
    };
    (answer, method == b"GET")
}

/// A request up to the empty line. `None`: it is too long.
fn read(stream: &TcpStream) -> io::Result<Option<Vec<u8>>> {
    let deadline = Instant::now() + PATIENCE;
    let (mut request, mut some) = (Vec::new(), [0; 1024]);
    while !has_end(&request) {
        let n = read_some(stream, &mut some, deadline)?;
        if n == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        request.extend_from_slice(&some[..n]);
        if request.len() > LONGEST {
            return Ok(None);
        }
    }
    Ok(Some(request))
}

fn has_end(request: &[u8]) -> bool {
    request.windows(4).any(|four| four == b"\r\n\r\n") || request.windows(2).any(|two| two == b"\n\n")
}

fn read_some(mut stream: &TcpStream, some: &mut [u8], deadline: Instant) -> io::Result<usize> {
    loop {
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(some) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn write(mut stream: &TcpStream, mut text: &[u8]) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !text.is_empty() {
        stream.set_write_timeout(Some(left(deadline)?))?;
        match stream.write(text) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => text = &text[n..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// (Not nothing, which would be for ever.)
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

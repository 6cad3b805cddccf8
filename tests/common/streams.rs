//! The real logs as streams of events, read as data/README.md says.

use std::{fs, path::Path};

use serde_json::Value;

pub(crate) struct Event {
    /// Integer milliseconds, cut.
    pub(crate) ms: u64,
    pub(crate) id: String,
    pub(crate) client: String,
    pub(crate) key: String,
}

/// The events of a view, in file order.
pub(crate) fn read(data: &Path, file: &str, view: &str) -> Vec<Event> {
    let text = fs::read(data.join(file)).expect("readable");
    // The logs are ASCII but for a few names: no test of ours depends on what the others mean.
    let text = String::from_utf8(text).expect("text");
    let lines = text.split_terminator('\n');
    match view {
        "nasa" => lines.skip(1).map(nasa).collect(),
        "apache" => lines.map(apache).collect(),
        "zeek-dns" => lines.map(|line| zeek(line, "ts")).collect(),
        "zeek-dns-arrival" => lines.map(|line| zeek(line, "_write_ts")).collect(),
        "mooncake" => lines.flat_map(mooncake).collect(),
        other => panic!("a view that is not known: {other}"),
    }
}

/// The times and ids of a view's events in one of its orders.
pub(crate) fn ordered<'a>(events: &'a [Event], order: &str) -> Vec<(u64, &'a str)> {
    ordered_by(events, order, |event| &event.id)
}

/// .. and another of their columns.
pub(crate) fn ordered_by<'a>(
    events: &'a [Event],
    order: &str,
    column: impl Fn(&'a Event) -> &'a str,
) -> Vec<(u64, &'a str)> {
    let mut ordered: Vec<(u64, &str)> = events.iter().map(|e| (e.ms, column(e))).collect();
    match order {
        "in_order" | "raw" => {}
        "clamp" => {
            let mut newest = 0;
            for (ms, _) in &mut ordered {
                newest = newest.max(*ms);
                *ms = newest;
            }
        }
        "sorted" => ordered.sort_by_key(|&(ms, _)| ms),
        other => panic!("an order that is not known: {other}"),
    }
    ordered
}

/// host, logname, time, method, url, response, bytes.
fn nasa(line: &str) -> Event {
    let columns: Vec<&str> = line.split('\t').collect();
    let (host, url) = (columns[0], columns[4]);
    Event {
        ms: columns[2].parse::<u64>().expect("seconds") * 1000,
        id: format!("{host} {url}"),
        client: host.to_owned(),
        key: url.to_owned(),
    }
}

/// `ip - - [time] "request line" ..`, all at +0000.
fn apache(line: &str) -> Event {
    let ip = line.split(' ').next().expect("an address");
    let time = between(line, '[', ']');
    let request = between(line, '"', '"');
    Event {
        ms: clf(time),
        id: format!("{ip} {request}"),
        client: ip.to_owned(),
        key: request.split(' ').nth(1).expect("a path").to_owned(),
    }
}

fn zeek(line: &str, time: &str) -> Event {
    let record: Value = serde_json::from_str(line).expect("JSON");
    let text = |name: &str| record[name].as_str();
    Event {
        ms: rfc3339(text(time).expect("a time")),
        id: format!("{}:{}", text("uid").expect("a uid"), record["trans_id"].as_u64().expect("a number")),
        client: text("id.orig_h").expect("an address").to_owned(),
        key: text("query").unwrap_or("-").to_owned(),
    }
}

/// One event per element of `hash_ids`.
fn mooncake(line: &str) -> impl Iterator<Item = Event> {
    let record: Value = serde_json::from_str(line).expect("JSON");
    let ms = record["timestamp"].as_u64().expect("a number");
    let blocks: Vec<u64> = record["hash_ids"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|id| id.as_u64().expect("an id"))
        .collect();
    let client = blocks[1].to_string();
    blocks.into_iter().map(move |block| Event {
        ms,
        id: block.to_string(),
        client: client.clone(),
        key: block.to_string(),
    })
}

fn between(line: &str, open: char, close: char) -> &str {
    let (_, rest) = line.split_once(open).expect("an opening");
    rest.split_once(close).expect("an end").0
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

/// `17/May/2015:10:05:03 +0000`
fn clf(time: &str) -> u64 {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let (stamp, zone) = time.split_once(' ').expect("a zone");
    assert_eq!(zone, "+0000");
    let fields: Vec<&str> = stamp.split(['/', ':']).collect();
    let month = MONTHS.find(fields[1]).expect("a month") as u64 / 3 + 1;
    let seconds = (number(fields[3]) * 60 + number(fields[4])) * 60 + number(fields[5]);
    (days(number(fields[2]), month, number(fields[0])) * 86_400 + seconds) * 1000
}

/// `2018-03-24T17:15:20.866586Z`
fn rfc3339(time: &str) -> u64 {
    let fields: Vec<&str> = time.strip_suffix('Z').expect("UTC").split(['-', 'T', ':', '.']).collect();
    let seconds = (number(fields[3]) * 60 + number(fields[4])) * 60 + number(fields[5]);
    let fraction = fields.get(6).map_or(String::new(), |digits| format!("{digits:0<3}"));
    let ms = if fraction.is_empty() { 0 } else { number(&fraction[..3]) };
    (days(number(fields[0]), number(fields[1]), number(fields[2])) * 86_400 + seconds) * 1000 + ms
}

/// From 1970-01-01 to a day after it.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let february = 28 + u64::from(leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30];
    let before: u64 = (1970..year).map(|year| 365 + u64::from(leap(year))).sum();
    before + months.iter().zip(1..month).map(|(days, _)| days).sum::<u64>() + day - 1
}

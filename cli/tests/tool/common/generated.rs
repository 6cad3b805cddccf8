//! Streams of `windlass gen`.

use super::run;

/// stdout of `windlass gen --quiet ..`.
pub(crate) fn stream(options: &str) -> String {
    let args: Vec<&str> = ["gen", "-q"].into_iter().chain(options.split_whitespace()).collect();
    let run = run(&args, "").ok();
    assert_eq!(run.err, "");
    String::from_utf8(run.out).expect("text")
}

/// An event as csv has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) nanos: u64,
    pub(crate) id: String,
    pub(crate) client: u64,
    pub(crate) key: u64,
}

pub(crate) fn events(options: &str) -> Vec<Event> {
    let text = stream(&format!("--format csv {options}"));
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("time,id,client,key"));
    let event = |line: &str| {
        let [time, id, client, key] = line.split(',').collect::<Vec<_>>().try_into().expect("four fields");
        let (seconds, decimals) = time.split_once('.').expect("decimals");
        assert_eq!((decimals.len(), id.len()), (9, 16), "{line}");
        Event {
            nanos: format!("{seconds}{decimals}").parse().expect("a time"),
            id: id.to_owned(),
            client: client.strip_prefix('c').expect("c").parse().expect("a number"),
            key: key.strip_prefix('k').expect("k").parse().expect("a number"),
        }
    };
    lines.map(event).collect()
}

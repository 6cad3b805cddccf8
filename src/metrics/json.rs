//! The same as JSON, and lists of the hottest keys.

use super::page::{Page, Points, Reading, Sample, Value};
use crate::topk::{TopKey, TopRow, TopSnapshot};
use std::{
    fmt::{self, Display, Write},
    sync::Arc,
};

pub(super) fn page(page: &Page) -> String {
    let families = page.families().iter().map(|family| {
        let samples = list(family.samples.iter().map(sample));
        let (name, kind, help) = (Text(&family.name), family.kind.name(), Text(&family.help));
        format!("{{\"name\":{name},\"type\":\"{kind}\",\"help\":{help},\"samples\":{samples}}}")
    });
    format!("{{\"families\":{}}}\n", list(families))
}

fn sample(Sample { labels, reading }: &Sample) -> String {
    let pairs = labels.iter().map(|(label, value)| format!("{}:{}", Text(label), Text(value)));
    let labels = format!("{{{}}}", pairs.collect::<Vec<_>>().join(","));
    match reading {
        Reading::One(value) => format!("{{\"labels\":{labels},\"value\":{}}}", number(*value)),
        Reading::Spread { count, sum, points } => {
            let of = |share: f64, value: Value| format!("\"{share}\":{}", number(value));
            let (what, points): (_, Vec<_>) = match points {
                Points::Quantiles(all) => {
                    ("quantiles", all.iter().map(|&(share, value)| of(share, value.into())).collect())
                }
                Points::Buckets(all) => {
                    ("buckets", all.iter().map(|&(most, count)| of(most, count.into())).collect())
                }
            };
            let (sum, points) = (number((*sum).into()), points.join(","));
            format!("{{\"labels\":{labels},\"count\":{count},\"sum\":{sum},\"{what}\":{{{points}}}}}")
        }
    }
}

pub(super) fn lists(lists: &[(String, Arc<TopSnapshot>)]) -> String {
    let lists = lists.iter().map(|(name, top)| {
        let TopSnapshot { as_of, start, end, total, certified, tail, .. } = **top;
        let tail = if tail == u64::MAX { "null".to_owned() } else { tail.to_string() };
        format!(
            "{{\"name\":{},\"as_of\":{as_of},\"interval\":{{\"start\":{start},\"end\":{end}}},\"total\":{total},\
             \"certified\":{certified},\"tail\":{tail},\"rows\":{}}}",
            Text(name),
            list(top.rows.iter().map(row)),
        )
    });
    format!("{{\"lists\":{}}}\n", list(lists))
}

fn row(row: &TopRow) -> String {
    let TopRow { key, count, lower, upper, .. } = row;
    let text = key.to_string();
    let hex = match key {
        TopKey::Bytes(bytes) if std::str::from_utf8(bytes).is_err() => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!(",\"key_hex\":\"{hex}\"")
        }
        _ => String::new(),
    };
    format!("{{\"key\":{}{hex},\"count\":{count},\"lower\":{lower},\"upper\":{upper}}}", Text(&text))
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn number(value: Value) -> String {
    match value {
        Value::Real(value) if !value.is_finite() => "null".to_owned(),
        value => value.to_string(),
    }
}

/// In quotes.
struct Text<'a>(&'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

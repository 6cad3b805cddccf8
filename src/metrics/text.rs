//! Prometheus' text format, version 0.0.4.

use super::page::{Family, Page, Points, Reading, Sample, Value};
use std::fmt::{self, Display, Write};

pub(super) fn render(page: &Page) -> String {
    let mut out = String::new();
    for family in page.families() {
        // To a string nothing fails.
        let _ = write_family(family, &mut out);
    }
    out
}

fn write_family(family: &Family, out: &mut String) -> fmt::Result {
    let Family { name, help, kind, samples } = family;
    writeln!(out, "# HELP {name} {}", Escaped(help, false))?;
    writeln!(out, "# TYPE {name} {}", kind.name())?;
    samples.iter().try_for_each(|sample| write_sample(name, sample, out))
}

fn write_sample(name: &str, Sample { labels, reading }: &Sample, out: &mut String) -> fmt::Result {
    match reading {
        Reading::One(value) => write_line(name, "", labels, None, value, out),
        Reading::Spread { count, sum, points } => {
            match points {
                Points::Quantiles(quantiles) => quantiles.iter().try_for_each(|&(share, value)| {
                    write_line(name, "", labels, Some(("quantile", share)), &value.into(), out)
                })?,
                Points::Buckets(buckets) => {
                    let all = [(f64::INFINITY, *count)];
                    buckets.iter().chain(&all).try_for_each(|&(most, count)| {
                        write_line(name, "_bucket", labels, Some(("le", most)), &count.into(), out)
                    })?;
                }
            }
            write_line(name, "_sum", labels, None, &(*sum).into(), out)?;
            write_line(name, "_count", labels, None, &(*count).into(), out)
        }
    }
}

fn write_line(
    name: &str,
    suffix: &str,
    labels: &[(String, String)],
    of: Option<(&str, f64)>,
    value: &Value,
    out: &mut String,
) -> fmt::Result {
    write!(out, "{name}{suffix}")?;
    let mut before = '{';
    for (label, value) in labels {
        write!(out, "{before}{label}=\"{}\"", Escaped(value, true))?;
        before = ',';
    }
    if let Some((label, value)) = of {
        write!(out, "{before}{label}=\"{}\"", Value::Real(value))?;
        before = ',';
    }
    let end = if before == '{' { "" } else { "}" };
    writeln!(out, "{end} {value}")
}

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(value) => value.fmt(f),
            Value::Real(value) if value.is_infinite() => {
                f.write_str(if *value > 0.0 { "+Inf" } else { "-Inf" })
            }
            Value::Real(value) => value.fmt(f),
        }
    }
}

/// Text in a line; in quotes if so.
struct Escaped<'a>(&'a str, bool);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '"' if self.1 => f.write_str("\\\"")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

//! A page before it is written down: families of samples.

use std::collections::HashMap;

/// Figures at one time, in families: all samples of one metric.
///
/// Names of metrics and labels are those of Prometheus' data model (`[a-zA-Z_:][a-zA-Z0-9_:]*`, labels without the colon); what does not belong in
/// them becomes an underscore. The first sample says what its metric's type and help are. A source gives each set of labels once.
#[derive(Debug)]
pub struct Page {
    families: Vec<Family>,
    /// By name.
    places: HashMap<String, usize>,
    /// Of all samples that come.
    labels: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
    Summary,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
            Kind::Summary => "summary",
        }
    }
}

#[derive(Debug)]
pub(super) struct Family {
    pub(super) name: String,
    pub(super) help: String,
    pub(super) kind: Kind,
    pub(super) samples: Vec<Sample>,
}

#[derive(Debug)]
pub(super) struct Sample {
    pub(super) labels: Vec<(String, String)>,
    pub(super) reading: Reading,
}

#[derive(Debug)]
pub(super) enum Reading {
    One(Value),
    /// Of so many, with this sum.
    Spread {
        count: u64,
        sum: f64,
        points: Points,
    },
}

#[derive(Debug)]
pub(super) enum Points {
    /// What so large a share is at most, rising.
    Quantiles(Vec<(f64, f64)>),
    /// How many are this at most, rising; without the last, which is all.
    Buckets(Vec<(f64, u64)>),
}

/// A number on a page.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// Told as it is, to the last digit.
    Integer(u64),
    /// (Not a number: there is none at this time.)
    Real(f64),
}

impl From<u64> for Value {
    fn from(value: u64) -> Value {
        Value::Integer(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Real(value)
    }
}

/// 1 or 0.
impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Integer(u64::from(value))
    }
}

/// Labels beside the name.
pub(super) type Labels<'a> = &'a [(&'a str, &'a str)];

impl Page {
    pub(super) fn new() -> Page {
        let mut page = Page { families: Vec::new(), places: HashMap::new(), labels: Vec::new() };
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        page.gauge("windlass_build_info", "Always 1; the label is the version.", &version, 1);
        let help = "Whether 128-bit atomic operations are lock-free on this machine: 1 or 0.";
        page.gauge("windlass_lock_free", help, &[], crate::sync::is_lock_free());
        page
    }

    /// From here on samples are of this structure.
    pub(super) fn begin(&mut self, name: String) {
        self.labels = vec![("name".to_owned(), name)];
    }

    /// What only rises, from 0 on. Its name ends in `_total`.
    pub fn counter(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: u64) {
        self.put(name, help, Kind::Counter, labels, Reading::One(Value::Integer(value)));
    }

    /// What may rise and fall.
    pub fn gauge(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: impl Into<Value>) {
        self.put(name, help, Kind::Gauge, labels, Reading::One(value.into()));
    }

    pub(super) fn spread(&mut self, name: &str, help: &str, count: u64, sum: f64, points: Points) {
        let kind = match points {
            Points::Quantiles(_) => Kind::Summary,
            Points::Buckets(_) => Kind::Histogram,
        };
        self.put(name, help, kind, &[], Reading::Spread { count, sum, points });
    }

    pub(super) fn families(&self) -> &[Family] {
        &self.families
    }

    fn put(&mut self, name: &str, help: &str, kind: Kind, labels: Labels<'_>, reading: Reading) {
        let mut all = self.labels.clone();
        for (label, value) in labels {
            let mut label = valid(label, false);
            // As Prometheus does with labels that are there already.
            while all.iter().any(|(other, _)| *other == label) {
                label.insert_str(0, "exported_");
            }
            all.push((label, (*value).to_owned()));
        }
        let name = valid(name, true);
        let place = match self.places.get(&name) {
            Some(&place) => place,
            None => {
                self.places.insert(name.clone(), self.families.len());
                self.families.push(Family { name, help: help.to_owned(), kind, samples: Vec::new() });
                self.families.len() - 1
            }
        };
        self.families[place].samples.push(Sample { labels: all, reading });
    }
}

/// As names may be.
fn valid(name: &str, colons: bool) -> String {
    let belongs = |c: char| c.is_ascii_alphanumeric() || c == '_' || colons && c == ':';
    let mut valid: String = name.chars().map(|c| if belongs(c) { c } else { '_' }).collect();
    if !valid.starts_with(|c: char| !c.is_ascii_digit()) {
        valid.insert(0, '_');
    }
    valid
}

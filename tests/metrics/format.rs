//! A strict parser of Prometheus' text format, version 0.0.4, written from its description
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>), and what else a page has to keep to.

use std::collections::{BTreeMap, BTreeSet};

/// A page: families by their names.
pub(crate) type Page = BTreeMap<String, Family>;

#[derive(Debug, Default)]
pub(crate) struct Family {
    pub(crate) help: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) samples: Vec<Sample>,
}

#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// With its suffix, if it has one.
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

impl Sample {
    pub(crate) fn label(&self, label: &str) -> Option<&str> {
        self.labels.get(label).map(String::as_str)
    }
}

/// All samples of a family whose structure has this name.
pub(crate) fn of<'a>(page: &'a Page, family: &str, name: &str) -> Vec<&'a Sample> {
    let samples = page.get(family).unwrap_or_else(|| panic!("no {family}")).samples.iter();
    samples.filter(|sample| sample.label("name") == Some(name)).collect()
}

/// The only one.
#[track_caller]
pub(crate) fn value(page: &Page, family: &str, name: &str) -> f64 {
    let samples = of(page, family, name);
    assert_eq!(samples.len(), 1, "{family} of {name}: {samples:?}");
    samples[0].value
}

/// What is left of a line.
struct Line<'a>(&'a str);

impl<'a> Line<'a> {
    fn take(&mut self, token: char) -> Result<(), String> {
        self.0 = self.0.strip_prefix(token).ok_or_else(|| format!("no {token:?} at {:?}", self.0))?;
        Ok(())
    }

    fn blanks(&mut self) {
        self.0 = self.0.trim_start_matches([' ', '\t']);
    }

    fn name(&mut self, colons: bool) -> Result<&'a str, String> {
        let belongs = |c: char| c.is_ascii_alphanumeric() || c == '_' || colons && c == ':';
        let end = self.0.find(|c| !belongs(c)).unwrap_or(self.0.len());
        let (name, rest) = self.0.split_at(end);
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(format!("no name at {:?}", self.0));
        }
        self.0 = rest;
        Ok(name)
    }

    fn quoted(&mut self) -> Result<String, String> {
        self.take('"')?;
        let mut text = String::new();
        let mut chars = self.0.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.0 = &self.0[at + 1..];
                    return Ok(text);
                }
                '\\' => text.push(match chars.next() {
                    Some((_, '\\')) => '\\',
                    Some((_, '"')) => '"',
                    Some((_, 'n')) => '\n',
                    other => return Err(format!("no escape: {other:?}")),
                }),
                c => text.push(c),
            }
        }
        Err("no end of a value".to_owned())
    }

    fn word(&mut self) -> &'a str {
        let end = self.0.find([' ', '\t']).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        word
    }
}

fn number(text: &str) -> Result<f64, String> {
    match text {
        "NaN" => Ok(f64::NAN),
        "+Inf" => Ok(f64::INFINITY),
        "-Inf" => Ok(f64::NEG_INFINITY),
        _ if text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+' || c == '.') => {
            text.parse().map_err(|_| format!("no number: {text:?}"))
        }
        _ => Err(format!("no number: {text:?}")),
    }
}

fn sample(line: &str) -> Result<Sample, String> {
    let mut line = Line(line);
    let name = line.name(true)?.to_owned();
    line.blanks();
    let mut labels = BTreeMap::new();
    if line.take('{').is_ok() {
        loop {
            line.blanks();
            if line.take('}').is_ok() {
                break;
            }
            let label = line.name(false)?;
            line.blanks();
            line.take('=')?;
            line.blanks();
            if labels.insert(label.to_owned(), line.quoted()?).is_some() {
                return Err(format!("{label} twice"));
            }
            line.blanks();
            if line.take(',').is_err() {
                line.take('}')?;
                break;
            }
        }
    }
    line.blanks();
    let value = number(line.word())?;
    line.blanks();
    if !line.0.is_empty() {
        line.0.parse::<i64>().map_err(|_| format!("no timestamp: {:?}", line.0))?;
    }
    Ok(Sample { name, labels, value })
}

/// `\\` and `\n`, and no other escape.
fn unescaped(text: &str) -> Result<String, String> {
    let (mut out, mut chars) = (String::new(), text.chars());
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next() {
                Some('\\') => '\\',
                Some('n') => '\n',
                other => return Err(format!("no escape: {other:?}")),
            },
            c => c,
        });
    }
    Ok(out)
}

/// The family of a sample, as its name and the types say.
fn family_of<'a>(page: &Page, name: &'a str) -> &'a str {
    for suffix in ["_bucket", "_sum", "_count"] {
        let stem = name.strip_suffix(suffix);
        let kind = stem.and_then(|stem| page.get(stem)?.kind.as_deref());
        if let (Some(stem), Some("histogram")) = (stem, kind) {
            return stem;
        }
        if let (Some(stem), Some("summary"), true) = (stem, kind, suffix != "_bucket") {
            return stem;
        }
    }
    name
}

/// Reads a page, or says what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Page, String> {
    let (mut page, mut seen, mut last) = (Page::new(), BTreeSet::new(), String::new());
    if !text.is_empty() && !text.ends_with('\n') {
        return Err("the last line does not end".to_owned());
    }
    for line in text.split('\n') {
        // The lines of a family are one group.
        let mut enter = |page: &mut Page, name: &str| {
            if last != name && page.contains_key(name) {
                return Err(format!("{name} in two places"));
            }
            page.entry(name.to_owned()).or_default();
            name.clone_into(&mut last);
            Ok(())
        };
        let line = line.trim_matches([' ', '\t']);
        if let Some(comment) = line.strip_prefix('#') {
            let mut comment = Line(comment);
            comment.blanks();
            let keyword = comment.word();
            comment.blanks();
            if keyword != "HELP" && keyword != "TYPE" {
                continue;
            }
            let name = comment.name(true)?;
            enter(&mut page, name)?;
            let family = page.get_mut(name).expect("entered");
            let rest = comment.0.strip_prefix([' ', '\t']).unwrap_or(comment.0);
            if keyword == "HELP" {
                if family.help.replace(unescaped(rest)?).is_some() {
                    return Err(format!("two HELP for {name}"));
                }
            } else {
                if !["counter", "gauge", "histogram", "summary", "untyped"].contains(&rest) {
                    return Err(format!("no type: {rest:?}"));
                }
                if !family.samples.is_empty() {
                    return Err(format!("TYPE of {name} after its samples"));
                }
                if family.kind.replace(rest.to_owned()).is_some() {
                    return Err(format!("two TYPE for {name}"));
                }
            }
        } else if !line.is_empty() {
            let sample = sample(line).map_err(|error| format!("{error} in {line:?}"))?;
            let name = family_of(&page, &sample.name).to_owned();
            enter(&mut page, &name)?;
            if !seen.insert((sample.name.clone(), sample.labels.clone())) {
                return Err(format!("twice: {line:?}"));
            }
            page.get_mut(&name).expect("entered").samples.push(sample);
        }
    }
    page.iter().try_for_each(|(name, family)| check_spread(name, family))?;
    Ok(page)
}

/// Histograms and summaries, by the labels that they have beside their own.
fn check_spread(name: &str, family: &Family) -> Result<(), String> {
    let own = match family.kind.as_deref() {
        Some("histogram") => "le",
        Some("summary") => "quantile",
        _ => return Ok(()),
    };
    let mut groups: BTreeMap<_, Vec<&Sample>> = BTreeMap::new();
    for sample in &family.samples {
        let mut labels = sample.labels.clone();
        let has = labels.remove(own).is_some();
        let points = sample.name == if own == "le" { format!("{name}_bucket") } else { name.to_owned() };
        if has != points {
            return Err(format!("{own} where it does not belong, or not where it does: {sample:?}"));
        }
        groups.entry(labels).or_default().push(sample);
    }
    for (labels, samples) in groups {
        let one = |suffix: &str| {
            let mut all = samples.iter().filter(|sample| sample.name == format!("{name}{suffix}"));
            all.next().filter(|_| all.next().is_none()).ok_or_else(|| format!("{name}{suffix} {labels:?}"))
        };
        let (count, _) = (one("_count")?.value, one("_sum")?.value);
        let points = samples.iter().filter_map(|sample| Some((number(sample.label(own)?), sample.value)));
        let mut before = (f64::NEG_INFINITY, 0.0);
        for (at, value) in points {
            let at = at?;
            if at <= before.0 || value < before.1 {
                return Err(format!("{name} does not rise at {at}: {labels:?}"));
            }
            if own == "quantile" && !(0.0..=1.0).contains(&at) {
                return Err(format!("no quantile: {at}"));
            }
            before = (at, value);
        }
        if own == "le" && before != (f64::INFINITY, count) {
            return Err(format!("{name} has no bucket for all {count}: {labels:?}"));
        }
    }
    Ok(())
}

/// What is wrong with a page by the conventions (<https://prometheus.io/docs/practices/naming/>, and what `promtool check metrics` looks at).
pub(crate) fn against_conventions(page: &Page) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, family) in page {
        let kind = family.kind.as_deref().unwrap_or("none");
        let mut check = |good: bool, what: &str| {
            if !good {
                faults.push(format!("{name}: {what}"));
            }
        };
        check(family.help.as_deref().is_some_and(|help| help.ends_with('.')), "no help");
        check(family.kind.is_some(), "no type");
        check((kind == "counter") == name.ends_with("_total"), "_total is for counters, and all of them");
        check(
            !["_sum", "_count", "_bucket"].iter().any(|suffix| name.ends_with(suffix)),
            "a reserved suffix",
        );
        check(!name.contains(':') && !name.contains(char::is_uppercase), "characters");
        let words = || name.split('_');
        check(!words().any(|word| word == kind), "its type in its name");
        let units = ["ns", "nanoseconds", "us", "ms", "milliseconds", "minutes", "kib", "mib", "percent"];
        check(!words().any(|word| units.contains(&word)), "not a base unit");
        for sample in &family.samples {
            let reserved = |label: &String| label.starts_with("__");
            check(!sample.labels.keys().any(reserved), "a reserved label");
            check(kind != "counter" || sample.value >= 0.0, "a counter below 0, or none");
        }
    }
    faults
}

/// What `promtool` says of a page, where there is one.
pub(crate) fn promtool(text: &str) -> Option<Result<(), String>> {
    use std::{
        io::Write,
        process::{Command, Stdio},
    };
    let piped = || Stdio::piped();
    let command = &mut Command::new("promtool");
    let mut child =
        command.args(["check", "metrics"]).stdin(piped()).stdout(piped()).stderr(piped()).spawn().ok()?;
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let said = [output.stdout, output.stderr].concat();
    Some(if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&said).into_owned()) })
}

/// The page is bad, and for this reason.
#[track_caller]
fn bad(text: &str, reason: &str) {
    let error = parse(text).expect_err(text);
    assert!(error.contains(reason), "{text:?}: {error}");
}

#[test]
fn bad_pages() {
    bad("a 1", "the last line does not end");
    bad("1a 1\n", "no name");
    bad("a-b 1\n", "no number");
    bad("a\n", "no number");
    bad("a one\n", "no number");
    bad("a inf\n", "no number");
    bad("a 1 2 3\n", "no timestamp");
    bad("a 1 soon\n", "no timestamp");
    bad("a{b=\"c} 1\n", "no end of a value");
    bad("a{b=\"c\"d\"} 1\n", "no '}'");
    bad("a{b=\"c\\d\"} 1\n", "no escape");
    bad("a{b=c} 1\n", "no '\"'");
    bad("a{b:c=\"d\"} 1\n", "no '='");
    bad("a{b=\"c\",b=\"d\"} 1\n", "b twice");
    bad("a{b=\"c\" 1\n", "no '}'");
    bad("a 1\na 2\n", "twice");
    bad("a{b=\"c\",d=\"e\"} 1\na{d=\"e\",b=\"c\"} 2\n", "twice");
    bad("a 1\nb 2\na{c=\"d\"} 1\n", "in two places");
    bad("# HELP a b\n# HELP a b\n", "two HELP");
    bad("# TYPE a counter\n# TYPE a gauge\n", "two TYPE");
    bad("# TYPE a number\n", "no type");
    bad("# HELP a \\t\n", "no escape");
    bad("a 1\n# TYPE a gauge\n", "after its samples");
    let histogram = "# TYPE h histogram\n";
    bad(&format!("{histogram}h_bucket{{le=\"1\"}} 1\nh_sum 1\nh_count 1\n"), "no bucket for all");
    bad(&format!("{histogram}h_bucket{{le=\"+Inf\"}} 1\nh_sum 1\nh_count 2\n"), "no bucket for all");
    bad(&format!("{histogram}h_bucket{{le=\"+Inf\"}} 1\nh_count 1\n"), "h_sum");
    bad(
        &format!("{histogram}h_bucket{{le=\"1\"}} 3\nh_bucket{{le=\"+Inf\"}} 1\nh_sum 1\nh_count 1\n"),
        "not rise",
    );
    bad(
        &format!("{histogram}h_bucket{{le=\"2\"}} 1\nh_bucket{{le=\"1\"}} 1\nh_sum 1\nh_count 1\n"),
        "not rise",
    );
    bad(&format!("{histogram}h_bucket 1\nh_sum 1\nh_count 1\n"), "le where");
    bad("# TYPE s summary\ns{quantile=\"1.5\"} 1\ns_sum 1\ns_count 1\n", "no quantile");
}

#[test]
fn good_pages() {
    // From the description of the format.
    let text = "# HELP http_requests_total The total number of HTTP requests.\n\
        # TYPE http_requests_total counter\n\
        http_requests_total{method=\"post\",code=\"200\"} 1027 1395066363000\n\
        http_requests_total{method=\"post\",code=\"400\"}    3 1395066363000\n\
        \n\
        # Escaping in label values:\n\
        msdos_file_access_time_seconds{path=\"C:\\\\DIR\\\\FILE.TXT\",error=\"Cannot find file:\\n\\\"FILE.TXT\\\"\"} 1.458255915e9\n\
        \n\
        # Minimalistic line:\n\
        metric_without_timestamp_and_labels 12.47\n\
        \n\
        # A weird metric from before the epoch:\n\
        something_weird{problem=\"division by zero\"} +Inf -3982045\n\
        \n\
        # A histogram, which has a pretty complex representation in the text format:\n\
        # HELP http_request_duration_seconds A histogram of the request duration.\n\
        # TYPE http_request_duration_seconds histogram\n\
        http_request_duration_seconds_bucket{le=\"0.05\"} 24054\n\
        http_request_duration_seconds_bucket{le=\"0.1\"} 33444\n\
        http_request_duration_seconds_bucket{le=\"+Inf\"} 144320\n\
        http_request_duration_seconds_sum 53423\n\
        http_request_duration_seconds_count 144320\n\
        \n\
        # Finally a summary, which has a complex representation, too:\n\
        # HELP rpc_duration_seconds A summary of the RPC duration in seconds.\n\
        # TYPE rpc_duration_seconds summary\n\
        rpc_duration_seconds{quantile=\"0.01\"} 3102\n\
        rpc_duration_seconds{quantile=\"0.99\"} 76656\n\
        rpc_duration_seconds_sum 1.7560473e+07\n\
        rpc_duration_seconds_count 2693\n";
    let page = parse(text).expect("the example is good");
    assert_eq!(page.len(), 6);
    let path = &page["msdos_file_access_time_seconds"].samples[0];
    assert_eq!(path.label("path"), Some("C:\\DIR\\FILE.TXT"));
    assert_eq!(path.label("error"), Some("Cannot find file:\n\"FILE.TXT\""));
    assert_eq!(page["rpc_duration_seconds"].samples.len(), 4);
    // Three of them have no type and no help.
    assert_eq!(against_conventions(&page).iter().filter(|fault| fault.ends_with("no type")).count(), 3);
}

#[test]
fn bad_conventions() {
    let faults = |text: &str| against_conventions(&parse(text).expect("well-formed"));
    let with =
        |name: &str, kind: &str| faults(&format!("# HELP {name} B.\n# TYPE {name} {kind}\n{name} 1\n"));
    assert_eq!(with("a", "gauge"), [] as [&str; 0]);
    assert_eq!(with("a_total", "counter"), [] as [&str; 0]);
    for (name, kind) in [
        ("a", "counter"),
        ("a_total", "gauge"),
        ("a_count", "gauge"),
        ("a_gauge_b", "gauge"),
        ("a_ms", "gauge"),
        ("aB", "gauge"),
    ] {
        assert_eq!(with(name, kind).len(), 1, "{name} {kind}");
    }
    assert_eq!(faults("# HELP a_total B.\n# TYPE a_total counter\na_total -1\n").len(), 1);
    assert_eq!(faults("# HELP a B.\n# TYPE a gauge\na{__b=\"c\"} 1\n").len(), 1);
}

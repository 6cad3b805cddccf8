//! JSON, read by another.

use crate::{every::Every, format::parse};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use windlass::{Tick, TopK, metrics::Registry};

/// It has what the page for Prometheus has.
#[test]
fn the_same_figures() {
    let every = Every::new();
    for second in 0..20 {
        every.happen(second);
    }
    let json: Value = serde_json::from_str(&every.registry.json()).expect("JSON");
    let page = parse(&every.registry.prometheus()).expect("a page");
    let families = json["families"].as_array().expect("a list");
    assert_eq!(families.len(), page.len());
    for family in families {
        let other = &page[family["name"].as_str().expect("a name")];
        assert_eq!(family["type"], other.kind.as_deref().expect("a type"));
        assert_eq!(family["help"], other.help.as_deref().expect("a help"));
        for sample in family["samples"].as_array().expect("a list") {
            let labels = sample["labels"].as_object().expect("an object");
            let has = |own: &&crate::format::Sample| {
                labels.iter().all(|(label, value)| own.label(label) == value.as_str())
            };
            let found: Vec<_> = other.samples.iter().filter(has).collect();
            match &sample["value"] {
                Value::Number(value) => {
                    let (told, own) = (value.as_f64().expect("a number"), found[0].value);
                    // (serde_json reads reals but for their last digit.)
                    assert!(found.len() == 1 && (told - own).abs() <= 1e-12 * own, "{sample} {found:?}");
                }
                Value::Null if sample["count"].is_null() => assert!(found[0].value.is_nan()),
                _ => {
                    let counts = found.iter().filter(|own| own.name.ends_with("_count"));
                    assert_eq!(counts.map(|own| own.value).sum::<f64>(), sample["count"]);
                    let points = sample["quantiles"].as_object().or(sample["buckets"].as_object());
                    let points = points.expect("an object");
                    // All but the sum, the count and the bucket for all.
                    let more = if sample["buckets"].is_null() { 2 } else { 3 };
                    assert_eq!(points.len() + more, found.len());
                }
            }
        }
    }
}

#[test]
fn hot_keys() {
    let every = Every::new();
    let lists = || -> Value { serde_json::from_str(&every.registry.top_json()).expect("JSON") };
    let before = lists();
    assert_eq!(before["lists"][0]["name"], "topk");
    assert_eq!(
        (&before["lists"][0]["certified"], &before["lists"][0]["tail"]),
        (&Value::Bool(false), &Value::Null)
    );
    for second in 0..20 {
        every.happen(second);
    }
    let after = lists();
    assert_eq!(after["lists"].as_array().expect("a list").len(), 2);
    for (list, own) in
        [(&after["lists"][0], every.topk.snapshot()), (&after["lists"][1], every.bounded.snapshot())]
    {
        let numbers = [own.as_of.0, own.start.0, own.end.0, own.total, own.tail];
        let interval = &list["interval"];
        let told = [&list["as_of"], &interval["start"], &interval["end"], &list["total"], &list["tail"]];
        assert_eq!(told.map(|value| value.as_u64().expect("a number")), numbers);
        assert_eq!(list["certified"], own.certified);
        let rows = list["rows"].as_array().expect("a list");
        assert_eq!(rows.len(), 3);
        for (row, own) in rows.iter().zip(&own.rows) {
            assert_eq!(row["key"], own.key.to_string());
            let told =
                [&row["count"], &row["lower"], &row["upper"]].map(|value| value.as_u64().expect("a number"));
            assert_eq!(told, [own.count, own.lower, own.upper]);
            assert!(row["key_hex"].is_null());
        }
    }
}

#[test]
fn keys_of_all_bytes() {
    let (registry, second) = (Registry::new(), Duration::from_secs(1));
    let top = Arc::new(TopK::builder(second, second, 300).capacity(1000).build().expect("valid"));
    registry.add("\"top\"\n", &top).expect("new");
    for byte in 0..=255_u8 {
        top.add_at([byte, b'"'], 1, Tick(0));
    }
    top.refresh_at(Tick(0));
    let lists: Value = serde_json::from_str(&registry.top_json()).expect("JSON");
    assert_eq!(lists["lists"][0]["name"], "\"top\"\n");
    let rows = lists["lists"][0]["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 256);
    for (byte, row) in (0..=255_u8).zip(rows) {
        let own = [byte, b'"'];
        match std::str::from_utf8(&own) {
            Ok(text) => assert_eq!((row["key"].as_str(), &row["key_hex"]), (Some(text), &Value::Null)),
            Err(_) => assert_eq!(
                (&row["key"], &row["key_hex"]),
                (&"\u{fffd}\"".into(), &format!("{byte:02x}22").into())
            ),
        }
    }
}

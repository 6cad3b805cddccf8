//! What structures tell about themselves, as a page for Prometheus and as JSON. (Feature `metrics`.)
//!
//! A [`Registry`] knows structures by name; a page has the figures of all of them, as their `stats()` give them when it is asked for. Which figures there
//! are, and what to watch, is in `docs/metrics.md` of the repository. How long calls take is measured by who asks for it ([`Latency`]).
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//! use windlass::{Dedup, metrics::{Latency, Registry}};
//!
//! let orders = Arc::new(Dedup::builder(Duration::from_secs(60)).capacity(1000).build()?);
//! let latency = Arc::new(Latency::new());
//! let registry = Registry::new();
//! registry.add("orders", &orders)?;
//! registry.add("orders", &latency).unwrap_err(); // the name is taken
//! registry.add("orders_observe", &latency)?;
//!
//! latency.time(|| orders.observe("order-4711")).unwrap();
//! let page = registry.prometheus();
//! assert!(page.contains("windlass_dedup_entries{name=\"orders\"} 1\n"));
//! assert!(page.contains("windlass_latency_seconds_count{name=\"orders_observe\"} 1\n"));
//! # Ok::<(), windlass::ConfigError>(())
//! ```
//!
//! # Cost
//! Structures are not slowed down: counts that they keep anyway are added up, fills are estimated from samples. A page takes as long as the `stats()` of
//! all structures together, tens of microseconds for most, some milliseconds for a [`RotatingBloom`](crate::RotatingBloom) with many panes.

mod json;
mod latency;
mod page;
mod sources;
mod text;

use crate::{error::ConfigError, topk::TopSnapshot};
pub use latency::{Latencies, Latency};
pub use page::{Page, Value};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// What can be put on a page. All structures of this crate can, and [`Latency`]; others may be added, with metrics of their own.
///
/// ```
/// use std::sync::{Arc, atomic::{AtomicU64, Ordering}};
/// use windlass::metrics::{Page, Registry, Source};
///
/// #[derive(Default)]
/// struct Requests(AtomicU64);
///
/// impl Source for Requests {
///     fn measure(&self, page: &mut Page) {
///         page.counter("shop_requests_total", "Requests that came.", &[], self.0.load(Ordering::Relaxed));
///     }
/// }
///
/// let (registry, requests) = (Registry::new(), Arc::new(Requests::default()));
/// registry.add("shop", &requests)?;
/// requests.0.fetch_add(1, Ordering::Relaxed);
/// assert!(registry.prometheus().ends_with("shop_requests_total{name=\"shop\"} 1\n"));
/// # Ok::<(), windlass::ConfigError>(())
/// ```
pub trait Source: Send + Sync {
    /// Puts its figures on a page. Their samples have the label `name` already.
    fn measure(&self, page: &mut Page);

    /// The hottest keys, where it knows them.
    fn hot_keys(&self) -> Option<Arc<TopSnapshot>> {
        None
    }
}

/// Structures, by name, whose figures go on one page.
///
/// It holds them weakly: one that is dropped elsewhere is forgotten, and its name is free again.
#[derive(Default)]
pub struct Registry {
    /// In the order in which they came.
    sources: Mutex<Vec<Named>>,
}

#[derive(Clone)]
struct Named {
    name: String,
    source: Weak<dyn Source>,
}

impl Registry {
    /// An empty one.
    #[must_use]
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Adds a structure. The name becomes the label `name` of all its samples.
    ///
    /// # Errors
    /// If another that is alive has this name.
    pub fn add<T: Source + 'static>(
        &self,
        name: impl Into<String>,
        structure: &Arc<T>,
    ) -> Result<(), ConfigError> {
        let name = name.into();
        let mut sources = self.lock();
        sources.retain(|named| named.source.strong_count() > 0);
        if sources.iter().any(|named| named.name == name) {
            return Err(ConfigError::new("name", format_args!("{name:?}"), "a name that no other has"));
        }
        let source: Weak<T> = Arc::downgrade(structure);
        sources.push(Named { name, source });
        Ok(())
    }

    /// All figures as they are now.
    #[must_use]
    pub fn page(&self) -> Page {
        let mut page = Page::new();
        for (name, source) in self.alive() {
            page.begin(name);
            source.measure(&mut page);
        }
        page
    }

    /// .. in Prometheus' text format, version 0.0.4: to be served as [`Registry::CONTENT_TYPE`].
    #[must_use]
    pub fn prometheus(&self) -> String {
        text::render(&self.page())
    }

    /// .. as JSON: `{"families": [{"name", "type", "help", "samples": [{"labels", "value"}]}]}`. What is no number is `null`; a distribution has `count`, `sum` and
    /// `quantiles` or `buckets` instead of a value.
    #[must_use]
    pub fn json(&self) -> String {
        json::page(&self.page())
    }

    /// The hottest keys of each [`TopK`](crate::TopK) and [`BoundedTopK`](crate::BoundedTopK), as its last list has them ([`TopK::snapshot`](crate::TopK::snapshot): it is made by
    /// `refresh` or upkeep), as JSON: `{"lists": [{"name", "as_of", "interval": {"start", "end"}, "total", "certified", "tail", "rows": [{"key", "count", "lower",
    /// "upper"}]}]}`. Times are ticks. Keys are text; one that is none has its bytes beside it (`key_hex`). A `tail` of `null`: nothing is known of keys
    /// that are missing.
    #[must_use]
    pub fn top_json(&self) -> String {
        let lists = self.alive().into_iter().filter_map(|(name, source)| Some((name, source.hot_keys()?)));
        json::lists(&lists.collect::<Vec<_>>())
    }

    /// What [`Registry::prometheus`] is.
    pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

    /// Not under the lock: a source may take its time.
    fn alive(&self) -> Vec<(String, Arc<dyn Source>)> {
        let sources = self.lock();
        sources.iter().filter_map(|named| Some((named.name.clone(), named.source.upgrade()?))).collect()
    }

    /// (Nothing under the lock can panic.)
    fn lock(&self) -> MutexGuard<'_, Vec<Named>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.lock().iter().map(|named| &named.name)).finish()
    }
}

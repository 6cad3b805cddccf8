//! Where parsed portions come from: made here and now, or by threads.

use std::sync::{Arc, atomic::AtomicU64};

use super::{feed::Feed, parser::Parser, pool::Pool, portion::Portion, spec::Spec};
use crate::failure::Failure;

pub(super) enum Supply {
    Inline(Box<Feed>, Box<Parser>),
    Threads(Pool),
}

impl Supply {
    pub(super) fn start(spec: &Arc<Spec>, read: Arc<AtomicU64>) -> Result<Supply, Failure> {
        let feed = Feed::new(spec, read);
        Ok(match spec.threads {
            0 | 1 => Supply::Inline(Box::new(feed), Box::new(Parser::new(spec))),
            threads => Supply::Threads(Pool::start(threads, feed, spec)?),
        })
    }

    /// The next portion in the place of a used one; `false` at the end.
    pub(super) fn next(&mut self, portion: &mut Portion) -> Result<bool, Failure> {
        match self {
            Supply::Inline(feed, parser) => {
                portion.clear();
                let some = feed.next(portion)?;
                parser.parse(portion);
                Ok(some)
            }
            Supply::Threads(pool) => pool.next(portion),
        }
    }
}

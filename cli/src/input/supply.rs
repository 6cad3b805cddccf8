//! Where parsed portions come from: made here and now, or by threads.

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use super::{
    feed::{Begin, Feed},
    parser::Parser,
    pool::Pool,
    portion::Portion,
    spec::Spec,
};
use crate::failure::Failure;

/// What there was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Supplied {
    Portion,
    End,
    /// Nothing yet.
    Nothing,
}

pub(super) enum Supply {
    Inline(Box<Feed>, Box<Parser>),
    Threads(Pool),
}

impl Supply {
    /// `aside`: reading is left to a thread, so that nobody else has to wait for it.
    pub(super) fn start(
        spec: &Arc<Spec>,
        begin: Begin,
        aside: bool,
        read: Arc<AtomicU64>,
    ) -> Result<Supply, Failure> {
        let feed = Feed::new(spec, begin, read);
        Ok(match spec.threads {
            0 | 1 if !aside => Supply::Inline(Box::new(feed), Box::new(Parser::new(spec))),
            threads => Supply::Threads(Pool::start(threads.max(1), feed, spec)?),
        })
    }

    /// The next portion in the place of a used one. `most`: how long to wait for it, if it is made elsewhere.
    pub(super) fn next(
        &mut self,
        portion: &mut Portion,
        most: Option<Duration>,
    ) -> Result<Supplied, Failure> {
        match self {
            Supply::Inline(feed, parser) => {
                portion.clear();
                let some = feed.next(portion)?;
                parser.parse(portion);
                Ok(if some { Supplied::Portion } else { Supplied::End })
            }
            Supply::Threads(pool) => pool.next(portion, most),
        }
    }
}

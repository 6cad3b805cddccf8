//! The layouts, as one type that is told apart once for a call.

use super::plan::{Choice, Layout};
use crate::{
    mem::{Line, Slab},
    pane::{Arrays, Bloom, Rows},
    sync::Budget,
};

pub(super) enum Columns {
    Row(Rows<1, 1>),
    Rows2(Rows<1, 2>),
    Rows3(Rows<1, 3>),
    Rows4(Rows<1, 4>),
    Block128(Rows<2, 1>),
    Block256(Rows<4, 1>),
    Block512(Rows<8, 1>),
    Arrays(Arrays),
}

/// Runs the expression with whatever layout there is.
macro_rules! with_columns {
    ($any:expr, $columns:ident => $body:expr) => {
        match $any {
            $crate::bloom::columns::Columns::Row($columns) => $body,
            $crate::bloom::columns::Columns::Rows2($columns) => $body,
            $crate::bloom::columns::Columns::Rows3($columns) => $body,
            $crate::bloom::columns::Columns::Rows4($columns) => $body,
            $crate::bloom::columns::Columns::Block128($columns) => $body,
            $crate::bloom::columns::Columns::Block256($columns) => $body,
            $crate::bloom::columns::Columns::Block512($columns) => $body,
            $crate::bloom::columns::Columns::Arrays($columns) => $body,
        }
    };
}
pub(super) use with_columns;

impl Columns {
    /// `None` if there is no memory for them.
    pub(super) fn new(choice: &Choice) -> Option<Columns> {
        let budget = Budget::new(u64::MAX);
        Columns::over(choice, |len| Slab::new(len, &budget))
    }

    /// In lines that `take` gives: as many as they have bytes, by 64. `None` if it has none.
    pub(super) fn over(
        choice: &Choice,
        mut take: impl FnMut(usize) -> Option<Slab<Line>>,
    ) -> Option<Columns> {
        let &Choice { layout, panes, probes, blocks } = choice;
        let take = &mut take;
        Some(match layout {
            Layout::Rows(1) => Columns::Row(Rows::new(blocks, panes, probes, take)?),
            Layout::Rows(2) => Columns::Rows2(Rows::new(blocks, panes, probes, take)?),
            Layout::Rows(3) => Columns::Rows3(Rows::new(blocks, panes, probes, take)?),
            Layout::Rows(_) => Columns::Rows4(Rows::new(blocks, panes, probes, take)?),
            Layout::Blocks(128) => Columns::Block128(Rows::new(blocks, panes, probes, take)?),
            Layout::Blocks(256) => Columns::Block256(Rows::new(blocks, panes, probes, take)?),
            Layout::Blocks(_) => Columns::Block512(Rows::new(blocks, panes, probes, take)?),
            Layout::Arrays => Columns::Arrays(Arrays::new(blocks, panes, probes, false, take)?),
            Layout::SeededArrays => Columns::Arrays(Arrays::new(blocks, panes, probes, true, take)?),
        })
    }

    /// In how many chunks so many blocks are cleared.
    pub(super) fn chunks(layout: Layout, blocks: u64) -> u64 {
        match layout {
            Layout::Rows(_) | Layout::Blocks(_) => Rows::<1, 1>::chunks(blocks),
            Layout::Arrays | Layout::SeededArrays => Arrays::chunks(blocks),
        }
    }
}

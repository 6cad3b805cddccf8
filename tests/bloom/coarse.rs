//! Ticks that come in steps longer than the part of a pane in which the next one is cleared: panes still change when they should.

#![allow(clippy::unwrap_used)]

use windlass::{RotatingBloom, Tick, Window};

/// Eight panes of 1000 ticks, of which the last 125 are for clearing.
const PANE: u64 = 1000;

fn filter() -> RotatingBloom {
    let bloom = RotatingBloom::builder(Window::last_n(6875)).expected_ids(6875).build().unwrap();
    assert_eq!(bloom.plan().pane, Window::last_n(PANE));
    bloom
}

#[test]
fn one_call_finds_the_next_pane_unclean_clears_it_and_goes_on() {
    for step in [PANE / 8, PANE / 4, PANE / 2, PANE] {
        let bloom = filter();
        for event in 0..100 * PANE / step {
            bloom.insert_at(event, Tick(event * step));
        }
        let stats = bloom.stats();
        assert_eq!((stats.rotations, stats.late), (99, 0), "in steps of {step}: rotations, late");
    }
}

#[test]
fn ids_are_forgotten_in_time() {
    for step in [PANE / 8, PANE / 4, PANE / 2, PANE] {
        let bloom = filter();
        for event in 0..100 * PANE / step {
            let now = event * step;
            bloom.insert_at(event, Tick(now));
            // An eighth of a pane before eight panes later at the latest; with coarse steps, at the first call after that.
            if let Some(old) = (now + PANE / 8).checked_sub(8 * PANE + step) {
                let found = bloom.panes_at(old / step, Tick(now));
                assert!(
                    found.is_empty(),
                    "in steps of {step}: {} is there at {now}, in {found:?}",
                    old / step * step
                );
            }
        }
    }
}

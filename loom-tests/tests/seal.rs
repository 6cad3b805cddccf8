//! Sealing a group, and replacing a table under its callers. Protocol: `src/table/group.rs`, `KeyTable::reset`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::{EMPTY, bounded, bounded_by_two};
use loom::{sync::Arc, thread};
use windlass::model::{Root, Stop, Table, Twin, with};

/// Odd keys live in the second bucket.
type Small = Table<2, 2>;

fn small() -> Small {
    Table::new([[EMPTY; 2], [(9, 1), EMPTY]], 0)
}

/// What a sealed group holds does not change any more, whatever calls are under way.
fn frozen() {
    bounded(20, || {
        let t = Arc::new(small());
        let t2 = t.clone();
        let a = thread::spawn(move || (t2.insert(5, 10), t2.increment(9)));
        t.seal();
        let cells = t.cells();
        let (insert, increment) = a.join().unwrap();
        assert_eq!(t.cells(), cells, "changed under the seal");
        assert_eq!(insert == Ok(true), cells.contains(&(5, 10)));
        assert_eq!(increment.is_ok(), cells.contains(&(9, 2)));
        assert_eq!(t.insert(6, 10), Err(Stop::Sealed));
    });
}

#[test]
fn nothing_changes_under_the_seal() {
    frozen();
}

#[test]
#[should_panic(expected = "changed under the seal")]
fn twin_a_change_ignores_the_seal() {
    with(Twin::IgnoreSeal, frozen);
}

/// The same in a bucket that overflows.
#[test]
fn nothing_changes_under_the_seal_of_a_full_bucket() {
    bounded(20, || {
        let t = Arc::new(Small::new([[EMPTY; 2], [(9, 1), (7, 1)]], 0));
        let t2 = t.clone();
        let a = thread::spawn(move || t2.insert(5, 10));
        t.seal();
        let cells = t.cells();
        let insert = a.join().unwrap();
        assert_eq!(t.cells(), cells, "changed under the seal");
        assert_eq!(insert == Ok(true), cells.contains(&(5, 10)));
    });
}

/// Two callers insert one key while the table is replaced: each table gives it to one of them at most, and whoever begins
/// after the replacement finds what the new table has.
#[test]
fn one_winner_for_each_table() {
    bounded_by_two(100, || {
        let root = Arc::new(Root::new(small()));
        let (r2, r3) = (root.clone(), root.clone());
        let insert = |root: &Root<Small>, now| {
            root.read(|table| match table.insert(5, now) {
                Err(Stop::Sealed) => None,
                other => Some(other.unwrap()),
            })
        };
        let a = thread::spawn(move || insert(&r2, 10));
        let b = thread::spawn(move || insert(&r3, 11));
        root.replace(small(), Small::seal);
        let after = insert(&root, 12);
        let wins = [a.join().unwrap(), b.join().unwrap(), after].iter().filter(|&&w| w).count();
        assert!(wins == 1 || wins == 2, "{wins} winners over two tables");
        assert!(root.read(|table| Some(table.get(5).is_some())));
    });
}

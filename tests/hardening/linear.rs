//! Whether a history of calls could have come from one caller at a time: each call takes effect at one moment between its beginning and its end.
//!
//! The search is Wing and Gong's (1993), with Lowe's memory (2017) of what was reached before: the set of calls that have taken effect, and the state. Exponential
//! in calls that overlap, so histories are short and of one key.

use std::{collections::HashSet, fmt::Debug, hash::Hash};

/// What a structure is by its definition, for one key.
pub(crate) trait Spec: Clone + Eq + Hash + Debug {
    /// A call with its answer.
    type Call: Clone + Debug;

    /// The state after a call, if it can be answered like that.
    fn after(&self, call: &Self::Call) -> Option<Self>;
}

/// A call, and when it was begun and had ended.
#[derive(Clone, Debug)]
pub(crate) struct Timed<C> {
    pub(crate) call: C,
    pub(crate) begun: u64,
    pub(crate) ended: u64,
}

/// Whether some order explains all answers: one in which no call comes before another that had ended when it was begun. At most 64 calls.
pub(crate) fn is_linearizable<S: Spec>(initial: &S, history: &[Timed<S::Call>]) -> bool {
    assert!(history.len() <= 64);
    let all = u64::MAX.checked_shr(64 - u32::try_from(history.len()).expect("few")).unwrap_or(0);
    let (mut open, mut met) = (vec![(0_u64, initial.clone())], HashSet::new());
    while let Some((done, state)) = open.pop() {
        if done == all {
            return true;
        }
        let left = || history.iter().enumerate().filter(|(i, _)| done >> i & 1 == 0);
        // What had not begun when another that is left had ended comes after that.
        let first_end = left().map(|(_, call)| call.ended).min().unwrap_or(u64::MAX);
        for (i, timed) in left().filter(|(_, timed)| timed.begun <= first_end) {
            if let Some(after) = state.after(&timed.call) {
                let next = (done | 1 << i, after);
                if met.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
    }
    false
}

/// Pairs of calls of which each was begun before the other had ended.
pub(crate) fn overlaps<C>(history: &[Timed<C>]) -> usize {
    let meets = |a: &Timed<C>, b: &Timed<C>| a.begun < b.ended && b.begun < a.ended;
    (1..history.len()).map(|i| history[..i].iter().filter(|other| meets(other, &history[i])).count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One word: (written, or read).
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Word {
        Write(u8),
        Read(u8),
        /// From, to, and whether it was so.
        Exchange(u8, u8, bool),
    }

    impl Spec for u8 {
        type Call = Word;

        fn after(&self, call: &Word) -> Option<u8> {
            match *call {
                Word::Write(value) => Some(value),
                Word::Read(value) => (value == *self).then_some(*self),
                Word::Exchange(from, to, true) => (from == *self).then_some(to),
                Word::Exchange(from, _, false) => (from != *self).then_some(*self),
            }
        }
    }

    fn check(history: &[(Word, u64, u64)]) -> bool {
        let timed = |&(call, begun, ended): &_| Timed { call, begun, ended };
        is_linearizable(&0_u8, &history.iter().map(timed).collect::<Vec<_>>())
    }

    use Word::{Exchange, Read, Write};

    #[test]
    fn what_is() {
        assert!(check(&[]));
        assert!(check(&[(Write(1), 0, 1), (Read(1), 2, 3)]));
        // While it is written both may be read, the old value first.
        assert!(check(&[(Write(1), 0, 9), (Read(0), 1, 2), (Read(1), 3, 4)]));
        assert!(check(&[(Write(1), 0, 9), (Write(2), 0, 9), (Read(1), 10, 11)]));
        assert!(check(&[(Exchange(0, 1, true), 0, 9), (Exchange(0, 2, false), 0, 9), (Read(1), 10, 11)]));
        // The order of beginnings is not that of effects.
        assert!(check(&[(Read(2), 0, 9), (Write(2), 1, 9), (Write(3), 2, 9), (Read(3), 10, 11)]));
    }

    #[test]
    fn what_is_not() {
        // Lost; from nowhere; from the future.
        assert!(!check(&[(Write(1), 0, 1), (Read(0), 2, 3)]));
        assert!(!check(&[(Read(7), 0, 1)]));
        assert!(!check(&[(Read(1), 0, 1), (Write(1), 2, 3)]));
        // The new value, and then the old one.
        assert!(!check(&[(Write(1), 0, 9), (Read(1), 1, 2), (Read(0), 3, 4)]));
        // Two winners, or none.
        assert!(!check(&[(Exchange(0, 1, true), 0, 9), (Exchange(0, 2, true), 0, 9)]));
        assert!(!check(&[(Exchange(0, 1, false), 0, 9), (Exchange(0, 2, false), 0, 9)]));
        // Two readers that disagree on the order of two writes.
        let disagree = [(Write(1), 0, 9), (Write(2), 0, 9), (Read(1), 10, 11), (Read(2), 10, 11)];
        assert!(!check(&disagree));
    }

    /// Compared with trying all orders.
    #[test]
    fn as_all_orders_say() {
        fn any_order(state: u8, left: &mut Vec<Timed<Word>>) -> bool {
            (0..left.len()).any(|i| {
                let timed = left.remove(i);
                let first = left.iter().all(|other| other.ended >= timed.begun);
                let found = first && state.after(&timed.call).is_some_and(|after| any_order(after, left));
                left.insert(i, timed);
                found
            }) || left.is_empty()
        }

        let (mut random, mut found) = (crate::common::Random(11), [0, 0]);
        for _ in 0..20_000 {
            let mut small = |n| u8::try_from(random.below(n)).expect("small");
            let mut history: Vec<_> = (0..5)
                .map(|_| {
                    let call = match small(3) {
                        0 => Write(small(3)),
                        1 => Read(small(3)),
                        _ => Exchange(small(3), small(3), small(2) == 0),
                    };
                    let begun = u64::from(small(8));
                    Timed { call, begun, ended: begun + u64::from(small(5)) }
                })
                .collect();
            let is = is_linearizable(&0_u8, &history);
            assert_eq!(is, any_order(0, &mut history), "{history:?}");
            found[usize::from(is)] += 1;
        }
        assert!(found.iter().all(|&n| n > 500), "{found:?}");
    }
}

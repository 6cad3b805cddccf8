//! Limiters against their definitions: any calls, in any order, at any ticks, must have the same answers. And what holds of every
//! schedule.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use crate::common::{
    algorithms::ALGORITHMS,
    limit::{Clients, LAST, Model, Stamps, is_bucket, step},
};
use proptest::prelude::*;
use std::{thread, time::Duration};
use windlass::{Admission, Algorithm, KeyedLimiter, KeyedLimiterBuilder, Limiter, Quota, Seed, Tick};

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;

/// A quota that its algorithm takes as it is, without rounding.
#[derive(Clone, Copy, Debug)]
struct Setting {
    algorithm: Algorithm,
    permits: u64,
    per: u64,
    burst: u64,
    first: u64,
}

impl Setting {
    fn quota(&self) -> Quota {
        let quota = Quota::new(self.permits, Duration::from_nanos(self.per));
        if is_bucket(self.algorithm) { quota.burst(self.burst) } else { quota }
    }

    fn model(&self) -> Model {
        Model::new(self.algorithm, self.permits, self.per, self.burst)
    }

    fn limiter(&self) -> Limiter {
        Limiter::builder(self.quota()).algorithm(self.algorithm).build().expect("valid")
    }

    fn keyed(&self) -> KeyedLimiterBuilder {
        KeyedLimiter::builder(self.quota()).algorithm(self.algorithm).clients(100).seed(Seed(7))
    }

    /// Between two permits, about.
    fn interval(&self) -> u64 {
        self.per.div_ceil(self.permits)
    }
}

/// `d / n` microseconds between permits, a millisecond at least.
fn coarse() -> impl Strategy<Value = (u64, u64)> {
    let interval =
        prop_oneof![(1..=8_u64, Just(1000)), (1..=8_u64, 1..200_000_u64), (1..=8_u64, 1..50_000_000_u64)];
    (interval, 1..100_u64).prop_map(|((n, d), times)| {
        let d = d.max(1000 * n);
        // `times` * n permits in `times` * d microseconds.
        (times * n, times * d * 1000)
    })
}

/// A multiple of 4 ns between permits, less than a millisecond.
fn fine() -> impl Strategy<Value = (u64, u64)> {
    (prop_oneof![1..10_u64, 1..250_000_u64], prop_oneof![1..10_u64, 1..100_000_u64])
        .prop_map(|(units, permits)| (permits, permits * units * 4))
}

fn bucket() -> impl Strategy<Value = (u64, u64)> {
    let real = prop_oneof![
        Just((100, 60 * SECOND)),
        Just((7, 10 * SECOND)),
        Just((3, 3600 * SECOND)),
        Just((1, 366 * DAY)),
        Just((10, SECOND)),
    ];
    prop_oneof![coarse(), fine(), real]
}

fn window() -> impl Strategy<Value = (u64, u64)> {
    prop_oneof![
        (1..4_u64, prop_oneof![1024..5000_u64, 1..DAY]).prop_map(|(permits, per)| (permits, per.max(1024))),
        (1..10_000_u64, 2 * SECOND..DAY),
        (1..100_u64, DAY..=366 * DAY),
        Just((8191, SECOND)),
        Just((65_535, 60 * SECOND)),
    ]
}

fn setting() -> impl Strategy<Value = Setting> {
    let first =
        prop_oneof![Just(0), 0..10_000_u64, 0..100 * DAY, Just(u64::MAX - LAST), Just(u64::MAX - DAY)];
    let buckets = (0..3_usize, bucket(), prop_oneof![1..10_u64, 1..300_u64, Just(0)], first.clone());
    let windows = (3..5_usize, window(), first);
    let log = prop_oneof![(1..10_u64, 1..DAY), (1..1000_u64, 1..=366 * DAY), Just((10, SECOND))];
    let logs = (log, prop_oneof![Just(0), 0..10_000_u64, 0..100 * DAY, Just(u64::MAX - DAY)]);
    prop_oneof![
        1 => logs.prop_map(|((permits, per), first)| {
            Setting { algorithm: Algorithm::SlidingLog, permits, per, burst: permits, first }
        }),
        3 => buckets.prop_map(|(algorithm, (permits, per), burst, first)| {
            // A full bucket is empty after 2^56 ns.
            let most = ((1_u128 << 56) * u128::from(permits) / u128::from(per)).min(u128::from(u64::MAX));
            let burst = if burst == 0 { permits } else { burst }.min(u64::try_from(most).expect("in range"));
            Setting { algorithm: ALGORITHMS[algorithm], permits, per, burst, first }
        }),
        2 => windows.prop_map(|(algorithm, (permits, per), first)| {
            Setting { algorithm: ALGORITHMS[algorithm], permits, per, burst: permits, first }
        }),
    ]
}

/// How the next tick lies to the last one.
#[derive(Clone, Copy, Debug)]
enum Step {
    Same,
    Ahead(u64),
    Back(u64),
    /// So many intervals, and this much more or less.
    Intervals(i64, i64),
    /// So many quarters of the quota's time.
    Quarters(i64, i64),
    /// When the last denial said, and this much more.
    Retry(i64),
    Any(u64),
    Far(u64),
}

fn tick_step() -> impl Strategy<Value = Step> {
    let few = -2..3_i64;
    prop_oneof![
        6 => Just(Step::Same),
        3 => prop_oneof![1..10_u64, 1..SECOND, 1..DAY].prop_map(Step::Ahead),
        2 => prop_oneof![1..10_u64, 1..SECOND, 1..DAY].prop_map(Step::Back),
        6 => (-5..20_i64, few.clone()).prop_map(|(n, more)| Step::Intervals(n, more)),
        3 => (-2..10_i64, few).prop_map(|(n, more)| Step::Quarters(n, more)),
        4 => (-2..2_i64).prop_map(Step::Retry),
        1 => prop_oneof![Just(0), Just(u64::MAX), any::<u64>()].prop_map(Step::Any),
        1 => (0..LAST / 4).prop_map(Step::Far),
    ]
}

/// Ticks, one after the other.
struct Ticks {
    setting: Setting,
    now: u64,
    retry_at: u64,
    /// A client that was forgotten is as good as new from then on; before that something in between.
    least: u64,
    most: u64,
}

impl Ticks {
    fn new(setting: Setting) -> Ticks {
        let Setting { algorithm, first, .. } = setting;
        // For logs time stands still a little sooner.
        let (least, most) = match algorithm {
            Algorithm::SlidingLog => (first, first.saturating_add(3000 * DAY)),
            _ => (0, u64::MAX),
        };
        Ticks { now: first, retry_at: first, least, most, setting }
    }

    fn next(&mut self, step: Step) -> Tick {
        let by = |from: u64, unit: u64, n: i64, more: i64| {
            let tick = i128::from(from) + i128::from(unit) * i128::from(n) + i128::from(more);
            u64::try_from(tick.max(0)).unwrap_or(u64::MAX)
        };
        let now = match step {
            Step::Same => self.now,
            Step::Ahead(n) | Step::Far(n) => self.now.saturating_add(n),
            Step::Back(n) => self.now.saturating_sub(n),
            Step::Intervals(n, more) => by(self.now, self.setting.interval(), n, more),
            Step::Quarters(n, more) => by(self.now, self.setting.per / 4, n, more),
            Step::Retry(more) => by(self.retry_at, 0, 0, more),
            Step::Any(tick) => tick,
        };
        self.now = now.max(self.least).min(self.most);
        Tick(self.now)
    }

    fn learn(&mut self, admission: Admission) {
        if let Admission::Denied { retry_after } = admission {
            let wait = u64::try_from(retry_after.as_nanos()).expect("in range");
            self.retry_at = self.now.saturating_add(wait);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Cost {
    Few(u64),
    /// Of the burst, in eighths.
    Eighths(u64),
    /// The burst, and this much more.
    Burst(u64),
    Max,
}

impl Cost {
    fn of(self, burst: u64) -> u64 {
        match self {
            Cost::Few(n) => n,
            Cost::Eighths(n) => u64::try_from(u128::from(burst) * u128::from(n) / 8).expect("in range"),
            Cost::Burst(more) => burst.saturating_add(more),
            Cost::Max => u64::MAX,
        }
    }
}

fn cost() -> impl Strategy<Value = Cost> {
    prop_oneof![
        8 => Just(Cost::Few(1)),
        2 => (0..4_u64).prop_map(Cost::Few),
        4 => (1..8_u64).prop_map(Cost::Eighths),
        2 => (0..2_u64).prop_map(Cost::Burst),
        1 => Just(Cost::Max),
    ]
}

#[derive(Clone, Debug)]
enum Op {
    Check(u64, Cost, Step),
    Peek(u64, Cost, Step),
    Forget(u64, Step),
    Maintain(Step),
    /// In one call.
    Batch(Vec<(u64, Cost, Step)>),
    BatchAt(Vec<u64>, Step),
}

fn op() -> impl Strategy<Value = Op> {
    let client = || 0..3_u64;
    prop_oneof![
        10 => (client(), cost(), tick_step()).prop_map(|(client, cost, step)| Op::Check(client, cost, step)),
        3 => (client(), cost(), tick_step()).prop_map(|(client, cost, step)| Op::Peek(client, cost, step)),
        1 => (client(), tick_step()).prop_map(|(client, step)| Op::Forget(client, step)),
        1 => tick_step().prop_map(Op::Maintain),
        1 => prop::collection::vec((client(), cost(), tick_step()), 0..40).prop_map(Op::Batch),
        1 => (prop::collection::vec(client(), 0..40), tick_step()).prop_map(|(all, step)| Op::BatchAt(all, step)),
    ]
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, cases, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn one_limiter(setting in setting(), ops in prop::collection::vec(op(), 1..60)) {
        let (limiter, mut model) = (setting.limiter(), setting.model());
        let mut stamps = Stamps::new(setting.algorithm, setting.per, 0);
        let mut ticks = Ticks::new(setting);
        for op in ops {
            match op {
                Op::Check(_, cost, step) => {
                    let (cost, now) = (cost.of(setting.burst), ticks.next(step));
                    let at = stamps.at(now.0).unwrap_or(LAST);
                    let peeked = limiter.peek_at(cost, now);
                    let admission = limiter.check_at(cost, now);
                    prop_assert_eq!(peeked, admission);
                    prop_assert_eq!(admission, model.check(cost, at, 0), "cost {} at {}", cost, now);
                    ticks.learn(admission);
                }
                Op::Peek(_, cost, step) => {
                    let (cost, now) = (cost.of(setting.burst), ticks.next(step));
                    let at = stamps.foresee(now.0).unwrap_or(LAST);
                    prop_assert_eq!(limiter.peek_at(cost, now), model.peek(cost, at, 0), "cost {} at {}", cost, now);
                }
                Op::Forget(_, step) => {
                    let now = ticks.next(step);
                    let at = stamps.foresee(now.0).unwrap_or(LAST);
                    let said = limiter.forget_at(now);
                    prop_assert!(model.forget(said, at, 0), "{} at {}", said, now);
                    ticks.least = if said { now.0 } else { ticks.least };
                }
                _ => {}
            }
        }
    }

    /// Late by no more than the lateness or more, one by one and in batches, with upkeep in between, while time jumps.
    #[test]
    fn many_clients(
        setting in setting(),
        lateness in prop_oneof![Just(0), 0..SECOND, 0..DAY],
        max_jump in prop_oneof![Just(None), (1..10 * DAY).prop_map(Some)],
        growing in any::<bool>(),
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let mut builder = setting.keyed().lateness(Duration::from_nanos(lateness));
        if let Some(jump) = max_jump {
            builder = builder.max_jump(Duration::from_nanos(jump));
        }
        if growing && setting.algorithm != Algorithm::SlidingLog {
            builder = builder.clients(1).max_memory(1 << 20);
        }
        let limiter = builder.build().expect("valid");
        let mut twin = Clients::new(setting.model(), lateness, max_jump);
        let (mut ticks, mut admissions) = (Ticks::new(setting), Vec::new());
        for op in ops {
            match op {
                Op::Check(client, cost, step) => {
                    let (cost, now) = (cost.of(setting.burst), ticks.next(step));
                    let peeked = limiter.peek_at(client, cost, now);
                    let admission = limiter.check_at(client, cost, now);
                    prop_assert_eq!(admission, twin.check(client, cost, now.0), "cost {} at {}", cost, now);
                    prop_assert_eq!(peeked, admission);
                    ticks.learn(admission);
                }
                Op::Peek(client, cost, step) => {
                    let (cost, now) = (cost.of(setting.burst), ticks.next(step));
                    let expected = twin.peek(client, cost, now.0);
                    prop_assert_eq!(limiter.peek_at(client, cost, now), expected, "cost {} at {}", cost, now);
                }
                Op::Forget(client, step) => {
                    let now = ticks.next(step);
                    let said = limiter.forget_at(client, now);
                    prop_assert!(twin.forget(said, client, now.0), "{} at {}", said, now);
                    ticks.least = if said { now.0 } else { ticks.least };
                }
                Op::Maintain(step) => {
                    let now = ticks.next(step);
                    limiter.maintain_at(now, 10);
                    twin.maintain(now.0);
                }
                Op::Batch(calls) => {
                    let calls: Vec<(u64, u64, Tick)> = calls
                        .into_iter()
                        .map(|(client, cost, step)| (client, cost.of(setting.burst), ticks.next(step)))
                        .collect();
                    admissions.clear();
                    limiter.check_each(calls.len(), |i| calls[i], &mut admissions);
                    let expected: Vec<Admission> =
                        calls.iter().map(|&(client, cost, now)| twin.check(client, cost, now.0)).collect();
                    prop_assert_eq!(&admissions, &expected, "{:?}", calls);
                }
                Op::BatchAt(clients, step) => {
                    let now = ticks.next(step);
                    limiter.check_batch_at(&clients, now, &mut admissions);
                    let expected: Vec<Admission> =
                        clients.iter().map(|&client| twin.check(client, 1, now.0)).collect();
                    prop_assert_eq!(&admissions, &expected, "{:?} at {}", clients, now);
                }
            }
        }
        let stats = limiter.stats();
        prop_assert_eq!((stats.late, stats.jumps, stats.unknown), (twin.late, twin.jumps, 0));
    }
}

fn build(algorithm: Algorithm, (permits, per, burst): (u64, u64, u64)) -> Option<Limiter> {
    let quota = Quota::new(permits, Duration::from_nanos(per));
    let quota = if is_bucket(algorithm) { quota.burst(burst) } else { quota };
    Limiter::builder(quota).algorithm(algorithm).build().ok()
}

/// Permits, nanoseconds, burst: as they come.
fn any_quota() -> impl Strategy<Value = (u64, u64, u64)> {
    let real = prop_oneof![
        Just((11, SECOND)),
        Just((997, SECOND)),
        Just((3_000_000, SECOND)),
        Just((1001, SECOND)),
        Just((1_000_000_007, 7 * SECOND)),
        Just((13, 3600 * SECOND)),
    ];
    let any = (1..100_u64, prop_oneof![1000..SECOND, 1..100 * SECOND, 1..366 * DAY]);
    let many = (1..10_000_000_u64, prop_oneof![SECOND..100 * SECOND, 1..366 * DAY]);
    (prop_oneof![real, any, many], prop_oneof![Just(1), 1..10_u64, 1..1000_u64])
        .prop_map(|((permits, per), burst)| (permits, per, burst))
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).expect("in range")
}

/// Who asks for all it can get: at once, as soon as it is told, in between, or when the present window ends.
#[derive(Clone, Copy, Debug)]
enum Greed {
    Now,
    Retry,
    /// A part of the time until then, in 64ths.
    Wait(u64),
    /// So much before the end of the window.
    End(u64),
    Intervals(u64),
    Back(u64),
}

fn greed() -> impl Strategy<Value = Greed> {
    prop_oneof![
        4 => Just(Greed::Now),
        4 => Just(Greed::Retry),
        1 => (0..64_u64).prop_map(Greed::Wait),
        1 => (1..3_u64).prop_map(Greed::End),
        1 => (0..10_u64).prop_map(Greed::Intervals),
        1 => prop_oneof![1..10_u64, 1..SECOND].prop_map(Greed::Back),
    ]
}

/// When it was let in and for how much; of a queue: when it went on.
fn admitted(limiter: &Limiter, per: u64, interval: u64, asks: &[(Greed, u64)]) -> Vec<(u64, u64)> {
    let (mut now, mut retry_at, mut all) = (1000 * DAY, 1000 * DAY, Vec::new());
    for &(greed, cost) in asks {
        now = match greed {
            Greed::Now => now,
            Greed::Retry => now.max(retry_at),
            Greed::Wait(part) => now + retry_at.saturating_sub(now) / 64 * part,
            Greed::End(before) => (now / per + 1) * per - before.min(per),
            Greed::Intervals(n) => now + n * interval,
            Greed::Back(by) => now - by,
        };
        if now > 2500 * DAY {
            // Before time stands still.
            break;
        }
        match limiter.check_at(cost, Tick(now)) {
            Admission::Allowed { delay, .. } => all.push((now + nanos(delay), cost)),
            Admission::Denied { retry_after } => {
                retry_at = now + nanos(retry_after);
                assert!(limiter.peek_at(cost, Tick(retry_at)).is_allowed(), "{cost} at {retry_at}");
                let early = limiter.peek_at(cost, Tick(retry_at - 1));
                assert!(!early.is_allowed(), "{cost} before {retry_at}");
            }
            Admission::Never => {}
        }
    }
    all
}

/// Permits in each span from one admission to another, with both.
fn spans(all: &[(u64, u64)]) -> impl Iterator<Item = (u64, u64, u64)> {
    (0..all.len()).flat_map(move |from| {
        let mut sum = 0;
        all[from..].iter().map(move |&(to, cost)| {
            sum += cost;
            (all[from].0, to, sum)
        })
    })
}

proptest! {
    #![proptest_config(cases(300))]

    /// The table in the documentation of `Algorithm`; and a retry is exact, whatever the quota.
    #[test]
    fn bounds(
        algorithm in prop::sample::select(ALGORITHMS.to_vec()),
        quota in any_quota(),
        asks in prop::collection::vec((greed(), prop_oneof![3 => Just(1), 1 => 1..1000_u64]), 1..100),
    ) {
        let (permits, per, burst) = quota;
        let Some(limiter) = build(algorithm, quota) else { return Ok(()) };
        // There are but a few steps of time before the first call.
        prop_assert!(limiter.check_at(0, Tick(900 * DAY)).is_allowed());
        let mut all = admitted(&limiter, per, per.div_ceil(permits), &asks);
        let at_most = |span: u64| {
            u64::try_from(u128::from(span) * u128::from(permits) / u128::from(per)).expect("in range")
        };
        if !is_bucket(algorithm) {
            // Whose clock went back gains nothing by it: as if it had stood still.
            let mut newest = 0;
            all.iter_mut().for_each(|(at, _)| {
                newest = newest.max(*at);
                *at = newest;
            });
        } else if algorithm != Algorithm::LeakyQueue {
            // .. nor here, by whatever clock.
            all.sort_by_key(|&(at, _)| at);
        }
        for (from, to, sum) in spans(&all) {
            let span = to - from;
            match algorithm {
                Algorithm::FixedWindow => prop_assert!(sum <= permits * (to / per - from / per + 1)),
                Algorithm::SlidingLog => {
                    prop_assert!(sum <= permits * ((span + 999) / per + 1), "{} in {}", sum, span);
                }
                Algorithm::SlidingCounter => {
                    prop_assert!(sum <= permits * (to / per - from / per + 1));
                    prop_assert!(span > per || sum < 2 * permits);
                }
                // The last one's permits go on from then on.
                Algorithm::LeakyQueue => {
                    let last = all.iter().rev().find(|&&(at, _)| at == to).map_or(0, |&(_, cost)| cost);
                    let most = at_most(span + step(algorithm, permits, per)) + last;
                    prop_assert!(sum <= most, "{} in {}", sum, span);
                }
                _ => {
                    let most = burst + at_most(span + step(algorithm, permits, per) - 1);
                    prop_assert!(sum <= most, "{} in {}", sum, span);
                }
            }
        }
    }

    /// Each permit comes no sooner than by the exact quota, and later by no more than what an interval is rounded by, each time, and
    /// a step of time. (Without a burst a step each time: who comes at the next one has let the time until then go by.)
    #[test]
    fn rounded(quota in any_quota(), algorithm in 0..2_usize) {
        let (permits, per, burst) = quota;
        let algorithm = ALGORITHMS[algorithm];
        let Some(limiter) = build(algorithm, quota) else { return Ok(()) };
        let (start, step) = (7 * SECOND, step(algorithm, permits, per));
        prop_assert!(limiter.check_at(burst, Tick(start)).is_allowed());
        let (mut now, rounded_by) = (start, if step == 4 { 4 } else { 125 });
        // Before time stands still.
        for k in (1..100_u64).take_while(|k| k * per / permits < 2000 * DAY) {
            let Admission::Denied { retry_after } = limiter.check_at(1, Tick(now)) else {
                panic!("more than the burst")
            };
            now += nanos(retry_after);
            prop_assert!(limiter.check_at(1, Tick(now)).is_allowed());
            let (span, k, n) = (u128::from(now - start), u128::from(k), u128::from(permits));
            prop_assert!(span * n >= k * u128::from(per), "permit {} after {}", k, span);
            let steps = if burst == 1 { k } else { 1 };
            let latest = k * (u128::from(per) + rounded_by * n) + steps * u128::from(step) * n;
            prop_assert!(span * n < latest, "permit {} after {}", k, span);
        }
    }

    /// Who is late by no more than the lateness is judged as by a limiter of its own.
    #[test]
    fn late(
        setting in setting(),
        lateness in prop_oneof![1..1000_u64, 1..SECOND, 1..DAY],
        calls in prop::collection::vec((0..3_usize, cost(), 0..3_u8, any::<u64>()), 1..60),
    ) {
        let setting = Setting { first: 1000 * DAY, ..setting };
        let keyed = setting.keyed().lateness(Duration::from_nanos(lateness)).build().expect("valid");
        let each = [setting.limiter(), setting.limiter(), setting.limiter()];
        // For the time before their first calls.
        each.iter().for_each(|limiter| assert!(limiter.check_at(0, Tick(900 * DAY)).is_allowed()));
        let mut newest = setting.first;
        for (client, cost, kind, number) in calls {
            let now = Tick(match kind {
                0 => newest,
                1 => newest + number % (3 * setting.interval() + lateness),
                _ => newest - number % (lateness + 1),
            });
            if now.0 > 2400 * DAY {
                // Before time stands still.
                break;
            }
            let cost = cost.of(setting.burst);
            let admission = keyed.check_at(client as u64, cost, now);
            if cost <= setting.burst {
                newest = newest.max(now.0);
            }
            prop_assert_eq!(admission, each[client].check_at(cost, now), "{} at {}", client, now);
            if number % 16 == 0 {
                prop_assert_eq!(keyed.forget_at(client as u64, now), each[client].forget_at(now));
            }
        }
        prop_assert_eq!(keyed.stats().late, 0);
    }

    /// A client counts from its first permit until it has all of them back.
    #[test]
    fn fresh_clients_leave(setting in setting(), costs in prop::collection::vec(cost(), 1..50)) {
        let setting = Setting { first: setting.first.min(1000 * DAY), ..setting };
        let keyed = setting.keyed().build().expect("valid");
        let costs: Vec<u64> = costs.into_iter().map(|cost| cost.of(setting.burst)).collect();
        for (client, &cost) in costs.iter().enumerate() {
            let _ = keyed.check_at(client as u64, cost, Tick(setting.first));
        }
        let known = costs.iter().filter(|&&cost| (1..=setting.burst).contains(&cost)).count() as u64;
        prop_assert_eq!(keyed.stats().clients, known);
        // Time goes on in steps of a 1024th of it at most.
        let memory = setting.model().memory();
        let gone = Tick(setting.first + memory + memory / 1024 + 1);
        keyed.maintain_at(gone, 1);
        prop_assert_eq!(keyed.stats().clients, 0);
        for client in 0..costs.len() as u64 {
            prop_assert_eq!(
                keyed.check_at(client, 0, gone),
                Admission::Allowed {
                    remaining: setting.burst,
                    reset_after: Duration::ZERO,
                    delay: Duration::ZERO,
                }
            );
        }
    }
}

/// What a table has grown by comes back when its clients are fresh again; meanwhile no permit is lost or won.
#[test]
fn memory_comes_back() {
    // (There are as many logs as clients.)
    for algorithm in ALGORITHMS.into_iter().filter(|&algorithm| algorithm != Algorithm::SlidingLog) {
        let builder = KeyedLimiter::builder(Quota::new(3, Duration::from_secs(60))).algorithm(algorithm);
        let keyed = builder.clients(10).max_memory(64 << 20).seed(Seed(7)).build().expect("valid");
        let least = keyed.memory_bytes();
        for round in 0..2_u64 {
            let start = (1 + 1000 * round) * SECOND * 60;
            for permit in 0..4 {
                for client in 0..20_000_u64 {
                    let admission = keyed.check_at(client, 1, Tick(start));
                    assert_eq!(admission.is_allowed(), permit < 3, "{algorithm:?}, {client}");
                }
            }
            let stats = keyed.stats();
            assert!(stats.memory_bytes > 20_000 * 20 && stats.unknown == 0, "{stats:?}");
            let end = Tick(start + 300 * SECOND);
            for _ in 0..1_000_000 {
                if !keyed.maintain_at(end, 64) && keyed.memory_bytes() <= 2 * least {
                    break;
                }
                thread::yield_now();
            }
            let stats = keyed.stats();
            assert_eq!(stats.clients, 0);
            assert!(stats.memory_bytes <= 2 * least && stats.shrunk > 0, "{algorithm:?}: {least}, {stats:?}");
        }
    }
}

//! Handles, and which function is called next: those for ids and clients.

use std::ptr::{null, null_mut};

use super::{
    Keys, Source,
    snapshots::{self, Kept, Limits},
    structures,
};
use crate::{
    aggregator::windlass_aggregator,
    bloom::{batch::*, config::*, panes::*, single::*, stats::*, upkeep::*, *},
    bounded_topk::windlass_bounded_topk,
    counter::windlass_counter,
    dedup::{batch::*, claim::*, config::*, observe::*, stats::*, upkeep::*, *},
    export::windlass_export,
    fifo::windlass_fifo,
    hash::*,
    limiter::{
        admission::windlass_admission, batch::*, check::*, config::*, global::*, live::*, stats::*,
        upkeep::*, *,
    },
    limitset::{check::*, config::*, hold::*, live::*, stats::*, *},
    ring::windlass_ring,
    sized::Plain,
    status::*,
    time::{windlass_now_ns, windlass_wall_ns},
    topk::windlass_topk,
    version::*,
};

/// What is there by now; NULL is not.
pub(super) struct World {
    pub(super) dedup: *mut windlass_dedup,
    ticket: windlass_ticket,
    pub(super) blooms: [*mut windlass_bloom; 2],
    pub(super) limiter: *mut windlass_limiter,
    pub(super) global: *mut windlass_global_limiter,
    pub(super) set: *mut windlass_limitset,
    hold: windlass_reservation,
    pub(super) counter: *mut windlass_counter,
    pub(super) topk: *mut windlass_topk,
    pub(super) bounded: *mut windlass_bounded_topk,
    pub(super) exports: [*mut windlass_export; 2],
    pub(super) aggregators: [*mut windlass_aggregator; 2],
    pub(super) sent: Vec<u8>,
    pub(super) fifo: *mut windlass_fifo,
    pub(super) ring: *mut windlass_ring,
    pub(super) kept: Kept,
}

/// Calls as long as there are bytes. How many had nothing wrong about them, and how many had; and how many
/// structures of each kind were restored.
pub(super) fn drive(bytes: &[u8]) -> (u64, u64, [u64; 10]) {
    let mut world = World {
        dedup: null_mut(),
        ticket: windlass_ticket { words: [0; 4] },
        blooms: [null_mut(); 2],
        limiter: null_mut(),
        global: null_mut(),
        set: null_mut(),
        hold: windlass_reservation { words: [0; 44] },
        counter: null_mut(),
        topk: null_mut(),
        bounded: null_mut(),
        exports: [null_mut(); 2],
        aggregators: [null_mut(); 2],
        sent: Vec::new(),
        fifo: null_mut(),
        ring: null_mut(),
        kept: Kept::new(),
    };
    let mut source = Source::new(bytes);
    // Something to begin with.
    world.make_all(&mut source);
    structures::make_all(&mut world, &mut source);
    while !source.bytes.is_empty() {
        match source.below(13) {
            0 => world.make_all(&mut source),
            1 => structures::make_all(&mut world, &mut source),
            2 => plain(&mut source),
            3 => world.dedup(&mut source),
            4 => world.bloom(&mut source),
            5 => world.limiter(&mut source),
            6 => world.limitset(&mut source),
            7 => structures::counter(&world, &mut source),
            8 => structures::topk(&mut world, &mut source),
            9 => structures::exports(&mut world, &mut source),
            10 => structures::fifo(&world, &mut source),
            11 => snapshots::any(&mut world, &mut source),
            _ => structures::ring(&world, &mut source),
        }
    }
    // SAFETY: each is NULL or was made, and is freed once.
    unsafe {
        windlass_dedup_free(world.dedup);
        world.blooms.iter().for_each(|&bloom| windlass_bloom_free(bloom));
        windlass_limiter_free(world.limiter);
        windlass_global_limiter_free(world.global);
        windlass_limitset_free(world.set);
    }
    structures::free_all(&world);
    (source.fine, source.refused, world.kept.restored)
}

/// Puts in what was made, if it was. Was it?
macro_rules! made {
    ($s:ident, $place:expr, $free:ident, $new:ident ( $($argument:expr),* ), $may:expr) => {{
        let out = $s.out(false);
        let error = $s.error();
        // SAFETY: arguments that were made for it; what was there before is freed once.
        unsafe {
            let code = $new($($argument,)* out, error);
            let made = code == WINDLASS_OK;
            let handle = if made { *out } else { null_mut() };
            $s.returned(stringify!($new), code, $may);
            if made {
                $free($place);
                $place = handle;
            }
            made
        }
    }};
}
pub(super) use made;

/// Calls it, and judges what it returns.
macro_rules! call {
    ($s:ident, $may:expr, $name:ident ( $($argument:expr),* $(,)? )) => {{
        // SAFETY: arguments that were made for it.
        let code = unsafe { $name($($argument),*) };
        $s.returned(stringify!($name), code, $may)
    }};
}
pub(super) use call;

/// The three forms of a call with a key. (What is behind the key is the same for all.)
macro_rules! keyed {
    ($s:ident, $may:expr, $handle:expr, $bytes:ident $hash:ident $number:ident ( $($rest:expr),* )) => {{
        let handle = $handle;
        match $s.below(3) {
            0 => {
                let (at, len) = $s.text();
                call!($s, $may, $bytes(handle, at, len $(, $rest)*))
            }
            1 => {
                let hash = $s.hash();
                call!($s, $may, $hash(handle, hash $(, $rest)*))
            }
            _ => {
                let number = $s.number();
                call!($s, $may, $number(handle, number $(, $rest)*))
            }
        }
    }};
}
pub(super) use keyed;

/// The four forms of a call with a batch of `n`.
macro_rules! many {
    ($s:ident, $may:expr, $n:expr, $handle:expr, $packed:ident $fixed:ident $hashes:ident $numbers:ident ( $($rest:expr),* )) => {{
        let (handle, n) = ($handle, $n);
        $s.batch(stringify!($packed), n, $may, [
            // SAFETY: arguments that were made for it.
            &mut |k: Keys| unsafe { $packed(handle, k.bytes, k.len, k.offsets, n $(, $rest)*).into() },
            // SAFETY: arguments that were made for it.
            &mut |k: Keys| unsafe { $fixed(handle, k.bytes, k.len, k.stride, n $(, $rest)*).into() },
            // SAFETY: arguments that were made for it.
            &mut |k: Keys| unsafe { $hashes(handle, k.hashes, n $(, $rest)*).into() },
            // SAFETY: arguments that were made for it.
            &mut |k: Keys| unsafe { $numbers(handle, k.numbers, n $(, $rest)*).into() },
        ])
    }};
}
pub(super) use many;

/// Figures.
macro_rules! figures {
    ($s:ident, $handle:expr, $stats:ty, $get:ident) => {{
        let size = $s.struct_size::<$stats>();
        let out = $s.out(false);
        call!($s, &[], $get($handle, out, size))
    }};
}
pub(super) use figures;

/// What a new structure may say.
pub(super) const NEW: &[windlass_status] = &[WINDLASS_E_ARG, WINDLASS_E_NOMEM];

/// What needs no handle.
fn plain(s: &mut Source<'_>) {
    match s.below(8) {
        0 => {
            let ((at, len), seed) = (s.text(), s.number());
            let out = s.out(false);
            call!(s, &[], windlass_hash_bytes(at, len, seed, out));
        }
        1 => {
            let (number, seed) = (s.number(), s.number());
            let out = s.out(false);
            call!(s, &[], windlass_hash_u64(number, seed, out));
        }
        2 => {
            let out = s.out(false);
            call!(s, &[], windlass_seed_random(out));
        }
        3 => {
            let ((at, len), seed) = (s.text(), s.number());
            let out = s.out(false);
            call!(s, &[], windlass_seed_namespace(seed, at, len, out));
        }
        4 => {
            let status = i32::try_from(s.number()).unwrap_or(i32::MIN).saturating_sub(20);
            assert!(!windlass_status_text(status).is_null());
        }
        5 => assert_eq!(windlass_abi_version(), WINDLASS_ABI_VERSION),
        6 => assert!(!windlass_version().is_null() && windlass_version_number() == WINDLASS_VERSION_NUMBER),
        _ => assert!(windlass_now_ns() <= windlass_now_ns() && windlass_wall_ns() > 0),
    }
}

impl World {
    fn make_all(&mut self, s: &mut Source<'_>) {
        match s.below(8) {
            0 => self.make_dedup(s),
            1 => self.make_bloom(s),
            2 | 3 => self.make_limiters(s),
            4 => self.make_set(s),
            // All, as a rule.
            _ => {
                self.make_dedup(s);
                self.make_bloom(s);
                self.make_limiters(s);
                self.make_set(s);
            }
        }
    }

    fn make_dedup(&mut self, s: &mut Source<'_>) {
        let mut config = windlass_dedup_config::DEFAULT;
        (config.window, config.lateness, config.capacity) =
            (200 + s.number() % 64, s.below(20) as u64, 1 + s.below(60) as u64);
        (config.unit, config.refresh, config.on_full) =
            (s.below(2) as u32, s.below(2) as u32, s.below(2) as u32);
        config.identity = s.below(2) as u32;
        if s.byte() < 100 {
            config.max_memory = 1 << 20;
        }
        if s.byte() < 100 {
            config.max_jump = 500;
        }
        if s.seldom() {
            (config.flags, config.capacity) = (s.below(2) as u32, s.number());
        }
        let at = s.config(config);
        if made!(s, self.dedup, windlass_dedup_free, windlass_dedup_new(at), NEW) {
            self.kept.dedup.of = config;
        }
        self.ticket.words = [0; 4];
        let at = s.config(config);
        let error = s.error();
        call!(s, NEW, windlass_dedup_config_memory_bytes(at, error));
        let size = s.struct_size::<windlass_dedup_config>();
        let out = s.out(false);
        call!(s, &[], windlass_dedup_config_init(out, size));
    }

    fn dedup(&mut self, s: &mut Source<'_>) {
        const REFUSED: &[windlass_status] = &[WINDLASS_E_FULL, WINDLASS_E_JUMP, WINDLASS_E_TOO_LONG];
        let (handle, now) = (s.handle(self.dedup), s.now());
        match s.below(10) {
            0 | 1 => {
                keyed!(s, REFUSED, handle, windlass_dedup_observe windlass_dedup_observe_hash windlass_dedup_observe_u64 (now));
            }
            2 => {
                keyed!(s, REFUSED, handle, windlass_dedup_contains windlass_dedup_contains_hash windlass_dedup_contains_u64 (now));
            }
            3 => {
                keyed!(s, REFUSED, handle, windlass_dedup_forget windlass_dedup_forget_hash windlass_dedup_forget_u64 (now));
            }
            4 => {
                let n = s.n();
                let (ticks, verdicts) = (s.ticks(n), s.room::<i8>(n, true));
                many!(s, &[], n, handle, windlass_dedup_observe_packed windlass_dedup_observe_fixed
                    windlass_dedup_observe_hashes windlass_dedup_observe_u64s (now, ticks, verdicts));
            }
            5 => {
                let (lease, ticket, when) = (s.number(), s.out(false), s.out(true));
                let (may, before) = ([REFUSED, &[WINDLASS_E_LEASE]].concat(), self.ticket);
                let to = keep(&mut self.ticket, ticket);
                let code = keyed!(s, &may, handle, windlass_dedup_claim windlass_dedup_claim_hash windlass_dedup_claim_u64
                    (now, lease, to, when));
                assert!(code == i64::from(WINDLASS_FRESH) || self.ticket == before, "{code}, and a ticket");
            }
            6 => {
                let ticket = if s.seldom() {
                    s.is_wrong(WINDLASS_E_NULL);
                    null()
                } else {
                    &raw const self.ticket
                };
                if s.byte() < 128 {
                    call!(s, &[], windlass_dedup_commit(handle, ticket));
                } else {
                    call!(s, &[], windlass_dedup_abort(handle, ticket));
                }
            }
            7 => {
                figures!(s, handle, windlass_dedup_stats, windlass_dedup_get_stats);
            }
            8 => {
                let budget = s.below(64);
                call!(s, &[], windlass_dedup_maintain(handle, now, budget));
            }
            _ => match s.below(8) {
                0 => drop(call!(s, &[WINDLASS_E_NOMEM], windlass_dedup_reset(handle))),
                1..4 => drop(call!(s, &[], windlass_dedup_memory_bytes(handle))),
                _ => {
                    let out = s.out(false);
                    call!(s, &[], windlass_dedup_seed(handle, out));
                }
            },
        }
    }

    fn make_bloom(&mut self, s: &mut Source<'_>) {
        let mut config = windlass_bloom_config::DEFAULT;
        (config.window, config.expected_ids) = (200 + s.number() % 64, 1 + s.number() % 1000);
        (config.error, config.layout, config.rotation) = (0.01, s.below(10) as u32, s.below(3) as u32);
        (config.panes, config.unit) = (s.below(8) as u32, s.below(2) as u32);
        if s.seldom() {
            (config.error, config.layout, config.bits) = (f64::NAN, 77, s.number() % 5000);
        }
        let at = s.config(config);
        let which = s.below(2);
        if made!(s, self.blooms[which], windlass_bloom_free, windlass_bloom_new(at), NEW) {
            self.kept.blooms[which].of = config;
        }
        let (at, size) = (s.config(config), s.struct_size::<windlass_bloom_plan>());
        let out = s.out(false);
        let error = s.error();
        call!(s, NEW, windlass_bloom_config_plan(at, out, size, error));
        let size = s.struct_size::<windlass_bloom_config>();
        let out = s.out(false);
        call!(s, &[], windlass_bloom_config_init(out, size));
    }

    fn bloom(&mut self, s: &mut Source<'_>) {
        let which = s.below(2);
        let (handle, now) = (s.handle(self.blooms[which]), s.now());
        match s.below(12) {
            0 => {
                keyed!(s, &[], handle, windlass_bloom_insert windlass_bloom_insert_hash windlass_bloom_insert_u64 (now));
            }
            1 => {
                keyed!(s, &[], handle, windlass_bloom_observe windlass_bloom_observe_hash windlass_bloom_observe_u64 (now));
            }
            2 => {
                keyed!(s, &[], handle, windlass_bloom_contains windlass_bloom_contains_hash windlass_bloom_contains_u64 (now));
            }
            n @ 3..6 => {
                let of = n;
                let n = s.n();
                let (ticks, answers) = (s.ticks(n), s.room::<i8>(n, true));
                match of {
                    3 => many!(s, &[], n, handle, windlass_bloom_insert_packed windlass_bloom_insert_fixed
                        windlass_bloom_insert_hashes windlass_bloom_insert_u64s (now, ticks, answers)),
                    4 => many!(s, &[], n, handle, windlass_bloom_observe_packed windlass_bloom_observe_fixed
                        windlass_bloom_observe_hashes windlass_bloom_observe_u64s (now, ticks, answers)),
                    _ => {
                        many!(s, &[], n, handle, windlass_bloom_contains_packed windlass_bloom_contains_fixed
                        windlass_bloom_contains_hashes windlass_bloom_contains_u64s (now, ticks, answers))
                    }
                };
            }
            6 => {
                let (size, room) = (s.struct_size::<windlass_bloom_stats>(), s.n());
                let out = s.out(false);
                let panes = s.room(room, false);
                call!(s, &[], windlass_bloom_get_stats(handle, out, size, panes, room));
            }
            7 => {
                figures!(s, handle, windlass_bloom_plan, windlass_bloom_get_plan);
            }
            8 => {
                let room = s.n();
                let spans = s.room(room, false);
                keyed!(s, &[], handle, windlass_bloom_panes_at windlass_bloom_panes_at_hash windlass_bloom_panes_at_u64 (now, spans, room));
            }
            9 => {
                let (ids, error) = (s.out(false), s.out(true));
                call!(
                    s,
                    &[WINDLASS_E_ARG, WINDLASS_E_FULL],
                    windlass_bloom_distinct_at(handle, now, ids, error)
                );
            }
            10 => {
                let other = s.handle(self.blooms[1 - which]);
                let error = s.error();
                call!(s, &[WINDLASS_E_ARG], windlass_bloom_union(handle, other, error));
            }
            _ => match s.below(4) {
                0 => {
                    let budget = s.below(64);
                    call!(s, &[], windlass_bloom_maintain_at(handle, now, budget));
                }
                1 => drop(call!(s, &[], windlass_bloom_advance_to(handle, now))),
                2 => drop(call!(s, &[], windlass_bloom_memory_bytes(handle))),
                _ => {
                    let out = s.out(false);
                    call!(s, &[], windlass_bloom_seed(handle, out));
                }
            },
        }
    }

    fn make_limiters(&mut self, s: &mut Source<'_>) {
        let mut config = windlass_limiter_config::DEFAULT;
        (config.permits, config.per_ns, config.clients) =
            (1 + s.number() % 50, 100 + s.number() % 1000, 1 + s.below(50) as u64);
        (config.algorithm, config.on_unknown) = (s.below(6) as u32, s.below(3) as u32);
        if config.on_unknown == WINDLASS_ON_UNKNOWN_SHARE {
            config.shared_cells = 1 + s.below(8) as u64;
        }
        if s.seldom() {
            (config.algorithm, config.burst, config.clients) = (9, s.number(), s.number());
        }
        let at = s.config(config);
        if made!(s, self.limiter, windlass_limiter_free, windlass_limiter_new(at), NEW) {
            self.kept.limiter.of = config;
        }
        let at = s.config(config);
        if made!(s, self.global, windlass_global_limiter_free, windlass_global_limiter_new(at), NEW) {
            self.kept.global.of = config;
        }
        let at = s.config(config);
        let error = s.error();
        call!(s, NEW, windlass_limiter_config_memory_bytes(at, error));
        // (It writes into a config of its own: what it has been given stays if it fails.)
        let text = [&b"10/s burst 20"[..], b"ten", b"5/m", &[0xFF, 0xFE]][s.below(4)];
        let (at, error) = (s.config(config).cast_mut(), s.error());
        call!(
            s,
            &[WINDLASS_E_ARG],
            windlass_limiter_config_quota(at, text.as_ptr().cast(), text.len(), error)
        );
        let size = s.struct_size::<windlass_limiter_config>();
        let out = s.out(false);
        call!(s, &[], windlass_limiter_config_init(out, size));
    }

    fn limiter(&mut self, s: &mut Source<'_>) {
        let (now, cost) = (s.now(), s.number());
        if s.byte() < 60 {
            let handle = s.handle(self.global);
            match s.below(4) {
                0 => {
                    let out = s.out::<windlass_admission>(true);
                    call!(s, &[], windlass_global_limiter_check(handle, cost, now, out));
                }
                1 => {
                    let out = s.out::<windlass_admission>(true);
                    call!(s, &[], windlass_global_limiter_peek(handle, cost, now, out));
                }
                2 => drop(call!(s, &[], windlass_global_limiter_forget(handle, now))),
                _ => {
                    let ((quota, inherit), error) = (quota(s), s.error());
                    call!(s, QUOTA, windlass_global_limiter_set_quota(handle, quota, inherit, now, error));
                }
            }
            return;
        }
        let handle = s.handle(self.limiter);
        match s.below(11) {
            0 | 1 => {
                let out = s.out::<windlass_admission>(true);
                keyed!(s, &[], handle, windlass_limiter_check windlass_limiter_check_hash windlass_limiter_check_u64 (cost, now, out));
            }
            2 => {
                let out = s.out::<windlass_admission>(true);
                keyed!(s, &[], handle, windlass_limiter_peek windlass_limiter_peek_hash windlass_limiter_peek_u64 (cost, now, out));
            }
            3 => {
                keyed!(s, &[], handle, windlass_limiter_forget windlass_limiter_forget_hash windlass_limiter_forget_u64 (now));
            }
            4 | 5 => {
                let n = s.n();
                let (costs, ticks, out) =
                    (s.items::<u64>(n, true), s.ticks(n), s.room::<windlass_admission>(n, true));
                many!(s, &[], n, handle, windlass_limiter_check_packed windlass_limiter_check_fixed
                    windlass_limiter_check_hashes windlass_limiter_check_u64s (costs, now, ticks, out));
            }
            6 => {
                figures!(s, handle, windlass_limiter_stats, windlass_limiter_get_stats);
            }
            7 => {
                let ((quota, inherit), error) = (quota(s), s.error());
                call!(s, QUOTA, windlass_limiter_set_quota(handle, quota, inherit, now, error));
            }
            8 => {
                let ((quota, inherit), error) = (quota(s), s.error());
                keyed!(s, QUOTA, handle, windlass_limiter_set_quota_for windlass_limiter_set_quota_for_hash
                    windlass_limiter_set_quota_for_u64 (quota, inherit, now, error));
            }
            9 => {
                let (_, inherit) = quota(s);
                keyed!(s, QUOTA, handle, windlass_limiter_clear_quota_for windlass_limiter_clear_quota_for_hash
                    windlass_limiter_clear_quota_for_u64 (inherit, now));
            }
            _ => match s.below(3) {
                0 => drop(call!(s, &[], windlass_limiter_memory_bytes(handle))),
                1 => {
                    let out = s.out(false);
                    call!(s, &[], windlass_limiter_seed(handle, out));
                }
                _ => {
                    let budget = s.below(64);
                    call!(s, &[], windlass_limiter_maintain_at(handle, now, budget));
                }
            },
        }
    }

    fn make_set(&mut self, s: &mut Source<'_>) {
        let names = [c"user", c"tenant", c"all", c"\xFF"];
        let mut rules = [0, 1, 2].map(|i: usize| windlass_limit_rule {
            name: names[i].as_ptr(),
            permits: 1 + s.number() % 100,
            per_ns: 100 + s.number() % 1000,
            burst: 0,
            clients: [20, 5, 0][i],
            algorithm: [0, 1, 3][s.below(3)],
            on_unknown: s.below(2) as u32,
            reserved: [0; 2],
        });
        if s.seldom() {
            rules[1].name = names[s.below(4)].as_ptr();
            rules[1].algorithm = s.below(9) as u32;
        }
        let n = s.below(4);
        if n > 0 && s.seldom() {
            rules[0].name = null();
            s.is_wrong(WINDLASS_E_NULL);
        }
        let mut config = windlass_limitset_config::DEFAULT;
        config.reservations = s.below(4) as u64;
        let at = s.config(config);
        if made!(s, self.set, windlass_limitset_free, windlass_limitset_new(at, rules.as_ptr(), n), NEW) {
            self.kept.set.of = Limits { config, rules, n };
        }
        self.hold.words = [0; 44];
        let size = s.struct_size::<windlass_limitset_config>();
        let out = s.out(false);
        call!(s, &[], windlass_limitset_config_init(out, size));
    }

    fn limitset(&mut self, s: &mut Source<'_>) {
        let (handle, now, cost) = (s.handle(self.set), s.now(), s.number() % 40);
        match s.below(7) {
            0 | 1 => {
                let n = s.n();
                let (keys, out) = (s.items(n, false), s.out(true));
                call!(s, &[], windlass_limitset_check(handle, keys, n, cost, now, out));
            }
            2 => {
                let (n, lease) = (s.n(), s.number());
                let (keys, hold, out) = (s.items(n, false), s.out(false), s.out(true));
                let (to, before) = (keep(&mut self.hold, hold), self.hold);
                let code = call!(
                    s,
                    &[WINDLASS_E_FULL],
                    windlass_limitset_reserve(handle, keys, n, cost, lease, now, to, out)
                );
                assert!(code == 0 || self.hold == before, "{code}, and a reservation");
            }
            3 => {
                let hold = if s.seldom() {
                    s.is_wrong(WINDLASS_E_NULL);
                    null()
                } else {
                    &raw const self.hold
                };
                if s.byte() < 128 {
                    let out = s.out(true);
                    call!(s, &[], windlass_limitset_settle(handle, hold, cost, now, out));
                } else {
                    call!(s, &[], windlass_limitset_cancel(handle, hold, now));
                }
            }
            4 => {
                figures!(s, handle, windlass_limitset_stats, windlass_limitset_get_stats);
            }
            5 => {
                let ((quota, _), error) = (quota(s), s.error());
                let mut name = [c"user", c"tenant", c"all", c"\xFF"][s.below(4)].as_ptr();
                if s.seldom() {
                    s.is_wrong(WINDLASS_E_NULL);
                    name = null();
                }
                call!(s, QUOTA, windlass_limitset_set_quota(handle, name, quota, now, error));
            }
            _ => {
                let budget = s.below(64);
                call!(s, &[], windlass_limitset_maintain(handle, now, budget));
            }
        }
    }
}

/// What another quota may be refused for.
const QUOTA: &[windlass_status] = &[WINDLASS_E_ARG];

/// A quota, which a limiter can have as a rule, and what becomes of what was used.
fn quota(s: &mut Source<'_>) -> (windlass_quota, u32) {
    let mut quota =
        windlass_quota { permits: 1 + s.number() % 50, per_ns: 100 + s.number() % 1000, burst: s.number() };
    if s.seldom() {
        (quota.permits, quota.per_ns) = (s.number(), s.number());
    }
    let inherit = if s.seldom() { 2 } else { s.below(2) };
    (quota, inherit as u32)
}

/// Where a ticket goes: to be used later, where it may be written.
fn keep<T>(ticket: &mut T, out: *mut T) -> *mut T {
    if out.is_null() { out } else { ticket }
}

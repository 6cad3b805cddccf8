//! Which function is called next: those for counts, lists, queues and rings.

use std::ptr::null_mut;

use super::{
    Keys, Source,
    calls::{NEW, World, call, figures, keyed, made, many},
};
use crate::{
    aggregator::*,
    bounded_topk::{
        batch::*, config::*, list::*, single::*, stats::*, upkeep::*, windlass_bounded_topk_free,
        windlass_bounded_topk_new,
    },
    counter::{
        batch::*, config::*, single::*, stats::*, upkeep::*, windlass_counter_free, windlass_counter_new,
    },
    export::{bytes::*, make::*, rows::*, windlass_export_free},
    fifo::{
        ask::*, batch::*, config::*, entry::*, pop::*, push::*, remove::*, stats::*, windlass_fifo_free,
        windlass_fifo_new,
    },
    ring::{batch::*, change::*, config::*, route::*, stats::*, windlass_ring_free, windlass_ring_new},
    sized::Plain,
    status::*,
    topk::{
        batch::*, config::*, list::*, single::*, stats::*, upkeep::*, windlass_topk_free, windlass_topk_new,
    },
};

pub(super) fn make_all(world: &mut World, s: &mut Source<'_>) {
    match s.below(9) {
        0 => make_counter(world, s),
        1 => make_topk(world, s),
        2 => make_bounded(world, s),
        3 => make_fifo(world, s),
        4 => make_ring(world, s),
        // All, as a rule.
        _ => {
            make_counter(world, s);
            make_topk(world, s);
            make_bounded(world, s);
            make_fifo(world, s);
            make_ring(world, s);
        }
    }
}

pub(super) fn free_all(world: &World) {
    // SAFETY: each is NULL or was made, and is freed once.
    unsafe {
        windlass_counter_free(world.counter);
        windlass_topk_free(world.topk);
        windlass_bounded_topk_free(world.bounded);
        world.exports.iter().for_each(|&export| windlass_export_free(export));
        world.aggregators.iter().for_each(|&aggregator| windlass_aggregator_free(aggregator));
        windlass_fifo_free(world.fifo);
        windlass_ring_free(world.ring);
    }
}

fn make_counter(world: &mut World, s: &mut Source<'_>) {
    let mut config = windlass_counter_config::DEFAULT;
    (config.window, config.pane, config.capacity) = (400, 100, 1 + s.below(50) as u64);
    (config.lateness, config.unit, config.max_jump) = (s.number(), s.below(2) as u32, 5000);
    if s.seldom() {
        (config.pane, config.max_memory) = (s.number(), s.number());
    }
    let at = s.config(config);
    if made!(s, world.counter, windlass_counter_free, windlass_counter_new(at), NEW) {
        world.kept.counter.of = config;
    }
    let at = s.config(config);
    let error = s.error();
    call!(s, NEW, windlass_counter_config_memory_bytes(at, error));
    let size = s.struct_size::<windlass_counter_config>();
    let out = s.out(false);
    call!(s, &[], windlass_counter_config_init(out, size));
}

/// What an add may say.
const ADDED: &[windlass_status] = &[WINDLASS_E_JUMP];

pub(super) fn counter(world: &World, s: &mut Source<'_>) {
    let (handle, now, times) = (s.handle(world.counter), s.now(), s.number());
    match s.below(9) {
        0 | 1 => {
            keyed!(s, ADDED, handle, windlass_counter_add windlass_counter_add_hash windlass_counter_add_u64 (times, now));
        }
        2 => {
            let out = s.out(false);
            keyed!(s, &[], handle, windlass_counter_count windlass_counter_count_hash windlass_counter_count_u64 (now, out));
        }
        3 => {
            let ((at, len), out) = (s.text(), s.out(false));
            call!(s, &[], windlass_counter_count_complete(handle, at, len, now, out));
        }
        4 => {
            let out = s.out(false);
            call!(s, &[], windlass_counter_total(handle, now, out));
        }
        5 => {
            let out = s.out(false);
            call!(s, &[], windlass_counter_total_complete(handle, now, out));
        }
        6 => {
            let n = s.n();
            let (times, ticks, tally) = (s.items::<u64>(n, true), s.ticks(n), s.out(true));
            many!(s, &[], n, handle, windlass_counter_add_packed windlass_counter_add_fixed
                windlass_counter_add_hashes windlass_counter_add_u64s (times, now, ticks, tally));
        }
        7 => {
            let n = s.n();
            let (hashes, counts) = (s.items(n, false), s.room(n, false));
            call!(s, &[], windlass_counter_count_hashes(handle, hashes, n, now, counts));
        }
        _ => {
            if s.byte() < 128 {
                figures!(s, handle, windlass_counter_stats, windlass_counter_get_stats);
            } else {
                let budget = s.below(64);
                call!(s, &[], windlass_counter_maintain_at(handle, now, budget));
            }
        }
    }
}

fn make_topk(world: &mut World, s: &mut Source<'_>) {
    let mut config = windlass_topk_config::DEFAULT;
    (config.window, config.pane, config.k, config.capacity) = (400, 100, 3, 3 + s.below(50) as u64);
    (config.lateness, config.unit, config.max_jump, config.seed) = (s.number(), s.below(2) as u32, 5000, 7);
    if s.seldom() {
        (config.k, config.refresh_every, config.max_memory) = (s.number(), s.number(), s.number());
    }
    let at = s.config(config);
    if made!(s, world.topk, windlass_topk_free, windlass_topk_new(at), NEW) {
        world.kept.topk.of = config;
    }
    let at = s.config(config);
    let error = s.error();
    call!(s, NEW, windlass_topk_config_memory_bytes(at, error));
    let size = s.struct_size::<windlass_topk_config>();
    let out = s.out(false);
    call!(s, &[], windlass_topk_config_init(out, size));
}

fn make_bounded(world: &mut World, s: &mut Source<'_>) {
    let mut config = windlass_bounded_topk_config::DEFAULT;
    (config.window, config.pane, config.k, config.memory) = (400, 100, 3, 1 << 15);
    (config.lateness, config.unit, config.max_jump, config.seed) = (s.number(), s.below(2) as u32, 5000, 7);
    if s.seldom() {
        (config.k, config.memory, config.key_bytes) = (s.number(), s.number() % (1 << 16), s.number());
    }
    let at = s.config(config);
    if made!(s, world.bounded, windlass_bounded_topk_free, windlass_bounded_topk_new(at), NEW) {
        world.kept.bounded.of = config;
    }
    let size = s.struct_size::<windlass_bounded_topk_config>();
    let out = s.out(false);
    call!(s, &[], windlass_bounded_topk_config_init(out, size));
}

/// Where a list goes.
struct Place {
    list: *mut windlass_top_list,
    size: u32,
    rows: *mut windlass_top_row,
    row_room: usize,
    keys: *mut u8,
    key_room: usize,
}

fn place(s: &mut Source<'_>) -> Place {
    let (list, size, row_room) = (s.told(), s.struct_size::<windlass_top_list>(), s.n());
    let rows = s.room(row_room, false);
    let (keys, key_room) = s.bytes_out(false);
    Place { list, size, rows, row_room, keys, key_room }
}

/// The calls for one of the two lists of hot keys.
macro_rules! hot {
    ($s:ident, $handle:expr, $add:ident $add_hash:ident $add_u64:ident, $packed:ident $fixed:ident $hashes:ident $numbers:ident,
     $total:ident, $snapshot:ident $refresh:ident $top:ident $complete:ident, $stats:ty, $get_stats:ident $maintain:ident) => {{
        let (handle, now, times) = ($handle, $s.now(), $s.number());
        const SMALL: &[windlass_status] = &[WINDLASS_E_TOO_SMALL];
        match $s.below(10) {
            0 | 1 => drop(keyed!($s, ADDED, handle, $add $add_hash $add_u64 (times, now))),
            2 | 3 => {
                let n = $s.n();
                let (times, ticks, tally) = ($s.items::<u64>(n, true), $s.ticks(n), $s.out(true));
                many!($s, &[], n, handle, $packed $fixed $hashes $numbers (times, now, ticks, tally));
            }
            4 => {
                let out = $s.out(false);
                call!($s, &[], $total(handle, now, out));
            }
            5 => {
                let p = place($s);
                call!($s, SMALL, $snapshot(handle, p.list, p.size, p.rows, p.row_room, p.keys, p.key_room));
            }
            6 => {
                let p = place($s);
                call!($s, SMALL, $refresh(handle, now, p.list, p.size, p.rows, p.row_room, p.keys, p.key_room));
            }
            7 => {
                let p = place($s);
                call!($s, SMALL, $top(handle, now, p.list, p.size, p.rows, p.row_room, p.keys, p.key_room));
            }
            8 => {
                let p = place($s);
                call!($s, SMALL, $complete(handle, now, p.list, p.size, p.rows, p.row_room, p.keys, p.key_room));
            }
            _ => {
                if $s.byte() < 128 {
                    figures!($s, handle, $stats, $get_stats);
                } else {
                    let budget = $s.below(64);
                    call!($s, &[], $maintain(handle, now, budget));
                }
            }
        }
    }};
}

pub(super) fn topk(world: &mut World, s: &mut Source<'_>) {
    match s.below(8) {
        0 => {
            let (handle, now, out) = (s.handle(world.topk), s.now(), s.out(false));
            keyed!(s, &[], handle, windlass_topk_count windlass_topk_count_hash windlass_topk_count_u64 (now, out));
        }
        1 => {
            let (handle, now) = (s.handle(world.bounded), s.now());
            let (lower, upper) = (s.out(false), s.out(false));
            keyed!(s, &[], handle, windlass_bounded_topk_bounds windlass_bounded_topk_bounds_hash
                windlass_bounded_topk_bounds_u64 (now, lower, upper));
        }
        2..5 => {
            let handle = s.handle(world.topk);
            hot!(s, handle, windlass_topk_add windlass_topk_add_hash windlass_topk_add_u64,
                windlass_topk_add_packed windlass_topk_add_fixed windlass_topk_add_hashes windlass_topk_add_u64s,
                windlass_topk_total, windlass_topk_snapshot windlass_topk_refresh windlass_topk_top windlass_topk_top_complete,
                windlass_topk_stats, windlass_topk_get_stats windlass_topk_maintain_at);
        }
        _ => {
            let handle = s.handle(world.bounded);
            if s.byte() < 8 {
                call!(s, &[], windlass_bounded_topk_is_ready(handle));
            }
            hot!(s, handle, windlass_bounded_topk_add windlass_bounded_topk_add_hash windlass_bounded_topk_add_u64,
                windlass_bounded_topk_add_packed windlass_bounded_topk_add_fixed windlass_bounded_topk_add_hashes
                windlass_bounded_topk_add_u64s, windlass_bounded_topk_total,
                windlass_bounded_topk_snapshot windlass_bounded_topk_refresh windlass_bounded_topk_top
                windlass_bounded_topk_top_complete,
                windlass_bounded_topk_stats, windlass_bounded_topk_get_stats windlass_bounded_topk_maintain_at);
        }
    }
}

/// Puts in what a structure tells.
macro_rules! exported {
    ($s:ident, $place:expr, $handle:expr, $now:expr, $from:ident) => {{
        let (handle, out) = ($s.handle($handle), $s.out(false));
        // SAFETY: arguments that were made for it; what was there before is freed once.
        unsafe {
            let code = $from(handle, $now, out);
            let made = if code == WINDLASS_OK { *out } else { null_mut() };
            $s.returned(stringify!($from), code, &[]);
            if code == WINDLASS_OK {
                windlass_export_free($place);
                $place = made;
            }
        }
    }};
}

pub(super) fn exports(world: &mut World, s: &mut Source<'_>) {
    const SMALL: &[windlass_status] = &[WINDLASS_E_TOO_SMALL];
    let (which, now) = (s.below(2), s.now());
    match s.below(14) {
        0 => exported!(s, world.exports[which], world.topk, now, windlass_topk_export),
        1 => exported!(s, world.exports[which], world.topk, now, windlass_topk_export_complete),
        2 => exported!(s, world.exports[which], world.bounded, now, windlass_bounded_topk_export),
        3 => exported!(s, world.exports[which], world.bounded, now, windlass_bounded_topk_export_complete),
        4 => {
            let (handle, len) = (s.handle(world.exports[which]), s.told::<usize>());
            let (bytes, room) = s.bytes_out(false);
            // SAFETY: arguments that were made for it.
            unsafe {
                let code = windlass_export_to_bytes(handle, bytes, room, len);
                if code == WINDLASS_OK {
                    world.sent = std::slice::from_raw_parts(bytes, *len).to_vec();
                }
                s.returned("windlass_export_to_bytes", code, SMALL);
            }
        }
        5 | 6 => {
            let mut sent = world.sent.clone();
            // Damaged, as a rule.
            if !sent.is_empty() && s.byte() < 200 {
                let at = s.number() as usize % sent.len();
                sent[at] ^= s.byte();
            }
            let (at, len) = if s.seldom() { s.text() } else { (sent.as_ptr(), sent.len()) };
            let may = [WINDLASS_E_FORMAT];
            made!(s, world.exports[which], windlass_export_free, windlass_export_from_bytes(at, len), &may);
        }
        7 => {
            let handle = s.handle(world.exports[which]);
            figures!(s, handle, windlass_export_info, windlass_export_get_info);
        }
        8 => {
            let (handle, p) = (s.handle(world.exports[which]), place(s));
            call!(
                s,
                SMALL,
                windlass_export_list(handle, p.list, p.size, p.rows, p.row_room, p.keys, p.key_room)
            );
        }
        9 => {
            let (handle, rows) = (s.handle(world.exports[which]), s.below(20));
            call!(s, &[], windlass_export_truncate(handle, rows));
        }
        10 => {
            let (k, keys) = (s.number(), s.below(3) as u32);
            made!(
                s,
                world.aggregators[which],
                windlass_aggregator_free,
                windlass_aggregator_new(k, keys),
                &[WINDLASS_E_ARG]
            );
        }
        11 => {
            let (handle, export) = (s.handle(world.aggregators[which]), s.handle(world.exports[0]));
            let error = s.error();
            call!(s, &[WINDLASS_E_MISMATCH], windlass_aggregator_add(handle, export, error));
        }
        12 => {
            let other = s.below(2);
            let (handle, other) = (s.handle(world.aggregators[which]), s.handle(world.aggregators[other]));
            let error = s.error();
            call!(
                s,
                &[WINDLASS_E_MISMATCH, WINDLASS_E_ARG],
                windlass_aggregator_add_all(handle, other, error)
            );
        }
        _ => {
            let handle = s.handle(world.aggregators[which]);
            if s.byte() < 80 {
                let out = s.out(false);
                call!(s, &[], windlass_aggregator_exports(handle, out));
            } else {
                let p = place(s);
                call!(
                    s,
                    SMALL,
                    windlass_aggregator_list(handle, p.list, p.size, p.rows, p.row_room, p.keys, p.key_room)
                );
            }
        }
    }
}

fn make_fifo(world: &mut World, s: &mut Source<'_>) {
    let mut config = windlass_fifo_config::DEFAULT;
    (config.capacity, config.on_present) = (1 + s.below(20) as u64, s.below(2) as u32);
    if s.seldom() {
        (config.on_present, config.max_memory) = (s.below(4) as u32, s.number());
    }
    let at = s.config(config);
    if made!(s, world.fifo, windlass_fifo_free, windlass_fifo_new(at), NEW) {
        world.kept.fifo.of = config;
    }
    let at = s.config(config);
    let error = s.error();
    call!(s, NEW, windlass_fifo_config_memory_bytes(at, error));
    let size = s.struct_size::<windlass_fifo_config>();
    let out = s.out(false);
    call!(s, &[], windlass_fifo_config_init(out, size));
}

/// Bytes that C may leave out.
fn wanted(s: &mut Source<'_>) -> (*mut u8, usize) {
    s.bytes_out(true)
}

pub(super) fn fifo(world: &World, s: &mut Source<'_>) {
    const SMALL: &[windlass_status] = &[WINDLASS_E_TOO_SMALL];
    let (handle, now) = (s.handle(world.fifo), s.now());
    match s.below(15) {
        14 => {
            let ((value, room), entry) = (wanted(s), s.told::<windlass_fifo_entry>());
            keyed!(s, SMALL, handle, windlass_fifo_remove windlass_fifo_remove_hash windlass_fifo_remove_u64 (value, room, entry));
        }
        0..3 => {
            let ((value, value_len), seq) = (s.text(), s.out(true));
            let may = &[WINDLASS_E_FULL, WINDLASS_E_COLLISION];
            keyed!(s, may, handle, windlass_fifo_push windlass_fifo_push_hash windlass_fifo_push_u64 (value, value_len, now, seq));
        }
        3 => {
            let out = s.out(false);
            keyed!(s, &[], handle, windlass_fifo_rank windlass_fifo_rank_hash windlass_fifo_rank_u64 (out));
        }
        4 => {
            let ((value, room), place) = (wanted(s), s.told::<windlass_fifo_place>());
            keyed!(s, SMALL, handle, windlass_fifo_find windlass_fifo_find_hash windlass_fifo_find_u64 (value, room, place));
        }
        5 => match s.below(4) {
            0 => drop(call!(s, &[], windlass_fifo_len(handle))),
            1 => {
                let out = s.out(false);
                call!(s, &[], windlass_fifo_count_before(handle, now, out));
            }
            2 => {
                figures!(s, handle, windlass_fifo_stats, windlass_fifo_get_stats);
            }
            _ => {
                let budget = s.below(64);
                call!(s, &[], windlass_fifo_maintain(handle, budget));
            }
        },
        of @ 6..10 => {
            let ((key, key_room), (value, value_room)) = (wanted(s), wanted(s));
            let (number, entry) = (s.number(), s.told::<windlass_fifo_entry>());
            match of {
                6 => call!(
                    s,
                    SMALL,
                    windlass_fifo_at_rank(handle, number, key, key_room, value, value_room, entry)
                ),
                7 => call!(
                    s,
                    SMALL,
                    windlass_fifo_next(handle, number, key, key_room, value, value_room, entry)
                ),
                8 => call!(s, SMALL, windlass_fifo_peek(handle, key, key_room, value, value_room, entry)),
                _ if s.byte() < 128 => {
                    call!(s, SMALL, windlass_fifo_pop(handle, key, key_room, value, value_room, entry))
                }
                _ => call!(
                    s,
                    SMALL,
                    windlass_fifo_pop_until(handle, now, key, key_room, value, value_room, entry)
                ),
            };
        }
        10 => {
            let ((keys, key_room), (values, value_room), n) = (wanted(s), wanted(s), s.n());
            let entries = s.output(true);
            let entries = s.place::<windlass_fifo_entry>(entries, n, false);
            call!(s, SMALL, windlass_fifo_pop_packed(handle, n, keys, key_room, values, value_room, entries));
        }
        11 | 12 => {
            let n = s.n();
            let before = s.wrong.len();
            let values = s.packed(n);
            if values.offsets.is_null() {
                // Then there are none, and they are not looked at.
                s.wrong.truncate(before);
            }
            let (results, seqs) = (s.room(n, false), s.room(n, true));
            if s.byte() < 128 {
                let keys = s.packed(n);
                let (bytes, ends) = ((keys.bytes, keys.len), (values.bytes, values.len));
                call!(
                    s,
                    &[],
                    windlass_fifo_push_packed(
                        handle,
                        bytes.0,
                        bytes.1,
                        keys.offsets,
                        n,
                        ends.0,
                        ends.1,
                        values.offsets,
                        now,
                        results,
                        seqs
                    )
                );
            } else {
                let keys = s.items(n, false);
                call!(
                    s,
                    &[],
                    windlass_fifo_push_u64s(
                        handle,
                        keys,
                        n,
                        values.bytes,
                        values.len,
                        values.offsets,
                        now,
                        results,
                        seqs
                    )
                );
            }
        }
        _ => {
            let n = s.n();
            let ranks = s.room::<i64>(n, false);
            many!(s, &[], n, handle, windlass_fifo_rank_packed windlass_fifo_rank_fixed windlass_fifo_rank_hashes
                windlass_fifo_rank_u64s (ranks));
        }
    }
}

fn make_ring(world: &mut World, s: &mut Source<'_>) {
    let mut config = windlass_ring_config::DEFAULT;
    config.vnodes = 1 + s.below(20) as u32;
    if s.seldom() {
        config.vnodes = s.number() as u32;
    }
    let at = s.config(config);
    if made!(s, world.ring, windlass_ring_free, windlass_ring_new(at), NEW) {
        world.kept.ring.of = config;
    }
    let size = s.struct_size::<windlass_ring_config>();
    let out = s.out(false);
    call!(s, &[], windlass_ring_config_init(out, size));
}

pub(super) fn ring(world: &World, s: &mut Source<'_>) {
    const NONE: &[windlass_status] = &[WINDLASS_E_NO_NODE];
    const CHANGE: &[windlass_status] = &[WINDLASS_E_ARG];
    let handle = s.handle(world.ring);
    let (id, weight) = (s.below(6) as u32, s.below(4) as u32);
    match s.below(9) {
        0 | 1 => {
            let ((name, len), moved) = (s.text(), s.out(true));
            let error = s.error();
            call!(s, CHANGE, windlass_ring_add(handle, id, name, len, weight, moved, error));
        }
        2 => {
            let moved = s.out(true);
            let error = s.error();
            if s.byte() < 128 {
                call!(s, CHANGE, windlass_ring_remove(handle, id, moved, error));
            } else {
                call!(s, CHANGE, windlass_ring_set_weight(handle, id, weight, moved, error));
            }
        }
        3 | 4 => {
            keyed!(s, NONE, handle, windlass_ring_route windlass_ring_route_hash windlass_ring_route_u64 ());
        }
        5 => {
            let n = s.n();
            let owners = s.room(n, false);
            if s.byte() < 128 {
                let (key, len) = s.text();
                call!(s, NONE, windlass_ring_route_n(handle, key, len, n, owners));
            } else {
                let hash = s.hash();
                call!(s, NONE, windlass_ring_route_n_hash(handle, hash, n, owners));
            }
        }
        6 => {
            let n = s.n();
            let owners = s.room::<u32>(n, false);
            many!(s, NONE, n, handle, windlass_ring_route_packed windlass_ring_route_fixed windlass_ring_route_hashes
                windlass_ring_route_u64s (owners));
        }
        7 => {
            let room = s.n();
            let nodes = s.room(room, false);
            call!(s, &[], windlass_ring_nodes(handle, nodes, room));
        }
        _ => {
            figures!(s, handle, windlass_ring_stats, windlass_ring_get_stats);
        }
    }
}

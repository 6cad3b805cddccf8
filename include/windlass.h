/*
 * windlass: lock-free sliding-window structures.
 *
 * Made from ffi/src by cbindgen: do not edit. Licence: MIT OR Apache-2.0.
 *
 * How to build and link, and an example: docs/c.md. What holds for all functions:
 *
 * Pointers     NULL is refused with WINDLASS_E_NULL, unless the function says that it is allowed;
 *              bytes may be NULL if their length is 0. What is passed must be readable (outputs:
 *              writable) over its whole length, and aligned as its type is. Nothing of it is kept
 *              after the call.
 * Outputs      are written when the call succeeds, and else left alone. A windlass_error is written
 *              when it fails; what says how much room it takes also with
 *              WINDLASS_E_TOO_SMALL.
 * Errors       are negative; nothing was changed then. There is no last error.
 * Time         is what the caller passes as now: nanoseconds since any moment (windlass_now_ns is
 *              one source), or event numbers. All calls with one handle must mean the same clock.
 *              It may go back. No other function reads a clock.
 * Threads      "concurrent": may be called by any number of threads at once, also with the same
 *              handle; no call waits for another thread (where the stats say lock_free).
 *              "exclusive": no other call with that handle may be under way.
 * Ownership    What a _new makes is freed once, by its _free. All other memory stays the caller's.
 * Panics       do not cross into C. Should the library find a bug in itself, it prints a line to
 *              stderr, and the call returns WINDLASS_E_PANIC.
 * Stability    While WINDLASS_ABI_VERSION stays the same, struct fields, functions and codes are
 *              added, and never moved, renumbered or given another meaning.
 */

#ifndef WINDLASS_H
#define WINDLASS_H

#include <stddef.h>
#include <stdint.h>

/* Programs that link the static library on Windows define WINDLASS_STATIC. */
#if defined(_WIN32) && !defined(WINDLASS_STATIC)
#define WINDLASS_API __declspec(dllimport)
#elif defined(__GNUC__) && !defined(_WIN32)
#define WINDLASS_API __attribute__((visibility("default")))
#else
#define WINDLASS_API
#endif

#if defined(__GNUC__)
#define WINDLASS_MUST_USE __attribute__((warn_unused_result))
#else
#define WINDLASS_MUST_USE
#endif

/* windlass_error error = WINDLASS_ERROR_INIT; */
#define WINDLASS_ERROR_INIT {(uint32_t)sizeof(windlass_error), 0, {0}}

// The binary interface that this header describes. It changes when programs that were compiled
// before could go wrong, and not when something is added. A program that loads the library at run
// time compares it with windlass_abi_version().
#define WINDLASS_ABI_VERSION 1

// The version of the header: major.
#define WINDLASS_VERSION_MAJOR 0

// The version of the header: minor.
#define WINDLASS_VERSION_MINOR 1

// The version of the header: patch.
#define WINDLASS_VERSION_PATCH 0

// The version of the header as one number that can be compared: major * 1000000 + minor * 1000 +
// patch.
#define WINDLASS_VERSION_NUMBER 1000

// Done.
#define WINDLASS_OK 0

// A pointer is NULL that may not be.
#define WINDLASS_E_NULL -1

// A setting has a value that is not allowed; the error detail names it.
#define WINDLASS_E_ARG -2

// A struct_size is none that this library can have been given: was the struct's init called?
#define WINDLASS_E_STRUCT_SIZE -3

// The system does not give the memory.
#define WINDLASS_E_NOMEM -4

// A length, a stride or a count is impossible.
#define WINDLASS_E_RANGE -5

// A bug in windlass. The handle may only be freed.
#define WINDLASS_E_PANIC -6

// There is no room for a new id. The event was not admitted, and nothing was changed.
#define WINDLASS_E_FULL -7

// The time lies further ahead of the newest one seen than max_jump. The event was not admitted,
// and nothing was changed.
#define WINDLASS_E_JUMP -8

// The offsets of a packed batch go back, or beyond the bytes.
#define WINDLASS_E_OFFSETS -9

// The lease of a claim is 0, or longer than the window. Nothing was claimed or changed.
#define WINDLASS_E_LEASE -10

// With WINDLASS_IDENTITY_BYTES: the id is longer than WINDLASS_MAX_ID_LEN bytes. The event was not
// admitted, and nothing was changed.
#define WINDLASS_E_TOO_LONG -11

// The ring has no node.
#define WINDLASS_E_NO_NODE -12

// An array of the caller's is too small for a list, a key, a value or an export. The windlass_top_list, place,
// entry or length was written, which says how much it takes, and nothing else.
#define WINDLASS_E_TOO_SMALL -13

// Another key that is in the queue has the same hash. Nothing was changed.
#define WINDLASS_E_COLLISION -14

// Bytes are not what they are read as: something else, cut off, damaged, or of a later version. The error
// detail says where.
#define WINDLASS_E_FORMAT -15

// What is to be merged does not go together; the error detail says what differs. Nothing was changed.
#define WINDLASS_E_MISMATCH -16

// A function of the caller's that was to write or read a snapshot has failed.
#define WINDLASS_E_IO -17

// Not a snapshot of this structure, of a later version, cut off, or damaged; the error detail says what
// and where.
#define WINDLASS_E_SNAPSHOT -18

// The id was not admitted within the window before; now it is.
#define WINDLASS_FRESH 0

// The id was admitted within the window before: the event is a duplicate.
#define WINDLASS_DUPLICATE 1

// The id is claimed by another, who has not committed it yet. Only claims are told this; to
// observations such an id is a duplicate.
#define WINDLASS_IN_PROGRESS 2

// Where it means a number of ticks, or of bytes: no limit.
#define WINDLASS_NO_LIMIT UINT64_MAX

// unit: ticks are nanoseconds.
#define WINDLASS_UNIT_NS 0

// unit: ticks are the numbers of events: 0, 1, 2 ...
#define WINDLASS_UNIT_EVENTS 1

// refresh: a window counts from the id's admission. A duplicate changes nothing.
#define WINDLASS_REFRESH_NEVER 0

// refresh: a window counts from the last time that the id was seen.
#define WINDLASS_REFRESH_ON_DUPLICATE 1

// on_full: a new id is refused with WINDLASS_E_FULL. Nothing is ever forgotten early.
#define WINDLASS_ON_FULL_REJECT 0

// on_full: the oldest id near the new one's place is forgotten early, and counted; none that is no
// older than the lateness.
#define WINDLASS_ON_FULL_EVICT_OLDEST 1

// identity: ids are the same if 64 bits of their hash are, and their place in the table. Numbers
// are told apart exactly; of others a fresh one is taken for a duplicate with a probability of
// 3.5e-18 per call at most.
#define WINDLASS_IDENTITY_HASH 0

// identity: ids are the same if their bytes are, which are kept: exact, also against those who make
// ids whose hashes collide. An id has WINDLASS_MAX_ID_LEN bytes at most. Bytes, numbers and hashes
// are three kinds of ids, none the same as one of another kind; of a hash its 128 bits are compared.
#define WINDLASS_IDENTITY_BYTES 1

// Bytes that an id may have with WINDLASS_IDENTITY_BYTES. (Else any number.)
#define WINDLASS_MAX_ID_LEN 65535

// layout: chosen by the error.
#define WINDLASS_LAYOUT_AUTO 0

// layout: panes side by side, 64 bits of each in a row; an id has one row. Up to 64 panes. The
// fastest. Of threads that bring one new id at once exactly one is told that it is fresh in each
// pane; in the other layouts it may be more.
#define WINDLASS_LAYOUT_ROWS_1 1

// layout: the same with two rows for an id: less memory.
#define WINDLASS_LAYOUT_ROWS_2 2

// layout: the same with three rows for an id.
#define WINDLASS_LAYOUT_ROWS_3 3

// layout: the same with four rows for an id.
#define WINDLASS_LAYOUT_ROWS_4 4

// layout: panes side by side, a block of 128 bits of each in a row. Up to 64 panes.
#define WINDLASS_LAYOUT_BLOCKS_128 5

// layout: the same with blocks of 256 bits.
#define WINDLASS_LAYOUT_BLOCKS_256 6

// layout: the same with blocks of 512 bits.
#define WINDLASS_LAYOUT_BLOCKS_512 7

// layout: an array of cache lines for each pane, up to 1024 panes.
#define WINDLASS_LAYOUT_ARRAYS 8

// layout: the same with a seed for each pane, so that an error does not last from pane to pane.
// Without windlass_bloom_distinct_at and windlass_bloom_union.
#define WINDLASS_LAYOUT_SEEDED_ARRAYS 9

// rotation: calls that put something in move the panes on, and each clears a small share.
#define WINDLASS_ROTATION_BY_CALLS 0

// rotation: calls move the panes on; windlass_bloom_maintain_at clears.
#define WINDLASS_ROTATION_HYBRID 1

// rotation: windlass_bloom_maintain_at and windlass_bloom_advance_to alone. Calls only see to it
// that nothing is forgotten early.
#define WINDLASS_ROTATION_SCHEDULED 2

// advice: none.
#define WINDLASS_ADVICE_NONE 0

// advice: too full: more bits, or a shorter window.
#define WINDLASS_ADVICE_TOO_FULL 1

// advice: mostly empty: fewer bits would do.
#define WINDLASS_ADVICE_MOSTLY_EMPTY 2

// algorithm: the leaky bucket as a meter, one arrival time for each client. Decides as
// WINDLASS_ALGORITHM_TOKEN_BUCKET does. In any span W a client gets burst + W * permits / per_ns at
// most.
#define WINDLASS_ALGORITHM_GCRA 0

// algorithm: a bucket of burst tokens, refilled continuously. It starts full; a permit is a token.
#define WINDLASS_ALGORITHM_TOKEN_BUCKET 1

// algorithm: the leaky bucket as a queue. Who comes too early, by up to burst - 1 intervals, is
// allowed with the delay after which it should go on, so that all go on evenly.
#define WINDLASS_ALGORITHM_LEAKY_QUEUE 2

// algorithm: so many in each window of the clock, counted from time 0. In a span of per_ns a client
// gets twice the permits at most.
#define WINDLASS_ALGORITHM_FIXED_WINDOW 3

// algorithm: an estimate: what this window of the clock has, and of the last one as large a part as
// the last per_ns still cover.
#define WINDLASS_ALGORITHM_SLIDING_COUNTER 4

// algorithm: so many in any span of per_ns: the times of a client's last permits are kept, for which
// it takes 30 bytes more and 10 for each permit of the quota.
#define WINDLASS_ALGORITHM_SLIDING_LOG 5

// on_unknown: such a client is denied, to come again after per_ns / permits.
#define WINDLASS_ON_UNKNOWN_DENY 0

// on_unknown: such a client is allowed, and not charged.
#define WINDLASS_ON_UNKNOWN_ALLOW 1

// on_unknown: such a client shares one of shared_cells with others, by its hash. What a cell has taken
// is no less than what each of its clients has: none gets more than its quota from it, and one may
// be denied for what others have taken. Not with WINDLASS_ALGORITHM_SLIDING_LOG, nor in a set.
#define WINDLASS_ON_UNKNOWN_SHARE 2

// The call may go on, and has been charged.
#define WINDLASS_ALLOWED 0

// The call may not go on, and was not charged. An answer, and no error.
#define WINDLASS_DENIED 1

// The call costs more than the limiter can ever give at once. An answer, and no error.
#define WINDLASS_NEVER 2

// inherit: permits that were used stay used, one by one. Of 60 used of 100 in a minute, 60 are used of
// 200, and 140 left; or of 20 none are left until 40 and one more are back.
#define WINDLASS_INHERIT_AS_IS 0

// inherit: the share that was used stays used, of a bucket (not of windows and logs). Of 60 used of 100
// in a minute, 120 are used of 200, and 80 left; or 12 of 20, and 8 left.
#define WINDLASS_INHERIT_PROPORTIONAL 1

// A hold is settled: by this call.
#define WINDLASS_SETTLED 0

// A hold had been settled, or cancelled, before: nothing was changed. An answer, and no error.
#define WINDLASS_SETTLED_BEFORE 1

// The lease of a hold has run out: what it holds stays charged. An answer, and no error.
#define WINDLASS_EXPIRED 2

// It is in the key's count, and in the total.
#define WINDLASS_COUNTED 0

// It is in the total alone: there is no room for one more key.
#define WINDLASS_NO_ROOM 1

// It is not counted: its pane is kept no more.
#define WINDLASS_LATE 2

// It is in the total alone: the key has more than WINDLASS_TOPK_MAX_LEN bytes.
#define WINDLASS_TOO_LONG 3

// Bytes that a key of a windlass_topk may have.
#define WINDLASS_TOPK_MAX_LEN 65527

// Bytes, as they were added.
#define WINDLASS_KEY_BYTES 0

// A number: 8 bytes, a uint64_t as it lies in memory.
#define WINDLASS_KEY_U64 1

// A hash: 16 bytes, a windlass_hash as it lies in memory.
#define WINDLASS_KEY_HASH 2

// Is added to the kind of a key that is in a namespace: the length of the namespace's name (4 bytes, a
// uint32_t as it lies in memory), the name, and then the key. Such keys come from Rust alone, in
// exports.
#define WINDLASS_KEY_NAMESPACED 4

// Each key is on one of the structures, and on no other: by its hash, as a rule.
#define WINDLASS_KEYS_SPLIT 0

// A key may be on several of the structures: each has counted a part.
#define WINDLASS_KEYS_SHARED 1

// The key was not there; it is the last entry now.
#define WINDLASS_PUSHED_NEW 0

// The key was there, and stays as it is.
#define WINDLASS_PUSHED_PRESENT 1

// The key was there, and is the last entry now, with the new value.
#define WINDLASS_PUSHED_MOVED 2

// There is no such entry.
#define WINDLASS_ABSENT 0

// There is one.
#define WINDLASS_FOUND 1

// A push of a key that is there does nothing: it keeps its place and its value.
#define WINDLASS_ON_PRESENT_KEEP 0

// A push of a key that is there makes it the last entry, with the new value.
#define WINDLASS_ON_PRESENT_MOVE 1

// Merges the exports of any number of structures into one list, with bounds. Made by
// windlass_aggregator_new, freed by windlass_aggregator_free.
//
// The order in which exports are added does not matter. A list's bounds hold if those of the exports do; and,
// with WINDLASS_KEYS_SPLIT, if each key is on one structure. It is certified if its keys, their order and their
// counts follow from them.
typedef struct windlass_aggregator windlass_aggregator;

// Remembers the ids of a window in fixed memory, for any number of threads: no id of the window is
// ever missed, and of those that were not there a stated share is taken for seen. An id is
// forgotten between window (and lateness) and the length of its panes after it was put in: with 8
// panes 15 % after the window at most. Made by windlass_bloom_new, freed by windlass_bloom_free.
typedef struct windlass_bloom windlass_bloom;

// Keeps the hottest keys of the window in memory that is given, whatever the keys are, with counts
// between bounds that always hold, for any number of threads. Made by windlass_bounded_topk_new, freed by
// windlass_bounded_topk_free.
//
// Panes and windows are those of windlass_counter; lists are as those of windlass_topk. A row's count is a
// guess between its bounds. A list is certified if it is exact: as long as the different keys of each pane
// have found a place, and seldom later.
typedef struct windlass_bounded_topk windlass_bounded_topk;

// Counts how often each key was seen in the window, exactly, for any number of threads. Made by
// windlass_counter_new, freed by windlass_counter_free.
//
// Time is cut into panes, multiples of the pane's length from 0 on. The window at a time is the pane
// of that time and those before it that make up the window with it; the complete window those before
// that pane, as many as make up the window.
typedef struct windlass_counter windlass_counter;

// Admits each id once per window, exactly, for any number of threads: of all calls that bring one
// id, one per window gets WINDLASS_FRESH. Made by windlass_dedup_new, freed by
// windlass_dedup_free.
typedef struct windlass_dedup windlass_dedup;

// What one structure knows of the hottest keys of a window, for a windlass_aggregator: ten times as many
// keys as its lists have. Made by the _export functions of windlass_topk and windlass_bounded_topk, or from
// bytes; freed by windlass_export_free. But for windlass_export_truncate it never changes.
typedef struct windlass_export windlass_export;

// A queue of keys with values that tells, for any key, how many are before it, in constant time; for
// any number of threads. Made by windlass_fifo_new, freed by windlass_fifo_free.
//
// Entries have numbers, in the order in which they come. A value is any bytes; it is copied in, and
// copied out. Values of up to 22 bytes and keys of up to 21 lie in the entry itself.
typedef struct windlass_fifo windlass_fifo;

// So many permits in so long for whoever asks, for any number of threads: one word. Made by
// windlass_global_limiter_new, freed by windlass_global_limiter_free.
typedef struct windlass_global_limiter windlass_global_limiter;

// So many permits in so long for each of many clients, for any number of threads: together they
// are granted what one would be. A client is a key, and takes memory only for as long as it makes
// a difference. Made by windlass_limiter_new, freed by windlass_limiter_free.
typedef struct windlass_limiter windlass_limiter;

// Several limits in one decision, for any number of threads: by all of them, or by none. Limits are
// for each client or for all, and have different algorithms. Made by windlass_limitset_new, freed by
// windlass_limitset_free.
//
// No limit admits more than its algorithm allows. A refused call leaves nothing charged; while it is
// under way others see what it has been charged so far, and can be refused for that: never by a
// limit that has room for all calls under way together.
typedef struct windlass_limitset windlass_limitset;

// A consistent-hash ring with weighted virtual nodes, for any number of threads: who routes never
// waits for who changes it. Made by windlass_ring_new, freed by windlass_ring_free. docs/ring.md
// says to which node a key belongs, the same in every language.
typedef struct windlass_ring windlass_ring;

// Keeps the hottest keys of the window, with their counts and whether the list is certified, for any
// number of threads. Made by windlass_topk_new, freed by windlass_topk_free.
//
// Panes and windows are those of windlass_counter. A list has the k hottest keys, the hottest first;
// of equals the one with the lesser bytes.
typedef struct windlass_topk windlass_topk;

// What a call returns that has no other result: WINDLASS_OK, or one of the WINDLASS_E_ codes, all
// of which are below 0.
//
// Codes are never renumbered or reused; later releases may add some. So take every negative number
// for an error.
typedef int32_t windlass_status;

// The hash of an id, 128 bits. hi chooses the place, lo is the fingerprint that is kept there and
// must tell ids apart by itself.
//
// The same id and seed give the same hash in every release, on every platform and in every
// language.
typedef struct windlass_hash {
    // The low half.
    uint64_t lo;
    // The high half.
    uint64_t hi;
} windlass_hash;

// Settings. Fill it with windlass_dedup_config_init, then set window, and what else should differ
// from the defaults.
typedef struct windlass_dedup_config {
    // Set by the init function; leave it alone.
    uint32_t struct_size;
    // None are known yet: 0.
    uint32_t flags;
    // How long an id counts as seen, in ticks: 1 to 2^57. At exactly that age it is fresh again.
    // Has no default.
    uint64_t window;
    // How late events may come, or callers' clocks differ, in ticks, and still be judged by their
    // own time. Ids are kept that much longer. Default: 0. Window and lateness together are 2^57
    // at most.
    uint64_t lateness;
    // Refuses a time further ahead of the newest one seen than this many ticks: a single wild one
    // would age everything. Default: WINDLASS_NO_LIMIT.
    uint64_t max_jump;
    // How many live ids it must hold, those of the window and of the lateness before it: all there
    // will be, or with max_memory those to begin with. 40 bytes each, and with
    // WINDLASS_IDENTITY_BYTES those of the ids as they come. Default: 1000000.
    uint64_t capacity;
    // The seed of the hash. Default: a random one, drawn by the init function. Set it where
    // several processes must agree; with a seed that others know they can make ids that collide.
    uint64_t seed;
    // What a tick is: WINDLASS_UNIT_NS (the default) or WINDLASS_UNIT_EVENTS. It matters to messages,
    // to how exact claims are, and to how long it can be used: 2^58 ns or 2^48 events from the first
    // time on. For ticks of another size take WINDLASS_UNIT_EVENTS.
    uint32_t unit;
    // What a window counts from: WINDLASS_REFRESH_NEVER (the default) or
    // WINDLASS_REFRESH_ON_DUPLICATE.
    uint32_t refresh;
    // What happens when there is no room: WINDLASS_ON_FULL_REJECT (the default) or
    // WINDLASS_ON_FULL_EVICT_OLDEST.
    uint32_t on_full;
    // 0.
    uint32_t reserved0;
    // 0.
    uint64_t reserved[4];
    // Lets it grow, up to so many bytes, and shrink again, but not below the capacity. While one size
    // takes the place of another both count: at least four ninths of the bytes can be used in the
    // end. More than three quarters of the machine's memory, as WINDLASS_NO_LIMIT is, count as that.
    // Default: 0, it keeps the size that it is made with.
    uint64_t max_memory;
    // What makes two ids the same: WINDLASS_IDENTITY_HASH (the default) or WINDLASS_IDENTITY_BYTES.
    uint32_t identity;
    // 0.
    uint32_t reserved1;
} windlass_dedup_config;

// What was wrong, in words. The caller owns it, begins it as WINDLASS_ERROR_INIT, and passes it
// where a function takes one; NULL if it does not care. It is written when the call fails, and
// else left alone.
typedef struct windlass_error {
    // sizeof(windlass_error).
    uint32_t struct_size;
    // The code that the call returned.
    windlass_status code;
    // Names what was wrong, its value, and what is allowed: UTF-8, ends with NUL, cut where it is
    // too long.
    char detail[248];
} windlass_error;

// What is needed to commit or abort a claim. It may be copied, and used by any thread of the
// process; what is in it is the library's business.
typedef struct windlass_ticket {
    // Of no use to others.
    uint64_t words[4];
} windlass_ticket;

// Plain figures about a windlass_dedup. Those that count do so from its making on.
typedef struct windlass_dedup_stats {
    // How many bytes of this struct the library knows; what lies beyond is 0.
    uint32_t struct_size;
    // 1 if 128-bit atomic operations are lock-free on this machine, else 0.
    uint32_t lock_free;
    // Live ids that it is meant for at its present size.
    uint64_t capacity;
    // Ids that are still remembered, estimated from a sample (exact for small ones).
    uint64_t live;
    // Bytes that it takes now: of all tables, while one takes the place of another, and of ids that
    // are kept.
    uint64_t memory_bytes;
    // Ids forgotten before their time, with WINDLASS_ON_FULL_EVICT_OLDEST.
    uint64_t evicted;
    // Events refused because there was no room: WINDLASS_E_FULL.
    uint64_t refused;
    // Events later than the lateness allows, taken as arriving when it just allows it.
    uint64_t late;
    // Events refused because their time lay too far ahead: WINDLASS_E_JUMP.
    uint64_t jumps;
    // Buckets of the table.
    uint64_t buckets;
    // How often a bucket has overflowed.
    uint64_t overflows;
    // Buckets that have overflowed and not come back yet: calls for their ids are slower.
    uint64_t overflown_buckets;
    // Tables in use: 1, or more while one takes the place of another.
    uint64_t tables;
    // How often it has grown.
    uint64_t grown;
    // How often it has shrunk.
    uint64_t shrunk;
    // Ids that were still live when their table was given up, and so were put into the next.
    uint64_t forwarded;
} windlass_dedup_stats;

// Takes len bytes of a snapshot, of which there are 64 KiB at a time and somewhat more, in order: all of
// them, and returns 0; or something else, and the call ends with WINDLASS_E_IO. context is what was
// given with it. It must return (no longjmp, no exception), may take its time (nobody waits for it
// but the call), and may use the handle, but not free it.
typedef int32_t (*windlass_write_fn)(void *context, const uint8_t *bytes, size_t len);

// Stores up to capacity bytes of a snapshot, the next ones, in bytes, and returns how many: 1 at least,
// or 0 where there are no more; below 0, and the call ends with WINDLASS_E_IO. It is not asked for bytes
// behind the snapshot's end. context and what it may do: as windlass_write_fn.
typedef int64_t (*windlass_read_fn)(void *context, uint8_t *bytes, size_t capacity);

// What a restored structure goes on from. Set struct_size before the call.
typedef struct windlass_restored {
    // sizeof(windlass_restored).
    uint32_t struct_size;
    // 0.
    uint32_t reserved0;
    // The tick of now: that of the snapshot, and the time that has passed since by the system's clock.
    // (Where ticks are numbers of events: the snapshot's.) Ticks count from the same origin as before:
    // whoever has a clock that began anew adds what is missing.
    uint64_t resumed;
    // The time since the snapshot, in nanoseconds; 0 if the system's clock went back.
    uint64_t elapsed_ns;
    // Entries that were restored: all that the snapshot has.
    uint64_t entries;
} windlass_restored;

// Settings. Fill it with windlass_bloom_config_init, then set window, and what else should differ
// from the defaults.
typedef struct windlass_bloom_config {
    // Set by the init function; leave it alone.
    uint32_t struct_size;
    // None are known yet: 0.
    uint32_t flags;
    // How long an id counts as seen at least, in ticks: 1 to 2^57. Has no default.
    uint64_t window;
    // How late events may come, or callers' clocks differ, in ticks: ids are kept that much longer.
    // Default: 0. Window and lateness together are 2^57 at most.
    uint64_t lateness;
    // A time further ahead of the newest pane than this many ticks counts as in it: a single wild
    // one would age everything. Default: WINDLASS_NO_LIMIT.
    uint64_t max_jump;
    // How many different ids are to be expected in a window (and the lateness before it). With more
    // of them the error rises, and nothing else. Default: 0, which stands for 1000000, or for the
    // window where it counts events.
    uint64_t expected_ids;
    // The share of new ids that may be taken for seen, with that many ids: above 0 and below 1.
    // Default: 0.01.
    double error;
    // The length of a pane in ticks, where panes have to agree with something else: they begin at
    // multiples of it. Default: 0, by the number of panes.
    uint64_t pane;
    // Bits of all panes together, instead of as many as the error takes. Default: 0, by the error.
    uint64_t bits;
    // The seed of the hash. Default: a random one, drawn by the init function. Set it where
    // several processes must agree; with a seed that others know they can make ids that are taken
    // for seen.
    uint64_t seed;
    // How many panes: 2 to 64, with arrays up to 1024. The more, the sooner after the window an id
    // is forgotten. Default: 0, which stands for 8, or for what the length of a pane makes of it.
    uint32_t panes;
    // How the bits lie: WINDLASS_LAYOUT_AUTO (the default) or another WINDLASS_LAYOUT_.
    uint32_t layout;
    // Bits that an id sets: 1 to 32. Default: 0, as many as make the error least.
    uint32_t probes;
    // Who moves the panes on: WINDLASS_ROTATION_BY_CALLS (the default) or another
    // WINDLASS_ROTATION_.
    uint32_t rotation;
    // What a tick is: WINDLASS_UNIT_NS (the default) or WINDLASS_UNIT_EVENTS. It matters to messages
    // and to the default of expected_ids.
    uint32_t unit;
    // 0.
    uint32_t reserved0;
    // 0.
    uint64_t reserved[4];
} windlass_bloom_config;

// What a windlass_bloom is built as.
typedef struct windlass_bloom_plan {
    // How many bytes of this struct the library knows; what lies beyond is 0.
    uint32_t struct_size;
    // How the bits lie: one of WINDLASS_LAYOUT_, and not WINDLASS_LAYOUT_AUTO.
    uint32_t layout;
    // Panes.
    uint32_t panes;
    // Bits that an id sets.
    uint32_t probes;
    // The length of a pane in ticks.
    uint64_t pane;
    // How long an id is found at least, in ticks: the window and the lateness. Where the length of a
    // pane was given it may be an 8th of a pane less.
    uint64_t guaranteed;
    // Bits of all panes together.
    uint64_t bits;
    // Bytes of all panes together.
    uint64_t bytes;
    // Ids expected in a window.
    uint64_t expected_ids;
    // The share of new ids that it takes for seen when all panes are as full as expected: an upper
    // bound of what is to be expected.
    double expected_error;
} windlass_bloom_plan;

// Plain figures about a windlass_bloom. Those that count do so from its making on.
typedef struct windlass_bloom_stats {
    // How many bytes of this struct the library knows; what lies beyond is 0.
    uint32_t struct_size;
    // How many panes are live.
    uint32_t live_panes;
    // The error to be expected from the present fill.
    double expected_error;
    // The share of up to 65536 ids, made up for it, that were taken for seen.
    double sampled_error;
    // How often a pane took over from the one before.
    uint64_t rotations;
    // Bytes cleared for that.
    uint64_t cleared_bytes;
    // How often a pane had to go on, since the next was not clean: then ids are kept longer.
    uint64_t late;
    // Times that were too far ahead, and counted as the newest pane.
    uint64_t jumps;
    // Bytes of all panes.
    uint64_t memory_bytes;
    // The largest fill of a pane that is over, as a share of what it is meant for. Below 0 before one
    // is over.
    double load;
    // What to do about the size: one of WINDLASS_ADVICE_.
    uint32_t advice;
    // 0.
    uint32_t reserved0;
} windlass_bloom_stats;

// A live pane.
typedef struct windlass_bloom_pane {
    // Its first tick.
    uint64_t start;
    // The tick after its last.
    uint64_t end;
    // The share of its bits that is set.
    double fill;
} windlass_bloom_pane;

// The time of a pane.
typedef struct windlass_pane_span {
    // Its first tick.
    uint64_t start;
    // The tick after its last.
    uint64_t end;
} windlass_pane_span;

// Settings. Fill it with windlass_limiter_config_init, then set permits and per_ns (or both by
// windlass_limiter_config_quota), and what else should differ from the defaults.
typedef struct windlass_limiter_config {
    // Set by the init function; leave it alone.
    uint32_t struct_size;
    // None are known yet: 0.
    uint32_t flags;
    // How many permits in per_ns. Has no default. What the algorithms can hold differs; if it is too
    // many the error says how many are not.
    uint64_t permits;
    // The time for so many, in nanoseconds: 1 to 366 days. Has no default.
    uint64_t per_ns;
    // How many at once after a rest: the capacity of the bucket. A window has none but permits.
    // Default: 0, as many as permits.
    uint64_t burst;
    // How far callers' clocks may differ, or events come late, and still be judged by their own
    // time. Default: 0.
    uint64_t lateness_ns;
    // A time further ahead of the newest one seen than this is answered as an unknown client is: a
    // single wild one would make all that is known old. Default: WINDLASS_NO_LIMIT.
    uint64_t max_jump_ns;
    // How many clients it must know at a time: all there will be, or with max_memory those to begin
    // with. One is known from its first permit until it has all of them back. 40 bytes each.
    // Default: 1000000.
    uint64_t clients;
    // Lets it grow, up to so many bytes, and shrink again, as in windlass_dedup_config; not with
    // WINDLASS_ALGORITHM_SLIDING_LOG. Default: 0, it keeps the size that it is made with.
    uint64_t max_memory;
    // The seed of the hash. Default: a random one, drawn by the init function. Set it where
    // several processes must agree; with a seed that others know they can make keys that collide.
    uint64_t seed;
    // How it counts: WINDLASS_ALGORITHM_GCRA (the default), or another WINDLASS_ALGORITHM_.
    uint32_t algorithm;
    // What a client gets that it does not know, when it is full: WINDLASS_ON_UNKNOWN_DENY (the
    // default), WINDLASS_ON_UNKNOWN_ALLOW or WINDLASS_ON_UNKNOWN_SHARE.
    uint32_t on_unknown;
    // With WINDLASS_ON_UNKNOWN_SHARE: how many cells such clients share, of 8 bytes each; 1 to 2^28.
    // Of n such clients at a time n / shared_cells share one, beside itself, on average. Else 0, the
    // default.
    uint64_t shared_cells;
    // 0.
    uint64_t reserved[3];
} windlass_limiter_config;

// What a limiter answers. What does not belong to its kind is 0. It never grows.
typedef struct windlass_admission {
    // WINDLASS_ALLOWED, WINDLASS_DENIED or WINDLASS_NEVER.
    int32_t kind;
    // 0.
    uint32_t reserved0;
    // If allowed: permits that are left now.
    uint64_t remaining;
    // If allowed: how long until all of them are there again, if nothing else comes.
    uint64_t reset_after_ns;
    // If denied: a call that comes that much later passes, if no other has come before it, and not
    // any sooner.
    uint64_t retry_after_ns;
    // If allowed: how long it should wait before it goes on. Of WINDLASS_ALGORITHM_LEAKY_QUEUE; else 0.
    uint64_t delay_ns;
} windlass_admission;

// Plain figures about a windlass_limiter. Those that count do so from its making on.
typedef struct windlass_limiter_stats {
    // How many bytes of this struct the library knows; what lies beyond is 0.
    uint32_t struct_size;
    // 1 if 128-bit atomic operations are lock-free on this machine, else 0.
    uint32_t lock_free;
    // Clients that it is meant for at its present size.
    uint64_t capacity;
    // Clients that are not as if they had never come, estimated from a sample (exact for small
    // ones).
    uint64_t clients;
    // Bytes that it takes now: of all tables, while one takes the place of another.
    uint64_t memory_bytes;
    // Tables in use: 1, or more while one takes the place of another.
    uint64_t tables;
    // How often it has grown.
    uint64_t grown;
    // How often it has shrunk.
    uint64_t shrunk;
    // Calls of clients for which there was no room, answered as on_unknown says.
    uint64_t unknown;
    // Calls later than the lateness allows, taken as coming when it just allows it.
    uint64_t late;
    // Calls whose time lay further ahead than max_jump_ns, answered as on_unknown says.
    uint64_t jumps;
} windlass_limiter_stats;

// So many permits in so long, and how many at once. It never grows.
typedef struct windlass_quota {
    // How many permits in per_ns.
    uint64_t permits;
    // The time for so many, in nanoseconds: 1 to 366 days.
    uint64_t per_ns;
    // How many at once after a rest. 0: as many as permits, as a window must.
    uint64_t burst;
} windlass_quota;

// Settings of a set. Fill it with windlass_limitset_config_init.
typedef struct windlass_limitset_config {
    // Set by the init function; leave it alone.
    uint32_t struct_size;
    // None are known yet: 0.
    uint32_t flags;
    // How many holds there may be at a time (windlass_limitset_reserve). Default: 0, none.
    uint64_t reservations;
    // How far callers' clocks may differ, or events come late, and still be judged by their own
    // time. Default: 0.
    uint64_t lateness_ns;
    // The seed with which keys are to be hashed. Default: a random one, drawn by the init function.
    uint64_t seed;
    // 0.
    uint64_t reserved[4];
} windlass_limitset_config;

// One limit of a set. Begin it with all bytes 0: it never grows.
typedef struct windlass_limit_rule {
    // Its name: UTF-8, ends with NUL, and no other limit of the set has it.
    const char *name;
    // How many permits in per_ns.
    uint64_t permits;
    // The time for so many, in nanoseconds: 1 to 366 days.
    uint64_t per_ns;
    // How many at once after a rest. 0: as many as permits, as a window must.
    uint64_t burst;
    // How many clients it must know at a time, if it is for each; 40 bytes each. 0: it is for all.
    uint64_t clients;
    // How it counts: WINDLASS_ALGORITHM_GCRA (0), _TOKEN_BUCKET, _FIXED_WINDOW or _SLIDING_COUNTER. The
    // others cannot be in a set: they cannot give back.
    uint32_t algorithm;
    // What a client gets that it does not know, when it is full: WINDLASS_ON_UNKNOWN_DENY (0) or
    // WINDLASS_ON_UNKNOWN_ALLOW.
    uint32_t on_unknown;
    // 0.
    uint64_t reserved[2];
} windlass_limit_rule;

// What a set answers. What does not belong to its kind is 0. It never grows.
typedef struct windlass_set_admission {
    // WINDLASS_ALLOWED, WINDLASS_DENIED or WINDLASS_NEVER.
    int32_t kind;
    // The number of a limit, from 0 on, as they were given: if allowed, that has the least left; else the first
    // that refuses.
    uint32_t limit;
    // If allowed: permits that it has left.
    uint64_t remaining;
    // If allowed: how long until all limits have all their permits again, if nothing else comes.
    uint64_t reset_after_ns;
    // If denied: a call that comes that much later passes all limits, if no other has come before it,
    // and not any sooner.
    uint64_t retry_after_ns;
} windlass_set_admission;

// What is needed to settle or cancel a hold, once. It may be copied, and used by any thread of the
// process; what is in it is the library's business.
typedef struct windlass_reservation {
    // Of no use to others.
    uint64_t words[44];
} windlass_reservation;

// Plain figures about a set.
typedef struct windlass_limitset_stats {
    // sizeof(windlass_limitset_stats).
    uint32_t struct_size;
    // 0.
    uint32_t reserved0;
    // Bytes of all tables.
    uint64_t memory_bytes;
    // Holds that have neither been settled nor run out.
    uint64_t holds;
    // How often something could not be given back, and stays charged until time gives it back.
    uint64_t unreturned;
} windlass_limitset_stats;

// Settings. Fill it with windlass_counter_config_init, then set window and pane, and what else
// should differ from the defaults.
typedef struct windlass_counter_config {
    // Set by the init function; leave it alone.
    uint32_t struct_size;
    // None are known yet: 0.
    uint32_t flags;
    // Over how many ticks is counted: a multiple of the pane. Has no default.
    uint64_t window;
    // The length of a pane in ticks: at most 1023 of them in window and lateness. Has no default.
    uint64_t pane;
    // How late events may come, or callers' clocks differ, beyond the window, and still be counted,
    // in ticks; and how far back can be asked. Rounded up to panes. Default: 0.
    uint64_t lateness;
    // A time further ahead of the newest pane than this many ticks is refused: a single wild one
    // would make all that is counted old. Default: WINDLASS_NO_LIMIT.
    uint64_t max_jump;
    // How many different keys a window may have: all there will be, or with max_memory those to
    // begin with. Default: 1000000.
    uint64_t capacity;
    // Lets it grow, up to so many bytes, and shrink again. Default: 0, it keeps the size that it is
    // made with.
    uint64_t max_memory;
    // The seed of the hash. Default: a random one, drawn by the init function. Set it where
    // several processes must agree; with a seed that others know they can make keys that collide.
    uint64_t seed;
    // What a tick is: WINDLASS_UNIT_NS (the default) or WINDLASS_UNIT_EVENTS. It matters to messages
    // alone.
    uint32_t unit;
    // 0.
    uint32_t reserved0;
    // 0.
    uint64_t reserved[4];
} windlass_counter_config;

// What became of the events of a batch. This struct does not grow.
typedef struct windlass_tally {
    // Counted, in the keys' counts and in the total.
    uint64_t counted;
    // In the total alone: there was no room for their keys.
    uint64_t no_room;
    // Not counted: their panes are kept no more.
    uint64_t late;
    // Not counted: their times were further ahead than max_jump.
    uint64_t jumps;
} windlass_tally;

// Plain figures about a windlass_counter. Those that count do so from its making on.
typedef struct windlass_counter_stats {
    // How many bytes of this struct the library knows; what lies beyond is 0.
    uint32_t struct_size;
    // 0.
    uint32_t reserved0;
    // Keys that the newest generation of rows is meant for.
    uint64_t capacity;
    // Rows of all generations, estimated from a sample of each (exact for small ones).
    uint64_t rows;
    // Generations that are live, or have left and are still listed.
    uint64_t generations;
    // Tables that they have: more than generations if some had to grow.
    uint64_t tables;
    // Bytes of all tables, also those that are cleared or wait for it.
    uint64_t memory_bytes;
    // Generations opened so far.
    uint64_t opened;
    // Tables that were cleared to be used again.
    uint64_t recycled;
    // Tables that were put behind one that was full.
    uint64_t grown;
    // Events for panes that are kept no more: not counted.
    uint64_t late;
    // Events of keys for which there was no room: counted in the total alone.
    uint64_t no_room;
    // Events whose time lay too far ahead: not counted.
    uint64_t jumps;
    // Adds that found a count saturated, or made it so.
    uint64_t saturated;
} windlass_counter_stats;

// Settings. Fill it with windlass_topk_config_init, then set window, pane and k, and what
// else should differ from the defaults.
typedef struct windlass_topk_config {
    // Set by the init function; leave it alone.
    uint32_t struct_size;
    // None are known yet: 0.
    uint32_t flags;
    // Over how many ticks is counted: a multiple of the pane. Has no default.
    uint64_t window;
    // The length of a pane in ticks: at most 1023 of them in window and lateness. Has no default.
    uint64_t pane;
    // How late events may come, or callers' clocks differ, beyond the window, and still be counted,
    // in ticks; and how far back can be asked. Rounded up to panes. Default: 0.
    uint64_t lateness;
    // How many keys a list has, 1 to capacity. Has no default.
    uint64_t k;
    // A time further ahead of the newest pane than this many ticks is refused: a single wild one
    // would make all that is counted old. Default: WINDLASS_NO_LIMIT.
    uint64_t max_jump;
    // How many different keys a window may have: all there will be, or with max_memory those to
    // begin with. Default: 1000000.
    uint64_t capacity;
    // Lets it grow, up to so many bytes, those of keys among them, and shrink again. Default: 0, it
    // keeps the size that it is made with.
    uint64_t max_memory;
    // How old windlass_topk_maintain_at lets the list become, in ticks. Default: 0, which is 100 ms, or
    // a pane of events.
    uint64_t refresh_every;
    // The seed of the hash. Default: a random one, drawn by the init function. Set it where
    // several processes must agree; with a seed that others know they can make keys that collide.
    uint64_t seed;
    // What a tick is: WINDLASS_UNIT_NS (the default) or WINDLASS_UNIT_EVENTS. It matters to messages
    // alone.
    uint32_t unit;
    // 0.
    uint32_t reserved0;
    // 0.
    uint64_t reserved[4];
} windlass_topk_config;

// What a list says beside its rows.
typedef struct windlass_top_list {
    // How many bytes of this struct the library knows; what lies beyond is 0.
    uint32_t struct_size;
    // 1: it is exact: keys, order and counts. Else 0.
    uint32_t certified;
    // How many rows it has, k at most.
    uint64_t rows;
    // How many bytes their keys have together.
    uint64_t key_bytes;
    // The time for which it was asked.
    uint64_t as_of;
    // The first tick of its first pane.
    uint64_t start;
    // The tick after its last pane's last. 0: there has been no list yet.
    uint64_t end;
    // How often all keys were seen.
    uint64_t total;
    // No key that is missing was seen more often than this.
    uint64_t tail;
} windlass_top_list;

// A key of a list. Its bytes are keys[key_at] up to, but not with, keys[key_at + key_len]. This struct
// does not grow.
typedef struct windlass_top_row {
    // Where its bytes begin.
    uint64_t key_at;
    // How many there are.
    uint32_t key_len;
    // WINDLASS_KEY_BYTES, WINDLASS_KEY_U64 or WINDLASS_KEY_HASH; in namespaces WINDLASS_KEY_NAMESPACED
    // more for each.
    uint32_t kind;
    // How often it was seen. UINT64_MAX: 2^63 times or more.
    uint64_t count;
    // It was seen that often, or more.
    uint64_t lower;
    // It was not seen more often.
    uint64_t upper;
} windlass_top_row;

// Plain figures about a windlass_topk. Those that count do so from its making on.
typedef struct windlass_topk_stats {
    // How many bytes of this struct the library knows; what lies beyond is 0.
    uint32_t struct_size;
    // 0.
    uint32_t reserved0;
    // Keys that the newest generation of rows is meant for.
    uint64_t capacity;
    // Rows of all generations, estimated from a sample of each (exact for small ones).
    uint64_t rows;
    // Generations that are live, or have left and are still listed.
    uint64_t generations;
    // Tables that they have: more than generations if some had to grow.
    uint64_t tables;
    // Bytes of all tables, also those that are cleared or wait for it, and of keys.
    uint64_t memory_bytes;
    // Generations opened so far.
    uint64_t opened;
    // Tables that were cleared to be used again.
    uint64_t recycled;
    // Tables that were put behind one that was full.
    uint64_t grown;
    // Events for panes that are kept no more: not counted.
    uint64_t late;
    // Events of keys for which there was no room, or that were too long: counted in the total alone.
    uint64_t no_room;
    // Events whose time lay too far ahead: not counted.
    uint64_t jumps;
    // Adds that found a count saturated, or made it so.
    uint64_t saturated;
    // Bytes of keys. (memory_bytes has them, too.)
    uint64_t key_bytes;
    // What a key has to have in a pane that begins now to become a candidate.
    uint64_t threshold;
    // Lists for which all rows had to be looked at.
    uint64_t scans;
} windlass_topk_stats;

// Settings. Fill it with windlass_bounded_topk_config_init, then set window, pane and k, and what
// else should differ from the defaults.
typedef struct windlass_bounded_topk_config {
    // Set by the init function; leave it alone.
    uint32_t struct_size;
    // None are known yet: 0.
    uint32_t flags;
    // Over how many ticks is counted: a multiple of the pane. Has no default.
    uint64_t window;
    // The length of a pane in ticks: at most 1023 of them in window and lateness. Has no default.
    uint64_t pane;
    // How late events may come, or callers' clocks differ, beyond the window, and still be counted,
    // in ticks; and how far back can be asked. Rounded up to panes. Default: 0.
    uint64_t lateness;
    // How many keys a list has, 1 to 1048576. Has no default.
    uint64_t k;
    // A time further ahead of the newest pane than this many ticks is refused: a single wild one
    // would make all that is counted old. Default: WINDLASS_NO_LIMIT.
    uint64_t max_jump;
    // Bytes that it may take, all in all, in equal parts for each pane that is kept and two more.
    // Default: 1048576.
    uint64_t memory;
    // How many bytes a key has, on average: as much room is kept for those of the candidates, twice. 0: all
    // are numbers, which need none. (A key for which there is no room is counted, but not listed.)
    // Default: 24.
    uint64_t key_bytes;
    // How old windlass_bounded_topk_maintain_at lets the list become, in ticks. Default: 0, which is
    // 100 ms, or a pane of events.
    uint64_t refresh_every;
    // The seed of the hash. Default: a random one, drawn by the init function. Set it where
    // several processes must agree; with a seed that others know they can make keys that collide.
    uint64_t seed;
    // What a tick is: WINDLASS_UNIT_NS (the default) or WINDLASS_UNIT_EVENTS. It matters to messages
    // alone.
    uint32_t unit;
    // 0.
    uint32_t reserved0;
    // 0.
    uint64_t reserved[4];
} windlass_bounded_topk_config;

// Plain figures about a windlass_bounded_topk. Those that count do so from its making on.
typedef struct windlass_bounded_topk_stats {
    // How many bytes of this struct the library knows; what lies beyond is 0.
    uint32_t struct_size;
    // 0.
    uint32_t reserved0;
    // Keys that a pane has slots for.
    uint64_t slots;
    // Cells of a pane's sketch, which has what is seen of all other keys.
    uint64_t cells;
    // Slots of the newest pane that are taken.
    uint64_t taken;
    // Bytes that it takes now.
    uint64_t memory_bytes;
    // Panes opened so far.
    uint64_t opened;
    // Tables that were cleared to be used again.
    uint64_t recycled;
    // Panes for which there were none: their adds are known as a sum alone.
    uint64_t without;
    // Events for panes that are kept no more: not counted.
    uint64_t late;
    // Events whose time lay too far ahead: not counted.
    uint64_t jumps;
} windlass_bounded_topk_stats;

// What an export says beside its rows.
typedef struct windlass_export_info {
    // How many bytes of this struct the library knows; what lies beyond is 0.
    uint32_t struct_size;
    // What a tick is: WINDLASS_UNIT_NS or WINDLASS_UNIT_EVENTS.
    uint32_t unit;
    // The time for which it was asked.
    uint64_t as_of;
    // The length of a pane in ticks.
    uint64_t pane;
    // The first tick of its first pane.
    uint64_t start;
    // The tick after its last pane's last.
    uint64_t end;
    // How often all keys were seen.
    uint64_t total;
    // No key that is not in its rows was seen more often than this.
    uint64_t tail;
    // How many rows it has.
    uint64_t rows;
    // How many it could have.
    uint64_t capacity;
    // How many keys a list of the structure has.
    uint64_t k;
} windlass_export_info;

// Settings. Fill it with windlass_fifo_config_init, then set what should differ from the defaults.
typedef struct windlass_fifo_config {
    // Set by the init function; leave it alone.
    uint32_t struct_size;
    // None are known yet: 0.
    uint32_t flags;
    // How many entries it may hold; or with max_memory for how many it is made to begin with.
    // Default: 1000000.
    uint64_t capacity;
    // Lets it hold as many entries as so many bytes have room for, half of it for the table and half
    // for the entries. (Not counted: values of more than 22 bytes, keys of more than 21.) Default: 0,
    // it holds the capacity.
    uint64_t max_memory;
    // The seed of the hash. Default: a random one, drawn by the init function. Set it where
    // several processes must agree; with a seed that others know they can make keys that collide.
    uint64_t seed;
    // What a push does about a key that is there: WINDLASS_ON_PRESENT_KEEP (the default) or
    // WINDLASS_ON_PRESENT_MOVE.
    uint32_t on_present;
    // 0.
    uint32_t reserved0;
    // 0.
    uint64_t reserved[4];
} windlass_fifo_config;

// Where a key stands. This struct does not grow.
typedef struct windlass_fifo_place {
    // The number of its entry.
    uint64_t seq;
    // How many entries are before it: 0 for the one that is popped next.
    uint64_t rank;
    // When it was put in, or the time of the entry before it if that was later.
    uint64_t pushed_at;
    // Bytes of its value.
    uint64_t value_len;
} windlass_fifo_place;

// An entry. This struct does not grow.
typedef struct windlass_fifo_entry {
    // Its number: later entries have greater ones.
    uint64_t seq;
    // When it was put in, or the time of the entry before it if that was later.
    uint64_t pushed_at;
    // Bytes of its key: of a number 8, little endian; of a hash 16.
    uint64_t key_len;
    // Bytes of its value.
    uint64_t value_len;
    // As what the key came: 0 bytes, 1 a number, 2 a hash.
    uint32_t key_kind;
    // 0.
    uint32_t reserved0;
} windlass_fifo_entry;

// Plain figures about a windlass_fifo. Those that count do so from its making on.
typedef struct windlass_fifo_stats {
    // How many bytes of this struct the library knows; what lies beyond is 0.
    uint32_t struct_size;
    // 0.
    uint32_t reserved0;
    // Entries.
    uint64_t len;
    // The number of the oldest entry, or of the next if there is none.
    uint64_t head;
    // The next number.
    uint64_t tail;
    // Numbers between head and tail that are no entries: moved, or passed over.
    uint64_t holes;
    // Entries that it may hold. (With max_memory: for which the table is meant at its present size.)
    uint64_t capacity;
    // Bytes of tables and segments of entries. (Not: values of more than 22 bytes, keys of more than
    // 21.)
    uint64_t memory_bytes;
    // Segments of entries.
    uint64_t segments;
    // Tables in use: 1, or more while one takes the place of another.
    uint64_t tables;
    // Pushes refused for want of room.
    uint64_t refused;
    // Pushes refused since another key has the same hash.
    uint64_t collisions;
} windlass_fifo_stats;

// Settings. Fill it with windlass_ring_config_init, then set what should differ from the defaults.
typedef struct windlass_ring_config {
    // Set by the init function; leave it alone.
    uint32_t struct_size;
    // None are known yet: 0.
    uint32_t flags;
    // The seed of the hash: all who route must have the same. Default: 0. With a seed that is known
    // keys can be made that all belong to one node.
    uint64_t seed;
    // Points of a node for each unit of its weight, 1 to 65536. Default: 128.
    uint32_t vnodes;
    // 0.
    uint32_t reserved0;
    // 0.
    uint64_t reserved[4];
} windlass_ring_config;

// A node, and what it has. This struct does not grow.
typedef struct windlass_ring_node {
    // Its id.
    uint32_t id;
    // Its weight.
    uint32_t weight;
    // The share of all keys that it owns, 0 to 1: of the circle, exactly.
    double share;
} windlass_ring_node;

// Plain figures about a windlass_ring.
typedef struct windlass_ring_stats {
    // How many bytes of this struct the library knows; what lies beyond is 0.
    uint32_t struct_size;
    // Points of a node for each unit of its weight.
    uint32_t vnodes;
    // The seed of the hash.
    uint64_t seed;
    // How many changes were made.
    uint64_t version;
    // How many nodes there are.
    uint64_t nodes;
    // Bytes of points and index.
    uint64_t memory_bytes;
} windlass_ring_stats;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The library's WINDLASS_ABI_VERSION.
//
// Threads: concurrent.
WINDLASS_API uint32_t windlass_abi_version(void);

// The library's WINDLASS_VERSION_NUMBER.
//
// Threads: concurrent.
WINDLASS_API uint32_t windlass_version_number(void);

// The library's version as a static string, such as "0.1.0".
//
// Threads: concurrent.
WINDLASS_API const char *windlass_version(void);

// What a status code means, in a few words of English: a static string, never NULL, for any
// number.
//
// Threads: concurrent.
WINDLASS_API const char *windlass_status_text(windlass_status status);

// Nanoseconds of a clock that never goes back, since this library was first asked: a value for now
// where windows are spans of time. It costs about as much as an observation: read it once for
// several calls.
//
// Threads: concurrent; all threads of a process have the same clock.
WINDLASS_API uint64_t windlass_now_ns(void);

// Nanoseconds since 1970 by the system's clock, which may be set: a value for wall_ns, where snapshots
// are written and restored.
//
// Threads: concurrent.
WINDLASS_API
uint64_t windlass_wall_ns(void);

// The hash of an id of len bytes under a seed: XXH3-128.
//
// Errors: WINDLASS_E_NULL (id is NULL and len is not 0; out is NULL), WINDLASS_E_RANGE (len).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_hash_bytes(const uint8_t *id,
                                    size_t len,
                                    uint64_t seed,
                                    struct windlass_hash *out);

// The hash of a number under a seed. Numbers are mixed and not hashed: no two share a fingerprint.
// It is another id than the bytes of the number.
//
// Errors: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_hash_u64(uint64_t id,
                                  uint64_t seed,
                                  struct windlass_hash *out);

// A seed that nobody else knows. With a seed that is known others can make ids that collide.
//
// Errors: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API windlass_status windlass_seed_random(uint64_t *out);

// The seed of a namespace: under it the same id has another hash than under any other. So one
// structure can hold the ids of several sources: hash each with the seed of its source, and use
// the calls that take a hash. With WINDLASS_IDENTITY_BYTES nothing is known of what was hashed,
// and 128 bits are compared: bring each id with its source's name before it, and before that the
// name's length, as bytes.
//
// Errors: WINDLASS_E_NULL (name is NULL and len is not 0; out is NULL), WINDLASS_E_RANGE (len).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_seed_namespace(uint64_t seed,
                                        const uint8_t *name,
                                        size_t len,
                                        uint64_t *out);

// Makes a windlass_dedup as config says, and stores it in out; free it with windlass_dedup_free.
// The memory of its table is asked for here; more only by windlass_dedup_reset, to grow
// (max_memory), and for the bytes of ids (identity). Where it cannot be had for these two, new ids
// get WINDLASS_E_FULL.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
// error names it), WINDLASS_E_NOMEM. Then out is left alone.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_dedup_new(const struct windlass_dedup_config *config,
                                   struct windlass_dedup **out,
                                   struct windlass_error *error);

// Frees it. NULL is allowed, and does nothing.
//
// Threads: exclusive: no other call with this handle may be under way, or come after it.
WINDLASS_API void windlass_dedup_free(struct windlass_dedup *dedup);

// Fills config with the defaults. struct_size is sizeof(windlass_dedup_config).
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_dedup_config_init(struct windlass_dedup_config *config,
                                           uint32_t struct_size);

// Bytes that a windlass_dedup of these settings takes to begin with, before it is made.
//
// error may be NULL.
// Errors: as windlass_dedup_new.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_dedup_config_memory_bytes(const struct windlass_dedup_config *config,
                                           struct windlass_error *error);

// Observes an id of len bytes (0 or more) at the time now: is it new within the window?
//
// Returns WINDLASS_FRESH, WINDLASS_DUPLICATE, or an error: WINDLASS_E_FULL, WINDLASS_E_JUMP,
// WINDLASS_E_TOO_LONG, WINDLASS_E_NULL (dedup; id, and len is not 0), WINDLASS_E_RANGE (len). After
// an error nothing was changed.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_dedup_observe(struct windlass_dedup *dedup,
                               const uint8_t *id,
                               size_t len,
                               uint64_t now);

// The same for an id whose hash is known, by windlass_hash_bytes for example, with the seed of
// dedup or of a namespace. With WINDLASS_IDENTITY_BYTES it is another id than the bytes that were
// hashed, here and in all calls that take a hash: bring each id in one form.
//
// Returns as windlass_dedup_observe.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_dedup_observe_hash(struct windlass_dedup *dedup,
                                    struct windlass_hash hash,
                                    uint64_t now);

// The same for an id that is a number: exact, as no two numbers share a fingerprint.
//
// Returns as windlass_dedup_observe.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_dedup_observe_u64(struct windlass_dedup *dedup,
                                   uint64_t id,
                                   uint64_t now);

// Would an observation of the id at the time now find a duplicate? Changes nothing.
//
// Returns 1 (yes), 0 (no; also of an id that is too long to be admitted), or an error:
// WINDLASS_E_NULL (dedup; id, and len is not 0), WINDLASS_E_RANGE (len).
// Threads: concurrent.
WINDLASS_API
int32_t windlass_dedup_contains(const struct windlass_dedup *dedup,
                                const uint8_t *id,
                                size_t len,
                                uint64_t now);

// The same for an id whose hash is known.
//
// Returns as windlass_dedup_contains.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_dedup_contains_hash(const struct windlass_dedup *dedup,
                                     struct windlass_hash hash,
                                     uint64_t now);

// The same for an id that is a number.
//
// Returns as windlass_dedup_contains.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_dedup_contains_u64(const struct windlass_dedup *dedup,
                                    uint64_t id,
                                    uint64_t now);

// Forgets an id, so that the next observation finds it fresh; a claim of it is aborted.
//
// Returns 1 (it was there at the time now), 0 (it was not), or an error as
// windlass_dedup_contains.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_dedup_forget(struct windlass_dedup *dedup,
                              const uint8_t *id,
                              size_t len,
                              uint64_t now);

// The same for an id whose hash is known.
//
// Returns as windlass_dedup_forget.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_dedup_forget_hash(struct windlass_dedup *dedup,
                                   struct windlass_hash hash,
                                   uint64_t now);

// The same for an id that is a number.
//
// Returns as windlass_dedup_forget.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_dedup_forget_u64(struct windlass_dedup *dedup,
                                  uint64_t id,
                                  uint64_t now);

// Observes n events in order, by the hashes of their ids; a repeat within the batch is a duplicate
// like any other. A batch has the memory for 16 events on its way at once, and so is faster than
// single calls; 64 to 512 events are enough.
//
// The time of event i is ticks[i], or now for all of them if ticks is NULL.
// verdicts[i] becomes what the single call would have returned for event i: WINDLASS_FRESH,
// WINDLASS_DUPLICATE, WINDLASS_E_FULL, WINDLASS_E_JUMP or WINDLASS_E_TOO_LONG, which all fit one
// byte. verdicts may be NULL. It may not overlap with the rest.
//
// Returns how many were fresh, or an error; then no event was observed and no verdict was written:
// WINDLASS_E_NULL (dedup; hashes, and n is not 0), WINDLASS_E_RANGE (n; a pointer is not aligned).
// Threads: concurrent.
WINDLASS_API
int64_t windlass_dedup_observe_hashes(struct windlass_dedup *dedup,
                                      const struct windlass_hash *hashes,
                                      size_t n,
                                      uint64_t now,
                                      const uint64_t *ticks,
                                      int8_t *verdicts);

// The same for n ids that are numbers.
//
// The rest as windlass_dedup_observe_hashes.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_dedup_observe_u64s(struct windlass_dedup *dedup,
                                    const uint64_t *ids,
                                    size_t n,
                                    uint64_t now,
                                    const uint64_t *ticks,
                                    int8_t *verdicts);

// The same for n ids of id_len bytes each, the next one stride bytes after the last: a field of an
// array of structs, for example. 1 <= id_len <= stride. Of ids there must be (n - 1) * stride +
// id_len bytes.
//
// Errors: WINDLASS_E_RANGE also if id_len or stride is wrong. The rest as
// windlass_dedup_observe_hashes.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_dedup_observe_fixed(struct windlass_dedup *dedup,
                                     const uint8_t *ids,
                                     size_t id_len,
                                     size_t stride,
                                     size_t n,
                                     uint64_t now,
                                     const uint64_t *ticks,
                                     int8_t *verdicts);

// The same for n ids of any lengths, one behind the other: id i is bytes[offsets[i]] up to, but
// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
// and none greater than bytes_len.
//
// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
// 0) and offsets (n is not 0). The rest as windlass_dedup_observe_hashes.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_dedup_observe_packed(struct windlass_dedup *dedup,
                                      const uint8_t *bytes,
                                      size_t bytes_len,
                                      const uint32_t *offsets,
                                      size_t n,
                                      uint64_t now,
                                      const uint64_t *ticks,
                                      int8_t *verdicts);

// Claims an id of len bytes (0 or more) at the time now: it is the caller's for lease ticks, 1 to
// the window. To all others it is a duplicate meanwhile. When its event has been handled, commit
// the ticket; if that failed, abort it. If neither happens the id is fresh again when the lease
// has run out. So an event whose handling fails is not swallowed.
//
// The lease is rounded up, by a 16th at most. With WINDLASS_UNIT_NS a claim counts as made up to
// 1.024 us later than it was (2.048 us in windows of less than 1.05 ms).
//
// Returns
// WINDLASS_FRESH: the id is claimed, ticket is written;
// WINDLASS_DUPLICATE: it was admitted within the window before, at *when;
// WINDLASS_IN_PROGRESS: another has claimed it, until *when;
// or an error: WINDLASS_E_FULL, WINDLASS_E_JUMP, WINDLASS_E_LEASE, WINDLASS_E_TOO_LONG,
// WINDLASS_E_NULL (dedup; ticket; id, and len is not 0), WINDLASS_E_RANGE (len). After an error
// nothing was changed.
// ticket and when are written in these cases alone. when may be NULL.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_dedup_claim(struct windlass_dedup *dedup,
                             const uint8_t *id,
                             size_t len,
                             uint64_t now,
                             uint64_t lease,
                             struct windlass_ticket *ticket,
                             uint64_t *when);

// The same for an id whose hash is known.
//
// Returns as windlass_dedup_claim.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_dedup_claim_hash(struct windlass_dedup *dedup,
                                  struct windlass_hash hash,
                                  uint64_t now,
                                  uint64_t lease,
                                  struct windlass_ticket *ticket,
                                  uint64_t *when);

// The same for an id that is a number.
//
// Returns as windlass_dedup_claim.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_dedup_claim_u64(struct windlass_dedup *dedup,
                                 uint64_t id,
                                 uint64_t now,
                                 uint64_t lease,
                                 struct windlass_ticket *ticket,
                                 uint64_t *when);

// Admits the id of a claim; its window runs from the claim on.
//
// Returns 1 (it is admitted by this ticket, now or by a commit before), 0 (the claim had been lost:
// the lease ran out and somebody else took the id, it was aborted, forgotten or evicted, or its
// window is over; nothing was changed), or an error: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_dedup_commit(struct windlass_dedup *dedup,
                              const struct windlass_ticket *ticket);

// Gives a claim up: the id can be claimed or observed again.
//
// Returns 1 (done), 0 (the claim had been lost or committed; nothing was changed), or an error:
// WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_dedup_abort(struct windlass_dedup *dedup,
                             const struct windlass_ticket *ticket);

// Fills out with the present figures. struct_size is sizeof(windlass_dedup_stats). Looks at a
// sample of the table: microseconds, not nanoseconds.
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_dedup_get_stats(const struct windlass_dedup *dedup,
                                         struct windlass_dedup_stats *out,
                                         uint32_t struct_size);

// Bytes that it takes now: of all tables, while one takes the place of another, and of ids that are
// kept.
//
// Errors: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API int64_t windlass_dedup_memory_bytes(const struct windlass_dedup *dedup);

// The seed in use: to hash ids beforehand, to make seeds of namespaces, or to let another process
// agree.
//
// Errors: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API windlass_status windlass_dedup_seed(const struct windlass_dedup *dedup, uint64_t *out);

// Forgets all ids, and goes back to the size that it was made with. Needs a table of that size
// beside what it has, until the last call that began before has ended; both count for max_memory.
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_NOMEM.
// Threads: concurrent. Calls under way count as before or after it.
WINDLASS_API windlass_status windlass_dedup_reset(struct windlass_dedup *dedup);

// Upkeep, most of which calls do by themselves while events come: takes note of the time now, looks
// after up to budget groups of 64 places, makes a larger table ready before it is needed, empties
// one that has been replaced, and gives back its memory and that of ids that are gone. Of use after
// a silence, and from a thread beside the callers: every 10 to 100 ms, with a budget of 256, again
// at once as long as it returns 1.
//
// Returns 1 (there is more that can be done now), 0 (there is not), or an error: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_dedup_maintain(struct windlass_dedup *dedup,
                                uint64_t now,
                                size_t budget);

// Writes a snapshot of all that was admitted, claimed or forgotten before the call, to be restored
// by windlass_dedup_restore, on any machine. Other threads go on meanwhile and wait for nothing;
// what they do may be in it or not. now and wall_ns are one time on two clocks: the tick, and
// nanoseconds since 1970 (windlass_wall_ns).
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (dedup or write_fn), WINDLASS_E_IO (what write_fn returned was not 0).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_dedup_snapshot(const struct windlass_dedup *dedup,
                                        uint64_t now,
                                        uint64_t wall_ns,
                                        windlass_write_fn write_fn,
                                        void *context,
                                        struct windlass_error *error);

// Makes a windlass_dedup of what windlass_dedup_snapshot has written, and stores it in out; free it
// with windlass_dedup_free. Ids and claims are as old as they are, by the system's clock. window,
// unit, lateness, refresh and identity must be as they were; so must capacity, unless there is a
// max_memory. The seed of config is not looked at: it is the snapshot's. Tickets from before are
// good for what is claimed, but with WINDLASS_IDENTITY_BYTES.
//
// wall_ns is the time of the system, in nanoseconds since 1970. restored may be NULL, or is filled.
// error may be NULL.
// Errors: as windlass_dedup_new; WINDLASS_E_NULL (also read_fn), WINDLASS_E_STRUCT_SIZE (also
// restored), WINDLASS_E_ARG (also a setting that differs), WINDLASS_E_SNAPSHOT, WINDLASS_E_IO,
// WINDLASS_E_FULL (what config allows is no room for it). Then out and restored are left alone.
// Whatever the bytes are, no more memory is taken than config allows.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_dedup_restore(const struct windlass_dedup_config *config,
                                       uint64_t wall_ns,
                                       windlass_read_fn read_fn,
                                       void *context,
                                       struct windlass_dedup **out,
                                       struct windlass_restored *restored,
                                       struct windlass_error *error);

// Makes a windlass_bloom as config says, and stores it in out; free it with windlass_bloom_free.
// All of its memory is asked for here.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
// error names it), WINDLASS_E_NOMEM. Then out is left alone.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_bloom_new(const struct windlass_bloom_config *config,
                                   struct windlass_bloom **out,
                                   struct windlass_error *error);

// Frees it. NULL is allowed, and does nothing.
//
// Threads: exclusive: no other call with this handle may be under way, or come after it.
WINDLASS_API void windlass_bloom_free(struct windlass_bloom *bloom);

// Fills config with the defaults. struct_size is sizeof(windlass_bloom_config).
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bloom_config_init(struct windlass_bloom_config *config,
                                           uint32_t struct_size);

// Fills out with what a windlass_bloom of these settings would be built as. struct_size is
// sizeof(windlass_bloom_plan).
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE (of either), WINDLASS_E_ARG (a
// setting; error names it).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bloom_config_plan(const struct windlass_bloom_config *config,
                                           struct windlass_bloom_plan *out,
                                           uint32_t struct_size,
                                           struct windlass_error *error);

// Fills out with what bloom was built as. struct_size is sizeof(windlass_bloom_plan).
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bloom_get_plan(const struct windlass_bloom *bloom,
                                        struct windlass_bloom_plan *out,
                                        uint32_t struct_size);

// Puts an id of len bytes (0 or more) in at the time now; any arrival starts its window anew.
// Was it seen within the window before?
//
// Returns 1 (it was seen), 0 (it was not), or an error: WINDLASS_E_NULL
// (bloom; id, and len is not 0), WINDLASS_E_RANGE (len). After an error nothing was changed.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_bloom_insert(struct windlass_bloom *bloom,
                              const uint8_t *id,
                              size_t len,
                              uint64_t now);

// The same for an id whose hash is known, by windlass_hash_bytes for example, with the seed of
// bloom or of a namespace.
//
// Returns as windlass_bloom_insert.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_bloom_insert_hash(struct windlass_bloom *bloom,
                                   struct windlass_hash hash,
                                   uint64_t now);

// The same for an id that is a number.
//
// Returns as windlass_bloom_insert.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_bloom_insert_u64(struct windlass_bloom *bloom,
                                  uint64_t id,
                                  uint64_t now);

// Observes an id of len bytes (0 or more) at the time now: puts it in if it was not seen within the
// window before, so the first arrival counts, as in windlass_dedup. Some fresh ids are taken for
// duplicates, no duplicate for a fresh id. (Of threads that bring one new id at once more than one
// may be told that it is fresh, unless the layout is WINDLASS_LAYOUT_ROWS_1.)
//
// Returns WINDLASS_FRESH or WINDLASS_DUPLICATE, or an error: WINDLASS_E_NULL
// (bloom; id, and len is not 0), WINDLASS_E_RANGE (len). After an error nothing was changed.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_bloom_observe(struct windlass_bloom *bloom,
                               const uint8_t *id,
                               size_t len,
                               uint64_t now);

// The same for an id whose hash is known, by windlass_hash_bytes for example, with the seed of
// bloom or of a namespace.
//
// Returns as windlass_bloom_observe.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_bloom_observe_hash(struct windlass_bloom *bloom,
                                    struct windlass_hash hash,
                                    uint64_t now);

// The same for an id that is a number.
//
// Returns as windlass_bloom_observe.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_bloom_observe_u64(struct windlass_bloom *bloom,
                                   uint64_t id,
                                   uint64_t now);

// Was an id of len bytes (0 or more) seen within the window before now? Changes nothing.
//
// Returns 1 (it was seen), 0 (it was not), or an error: WINDLASS_E_NULL
// (bloom; id, and len is not 0), WINDLASS_E_RANGE (len). After an error nothing was changed.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_bloom_contains(const struct windlass_bloom *bloom,
                                const uint8_t *id,
                                size_t len,
                                uint64_t now);

// The same for an id whose hash is known, by windlass_hash_bytes for example, with the seed of
// bloom or of a namespace.
//
// Returns as windlass_bloom_contains.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_bloom_contains_hash(const struct windlass_bloom *bloom,
                                     struct windlass_hash hash,
                                     uint64_t now);

// The same for an id that is a number.
//
// Returns as windlass_bloom_contains.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_bloom_contains_u64(const struct windlass_bloom *bloom,
                                    uint64_t id,
                                    uint64_t now);

// Puts n ids in, in order, by their hashes. A repeat within the batch was seen. A batch has the
// memory for several ids on its way at once, and so is faster than single calls; 64 to 512 ids are
// enough.
//
// The time of id i is ticks[i], or now for all of them if ticks is NULL.
// answers[i] becomes what windlass_bloom_insert would have returned for id i: 0 or 1. answers may be
// NULL. It may not overlap with the rest.
//
// Returns how many were not seen before (the answers that are 0), or an error; then nothing was changed and
// no answer was written: WINDLASS_E_NULL (bloom; hashes, and n is not 0), WINDLASS_E_RANGE (n; a
// pointer is not aligned).
// Threads: concurrent.
WINDLASS_API
int64_t windlass_bloom_insert_hashes(struct windlass_bloom *bloom,
                                     const struct windlass_hash *hashes,
                                     size_t n,
                                     uint64_t now,
                                     const uint64_t *ticks,
                                     int8_t *answers);

// The same for n ids that are numbers.
//
// The rest as windlass_bloom_insert_hashes.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_bloom_insert_u64s(struct windlass_bloom *bloom,
                                   const uint64_t *ids,
                                   size_t n,
                                   uint64_t now,
                                   const uint64_t *ticks,
                                   int8_t *answers);

// The same for n ids of id_len bytes each, the next one stride bytes after the last: a field of an
// array of structs, for example. 1 <= id_len <= stride. Of ids there must be (n - 1) * stride +
// id_len bytes.
//
// Errors: WINDLASS_E_RANGE also if id_len or stride is wrong. The rest as
// windlass_bloom_insert_hashes.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_bloom_insert_fixed(struct windlass_bloom *bloom,
                                    const uint8_t *ids,
                                    size_t id_len,
                                    size_t stride,
                                    size_t n,
                                    uint64_t now,
                                    const uint64_t *ticks,
                                    int8_t *answers);

// The same for n ids of any lengths, one behind the other: id i is bytes[offsets[i]] up to, but
// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
// and none greater than bytes_len.
//
// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
// 0) and offsets (n is not 0). The rest as windlass_bloom_insert_hashes.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_bloom_insert_packed(struct windlass_bloom *bloom,
                                     const uint8_t *bytes,
                                     size_t bytes_len,
                                     const uint32_t *offsets,
                                     size_t n,
                                     uint64_t now,
                                     const uint64_t *ticks,
                                     int8_t *answers);

// Observes n events in order, by the hashes of their ids. A repeat within the batch is a duplicate. A batch has the
// memory for several ids on its way at once, and so is faster than single calls; 64 to 512 ids are
// enough.
//
// The time of id i is ticks[i], or now for all of them if ticks is NULL.
// answers[i] becomes what windlass_bloom_observe would have returned for id i: 0 or 1. answers may be
// NULL. It may not overlap with the rest.
//
// Returns how many were fresh (the answers that are 0), or an error; then nothing was changed and
// no answer was written: WINDLASS_E_NULL (bloom; hashes, and n is not 0), WINDLASS_E_RANGE (n; a
// pointer is not aligned).
// Threads: concurrent.
WINDLASS_API
int64_t windlass_bloom_observe_hashes(struct windlass_bloom *bloom,
                                      const struct windlass_hash *hashes,
                                      size_t n,
                                      uint64_t now,
                                      const uint64_t *ticks,
                                      int8_t *answers);

// The same for n ids that are numbers.
//
// The rest as windlass_bloom_observe_hashes.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_bloom_observe_u64s(struct windlass_bloom *bloom,
                                    const uint64_t *ids,
                                    size_t n,
                                    uint64_t now,
                                    const uint64_t *ticks,
                                    int8_t *answers);

// The same for n ids of id_len bytes each, the next one stride bytes after the last: a field of an
// array of structs, for example. 1 <= id_len <= stride. Of ids there must be (n - 1) * stride +
// id_len bytes.
//
// Errors: WINDLASS_E_RANGE also if id_len or stride is wrong. The rest as
// windlass_bloom_observe_hashes.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_bloom_observe_fixed(struct windlass_bloom *bloom,
                                     const uint8_t *ids,
                                     size_t id_len,
                                     size_t stride,
                                     size_t n,
                                     uint64_t now,
                                     const uint64_t *ticks,
                                     int8_t *answers);

// The same for n ids of any lengths, one behind the other: id i is bytes[offsets[i]] up to, but
// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
// and none greater than bytes_len.
//
// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
// 0) and offsets (n is not 0). The rest as windlass_bloom_observe_hashes.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_bloom_observe_packed(struct windlass_bloom *bloom,
                                      const uint8_t *bytes,
                                      size_t bytes_len,
                                      const uint32_t *offsets,
                                      size_t n,
                                      uint64_t now,
                                      const uint64_t *ticks,
                                      int8_t *answers);

// Asks for n ids, by their hashes; changes nothing. A batch has the
// memory for several ids on its way at once, and so is faster than single calls; 64 to 512 ids are
// enough.
//
// The time of id i is ticks[i], or now for all of them if ticks is NULL.
// answers[i] becomes what windlass_bloom_contains would have returned for id i: 0 or 1. answers may be
// NULL. It may not overlap with the rest.
//
// Returns how many were not seen (the answers that are 0), or an error; then nothing was changed and
// no answer was written: WINDLASS_E_NULL (bloom; hashes, and n is not 0), WINDLASS_E_RANGE (n; a
// pointer is not aligned).
// Threads: concurrent.
WINDLASS_API
int64_t windlass_bloom_contains_hashes(const struct windlass_bloom *bloom,
                                       const struct windlass_hash *hashes,
                                       size_t n,
                                       uint64_t now,
                                       const uint64_t *ticks,
                                       int8_t *answers);

// The same for n ids that are numbers.
//
// The rest as windlass_bloom_contains_hashes.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_bloom_contains_u64s(const struct windlass_bloom *bloom,
                                     const uint64_t *ids,
                                     size_t n,
                                     uint64_t now,
                                     const uint64_t *ticks,
                                     int8_t *answers);

// The same for n ids of id_len bytes each, the next one stride bytes after the last: a field of an
// array of structs, for example. 1 <= id_len <= stride. Of ids there must be (n - 1) * stride +
// id_len bytes.
//
// Errors: WINDLASS_E_RANGE also if id_len or stride is wrong. The rest as
// windlass_bloom_contains_hashes.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_bloom_contains_fixed(const struct windlass_bloom *bloom,
                                      const uint8_t *ids,
                                      size_t id_len,
                                      size_t stride,
                                      size_t n,
                                      uint64_t now,
                                      const uint64_t *ticks,
                                      int8_t *answers);

// The same for n ids of any lengths, one behind the other: id i is bytes[offsets[i]] up to, but
// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
// and none greater than bytes_len.
//
// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
// 0) and offsets (n is not 0). The rest as windlass_bloom_contains_hashes.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_bloom_contains_packed(const struct windlass_bloom *bloom,
                                       const uint8_t *bytes,
                                       size_t bytes_len,
                                       const uint32_t *offsets,
                                       size_t n,
                                       uint64_t now,
                                       const uint64_t *ticks,
                                       int8_t *answers);

// Fills out with the present figures. struct_size is sizeof(windlass_bloom_stats). Looks at a sample
// of every pane: milliseconds, not nanoseconds.
//
// panes gets the live panes, the newest first, as many as there are and room has places for. It may
// be NULL if room is 0. There are never more than the plan's panes; live_panes says how many.
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE, WINDLASS_E_RANGE (room; panes is not aligned).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bloom_get_stats(const struct windlass_bloom *bloom,
                                         struct windlass_bloom_stats *out,
                                         uint32_t struct_size,
                                         struct windlass_bloom_pane *panes,
                                         size_t room);

// Bytes that it takes: those of the plan, at all times.
//
// Errors: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API int64_t windlass_bloom_memory_bytes(const struct windlass_bloom *bloom);

// The seed in use: to hash ids beforehand, to make seeds of namespaces, or to let another process
// agree.
//
// Errors: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API windlass_status windlass_bloom_seed(const struct windlass_bloom *bloom, uint64_t *out);

// In which panes that are live at the time now is an id of len bytes? Each may be an error, as
// usual. spans gets them, the newest first, as many as there are and room has places for. It may be
// NULL if room is 0.
//
// Returns in how many panes it is, which may be more than room and is not more than the plan's
// panes, or an error: WINDLASS_E_NULL (bloom; id, and len is not 0; spans, and room is not 0),
// WINDLASS_E_RANGE (len, room; spans is not aligned).
// Threads: concurrent.
WINDLASS_API
int64_t windlass_bloom_panes_at(const struct windlass_bloom *bloom,
                                const uint8_t *id,
                                size_t len,
                                uint64_t now,
                                struct windlass_pane_span *spans,
                                size_t room);

// The same for an id whose hash is known.
//
// Returns as windlass_bloom_panes_at.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_bloom_panes_at_hash(const struct windlass_bloom *bloom,
                                     struct windlass_hash hash,
                                     uint64_t now,
                                     struct windlass_pane_span *spans,
                                     size_t room);

// The same for an id that is a number.
//
// Returns as windlass_bloom_panes_at.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_bloom_panes_at_u64(const struct windlass_bloom *bloom,
                                    uint64_t id,
                                    uint64_t now,
                                    struct windlass_pane_span *spans,
                                    size_t room);

// How many different ids are in the panes that are live at the time now, estimated from how many
// bits are set; error gets the standard error of it, in ids, and may be NULL. Looks at a sample of
// every pane: milliseconds, not nanoseconds.
//
// Errors: WINDLASS_E_NULL (bloom or ids), WINDLASS_E_ARG (with WINDLASS_LAYOUT_SEEDED_ARRAYS an id
// has other bits in every pane), WINDLASS_E_FULL (all bits are set: there are more than can be
// counted).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bloom_distinct_at(const struct windlass_bloom *bloom,
                                           uint64_t now,
                                           double *ids,
                                           double *error);

// Puts in what the live panes of other hold, each into the pane of its time, or a later one. The two
// must have the same window, panes, layout, bits, probes and seed: make them from one config. other
// is not changed.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (bloom or other), WINDLASS_E_ARG (error says what differs).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bloom_union(struct windlass_bloom *bloom,
                                     const struct windlass_bloom *other,
                                     struct windlass_error *error);

// Upkeep: moves the panes on to the time now, and clears up to budget pieces of the next one (16
// rows, or KiB) if it is time. Of use in a silence, and from a thread beside the callers, which a
// rotation other than WINDLASS_ROTATION_BY_CALLS needs: ten times a pane, again at once as long as it
// returns 1.
//
// Returns 1 (there is more that can be done now), 0 (there is not), or an error: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_bloom_maintain_at(struct windlass_bloom *bloom,
                                   uint64_t now,
                                   size_t budget);

// Moves the panes on to the time now, with all the clearing that this takes, also where that is
// further than max_jump.
//
// Errors: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API windlass_status windlass_bloom_advance_to(struct windlass_bloom *bloom, uint64_t now);

// Writes a snapshot of all that was put in before the call, to be restored by
// windlass_bloom_restore, on any machine. Other threads go on meanwhile and wait for nothing; what
// they put in may be in it or not. A pane that they let go meanwhile is not in it. now and wall_ns
// are one time on two clocks: the tick, and nanoseconds since 1970 (windlass_wall_ns).
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (bloom or write_fn), WINDLASS_E_IO (what write_fn returned was not 0).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bloom_snapshot(const struct windlass_bloom *bloom,
                                        uint64_t now,
                                        uint64_t wall_ns,
                                        windlass_write_fn write_fn,
                                        void *context,
                                        struct windlass_error *error);

// Makes a windlass_bloom of what windlass_bloom_snapshot has written, and stores it in out; free it
// with windlass_bloom_free. It gives the answers that the other would have given; what has expired
// since by the system's clock is gone. window, unit and lateness must be as they were, and so must
// panes, layout, probes and bits, given or found by expected_ids and error. The seed of config is
// not looked at: it is the snapshot's.
//
// wall_ns is the time of the system, in nanoseconds since 1970. restored may be NULL, or is filled.
// error may be NULL.
// Errors: as windlass_bloom_new; WINDLASS_E_NULL (also read_fn), WINDLASS_E_STRUCT_SIZE (also
// restored), WINDLASS_E_ARG (also a setting that differs), WINDLASS_E_SNAPSHOT, WINDLASS_E_IO,
// WINDLASS_E_FULL (what config allows is no room for it). Then out and restored are left alone.
// Whatever the bytes are, no more memory is taken than config allows.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_bloom_restore(const struct windlass_bloom_config *config,
                                       uint64_t wall_ns,
                                       windlass_read_fn read_fn,
                                       void *context,
                                       struct windlass_bloom **out,
                                       struct windlass_restored *restored,
                                       struct windlass_error *error);

// Makes a windlass_limiter as config says, and stores it in out; free it with
// windlass_limiter_free. The memory of its table is asked for here; more only to grow (max_memory).
// Where that cannot be had, clients that it does not know are answered as on_unknown says.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
// error names it), WINDLASS_E_NOMEM. Then out is left alone.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_limiter_new(const struct windlass_limiter_config *config,
                                     struct windlass_limiter **out,
                                     struct windlass_error *error);

// Frees it. NULL is allowed, and does nothing.
//
// Threads: exclusive: no other call with this handle may be under way, or come after it.
WINDLASS_API void windlass_limiter_free(struct windlass_limiter *limiter);

// Fills config with the defaults. struct_size is sizeof(windlass_limiter_config).
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_limiter_config_init(struct windlass_limiter_config *config,
                                             uint32_t struct_size);

// Sets permits, per_ns and burst by a text of len bytes: "100/60s", "10/s", "10/s burst 20"; units
// are ns, us, ms, s, m (or min), h and d. config has been begun by its init. A burst as large
// as permits, or none, becomes 0.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (config; text, and len is not 0), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_RANGE
// (len), WINDLASS_E_ARG (the text). Then config is left alone.
// Threads: concurrent, with another config each.
WINDLASS_API
windlass_status windlass_limiter_config_quota(struct windlass_limiter_config *config,
                                              const char *text,
                                              size_t len,
                                              struct windlass_error *error);

// Bytes that a windlass_limiter of these settings takes to begin with, before it is made.
//
// error may be NULL.
// Errors: as windlass_limiter_new.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_limiter_config_memory_bytes(const struct windlass_limiter_config *config,
                                             struct windlass_error *error);

// Takes cost permits at the time now, or none, for the client whose key has len bytes (0 or more).
// Of cost 0 it tells how things stand.
//
// Returns WINDLASS_ALLOWED, WINDLASS_DENIED or WINDLASS_NEVER, and says more in admission, which may
// be NULL; or an error: WINDLASS_E_NULL (limiter; key, and len is not 0), WINDLASS_E_RANGE (len). Then
// nothing was changed, and admission is left alone.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limiter_check(struct windlass_limiter *limiter,
                               const uint8_t *key,
                               size_t len,
                               uint64_t cost,
                               uint64_t now,
                               struct windlass_admission *admission);

// The same for a key whose hash is known, by windlass_hash_bytes for example, with the seed of
// limiter or of a namespace.
//
// Returns as windlass_limiter_check.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limiter_check_hash(struct windlass_limiter *limiter,
                                    struct windlass_hash hash,
                                    uint64_t cost,
                                    uint64_t now,
                                    struct windlass_admission *admission);

// The same for a key that is a number: exact, as no two numbers share a fingerprint.
//
// Returns as windlass_limiter_check.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limiter_check_u64(struct windlass_limiter *limiter,
                                   uint64_t key,
                                   uint64_t cost,
                                   uint64_t now,
                                   struct windlass_admission *admission);

// What windlass_limiter_check would answer. Nothing is taken, and time is not moved on.
//
// Returns as windlass_limiter_check.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limiter_peek(const struct windlass_limiter *limiter,
                              const uint8_t *key,
                              size_t len,
                              uint64_t cost,
                              uint64_t now,
                              struct windlass_admission *admission);

// The same for a key whose hash is known.
//
// Returns as windlass_limiter_check.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limiter_peek_hash(const struct windlass_limiter *limiter,
                                   struct windlass_hash hash,
                                   uint64_t cost,
                                   uint64_t now,
                                   struct windlass_admission *admission);

// The same for a key that is a number.
//
// Returns as windlass_limiter_check.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limiter_peek_u64(const struct windlass_limiter *limiter,
                                  uint64_t key,
                                  uint64_t cost,
                                  uint64_t now,
                                  struct windlass_admission *admission);

// Gives a client back all that it has taken.
//
// Returns 1 (there was something), 0 (there was not; or this was done too often in the time that a
// full bucket takes to empty: 127 times, of windows 15, with less than a millisecond between permits
// 3), or an error: WINDLASS_E_NULL (limiter; key, and len is not 0), WINDLASS_E_RANGE (len).
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limiter_forget(struct windlass_limiter *limiter,
                                const uint8_t *key,
                                size_t len,
                                uint64_t now);

// The same for a key whose hash is known.
//
// Returns as windlass_limiter_forget.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limiter_forget_hash(struct windlass_limiter *limiter,
                                     struct windlass_hash hash,
                                     uint64_t now);

// The same for a key that is a number.
//
// Returns as windlass_limiter_forget.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limiter_forget_u64(struct windlass_limiter *limiter,
                                    uint64_t key,
                                    uint64_t now);

// Checks n calls in order, by the hashes of their keys; what one takes the next of the same client
// does not find. A batch has the memory for 16 calls on its way at once, and so is faster than
// single calls; 64 to 512 are enough.
//
// Call i costs costs[i], or 1 if costs is NULL. Its time is ticks[i], or now for all of them if ticks
// is NULL. admissions[i] becomes what the single call would have said. admissions may be NULL. It may
// not overlap with the rest.
//
// Returns how many are allowed, or an error; then nothing was taken and no answer was written:
// WINDLASS_E_NULL (limiter; hashes, and n is not 0), WINDLASS_E_RANGE (n; a pointer is not aligned).
// Threads: concurrent.
WINDLASS_API
int64_t windlass_limiter_check_hashes(struct windlass_limiter *limiter,
                                      const struct windlass_hash *hashes,
                                      size_t n,
                                      const uint64_t *costs,
                                      uint64_t now,
                                      const uint64_t *ticks,
                                      struct windlass_admission *admissions);

// The same for n keys that are numbers.
//
// The rest as windlass_limiter_check_hashes.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_limiter_check_u64s(struct windlass_limiter *limiter,
                                    const uint64_t *keys,
                                    size_t n,
                                    const uint64_t *costs,
                                    uint64_t now,
                                    const uint64_t *ticks,
                                    struct windlass_admission *admissions);

// The same for n keys of key_len bytes each, the next one stride bytes after the last: a field of an
// array of structs, for example. 1 <= key_len <= stride. Of keys there must be (n - 1) * stride +
// key_len bytes.
//
// Errors: WINDLASS_E_RANGE also if key_len or stride is wrong. The rest as
// windlass_limiter_check_hashes.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_limiter_check_fixed(struct windlass_limiter *limiter,
                                     const uint8_t *keys,
                                     size_t key_len,
                                     size_t stride,
                                     size_t n,
                                     const uint64_t *costs,
                                     uint64_t now,
                                     const uint64_t *ticks,
                                     struct windlass_admission *admissions);

// The same for n keys of any lengths, one behind the other: key i is bytes[offsets[i]] up to, but
// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
// and none greater than bytes_len.
//
// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
// 0) and offsets (n is not 0). The rest as windlass_limiter_check_hashes.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_limiter_check_packed(struct windlass_limiter *limiter,
                                      const uint8_t *bytes,
                                      size_t bytes_len,
                                      const uint32_t *offsets,
                                      size_t n,
                                      const uint64_t *costs,
                                      uint64_t now,
                                      const uint64_t *ticks,
                                      struct windlass_admission *admissions);

// Fills out with the present figures. struct_size is sizeof(windlass_limiter_stats). Looks at a
// sample of the table: microseconds, not nanoseconds.
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_limiter_get_stats(const struct windlass_limiter *limiter,
                                           struct windlass_limiter_stats *out,
                                           uint32_t struct_size);

// Bytes that it takes now: of all tables, while one takes the place of another.
//
// Errors: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API int64_t windlass_limiter_memory_bytes(const struct windlass_limiter *limiter);

// The seed in use: to hash keys beforehand, to make seeds of namespaces, or to let another process
// agree.
//
// Errors: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_limiter_seed(const struct windlass_limiter *limiter,
                                      uint64_t *out);

// Upkeep, most of which calls do by themselves while they come: takes note of the time now, looks
// after up to budget groups of 64 places, makes a larger table ready before it is needed, empties
// one that has been replaced, and gives back its memory. Of use after a silence, and from a thread
// beside the callers: every 10 to 100 ms, with a budget of 256, again at once as long as it returns 1.
//
// Returns 1 (there is more that can be done now), 0 (there is not), or an error: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limiter_maintain_at(struct windlass_limiter *limiter,
                                     uint64_t now,
                                     size_t budget);

// Makes a windlass_global_limiter as config says, and stores it in out; free it with
// windlass_global_limiter_free. Of config the quota and the algorithm count. It has no lateness and
// no bound on jumps: to set one is an error. What is about clients has no effect.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
// error names it). Then out is left alone.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_global_limiter_new(const struct windlass_limiter_config *config,
                                            struct windlass_global_limiter **out,
                                            struct windlass_error *error);

// Frees it. NULL is allowed, and does nothing.
//
// Threads: exclusive: no other call with this handle may be under way, or come after it.
WINDLASS_API void windlass_global_limiter_free(struct windlass_global_limiter *limiter);

// Takes cost permits at the time now, or none. Of cost 0 it tells how things stand.
//
// Returns WINDLASS_ALLOWED, WINDLASS_DENIED or WINDLASS_NEVER, and says more in admission, which may
// be NULL; or an error: WINDLASS_E_NULL (limiter).
// Threads: concurrent.
WINDLASS_API
int32_t windlass_global_limiter_check(struct windlass_global_limiter *limiter,
                                      uint64_t cost,
                                      uint64_t now,
                                      struct windlass_admission *admission);

// What windlass_global_limiter_check would answer. Nothing is taken.
//
// Returns as windlass_global_limiter_check.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_global_limiter_peek(const struct windlass_global_limiter *limiter,
                                     uint64_t cost,
                                     uint64_t now,
                                     struct windlass_admission *admission);

// Gives back all that was taken.
//
// Returns 1 (there was something), 0 (there was not; or this was done too often, as in
// windlass_limiter_forget), or an error: WINDLASS_E_NULL (limiter).
// Threads: concurrent.
WINDLASS_API
int32_t windlass_global_limiter_forget(struct windlass_global_limiter *limiter,
                                       uint64_t now);

// Another quota from the time now on, of all clients that have none of their own, known or not: for all
// calls that begin after this one has ended. Those under way meanwhile are judged by the old quota or
// by the new one. inherit says what becomes of what was used: WINDLASS_INHERIT_AS_IS or another
// WINDLASS_INHERIT_. However many clients there are, it takes no longer.
//
// A bucket cannot get a pace at which its numbers would not last a year, from 9 years at the pace that it
// was made with; with WINDLASS_INHERIT_AS_IS that is 9 times as many permits a second. Windows keep their
// length, and logs have no more permits, and no more time, than they were made with.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (limiter), WINDLASS_E_ARG (the quota, inherit, or a time beyond max_jump_ns;
// error names it). Then nothing was changed.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_limiter_set_quota(struct windlass_limiter *limiter,
                                           struct windlass_quota quota,
                                           uint32_t inherit,
                                           uint64_t now,
                                           struct windlass_error *error);

// A quota of its own, from the time now on, for the client whose key has len bytes (0 or more): whatever
// windlass_limiter_set_quota says later; or another one, if it has one. What it has used up of its
// quota counts as taken now: so many permits, but no more than there are, or the same share of them, of
// all algorithms. Its calls that are under way meanwhile are judged by the quota that it had, and may
// then not be counted by the one that it gets.
//
// Some 300 bytes for each such client. A call of any client then looks whether it is one of them.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (limiter; key, and len is not 0), WINDLASS_E_RANGE (len), WINDLASS_E_ARG (as
// windlass_limiter_set_quota). Then nothing was changed.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_limiter_set_quota_for(struct windlass_limiter *limiter,
                                               const uint8_t *key,
                                               size_t len,
                                               struct windlass_quota quota,
                                               uint32_t inherit,
                                               uint64_t now,
                                               struct windlass_error *error);

// The same for a key whose hash is known.
//
// Errors: as windlass_limiter_set_quota_for.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_limiter_set_quota_for_hash(struct windlass_limiter *limiter,
                                                    struct windlass_hash hash,
                                                    struct windlass_quota quota,
                                                    uint32_t inherit,
                                                    uint64_t now,
                                                    struct windlass_error *error);

// The same for a key that is a number.
//
// Errors: as windlass_limiter_set_quota_for.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_limiter_set_quota_for_u64(struct windlass_limiter *limiter,
                                                   uint64_t key,
                                                   struct windlass_quota quota,
                                                   uint32_t inherit,
                                                   uint64_t now,
                                                   struct windlass_error *error);

// From the time now on the quota of all counts for this client again. What it has used of its own counts
// as taken now, as inherit says, if that is more than it had used of the other one.
//
// Returns 1 (it had one of its own), 0, or an error: WINDLASS_E_NULL (limiter; key, and len is not
// 0), WINDLASS_E_RANGE (len), WINDLASS_E_ARG (inherit).
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limiter_clear_quota_for(struct windlass_limiter *limiter,
                                         const uint8_t *key,
                                         size_t len,
                                         uint32_t inherit,
                                         uint64_t now);

// The same for a key whose hash is known.
//
// Returns as windlass_limiter_clear_quota_for.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limiter_clear_quota_for_hash(struct windlass_limiter *limiter,
                                              struct windlass_hash hash,
                                              uint32_t inherit,
                                              uint64_t now);

// The same for a key that is a number.
//
// Returns as windlass_limiter_clear_quota_for.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limiter_clear_quota_for_u64(struct windlass_limiter *limiter,
                                             uint64_t key,
                                             uint32_t inherit,
                                             uint64_t now);

// Another quota from the time now on: see windlass_limiter_set_quota.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (limiter), WINDLASS_E_ARG (the quota, or inherit; error names it). Then nothing
// was changed.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_global_limiter_set_quota(struct windlass_global_limiter *limiter,
                                                  struct windlass_quota quota,
                                                  uint32_t inherit,
                                                  uint64_t now,
                                                  struct windlass_error *error);

// Writes a snapshot of all that was taken, and of all quotas that were changed, before the call, to
// be restored by windlass_limiter_restore, on any machine. Other threads go on meanwhile and wait
// for nothing; what they do may be in it or not. now and wall_ns are one time on two clocks: the
// time that calls bring, and nanoseconds since 1970 (windlass_wall_ns).
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (limiter or write_fn), WINDLASS_E_IO (what write_fn returned was not 0).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_limiter_snapshot(const struct windlass_limiter *limiter,
                                          uint64_t now,
                                          uint64_t wall_ns,
                                          windlass_write_fn write_fn,
                                          void *context,
                                          struct windlass_error *error);

// Makes a windlass_limiter of what windlass_limiter_snapshot has written, and stores it in out; free
// it with windlass_limiter_free. What was taken is as long ago as it is, by the system's clock.
// algorithm, quota (as it was made with; to what it was changed since is in the snapshot),
// lateness_ns and shared_cells must be as they were; so must clients, unless there is a max_memory.
// The seed of config is not looked at: it is the snapshot's.
//
// wall_ns is the time of the system, in nanoseconds since 1970. restored may be NULL, or is filled.
// error may be NULL.
// Errors: as windlass_limiter_new; WINDLASS_E_NULL (also read_fn), WINDLASS_E_STRUCT_SIZE (also
// restored), WINDLASS_E_ARG (also a setting that differs), WINDLASS_E_SNAPSHOT, WINDLASS_E_IO,
// WINDLASS_E_FULL (what config allows is no room for it). Then out and restored are left alone.
// Whatever the bytes are, no more memory is taken than config allows, but for clients with quotas of
// their own.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_limiter_restore(const struct windlass_limiter_config *config,
                                         uint64_t wall_ns,
                                         windlass_read_fn read_fn,
                                         void *context,
                                         struct windlass_limiter **out,
                                         struct windlass_restored *restored,
                                         struct windlass_error *error);

// Writes a snapshot, as windlass_limiter_snapshot: to be restored by windlass_global_limiter_restore.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (limiter or write_fn), WINDLASS_E_IO (what write_fn returned was not 0).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_global_limiter_snapshot(const struct windlass_global_limiter *limiter,
                                                 uint64_t now,
                                                 uint64_t wall_ns,
                                                 windlass_write_fn write_fn,
                                                 void *context,
                                                 struct windlass_error *error);

// Makes a windlass_global_limiter of what windlass_global_limiter_snapshot has written, and stores
// it in out; free it with windlass_global_limiter_free. Otherwise as windlass_limiter_restore: of
// config the quota and the algorithm count, and must be as they were.
//
// Errors: as windlass_global_limiter_new; WINDLASS_E_NULL (also read_fn), WINDLASS_E_STRUCT_SIZE
// (also restored), WINDLASS_E_ARG (also a setting that differs), WINDLASS_E_SNAPSHOT, WINDLASS_E_IO.
// Then out and restored are left alone.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_global_limiter_restore(const struct windlass_limiter_config *config,
                                                uint64_t wall_ns,
                                                windlass_read_fn read_fn,
                                                void *context,
                                                struct windlass_global_limiter **out,
                                                struct windlass_restored *restored,
                                                struct windlass_error *error);

// Makes a windlass_limitset of n limits, in their order, and stores it in out; free it with
// windlass_limitset_free. What limits points to is copied.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (config, out, limits, or a name), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
// error names it: no limits, more than 8, two of one name, a name that is not UTF-8, a quota or an algorithm that a
// set cannot have), WINDLASS_E_NOMEM. Then out is left alone.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_limitset_new(const struct windlass_limitset_config *config,
                                      const struct windlass_limit_rule *limits,
                                      size_t n,
                                      struct windlass_limitset **out,
                                      struct windlass_error *error);

// Frees it. NULL is allowed, and does nothing.
//
// Threads: exclusive: no other call with this handle may be under way, or come after it.
WINDLASS_API void windlass_limitset_free(struct windlass_limitset *set);

// Fills config with the defaults. struct_size is sizeof(windlass_limitset_config).
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_limitset_config_init(struct windlass_limitset_config *config,
                                              uint32_t struct_size);

// Takes cost permits of each limit at the time now, or none at all. Of cost 0 it tells how things stand.
//
// hashes has n keys: one for each limit that is for each client, in their order, hashed by
// windlass_hash_bytes for example with the seed of the set. Of more keys the rest has no meaning; if
// there are fewer the answer is WINDLASS_NEVER, by the limit that has none.
//
// Returns WINDLASS_ALLOWED, WINDLASS_DENIED or WINDLASS_NEVER, and says more in admission, which may
// be NULL; or an error: WINDLASS_E_NULL (set; hashes, and n is not 0), WINDLASS_E_RANGE (n). Then
// nothing was changed, and admission is left alone.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limitset_check(struct windlass_limitset *set,
                                const struct windlass_hash *hashes,
                                size_t n,
                                uint64_t cost,
                                uint64_t now,
                                struct windlass_set_admission *admission);

// Takes estimate permits of each limit at the time now, or none at all, as windlass_limitset_check does,
// until it is known what they are: settle or cancel them within lease_ns. If neither happens they
// stay charged.
//
// Returns
// WINDLASS_ALLOWED: they are held, reservation is written;
// WINDLASS_DENIED, WINDLASS_NEVER: they are not;
// in these cases it says more in admission, which may be NULL (if allowed its kind alone);
// or an error: WINDLASS_E_FULL (there are as many holds as there is room for), WINDLASS_E_NULL (set; reservation;
// hashes, and n is not 0), WINDLASS_E_RANGE (n). Then nothing was changed.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limitset_reserve(struct windlass_limitset *set,
                                  const struct windlass_hash *hashes,
                                  size_t n,
                                  uint64_t estimate,
                                  uint64_t lease_ns,
                                  uint64_t now,
                                  struct windlass_reservation *reservation,
                                  struct windlass_set_admission *admission);

// Says what a hold was really for, at the time now: what was too much is given back, as far as time has
// not; what was too little is charged, whether there is room or not: a bucket goes into debt by 15
// bursts at most, a window is full. What could not be charged is stored in uncharged, which may be NULL.
//
// Returns WINDLASS_SETTLED, WINDLASS_SETTLED_BEFORE or WINDLASS_EXPIRED; or an error: WINDLASS_E_NULL
// (set; reservation). uncharged is written with WINDLASS_SETTLED alone.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limitset_settle(struct windlass_limitset *set,
                                 const struct windlass_reservation *reservation,
                                 uint64_t actual,
                                 uint64_t now,
                                 uint64_t *uncharged);

// Gives back all that is held, as far as time has not: windlass_limitset_settle for 0 permits.
//
// Returns as windlass_limitset_settle.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limitset_cancel(struct windlass_limitset *set,
                                 const struct windlass_reservation *reservation,
                                 uint64_t now);

// Another quota from the time now on for the limit of this name, which ends with NUL: for all calls that
// begin after this one has ended. Permits that were used stay used, one by one, and what is held or given
// back is so many of them. Which quotas there can be: see windlass_limiter_set_quota, with
// WINDLASS_INHERIT_AS_IS.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (set or name), WINDLASS_E_ARG (the quota, or no limit has this name; error says
// so). Then nothing was changed.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_limitset_set_quota(struct windlass_limitset *set,
                                            const char *name,
                                            struct windlass_quota quota,
                                            uint64_t now,
                                            struct windlass_error *error);

// Writes a snapshot of all that was taken and held, and of all quotas that were changed, before the
// call, to be restored by windlass_limitset_restore, on any machine. Other threads go on meanwhile
// and wait for nothing; what they do may be in it or not. Tickets of holds that were made before are
// good for what is restored; those of holds that are made meanwhile are not, and what they hold may
// stay charged. now and wall_ns are one time on two clocks: the time that calls bring, and
// nanoseconds since 1970 (windlass_wall_ns).
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (set or write_fn), WINDLASS_E_IO (what write_fn returned was not 0; or names
// have more than 60000 bytes in all).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_limitset_snapshot(const struct windlass_limitset *set,
                                           uint64_t now,
                                           uint64_t wall_ns,
                                           windlass_write_fn write_fn,
                                           void *context,
                                           struct windlass_error *error);

// Makes a windlass_limitset of what windlass_limitset_snapshot has written, and stores it in out; free
// it with windlass_limitset_free. What was taken is as long ago as it is, by the system's clock. The
// limits must be as they were: names in their order, algorithms, quotas (as it was made with; to
// what they were changed since is in the snapshot) and clients; so must lateness_ns, reservations and
// seed, with which keys are hashed: it has to be kept.
//
// wall_ns is the time of the system, in nanoseconds since 1970. restored may be NULL, or is filled.
// error may be NULL.
// Errors: as windlass_limitset_new; WINDLASS_E_NULL (also read_fn), WINDLASS_E_STRUCT_SIZE (also
// restored), WINDLASS_E_ARG (also a setting that differs), WINDLASS_E_SNAPSHOT, WINDLASS_E_IO,
// WINDLASS_E_FULL. Then out and restored are left alone. Whatever the bytes are, no more memory is
// taken than config allows.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_limitset_restore(const struct windlass_limitset_config *config,
                                          const struct windlass_limit_rule *limits,
                                          size_t n,
                                          uint64_t wall_ns,
                                          windlass_read_fn read_fn,
                                          void *context,
                                          struct windlass_limitset **out,
                                          struct windlass_restored *restored,
                                          struct windlass_error *error);

// Writes the figures to stats. struct_size is sizeof(windlass_limitset_stats).
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_limitset_get_stats(const struct windlass_limitset *set,
                                            struct windlass_limitset_stats *stats,
                                            uint32_t struct_size);

// Upkeep of at most budget steps for each limit, most of which calls do by themselves; moves time on.
//
// Returns 1 (there is more that can be done now), 0, or an error: WINDLASS_E_NULL (set).
// Threads: concurrent.
WINDLASS_API
int32_t windlass_limitset_maintain(struct windlass_limitset *set,
                                   uint64_t now,
                                   size_t budget);

// Makes a windlass_counter as config says, and stores it in out; free it with
// windlass_counter_free. The system is asked for the memory of its rows as they are needed; where it
// cannot be had, keys get WINDLASS_NO_ROOM.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
// error names it), WINDLASS_E_NOMEM. Then out is left alone.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_counter_new(const struct windlass_counter_config *config,
                                     struct windlass_counter **out,
                                     struct windlass_error *error);

// Frees it. NULL is allowed, and does nothing.
//
// Threads: exclusive: no other call with this handle may be under way, or come after it.
WINDLASS_API void windlass_counter_free(struct windlass_counter *counter);

// Fills config with the defaults. struct_size is sizeof(windlass_counter_config).
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_counter_config_init(struct windlass_counter_config *config,
                                             uint32_t struct_size);

// Bytes that a windlass_counter of these settings takes when all of it is in use, if it does not
// grow, before it is made.
//
// error may be NULL.
// Errors: as windlass_counter_new.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_counter_config_memory_bytes(const struct windlass_counter_config *config,
                                             struct windlass_error *error);

// Counts a key of len bytes (0 or more) times times at the time now.
//
// Returns WINDLASS_COUNTED, WINDLASS_NO_ROOM, WINDLASS_LATE, or an error: WINDLASS_E_JUMP (now is
// further ahead than max_jump: it is not counted), WINDLASS_E_NULL (counter; key, and len is not 0),
// WINDLASS_E_RANGE (len).
// Threads: concurrent.
WINDLASS_API
int32_t windlass_counter_add(struct windlass_counter *counter,
                             const uint8_t *key,
                             size_t len,
                             uint64_t times,
                             uint64_t now);

// The same for a key whose hash is known, by windlass_hash_bytes for example, with the seed of
// counter or of a namespace.
//
// Returns as windlass_counter_add.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_counter_add_hash(struct windlass_counter *counter,
                                  struct windlass_hash hash,
                                  uint64_t times,
                                  uint64_t now);

// The same for a key that is a number: told apart exactly.
//
// Returns as windlass_counter_add.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_counter_add_u64(struct windlass_counter *counter,
                                 uint64_t key,
                                 uint64_t times,
                                 uint64_t now);

// How often a key was seen in the window at the time now. count becomes UINT64_MAX where it is that
// many or more.
//
// Errors: WINDLASS_E_NULL (counter or count; key, and len is not 0), WINDLASS_E_RANGE (len).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_counter_count(const struct windlass_counter *counter,
                                       const uint8_t *key,
                                       size_t len,
                                       uint64_t now,
                                       uint64_t *count);

// The same for a key whose hash is known.
//
// Errors: WINDLASS_E_NULL (counter or count).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_counter_count_hash(const struct windlass_counter *counter,
                                            struct windlass_hash hash,
                                            uint64_t now,
                                            uint64_t *count);

// The same for a key that is a number.
//
// Errors: WINDLASS_E_NULL (counter or count).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_counter_count_u64(const struct windlass_counter *counter,
                                           uint64_t key,
                                           uint64_t now,
                                           uint64_t *count);

// How often a key was seen in the complete window at the time now.
//
// Errors: as windlass_counter_count.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_counter_count_complete(const struct windlass_counter *counter,
                                                const uint8_t *key,
                                                size_t len,
                                                uint64_t now,
                                                uint64_t *count);

// How often all keys were seen in the window at the time now.
//
// Errors: WINDLASS_E_NULL (counter or total).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_counter_total(const struct windlass_counter *counter,
                                       uint64_t now,
                                       uint64_t *total);

// How often all keys were seen in the complete window at the time now.
//
// Errors: WINDLASS_E_NULL (counter or total).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_counter_total_complete(const struct windlass_counter *counter,
                                                uint64_t now,
                                                uint64_t *total);

// Counts n events, by the hashes of their keys. A batch has the memory for 16 events on its way at
// once, and so is faster than single calls; 64 to 512 events are enough.
//
// Event i counts times[i] times, or once if times is NULL. Its time is ticks[i], or now for all of
// them if ticks is NULL. tally may be NULL.
//
// Errors; then nothing was counted: WINDLASS_E_NULL (counter; hashes, and n is not 0),
// WINDLASS_E_RANGE (n; a pointer is not aligned).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_counter_add_hashes(struct windlass_counter *counter,
                                            const struct windlass_hash *hashes,
                                            size_t n,
                                            const uint64_t *times,
                                            uint64_t now,
                                            const uint64_t *ticks,
                                            struct windlass_tally *tally);

// The same for n keys that are numbers.
//
// The rest as windlass_counter_add_hashes.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_counter_add_u64s(struct windlass_counter *counter,
                                          const uint64_t *keys,
                                          size_t n,
                                          const uint64_t *times,
                                          uint64_t now,
                                          const uint64_t *ticks,
                                          struct windlass_tally *tally);

// The same for n keys of key_len bytes each, the next one stride bytes after the last: a field of an
// array of structs, for example. 1 <= key_len <= stride. Of keys there must be (n - 1) * stride +
// key_len bytes.
//
// Errors: WINDLASS_E_RANGE also if key_len or stride is wrong. The rest as
// windlass_counter_add_hashes.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_counter_add_fixed(struct windlass_counter *counter,
                                           const uint8_t *keys,
                                           size_t key_len,
                                           size_t stride,
                                           size_t n,
                                           const uint64_t *times,
                                           uint64_t now,
                                           const uint64_t *ticks,
                                           struct windlass_tally *tally);

// The same for n keys of any lengths, one behind the other: key i is bytes[offsets[i]] up to, but
// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
// and none greater than bytes_len.
//
// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
// 0) and offsets (n is not 0). The rest as windlass_counter_add_hashes.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_counter_add_packed(struct windlass_counter *counter,
                                            const uint8_t *bytes,
                                            size_t bytes_len,
                                            const uint32_t *offsets,
                                            size_t n,
                                            const uint64_t *times,
                                            uint64_t now,
                                            const uint64_t *ticks,
                                            struct windlass_tally *tally);

// How often each of n keys was seen in the window at the time now, by their hashes. counts has room
// for n, and may not overlap with hashes.
//
// Errors: WINDLASS_E_NULL (counter; hashes or counts, and n is not 0), WINDLASS_E_RANGE (n; a pointer
// is not aligned).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_counter_count_hashes(const struct windlass_counter *counter,
                                              const struct windlass_hash *hashes,
                                              size_t n,
                                              uint64_t now,
                                              uint64_t *counts);

// Fills out with the present figures. struct_size is sizeof(windlass_counter_stats). Looks at a
// sample of the rows: microseconds, not nanoseconds.
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_counter_get_stats(const struct windlass_counter *counter,
                                           struct windlass_counter_stats *out,
                                           uint32_t struct_size);

// Upkeep, most of which calls do by themselves while events come: moves time on to now, lets go what
// is behind the window, and clears up to budget KiB of it for its next use. After a window of
// silence it gives back the memory. Of use after a silence, and from a thread beside the callers.
//
// Returns 1 (there is more that can be done now), 0 (there is not), or an error: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_counter_maintain_at(struct windlass_counter *counter,
                                     uint64_t now,
                                     size_t budget);

// Writes a snapshot of all counts, to be restored by windlass_counter_restore, on any machine. Other
// threads go on meanwhile and wait for nothing: a count in it is no less than before the call, and
// no more than after it. now and wall_ns are one time on two clocks: the tick, and nanoseconds
// since 1970 (windlass_wall_ns).
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (counter or write_fn), WINDLASS_E_IO (what write_fn returned was not 0).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_counter_snapshot(const struct windlass_counter *counter,
                                          uint64_t now,
                                          uint64_t wall_ns,
                                          windlass_write_fn write_fn,
                                          void *context,
                                          struct windlass_error *error);

// Makes a windlass_counter of what windlass_counter_snapshot has written, and stores it in out; free
// it with windlass_counter_free. What is behind the window since, by the system's clock, is gone.
// window, pane, unit and lateness must be as they were; so must capacity, unless there is a
// max_memory. The seed of config is not looked at: it is the snapshot's.
//
// wall_ns is the time of the system, in nanoseconds since 1970. restored may be NULL, or is filled.
// error may be NULL.
// Errors: as windlass_counter_new; WINDLASS_E_NULL (also read_fn), WINDLASS_E_STRUCT_SIZE (also
// restored), WINDLASS_E_ARG (also a setting that differs), WINDLASS_E_SNAPSHOT, WINDLASS_E_IO,
// WINDLASS_E_FULL (what config allows is no room for it). Then out and restored are left alone.
// Whatever the bytes are, no more memory is taken than config allows.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_counter_restore(const struct windlass_counter_config *config,
                                         uint64_t wall_ns,
                                         windlass_read_fn read_fn,
                                         void *context,
                                         struct windlass_counter **out,
                                         struct windlass_restored *restored,
                                         struct windlass_error *error);

// Makes a windlass_topk as config says, and stores it in out; free it with windlass_topk_free. The
// system is asked for the memory of its rows as they are needed; where it cannot be had, keys get
// WINDLASS_NO_ROOM.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
// error names it), WINDLASS_E_NOMEM. Then out is left alone.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_topk_new(const struct windlass_topk_config *config,
                                  struct windlass_topk **out,
                                  struct windlass_error *error);

// Frees it. NULL is allowed, and does nothing.
//
// Threads: exclusive: no other call with this handle may be under way, or come after it.
WINDLASS_API void windlass_topk_free(struct windlass_topk *topk);

// Fills config with the defaults. struct_size is sizeof(windlass_topk_config).
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_topk_config_init(struct windlass_topk_config *config,
                                          uint32_t struct_size);

// Bytes that a windlass_topk of these settings takes when all of it is in use, if it does not grow,
// before it is made. The bytes of keys come on top: as much again at most, and 1 MiB for each
// generation at least.
//
// error may be NULL.
// Errors: as windlass_topk_new.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_topk_config_memory_bytes(const struct windlass_topk_config *config,
                                          struct windlass_error *error);

// Counts a key of len bytes (0 or more) times times at the time now.
//
// Returns WINDLASS_COUNTED, WINDLASS_NO_ROOM, WINDLASS_TOO_LONG, WINDLASS_LATE, or an error:
// WINDLASS_E_JUMP (now is further ahead than max_jump: it is not counted), WINDLASS_E_NULL (topk; key,
// and len is not 0), WINDLASS_E_RANGE (len).
// Threads: concurrent.
WINDLASS_API
int32_t windlass_topk_add(struct windlass_topk *topk,
                          const uint8_t *key,
                          size_t len,
                          uint64_t times,
                          uint64_t now);

// The same for a key whose hash is known, by windlass_hash_bytes for example, with the seed of topk
// or of a namespace. In lists it is that hash: what was hashed is not known. So let a key always come
// in one form.
//
// Returns as windlass_topk_add.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_topk_add_hash(struct windlass_topk *topk,
                               struct windlass_hash hash,
                               uint64_t times,
                               uint64_t now);

// The same for a key that is a number: told apart exactly. In lists it is that number.
//
// Returns as windlass_topk_add.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_topk_add_u64(struct windlass_topk *topk,
                              uint64_t key,
                              uint64_t times,
                              uint64_t now);

// How often a key was seen in the window at the time now. count becomes UINT64_MAX where it is that
// many or more.
//
// Errors: WINDLASS_E_NULL (topk or count; key, and len is not 0), WINDLASS_E_RANGE (len).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_topk_count(const struct windlass_topk *topk,
                                    const uint8_t *key,
                                    size_t len,
                                    uint64_t now,
                                    uint64_t *count);

// The same for a key whose hash is known.
//
// Errors: WINDLASS_E_NULL (topk or count).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_topk_count_hash(const struct windlass_topk *topk,
                                         struct windlass_hash hash,
                                         uint64_t now,
                                         uint64_t *count);

// The same for a key that is a number.
//
// Errors: WINDLASS_E_NULL (topk or count).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_topk_count_u64(const struct windlass_topk *topk,
                                        uint64_t key,
                                        uint64_t now,
                                        uint64_t *count);

// How often all keys were seen in the window at the time now.
//
// Errors: WINDLASS_E_NULL (topk or total).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_topk_total(const struct windlass_topk *topk,
                                    uint64_t now,
                                    uint64_t *total);

// Counts n events, by the hashes of their keys. A batch has the memory for 16 events on its way at
// once, and so is faster than single calls; 64 to 512 events are enough.
//
// Event i counts times[i] times, or once if times is NULL. Its time is ticks[i], or now for all of
// them if ticks is NULL. tally may be NULL; keys that are too long are among its no_room.
//
// Errors; then nothing was counted: WINDLASS_E_NULL (topk; hashes, and n is not 0),
// WINDLASS_E_RANGE (n; a pointer is not aligned).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_topk_add_hashes(struct windlass_topk *topk,
                                         const struct windlass_hash *hashes,
                                         size_t n,
                                         const uint64_t *times,
                                         uint64_t now,
                                         const uint64_t *ticks,
                                         struct windlass_tally *tally);

// The same for n keys that are numbers.
//
// The rest as windlass_topk_add_hashes.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_topk_add_u64s(struct windlass_topk *topk,
                                       const uint64_t *keys,
                                       size_t n,
                                       const uint64_t *times,
                                       uint64_t now,
                                       const uint64_t *ticks,
                                       struct windlass_tally *tally);

// The same for n keys of key_len bytes each, the next one stride bytes after the last: a field of an
// array of structs, for example. 1 <= key_len <= stride. Of keys there must be (n - 1) * stride +
// key_len bytes.
//
// Errors: WINDLASS_E_RANGE also if key_len or stride is wrong. The rest as
// windlass_topk_add_hashes.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_topk_add_fixed(struct windlass_topk *topk,
                                        const uint8_t *keys,
                                        size_t key_len,
                                        size_t stride,
                                        size_t n,
                                        const uint64_t *times,
                                        uint64_t now,
                                        const uint64_t *ticks,
                                        struct windlass_tally *tally);

// The same for n keys of any lengths, one behind the other: key i is bytes[offsets[i]] up to, but
// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
// and none greater than bytes_len.
//
// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
// 0) and offsets (n is not 0). The rest as windlass_topk_add_hashes.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_topk_add_packed(struct windlass_topk *topk,
                                         const uint8_t *bytes,
                                         size_t bytes_len,
                                         const uint32_t *offsets,
                                         size_t n,
                                         const uint64_t *times,
                                         uint64_t now,
                                         const uint64_t *ticks,
                                         struct windlass_tally *tally);

// The last list that windlass_topk_refresh or windlass_topk_maintain_at has made, for little more than
// the copy. Before the first: an empty one, not certified, whose end is 0.
//
// list gets what it says beside its rows (struct_size is sizeof(windlass_top_list)), rows its rows,
// the hottest first, and keys the bytes of their keys, one behind the other. rows has room for row_room
// of them: k is enough for any list. keys has room for key_room bytes. Each may be NULL if there is
// no room.
//
// Errors: WINDLASS_E_TOO_SMALL (rows or keys): then list alone is written, and says in rows and
// key_bytes how much room it takes. (The next list may take more.) WINDLASS_E_NULL (topk, list; rows or
// keys, and their room is not 0), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_RANGE (row_room, key_room; rows
// is not aligned).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_topk_snapshot(const struct windlass_topk *topk,
                                       struct windlass_top_list *list,
                                       uint32_t struct_size,
                                       struct windlass_top_row *rows,
                                       size_t row_room,
                                       uint8_t *keys,
                                       size_t key_room);

// Makes the list anew for all to read, and gives it: the window at the time now.
//
// Errors: as windlass_topk_snapshot. With WINDLASS_E_TOO_SMALL the list was made, and
// windlass_topk_snapshot has it; with any other nothing was.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_topk_refresh(struct windlass_topk *topk,
                                      uint64_t now,
                                      struct windlass_top_list *list,
                                      uint32_t struct_size,
                                      struct windlass_top_row *rows,
                                      size_t row_room,
                                      uint8_t *keys,
                                      size_t key_room);

// The list of the window at the time now, which nobody else gets.
//
// Errors: as windlass_topk_snapshot.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_topk_top(const struct windlass_topk *topk,
                                  uint64_t now,
                                  struct windlass_top_list *list,
                                  uint32_t struct_size,
                                  struct windlass_top_row *rows,
                                  size_t row_room,
                                  uint8_t *keys,
                                  size_t key_room);

// The same of the complete window at the time now: asked at the end of each pane, it is the list of
// each.
//
// Errors: as windlass_topk_snapshot.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_topk_top_complete(const struct windlass_topk *topk,
                                           uint64_t now,
                                           struct windlass_top_list *list,
                                           uint32_t struct_size,
                                           struct windlass_top_row *rows,
                                           size_t row_room,
                                           uint8_t *keys,
                                           size_t key_room);

// Fills out with the present figures. struct_size is sizeof(windlass_topk_stats). Looks at a
// sample of the rows: microseconds, not nanoseconds.
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_topk_get_stats(const struct windlass_topk *topk,
                                        struct windlass_topk_stats *out,
                                        uint32_t struct_size);

// Upkeep, most of which calls do by themselves while events come: moves time on to now, lets go what
// is behind the window, and clears up to budget KiB of it for its next use. After a window of
// silence it gives back the memory.
//
// It also makes the list of windlass_topk_snapshot anew when that is older than refresh_every: so call
// it that often, from a thread beside the callers or from one of them. Should counts have fallen, all
// rows are looked at, in this and the next calls, as far as budget goes.
//
// Returns 1 (there is more that can be done now), 0 (there is not), or an error: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_topk_maintain_at(struct windlass_topk *topk,
                                  uint64_t now,
                                  size_t budget);

// Writes a snapshot of all keys and counts, to be restored by windlass_topk_restore, on any machine.
// (windlass_topk_snapshot is something else: it reads a list.) Other threads go on meanwhile and
// wait for nothing: a count in it is no less than before the call, and no more than after it. now
// and wall_ns are one time on two clocks: the tick, and nanoseconds since 1970 (windlass_wall_ns).
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (topk or write_fn), WINDLASS_E_IO (what write_fn returned was not 0).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_topk_save(const struct windlass_topk *topk,
                                   uint64_t now,
                                   uint64_t wall_ns,
                                   windlass_write_fn write_fn,
                                   void *context,
                                   struct windlass_error *error);

// Makes a windlass_topk of what windlass_topk_save has written, and stores it in out; free it with
// windlass_topk_free. Lists are what they were; the one of windlass_topk_snapshot is made with the
// next refresh. What is behind the window since, by the system's clock, is gone. window, pane, unit
// and lateness must be as they were; so must capacity, unless there is a max_memory. The seed of
// config is not looked at: it is the snapshot's.
//
// wall_ns is the time of the system, in nanoseconds since 1970. restored may be NULL, or is filled.
// error may be NULL.
// Errors: as windlass_topk_new; WINDLASS_E_NULL (also read_fn), WINDLASS_E_STRUCT_SIZE (also
// restored), WINDLASS_E_ARG (also a setting that differs), WINDLASS_E_SNAPSHOT, WINDLASS_E_IO,
// WINDLASS_E_FULL (what config allows is no room for it). Then out and restored are left alone.
// Whatever the bytes are, no more memory is taken than config allows.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_topk_restore(const struct windlass_topk_config *config,
                                      uint64_t wall_ns,
                                      windlass_read_fn read_fn,
                                      void *context,
                                      struct windlass_topk **out,
                                      struct windlass_restored *restored,
                                      struct windlass_error *error);

// Makes a windlass_bounded_topk as config says, and stores it in out; free it with
// windlass_bounded_topk_free. The tables of a pane are asked for when it begins; where they cannot be had,
// its adds are known as a sum alone.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
// error names it: of too little memory also the least that would do), WINDLASS_E_NOMEM. Then out is left
// alone.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_bounded_topk_new(const struct windlass_bounded_topk_config *config,
                                          struct windlass_bounded_topk **out,
                                          struct windlass_error *error);

// Frees it. NULL is allowed, and does nothing.
//
// Threads: exclusive: no other call with this handle may be under way, or come after it.
WINDLASS_API void windlass_bounded_topk_free(struct windlass_bounded_topk *topk);

// Fills config with the defaults. struct_size is sizeof(windlass_bounded_topk_config).
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bounded_topk_config_init(struct windlass_bounded_topk_config *config,
                                                  uint32_t struct_size);

// Counts a key of len bytes (0 or more) times times at the time now.
//
// Returns WINDLASS_COUNTED, WINDLASS_LATE, or an error:
// WINDLASS_E_JUMP (now is further ahead than max_jump: it is not counted), WINDLASS_E_NULL (topk; key,
// and len is not 0), WINDLASS_E_RANGE (len).
// Threads: concurrent.
WINDLASS_API
int32_t windlass_bounded_topk_add(struct windlass_bounded_topk *topk,
                                  const uint8_t *key,
                                  size_t len,
                                  uint64_t times,
                                  uint64_t now);

// The same for a key whose hash is known, by windlass_hash_bytes for example, with the seed of topk
// or of a namespace. In lists it is that hash: what was hashed is not known. So let a key always come
// in one form.
//
// Returns as windlass_bounded_topk_add.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_bounded_topk_add_hash(struct windlass_bounded_topk *topk,
                                       struct windlass_hash hash,
                                       uint64_t times,
                                       uint64_t now);

// The same for a key that is a number: told apart exactly. In lists it is that number.
//
// Returns as windlass_bounded_topk_add.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_bounded_topk_add_u64(struct windlass_bounded_topk *topk,
                                      uint64_t key,
                                      uint64_t times,
                                      uint64_t now);

// What a key was seen in the window at the time now: lower times or more, upper times at most. upper becomes
// UINT64_MAX where nothing is known.
//
// Errors: WINDLASS_E_NULL (topk, lower or upper; key, and len is not 0), WINDLASS_E_RANGE (len).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bounded_topk_bounds(const struct windlass_bounded_topk *topk,
                                             const uint8_t *key,
                                             size_t len,
                                             uint64_t now,
                                             uint64_t *lower,
                                             uint64_t *upper);

// The same for a key whose hash is known.
//
// Errors: WINDLASS_E_NULL (topk, lower or upper).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bounded_topk_bounds_hash(const struct windlass_bounded_topk *topk,
                                                  struct windlass_hash hash,
                                                  uint64_t now,
                                                  uint64_t *lower,
                                                  uint64_t *upper);

// The same for a key that is a number.
//
// Errors: WINDLASS_E_NULL (topk, lower or upper).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bounded_topk_bounds_u64(const struct windlass_bounded_topk *topk,
                                                 uint64_t key,
                                                 uint64_t now,
                                                 uint64_t *lower,
                                                 uint64_t *upper);

// How often all keys were seen in the window at the time now.
//
// Errors: WINDLASS_E_NULL (topk or total).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bounded_topk_total(const struct windlass_bounded_topk *topk,
                                            uint64_t now,
                                            uint64_t *total);

// Counts n events, by the hashes of their keys. A batch has the memory for 16 events on its way at
// once, and so is faster than single calls; 64 to 512 events are enough.
//
// Event i counts times[i] times, or once if times is NULL. Its time is ticks[i], or now for all of
// them if ticks is NULL. tally may be NULL; its no_room stays 0.
//
// Errors; then nothing was counted: WINDLASS_E_NULL (topk; hashes, and n is not 0),
// WINDLASS_E_RANGE (n; a pointer is not aligned).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bounded_topk_add_hashes(struct windlass_bounded_topk *topk,
                                                 const struct windlass_hash *hashes,
                                                 size_t n,
                                                 const uint64_t *times,
                                                 uint64_t now,
                                                 const uint64_t *ticks,
                                                 struct windlass_tally *tally);

// The same for n keys that are numbers.
//
// The rest as windlass_bounded_topk_add_hashes.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bounded_topk_add_u64s(struct windlass_bounded_topk *topk,
                                               const uint64_t *keys,
                                               size_t n,
                                               const uint64_t *times,
                                               uint64_t now,
                                               const uint64_t *ticks,
                                               struct windlass_tally *tally);

// The same for n keys of key_len bytes each, the next one stride bytes after the last: a field of an
// array of structs, for example. 1 <= key_len <= stride. Of keys there must be (n - 1) * stride +
// key_len bytes.
//
// Errors: WINDLASS_E_RANGE also if key_len or stride is wrong. The rest as
// windlass_bounded_topk_add_hashes.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bounded_topk_add_fixed(struct windlass_bounded_topk *topk,
                                                const uint8_t *keys,
                                                size_t key_len,
                                                size_t stride,
                                                size_t n,
                                                const uint64_t *times,
                                                uint64_t now,
                                                const uint64_t *ticks,
                                                struct windlass_tally *tally);

// The same for n keys of any lengths, one behind the other: key i is bytes[offsets[i]] up to, but
// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
// and none greater than bytes_len.
//
// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
// 0) and offsets (n is not 0). The rest as windlass_bounded_topk_add_hashes.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bounded_topk_add_packed(struct windlass_bounded_topk *topk,
                                                 const uint8_t *bytes,
                                                 size_t bytes_len,
                                                 const uint32_t *offsets,
                                                 size_t n,
                                                 const uint64_t *times,
                                                 uint64_t now,
                                                 const uint64_t *ticks,
                                                 struct windlass_tally *tally);

// The last list that windlass_bounded_topk_refresh or windlass_bounded_topk_maintain_at has made, for little more than
// the copy. Before the first: an empty one, not certified, whose end is 0.
//
// list gets what it says beside its rows (struct_size is sizeof(windlass_top_list)), rows its rows,
// the hottest first, and keys the bytes of their keys, one behind the other. rows has room for row_room
// of them: k is enough for any list. keys has room for key_room bytes. Each may be NULL if there is
// no room.
//
// Errors: WINDLASS_E_TOO_SMALL (rows or keys): then list alone is written, and says in rows and
// key_bytes how much room it takes. (The next list may take more.) WINDLASS_E_NULL (topk, list; rows or
// keys, and their room is not 0), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_RANGE (row_room, key_room; rows
// is not aligned).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bounded_topk_snapshot(const struct windlass_bounded_topk *topk,
                                               struct windlass_top_list *list,
                                               uint32_t struct_size,
                                               struct windlass_top_row *rows,
                                               size_t row_room,
                                               uint8_t *keys,
                                               size_t key_room);

// Makes the list anew for all to read, and gives it: the window at the time now.
//
// Errors: as windlass_bounded_topk_snapshot. With WINDLASS_E_TOO_SMALL the list was made, and
// windlass_bounded_topk_snapshot has it; with any other nothing was.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bounded_topk_refresh(struct windlass_bounded_topk *topk,
                                              uint64_t now,
                                              struct windlass_top_list *list,
                                              uint32_t struct_size,
                                              struct windlass_top_row *rows,
                                              size_t row_room,
                                              uint8_t *keys,
                                              size_t key_room);

// The list of the window at the time now, which nobody else gets.
//
// Errors: as windlass_bounded_topk_snapshot.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bounded_topk_top(const struct windlass_bounded_topk *topk,
                                          uint64_t now,
                                          struct windlass_top_list *list,
                                          uint32_t struct_size,
                                          struct windlass_top_row *rows,
                                          size_t row_room,
                                          uint8_t *keys,
                                          size_t key_room);

// The same of the complete window at the time now: asked at the end of each pane, it is the list of
// each.
//
// Errors: as windlass_bounded_topk_snapshot.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bounded_topk_top_complete(const struct windlass_bounded_topk *topk,
                                                   uint64_t now,
                                                   struct windlass_top_list *list,
                                                   uint32_t struct_size,
                                                   struct windlass_top_row *rows,
                                                   size_t row_room,
                                                   uint8_t *keys,
                                                   size_t key_room);

// Fills out with the present figures. struct_size is sizeof(windlass_bounded_topk_stats). Looks at all slots
// of the newest pane: microseconds, not nanoseconds.
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bounded_topk_get_stats(const struct windlass_bounded_topk *topk,
                                                struct windlass_bounded_topk_stats *out,
                                                uint32_t struct_size);

// Upkeep, most of which calls do by themselves while events come: moves time on to now, lets go what
// is behind the window, and clears up to budget KiB of it for its next use. After a window of
// silence it gives back the memory.
//
// It also makes the list of windlass_bounded_topk_snapshot anew when that is older than refresh_every: so call
// it that often, from a thread beside the callers or from one of them.
//
// Returns 1 (there is more that can be done now), 0 (there is not), or an error: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_bounded_topk_maintain_at(struct windlass_bounded_topk *topk,
                                          uint64_t now,
                                          size_t budget);

// Tells whether the next pane finds tables to count in: those of the panes that have left are used again as
// soon as nobody reads them any more. A pane that begins before has a sum alone, and lists of its
// windows are as uncertain as that.
//
// With clocks that go as fast as everybody's there is always time for it. A replay, whose panes may be
// over in microseconds, best waits for it before each of them.
//
// Returns 1 (it does), 0 (it does not), or an error: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_bounded_topk_is_ready(const struct windlass_bounded_topk *topk);

// Writes a snapshot of all keys and counts, to be restored by windlass_bounded_topk_restore, on any machine.
// (windlass_bounded_topk_snapshot is something else: it reads a list.) Other threads go on meanwhile and
// wait for nothing: bounds hold for what was counted before the call. now
// and wall_ns are one time on two clocks: the tick, and nanoseconds since 1970 (windlass_wall_ns).
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (topk or write_fn), WINDLASS_E_IO (what write_fn returned was not 0).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_bounded_topk_save(const struct windlass_bounded_topk *topk,
                                           uint64_t now,
                                           uint64_t wall_ns,
                                           windlass_write_fn write_fn,
                                           void *context,
                                           struct windlass_error *error);

// Makes a windlass_bounded_topk of what windlass_bounded_topk_save has written, and stores it in out; free it with
// windlass_bounded_topk_free. Lists are what they were; the one of windlass_bounded_topk_snapshot is made with the
// next refresh. What is behind the window since, by the system's clock, is gone. window, pane, unit
// and lateness must be as they were, and so must memory and key_bytes. The seed of config is not
// looked at: it is the snapshot's.
//
// wall_ns is the time of the system, in nanoseconds since 1970. restored may be NULL, or is filled.
// error may be NULL.
// Errors: as windlass_bounded_topk_new; WINDLASS_E_NULL (also read_fn), WINDLASS_E_STRUCT_SIZE (also
// restored), WINDLASS_E_ARG (also a setting that differs), WINDLASS_E_SNAPSHOT, WINDLASS_E_IO,
// WINDLASS_E_FULL (what config allows is no room for it). Then out and restored are left alone.
// Whatever the bytes are, no more memory is taken than config allows.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_bounded_topk_restore(const struct windlass_bounded_topk_config *config,
                                              uint64_t wall_ns,
                                              windlass_read_fn read_fn,
                                              void *context,
                                              struct windlass_bounded_topk **out,
                                              struct windlass_restored *restored,
                                              struct windlass_error *error);

// Frees it. NULL is allowed, and does nothing.
//
// Threads: exclusive: no other call with this handle may be under way, or come after it.
WINDLASS_API void windlass_export_free(struct windlass_export *export_);

// What topk knows of the window at the time now, to be merged with what others know; free it with
// windlass_export_free.
//
// Errors: WINDLASS_E_NULL (topk or out). Then out is left alone.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_topk_export(const struct windlass_topk *topk,
                                     uint64_t now,
                                     struct windlass_export **out);

// The same of the complete window at the time now.
//
// Errors: as windlass_topk_export.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_topk_export_complete(const struct windlass_topk *topk,
                                              uint64_t now,
                                              struct windlass_export **out);

// The same of a windlass_bounded_topk.
//
// Errors: as windlass_topk_export.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_bounded_topk_export(const struct windlass_bounded_topk *topk,
                                             uint64_t now,
                                             struct windlass_export **out);

// The same of the complete window at the time now.
//
// Errors: as windlass_topk_export.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_bounded_topk_export_complete(const struct windlass_bounded_topk *topk,
                                                      uint64_t now,
                                                      struct windlass_export **out);

// Writes an export as bytes that windlass_export_from_bytes reads, on any machine. bytes has room for so many;
// it may be NULL if that is 0. len gets how many there are.
//
// Errors: WINDLASS_E_TOO_SMALL (bytes): then len alone is written, and says how much room it takes.
// WINDLASS_E_NULL (export, len; bytes, and room is not 0), WINDLASS_E_RANGE (room).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_export_to_bytes(const struct windlass_export *export_,
                                         uint8_t *bytes,
                                         size_t room,
                                         size_t *len);

// Makes an export from bytes that windlass_export_to_bytes has written, and stores it in out; free it with
// windlass_export_free. The bytes may come from anywhere: memory is asked for in proportion to their number,
// and no more.
//
// error may be NULL.
// Errors: WINDLASS_E_FORMAT (they are something else, cut off, damaged, of a later version, or say what
// cannot be; error tells where), WINDLASS_E_NULL (out; bytes, and len is not 0), WINDLASS_E_RANGE (len),
// WINDLASS_E_STRUCT_SIZE (of error). Then out is left alone.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_export_from_bytes(const uint8_t *bytes,
                                           size_t len,
                                           struct windlass_export **out,
                                           struct windlass_error *error);

// Fills info. struct_size is sizeof(windlass_export_info).
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_export_get_info(const struct windlass_export *export_,
                                         struct windlass_export_info *info,
                                         uint32_t struct_size);

// All rows of an export, as a list: what a windlass_aggregator would make of it alone.
//
// Errors: as windlass_topk_snapshot.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_export_list(const struct windlass_export *export_,
                                     struct windlass_top_list *list,
                                     uint32_t struct_size,
                                     struct windlass_top_row *rows,
                                     size_t row_room,
                                     uint8_t *keys,
                                     size_t key_room);

// Cuts an export to so many rows, the hottest: it takes fewer bytes then, and what is cut off is in its tail.
//
// Errors: WINDLASS_E_NULL.
// Threads: exclusive: no other call with this handle may be under way.
WINDLASS_API
windlass_status windlass_export_truncate(struct windlass_export *export_,
                                         size_t rows);

// Makes a windlass_aggregator for lists of k keys, and stores it in out; free it with
// windlass_aggregator_free. keys is WINDLASS_KEYS_SPLIT or WINDLASS_KEYS_SHARED.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (out), WINDLASS_E_ARG (k is 0; keys is something else), WINDLASS_E_STRUCT_SIZE (of
// error). Then out is left alone.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_aggregator_new(uint64_t k,
                                        uint32_t keys,
                                        struct windlass_aggregator **out,
                                        struct windlass_error *error);

// Frees it. NULL is allowed, and does nothing.
//
// Threads: exclusive: no other call with this handle may be under way, or come after it.
WINDLASS_API void windlass_aggregator_free(struct windlass_aggregator *aggregator);

// Adds what a structure tells. Each one's is to be added once. What export says is copied.
//
// error may be NULL.
// Errors: WINDLASS_E_MISMATCH (what was added before has other panes, another interval or another seed; error
// names it), WINDLASS_E_NULL (aggregator or export), WINDLASS_E_STRUCT_SIZE (of error).
// Threads: exclusive: no other call with this aggregator may be under way.
WINDLASS_API
windlass_status windlass_aggregator_add(struct windlass_aggregator *aggregator,
                                        const struct windlass_export *export_,
                                        struct windlass_error *error);

// Adds what another aggregator has been told, of other structures.
//
// error may be NULL.
// Errors: WINDLASS_E_ARG (other is the same one), WINDLASS_E_MISMATCH also where keys differs. The rest as
// windlass_aggregator_add.
// Threads: exclusive: no other call with this aggregator may be under way, and none that changes other.
WINDLASS_API
windlass_status windlass_aggregator_add_all(struct windlass_aggregator *aggregator,
                                            const struct windlass_aggregator *other,
                                            struct windlass_error *error);

// How many exports were added.
//
// Errors: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_aggregator_exports(const struct windlass_aggregator *aggregator,
                                            uint64_t *exports);

// The list over all that was added. Before the first: an empty one, not certified, whose end is 0.
//
// Errors: as windlass_topk_snapshot.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_aggregator_list(const struct windlass_aggregator *aggregator,
                                         struct windlass_top_list *list,
                                         uint32_t struct_size,
                                         struct windlass_top_row *rows,
                                         size_t row_room,
                                         uint8_t *keys,
                                         size_t key_room);

// Makes a windlass_fifo as config says, and stores it in out; free it with windlass_fifo_free.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
// error names it), WINDLASS_E_NOMEM. Then out is left alone.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_fifo_new(const struct windlass_fifo_config *config,
                                  struct windlass_fifo **out,
                                  struct windlass_error *error);

// Frees it. NULL is allowed, and does nothing.
//
// Threads: exclusive: no other call with this handle may be under way, or come after it.
WINDLASS_API void windlass_fifo_free(struct windlass_fifo *fifo);

// Fills config with the defaults. struct_size is sizeof(windlass_fifo_config).
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_fifo_config_init(struct windlass_fifo_config *config,
                                          uint32_t struct_size);

// Bytes that a windlass_fifo of these settings takes with as many entries as the capacity, before it
// is made.
//
// error may be NULL.
// Errors: as windlass_fifo_new.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_fifo_config_memory_bytes(const struct windlass_fifo_config *config,
                                          struct windlass_error *error);

// Puts an entry at the tail: a key of len bytes (0 or more), and a value of value_len bytes, at the
// time now. What happens to a key that is there the settings say.
//
// Returns WINDLASS_PUSHED_NEW, WINDLASS_PUSHED_PRESENT or WINDLASS_PUSHED_MOVED, and stores the
// number of the key's entry in seq, which may be NULL. Or an error, and nothing was changed:
// WINDLASS_E_FULL, WINDLASS_E_COLLISION, WINDLASS_E_NULL (fifo; key or value, and its length is not
// 0), WINDLASS_E_RANGE (a length).
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_push(struct windlass_fifo *fifo,
                           const uint8_t *key,
                           size_t len,
                           const uint8_t *value,
                           size_t value_len,
                           uint64_t now,
                           uint64_t *seq);

// The same for a key whose hash is known, by windlass_hash_bytes for example, with the seed of fifo
// or of a namespace. It is another key than the bytes that were hashed.
//
// Returns as windlass_fifo_push.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_push_hash(struct windlass_fifo *fifo,
                                struct windlass_hash hash,
                                const uint8_t *value,
                                size_t value_len,
                                uint64_t now,
                                uint64_t *seq);

// The same for a key that is a number.
//
// Returns as windlass_fifo_push.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_push_u64(struct windlass_fifo *fifo,
                               uint64_t key,
                               const uint8_t *value,
                               size_t value_len,
                               uint64_t now,
                               uint64_t *seq);

// How many entries are before a key's: 0 for the one that is popped next.
//
// Returns WINDLASS_FOUND, or WINDLASS_ABSENT: it was never put in, or has been popped; then rank is
// left alone. Or an error: WINDLASS_E_NULL (fifo or rank; key, and len is not 0), WINDLASS_E_RANGE
// (len).
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_rank(const struct windlass_fifo *fifo,
                           const uint8_t *key,
                           size_t len,
                           uint64_t *rank);

// The same for a key that was pushed as a hash.
//
// Returns as windlass_fifo_rank.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_rank_hash(const struct windlass_fifo *fifo,
                                struct windlass_hash hash,
                                uint64_t *rank);

// The same for a key that is a number.
//
// Returns as windlass_fifo_rank.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_rank_u64(const struct windlass_fifo *fifo,
                               uint64_t key,
                               uint64_t *rank);

// Where a key stands, and its value, in one look. value has room for value_room bytes; if it is NULL
// only the length is told.
//
// Returns WINDLASS_FOUND, or WINDLASS_ABSENT; then place is left alone. Or an error:
// WINDLASS_E_TOO_SMALL (the value is longer than its room; place is filled and says how long),
// WINDLASS_E_NULL (fifo or place; key, and len is not 0), WINDLASS_E_RANGE (a length).
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_find(const struct windlass_fifo *fifo,
                           const uint8_t *key,
                           size_t len,
                           uint8_t *value,
                           size_t value_room,
                           struct windlass_fifo_place *place);

// The same for a key that was pushed as a hash.
//
// Returns as windlass_fifo_find.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_find_hash(const struct windlass_fifo *fifo,
                                struct windlass_hash hash,
                                uint8_t *value,
                                size_t value_room,
                                struct windlass_fifo_place *place);

// The same for a key that is a number.
//
// Returns as windlass_fifo_find.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_find_u64(const struct windlass_fifo *fifo,
                               uint64_t key,
                               uint8_t *value,
                               size_t value_room,
                               struct windlass_fifo_place *place);

// How many entries there are. Or an error: WINDLASS_E_NULL.
//
// Threads: concurrent.
WINDLASS_API int64_t windlass_fifo_len(const struct windlass_fifo *fifo);

// How many entries were put in before a time: for a key that waits in another queue since then, how
// many of this one are before it.
//
// Errors: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_fifo_count_before(const struct windlass_fifo *fifo,
                                           uint64_t time,
                                           uint64_t *count);

// The entry that has rank others before it. key has room for key_room bytes and value for value_room;
// what is NULL is not wanted.
//
// Returns WINDLASS_FOUND, or WINDLASS_ABSENT; then entry is left alone. Or an error:
// WINDLASS_E_TOO_SMALL (key or value is longer than its room; entry is filled and says how long),
// WINDLASS_E_NULL (fifo or entry), WINDLASS_E_RANGE (a length).
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_at_rank(const struct windlass_fifo *fifo,
                              uint64_t rank,
                              uint8_t *key,
                              size_t key_room,
                              uint8_t *value,
                              size_t value_room,
                              struct windlass_fifo_entry *entry);

// The first entry from the number seq on. So all are gone through from 0 on, the next time with the
// number after that of the entry.
//
// Returns as windlass_fifo_at_rank.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_next(const struct windlass_fifo *fifo,
                           uint64_t seq,
                           uint8_t *key,
                           size_t key_room,
                           uint8_t *value,
                           size_t value_room,
                           struct windlass_fifo_entry *entry);

// The oldest entry, which stays.
//
// Returns as windlass_fifo_at_rank.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_peek(const struct windlass_fifo *fifo,
                           uint8_t *key,
                           size_t key_room,
                           uint8_t *value,
                           size_t value_room,
                           struct windlass_fifo_entry *entry);

// Takes the oldest entry out. key has room for key_room bytes and value for value_room; what is NULL
// is not wanted.
//
// Returns WINDLASS_FOUND, or WINDLASS_ABSENT: there is none; then entry is left alone. Or an error,
// and nothing was taken out: WINDLASS_E_TOO_SMALL (key or value is longer than its room; entry says
// how long, its seq is UINT64_MAX), WINDLASS_E_NULL (fifo or entry), WINDLASS_E_RANGE (a length).
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_pop(struct windlass_fifo *fifo,
                          uint8_t *key,
                          size_t key_room,
                          uint8_t *value,
                          size_t value_room,
                          struct windlass_fifo_entry *entry);

// Takes the oldest entry out if it was put in at the time until or before.
//
// Returns as windlass_fifo_pop, WINDLASS_ABSENT also if the oldest came later.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_pop_until(struct windlass_fifo *fifo,
                                uint64_t until,
                                uint8_t *key,
                                size_t key_room,
                                uint8_t *value,
                                size_t value_room,
                                struct windlass_fifo_entry *entry);

// Takes up to n entries out, the oldest first, as long as their bytes fit: those of the keys go to
// keys one behind the other, those of the values to values; what is NULL is not wanted. entries has
// room for n, and says how long each is.
//
// Returns how many were taken out. Or an error, and none was: WINDLASS_E_TOO_SMALL (already the first
// does not fit; entries[0] says how long it is, its seq is UINT64_MAX), WINDLASS_E_NULL (fifo; entries, and n
// is not 0), WINDLASS_E_RANGE (a length; entries is not aligned).
// Threads: concurrent.
WINDLASS_API
int64_t windlass_fifo_pop_packed(struct windlass_fifo *fifo,
                                 size_t n,
                                 uint8_t *keys,
                                 size_t keys_room,
                                 uint8_t *values,
                                 size_t values_room,
                                 struct windlass_fifo_entry *entries);

// Takes the entry of a key out, wherever it is. value has room for value_room bytes; if it is NULL it
// is not wanted. Of the key, which the caller has, entry says nothing: key_len and key_kind are 0.
//
// Returns WINDLASS_FOUND, or WINDLASS_ABSENT: it was never put in, or has been taken out; then entry
// is left alone. Or an error, and nothing was taken out: WINDLASS_E_TOO_SMALL (the value is longer than
// its room; entry says how long, its seq is UINT64_MAX), WINDLASS_E_NULL (fifo or entry; key, and len is
// not 0), WINDLASS_E_RANGE (a length).
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_remove(struct windlass_fifo *fifo,
                             const uint8_t *key,
                             size_t len,
                             uint8_t *value,
                             size_t value_room,
                             struct windlass_fifo_entry *entry);

// The same for a key that was pushed as a hash.
//
// Returns as windlass_fifo_remove.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_remove_hash(struct windlass_fifo *fifo,
                                  struct windlass_hash hash,
                                  uint8_t *value,
                                  size_t value_room,
                                  struct windlass_fifo_entry *entry);

// The same for a key that is a number.
//
// Returns as windlass_fifo_remove.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_remove_u64(struct windlass_fifo *fifo,
                                 uint64_t key,
                                 uint8_t *value,
                                 size_t value_room,
                                 struct windlass_fifo_entry *entry);

// Puts n entries at the tail, in order, all at the time now. Keys and values are of any lengths, one
// behind the other: key i is keys[offsets[i]] up to, but not with, keys[offsets[i + 1]]; value i the
// same of values and value_offsets. So there are n + 1 offsets of each, none less than the one before
// it, and none greater than the length. If value_offsets is NULL all values are empty.
//
// results[i] becomes what windlass_fifo_push returns for entry i, which may be an error, and seqs[i]
// its number, if it is none. Both have room for n; seqs may be NULL.
//
// Errors; then nothing was put in: WINDLASS_E_OFFSETS, WINDLASS_E_NULL (fifo; keys or values, and
// its length is not 0; offsets or results, and n is not 0), WINDLASS_E_RANGE (n; a length; a pointer
// is not aligned).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_fifo_push_packed(struct windlass_fifo *fifo,
                                          const uint8_t *keys,
                                          size_t keys_len,
                                          const uint32_t *offsets,
                                          size_t n,
                                          const uint8_t *values,
                                          size_t values_len,
                                          const uint32_t *value_offsets,
                                          uint64_t now,
                                          int32_t *results,
                                          uint64_t *seqs);

// The same for n keys that are numbers.
//
// The rest as windlass_fifo_push_packed.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_fifo_push_u64s(struct windlass_fifo *fifo,
                                        const uint64_t *keys,
                                        size_t n,
                                        const uint8_t *values,
                                        size_t values_len,
                                        const uint32_t *value_offsets,
                                        uint64_t now,
                                        int32_t *results,
                                        uint64_t *seqs);

// The ranks of n keys that were pushed as hashes: ranks[i] becomes how many entries are before key i,
// or -1 if it was never put in, or has been popped. ranks has room for n, and may not overlap with the
// rest. A batch has the memory for 16 keys on its way at once, and so is faster than single calls.
//
// Errors: WINDLASS_E_NULL (fifo; hashes or ranks, and n is not 0), WINDLASS_E_RANGE (n; a pointer is
// not aligned).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_fifo_rank_hashes(const struct windlass_fifo *fifo,
                                          const struct windlass_hash *hashes,
                                          size_t n,
                                          int64_t *ranks);

// The same for n keys that are numbers.
//
// Errors: as windlass_fifo_rank_hashes.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_fifo_rank_u64s(const struct windlass_fifo *fifo,
                                        const uint64_t *keys,
                                        size_t n,
                                        int64_t *ranks);

// The same for n keys of key_len bytes each, the next one stride bytes after the last. 1 <= key_len
// <= stride. Of keys there must be (n - 1) * stride + key_len bytes.
//
// Errors: WINDLASS_E_RANGE also if key_len or stride is wrong. The rest as windlass_fifo_rank_hashes.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_fifo_rank_fixed(const struct windlass_fifo *fifo,
                                         const uint8_t *keys,
                                         size_t key_len,
                                         size_t stride,
                                         size_t n,
                                         int64_t *ranks);

// The same for n keys of any lengths, one behind the other: key i is bytes[offsets[i]] up to, but
// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
// and none greater than bytes_len.
//
// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
// 0) and offsets (n is not 0). The rest as windlass_fifo_rank_hashes.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_fifo_rank_packed(const struct windlass_fifo *fifo,
                                          const uint8_t *bytes,
                                          size_t bytes_len,
                                          const uint32_t *offsets,
                                          size_t n,
                                          int64_t *ranks);

// Fills out with the present figures. struct_size is sizeof(windlass_fifo_stats).
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_fifo_get_stats(const struct windlass_fifo *fifo,
                                        struct windlass_fifo_stats *out,
                                        uint32_t struct_size);

// Upkeep, most of which calls do by themselves: looks after budget groups of the table, and helps to
// give back memory. Of use after a silence, and from a thread beside the callers.
//
// Returns 1 (there is more that can be done now), 0 (there is not), or an error: WINDLASS_E_NULL.
// Threads: concurrent.
WINDLASS_API
int32_t windlass_fifo_maintain(struct windlass_fifo *fifo,
                               size_t budget);

// Writes a snapshot of all that was pushed before the call and not popped, to be restored by
// windlass_fifo_restore, on any machine. Other threads go on meanwhile and wait for nothing; what
// they do may be in it or not. now and wall_ns are one time on two clocks: the tick, and nanoseconds
// since 1970 (windlass_wall_ns).
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (fifo or write_fn), WINDLASS_E_IO (what write_fn returned was not 0).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_fifo_snapshot(const struct windlass_fifo *fifo,
                                       uint64_t now,
                                       uint64_t wall_ns,
                                       windlass_write_fn write_fn,
                                       void *context,
                                       struct windlass_error *error);

// Makes a windlass_fifo of what windlass_fifo_snapshot has written, and stores it in out; free it
// with windlass_fifo_free. Entries have their order, numbers, values and times. The settings are
// those of config, but for the seed: that is the snapshot's.
//
// wall_ns is the time of the system, in nanoseconds since 1970. restored may be NULL, or is filled.
// error may be NULL.
// Errors: as windlass_fifo_new; WINDLASS_E_NULL (also read_fn), WINDLASS_E_STRUCT_SIZE (also
// restored), WINDLASS_E_ARG (also a setting that differs), WINDLASS_E_SNAPSHOT, WINDLASS_E_IO,
// WINDLASS_E_FULL (what config allows is no room for it). Then out and restored are left alone.
// Whatever the bytes are, no more memory is taken than config allows.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_fifo_restore(const struct windlass_fifo_config *config,
                                      uint64_t wall_ns,
                                      windlass_read_fn read_fn,
                                      void *context,
                                      struct windlass_fifo **out,
                                      struct windlass_restored *restored,
                                      struct windlass_error *error);

// Makes a windlass_ring without nodes as config says, and stores it in out; free it with
// windlass_ring_free.
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
// error names it). Then out is left alone.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_ring_new(const struct windlass_ring_config *config,
                                  struct windlass_ring **out,
                                  struct windlass_error *error);

// Frees it. NULL is allowed, and does nothing.
//
// Threads: exclusive: no other call with this handle may be under way, or come after it.
WINDLASS_API void windlass_ring_free(struct windlass_ring *ring);

// Fills config with the defaults. struct_size is sizeof(windlass_ring_config).
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_ring_config_init(struct windlass_ring_config *config,
                                          uint32_t struct_size);

// Adds a node: id is what routes return, name (UTF-8, name_len bytes, at least 1) is what its points
// are made from, weight how many times the keys of a node of weight 1 it should have. Costs a
// sort of all points.
//
// moved may be NULL; it becomes the share of all keys, 0 to 1, that have another owner now. error
// may be NULL.
// Errors: WINDLASS_E_NULL (ring; name), WINDLASS_E_RANGE (name_len), WINDLASS_E_ARG (a weight of 0, an
// id or a name that is there, too many points; error says which). Then nothing was changed.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_ring_add(struct windlass_ring *ring,
                                  uint32_t id,
                                  const uint8_t *name,
                                  size_t name_len,
                                  uint32_t weight,
                                  double *moved,
                                  struct windlass_error *error);

// Removes the node with this id. Others keep their keys, and share those that it had.
//
// moved and error as in windlass_ring_add.
// Errors: WINDLASS_E_NULL (ring), WINDLASS_E_ARG (there is no such node). Then nothing was changed.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_ring_remove(struct windlass_ring *ring,
                                     uint32_t id,
                                     double *moved,
                                     struct windlass_error *error);

// Gives the node with this id another weight.
//
// moved and error as in windlass_ring_add.
// Errors: WINDLASS_E_NULL (ring), WINDLASS_E_ARG (there is no such node, a weight of 0, too many
// points). Then nothing was changed.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_ring_set_weight(struct windlass_ring *ring,
                                         uint32_t id,
                                         uint32_t weight,
                                         double *moved,
                                         struct windlass_error *error);

// The node that owns a key of len bytes (0 or more).
//
// Returns its id, 0 to 2^32 - 1, or an error: WINDLASS_E_NO_NODE (the ring has none),
// WINDLASS_E_NULL (ring; key, and len is not 0), WINDLASS_E_RANGE (len).
// Threads: concurrent.
WINDLASS_API
int64_t windlass_ring_route(const struct windlass_ring *ring,
                            const uint8_t *key,
                            size_t len);

// The same for a key whose hash is known, by windlass_hash_bytes for example, with the ring's seed.
//
// Returns as windlass_ring_route.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_ring_route_hash(const struct windlass_ring *ring,
                                 struct windlass_hash hash);

// The same for a key that is a number.
//
// Returns as windlass_ring_route.
// Threads: concurrent.
WINDLASS_API int64_t windlass_ring_route_u64(const struct windlass_ring *ring, uint64_t key);

// The first n different nodes at and after a key, its owner first: for replicas. owners has room
// for n.
//
// Returns how many there are, n or all nodes; or an error: WINDLASS_E_NULL (ring; key, and len is not
// 0; owners, and n is not 0), WINDLASS_E_RANGE (len, n).
// Threads: concurrent.
WINDLASS_API
int64_t windlass_ring_route_n(const struct windlass_ring *ring,
                              const uint8_t *key,
                              size_t len,
                              size_t n,
                              uint32_t *owners);

// The same for a key whose hash is known.
//
// Returns as windlass_ring_route_n.
// Threads: concurrent.
WINDLASS_API
int64_t windlass_ring_route_n_hash(const struct windlass_ring *ring,
                                   struct windlass_hash hash,
                                   size_t n,
                                   uint32_t *owners);

// The nodes that own n keys, by the hashes of these: owners[i] becomes the id of the owner of key i.
// owners has room for n, and may not overlap with the rest.
//
// Errors: WINDLASS_E_NO_NODE (the ring has none, and n is not 0), WINDLASS_E_NULL (ring; hashes or
// owners, and n is not 0), WINDLASS_E_RANGE (n; a pointer is not aligned).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_ring_route_hashes(const struct windlass_ring *ring,
                                           const struct windlass_hash *hashes,
                                           size_t n,
                                           uint32_t *owners);

// The same for n keys that are numbers.
//
// Errors: as windlass_ring_route_hashes.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_ring_route_u64s(const struct windlass_ring *ring,
                                         const uint64_t *keys,
                                         size_t n,
                                         uint32_t *owners);

// The same for n keys of key_len bytes each, the next one stride bytes after the last. 1 <= key_len
// <= stride. Of keys there must be (n - 1) * stride + key_len bytes.
//
// Errors: WINDLASS_E_RANGE also if key_len or stride is wrong. The rest as
// windlass_ring_route_hashes.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_ring_route_fixed(const struct windlass_ring *ring,
                                          const uint8_t *keys,
                                          size_t key_len,
                                          size_t stride,
                                          size_t n,
                                          uint32_t *owners);

// The same for n keys of any lengths, one behind the other: key i is bytes[offsets[i]] up to, but
// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
// and none greater than bytes_len.
//
// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
// 0) and offsets (n is not 0). The rest as windlass_ring_route_hashes.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_ring_route_packed(const struct windlass_ring *ring,
                                           const uint8_t *bytes,
                                           size_t bytes_len,
                                           const uint32_t *offsets,
                                           size_t n,
                                           uint32_t *owners);

// The nodes by their ids, the first room of them into nodes, which may be NULL if room is 0.
//
// Returns how many nodes the ring has, or an error: WINDLASS_E_NULL (ring; nodes, and room is not 0),
// WINDLASS_E_RANGE (room; nodes is not aligned).
// Threads: concurrent.
WINDLASS_API
int64_t windlass_ring_nodes(const struct windlass_ring *ring,
                            struct windlass_ring_node *nodes,
                            size_t room);

// Fills out with the present figures. struct_size is sizeof(windlass_ring_stats).
//
// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_ring_get_stats(const struct windlass_ring *ring,
                                        struct windlass_ring_stats *out,
                                        uint32_t struct_size);

// Writes a snapshot of the nodes, to be restored by windlass_ring_restore, on any machine. Other
// threads go on meanwhile and wait for nothing. wall_ns the time of the system: windlass_wall_ns().
//
// error may be NULL.
// Errors: WINDLASS_E_NULL (ring or write_fn), WINDLASS_E_IO (what write_fn returned was not 0).
// Threads: concurrent.
WINDLASS_API
windlass_status windlass_ring_snapshot(const struct windlass_ring *ring,
                                       uint64_t wall_ns,
                                       windlass_write_fn write_fn,
                                       void *context,
                                       struct windlass_error *error);

// Makes a windlass_ring of what windlass_ring_snapshot has written, and stores it in out; free it
// with windlass_ring_free. It has the nodes of then, with their ids and weights: every key has the
// owner that it had. vnodes must be as it was. The seed of config is not looked at: it is the
// snapshot's.
//
// wall_ns is the time of the system, in nanoseconds since 1970. restored may be NULL, or is filled.
// error may be NULL.
// Errors: as windlass_ring_new; WINDLASS_E_NULL (also read_fn), WINDLASS_E_STRUCT_SIZE (also
// restored), WINDLASS_E_ARG (also a setting that differs), WINDLASS_E_SNAPSHOT, WINDLASS_E_IO,
// WINDLASS_E_FULL (what config allows is no room for it). Then out and restored are left alone.
// Whatever the bytes are, no more memory is taken than config allows.
// Threads: concurrent.
WINDLASS_API
WINDLASS_MUST_USE
windlass_status windlass_ring_restore(const struct windlass_ring_config *config,
                                      uint64_t wall_ns,
                                      windlass_read_fn read_fn,
                                      void *context,
                                      struct windlass_ring **out,
                                      struct windlass_restored *restored,
                                      struct windlass_error *error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* WINDLASS_H */

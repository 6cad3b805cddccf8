/*
 * Structures written and restored: through memory, a file, and functions that fail. With arguments it reads lines, TICK<TAB>ID (8 digits),
 * TICK in milliseconds, puts them into a structure, and prints its snapshot, and that of what is restored of it a second later:
 *
 *   snapshot dedup|dedup_bytes|bloom|counter|topk|bounded|fifo|ring|limiter|limiter_log|global_limiter|limitset SEED NOW WALL FILE
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <windlass.h>

#include "check.h"

#define SECOND UINT64_C(1000000000)

enum { ROOM = 1 << 20 };

/* What was written, and how much of it has been read. */
typedef struct memory {
    uint8_t bytes[ROOM];
    size_t len, at, step;
} memory;

static memory store;

static int32_t to_memory(void *context, const uint8_t *bytes, size_t len) {
    memory *self = (memory *)context;
    if (len > sizeof self->bytes - self->len) return 1;
    memcpy(self->bytes + self->len, bytes, len);
    self->len += len;
    return 0;
}

static int64_t from_memory(void *context, uint8_t *bytes, size_t capacity) {
    memory *self = (memory *)context;
    size_t len = self->len - self->at;
    if (len > capacity) len = capacity;
    if (self->step > 0 && len > self->step) len = self->step;
    memcpy(bytes, self->bytes + self->at, len);
    self->at += len;
    return (int64_t)len;
}

static int32_t to_file(void *context, const uint8_t *bytes, size_t len) {
    return fwrite(bytes, 1, len, (FILE *)context) == len ? 0 : 1;
}

static int64_t from_file(void *context, uint8_t *bytes, size_t capacity) {
    size_t len = fread(bytes, 1, capacity, (FILE *)context);
    return len == 0 && ferror((FILE *)context) ? -1 : (int64_t)len;
}

static int32_t refuses(void *context, const uint8_t *bytes, size_t len) {
    (void)context, (void)bytes, (void)len;
    return 7;
}

static int64_t fails(void *context, uint8_t *bytes, size_t capacity) {
    (void)context, (void)bytes;
    return (int64_t)capacity + 1;
}

static void dedups(void) {
    const uint64_t wall = UINT64_C(1700000000) * SECOND;
    windlass_dedup_config config;
    windlass_dedup *dedup = NULL, *again = NULL, *none = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;
    windlass_restored restored;
    uint64_t id;
    FILE *file = tmpfile();
    CHECK(windlass_dedup_config_init(&config, sizeof config) == WINDLASS_OK);
    config.window = 60 * SECOND;
    config.capacity = 1000;
    CHECK(windlass_dedup_new(&config, &dedup, NULL) == WINDLASS_OK);
    for (id = 0; id < 1000; id++) CHECK(windlass_dedup_observe_u64(dedup, id, 5 * SECOND) == WINDLASS_FRESH);
    CHECK(windlass_dedup_snapshot(dedup, 10 * SECOND, wall, to_memory, &store, NULL) == WINDLASS_OK);
    CHECK(file != NULL && windlass_dedup_snapshot(dedup, 10 * SECOND, wall, to_file, file, &error) == WINDLASS_OK);

    /* Elsewhere, 20 seconds later. The seed is the snapshot's, whatever the config says. */
    config.seed++;
    restored.struct_size = sizeof restored;
    store.step = 100;
    CHECK(windlass_dedup_restore(&config, wall + 20 * SECOND, from_memory, &store, &again, &restored, &error) ==
          WINDLASS_OK);
    CHECK(restored.resumed == 30 * SECOND && restored.elapsed_ns == 20 * SECOND && restored.entries == 1000);
    for (id = 0; id < 1000; id++) {
        CHECK(windlass_dedup_observe_u64(again, id, restored.resumed) == WINDLASS_DUPLICATE);
    }
    CHECK(windlass_dedup_observe_u64(again, 0, 65 * SECOND) == WINDLASS_FRESH);
    windlass_dedup_free(again);
    rewind(file);
    CHECK(windlass_dedup_restore(&config, wall, from_file, file, &again, NULL, NULL) == WINDLASS_OK);
    CHECK(windlass_dedup_observe_u64(again, 0, 10 * SECOND) == WINDLASS_DUPLICATE);
    windlass_dedup_free(again);
    fclose(file);

    /* What is wrong is told, and nothing is made. */
    store.step = 0;
    store.at = 0;
    store.bytes[store.len / 2] ^= 1;
    CHECK(windlass_dedup_restore(&config, wall, from_memory, &store, &none, NULL, &error) == WINDLASS_E_SNAPSHOT);
    CHECK(none == NULL && strstr(error.detail, "checksum") != NULL);
    store.bytes[store.len / 2] ^= 1;
    store.at = 0;
    store.len -= 1;
    CHECK(windlass_dedup_restore(&config, wall, from_memory, &store, &none, NULL, &error) == WINDLASS_E_SNAPSHOT);
    CHECK(strstr(error.detail, "cut off") != NULL);
    store.len += 1;
    store.at = 0;
    config.window += 1;
    CHECK(windlass_dedup_restore(&config, wall, from_memory, &store, &none, NULL, &error) == WINDLASS_E_ARG);
    CHECK(strstr(error.detail, "window 60000000000 ns") != NULL);
    config.window -= 1;
    store.at = 0;
    config.max_memory = 100000;
    config.capacity = 10;
    CHECK(windlass_dedup_restore(&config, wall, from_memory, &store, &again, NULL, NULL) == WINDLASS_OK);
    windlass_dedup_free(again);
    store.at = 0;
    config.max_memory = 20000;
    CHECK(windlass_dedup_restore(&config, wall, from_memory, &store, &none, NULL, NULL) == WINDLASS_E_FULL);
    CHECK(windlass_dedup_restore(&config, wall, fails, NULL, &none, NULL, &error) == WINDLASS_E_IO);
    CHECK(windlass_dedup_snapshot(dedup, 0, wall, refuses, NULL, &error) == WINDLASS_E_IO);
    CHECK(strstr(error.detail, "returned 7") != NULL);
    CHECK(windlass_dedup_snapshot(dedup, 0, wall, NULL, NULL, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_snapshot(NULL, 0, wall, to_memory, &store, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_restore(&config, wall, NULL, NULL, &none, NULL, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_restore(&config, wall, from_memory, &store, NULL, NULL, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_restore(NULL, wall, from_memory, &store, &none, NULL, NULL) == WINDLASS_E_NULL);
    restored.struct_size = 1;
    CHECK(windlass_dedup_restore(&config, wall, from_memory, &store, &none, &restored, NULL) == WINDLASS_E_STRUCT_SIZE);
    CHECK(none == NULL && windlass_wall_ns() > wall);
    windlass_dedup_free(dedup);
}

static void fifos(void) {
    windlass_fifo_config config;
    windlass_fifo *fifo = NULL, *again = NULL;
    windlass_fifo_place place;
    uint8_t value[300], got[300];
    uint64_t rank = 0;
    memset(value, 'v', sizeof value);
    store.len = store.at = 0;
    CHECK(windlass_fifo_config_init(&config, sizeof config) == WINDLASS_OK);
    config.capacity = 100;
    CHECK(windlass_fifo_new(&config, &fifo, NULL) == WINDLASS_OK);
    CHECK(windlass_fifo_push(fifo, (const uint8_t *)"ann", 3, value, 2, 10, NULL) == WINDLASS_PUSHED_NEW);
    CHECK(windlass_fifo_push(fifo, (const uint8_t *)"bob", 3, value, sizeof value, 20, NULL) == WINDLASS_PUSHED_NEW);
    CHECK(windlass_fifo_snapshot(fifo, 30, 0, to_memory, &store, NULL) == WINDLASS_OK);
    CHECK(windlass_fifo_restore(&config, 0, from_memory, &store, &again, NULL, NULL) == WINDLASS_OK);
    CHECK(windlass_fifo_rank(again, (const uint8_t *)"bob", 3, &rank) == WINDLASS_FOUND && rank == 1);
    CHECK(windlass_fifo_find(again, (const uint8_t *)"bob", 3, got, sizeof got, &place) == WINDLASS_FOUND);
    CHECK(place.seq == 1 && place.pushed_at == 20 && place.value_len == 300 && memcmp(got, value, 300) == 0);
    windlass_fifo_free(fifo);
    windlass_fifo_free(again);
}

static void rings(void) {
    windlass_ring_config config;
    windlass_ring *ring = NULL, *again = NULL, *none = NULL;
    windlass_dedup_config other;
    windlass_dedup *dedup = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;
    uint64_t key;
    store.len = store.at = 0;
    CHECK(windlass_ring_config_init(&config, sizeof config) == WINDLASS_OK);
    config.seed = 42;
    CHECK(windlass_ring_new(&config, &ring, NULL) == WINDLASS_OK);
    CHECK(windlass_ring_add(ring, 1, (const uint8_t *)"cache-a", 7, 1, NULL, NULL) == WINDLASS_OK);
    CHECK(windlass_ring_add(ring, 2, (const uint8_t *)"cache-b", 7, 3, NULL, NULL) == WINDLASS_OK);
    CHECK(windlass_ring_snapshot(ring, windlass_wall_ns(), to_memory, &store, NULL) == WINDLASS_OK);
    config.seed = 0;
    CHECK(windlass_ring_restore(&config, windlass_wall_ns(), from_memory, &store, &again, NULL, &error) == WINDLASS_OK);
    for (key = 0; key < 1000; key++) {
        int64_t node = windlass_ring_route_u64(ring, key);
        CHECK(node > 0 && windlass_ring_route_u64(again, key) == node);
    }
    /* Another structure's. */
    CHECK(windlass_dedup_config_init(&other, sizeof other) == WINDLASS_OK);
    other.window = 1;
    store.at = 0;
    CHECK(windlass_dedup_restore(&other, 0, from_memory, &store, &dedup, NULL, &error) == WINDLASS_E_SNAPSHOT);
    CHECK(dedup == NULL && strstr(error.detail, "of a HashRing, not of a Dedup") != NULL);
    config.vnodes++;
    store.at = 0;
    CHECK(windlass_ring_restore(&config, 0, from_memory, &store, &none, NULL, NULL) == WINDLASS_E_ARG);
    windlass_ring_free(ring);
    windlass_ring_free(again);
}

static void blooms(void) {
    const uint64_t wall = UINT64_C(1700000000) * SECOND;
    windlass_bloom_config config;
    windlass_bloom *bloom = NULL, *again = NULL, *none = NULL;
    windlass_restored restored;
    windlass_error error = WINDLASS_ERROR_INIT;
    uint64_t id;
    store.len = store.at = store.step = 0;
    CHECK(windlass_bloom_config_init(&config, sizeof config) == WINDLASS_OK);
    config.window = 60 * SECOND;
    config.expected_ids = 1000;
    CHECK(windlass_bloom_new(&config, &bloom, NULL) == WINDLASS_OK);
    for (id = 0; id < 1000; id++) CHECK(windlass_bloom_insert_u64(bloom, id, 5 * SECOND) >= 0);
    CHECK(windlass_bloom_snapshot(bloom, 10 * SECOND, wall, to_memory, &store, NULL) == WINDLASS_OK);
    CHECK(windlass_bloom_snapshot(bloom, 10 * SECOND, wall, refuses, NULL, &error) == WINDLASS_E_IO);
    CHECK(windlass_bloom_snapshot(bloom, 10 * SECOND, wall, NULL, NULL, NULL) == WINDLASS_E_NULL);
    config.seed++;
    restored.struct_size = sizeof restored;
    CHECK(windlass_bloom_restore(&config, wall + 20 * SECOND, from_memory, &store, &again, &restored, &error) ==
          WINDLASS_OK);
    CHECK(restored.resumed == 30 * SECOND && restored.elapsed_ns == 20 * SECOND);
    for (id = 0; id < 1000; id++) CHECK(windlass_bloom_contains_u64(again, id, 64 * SECOND) == 1);
    store.at = 0;
    config.panes = 9;
    CHECK(windlass_bloom_restore(&config, wall, from_memory, &store, &none, NULL, &error) == WINDLASS_E_ARG);
    CHECK(none == NULL && strstr(error.detail, "panes 8") != NULL);
    windlass_bloom_free(bloom);
    windlass_bloom_free(again);
}

static void counters(void) {
    const uint8_t *key = (const uint8_t *)"/index.html";
    windlass_counter_config config;
    windlass_counter *counter = NULL, *again = NULL;
    windlass_topk_config top;
    windlass_topk *topk = NULL, *topk_again = NULL;
    uint64_t count = 0;
    store.len = store.at = store.step = 0;
    CHECK(windlass_counter_config_init(&config, sizeof config) == WINDLASS_OK);
    config.window = 60 * SECOND;
    config.pane = 10 * SECOND;
    config.capacity = 100;
    CHECK(windlass_counter_new(&config, &counter, NULL) == WINDLASS_OK);
    CHECK(windlass_counter_add(counter, key, 11, 3, 5 * SECOND) == WINDLASS_COUNTED);
    CHECK(windlass_counter_snapshot(counter, 10 * SECOND, SECOND, to_memory, &store, NULL) == WINDLASS_OK);
    CHECK(windlass_counter_restore(&config, SECOND, from_memory, &store, &again, NULL, NULL) == WINDLASS_OK);
    CHECK(windlass_counter_count(again, key, 11, 59 * SECOND, &count) == WINDLASS_OK && count == 3);

    store.len = store.at = 0;
    CHECK(windlass_topk_config_init(&top, sizeof top) == WINDLASS_OK);
    top.window = 60 * SECOND;
    top.pane = 10 * SECOND;
    top.k = 3;
    top.capacity = 100;
    CHECK(windlass_topk_new(&top, &topk, NULL) == WINDLASS_OK);
    CHECK(windlass_topk_add(topk, key, 11, 7, 5 * SECOND) == WINDLASS_COUNTED);
    CHECK(windlass_topk_save(topk, 10 * SECOND, SECOND, to_memory, &store, NULL) == WINDLASS_OK);
    CHECK(windlass_topk_restore(&top, SECOND, from_memory, &store, &topk_again, NULL, NULL) == WINDLASS_OK);
    CHECK(windlass_topk_count(topk_again, key, 11, 59 * SECOND, &count) == WINDLASS_OK && count == 7);
    /* Of another structure. */
    store.at = 0;
    CHECK(windlass_counter_restore(&config, SECOND, from_memory, &store, &again, NULL, NULL) == WINDLASS_E_SNAPSHOT);
    windlass_counter_free(counter);
    windlass_counter_free(again);
    windlass_topk_free(topk);
    windlass_topk_free(topk_again);
}

static void bounded(void) {
    const uint8_t *key = (const uint8_t *)"/index.html";
    windlass_bounded_topk_config config;
    windlass_bounded_topk *top = NULL, *again = NULL, *none = NULL;
    uint64_t lower = 0, upper = 0;
    store.len = store.at = store.step = 0;
    CHECK(windlass_bounded_topk_config_init(&config, sizeof config) == WINDLASS_OK);
    config.window = 60 * SECOND;
    config.pane = 10 * SECOND;
    config.k = 3;
    config.memory = 65536;
    CHECK(windlass_bounded_topk_new(&config, &top, NULL) == WINDLASS_OK);
    CHECK(windlass_bounded_topk_add(top, key, 11, 7, 5 * SECOND) == WINDLASS_COUNTED);
    CHECK(windlass_bounded_topk_save(top, 10 * SECOND, SECOND, to_memory, &store, NULL) == WINDLASS_OK);
    CHECK(windlass_bounded_topk_restore(&config, SECOND, from_memory, &store, &again, NULL, NULL) == WINDLASS_OK);
    CHECK(windlass_bounded_topk_bounds(again, key, 11, 59 * SECOND, &lower, &upper) == WINDLASS_OK);
    CHECK(lower == 7 && upper == 7);
    /* In other memory. */
    store.at = 0;
    config.memory *= 2;
    CHECK(windlass_bounded_topk_restore(&config, SECOND, from_memory, &store, &none, NULL, NULL) == WINDLASS_E_ARG);
    CHECK(none == NULL);
    windlass_bounded_topk_free(top);
    windlass_bounded_topk_free(again);
}

static void print(void) {
    size_t i;
    for (i = 0; i < store.len; i++) printf("%02x", store.bytes[i]);
    putchar('\n');
    store.at = 0;
}

typedef struct event {
    uint64_t tick, number;
    uint8_t id[8];
} event;

/* The form of its key goes round: bytes, hash, number. */
#define BY_TURNS(call, handle, i, e, hash, rest)                                                                     \
    ((i) % 3 == 0   ? call(handle, (e)->id, sizeof(e)->id, rest)                                                     \
     : (i) % 3 == 1 ? call##_hash(handle, hash, rest)                                                                \
                    : call##_u64(handle, (e)->number, rest))

/* Its snapshot; what is restored of that; the snapshot of this. */
#define WRITE_AND_RESTORE(low, save, config, handle)                                                                 \
    do {                                                                                                             \
        windlass_##low *again = NULL;                                                                                \
        CHECK(windlass_##low##_##save(handle, now, wall, to_memory, &store, NULL) == WINDLASS_OK);                   \
        print();                                                                                                     \
        CHECK(windlass_##low##_restore(&config, wall + SECOND, from_memory, &store, &again, &restored, NULL) ==      \
              WINDLASS_OK);                                                                                          \
        CHECK(restored.resumed == now + SECOND);                                                                     \
        store.len = 0;                                                                                               \
        CHECK(windlass_##low##_##save(again, restored.resumed, wall + SECOND, to_memory, &store, NULL) ==            \
              WINDLASS_OK);                                                                                          \
        print();                                                                                                     \
        windlass_##low##_free(handle);                                                                               \
        windlass_##low##_free(again);                                                                                \
    } while (0)

enum { EVENTS = 4096, ROOM_FOR = 5000 };

static void set_written(uint64_t seed, uint64_t now, uint64_t wall, const event *events, const windlass_hash *hashes, size_t n) {
    const windlass_quota less = {4, 60 * SECOND, 0};
    windlass_limitset_config config;
    windlass_limit_rule rules[3];
    windlass_limitset *set = NULL, *again = NULL;
    windlass_restored restored;
    windlass_hash keys[2];
    size_t i;
    restored.struct_size = sizeof restored;
    CHECK(windlass_limitset_config_init(&config, sizeof config) == WINDLASS_OK);
    config.lateness_ns = 3 * SECOND / 10;
    config.seed = seed;
    memset(rules, 0, sizeof rules);
    for (i = 0; i < 3; i++) rules[i].per_ns = 60 * SECOND;
    rules[0].name = "user";
    rules[0].permits = 5;
    rules[0].burst = 8;
    rules[0].clients = ROOM_FOR;
    rules[1].name = "tenant";
    rules[1].permits = 400;
    rules[1].clients = 100;
    rules[1].algorithm = WINDLASS_ALGORITHM_SLIDING_COUNTER;
    rules[2].name = "all";
    rules[2].permits = 5000;
    rules[2].algorithm = WINDLASS_ALGORITHM_FIXED_WINDOW;
    CHECK(windlass_limitset_new(&config, rules, 3, &set, NULL) == WINDLASS_OK);
    for (i = 0; i < n; i++) {
        keys[0] = hashes[i];
        CHECK(windlass_hash_u64(events[i].number % 16, seed, &keys[1]) == WINDLASS_OK);
        CHECK(windlass_limitset_check(set, keys, 2, 1 + i % 3, events[i].tick, NULL) >= 0);
    }
    CHECK(windlass_limitset_set_quota(set, "user", less, now, NULL) == WINDLASS_OK);
    CHECK(windlass_limitset_snapshot(set, now, wall, to_memory, &store, NULL) == WINDLASS_OK);
    print();
    CHECK(windlass_limitset_restore(&config, rules, 3, wall + SECOND, from_memory, &store, &again, &restored, NULL) ==
          WINDLASS_OK);
    store.len = 0;
    CHECK(windlass_limitset_snapshot(again, restored.resumed, wall + SECOND, to_memory, &store, NULL) == WINDLASS_OK);
    print();
    windlass_limitset_free(set);
    windlass_limitset_free(again);
}

static void written(const char *kind, uint64_t seed, uint64_t now, uint64_t wall, const event *events, size_t n) {
    const uint64_t window = 4 * SECOND, pane = SECOND / 2, lateness = 3 * SECOND / 10;
    static windlass_hash hashes[EVENTS];
    windlass_restored restored;
    size_t i;
    restored.struct_size = sizeof restored;
    for (i = 0; i < n; i++) {
        /* (In a queue a key that collides with another one is refused: those of another seed do not.) */
        const uint64_t of_hashes = strcmp(kind, "fifo") == 0 ? seed + 1 : seed;
        CHECK(windlass_hash_bytes(events[i].id, sizeof events[i].id, of_hashes, &hashes[i]) == WINDLASS_OK);
    }
    if (strncmp(kind, "dedup", 5) == 0) {
        windlass_dedup_config config;
        windlass_dedup *dedup = NULL;
        CHECK(windlass_dedup_config_init(&config, sizeof config) == WINDLASS_OK);
        config.window = window;
        config.lateness = lateness;
        config.capacity = ROOM_FOR;
        config.seed = seed;
        if (strcmp(kind, "dedup_bytes") == 0) config.identity = WINDLASS_IDENTITY_BYTES;
        CHECK(windlass_dedup_new(&config, &dedup, NULL) == WINDLASS_OK);
        for (i = 0; i < n; i++) {
            const event *e = &events[i];
            windlass_ticket ticket;
            int32_t code;
            /* Some are claimed, and some of those committed. */
            if (i % 7 == 6) {
                code = windlass_dedup_claim(dedup, e->id, sizeof e->id, e->tick, SECOND, &ticket, NULL);
                if (code == WINDLASS_FRESH && i % 2 == 0) CHECK(windlass_dedup_commit(dedup, &ticket) == 1);
            } else {
                code = BY_TURNS(windlass_dedup_observe, dedup, i, e, hashes[i], e->tick);
            }
            CHECK(code >= 0);
        }
        WRITE_AND_RESTORE(dedup, snapshot, config, dedup);
    } else if (strcmp(kind, "bloom") == 0) {
        windlass_bloom_config config;
        windlass_bloom *bloom = NULL;
        CHECK(windlass_bloom_config_init(&config, sizeof config) == WINDLASS_OK);
        config.window = window;
        config.expected_ids = 700;
        config.seed = seed;
        CHECK(windlass_bloom_new(&config, &bloom, NULL) == WINDLASS_OK);
        for (i = 0; i < n; i++) CHECK(BY_TURNS(windlass_bloom_insert, bloom, i, &events[i], hashes[i], events[i].tick) >= 0);
        WRITE_AND_RESTORE(bloom, snapshot, config, bloom);
    } else if (strcmp(kind, "counter") == 0) {
        windlass_counter_config config;
        windlass_counter *counter = NULL;
        CHECK(windlass_counter_config_init(&config, sizeof config) == WINDLASS_OK);
        config.window = window;
        config.pane = pane;
        config.lateness = lateness;
        config.capacity = ROOM_FOR;
        config.seed = seed;
        CHECK(windlass_counter_new(&config, &counter, NULL) == WINDLASS_OK);
        for (i = 0; i < n; i++) {
            const event *e = &events[i];
            const int32_t code = i % 3 == 0   ? windlass_counter_add(counter, e->id, sizeof e->id, 1 + i % 5, e->tick)
                                 : i % 3 == 1 ? windlass_counter_add_hash(counter, hashes[i], 1 + i % 5, e->tick)
                                              : windlass_counter_add_u64(counter, e->number, 1 + i % 5, e->tick);
            CHECK(code == WINDLASS_COUNTED);
        }
        WRITE_AND_RESTORE(counter, snapshot, config, counter);
    } else if (strcmp(kind, "topk") == 0) {
        windlass_topk_config config;
        windlass_topk *topk = NULL;
        CHECK(windlass_topk_config_init(&config, sizeof config) == WINDLASS_OK);
        config.window = window;
        config.pane = pane;
        config.lateness = lateness;
        config.k = 20;
        config.capacity = ROOM_FOR;
        config.seed = seed;
        CHECK(windlass_topk_new(&config, &topk, NULL) == WINDLASS_OK);
        for (i = 0; i < n; i++) {
            const event *e = &events[i];
            const int32_t code = i % 3 == 0   ? windlass_topk_add(topk, e->id, sizeof e->id, 1 + i % 5, e->tick)
                                 : i % 3 == 1 ? windlass_topk_add_hash(topk, hashes[i], 1 + i % 5, e->tick)
                                              : windlass_topk_add_u64(topk, e->number, 1 + i % 5, e->tick);
            CHECK(code == WINDLASS_COUNTED);
        }
        WRITE_AND_RESTORE(topk, save, config, topk);
    } else if (strcmp(kind, "bounded") == 0) {
        windlass_bounded_topk_config config;
        windlass_bounded_topk *topk = NULL;
        CHECK(windlass_bounded_topk_config_init(&config, sizeof config) == WINDLASS_OK);
        config.window = window;
        config.pane = pane;
        config.lateness = lateness;
        config.k = 20;
        config.memory = 65536;
        config.seed = seed;
        CHECK(windlass_bounded_topk_new(&config, &topk, NULL) == WINDLASS_OK);
        for (i = 0; i < n; i++) {
            const event *e = &events[i];
            const int32_t code = i % 3 == 0   ? windlass_bounded_topk_add(topk, e->id, sizeof e->id, 1 + i % 5, e->tick)
                                 : i % 3 == 1 ? windlass_bounded_topk_add_hash(topk, hashes[i], 1 + i % 5, e->tick)
                                              : windlass_bounded_topk_add_u64(topk, e->number, 1 + i % 5, e->tick);
            CHECK(code == WINDLASS_COUNTED);
        }
        WRITE_AND_RESTORE(bounded_topk, save, config, topk);
    } else if (strcmp(kind, "fifo") == 0) {
        windlass_fifo_config config;
        windlass_fifo *fifo = NULL;
        windlass_fifo_entry entry;
        uint8_t key[16], value[8];
        CHECK(windlass_fifo_config_init(&config, sizeof config) == WINDLASS_OK);
        config.capacity = ROOM_FOR;
        config.seed = seed;
        CHECK(windlass_fifo_new(&config, &fifo, NULL) == WINDLASS_OK);
        for (i = 0; i < n; i++) {
            const event *e = &events[i];
            const int32_t code = i % 3 == 0   ? windlass_fifo_push(fifo, e->id, sizeof e->id, e->id, i % 9, e->tick, NULL)
                                 : i % 3 == 1 ? windlass_fifo_push_hash(fifo, hashes[i], e->id, i % 9, e->tick, NULL)
                                              : windlass_fifo_push_u64(fifo, e->number, e->id, i % 9, e->tick, NULL);
            CHECK(code >= 0);
            if (i % 5 == 4) CHECK(windlass_fifo_pop(fifo, key, sizeof key, value, sizeof value, &entry) == WINDLASS_FOUND);
        }
        WRITE_AND_RESTORE(fifo, snapshot, config, fifo);
    } else if (strcmp(kind, "limiter") == 0 || strcmp(kind, "limiter_log") == 0) {
        const windlass_quota less = {4, 60 * SECOND, 0};
        windlass_limiter_config config;
        windlass_limiter *limiter = NULL;
        CHECK(windlass_limiter_config_init(&config, sizeof config) == WINDLASS_OK);
        config.permits = 5;
        config.per_ns = 60 * SECOND;
        config.clients = ROOM_FOR;
        config.lateness_ns = lateness;
        config.seed = seed;
        if (strcmp(kind, "limiter_log") == 0)
            config.algorithm = WINDLASS_ALGORITHM_SLIDING_LOG;
        else
            config.burst = 8;
        CHECK(windlass_limiter_new(&config, &limiter, NULL) == WINDLASS_OK);
        for (i = 0; i < n; i++) {
            const event *e = &events[i];
            const int32_t code = i % 3 == 0   ? windlass_limiter_check(limiter, e->id, sizeof e->id, 1 + i % 3, e->tick, NULL)
                                 : i % 3 == 1 ? windlass_limiter_check_hash(limiter, hashes[i], 1 + i % 3, e->tick, NULL)
                                              : windlass_limiter_check_u64(limiter, e->number, 1 + i % 3, e->tick, NULL);
            CHECK(code >= 0);
        }
        CHECK(windlass_limiter_set_quota_for(limiter, events[0].id, sizeof events[0].id, less, WINDLASS_INHERIT_AS_IS, now, NULL) ==
              WINDLASS_OK);
        CHECK(windlass_limiter_set_quota(limiter, less, WINDLASS_INHERIT_AS_IS, now, NULL) == WINDLASS_OK);
        WRITE_AND_RESTORE(limiter, snapshot, config, limiter);
    } else if (strcmp(kind, "global_limiter") == 0) {
        const windlass_quota less = {1000, 60 * SECOND, 0};
        windlass_limiter_config config;
        windlass_global_limiter *limiter = NULL;
        CHECK(windlass_limiter_config_init(&config, sizeof config) == WINDLASS_OK);
        config.permits = 2000;
        config.per_ns = 60 * SECOND;
        config.algorithm = WINDLASS_ALGORITHM_SLIDING_COUNTER;
        CHECK(windlass_global_limiter_new(&config, &limiter, NULL) == WINDLASS_OK);
        for (i = 0; i < n; i++) CHECK(windlass_global_limiter_check(limiter, 1 + i % 3, events[i].tick, NULL) >= 0);
        CHECK(windlass_global_limiter_set_quota(limiter, less, WINDLASS_INHERIT_AS_IS, now, NULL) == WINDLASS_OK);
        WRITE_AND_RESTORE(global_limiter, snapshot, config, limiter);
    } else if (strcmp(kind, "limitset") == 0) {
        set_written(seed, now, wall, events, hashes, n);
    } else {
        windlass_ring_config config;
        windlass_ring *ring = NULL, *again = NULL;
        CHECK(strcmp(kind, "ring") == 0);
        CHECK(windlass_ring_config_init(&config, sizeof config) == WINDLASS_OK);
        config.vnodes = 40;
        config.seed = seed;
        CHECK(windlass_ring_new(&config, &ring, NULL) == WINDLASS_OK);
        for (i = 0; i < 6; i++) {
            const uint32_t id = (uint32_t)i;
            CHECK(windlass_ring_add(ring, id, events[i].id, sizeof events[i].id, 1 + id % 3, NULL, NULL) == WINDLASS_OK);
        }
        CHECK(windlass_ring_remove(ring, 2, NULL, NULL) == WINDLASS_OK);
        CHECK(windlass_ring_snapshot(ring, wall, to_memory, &store, NULL) == WINDLASS_OK);
        print();
        CHECK(windlass_ring_restore(&config, wall + SECOND, from_memory, &store, &again, &restored, NULL) == WINDLASS_OK);
        store.len = 0;
        CHECK(windlass_ring_snapshot(again, wall + SECOND, to_memory, &store, NULL) == WINDLASS_OK);
        print();
        windlass_ring_free(ring);
        windlass_ring_free(again);
    }
}

static void of_a_file(char **a) {
    static event events[EVENTS];
    char line[64];
    size_t n = 0;
    FILE *file = fopen(a[4], "rb");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        const char *tab = strchr(line, '\t');
        CHECK(n < EVENTS && tab != NULL && strlen(tab) == 10);
        memcpy(events[n].id, tab + 1, sizeof events[n].id);
        events[n].tick = strtoull(line, NULL, 10) * 1000000;
        events[n].number = strtoull(tab, NULL, 10);
        n++;
    }
    fclose(file);
    CHECK(n >= 6);
    written(a[0], strtoull(a[1], NULL, 10), strtoull(a[2], NULL, 10), strtoull(a[3], NULL, 10), events, n);
}

static void limiters(void) {
    const uint64_t wall = UINT64_C(1700000000) * SECOND;
    windlass_limiter_config config;
    windlass_limiter *limiter = NULL, *again = NULL, *none = NULL;
    windlass_global_limiter *all = NULL, *all_again = NULL;
    windlass_restored restored;
    windlass_error error = WINDLASS_ERROR_INIT;
    uint64_t client;
    store.len = store.at = store.step = 0;
    CHECK(windlass_limiter_config_init(&config, sizeof config) == WINDLASS_OK);
    config.permits = 60;
    config.per_ns = 60 * SECOND;
    config.clients = 1000;
    CHECK(windlass_limiter_new(&config, &limiter, NULL) == WINDLASS_OK);
    for (client = 0; client < 100; client++) {
        CHECK(windlass_limiter_check_u64(limiter, client, 60, SECOND, NULL) == WINDLASS_ALLOWED);
    }
    CHECK(windlass_limiter_snapshot(limiter, 11 * SECOND, wall, to_memory, &store, NULL) == WINDLASS_OK);
    CHECK(windlass_limiter_snapshot(limiter, 11 * SECOND, wall, refuses, NULL, &error) == WINDLASS_E_IO);
    CHECK(windlass_limiter_snapshot(limiter, 11 * SECOND, wall, NULL, NULL, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_limiter_snapshot(NULL, 11 * SECOND, wall, to_memory, &store, NULL) == WINDLASS_E_NULL);

    /* Elsewhere, 20 seconds later. The seed is the snapshot's, whatever the config says. */
    config.seed++;
    restored.struct_size = sizeof restored;
    CHECK(windlass_limiter_restore(&config, wall + 20 * SECOND, from_memory, &store, &again, &restored, &error) ==
          WINDLASS_OK);
    CHECK(restored.resumed == 31 * SECOND && restored.elapsed_ns == 20 * SECOND && restored.entries == 100);
    for (client = 0; client < 100; client++) {
        CHECK(windlass_limiter_check_u64(again, client, 31, restored.resumed, NULL) == WINDLASS_DENIED);
        CHECK(windlass_limiter_check_u64(again, client, 30, restored.resumed, NULL) == WINDLASS_ALLOWED);
    }
    store.at = 0;
    config.permits = 61;
    CHECK(windlass_limiter_restore(&config, wall, from_memory, &store, &none, NULL, &error) == WINDLASS_E_ARG);
    CHECK(none == NULL && strstr(error.detail, "quota 60/m") != NULL && strstr(error.detail, "61/m") != NULL);
    CHECK(windlass_limiter_restore(&config, wall, NULL, NULL, &none, NULL, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_limiter_restore(NULL, wall, from_memory, &store, &none, NULL, NULL) == WINDLASS_E_NULL);
    config.permits = 60;

    store.len = store.at = 0;
    CHECK(windlass_global_limiter_new(&config, &all, NULL) == WINDLASS_OK);
    CHECK(windlass_global_limiter_check(all, 60, SECOND, NULL) == WINDLASS_ALLOWED);
    CHECK(windlass_global_limiter_snapshot(all, 11 * SECOND, wall, to_memory, &store, NULL) == WINDLASS_OK);
    CHECK(windlass_global_limiter_restore(&config, wall, from_memory, &store, &all_again, &restored, &error) ==
          WINDLASS_OK);
    CHECK(windlass_global_limiter_check(all_again, 11, restored.resumed, NULL) == WINDLASS_DENIED);
    CHECK(windlass_global_limiter_check(all_again, 10, restored.resumed, NULL) == WINDLASS_ALLOWED);
    /* Of another structure. */
    store.at = 0;
    CHECK(windlass_limiter_restore(&config, wall, from_memory, &store, &none, NULL, NULL) == WINDLASS_E_SNAPSHOT);
    CHECK(none == NULL);
    windlass_limiter_free(limiter);
    windlass_limiter_free(again);
    windlass_global_limiter_free(all);
    windlass_global_limiter_free(all_again);
}

static void sets(void) {
    const uint64_t wall = UINT64_C(1700000000) * SECOND;
    windlass_limitset_config config;
    windlass_limit_rule rules[2];
    windlass_limitset *set = NULL, *again = NULL, *none = NULL;
    windlass_reservation ticket;
    windlass_hash ann;
    windlass_restored restored;
    windlass_error error = WINDLASS_ERROR_INIT;
    store.len = store.at = store.step = 0;
    CHECK(windlass_limitset_config_init(&config, sizeof config) == WINDLASS_OK);
    config.reservations = 10;
    memset(rules, 0, sizeof rules);
    rules[0].name = "user";
    rules[0].permits = 10;
    rules[0].per_ns = 60 * SECOND;
    rules[0].clients = 100;
    rules[1].name = "all";
    rules[1].permits = 1000;
    rules[1].per_ns = 60 * SECOND;
    CHECK(windlass_hash_bytes((const uint8_t *)"ann", 3, config.seed, &ann) == WINDLASS_OK);
    CHECK(windlass_limitset_new(&config, rules, 2, &set, NULL) == WINDLASS_OK);
    CHECK(windlass_limitset_reserve(set, &ann, 1, 10, 60 * SECOND, SECOND, &ticket, NULL) == WINDLASS_ALLOWED);
    CHECK(windlass_limitset_snapshot(set, SECOND, wall, to_memory, &store, NULL) == WINDLASS_OK);
    CHECK(windlass_limitset_snapshot(set, SECOND, wall, NULL, NULL, NULL) == WINDLASS_E_NULL);
    restored.struct_size = sizeof restored;
    CHECK(windlass_limitset_restore(&config, rules, 2, wall, from_memory, &store, &again, &restored, &error) ==
          WINDLASS_OK);
    CHECK(restored.resumed == SECOND && restored.entries == 3);
    CHECK(windlass_limitset_check(again, &ann, 1, 1, SECOND, NULL) == WINDLASS_DENIED);
    /* The ticket is good there. */
    CHECK(windlass_limitset_settle(again, &ticket, 4, SECOND, NULL) == WINDLASS_SETTLED);
    CHECK(windlass_limitset_check(again, &ann, 1, 6, SECOND, NULL) == WINDLASS_ALLOWED);
    CHECK(windlass_limitset_check(again, &ann, 1, 1, SECOND, NULL) == WINDLASS_DENIED);
    store.at = 0;
    rules[1].name = "everyone";
    CHECK(windlass_limitset_restore(&config, rules, 2, wall, from_memory, &store, &none, NULL, &error) ==
          WINDLASS_E_ARG);
    CHECK(strstr(error.detail, "limit 2 all") != NULL && strstr(error.detail, "everyone") != NULL);
    rules[1].name = "all";
    store.at = 0;
    config.seed++;
    CHECK(windlass_limitset_restore(&config, rules, 2, wall, from_memory, &store, &none, NULL, &error) ==
          WINDLASS_E_ARG);
    CHECK(none == NULL && strstr(error.detail, "seed") != NULL);
    windlass_limitset_free(set);
    windlass_limitset_free(again);
}

int main(int argc, char **argv) {
    if (argc == 6) {
        of_a_file(argv + 1);
        return 0;
    }
    dedups();
    fifos();
    rings();
    blooms();
    counters();
    bounded();
    limiters();
    sets();
    puts("ok");
    return 0;
}

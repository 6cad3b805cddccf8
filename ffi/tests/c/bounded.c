/* Hot keys in memory that is given, and lists over several structures: what a user would rely on. */
#include <pthread.h>
#include <string.h>

#include <windlass.h>

#include "check.h"

enum { THREADS = 2, EVENTS = 3000, KEYS = 50, BATCH = 100, K = 3 };

#define SECONDS(n) ((n) * UINT64_C(1000000000))

static windlass_bounded_topk *made(uint64_t k, uint64_t memory) {
    windlass_bounded_topk_config config;
    windlass_bounded_topk *topk = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;
    CHECK(windlass_bounded_topk_config_init(&config, sizeof config) == WINDLASS_OK);
    config.window = SECONDS(60);
    config.pane = SECONDS(10);
    config.k = k;
    config.memory = memory;
    config.seed = 7;
    if (windlass_bounded_topk_new(&config, &topk, &error) != WINDLASS_OK) fprintf(stderr, "%s\n", error.detail);
    CHECK(topk != NULL);
    return topk;
}

static void add(windlass_bounded_topk *topk, const char *key, uint64_t times, uint64_t second) {
    CHECK(windlass_bounded_topk_add(topk, (const uint8_t *)key, strlen(key), times, SECONDS(second)) == WINDLASS_COUNTED);
}

static int is(const windlass_top_row *row, const uint8_t *keys, const char *key, uint64_t count) {
    return row->kind == WINDLASS_KEY_BYTES && row->key_len == strlen(key) &&
           memcmp(keys + row->key_at, key, row->key_len) == 0 && row->count == count && row->lower <= count &&
           row->upper >= count;
}

static void window(void) {
    windlass_bounded_topk *topk = made(K, 1 << 20);
    windlass_top_list list;
    windlass_top_row rows[K];
    uint8_t keys[64];
    uint64_t lower = 0, upper = 0, total = 0, i;
    windlass_bounded_topk_stats stats;

    add(topk, "/a", 9, 59);
    add(topk, "/b", 8, 31);
    add(topk, "/c", 7, 5);
    CHECK(windlass_bounded_topk_refresh(topk, SECONDS(59), &list, sizeof list, rows, K, keys, sizeof keys) == WINDLASS_OK);
    CHECK(list.rows == 3 && list.certified == 1 && list.total == 24 && list.tail == 0);
    CHECK(is(&rows[0], keys, "/a", 9) && is(&rows[1], keys, "/b", 8) && is(&rows[2], keys, "/c", 7));
    CHECK(windlass_bounded_topk_bounds(topk, (const uint8_t *)"/b", 2, SECONDS(59), &lower, &upper) == WINDLASS_OK);
    CHECK(lower == 8 && upper == 8);
    /* More keys than there is memory for: bounds that hold. */
    for (i = 0; i < 50000; i++) CHECK(windlass_bounded_topk_add_u64(topk, i, 1, SECONDS(59)) == WINDLASS_COUNTED);
    CHECK(windlass_bounded_topk_bounds_u64(topk, 17, SECONDS(59), &lower, &upper) == WINDLASS_OK);
    CHECK(lower <= 1 && upper >= 1);
    CHECK(windlass_bounded_topk_total(topk, SECONDS(59), &total) == WINDLASS_OK && total == 50024);
    CHECK(windlass_bounded_topk_top(topk, SECONDS(59), &list, sizeof list, rows, K, keys, sizeof keys) == WINDLASS_OK);
    CHECK(list.rows == K && !list.certified && list.tail >= 1 && rows[0].lower <= 9 && rows[0].upper >= 9);
    CHECK(windlass_bounded_topk_snapshot(topk, &list, sizeof list, rows, 2, keys, sizeof keys) == WINDLASS_E_TOO_SMALL);
    CHECK(list.rows == K && list.as_of == SECONDS(59) && list.total == 24);
    CHECK(windlass_bounded_topk_maintain_at(topk, SECONDS(61), 64) >= 0);
    /* (Another thread of the test may be reading.) */
    CHECK(windlass_bounded_topk_is_ready(topk) >= 0);
    CHECK(windlass_bounded_topk_get_stats(topk, &stats, sizeof stats) == WINDLASS_OK);
    CHECK(stats.struct_size == sizeof stats && stats.memory_bytes <= 1 << 20 && stats.slots > 0 && stats.late == 0);
    windlass_bounded_topk_free(topk);
    windlass_bounded_topk_free(NULL);
}

/* Each thread the same numbers, some in batches, while panes change. */
static void *events(void *argument) {
    windlass_bounded_topk *topk = (windlass_bounded_topk *)argument;
    uint64_t keys[BATCH], ticks[BATCH];
    size_t i, done;
    for (done = 0; done < EVENTS; done += BATCH) {
        windlass_tally tally;
        for (i = 0; i < BATCH; i++) {
            keys[i] = (done + i) % KEYS;
            ticks[i] = SECONDS(done + i) / 100;
        }
        CHECK(windlass_bounded_topk_add_u64s(topk, keys, BATCH / 2, NULL, 0, ticks, &tally) == WINDLASS_OK);
        CHECK(tally.counted == BATCH / 2 && tally.no_room == 0 && tally.late == 0 && tally.jumps == 0);
        for (i = BATCH / 2; i < BATCH; i++)
            CHECK(windlass_bounded_topk_add_u64(topk, keys[i], 1, ticks[i]) == WINDLASS_COUNTED);
    }
    return NULL;
}

static void threads(void) {
    windlass_bounded_topk *topk = made(KEYS, 1 << 20);
    windlass_top_list list;
    windlass_top_row rows[KEYS];
    uint8_t keys[KEYS * 8];
    pthread_t others[THREADS];
    int i;
    for (i = 0; i < THREADS; i++) CHECK(pthread_create(&others[i], NULL, events, topk) == 0);
    for (i = 0; i < 100; i++) /* Readers meanwhile. */
        CHECK(windlass_bounded_topk_top(topk, SECONDS(i % 30), &list, sizeof list, rows, KEYS, keys, sizeof keys) == WINDLASS_OK);
    for (i = 0; i < THREADS; i++) CHECK(pthread_join(others[i], NULL) == 0);
    CHECK(windlass_bounded_topk_top(topk, SECONDS(30), &list, sizeof list, rows, KEYS, keys, sizeof keys) == WINDLASS_OK);
    CHECK(list.rows == KEYS && list.total == THREADS * EVENTS);
    for (i = 0; i < KEYS; i++) CHECK(rows[i].lower <= THREADS * EVENTS / KEYS && rows[i].upper >= THREADS * EVENTS / KEYS);
    windlass_bounded_topk_free(topk);
}

/* Two that have parts of the same keys, the one of which is on another machine. */
static void shards(void) {
    windlass_bounded_topk *here = made(K, 1 << 20), *there = made(K, 1 << 20);
    windlass_export *one = NULL, *other = NULL, *wrong = NULL;
    windlass_aggregator *all = NULL;
    windlass_export_info info;
    windlass_top_list list;
    windlass_top_row rows[K];
    windlass_error error = WINDLASS_ERROR_INIT;
    uint8_t *bytes, keys[64];
    uint64_t exports = 0;
    size_t len = 0, i;
    add(here, "/", 3, 5);
    add(there, "/", 4, 7);
    add(there, "/login", 5, 7);
    CHECK(windlass_bounded_topk_export(here, SECONDS(9), &one) == WINDLASS_OK);
    CHECK(windlass_bounded_topk_export(there, SECONDS(9), &other) == WINDLASS_OK);
    CHECK(windlass_export_to_bytes(other, NULL, 0, &len) == WINDLASS_E_TOO_SMALL && len > 100);
    bytes = (uint8_t *)malloc(len);
    CHECK(bytes != NULL && windlass_export_to_bytes(other, bytes, len, &len) == WINDLASS_OK);
    windlass_export_free(other);
    other = NULL;
    /* Whatever comes over the wire: a code, and nothing made. */
    for (i = 0; i < len; i++) {
        bytes[i] ^= 1;
        CHECK(windlass_export_from_bytes(bytes, len, &wrong, &error) == WINDLASS_E_FORMAT && wrong == NULL);
        bytes[i] ^= 1;
        CHECK(windlass_export_from_bytes(bytes, i, &wrong, &error) == WINDLASS_E_FORMAT && wrong == NULL);
        CHECK(strstr(error.detail, "export, byte ") == error.detail);
    }
    CHECK(windlass_export_from_bytes(bytes, len, &other, &error) == WINDLASS_OK);
    free(bytes);
    CHECK(windlass_export_get_info(other, &info, sizeof info) == WINDLASS_OK);
    CHECK(info.rows == 2 && info.total == 9 && info.pane == SECONDS(10) && info.k == K && info.unit == WINDLASS_UNIT_NS);

    CHECK(windlass_aggregator_new(2, WINDLASS_KEYS_SHARED, &all, &error) == WINDLASS_OK);
    CHECK(windlass_aggregator_add(all, one, &error) == WINDLASS_OK);
    CHECK(windlass_aggregator_add(all, other, &error) == WINDLASS_OK);
    CHECK(windlass_aggregator_exports(all, &exports) == WINDLASS_OK && exports == 2);
    CHECK(windlass_aggregator_list(all, &list, sizeof list, rows, K, keys, sizeof keys) == WINDLASS_OK);
    CHECK(list.rows == 2 && list.certified == 1 && list.total == 12);
    CHECK(is(&rows[0], keys, "/", 7) && is(&rows[1], keys, "/login", 5));

    /* Of another interval: refused, and nothing changed. */
    windlass_export_free(other);
    CHECK(windlass_bounded_topk_export(there, SECONDS(19), &other) == WINDLASS_OK);
    CHECK(windlass_aggregator_add(all, other, &error) == WINDLASS_E_MISMATCH && error.code == WINDLASS_E_MISMATCH);
    CHECK(strstr(error.detail, "interval: ") == error.detail);
    CHECK(windlass_aggregator_exports(all, &exports) == WINDLASS_OK && exports == 2);

    CHECK(windlass_export_truncate(one, 0) == WINDLASS_OK);
    CHECK(windlass_export_list(one, &list, sizeof list, NULL, 0, NULL, 0) == WINDLASS_OK && list.rows == 0 && list.tail == 3);
    windlass_export_free(one);
    windlass_export_free(other);
    windlass_export_free(NULL);
    windlass_aggregator_free(all);
    windlass_aggregator_free(NULL);
    windlass_bounded_topk_free(here);
    windlass_bounded_topk_free(there);
}

int main(void) {
    window();
    threads();
    shards();
    return 0;
}

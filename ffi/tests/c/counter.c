/*
 * Windowed counters: what a user would rely on.
 */
#include <pthread.h>
#include <string.h>

#include <windlass.h>

#include "check.h"

enum { THREADS = 2, EVENTS = 4000, KEYS = 50, BATCH = 100, SECOND = 1000000000 };

static windlass_counter *made(void) {
    windlass_counter_config config;
    windlass_counter *counter = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;
    CHECK(windlass_counter_config_init(&config, sizeof config) == WINDLASS_OK);
    config.window = 60 * UINT64_C(1000000000);
    config.pane = 10 * UINT64_C(1000000000);
    config.capacity = 1000;
    if (windlass_counter_new(&config, &counter, &error) != WINDLASS_OK) fprintf(stderr, "%s\n", error.detail);
    CHECK(counter != NULL);
    return counter;
}

static uint64_t count_of(const windlass_counter *counter, const char *key, uint64_t second) {
    uint64_t count = 0;
    CHECK(windlass_counter_count(counter, (const uint8_t *)key, strlen(key), second * SECOND, &count) == WINDLASS_OK);
    return count;
}

static void add(windlass_counter *counter, const char *key, uint64_t times, uint64_t second) {
    CHECK(windlass_counter_add(counter, (const uint8_t *)key, strlen(key), times, second * SECOND) == WINDLASS_COUNTED);
}

static void window(void) {
    windlass_counter *counter = made();
    uint64_t total = 0;
    add(counter, "/a", 1, 5);
    add(counter, "/a", 2, 31);
    add(counter, "/b", 7, 59);
    CHECK(count_of(counter, "/a", 59) == 3 && count_of(counter, "/b", 59) == 7);
    CHECK(count_of(counter, "/a", 60) == 2 && count_of(counter, "/none", 60) == 0);
    CHECK(windlass_counter_total(counter, 60 * UINT64_C(1000000000), &total) == WINDLASS_OK && total == 9);
    CHECK(windlass_counter_total_complete(counter, 60 * UINT64_C(1000000000), &total) == WINDLASS_OK && total == 10);
    CHECK(windlass_counter_maintain_at(counter, 1000 * UINT64_C(1000000000), 1 << 20) >= 0);
    CHECK(count_of(counter, "/a", 1000) == 0);
    windlass_counter_free(counter);
    windlass_counter_free(NULL);
}

/* Numbers 0 to KEYS - 1 in turn, some in batches, while panes change. */
static void *events(void *argument) {
    windlass_counter *counter = (windlass_counter *)argument;
    uint64_t keys[BATCH], ticks[BATCH];
    size_t i, done;
    for (done = 0; done < EVENTS; done += BATCH) {
        windlass_tally tally;
        for (i = 0; i < BATCH; i++) {
            keys[i] = (done + i) % KEYS;
            ticks[i] = (done + i) * SECOND / 100;
        }
        CHECK(windlass_counter_add_u64s(counter, keys, BATCH / 2, NULL, 0, ticks, &tally) == WINDLASS_OK);
        CHECK(tally.counted == BATCH / 2 && tally.no_room == 0 && tally.late == 0 && tally.jumps == 0);
        for (i = BATCH / 2; i < BATCH; i++)
            CHECK(windlass_counter_add_u64(counter, keys[i], 1, ticks[i]) == WINDLASS_COUNTED);
    }
    return NULL;
}

static void threads(void) {
    windlass_counter *counter = made();
    windlass_counter_stats stats;
    pthread_t others[THREADS];
    uint64_t key, count;
    int i;
    for (i = 0; i < THREADS; i++) CHECK(pthread_create(&others[i], NULL, events, counter) == 0);
    for (i = 0; i < THREADS; i++) CHECK(pthread_join(others[i], NULL) == 0);
    for (key = 0; key < KEYS; key++) {
        CHECK(windlass_counter_count_u64(counter, key, 40 * UINT64_C(1000000000), &count) == WINDLASS_OK);
        CHECK(count == THREADS * EVENTS / KEYS);
    }
    CHECK(windlass_counter_get_stats(counter, &stats, sizeof stats) == WINDLASS_OK);
    CHECK(stats.struct_size == sizeof stats && stats.late == 0 && stats.no_room == 0);
    windlass_counter_free(counter);
}

int main(void) {
    window();
    threads();
    return 0;
}

/* A table that the system has no memory for, though the machine has: an error, and not the end of the program. */
#define _POSIX_C_SOURCE 200809L

#include <string.h>
#include <sys/resource.h>

#include <windlass.h>

#include "check.h"

/* Rows are asked for while keys come: where those of a whole generation cannot be had, a few keys get theirs all the same. */
static void counters(void) {
    windlass_counter_config config;
    windlass_counter *counter = NULL;
    windlass_topk_config top;
    windlass_topk *topk = NULL;
    windlass_counter_stats stats;
    uint64_t key, pane, total;
    CHECK(windlass_counter_config_init(&config, sizeof config) == WINDLASS_OK);
    config.window = 1200;
    config.pane = 100;
    config.capacity = 4000000; /* 430 MB a generation */
    CHECK(windlass_counter_new(&config, &counter, NULL) == WINDLASS_E_NOMEM && counter == NULL);
    config.capacity = 50000;
    config.lateness = 20000; /* 17 generations, 23 MB each */
    CHECK(windlass_counter_new(&config, &counter, NULL) == WINDLASS_OK);
    for (pane = 0; pane < 600; pane++)
        for (key = 0; key < 200; key++) CHECK(windlass_counter_add_u64(counter, key, 1, 100 * pane) == WINDLASS_COUNTED);
    CHECK(windlass_counter_get_stats(counter, &stats, sizeof stats) == WINDLASS_OK);
    CHECK(stats.generations > 15 && stats.memory_bytes < 64 << 20 && stats.no_room == 0);
    CHECK(windlass_counter_total(counter, 59900, &total) == WINDLASS_OK && total == 12 * 200);
    windlass_counter_free(counter);

    CHECK(windlass_topk_config_init(&top, sizeof top) == WINDLASS_OK);
    top.window = 1200;
    top.pane = 100;
    top.k = 10;
    top.capacity = 4000000;
    CHECK(windlass_topk_new(&top, &topk, NULL) == WINDLASS_E_NOMEM && topk == NULL);
}

int main(void) {
    const struct rlimit limit = {64 << 20, 64 << 20};
    windlass_dedup_config config;
    windlass_dedup *dedup = NULL;
    windlass_limiter_config limits;
    windlass_limiter *limiter = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;

    CHECK(windlass_dedup_config_init(&config, sizeof config) == WINDLASS_OK);
    config.window = 1000;
    config.capacity = 4000000; /* 160 MB */
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    CHECK(windlass_dedup_new(&config, &dedup, &error) == WINDLASS_E_NOMEM);
    CHECK(dedup == NULL && error.code == WINDLASS_E_NOMEM);
    CHECK(strstr(error.detail, "bytes") != NULL);

    /* It is there once, but not twice, as a reset needs it. */
    config.capacity = 800000; /* 32 MB */
    CHECK(windlass_dedup_new(&config, &dedup, NULL) == WINDLASS_OK);
    CHECK(windlass_dedup_observe_u64(dedup, 1, 0) == WINDLASS_FRESH);
    CHECK(windlass_dedup_reset(dedup) == WINDLASS_E_NOMEM);
    CHECK(windlass_dedup_observe_u64(dedup, 1, 0) == WINDLASS_DUPLICATE);
    windlass_dedup_free(dedup);

    CHECK(windlass_limiter_config_init(&limits, sizeof limits) == WINDLASS_OK);
    limits.permits = 10;
    limits.per_ns = 1000000000;
    limits.clients = 4000000;
    CHECK(windlass_limiter_new(&limits, &limiter, &error) == WINDLASS_E_NOMEM);
    CHECK(limiter == NULL && strncmp(error.detail, "clients: ", 9) == 0);
    limits.algorithm = WINDLASS_ALGORITHM_SLIDING_LOG; /* the table fits, but not the logs */
    limits.clients = 800000;
    CHECK(windlass_limiter_new(&limits, &limiter, &error) == WINDLASS_E_NOMEM);
    CHECK(limiter == NULL && strncmp(error.detail, "clients: ", 9) == 0);
    counters();
    return 0;
}

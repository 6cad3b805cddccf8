/* A table that begins small and grows up to a ceiling: there ids are refused; a window later its memory is given back. */
#include <string.h>

#include <windlass.h>

#include "check.h"

#define WINDOW 1000
#define BATCH 64
#define BATCHES 80
#define MOST (64u << 10)

static windlass_dedup_stats figures(const windlass_dedup *dedup) {
    windlass_dedup_stats stats;
    CHECK(windlass_dedup_get_stats(dedup, &stats, sizeof stats) == WINDLASS_OK);
    CHECK(stats.struct_size == sizeof stats);
    return stats;
}

/* All that there is to do. */
static void settle(windlass_dedup *dedup, uint64_t now, uint64_t bytes) {
    int i, more = 1;
    for (i = 0; i < 100000 && (more || figures(dedup).memory_bytes > bytes); i++) {
        more = windlass_dedup_maintain(dedup, now, 64);
        CHECK(more == 0 || more == 1);
    }
    CHECK(!more && figures(dedup).memory_bytes <= bytes);
}

int main(void) {
    windlass_dedup_config config;
    windlass_dedup *dedup = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;
    windlass_dedup_stats first, full, after;
    uint64_t ids[BATCH], admitted = 0, refused = 0, batch, i;
    int8_t verdicts[BATCH];

    CHECK(windlass_dedup_config_init(&config, sizeof config) == WINDLASS_OK);
    CHECK(config.max_memory == 0 && config.identity == WINDLASS_IDENTITY_HASH);
    config.window = WINDOW;
    config.capacity = 100;
    config.max_memory = 1000;
    CHECK(windlass_dedup_new(&config, &dedup, &error) == WINDLASS_E_ARG);
    CHECK(dedup == NULL && strncmp(error.detail, "max_memory: 1000 bytes is out of range: ", 40) == 0);

    config.max_memory = MOST;
    CHECK(windlass_dedup_new(&config, &dedup, NULL) == WINDLASS_OK);
    first = figures(dedup);
    CHECK(first.tables == 1 && first.grown == 0 && first.shrunk == 0 && first.forwarded == 0);
    CHECK(windlass_dedup_config_memory_bytes(&config, NULL) == (int64_t)first.memory_bytes);

    for (batch = 0; batch < BATCHES; batch++) {
        int64_t fresh;
        for (i = 0; i < BATCH; i++) ids[i] = batch * BATCH + i;
        fresh = windlass_dedup_observe_u64s(dedup, ids, BATCH, 1, NULL, verdicts);
        CHECK(fresh >= 0);
        admitted += (uint64_t)fresh;
        for (i = 0; i < BATCH; i++) {
            CHECK(verdicts[i] == WINDLASS_FRESH || verdicts[i] == WINDLASS_E_FULL);
            CHECK(windlass_dedup_contains_u64(dedup, ids[i], 1) == (verdicts[i] == WINDLASS_FRESH));
            refused += verdicts[i] == WINDLASS_E_FULL;
        }
        CHECK(windlass_dedup_memory_bytes(dedup) <= (int64_t)MOST);
        /* The first ones are still there, wherever they are by now. */
        CHECK(windlass_dedup_observe_u64(dedup, batch % 1000, 2) == WINDLASS_DUPLICATE);
    }
    CHECK(admitted + refused == BATCHES * BATCH && refused > 0);
    settle(dedup, 2, MOST);
    full = figures(dedup);
    CHECK(full.refused == refused && full.evicted == 0 && full.shrunk == 0);
    CHECK(full.grown > 0 && full.forwarded > 0 && full.capacity > 2 * first.capacity);
    CHECK(admitted > full.capacity && full.memory_bytes >= MOST / 9 * 4);

    /* All of them are gone. */
    settle(dedup, 2 + WINDOW, first.memory_bytes);
    after = figures(dedup);
    CHECK(after.live == 0 && after.tables == 1 && after.shrunk > 0 && after.capacity == first.capacity);
    CHECK(windlass_dedup_observe_u64(dedup, 0, 2 + WINDOW) == WINDLASS_FRESH);
    windlass_dedup_free(dedup);
    return 0;
}
